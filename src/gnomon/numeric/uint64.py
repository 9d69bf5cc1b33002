"""64-bit words as four digits of 16 bits, where a library has no unsigned 64-bit numbers.

A word is a list of four arrays of digits, least significant first. Every product of two digits is
below 2^32, so uint32 (JAX without x64) and int64 (PyTorch) hold it exactly, and every operation is
that of 64-bit words modulo 2^64 [knuth1969 sec. 4.3.1]:

    xor      digit by digit
    shift    a digit takes the upper bits of itself and the lower ones of the next
    add      digit by digit, carries handed upwards
    times    products of digits halved into 16 + 16 bits, summed in columns, carries handed upwards
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Array = Any
Namespace = Any
Word = list[Any]
"""Four digits; each an array, or a whole number that is the same everywhere."""
_LOW = 0xFFFF
_DIGITS = 4


def digits_of(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the digits of words, shape (4, ...), least significant first.

    >>> digits_of(np.array([2**48 + 3], dtype=np.uint64)).tolist()
    [[3], [0], [0], [1]]
    """
    parts = [(words >> np.uint64(16 * place)) & np.uint64(_LOW) for place in range(_DIGITS)]
    return np.stack(parts).astype(np.int64)


def word_of_whole(whole: Array, *, xp: Namespace) -> Word:
    """Return signed whole numbers as words in two's complement."""
    narrow = whole.dtype == xp.int32
    shifts = [min(16 * place, 31 if narrow else 63) for place in range(_DIGITS)]
    digits = [(whole >> shift) & _LOW for shift in shifts]
    return [xp.astype(digit, xp.uint32) for digit in digits] if narrow else digits


def as_word(digits: Array, *, xp: Namespace) -> Word:
    """Return constant digits (4, ...) as a word of the type that holds their products."""
    narrow = digits.dtype == xp.int32
    parts = [digits[place] for place in range(_DIGITS)]
    return [xp.astype(part, xp.uint32) for part in parts] if narrow else parts


def xor(first: Word, second: Word) -> Word:
    """Return the exclusive or of two words."""
    return [a ^ b for a, b in zip(first, second, strict=True)]


def shifted(word: Word, bits: int) -> Word:
    """Return a word shifted right."""
    skip, rest = divmod(bits, 16)
    upper = [*word[skip:], *([word[0] & 0] * (skip + 1))]
    return [(a >> rest) | ((b << (16 - rest)) & _LOW) for a, b in pairwise(upper)]


def add(first: Word, second: Word) -> Word:
    """Return the sum of two words modulo 2^64."""
    return _carry([a + b for a, b in zip(first, second, strict=True)])


def times(word: Word, factor: int) -> Word:
    """Return a word times a constant, modulo 2^64."""
    constant = [(factor >> (16 * place)) & _LOW for place in range(_DIGITS)]
    columns: list[Any] = [word[0] & 0] * (_DIGITS + 1)
    for i, digit in enumerate(word):
        for j, other in enumerate(constant[: _DIGITS - i]):
            product = digit * other
            columns[i + j] = columns[i + j] + (product & _LOW)
            columns[i + j + 1] = columns[i + j + 1] + ((product >> 16) & _LOW)
    return _carry(columns[:_DIGITS])


def _carry(columns: Sequence[Any]) -> Word:
    """Return columns as digits of 16 bits; what leaves the last one is dropped."""
    word, carry = [], columns[0] & 0
    for column in columns:
        total = column + carry
        word.append(total & _LOW)
        carry = total >> 16
    return word


def mixed(word: Word) -> Word:
    """Return SplitMix64's finaliser of a word [steele2014]: a bijection that spreads every bit."""
    word = times(xor(word, shifted(word, 30)), 0xBF58476D1CE4E5B9)
    word = times(xor(word, shifted(word, 27)), 0x94D049BB133111EB)
    return xor(word, shifted(word, 31))


def unit_interval(word: Word, *, xp: Namespace, dtype: Any) -> tuple[Array, Array]:
    """Return u = (top 53 bits + 1/2) / 2^53 in (0, 1), and 1 - u, each rounded for itself."""
    top = shifted(word, 11)
    rest = [_LOW - top[0], _LOW - top[1], _LOW - top[2], 31 - top[3]]
    return _fraction(top, xp=xp, dtype=dtype), _fraction(rest, xp=xp, dtype=dtype)


def _fraction(word: Word, *, xp: Namespace, dtype: Any) -> Array:
    total = xp.astype(word[3], dtype) * 2.0**48
    for place in (2, 1, 0):
        total = total + xp.astype(word[place], dtype) * 2.0 ** (16 * place)
    return (total + 0.5) * 2.0**-53
