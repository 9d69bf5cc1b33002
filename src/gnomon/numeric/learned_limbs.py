r"""Numbers that are learned in float32 beside positions in limbs: digits made inside of a formula.

A constant frequency is written in digits of a turn before anything runs (`limbs.turns_of`). What
training changes is an array of the library, so its digits are made there: w = sum_c w_c 2^(-12 c),
c = 0 ... 5. Products of digits are summed in int32, order by order, with carries, which is
multiple-precision multiplication as in [knuth1969 sec. 4.3.1], all orders at once: code that a
compiler would otherwise take a second over. Digits are whole numbers, through which no slope flows;
it is put back by terms that are zero, such as x (w - sum_c w_c 2^(-12 c)).

*Turns.* With 1 / 2 pi = sum_b K_b 2^(-12 b), b = 1 ... 9,

    w / 2 pi = sum_(b, c) K_b w_c 2^(-12 (b + c)).

Every product is below 2^24 and at most six of them share an order, so int32 holds every sum. Three
rounds of carries bring every digit down to 2^12 at most. Exact to 2^-72 of a turn for |w| < 4096.

*A piecewise-linear warp* of positions with learned slopes, in float64 or in limbs,

    tau(x) = x - k_0 + sum_i e_i part_i(x),   part_i(x) = x - k_i, cut to [0, k_(i+1) - k_i],

with knots k_0 < ... < k_m; the first part has no lower end, and the last no upper one, so that tau
goes on in straight lines. Between k_i and k_(i+1) the slope of tau is

    1 + e_i = c + (1 - c) (1 + p_i / 2)^2,   c = 2^-12,   e_i = (1 - c) (p_i + p_i^2 / 4):

never below c, whatever p_i is, and 1 at p_i = 0, where tau is x - k_0 to the last bit. Such a slope
is a polynomial, so it has finitely many digits, and tau can be as exact as x where there is no
float64, too: x comes in limbs, and p in float32. What is left is one rounding of a fraction, about
1e-7, however far x is from the knots. What int32 does not hold is NaN. A whole tau is right as far
as |p| < 512.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from gnomon.numeric.arrays import device_beside
from gnomon.numeric.limbs import (
    DIGIT,
    DIGITS,
    TWO_PI,
    Array,
    Limbs,
    Namespace,
    Turns,
    limb_phases,
    whole_difference,
)

LEAST = 2.0**-12
"""The smallest slope: one digit, so that a product with it moves digits by one place."""

_LARGEST = 2.0**31

_TURN_ORDERS = DIGITS + 3
"""Orders that are computed: what is lost below them stays below the last digit that is kept."""

_RADIAN = [int(Fraction(DIGIT**place) / TWO_PI) % DIGIT for place in range(_TURN_ORDERS + 1)]
"""1 / 2 pi in digits of 12 bits, from order 0 on: a radian in turns."""

_PRODUCTS = np.array(
    [[_RADIAN[n - c] if n >= c else 0 for c in range(DIGITS)] for n in range(_TURN_ORDERS + 1)],
    dtype=np.int32,
)
"""Row n has K_(n-c) for every digit w_c: what it adds to order n."""

_ORDERS = 7
"""Digits of a slope: 2^-72 times the largest position is nothing."""

_PLACES = (2, 1, 0, -1, -2)
"""Orders of the digits of a position."""

_SUMMED = (2, 1, 0, -1, -2, -3)
"""Orders of tau that are summed, to 2^-36."""

_SQUARE = np.array(
    [[b + c == n for b in range(DIGITS) for c in range(DIGITS)] for n in range(_ORDERS)], np.int32
)
"""Which products of two digits belong to order n of a square."""

_PRODUCT = np.array([[place - order for place in _PLACES] for order in _SUMMED])
"""Which digit of a slope brings a digit of a position to an order; outside of its digits, none."""


def learned_phases(coordinates: Limbs, frequencies: Array, *, xp: Namespace) -> Array:
    """Return <w_k, x> modulo 2 pi for frequencies (..., pairs, axes) in float32, with slopes."""
    radians = xp.astype(frequencies, xp.float32)
    digits = digits_of(radians, xp=xp)
    turns = Turns(radians=radians, digits=_turns(digits, xp=xp))
    phases = limb_phases(coordinates, turns, xp=xp)
    nothing = radians - _value_of(digits, xp=xp)
    points = xp.astype(coordinates.whole, xp.float32) + coordinates.fraction
    for axis in range(coordinates.shape[-1]):
        phases = phases + points[..., axis, None] * nothing[..., None, :, axis]
    return phases


def warped(
    coordinates: Array | Limbs, knots: tuple[float, ...], paces: Array, *, xp: Namespace
) -> Array | Limbs:
    """Return tau at coordinates (..., 1), paces (m,) in their type; in limbs where these are.

    >>> warped(np.array([0.0, 1.0, 2.0, 3.0]), (1.0, 2.0, 3.0), np.array([0.0, 2.0]), xp=np)
    array([-1.        ,  0.        ,  1.        ,  4.99926758])
    """
    if isinstance(coordinates, Limbs):
        return _warp_limbs(coordinates, knots, paces, xp=xp)
    return broken_line(coordinates, knots, excess(paces), xp=xp)


def broken_line(x: Array, knots: tuple[float, ...], extra: Array, *, xp: Namespace) -> Array:
    """Return x - k_0 + sum_i e_i part_i(x) for any e (m,)."""
    total = x - knots[0]
    for place, (low, high) in enumerate(pairwise(knots)):
        part = x - low
        if place > 0:
            part = xp.where(part > 0.0, part, xp.zeros_like(part))
        if place < len(knots) - 2:
            part = xp.where(part < high - low, part, xp.full_like(part, high - low))
        total = total + extra[place] * part
    return total


def excess(paces: Array) -> Array:
    """Return e, the slope less 1.

    >>> excess(np.array([0.0, 2.0, -2.0])) + 1.0
    array([1.00000000e+00, 3.99926758e+00, 2.44140625e-04])
    """
    return (1.0 - LEAST) * (paces + 0.25 * paces * paces)


def digits_of(radians: Array, *, xp: Namespace) -> Array:
    """Return the digits of w as int32 on a last axis, each with the sign of w.

    floor(|w| 4096^c) and 4096 times the one before are parts of one mantissa, so every difference
    is exact.
    """
    size = xp.abs(radians)
    floors = xp.floor(xp.stack([size * float(DIGIT) ** c for c in range(DIGITS)], axis=-1))
    digits = floors - float(DIGIT) * _move_down(floors, xp=xp)
    return xp.astype(digits, xp.int32) * xp.astype(xp.sign(radians), xp.int32)[..., None]


def _move_down(digits: Array, *, xp: Namespace) -> Array:
    """Return digits one place further down, with 0 in the first."""
    return xp.concat([xp.zeros_like(digits[..., :1]), digits[..., :-1]], axis=-1)


def _value_of(digits: Array, *, xp: Namespace) -> Array:
    """Return the number that digits stand for; every partial sum is a shorter w, so exact."""
    total = xp.astype(digits[..., 0], xp.float32)
    for place in range(1, DIGITS):
        total = total + xp.astype(digits[..., place], xp.float32) * float(DIGIT) ** -place
    return total


def carried(orders: Array, *, rounds: int = 3, xp: Namespace) -> Array:
    """Return digits, most significant first, with what is too large for one moved up a place."""
    for _ in range(rounds):
        carries = orders // DIGIT
        left = xp.concat([orders[..., :1], (orders - carries * DIGIT)[..., 1:]], axis=-1)
        orders = left + xp.concat([carries[..., 1:], xp.zeros_like(carries[..., :1])], axis=-1)
    return orders


def _turns(digits: Array, *, xp: Namespace) -> tuple[Array, ...]:
    """Return w / 2 pi as whole turns and digits, most significant first, as float32."""
    products = xp.asarray(_PRODUCTS, device=device_beside(digits, xp=xp))
    orders = xp.sum(products * digits[..., None, :], axis=-1, dtype=xp.int32)
    orders = carried(orders, xp=xp)
    return tuple(xp.astype(orders[..., place], xp.float32) for place in range(DIGITS + 1))


def _warp_limbs(
    coordinates: Limbs, knots: tuple[float, ...], paces: Array, *, xp: Namespace
) -> Limbs:
    steps = _since(coordinates, knots[:1], xp=xp)
    parts = _parts(coordinates, knots, xp=xp)
    extra = excess(paces)
    half = 0.5 * paces
    digits = digits_of(half, xp=xp)
    places, left = _places(parts, xp=xp)
    total = _product(places, _slope_digits(digits, xp=xp), xp=xp)
    nothing = 2.0 * (half - _value_of(digits, xp=xp)) * ((1.0 - LEAST) * (1.0 + half))
    about = xp.astype(parts.whole, xp.float32) + parts.fraction
    slopes = xp.sum(about * nothing + left * extra, axis=-1, keepdims=True)
    fraction = steps.fraction + total.fraction + slopes
    sizes = xp.astype(steps.whole, xp.float32) + xp.sum(about * extra, axis=-1, keepdims=True)
    fits = (xp.abs(sizes) < _LARGEST) & ~xp.isnan(fraction)
    carry = xp.floor(xp.where(fits, fraction, xp.zeros_like(fraction)))
    whole = steps.whole + total.whole + xp.astype(carry, xp.int32)
    return Limbs(whole=whole, fraction=xp.where(fits, fraction - carry, xp.nan))


def _since(coordinates: Limbs, knots: tuple[float, ...], *, xp: Namespace) -> Limbs:
    """Return x - k (..., m), its fraction in [0, 1] so that the whole has its sign, or NaN."""
    floors = [math.floor(knot) for knot in knots]
    if any(abs(floor) >= _LARGEST for floor in floors):
        floors = [0 if abs(floor) >= _LARGEST else floor for floor in floors]
        knots = tuple(math.nan if abs(knot) >= _LARGEST else knot for knot in knots)
    device = device_beside(coordinates.whole, xp=xp)
    whole = xp.asarray(np.asarray(floors, np.int32), device=device)
    rest = [knot - floor for knot, floor in zip(knots, floors, strict=True)]
    fraction = coordinates.fraction - xp.asarray(np.asarray(rest, np.float32), device=device)
    fits = xp.abs(whole_difference(coordinates.whole, whole, xp=xp)) < _LARGEST
    fits = fits & ~xp.isnan(fraction)
    carry = xp.floor(xp.where(fits, fraction, xp.zeros_like(fraction)))
    return Limbs(
        whole=coordinates.whole - whole + xp.astype(carry, xp.int32),
        fraction=xp.where(fits, fraction - carry, xp.nan),
    )


def _parts(coordinates: Limbs, knots: tuple[float, ...], *, xp: Namespace) -> Limbs:
    """Return the parts (..., m) of x between the knots."""
    past = _since(coordinates, knots, xp=xp)
    device = device_beside(past.whole, xp=xp)
    ends = np.arange(len(knots) - 1)
    first, last = (xp.asarray(ends == end, device=device) for end in (0, len(knots) - 2))
    widths = np.diff(np.asarray(knots, np.float64))
    low, high = past[..., :-1], past[..., 1:]
    before = (low.whole < 0) & ~first
    beyond = (high.whole >= 0) & ~last
    made = []
    for part, width in ((low.whole, np.floor(widths)), (low.fraction, widths - np.floor(widths))):
        full = xp.asarray(np.minimum(width, 2.0**30).astype(part.dtype), device=device)
        within = xp.where(beyond, full, part)
        made.append(xp.where(before, xp.zeros_like(part), within))
    return Limbs(whole=made[0], fraction=made[1])


def _slope_digits(digits: Array, *, xp: Namespace) -> Array:
    """Return the digits (m, 7) of e = (1 - c) (2h + h^2), from the digits (m, 6) of h = p/2."""
    pairs = (digits[..., :, None] * digits[..., None, :]).reshape(-1, 1, DIGITS**2)
    which = xp.asarray(_SQUARE, device=device_beside(digits, xp=xp))
    squares = xp.sum(which * pairs, axis=-1, dtype=xp.int32)
    summed = squares + xp.concat([2 * digits, xp.zeros_like(digits[..., :1])], axis=-1)
    return carried(summed - _move_down(summed, xp=xp), xp=xp)


def _places(parts: Limbs, *, xp: Namespace) -> tuple[Array, Array]:
    """Return the digits of parts on a last axis, and what is left of the fraction."""
    high = parts.whole // DIGIT
    places = [high // DIGIT, high % DIGIT, parts.whole % DIGIT]
    left = parts.fraction
    for order in (1, 2):
        known = xp.where(xp.isnan(left), xp.zeros_like(left), left)
        places.append(xp.astype(known * float(DIGIT) ** order, xp.int32))
        left = left - xp.astype(places[-1], xp.float32) * float(DIGIT) ** -order
    return xp.stack(places, axis=-1), left


def _product(places: Array, slopes: Array, *, xp: Namespace) -> Limbs:
    """Return the sum over pieces of digits (..., m, 5) times slopes (m, 7), as limbs (..., 1)."""
    device = device_beside(places, xp=xp)
    known = (_PRODUCT >= 0) & (_PRODUCT < _ORDERS)
    which = xp.asarray(np.where(known, _PRODUCT, 0).ravel(), device=device)
    factors = xp.take(slopes, which, axis=-1).reshape(-1, *_PRODUCT.shape)
    factors = factors * xp.asarray(known.astype(np.int32), device=device)
    orders = xp.sum(places[..., None, :] * factors, axis=-1, dtype=xp.int32)
    orders = xp.sum(carried(orders, xp=xp), axis=-2, dtype=xp.int32)
    orders = carried(orders, rounds=2, xp=xp)[..., None, :]
    whole = (orders[..., 0] * DIGIT + orders[..., 1]) * DIGIT + orders[..., 2]
    fine = xp.asarray(
        np.asarray([float(DIGIT) ** o for o in _SUMMED[3:]], np.float32), device=device
    )
    return Limbs(
        whole=whole, fraction=xp.sum(xp.astype(orders[..., 3:], xp.float32) * fine, axis=-1)
    )
