"""Coordinates of positions in PyTorch, in a form that compiles, exports and vectorises.

Positions are whole or real numbers in a tensor, an array or a list; coordinates are float64, or two
limbs on a device without float64 (`gnomon.numeric.limbs`). Nothing here resolves a library or, in
compiled code, looks at a value: both would break the graph. In eager mode on a processor, positions
that are no finite numbers are refused.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import array_api_compat.torch as array_torch
import numpy as np
import torch
from torch import Tensor

from gnomon.errors import EncodingError
from gnomon.numeric.arrays import check_numbers, with_axes
from gnomon.numeric.limbs import Limbs, limbs_of

XP = array_torch
"""The namespace of the formulas, fixed here so that compiled code need not look for it."""
Offset = Any
"""How many positions came before: a number, or a tensor with one for each sequence of a batch."""


def is_tracing() -> bool:
    """Whether code is compiled, exported or traced, so that values cannot be looked at."""
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())


def without_autocast(device: torch.device) -> Any:
    """Return a context without mixed precision, which would round phases of several axes."""
    kind = device.type
    mixed = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.autocast(kind, enabled=False) if mixed else nullcontext()


def narrow(coordinates: Any) -> Tensor:
    """Return coordinates in float32, as models keep them that have no better."""
    if isinstance(coordinates, Limbs):
        return coordinates.whole.float() + coordinates.fraction
    return coordinates.to(torch.float32)


def coordinates_of(positions: Any, axes: int, device: Any) -> Any:
    """Return positions as coordinates (..., axes) on a device."""
    if not isinstance(positions, Tensor):
        positions = _from_list(positions)
    if positions.dtype == torch.bool or positions.is_complex():
        raise EncodingError(
            f"The positions have type {positions.dtype}; pass whole numbers or real numbers."
        )
    if positions.is_floating_point() and not is_tracing():
        _check_finite(positions)
    return _wide(with_axes(positions.to(device), axes))


def counted(count: int, offset: Offset, axes: int, device: Any) -> Any:
    """Return coordinates of `count` positions after `offset`, a row for each offset in a tensor."""
    if axes != 1:
        raise EncodingError(
            f"This encoding has {axes} axes, so positions cannot be counted; pass positions of "
            f"shape (..., {axes})."
        )
    here = torch.arange(count, device=device)
    many = isinstance(offset, Tensor)
    if not many and not isinstance(offset, int | float | np.number | torch.SymInt):
        raise EncodingError(
            f"offset is {offset!r}; pass how many positions came before, as a number, or a tensor "
            "with one for each sequence."
        )
    steps = offset[..., None] + here.to(offset.device) if many else here + offset
    known = isinstance(offset, int | torch.SymInt)
    return _wide(steps.to(device)[..., None]) if known else coordinates_of(steps, 1, device)


def device_of(coordinates: Any) -> torch.device:
    """Return the device of coordinates, in limbs or not."""
    return (coordinates.whole if isinstance(coordinates, Limbs) else coordinates).device


def check_tensor(x: Any, name: str) -> None:
    """Refuse queries and keys of another library, which a module cannot be trained through."""
    if not isinstance(x, Tensor):
        library = type(x).__module__.partition(".")[0]
        raise EncodingError(f"{name} comes from {library}; pass a tensor of PyTorch.")


def is_real(x: Tensor) -> bool:
    """Whether a tensor holds floats that can be computed with: those of eight bits are stored."""
    return bool(x.is_floating_point() and x.dtype.itemsize > 1)


def check_count(coordinates: Any, x: Tensor, name: str) -> None:
    """Refuse positions that are not as many as the vectors."""
    if coordinates.ndim < 2 or x.ndim < 2:
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)} and its positions have "
            f"{max(coordinates.ndim - 1, 0)} axes; pass vectors (..., n, dimension) and positions "
            "(n,) or (..., n)."
        )
    count, wanted = coordinates.shape[-2], x.shape[-2]
    if count != 1 and count != wanted:  # noqa: PLR1714  # sizes may be symbols of a graph
        raise EncodingError(
            f"There are {coordinates.shape[-2]} positions for the {x.shape[-2]} vectors of {name}, "
            f"which has shape {tuple(x.shape)}; pass one position for each."
        )


def _from_list(positions: Any) -> Tensor:
    try:
        values = np.asarray(positions)
    except ValueError as error:
        raise EncodingError(
            "The positions are a ragged list; pass numbers in one array of shape (...,)."
        ) from error
    check_numbers(values)
    return torch.as_tensor(values if values.flags.writeable else values.copy())


def _check_finite(positions: Tensor) -> None:
    """Raise for NaN and infinite positions; only where looking costs no wait for a device."""
    if positions.device.type != "cpu":
        return
    try:
        finite = bool(torch.isfinite(positions).all())
    except RuntimeError:  # vectorised by vmap: no single value can be looked at
        return
    if not finite:
        check_numbers(positions.detach().to(torch.float64).numpy())


def _wide(values: Tensor) -> Any:
    """Return positions (..., axes) in float64, or in limbs where there is none."""
    if values.device.type != "mps":
        return values.to(torch.float64)
    return limbs_of(values, xp=XP)
