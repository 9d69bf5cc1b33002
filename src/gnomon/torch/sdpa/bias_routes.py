r"""Attention with a bias: five routes from its formula to a fused kernel.

*bias*: the formula makes the bias of every query and key, (heads, n, m): the way that always holds.

*toeplitz*: at equally spaced positions, bias(i, j) = f(start + step (i - j)) is n + m - 1 numbers.
A matrix that is constant along its diagonals (Toeplitz) would be a view of them with strides (1,
-1), and PyTorch has no negative strides; with the keys reversed, c = m - 1 - j, it is constant
along the other diagonals (Hankel), a view with strides (1, 1):

    bias(i, c) = profile[i + c],   profile[t] = f(start + step (t - m + 1)).

So no matrix is in memory, and the profile stays in the processor's cache; gradients of learned
numbers are sums along diagonals. Where causal, later lags hold -inf, which masks them at no cost.
Values are made in float64 and rounded to float32 or better last. Reversed keys cost O(m d) per
sequence and head, a bias that is written out O(n m) per head: less for short sequences in large
batches.

*tiles*: 256 queries at a time, each with the keys up to its last query, so that a causal bias costs
half; short sequences have tiles of 64. Bias and mask are views of the profile, or made by the
formula, (heads, 256, m) at a time.

*augmented*: a bias of finite rank as further coordinates of queries and keys.

    -s (i - j) = s j - s i,   and softmax does not see s i, the same for all keys of a query:
    q^ = [q; g],  k^ = [k; s (j - c) / (g scale)],   scale q^.k^ = scale q.k + s (j - c).

One coordinate serves ALiBi at any positions, with the kernel's own triangle and no bias in memory.
c, the middle of the positions, halves the largest number; g, a power of two, keeps it in the range
of float16. What is added grows with the length while its type does not: in bfloat16 one coordinate
would err by 13 on a bias of 2.5. So it is split into limbs, each exact in the type of q, as many as
make 24 bits. Products are summed in float32, so logits err by an ulp of the largest term. Other
biases of finite rank give their own factors (`bias_factors`), bias = f_q.f_k^T, in float32 or
better. Head dimensions are padded to a multiple of 8, which kernels are made for.

*flex*: FlexAttention looks the bias up inside of the kernel, score + profile[h, i - j + m - 1], and
takes masks as blocks [dong2024]. On CUDA the compiler fuses it; on a processor PyTorch 2.13 has no
backward for it and it is slower, so it is never chosen there; asked for by name it gives the same.

Sources: [press2021 sec. 3] for strided and augmented ALiBi; BLOOM's code in transformers uses the
gauge of softmax as *augmented* does.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gnomon.numeric.arrays import concrete_or_none
from gnomon.torch.coordinates import XP
from gnomon.torch.sdpa.kernel import attend, is_triangle, padded
from gnomon.torch.sdpa.prepare import (
    Layout,
    Span,
    TorchCall,
    added,
    check_heads,
    keys_for,
    may_attend,
    whole_mask,
)

TILE = 256
"""Queries of one tile: fewer cost calls, more cost the keys that a causal tile could skip."""
_SHORT, _SHORT_TILE = 512, 64
"""Queries up to which a sequence is short, and the queries of its tiles."""
LIMBS = {torch.bfloat16: 3, torch.float16: 2, torch.float32: 2}
_MOST = {torch.float32: 2.0**12, torch.float64: 2.0**41}
"""The largest term of a logit by the type of its sum: an ulp of it is then below 2^-11."""
_MULTIPLE = 8
_LARGEST = 1024.0
_WRITTEN_BYTES = 2**24
"""Largest bias that is written out where that is cheaper than turning the keys around."""


def run_bias(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention with the bias of every query and key."""
    q, k, v = call.encode()
    mask = dense_bias(call, layout, "bias")
    return attend(q, k, v, mask=mask, scale=call.scale, dropout=call.dropout)


