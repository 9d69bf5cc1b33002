r"""How dependence between tokens falls and oscillates with the lag: a signed kernel, two nulls.

    k(tau) = P(x_i = x_(i+tau)) - S(tau) - (A(tau) - M(tau))

the excess of equal tokens at a lag: the trace of the lag covariance of token indicators. It is
signed, so that a period of 10 shows as 10; mutual information is not, and would show 5.

* S, *no order*: the same rate when the tokens of each document are shuffled. Its expectation is
  exact, sum_v n_v (n_v - 1) / (n (n - 1)) for each document, at every lag.
* A(tau), *no dependence beyond position*: the rate of equal tokens at positions i and i + tau of
  two different documents. M(tau) is the same were every token of a document drawn from all of it,

      M(tau) = sum_(d != d') m_dd'(tau) sum_v n_dv n_d'v / (n_d n_d') / sum_(d != d') m_dd'(tau)

  with m = min(n_d, n_d' - tau) the pairs of two documents. Far lags have pairs of long documents
  only: where topics go with length, A(tau) moves with the lag and M(tau) alike. So A - M is 0 on
  average whenever tokens do not depend on their positions. Where a corpus has a law for each
  position, as aligned sequences do, A - M is that law and no dependence. A shuffle never puts a
  position beside itself, M does: what tokens of two documents are more often equal at one position,
  A(0) - M(0), over n - 1 positions, is taken off M.

What shuffles have beyond other documents at any positions, S - A, is kept beside, as the document's
own level.

Errors are a jackknife over folds of documents [efron1982]; the second null counts as known in them.
It has many times the pairs, so that its own noise is less than theirs; but where documents hardly
vary, as where no token repeats in one, it would be all there is. So A - M is taken off only where
its squares over its own noise, A over its pairs, are more than those of nothing by `OWN` standard
deviations. What is not taken off then is smaller than the noise of the pairs inside documents.

*Positions.* The kernel of the law of positions alone is k(tau) = A(tau) - A: the rate of equal
tokens at positions i and i + tau of documents of different folds, less the same at any positions.
Counted are the `TYPES` most frequent types: it is a sum over types, of which rare ones have little.

*Significance.* Whether a kernel is told from nothing at any lag, at 5 % for all lags together.
With k_f = F k - (F - 1) k_(-f) the pseudo-values of a jackknife over folds [efron1982], their mean
over their error at each lag is as likely with any signs of the folds, where nothing depends on the
lag. The largest over all lags, under random signs, is what chance does [westfall1993].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.sparse import csr_array

from gnomon.lags.token_line import (
    Floats,
    Integers,
    TokenLine,
    equal_pairs,
    join_documents,
    lag_range,
)
from gnomon.results import Result

FOLDS = 16
ROUNDING = 1e-12
"""Rates differ by more than this, or by rounding."""
OWN = 5.0
"""Standard deviations of its squares from which positions are said to have laws of their own."""
AT_ONCE = 2**23
"""Numbers in one batch of transforms, at most: 64 MB."""
RARE = 16.0
"""Pairs of documents for each position that cost as much as a transform does."""
TYPES = 128
"""Types that are counted, at most."""
LEVEL = 0.05
"""Of a false alarm, over all lags together."""
SIGNS = 2048
"""Random signs of the folds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LagKernel(Result):
    """The excess of equal tokens at lags 1, 2, ..., with its error and both nulls."""

    lags: Integers
    values: Floats
    errors: Floats
    shuffled: Floats
    """Rate of equal tokens, were each document shuffled."""
    across: Floats
    """What positions alone add to that rate at each lag; 0 where they are not told to."""
    pairs: Integers
    replicates: Floats
    """The values without each fold in turn, (folds, lags)."""
    documents: int
    anywhere: float = 0.0
    """Rate of equal tokens at any two positions of different documents."""
    level_errors: Floats | None = None
    """Errors of `level`; None where the kernel is not one of documents."""

    @property
    def repeats(self) -> bool:
        """Say whether any document has a token twice: else equal pairs tell nothing of lags."""
        return bool(np.asarray(self.shuffled).any())

    @property
    def level(self) -> Floats:
        """Return what documents alone add: equal tokens of shuffles, beyond other documents.

        That is what documents are about, or memory longer than they are; lags do not tell these
        apart. What depends on the lag and ends within documents is in it, too, spread over lags.
        """
        return np.asarray(self.shuffled - self.anywhere)

    @property
    def whole(self) -> Floats:
        """Return the excess over tokens of other documents: of order, and of the document."""
        return np.asarray(self.values + self.level)

    def first(self, lags: int) -> LagKernel:
        """Return the same at the first so many lags."""
        cut = {
            name: getattr(self, name)[..., :lags]
            for name in ("lags", "values", "errors", "shuffled", "across", "pairs", "replicates")
        }
        if self.level_errors is not None:
            cut["level_errors"] = self.level_errors[:lags]
        return replace(self, **cut)


