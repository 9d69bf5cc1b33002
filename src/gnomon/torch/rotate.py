r"""How vectors are rotated by ready tables, and the frequencies of transformers in float32.

    (a + ib) (cos p + i sin p) = (a cos p - b sin p) + i (a sin p + b cos p)

so pairs that lie side by side, layout *interleaved*, can be read as complex numbers without a copy:
one pass over the memory instead of six. Complex numbers do not export and do not fuse, so compiled
and exported code takes the real formula of the encodings, and so do vectors whose pairs are not
aligned in memory. Both ways round alike up to fused multiplication: they agree within one unit in
the last place of the pair's length.

`float32_numbers` has the frequencies of `Rotating.frequencies_in`, computed in PyTorch in float32
in the order of operations of transformers, so that they are its bits; `check_frequencies` compares
those that old state dicts hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gnomon.encodings import TURN, Encoding, Rotating
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import beside_heads
from gnomon.torch.coordinates import XP, is_tracing

HALVES = (torch.float16, torch.bfloat16)
_ULPS = 8
"""Rounding that frequencies of two computations may differ by, in units of their own type."""


class Tables(NamedTuple):
    """Cosines and sines (..., n, pairs), and the same as complex numbers where that pays."""

    cosine: Tensor
    sine: Tensor
    turns: Tensor | None = None


def rotate_exact(x: Tensor, tables: Tables, layout: str, first: int) -> Tensor:
    """Rotate x in float32 or better, and cast last."""
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


def rotate_into(x: Tensor, tables: Tables, first: int, out: Tensor) -> bool:
    """Write x, rotated, into memory that is there, which may be x itself; False: no such route.

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


def rotate_as_stored(x: Tensor, tables: Tables, layout: str, first: int) -> Tensor:
    """Rotate x in its own type by tables of that type, as transformers does."""
    least = x.dtype if x.dtype in HALVES else torch.float32
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


def float32_numbers(encoding: Encoding, numbers: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the constants of an encoding in float32, frequencies as transformers makes them."""
    made = {name: _narrow(values) for name, values in numbers.items()}
    if "frequencies" in made and isinstance(encoding, Rotating):
        with torch.device("cpu"):  # a model may be made without storage, but not its constants
            made["frequencies"] = encoding.frequencies_in(xp=XP, dtype=torch.float32)
    return made


def _narrow(values: Any) -> Tensor:
    kept = torch.from_numpy(np.array(values))
    return kept.to(torch.float32) if kept.is_floating_point() else kept


def check_frequencies(given: Tensor, own: Tensor, key: str) -> None:
    """Refuse frequencies of a state dict that are not those of the definition."""
    if given.numel() != own.numel():
        raise EncodingError(
            f"The state dict has {given.numel()} frequencies in {key!r} and this encoding "
            f"{own.numel()}; make the layer with the dimension that the model was trained with."
        )
    wide, wanted = given.detach().cpu().double().reshape(-1), own.cpu().double().reshape(-1)
    kind = torch.finfo(given.dtype if given.is_floating_point() else torch.float32)
    allowed = _ULPS * max(kind.eps, torch.finfo(torch.float32).eps) * wanted.abs() + kind.tiny
    wrong = ~((wide - wanted).abs() <= allowed)
    if bool(wrong.any()):
        at = int(wrong.nonzero()[0, 0])
        raise EncodingError(
            f"Frequency {at} in {key!r} of the state dict is {wide[at]:.6g} and this encoding's is "
            f"{wanted[at]:.6g}; make the layer with the base and scaling of that model, or leave "
            "the key out."
        )