def run_toeplitz(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention with a bias of the lag."""
    q, k, v = call.encode()
    given: dict[str, Any] = {"scale": call.scale, "dropout": call.dropout}
    if call.masked or writes_out(call):
        return attend(q, k, v, mask=dense_bias(call, layout, "toeplitz"), **given)
    _, _, n, m = call.sizes
    view = _bias_backwards(lag_profile(call, layout), m, (0, n), m)
    return attend(q, k.flip(-2), v.flip(-2), mask=view, **given)


def writes_out(call: TorchCall) -> bool:
    """Whether writing the bias out is less than turning keys and values around."""
    batch, heads, n, m = call.sizes
    flips = 2 * batch * call.k.shape[1] * call.k.shape[-1]
    return heads * n <= flips and heads * n * m * call.wide.itemsize <= _WRITTEN_BYTES


def dense_bias(call: TorchCall, layout: Layout, route: str) -> Tensor | None:
    """Return bias and mask of all queries and keys: by the formula, or written out of a profile."""
    if call.dense_bias is not None:
        return call.dense_bias
    _, _, n, m = call.sizes
    if route == "bias":
        return whole_mask(call, layout, (0, n), m, _bias_of(call, (0, n), m))
    bias = _written_bias(lag_profile(call, layout), m, (0, n), m)
    return whole_mask(call, layout, (0, n), m, bias) if call.masked else bias


def _bias_of(call: TorchCall, rows: Span, end: int) -> Tensor:
    """Return the bias of some queries to the first `end` keys: (batch or 1, heads or 1, ...)."""
    queries, keys = call.at_q[..., slice(*rows), :], call.at_k[..., :end, :]
    if queries.ndim == 4:  # the formula knows no axis of heads in positions
        queries, keys = queries[:, 0], keys[:, 0]
    made = call.encoding.bias_between(queries, keys, call.numbers, xp=XP)
    check_heads(made.shape[-3], call.encoding, call.q.shape[1])
    made = made.to(call.wide)
    return made if made.ndim == 4 else made[None]


def run_tiles(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention tile by tile."""
    m = call.k.shape[-2]
    q, k, v = call.encode()
    profile = lag_profile(call, layout) if has_profile(call, layout) else None
    if profile is None or call.masked:
        made = [_forward(call, layout, (q, k, v), profile, rows) for rows in spans(call)]
        return torch.cat(made, dim=-2)
    given: dict[str, Any] = {"scale": call.scale, "dropout": call.dropout}
    whole = dense_bias(call, layout, "tiles") if writes_out(call) else None
    keys, values = (k, v) if whole is not None else (k.flip(-2), v.flip(-2))
    made = []
    for rows in spans(call):
        end = keys_for(call, layout, rows)
        if whole is not None:
            bias, some = whole[..., slice(*rows), :end], slice(0, end)
        else:
            bias, some = _bias_backwards(profile, m, rows, end), slice(m - end, m)
        part = (q[:, :, slice(*rows)], keys[:, :, some], values[:, :, some])
        made.append(attend(*part, mask=bias, **given))
    return torch.cat(made, dim=-2)


def spans(call: TorchCall, tile: int | None = None) -> Iterator[Span]:
    """Return the first and one past the last query of each tile."""
    n = call.q.shape[-2]
    tile = tile_of(n) if tile is None else tile
    return ((first, min(first + tile, n)) for first in range(0, max(n, 1), tile))


def tile_of(n: int) -> int:
    """Return how many queries a tile has: of a short sequence fewer, so that keys are skipped."""
    return TILE if n > _SHORT else _SHORT_TILE


def has_profile(call: TorchCall, layout: Layout) -> bool:
    """Whether the bias is a function of the lag at equally spaced lags."""
    encoding = call.encoding
    return call.biased and encoding.axes == 1 and encoding.card.relative and layout.step is not None


def _forward(
    call: TorchCall,
    layout: Layout,
    vectors: tuple[Tensor, Tensor, Tensor],
    profile: Tensor | None,
    rows: Span,
) -> Tensor:
    """Return one tile with its keys in their order, and a mask in memory."""
    q, k, v = vectors
    m = k.shape[-2]
    end = keys_for(call, layout, rows)
    bias = None
    if profile is not None:
        bias = _written_bias(profile, m, rows, end)
    elif call.biased:
        bias = _bias_of(call, rows, end)
    mask = whole_mask(call, layout, rows, end, bias)
    part = (q[:, :, slice(*rows)], k[:, :, :end], v[:, :, :end])
    return attend(*part, mask=mask, scale=call.scale, dropout=call.dropout)


def lag_profile(call: TorchCall, layout: Layout) -> Tensor:
    """Return f at every lag (heads or 1, n + m - 1), from the earliest query and last key on."""
    if call.profile is not None:
        return call.profile
    _, heads, n, m = call.sizes
    step = 1.0 if layout.step is None else layout.step
    places = torch.arange(1 - m, n, device=call.q.device, dtype=torch.float64)
    lags = layout.start + (places if step == 1.0 else step * places)
    seen = lags.clamp_min(0.0) if call.causal else lags
    origin = lags.new_zeros((1, 1))
    made = call.encoding.bias_between(seen[:, None], origin, call.numbers, xp=XP)[..., 0]
    check_heads(made.shape[0], call.encoding, heads)
    made = made.to(call.wide)
    if not call.causal:
        return made
    slack = 1e-9 * step  # positions that were computed may miss one another by a rounding
    return made.masked_fill(lags < -slack, -torch.inf)


def _bias_backwards(profile: Tensor, m: int, rows: Span, end: int) -> Tensor:
    """Return the bias of some queries to the first `end` keys in reverse order, as a view.

    Shape (1, heads, rows, end).
    """
    first, last = rows
    begin = first + m - end
    window = profile[:, begin : begin + (last - first) + end - 1]
    return window.unfold(-1, end, 1)[None]


def _written_bias(profile: Tensor, m: int, rows: Span, end: int) -> Tensor:
    """Return the bias of some queries to the first `end` keys, in their order, in memory."""
    return _bias_backwards(profile, m, rows, end).flip(-1)


def rank_of(call: TorchCall) -> int | None:
    """Return how many coordinates the bias needs beside q and k, or None where it has no rank."""
    if slopes_of(call) is not None:
        return 1
    return call.encoding.bias_rank


def slopes_of(call: TorchCall) -> Tensor | None:
    """Return m of a bias -m (i - j) for each head, or None where the bias is no such line."""
    encoding: Any = call.encoding
    if not encoding.is_one_of("alibi"):
        return None
    line = encoding.axes == 1 and not encoding.symmetric and encoding.slopes_after is None
    return call.numbers["slopes"] if line else None


def unfit_places(call: TorchCall) -> str | None:
    """Say why the bias at these positions is no sum in the type of logits, or None.

    Two terms cancel to the bias of a pair, so a logit errs by an ulp of the larger one: beside
    timestamps that is more than the bias of a near key.
    """
    if call.counted and concrete_or_none(call.at_k) is None:
        return None  # counted in compiled code: as far as the sequence is long
    if 0 in call.sizes:
        return None
    numbers = (values for values in call.numbers.values() if isinstance(values, Tensor))
    if any(concrete_or_none(x.detach()) is None for x in (call.at_q, call.at_k, *numbers)):
        return "positions cannot be seen"
    with torch.no_grad():
        reached = _largest_term(call)
    most = _MOST[call.wide]
    if reached <= most:
        return None
    return f"its terms reach {reached:.3g} at these positions, and {call.wide} sums {most:g}"


def _largest_term(call: TorchCall) -> float:
    """Return the largest number that coordinates add to a logit."""
    slopes = slopes_of(call)
    if slopes is not None:
        places = call.at_k[..., 0]
        span = float((places.amax(-1) - places.amin(-1)).amax())
        return 0.5 * span * float(slopes.abs().amax())
    queries, keys = _factors(call)
    sizes = (x.abs().amax(dim=(0, 2)) for x in (queries * call.scale, keys))
    return float(torch.mul(*sizes).sum(-1).amax())


def run_augmented(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention with a bias as coordinates."""
    _, heads, n, m = call.sizes
    q, k, v = call.encode()
    slopes = slopes_of(call)
    queries, keys = _factors(call) if slopes is None else _coordinates(call, slopes)
    check_heads(keys.shape[1], call.encoding, heads)
    k, v = call.own_heads(k), call.own_heads(v)
    width = -(-(q.shape[-1] + keys.shape[-1]) // _MULTIPLE) * _MULTIPLE
    left = padded(torch.cat([q, queries.expand(*q.shape[:-1], -1)], dim=-1), width)
    right = padded(torch.cat([k, keys.expand(*k.shape[:-1], -1)], dim=-1), width)
    given: dict[str, Any] = {"scale": call.scale, "dropout": call.dropout}
    if is_triangle(call, layout):
        return attend(left, right, v, causal=True, **given)
    return attend(left, right, v, mask=whole_mask(call, layout, (0, n), m), **given)


def _factors(call: TorchCall) -> tuple[Tensor, Tensor]:
    """Return the factors of a bias as its encoding gives them, (batch or 1, heads, n, rank)."""
    known = concrete_or_none(call.at_k)
    reference = 0.0 if known is None else float(0.5 * (known.min() + known.max()))
    made = []
    for side, at in (("q", call.at_q), ("k", call.at_k)):
        places = at[:, 0] if at.ndim == 4 else at
        given: dict[str, Any] = {"side": side, "reference": reference, "xp": XP}
        factors = call.encoding.bias_factors(places, call.numbers, **given)
        made.append(factors if factors.ndim == 4 else factors[None])
    queries = made[0] / call.scale
    return queries.to(call.q.dtype), made[1].to(call.q.dtype)


def _coordinates(call: TorchCall, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """Return what is put beside queries (1, 1, 1, limbs) and keys (batch or 1, heads, m, limbs)."""
    places = call.at_k[..., 0]
    places = places[None, None] if places.ndim == 1 else places
    middle = 0.5 * (places.amin(-1, keepdim=True) + places.amax(-1, keepdim=True))
    terms = slopes[:, None] * (places - middle) / call.scale
    largest = terms.detach().abs().amax().clamp_min(1.0)
    factor = torch.exp2(torch.ceil(torch.log2(largest / _LARGEST)).clamp_min(0.0))
    limbs = _split(terms / factor, call.q.dtype)
    ones = factor.to(call.q.dtype).expand(1, 1, 1, limbs.shape[-1])
    return ones, limbs


def _split(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return numbers as a sum of limbs in a type, along a new last axis; gradients take the first.

    >>> _split(torch.tensor([1.0 + 2.0**-10]).double(), torch.bfloat16).tolist()
    [[1.0, 0.0009765625, 0.0]]
    """
    limbs: list[Tensor] = []
    rest = values
    for _ in range(LIMBS.get(dtype, 1)):
        limb = rest.to(dtype)
        limbs.append(limb if not limbs else limb.detach())
        rest = rest - limb.detach().to(values.dtype)
    return torch.stack(limbs, dim=-1)


def run_flex(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention by FlexAttention."""
    q, k, v = call.encode()
    wanted = v.shape[-1]
    width = max(wanted, q.shape[-1])
    out = _kernel(q.device.type)(
        padded(q, width),
        padded(k, width),
        padded(v, width),
        score_mod=_score_mod(call, layout),
        block_mask=_block_mask(call, layout),
        scale=call.scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return out[..., :wanted]


def _score_mod(call: TorchCall, layout: Layout) -> Any:
    """Return the function that adds the bias and a mask of floats to one logit, or None."""
    _, heads, n, m = call.sizes
    profile = lag_profile(call, layout) if has_profile(call, layout) else None
    extra = added(call, (0, n), m)
    if profile is not None:
        profile = profile.expand(heads, -1)
    if extra is not None:
        extra = extra.expand(call.q.shape[0], heads, n, m)
    if profile is None and extra is None:
        return None

    def changed(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        score = score if profile is None else score + profile[h, i - j + (m - 1)]
        return score if extra is None else score + extra[b, h, i, j]

    return changed


def _block_mask(call: TorchCall, layout: Layout) -> Any:
    """Return which keys may be seen, in blocks, or None."""
    from torch.nn.attention.flex_attention import create_block_mask

    batch, heads, n, m = call.sizes
    if not call.causal and not call.masked:
        return None
    device = call.q.device
    if layout.ahead is not None and not call.masked:
        ahead = layout.ahead

        def triangle(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            del b, h
            return j <= i + ahead

        return create_block_mask(triangle, None, None, n, m, device=device)
    keep = may_attend(call, layout, (0, n), m)
    if keep is None:
        return None
    whole = keep.expand(batch, heads, n, m)
    return create_block_mask(
        lambda b, h, i, j: whole[b, h, i, j], batch, heads, n, m, device=device
    )


def _kernel(device: str) -> Any:
    """Return the function: fused on CUDA, plain elsewhere."""
    if device == "cuda":
        return _compile_flex()

    def plain(*vectors: Tensor, **given: Any) -> Tensor:
        from torch.nn.attention.flex_attention import flex_attention

        with warnings.catch_warnings():  # it says that it is not compiled: here that is meant
            warnings.simplefilter("ignore", UserWarning)
            out: Tensor = flex_attention(*vectors, **given)
        return out

    return plain


@functools.cache
def _compile_flex() -> Any:
    """Return the compiled kernel; PyTorch keeps a version of it for each kind of call."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention)
