"""The pilot: where the square root is linearised, and how much each type counts.

With lambda_iv = N_i p_v / c_v the expected number of independent observations (c_v is the inflation
of `folded`, 1 for independent tokens) and rho_iv = x_iv / (N_i p_v) - 1 the relative deviation,

    s_iv^2 = lambda / (lambda + kappa)                                    weight of a type
    tau_i  = max(0, [sum_v s^2 p rho^2 - sum_v s^2 (x/N_i)/lambda] / sum_v s^2 p)
    q_iv   = p-_v max(1 + w rho, 0.02),   w = lambda tau_i / (1 + lambda tau_i)

tau_i is the unbiased relative drift energy of position i. Without drift q is the pooled law and
the estimator an exactly unbiased chi-square/4; with strong drift and many tokens q is x/N and the
estimator the square root with its 1/(4N) variance taken off. One formula serves both ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.geometry.debiased.folded import Block, Floats, FoldedCounts
from gnomon.geometry.debiased.separable import chebyshev_nodes, lagrange

KAPPA = 2.0
_FLOOR = 0.02
_WIDTH = 2048
"""Types of which tau is summed at a time."""


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

    def summed(self, values: Floats) -> Floats:
        """Return sum_v values_iv s_jv for every pair, by the short sum of products."""
        pairs: Floats = (values @ self.basis) @ self.at_nodes.T
        return pairs

    def summed_squares(self, factors: Floats) -> Floats:
        """Return sum_v factors_v s_iv^2 s_jv^2 for every pair: s^2 is as smooth as s."""
        squares = np.square(self.at_nodes)
        pairs: Floats = squares @ ((self.basis.T * factors) @ self.basis) @ squares.T
        return pairs


def expected(folded: FoldedCounts, types: slice) -> Floats:
    """Return lambda_iv = N_i p_v / c_v of some types."""
    law = folded.pooled[types] / folded.type_inflation[types]
    return folded.tokens[:, None] * law


def drift_energy(folded: FoldedCounts) -> Floats:
    """Return tau_i for every position."""
    above, below = np.zeros(folded.size), np.zeros(folded.size)
    tokens = folded.tokens[:, None]
    for start in range(0, len(folded.type_tokens), _WIDTH):
        types = slice(start, start + _WIDTH)
        shares, means, law = folded.seen(types), expected(folded, types), folded.pooled[types]
        shares /= tokens
        squares = means / (means + KAPPA)
        deviation = shares / law - 1.0
        above += np.einsum("iv,iv,iv,v->i", squares, deviation, deviation, law)
        above -= np.einsum("iv,iv->i", squares, shares / means)
        below += squares @ law
    tau: Floats = np.maximum(above / below, 0.0)
    return tau


def pilot(folded: FoldedCounts, block: Block, tau: Floats) -> Pilot:
    """Return weights and pilot law of a block of types."""
    return pilot_of(folded, block.types, block.counts.sum(axis=1), tau)


def pilot_of(folded: FoldedCounts, types: slice, seen: Floats, tau: Floats) -> Pilot:
    """Return weights and pilot law of types of one class, from their counts over all folds."""
    means, law = expected(folded, types), folded.pooled[types]
    shape = seen / (folded.tokens[:, None] * law)
    shape -= 1.0
    trust = means * tau[:, None]
    shape *= trust / (1.0 + trust)
    shape += 1.0
    np.maximum(shape, _FLOOR, out=shape)
    shape *= folded.pooled_less_one[types]
    rates = np.log(law / folded.type_inflation[types])
    nodes = chebyshev_nodes(rates)
    return Pilot(
        weight=_weight(means),
        root=np.sqrt(shape, out=shape),
        basis=lagrange(rates, nodes),
        at_nodes=_weight(np.outer(folded.tokens, np.exp(nodes))),
    )


def _weight(means: Floats) -> Floats:
    weight: Floats = np.sqrt(means / (means + KAPPA))
    return weight
