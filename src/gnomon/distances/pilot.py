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

The curvature ratio: how far the tangent of the square root misjudges the energy of a class.

Products of two positions need sqrt p along a straight line, and where few types change much no
tangent fits: a marker that is common at one place and never elsewhere has its secant, not its
tangent. What the estimator makes of a class on average can be computed if the law of theta, the
ratio of p_iv to p_v, is known. Types of one octave differ in it, some drift and most may not, so it
is a mixture of laws: type v has one of a few laws g_k, and each of its cells a theta of its own,

    k_v ~ pi,    theta_iv ~ g_k,    x'_iv ~ Poisson(lambda_iv theta_iv),

with g_k on a grid, fitted by EM to all cells of the class [kieferwolfowitz1956]. Positions whose
tau is of another size have g_k of their own, since what fills a slot of a template thins out all
other types there. A type is known by all of its cells together, which tells a marker from a type
that stands still even where no single count could. With q(X) the pilot of a count X ~ Poisson(l
theta), in units of p_v,

    r = sqrt q / 2 + (X/l) / (2 sqrt q),   o = X/l + [(X/l - q)^2 / q - X / (l^2 q)] / 4

(and the terms of `remainder`) are what the estimator takes for sqrt theta and for theta, so that

    kap = sum n_k w_ij [E theta_i + E theta_j - 2 E sqrt theta_i E sqrt theta_j]
          / sum n_k w_ij [E o_i + E o_j - 2 E r_i E r_j],    w_ij = s_i s_j (1/N_i + 1/N_j)^-2,

over laws and pairs of positions i != j, n_k types of law k, is the ratio of the true energy to what
the estimator finds of it, in one number for the types of a class that stand out and in one for the
others: an unbiased zero stays zero.

What the tangent of the square root misses, for types that are counted well.

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

The weights s_iv as a short sum of products, so that sums over types cost m V, not m^2 V.

Inside a class the expected count of a type varies by a factor of two, and s is a smooth function of
its logarithm. On R Chebyshev nodes x_r of that range, with l_r the Lagrange polynomials,

    s(N_i p_v) = sum_r s(N_i exp x_r) l_r(log p_v) + error,

the error of interpolating sqrt(t / (t + 2)) over an octave being below 1e-8 for R = 8 (measured).
Then sum_v f_iv s_jv = sum_r (sum_v f_iv l_r(v)) s_jr.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.distances.drift import DOUBTLESS, KAPPA, Drift, excess, expected_counts, mass_excess
from gnomon.distances.folds import Block, Floats, FoldedCounts

_FLOOR = 0.02
_LEAST_TOKENS = 30
_LEAST_EXPECTED = 0.03
"""A class is judged where some cell expects this much."""
_COUNTED = 256.0
"""Classes whose cells expect this much by the mean are left to `remainder`."""
_CERTAIN = 2.0
"""Deviations by which the dispersion of a class must exceed Poisson's to be judged."""
_KAPPA_RANGE = (0.2, 6.0)
_TOKEN_BINS, _TYPE_BINS = 6, 3
_ENERGY_EDGES = (0.25, 1.0, 4.0, 16.0)
"""Positions whose tau lies between two of these share the laws of theta."""
_SMALLEST, _BELOW, _ABOVE = 0.03, 20, 30
"""The grid of theta: 0, points from the smallest to 1, points from 1 up."""
_SPREADS = (0.02, 0.3, 1.0)
"""Where the laws begin: log-normal of these deviations, and one flat in the logarithm."""
_CYCLES = 20
"""Of three steps of EM, at most."""
_FURTHEST = 64.0
_ENOUGH = 1e-4
COUNTED = 8.0
_POWER = 4
_MEANS = (1e-3, 1e7)
_EXACT_UP_TO = 400.0
_TABULATED = 4000
NODES = 8


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

    def sum_pairs(self, values: Floats) -> Floats:
        """Return sum_v values_iv s_jv for every pair, by the short sum of products."""
        pairs: Floats = (values @ self.basis) @ self.at_nodes.T
        return pairs

    def sum_square_pairs(self, factors: Floats) -> Floats:
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
    means, law = expected_counts(folded, types), folded.pooled[types]
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


def curvature(folded: FoldedCounts, drift: Drift) -> Floats:
    """Return kap of every type: one for those of a class that stand out, one for the others.

    It is 1 where the class does not drift beyond doubt, or counts well.
    """
    ratios = np.ones(len(folded.type_tokens))
    certain = np.maximum(excess(folded, drift), mass_excess(folded))
    for c in np.flatnonzero(certain > _CERTAIN):
        cells = _cells(folded, drift, int(c))
        if cells is not None:
            types = slice(*folded.class_bounds[c : c + 2])
            ratios[types] = _kappas(cells, drift.outstanding[types])
    return ratios


