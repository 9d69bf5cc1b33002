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

Which positions are unlike the rest comes from a test of each, or better as stretches with what is
unsure at their ends (`gnomon.diagnostics.apart`), where distances have errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.apart import FAINT, LEAST_REST, Unbiased, standing_apart
from gnomon.results import Result

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
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
_ROUNDS = 10
_GAIN = 0.15
"""Blocks explain this much more than the lag does: blocks that are many describe a drift too."""


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
    apart = standing_apart(unbiased.squares, unbiased.replicates, flags)
    if apart is None:
        return _pattern(squares, where, flags, axes, unbiased, known=False)
    found = _pattern(squares, where, apart.named, axes, unbiased, known=True)
    if found.kind not in {"start", "end", "some"}:
        return found
    return replace(found, unsure=where[apart.unsure | (apart.seen & flags)])


def _pattern(
    squares: Floats,
    where: Indices,
    apart: NDArray[np.bool_],
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


def _model(pairs: _Pairs, apart: NDArray[np.bool_], *, known: bool, listed: bool) -> Pattern | None:
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


def _instead(pairs: _Pairs, apart: NDArray[np.bool_]) -> list[Pattern | None]:
    """Return what says more than a list of positions: three blocks or more, or a drift."""
    blocks, drift = _blocks(pairs), _drift(pairs)
    if blocks is not None and (len(blocks.positions) < 3 or _shortest(pairs, blocks) < LEAST_REST):
        blocks = None
    label = np.where(apart, 1 + np.arange(len(apart)), 0)
    if drift is not None and drift.share < pairs.explained(pairs.by_labels(label)):
        drift = None
    return [blocks, drift]


def _shortest(pairs: _Pairs, blocks: Pattern) -> int:
    begins = np.searchsorted(pairs.where, blocks.positions)
    return int(np.diff([*begins.tolist(), len(pairs.where)]).min())


def _throughout(where: Indices, apart: NDArray[np.bool_]) -> Pattern:
    return Pattern(kind="throughout", positions=where[apart], share=1.0)


def _few(
    squares: Floats, where: Indices, apart: NDArray[np.bool_], *, known: bool
) -> Pattern | None:
    """Return the distinct positions that matter, where they are a minority."""
    if not 0 < apart.sum() <= len(where) / 2:
        return None
    matter = apart if known or not squares.any() else _not_faint(squares, apart)
    return _named(squares, where, matter)


def _named(squares: Floats, where: Indices, named: NDArray[np.bool_]) -> Pattern:
    touched = squares.sum() - squares[np.ix_(~named, ~named)].sum()
    count = int(named.sum())
    kind = "start" if named[:count].all() else "end" if named[-count:].all() else "some"
    share = float(touched / squares.sum()) if squares.any() else 0.0
    return Pattern(kind=kind, positions=where[named], share=share)


def _unlike(squares: Floats, where: Indices, apart: NDArray[np.bool_]) -> Pattern | None:
    """Return the positions that are far from the largest set of one law, where there is one."""
    rest = ~apart if LEAST_REST <= (~apart).sum() < len(apart) else _of_one_law(squares)
    named = apart & ~rest
    if rest.sum() < LEAST_REST or not named.any():
        return None
    inside = _pair_mean(squares[np.ix_(rest, rest)])
    if inside > _TIGHT * float(squares[np.ix_(named, rest)].mean()):
        return None
    found = _named(squares, where, named)
    return found if found.kind != "some" or 2 * named.sum() <= len(where) else None


def _of_two_laws(pairs: _Pairs, apart: NDArray[np.bool_]) -> Pattern | None:
    """Return the fewer positions of two laws that come in turns, where these are all there is."""
    named = apart if 2 * apart.sum() <= len(apart) else ~apart
    block = named.astype(np.int64)
    if named.sum() < 2 or pairs.explained(pairs.by_labels(block)) < EXPLAINED:
        return None
    return _named(pairs.squares, pairs.where, named) if _tight(pairs, block) else None


def _of_one_law(squares: Floats) -> NDArray[np.bool_]:
    """Return the largest set of positions that are near each other on the scale of all.

    Near is less than a twentieth of the largest mean d2 to the set, so both are found in turns.
    """
    rest = np.ones(len(squares), bool)
    for _ in range(_ROUNDS):
        near = squares <= FAINT * squares[:, rest].mean(axis=1).max()
        ball = near[int(near.sum(axis=1).argmax())]
        far = squares[:, ball].mean(axis=1)
        renewed = far <= FAINT * far.max()
        if (renewed == rest).all() or not renewed.any():
            break
        rest = renewed
    return rest


def _pair_mean(squares: Floats) -> float:
    size = len(squares)
    return float(squares.sum()) / max(size * (size - 1), 1)


def _not_faint(squares: Floats, apart: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the runs of distinct positions in which at least one is far from the rest."""
    far = squares[:, ~apart].mean(axis=1)
    strong = apart & (far >= FAINT * far[apart].max())
    run = np.cumsum(np.diff(apart, prepend=False))
    named: NDArray[np.bool_] = apart & np.isin(run, run[strong])
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
