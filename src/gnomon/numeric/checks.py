"""Hyper-parameters are checked once, where an encoding is made, with the name the user wrote."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import EncodingError
from gnomon.numeric.ranges import MOST_DIMENSION, MOST_SEED
from gnomon.numeric.reals import refuse_masked

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST = 2**31 - 1
"""Largest count, length or lag; what takes memory for each of its number is bounded below."""
LARGEST, SMALLEST = 1e50, 1e-50
"""Sizes of a real number other than 0: products of a few of them are floats, too."""
_MOST = {
    **dict.fromkeys(("heads", "axes", "depth", "kernel", "order", "block", "layer"), 2**16),
    **dict.fromkeys(
        ("dimension", "content_dimension", "model_dimension", "token_width"), MOST_DIMENSION
    ),
    **dict.fromkeys(("hidden", "units", "features", "buckets", "scales", "planes"), 2**20),
    **dict.fromkeys(("rank", "n_components", "sections", "rotated", "lags"), 2**20),
    **dict.fromkeys(("rows", "reach"), 2**26),
    **dict.fromkeys(("seed", "rotation"), MOST_SEED),
}


def whole(name: str, value: Any, *, least: int, multiple_of: int = 1, why: str = "") -> None:
    """Refuse anything but a whole number from `least` on that `multiple_of` divides.

    Far above any use there is an end, too: a slip of the hand should not fill the memory.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise EncodingError(f"{name} is {_shown(value)}; pass a whole number from {least} on.")
    most = _MOST.get(name, MOST)
    if int(value) > most:
        raise EncodingError(
            f"{name} is {_shown(value)}; pass a whole number from {least} to {most:,}."
        )
    if value % multiple_of:
        raise EncodingError(
            f"{name} is {value}; pass a multiple of {multiple_of}{', ' + why if why else ''}."
        )


def _shown(value: Any) -> str:
    """Return a value as it was given, or its beginning: Python prints no integer at any length."""
    if isinstance(value, int) and value.bit_length() > 400:
        return f"an integer of {value.bit_length():,} bits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."


def real(name: str, value: Any, *, above: float | None = None, least: float | None = None) -> None:
    """Refuse anything but a finite number above `above`, or from `least` on.

    Far outside any use the range ends: what is squared, multiplied or divided by would be none.
    """
    bound = f" above {above:g}" if above is not None else ""
    bound = f" from {least:g} on" if least is not None else bound
    usable = not isinstance(value, bool) and isinstance(value, numbers.Real)
    if usable and isinstance(value, int) and value.bit_length() > 1000:
        usable = False  # no float holds it
    if usable and math.isfinite(value):
        low = above is not None and value <= above
        if not low and (least is None or value >= least):
            if value == 0 or SMALLEST <= abs(float(value)) <= LARGEST:
                return
            bound += f", in size from {SMALLEST:g} to {LARGEST:g}"
    raise EncodingError(f"{name} is {_shown(value)}; pass a finite number{bound}.")


def one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse anything but one of the known words."""
    if value not in known:
        raise EncodingError(f"{name} is {value!r}; pass one of: {', '.join(known)}.")


def array(name: str, values: Any) -> NDArray[Any]:
    """Return values as an array of NumPy, or say what stands in the way.

    A tensor of PyTorch that asks for gradients, lies elsewhere or is of type bfloat16 has none.
    """
    refuse_masked(values, f"{name} holds", kind=EncodingError)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        raise EncodingError(
            f"{name} can not be read as an array ({reason}); pass numbers of NumPy, of a tensor "
            "its .detach().float().cpu().numpy()."
        ) from error


def serves(size: Any, wanted: Any) -> bool:
    """Whether an axis of one size stands beside one of another: with as many entries, or one.

    Sizes of a compiled graph may be symbols: they are compared one by one, for `in` fails on them.
    """
    return bool(size == 1 or size == wanted)  # noqa: PLR1714


def partners(q: Any, k: Any) -> None:
    """Refuse queries and keys (..., n, dimension) that have no products with one another."""
    if q.ndim < 2 or k.ndim < 2:
        return
    # A side with fewer leading axes, or with one entry on an axis, serves all of the other's.
    leading = zip(reversed(q.shape[:-2]), reversed(k.shape[:-2]), strict=False)
    if q.shape[-1] != k.shape[-1] or any(not serves(a, b) and not serves(b, a) for a, b in leading):
        raise EncodingError(
            f"q has shape {tuple(q.shape)} and k {tuple(k.shape)}, which do not go together; pass "
            "as many heads on both sides, each key head repeated where queries have more."
        )


def one_axis(name: str, axes: Any) -> None:
    """Refuse several axes for an encoding that knows only one."""
    if axes != 1:
        raise EncodingError(
            f"axes is {axes!r}, and the encoding {name!r} has positions on one axis; pass axes=1."
        )
