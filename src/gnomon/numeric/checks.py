"""Numbers that a user passes are checked here, once, with the name the user wrote.

*Hyper-parameters* where an encoding is made: what takes memory for each of its number ends far
above any use, for a slip of the hand should not fill the memory. (Options have their ranges where
they are declared: `gnomon.options`.)

*Arrays of real numbers*: what NumPy would drop in silence is refused, never dropped. NumPy drops an
imaginary part with a warning, and a mask without one, and reads a date as a number of days; what is
made of the rest looks like an answer. Every array of a user passes here first.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import EncodingError, InputError

MOST = 2**31 - 1
"""Largest count, length or lag; what takes memory for each of its number is bounded below."""

LARGEST, SMALLEST = 1e50, 1e-50
"""Sizes of a real number other than 0: products of a few of them are floats, too."""

MOST_DIMENSION = 2**20

MOST_SEED = 2**128 - 1

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
            f"{name} cannot be read as an array ({reason}); pass numbers of NumPy, of a tensor "
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


def real_array(
    values: Any, what: str, *, kind: type[InputError] = InputError
) -> NDArray[np.float64]:
    """Return values as float64; `what` begins the sentence that refuses complex ones.

    Text, dates and records are no numbers, though NumPy would read "1.5" as one: TypeError. Rows
    of unequal length are no array: ValueError. Who calls says what was asked for.

    >>> real_array([1, 2], "Distances")
    array([1., 2.])
    """
    refuse_masked(values, what, kind=kind)
    array = plain_array(np.asarray(values), what, kind=kind)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{array.dtype} is no type of numbers")
    return np.asarray(array, dtype=np.float64)


def reals(
    values: Any, name: str, *, kind: type[InputError] = InputError, advice: str = "pass some"
) -> NDArray[np.float64]:
    """Return values as float64, but never without an imaginary part or a mask.

    What is no array of numbers is refused as an error of a `kind` that ends in an `advice`.

    >>> reals([1, 2], "lags")
    array([1., 2.])
    """
    array = plain_array(values, f"{name} holds", kind=kind)
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError(f"{array.dtype} is no type of numbers")  # noqa: TRY301 - said below
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise kind(f"{name} holds no real numbers ({_first(error)}); {advice}.") from error


def plain_array(values: Any, what: str, *, kind: type[InputError] = InputError) -> NDArray[Any]:
    """Return values as an array in this machine's order of bytes, neither complex nor masked.

    `what` begins the sentence that refuses them.
    """
    refuse_masked(values, what, kind=kind)
    try:
        array = np.asarray(values)
    except ValueError as error:  # NumPy has no shape for it
        raise kind(
            f"{what} no array ({_first(error)}); pass rows of equal length, all of them numbers."
        ) from error
    if np.iscomplexobj(array) or (array.dtype.kind == "O" and _any_complex(array)):
        raise kind(
            f"{what} complex numbers ({array.dtype}), and an imaginary part is not dropped here; "
            "pass real numbers, such as .real or abs() of these."
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


refuse_complex = plain_array


def in_usual_type(array: Any) -> Any:
    """Return an array or sparse matrix in a type that sparse matrices know, value for value.

    They know no order of bytes but this machine's, and no float but those of 32 and 64 bits.
    """
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def refuse_masked(values: Any, what: str, *, kind: type[InputError] = InputError) -> None:
    """Refuse a masked array with masked entries, also as an item of a list."""
    items = values if isinstance(values, (list, tuple)) else (values,)
    if any(isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one) for one in items):
        raise kind(
            f"{what} masked entries, and a mask is not dropped here; fill them (.filled(0)) or "
            "leave them out (.compressed())."
        )


def _shown(value: Any) -> str:
    """Return a value as it was given, or its beginning: Python prints no integer at any length."""
    if isinstance(value, int) and value.bit_length() > 400:
        return f"an integer of {value.bit_length():,} bits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."


def _any_complex(array: NDArray[Any]) -> bool:
    return any(isinstance(one, (complex, np.complexfloating)) for one in array.flat)


def _first(error: Exception) -> str:
    """Return the first sentence of what NumPy says, in one line."""
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")
