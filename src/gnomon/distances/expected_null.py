r"""The expected squared chord of the dealt null, exactly and without drawing.

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

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.distances.gram import whole_laws
from gnomon.numeric.parallel import map_threads, stripes, use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SERIES_FROM = 1000.0
TABLE = 2048
"""A law with mean below SERIES_FROM has nothing of weight 1e-17 from here on."""
NEGLIGIBLE = 1e-17
TOLERANCE = 1e-10
ORDERS = 24
BLOCK = 128
"""Distinct column sums handled at a time."""
COLUMNS = 16
"""Of those, how many per task of one thread."""


def expected_null_squares(counts: Any) -> NDArray[np.float64]:
    """Return E d_ij^2 over all deals of the tokens: m x m, zero diagonal.

    Every row must hold a token. Cost O(m u) sums and m^2 u flops, u the number of distinct column
    sums: 25,000 types have some 2,000.

    >>> expected_null_squares([[1, 0], [0, 1]])  # two tokens, two slots: always at distance sqrt 2
    array([[0., 2.],
           [2., 0.]])
    """
    law = whole_laws(counts)
    rows = law.totals.astype(np.float64)
    pooled = np.bincount(law.tokens, law.counts, minlength=law.vocabulary).astype(np.float64)
    sizes, types = np.unique(pooled[pooled > 0], return_counts=True)
    affinity = np.zeros((rows.size, rows.size))
    for first, last in stripes(0, sizes.size, BLOCK):
        affinity += _affinity(rows, sizes[first:last], types[first:last].astype(np.float64))
    expected: NDArray[np.float64] = np.maximum(2.0 - 2.0 * affinity, 0.0)
    np.fill_diagonal(expected, 0.0)
    return expected


def _affinity(rows: Floats, sizes: Floats, types: Floats) -> Floats:
    """Return sum_v E sqrt(x_iv x_jv) / sqrt(N_i N_j) over the types with these column sums."""
    total = float(rows.sum())
    scale = 1.0 / np.sqrt(rows)
    affinity = np.zeros((rows.size, rows.size))
    for order in range(ORDERS):
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
        from gnomon.distances.expected_null_kernel import sum_columns

        def columns(first: int, last: int) -> None:
            sum_columns(rows, sizes, total, table, wanted, NEGLIGIBLE, out, first, last)

        map_threads(columns, stripes(0, sizes.size, COLUMNS))
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
