"""A bias that depends on the lag alone: one number per head and lag, seen as a matrix.

With equally spaced positions, bias(i, j) = f(start + step (i - j)): n + m - 1 numbers. A matrix
that is constant along its diagonals (Toeplitz) would be a view of them with strides (1, -1), and
PyTorch has no negative strides; but with the keys turned around, c = m - 1 - j, it is constant
along the other diagonals (Hankel), a view with strides (1, 1):

    bias(i, c) = profile[i + c],   profile[t] = f(start + step (t - m + 1)).

So no matrix is ever in memory, and it stays in the processor's cache. Gradients of learned numbers
are sums along diagonals, which PyTorch takes by itself. Where causal, later lags hold -inf, which
masks them at no cost. Values: float64, rounded to float32 or better last, also for vectors in half
precision. The augmented and strided forms of ALiBi: [press2021 sec. 3].
"""

from __future__ import annotations

import torch
from torch import Tensor

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.checking import check_heads
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.masks import Span
from gnomon.torch.base import XP


def profile_of(asked: Asked, layout: Layout) -> Tensor:
    """Return f at every lag (heads or 1, n + m - 1), from the earliest query and last key on."""
    if asked.profile is not None:
        return asked.profile
    _, heads, n, m = asked.sizes
    step = 1.0 if layout.step is None else layout.step
    places = torch.arange(1 - m, n, device=asked.q.device, dtype=torch.float64)
    lags = layout.start + (places if step == 1.0 else step * places)
    seen = lags.clamp_min(0.0) if asked.causal else lags
    origin = lags.new_zeros((1, 1))
    made = asked.encoding.bias_between(seen[:, None], origin, asked.numbers, xp=XP)[..., 0]
    check_heads(made.shape[0], asked.encoding, heads)
    made = made.to(asked.wide)
    if not asked.causal:
        return made
    slack = 1e-9 * step  # positions that were computed may miss one another by a rounding
    return made.masked_fill(lags < -slack, -torch.inf)


def turned_around(profile: Tensor, m: int, rows: Span, end: int) -> Tensor:
    """Return the bias of some queries to the first `end` keys in reverse order, as a view.

    Shape (1, heads, rows, end).
    """
    first, last = rows
    begin = first + m - end
    window = profile[:, begin : begin + (last - first) + end - 1]
    return window.unfold(-1, end, 1)[None]


def written(profile: Tensor, m: int, rows: Span, end: int) -> Tensor:
    """Return the bias of some queries to the first `end` keys, in their order, in memory."""
    return turned_around(profile, m, rows, end).flip(-1)
