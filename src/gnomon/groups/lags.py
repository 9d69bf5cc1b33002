r"""How dependence between tokens falls and oscillates with the lag: a signed kernel, two nulls.

    k(tau) = P(x_i = x_(i+tau)) - S(tau) - (A(tau) - A)

the excess of equal tokens at a lag: the trace of the lag covariance of token indicators. It is
signed, so that a period of 10 shows as 10; mutual information is not, and would show 5.

* S, *no order*: the same rate when the tokens of each document are shuffled. Its expectation is
  exact, sum_v n_v (n_v - 1) / (n (n - 1)) for each document, at every lag.
* A(tau), *no dependence beyond position*: the rate of equal tokens at positions i and i + tau of
  two different documents; A is the same at any positions. Where a corpus has a law for each
  position, as aligned sequences do, this part is that law and no dependence.

Errors are a jackknife over folds of documents [efron1982]; the second null counts as known in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from gnomon.errors import GroupError
from gnomon.results import Result

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
FOLDS = 16


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


@dataclass(frozen=True)
class _Line:
    """All documents in one line of tokens."""

    tokens: Whole
    owner: Whole
    place: Whole
    lengths: Whole
    fold: Whole


def lag_kernel(
    documents: Iterable[ArrayLike], *, lags: int = 128, folds: int = FOLDS, seed: int = 0
) -> LagKernel:
    """Return the kernel of documents, each a list of token numbers.

    Cost O(tokens x lags): a second for a million tokens and 128 lags.
    """
    line = _line([_checked(one, place) for place, one in enumerate(documents)], folds, seed)
    if isinstance(lags, bool) or lags != int(lags) or lags < 1:
        raise GroupError(f"lags is {lags!r}; pass a whole number from 1 on.")
    most = int(line.lengths.max(initial=0)) - 1
    if most < 1:
        raise GroupError("No document has two tokens, so there is no lag; pass longer documents.")
    steps = np.arange(1, min(int(lags), most) + 1)
    equal = np.stack([_equal(line, int(step), folds) for step in steps], axis=1)
    expected, pairs = _shuffled(line, steps, folds)
    across = _across(line, steps, equal.sum(axis=0), pairs.sum(axis=0))

    def kernel(weights: Floats) -> Floats:
        count = np.maximum(weights @ pairs, 1)
        return np.asarray((weights @ (equal - expected)) / count - across)

    left_out = np.stack([kernel(1.0 - one) for one in np.eye(folds)])
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    total = pairs.sum(axis=0)
    return LagKernel(
        lags=steps,
        values=kernel(np.ones(folds)),
        errors=np.sqrt((folds - 1) / folds * spread),
        shuffled=expected.sum(axis=0) / np.maximum(total, 1),
        across=across,
        pairs=total,
        replicates=left_out,
        documents=len(line.lengths),
    )


def _checked(document: ArrayLike, place: int) -> Whole:
    """Return a document as whole numbers, or say what it is."""
    array = np.asarray(document)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GroupError(
            f"Document {place} has shape {array.shape} and holds {array.dtype}; pass token numbers "
            "in a line."
        )
    return array.astype(np.int64)


def _line(documents: Sequence[Whole], folds: int, seed: int) -> _Line:
    """Return documents one after the other, each in a random fold."""
    if len(documents) < folds:
        raise GroupError(
            f"There are {len(documents)} documents and {folds} folds; pass more documents, or "
            "fewer folds: errors come from them."
        )
    lengths = np.array([len(one) for one in documents])
    which = np.random.default_rng(seed).permutation(len(documents)) % folds
    return _Line(
        tokens=np.unique(np.concatenate(documents), return_inverse=True)[1],
        owner=np.repeat(np.arange(len(documents)), lengths),
        place=np.concatenate([np.arange(length) for length in lengths]),
        lengths=lengths,
        fold=which,
    )


def _equal(line: _Line, step: int, folds: int) -> Floats:
    """Return how many pairs at a lag are equal, by fold."""
    same = line.tokens[:-step] == line.tokens[step:]
    same &= line.owner[:-step] == line.owner[step:]
    owners = line.owner[:-step][same]
    return np.bincount(line.fold[owners], minlength=folds).astype(np.float64)


def _shuffled(line: _Line, steps: Whole, folds: int) -> tuple[Floats, Whole]:
    """Return how many pairs would be equal in shuffled documents, and how many pairs, by fold."""
    types = int(line.tokens.max(initial=0)) + 1
    keys, counts = np.unique(line.owner * types + line.tokens, return_counts=True)
    twice = np.bincount(keys // types, counts * (counts - 1.0), minlength=len(line.lengths))
    rates = twice / np.maximum(line.lengths * (line.lengths - 1.0), 1.0)
    pairs = np.maximum(line.lengths[:, None] - steps, 0)
    made = np.zeros((folds, len(steps))), np.zeros((folds, len(steps)), dtype=np.int64)
    np.add.at(made[0], line.fold, rates[:, None] * pairs)
    np.add.at(made[1], line.fold, pairs)
    return made


def _across(line: _Line, steps: Whole, equal: Floats, pairs: Whole) -> Floats:
    """Return what positions alone add: the rate between documents at a lag, less that anywhere."""
    size = (int(line.place.max()) + 1, int(line.tokens.max()) + 1)
    ones = np.ones(len(line.tokens))
    counts = csr_array((ones, (line.place, line.tokens)), shape=size)
    there = np.bincount(line.place).astype(np.float64)
    types = np.bincount(line.tokens).astype(np.float64)
    owned = np.unique(line.owner * size[1] + line.tokens, return_counts=True)[1].astype(np.float64)
    others = len(line.tokens) ** 2 - float((line.lengths.astype(np.float64) ** 2).sum())
    anywhere = float((types**2).sum() - (owned**2).sum()) / max(others, 1.0)
    found = np.zeros(len(steps))
    for place, step in enumerate(steps):
        products = float(counts[:-step].multiply(counts[step:]).sum()) - equal[place]
        between = float(there[:-step] @ there[step:]) - pairs[place]
        found[place] = products / between - anywhere if between > 0 else 0.0
    return found
