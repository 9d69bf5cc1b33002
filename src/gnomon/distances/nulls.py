"""Nulls: the geometry that is there without position, and how much of the real one it explains.

Two kinds, always named. *dealt*: the corpus's tokens dealt at random to the same slots, exact from
counts alone. *shuffled*: each document's window permuted in place,
which keeps length, topic and repetition and needs the documents (`gnomon.corpus.shuffling`).

Over the pairs of measured positions, with d the plug-in distances and d0 those of a null:

    share       = mean d0^2 / mean d^2: how much of the squared distance is there without order,
    correlation = Pearson(d, d0): how much of the *pattern* of distances comes with the margins.

An eigenvalue says something of position where it exceeds the 95 % quantile of the null's largest.
Every figure is a mean over replicates, its spread the standard deviation between them. That the
replicates of a small corpus agree does not make their mean the truth of another corpus.

Dealing: the tokens of a corpus at random to the same slots.

Given counts with row sums N_i and column sums X_v, a deal is a uniformly random assignment of the
T tokens to the T slots: a table with the same margins, whose rows are multivariate hypergeometric.
What distances remain between its rows are sampling noise alone, exactly as much of it as the
corpus's own margins make.

Up to `SHUFFLED_UP_TO` tokens the list of tokens itself is shuffled, at a cost of O(T). More are
drawn row by row from what remains, O(n V) whatever T is; where a total passes 10^9, beyond which
NumPy draws no hypergeometric numbers, rows are drawn from the pooled law instead (multinomial):
column sums then vary, which adds the share N_i / T of a position in the corpus to its variance.

A draw depends on its stream alone, neither on threads nor on the route: the compiled and the NumPy
route make the same swaps (`kernels.shuffle`), and the second takes about 0.2 us for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from gnomon.distances.chord import counts_matrix, totals
from gnomon.distances.geometry import Geometry, measure
from gnomon.errors import CountsError, InputError
from gnomon.numeric.parallel import map_threads, stripes, use_numba
from gnomon.results import Result, pairs_dataframe

QUANTILES = (0.05, 0.5, 0.95)
REPLICATES = 20
SHUFFLED_UP_TO = 2**26
HYPERGEOMETRIC_UP_TO = 10**9 - 1
_CHUNK = 2**18
"""Places computed at a time where no loop is compiled."""
_HANDS = 64
"""Hands per task of one thread."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NullGeometry(Result):
    """What remains of a geometry of m positions when order is taken away."""

    kind: str
    """*dealt* or *shuffled*."""
    metric: str
    replicates: int
    mean_distance: float
    mean_squared: float
    share: float | None
    """mean_squared over that of the plug-in; None where all plug-in distances are zero."""
    correlation: float | None
    """With the plug-in distances; None where either are all alike, as with two positions."""
    participation: float
    top_eigenvalue: float
    top_eigenvalue_95: float
    """95 % quantile of the largest eigenvalue over replicates."""
    eigenvalue_quantiles: NDArray[np.float64]
    """3 x m: the 5 %, 50 % and 95 % quantiles of the k-th largest eigenvalue."""
    mean_squares: NDArray[np.float64]
    """m x m: mean squared null distance of every pair."""
    positions: NDArray[np.int64]
    """Indices of the m positions measured."""
    spread: Mapping[str, float | None]
    """Standard deviation of each figure between replicates; None where it has none."""

    def to_dataframe(self) -> Any:
        """Return one row per pair of positions, with its root mean squared null distance."""
        return pairs_dataframe(self.positions, {"distance": np.sqrt(self.mean_squares)})


