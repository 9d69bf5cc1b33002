"""Rows of a table for positions in a tensor: checked where values can be seen, else guarded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gnomon.encodings import Rules
from gnomon.errors import EncodingError


def rows_of(rules: Rules, positions: Any, device: Any) -> Tensor:
    """Return the rows (int64) that positions ask for; a list of them is put on the device."""
    if not isinstance(positions, Tensor):
        positions = torch.as_tensor(positions, device=device)
    if positions.is_floating_point() or positions.is_complex() or positions.dtype == torch.bool:
        raise EncodingError(
            f"The positions have type {positions.dtype}; pass whole numbers, such as torch.int64."
        )
    coordinates = rules.coordinates(positions).long()
    seen = _visible(coordinates) and _checked(rules, coordinates)
    return _plain(rules, coordinates) if seen else _guarded(rules, coordinates)


def _plain(rules: Rules, coordinates: Tensor) -> Tensor:
    """Return the rows of positions that were looked at: none of them is refused."""
    rows, *more = (_inside(rules, coordinates, axis) for axis in range(len(rules.limits)))
    for axis, here in enumerate(more, start=1):
        rows = rows * rules.limits[axis] + here
    return rows


def _inside(rules: Rules, coordinates: Tensor, axis: int) -> Tensor:
    here = coordinates[..., axis]
    return here.clamp(max=rules.limits[axis] - 1) if rules.past == "clamp" else here


def _guarded(rules: Rules, coordinates: Tensor) -> Tensor:
    """Return the rows; what the rules refuse becomes a row past the table, which no gather takes.

    Without it a compiled gather would count a negative position from the end, and a column past
    the edge of a grid would be one of the next row.
    """
    outside = torch.zeros_like(coordinates[..., 0], dtype=torch.bool)
    for axis, limit in enumerate(rules.limits):
        here = coordinates[..., axis]
        outside = outside | (here < 0)
        if rules.past == "refuse":
            outside = outside | (here >= limit)
    return torch.where(outside, rules.size, _plain(rules, coordinates))


def _visible(tensor: Tensor) -> bool:
    """Whether the values may be looked at: not while code is compiled, traced or exported."""
    hidden = torch.compiler.is_compiling() or torch.jit.is_tracing()
    return not hidden and tensor.device.type != "meta" and tensor.numel() > 0


def _checked(rules: Rules, coordinates: Tensor) -> bool:
    """Raise for positions that are refused, in the words that NumPy uses; False: can not look."""
    try:
        suspect = _suspect(rules, coordinates)
    except RuntimeError:  # vectorised by vmap: no single value can be looked at
        return False
    if suspect:
        rules.rows(coordinates.cpu().numpy())
    return True


def _suspect(rules: Rules, coordinates: Tensor) -> bool:
    """Whether a position may have to be refused, by one small answer from the device."""
    if rules.refused:
        return True
    axes = len(rules.limits)
    ends = torch.aminmax(coordinates.reshape(-1, axes), dim=0)
    low, high = torch.stack(ends).tolist()
    past = rules.past == "refuse" and any(map(int.__ge__, high, rules.limits))
    return past or min(low) < 0
