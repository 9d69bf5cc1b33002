"""A fitted encoding as a pytree of arrays, and the function that takes vectors out of it.

    embed(e, i) = gain * table[row(i)]         whole table
    embed(e, i) = gain * left[row(i)] @ right  factored

The table is the float32 one that NumPy made, so that the bits are the same everywhere; only
factors that are multiplied here, because they are trained, round for themselves. A table that is
not trainable passes no gradient; `gain`, there only where the scale is learned, always does.

Past the end. Where values can be seen, a position that is refused raises `EncodingError`. Under
`jit`, `vmap` and the like they cannot: there a position outside of the table, before its
beginning or masked and refused gives a vector of NaN.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnomon.encodings import Fitted, Rules
from gnomon.errors import EncodingError

Array = Any
"""A JAX array, or what JAX makes one of."""


@dataclass(frozen=True, kw_only=True)
class PositionVectors:
    """The numbers of a fitted encoding (leaves) and its rules (static)."""

    table: Array | None
    """(rows, dimension); None when factored."""
    left: Array | None
    right: Array | None
    gain: Array | None
    """What everything is multiplied by, where the scale is learned."""
    rules: Rules
    trainable: bool

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a vector."""
        widest: Any = self.right if self.table is None else self.table
        return int(widest.shape[-1])


jax.tree_util.register_dataclass(
    PositionVectors,
    data_fields=["table", "left", "right", "gain"],
    meta_fields=["rules", "trainable"],
)


def load(
    source: Fitted | str | PathLike[str],
    *,
    trainable: bool = False,
    factored: bool | None = None,
    flat: bool = False,
    match: Any = None,
    dtype: Any = None,
) -> PositionVectors:
    """Return a fitted encoding as a pytree; `source` is a `Fitted`, its file or its folder.

    `factored` keeps the two factors of a low-rank table apart; by default they are kept apart
    where the file holds them so and they are to be trained. Positions of a grid have shape
    (..., axes), or are row numbers with `flat`. `match`, a token embedding or the root mean square
    of its entries, gives the vectors that scale: those of a corpus may be far smaller, and drown.
    """
    fitted = Fitted.open(source, match)
    kind = jnp.float32 if dtype is None else dtype
    apart = fitted.factored and trainable if factored is None else factored
    left, right = (jnp.asarray(part, kind) for part in fitted.factors()) if apart else (None, None)
    return PositionVectors(
        table=None if apart else jnp.asarray(fitted.table(), kind),
        left=left,
        right=right,
        gain=jnp.asarray(fitted.gain, kind) if fitted.scale == "learned" else None,
        rules=dataclasses.replace(fitted.rules, flat=flat),
        trainable=trainable,
    )


def embed(encoding: PositionVectors, positions: Array) -> Array:
    """Return one vector for each position, shape (..., dimension)."""
    rows = rows_of(encoding.rules, positions)
    apart = encoding.table is None
    numbers: list[Any] = [encoding.left, encoding.right] if apart else [encoding.table]
    if not encoding.trainable:
        numbers = jax.lax.stop_gradient(numbers)
    vectors = jnp.take(numbers[0], rows, axis=0, mode="fill", fill_value=jnp.nan)
    # Rows first: a masked row of NaN would otherwise reach the gradient of `right` as 0 * NaN.
    vectors = jnp.matmul(vectors, numbers[1], precision="highest") if apart else vectors
    return vectors if encoding.gain is None else encoding.gain * vectors


def to_fitted(encoding: PositionVectors, source: Fitted | str | PathLike[str]) -> Fitted:
    """Return the present numbers as an encoding of NumPy, with the card of what was loaded.

    The card says `trained` where they have changed; `save` and `save_pretrained` write them. What
    was loaded with a `match` is `source.matched(match)`.
    """
    own, apart = Fitted.open(source), encoding.table is None
    held: Any = encoding.left if apart else encoding.table
    fresh = load(own, factored=apart, dtype=held.dtype)
    return own.retrain(_numbers(encoding), _numbers(fresh))


def _numbers(encoding: PositionVectors) -> dict[str, Any]:
    held = {"weight": encoding.table, "left": encoding.left, "right": encoding.right}
    held["gain"] = encoding.gain
    return {name: np.asarray(part, np.float32) for name, part in held.items() if part is not None}


def rows_of(rules: Rules, positions: Array) -> Array:
    """Return the rows that positions ask for; what is refused gets a row past the table."""
    hidden = isinstance(positions, jax.core.Tracer)
    values = positions if hidden else np.asarray(positions)
    if not jnp.issubdtype(values.dtype, jnp.integer):
        raise EncodingError(
            f"The positions have type {values.dtype}; pass whole numbers, such as jnp.int32."
        )
    if not hidden:
        return jnp.asarray(rules.rows(values))
    coordinates = rules.coordinates(values)
    limits = jnp.asarray(rules.limits)
    outside = coordinates < 0
    if rules.past == "clamp":
        coordinates = jnp.minimum(coordinates, limits - 1)
    else:
        outside = outside | (coordinates >= limits)
    rows = jnp.zeros(coordinates.shape[:-1], jnp.int32)
    for axis, limit in enumerate(rules.limits):
        rows = rows * limit + coordinates[..., axis]
    return jnp.where(outside.any(axis=-1), rules.size, rows)
