"""Which keys a query may attend to, for a run of queries and the first keys of a call.

    may(i, j) = no later (where causal)  and  mask(i, j)  and  segment(i) = segment(j)

A key is later when its position is; under an encoding with several axes, or one that reads tokens
in order, when it comes later in order. A boolean mask says True where a query may attend, a mask of
floats is added to logits. A query that may attend to no key gives zeros.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.layout import Layout

Span = tuple[int, int]
"""First and one past the last query of a part."""


def may_attend(asked: Asked, layout: Layout, rows: Span, end: int) -> Tensor | None:
    """Return booleans (batch or 1, heads or 1, rows, end), or None where every key may be seen."""
    parts = []
    if asked.causal and not all_earlier(layout, rows, end):
        parts.append(_no_later(asked, layout, rows, end))
    if asked.mask is not None and asked.mask.dtype == torch.bool:
        parts.append(_cut(asked.mask, rows, end))
    if asked.segments_q is not None and asked.segments_k is not None:
        of_q, of_k = asked.segments_q[:, slice(*rows), None], asked.segments_k[:, None, :end]
        parts.append((of_q == of_k)[:, None])
    found = parts[0] if parts else None
    for part in parts[1:]:
        found = found & part
    return found


def added(asked: Asked, rows: Span, end: int) -> Tensor | None:
    """Return what a mask of floats adds to logits, in their wide type, or None."""
    if asked.mask is None or asked.mask.dtype == torch.bool:
        return None
    return _cut(asked.mask, rows, end).to(asked.wide)


def whole_mask(
    asked: Asked, layout: Layout, rows: Span, end: int, bias: Tensor | None = None
) -> Tensor | None:
    """Return bias, float mask and boolean mask as one: booleans alone, or a sum with -inf."""
    keep, extra = may_attend(asked, layout, rows, end), added(asked, rows, end)
    total = bias if extra is None else extra if bias is None else bias + extra
    if total is None or keep is None:
        return keep if total is None else total
    return torch.where(keep, total, -torch.inf)


def all_earlier(layout: Layout, rows: Span, end: int) -> bool:
    """Whether the first `end` keys are no later than any query of a run."""
    return layout.ahead is not None and end - 1 <= layout.ahead + rows[0]


def keys_for(asked: Asked, layout: Layout, rows: Span) -> int:
    """Return how many of the first keys a run of queries needs, at least one."""
    m = asked.k.shape[-2]
    if not asked.causal or layout.ahead is None:
        return m
    return max(1, min(m, layout.ahead + rows[1]))


def _no_later(asked: Asked, layout: Layout, rows: Span, end: int) -> Tensor:
    device = asked.q.device
    if layout.ahead is not None:
        queries = torch.arange(rows[0], rows[1], device=device)[:, None] + layout.ahead
        return (torch.arange(end, device=device) <= queries)[None, None]
    queries, keys = asked.at_q[..., slice(*rows), None, 0], asked.at_k[..., None, :end, 0]
    return (keys <= queries).reshape(*[1] * (4 - max(queries.ndim, 2)), *(keys <= queries).shape)


def _cut(mask: Tensor, rows: Span, end: int) -> Tensor:
    """Return the part of a mask (.., .., n or 1, m or 1) for some queries and the first keys."""
    mask = mask if mask.shape[-2] == 1 else mask[..., slice(*rows), :]
    return mask if mask.shape[-1] == 1 else mask[..., :end]
