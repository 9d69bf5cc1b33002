"""The class profile: how much of the vocabulary is measured, and what fills the rest.

The relative drift energy r_c of a frequency class is taken to be the same for all pairs up to a
pair's own scale (*shared tail*). It is learnt from the well-counted pairs,

    rhat_c = sum_ij omega_ij E_ij,c / sum_ij omega_ij m_ij,c,  divided by the overall rate,

smoothed over neighbouring classes and pulled gently to 1, and only unmeasured mass is filled by it:

    ext_ij = sum_c r_c M_ij,c / sum_c r_c m_ij,c  >= 1,       d2_ij = ext_ij sum_c E_ij,c.

M is all the mass there is: types too rare to be used at all count with the rarest class. Where the
overall rate is within two null standard deviations (jackknife) of nothing, r = 1.

Neighbours are held together by as much as they are alike: the steps of rhat vary by eta^2 more
than their noise explains, and the weight of a step is 1 / max(1, eta^2). Beside markers that drift
alone the classes are left as they were found.

The tail is not shared where common types drift one way and rare ones another. With a_ij the rate of
a pair and E_b, m_b, M_b energy, measured and full mass of a band of classes, weighted by r_c, the
variance xi^2 a_ij^2 of its rate about a_ij is what the gaps E_b - a_ij m_b exceed their noise by;

    w = xi^2 (a_ij m_b)^2 / [xi^2 (a_ij m_b)^2 + var E_b],
    d2_ij = sum_b { E_b + (M_b - m_b) [w E_b / m_b + (1 - w) a_ij] },

so that a band that disagrees fills itself as far as it is known. Without disagreement w = 0 and
d2_ij = ext_ij sum_c E_ij,c.

How far what is filled can be wrong, with the gaps G_c = ext_ij m_ij,c - M_ij,c and C the covariance
of the profile as smoothed:

    tail_ij^2 = a_ij^2 [ sum_c (4 / n_c) (r_c G_c)^2 + G' C G ]
                + sum_b [(1 - w) xi a_ij (M_b - m_b)]^2.

The energy of n types, each with a drift of its own, has a relative variance of 2 / n, and so has
the profile that was learnt from other directions; n_c counts the types that carry the drift of the
class (`drift`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.distances.debiased.folded import Floats
from gnomon.distances.debiased.sums import Sums

_PULL = 0.05
_LEAST_RATIO = 0.02
_APART = 2.0
"""The largest relative drift energy: laws without a common type."""
_BEYOND = 4.0
"""Deviations by which steps of the profile, or of totals, are no chance."""
_LOOSE, _LEAST_ETA = 0.25, 0.1
_SURE = 3.0
"""Deviations by which the gaps of a band must exceed their noise."""
_TYPE_VARIANCE = 4.0
"""n Var xi: 2 for the squared normal drift of the pair's types, 2 for that of the profile's."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Relative drift by class, and the extension of every pair."""

    relative: Floats
    """C: r_c, common classes first."""
    rate: float
    """The overall rate, 0 where no drift is seen: class c drifts by r_c of it."""
    extension: Floats
    """m x m: ext_ij."""
    tail: Floats
    """m x m: standard deviation of a squared distance because its tail was filled."""
    part: Floats
    """C x m x m: r_c m_ij,c."""
    full: Floats
    """C x m x m: r_c M_ij,c."""


def class_profile(
    found: Sums, masses: Floats, effective: Floats, missing: Floats, *, seen: bool
) -> Profile:
    """Learn the profile, or leave it flat where no drift is seen.

    `masses` are M_ij,c, `missing` is the mass of a pair that is in no class, `effective` counts the
    types that carry the drift of each class, and `seen` says that a class is known to drift.
    """
    measured = np.tensordot(found.measured, found.learning, 2)
    total = max(float(measured.sum()), np.finfo(float).tiny)  # nothing where no pair may teach
    taught = np.tensordot(found.energy, found.learning, 2)
    rate = float(taught.sum()) / total
    noise = _rate_noise(found) / total
    relative, covariance = np.ones(len(measured)), np.zeros((len(measured), len(measured)))
    drifts = seen or rate > 2.0 * noise
    if drifts and len(measured) > 1 and measured.min() > 0.0:
        relative, covariance = _smoothed(found, taught, measured, max(rate, noise))
    part = relative[:, None, None] * found.measured
    full = relative[:, None, None] * masses
    full[-1] += relative[-1] * missing
    whole = part.sum(axis=0)
    extension = np.where(whole > 0.0, _quotient(full.sum(axis=0), whole), 1.0)
    tail = _quotient(_deviation(found, masses, relative, extension, effective, covariance), whole)
    return Profile(
        relative=relative,
        rate=max(rate, noise) if drifts else 0.0,
        extension=extension,
        tail=tail,
        part=part,
        full=full,
    )


def band_factors(
    bands: list[Sums], profile: Profile, tokens: Floats
) -> tuple[list[Floats], Floats]:
    """Return the factor that fills up every band, and what the filling may be off by, squared."""
    first, per_pair = 0, 1.0 / tokens[:, None] + 1.0 / tokens[None, :]
    energies = [band.energy.sum(axis=0) for band in bands]
    measured = profile.part.sum(axis=0)
    rate = _quotient(np.maximum(np.sum(energies, axis=0), 0.0), measured)
    factors: list[Floats] = []
    shared: Floats = np.zeros(rate.shape)
    variance: Floats = np.zeros(rate.shape)
    for band, energy in zip(bands, energies, strict=True):
        classes = slice(first, first := first + len(band.energy))
        part, full = profile.part[classes].sum(axis=0), profile.full[classes].sum(axis=0)
        noise = band.weight_squares * per_pair**2 / 8.0 + np.maximum(energy, 0.0) * per_pair
        unlike = _unlike(energy - rate * part, noise, rate * part, band.learning)
        own = unlike * (rate * part) ** 2
        trust = _quotient(own, own + noise)
        gap = _quotient(full - part, part)
        factors.append(1.0 + gap * trust)
        shared += _quotient((1.0 - trust) * (full - part), measured)
        variance += np.square((1.0 - trust) * gap) * own
    whole: list[Floats] = [factor + shared for factor in factors]
    return whole, variance


