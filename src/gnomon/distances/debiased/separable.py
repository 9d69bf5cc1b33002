"""The weights s_iv as a short sum of products, so that sums over types cost m V, not m^2 V.

Inside a class the expected count of a type varies by a factor of two, and s is a smooth function of
its logarithm. On R Chebyshev nodes x_r of that range, with l_r the Lagrange polynomials,

    s(N_i p_v) = sum_r s(N_i exp x_r) l_r(log p_v) + error,

the error of interpolating sqrt(t / (t + 2)) over an octave being below 1e-8 for R = 8 (measured).
Then sum_v f_iv s_jv = sum_r (sum_v f_iv l_r(v)) s_jr.
"""

from __future__ import annotations

import numpy as np

from gnomon.distances.debiased.folded import Floats

NODES = 8


def chebyshev_nodes(values: Floats, nodes: int = NODES) -> Floats:
    """Return Chebyshev nodes that span the values; one node where they are all equal."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return np.array([0.5 * (low + high)])
    angles = np.pi * (np.arange(nodes) + 0.5) / nodes
    spread: Floats = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(angles)
    return spread


def lagrange(values: Floats, nodes: Floats) -> Floats:
    """Return l_r(value), values x nodes, in the barycentric form.

    >>> lagrange(np.array([0.5]), np.array([0.0, 1.0]))
    array([[0.5, 0.5]])
    """
    if len(nodes) == 1:
        return np.ones((len(values), 1))
    gaps = nodes[:, None] - nodes[None, :] + np.eye(len(nodes))
    weights = 1.0 / gaps.prod(axis=1)
    distance = values[:, None] - nodes[None, :]
    hit = np.abs(distance) < 1e-15
    terms = weights / np.where(hit, 1.0, distance)
    basis = terms / terms.sum(axis=1, keepdims=True)
    found: Floats = np.where(hit.any(axis=1, keepdims=True), hit.astype(np.float64), basis)
    return found
