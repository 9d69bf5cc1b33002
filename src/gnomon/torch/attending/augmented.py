r"""A bias of finite rank as further coordinates of queries and keys.

    -m (i - j) = m j - m i,   and softmax does not see m i, the same for all keys of a query:
    q^ = [q; g],  k^ = [k; m (j - c) / (g scale)],   scale q^.k^ = scale q.k + m (j - c).

One coordinate serves ALiBi at any positions, equally spaced or not, with the kernel's own triangle
and no bias in memory. c, the middle of the positions, halves the largest number; g, a power of two,
keeps it in the range of float16. What is added grows with the length while its type does not: in
bfloat16 one coordinate would err by 13 on a bias of 2.5. So it is split into limbs, each exact in
the type of q, as many as make 24 bits: two in float16 and float32, three in bfloat16. Products are
summed in float32, so logits err by an ulp of the largest term, m n / 2.

Other biases of finite rank give their own factors (`bias_factors`), bias = f_q.f_k^T, in float32 or
better. Head dimensions are padded to a multiple of 8, which kernels are made for.

Source: [press2021 sec. 3]; BLOOM's code in transformers uses the gauge of softmax so.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gnomon.encodings import Alibi
from gnomon.numeric.arrays import concrete_or_none
from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.checking import check_heads
from gnomon.torch.attending.kernel import attend, padded
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.masks import whole_mask
from gnomon.torch.attending.plain import is_triangle
from gnomon.torch.attending.turned import own_heads, turned_pair
from gnomon.torch.base import XP

LIMBS = {torch.bfloat16: 3, torch.float16: 2, torch.float32: 2}
MOST = {torch.float32: 2.0**12, torch.float64: 2.0**41}
"""The largest term of a logit by the type of its sum: an ulp of it is then below 2^-11."""
_MULTIPLE = 8
_LARGEST = 1024.0


def rank_of(asked: Asked) -> int | None:
    """Return how many coordinates the bias needs beside q and k, or None where it has no rank."""
    if slopes_of(asked) is not None:
        return 1
    rank = getattr(asked.encoding, "bias_rank", None)
    return None if rank is None else int(rank)


def slopes_of(asked: Asked) -> Tensor | None:
    """Return m of a bias -m (i - j) for each head, or None where the bias is no such line."""
    encoding: Any = asked.encoding
    if not isinstance(encoding, Alibi):
        return None
    line = encoding.axes == 1 and not encoding.symmetric and encoding.slopes_after is None
    return asked.numbers["slopes"] if line else None


def unfit_places(asked: Asked) -> str | None:
    """Say why the bias at these positions is no sum in the type of logits, or None.

    Two terms cancel to the bias of a pair, so a logit errs by an ulp of the larger one: beside
    timestamps that is more than the bias of a near key.
    """
    if asked.counted and concrete_or_none(asked.at_k) is None:
        return None  # counted in compiled code: as far as the sequence is long
    if asked.empty:
        return None
    numbers = (values for values in asked.numbers.values() if isinstance(values, Tensor))
    if any(concrete_or_none(x.detach()) is None for x in (asked.at_q, asked.at_k, *numbers)):
        return "positions can not be seen"
    with torch.no_grad():
        reached = _largest_term(asked)
    most = MOST[asked.wide]
    if reached <= most:
        return None
    return f"its terms reach {reached:.3g} at these positions, and {asked.wide} sums {most:g}"


def _largest_term(asked: Asked) -> float:
    """Return the largest number that coordinates add to a logit."""
    slopes = slopes_of(asked)
    if slopes is not None:
        places = asked.at_k[..., 0]
        span = float((places.amax(-1) - places.amin(-1)).amax())
        return 0.5 * span * float(slopes.abs().amax())
    queries, keys = _factors(asked)
    sizes = (x.abs().amax(dim=(0, 2)) for x in (queries * asked.scale, keys))
    return float(torch.mul(*sizes).sum(-1).amax())


def run(asked: Asked, layout: Layout) -> Tensor:
    """Return attention with a bias as coordinates."""
    _, heads, n, m = asked.sizes
    q, k, v = turned_pair(asked)
    slopes = slopes_of(asked)
    queries, keys = _factors(asked) if slopes is None else _coordinates(asked, slopes)
    check_heads(keys.shape[1], asked.encoding, heads)
    k, v = own_heads(k, asked.groups), own_heads(v, asked.groups)
    width = -(-(q.shape[-1] + keys.shape[-1]) // _MULTIPLE) * _MULTIPLE
    left = padded(torch.cat([q, queries.expand(*q.shape[:-1], -1)], dim=-1), width)
    right = padded(torch.cat([k, keys.expand(*k.shape[:-1], -1)], dim=-1), width)
    given: dict[str, Any] = {"scale": asked.scale, "dropout": asked.dropout}
    if is_triangle(asked, layout):
        return attend(left, right, v, causal=True, **given)
    return attend(left, right, v, mask=whole_mask(asked, layout, (0, n), m), **given)


def _factors(asked: Asked) -> tuple[Tensor, Tensor]:
    """Return the factors of a bias as its encoding gives them, (batch or 1, heads, n, rank)."""
    known = concrete_or_none(asked.at_k)
    reference = 0.0 if known is None else float(0.5 * (known.min() + known.max()))
    made = []
    for side, at in (("q", asked.at_q), ("k", asked.at_k)):
        places = at[:, 0] if at.ndim == 4 else at
        given: dict[str, Any] = {"side": side, "reference": reference, "xp": XP}
        factors = asked.encoding.bias_factors(places, asked.numbers, **given)
        made.append(factors if factors.ndim == 4 else factors[None])
    queries = made[0] / asked.scale
    return queries.to(asked.q.dtype), made[1].to(asked.q.dtype)


def _coordinates(asked: Asked, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """Return what is put beside queries (1, 1, 1, limbs) and keys (batch or 1, heads, m, limbs)."""
    places = asked.at_k[..., 0]
    places = places[None, None] if places.ndim == 1 else places
    middle = 0.5 * (places.amin(-1, keepdim=True) + places.amax(-1, keepdim=True))
    terms = slopes[:, None] * (places - middle) / asked.scale
    largest = terms.detach().abs().amax().clamp_min(1.0)
    factor = torch.exp2(torch.ceil(torch.log2(largest / _LARGEST)).clamp_min(0.0))
    limbs = split(terms / factor, asked.q.dtype)
    ones = factor.to(asked.q.dtype).expand(1, 1, 1, limbs.shape[-1])
    return ones, limbs


def split(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return numbers as a sum of limbs in a type, along a new last axis; gradients take the first.

    >>> split(torch.tensor([1.0 + 2.0**-10]).double(), torch.bfloat16).tolist()
    [[1.0, 0.0009765625, 0.0]]
    """
    limbs: list[Tensor] = []
    rest = values
    for _ in range(LIMBS.get(dtype, 1)):
        limb = rest.to(dtype)
        limbs.append(limb if not limbs else limb.detach())
        rest = rest - limb.detach().to(values.dtype)
    return torch.stack(limbs, dim=-1)