@dataclass(frozen=True, kw_only=True)
class _Cells:
    """The cells of a class by place, kind of type and count: how many of each type."""

    number: csr_array
    """types x cells."""
    place: NDArray[np.int64]
    """cells: positions of like N_i and tau_i."""
    kind: NDArray[np.int64]
    """cells: types of like p_v."""
    observed: Floats
    """cells: x'."""
    kinds: NDArray[np.int64]
    """types: the kind of each."""
    means: Floats
    """places x kinds: lambda."""
    pairs: Floats
    """places x places: the weight of the pairs of positions in them."""
    group: NDArray[np.int64]
    """places: which of them share the laws of theta."""
    shared: Floats
    """places: the drift energy of types without one of their own."""
    mass: Floats
    """places: mu."""
    own: Floats
    """types: the drift energy of those with one, else 0."""


def _cells(folded: FoldedCounts, drift: Drift, c: int) -> _Cells | None:
    types = slice(*folded.class_bounds[c : c + 2])
    rates = folded.pooled[types] / folded.type_inflation[types]
    rows = np.flatnonzero(folded.tokens >= _LEAST_TOKENS)
    tokens, tau = folded.tokens[rows], drift.positions[rows]
    if not rows.size or tokens.max() * rates.max() < _LEAST_EXPECTED:
        return None
    if (tokens**2).sum() / tokens.sum() * (rates**2).sum() / rates.sum() >= _COUNTED:
        return None
    band = np.searchsorted(_ENERGY_EDGES, tau)
    group = np.unique(band, return_inverse=True)[1]
    place = np.unique(_bin(tokens, _TOKEN_BINS) * (group.max() + 1) + group, return_inverse=True)[1]
    kinds = _bin(rates, _TYPE_BINS)
    positions = np.bincount(place).astype(np.float64)
    number, held, span = _number_cells(folded.seen(types)[rows], place, kinds)
    return _Cells(
        number=number,
        place=held // span // (kinds.max() + 1),
        kind=held // span % (kinds.max() + 1),
        observed=(held % span) / float(folded.type_inflation[types.start]),
        kinds=kinds,
        means=np.outer(
            np.bincount(place, weights=tokens) / positions,
            np.bincount(kinds, weights=rates) / np.bincount(kinds),
        ),
        pairs=_pairs(tokens, place),
        group=(np.bincount(place, weights=group) / positions).round().astype(np.int64),
        shared=drift.factors[types.start] * np.bincount(place, weights=tau) / positions,
        mass=np.bincount(place, weights=drift.masses[c][rows]) / positions,
        own=drift.types[types],
    )


def _pairs(tokens: Floats, place: NDArray[np.int64]) -> Floats:
    """Return the sums over pairs i != j of (1/N_i + 1/N_j)^-2, by the places of both."""
    weights = (1.0 / tokens[:, None] + 1.0 / tokens[None, :]) ** -2.0
    np.fill_diagonal(weights, 0.0)
    held = np.eye(place.max() + 1)[place]
    pairs: Floats = held.T @ weights @ held
    return pairs


def _bin(values: Floats, bins: int) -> NDArray[np.int64]:
    """Return the quantile bin of every value; bins that hold none are left out."""
    edges = np.quantile(values, np.linspace(0.0, 1.0, bins + 1)[1:-1])
    _, found = np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)
    return found


def _number_cells(
    seen: Floats, place: NDArray[np.int64], kinds: NDArray[np.int64]
) -> tuple[csr_array, NDArray[np.int64], int]:
    """Return types x cells, the key (place, kind, count) of each cell, and how many counts."""
    types, span, width = seen.shape[1], int(seen.max()) + 1, int(kinds.max()) + 1
    row, column = np.nonzero(seen)
    keys = (place[row] * width + kinds[column]) * span + seen[row, column].astype(np.int64)
    positions = np.bincount(place)
    shape = (types, len(positions) * width * span)
    filled = csr_array((np.ones(len(keys)), (column, keys)), shape=shape)
    empty = np.tile(positions.astype(np.float64), (types, 1))
    np.subtract.at(empty, (column, place[row]), 1.0)
    every, type_of = (
        np.tile(np.arange(len(positions)), types),
        np.repeat(np.arange(types), len(positions)),
    )
    zeros = (every * width + kinds[type_of]) * span
    filled = filled + csr_array((empty.ravel(), (type_of, zeros)), shape=shape)
    held = np.flatnonzero(filled.sum(axis=0))
    return csr_array(filled[:, held]), held, span


