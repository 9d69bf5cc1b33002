"""Arrays of real numbers: an imaginary part is refused, never dropped.

NumPy drops it with a warning, and what is made of the rest looks like an answer.
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

    Text, dates and records are no numbers, though NumPy would read "1.5" as one: TypeError.

    >>> real_array([1, 2], "Distances")
    array([1., 2.])
    """
    array = refuse_complex(values, what, kind=kind)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{array.dtype} is no type of numbers")
    return np.asarray(array, dtype=np.float64)


def reals(values: Any, name: str) -> NDArray[np.float64]:
    """Return values as float64 as NumPy reads them, but never without their imaginary part.

    >>> reals([1, 2], "lags")
    array([1., 2.])
    """
    return np.asarray(refuse_complex(values, f"{name} holds"), dtype=np.float64)


def refuse_complex(values: Any, what: str, *, kind: type[InputError] = InputError) -> NDArray[Any]:
    """Return values as an array that is not complex."""
    array = np.asarray(values)
    if np.iscomplexobj(array) or (array.dtype.kind == "O" and _any_complex(array)):
        raise kind(
            f"{what} complex numbers ({array.dtype}), and an imaginary part is not dropped here; "
            "pass real numbers, such as .real or abs() of these."
        )
    return array


def _any_complex(array: NDArray[Any]) -> bool:
    return any(isinstance(one, (complex, np.complexfloating)) for one in array.flat)
