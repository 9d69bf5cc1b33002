"""Hyper-parameters are checked once, where an encoding is made, with the name the user wrote."""

from __future__ import annotations

import math
import numbers
from typing import Any

from gnomon.errors import EncodingError


def whole(name: str, value: Any, *, least: int, multiple_of: int = 1, why: str = "") -> None:
    """Refuse anything but a whole number from `least` on that `multiple_of` divides."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise EncodingError(f"{name} is {value!r}; pass a whole number from {least} on.")
    if value % multiple_of:
        raise EncodingError(
            f"{name} is {value}; pass a multiple of {multiple_of}{', ' + why if why else ''}."
        )


def real(name: str, value: Any, *, above: float | None = None, least: float | None = None) -> None:
    """Refuse anything but a finite number above `above`, or from `least` on."""
    bound = f" above {above:g}" if above is not None else ""
    bound = f" from {least:g} on" if least is not None else bound
    usable = not isinstance(value, bool) and isinstance(value, numbers.Real)
    if usable and math.isfinite(value):
        low = above is not None and value <= above
        if not low and (least is None or value >= least):
            return
    raise EncodingError(f"{name} is {value!r}; pass a finite number{bound}.")


def one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse anything but one of the known words."""
    if value not in known:
        raise EncodingError(f"{name} is {value!r}; pass one of: {', '.join(known)}.")


def one_axis(name: str, axes: Any) -> None:
    """Refuse several axes for an encoding that knows only one."""
    if axes != 1:
        raise EncodingError(
            f"axes is {axes!r}, and the encoding {name!r} has positions on one axis; pass axes=1."
        )
