r"""A compiled bias: coordinates beside queries and keys whose product is the bias.

    (t - s)^d                          = sum_i binom(d, i) (t - r)^i (r - s)^(d - i)
    e^(a(t - s)) cos(b(t - s))         = e^(a(t - r)) e^(a(r - s)) (cos bx cos by + sin bx sin by)
    with x = t - r and y = s - r, and a reference point r

so one power, one decay and half a frequency each take one coordinate, and attention over queries
and keys with these coordinates appended adds the bias without being told of it.

Causal only: a decay holds for t >= s, and grows without bound where s > t. With s <= r <= t both
factors are at most 1. Where queries and keys share positions, no single r does that: over `REACH` /
|a| positions a factor reaches e^(REACH / 2), and the product for a masked pair e^REACH, near the
end of float32. A decay is therefore given as many columns as the shared positions have such
stretches, each with its reference in the middle of its stretch; a key has an entry in the column of
its own stretch, a query in that and in the one before, and what is older is below e^(-REACH / 2).
That count is `width`. Between a block of queries and an earlier block of keys there is one column
each.

Softmax does not see what is the same for all keys, so the highest power costs nothing there: ALiBi
takes one coordinate, a constant none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups.exponentials import Sum
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
REACH = 80.0
"""Logarithm of the largest product of coordinates, of pairs that a mask removes; float32 ends at
88.7."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CompiledBias(Result):
    """A bias as powers of n / `scale`, and e^(rate n) (weight cos + sine_weight sin)(frequency n).

    `largest_error` is over all lags 0 .. `length` - 1 in float64, met at lag `where`;
    `largest_error_float32` is that of the coordinates over the whole length, cast to float32 and
    multiplied there. `modes` counts coordinates between two blocks, and `kind` says how they were
    found: polynomial, given, realised (the bias has these modes and no more), decays or damped.
    """

    kind: str
    polynomial: Floats
    rates: Floats
    frequencies: Floats
    weights: Floats
    sine_weights: Floats
    scale: float
    length: int
    modes: int
    tolerance: float
    largest_error: float
    where: int
    largest_error_float32: float

    def at(self, lags: ArrayLike) -> Floats:
        """Return the compiled bias at lags of 0 and more."""
        n = reals(lags, "lags")
        parts = (self.rates, self.frequencies, self.weights, self.sine_weights)
        return Sum(self.polynomial, *parts, scale=self.scale).at(n.ravel()).reshape(n.shape)

    def coordinates(
        self,
        positions_q: ArrayLike,
        positions_k: ArrayLike,
        *,
        over: tuple[float, float] | None = None,
    ) -> Pair:
        """Return (queries, r) and (keys, r) in float64; their product is the bias where t >= s.

        Append them to queries and keys, divided by the scale that attention applies to scores, and
        mask what comes after the query. `over` is the range of positions that references are laid
        out for; give it, the same for every call, where keys are kept in a cache.
        """
        t, s, first, last = self._placed(positions_q, positions_k, over)
        parts = [self._powers(t, s, 0.5 * (first + last), self.polynomial.size)]
        return _joined(parts + self._exponential_parts(t, s, first, last))

    def softmax_coordinates(
        self,
        positions_q: ArrayLike,
        positions_k: ArrayLike,
        *,
        over: tuple[float, float] | None = None,
    ) -> Pair:
        """Return coordinates whose product is the bias but for a constant per query."""
        t, s, first, last = self._placed(positions_q, positions_k, over)
        parts = [self._powers(t, s, 0.5 * (first + last), max(self.polynomial.size - 1, 0))]
        return _joined(parts + self._exponential_parts(t, s, first, last))

    def width(self, shared: float) -> int:
        """Return the number of coordinates where queries and keys share so many positions."""
        columns = [
            _stretches(a, shared - 1.0) * (2 if b > 0.0 else 1)
            for a, b in zip(self.rates, self.frequencies, strict=True)
        ]
        return self.polynomial.size + sum(columns)

    def _exponentials(self) -> zip[tuple[float, float, float, float]]:
        named = (self.rates, self.frequencies, self.weights, self.sine_weights)
        return zip(*(values.tolist() for values in named), strict=True)

    def _placed(
        self, positions_q: ArrayLike, positions_k: ArrayLike, over: tuple[float, float] | None
    ) -> tuple[Floats, Floats, float, float]:
        """Return checked positions, and the first and last position that references must serve."""
        t, s = _positions(positions_q, "positions_q"), _positions(positions_k, "positions_k")
        apart = float(t.max() - s.min())
        if apart > self.length - 1:
            raise GroupError(
                f"A query is {apart:g} positions after a key, and the bias was compiled for lags "
                f"below {self.length}; compile it for a greater length."
            )
        if over is None:
            return t, s, float(t.min()), float(s.max())
        first, last = float(over[0]), float(over[1])
        if t.min() < first or s.max() > last:
            raise GroupError(
                f"over is ({first:g}, {last:g}), and queries begin at {t.min():g} and keys end at "
                f"{s.max():g}; give a range that holds both."
            )
        return t, s, first, last

    def _powers(self, t: Floats, s: Floats, reference: float, kept: int) -> Pair:
        """Return (t - r)^i and what multiplies it, for i below `kept`, in units of the scale."""
        x, y = (t - reference) / self.scale, (s - reference) / self.scale
        degree = self.polynomial.size
        keys = [
            sum(
                (self.polynomial[d] * math.comb(d, i) * (-y) ** (d - i) for d in range(i, degree)),
                start=np.zeros_like(y),
            )
            for i in range(kept)
        ]
        return (
            np.vander(x, kept, increasing=True),
            np.stack(keys, -1) if keys else np.empty((y.size, 0)),
        )

    def _exponential_parts(self, t: Floats, s: Floats, first: float, last: float) -> list[Pair]:
        parts = []
        for a, b, u, v in self._exponentials():
            middle = 0.5 * (first + last)
            falls_q, falls_k = _falls(t, s, a, first, last)
            x, y = b * (t - middle)[:, None], b * (s - middle)[:, None]
            cosine, sine = np.cos(y), np.sin(y)
            parts.append((falls_q * np.cos(x), falls_k * (u * cosine - v * sine)))
            if b > 0.0:
                parts.append((falls_q * np.sin(x), falls_k * (u * sine + v * cosine)))
        return parts


