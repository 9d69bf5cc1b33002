r"""The estimators of squared distances, one table: what `measure(counts, estimator=...)` can take.

Every estimator is a function of (counts, kept, rng) that returns an `Estimate`: the positions it
could measure, among those kept, and their squared chord distances. To add one, write the function
and put it in `ESTIMATORS`.

A document (group) lies in one fold. "debiased", "u" and "split-half" multiply different folds only,
so a document is never on both sides of a product; the one exception is the correction of common
types in "debiased" and "u" (`pilot.remainder`), from which its noise is taken off. "plugin" and
"null-subtracted" square the counts of all folds together, every document with itself.

The squares of "u", "null-subtracted" and "split-half" are differences of estimates and can be
negative; they are not clipped before they are averaged or centred. A negative square has no root
and so no angle: those three are measured as chords only.

Split halves: roots of laws from one half of the folds, multiplied with those of the other.

A halving puts the folds at random into two halves a and b. With s_i^a the roots of the observed
shares of position i in half a,

    C_ij = (<s_i^a, s_j^b> + <s_j^a, s_i^b>) / 2,      d2_ij = C_ii + C_jj - 2 C_ij,

averaged over ten halvings. A document lies in one fold, so it is never on both sides of a product
and its noise never meets itself. What remains is the bias of the root: E sqrt(x / N) is less than
sqrt p, by much for rare types, and C_ii loses more of it than C_ij where N_i < N_j; d2 is then too
large between positions counted unequally, which looks like a drift along a corpus of falling
counts.

Null subtraction: plug-in squared distances minus what dealing the tokens at random would show.

    d2_ij = |sqrt p_i - sqrt p_j|^2 - E |sqrt p_i* - sqrt p_j*|^2,

the expectation over all deals of the corpus's tokens to its slots, exact (`expected_null_squares`).
It is right on average where there is no signal, and only there: with signal the noise of the laws
is not that of the pooled law, and strong drift is underestimated by what the deal mixes in. The
plug-in square multiplies every document with itself, so documents that repeat their words, or are
repeated, add noise that a deal of single tokens does not have and that is not subtracted.

The expected squared chord of the dealt null, exactly and without drawing.

Deal T tokens to slots: E d_ij^2 = 2 - 2 sum_v E sqrt(x_iv x_jv) / sqrt(N_i N_j). A count x with row
sum N and column sum X is hypergeometric H(N, X, T), and two positions compete for the same tokens.
Given one count the mean of a polynomial in the other is a polynomial of the same degree, so their
joint law is diagonal in the orthogonal (Hahn) polynomials of the two, and with Rodrigues' formula

    E f(x_i) f(x_j) = sum_k  (-1)^k w_k  (N_i)_k a_k(i)  (N_j)_k a_k(j),
    a_k(i) = E [difference^k f](y),   y ~ H(N_i - k, X - k, T - 2k),
    w_k = (X)_k (T - X)_k / (k! (T)_2k (T - k + 1)_k),   (z)_k = z (z - 1) .. (z - k + 1).

For the root the terms alternate in sign and shrink, quickly where a position holds a small share of
the corpus; the sum stops where a term is below `TOLERANCE` in d^2, and always at k = X. Term 0 are
independent draws; term 1 is the competition, without which the hypergeometric variances, too small
by the share of a position in the corpus, would leave d^2 too small as well.

a_k is summed over y outwards from the mode, until a term is below 1e-17 of the largest. From a mean
of `SERIES_FROM` on, the expansion of the root about the mean takes over: its relative error is of
order 1 / mean^2 in what the token adds to d^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from gnomon.distances.chord import (
    as_distributions,
    chord_distances,
    counts_matrix,
    distributions_of,
    gram_and_chords,
    totals,
)
from gnomon.errors import CountsError
from gnomon.numeric.parallel import map_threads, stripes, use_numba

Floats = NDArray[np.float64]
Kept = NDArray[np.bool_]
FARTHEST = 2.0
"""Two laws are at most sqrt 2 apart."""
WITH_ANGLE = ("debiased", "plugin")
"""Estimators whose squares lie in [0, 2]: the angle is a smooth function of them."""
HALVINGS = 10
_TYPES_AT_ONCE = 4096
"""Types multiplied at a time."""
SERIES_FROM = 1000.0
TABLE = 2048
"""A law with mean below SERIES_FROM has nothing of weight 1e-17 from here on."""
NEGLIGIBLE = 1e-17
TOLERANCE = 1e-10
_ORDERS = 24
_BLOCK = 128
"""Distinct column sums handled at a time."""
_COLUMNS = 16
"""Of those, how many per task of one thread."""


class Estimate(NamedTuple):
    """Squared chord distances between the positions that could be measured."""

    positions: NDArray[np.int64]
    squares: Floats
    """m x m, zero diagonal, possibly negative."""
    gram: Floats | None = None
    """The centred Gram matrix, where it is known more exactly than by centring the squares."""


Estimator = Callable[[Any, Kept, np.random.Generator], Estimate]


def _plugin(counts: Any, kept: Kept, _rng: np.random.Generator) -> Estimate:
    """Take the observed shares for the laws, as published; a document meets itself."""
    matrix = _matrix(counts)
    gram, distances = gram_and_chords(as_distributions(matrix, totals(matrix), kept))
    return Estimate(np.flatnonzero(kept), np.square(distances), gram)


def _null_subtracted(counts: Any, kept: Kept, _rng: np.random.Generator) -> Estimate:
    """Take the exact expectation of the dealt null off plug-in; a document meets itself."""
    positions = np.flatnonzero(kept)
    return Estimate(positions, null_subtracted_squares(_matrix(counts)[positions]))


def _split_half(counts: Any, kept: Kept, rng: np.random.Generator) -> Estimate:
    """Multiply random halves of the folds; a document is never on both sides."""
    folds = _folds(counts, "split-half")
    blocks = csr_array(counts.blocks)
    positions = np.flatnonzero(kept & have_both_halves(blocks, folds))
    _two(positions, "have tokens in more than half of the folds")
    rows = (positions[:, None] * folds + np.arange(folds)).ravel()
    return Estimate(positions, split_half_squares(blocks[rows], folds, rng))


def _u(counts: Any, kept: Kept, rng: np.random.Generator) -> Estimate:
    """Return U on the core, as it is: some squares may be negative."""
    from gnomon.distances.estimate import debias

    _folds(counts, "u")
    found = debias(counts, rng=rng, draws=0, keep=kept)
    positions = found.positions[found.core]
    _two(positions, "have tokens enough to be debiased")
    return Estimate(positions, found.squares[np.ix_(found.core, found.core)])


def _debiased(counts: Any, kept: Kept, rng: np.random.Generator) -> Estimate:
    """Return the low-rank part of U on the core."""
    from gnomon.distances.estimate import debias

    _folds(counts, "debiased")
    found = debias(counts, rng=rng, keep=kept)
    positions = found.positions[found.core]
    _two(positions, "have tokens enough to be debiased")
    return Estimate(positions, np.minimum(found.low_rank.squares, FARTHEST))


ESTIMATORS: dict[str, Estimator] = {
    "debiased": _debiased,
    "null-subtracted": _null_subtracted,
    "plugin": _plugin,
    "split-half": _split_half,
    "u": _u,
}


def _matrix(counts: Any) -> csr_array:
    return counts_matrix(getattr(counts, "matrix", counts))


def _folds(counts: Any, name: str) -> int:
    """Return the number of folds, of which the estimator needs two."""
    if not hasattr(counts, "folds"):
        raise CountsError(
            f"the {name} estimator needs counts in folds, and these are a plain matrix; count the "
            "corpus with gnomon.count, or pass PositionCounts, or use the plug-in estimator."
        )
    folds = int(counts.folds)
    if folds < 2:
        raise CountsError(
            f"the {name} estimator needs counts in folds, and these have {folds}; count the corpus "
            "again with --folds 16, or use the plug-in estimator."
        )
    return folds


def _two(positions: NDArray[np.int64], what: str) -> None:
    if positions.size < 2:
        raise CountsError(
            f"{positions.size} positions {what}, and distances need two; use more documents, or "
            "the plug-in estimator."
        )


def split_half_squares(
    blocks: csr_array, folds: int, rng: np.random.Generator, halvings: int = HALVINGS
) -> NDArray[np.float64]:
    """Return d2 for counts with rows i * folds + g, m x m, zero diagonal; it may be negative.

    Every position must have tokens in more than half of the folds (`have_both_halves`).
    """
    m = blocks.shape[0] // folds
    gram = np.zeros((m, m))
    for _ in range(halvings):
        first = np.zeros(folds, bool)
        first[rng.permutation(folds)[: folds // 2]] = True
        gram += _cross(_roots(blocks, first), _roots(blocks, ~first))
    gram = (gram + gram.T) / (2.0 * halvings)
    own = np.diag(gram)
    squares: NDArray[np.float64] = own[:, None] + own[None, :] - 2.0 * gram
    return squares


def have_both_halves(blocks: csr_array, folds: int) -> NDArray[np.bool_]:
    """Say which positions have tokens in both halves of every halving."""
    tokens = np.asarray(blocks.sum(axis=1)).reshape(-1, folds)
    enough: NDArray[np.bool_] = np.count_nonzero(tokens, axis=1) > folds - folds // 2
    return enough


def _roots(blocks: csr_array, half: NDArray[np.bool_]) -> csc_array:
    """Return the roots of the observed shares in a half of the folds, positions x types."""
    rows, folds = blocks.shape[0], half.size
    chosen = np.flatnonzero(np.tile(half, rows // folds))
    shape = (rows // folds, rows)
    pooling = csr_array((np.ones(chosen.size), (chosen // folds, chosen)), shape=shape)
    pooled = csr_array(pooling @ blocks)
    tokens = np.asarray(pooled.sum(axis=1)).ravel()
    pooled.data = np.sqrt(pooled.data / np.repeat(tokens, np.diff(pooled.indptr)))
    return csc_array(pooled)


def _cross(left: csc_array, right: csc_array) -> NDArray[np.float64]:
    """Return left right^T over dense blocks of types."""
    gram = np.zeros((left.shape[0], right.shape[0]))
    for start in range(0, left.shape[1], _TYPES_AT_ONCE):
        types = slice(start, start + _TYPES_AT_ONCE)
        gram += left[:, types].toarray() @ right[:, types].toarray().T
    return gram


def null_subtracted_squares(matrix: csr_array) -> NDArray[np.float64]:
    """Return plug-in minus expected null, m x m, zero diagonal; it may be negative.

    Every row must hold a token.

    >>> null_subtracted_squares(csr_array([[1, 0], [0, 1]])).round(9)  # every deal is as far apart
    array([[0., 0.],
           [0., 0.]])
    """
    squares: NDArray[np.float64] = np.square(chord_distances(matrix))
    squares -= expected_null_squares(matrix)
    return squares


def expected_null_squares(counts: Any) -> NDArray[np.float64]:
    """Return E d_ij^2 over all deals of the tokens: m x m, zero diagonal.

    Every row must hold a token. Cost O(m u) sums and m^2 u flops, u the number of distinct column
    sums: 25,000 types have some 2,000.

    >>> expected_null_squares([[1, 0], [0, 1]])  # two tokens, two slots: always at distance sqrt 2
    array([[0., 2.],
           [2., 0.]])
    """
    law = distributions_of(counts)
    rows = law.totals.astype(np.float64)
    pooled = np.bincount(law.tokens, law.counts, minlength=law.vocabulary).astype(np.float64)
    sizes, types = np.unique(pooled[pooled > 0], return_counts=True)
    affinity = np.zeros((rows.size, rows.size))
    for first, last in stripes(0, sizes.size, _BLOCK):
        affinity += _affinity(rows, sizes[first:last], types[first:last].astype(np.float64))
    expected: NDArray[np.float64] = np.maximum(2.0 - 2.0 * affinity, 0.0)
    np.fill_diagonal(expected, 0.0)
    return expected


def _affinity(rows: Floats, sizes: Floats, types: Floats) -> Floats:
    """Return sum_v E sqrt(x_iv x_jv) / sqrt(N_i N_j) over the types with these column sums."""
    total = float(rows.sum())
    scale = 1.0 / np.sqrt(rows)
    affinity = np.zeros((rows.size, rows.size))
    for order in range(_ORDERS):
        means = difference_means(rows, sizes, order)
        means *= (_falling_share(rows, total, order) * scale)[:, None]
        term = (means * (types * _weights(sizes, total, order))) @ means.T
        np.fill_diagonal(term, 0.0)
        affinity += term
        if np.abs(term).max(initial=0.0) < TOLERANCE:
            break
    return affinity


def _falling_share(rows: Floats, total: float, order: int) -> Floats:
    """Return (N)_k / T^k."""
    share = np.ones_like(rows)
    for step in range(order):
        share *= np.maximum(rows - step, 0.0) / total
    return share


def _weights(sizes: Floats, total: float, order: int) -> Floats:
    """Return (-1)^k w_k T^2k, in an order of factors that neither overflows nor underflows."""
    weights = np.ones_like(sizes)
    for step in range(order):
        taken = np.maximum(sizes - step, 0.0) * np.maximum(total - sizes - step, 0.0)
        pairs = (total - 2 * step) * (total - 2 * step - 1) * (total - order + 1 - step)
        weights *= -taken * (total / max(pairs, 1.0)) * (total / (step + 1))
    return weights


def difference_means(rows: Floats, sizes: Floats, order: int) -> Floats:
    """Return a_k of the root for every row sum and column sum; 0 where its law does not exist.

    >>> difference_means(np.array([1.0, 3.0]), np.array([1.0]), 0).ravel()  # one token in 4 slots
    array([0.25, 0.75])
    """
    total = float(rows.sum()) - 2 * order
    row, size = rows[:, None] - order, sizes[None, :] - order
    real = (row >= 0) & (size >= 0) & (row <= total) & (size <= total)
    large = real & (row * size >= SERIES_FROM * max(total, 1.0))
    means = np.zeros(real.shape)
    _sum(rows - order, sizes - order, total, _differences(order), real & ~large, means)
    i, j = np.nonzero(large)
    means[i, j] = _series(row[i, 0], size[0, j], total, order)
    return means


def _differences(order: int) -> Floats:
    """Return the differences of the given order of sqrt at 0, 1, 2, .."""
    roots = np.sqrt(np.arange(TABLE + order, dtype=np.float64))
    return np.diff(roots, n=order)


def _series(row: Floats, size: Floats, total: float, order: int) -> Floats:
    """Expand about the mean m, with s2 and s3 the central moments:

    E sqrt(x) = sqrt(m) (1 - s2 / 8 m^2 + s3 / 16 m^3 - 15 s2^2 / 128 m^4), and for a difference of
    order k, with c = m + k / 2:  f^(k)(c) + f^(k+2)(c) s2 / 2.
    """
    mean = row * size / total
    share, part = row / total, size / total
    second = mean * (1.0 - share) * (1.0 - part) * total / (total - 1.0)
    if order == 0:
        third = second * (1.0 - 2.0 * share) * (1.0 - 2.0 * part)
        inner = 1.0 - second / (8 * mean**2) + third / (16 * mean**3)
        root: Floats = np.sqrt(mean) * (inner - 15.0 * second**2 / (128 * mean**4))
        return root
    centre = mean + 0.5 * order
    # prod over l < k of (1/2 - l) is the factor of the k-th derivative of a root.
    factor = float(np.prod(0.5 - np.arange(order)))
    curve = (0.5 - order) * (-0.5 - order) * second / (2.0 * centre**2)
    difference: Floats = factor * centre ** (0.5 - order) * (1.0 + curve)
    return difference


def _sum(
    rows: Floats, sizes: Floats, total: float, table: Floats, wanted: NDArray[np.bool_], out: Floats
) -> None:
    """Write E table[y], y ~ H(row, size, total), where it is wanted."""
    if use_numba():
        from gnomon.distances.kernels import sum_columns

        def columns(first: int, last: int) -> None:
            sum_columns(rows, sizes, total, table, wanted, NEGLIGIBLE, out, first, last)

        map_threads(columns, stripes(0, sizes.size, _COLUMNS))
        return
    i, j = np.nonzero(wanted)
    out[i, j] = _summed(rows[i], sizes[j], total, table)


def _summed(row: Floats, size: Floats, total: float, table: Floats) -> Floats:
    """Do with NumPy what the compiled `sum_columns` does."""
    mode = np.floor((row + 1.0) * (size + 1.0) / (total + 2.0))
    mass, means = np.ones_like(mode), table[mode.astype(np.int64)]
    for direction in (1, -1):
        live, x, term = np.arange(mode.size), mode.copy(), np.ones_like(mode)
        while live.size:
            n, k = row[live], size[live]
            if direction > 0:
                term = term * ((k - x) * (n - x) / ((x + 1.0) * (total - k - n + x + 1.0)))
            else:
                term = term * (x * (total - k - n + x) / ((k - x + 1.0) * (n - x + 1.0)))
            more = term > NEGLIGIBLE
            live, x, term = live[more], x[more] + direction, term[more]
            mass[live] += term
            means[live] += term * table[x.astype(np.int64)]
    return means / mass
