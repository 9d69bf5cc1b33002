"""Any encoding as a pytree: learnable numbers are its leaves, its definition is static.

    layer = gnomon.jax.layer(gnomon.encoding("rope", dimension=64))
    q, k = layer.transform(q, k, positions)

The formulas are those of NumPy, run by `jax.numpy`; they pass `jit`, `vmap` and `grad`, and an
optimiser over the pytree changes learnable numbers alone. Phases are made in float64 where x64 is
on. Where it is off they are made in limbs: cosines and sines are within 4e-7 of the true ones at
positions to 10^6 and within 6e-7 at every one that int32 holds, float positions too if they were
split before they became float32 (by `split`, or here, where NumPy's float64 comes from outside of
`jit`): x = whole + fraction, x cut towards zero. Without x64 every argument of a compiled function
becomes float32, in which timestamps near 1.7e9 are 128 apart; whole numbers travel as int32 and
fractions as float32, 2^-25 of a unit from what float64 held.

JAX compiles again when the static part of its arguments changes, and joins two pytrees only where
it is equal. So a definition is compared by its class and its fields, the learnable ones left out:
two layers made alike share their compiled code, whatever they have learned since. The constants of
its formula are prepared once, as NumPy arrays in the types that JAX will hold them in, because an
array made while JAX traces must not outlive the trace.

Compiled code cannot look at values: what is refused in words outside of it (NaN, a position past
the end of a table) is NaN inside.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gnomon.encodings import Encoding, Rotating, as_encoding, turn
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import (
    Array,
    Coordinates,
    as_coordinates,
    beside_heads,
    check_numbers,
    check_serves,
    float_array,
    foreign_coordinates,
    has_float64,
    key_positions,
    stored,
    with_axes,
)
from gnomon.numeric.limbs import Limbs, Turns


class Tables(NamedTuple):
    """Cosines and sines of the phases at some positions, each (..., n, pairs)."""

    cosine: Array
    sine: Array


class Places(NamedTuple):
    """Coordinates, for a transform that does more than turn by one table, or does not turn."""

    coordinates: Coordinates


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The learnable numbers of an encoding (leaves) and all that is fixed about it (static)."""

    numbers: dict[str, Array]
    definition: Definition
    dtype: Any = None
    """Type of vectors and biases; a transform keeps the type of what it is given."""

    @property
    def encoding(self) -> Encoding:
        """Return the definition with the numbers as they are now, for NumPy.

        Numbers that are those of the definition, rounded to the type of the leaves, are those.
        """
        encoding, now = self.definition.encoding, self.numbers
        made = {name: jnp.asarray(encoding.numbers[name], x.dtype) for name, x in now.items()}
        if all(np.array_equal(x, made[name]) for name, x in now.items()):
            return encoding
        return encoding.with_numbers(**{n: np.asarray(x, np.float64) for n, x in now.items()})

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the layer of PyTorch does for the same arguments, by the first kind it has.

        Vectors take positions; a transform q, k and positions, which are counted from `offset` on
        where they are not given; a bias positions_q and positions_k; a rule on content q, k and
        positions, `scale` and `tokens`.
        """
        ways: dict[str, Any] = {
            "vectors": self.vectors,
            "transform": self._count,
            "bias": self.bias,
        }
        return ways.get(self.definition.encoding.kinds[0], self.scores)(*arguments, **named)

    def _count(
        self,
        q: Array,
        k: Array,
        positions_q: Any = None,
        positions_k: Any = None,
        *,
        offset: Any = 0,
    ) -> tuple[Array, Array]:
        """Return queries and keys turned, at counted positions where none are given."""
        if positions_q is not None or positions_k is not None:
            if positions_q is not None and not (isinstance(offset, int) and offset == 0):
                raise EncodingError(
                    "offset says where counting begins, and positions_q is given, so nothing is "
                    "counted; pass one of the two."
                )
            return self.transform(q, k, positions_q, positions_k)
        left, right = _floats(q, "q"), _floats(k, "k")
        if left.shape[-2] != right.shape[-2]:
            raise EncodingError(
                f"q has {left.shape[-2]} vectors and k {right.shape[-2]}, so positions cannot be "
                "counted for both; pass positions_q and positions_k."
            )
        return self.transform(
            left, right, jnp.asarray(offset)[..., None] + jnp.arange(left.shape[-2])
        )

    def vectors(self, positions: Array) -> Array:
        """Return one vector per position, shape (..., dimension)."""
        encoding = self.definition.encoding
        made = encoding.vectors_at(self._coordinates(positions), self.all_numbers, xp=jnp)
        return made if self.dtype is None else made.astype(self.dtype)

    def transform(
        self, q: Array, k: Array, positions_q: Array, positions_k: Array | None = None
    ) -> tuple[Array, Array]:
        """Return queries and keys (..., n, dimension) as seen from their positions."""
        encoding = self.definition.encoding
        left, right = _floats(q, "q"), _floats(k, "k")
        keys_at = key_positions(left, right, positions_q, positions_k)
        numbers, turned = self.all_numbers, []
        for values, positions, side in ((left, positions_q, "q"), (right, keys_at, "k")):
            coordinates = self._coordinates(positions, like=values)
            turned.append(encoding.apply(values, coordinates, numbers, side=side, xp=jnp))
        return turned[0], turned[1]

    def bias(self, positions_q: Array, positions_k: Array | None = None) -> Array:
        """Return what is added to the logits, shape (..., heads, queries, keys)."""
        encoding = self.definition.encoding
        queries = self._coordinates(positions_q)
        keys = queries if positions_k is None else self._coordinates(positions_k)
        made = encoding.bias_between(queries, keys, self.all_numbers, xp=jnp)
        return made if self.dtype is None else made.astype(self.dtype)

    def scores(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array | None = None,
        *,
        scale: float = 1.0,
        tokens: Array | None = None,
    ) -> Array:
        """Return the logits, scale times q.k as the encoding makes them: (..., n, m)."""
        encoding, left, right = self.definition.encoding, _floats(q, "q"), _floats(k, "k")
        read = None if tokens is None else _floats(tokens, "tokens")
        # An encoding that learns nothing may have a way of its own.
        held = self.all_numbers if self.numbers else None
        given: dict[str, Any] = {"scale": scale, "tokens": read, "numbers": held}
        return encoding.scores(left, right, positions_q, positions_k, **given)

    def tables(self, positions: Array) -> Tables | Places:
        """Return what `turn` needs at positions (n,) or (..., n), made once for all layers."""
        coordinates, turning = self._coordinates(positions), self._turning
        if turning is None:
            return Places(coordinates)
        if turning.frequencies.ndim == 3 and coordinates.ndim > 2:
            coordinates = coordinates[..., None, :, :]  # each head has frequencies of its own
        return Tables(*turning.tables(coordinates, self.all_numbers, xp=jnp))

    def turn(self, x: Array, tables: Tables | Places, *, side: str) -> Array:
        """Return queries (side "q") or keys ("k"), turned by tables of their positions."""
        values, turning = _floats(x, side), self._turning
        if isinstance(tables, Places):
            at, encoding = tables.coordinates, self.definition.encoding
            return encoding.apply(values, at, self.all_numbers, side=side, xp=jnp)
        if turning is None or not isinstance(tables, Tables):
            raise EncodingError(
                f"These are no tables of the encoding {self.definition.encoding.name!r}; pass what "
                "the method tables of this layer returns for the positions."
            )
        turning.check_vectors(values, side, turning.frequencies)
        cosine, sine = tables
        if turning.frequencies.ndim == 3:  # tables have their axis of heads already
            check_serves(cosine, values)
        else:
            cosine, sine = beside_heads(cosine, values), beside_heads(sine, values)
        return turn(values, cosine, sine, layout=turning.layout, first=turning.first, xp=jnp)

    @property
    def all_numbers(self) -> dict[str, Any]:
        """Return every number of the formula, learned ones as they are now."""
        return {**self.definition.constants(), **self.numbers}

    def _coordinates(self, positions: Array, *, like: Array | None = None) -> Coordinates:
        """Return coordinates, those of NumPy and of lists on the device of `like`."""
        partner = jnp.zeros(()) if like is None else like
        return as_coordinates(positions, self.definition.encoding.axes, like=partner)

    @property
    def _turning(self) -> Rotating | None:
        """Return the encoding where all it does is to turn by one table."""
        encoding: Any = self.definition.encoding
        return encoding if encoding.turns_by_tables else None


jax.tree_util.register_dataclass(
    Layer, data_fields=["numbers"], meta_fields=["definition", "dtype"]
)


def layer(encoding: Encoding | str | PathLike[str], *, dtype: Any = None) -> Layer:
    """Return an encoding, or the one in a file, as a pytree of its learnable numbers.

    Leaves have JAX's default type of floats. `dtype` is the type of vectors and biases, so that
    adding them to activations in bfloat16 leaves those as they are.
    """
    encoding = as_encoding(encoding)
    _check_dtype(dtype)
    learned = {name: jnp.asarray(encoding.numbers[name]) for name in encoding.learnable}
    return Layer(numbers=learned, definition=Definition(encoding), dtype=dtype)


def _check_dtype(dtype: Any) -> None:
    """Refuse a type that holds no real numbers: vectors would be cut to whole ones."""
    try:
        real = dtype is None or jnp.issubdtype(jnp.dtype(dtype), jnp.floating)
    except TypeError:
        real = False
    if not real:
        raise EncodingError(
            f"dtype is {dtype!r}; pass a type of real numbers, such as jax.numpy.float32."
        )


def _floats(x: Array, name: str) -> Array:
    library = type(x).__module__.partition(".")[0]
    if library == "torch":  # JAX would take it, and gradients would end here without a word
        raise EncodingError(f"{name} comes from torch; pass an array of JAX or NumPy.")
    return float_array(jnp.asarray(x), name, xp=jnp)


jax.tree_util.register_dataclass(Limbs, data_fields=["whole", "fraction"], meta_fields=[])
jax.tree_util.register_dataclass(Turns, data_fields=["radians", "digits"], meta_fields=[])


class Definition:
    """An encoding as a static value, with the constants of its formula."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._identity = _identity_of(encoding)
        self._hash = hash(self._identity)
        self._prepare: dict[bool, dict[str, Any]] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Definition):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Definition({self.encoding!r})"

    def constants(self) -> dict[str, Any]:
        """Return the numbers that are not learned, for the precision that is on at present."""
        wide = has_float64(jnp)
        if wide not in self._prepare:
            self._prepare[wide] = _prepare(self.encoding, wide=wide)
        constants: dict[str, Any] = jax.tree.map(jnp.asarray, self._prepare[wide])
        return constants