def lag_kernel(
    documents: Iterable[ArrayLike] | TokenLine,
    *,
    lags: int = 128,
    folds: int = FOLDS,
    seed: int = 0,
) -> LagKernel:
    """Return the kernel of documents, each a list of token numbers.

    Cost O(tokens x lags): less than a second for a million tokens and 128 lags.
    """
    line = (
        documents
        if isinstance(documents, TokenLine)
        else join_documents(documents, folds=folds, seed=seed)
    )
    steps = lag_range(line, lags)
    equal = equal_pairs(line, steps)
    expected, pairs = _shuffle_null(line, steps)
    anywhere = _anywhere(line)
    across = _across(line, steps, equal.sum(axis=0), pairs.sum(axis=0))

    # Where no token comes twice in a document, equal pairs tell nothing of lags nor of positions.
    taken = across if expected.any() else np.zeros(len(steps))

    def kernel(weights: Floats) -> Floats:
        count = np.maximum(weights @ pairs, 1.0)
        made = (weights @ (equal - expected)) / count - taken
        return np.where(np.abs(made) > ROUNDING, made, 0.0)

    def shuffles(weights: Floats) -> Floats:
        return np.asarray(weights @ expected / np.maximum(weights @ pairs, 1.0))

    left_out = np.stack([kernel(1.0 - one) for one in np.eye(line.folds)])
    total = pairs.sum(axis=0)
    return LagKernel(
        lags=steps,
        values=kernel(np.ones(line.folds)),
        errors=jackknife_errors(left_out),
        shuffled=expected.sum(axis=0) / np.maximum(total, 1.0),
        across=across,
        pairs=total.astype(np.int64),
        replicates=left_out,
        documents=len(line.fold),
        anywhere=anywhere,
        level_errors=jackknife_errors(
            np.stack([shuffles(1.0 - one) for one in np.eye(line.folds)])
        ),
    )


def jackknife_errors(replicates: Floats) -> Floats:
    """Return the standard errors of what was computed without each fold, along the first axis."""
    folds = len(replicates)
    spread = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((folds - 1) / folds * spread))


def _shuffle_null(line: TokenLine, steps: Integers) -> tuple[Floats, Floats]:
    """Return how many pairs would be equal in shuffled documents, and how many pairs, by fold.

    A document of n tokens has n - tau pairs: with documents summed by length first, sums over those
    that are longer than tau give every lag at once.
    """
    owned = line.counts
    twice = np.bincount(owned.nonzero()[0], owned.data * (owned.data - 1.0), len(line.fold))
    lengths = line.lengths.astype(np.float64)
    rates = twice / np.maximum(lengths * (lengths - 1.0), 1.0)
    return _over_lengths(line, rates, steps), _over_lengths(line, np.ones_like(rates), steps)


def _over_lengths(line: TokenLine, rates: Floats, steps: Integers) -> Floats:
    """Return sums of rate (n - tau) over documents with n > tau, (folds, lags)."""
    size = int(line.lengths.max()) + 1
    keys = line.fold * size + line.lengths
    summed = np.bincount(keys, rates, minlength=line.folds * size)
    by_length = summed.reshape(line.folds, size).astype(np.float64)

    def longer(values: Floats) -> Floats:
        return np.asarray(values[:, ::-1].cumsum(axis=1)[:, ::-1][:, steps])

    return longer(by_length * np.arange(size)) - steps * longer(by_length)


