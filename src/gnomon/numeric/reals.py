"""Arrays of real numbers: what NumPy would drop in silence is refused, never dropped.

NumPy drops an imaginary part with a warning, and a mask without one, and reads a date as a number
of days; what is made of the rest looks like an answer. Every array of a user passes here first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import InputError


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


def _any_complex(array: NDArray[Any]) -> bool:
    return any(isinstance(one, (complex, np.complexfloating)) for one in array.flat)


def _first(error: Exception) -> str:
    """Return the first sentence of what NumPy says, in one line."""
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")
