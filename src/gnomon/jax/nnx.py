"""A fitted encoding as a module of Flax NNX: `Param` where it is trained, `Frozen` where it is not.

An optimiser over `nnx.Param` leaves a frozen table alone, and `nnx.split` sets it apart. The
vectors, and what happens past the end, are those of `gnomon.jax.embed`.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import jax

from gnomon.encodings.fitted import Fitted
from gnomon.encodings.opened import opened
from gnomon.errors import MissingExtraError
from gnomon.jax.embedding import PositionVectors, embed, load, to_fitted

try:
    from flax import nnx
except ImportError as error:
    raise MissingExtraError(
        "gnomon.jax.nnx needs Flax, which is not installed; run `pip install gnomon[flax]`."
    ) from error


class Frozen(nnx.Variable):  # type: ignore[misc]  # flax is not followed by the checker
    """Numbers that are part of the state and are not trained."""


class PositionEmbedding(nnx.Module):  # type: ignore[misc]  # flax is not followed by the checker
    """One vector for each position; stands where `nnx.Embed` stood."""

    def __init__(
        self,
        source: Fitted | str | PathLike[str],
        *,
        trainable: bool = False,
        factored: bool | None = None,
        flat: bool = False,
        match: Any = None,
        dtype: Any = None,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs  # nothing is drawn; modules of Flax are handed one
        fitted = opened(source, match)
        loaded = load(fitted, trainable=trainable, factored=factored, flat=flat, dtype=dtype)
        kind = nnx.Param if trainable else Frozen
        for name in ("table", "left", "right"):
            numbers = getattr(loaded, name)
            setattr(self, name, None if numbers is None else kind(numbers))
        self.gain = None if loaded.gain is None else nnx.Param(loaded.gain)
        self.rules, self.trainable = loaded.rules, trainable
        self.num_embeddings, self.features = loaded.rules.size, loaded.dimension

    def __call__(self, positions: Any) -> jax.Array:
        """Return one vector for each position, shape (..., features)."""
        return embed(self.vectors, positions)

    @property
    def vectors(self) -> PositionVectors:
        """Return the present numbers as the pytree of `gnomon.jax`."""
        names = ("table", "left", "right", "gain")
        held = {name: getattr(self, name) for name in names}
        numbers = {name: None if value is None else value[...] for name, value in held.items()}
        return PositionVectors(**numbers, rules=self.rules, trainable=self.trainable)

    def to_fitted(self, source: Fitted | str | PathLike[str]) -> Fitted:
        """Return the present numbers as an encoding of NumPy, with the card of `source`."""
        return to_fitted(self.vectors, source)
