"""Stress against the debiased geometry of the core, with sampling intervals.

With h the low-rank distances between core positions and D those of an encoding, over pairs i < j:

    scale_free = 1 - (sum D h)^2 / (sum D^2 sum h^2),     squared = the same with D^2 and h^2.

A square root turns truly zero distances with noise into small positive ones, so `squared` is the
one to trust where most pairs are not significantly apart. Intervals push every fold-deleted
geometry through the same formula and hold sampling noise only. `skill` compares with equal
distances; it is left out where the distances cannot be told from equal ones: where the simplex's
own stress is below the 95 % quantile that equal distances with the known noise would show.

An encoding is *close* where its stress is at most a tenth, and at most three tenths of what equal
distances leave. One position far from all others can make any encoding close that keeps a row
apart, whatever the others do; `left_out` holds the same comparison with the position left out
without which it comes out worst.

A Shepard plot shows distances of an encoding beside those of the corpus. All pairs of 512 positions
are 130,816, and an eye needs no more than a few hundred. The pairs are
drawn once for a survey, without repetition, from its seed: among the core positions where there is
a debiased geometry, otherwise among all measured ones. The encoding's distances come times its best
scale a* = sum D h / sum D^2, over all pairs and not only those drawn [shepard1962].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import Geometry, figure, jackknife_error
from gnomon.pipeline.noise import NoiseReport
from gnomon.results import Result

Floats = NDArray[np.float64]
MOST_STRESS = 0.1
MOST_OF_SIMPLEX = 0.3
_DRAWS = 40
_NOTHING_LEFT = 1e-9
"""Share of the sum of squares below which leaving a position out leaves no geometry."""
PAIRS = 2000
_STREAM = 12


def is_close(stress: float, equal: float) -> bool:
    """Say whether a stress is small, beside what equal distances leave.

    >>> is_close(0.05, 0.5), is_close(0.05, 0.1)
    (True, False)
    """
    return stress <= min(MOST_STRESS, MOST_OF_SIMPLEX * equal) + 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOut(Result):
    """The same comparison without one position: that without which it comes out worst."""

    position: int
    """Index of the position left out."""
    value: float
    equal: float
    """What equal distances leave without it."""
    close: bool
    """Whether the encoding is still close."""


@dataclass(frozen=True, kw_only=True)
class DebiasedStress:
    """One encoding against the debiased geometry."""

    scale_free: float
    interval: tuple[float, float]
    skill: float | None
    squared: float
    squared_interval: tuple[float, float]
    left_out: LeftOut
    """Of scale_free."""
    squared_left_out: LeftOut


@dataclass(frozen=True, eq=False)
class DebiasedTarget:
    """Distances to be fitted, with their replicates."""

    noise: NoiseReport
    metric: str
    rows: NDArray[np.int64]
    """Which rows of the survey's geometry are core."""

    @cached_property
    def targets(self) -> Floats:
        """(1 + F) x pairs: h, then h without each fold."""
        upper = np.triu_indices(len(self.rows), 1)
        all_squares = (self.noise.debiased.low_rank.squares, *self.noise.replicates)
        chords = np.sqrt(np.array([squares[upper] for squares in all_squares]))
        if self.metric == "angle":
            return 2.0 * np.arcsin(np.minimum(chords / 2.0, 1.0))
        return chords

    @cached_property
    def simplex(self) -> float:
        """Scale-free stress of equal distances."""
        return float(scale_free(np.ones(self.targets.shape[1]), self.targets[:1])[0])

    @cached_property
    def simplex_squared(self) -> float:
        """The same for squared distances."""
        return float(scale_free(np.ones(self.targets.shape[1]), self.targets[:1] ** 2)[0])

    @cached_property
    def unequal(self) -> bool:
        """Whether the distances can be told from equal ones with the noise there is."""
        found = self.noise.debiased
        if len(found.core) < 3:
            return False
        among = np.ix_(found.core, found.core)
        upper = np.triu_indices(len(found.core), 1)
        squares, error = found.squares[among][upper], found.standard_error[among][upper]
        rng = np.random.default_rng([0, len(error)])
        noise = rng.normal(size=(_DRAWS, len(error))) * error
        null = _simplex_stress(np.maximum(squares.mean(), 0.0) + noise)
        return bool(_simplex_stress(squares[None])[0] > np.quantile(null, 0.95))

    def stress(self, distances: Floats) -> DebiasedStress:
        """Compare the distances of an encoding at the survey's positions."""
        upper = np.triu_indices(len(self.rows), 1)
        made = distances[np.ix_(self.rows, self.rows)][upper]
        plain, squared = scale_free(made, self.targets), scale_free(made**2, self.targets**2)
        return DebiasedStress(
            scale_free=float(plain[0]),
            interval=_interval(plain),
            skill=1.0 - float(plain[0]) / self.simplex if self.unequal else None,
            squared=float(squared[0]),
            squared_interval=_interval(squared),
            left_out=self._left_out(made, self.targets[0]),
            squared_left_out=self._left_out(made**2, self.targets[0] ** 2),
        )

    def _left_out(self, made: Floats, wanted: Floats) -> LeftOut:
        """Return what is left without the position that matters most to being close."""
        values = without_each(made, wanted)
        equals = without_each(np.ones(len(wanted)), wanted)
        most = np.minimum(MOST_STRESS, MOST_OF_SIMPLEX * equals)
        worst = int(np.argmax(values - most))
        value, equal = float(values[worst]), float(equals[worst])
        return LeftOut(
            position=int(self.noise.core[worst]),
            value=value,
            equal=equal,
            close=is_close(value, equal),
        )