def _positions(given: ArrayLike, name: str) -> Floats:
    positions = reals(given, "positions")
    if positions.ndim != 1 or positions.size == 0 or not np.all(np.isfinite(positions)):
        raise GroupError(
            f"{name} has the shape {positions.shape} or is not finite; pass a list of finite "
            "positions."
        )
    return positions


def _joined(parts: list[Pair]) -> Pair:
    return (
        np.concatenate([part[0] for part in parts], axis=1),
        np.concatenate([part[1] for part in parts], axis=1),
    )


def _stretches(rate: float, shared: float) -> int:
    return max(1, math.ceil(-rate * shared / REACH))


def _falls(t: Floats, s: Floats, rate: float, first: float, last: float) -> Pair:
    """Return e^(a(t - r_c)) and e^(a(r_c - s)) by stretch c, each with its reference r_c."""
    count = _stretches(rate, last - first)
    wide = (last - first) / count
    references = first + (np.arange(count) + 0.5) * wide
    if count == 1:
        return np.exp(rate * (t - references[0]))[:, None], np.exp(rate * (references[0] - s))[
            :, None
        ]
    of_q, of_k = (np.clip(np.floor((x - first) / wide), 0, count - 1)[:, None] for x in (t, s))
    stretch = np.arange(count)
    seen = (stretch == of_q) | (stretch == of_q - 1)
    # Outside its stretches an exponent is set to 0 first, so that nothing overflows unseen.
    late = np.where(seen, rate * (t[:, None] - references), 0.0)
    early = np.where(stretch == of_k, rate * (references - s[:, None]), 0.0)
    return np.where(seen, np.exp(late), 0.0), np.where(stretch == of_k, np.exp(early), 0.0)


def float32_error(compiled: CompiledBias, values: Floats) -> float:
    """Return the largest error of coordinates in float32, over the whole length.

    Every lag is met twice: from the first key to all queries, and from the last query to all keys.
    """
    last = compiled.length - 1
    places = np.arange(compiled.length)
    over = (0.0, float(last))
    worst = 0.0
    for some in np.array_split(places, -(-places.size // 1024)):
        pairs = ((some, places[:1], values[some]), (places[-1:], some, values[last - some]))
        for t, s, wanted in pairs:
            q, k = (x.astype(np.float32) for x in compiled.coordinates(t, s, over=over))
            made = (q @ k.T).ravel().astype(np.float64)
            worst = max(worst, float(np.abs(made - wanted).max()))
    return worst
