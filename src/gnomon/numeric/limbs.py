r"""Phases that stay exact where there is no float64: a position and a frequency in limbs.

Position p = whole + fraction. A frequency w is kept in *turns*, w / 2 pi, because whole turns do
not count: with u = w / 2 pi mod 1 written in digits of 12 bits, u = sum_b u_b 2^(-12 b), and
whole = sum_a p_a 2^(12 a) with 0 <= p_a < 4096 (the last digit keeps the sign),

    whole u mod 1 = sum_(a < b) p_a u_b 2^(12 (a - b)) mod 1.

Every product of two digits is below 2^24, so it is exact in float32, and so is what is left of it
after whole turns are taken away: x - round(x). What remains is one rounding of a number in
[-1/2, 1/2] turns, below 3e-7 radians, for every whole position that int32 holds; the plain float32
product errs by 0.03 radians at position 10^6. The fraction of a position is multiplied in float32:
its phase is below w, so its error is below 6e-8 w.

This serves JAX without x64, and devices without float64. It is float arithmetic throughout, so it
compiles, exports and vectorises [dekker1971, knuth1969 sec. 4.2.2 for exact sums and products].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
Namespace = Any
DIGIT = 4096
"""Digits have 12 bits: the product of two is exact in float32."""
DIGITS = 6
"""Digits of a frequency: 72 bits of a turn."""
# Of pi, as many digits as a frequency of 72 bits can use (the mathematical constant).
_TWO_PI = Fraction("6.28318530717958647692528676655900576839433879875021164194988918461563281257")


@dataclass(frozen=True, kw_only=True)
class Limbs:
    """Coordinates as whole (int32) plus fraction (float32), each of shape (..., axes)."""

    whole: Array
    fraction: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the coordinates."""
        return tuple(self.whole.shape)

    @property
    def ndim(self) -> int:
        """Return the number of axes of the array of coordinates."""
        return len(self.shape)

    def __getitem__(self, key: Any) -> Limbs:
        return Limbs(whole=self.whole[key], fraction=self.fraction[key])


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Frequencies (..., axes) in radians, with their fractions of a turn in digits of 12 bits."""

    radians: Array
    digits: tuple[Array, ...]


def turns_of(frequencies: NDArray[np.float64]) -> tuple[NDArray[np.float32], ...]:
    """Return the 12-bit digits of w / 2 pi mod 1, most significant first, each as float32.

    >>> first, second, *_ = turns_of(np.array([1.0]))  # 1 / 2 pi = 0.1591...
    >>> round(float(first[0] / 4096 + second[0] / 4096**2), 6)
    0.159155
    """
    scale = DIGIT**DIGITS
    fixed = [round(Fraction(float(w)) / _TWO_PI * scale) % scale for w in frequencies.ravel()]
    digits = [
        [value // DIGIT ** (DIGITS - 1 - place) % DIGIT for value in fixed]
        for place in range(DIGITS)
    ]
    return tuple(np.asarray(d, np.float32).reshape(frequencies.shape) for d in digits)


def split(positions: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return positions as whole and fraction; the caller has checked that they fit in int32.

    >>> split(np.array([1.7e9 + 0.25]))
    (array([1700000000], dtype=int32), array([0.25], dtype=float32))
    """
    floor = np.floor(positions)
    return floor.astype(np.int32), (positions - floor).astype(np.float32)


def limb_phases(coordinates: Limbs, turns: Turns, *, xp: Namespace) -> Array:
    """Return <w_k, x> modulo 2 pi, in [-pi, pi] or a little more: shape (..., pairs).

    Frequencies have shape (..., pairs, axes); leading axes, such as heads, are kept before n.
    """
    total = 0.0
    for axis in range(coordinates.shape[-1]):
        whole = coordinates.whole[..., axis, None]
        digits = [digit[..., None, :, axis] for digit in turns.digits]
        total = total + _whole_turns(whole, digits, xp=xp)
    total = total - xp.round(total)
    rest = xp.matmul(coordinates.fraction, xp.matrix_transpose(turns.radians))
    return (2.0 * np.pi) * total + rest


def _whole_turns(whole: Array, digits: list[Array], *, xp: Namespace) -> Array:
    """Return whole * u modulo 1; `whole` broadcasts against the digits of u."""
    low, rest = whole % DIGIT, whole // DIGIT
    middle, high = rest % DIGIT, rest // DIGIT
    places = [xp.astype(part, xp.float32) for part in (low, middle, high)]
    turns = 0.0
    for order in (1, 2):  # multiples of 2^-24 of at most one turn: every sum is exact
        for place, digit in zip(places, digits[order - 1 :], strict=False):
            term = place * digit * float(DIGIT) ** -order
            turns = turns + (term - xp.round(term))
            turns = turns - xp.round(turns)
    rest = 0.0
    for order in (4, 3):
        for place, digit in zip(places, digits[order - 1 :], strict=False):
            rest = rest + place * digit * float(DIGIT) ** -order
    return turns + rest
