"""Dealing: the tokens of a corpus at random to the same slots.

Given counts with row sums N_i and column sums X_v, a deal is a uniformly random assignment of the
T tokens to the T slots: a table with the same margins, whose rows are multivariate hypergeometric.
What distances remain between its rows are sampling noise alone, exactly as much of it as the
corpus's own margins make.

Up to `SHUFFLED_UP_TO` tokens the list of tokens itself is shuffled, at a cost of O(T). More are
drawn row by row from what remains, O(n V) whatever T is; where a total passes 10^9, beyond which
NumPy draws no hypergeometric numbers, rows are drawn from the pooled law instead (multinomial):
column sums then vary, which adds the share N_i / T of a position in the corpus to its variance.

A draw depends on its stream alone, neither on threads nor on the route: the compiled and the NumPy
route make the same swaps (`dealing_kernels`), and the second takes about 0.2 us for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from gnomon.distances.laws import counts_matrix, totals
from gnomon.numeric.parallel import map_threads, stripes, use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHUFFLED_UP_TO = 2**26
HYPERGEOMETRIC_UP_TO = 10**9 - 1
CHUNK = 2**18
"""Places computed at a time where no loop is compiled."""
ROWS = 64
"""Hands per task of one thread."""


def deal(counts: Any, stream: np.random.SeedSequence) -> csr_array:
    """Return counts with the same row and column sums, drawn uniformly over all deals.

    >>> drawn = deal([[3, 0, 1], [1, 2, 1]], np.random.SeedSequence([7, 0]))
    >>> drawn.sum(axis=0).tolist(), drawn.sum(axis=1).tolist()
    ([4, 2, 2], [4, 4])
    """
    matrix = counts_matrix(counts)
    pooled = np.bincount(matrix.indices, matrix.data, minlength=matrix.shape[1]).astype(np.int64)
    rows = totals(matrix)
    tokens = int(rows.sum())
    if tokens <= SHUFFLED_UP_TO:
        return _shuffled(rows, pooled, stream)
    rng = np.random.default_rng(stream)
    return (_remaining if tokens <= HYPERGEOMETRIC_UP_TO else _pooled)(rows, pooled, rng)


def _shuffled(
    rows: NDArray[np.int64], pooled: NDArray[np.int64], stream: np.random.SeedSequence
) -> csr_array:
    """Shuffle the list of tokens; position i is dealt the next N_i of them."""
    tokens = np.repeat(np.arange(pooled.size, dtype=np.int32), pooled)
    if use_numba():
        return _tallied(tokens, rows, pooled.size, stream)
    _swap(tokens, _key(stream))
    starts = _starts(rows)
    table = csr_array(
        (np.ones(tokens.size, np.int64), tokens, starts), shape=(rows.size, pooled.size)
    )
    table.sum_duplicates()
    return table


def _key(stream: np.random.SeedSequence) -> np.uint64:
    return np.uint64(stream.generate_state(1, np.uint64)[0])


def _swap(tokens: NDArray[np.int32], key: np.uint64) -> None:
    """Do with NumPy what the compiled `shuffle` does: the same swaps in the same order."""
    values = memoryview(tokens)  # type: ignore[arg-type]  # Buffer is of Python 3.12
    for first, last in reversed(stripes(1, tokens.size, CHUNK)):
        places = _places(key, np.arange(first, last, dtype=np.uint64)).tolist()
        for k in range(last - 1, first - 1, -1):
            j = places[k - first]
            values[k], values[j] = values[j], values[k]


def _places(key: np.uint64, k: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Do with NumPy what the compiled `place` does."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    size = k + np.uint64(1)
    z = key + size * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    places: NDArray[np.uint64] = ((z >> half) * size + (((z & low) * size) >> half)) >> half
    return places


def _tallied(
    tokens: NDArray[np.int32],
    rows: NDArray[np.int64],
    vocabulary: int,
    stream: np.random.SeedSequence,
) -> csr_array:
    """Shuffle and tally by compiled loops."""
    from gnomon.distances.dealing_kernels import close_gaps, shuffle, tally

    shuffle(tokens, _key(stream))
    starts, sizes = _starts(rows), np.zeros(rows.size, np.int64)
    counts = np.empty(tokens.size, np.int32)

    def hands(first: int, last: int) -> None:
        tally(tokens, starts, vocabulary, counts, sizes, first, last)

    map_threads(hands, stripes(0, rows.size, ROWS))
    used = close_gaps(starts, sizes, tokens, counts)
    entries = counts[:used].astype(np.int64), tokens[:used].copy(), _starts(sizes)
    table = csr_array(entries, shape=(rows.size, vocabulary))
    table.has_canonical_format = True
    return table


def _remaining(
    rows: NDArray[np.int64], pooled: NDArray[np.int64], rng: np.random.Generator
) -> csr_array:
    """Draw row after row from the tokens that remain."""
    left, drawn = pooled.copy(), []
    for total in rows:
        row = rng.multivariate_hypergeometric(left, int(total), method="marginals")
        left -= row
        drawn.append(csr_array(row[None, :]))
    return csr_array(vstack(drawn, format="csr"))


def _pooled(
    rows: NDArray[np.int64], pooled: NDArray[np.int64], rng: np.random.Generator
) -> csr_array:
    """Draw every row from the pooled law."""
    law = pooled / pooled.sum()
    drawn = [csr_array(rng.multinomial(int(total), law)[None, :]) for total in rows]
    return csr_array(vstack(drawn, format="csr"))


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
