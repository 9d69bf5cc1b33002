"""What the tangent of the square root misses, for types that are counted well.

U products take sqrt p along its tangent at the pilot, r = sqrt q / 2 + p / (2 sqrt q). Where the
laws of positions differ so much that no pilot in between is near (a token that is common here and
never there), the tangent lies above the root: at p = 0 it is sqrt q / 2. With x the count and
n = N / c the independent observations,

    delta = sqrt(x / N) - r + b,     b = sqrt q - E sqrt(X / n),  X ~ Poisson(n q),

is the gap itself, with mean zero where p = q. The root r + a delta, a = l^4 / (l^4 + 8^4) with
l = n p_v the expected count, takes the place of r; since delta knows no folds, the mean of its own
noise at p = q is taken off,

    s_i s_j { o_i + o_j - 2 [(r_i + a_i delta_i)(r_j + a_j delta_j) - r_i r_j] },
    o = 2 a (r delta - E r delta) + a^2 (delta^2 - E delta^2).

E sqrt X and E X^(3/2) = l E sqrt(X + 1) of a Poisson count are tabulated.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gnomon.distances.debiased.drift import expected
from gnomon.distances.debiased.folded import Floats, FoldedCounts
from gnomon.distances.debiased.pilot import Pilot

COUNTED = 8.0
_POWER = 4
_RANGE = (1e-3, 1e7)
_EXACT_UP_TO = 400.0
_NODES = 4000


def remainder(folded: FoldedCounts, types: slice, seen: Floats, at: Pilot) -> Floats | None:
    """Return what to add to the energy of every pair; None where no type is counted well."""
    means = expected(folded, types)
    if means.max() < COUNTED / 2.0:
        return None
    trust = _trust(means)
    observations = folded.tokens[:, None] / folded.type_inflation[types]
    shares = seen / folded.tokens[:, None]
    tangent = 0.5 * at.root + 0.5 * shares / at.root
    gap, noise_product, noise_square = _gap(shares, tangent, at.root, observations)
    own = 2.0 * trust * (tangent * gap - noise_product) + trust**2 * (gap**2 - noise_square)
    half = at.summed(at.weight * own)
    straight = at.weight * tangent
    bent = straight + at.weight * trust * gap
    added: Floats = half + half.T - 2.0 * (bent @ bent.T - straight @ straight.T)
    return added


def corrected(shares: Floats, level: float, law: Floats) -> tuple[Floats, Floats]:
    """Return what is taken for sqrt p and p of cells that expect `level`, at the pilot law q."""
    root, observations = np.sqrt(law), np.full(law.shape, level)
    tangent = 0.5 * root + 0.5 * shares / root
    own = shares + 0.25 * ((shares - law) ** 2 / law - shares / (level * law))
    trust = _trust(observations)
    gap, noise_product, noise_square = _gap(shares, tangent, root, observations)
    own += 2.0 * trust * (tangent * gap - noise_product) + trust**2 * (gap**2 - noise_square)
    return tangent + trust * gap, own


def _trust(means: Floats) -> Floats:
    trust: Floats = means**_POWER / (means**_POWER + COUNTED**_POWER)
    return trust


def _gap(
    shares: Floats, tangent: Floats, root: Floats, observations: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return delta, E r delta and E delta^2."""
    scale = np.sqrt(observations)
    expectation = observations * root**2
    root_mean, shifted_mean = expected_roots(expectation)
    mean = root_mean / scale
    shift = root - mean
    with_root = 0.5 * root * mean + 0.5 * root * shifted_mean / scale  # E r sqrt(X / n)
    square = root**2 + 0.25 / observations  # E r^2
    product = with_root + shift * root - square
    gap_square = root**2 + shift**2 + square + 2.0 * shift * mean - 2.0 * with_root
    return np.sqrt(shares) + shift - tangent, product, gap_square - 2.0 * shift * root


def expected_roots(means: Floats) -> tuple[Floats, Floats]:
    """Return E sqrt X and E sqrt(X + 1) of Poisson counts with these means.

    >>> found = expected_roots(np.array([1.0]))
    >>> [round(float(value[0]), 4) for value in found]
    [0.7732, 1.3727]
    """
    clipped = np.clip(means, *_RANGE)
    ratios = _ratios()(np.log(clipped))
    return ratios[..., 0] * np.sqrt(clipped), ratios[..., 1] * np.sqrt(clipped + 1.0)


@lru_cache(maxsize=1)
def _ratios() -> Any:
    """Return E sqrt X / sqrt l and E sqrt(X + 1) / sqrt(l + 1) as a spline over log l."""
    from scipy.interpolate import CubicSpline
    from scipy.stats import poisson

    least, most = np.log(_RANGE)
    logs = np.linspace(least, most, _NODES)
    means = np.exp(logs)
    roots = np.sqrt(means) * (1.0 - 1.0 / (8.0 * means) - 7.0 / (128.0 * means**2))
    shifted = np.sqrt(means) * (1.0 + 3.0 / (8.0 * means) + 1.0 / (128.0 * means**2))
    few = means < _EXACT_UP_TO
    counts = np.arange(int(_EXACT_UP_TO + 12.0 * np.sqrt(_EXACT_UP_TO)))
    for k in np.flatnonzero(few):
        law = poisson.pmf(counts, means[k])
        roots[k], shifted[k] = law @ np.sqrt(counts), law @ np.sqrt(counts + 1.0)
    ratios = np.stack([roots / np.sqrt(means), shifted / np.sqrt(means + 1.0)], axis=1)
    return CubicSpline(logs, ratios)
