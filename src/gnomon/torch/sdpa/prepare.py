"""How a call of attention is prepared: checked, brought into one form, and handed to the kernel.

*The call.* Queries, keys and values become (batch, heads, n, d); positions become coordinates
(n, axes), or (batch or 1, heads or 1, n, axes) where sequences differ. Wrappers are taken off: a
layer of a schedule is its inner encoding or none, and randomised positions are the places they
stand for. What PyTorch refuses beside every library (`gnomon.encodings`) is refused before anything
is computed.

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

*The kernel*, out = softmax(scale q k^T + mask) v. PyTorch's fast kernels ask for queries, keys and
values of one dimension and for masks with four axes, and take a mask of float32 beside vectors of
half precision on a processor: a bias is then not rounded to eight bits. Memory beside the result:
O(n), where a fast kernel serves; a mask that learns within a transform of `torch.func` is served by
plain products, with as many logits as it has entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

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
    scale_of,
    unfit_positions,
    unwrapped,
    with_vectors,
)
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import concrete_or_none, wrapped
from gnomon.torch.coordinates import XP, check_tensor, coordinates_of, is_real
from gnomon.torch.layers import Layer, Transform

Span = tuple[int, int]
"""First and one past the last query of a part."""
_CLOSE = 1e-9
"""Part of a step by which equally spaced positions may err: what float64 leaves of real ones."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionCall:
    """The arguments of one call of attention."""

    q: Tensor
    k: Tensor
    v: Tensor
    leading: tuple[int, ...]
    """The axes before heads, as the caller has them."""
    encoding: Any
    numbers: dict[str, Any]
    fast: Transform | None
    """The layer, where it turns queries and keys faster than the formula does."""
    at_q: Any
    at_k: Any
    counted: bool
    """Whether keys stand at 0 ... m-1 and queries at the last n of these."""
    causal: bool
    mask: Tensor | None
    segments_q: Tensor | None
    segments_k: Tensor | None
    scale: float
    tokens: Tensor | None
    dropout: float
    profile: Tensor | None = None
    """The profile of the bias, where it was made before."""
    dense_bias: Tensor | None = None
    """Bias and mask of all queries and keys, where they were made before."""

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Return batch, heads, queries and keys."""
        batch, heads, n, _ = self.q.shape
        return batch, heads, n, self.k.shape[-2]

    @property
    def empty(self) -> bool:
        """Whether there is no query, or no key, so that nothing is to be computed."""
        _, _, n, m = self.sizes
        return bool(n == 0 or m == 0)

    @property
    def wide(self) -> torch.dtype:
        """Return the type of biases and logits: float32 or better."""
        return torch.promote_types(self.q.dtype, torch.float32)

    @property
    def groups(self) -> int:
        """Return how many query heads share a key head."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def biased(self) -> bool:
        """Whether something is added to logits; no encoding at all adds nothing."""
        return "bias" in self.encoding.kinds and not isinstance(self.encoding, Nope)

    @property
    def masked(self) -> bool:
        """Whether a mask or segments are given, beside what causality asks."""
        return self.mask is not None or self.segments_q is not None


def prepare_call(q: Any, k: Any, v: Any, encoding: Any, given: dict[str, Any]) -> AttentionCall:
    """Return the checked arguments of a call."""
    definition, layer = _definition(encoding)
    _check_vectors(q, k, v)
    leading = tuple(q.shape[:-3])
    q, k, v = (four_axes(x, leading) for x in (q, k, v))
    n, m = q.shape[-2], k.shape[-2]
    at_q, at_k, counted = _places(definition, q, m, leading, given)
    numbers = definition.numbers_in(q, xp=XP) if layer is None else layer.numbers_on(q.device)
    inner, at_q, at_k, moved = unwrapped(definition, numbers, at_q, at_k, xp=XP)
    check_cache(inner, n, m)
    turns = isinstance(layer, Transform) and inner is definition
    size = (*leading, q.shape[-3], n, m)
    segments = _segments(given, leading, n, m, q.device)
    return AttentionCall(
        q=q,
        k=k,
        v=v,
        leading=leading,
        encoding=inner,
        numbers=numbers,
        fast=layer if turns else None,
        at_q=at_q,
        at_k=at_k,
        counted=counted and not moved,
        causal=causal_of(inner, given["causal"]),
        mask=_mask_of(given["mask"], size, q.device),
        segments_q=segments[0],
        segments_k=segments[1],
        scale=scale_of(given["scale"], definition, q.shape[-1]),
        tokens=_tokens(given["tokens"], leading),
        dropout=_dropout_of(given["dropout"]),
    )


