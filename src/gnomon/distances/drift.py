"""Where the laws drift: by position, by frequency class, and by type.

With lambda_iv = N_i p_v / c_v the expected number of independent observations (c_v is the inflation
of `folded`, 1 for independent tokens), x' = x / c_v and rho_iv = x' / lambda_iv - 1,

    tau_i = max(0, [sum_v s^2 p rho^2 - sum_v s^2 (x/N_i)/lambda] / sum_v s^2 p),
    s^2   = lambda / (lambda + kappa)

is the unbiased relative drift energy of position i. One number for all types of a position is wrong
where few types change much (markers, delimiters, slots of a template), so types are asked too:

    D_v   = sum_i om (lambda rho^2 - 1 + lambda / sum_i lambda),   om = lambda / (lambda + kappa)
    sd_v^2 = sum_i om^2 (2 + 1 / lambda),     h_v = sum_i om lambda,

the dispersion of a type beyond Poisson, its deviation without drift, and its gain. A type with
D_v > 3.5 sd_v is *selected* and has the drift energy tau_v = D_v / h_v. The others share

    R_c = [sum_v D_v / sum_v h_v] / taubar_c,    taubar_c = sum b_i tau_i / sum b_i,

the drift of their class in units of that of the positions, b_i = sum_v om lambda; from common to
rare each ratio is drawn to the one before by as much as it is uncertain. A class with a share f of
selected types has at least clip((f - 0.15) / 0.35, 0, 1).

At a position where the mass of a class is beyond doubt another one than that of the pooled law
(what a marker leaves out, a closing token above all), its types are expected mu_ic times as often:

    mu_ic = mu_i [1 + w (X'_ic / L_ic - 1)],   w = L t / (1 + L t),   t = (X' / L - 1)^2 - 1 / L,

with X' and L the observations of the class and what is expected of them, mu_i times N_i p_c; mu_i
is the same of all classes together, so that a position which lacks a little of each is seen.

A selected type *stands out* where it drifts 30 times as much as those of its class that were not
selected, and is expected often enough to be measured alone. What stands out says nothing about the
rest of its class, and needs nothing from it: it is summed apart, at full weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.folds import Floats, FoldedCounts

KAPPA = 2.0
DOUBTLESS = 23.0
"""Deviance beyond which a count is no chance: as far as 4.8 normal deviations."""
SELECTED = 3.5
"""Deviations by which a type's dispersion must exceed Poisson's to be given a drift of its own."""
_SHARES = (0.15, 0.35)
"""Where selected types are this share of a class and more, the class is taken to drift whole."""
_OUTSTANDING, _LEAST_ALONE, _NEAREST = 30.0, 0.25, 25
"""A type stands out where it drifts so many times as much as its class and is expected so often;
its class is judged by at least so many types on either side."""
_LEAST_MASS = 1e-4
_WIDTH = 2048
"""Types that are summed at a time."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Relative drift energies, and which types carry them."""

    positions: Floats
    """m: tau_i."""
    factors: Floats
    """V: R_c of the class of every type."""
    types: Floats
    """V: tau_v of the selected types, 0 of the others."""
    outstanding: NDArray[np.bool_]
    """V: types that stand out of their class."""
    dispersion: Floats
    """V: D_v."""
    deviation: Floats
    """V: sd_v."""
    gain: Floats
    """V: h_v."""
    masses: Floats
    """C x m: mu_ic of the classes that were measured."""
    classes: NDArray[np.int64]
    """V: which of them each type is of."""
    doubtless: float = DOUBTLESS
    """Deviance beyond which a count tells its drift itself."""

    def only(self, kept: NDArray[np.bool_]) -> Drift:
        """Return the drift of some types."""
        return replace(
            self,
            factors=self.factors[kept],
            types=self.types[kept],
            outstanding=self.outstanding[kept],
            dispersion=self.dispersion[kept],
            deviation=self.deviation[kept],
            gain=self.gain[kept],
            classes=self.classes[kept],
        )

    def mass(self, types: slice) -> Floats:
        """Return mu_i of some types of one class; 1 for those that stand out."""
        mass: Floats = self.masses[self.classes[types.start]]
        return np.ones_like(mass) if self.outstanding[types.start] else mass

    def energies(self, types: slice) -> Floats:
        """Return max(R_c tau_i, tau_v) for every position and some types."""
        own: Floats = np.maximum(np.outer(self.positions, self.factors[types]), self.types[types])
        return own


def expected_counts(folded: FoldedCounts, types: slice) -> Floats:
    """Return lambda_iv = N_i p_v / c_v of some types."""
    law = folded.pooled[types] / folded.type_inflation[types]
    return folded.tokens[:, None] * law


