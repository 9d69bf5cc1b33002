"""How a call of attention is prepared: what is known of positions, masks, and the kernel.

*The call* is checked and brought into one form as in every library (`gnomon.encodings`).

*Positions.* Queries and keys that are equally spaced with one step have lags start + step (i - j):
a bias of the lag alone is then a profile of n + m - 1 numbers. Where positions increase and the
queries are a run of the keys, or both are equally spaced, key j is no later than query i exactly
when j <= ahead + i: a triangle. Values are looked at only where that costs no wait and breaks no
graph; counted positions are known.

*Masks.*

    may(i, j) = no later (where causal)  and  mask(i, j)  and  segment(i) = segment(j)

A key is later when its position is; under an encoding with several axes, or one that reads tokens
in order, when it comes later in order. A boolean mask says True where a query may attend, a mask of
floats is added to logits. A query that may attend to no key gives zeros.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from gnomon.encodings import AttentionCall, Encoding
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import concrete_or_none
from gnomon.torch.coordinates import XP, check_tensor, coordinates_of
from gnomon.torch.layers import Layer, Transform

Span = tuple[int, int]
"""First and one past the last query of a part."""
_EIGHT_BITS = (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
)
"""Floats that are compared by nothing."""
_CLOSE = 1e-9
"""Part of a step by which equally spaced positions may err: what float64 leaves of real ones."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TorchCall(AttentionCall):
    """The arguments of one call of attention in PyTorch."""

    xp: ClassVar[Any] = XP
    encoding: Any
    fast: Transform | None
    """The layer, where it turns queries and keys faster than the formula does."""
    dropout: float
    profile: Tensor | None = None
    """The profile of the bias, where it was made before."""
    dense_bias: Tensor | None = None
    """Bias and mask of all queries and keys, where they were made before."""

    @staticmethod
    def read_array(x: Any, name: str, like: Tensor) -> Tensor:
        """Return a tensor on the device of another; segments may also come as a list."""
        if name in ("mask", "tokens"):
            check_tensor(x, name)
            x = x.float() if name == "mask" and x.dtype in _EIGHT_BITS else x
        return torch.as_tensor(x, device=like.device)

    @staticmethod
    def is_real(x: Tensor) -> bool:
        """Whether a tensor holds floats that can be computed with: those of eight bits cannot."""
        return bool(x.is_floating_point() and x.dtype.itemsize > 1)

    @staticmethod
    def coordinates_of(positions: Any, axes: int, like: Tensor) -> Any:
        """Return positions as coordinates (..., axes)."""
        return coordinates_of(positions, axes, like.device)

    @staticmethod
    def count(length: int, like: Tensor) -> Tensor:
        """Return coordinates (length, 1) of 0, 1, 2, ..."""
        return torch.arange(length, device=like.device, dtype=torch.float64)[:, None]

    def transform(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries and keys after the transform, by the layer where that is faster."""
        if self.fast is None:
            return super().transform(q, k)
        if self.counted and q.shape[-2] == k.shape[-2]:
            made: tuple[Tensor, Tensor] = self.fast(q, k)
        else:
            made = self.fast(q, k, places(self.at_q), places(self.at_k))
        return made


def prepare_call(q: Any, k: Any, v: Any, encoding: Any, given: dict[str, Any]) -> TorchCall:
    """Return the checked arguments of a call."""
    definition = encoding.definition if isinstance(encoding, Layer) else encoding
    if not isinstance(definition, Encoding):
        raise EncodingError(
            f"The encoding is of type {type(encoding).__name__}; pass what gnomon.encoding(...) or "
            "gnomon.torch.layer(...) returns."
        )
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, Tensor):
            check_tensor(x, name)
    if definition is encoding:
        numbers = definition.numbers_in(q, xp=XP)
    else:
        numbers = encoding.numbers_on(q.device)
    fields = TorchCall.fields_of(q, k, v, definition, numbers, given)
    turns = isinstance(encoding, Transform) and fields["encoding"] is definition
    fast = encoding if turns else None
    return TorchCall(**fields, fast=fast, dropout=_dropout_of(given["dropout"]))


def _dropout_of(dropout: Any) -> float:
    """Return the share of weights that is dropped."""
    number = isinstance(dropout, int | float) and not isinstance(dropout, bool)
    if not number or not 0.0 <= dropout < 1.0:
        raise EncodingError(f"dropout is {dropout!r}; pass a share from 0 on and below 1.")
    return float(dropout)


def check_heads(heads: int, encoding: Any, wanted: int) -> None:
    """Refuse a bias for another number of heads."""
    if heads != 1 and heads != wanted:  # noqa: PLR1714  # sizes may be symbols of a graph
        raise EncodingError(
            f"q has {wanted} heads, but the encoding {encoding.name!r} has biases for {heads}; "
            f"pass q of shape (..., {heads}, n, dimension)."
        )


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What is known of the positions of a call."""

    seen: bool
    """Whether positions are known."""
    step: float | None = None
    """The step of equally spaced positions; None where they are not."""
    start: float = 0.0
    """The lag of the first query and the first key; a symbol where the length is left open."""
    ahead: int | None = None
    """Key j is no later than query i when j <= ahead + i; None where no such number is."""


def layout_of(call: TorchCall) -> Layout:
    """Return how the positions of a call lie."""
    _, _, n, m = call.sizes
    if call.encoding.in_order or call.encoding.axes > 1:
        return Layout(seen=True, ahead=m - n)  # the order of tokens decides which is later
    if call.counted:
        return Layout(seen=True, step=1.0, start=m - n, ahead=m - n)
    keys = concrete_or_none(call.at_k)
    queries = keys if call.at_q is call.at_k else concrete_or_none(call.at_q)
    if keys is None or queries is None:
        return Layout(seen=False)
    if keys.ndim != 2 or min(n, m) == 0:
        return Layout(seen=True)
    return _of_values(queries[:, 0], keys[:, 0])


def _of_values(queries: Any, keys: Any) -> Layout:
    start = float(queries[0] - keys[0])
    step = _step(queries, keys)
    if step is not None:
        return Layout(seen=True, step=step, start=start, ahead=math.floor(start / step + _CLOSE))
    first = int(np.searchsorted(keys, queries[0]))
    run = keys[first : first + len(queries)]
    rising = bool((np.diff(keys) > 0).all())
    aligned = rising and np.array_equal(run, queries)
    return Layout(seen=True, start=start, ahead=first if aligned else None)


def _step(queries: Any, keys: Any) -> float | None:
    """Return the one step of both sides, 1 where neither has two positions."""
    longer = queries if len(queries) > len(keys) else keys
    if len(longer) < 2:
        return 1.0
    step = float(longer[-1] - longer[0]) / (len(longer) - 1)
    if step <= 0:
        return None
    for side in (queries, keys):
        if np.abs(side - side[0] - step * np.arange(len(side))).max() > _CLOSE * step:
            return None
    return step


def may_attend(call: TorchCall, layout: Layout, rows: Span, end: int) -> Tensor | None:
    """Return booleans (batch or 1, heads or 1, rows, end), or None where every key may be seen."""
    parts = []
    if call.causal and not _all_earlier(layout, rows, end):
        parts.append(_no_later(call, layout, rows, end))
    if call.mask is not None and call.mask.dtype == torch.bool:
        parts.append(_cut(call.mask, rows, end))
    if call.segments_q is not None and call.segments_k is not None:
        of_q, of_k = call.segments_q[:, slice(*rows), None], call.segments_k[:, None, :end]
        parts.append((of_q == of_k)[:, None])
    found = parts[0] if parts else None
    for part in parts[1:]:
        found = found & part
    return found


def added(call: TorchCall, rows: Span, end: int) -> Tensor | None:
    """Return what a mask of floats adds to logits, in their wide type, or None."""
    if call.mask is None or call.mask.dtype == torch.bool:
        return None
    return _cut(call.mask, rows, end).to(call.wide)


def whole_mask(
    call: TorchCall, layout: Layout, rows: Span, end: int, bias: Tensor | None = None
) -> Tensor | None:
    """Return bias, float mask and boolean mask as one: booleans alone, or a sum with -inf."""
    keep, extra = may_attend(call, layout, rows, end), added(call, rows, end)
    total = bias if extra is None else extra if bias is None else bias + extra
    if total is None or keep is None:
        return keep if total is None else total
    return torch.where(keep, total, -torch.inf)


def _all_earlier(layout: Layout, rows: Span, end: int) -> bool:
    """Whether the first `end` keys are no later than any query of a run."""
    return layout.ahead is not None and end - 1 <= layout.ahead + rows[0]


def keys_for(call: TorchCall, layout: Layout, rows: Span) -> int:
    """Return how many of the first keys a run of queries needs, at least one."""
    m = call.k.shape[-2]
    if not call.causal or layout.ahead is None:
        return m
    return max(1, min(m, layout.ahead + rows[1]))


def _no_later(call: TorchCall, layout: Layout, rows: Span, end: int) -> Tensor:
    device = call.q.device
    if layout.ahead is not None:
        queries = torch.arange(rows[0], rows[1], device=device)[:, None] + layout.ahead
        return (torch.arange(end, device=device) <= queries)[None, None]
    queries, keys = call.at_q[..., slice(*rows), None, 0], call.at_k[..., None, :end, 0]
    return (keys <= queries).reshape(*[1] * (4 - max(queries.ndim, 2)), *(keys <= queries).shape)


def _cut(mask: Tensor, rows: Span, end: int) -> Tensor:
    """Return the part of a mask (.., .., n or 1, m or 1) for some queries and the first keys."""
    mask = mask if mask.shape[-2] == 1 else mask[..., slice(*rows), :]
    return mask if mask.shape[-1] == 1 else mask[..., :end]


def places(coordinates: Any) -> Any:
    """Return coordinates as positions: without the axis of one, and of heads where all agree."""
    if coordinates.ndim == 4 and coordinates.shape[1] == 1:
        coordinates = coordinates[:, 0]
    return coordinates[..., 0] if coordinates.shape[-1] == 1 else coordinates


def falling(begins: Tensor) -> Tensor:
    """Return positions (..., m) that are counted from 0 wherever a document begins.

    A rule that reads the neighbours of a token stops where positions do not rise, so that a mask
    alone tells it of packed documents whose positions were counted on.

    >>> falling(torch.tensor([True, False, True, False])).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    index = torch.arange(begins.shape[-1], dtype=torch.float64, device=begins.device)
    first = torch.where(begins, index, 0.0).cummax(dim=-1).values
    return index - first
