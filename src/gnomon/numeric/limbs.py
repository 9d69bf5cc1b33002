r"""Phases that stay exact where there is no float64: a position and a frequency in limbs.

Position x = whole + fraction. A frequency w is kept in *turns*, u = w / 2 pi, because whole turns
do not count. In digits of 12 bits, u = sum_b u_b 2^(-12 b), b = 0 ... 6, and x = sum_a x_a 2^(12 a)
with a = 2, 1, 0 for the whole (the first digit has the sign), a = -1, -2 for the fraction,

    x u mod 1 = sum_(a < b) x_a u_b 2^(12 (a - b)) mod 1.

Every product of two digits is at most 2^24, so it is exact in float32, and so is what is left of it
after whole turns are taken away: t - round(t). What remains is one rounding of a number in
[-1/2, 1/2] turns, below 3e-7 radians, for every position whose whole part int32 holds and every
frequency below 2^12 turns; the plain float32 product errs by 0.03 radians at position 10^6.

Digits are whole numbers, through which no slope flows. What the digits of a fraction leave over,
below 2^-24, carries the slope of the position; it is multiplied in float32.

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
"""Digits of a frequency after the point: 72 bits of a turn."""
_HALF = 2**16
# Of pi, as many digits as a frequency of 72 bits can use (the mathematical constant).
TWO_PI = Fraction("6.28318530717958647692528676655900576839433879875021164194988918461563281257")


@dataclass(frozen=True, kw_only=True)
class Limbs:
    """Coordinates as whole (int32) plus fraction (float32), each of shape (..., axes).

    The whole is cut towards zero, so that the fraction of a float32 position is exact; it has the
    sign of the position.
    """

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
    """Frequencies (..., axes) in radians, and in turns: whole turns, then digits of 12 bits."""

    radians: Array
    digits: tuple[Array, ...]


def turns_of(frequencies: NDArray[np.float64]) -> tuple[NDArray[np.float32], ...]:
    """Return w / 2 pi as whole turns and six digits of 12 bits, each as float32.

    >>> whole, first, second, *_ = turns_of(np.array([1.0]))  # 1 / 2 pi = 0.1591...
    >>> round(float(whole[0] + first[0] / 4096 + second[0] / 4096**2), 6)
    0.159155
    """
    scale = DIGIT**DIGITS
    fixed = [round(Fraction(float(w)) / TWO_PI * scale) for w in frequencies.ravel()]
    digits = [[value // scale for value in fixed]]
    digits += [
        [value // DIGIT ** (DIGITS - place) % DIGIT for value in fixed]
        for place in range(1, DIGITS + 1)
    ]
    return tuple(np.asarray(d, np.float32).reshape(frequencies.shape) for d in digits)


def split(positions: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return positions as whole and fraction; the caller has checked that they fit in int32.

    >>> split(np.array([1.7e9 + 0.25]))
    (array([1700000000], dtype=int32), array([0.25], dtype=float32))
    """
    whole = np.trunc(positions)
    return whole.astype(np.int32), (positions - whole).astype(np.float32)


def limbs_of(values: Array, *, xp: Namespace) -> Limbs:
    """Return an array's positions in limbs; what int32 does not hold, and NaN, becomes NaN.

    Code that can look at values refuses them before; code that is being compiled cannot.
    """
    if xp.isdtype(values.dtype, "integral"):
        whole = xp.astype(values, xp.int32)
        fits = (xp.astype(whole, values.dtype) == values) & ((whole >= 0) == (values >= 0))
        left = xp.zeros_like(whole, dtype=xp.float32)
    else:
        floats = xp.trunc(values)  # not the floor: -0.3 + 1 would have to be rounded
        fits = (floats >= -(2.0**31)) & (floats < 2.0**31)
        whole = xp.astype(xp.where(fits, floats, xp.zeros_like(floats)), xp.int32)
        left = xp.astype(values - floats, xp.float32)
    return Limbs(whole=whole, fraction=xp.where(fits, left, xp.nan))


def whole_difference(first: Array, second: Array | int, *, xp: Namespace) -> Array:
    """Return first - second, int32, as float32 and rounded once; int32 itself would overflow."""
    (high, low), (other_high, other_low) = (_halves(x, xp=xp) for x in (first, second))
    return (high - other_high) * _HALF + (low - other_low)


def _halves(value: Array | int, *, xp: Namespace) -> tuple[Array, Array]:
    """Return a whole number as a multiple of 2^16 and the rest, each exact in float32."""
    if isinstance(value, int):
        return float(value // _HALF), float(value % _HALF)
    return xp.astype(value // _HALF, xp.float32), xp.astype(value % _HALF, xp.float32)


def limb_phases(coordinates: Limbs, turns: Turns, *, xp: Namespace) -> Array:
    """Return <w_k, x> modulo 2 pi, in [-pi, pi] or a little more: shape (..., pairs).

    Frequencies have shape (..., pairs, axes); leading axes, such as heads, are kept before n.
    """
    total = rest = 0.0
    for axis in range(coordinates.shape[-1]):
        whole, fraction = coordinates.whole[..., axis, None], coordinates.fraction[..., axis, None]
        places, left = _places(whole, fraction, xp=xp)
        digits = [digit[..., None, :, axis] for digit in turns.digits]
        total = total + _rotate(places, digits, xp=xp)
        rest = rest + left * turns.radians[..., None, :, axis]
    total = total - xp.round(total)
    return (2.0 * np.pi) * total + rest


def _places(whole: Array, fraction: Array, *, xp: Namespace) -> tuple[list[Array], Array]:
    """Return the digits x_a, a = 2 ... -2, as float32, and what is left of the fraction."""
    low, rest = whole % DIGIT, whole // DIGIT
    places = [xp.astype(part, xp.float32) for part in (rest // DIGIT, rest % DIGIT, low)]
    for order in (1, 2):
        digit = xp.astype(xp.astype(fraction * float(DIGIT) ** order, xp.int32), xp.float32)
        places.append(digit)
        fraction = fraction - digit * float(DIGIT) ** -order
    return places, fraction


def _rotate(places: list[Array], digits: list[Array], *, xp: Namespace) -> Array:
    """Return x u modulo 1 from the digits of both; places broadcast against digits."""
    turns = rest = 0.0
    for order in (1, 2):  # multiples of 2^-24 of at most one turn: every sum is exact
        for term in _terms(places, digits, order):
            turns = turns + (term - xp.round(term))
            turns = turns - xp.round(turns)
    for order in (4, 3):  # small: below 2^-9 of a turn in sum
        for term in _terms(places, digits, order):
            rest = rest + term
    return turns + rest


def _terms(places: list[Array], digits: list[Array], order: int) -> list[Array]:
    """Return the products x_a u_b 2^(12 (a - b)) with b - a = order."""
    powers = range(2, 2 - len(places), -1)
    scale = float(DIGIT) ** -order
    pairs = [(x, a + order) for a, x in zip(powers, places, strict=True)]
    return [x * digits[b] * scale for x, b in pairs if 0 <= b < len(digits)]
