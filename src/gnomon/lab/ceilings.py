r"""Ceilings: the best that can be reached on a task, and the best without looking at order.

    value      what an observer of tokens, order and positions can reach
    prior      what the best order-blind observer reaches: one who is given the bag of tokens, the
               length and, where an answer is read at a token, that token
    constant   what the best constant answer reaches

An encoding is worth something on a task only between `prior` and `value`.

Where the answer is one of m tokens drawn independently from V, an order-blind observer can do no
better than name the commonest of them, which is right for the share max_v N_v / m. With N
multinomial,

    P(max_v N_v <= k) = m! V^-m [x^m] (sum_(j<=k) x^j / j!)^V,

so its expectation, sum_k P(max_v N_v > k), takes powers of polynomials and is exact to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log

import numpy as np

from gnomon.errors import LabError
from gnomon.results import Result

_NEGLIGIBLE = 1e-13
"""Probability below which the rest of a tail, which falls faster still, is left out."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ceiling(Result):
    """The best on a task, with and without order; `measure` is "accuracy" or "r2"."""

    measure: str
    value: float
    prior: float
    constant: float
    how: str = "exact"
    """"exact" or "estimated"; an estimate has an interval, and `note` says of what."""
    interval: tuple[float, float] | None = None
    note: str = ""

    def share(self, score: float) -> float:
        """Return where a score lies between the constant answer (0) and the ceiling (1)."""
        return (score - self.constant) / (self.value - self.constant)


@lru_cache(maxsize=256)
def commonest_share(drawn: int, symbols: int) -> float:
    """Return E max_v N_v / m for m tokens drawn independently and uniformly from V.

    >>> commonest_share(2, 2)
    0.75
    """
    if drawn < 1 or symbols < 1:
        raise LabError(
            f"the commonest of {drawn} tokens out of {symbols} is not defined; both must be 1 or "
            "more."
        )
    least = -(-drawn // symbols)  # some symbol comes at least so often
    total = float(least)
    for most in range(least, drawn):
        above = 1.0 - _all_at_most(most, drawn, symbols)
        total += above
        if above < _NEGLIGIBLE:
            break
    return total / drawn


def _all_at_most(most: int, drawn: int, symbols: int) -> float:
    """P(max_v N_v <= most), by repeated squaring of the truncated exponential series.

    Coefficients are those of N Poisson(m / V), so that none overflows: the multinomial law is that
    of independent Poisson counts given their sum.
    """
    rate = drawn / symbols
    counts = np.arange(most + 1)
    base = np.exp(counts * log(rate) - rate - np.array([lgamma(c + 1.0) for c in counts]))
    power, left = np.ones(1), symbols
    while left:
        if left & 1:
            power = np.convolve(power, base)[: drawn + 1]
        base, left = np.convolve(base, base)[: drawn + 1], left >> 1
    total = drawn * log(drawn) - drawn - lgamma(drawn + 1.0)
    return float(power[drawn] / np.exp(total)) if len(power) > drawn else 0.0
