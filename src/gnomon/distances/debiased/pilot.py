"""The pilot: where the square root is linearised, and how much each type counts.

With lambda_iv the expected number of independent observations, rho_iv the relative deviation and t
the drift energy that is expected of the cell (`drift`),

    s_iv^2 = kap_c lambda / (lambda + kappa)                              weight of a type
    t_iv   = max(R_c tau_i, tau_v),  at least rho^2 - 1/lambda where that is beyond doubt
    q_iv   = mu_ic p-_v max(1 + w rho, 0.02),   w = mu lambda t / (1 + mu lambda t)

with rho about mu, the mass of the class there.

Without drift q is the pooled law and the estimator an exactly unbiased chi-square/4; with strong
drift and many tokens q is x/N and the estimator the square root with its 1/(4N) variance taken off.
One formula serves both ends. In between, the tangent at q is too steep or too flat by a factor that
the laws of the class tell: kap_c of `curvature`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.distances.debiased.drift import DOUBTLESS, KAPPA, Drift, expected
from gnomon.distances.debiased.folded import Block, Floats, FoldedCounts
from gnomon.distances.debiased.separable import chebyshev_nodes, lagrange

_FLOOR = 0.02


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """The pilot of one block of types: all arrays are positions x types."""

    weight: Floats
    """s."""
    root: Floats
    """sqrt q."""
    basis: Floats
    """types x nodes: Lagrange polynomials of the types."""
    at_nodes: Floats
    """positions x nodes: the weight at each node, so that weight = at_nodes basis^T."""
    curvature: float = 1.0
    """kap_c, a factor of the squared weights that is no part of the measured mass."""

    def summed(self, values: Floats) -> Floats:
        """Return sum_v values_iv s_jv for every pair, by the short sum of products."""
        pairs: Floats = (values @ self.basis) @ self.at_nodes.T
        return pairs

    def summed_squares(self, factors: Floats) -> Floats:
        """Return sum_v factors_v s_iv^2 s_jv^2 for every pair: s^2 is as smooth as s."""
        squares = np.square(self.at_nodes)
        pairs: Floats = squares @ ((self.basis.T * factors) @ self.basis) @ squares.T
        return pairs


def pilot(folded: FoldedCounts, block: Block, drift: Drift, kap: Floats | None = None) -> Pilot:
    """Return weights and pilot law of a block of types."""
    return pilot_of(folded, block.types, block.counts.sum(axis=1), drift, kap)


def pilot_of(
    folded: FoldedCounts, types: slice, seen: Floats, drift: Drift, kap: Floats | None = None
) -> Pilot:
    """Return weights and pilot law of types of one class, from their counts over all folds."""
    means, law = expected(folded, types), folded.pooled[types]
    observed = seen / folded.type_inflation[types]
    mass = drift.mass(types)[:, None]
    shape = relative_pilot(observed, mass * means, drift.energies(types), drift.doubtless)
    shape *= mass
    shape *= folded.pooled_less_one[types]
    rates = np.log(law / folded.type_inflation[types])
    nodes = chebyshev_nodes(rates)
    factor = 1.0 if kap is None else float(kap[types.start])
    return Pilot(
        weight=_weight(means, factor),
        root=np.sqrt(shape, out=shape),
        basis=lagrange(rates, nodes),
        at_nodes=_weight(np.outer(folded.tokens, np.exp(nodes)), factor),
        curvature=factor,
    )


def relative_pilot(
    observed: Floats,
    means: Floats,
    energies: Floats,
    doubtless: float = DOUBTLESS,
    floor: float = _FLOOR,
) -> Floats:
    """Return q / p- for independent observations x', expected counts and drift energies t.

    Beyond the deviance `doubtless` a count is no chance, and tells its drift itself.
    """
    rho = observed / means
    rho -= 1.0
    trust = energies * means
    # The deviance is at most twice lambda rho^2: few cells need its logarithm.
    far = np.flatnonzero(2.0 * means * rho * rho > doubtless)
    if far.size:
        count, mean, own = observed.flat[far], means.flat[far], rho.flat[far]
        logs = np.log(np.maximum(count, np.finfo(float).tiny) / mean)
        beyond = 2.0 * (count * logs - count + mean) > doubtless
        sure = np.where(beyond, mean * own**2 - 1.0, -np.inf)
        trust.flat[far] = np.maximum(trust.flat[far], sure)
    trust /= 1.0 + trust
    rho *= trust
    rho += 1.0
    shape: Floats = np.maximum(rho, floor, out=rho)
    return shape


def _weight(means: Floats, factor: float) -> Floats:
    weight: Floats = np.sqrt(factor * means / (means + KAPPA))
    return weight
