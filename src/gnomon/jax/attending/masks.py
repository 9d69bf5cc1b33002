"""Which keys a query may attend to, and what is added to its logits.

    may(i, j) = no later (where causal)  and  mask(i, j)  and  segment(i) = segment(j)

A key is later when its position is; under an encoding with several axes, or one that reads tokens
in order, when it comes later in order. A boolean mask says True where a query may attend, a mask of
floats is added to logits. A query that may attend to no key gives zeros.

A part of the logits is that of some queries and some keys: `rows` and `columns` are their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp

from gnomon.encodings import lags_between, masked_scores
from gnomon.jax.attending.asked import positions_of

if TYPE_CHECKING:
    from gnomon.encodings import Array, Coordinates
    from gnomon.jax.attending.asked import Asked


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some queries and some keys of a call: all of them, or a block of each."""

    rows: Array
    """Which of the queries, (r,)."""
    columns: Array
    at_q: Coordinates
    at_k: Coordinates
    mask: Array | None
    segments_q: Array | None
    segments_k: Array | None


def whole(asked: Asked) -> Part:
    """Return the part that is everything."""
    _, _, n, m = asked.sizes
    return Part(
        rows=jnp.arange(n),
        columns=jnp.arange(m),
        at_q=asked.at_q,
        at_k=asked.at_k,
        mask=asked.mask,
        segments_q=asked.segments_q,
        segments_k=asked.segments_k,
    )


def may_attend(asked: Asked, part: Part, *, made: Array | None = None) -> Array | None:
    """Return booleans (batch or 1, heads or 1, r, c), or None where every key may be seen.

    Under a rule that reads tokens in order the logits that were made say which keys are later.
    """
    parts = []
    if made is not None and asked.encoding.in_order:
        parts.append(made != -jnp.inf)
    elif asked.causal:
        parts.append(_no_later(asked, part))
    if part.mask is not None:  # -inf hides a key, too, without an infinity in the logits
        seen = part.mask if part.mask.dtype == jnp.bool_ else part.mask > -jnp.inf
        parts.append(seen)
    if part.segments_q is not None and part.segments_k is not None:
        same = part.segments_q[:, :, None] == part.segments_k[:, None, :]
        parts.append(same[:, None])
    found = parts[0] if parts else None
    for one in parts[1:]:
        found = found & one
    return found


def _no_later(asked: Asked, part: Part) -> Array:
    if asked.by_order:
        _, _, n, m = asked.sizes
        return (part.columns <= part.rows[:, None] + (m - n))[None, None]
    lags = lags_between(part.at_q, part.at_k, xp=jnp)[..., 0]
    return lags >= 0 if lags.ndim == 4 else (lags >= 0)[None, None]


def bias_of(asked: Asked, part: Part) -> Array | None:
    """Return what the encoding and a mask of floats add to logits, (batch or 1, heads, r, c)."""
    made = None
    if asked.biased:
        batch = part.at_q.shape[0] if part.at_q.ndim == 4 else 1
        size = (batch, asked.q.shape[1], len(part.rows), len(part.columns))
        at_q, at_k = positions_of(part.at_q), positions_of(part.at_k)
        nothing = jnp.zeros(size, asked.wide)
        made = masked_scores(asked.encoding, nothing, at_q, at_k, numbers=asked.numbers, xp=jnp)
        # -inf stands on later keys: which those are is said by may_attend, without an infinity
        made = jnp.where(made == -jnp.inf, 0.0, made)
    added = added_by(part.mask, asked)
    return made if added is None else added if made is None else made + added


def added_by(mask: Array | None, asked: Asked) -> Array | None:
    """Return what a mask of floats adds to logits where it hides no key, or None."""
    if mask is None or mask.dtype == jnp.bool_:
        return None
    return jnp.where(mask == -jnp.inf, 0.0, mask).astype(asked.wide)