def no_drift(folded: FoldedCounts) -> Drift:
    """Return the drift of equal laws: the pilot is then the pooled law."""
    types = len(folded.type_tokens)
    return Drift(
        positions=np.zeros(folded.size),
        factors=np.ones(types),
        types=np.zeros(types),
        outstanding=np.zeros(types, bool),
        dispersion=np.zeros(types),
        deviation=np.ones(types),
        gain=np.ones(types),
        masses=np.ones((1, folded.size)),
        classes=np.zeros(types, np.int64),
        doubtless=np.inf,
    )


def measure_drift(folded: FoldedCounts) -> Drift:
    """Measure the drift of positions, types and classes in one pass over the counts."""
    found = _pass(folded)
    selected = found.dispersion > SELECTED * found.deviation
    own = np.where(selected, found.dispersion / found.gain, 0.0)
    sizes = np.diff(folded.class_bounds)
    outstanding = _outstanding(folded, found, selected)
    return Drift(
        positions=found.tau,
        factors=np.repeat(_factors(folded, found, selected), sizes),
        types=own,
        outstanding=outstanding,
        masses=_masses(*_of_classes(folded, ~outstanding)),
        classes=np.repeat(np.arange(folded.classes), sizes),
        dispersion=found.dispersion,
        deviation=found.deviation,
        gain=found.gain,
    )


@dataclass(frozen=True, kw_only=True)
class _Pass:
    """What one pass over the counts adds up."""

    tau: Floats
    dispersion: Floats
    """D_v."""
    deviation: Floats
    """sd_v."""
    gain: Floats
    """h_v."""


def _pass(folded: FoldedCounts) -> _Pass:
    types = len(folded.type_tokens)
    above, below = np.zeros(folded.size), np.zeros(folded.size)
    dispersion, deviation, gain = np.zeros((3, types))
    for start in range(0, types, _WIDTH):
        part = slice(start, start + _WIDTH)
        law, means = folded.pooled[part], expected_counts(folded, part)
        om = means / (means + KAPPA)
        rho = folded.seen(part)
        rho /= folded.tokens[:, None]
        above -= np.einsum("iv,iv,iv->i", om, rho, 1.0 / means)
        rho /= law
        rho -= 1.0
        above += np.einsum("iv,iv,iv,v->i", om, rho, rho, law)
        below += om @ law
        weighted = om * means
        whole = means.sum(axis=0)
        dispersion[part] = np.einsum("iv,iv,iv->v", weighted, rho, rho)
        dispersion[part] += weighted.sum(axis=0) / whole - om.sum(axis=0)
        deviation[part] = np.sqrt(np.einsum("iv,iv,iv->v", om, om, 2.0 + 1.0 / means))
        gain[part] = weighted.sum(axis=0)
    tau: Floats = np.maximum(above / below, 0.0)
    return _Pass(tau=tau, dispersion=dispersion, deviation=deviation, gain=gain)


def _factors(folded: FoldedCounts, found: _Pass, selected: NDArray[np.bool_]) -> Floats:
    """Return R_c, from common to rare."""
    factors, before = np.empty(folded.classes), 1.0
    for c, (first, last) in enumerate(
        zip(folded.class_bounds, folded.class_bounds[1:], strict=False)
    ):
        picked = selected[first:last]
        least, width = _SHARES
        floor = float(np.clip((picked.mean() - least) / width, 0.0, 1.0))
        rest = np.arange(first, last)[~picked]
        before = max(floor, _ratio(folded, found, rest, before)) if len(rest) else floor
        factors[c] = before
    return factors


def _ratio(folded: FoldedCounts, found: _Pass, types: NDArray[np.int64], before: float) -> float:
    """Return the drift of some types over that of the positions, drawn to the class before."""
    law = folded.pooled[types] / folded.type_inflation[types]
    means = folded.tokens[:, None] * law
    weights = (means**2 / (means + KAPPA)).sum(axis=1)
    taubar = float(weights @ found.tau / weights.sum())
    if taubar <= 0.0:
        return before
    scale = float(found.gain[types].sum()) * taubar
    ratio = float(found.dispersion[types].sum()) / scale
    precision = (scale / float(np.sqrt((found.deviation[types] ** 2).sum()))) ** 2
    return float(np.clip((ratio * precision + before) / (precision + 1.0), 0.0, 1.0))


