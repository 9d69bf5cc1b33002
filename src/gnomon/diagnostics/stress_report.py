"""Stress: how far the distances D of an encoding are from the distances h of a corpus.

Over pairs i < j:

    raw         S  = sum (D - h)^2 / sum h^2                   as published [cirrincione2026 sec. 6]
    scale-free  S* = min_a S(a D) = 1 - (sum D h)^2 / (sum D^2 sum h^2), in [0, 1],
                     at the best scale a* = sum D h / sum D^2
    split       S  = S* + (1/a* - 1)^2 (1 - S*)                shape, then scale
    kruskal        = sqrt(sum (D - h)^2 / sum D^2)             stress-1 [kruskal1964]
    nonmetric      = sqrt(sum (D - m)^2 / sum D^2), m the isotonic regression of D on the order of h
                     [kruskal1964b]
    simplex     S*_0 = 1 - (mean h)^2 / mean h^2               all distances equal
    skill          = 1 - S* / S*_0

Raw stress measures scale before anything else: an encoding of zeros scores exactly 1. Kruskal's
stress divides by the squares of the *encoding*, as scikit-learn's `normalized_stress=True` does.
Ties in h are left free in the isotonic regression (Kruskal's primary approach).
Residuals are summed as they stand, by rows or by lags, and not as differences of large sums, so a
stress of 1e-30 is found as such.

Against dimension: what every further coordinate of classical MDS buys. The rank-r solution is the
first r columns of the full one, so squared distances only grow: D_r^2 = D_(r-1)^2 + (x_ir -
x_jr)^2. One eigendecomposition and one running matrix of squares serve all dimensions. Classical
MDS minimises strain and not stress. Where the Gram matrix is positive semidefinite it is exact from
the rank on, and truncated it under-estimates every distance (it projects) [gower1966].

How many numbers an encoding of rank r takes, for n positions and dimension d:

factored   r (n + d)               U (n x r) times W (r x d), as published [cirrincione2026 rem. 8]
degrees    r (n + d - r)           degrees of freedom of an n x d matrix of rank r
geometry   r (n - 1) - r (r - 1)/2 numbers that fix the distances (up to motions)
free       n d                     a free table
saving     1 - factored / free     negative above the break-even rank n d / (n + d)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.pairs import condensed, lifted_of, target_of
from gnomon.diagnostics.shift import lag_sums
from gnomon.errors import InputError
from gnomon.numeric.rows import squared_distances
from gnomon.results import Result, to_dataframe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


Floats = NDArray[np.float64]
_EQUAL = 1e-24
"""Relative spread of squares below which target distances are all equal but for rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StressReport(Result):
    """Stress of an encoding against a target; a number that is None has its reason in `reasons`."""

    raw: float
    scale_free: float
    best_scale: float
    scale_part: float
    """raw - scale_free = (1/a* - 1)^2 (1 - S*): what a better scale would remove."""
    kruskal: float | None
    nonmetric: float | None
    simplex: float
    skill: float | None
    pairs: int
    lift: str
    negative_share: float
    note: str
    reasons: Mapping[str, str]


def stress(
    encoding: Any,
    target: Any,
    *,
    lift: str = "kernel",
    positions: Any = None,
    nonmetric: bool = False,
    probe: Any = None,
    rng: np.random.Generator | None = None,
) -> StressReport:
    """Return every stress of an encoding (or vectors, or distances) against a geometry.

    Cost O(n^2); the nonmetric stress sorts all pairs and is computed when asked for.

    >>> stress([[-1.0], [0.0], [1.0]], 2.0 - 2.0 * np.eye(3)).raw
    0.16666666666666666
    """
    wanted = target_of(target, positions)
    made = lifted_of(encoding, wanted, lift_name=lift, probe=probe, rng=rng)
    with np.errstate(over="ignore", invalid="ignore"):  # answered by a sentence below
        if made.profile is not None:
            sums = residuals_by_lag(made.profile, wanted.distances)
        else:
            sums = residuals_by_row(made.distances, wanted.distances)
    if not math.isfinite(sums.raw + sums.best):
        raise InputError("Some distances are too large to be squared; divide them by their mean.")
    if not sums.target_squares > 0.0:
        raise InputError(
            "All target distances are 0, so there is nothing to fit; every position has the same "
            "law, and stress is undefined."
        )
    monotone = nonmetric_stress(made.distances, wanted.distances) if nonmetric else None
    return _report(sums, monotone, asked=nonmetric, lifted=made)


