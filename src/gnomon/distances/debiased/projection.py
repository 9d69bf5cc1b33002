"""Positions outside the core, placed in the core's geometry by what little they say.

A position with too few tokens for the core still has U distances to the well-counted ones. With
K_ij = -1/2 (D_ij - (D pi)_i - (D pi)_j + pi' D pi) over core positions j, and a_jk, theta_k, c2_k
of the low rank (`lowrank`),

    a_ik = b_k  sum_j K_ij a_jk / (sigma_j^2 theta_k),   b_k = v_k / (v_k + nu_ik),

the least-squares coordinate, shrunk to the centre by b_k: v_k is the mean a_jk^2 of the core and
nu_ik = sigma_i^2 c2_k / theta_k the noise of the coordinate. Such a position can not add a
direction of its own: what is new there and nowhere in the core is not seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.debiased.estimate import Debiased
from gnomon.distances.debiased.folded import Floats


def outside_core(found: Debiased) -> NDArray[np.int64]:
    """Return the estimated positions that are not core (indices into `found.positions`)."""
    return np.setdiff1d(np.arange(len(found.positions)), found.core)


def projected(found: Debiased) -> Floats:
    """Return the coordinates of the positions outside the core, rank columns."""
    outside, core, low = outside_core(found), found.core, found.low_rank
    if not low.rank or not len(outside):
        return np.zeros((len(outside), low.rank))
    inside = found.squares[np.ix_(core, core)]
    share = found.tokens[core] / found.tokens[core].sum()
    rows = inside @ share
    across = found.squares[np.ix_(outside, core)]
    gram = -0.5 * (across - (across @ share)[:, None] - rows[None, :] + share @ rows)
    sigma_squared = found.sigma[core] ** 2
    spike, spike_per_cosine = _spikes(low.coordinates, low.noise, sigma_squared)
    placed = gram @ (low.coordinates / sigma_squared[:, None]) / spike
    noise = found.sigma[outside, None] ** 2 / spike_per_cosine
    size = (low.coordinates**2).mean(axis=0)
    shrunk: Floats = placed * size / (size + noise)
    return shrunk


def _spikes(coordinates: Floats, noise: Floats, sigma_squared: Floats) -> tuple[Floats, Floats]:
    """Return theta and theta / c2 of every direction.

    From sum_j a_jk^2 / sigma_j^2 = theta c2 and nu_jk = sigma_j^2 c2 / theta.
    """
    times = (coordinates**2 / sigma_squared[:, None]).sum(axis=0)
    over = sigma_squared[0] / noise[0]
    return np.sqrt(over * times), over