def dealt_null(
    counts: Any,
    *,
    metric: str = "chord",
    replicates: int = REPLICATES,
    rng: np.random.Generator,
    geometry: Geometry | None = None,
) -> NullGeometry:
    """Deal the tokens of the measured positions at random to their slots, and measure again.

    `geometry` is the plug-in geometry of these counts where it is known already (then its metric
    holds). Replicate r is keyed by one draw from `rng` and by r: asking for more replicates keeps
    those there were.

    >>> found = dealt_null([[9, 1], [1, 9]], replicates=5, rng=np.random.default_rng(0))
    >>> found.kind, found.share < 0.5, found.correlation is None
    ('dealt', True, True)
    """
    if replicates < 1:
        raise InputError(f"{replicates} replicates of a null were asked for; draw 1 or more.")
    real = measure(counts, metric) if geometry is None else geometry
    key = int(rng.integers(2**64, dtype=np.uint64))
    streams = (np.random.SeedSequence([key, r]) for r in range(replicates))
    draws = (dealt_geometry(counts, real, stream) for stream in streams)
    return null_geometry(real, draws, kind="dealt")


def dealt_geometry(counts: Any, geometry: Geometry, stream: np.random.SeedSequence) -> Geometry:
    """Return the geometry of one deal of the tokens at the positions that `geometry` measured."""
    matrix = counts_matrix(getattr(counts, "matrix", counts))
    known = geometry.positions.size + geometry.masked.size
    if matrix.shape[0] != known:
        raise CountsError(
            f"counts of {matrix.shape[0]} positions were given with a geometry of {known}; "
            "pass the geometry of these counts."
        )
    if geometry.masked.size:
        matrix = matrix[geometry.positions]
    return measure(deal(matrix, stream), geometry.metric)


def null_geometry(real: Geometry, draws: Iterable[Geometry], *, kind: str) -> NullGeometry:
    """Compare a plug-in geometry with geometries of a null at the same positions.

    >>> real, drawn = measure([[1, 0], [0, 1]]), measure([[1, 0], [1, 1]])  # d^2: 2, 2 - sqrt 2
    >>> round(null_geometry(real, [drawn], kind="dealt").share, 4)
    0.2929
    """
    _check_plugin(real)
    squares = np.zeros_like(real.distances)
    eigenvalues, figures = [], []
    pattern = _pattern(real.distances)
    for drawn in draws:
        _check_same(real, drawn)
        squares += np.square(drawn.distances)
        eigenvalues.append(drawn.eigenvalues)
        figures.append(_figures(real, drawn, pattern))
    if not figures:
        raise InputError("a null without replicates says nothing; draw 1 or more.")
    values = {name: np.array([found[name] for found in figures]) for name in figures[0]}
    spectra = np.array(eigenvalues)
    return NullGeometry(
        kind=kind,
        metric=real.metric,
        replicates=len(figures),
        mean_distance=float(values["mean_distance"].mean()),
        mean_squared=float(values["mean_squared"].mean()),
        share=_mean(values["share"]),
        correlation=_mean(values["correlation"]),
        participation=float(values["participation"].mean()),
        top_eigenvalue=float(values["top_eigenvalue"].mean()),
        top_eigenvalue_95=float(np.quantile(spectra[:, 0], 0.95)),
        eigenvalue_quantiles=np.quantile(spectra, QUANTILES, axis=0),
        mean_squares=squares / len(figures),
        positions=real.positions,
        spread={name: _deviation(value) for name, value in values.items()},
    )


def _figures(real: Geometry, drawn: Geometry, pattern: NDArray[np.float64]) -> dict[str, float]:
    """Return what is averaged over replicates; NaN where it is not defined."""
    squared = real.mean_squared
    return {
        "mean_distance": drawn.mean_distance,
        "mean_squared": drawn.mean_squared,
        "share": drawn.mean_squared / squared if squared > 0.0 else np.nan,
        "correlation": float(np.vdot(pattern, _pattern(drawn.distances))),
        "participation": drawn.spectrum.participation,
        "top_eigenvalue": float(drawn.eigenvalues[0]),
    }