def _report(sums: Residuals, monotone: float | None, *, asked: bool, lifted: Any) -> StressReport:
    total, squares, scale = sums.target_squares, sums.encoding_squares, sums.best_scale
    reasons: dict[str, str] = {}
    if squares == 0.0:
        reasons["kruskal"] = "all distances of the encoding are 0, and stress-1 divides by them"
    if not asked:
        reasons["nonmetric"] = "not asked for"
    elif monotone is None:
        reasons["nonmetric"] = "all distances of the encoding are 0, and stress-1 divides by them"
    scale_free, simplex = sums.best / total, sums.target_spread / total
    if simplex <= _EQUAL:
        reasons["skill"] = "all target distances are equal, so the simplex is a perfect fit"
    return StressReport(
        raw=sums.raw / total,
        scale_free=scale_free,
        best_scale=scale,
        scale_part=(1.0 - scale) ** 2 * squares / total,
        kruskal=None if squares == 0.0 else float(np.sqrt(sums.raw / squares)),
        nonmetric=monotone,
        simplex=simplex,
        skill=None if simplex <= _EQUAL else 1.0 - scale_free / simplex,
        pairs=sums.pairs,
        lift=lifted.lift,
        negative_share=lifted.negative_share,
        note=lifted.note,
        reasons=reasons,
    )


def nonmetric_stress(encoding: Floats, target: Floats) -> float | None:
    """Return stress-1 after the best monotone transform of the target, or None for zeros.

    Pairs are sorted by h and, among equal h, by D: equal targets put no bound on D.
    """
    from scipy.optimize import isotonic_regression

    made, wanted = condensed(encoding), condensed(target)
    squares = float(made @ made)
    if squares == 0.0:
        return None
    ordered = made[np.lexsort((made, wanted))]
    gap = ordered - isotonic_regression(ordered).x
    return float(np.sqrt(gap @ gap / squares))


@dataclass(frozen=True)
class Residuals:
    """Sums over the pairs i < j."""

    pairs: int
    target_squares: float
    target_spread: float
    encoding_squares: float
    best_scale: float
    raw: float
    best: float


def residuals_by_row(encoding: Floats, target: Floats) -> Residuals:
    """Return the sums for any two matrices of distances: two passes, O(n^2), no copies."""
    size = len(target)
    pairs = size * (size - 1) // 2
    sums = np.zeros(5)
    for row in range(size - 1):
        made, wanted = encoding[row, row + 1 :], target[row, row + 1 :]
        gap = made - wanted
        sums += (made @ made, made @ wanted, wanted @ wanted, wanted.sum(), gap @ gap)
    squares, products, target_squares, total, raw = sums.tolist()
    scale = products / squares if squares > 0.0 else 0.0
    best = spread = 0.0
    for row in range(size - 1):
        made, wanted = encoding[row, row + 1 :], target[row, row + 1 :]
        gap = scale * made - wanted
        centred = wanted - total / pairs
        best += float(gap @ gap)
        spread += float(centred @ centred)
    return Residuals(pairs, target_squares, spread, squares, scale, raw, best)


