"""How a call of attention is prepared: checked and brought into one form, with masks and biases.

The call is checked and brought into one form as in every library (`gnomon.encodings`). It is a
pytree: arrays are its leaves, the rest is static, so that a route may be compiled with it.

A route asks for `Pairs`, all queries and keys or a block of each: which of them may meet,

    may(i, j) = no later (where causal)  and  mask(i, j)  and  segment(i) = segment(j)

and what is added to their logits. A key is later when its position is; under an encoding with
several axes, or one that reads tokens in order, when it comes later in order. A boolean mask says
True where a query may attend, a mask of floats is added to logits. A query that may attend to no
key gives zeros.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from gnomon.encodings import AttentionCall, Encoding
from gnomon.errors import EncodingError
from gnomon.jax.layers import Definition, Layer, layer
from gnomon.numeric.arrays import Array, Coordinates, as_coordinates, lags_between
from gnomon.numeric.limbs import Limbs


@dataclass(frozen=True, kw_only=True, eq=False)
class JaxCall(AttentionCall):
    """The arguments of one call of attention in JAX: a pytree, what is no array is static."""

    xp: ClassVar[Any] = jnp
    definition: Definition

    @property  # type: ignore[misc]  # a field in other libraries
    def encoding(self) -> Any:
        """Return the encoding, without wrappers."""
        return self.definition.encoding

    @property
    def by_order(self) -> bool:
        """Whether the order of tokens decides which key is later, and not their positions."""
        return self.counted or self.encoding.in_order or self.encoding.axes > 1

    @staticmethod
    def read_array(x: Any, name: str, like: Array) -> Array:
        """Return an array of JAX; PyTorch's would lose its gradients here without a word."""
        del like
        return _as_jax(x, name)

    @staticmethod
    def is_real(x: Array) -> bool:
        """Whether an array holds floats that can be computed with: those of eight bits cannot."""
        return bool(jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize > 1)

    @staticmethod
    def coordinates_of(positions: Any, axes: int, like: Array) -> Coordinates:
        """Return positions as coordinates (..., axes)."""
        return as_coordinates(positions, axes, like=like)

    @staticmethod
    def count(length: int, like: Array) -> Coordinates:
        """Return coordinates (length, 1) of 0, 1, 2, ..."""
        return as_coordinates(jnp.arange(length), 1, like=like)


_STATIC = ["definition", "leading", "counted", "causal", "scale", "biased", "masked"]
jax.tree_util.register_dataclass(
    JaxCall,
    data_fields=[one.name for one in dataclasses.fields(JaxCall) if one.name not in _STATIC],
    meta_fields=_STATIC,
)


def prepare_call(q: Any, k: Any, v: Any, encoding: Any, given: dict[str, Any]) -> JaxCall:
    """Return the checked arguments of a call."""
    held = _layer(encoding)
    q, k, v = (_as_jax(x, name) for x, name in ((q, "q"), (k, "k"), (v, "v")))
    definition = held.definition.encoding
    fields = JaxCall.fields_of(q, k, v, definition, held.all_numbers, given)
    inner = fields.pop("encoding")
    own = held.definition if inner is definition else Definition(inner)
    return JaxCall(**fields, definition=own)


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


def _as_jax(x: Any, name: str) -> Array:
    """Return an array of JAX; PyTorch's would lose its gradients here without a word."""
    if type(x).__module__.partition(".")[0] == "torch":
        raise EncodingError(f"{name} comes from torch; pass an array of JAX or NumPy.")
    return jnp.asarray(x)


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


def all_pairs(call: JaxCall) -> Pairs:
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


def may_attend(call: JaxCall, pairs: Pairs, *, made: Array | None = None) -> Array | None:
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


def _no_later(call: JaxCall, pairs: Pairs) -> Array:
    if call.by_order:
        _, _, n, m = call.sizes
        return (pairs.columns <= pairs.rows[:, None] + (m - n))[None, None]
    lags = lags_between(pairs.at_q, pairs.at_k, xp=jnp)[..., 0]
    return lags >= 0 if lags.ndim == 4 else (lags >= 0)[None, None]


def bias_of(call: JaxCall, pairs: Pairs) -> Array | None:
    """Return what the encoding and a mask of floats add to logits, (batch or 1, heads, r, c)."""
    made = None
    if call.biased:
        batch = pairs.at_q.shape[0] if pairs.at_q.ndim == 4 else 1
        size = (batch, call.q.shape[1], len(pairs.rows), len(pairs.columns))
        at_q, at_k = positions_of(pairs.at_q), positions_of(pairs.at_k)
        nothing = jnp.zeros(size, call.wide)
        made = call.add_bias(nothing, at_q, at_k)
        # -inf stands on later keys: which those are is said by may_attend, without an infinity
        made = jnp.where(made == -jnp.inf, 0.0, made)
    added = added_by(pairs.mask, call)
    return made if added is None else added if made is None else made + added


def added_by(mask: Array | None, call: JaxCall) -> Array | None:
    """Return what a mask of floats adds to logits where it hides no key, or None."""
    if mask is None or mask.dtype == jnp.bool_:
        return None
    return jnp.where(mask == -jnp.inf, 0.0, mask).astype(call.wide)
