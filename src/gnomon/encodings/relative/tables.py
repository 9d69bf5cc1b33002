"""Learned tables of encodings on lags: how they start, and which queries and keys they fit.

Entries start from N(0, sigma^2); the draws are those of `gnomon.encodings.starting`, a function of
seed, purpose and row alone, so that one table starts apart from another of the same seed
[steele2014, box1958].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.encodings.starting import drawn
from gnomon.errors import EncodingError
from gnomon.numeric.checks import serves

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array

SIGMA = 0.02
"""The usual standard deviation at the start, that of BERT and of Transformer-XL."""


def normal_numbers(
    encoding: Any, shapes: Mapping[str, tuple[int, ...]], purposes: Mapping[str, int]
) -> dict[str, NDArray[np.float64]]:
    """Return the normal numbers from which training starts, by name."""
    return {
        name: encoding.sigma * drawn(purposes[name], shape, encoding.seed)
        for name, shape in shapes.items()
    }


def check_vectors(x: Array, name: str, *, dimension: int, heads: int | None = None) -> None:
    """Refuse queries or keys of another dimension, or of another number of heads; one serves all.

    Without `heads` an encoding does not tell heads apart.
    """
    if x.ndim < 2 or x.shape[-1] != dimension:
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding has vectors of dimension "
            f"{dimension}; pass an array of shape (..., positions, {dimension})."
        )
    if heads is not None and (x.ndim < 3 or not serves(x.shape[-3], heads)):
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding has numbers for {heads} heads; "
            f"pass an array of shape (..., {heads}, positions, {dimension})."
        )