def _quotient(above: Floats, below: Floats) -> Floats:
    """Return the quotient, 0 where nothing is below."""
    quotient: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)
    return quotient


def _unlike(gap: Floats, noise: Floats, expected: Floats, learning: Floats) -> float:
    """Return xi^2 of a band, 0 where its gaps may be noise."""
    excess = float((learning * (gap**2 - noise)).sum())
    chance = float((learning * noise).sum()) * float(np.sqrt(2.0 / len(gap)))
    below = float((learning * expected**2).sum())
    return excess / below if excess > _SURE * chance and below > 0.0 else 0.0


def _rate_noise(found: Sums) -> float:
    """Return the null deviation of sum omega E: the jackknife doubles a variance without signal."""
    deleted = found.deleted_classes.sum(axis=1)
    folds = len(deleted)
    return float(np.sqrt(0.5 * (folds - 1) / folds * ((deleted - deleted.mean()) ** 2).sum()))


def _smoothed(found: Sums, taught: Floats, measured: Floats, rate: float) -> tuple[Floats, Floats]:
    """Minimise sum (r - rhat)^2 / var + sum (r_c - r_c+1)^2 / step_c + 0.05 sum (r - 1)^2.

    Also return the covariance of what is found.
    """
    raw = taught / measured / rate
    variance = np.maximum(_jackknifed(found.deleted_classes / measured / rate), 1e-8)
    eta = _unlikeness(raw, variance)
    free = np.maximum(_jumps(raw, variance), _of_totals(found.moved / measured / rate))
    pull = 1.0 / np.maximum.accumulate(np.append(1.0, free))  # to 1, but not beyond a free step
    steps = np.diff(np.eye(len(raw)), axis=0)

    def roughness(least: float) -> Floats:
        rough: Floats = (steps.T / np.maximum(max(least, eta), free)) @ steps
        return rough

    matrix = np.diag(1.0 / variance + _PULL * pull) + roughness(1.0)
    least, most = _LEAST_RATIO, max(_APART / rate, 1.0)
    solved: Floats = np.clip(np.linalg.solve(matrix, raw / variance + _PULL * pull), least, most)
    loose: Floats = np.diag(1.0 / variance + _LOOSE * pull) + roughness(_LEAST_ETA)
    return solved, np.linalg.inv(loose).astype(np.float64)


def _jackknifed(deleted: Floats) -> Floats:
    """Return the variance of figures from their fold-deleted values, F x C."""
    folds = len(deleted)
    variance: Floats = (folds - 1) / folds * ((deleted - deleted.mean(axis=0)) ** 2).sum(axis=0)
    return variance


def _of_totals(moved: Floats) -> Floats:
    """Return how far the profile may step since the totals of the classes do, squared."""
    step, variance = np.diff(moved[0]), _jackknifed(np.diff(moved[1:], axis=1))
    return np.where(step**2 > _BEYOND**2 * variance, step**2, 0.0)


def _jumps(raw: Floats, variance: Floats) -> Floats:
    """Return the squares of jumps of the profile that are beyond doubt, 0 where there is none.

    A jump parts the classes where the means on either side are the most deviations apart; then
    either side is parted in its turn.
    """
    squares, parts = np.zeros(len(raw) - 1), [(0, len(raw))]
    while parts:
        first, last = parts.pop()
        best = max(
            (_apart(raw, variance, first, k, last) for k in range(first + 1, last)),
            default=(0.0, 0.0, 0),
        )
        score, square, at = best
        if score > _BEYOND:
            squares[at - 1] = square
            parts += [(first, at), (at, last)]
    return squares


def _apart(
    raw: Floats, variance: Floats, first: int, at: int, last: int
) -> tuple[float, float, int]:
    """Return by how many deviations the means before and from `at` on differ, and their gap^2."""
    weights = 1.0 / variance
    sides = [slice(first, at), slice(at, last)]
    means = [np.average(raw[side], weights=weights[side]) for side in sides]
    noise = sum(1.0 / weights[side].sum() for side in sides)
    gap = float(means[1] - means[0]) ** 2
    return float(np.sqrt(gap / noise)), gap, at


def _unlikeness(raw: Floats, variance: Floats) -> float:
    """Return eta^2: how much more the steps of the profile vary than their noise explains."""
    noise = variance[1:] + variance[:-1]
    trust = 1.0 / (noise + 0.5)
    return max(0.0, float((trust * (np.diff(raw) ** 2 - noise)).sum() / trust.sum()))


def _deviation(
    found: Sums,
    masses: Floats,
    relative: Floats,
    extension: Floats,
    effective: Floats,
    covariance: Floats,
) -> Floats:
    """Return sum_c E times the deviation of what was filled; 0 for a negative sum."""
    gaps = extension * found.measured
    gaps -= masses
    types = _TYPE_VARIANCE / effective * relative**2
    variance: Floats = np.zeros_like(extension)
    moved = np.tensordot(covariance + np.diag(types), gaps, 1)
    for gap, one in zip(gaps, moved, strict=True):
        variance += gap * one
    deviation: Floats = np.maximum(found.energy.sum(axis=0), 0.0) * np.sqrt(
        np.maximum(variance, 0.0)
    )
    return deviation
