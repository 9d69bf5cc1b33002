"""Arrays of learned numbers, as they are given or as they start [array-api for the arrays]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def learned(name: str, given: Any, start: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return numbers of a shape as a read-only array: those given, or where they start.

    >>> learned("gains", None, 0.5, (2,)).tolist()
    [0.5, 0.5]
    """
    try:
        values = np.asarray(start if given is None else given).astype(np.float64)
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        raise EncodingError(
            f"{name} is no array of numbers ({reason}); pass numbers of shape {shape}."
        ) from error
    values = np.broadcast_to(values, shape).copy() if given is None else values
    if values.shape != shape or not np.isfinite(values).all():
        raise EncodingError(
            f"{name} has shape {values.shape}; pass finite numbers of shape {shape}."
        )
    values.flags.writeable = False
    return values


def of_each_head(heads: int | None, *shape: int) -> tuple[int, ...]:
    """Return a shape of numbers, with the heads first where each has its own.

    >>> of_each_head(None, 3), of_each_head(2, 3)
    ((3,), (2, 3))
    """
    return shape if heads is None else (heads, *shape)
