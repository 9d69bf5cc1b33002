"""Which positions are unlike the rest, as stretches with their ends, from distances with errors.

Let U be unbiased squared distances and R a set of positions of one law, *the rest*. Where position
i has that law too, its mean distance to R is zero but for noise,

    far_i = mean over j in R of U_ij,       z_i = far_i / se_i,      capped at 6,

with se_i of the fold jackknife. Which positions differ is asked of stretches, not one by one: the
stretch with the largest sum of z_i - 1.5 is taken out, then the next, as long as the sum reaches
4.5 (Kadane's maximum segment; a single position needs z = 6, three neighbours 3 each). A position
that a test of its own found to differ needs z = 3, so that a false discovery of that test does not
join. R begins as the quarter of the positions that are nearest to each other, and R and the
stretches are found in turns. None of it depends on how many positions follow with the law of the
rest.

Laws that settle down differ from the rest ever less, and the more documents there are the farther
on one is seen. So of a stretch those positions are named whose far_i is at least a twentieth of the
largest: others differ, if they do, but hardly add to the distances.

*Unsure* is, next to an end, what could be added to a stretch or taken off for less than 2 of its
sum, and inside a stretch where far_i is within two errors of that twentieth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
FAINT = 0.05
"""Part of the largest mean d2 to the rest below which a position hardly adds to the distances."""
MOST_Z = 6.0
LEVEL_Z = 1.5
LEAST_SUM = 4.5
CLEAR = 2.0
SURE = 3.0
LEAST_REST = 4
INSIDE = 0.1
"""Mean d2 inside the rest is at most this part of that to the rest, but for its error."""
_ROUNDS = 6


@dataclass(frozen=True)
class Apart:
    """Which positions are unlike the rest, and which may be on either side."""

    named: Flags
    unsure: Flags
    seen: Flags
    """Positions that look unlike the rest and are not surely so."""


@dataclass(frozen=True, eq=False)
class Unbiased:
    """Unbiased squared distances, and the same with each fold left out."""

    squares: Floats
    replicates: Floats

    def differ(self, one: Flags, other: Flags) -> bool:
        """Say whether two sets of positions surely differ in their laws.

        Their squared distance is mean U between them less half of that inside each.
        """

        def between(found: Floats) -> Floats:
            halves = [0.5 * _inside(found, each) for each in (one, other)]
            mean: Floats = found[..., one, :][..., other].mean(axis=(-2, -1)) - sum(halves)
            return mean

        return bool(between(self.squares) > SURE * _jackknife(between(self.replicates)))


def _inside(squares: Floats, chosen: Flags) -> Floats:
    """Return the mean over pairs of the positions chosen; 0 for a single one."""
    count = int(chosen.sum())
    total: Floats = squares[..., chosen, :][..., chosen].sum(axis=(-2, -1))
    return total / max(count * (count - 1), 1)


def standing_apart(
    squares: Floats, replicates: Floats, distinct: Flags | None = None
) -> Apart | None:
    """Return the stretches unlike the rest; None where no four positions share a law.

    `distinct` are positions that a test of each found to differ.
    """
    tested = np.zeros(len(squares), bool) if distinct is None else distinct
    if len(squares) <= LEAST_REST:
        return None
    rest = _nearest(squares)
    named = ~rest
    far = error = np.zeros(len(squares))
    for _ in range(_ROUNDS):
        if rest.sum() < LEAST_REST:
            return None
        far, error = _far(squares, replicates, rest)
        z = _deviations(far, error)
        renewed = stretches(z) | (tested & (z >= SURE))
        if (renewed == named).all():
            break
        named, rest = renewed, ~renewed
    if not named.any() or rest.sum() < LEAST_REST or not _is_one_law(squares, replicates, rest):
        return None
    line = FAINT * float(far[named].max())
    z = _deviations(far, error)
    clear = named & (far >= line) & (tested | (z >= CLEAR))
    either = _cheap(z, named) & (far + CLEAR * error >= line)
    either |= named & ((np.abs(far - line) < CLEAR * error) | (~clear & (far >= line)))
    return Apart(
        named=clear,
        unsure=_next_to_ends(clear, either) | (named & either),
        seen=(far >= np.maximum(line, CLEAR * error)) & ~clear,
    )


def stretches(z: Floats) -> Flags:
    """Return the stretches with the largest sums of z - 1.5, one after the other.

    >>> stretches(np.array([6.0, 6.0, 0.5, 6.0, 0.0, 0.0, 0.0, 3.0, 0.0])).astype(int).tolist()
    [1, 1, 1, 1, 0, 0, 0, 0, 0]
    """
    gains = np.minimum(z, MOST_Z) - LEVEL_Z
    named = np.zeros(len(z), bool)
    while True:
        first, last, total = _best(np.where(named, -np.inf, gains))
        if total < LEAST_SUM - 1e-9:
            return named
        named[first : last + 1] = True


def _best(gains: Floats) -> tuple[int, int, float]:
    """Return the stretch of the largest sum (Kadane) that falls nowhere by `LEAST_SUM`."""
    best, first, last = -np.inf, 0, 0
    total, most, begin = 0.0, 0.0, 0
    for place, gain in enumerate(gains.tolist()):
        if total <= 0.0 or total <= most - LEAST_SUM + 1e-9:
            total, most, begin = 0.0, 0.0, place
        total += gain
        most = max(most, total)
        if total > best:
            best, first, last = total, begin, place
    return first, last, float(best)


def _nearest(squares: Floats) -> Flags:
    """Return a quarter of the positions, those nearest to one position that has such near ones.

    A quarter and not all that look alike: weak differences would be among these, and hide.
    """
    size = len(squares)
    count = min(max(LEAST_REST, size // 4), size)
    away = squares + np.diag(np.full(size, np.inf))  # a position is not near to itself
    order = np.argsort(away, axis=1)[:, : count - 1]
    mean = np.take_along_axis(away, order, axis=1).mean(axis=1) if count > 1 else away[:, 0]
    centre = int(mean.argmin())
    chosen = np.zeros(size, bool)
    chosen[[centre, *order[centre].tolist()]] = True
    return chosen


def _far(squares: Floats, replicates: Floats, rest: Flags) -> tuple[Floats, Floats]:
    """Return far_i and its error; the distance of a position to itself does not count."""

    def far(one: Floats) -> Floats:
        others = rest.sum() - rest  # U_ii = 0
        mean: Floats = one[..., rest].sum(axis=-1) / others
        return mean

    return far(squares), _jackknife(far(replicates))


def _deviations(far: Floats, error: Floats) -> Floats:
    return np.divide(far, error, out=np.zeros(len(far)), where=error > 0.0)


def _jackknife(values: Floats) -> Floats:
    folds = len(values)
    spread = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    error: Floats = np.sqrt((folds - 1) / folds * spread)
    return error


def _is_one_law(squares: Floats, replicates: Floats, rest: Flags) -> bool:
    """Say whether distances inside the rest are small beside those to it, or like noise."""
    error = float(_jackknife(_inside(replicates, rest)))
    between = float(squares[np.ix_(~rest, rest)].mean())
    return bool(_inside(squares, rest) <= INSIDE * between + CLEAR * error)


def _cheap(z: Floats, named: Flags) -> Flags:
    """Return what could be added at the ends of stretches, or taken off, at little cost."""
    gains = np.minimum(z, MOST_Z) - LEVEL_Z
    cheap = np.zeros(len(z), bool)
    for edge in np.flatnonzero(np.diff(named)).tolist():  # between edge and edge + 1
        for begin, step in ((edge + 1, 1), (edge, -1)):
            place, side, cost = begin, named[begin], 0.0
            while 0 <= place < len(z) and named[place] == side and cost < MOST_Z:
                cost += gains[place] if side else -gains[place]
                if cost < CLEAR:
                    cheap[min(begin, place) : max(begin, place) + 1] = True
                place += step
    return cheap


def _next_to_ends(named: Flags, flags: Flags) -> Flags:
    """Return the flagged positions that reach to an end of a stretch without a gap."""
    found = np.zeros(len(named), bool)
    for edge in np.flatnonzero(np.diff(named)).tolist():
        for begin, step in ((edge + 1, 1), (edge, -1)):
            place = begin
            while 0 <= place < len(named) and flags[place]:
                found[place] = True
                place += step
    return found
