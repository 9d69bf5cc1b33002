"""How a call of attention is prepared: checked and brought into one form, with masks and biases.

Queries, keys and values become (batch, heads, n, d); positions become coordinates (n, axes), or
(batch or 1, heads or 1, n, axes) where sequences differ. Wrappers are taken off. The result is a
pytree: arrays are its leaves, the rest is static, so that a route may be compiled with it.

A route asks for `Pairs`, all queries and keys or a block of each: which of them may meet,

    may(i, j) = no later (where causal)  and  mask(i, j)  and  segment(i) = segment(j)

and what is added to their logits. A key is later when its position is; under an encoding with
several axes, or one that reads tokens in order, when it comes later in order. A boolean mask says
True where a query may attend, a mask of floats is added to logits. A query that may attend to no
key gives zeros.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from gnomon.encodings import (
    Encoding,
    Nope,
    both_sides,
    by_head,
    causal_of,
    check_cache,
    check_counting,
    check_mask,
    check_segments,
    check_shapes,
    check_vectors,
    flat,
    masked_scores,
    scale_of,
    unfit_positions,
    unwrapped,
    with_vectors,
)
from gnomon.errors import EncodingError
from gnomon.jax.layers import Definition, Layer, layer
from gnomon.numeric.arrays import Array, Coordinates, as_coordinates, lags_between
from gnomon.numeric.limbs import Limbs


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionCall:
    """The arguments of one call of attention."""

    q: Array
    k: Array
    v: Array
    numbers: dict[str, Any]
    at_q: Coordinates
    at_k: Coordinates
    mask: Array | None
    segments_q: Array | None
    """(batch or 1, n)."""
    segments_k: Array | None
    tokens: Array | None
    definition: Definition
    leading: tuple[int, ...]
    """The axes before heads, as the caller has them."""
    counted: bool
    """Whether keys stand at 0 ... m-1 and queries at the last n of these."""
    causal: bool
    scale: float

    @property
    def encoding(self) -> Any:
        """Return the encoding, without wrappers."""
        return self.definition.encoding

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Return batch, heads, queries and keys."""
        batch, heads, n, _ = self.q.shape
        return batch, heads, n, self.k.shape[-2]

    @property
    def empty(self) -> bool:
        """Whether there is no query, or no key, so that nothing is to be computed."""
        return 0 in self.sizes

    @property
    def wide(self) -> Any:
        """Return the type of biases and logits: float32 or better."""
        return jnp.promote_types(self.q.dtype, jnp.float32)

    @property
    def biased(self) -> bool:
        """Whether something is added to logits; no encoding at all adds nothing."""
        return "bias" in self.encoding.kinds and not isinstance(self.encoding, Nope)

    @property
    def groups(self) -> int:
        """Return how many query heads share a key head."""
        return int(self.q.shape[1] // self.k.shape[1])

    @property
    def by_order(self) -> bool:
        """Whether the order of tokens decides which key is later, and not their positions."""
        return self.counted or self.encoding.in_order or self.encoding.axes > 1


_STATIC = ["definition", "leading", "counted", "causal", "scale"]
jax.tree_util.register_dataclass(
    AttentionCall,
    data_fields=[name for name in AttentionCall.__dataclass_fields__ if name not in _STATIC],
    meta_fields=_STATIC,
)


def prepare_call(q: Any, k: Any, v: Any, encoding: Any, given: dict[str, Any]) -> AttentionCall:
    """Return the checked arguments of a call."""
    held = _layer(encoding)
    q, k, v = _vectors(q, k, v)
    leading = tuple(q.shape[:-3])
    q, k, v = (flat(x, 3) for x in (q, k, v))
    definition, numbers = held.definition.encoding, held.all_numbers
    n, m = q.shape[-2], k.shape[-2]
    check_cache(definition, n, m)
    at_q, at_k, counted = _places(definition, q, m, leading, given)
    inner, at_q, at_k, moved = unwrapped(definition, numbers, at_q, at_k, xp=jnp)
    segments_q, segments_k = _segments(given, leading, n, m)
    return AttentionCall(
        q=q,
        k=k,
        v=v,
        numbers=numbers,
        at_q=at_q,
        at_k=at_k,
        mask=_mask(given["mask"], (*leading, q.shape[1], n, m)),
        segments_q=segments_q,
        segments_k=segments_k,
        tokens=_tokens(given["tokens"], leading),
        definition=held.definition if inner is definition else Definition(inner),
        leading=leading,
        counted=counted and not moved,
        causal=causal_of(inner, given["causal"]),
        scale=scale_of(given["scale"], definition, q.shape[-1]),
    )


def _layer(encoding: Any) -> Layer:
    """Return the pytree that holds the numbers; a module of Flax has it."""
    held = getattr(encoding, "pytree", encoding)
    if isinstance(held, Layer):
        return held
    if isinstance(held, Encoding):
        return layer(held)
    raise EncodingError(
        f"The encoding is of type {type(encoding).__name__}; pass what gnomon.encoding(...) or "
        "gnomon.jax.layer(...) returns."
    )


def _vectors(*given: Any) -> list[Array]:
    """Return queries, keys and values as arrays of one type."""
    made = []
    for name, x in zip("qkv", given, strict=True):
        array = _as_jax(x, name)
        real = jnp.issubdtype(array.dtype, jnp.floating) and array.dtype.itemsize > 1
        check_vectors(name, tuple(array.shape), array.dtype, real=real)
        made.append(array)
    if len({x.dtype for x in made}) > 1:
        types = [x.dtype for x in made]
        raise EncodingError(
            f"q, k and v are of {types[0]}, {types[1]} and {types[2]}; pass one type for all three."
        )
    check_shapes(*(tuple(x.shape) for x in made))
    return made


def _as_jax(x: Any, name: str) -> Array:
    """Return an array of JAX; PyTorch's would lose its gradients here without a word."""
    if type(x).__module__.partition(".")[0] == "torch":
        raise EncodingError(f"{name} comes from torch; pass an array of JAX or NumPy.")
    return jnp.asarray(x)


def _places(
    encoding: Encoding, q: Array, m: int, leading: tuple[int, ...], given: dict[str, Any]
) -> tuple[Coordinates, Coordinates, bool]:
    """Return coordinates of queries and keys, and whether they were counted."""
    n, of_q, of_k = q.shape[-2], given["positions_q"], given["positions_k"]
    if of_q is None and of_k is None:
        check_counting(encoding, n, m)
        keys = as_coordinates(jnp.arange(m), 1, like=q)
        return keys[m - n :], keys, True
    of_q, of_k = both_sides("positions", of_q, of_k, n, m)
    made = []
    for positions, count, name in ((of_q, n, "q"), (of_k, m, "k")):
        at = as_coordinates(positions, encoding.axes, like=q)
        made.append(_beside(at, count, name, leading, q.shape[1]))
    if made[0].ndim != made[1].ndim:  # one side is shared: so that both have the same axes
        made = [at if at.ndim == 4 else at[None, None] for at in made]
    return made[0], made[1], False


def _beside(
    at: Coordinates, count: int, name: str, leading: tuple[int, ...], heads: int
) -> Coordinates:
    """Return coordinates as (count, axes), or (batch or 1, heads or 1, count, axes)."""
    shape = tuple(at.shape[:-1])
    if shape == (count,):
        return at
    if shape not in ((*leading, count), (*leading, heads, count)):
        raise unfit_positions(name, shape, leading, count)
    own = heads if shape == (*leading, heads, count) else 1
    batch = math.prod(shape[: len(leading)])
    return jax.tree.map(lambda x: x.reshape(batch, own, count, x.shape[-1]), at)


def _segments(
    given: dict[str, Any], leading: tuple[int, ...], n: int, m: int
) -> tuple[Array | None, Array | None]:
    of_q, of_k = given["segments_q"], given["segments_k"]
    if of_q is None and of_k is None:
        return None, None
    of_q, of_k = both_sides("segments", of_q, of_k, n, m)
    made = []
    for segments, count, name in ((of_q, n, "segments_q"), (of_k, m, "segments_k")):
        values = _as_jax(segments, name)
        check_segments(name, tuple(values.shape), leading, count)
        made.append(flat(values, 1))
    return made[0], made[1]


def _mask(mask: Any, size: tuple[int, ...]) -> Array | None:
    """Return a mask that broadcasts to (batch, heads, n, m)."""
    if mask is None:
        return None
    mask = _as_jax(mask, "mask")
    usable = mask.dtype == jnp.bool_ or jnp.issubdtype(mask.dtype, jnp.floating)
    check_mask(tuple(mask.shape), size, mask.dtype, usable=usable)
    mask = mask.reshape(*[1] * (max(len(size), 4) - mask.ndim), *mask.shape)
    if mask.ndim > 4:
        mask = jnp.broadcast_to(mask, (*size[:-3], *mask.shape[-3:]))
    return flat(mask, 3)


def _tokens(tokens: Any, leading: tuple[int, ...]) -> Array | None:
    """Return what a rule reads, with one axis before heads or tokens."""
    if tokens is None:
        return None
    values = _as_jax(tokens, "tokens")
    kept = 3 if values.ndim == len(leading) + 3 else 2
    return flat(values, kept) if values.ndim > 1 else values


def positions_of(at: Coordinates) -> Array:
    """Return coordinates as positions that methods of an encoding take."""
    return at if isinstance(at, Limbs) or at.shape[-1] > 1 else at[..., 0]


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Some queries and some keys of a call: all of them, or a block of each."""

    rows: Array
    """Which of the queries, (r,)."""
    columns: Array
    at_q: Coordinates
    at_k: Coordinates
    mask: Array | None
    segments_q: Array | None
    segments_k: Array | None


def all_pairs(call: AttentionCall) -> Pairs:
    """Return the part that is everything."""
    _, _, n, m = call.sizes
    return Pairs(
        rows=jnp.arange(n),
        columns=jnp.arange(m),
        at_q=call.at_q,
        at_k=call.at_k,
        mask=call.mask,
        segments_q=call.segments_q,
        segments_k=call.segments_k,
    )


def may_attend(call: AttentionCall, pairs: Pairs, *, made: Array | None = None) -> Array | None:
    """Return booleans (batch or 1, heads or 1, r, c), or None where every key may be seen.

    Under a rule that reads tokens in order the logits that were made say which keys are later.
    """
    parts = []
    if made is not None and call.encoding.in_order:
        parts.append(made != -jnp.inf)
    elif call.causal:
        parts.append(_no_later(call, pairs))
    if pairs.mask is not None:  # -inf hides a key, too, without an infinity in the logits
        seen = pairs.mask if pairs.mask.dtype == jnp.bool_ else pairs.mask > -jnp.inf
        parts.append(seen)
    if pairs.segments_q is not None and pairs.segments_k is not None:
        same = pairs.segments_q[:, :, None] == pairs.segments_k[:, None, :]
        parts.append(same[:, None])
    found = parts[0] if parts else None
    for one in parts[1:]:
        found = found & one
    return found


def _no_later(call: AttentionCall, pairs: Pairs) -> Array:
    if call.by_order:
        _, _, n, m = call.sizes
        return (pairs.columns <= pairs.rows[:, None] + (m - n))[None, None]
    lags = lags_between(pairs.at_q, pairs.at_k, xp=jnp)[..., 0]
    return lags >= 0 if lags.ndim == 4 else (lags >= 0)[None, None]


def bias_of(call: AttentionCall, pairs: Pairs) -> Array | None:
    """Return what the encoding and a mask of floats add to logits, (batch or 1, heads, r, c)."""
    made = None
    if call.biased:
        batch = pairs.at_q.shape[0] if pairs.at_q.ndim == 4 else 1
        size = (batch, call.q.shape[1], len(pairs.rows), len(pairs.columns))
        at_q, at_k = positions_of(pairs.at_q), positions_of(pairs.at_k)
        nothing = jnp.zeros(size, call.wide)
        made = masked_scores(call.encoding, nothing, at_q, at_k, numbers=call.numbers, xp=jnp)
        # -inf stands on later keys: which those are is said by may_attend, without an infinity
        made = jnp.where(made == -jnp.inf, 0.0, made)
    added = added_by(pairs.mask, call)
    return made if added is None else added if made is None else made + added


def added_by(mask: Array | None, call: AttentionCall) -> Array | None:
    """Return what a mask of floats adds to logits where it hides no key, or None."""
    if mask is None or mask.dtype == jnp.bool_:
        return None
    return jnp.where(mask == -jnp.inf, 0.0, mask).astype(call.wide)


def encode_queries_keys(call: AttentionCall) -> tuple[Array, Array, Array]:
    """Return queries, keys and values; keys have fewer heads where heads are treated alike."""
    q, k, v, made = call.q, call.k, call.v, call.encoding
    if not {"vectors", "transform"} & set(made.kinds):
        return q, k, v
    own_places = call.at_k.ndim == 4 and call.at_k.shape[1] > 1
    if by_head(made) or own_places:
        k, v = own_heads(k, call.groups), own_heads(v, call.groups)
    if "vectors" in made.kinds:
        q = with_vectors(made, q, call.at_q, call.numbers, name="q", xp=jnp)
        k = with_vectors(made, k, call.at_k, call.numbers, name="k", xp=jnp)
    if "transform" in made.kinds:
        q = made.turned(q, call.at_q, call.numbers, side="q", xp=jnp)
        k = made.turned(k, call.at_k, call.numbers, side="k", xp=jnp)
    return q, k, v


def own_heads(x: Array, groups: int) -> Array:
    """Return keys or values with each head repeated for the queries that share it."""
    return x if groups == 1 else jnp.repeat(x, groups, axis=1)