def _kappas(cells: _Cells, outstanding: NDArray[np.bool_]) -> Floats:
    """Return kap of the types of a class."""
    theta, laws, resp = _fit(cells)
    above, below = np.zeros(2), np.zeros(2)
    groups = np.where(outstanding, 4, 0) + _thirds(cells.own)
    for kind in range(cells.means.shape[1]):
        means = cells.means[:, kind]
        chances = [
            (level, mass, group, *_chance(level, theta, laws[:, group]))
            for level, mass, group in zip(means, cells.mass, cells.group, strict=True)
        ]
        held = np.unique(groups[cells.kinds == kind])
        parts = [(groups == group) & (cells.kinds == kind) for group in held]
        own = np.array([cells.own[part].mean() for part in parts])
        moments = [
            _moments(*one, np.maximum(shared, own), theta, laws)
            for one, shared in zip(chances, cells.shared, strict=True)
        ]
        for part, group, made in zip(parts, held, np.stack(moments, axis=1), strict=True):
            types, apart = resp[part].sum(axis=0), int(group > 3)
            true, found = _energies(made, means, cells.pairs)
            above[apart] += float(types @ true)
            below[apart] += float(types @ found)
    ratio = np.divide(above, below, out=np.ones(2), where=below > 0.0)
    kap: Floats = np.clip(ratio, *_KAPPA_RANGE)[outstanding.astype(np.int64)]
    return kap


def _energies(moments: Floats, means: Floats, pairs: Floats) -> tuple[Floats, Floats]:
    """Return for every law the energy over all pairs of positions, and what is found of it."""
    weight = np.sqrt(means / (means + KAPPA))
    among = weight[:, None] * pairs * weight
    roots, shares, found_roots, found_shares = np.moveaxis(moments, 1, 0)
    true = among.sum(axis=0) @ shares - (roots * (among @ roots)).sum(axis=0)
    found = among.sum(axis=0) @ found_shares - (found_roots * (among @ found_roots)).sum(axis=0)
    return true, found


def _thirds(own: Floats) -> NDArray[np.int64]:
    """Return 0 for types without a drift of their own, else the third of its size."""
    thirds = np.zeros(len(own), np.int64)
    selected = np.flatnonzero(own > 0.0)
    order = selected[np.argsort(own[selected], kind="stable")]
    for third, part in enumerate(np.array_split(order, 3), 1):
        thirds[part] = third
    return thirds


def _fit(cells: _Cells) -> tuple[Floats, Floats, Floats]:
    """Return the points of theta, the laws (by group), and how likely each type is to have each.

    EM, each two steps of which are followed further along their own curve [varadhan2008].
    """
    mixture = _mixture(cells)
    laws = np.repeat(_first_laws(mixture.theta)[:, None], len(mixture.groups), axis=1)
    before, state = -np.inf, (np.full(len(laws), 1.0 / len(laws)), laws)
    for _ in range(_CYCLES):
        first, _, now = mixture.step(*state)
        second, resp, _ = mixture.step(*first)
        if now - before < _ENOUGH * len(resp):
            break
        before = now
        jumped = tuple(map(_further, state, first, second))
        state, _, reached = mixture.step(*jumped)
        if reached < now:
            state = second
    return mixture.theta, second[1], resp


def _further(start: Floats, first: Floats, second: Floats) -> Floats:
    """Return chances further along the curve of two steps of EM."""
    change = first - start
    bend = second - first - change
    size = float(np.sqrt(np.sum(change**2) / max(float(np.sum(bend**2)), 1e-300)))
    size = min(max(size, 1.0), _FURTHEST)
    made = np.maximum(start + 2.0 * size * change + size**2 * bend, 1e-12)
    further: Floats = made / made.sum(axis=-1, keepdims=True)
    return further


@dataclass(frozen=True, kw_only=True)
class _Mixture:
    """What the steps of EM share."""

    cells: _Cells
    turned: csr_array
    """cells x types."""
    theta: Floats
    likelihood: Floats
    """cells x theta, each row up to a factor."""
    groups: list[NDArray[np.int64]]
    """For every group of places: its cells."""

    def step(self, share: Floats, laws: Floats) -> tuple[tuple[Floats, Floats], Floats, float]:
        """Return better shares and laws, how likely each type had each, and the likelihood."""
        chance = np.empty((len(self.likelihood), len(laws)))
        for g, own in enumerate(self.groups):
            chance[own] = self.likelihood[own] @ laws[:, g].T
        np.maximum(chance, 1e-300, out=chance)
        support = self.cells.number @ np.log(chance) + np.log(share)
        top = support.max(axis=1, keepdims=True)
        resp = np.exp(support - top)
        total = resp.sum(axis=1, keepdims=True)
        resp /= total
        gain = (self.turned @ resp) / chance
        better = np.stack(
            [
                laws[:, g] * (gain[own].T @ self.likelihood[own])
                for g, own in enumerate(self.groups)
            ],
            axis=1,
        )
        better /= np.maximum(better.sum(axis=2, keepdims=True), 1e-300)
        likely = float((np.log(total) + top).sum())
        return (np.maximum(resp.mean(axis=0), 1e-12), better), resp, likely