def _outstanding(
    folded: FoldedCounts, found: _Pass, selected: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which types stand out of their class."""
    rates = folded.pooled / folded.type_inflation
    counted = (folded.tokens**2).sum() / folded.tokens.sum() * rates >= _LEAST_ALONE
    level = np.repeat(_levels(folded, found, selected), np.diff(folded.class_bounds))
    above: NDArray[np.bool_] = found.dispersion > _OUTSTANDING * level * found.gain
    return selected & counted & above


def _levels(folded: FoldedCounts, found: _Pass, selected: NDArray[np.bool_]) -> Floats:
    """Return what the types of each class drift at least: two estimates, the larger of them.

    The mean of those that were not selected, which are few or none where all drift; and the median
    of the types nearest in frequency, which is at zero or below where counts are small.
    """
    bounds = folded.class_bounds
    gain = np.add.reduceat(np.where(selected, 0.0, found.gain), bounds[:-1])
    above = np.add.reduceat(np.where(selected, 0.0, found.dispersion), bounds[:-1])
    drifts = found.dispersion / found.gain
    levels = np.zeros(folded.classes)
    for c in range(folded.classes):
        middle = (bounds[c] + bounds[c + 1]) // 2
        least = max(min(bounds[c], middle - _NEAREST), 0)
        nearest = drifts[least : max(bounds[c + 1], least + 2 * _NEAREST)]
        mean = above[c] / gain[c] if gain[c] > 0.0 else 0.0
        levels[c] = max(mean, float(np.median(nearest)), 0.0)
    return levels


def excess(folded: FoldedCounts, drift: Drift) -> Floats:
    """Return by how many deviations the dispersion of every class exceeds Poisson's."""
    bounds = folded.class_bounds[:-1]
    total = np.add.reduceat(drift.dispersion, bounds)
    exceeded: Floats = total / np.sqrt(np.add.reduceat(drift.deviation**2, bounds))
    return exceeded


def mass_excess(folded: FoldedCounts) -> Floats:
    """Return by how many deviations the mass of every class varies more than Poisson's.

    Types that a position lacks leave no dispersion where each is expected less than once; together
    they are missing.
    """
    seen, means = _of_classes(folded, np.ones(len(folded.type_tokens), bool))
    squares = (seen - means) ** 2 / np.maximum(means, 1.0) - 1.0
    moved: Floats = squares.sum(axis=1) / np.sqrt(2.0 * folded.size)
    return moved


def _of_classes(folded: FoldedCounts, kept: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return observations of the types kept of every class, and what is expected; C x m."""
    bounds, shape = folded.class_bounds, (folded.classes, folded.size)
    seen = np.zeros(shape)
    for c in range(folded.classes):
        types = np.arange(*bounds[c : c + 2])[kept[slice(*bounds[c : c + 2])]]
        tokens = folded.columns[:, types].sum(axis=1)
        seen[c] = tokens.astype(np.float64).reshape(folded.size, -1).sum(axis=1)
    seen /= folded.type_inflation[bounds[:-1], None]
    law = np.where(kept, folded.pooled / folded.type_inflation, 0.0)
    return seen, np.outer(np.add.reduceat(law, bounds[:-1]), folded.tokens)


def _masses(seen: Floats, means: Floats) -> Floats:
    """Return mu_ic: that of all classes together, times what a class has more or less of it.

    Either is 1 unless it is beyond doubt another.
    """
    lift = _mass(seen.sum(axis=0), means.sum(axis=0))
    masses: Floats = lift * _mass(seen, lift * means)
    return masses


def _mass(seen: Floats, means: Floats) -> Floats:
    known = np.maximum(means, np.finfo(float).tiny)
    ratio = seen / known
    logs = np.log(np.maximum(ratio, np.finfo(float).tiny))
    deviance = 2.0 * (seen * logs - seen + known)
    trust = np.maximum(known * (ratio - 1.0) ** 2 - 1.0, 0.0)
    mass = 1.0 + trust / (1.0 + trust) * (ratio - 1.0)
    masses: Floats = np.where(deviance > DOUBTLESS, np.maximum(mass, _LEAST_MASS), 1.0)
    return masses


def effective_types(folded: FoldedCounts, drift: Drift) -> Floats:
    """Return how many types carry the drift of each class: 3 (sum e)^2 / sum (e^2 - var e)."""
    bounds, law = folded.class_bounds[:-1], folded.pooled
    energy = law * drift.dispersion / drift.gain
    noise = (law * drift.deviation / drift.gain) ** 2
    whole = np.add.reduceat(energy, bounds) ** 2
    squares = np.add.reduceat(energy**2 - noise, bounds)
    sizes = np.diff(folded.class_bounds).astype(np.float64)
    spread = np.divide(3.0 * whole, squares, out=sizes.copy(), where=squares > 0.0)
    effective: Floats = np.clip(spread, 1.0, sizes)
    return effective
