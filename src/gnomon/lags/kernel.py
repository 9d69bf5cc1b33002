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
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.sparse import csr_array

from gnomon.lags.line import Floats, Line, Whole, equal_pairs, line_of, steps_of
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


@dataclass(frozen=True, kw_only=True, eq=False)
class LagKernel(Result):
    """The excess of equal tokens at lags 1, 2, ..., with its error and both nulls."""

    lags: Whole
    values: Floats
    errors: Floats
    shuffled: Floats
    """Rate of equal tokens, were each document shuffled."""
    across: Floats
    """What positions alone add to that rate at each lag; 0 where they are not told to."""
    pairs: Whole
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
    documents: Iterable[ArrayLike] | Line, *, lags: int = 128, folds: int = FOLDS, seed: int = 0
) -> LagKernel:
    """Return the kernel of documents, each a list of token numbers.

    Cost O(tokens x lags): less than a second for a million tokens and 128 lags.
    """
    line = documents if isinstance(documents, Line) else line_of(documents, folds=folds, seed=seed)
    steps = steps_of(line, lags)
    equal = equal_pairs(line, steps)
    expected, pairs = _shuffled(line, steps)
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


def _shuffled(line: Line, steps: Whole) -> tuple[Floats, Floats]:
    """Return how many pairs would be equal in shuffled documents, and how many pairs, by fold.

    A document of n tokens has n - tau pairs: with documents summed by length first, sums over those
    that are longer than tau give every lag at once.
    """
    owned = line.counts
    twice = np.bincount(owned.nonzero()[0], owned.data * (owned.data - 1.0), len(line.fold))
    lengths = line.lengths.astype(np.float64)
    rates = twice / np.maximum(lengths * (lengths - 1.0), 1.0)
    return _over_lengths(line, rates, steps), _over_lengths(line, np.ones_like(rates), steps)


def _over_lengths(line: Line, rates: Floats, steps: Whole) -> Floats:
    """Return sums of rate (n - tau) over documents with n > tau, (folds, lags)."""
    size = int(line.lengths.max()) + 1
    keys = line.fold * size + line.lengths
    summed = np.bincount(keys, rates, minlength=line.folds * size)
    by_length = summed.reshape(line.folds, size).astype(np.float64)

    def longer(values: Floats) -> Floats:
        return np.asarray(values[:, ::-1].cumsum(axis=1)[:, ::-1][:, steps])

    return longer(by_length * np.arange(size)) - steps * longer(by_length)


def _across(line: Line, steps: Whole, equal: Floats, pairs: Floats) -> Floats:
    """Return what positions add to the rate of equal tokens of documents, 0 where that is noise."""
    types = np.bincount(line.tokens).astype(np.float64)
    place = line.place
    there = np.bincount(place).astype(np.float64)
    between = np.rint(_correlated(there[None], steps)) - pairs
    products = _products(line, place, types, steps) - equal
    dealt = _dealt(line, np.concatenate([[0], steps]))
    many = np.maximum(between, 1.0)
    beside = _same_place(line, place, there, float(dealt[0])) * own_share(line, steps) / 2.0
    made = np.where(between > 0.5, (products - dealt[1:]) / many + beside, 0.0)
    noise = np.maximum(products + dealt[1:], np.finfo(np.float64).tiny) / (2.0 * many**2)
    squares = float((made**2 / noise)[(products + dealt[1:] > 0.0) & (between > 0.5)].sum())
    told = squares > len(steps) + OWN * np.sqrt(2.0 * len(steps))
    return made if told else np.zeros(len(steps))


def _same_place(line: Line, place: Whole, there: Floats, dealt: float) -> float:
    """Return by how much tokens of documents are more often equal at one position than at any."""
    shape = (len(there), line.types)
    counts = csr_array((np.ones(len(place)), (place, line.tokens)), shape=shape)
    counts.sum_duplicates()
    equal = float((counts.data**2).sum()) - len(place)
    return (equal - dealt) / max(float((there**2).sum()) - len(place), 1.0)


def own_share(line: Line, steps: Whole) -> Floats:
    """Return b(tau): a shuffled document spreads what depends at one lag over all, b of it here.

    A document of n tokens has n (n - 1) / 2 pairs, of which the n - tau at a lag are shuffled
    among all: q(t) pairs too many at lag t are 2 q(t) (n - tau) / (n (n - 1)) too many at lag tau.
    """
    lengths = line.lengths[:, None].astype(np.float64)
    pairs = np.maximum(lengths - steps, 0.0)
    shares = (2.0 * pairs / np.maximum(lengths - 1.0, 1.0)).sum(axis=0)
    return np.asarray(shares / np.maximum(pairs.sum(axis=0), 1.0))


def _dealt(line: Line, steps: Whole) -> Floats:
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
        total += _correlated(there, steps)
    rare = np.setdiff1d(np.flatnonzero(many > 0.0), frequent)
    total += _dealt_by_pairs(entries, rates, line.lengths, rare)[steps]
    squares = np.zeros(len(lengths))
    np.add.at(squares, entries.indices, rates**2)
    return np.asarray(total - _over_lengths(line, squares, steps).sum(axis=0))


def _dealt_by_pairs(entries: Any, rates: Floats, lengths: Whole, types: Whole) -> Floats:
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


def _anywhere(line: Line) -> float:
    """Return the rate of equal tokens between documents, at any positions."""
    types = np.bincount(line.tokens).astype(np.float64)
    lengths = line.lengths.astype(np.float64)
    others = len(line.tokens) ** 2 - float((lengths**2).sum())
    return float((types**2).sum() - (line.counts.data**2).sum()) / max(others, 1.0)


def _products(line: Line, place: Whole, types: Floats, steps: Whole) -> Floats:
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
        total += np.rint(_correlated(counts.astype(np.float64), steps))
    rare = named < 0
    if rare.any():
        few = csr_array(
            (np.ones(int(rare.sum())), (place[rare], line.tokens[rare])), shape=(size, len(types))
        )
        total += [float(few[:-step].multiply(few[step:]).sum()) for step in steps]
    return total


def _correlated(counts: Floats, steps: Whole) -> Floats:
    """Return the sum over rows and i of counts[i] counts[i + tau]."""
    size = next_fast_len(counts.shape[1] + int(steps[-1]), real=True)
    power = (np.abs(rfft(counts, size, axis=1)) ** 2).sum(axis=0)
    return np.asarray(irfft(power, size)[steps])