def _pattern(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances minus their mean over pairs, with norm 1; NaN where they are all alike."""
    m = distances.shape[0]
    mean = distances.sum() / (m * (m - 1))
    centred: NDArray[np.float64] = distances - mean
    np.fill_diagonal(centred, 0.0)
    norm = float(np.linalg.norm(centred))
    alike = norm <= m * np.finfo(np.float64).eps * abs(mean)  # rounding, not differences
    centred /= np.nan if alike or norm == 0.0 else norm
    return centred


def _mean(values: NDArray[np.float64]) -> float | None:
    """Return the mean; None where a replicate has no value."""
    return None if np.isnan(values).any() else float(values.mean())


def _deviation(values: NDArray[np.float64]) -> float | None:
    if values.size < 2 or np.isnan(values).any():
        return None
    return float(values.std(ddof=1))


def _check_plugin(real: Geometry) -> None:
    if real.estimator != "plugin":
        raise InputError(
            f"a null is compared with plug-in distances, and these are {real.estimator!r}; "
            "measure with estimator='plugin'."
        )


def _check_same(real: Geometry, drawn: Geometry) -> None:
    if drawn.distances.shape != real.distances.shape or drawn.metric != real.metric:
        raise InputError(
            f"a null of {drawn.positions.size} positions ({drawn.metric}) cannot be compared with "
            f"a geometry of {real.positions.size} ({real.metric}); count and measure both alike."
        )


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
        return _shuffle_tokens(rows, pooled, stream)
    rng = np.random.default_rng(stream)
    return (_draw_hypergeometric if tokens <= HYPERGEOMETRIC_UP_TO else _draw_multinomial)(
        rows, pooled, rng
    )


def _shuffle_tokens(
    rows: NDArray[np.int64], pooled: NDArray[np.int64], stream: np.random.SeedSequence
) -> csr_array:
    """Shuffle the list of tokens; position i is dealt the next N_i of them."""
    tokens = np.repeat(np.arange(pooled.size, dtype=np.int32), pooled)
    if use_numba():
        return _shuffle_compiled(tokens, rows, pooled.size, stream)
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
    for first, last in reversed(stripes(1, tokens.size, _CHUNK)):
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


def _shuffle_compiled(
    tokens: NDArray[np.int32],
    rows: NDArray[np.int64],
    vocabulary: int,
    stream: np.random.SeedSequence,
) -> csr_array:
    """Shuffle and tally by compiled loops."""
    from gnomon.distances.kernels import close_gaps, shuffle, tally

    shuffle(tokens, _key(stream))
    starts, sizes = _starts(rows), np.zeros(rows.size, np.int64)
    counts = np.empty(tokens.size, np.int32)

    def hands(first: int, last: int) -> None:
        tally(tokens, starts, vocabulary, counts, sizes, first, last)

    map_threads(hands, stripes(0, rows.size, _HANDS))
    used = close_gaps(starts, sizes, tokens, counts)
    entries = counts[:used].astype(np.int64), tokens[:used].copy(), _starts(sizes)
    table = csr_array(entries, shape=(rows.size, vocabulary))
    table.has_canonical_format = True
    return table


def _draw_hypergeometric(
    rows: NDArray[np.int64], pooled: NDArray[np.int64], rng: np.random.Generator
) -> csr_array:
    """Draw row after row from the tokens that remain."""
    left, drawn = pooled.copy(), []
    for total in rows:
        row = rng.multivariate_hypergeometric(left, int(total), method="marginals")
        left -= row
        drawn.append(csr_array(row[None, :]))
    return csr_array(vstack(drawn, format="csr"))


def _draw_multinomial(
    rows: NDArray[np.int64], pooled: NDArray[np.int64], rng: np.random.Generator
) -> csr_array:
    """Draw every row from the pooled law."""
    law = pooled / pooled.sum()
    drawn = [csr_array(rng.multinomial(int(total), law)[None, :]) for total in rows]
    return csr_array(vstack(drawn, format="csr"))


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
