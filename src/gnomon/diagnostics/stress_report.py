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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.pairs import condensed, lifted_of, target_of
from gnomon.diagnostics.residuals import Residuals, residuals_by_lag, residuals_by_row
from gnomon.errors import InputError
from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

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