def _prepare(encoding: Encoding, *, wide: bool) -> dict[str, Any]:
    """Return the constants in NumPy: no array of JAX is made, which `shard_map` would trace."""
    fixed = {n: v for n, v in encoding.numbers.items() if n not in encoding.learnable}
    return {name: stored(name, values, wide=wide) for name, values in fixed.items()}


def _identity_of(value: Any) -> Any:
    """Return what tells two values apart, in a form that can be hashed.

    >>> _identity_of({"factors": [1.0, 2.0]})
    (('factors', (1.0, 2.0)),)
    """
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        learned = value.learnable if isinstance(value, Encoding) else ()
        kept = [field.name for field in dataclasses.fields(value) if field.name not in learned]
        return (type(value), *((name, _identity_of(getattr(value, name))) for name in kept))
    if isinstance(value, Mapping):
        return tuple((name, _identity_of(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(_identity_of(part) for part in value)
    return value


def split(positions: Any, *, axes: int = 1) -> Limbs:
    """Return positions as whole and fractional parts, each of shape (..., axes).

    Needed without x64 for large positions with a fraction, such as timestamps, that are arguments
    of a compiled function: there, and in `jnp.asarray`, they become float32 before a layer sees
    them. Call it on NumPy's float64, outside of `jit`.
    """
    if isinstance(positions, jax.core.Tracer):
        raise EncodingError(
            "split was called on positions that JAX traces, which are float32 by then; split them "
            "outside of jit, vmap and grad."
        )
    values = np.asarray(positions)
    check_numbers(values)
    values = with_axes(values, axes)
    if not has_float64(jnp):
        narrow: Limbs = foreign_coordinates(values, None, xp=jnp)
        return narrow
    whole = np.trunc(values)
    return Limbs(whole=jnp.asarray(whole.astype(np.int64)), fraction=jnp.asarray(values - whole))
