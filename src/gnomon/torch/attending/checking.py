"""What attention in PyTorch refuses beside what every library does (`gnomon.encodings.attending`).

Each in one sentence, before anything is computed.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from gnomon.encodings import check_mask, check_shapes
from gnomon.encodings import check_vectors as check_each
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.torch.places import check_tensor, is_real


def check_vectors(q: Any, k: Any, v: Any) -> None:
    """Refuse queries, keys and values that do not go together."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        check_tensor(x, name)
        check_each(name, tuple(x.shape), x.dtype, real=is_real(x))
    if len({q.dtype, k.dtype, v.dtype}) > 1:
        raise EncodingError(
            f"q, k and v are of {q.dtype}, {k.dtype} and {v.dtype}; pass one type for all three."
        )
    check_shapes(tuple(q.shape), tuple(k.shape), tuple(v.shape))


def dropout_of(dropout: Any) -> float:
    """Return the share of weights that is dropped."""
    number = isinstance(dropout, int | float) and not isinstance(dropout, bool)
    if not number or not 0.0 <= dropout < 1.0:
        raise EncodingError(f"dropout is {dropout!r}; pass a share from 0 on and below 1.")
    return float(dropout)


def mask_of(mask: Any, size: tuple[int, ...], device: Any) -> Tensor | None:
    """Return a mask that broadcasts to logits of `size`, with four axes: (batch, heads, n, m)."""
    if mask is None:
        return None
    check_tensor(mask, "mask")
    usable = mask.dtype == torch.bool or mask.is_floating_point()
    check_mask(tuple(mask.shape), size, mask.dtype, usable=usable)
    if mask.is_floating_point() and not is_real(mask):
        mask = mask.float()  # floats of eight bits are compared by nothing
    return flattened(
        mask.to(device).reshape(*[1] * (len(size) - mask.ndim), *mask.shape), size[:-3]
    )


def flattened(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """Return x (..., a, b, c), with first axes that broadcast to `leading`, with four axes."""
    shared = all(size == 1 for size in x.shape[:-3])
    whole = x if shared else x.expand(*leading, *x.shape[-3:])
    return whole.reshape(1 if shared else math.prod(leading), *x.shape[-3:])


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
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
