"""The class profile: how much of the vocabulary is measured, and what fills the rest.

The relative drift energy r_c of a frequency class is taken to be the same for all pairs up to a
pair's own scale (*shared tail*). It is learnt from the well-counted pairs,

    rhat_c = sum_ij omega_ij E_ij,c / sum_ij omega_ij m_ij,c,  divided by the overall rate,

smoothed over neighbouring classes and pulled gently to 1, and only unmeasured mass is filled by it:

    ext_ij = sum_c r_c M_ij,c / sum_c r_c m_ij,c  >= 1,       d2_ij = ext_ij sum_c E_ij,c.

M is all the mass there is: types too rare to be used at all count with the rarest class. Where the
overall rate is within two null standard deviations (jackknife) of nothing, r = 1.

How far the shared tail can be wrong: the energy of n_c types, each with a drift of its own, has a
relative variance of 2 / n_c, and so has the profile that was learnt from other directions. Hence a
pair's class c has the rate a_ij r_c (1 + xi_c) with a_ij = sum_c E_ij,c / sum_c r_c m_ij,c and
Var xi_c = 4 / n_c, and the filled distance is off by

    a_ij sum_c xi_c r_c (ext_ij m_ij,c - M_ij,c),     tail_ij^2 = its variance.

One common word that drifts alone can thus mislead a whole tail, and the interval says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.geometry.debiased.folded import Floats
from gnomon.geometry.debiased.sums import Sums

_PULL = 0.05
_RANGE = (0.02, 50.0)
_TYPE_VARIANCE = 4.0
"""n Var xi: 2 for the squared normal drift of the pair's types, 2 for that of the profile's."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Relative drift by class, and the extension of every pair."""

    relative: Floats
    """C: r_c, common classes first."""
    extension: Floats
    """m x m: ext_ij; 1 / ext_ij is the share of the distance that rests on direct evidence."""
    tail: Floats
    """m x m: standard deviation of a squared distance because its tail was filled."""
    rate: float
    """Overall drift energy per measured mass."""
    rate_noise: float
    """Its standard deviation without signal."""


def class_profile(found: Sums, types: NDArray[np.int64]) -> Profile:
    """Learn the profile, or leave it flat where there is no drift; `types` counts each class's."""
    measured = np.einsum("ij,cij->c", found.learning, found.measured)
    total = max(float(measured.sum()), np.finfo(float).tiny)  # nothing where no pair may teach
    rate = float(np.einsum("ij,cij->", found.learning, found.energy) / total)
    noise = _rate_noise(found) / total
    relative = np.ones(len(measured))
    if rate > 2.0 * noise:
        relative = _smoothed(found, measured, rate)
    part = np.einsum("c,cij->ij", relative, found.measured)
    full = np.einsum("c,ci->i", relative, found.mass)
    full += relative[-1] * np.maximum(1.0 - found.mass.sum(axis=0), 0.0)
    extension = 0.5 * (full[:, None] + full[None, :]) / part
    return Profile(
        relative=relative,
        extension=extension,
        tail=_tail(found, relative, extension, types) / part,
        rate=rate,
        rate_noise=noise,
    )


def _rate_noise(found: Sums) -> float:
    """Return the null deviation of sum omega E: the jackknife doubles a variance without signal."""
    deleted = found.deleted_classes.sum(axis=1)
    folds = len(deleted)
    return float(np.sqrt(0.5 * (folds - 1) / folds * ((deleted - deleted.mean()) ** 2).sum()))


def _smoothed(found: Sums, measured: Floats, rate: float) -> Floats:
    """Minimise sum (r - rhat)^2 / var + sum (r_c - r_c+1)^2 + 0.05 sum (r - 1)^2."""
    raw = np.einsum("ij,cij->c", found.learning, found.energy) / measured / rate
    folds = len(found.deleted_classes)
    deleted = found.deleted_classes / measured / rate
    variance = (folds - 1) / folds * ((deleted - deleted.mean(axis=0)) ** 2).sum(axis=0)
    precision = 1.0 / np.maximum(variance, 1e-8)
    steps = np.diff(np.eye(len(raw)), axis=0)
    matrix = np.diag(precision + _PULL) + steps.T @ steps
    solved: Floats = np.clip(np.linalg.solve(matrix, precision * raw + _PULL), *_RANGE)
    return solved


def _tail(found: Sums, relative: Floats, extension: Floats, types: NDArray[np.int64]) -> Floats:
    """Return sum_c E times the deviation of sum_c xi_c r_c (ext m_c - M_c); 0 for a negative sum.

    Class by class, since the classes of all pairs at once would fill the memory a second time.
    """
    variance = np.zeros_like(extension)
    for c, relative_c in enumerate(relative):
        mass = 0.5 * (found.mass[c][:, None] + found.mass[c][None, :])
        gap = relative_c * (extension * found.measured[c] - mass)
        variance += _TYPE_VARIANCE / types[c] * gap**2
    tail: Floats = np.maximum(found.energy.sum(axis=0), 0.0) * np.sqrt(variance)
    return tail
