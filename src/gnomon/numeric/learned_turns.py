r"""Turns of frequencies that are learned in float32: digits made inside of the formula.

A constant frequency is written in digits of a turn before anything runs (`limbs.turns_of`). One
that training changes is an array of the library, so its digits are made there. With w in digits
of 12 bits, w = sum_c w_c 2^(-12 c), c = 0 ... 5, and 1 / 2 pi = sum_b K_b 2^(-12 b), b = 1 ... 9,

    w / 2 pi = sum_(b, c) K_b w_c 2^(-12 (b + c)).

Every product is below 2^24 and at most six of them share an order, so int32 holds every sum. Three
rounds of carries bring every digit down to 2^12 at most. Exact to 2^-72 of a turn for |w| < 4096.
Multiple-precision multiplication as in [knuth1969 sec. 4.3.1], all orders at once: code that a
compiler would otherwise take a second over.

Digits are whole numbers, through which no slope flows. The slope of x w in w is put back by a term
that is zero: x (w - sum_c w_c 2^(-12 c)).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gnomon.numeric.devices import device_beside
from gnomon.numeric.limbs import DIGIT, DIGITS, TWO_PI, Array, Limbs, Namespace, Turns, limb_phases

_ORDERS = DIGITS + 3
"""Orders that are computed: what is lost below them stays below the last digit that is kept."""
_RADIAN = [int(Fraction(DIGIT**place) / TWO_PI) % DIGIT for place in range(_ORDERS + 1)]
"""1 / 2 pi in digits of 12 bits, from order 0 on: a radian in turns."""
_PRODUCTS = np.array(
    [[_RADIAN[n - c] if n >= c else 0 for c in range(DIGITS)] for n in range(_ORDERS + 1)],
    dtype=np.int32,
)
"""Row n has K_(n-c) for every digit w_c: what it adds to order n."""


def learned_phases(coordinates: Limbs, frequencies: Array, *, xp: Namespace) -> Array:
    """Return <w_k, x> modulo 2 pi for frequencies (..., pairs, axes) in float32, with slopes."""
    radians = xp.astype(frequencies, xp.float32)
    digits = digits_of(radians, xp=xp)
    turns = Turns(radians=radians, digits=_turns(digits, xp=xp))
    phases = limb_phases(coordinates, turns, xp=xp)
    nothing = radians - value_of(digits, xp=xp)
    points = xp.astype(coordinates.whole, xp.float32) + coordinates.fraction
    for axis in range(coordinates.shape[-1]):
        phases = phases + points[..., axis, None] * nothing[..., None, :, axis]
    return phases


def digits_of(radians: Array, *, xp: Namespace) -> Array:
    """Return the digits of w as int32 on a last axis, each with the sign of w.

    floor(|w| 4096^c) and 4096 times the one before are parts of one mantissa, so every difference
    is exact.
    """
    size = xp.abs(radians)
    floors = xp.floor(xp.stack([size * float(DIGIT) ** c for c in range(DIGITS)], axis=-1))
    digits = floors - float(DIGIT) * moved_down(floors, xp=xp)
    return xp.astype(digits, xp.int32) * xp.astype(xp.sign(radians), xp.int32)[..., None]


def moved_down(digits: Array, *, xp: Namespace) -> Array:
    """Return digits one place further down, with 0 in the first."""
    return xp.concat([xp.zeros_like(digits[..., :1]), digits[..., :-1]], axis=-1)


def value_of(digits: Array, *, xp: Namespace) -> Array:
    """Return the number that digits stand for; every partial sum is a shorter w, so exact."""
    total = xp.astype(digits[..., 0], xp.float32)
    for place in range(1, DIGITS):
        total = total + xp.astype(digits[..., place], xp.float32) * float(DIGIT) ** -place
    return total


def _turns(digits: Array, *, xp: Namespace) -> tuple[Array, ...]:
    """Return w / 2 pi as whole turns and digits, most significant first, as float32."""
    products = xp.asarray(_PRODUCTS, device=device_beside(digits, xp=xp))
    orders = xp.sum(products * digits[..., None, :], axis=-1, dtype=xp.int32)
    orders = carried(orders, xp=xp)
    return tuple(xp.astype(orders[..., place], xp.float32) for place in range(DIGITS + 1))


def carried(orders: Array, *, rounds: int = 3, xp: Namespace) -> Array:
    """Return digits, most significant first, with what is too large for one moved up a place."""
    for _ in range(rounds):
        carries = orders // DIGIT
        left = xp.concat([orders[..., :1], (orders - carries * DIGIT)[..., 1:]], axis=-1)
        orders = left + xp.concat([carries[..., 1:], xp.zeros_like(carries[..., :1])], axis=-1)
    return orders