def scale_free(made: Floats, wanted: Floats) -> Floats:
    """Return 1 - (D h)^2 / (D^2 h^2) for every row h of `wanted`; 1 where D is all zero."""
    below = (made @ made) * np.einsum("kp,kp->k", wanted, wanted)
    ratio = np.divide((wanted @ made) ** 2, below, out=np.zeros(len(wanted)), where=below > 0.0)
    stress: Floats = np.clip(1.0 - ratio, 0.0, 1.0)
    return stress


def without_each(made: Floats, wanted: Floats) -> Floats:
    """Return the scale-free stress with each position left out in turn, from condensed distances.

    Sums over pairs less those that touch the position: O(m^2) for all of them. Where nothing is
    left of the distances the stress is 1, as no encoding can be close to nothing.

    >>> far = np.array([3.0, 3.0, 3.0, 1.0, 1.0, 1.0])  # position 0 from all others
    >>> without_each(far, np.array([3.0, 3.0, 3.0, 1.0, 2.0, 1.0])).round(3).tolist()
    [0.111, 0.0, 0.043, 0.0]
    """
    size = round((1 + np.sqrt(1 + 8 * len(made))) / 2)
    row, column = np.triu_indices(size, 1)

    def rest(products: Floats) -> Floats:
        total = float(products.sum())
        touching = np.bincount(row, products, size) + np.bincount(column, products, size)
        left: Floats = np.where(total - touching > _NOTHING_LEFT * total, total - touching, 0.0)
        return left

    below = rest(made * made) * rest(wanted * wanted)
    ratio = np.divide(rest(made * wanted) ** 2, below, out=np.zeros(size), where=below > 0.0)
    stress: Floats = np.clip(1.0 - ratio, 0.0, 1.0)
    return stress


def _interval(values: Floats) -> tuple[float, float]:
    low, high = figure(float(values[0]), jackknife_error(values[1:]), len(values) - 1).interval
    return max(low, 0.0), min(high, 1.0)


def _simplex_stress(squares: Floats) -> Floats:
    """Return the scale-free stress of equal distances against the roots of squared distances."""
    clipped = np.maximum(squares, 0.0)
    stress: Floats = 1.0 - np.sqrt(clipped).mean(axis=1) ** 2 / clipped.mean(axis=1)
    return stress


def target_of(noise: NoiseReport | None, geometry: Any) -> DebiasedTarget | None:
    """Return what encodings are compared with; None where there is no geometry to trust."""
    if noise is None or noise.no_geometry is not None:
        return None
    rows = np.searchsorted(geometry.positions, noise.core)
    return DebiasedTarget(noise, geometry.metric, rows)


def shepard_pairs(
    geometry: Geometry, target: DebiasedTarget | None, seed: int
) -> NDArray[np.int64]:
    """Return the rows (k, 2), i < j, of the pairs that are drawn, in the order they were drawn."""
    rows = np.arange(len(geometry.positions)) if target is None else target.rows
    row, column = np.triu_indices(len(rows), 1)
    rng = np.random.default_rng([seed, _STREAM])
    drawn = rng.permutation(len(row))[:PAIRS]
    return np.stack([rows[row[drawn]], rows[column[drawn]]], axis=1)


def at_pairs(matrix: Floats, pairs: NDArray[np.int64]) -> Floats:
    """Return the entries of a matrix at these pairs of rows."""
    entries: Floats = matrix[pairs[:, 0], pairs[:, 1]]
    return entries


def scale_at_pairs(
    distances: Floats, geometry: Geometry, target: DebiasedTarget | None, seed: int
) -> Floats:
    """Return the distances of an encoding at the drawn pairs, times its best scale."""
    if target is None:
        wanted = geometry.distances[np.triu_indices(len(distances), 1)]
        made = distances[np.triu_indices(len(distances), 1)]
    else:
        among = distances[np.ix_(target.rows, target.rows)]
        wanted, made = target.targets[0], among[np.triu_indices(len(among), 1)]
    squares = float(made @ made)
    scale = float(made @ wanted) / squares if squares > 0.0 else 0.0
    return scale * at_pairs(distances, shepard_pairs(geometry, target, seed))
