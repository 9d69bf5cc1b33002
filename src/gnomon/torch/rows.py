"""Rows of a table for positions in a tensor: checked where values can be seen, else guarded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gnomon.encodings.rows import Rules
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
    if _visible(coordinates):
        _check(rules, coordinates)
    return _guarded(rules, coordinates)


def _guarded(rules: Rules, coordinates: Tensor) -> Tensor:
    """Return the rows; what the rules refuse becomes a row past the table, which no gather takes.

    Without it a compiled gather would count a negative position from the end, and a column past
    the edge of a grid would be one of the next row.
    """
    rows = torch.zeros_like(coordinates[..., 0])
    outside = torch.zeros_like(rows, dtype=torch.bool)
    for axis, limit in enumerate(rules.limits):
        here = coordinates[..., axis]
        outside = outside | (here < 0)
        if rules.past == "clamp":
            here = here.clamp(max=limit - 1)
        else:
            outside = outside | (here >= limit)
        rows = rows * limit + here
    return torch.where(outside, rules.size, rows)


def _visible(tensor: Tensor) -> bool:
    """Whether the values may be looked at: not while code is compiled, traced or exported."""
    hidden = torch.compiler.is_compiling() or torch.jit.is_tracing()
    return not hidden and tensor.device.type != "meta" and tensor.numel() > 0


def _check(rules: Rules, coordinates: Tensor) -> None:
    """Raise for positions that are refused, in the words that NumPy uses."""
    try:
        suspect = _suspect(rules, coordinates)
    except RuntimeError:  # vectorised by vmap: no single value can be looked at
        return
    if suspect:
        rules.rows(coordinates.cpu().numpy())


def _suspect(rules: Rules, coordinates: Tensor) -> bool:
    """Whether a position may have to be refused, by one small answer from the device."""
    if rules.refused:
        return True
    low, high = torch.aminmax(coordinates.flatten(0, -2), dim=0)
    limits = torch.tensor(rules.limits, device=coordinates.device)
    outside = (low < 0) | ((high >= limits) & (rules.past == "refuse"))
    return bool(outside.any())