def _definition(encoding: Any) -> tuple[Encoding, Layer | None]:
    """Return the definition, and the layer that holds learned numbers of it."""
    if isinstance(encoding, Layer):
        return encoding.definition, encoding
    if isinstance(encoding, Encoding):
        return encoding, None
    raise EncodingError(
        f"The encoding is of type {type(encoding).__name__}; pass what gnomon.encoding(...) or "
        "gnomon.torch.layer(...) returns."
    )


def four_axes(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """Return vectors (..., heads, n, d) as (batch, heads, n, d)."""
    if len(leading) == 1:
        return x
    return flat(x, 3)


def _places(
    encoding: Any, q: Tensor, m: int, leading: tuple[int, ...], given: dict[str, Any]
) -> tuple[Any, Any, bool]:
    """Return coordinates of queries and keys, and whether they were counted."""
    n, axes = q.shape[-2], encoding.axes
    of_q, of_k = given["positions_q"], given["positions_k"]
    if of_q is None and of_k is None:
        check_counting(encoding, n, m)
        keys = torch.arange(m, device=q.device, dtype=torch.float64)[:, None]
        return keys[m - n :], keys, True
    of_q, of_k = both_sides("positions", of_q, of_k, n, m)
    heads = q.shape[1]
    made = [
        _beside(coordinates_of(at, axes, q.device), count, name, leading, heads)
        for at, count, name in ((of_q, n, "q"), (of_k, m, "k"))
    ]
    if made[0].ndim != made[1].ndim:  # one side is shared: so that both have the same axes
        made = [at if at.ndim == 4 else at[None, None] for at in made]
    return made[0], made[1], False


def _beside(coordinates: Any, count: int, name: str, leading: tuple[int, ...], heads: int) -> Any:
    """Return coordinates as (count, axes), or (batch or 1, heads or 1, count, axes)."""
    shape = tuple(coordinates.shape[:-1])
    if shape == (count,):
        return coordinates
    if _broadcasts(shape, (*leading, count)) and shape[-1] == count:
        return _flatten_leading(coordinates[..., None, :, :], leading)
    if _broadcasts(shape, (*leading, heads, count)) and shape[-1] == count:
        return _flatten_leading(coordinates, leading)
    raise unfit_positions(name, shape, leading, count)


def _segments(
    given: dict[str, Any], leading: tuple[int, ...], n: int, m: int, device: Any
) -> tuple[Tensor | None, Tensor | None]:
    """Return the segments of queries and keys, (batch or 1, n) and (batch or 1, m)."""
    of_q, of_k = given["segments_q"], given["segments_k"]
    if of_q is None and of_k is None:
        return None, None
    of_q, of_k = both_sides("segments", of_q, of_k, n, m)
    made = []
    for segments, count, name in ((of_q, n, "segments_q"), (of_k, m, "segments_k")):
        values = torch.as_tensor(segments, device=device)
        shape = tuple(values.shape)
        if shape[-1:] != (count,) or not _broadcasts(shape, (*leading, count)):
            check_segments(name, shape, leading, count)
        beside = values.reshape(*[1] * (len(leading) + 1 - values.ndim), *values.shape)
        made.append(_flatten_leading(beside[..., None, None, :], leading)[:, 0, 0])
    return made[0], made[1]


def _tokens(tokens: Any, leading: tuple[int, ...]) -> Tensor | None:
    """Return what a rule reads, with the axes that keys have here."""
    if not isinstance(tokens, Tensor) or len(leading) == 1:
        return tokens
    if not leading:
        return tokens[None]
    same = tokens.ndim == len(leading) + 3
    return flat(tokens, 3 if same else 2)


def _check_vectors(q: Any, k: Any, v: Any) -> None:
    """Refuse queries, keys and values that do not go together."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        check_tensor(x, name)
        check_vectors(name, tuple(x.shape), x.dtype, real=is_real(x))
    if len({q.dtype, k.dtype, v.dtype}) > 1:
        raise EncodingError(
            f"q, k and v are of {q.dtype}, {k.dtype} and {v.dtype}; pass one type for all three."
        )
    check_shapes(tuple(q.shape), tuple(k.shape), tuple(v.shape))


def _dropout_of(dropout: Any) -> float:
    """Return the share of weights that is dropped."""
    number = isinstance(dropout, int | float) and not isinstance(dropout, bool)
    if not number or not 0.0 <= dropout < 1.0:
        raise EncodingError(f"dropout is {dropout!r}; pass a share from 0 on and below 1.")
    return float(dropout)


def _mask_of(mask: Any, size: tuple[int, ...], device: Any) -> Tensor | None:
    """Return a mask that broadcasts to logits of `size`, with four axes: (batch, heads, n, m)."""
    if mask is None:
        return None
    check_tensor(mask, "mask")
    usable = mask.dtype == torch.bool or mask.is_floating_point()
    check_mask(tuple(mask.shape), size, mask.dtype, usable=usable)
    if mask.is_floating_point() and not is_real(mask):
        mask = mask.float()  # floats of eight bits are compared by nothing
    return _flatten_leading(
        mask.to(device).reshape(*[1] * (len(size) - mask.ndim), *mask.shape), size[:-3]
    )


def _flatten_leading(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """Return x (..., a, b, c), with first axes that broadcast to `leading`, with four axes."""
    shared = all(size == 1 for size in x.shape[:-3])
    whole = x if shared else x.expand(*leading, *x.shape[-3:])
    return whole.reshape(1 if shared else math.prod(leading), *x.shape[-3:])


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether each axis of a shape is 1 or that of another with as many axes."""
    pairs = zip(shape, to, strict=False)
    return len(shape) == len(to) and all(checks.serves(a, b) for a, b in pairs)


def check_heads(heads: int, encoding: Any, wanted: int) -> None:
    """Refuse a bias for another number of heads."""
    if not checks.serves(heads, wanted):
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


def layout_of(call: AttentionCall) -> Layout:
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


def may_attend(call: AttentionCall, layout: Layout, rows: Span, end: int) -> Tensor | None:
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


def added(call: AttentionCall, rows: Span, end: int) -> Tensor | None:
    """Return what a mask of floats adds to logits, in their wide type, or None."""
    if call.mask is None or call.mask.dtype == torch.bool:
        return None
    return _cut(call.mask, rows, end).to(call.wide)


def whole_mask(
    call: AttentionCall, layout: Layout, rows: Span, end: int, bias: Tensor | None = None
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


def keys_for(call: AttentionCall, layout: Layout, rows: Span) -> int:
    """Return how many of the first keys a run of queries needs, at least one."""
    m = call.k.shape[-2]
    if not call.causal or layout.ahead is None:
        return m
    return max(1, min(m, layout.ahead + rows[1]))


def _no_later(call: AttentionCall, layout: Layout, rows: Span, end: int) -> Tensor:
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


def encode_queries_keys(call: AttentionCall) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values as PyTorch's attention takes them."""
    q, k, v = call.q, call.k, call.v
    kinds = call.encoding.kinds
    if not {"vectors", "transform"} & set(kinds):
        return q, k, v
    if call.groups > 1 and by_head(call.encoding):
        k, v = own_heads(k, call.groups), own_heads(v, call.groups)
    if "vectors" in kinds:
        q = with_vectors(call.encoding, q, call.at_q, call.numbers, name="q", xp=XP)
        k = with_vectors(call.encoding, k, call.at_k, call.numbers, name="k", xp=XP)
    if "transform" in kinds:
        q, k = _turned(call, q, k)
    return q, k, v


def _turned(call: AttentionCall, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    if call.fast is not None and call.counted and q.shape[-2] == k.shape[-2]:
        made: tuple[Tensor, Tensor] = call.fast(q, k)
        return made
    if call.fast is not None:
        given: tuple[Tensor, Tensor] = call.fast(q, k, places(call.at_q), places(call.at_k))
        return given
    turn = call.encoding.turned
    left = turn(q, call.at_q, call.numbers, side="q", xp=XP)
    right = turn(k, call.at_k, call.numbers, side="k", xp=XP)
    return left, right


def places(coordinates: Any) -> Any:
    """Return coordinates as positions: without the axis of one, and of heads where all agree."""
    if coordinates.ndim == 4 and coordinates.shape[1] == 1:
        coordinates = coordinates[:, 0]
    return coordinates[..., 0] if coordinates.shape[-1] == 1 else coordinates


def is_triangle(call: AttentionCall, layout: Layout) -> bool:
    """Whether the mask is the one that the kernel has of its own."""
    _, _, n, m = call.sizes
    return call.causal and not call.masked and layout.ahead == 0 and n == m


def own_heads(x: Tensor, groups: int) -> Tensor:
    """Return keys or values with each head repeated for the queries that share it."""
    return x if groups == 1 else x.repeat_interleave(groups, dim=1)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Return attention of q (batch, heads, n, d) to keys, whose heads may be fewer."""
    if mask is not None and mask.is_floating_point() and _learns_unseen(mask):
        return _by_products(q, k, v, mask, scale=scale, dropout=dropout)
    wanted = v.shape[-1]
    width = max(wanted, q.shape[-1])
    if mask is not None and mask.dtype != torch.bool and q.device.type != "cpu":
        mask = mask.to(q.dtype)
    # A literal: the size of a dynamic graph is a symbol, and so is what it is compared with.
    shared = True if q.shape[1] != k.shape[1] else False  # noqa: SIM210
    out = functional.scaled_dot_product_attention(
        padded(q, width),
        padded(k, width),
        padded(v, width),
        attn_mask=mask,
        is_causal=causal,
        scale=scale,
        dropout_p=dropout,
        enable_gqa=shared,
    )
    return out if wanted == width else out[..., :wanted]


def _learns_unseen(mask: Tensor) -> bool:
    """Whether a mask learns where PyTorch does not see it: within a transform of `torch.func`.

    It would take a kernel without a gradient of the mask, and fail. Compiled code can not tell.
    """
    inside = torch._C._functorch.peek_interpreter_stack() is not None  # noqa: SLF001 - no other way
    if not inside or torch.compiler.is_compiling():
        return inside
    while wrapped(mask) and not mask.requires_grad:
        mask = torch._C._functorch.get_unwrapped(mask)  # noqa: SLF001
    return bool(mask.requires_grad)


def _by_products(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, scale: float, dropout: float
) -> Tensor:
    """Return attention with all logits in memory, which any transform differentiates."""
    groups, wide = q.shape[1] // k.shape[1], torch.promote_types(q.dtype, mask.dtype)
    k, v = (x.to(wide).repeat_interleave(groups, dim=1) for x in (k, v))
    logits = torch.matmul(q.to(wide), k.mT) * scale + mask
    weights = functional.dropout(weights_of(logits), dropout)
    return torch.matmul(weights, v).to(q.dtype)


def weights_of(logits: Tensor) -> Tensor:
    """Return softmax over keys; zeros, with gradients of zero, where every logit is -inf."""
    none = (logits == -torch.inf).all(dim=-1, keepdim=True)
    weights = torch.softmax(torch.where(none, 0.0, logits), dim=-1)
    return torch.where(none, 0.0, weights)


def padded(x: Tensor, width: int) -> Tensor:
    """Return vectors with zeros added up to a width."""
    return x if x.shape[-1] == width else functional.pad(x, (0, width - x.shape[-1]))


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
