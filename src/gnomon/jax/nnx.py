"""Encodings as modules of Flax NNX: `Param` for what is trained, `Frozen` for a table that is not.

`Layer` is any encoding, with the methods of `gnomon.jax.Layer`. `PositionEmbedding` is a fitted
one: an optimiser over `nnx.Param` leaves a frozen table alone, and `nnx.split` sets it apart; its
vectors, and what happens past the end, are those of `gnomon.jax.embed`.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import jax

from gnomon.encodings import Encoding, Fitted
from gnomon.errors import MissingExtraError
from gnomon.jax import layers
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
        fitted = Fitted.open(source, match)
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


class Layer(nnx.Module):  # type: ignore[misc]  # flax is not followed by the checker
    """Any encoding, or the one in a file; each number it learns is a `Param` under its name."""

    def __init__(
        self,
        encoding: Encoding | str | PathLike[str],
        *,
        dtype: Any = None,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs  # nothing is drawn; modules of Flax are handed one
        made = layers.layer(encoding, dtype=dtype)
        self.definition, self.dtype = made.definition, dtype
        for name, numbers in made.numbers.items():
            setattr(self, name, nnx.Param(numbers))

    @property
    def pytree(self) -> layers.Layer:
        """Return the present numbers as the pytree of `gnomon.jax`."""
        learned = {name: getattr(self, name)[...] for name in self.definition.encoding.learnable}
        return layers.Layer(numbers=learned, definition=self.definition, dtype=self.dtype)

    @property
    def encoding(self) -> Encoding:
        """Return the definition with the numbers as they are now, for NumPy."""
        return self.pytree.encoding

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the layer of PyTorch does for the same arguments (`gnomon.jax.Layer`)."""
        return self.pytree(*arguments, **named)

    def vectors(self, positions: Any) -> jax.Array:
        """Return one vector per position, shape (..., dimension)."""
        return self.pytree.vectors(positions)

    def transform(
        self, q: Any, k: Any, positions_q: Any, positions_k: Any = None
    ) -> tuple[jax.Array, jax.Array]:
        """Return queries and keys (..., n, dimension) as seen from their positions."""
        return self.pytree.transform(q, k, positions_q, positions_k)

    def bias(self, positions_q: Any, positions_k: Any = None) -> jax.Array:
        """Return what is added to the logits, shape (..., heads, queries, keys)."""
        return self.pytree.bias(positions_q, positions_k)

    def scores(
        self, q: Any, k: Any, positions_q: Any, positions_k: Any = None, **given: Any
    ) -> jax.Array:
        """Return the logits as the encoding makes them: (..., n, m); `scale` and `tokens` given."""
        return self.pytree.scores(q, k, positions_q, positions_k, **given)

    def tables(self, positions: Any) -> layers.Tables | layers.Places:
        """Return what `turn` needs at positions, made once for all layers of a model."""
        return self.pytree.tables(positions)

    def turn(self, x: Any, tables: layers.Tables | layers.Places, *, side: str) -> jax.Array:
        """Return queries (side "q") or keys ("k"), turned by tables of their positions."""
        return self.pytree.turn(x, tables, side=side)
