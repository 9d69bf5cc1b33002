"""The class profile: how much of the vocabulary is measured, and what fills the rest.

The relative drift energy r_c of a frequency class is taken to be the same for all pairs up to a
pair's own scale (*shared tail*). It is learnt from the well-counted pairs,

    rhat_c = sum_ij omega_ij E_ij,c / sum_ij omega_ij m_ij,c,  divided by the overall rate,

smoothed over neighbouring classes and pulled gently to 1, and only unmeasured mass is filled by it:

    ext_ij = sum_c r_c M_ij,c / sum_c r_c m_ij,c  >= 1,       d2_ij = ext_ij sum_c E_ij,c.

Where the overall rate is within two null standard deviations of nothing, r = 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.geometry.debiased.folded import Floats
from gnomon.geometry.debiased.sums import Sums

_PULL = 0.05
_RANGE = (0.02, 50.0)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Relative drift by class, and the extension of every pair."""

    relative: Floats
    """C: r_c, common classes first."""
    extension: Floats
    """m x m: ext_ij; 1 / ext_ij is the share of the distance that rests on direct evidence."""
    rate: float
    """Overall drift energy per measured mass."""
    rate_noise: float
    """Its standard deviation without signal."""


def class_profile(found: Sums) -> Profile:
    """Learn the profile, or leave it flat where there is no drift to learn from."""
    measured = np.einsum("ij,cij->c", found.learning, found.measured)
    total = measured.sum()
    rate = float(np.einsum("ij,cij->", found.learning, found.energy) / total)
    noise = float(np.einsum("ij,kij->k", found.learning, found.flipped).std() / total)
    relative = np.ones(len(measured))
    if rate > 2.0 * noise:
        relative = _smoothed(found, measured, rate)
    mass = 0.5 * (found.mass[:, :, None] + found.mass[:, None, :])
    full = np.einsum("c,cij->ij", relative, mass)
    part = np.einsum("c,cij->ij", relative, found.measured)
    return Profile(relative=relative, extension=full / part, rate=rate, rate_noise=noise)


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
