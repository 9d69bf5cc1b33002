r"""Turning vectors by ready tables, by the route that is fastest where it runs.

    (a + ib) (cos p + i sin p) = (a cos p - b sin p) + i (a sin p + b cos p)

so pairs that lie side by side, layout *interleaved*, can be read as complex numbers without a copy:
one pass over the memory instead of six. Complex numbers do not export and do not fuse, so compiled
and exported code takes the real formula (`gnomon.encodings.rotary.turning`), and so do vectors
whose pairs are not aligned in memory. Both routes round alike up to fused multiplication: they
agree within one unit in the last place of the pair's length.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gnomon.encodings import TURN, beside_heads
from gnomon.errors import EncodingError
from gnomon.torch.base import XP
from gnomon.torch.places import is_tracing

_HALVES = (torch.float16, torch.bfloat16)


class Tables(NamedTuple):
    """Cosines and sines (..., n, pairs), and the same as complex numbers where that pays."""

    cosine: Tensor
    sine: Tensor
    turns: Tensor | None = None


def turn_exact(x: Tensor, tables: Tables, layout: str, first: int) -> Tensor:
    """Turn x in float32 or better, and cast last."""
    wide = torch.promote_types(x.dtype, torch.float32)
    cosine, sine, turns = tables
    if cosine.dtype != wide:
        raise _other_type(cosine, x)
    part = _part(x, cosine, first).to(wide)
    if turns is not None and not is_tracing() and is_complex_in_memory(part):
        turned = _multiplied(part, turns).to(x.dtype)
    else:
        turned = TURN[layout](part, cosine, sine, dtype=x.dtype, xp=XP)
    return _joined(x, turned, first)


def turn_into(x: Tensor, tables: Tables, first: int, out: Tensor) -> bool:
    """Write x, turned, into memory that is there, which may be x itself; False: no such route.

    New memory may cost more than the turning: the system clears every page before it is written.
    """
    cosine, _, turns = tables
    part, target = _part(x, cosine, first), _part(out, cosine, first)
    if turns is None or is_tracing() or {x.dtype, out.dtype} != {cosine.dtype}:
        return False
    if out.shape != x.shape or not (is_complex_in_memory(part) and is_complex_in_memory(target)):
        return False
    if _share_memory(x, out) and (x.data_ptr(), x.stride()) != (out.data_ptr(), out.stride()):
        return False  # what is written would be read again
    pairs, turned = (torch.view_as_complex(y.unflatten(-1, (-1, 2))) for y in (part, target))
    torch.mul(pairs, turns, out=turned)
    if part.shape != x.shape and out.data_ptr() != x.data_ptr():
        last = first + part.shape[-1]
        out[..., :first].copy_(x[..., :first])
        out[..., last:].copy_(x[..., last:])
    return True


def _share_memory(x: Tensor, out: Tensor) -> bool:
    return bool(x.untyped_storage().data_ptr() == out.untyped_storage().data_ptr())


def turn_as_stored(x: Tensor, tables: Tables, layout: str, first: int) -> Tensor:
    """Turn x in its own type by tables of that type, as transformers does."""
    least = x.dtype if x.dtype in _HALVES else torch.float32
    if torch.promote_types(tables.cosine.dtype, least) != tables.cosine.dtype:
        raise _other_type(tables.cosine, x)
    cosine, sine = tables.cosine.to(x.dtype), tables.sine.to(x.dtype)
    part = _part(x, cosine, first)
    return _joined(x, TURN[layout](part, cosine, sine, dtype=x.dtype, xp=XP), first)


def aligned(tables: Tables, x: Tensor) -> Tables:
    """Return tables that broadcast against vectors x (..., heads, n, d)."""
    cosine, sine, turns = tables
    turns = None if turns is None else beside_heads(turns, x)
    return Tables(beside_heads(cosine, x), beside_heads(sine, x), turns)


def is_complex_in_memory(x: Tensor) -> bool:
    """Whether neighbours in the last axis lie in memory as complex numbers do."""
    *others, last = x.stride()
    even = all(stride % 2 == 0 for stride in others)
    return bool(last == 1 and even and x.storage_offset() % 2 == 0)


def _multiplied(x: Tensor, turns: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2)


def _other_type(cosine: Tensor, x: Tensor) -> EncodingError:
    return EncodingError(
        f"The tables are of {cosine.dtype} and the vectors of {x.dtype}; make tables with "
        f"dtype={x.dtype}."
    )


def _part(x: Tensor, cosine: Tensor, first: int) -> Tensor:
    last = first + 2 * cosine.shape[-1]
    return x if first == 0 and last == x.shape[-1] else x[..., first:last]


def _joined(x: Tensor, turned: Tensor, first: int) -> Tensor:
    """Return x with the coordinates from `first` on replaced by those that were turned."""
    last = first + turned.shape[-1]
    if turned.shape[-1] == x.shape[-1]:
        return turned
    return torch.cat([x[..., :first], turned, x[..., last:]], dim=-1)
