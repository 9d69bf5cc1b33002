"""A fitted encoding on its way into a framework, and back with the weights it has learned.

Frameworks take the table that NumPy made (`Fitted.table`), so all of them hold the same float32
numbers. After training the card is what it was, with a note that the numbers were trained.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.fitted.fitted import Fitted
from gnomon.encodings.fitted.rows import Rules
from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers = dict[str, Any]
"""Arrays by the names they have in a layer."""


def opened(source: Any, match: Any = None) -> Fitted:
    """Return a fitted encoding: itself, out of its file, or out of a folder it was saved to.

    With `match` it gets the scale of a token embedding (`Fitted.matched`).
    """
    found = _opened(source)
    return found if match is None else found.matched(match)


def _opened(source: Any) -> Fitted:
    if isinstance(source, Fitted):
        return source
    if not isinstance(source, str | os.PathLike):
        raise EncodingError(
            f"A fitted encoding can not be made of {type(source).__name__}; pass what gnomon.fit "
            "returns, the path of its .safetensors file, or the folder it was saved to."
        )
    folder = os.path.isdir(source)  # noqa: PTH112 - a name that is too long is none, not an error
    return Fitted.from_pretrained(source) if folder else Fitted.load(source)


def rules_of(fitted: Fitted, *, flat: bool = False) -> Rules:
    """Return what the table of a fitted encoding does with positions, or with row numbers."""
    return replace(fitted.rules, flat=flat)


def factors(fitted: Fitted) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return both factors as they are shipped, in float32; of a whole table one is the identity."""
    left, right = fitted.left, fitted.right
    right = np.eye(fitted.dimension) if right is None else right
    return left.astype(np.float32), right.astype(np.float32)


def retrained(fitted: Fitted, now: Numbers, fresh: Numbers) -> Fitted:
    """Return the encoding with the present numbers of a layer; itself where none has changed.

    Both hold `weight`, or `left` and `right`, and `gain` where it is learned: as they are now, and
    as the layer would hold them fresh. The card then says `trained`.
    """
    now = {name: np.asarray(part, dtype=np.float32) for name, part in now.items()}
    if all(_equal(part, fresh[name]) for name, part in now.items()):
        return fitted
    apart = "left" in now
    left = now["left" if apart else "weight"].astype(np.float64)
    return replace(
        fitted,
        left=left,
        right=now["right"].astype(np.float64) if apart else None,
        rank=left.shape[1],
        factored=apart,
        gain=float(now.get("gain", fitted.gain)),
        origin={**fitted.origin, "trained": True},
    )


def _equal(left: Any, right: Any) -> bool:
    """Whether two arrays hold the same numbers; refused rows hold NaN in both."""
    return np.shape(left) == np.shape(right) and bool(np.array_equal(left, right, equal_nan=True))