def _mixture(cells: _Cells) -> _Mixture:
    means = cells.means[cells.place, cells.kind]
    theta = _grid(1.2 * float((cells.observed / np.maximum(means, 0.5)).max()))
    rates = np.outer(means, theta)
    logs = np.log(np.maximum(rates, 1e-300)) * cells.observed[:, None] - rates
    return _Mixture(
        cells=cells,
        turned=csr_array(cells.number.T),
        theta=theta,
        likelihood=np.exp(logs - logs.max(axis=1, keepdims=True)),
        groups=[
            np.flatnonzero(cells.group[cells.place] == g) for g in range(cells.group.max() + 1)
        ],
    )


def _grid(largest: float) -> Floats:
    upper = np.geomspace(1.0, max(3.0, largest), _ABOVE + 1)
    lower = np.geomspace(_SMALLEST, 1.0, _BELOW, endpoint=False)
    return np.concatenate([[0.0], lower, upper])


def _first_laws(theta: Floats) -> Floats:
    logs = np.log(np.maximum(theta, 0.3 * _SMALLEST))
    laws = [np.exp(-0.5 * (logs / spread) ** 2) + 1e-6 for spread in _SPREADS]
    laws.append(np.ones(len(theta)))
    return np.array([law / law.sum() for law in laws])


def _chance(level: float, theta: Floats, laws: Floats) -> tuple[Floats, Floats]:
    """Return counts of cells that expect `level`, and how likely each is under every law."""
    from scipy.special import gammaln

    most = level * theta.max()
    counts = np.arange(int(most + 10.0 * np.sqrt(most) + 20.0), dtype=np.float64)
    rates = np.maximum(level * theta, 1e-300)[:, None]
    return counts, laws @ np.exp(counts * np.log(rates) - rates - gammaln(counts + 1.0))


def _moments(
    level: float,
    mass: float,
    group: int,
    counts: Floats,
    chance: Floats,
    energies: Floats,
    theta: Floats,
    laws: Floats,
) -> Floats:
    """Return E sqrt theta, E theta, E r and E o for cells that expect `level`.

    Energies x these four x laws.
    """
    shape = (len(energies), len(counts))
    seen, drift = np.broadcast_to(counts, shape), np.broadcast_to(energies[:, None], shape)
    law = mass * relative_pilot(seen, np.full(shape, mass * level), drift)
    root, own = root_and_share(counts / level, level, law)
    true = laws[:, group] @ np.stack([np.sqrt(theta), theta], axis=1)
    found = np.stack([root @ chance.T, own @ chance.T], axis=1)
    return np.concatenate([np.broadcast_to(true.T, found.shape), found], axis=1)


def remainder(folded: FoldedCounts, types: slice, seen: Floats, at: Pilot) -> Floats | None:
    """Return what to add to the energy of every pair; None where no type is counted well."""
    means = expected_counts(folded, types)
    if means.max() < COUNTED / 2.0:
        return None
    trust = _trust(means)
    observations = folded.tokens[:, None] / folded.type_inflation[types]
    shares = seen / folded.tokens[:, None]
    tangent = 0.5 * at.root + 0.5 * shares / at.root
    gap, noise_product, noise_square = _gap(shares, tangent, at.root, observations)
    own = 2.0 * trust * (tangent * gap - noise_product) + trust**2 * (gap**2 - noise_square)
    half = at.sum_pairs(at.weight * own)
    straight = at.weight * tangent
    bent = straight + at.weight * trust * gap
    added: Floats = half + half.T - 2.0 * (bent @ bent.T - straight @ straight.T)
    return added


def root_and_share(shares: Floats, level: float, law: Floats) -> tuple[Floats, Floats]:
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
    clipped = np.clip(means, *_MEANS)
    ratios = _root_table()(np.log(clipped))
    return ratios[..., 0] * np.sqrt(clipped), ratios[..., 1] * np.sqrt(clipped + 1.0)


@lru_cache(maxsize=1)
def _root_table() -> Any:
    """Return E sqrt X / sqrt l and E sqrt(X + 1) / sqrt(l + 1) as a spline over log l."""
    from scipy.interpolate import CubicSpline
    from scipy.stats import poisson

    least, most = np.log(_MEANS)
    logs = np.linspace(least, most, _TABULATED)
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