def _across(line: TokenLine, steps: Integers, equal: Floats, pairs: Floats) -> Floats:
    """Return what positions add to the rate of equal tokens of documents, 0 where that is noise."""
    types = np.bincount(line.tokens).astype(np.float64)
    place = line.place
    there = np.bincount(place).astype(np.float64)
    between = np.rint(_correlation(there[None], steps)) - pairs
    products = _products(line, place, types, steps) - equal
    dealt = _dealt(line, np.concatenate([[0], steps]))
    many = np.maximum(between, 1.0)
    beside = _same_place(line, place, there, float(dealt[0])) * own_share(line, steps) / 2.0
    made = np.where(between > 0.5, (products - dealt[1:]) / many + beside, 0.0)
    noise = np.maximum(products + dealt[1:], np.finfo(np.float64).tiny) / (2.0 * many**2)
    squares = float((made**2 / noise)[(products + dealt[1:] > 0.0) & (between > 0.5)].sum())
    told = squares > len(steps) + OWN * np.sqrt(2.0 * len(steps))
    return made if told else np.zeros(len(steps))


def _same_place(line: TokenLine, place: Integers, there: Floats, dealt: float) -> float:
    """Return by how much tokens of documents are more often equal at one position than at any."""
    shape = (len(there), line.types)
    counts = csr_array((np.ones(len(place)), (place, line.tokens)), shape=shape)
    counts.sum_duplicates()
    equal = float((counts.data**2).sum()) - len(place)
    return (equal - dealt) / max(float((there**2).sum()) - len(place), 1.0)


def own_share(line: TokenLine, steps: Integers) -> Floats:
    """Return b(tau): a shuffled document spreads what depends at one lag over all, b of it here.

    A document of n tokens has n (n - 1) / 2 pairs, of which the n - tau at a lag are shuffled
    among all: q(t) pairs too many at lag t are 2 q(t) (n - tau) / (n (n - 1)) too many at lag tau.
    """
    lengths = line.lengths[:, None].astype(np.float64)
    pairs = np.maximum(lengths - steps, 0.0)
    shares = (2.0 * pairs / np.maximum(lengths - 1.0, 1.0)).sum(axis=0)
    return np.asarray(shares / np.maximum(pairs.sum(axis=0), 1.0))


