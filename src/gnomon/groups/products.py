r"""Products of two rotary kernels, read off the frequencies of their Kronecker sum.

exp(t (A kron I + I kron B)) = exp(tA) kron exp(tB). Rotations a_i of A and b_j of B give rotations
a_i + b_j and |a_i - b_j|. Both ladders start at 1, so that the largest frequency is 2, the next one
1 + a_1, and the first one that the ladder of A does not explain is 1 + b_1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnomon.groups.ladders import CLOSE, Floats, Ladder, meets, number

if TYPE_CHECKING:
    from gnomon.groups.classification import Found


def product_words(structure: Sequence[Found], size: int) -> str:
    """Name the Kronecker sum of two rotary ladders, or return nothing."""
    rates = [one.frequency for one in structure for _ in range(_pairs(one))]
    if size % 4 or any(one.kind not in ("rotation", "zero") for one in structure):
        return ""
    found = np.sort(np.array(rates))[::-1]
    if len(found) != size // 2 or len(found) < 4 or not meets(float(found[0]), 2.0):
        return ""
    error = CLOSE + 3.0 * max(one.error for one in structure)
    for first in range(2, size // 4 + 1):
        if size // 4 % first:
            continue
        ladders = _ladders(found, first, size // 4 // first, error)
        if ladders is not None:
            parts = [_words(one) for one in ladders]
            return (
                f"Kronecker sum of two rotary ladders, a product of kernels: {' and '.join(parts)}"
            )
    return ""


def _pairs(one: Found) -> int:
    """Return how many pairs of coordinates blocks take; two zeros are a pair that does not turn."""
    return one.count if one.frequency else one.count // 2


def _ladders(found: Floats, first: int, second: int, error: float) -> list[Ladder] | None:
    """Return two ladders of these lengths that give all frequencies, if there are such."""
    steps = found[1:][found[1:] < 2.0 - error] - 1.0
    if not len(steps) or steps[0] <= 0.0:
        return None
    own = steps[0] ** np.arange(first)
    left = list(steps[steps > error])
    for rate in own[1:]:
        near = [k for k, value in enumerate(left) if abs(value - rate) <= error]
        if not near:
            return None
        left.pop(near[0])
    if second > 1 and not left:
        return None
    other = (left[0] if second > 1 else 1.0) ** np.arange(second)
    sums = np.add.outer(own, other).ravel(), np.abs(np.subtract.outer(own, other)).ravel()
    made = np.sort(np.concatenate(sums))[::-1]
    if len(made) != len(found) or np.abs(made - found).max() > error:
        return None
    ratios = [float(1.0 / rates[1]) if len(rates) > 1 else 1.0 for rates in (own, other)]
    return [Ladder(1.0, ratios[0], first), Ladder(1.0, ratios[1], second)]


def _words(ladder: Ladder) -> str:
    if ladder.count == 1:
        return "the frequency 1"
    return f"{ladder.count} frequencies of base {number(ladder.base())}"