def residuals_by_lag(profile: Floats, target: Floats) -> Residuals:
    """Return the same sums for distances profile[|i-j|]: one pass over the target."""
    sums = lag_sums(target)
    made, pairs, means = profile[1:], sums.pairs, sums.means
    within, count = float(sums.spreads.sum()), float(pairs.sum())
    squares = float(pairs @ (made * made))
    products = float((pairs * made) @ means)
    scale = products / squares if squares > 0.0 else 0.0
    mean = float(pairs @ means) / count

    def around(centre: Floats | float) -> float:
        return within + float(pairs @ np.square(means - centre))

    return Residuals(
        pairs=int(count),
        target_squares=around(0.0),
        target_spread=around(mean),
        encoding_squares=squares,
        best_scale=scale,
        raw=around(made),
        best=around(scale * made),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class StressByDimension(Result):
    """Stress of truncated classical MDS; entry k belongs to dimensions[k]."""

    dimensions: NDArray[np.int64]
    raw: Floats
    scale_free: Floats
    kruskal: Floats
    minimises: str = "strain"

    def to_dataframe(self) -> Any:
        """Return one row per dimension as a pandas DataFrame."""
        names = ("dimensions", "raw", "scale_free", "kruskal")
        columns = zip(*(getattr(self, name).tolist() for name in names), strict=True)
        return to_dataframe([dict(zip(names, row, strict=True)) for row in columns])


def stress_by_dimension(
    gram: Any, distances: Any = None, dimensions: Iterable[int] = (1, 2, 3, 4, 8, 16)
) -> StressByDimension:
    """Return the stresses of classical MDS for each dimension, in ascending order.

    `gram` is a geometry (then `distances` are its own) or a centred Gram matrix. Cost O(n^2 r) for
    the largest r, and O(n^2) for each dimension asked for. `kruskal` is NaN for zero distances.
    """
    from gnomon.distances import classical_mds

    wanted = sorted(set(dimensions))
    if not wanted or wanted[0] < 1:
        raise InputError(f"dimensions are {wanted}; pass whole numbers from 1 on.")
    matrix = getattr(gram, "gram", gram)
    target = target_of(gram if distances is None else distances).distances
    vectors = np.asarray(classical_mds(matrix, min(wanted[-1], len(target))).vectors)
    squares = np.zeros_like(target)
    done, rows = 0, []
    for dimension in wanted:
        if dimension > done:
            squares = squares + squared_distances(vectors[:, done:dimension])
        done = max(done, min(dimension, vectors.shape[1]))
        rows.append(_stresses(np.sqrt(squares), target))
    raw, scale_free, kruskal = np.array(rows).T
    return StressByDimension(
        dimensions=np.array(wanted), raw=raw, scale_free=scale_free, kruskal=kruskal
    )


def _stresses(made: Floats, target: Floats) -> tuple[float, float, float]:
    sums = residuals_by_row(made, target)
    if not sums.target_squares > 0.0:
        raise InputError(
            "All target distances are 0, so there is nothing to fit; every position has the same "
            "law, and stress is undefined."
        )
    kruskal = np.sqrt(sums.raw / sums.encoding_squares) if sums.encoding_squares else np.nan
    return sums.raw / sums.target_squares, sums.best / sums.target_squares, float(kruskal)


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterCount(Result):
    """The numbers that an encoding of one rank takes."""

    rank: int
    factored: int
    degrees: int
    geometry: int
    free: int
    saving: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterTable(Result):
    """One row per rank."""

    length: int
    dimension: int
    break_even: float
    rows: tuple[ParameterCount, ...]

    def to_dataframe(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        return to_dataframe([row.to_dict() for row in self.rows])


def parameter_table(length: int, dimension: int, ranks: Iterable[int]) -> ParameterTable:
    """Return the counts for each rank.

    >>> [row.factored for row in parameter_table(32, 128, [3, 31]).rows]
    [480, 4960]
    """
    if length < 1 or dimension < 1:
        raise InputError(
            f"length is {length} and dimension {dimension}; pass whole numbers from 1 on."
        )
    return ParameterTable(
        length=length,
        dimension=dimension,
        break_even=length * dimension / (length + dimension),
        rows=tuple(_count(length, dimension, rank) for rank in ranks),
    )


def _count(length: int, dimension: int, rank: int) -> ParameterCount:
    if not 0 <= rank <= min(length, dimension):
        raise InputError(
            f"rank is {rank}; a table of {length} positions and dimension {dimension} has a rank "
            f"from 0 to {min(length, dimension)}."
        )
    factored, free = rank * (length + dimension), length * dimension
    spanned = min(rank, length - 1)
    return ParameterCount(
        rank=rank,
        factored=factored,
        degrees=rank * (length + dimension - rank),
        geometry=spanned * (length - 1) - spanned * (spanned - 1) // 2,
        free=free,
        saving=1.0 - factored / free,
    )
