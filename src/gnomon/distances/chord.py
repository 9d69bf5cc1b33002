"""Distances between laws: the chord, and the angle it spans.

    chord  d_ij = |sqrt p_i - sqrt p_j| in [0, sqrt 2],   d_ij^2 = g_ii + g_jj - 2 g_ij,
    angle  a_ij = arccos BC = 2 arcsin(d_ij / 2) in [0, pi/2];   Fisher-Rao = 2 a_ij.

The chord is Hellinger's distance [hellinger1909] without halving, the straight line between two
points of the unit sphere; the angle [bhattacharyya1943] is the way along the sphere.
They agree to first order only.

g cancels where a pair is much nearer than its distance from the mean law, so such pairs are
measured again by direct difference. Together: relative error of d below
1e-11 at any distance, and exactly zero for rows in the same proportion.

The centred Gram matrix of square roots of laws.

With s_i = sqrt(p_i) and s the mean of the s_i over positions,

    g_ij = <s_i - s, s_j - s>,   that is   g = J S S^T J,   J = I - 11^T / m.

It is the matrix of classical scaling: for the chord, -1/2 J D^2 J = g exactly, so g is positive
semidefinite and an exact embedding exists (for this distance [cirrincione2026] says otherwise, and
is wrong there: S itself is the embedding) [gower1966].

The mean is subtracted before the product, in float64: laws that differ little then keep their
digits, where 1 - BC has lost them all (at d = 2.9e-6: relative error 3e-12 against 7e-5).
The product is SYRK, over dense blocks of tokens, so memory is m^2 plus one block however large the
vocabulary; tokens that occur at few positions go the sparse way.

Near pairs: the difference of two laws without cancellation.

Counts are integers, so the difference of two roots can be taken before any rounding:

    sqrt(c/N) - sqrt(c'/N') = (c N' - c' N) / (N N' (sqrt(c/N) + sqrt(c'/N'))),

where the numerator is exact in 64-bit integers as long as N, N' < 2^31. Rows in the same
proportion are at distance exactly zero, and all others keep full relative accuracy.

The tail of the vocabulary: tokens that occur at few positions.

A token at k of m positions adds k^2 / 2 products to the Gram matrix; a dense column costs m^2 / 2
much cheaper ones. Below about a twelfth of the positions the sparse way is the faster one, and in
text most tokens are there. Tail roots are multiplied as they are and centred afterwards,

    <t_i - t, t_j - t> = <t_i, t_j> - <t_i, t> - <t_j, t> + <t, t>,   t the mean of the t_i,

which cancels only for pairs much nearer than their tail mass |t_i|^2: these are measured again by
direct difference like all near pairs, so `mass` is handed on to them.

The laws of the positions: counts that were checked, in the form the kernels read.

The law of position i gives token v the share p_iv = c_iv / N_i, with N_i the tokens counted there.
Counts stay integers until the last moment: two rows in the same proportion then differ by exactly
zero, and near rows can be subtracted without loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gnomon.errors import CountsError, InputError
from gnomon.numeric.checks import in_usual_type, plain_array, reals
from gnomon.numeric.parallel import map_threads, stripes, use_numba

NEAR_SHARE = 1e-4
"""A pair is near when d^2 is below this share of g_ii or g_jj: four digits would cancel ..."""
NEAR_FLOOR = 1e-10
"""... or when d^2 < NEAR_FLOOR, where the rounding of the roots themselves begins to show."""
_ROWS = 64
BLOCK_BYTES = 64 * 2**20
STRIPE = 512
"""Tokens per task of one thread; a multiple of the tile of the kernel."""
_PAIRS = 256
"""Pairs per task of one thread."""
_BATCH_BYTES = 16 * 2**20
TAIL_SHARE = 0.08
"""A token is of the tail when it occurs at fewer than this share of the positions."""
_TAIL_ROWS = 16
"""Rows per task of one thread."""
LARGEST_TOKEN = 2**31 - 1
_PIECES = 8
"""Tasks in which entries are counted; integers, so their number changes nothing."""


def chord_distances(counts: Any, *, block_bytes: int = BLOCK_BYTES) -> NDArray[np.float64]:
    """Return |sqrt p_i - sqrt p_j| for all pairs of rows of counts: symmetric, zero diagonal.

    >>> chord_distances([[1, 0], [0, 1], [0, 7]]).round(4)
    array([[0.    , 1.4142, 1.4142],
           [1.4142, 0.    , 0.    ],
           [1.4142, 0.    , 0.    ]])
    """
    return gram_and_chords(distributions_of(counts), block_bytes=block_bytes)[1]


def gram_and_chords(
    law: Distributions, *, block_bytes: int = BLOCK_BYTES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centred Gram matrix and the chord distances, both whole and symmetric."""
    gram, uncentred = upper_gram(law, block_bytes=block_bytes)
    near = NEAR_SHARE * (gram.diagonal() + uncentred)
    distances = np.empty_like(gram)
    if use_numba():
        from gnomon.distances.kernels import finish_rows

        def rows(first: int, last: int) -> None:
            finish_rows(gram, distances, near, NEAR_FLOOR, first, last)
    else:

        def rows(first: int, last: int) -> None:
            _finish_rows_plain(gram, distances, near, first, last)

    map_threads(rows, stripes(0, law.positions, _ROWS))
    _measure_near_pairs(law, distances)
    return gram, distances