def _dealt(line: TokenLine, steps: Integers) -> Floats:
    """Return equal pairs of two documents at each lag, were their tokens drawn from all of them.

    min(n_d, n_d' - tau) counts the positions i that d has while d' has i + tau: so the sum over
    pairs is a correlation of Q_i(v) = sum_(d longer than i) n_dv / n_d, less what documents have
    with themselves. Of rare types pairs of documents are visited, whose min() bends twice.
    """
    entries = line.counts.tocsc()
    lengths = line.lengths.astype(np.float64)
    size = int(line.lengths.max())
    rates = entries.data / lengths[entries.indices]
    many = np.diff(entries.indptr).astype(np.float64)
    frequent = np.flatnonzero(many**2 > RARE * size)  # where a transform costs less
    total = np.zeros(len(steps))
    width = max(AT_ONCE // (2 * size), 1)
    for first in range(0, len(frequent), width):
        rows = frequent[first : first + width]
        which = np.concatenate([np.arange(*entries.indptr[[row, row + 1]]) for row in rows])
        row = np.repeat(np.arange(len(rows)), many[rows].astype(np.int64))
        keys = row * size + line.lengths[entries.indices[which]] - 1
        ends = np.bincount(keys, rates[which], minlength=len(rows) * size)
        there = ends.reshape(len(rows), size)[:, ::-1].cumsum(axis=1)[:, ::-1]
        total += _correlation(there, steps)
    rare = np.setdiff1d(np.flatnonzero(many > 0.0), frequent)
    total += _dealt_by_pairs(entries, rates, line.lengths, rare)[steps]
    squares = np.zeros(len(lengths))
    np.add.at(squares, entries.indices, rates**2)
    return np.asarray(total - _over_lengths(line, squares, steps).sum(axis=0))


def _dealt_by_pairs(entries: Any, rates: Floats, lengths: Integers, types: Integers) -> Floats:
    """Return the sum over types and pairs of documents of rate rate' min(n, n' - tau), by lag.

    As a function of tau it is level up to n' - n and falls by one a lag up to n': a cumulative sum
    of a cumulative sum of what it changes at these bends.
    """
    size = int(lengths.max())
    level, slope = 0.0, np.zeros(size + 1)
    starts = entries.indptr[types]
    many = entries.indptr[types + 1] - starts
    for count in np.unique(many):
        first = starts[many == count]
        which = first[:, None] + np.arange(count)
        left = np.repeat(which, count, axis=1).ravel()
        right = np.tile(which, (1, count)).ravel()
        ones, others = lengths[entries.indices[left]], lengths[entries.indices[right]]
        sizes = rates[left] * rates[right]
        level += float(sizes @ np.minimum(ones, others))
        slope += np.bincount(np.maximum(others - ones, 0), -sizes, minlength=size + 1)
        slope += np.bincount(others, sizes, minlength=size + 1)
    falls = np.concatenate([[0.0], slope.cumsum()[:-1]])
    return np.asarray(level + falls.cumsum())


def _anywhere(line: TokenLine) -> float:
    """Return the rate of equal tokens between documents, at any positions."""
    types = np.bincount(line.tokens).astype(np.float64)
    lengths = line.lengths.astype(np.float64)
    others = len(line.tokens) ** 2 - float((lengths**2).sum())
    return float((types**2).sum() - (line.counts.data**2).sum()) / max(others, 1.0)


def _products(line: TokenLine, place: Integers, types: Floats, steps: Integers) -> Floats:
    """Return the sum over positions i and types of counts at i times counts at i + tau.

    Frequent types go through a Fourier transform, whose sums of whole numbers are rounded to be
    exact; of rare ones only the positions are visited that have them.
    """
    size = int(place.max()) + 1
    frequent = np.flatnonzero(types * len(steps) > 4.0 * size)  # where a transform costs less
    total = np.zeros(len(steps))
    names = np.full(len(types), -1)
    names[frequent] = np.arange(len(frequent))
    named = names[line.tokens]
    width = max(AT_ONCE // (2 * size), 1)
    for first in range(0, len(frequent), width):
        chosen = (named >= first) & (named < first + width)
        rows = min(width, len(frequent) - first)
        keys = (named[chosen] - first) * size + place[chosen]
        counts = np.bincount(keys, minlength=rows * size).reshape(rows, size)
        total += np.rint(_correlation(counts.astype(np.float64), steps))
    rare = named < 0
    if rare.any():
        few = csr_array(
            (np.ones(int(rare.sum())), (place[rare], line.tokens[rare])), shape=(size, len(types))
        )
        total += [float(few[:-step].multiply(few[step:]).sum()) for step in steps]
    return total


def _correlation(counts: Floats, steps: Integers) -> Floats:
    """Return the sum over rows and i of counts[i] counts[i + tau]."""
    size = next_fast_len(counts.shape[1] + int(steps[-1]), real=True)
    power = (np.abs(rfft(counts, size, axis=1)) ** 2).sum(axis=0)
    return np.asarray(irfft(power, size)[steps])


def position_kernel(line: TokenLine, steps: Integers) -> LagKernel:
    """Return what positions alone add to the rate of equal tokens, by lag, with its noise.

    Cost O(folds x types x positions), for any number of lags.
    """
    there = _counts(line, np.zeros(len(line.tokens), dtype=np.int64), line.place, 1)
    equal, same = _equal(line, steps)
    pairs = _between(_powers(there, steps), steps)
    rates = equal / np.maximum(pairs, 1.0)
    sizes = np.bincount(line.fold[line.owner], minlength=line.folds).astype(np.float64)
    anywhere = same / np.maximum(_apart(sizes[:, None])[:, 0], 1.0)
    made = np.where(pairs > 0.5, rates - anywhere[:, None], 0.0)
    return LagKernel(
        lags=steps,
        values=made[0],
        errors=jackknife_errors(made[1:]),
        shuffled=np.full(len(steps), anywhere[0]),
        across=made[0],
        pairs=pairs[0].astype(np.int64),
        replicates=made[1:],
        documents=len(line.fold),
        anywhere=float(anywhere[0]),
    )


def _equal(line: TokenLine, steps: Integers) -> tuple[Floats, Floats]:
    """Return equal pairs of different folds by lag, and anywhere: of all, then without each."""
    often = np.bincount(line.tokens, minlength=line.types)
    kept = np.argsort(-often, kind="stable")[:TYPES]
    names = np.full(line.types, -1)
    names[kept] = np.arange(len(kept))
    named, place = names[line.tokens], line.place
    size = int(place.max()) + 1
    width = max(AT_ONCE // (2 * size * line.folds), 1)
    power = np.zeros((1 + line.folds, _places(size, steps) // 2 + 1))
    same = np.zeros(1 + line.folds)
    for first in range(0, len(kept), width):
        rows = min(width, len(kept) - first)
        counts = _counts(line, named - first, place, rows)
        same += _apart(counts.sum(axis=2)).sum(axis=1)
        power += _powers(counts, steps)
    return _between(power, steps), same


def _counts(line: TokenLine, named: Integers, place: Integers, rows: int) -> Floats:
    """Return how often types 0 .. rows - 1 stand at each position, (folds, rows, positions)."""
    size = int(place.max()) + 1
    chosen = (named >= 0) & (named < rows)
    keys = (line.fold[line.owner[chosen]] * rows + named[chosen]) * size + place[chosen]
    counts = np.bincount(keys, minlength=line.folds * rows * size)
    return counts.reshape(line.folds, rows, size).astype(np.float64)


def _apart(sums: Floats) -> Floats:
    """Return (sum_f n_f)^2 - sum_f n_f^2 of sums (folds, rows), of all and without each fold."""
    squares = sums**2
    total, own = sums.sum(axis=0), squares.sum(axis=0)
    without = (total - sums) ** 2 - (own - squares)
    return np.concatenate([(total**2 - own)[None], without])


def _powers(counts: Floats, steps: Integers) -> Floats:
    """Return spectra of pairs of different folds, (1 + folds, frequencies), summed over rows."""
    waves = rfft(counts, _places(counts.shape[2], steps), axis=2)
    own = np.abs(waves) ** 2
    total, all_own = waves.sum(axis=0), own.sum(axis=0)
    whole = (np.abs(total) ** 2 - all_own).sum(axis=0)
    without = (np.abs(total - waves) ** 2 - (all_own - own)).sum(axis=1)
    return np.concatenate([whole[None], without])


def _places(size: int, steps: Integers) -> int:
    """Return how many places a transform has, an even number, that no lag goes round."""
    return 2 * int(next_fast_len((size + int(steps[-1]) + 1) // 2, real=True))


def _between(power: Floats, steps: Integers) -> Floats:
    """Return the pairs at each lag from their spectrum: whole numbers, exactly."""
    return np.asarray(np.rint(irfft(power, 2 * (power.shape[1] - 1), axis=1)[:, steps]))


def peaks(kernel: LagKernel) -> Integers:
    """Return places of lags with more equal tokens than by chance, the most first.

    They are told from nothing all together, and are not less than at the lags beside them.
    """
    folds = len(kernel.replicates)
    parts = folds * kernel.values - (folds - 1) * kernel.replicates
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGNS, folds))
    least = np.quantile(np.abs(_scores(signs, parts)).max(axis=1), 1.0 - LEVEL)
    scores = _scores(np.ones((1, folds)), parts)[0]
    beside = np.pad(np.asarray(kernel.values), 1, constant_values=-np.inf)
    top = (kernel.values >= beside[:-2]) & (kernel.values >= beside[2:])
    places = np.flatnonzero(top & (scores > least) & (kernel.values > 0.0))
    return places[np.argsort(-kernel.values[places], kind="stable")]


def is_significant(kernel: LagKernel) -> bool:
    """Say whether a kernel differs from 0 at some lag."""
    folds = len(kernel.replicates)
    parts = folds * kernel.values - (folds - 1) * kernel.replicates
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGNS, folds))
    signs[0] = 1.0
    largest = np.abs(_scores(signs, parts)).max(axis=1)
    return bool((largest >= largest[0] - 1e-9).mean() <= LEVEL)


def _scores(signs: Floats, parts: Floats) -> Floats:
    """Return means of parts with signs over their errors, (signs, lags), 0 where nothing varies."""
    folds = len(parts)
    means = signs @ parts / folds
    spread = np.maximum((parts**2).mean(axis=0) - means**2, 0.0) / (folds - 1)
    usual = np.finfo(np.float64).eps * np.abs(parts).max(initial=0.0)
    return np.asarray(means / np.sqrt(spread + usual**2 + np.finfo(np.float64).tiny))
