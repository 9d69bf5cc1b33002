r"""How dependence between tokens falls and oscillates with the lag: a signed kernel, two nulls.

    k(tau) = P(x_i = x_(i+tau)) - S(tau) - (A(tau) - A)

the excess of equal tokens at a lag: the trace of the lag covariance of token indicators. It is
signed, so that a period of 10 shows as 10; mutual information is not, and would show 5.

* S, *no order*: the same rate when the tokens of each document are shuffled. Its expectation is
  exact, sum_v n_v (n_v - 1) / (n (n - 1)) for each document, at every lag.
* A(tau), *no dependence beyond position*: the rate of equal tokens at positions i and i + tau of
  two different documents; A is the same at any positions. Where a corpus has a law for each
  position, as aligned sequences do, this part is that law and no dependence.

What shuffles have beyond other documents, S - A, is kept beside, as the document's own level.

Errors are a jackknife over folds of documents [efron1982]; the second null counts as known in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.sparse import csr_array

from gnomon.lags.line import Floats, Line, Whole, equal_pairs, line_of, steps_of
from gnomon.results import Result

FOLDS = 16
AT_ONCE = 2**23
"""Numbers in one batch of transforms, at most: 64 MB."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LagKernel(Result):
    """The excess of equal tokens at lags 1, 2, ..., with its error and both nulls."""

    lags: Whole
    values: Floats
    errors: Floats
    shuffled: Floats
    """Rate of equal tokens, were each document shuffled."""
    across: Floats
    """What positions alone add to that rate at each lag."""
    pairs: Whole
    replicates: Floats
    """The values without each fold in turn, (folds, lags)."""
    documents: int
    anywhere: float = 0.0
    """Rate of equal tokens at any two positions of different documents."""
    level_errors: Floats | None = None
    """Errors of `level`; None where the kernel is not one of documents."""

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
    across = _across(line, steps, equal.sum(axis=0), pairs.sum(axis=0)) - anywhere

    def kernel(weights: Floats) -> Floats:
        count = np.maximum(weights @ pairs, 1.0)
        return np.asarray((weights @ (equal - expected)) / count - across)

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
    """Return the rate of equal tokens between documents at a lag."""
    types = np.bincount(line.tokens).astype(np.float64)
    place = line.place
    there = np.bincount(place).astype(np.float64)
    between = _correlated(there[None], steps) - pairs
    products = _products(line, place, types, steps) - equal
    return np.where(between > 0.5, products / np.maximum(between, 1.0), _anywhere(line))


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
        total += _correlated(counts.astype(np.float64), steps)
    rare = named < 0
    if rare.any():
        few = csr_array(
            (np.ones(int(rare.sum())), (place[rare], line.tokens[rare])), shape=(size, len(types))
        )
        total += [float(few[:-step].multiply(few[step:]).sum()) for step in steps]
    return total


def _correlated(counts: Floats, steps: Whole) -> Floats:
    """Return the sum over rows and i of counts[i] counts[i + tau]: whole numbers, exactly."""
    size = next_fast_len(counts.shape[1] + int(steps[-1]), real=True)
    power = (np.abs(rfft(counts, size, axis=1)) ** 2).sum(axis=0)
    return np.asarray(np.rint(irfft(power, size)[steps]))
