"""Where in a sequence the distances sit, in one word: start, end, some, periodic, blocks, drift.

From squared distances d2 between positions and from which of them are *distinct* (unlike the rest):

    start, end, some   a few positions, the first, the last or others, are unlike the rest, and
                       `share`, the part of sum d2 in pairs that touch them, is large for so few. Of
                       the distinct positions those are named whose mean d2 to the rest is at least
                       a twentieth of the largest, and their neighbours: others differ, but hardly
                       add to the distances. Where the few are not that few, or most positions are
                       distinct, and no model below holds: all that are far from the largest set of
                       positions of one law, where there is such a set. How many positions follow
                       with that law does not matter, so a longer window names the same ones
    periodic           d2_ij depends on i and j modulo P, and falls back at the lags that are
                       multiples of P to a quarter of its largest mean
    blocks             d2_ij depends on the blocks of i and j, cut where neighbours are far apart;
                       the cuts have the least sum of squares inside blocks, and their number the
                       largest ratio of variances between and inside [calinski1974]; inside a block
                       d2 is small, and between any two of them it is not
    drift              d2_ij depends on the lag and grows with it (rank correlation)
    throughout         none of these

A model of the second kind is a partition of the pairs into classes, and its `share` the part of the
variance of d2 between classes, adjusted for how many there are; the one that explains most is
taken, if it explains 0.6. On a grid only the first kinds are told apart.

Which positions are unlike the rest comes from a test of each alone, or, where distances have
errors, from stretches with what is unsure at their ends (`find_apart`). Let U be unbiased
squared distances and R a set of positions of one law, *the rest*. Where position i has that law
too, its mean distance to R is zero but for noise,

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

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.results import Result

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
EXPLAINED = 0.6
"""Share of the variance that a model must explain."""
TOUCHED = 0.5
"""How far the share of sum d2 that touches a few positions is above what any as many touch."""
MOST_BLOCKS = 8
_FALLEN = 0.25
_SHARP = 4.0
"""Neighbours across a cut are this many times as far apart as neighbours inside blocks."""
_TIGHT = 0.25
"""Mean d2 inside a block is at most this part of that between blocks."""
_LONE = 0.5
"""Mean d2 of a position to the others of its block is at most this part of that between blocks."""
_HALF = 0.4
"""Part of the positions that the shorter of two blocks has at least."""
_TURNS = 10
_GAIN = 0.15
"""Blocks explain this much more than the lag does: blocks that are many describe a drift too."""
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Pattern(Result):
    """One word for where the distances sit."""

    kind: str
    positions: Indices
    """The positions that differ (start, end, some), or where blocks begin."""
    share: float
    period: int | None = None
    unsure: Indices = field(default_factory=lambda: np.array([], np.int64))
    """Positions that may belong to those named or to the rest (start, end, some)."""


def pattern(
    squares: Any, positions: Any, distinct: Any, *, axes: int = 1, unbiased: Unbiased | None = None
) -> Pattern:
    """Name the pattern of squared distances between positions.

    `unbiased` are the distances as they were estimated, with errors: then positions are named that
    are surely unlike the rest, and blocks only where no two of them may have one law.

    >>> laws = np.array([0, 1, 1, 1, 1, 1.0])
    >>> pattern((laws[:, None] - laws) ** 2, np.arange(6), laws == 0).kind
    'start'
    """
    squares, where, flags = np.asarray(squares), np.asarray(positions), np.asarray(distinct)
    if unbiased is None or axes > 1:
        return _pattern(squares, where, flags, axes, None, known=False)
    apart = find_apart(unbiased.squares, unbiased.replicates, flags)
    if apart is None:
        return _pattern(squares, where, flags, axes, unbiased, known=False)
    found = _pattern(squares, where, apart.named, axes, unbiased, known=True)
    if found.kind not in {"start", "end", "some"}:
        return found
    return replace(found, unsure=where[apart.unsure | (apart.seen & flags)])


def _pattern(
    squares: Floats,
    where: Indices,
    apart: Flags,
    axes: int,
    unbiased: Unbiased | None,
    *,
    known: bool,
) -> Pattern:
    """Name a pattern; `known` is whether all positions that are not apart are of one law."""
    few = _few(squares, where, apart, known=known)
    if not squares.any():
        return few or _throughout(where, apart)
    listed = few is not None and (known or _stands_out(few, len(where)))
    if axes == 1 and len(where) >= 4:
        pairs = _Pairs(squares, where, unbiased)
        model = _model(pairs, apart, known=known, listed=listed)
        model = model or (None if listed else _of_two_laws(pairs, apart))
        if model is not None:
            return model
    unlike = None if listed else _unlike(squares, where, apart)
    if unlike is None and few is not None and (listed or few.share >= 0.5):
        return few
    return unlike or _throughout(where, apart)


def _model(pairs: _Pairs, apart: Flags, *, known: bool, listed: bool) -> Pattern | None:
    """Return the period, the blocks or the drift that explains most.

    Where a few positions can be `listed`, only what says more than their list.
    """
    if not listed:
        tried = [_periodic(pairs), _blocks(pairs), _drift(pairs)]
    elif known:
        tried = [_periodic(pairs), *_instead(pairs, apart)]
    else:
        tried = [_periodic(pairs)]
    models = [found for found in tried if found is not None]
    if listed and models:
        return models[0]
    return max(models, key=lambda found: found.share, default=None)


def _instead(pairs: _Pairs, apart: Flags) -> list[Pattern | None]:
    """Return what says more than a list of positions: blocks, or a drift.

    Of two blocks neither is short beside the other: a head and a body are no two blocks.
    """
    blocks, drift = _blocks(pairs), _drift(pairs)
    if blocks is not None and _shortest(pairs, blocks) < _least_block(pairs, len(blocks.positions)):
        blocks = None
    label = np.where(apart, 1 + np.arange(len(apart)), 0)
    if drift is not None and drift.share < pairs.explained(pairs.by_labels(label)):
        drift = None
    return [blocks, drift]


def _least_block(pairs: _Pairs, blocks: int) -> float:
    return LEAST_REST if blocks > 2 else max(LEAST_REST, _HALF * len(pairs.where))


def _shortest(pairs: _Pairs, blocks: Pattern) -> int:
    begins = np.searchsorted(pairs.where, blocks.positions)
    return int(np.diff([*begins.tolist(), len(pairs.where)]).min())


def _throughout(where: Indices, apart: Flags) -> Pattern:
    return Pattern(kind="throughout", positions=where[apart], share=1.0)


def _few(squares: Floats, where: Indices, apart: Flags, *, known: bool) -> Pattern | None:
    """Return the distinct positions that matter, where they are a minority."""
    if not 0 < apart.sum() <= len(where) / 2:
        return None
    matter = apart if known or not squares.any() else _not_faint(squares, apart)
    return _name(squares, where, matter)


def _name(squares: Floats, where: Indices, named: Flags) -> Pattern:
    touched = squares.sum() - squares[np.ix_(~named, ~named)].sum()
    count = int(named.sum())
    kind = "start" if named[:count].all() else "end" if named[-count:].all() else "some"
    share = float(touched / squares.sum()) if squares.any() else 0.0
    return Pattern(kind=kind, positions=where[named], share=share)


def _unlike(squares: Floats, where: Indices, apart: Flags) -> Pattern | None:
    """Return the positions that are far from the largest set of one law, where there is one."""
    rest = ~apart if LEAST_REST <= (~apart).sum() < len(apart) else _of_one_law(squares)
    named = apart & ~rest
    if rest.sum() < LEAST_REST or not named.any():
        return None
    inside = float(_inside(squares, rest))
    if inside > _TIGHT * float(squares[np.ix_(named, rest)].mean()):
        return None
    found = _name(squares, where, named)
    return found if found.kind != "some" or 2 * named.sum() <= len(where) else None


def _of_two_laws(pairs: _Pairs, apart: Flags) -> Pattern | None:
    """Return the fewer positions of two laws that come in turns, where these are all there is."""
    named = apart if 2 * apart.sum() <= len(apart) else ~apart
    block = named.astype(np.int64)
    if named.sum() < 2 or pairs.explained(pairs.by_labels(block)) < EXPLAINED:
        return None
    return _name(pairs.squares, pairs.where, named) if _tight(pairs, block) else None


def _of_one_law(squares: Floats) -> Flags:
    """Return the largest set of positions that are near each other on the scale of all.

    Near is less than a twentieth of the largest mean d2 to the set, so both are found in turns.
    """
    rest = np.ones(len(squares), bool)
    for _ in range(_TURNS):
        near = squares <= FAINT * squares[:, rest].mean(axis=1).max()
        ball = near[int(near.sum(axis=1).argmax())]
        far = squares[:, ball].mean(axis=1)
        renewed = far <= FAINT * far.max()
        if (renewed == rest).all() or not renewed.any():
            break
        rest = renewed
    return rest


def _not_faint(squares: Floats, apart: Flags) -> Flags:
    """Return the runs of distinct positions in which at least one is far from the rest."""
    far = squares[:, ~apart].mean(axis=1)
    strong = apart & (far >= FAINT * far[apart].max())
    run = np.cumsum(np.diff(apart, prepend=False))
    named: Flags = apart & np.isin(run, run[strong])
    return named


def _stands_out(few: Pattern, size: int) -> bool:
    """Say whether few positions hold far more of the distances than any as many would."""
    rest = size - len(few.positions)
    untouched = rest * (rest - 1) / (size * (size - 1))
    return 4 * len(few.positions) <= size and 1.0 - few.share <= (1.0 - TOUCHED) * untouched


class _Pairs:
    """Pairs i < j of positions: where they are, their lags and squared distances."""

    def __init__(self, squares: Floats, where: Indices, unbiased: Unbiased | None) -> None:
        self.squares, self.where, self.unbiased = squares, where, unbiased
        self.row, self.column = np.triu_indices(len(where), 1)
        self.lags = where[self.column] - where[self.row]
        self.values = squares[self.row, self.column]

    def explained(self, classes: Indices) -> float:
        """Return the adjusted share of the variance of d2 that lies between classes of pairs."""
        labels = np.unique(classes, return_inverse=True)[1]
        sizes = np.bincount(labels)
        means = np.bincount(labels, weights=self.values) / sizes
        within = float(((self.values - means[labels]) ** 2).sum())
        total = float(((self.values - self.values.mean()) ** 2).sum())
        free = len(self.values) - len(sizes)
        if free <= 0 or total <= 1e-12 * float((self.values**2).sum()):
            return 0.0
        return 1.0 - within / free / (total / (len(self.values) - 1))

    def by_labels(self, labels: Indices) -> Indices:
        """Return the class of every pair: the labels of its two positions, in either order."""
        one, two = labels[self.row], labels[self.column]
        classes: Indices = np.minimum(one, two) * (labels.max() + 1) + np.maximum(one, two)
        return classes


def _periodic(pairs: _Pairs) -> Pattern | None:
    """Try every period that fits three times; the shortest of those that explain most."""
    where, found = pairs.where, []
    for period in range(2, int(where[-1] - where[0] + 1) // 3 + 1):
        residue = pairs.lags % period
        counts = np.bincount(residue)
        means = np.bincount(residue, weights=pairs.values) / np.maximum(counts, 1)
        if not counts[0] or means[0] > _FALLEN * means.max():
            continue
        share = pairs.explained(pairs.by_labels(where % period))
        if share >= EXPLAINED and _tight(pairs, where % period):
            found.append((period, share))
    best, most = max(found, key=lambda one: one[1], default=(0, 0.0))
    for period, share in found:
        if best % period == 0 and share >= most - _GAIN:
            return Pattern(kind="periodic", positions=where[:0], share=share, period=period)
    return None


def _blocks(pairs: _Pairs) -> Pattern | None:
    """Cut into as many blocks as have the largest ratio of variances between and inside."""
    size = len(pairs.where)
    cuts = sorted(_cuts(pairs.squares, min(MOST_BLOCKS, size // 2)), key=lambda found: -found[1])
    for begins, _ in cuts:
        block = np.searchsorted(begins, np.arange(size), side="right") - 1
        share = pairs.explained(pairs.by_labels(block))
        if share < max(EXPLAINED, pairs.explained(pairs.lags) + _GAIN):
            continue
        if _sharp(pairs.squares, begins) and _tight(pairs, block) and _all_differ(pairs, block):
            return Pattern(kind="blocks", positions=pairs.where[begins], share=share)
    return None


def _sharp(squares: Floats, begins: Indices) -> bool:
    """Say whether neighbours across a cut are far apart."""
    steps = np.diagonal(squares, 1)
    cut = np.isin(np.arange(1, len(squares)), begins)
    return bool(steps[cut].min() >= _SHARP * steps[~cut].mean())


def _tight(pairs: _Pairs, block: Indices) -> bool:
    """Say whether positions are alike inside every block, and none is far from its own."""
    squares, same = pairs.squares, block[:, None] == block[None, :]
    between = float(squares[~same].mean())
    own = (squares * same).sum(axis=1) / np.maximum(same.sum(axis=1) - 1, 1)
    inside = [own[block == name].mean() for name in np.unique(block)]
    return bool(max(inside) <= _TIGHT * between and own.max() <= _LONE * between)


def _all_differ(pairs: _Pairs, block: Indices) -> bool:
    """Say whether no two blocks have one law, or may have, as far as errors tell.

    A law that comes again makes no blocks: A B A is two laws, and B is the one to name.
    """
    of = [block == name for name in np.unique(block)]
    least = _TIGHT * float(pairs.squares[block[:, None] != block[None, :]].mean())
    for one, other in combinations(of, 2):
        if pairs.squares[np.ix_(one, other)].mean() < least:
            return False
        if pairs.unbiased is not None and not pairs.unbiased.differ(one, other):
            return False
    return True


def _cuts(squares: Floats, most: int) -> list[tuple[Indices, float]]:
    """Return where 2, 3, .. most blocks best begin, each with its ratio of variances.

    The cost of a block is sum_{i<j} d2_ij / size, its sum of squares about its mean. The ratio of
    k blocks is (T - W) / (k - 1) over W / (n - k), with W their costs and T that of one block.
    """
    size = len(squares)
    cost = _costs(squares)
    least, begins, found = cost[0], [[0]] * size, []
    for count in range(2, most + 1):
        totals = np.vstack([np.full(size, np.inf), least[:-1, None] + cost[1:]])
        at = totals.argmin(axis=0)
        begins = [[*begins[max(a - 1, 0)], int(a)] for a in at]
        least = totals.min(axis=0)
        inside = max(float(least[-1]), 1e-12 * float(cost[0, -1]))
        ratio = (cost[0, -1] - inside) / (count - 1) * (size - count) / inside
        found.append((np.array(begins[-1]), float(ratio)))
    return found


def _costs(squares: Floats) -> Floats:
    """Return the cost of the block of positions first .. last, both included."""
    size = len(squares)
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = squares.cumsum(axis=0).cumsum(axis=1)
    first, last = np.meshgrid(np.arange(size), np.arange(1, size + 1), indexing="ij")
    inside = sums[last, last] - sums[first, last] - sums[last, first] + sums[first, first]
    length = last - first
    return np.where(length > 0, 0.5 * inside / np.maximum(length, 1), np.inf)


def _drift(pairs: _Pairs) -> Pattern | None:
    from scipy.stats import rankdata

    lags, values = rankdata(pairs.lags), rankdata(pairs.values)
    spread = float(lags.std() * values.std())
    if spread == 0.0:
        return None
    growing = float(np.mean((lags - lags.mean()) * (values - values.mean()))) / spread
    share = pairs.explained(pairs.lags)
    if growing < EXPLAINED or share < EXPLAINED:
        return None
    return Pattern(kind="drift", positions=pairs.where[:0], share=share)


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


def find_apart(squares: Floats, replicates: Floats, distinct: Flags | None = None) -> Apart | None:
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