def _finish_rows_plain(
    gram: NDArray[np.float64],
    distances: NDArray[np.float64],
    near: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """Do with NumPy what the compiled `finish_rows` does."""
    own = gram.diagonal()
    for i in range(first, last):
        after = slice(i + 1, None)
        squared = own[i] + own[after] - 2.0 * gram[i, after]
        cancels = squared < np.maximum(NEAR_FLOOR, np.maximum(near[i], near[after]))
        row = np.where(cancels, -1.0, np.sqrt(np.maximum(squared, 0.0)))
        gram[after, i] = gram[i, after]
        distances[i, after] = row
        distances[after, i] = row
        distances[i, i] = 0.0


def _measure_near_pairs(law: Distributions, distances: NDArray[np.float64]) -> None:
    """Replace the distances marked -1 by the direct difference of their two laws."""
    rows, columns = np.nonzero(distances < 0.0)
    above = rows < columns
    rows, columns = rows[above], columns[above]
    if rows.size:
        near = np.sqrt(direct_squared(law, rows, columns))
        distances[rows, columns] = near
        distances[columns, rows] = near


def angle(chord: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return arccos BC = 2 arcsin(chord / 2), in [0, pi/2]; exact digits for small chords.

    >>> angle(np.array([0.0, np.sqrt(2.0)]))
    array([0.        , 1.57079633])
    """
    chord = reals(chord, "chord")
    if chord.size and not (chord.min() >= 0.0 and chord.max() <= np.sqrt(2.0) * (1 + 1e-12)):
        raise InputError(
            f"chords lie in [0, sqrt 2], and these run from {chord.min():.6g} to "
            f"{chord.max():.6g}; pass chord distances, without halving."
        )
    angles: NDArray[np.float64] = 2.0 * np.arcsin(np.minimum(0.5 * chord, np.sqrt(0.5)))
    return angles


def centred_gram(counts: Any, *, block_bytes: int = BLOCK_BYTES) -> NDArray[np.float64]:
    """Return g = J S S^T J of counts (positions x tokens), S = sqrt(counts / row sums).

    Cost m^2 V flops. Every row must hold at least one token.

    >>> centred_gram([[1, 0], [0, 1]])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    gram, _ = upper_gram(distributions_of(counts), block_bytes=block_bytes)
    return mirror(gram)


def distributions_of(counts: Any) -> Distributions:
    """Return the laws of counts in which no row may be empty."""
    matrix = counts_matrix(counts)
    sums = totals(matrix)
    empty = np.flatnonzero(sums == 0)
    if empty.size:
        raise CountsError(
            f"row {empty[0]} of the counts holds no token ({empty.size} such rows) and so has no "
            "law; leave it out, or use gnomon.geometry(counts), which does."
        )
    return as_distributions(matrix, sums, sums > 0)


def upper_gram(
    law: Distributions, *, block_bytes: int = BLOCK_BYTES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centred Gram matrix, upper triangle (C order) only, and |uncentred part|^2.

    The second says of each position how much of its law was multiplied before it was centred.
    """
    occurrences = law.occurrences()
    rare = (occurrences > 0) & (occurrences < TAIL_SHARE * law.positions) & use_numba()
    head = np.flatnonzero((occurrences > 0) & ~rare)
    gram = _head_gram(law, head, block_bytes)
    if not rare.any():
        return gram, np.zeros(law.positions)
    tail = _gather_tail(law, occurrences, rare)
    _add_tail(tail, gram)
    return gram, tail.mass


def _head_gram(
    law: Distributions, head: NDArray[np.int64], block_bytes: int
) -> NDArray[np.float64]:
    """Return the centred Gram matrix of the head tokens, upper triangle only, block by block."""
    from scipy.linalg.blas import dsyrk

    m = law.positions
    width = max(STRIPE, block_bytes // (8 * m) // STRIPE * STRIPE)
    buffer = np.empty(m * min(width, head.size))
    gram = np.zeros((m, m), order="F")
    column = np.full(law.vocabulary, -1, dtype=np.int32)
    column[head] = np.arange(head.size, dtype=np.int32)
    for first, last in stripes(0, head.size, width):
        block = buffer[: m * (last - first)].reshape(m, last - first)
        _fill(law, head[first:last], column, block)
        # The transpose of a C-ordered block is the Fortran order BLAS wants: nothing is copied.
        gram = dsyrk(1.0, block.T, beta=1.0, c=gram, trans=1, lower=1, overwrite_c=1)
    upper: NDArray[np.float64] = gram.T
    return upper


def _fill(
    law: Distributions,
    head: NDArray[np.int64],
    column: NDArray[np.int32],
    block: NDArray[np.float64],
) -> None:
    """Write the centred roots of the head tokens into `block` (positions x tokens)."""
    scales = law.scales
    if not use_numba():
        roots = law.matrix[:, head].astype(np.float64)
        rows = np.repeat(np.arange(law.positions), np.diff(roots.indptr))
        roots.data = np.sqrt(roots.data) * scales[rows]
        mean = np.bincount(roots.indices, roots.data, minlength=head.size) / law.positions
        np.subtract(roots.toarray(), mean, out=block)
        return
    from gnomon.distances.kernels import fill_centred

    def stripe(first: int, last: int) -> None:
        chosen, out = head[first:last], block[:, first:last]
        fill_centred(law.starts, law.tokens, law.counts, scales, column, chosen, out)

    map_threads(stripe, stripes(0, head.size, STRIPE))


def mirror(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Copy the upper triangle onto the lower one, in place."""
    for i in range(1, gram.shape[0]):
        gram[i, :i] = gram[:i, i]
    return gram


def double_centred(squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -1/2 J D^2 J of squared distances: the Gram matrix of classical scaling.

    >>> double_centred(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    squared = reals(squared, "the matrix of squared distances")
    if squared.ndim != 2 or squared.shape[0] != squared.shape[1] or not squared.size:
        raise InputError(
            f"the matrix of squared distances has shape {squared.shape}; pass m x m numbers."
        )
    row = squared.mean(axis=1)
    gram: NDArray[np.float64] = squared - row[:, None]
    gram -= (row - row.mean())[None, :]
    gram *= -0.5
    return mirror(gram)


def direct_squared(
    law: Distributions, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return |sqrt p_i - sqrt p_j|^2 for the pairs (rows[k], columns[k])."""
    exact = bool(law.totals.max() < 2**31)
    out = np.empty(rows.size)
    if use_numba():
        from gnomon.distances.kernels import near_squared

        def pairs(first: int, last: int) -> None:
            laws = (law.starts, law.tokens, law.counts, law.totals)
            near_squared(*laws, rows, columns, exact, out, first, last)

        map_threads(pairs, stripes(0, rows.size, _PAIRS))
        return out
    batch = max(1, _BATCH_BYTES // (8 * max(law.vocabulary, 1)))
    for first, last in stripes(0, rows.size, batch):
        out[first:last] = _batch(law, rows[first:last], columns[first:last], exact=exact)
    return out


def _batch(
    law: Distributions, rows: NDArray[np.int64], columns: NDArray[np.int64], *, exact: bool
) -> NDArray[np.float64]:
    """Do with NumPy what the compiled `near_squared` does, for pairs that fit in memory dense."""
    kind = np.int64 if exact else np.float64
    own, other = (law.matrix[side].toarray().astype(kind) for side in (rows, columns))
    n_own, n_other = law.totals[rows][:, None], law.totals[columns][:, None]
    cross = (own * n_other.astype(kind) - other * n_own.astype(kind)).astype(np.float64)
    roots = np.sqrt(own / n_own) + np.sqrt(other / n_other)
    product = n_own.astype(np.float64) * n_other
    difference = np.divide(cross, product * roots, out=np.zeros_like(roots), where=roots > 0)
    squared: NDArray[np.float64] = np.square(difference).sum(axis=1)
    return squared


@dataclass(frozen=True)
class _Tail:
    """The roots of tail tokens, by token and by position."""

    by_row: NDArray[np.int64]
    """The entries of position i are by_row[i]:by_row[i + 1] of `lists` and `places`."""
    lists: NDArray[np.int32]
    places: NDArray[np.int64]
    """Where an entry stands in `positions` and `roots`, and in which token's list."""
    ends: NDArray[np.int64]
    """Where each token's list ends."""
    positions: NDArray[np.int32]
    roots: NDArray[np.float64]

    @property
    def mass(self) -> NDArray[np.float64]:
        """|t_i|^2: the share of position i that is in the tail."""
        squares = np.square(self.roots)
        mass: NDArray[np.float64] = np.bincount(
            self.positions, squares, minlength=self.by_row.size - 1
        ).astype(np.float64)
        return mass


def _gather_tail(
    law: Distributions, occurrences: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> _Tail:
    """Return the roots of the chosen tokens."""
    from gnomon.distances.kernels import gather_tail, place_tail

    number = np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32)
    ends = np.cumsum(occurrences[chosen])
    entries = int(ends[-1])
    begins = ends - occurrences[chosen]
    tail = _Tail(
        by_row=np.empty(law.positions + 1, np.int64),
        lists=np.empty(entries, np.int32),
        places=np.empty(entries, np.int64),
        ends=ends,
        positions=np.empty(entries, np.int32),
        roots=np.empty(entries),
    )
    rows = (law.starts, law.tokens)
    out = (tail.by_row, tail.positions, tail.roots)
    gather_tail(*rows, law.counts, law.scales, number, begins.copy(), *out)
    place_tail(*rows, number, begins, tail.lists, tail.places)
    return tail


def _add_tail(tail: _Tail, gram: NDArray[np.float64]) -> None:
    """Add the centred products of the tail to the upper triangle of `gram`."""
    from gnomon.distances.kernels import add_tail_rows

    m = gram.shape[0]
    begins = np.concatenate([np.zeros(1, np.int64), tail.ends[:-1]])
    mean = np.add.reduceat(tail.roots, begins) / m
    shares = tail.roots * np.repeat(mean, tail.ends - begins)
    overlap = np.bincount(tail.positions, shares, minlength=m)
    entries = (tail.by_row, tail.lists, tail.places, tail.ends, tail.positions, tail.roots)

    def rows(first: int, last: int) -> None:
        add_tail_rows(gram, *entries, overlap, float(mean @ mean), first, last)

    map_threads(rows, stripes(0, m, _TAIL_ROWS))


@dataclass(frozen=True)
class Distributions:
    """Counts of m positions in compressed rows."""

    starts: NDArray[np.int64]
    """Row i is `starts[i]:starts[i + 1]` of `tokens` and `counts`."""
    tokens: NDArray[np.int32]
    """Token numbers, ascending inside a row."""
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    """N_i, the tokens counted at position i; never zero."""
    vocabulary: int
    """How many token numbers there are, whether they occur or not."""

    @property
    def positions(self) -> int:
        """How many positions there are."""
        return int(self.totals.size)

    @property
    def scales(self) -> NDArray[np.float64]:
        """1 / sqrt(N_i), so that sqrt(p_iv) = sqrt(c_iv) scale_i."""
        scales: NDArray[np.float64] = 1.0 / np.sqrt(self.totals.astype(np.float64))
        return scales

    def occurrences(self) -> NDArray[np.int64]:
        """At how many positions each token occurs."""
        if not use_numba():
            return np.bincount(self.tokens, minlength=self.vocabulary)
        from gnomon.distances.kernels import count_tokens

        pieces = stripes(0, self.tokens.size, max(1, -(-self.tokens.size // _PIECES)))
        found = np.zeros((len(pieces), self.vocabulary), dtype=np.int64)

        def entries(first: int, last: int) -> None:
            count_tokens(self.tokens, found[pieces.index((first, last))], first, last)

        map_threads(entries, pieces)
        total: NDArray[np.int64] = found.sum(axis=0)
        return total

    @property
    def matrix(self) -> csr_array:
        """The counts as a sparse matrix (a view)."""
        shape = (self.positions, self.vocabulary)
        return csr_array((self.counts, self.tokens, self.starts), shape=shape)


def counts_matrix(counts: Any) -> csr_array:
    """Return counts as a canonical int64 CSR matrix, or say in one sentence why they are none.

    >>> counts_matrix([[2, 0], [1, 3]]).toarray().tolist()
    [[2, 0], [1, 3]]
    """
    matrix = counts if issparse(counts) else plain_array(counts, "counts hold", kind=CountsError)
    _check_type(matrix)
    matrix = in_usual_type(matrix)
    if matrix.dtype.kind == "b":
        matrix = matrix.astype(np.int64)
    if matrix.ndim != 2:
        raise CountsError(
            f"counts have {matrix.ndim} axes where 2 are needed; "
            "pass one row per position and one column per token."
        )
    matrix = matrix if isinstance(matrix, csr_array) else csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    whole = _to_integers(matrix)
    return csr_array((whole, matrix.indices, matrix.indptr), shape=matrix.shape)


def _check_type(matrix: Any) -> None:
    if matrix.dtype.kind not in "iufb":
        raise CountsError(
            f"counts are of type {matrix.dtype}, not numbers; "
            "pass whole numbers, one row per position and one column per token."
        )


def _to_integers(matrix: csr_array) -> NDArray[np.int64]:
    """Return the stored values as int64; refuse what cannot be a count, naming its place."""
    values = matrix.data
    if values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        _refuse(matrix, ~np.isfinite(values), "is no number", "recount, or leave that position out")
        advice = "pass counts of tokens, not probabilities"
        _refuse(matrix, values != np.trunc(values), "is not a whole number", advice)
        _refuse(matrix, np.abs(values) >= 2.0**53, "is too large to be exact", "pass integers")
    if values.min() < 0:
        _refuse(matrix, values < 0, "is negative", "counts start at zero")
    return values.astype(np.int64, copy=False)


def _refuse(matrix: csr_array, bad: NDArray[np.bool_], what: str, advice: str) -> None:
    if not bad.any():
        return
    at = int(np.argmax(bad))
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    raise CountsError(
        f"counts[{row}, {matrix.indices[at]}] = {matrix.data[at]} {what} "
        f"({int(bad.sum())} such entries); {advice}."
    )


def totals(matrix: csr_array) -> NDArray[np.int64]:
    """Return N_i, the tokens counted in each row, exactly."""
    sums = np.zeros(matrix.shape[0], dtype=np.int64)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if filled.size:
        sums[filled] = np.add.reduceat(matrix.data, matrix.indptr[filled])
    return sums


def as_distributions(
    matrix: csr_array, sums: NDArray[np.int64], kept: NDArray[np.bool_]
) -> Distributions:
    """Return the laws of the kept rows of checked counts with row sums `sums`, none of them 0."""
    if 0 in matrix.shape:
        raise CountsError(
            f"counts are empty, of shape {matrix.shape}; pass at least one position and one token."
        )
    if not kept.all():
        matrix = matrix[np.flatnonzero(kept)]
    if matrix.shape[1] > LARGEST_TOKEN:
        raise CountsError(
            f"counts have {matrix.shape[1]} columns, more than {LARGEST_TOKEN}; "
            "coarsen the vocabulary (--top-k)."
        )
    return Distributions(
        starts=matrix.indptr.astype(np.int64, copy=False),
        tokens=matrix.indices.astype(np.int32, copy=False),
        counts=matrix.data,
        totals=sums[kept],
        vocabulary=int(matrix.shape[1]),
    )
