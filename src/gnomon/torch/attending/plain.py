"""One call of PyTorch's attention: the encoding acts on queries and keys, or gives a whole bias.

*plain*: logits are scale q~.k~, so nothing is left to add; a triangle is the kernel's own, any
other mask is booleans (n, m). *bias*: the formula of the encoding makes the bias of every query and
key, (heads, n, m): the way that always holds.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.checking import check_heads
from gnomon.torch.attending.kernel import attend
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.masks import Span, whole_mask
from gnomon.torch.attending.turned import own_heads, turned_pair
from gnomon.torch.base import XP


def run(asked: Asked, layout: Layout) -> Tensor:
    """Return attention of turned queries and keys."""
    _, _, n, m = asked.sizes
    q, k, v = turned_pair(asked)
    given: dict[str, Any] = {"scale": asked.scale, "dropout": asked.dropout}
    if is_triangle(asked, layout):
        return attend(q, k, v, causal=True, **given)
    return attend(q, k, v, mask=whole_mask(asked, layout, (0, n), m), **given)


def run_empty(asked: Asked, layout: Layout) -> Tensor:
    """Return attention where there is no query, or no key: nothing, or zeros without a slope."""
    del layout
    k, v = own_heads(asked.k, asked.groups), own_heads(asked.v, asked.groups)
    return torch.matmul(torch.matmul(asked.q, k.mT), v)


def run_with_bias(asked: Asked, layout: Layout) -> Tensor:
    """Return attention with the bias of every query and key."""
    q, k, v = turned_pair(asked)
    mask = whole(asked, layout)
    return attend(q, k, v, mask=mask, scale=asked.scale, dropout=asked.dropout)


def whole(asked: Asked, layout: Layout) -> Tensor | None:
    """Return bias and mask of all queries and keys, by the formula."""
    if asked.whole is not None:
        return asked.whole
    _, _, n, m = asked.sizes
    return whole_mask(asked, layout, (0, n), m, bias_of(asked, (0, n), m))


def is_triangle(asked: Asked, layout: Layout) -> bool:
    """Whether the mask is the one that the kernel has of its own."""
    _, _, n, m = asked.sizes
    return asked.causal and not asked.masked and layout.ahead == 0 and n == m


def bias_of(asked: Asked, rows: Span, end: int) -> Tensor:
    """Return the bias of some queries to the first `end` keys: (batch or 1, heads or 1, ...)."""
    queries, keys = asked.at_q[..., slice(*rows), :], asked.at_k[..., :end, :]
    if queries.ndim == 4:  # the formula knows no axis of heads in positions
        queries, keys = queries[:, 0], keys[:, 0]
    made = asked.encoding.bias_between(queries, keys, asked.numbers, xp=XP)
    check_heads(made.shape[-3], asked.encoding, asked.q.shape[1])
    made = made.to(asked.wide)
    return made if made.ndim == 4 else made[None]
