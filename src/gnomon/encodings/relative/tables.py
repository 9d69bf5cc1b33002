"""Learned numbers of encodings on lags: how they start, how they are given, and what they fit.

    x[c] ~ N(0, sigma^2), a function of (seed, purpose, head, row, c) alone,

so that one table starts apart from another of the same seed, and every table is the same on every
machine and in every library. The draws are those of the encoding `random` [steele2014, box1958].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings import checks
from gnomon.encodings.additive.random import normal_rows
from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array

SIGMA = 0.02
"""The usual standard deviation at the start, that of BERT and of Transformer-XL."""


def starting_numbers(
    shape: tuple[int, ...], purpose: int, *, sigma: float, seed: int
) -> NDArray[np.float64]:
    """Return read-only normal numbers of a shape; `purpose` tells arrays of one seed apart."""
    places = np.indices(shape[:-1]).reshape(len(shape) - 1, -1).T
    places = np.concatenate([np.full((len(places), 1), purpose), places], axis=1)
    numbers = sigma * normal_rows(places, shape[-1], int(seed) % 2**64).reshape(shape)
    numbers.flags.writeable = False  # it is kept, and is the definition
    return numbers


def learned_numbers(
    encoding: Any, shapes: Mapping[str, tuple[int, ...]], purposes: Mapping[str, int]
) -> dict[str, NDArray[np.float64]]:
    """Return the learned numbers of an encoding by name: those given to it, or as they start."""
    made: dict[str, NDArray[np.float64]] = {}
    for name, shape in shapes.items():
        given = getattr(encoding, name)
        if given is None:
            sigma, seed = encoding.sigma, encoding.seed
            given = starting_numbers(shape, purposes[name], sigma=sigma, seed=seed)
        made[name] = given
    return made


def given_numbers(values: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return learned numbers as a read-only copy in float64, or say why they do not fit."""
    array = checks.array(name, values)
    if array.dtype.kind not in "iuf":
        raise EncodingError(f"{name} holds {array.dtype}; pass real numbers.")
    if array.shape != shape:
        raise EncodingError(
            f"{name} has shape {array.shape} and this encoding has {shape}; pass numbers of that "
            "shape."
        )
    if not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        raise EncodingError(f"{name} holds {array[tuple(at)]} at {at}; pass finite numbers.")
    numbers = array.astype(np.float64)
    numbers.flags.writeable = False
    return numbers


def check_vectors(x: Array, name: str, *, dimension: int, heads: int | None = None) -> None:
    """Refuse queries or keys of another dimension, or of another number of heads; one serves all.

    Without `heads` an encoding does not tell heads apart.
    """
    if x.ndim < 2 or x.shape[-1] != dimension:
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding has vectors of dimension "
            f"{dimension}; pass an array of shape (..., positions, {dimension})."
        )
    if heads is not None and (x.ndim < 3 or x.shape[-3] not in (1, heads)):
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding has numbers for {heads} heads; "
            f"pass an array of shape (..., {heads}, positions, {dimension})."
        )
