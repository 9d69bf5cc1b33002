"""Low rank: the U matrix whitened, its noise edge found by signs, its spikes inverted.

On the core (positions with sqrt 2 sigma_i^2 <= 0.02) with pi_i ~ N_i and J = I - 1 pi^T,

    K = -1/2 J D J^T,   M_ij = K_ij / (sigma_i sigma_j),

noise in M is close to a symmetric matrix of unit variance, so its eigenvalues stay below about
2 sqrt m. An eigenvalue l above the edge belongs to a spike theta with l = theta + m / theta, seen
at squared cosine c2 = 1 - m / theta^2 [benaychgeorges2011]. Then

    a_ik = sigma_i u_ik sqrt(theta / c2),  nu_ik = sigma_i^2 / (theta c2),
    d2_ij = max(0, sum_k (a_ik - a_jk)^2 - nu_ik - nu_jk).

The number of spikes is the effective rank. No spike means no geometry that can be told from noise.
As l falls to 2 sqrt m the cosine falls to 0 and its inverse explodes, so a spike must also exceed
2.05 sqrt m, where c2 is 0.36; on few positions the sign edge alone can lie below that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.geometry.debiased.folded import Floats

CORE_NOISE = 0.02
LEAST_EDGE = 2.05
LEAST_COSINE = 0.3


@dataclass(frozen=True, kw_only=True)
class LowRank:
    """What is left above the noise edge."""

    rank: int
    eigenvalues: Floats
    """All eigenvalues of the whitened matrix, descending."""
    coordinates: Floats
    """core x rank: a_ik."""
    noise: Floats
    """core x rank: nu_ik."""
    squares: Floats
    """core x core: d2_ij."""


def core_of(sigma_squared: Floats) -> NDArray[np.int64]:
    """Return the positions counted well enough to be estimated."""
    return np.flatnonzero(np.sqrt(2.0) * sigma_squared <= CORE_NOISE)


def whitened(squares: Floats, sigma: Floats, tokens: Floats) -> Floats:
    """Return M for squared distances between core positions."""
    share = tokens / tokens.sum()
    rows = squares @ share
    gram = -0.5 * (squares - rows[:, None] - rows[None, :] + share @ rows)
    matrix: Floats = gram / np.outer(sigma, sigma)
    return matrix


def noise_edge(flipped: Floats, sigma: Floats, tokens: Floats) -> float:
    """Return the eigenvalue that noise alone does not exceed, from sign-flipped matrices."""
    tops = [np.linalg.eigvalsh(whitened(squares, sigma, tokens))[-1] for squares in flipped]
    signs = max(np.quantile(tops, 0.95), np.mean(tops) + 1.65 * np.std(tops))
    return float(max(signs, LEAST_EDGE * np.sqrt(len(sigma))))


def low_rank(
    squares: Floats, sigma: Floats, tokens: Floats, *, edge: float, rank: int | None = None
) -> LowRank:
    """Keep what exceeds the edge (or exactly `rank` directions, for fold-deleted replicates)."""
    m = len(squares)
    values, axes = np.linalg.eigh(whitened(squares, sigma, tokens))
    values, axes = values[::-1], axes[:, ::-1]
    kept = int((values > edge).sum()) if rank is None else rank
    top = values[:kept]
    theta = 0.5 * (top + np.sqrt(np.maximum(top**2 - 4.0 * m, 0.0)))
    cosine = np.maximum(1.0 - m / theta**2, LEAST_COSINE)
    coordinates = sigma[:, None] * axes[:, :kept] * np.sqrt(theta / cosine)
    noise = sigma[:, None] ** 2 / (theta * cosine)
    return LowRank(
        rank=kept,
        eigenvalues=values,
        coordinates=coordinates,
        noise=noise,
        squares=_squares(coordinates, noise),
    )


def _squares(coordinates: Floats, noise: Floats) -> Floats:
    own = (coordinates**2).sum(axis=1) - noise.sum(axis=1)
    squares = own[:, None] + own[None, :] - 2.0 * coordinates @ coordinates.T
    np.fill_diagonal(squares, 0.0)
    clipped: Floats = np.maximum(squares, 0.0)
    return clipped
