"""Low rank: the U matrix whitened, its noise edge found by signs, its spikes inverted.

On the core (positions with sqrt 2 sigma_i^2 <= 0.02, and those with a tenth of their distance to
these) with pi_i ~ N_i and J = I - 1 pi^T,

    K = -1/2 J D J^T,   M_ij = K_ij / (sigma_i sigma_j),

noise in M is close to a symmetric matrix of unit variance, so its eigenvalues stay below about
2 sqrt m. An eigenvalue l above the edge belongs to a spike theta with l = theta + m / theta, seen
at squared cosine c2 = 1 - m / theta^2 [benaychgeorges2011]. Of all multiples eta of u u^T the one
nearest to the true theta v v^T is eta = theta <u, v>^2 = theta c2, hence

    a_ik = sigma_i u_ik sqrt(theta c2),    nu_ik = sigma_i^2 c2 / theta,
    d2_ij = sum_k (a_ik - a_jk)^2,

with nu the noise of a coordinate. A strong spike is kept as it is; one at the edge, whose axis is
mostly noise, fades to nothing, so that a weak direction does less harm than leaving it out would.
The number of spikes is the effective rank. No spike means no geometry that can be told from noise.

Edges come from matrices of noise alone, the same sums under balanced random signs on the folds. The
first eigenvalue must exceed all of them and their mean by 2.33 deviations: with K draws a corpus
without signal is given a direction about once in K + 1 times. Then directions are tested in turn:
those found are projected out of every draw, and the next eigenvalue must exceed the mean top of
what is left by 2 deviations. A direction found also takes one dimension from the types: noise of
m positions and V types has the edge (sqrt m + sqrt V)^2 - V, so the k-th edge is lowered by

    [(sqrt(m - k) + sqrt(V - k))^2 - V] / [(sqrt(m - k) + sqrt V)^2 - V],

which is nothing for a text and a fifth for 25 amino acids and ten directions. A spike must also
exceed 2.05 sqrt m, which noise of unit variance does once in twenty times. On few positions the
sign edge can lie below that, and under strong drift too: the pilot then follows the counts, and
what is left for the signs is less than the noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.debiased.folded import Floats

CORE_NOISE = 0.02
FAR = 10.0
"""A position this many times its noise from the core is known well enough, however noisy it is."""
LEAST_EDGE = 2.05
FIRST_DEVIATIONS = 2.33
NEXT_DEVIATIONS = 2.0
LANCZOS_FROM = 160


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


def core_of(sigma_squared: Floats, squares: Floats) -> NDArray[np.int64]:
    """Return the positions counted well enough to be estimated."""
    noise = np.sqrt(2.0) * sigma_squared
    quiet = noise <= CORE_NOISE
    if not quiet.any():
        return np.flatnonzero(quiet)
    far = np.median(squares[:, quiet], axis=1) >= FAR * noise
    return np.flatnonzero(quiet | far)


def whitened(squares: Floats, sigma: Floats, tokens: Floats) -> Floats:
    """Return M for squared distances between core positions."""
    share = tokens / tokens.sum()
    rows = squares @ share
    gram = -0.5 * (squares - rows[:, None] - rows[None, :] + share @ rows)
    matrix: Floats = gram / np.outer(sigma, sigma)
    return matrix


def noise_edges(
    squares: Floats, flipped: Floats, sigma: Floats, tokens: Floats, *, types: int
) -> Floats:
    """Return what each eigenvalue had to exceed, in turn; the last one was not exceeded.

    `flipped` are squares under signs and `types` the dimensions that noise has. Without a draw, or
    with fewer than two positions or types, no edge is known and nothing exceeds it.
    """
    most = min(len(squares) - 1, types)
    if most < 1 or not len(flipped):
        return np.array([np.inf])
    values, axes = np.linalg.eigh(whitened(squares, sigma, tokens))
    values, axes = values[::-1], axes[:, ::-1]
    noise = [whitened(one, sigma, tokens) for one in flipped]
    edges = [_edge(noise, 0, types)]
    # Taking directions out lowers every top (interlacing), so all these exceed their own edge too.
    found = min(int((values > edges[0]).sum()), most)
    edges *= max(found, 1)
    while 0 < found < most:
        left = [_without(one, axes[:, :found]) for one in noise]
        edges.append(_edge(left, found, types))
        if values[found] <= edges[-1]:
            return np.array(edges)
        found += 1
    return np.array([*edges, np.inf] if found else edges)


def _edge(noise: list[Floats], found: int, types: int) -> float:
    """Return the edge of the next direction, after `found` of them were taken out of the noise."""
    m = len(noise[0])
    tops = np.array([top_eigenvalue(one) for one in noise])
    deviation = float(tops.std(ddof=1)) if len(tops) > 1 else 0.0
    signs = float(tops.mean()) + (NEXT_DEVIATIONS if found else FIRST_DEVIATIONS) * deviation
    if found:
        left, all_types = _bulk(m, found, types - found), _bulk(m, found, types)
        signs *= (left - types) / (all_types - types)
    else:
        signs = max(signs, float(tops.max()))
    return max(signs, LEAST_EDGE * float(np.sqrt(m)))


def _bulk(m: int, found: int, types: int) -> float:
    return float((np.sqrt(m - found) + np.sqrt(types)) ** 2)


def _without(matrix: Floats, axes: Floats) -> Floats:
    """Project directions out on both sides."""
    if not axes.size:
        return matrix
    half = matrix - axes @ (axes.T @ matrix)
    projected: Floats = half - (half @ axes) @ axes.T
    return projected


def top_eigenvalue(matrix: Floats) -> float:
    """Return the largest eigenvalue; of large matrices by Lanczos, which needs it alone."""
    if len(matrix) < LANCZOS_FROM:
        return float(np.linalg.eigvalsh(matrix)[-1])
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).normal(size=len(matrix))
    return float(eigsh(matrix, k=1, which="LA", tol=1e-3, v0=start, return_eigenvectors=False)[0])


def low_rank(
    squares: Floats, sigma: Floats, tokens: Floats, *, edge: float, rank: int | None = None
) -> LowRank:
    """Keep what exceeds the edge, or exactly `rank` directions."""
    values, axes = np.linalg.eigh(whitened(squares, sigma, tokens))
    values, axes = values[::-1], axes[:, ::-1]
    kept = int((values > edge).sum()) if rank is None else rank
    top = values[:kept]
    free = len(squares) - np.arange(kept)  # each direction leaves one less for the noise
    theta = 0.5 * (top + np.sqrt(np.maximum(top**2 - 4.0 * free, 0.0)))
    cosine = np.maximum(1.0 - free / theta**2, 0.0)
    coordinates = sigma[:, None] * axes[:, :kept] * np.sqrt(theta * cosine)
    noise = sigma[:, None] ** 2 * cosine / theta
    return LowRank(
        rank=kept,
        eigenvalues=values,
        coordinates=coordinates,
        noise=noise,
        squares=_squares(coordinates),
    )


def _squares(coordinates: Floats) -> Floats:
    own = (coordinates**2).sum(axis=1)
    squares = own[:, None] + own[None, :] - 2.0 * coordinates @ coordinates.T
    np.fill_diagonal(squares, 0.0)
    positive: Floats = np.maximum(squares, 0.0)  # up to rounding they are
    return positive
