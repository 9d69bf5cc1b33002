"""Whole classes of types that come and go together, which no single type of them tells.

Where a blank token takes 0.97 instead of 0.90 of a position all other types lose the same share,
and where half of the documents hold an id at a position that share is of types nobody else has. A
rare type says nothing of either; all types of its class together do, since their mass M_ic is
counted well. With D the squared distance of the laws inside a class, exactly

    d2_ij = sum_c { (sqrt M_ic - sqrt M_jc)^2 + sqrt(M_ic M_jc) D_ij,c }.

The first part, B_ij,c, needs nothing filled. It is estimated from the totals of the classes as
energies of types are (`energies`), about a pilot q_ic of its own, over all classes and the mass in
no class (types seen once). Merging types only shrinks a distance, so the sum of B is a lower bound.
What the types of a class measured of it, f_ij,c = sum_v p_v s_i s_j / M_c of it, is taken off their
energy; the rest W = E - f B is the second part, and only that teaches the class profile and is
filled. If the types of a class drift each on its own then B is of that by chance

    h_c = sum_v p_v^2 / M_c^2

of its energy, so what is left for W of the mass is 1 - h_c. A class of few types is one that its
types tell of themselves: where h_c exceeds a half, B is not split off.

A class that moves may keep its proportions, as beside a blank, or be of types that come in turn, as
where a vocabulary grows. Where its types are too rare to tell, the interval allows for as much
again as B.

Types met once are of no class. If others have them too they are as much more of a position as those
of the rarest classes are; what is beyond doubt more than that, and twice as much, is a mass that
the position shares with nobody, and as such stands in B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.drift import DOUBTLESS, KAPPA
from gnomon.distances.energies import LEARNING_TOKENS, Frame, Sums
from gnomon.distances.folds import Floats, FoldedCounts, Singles, quotient
from gnomon.distances.pilot import relative_pilot

_LEAST = 1e-4
"""The least of a pilot, as a share of the pooled law: totals may be nothing at a position."""
_RAREST = 3
"""Classes that tell how much more of a position rare types are which others may have too."""
_MANIFOLD = 2.0
"""Types met once are a position's own where they are so many times what they should be."""
_UNSEEN = 0.5
"""A standard error of this share of what was not measured of B: all of it at an interval's end."""
_FEW = 0.5
"""Where this share of the energy of a class is that of its total by chance, it is not split."""


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The classes of which B is split off, then the mass in no class, and types of
    single positions.
    """

    frame: Frame
    split: NDArray[np.int64]
    """Which classes of the types the first of these are."""
    chance: Floats
    """h_c of them."""
    pilot: Floats
    """m x K: q."""
    inflation: Floats
    """K: how much more than Poisson a count varies."""
    deviations: Floats
    """F x m x K: y_g."""
    measured: Floats
    """m x K: sqrt of f_ii, the share of a class that its types measured; 0 in no class."""

    @cached_property
    def squares(self) -> Floats:
        """Return B of every class and of the mass in none, K x m x m."""
        one = np.ones((len(self.pilot), 1))
        every = np.arange(len(self.split) + 1)[:, None]
        return np.stack([energies(_only(self, k), one, folds=False)[0] for k in every])

    @property
    def chance_squares(self) -> Floats:
        """Return two deviations of B of every class and of the mass in none, without drift."""
        per_token = 1.0 / self.frame.tokens
        pairs = (per_token[:, None] + per_token[None, :]) / np.sqrt(2.0)
        return self.inflation[: len(self.split) + 1, None, None] * pairs


def totals_of(data: FoldedCounts, missing: Floats, frame: Frame) -> Totals:
    """Return the totals of the classes; `missing` holds the tokens of no class, m x F."""
    bounds, law = data.class_bounds[:-1], data.pooled
    mass = np.add.reduceat(law, bounds)
    chance = np.add.reduceat(law**2, bounds) / mass**2
    split = np.flatnonzero(chance <= _FEW)
    counts = np.stack([*(_tokens(data, int(c)) for c in split), np.maximum(missing, 0.0)], axis=2)
    inflation = np.append(data.type_inflation[bounds][split], data.type_inflation[-1])
    pilot = _pilot(counts.sum(axis=1), data.tokens, inflation, len(split))
    own = _own(data, pilot)
    if own.any():
        counts = _with_own(counts, own, len(split))
        inflation = np.append(inflation, np.ones(np.count_nonzero(own)))
        pilot = _pilot(counts.sum(axis=1), data.tokens, inflation, len(split))
    deviations = np.moveaxis(counts, 1, 0) - data.fold_tokens.T[:, :, None] * pilot
    root = np.sqrt(pilot)
    deviations = quotient(deviations, root)
    return Totals(
        frame=frame,
        split=split,
        chance=chance[split],
        pilot=pilot,
        inflation=inflation,
        deviations=deviations,
        measured=_measured_share(data, split, len(inflation)),
    )


def _tokens(data: FoldedCounts, c: int) -> Floats:
    """Return the tokens of a class, m x F."""
    own = data.columns[:, slice(*data.class_bounds[c : c + 2])].sum(axis=1)
    return own.astype(np.float64).reshape(data.size, data.folds)


def _own(data: FoldedCounts, pilot: Floats) -> Floats:
    """Return which share of the mass in no class is of a position's own types; 0 of most.

    Types met once are as much more of a position as those of the rarest classes are, if others may
    have them too. What is beyond doubt more than that, and more than twice as much, nobody shares.
    """
    own = np.zeros(data.size)
    seen, missing = data.singles.sum(axis=1), data.missing().sum(axis=1)
    enough = data.tokens >= LEARNING_TOKENS
    if pilot.shape[1] < 2 or not enough.any() or not seen.any():
        return own
    law = data.tokens @ pilot[:, -1 - _RAREST : -1] / data.tokens.sum()
    lift = np.maximum((pilot[:, -1 - _RAREST : -1] / law).max(axis=1), 1e-3)
    usual = float(np.median((seen / data.tokens / lift)[enough]))
    means = np.maximum(usual * lift * data.tokens, 1.0)
    ratio = seen / means
    logs = np.log(np.maximum(ratio, np.finfo(float).tiny))
    beyond = 2.0 * (seen * logs - seen + means) > DOUBTLESS
    chosen = enough & beyond & (ratio > _MANIFOLD)
    own[chosen] = (seen - means)[chosen] / missing[chosen]
    return own


def _with_own(counts: Floats, own: Floats, none: int) -> Floats:
    """Give every position with types of its own a total of them, taken off those in no class."""
    rows = np.flatnonzero(own)
    added = np.zeros((*counts.shape[:2], len(rows)))
    added[rows, :, np.arange(len(rows))] = counts[rows, :, none] * own[rows, None]
    counts[..., none] *= 1.0 - own[:, None]
    return np.concatenate([counts, added], axis=2)


def _measured_share(data: FoldedCounts, split: NDArray[np.int64], totals: int) -> Floats:
    """Return sqrt(sum_v p_v s_iv^2 / M_c), m x totals; 0 of what is in no class."""
    law, rates = data.pooled, data.pooled / data.type_inflation
    found = np.zeros((data.size, totals))
    for k, c in enumerate(split):
        types = slice(*data.class_bounds[c : c + 2])
        # Types of an octave are alike, and their weights a smooth function of the rate.
        edges = np.quantile(rates[types], np.linspace(0.0, 1.0, 5)[1:-1])
        part = np.searchsorted(edges, rates[types], side="right")
        weight: Floats = np.bincount(part, weights=law[types], minlength=4).astype(np.float64)
        level = np.bincount(part, weights=(law * rates)[types], minlength=4).astype(np.float64)
        means = np.outer(data.tokens, quotient(level, weight))
        found[:, k] = np.sqrt(means / (means + KAPPA) @ (weight / weight.sum()))
    return found


def _pilot(counts: Floats, tokens: Floats, inflation: Floats, classes: int) -> Floats:
    """Return q_ic, drawn to what all classes together have of their usual mass at the position."""
    pilot = np.zeros_like(counts)
    known = np.flatnonzero(counts.sum(axis=0) > 0.0)
    law = counts[:, known].sum(axis=0) / tokens.sum()
    means, seen = np.outer(tokens, law / inflation[known]), (counts / inflation)[:, known]
    lift = np.ones((len(tokens), 1))
    shared = known < classes
    if shared.any():
        lift[:, 0] = _shrink(seen[:, shared].sum(axis=1), means[:, shared].sum(axis=1))
    means *= lift
    trust = means / (means + KAPPA) * law
    rho = seen / means - 1.0
    energy = (trust * (rho**2 - (1.0 + rho) / means)).sum(axis=1)
    energy /= np.maximum(trust.sum(axis=1), np.finfo(float).tiny)
    drift = np.broadcast_to(np.maximum(energy, 0.0)[:, None], means.shape)
    pilot[:, known] = lift * law * relative_pilot(seen, means, drift, floor=_LEAST)
    return pilot


def _shrink(seen: Floats, means: Floats) -> Floats:
    """Return seen / means, drawn to 1 as far as that may be chance."""
    energy = np.maximum((seen / means - 1.0) ** 2 - seen / means**2, 0.0)
    return relative_pilot(seen, means, energy, floor=_LEAST)


def energies(totals: Totals, weights: Floats, *, folds: bool = True) -> tuple[Floats, Floats]:
    """Return sum_c s_i s_j B_ij,c over the totals, and the same without each fold, F x m x m."""
    frame, z = totals.frame, totals.deviations * weights
    total, squares = z.sum(axis=0), (z**2).sum(axis=0)
    inside = _inside(z)
    roots = weights * np.sqrt(totals.pilot)

    def energy(mean: Floats, square: Floats, product: Floats) -> Floats:
        own = roots**2 + roots * mean + 0.25 * square
        own = quotient(own, weights)
        straight = roots + 0.5 * mean
        left = np.hstack([own, weights, -2.0 * straight, 0.5 * mean])
        product *= -0.5
        product += left @ np.hstack([weights, own, straight, mean]).T
        return product

    per_pairs = 1.0 / frame.pairs
    whole = energy(
        total / frame.tokens[:, None],
        (total**2 - squares) * np.diag(per_pairs)[:, None],
        (total @ total.T - inside) * per_pairs,
    )
    deleted = np.empty((len(z) if folds else 0, *whole.shape))
    for g, own in enumerate(z[: len(deleted)]):
        rest, per_rest = total - own, frame.per_rest_pairs[g]
        # sum over h != g of z_h (Z - z_h) without g: the inside of g comes back.
        product = np.hstack([rest, own]) @ np.hstack([rest, own]).T
        product -= inside
        product *= per_rest
        square = (rest**2 - squares + own**2) * np.diag(per_rest)[:, None]
        deleted[g] = energy(rest / frame.rest_tokens[g][:, None], square, product)
    return whole, deleted


def _inside(z: NDArray[Any]) -> NDArray[Any]:
    """Return sum_g z_g z_g^T."""
    side_by_side = np.moveaxis(z, 1, 0).reshape(z.shape[1], -1)
    return side_by_side @ side_by_side.T


def _taught(totals: Totals, weights: Floats, learning: Floats) -> Floats:
    """Return sum_ij learning_ij s_i s_j B_ij of every total without each fold, F x K."""
    frame = totals.frame
    z, roots = totals.deviations * weights, weights * np.sqrt(totals.pilot)
    total, squares = z.sum(axis=0), (z**2).sum(axis=0)
    mean = (total - z) / frame.rest_tokens[:, :, None]
    square = ((total - z) ** 2 - squares + z**2) / frame.rest_diagonals[:, :, None]
    own = roots**2 + roots * mean + 0.25 * square
    own = quotient(own, weights)
    straight = roots + 0.5 * mean
    taught = 2.0 * (own * (learning @ weights)).sum(axis=1)
    taught -= 2.0 * (np.matmul(learning, straight) * straight).sum(axis=1)
    taught += 0.5 * (np.matmul(learning, mean) * mean).sum(axis=1)
    for g, per_rest in enumerate(frame.per_rest_pairs):
        others = np.delete(z, g, axis=0)
        held = np.concatenate([others, (total - z[g])[None]]).transpose(1, 0, 2)
        flat = held.reshape(len(held), -1).astype(np.float32)
        moved = (learning * per_rest).astype(np.float32) @ flat
        products = (flat * moved).sum(axis=0, dtype=np.float64).reshape(held.shape[1:])
        taught[g] -= 0.5 * (products[-1] - products[:-1].sum(axis=0))
    return taught


def flipped(totals: Totals, weights: Floats, signs: Floats) -> Singles:
    """Return the quadratic terms under signs, K x m x m."""
    z = (totals.deviations * weights).astype(np.float32)
    inside, alone = _inside(z), (z**2).sum(axis=0)
    scale = (-0.5 / totals.frame.pairs).astype(np.float32)
    per_weight = quotient(np.ones_like(weights), weights)
    own_scale = (0.25 / np.diag(totals.frame.pairs)[:, None] * per_weight).astype(np.float32)
    plain = weights.astype(np.float32)
    found = np.empty((len(signs), *scale.shape), np.float32)
    for k, draw in enumerate(signs.astype(np.float32)):
        total = np.tensordot(draw, z, 1)
        own = (total**2 - alone) * own_scale
        np.matmul(total, total.T, out=found[k])
        found[k] -= inside
        found[k] *= scale
        found[k] += np.hstack([own, plain]) @ np.hstack([plain, own]).T
    return found


@dataclass(frozen=True, kw_only=True)
class Between:
    """B summed over all totals: what is added to the energies inside the classes."""

    squares: Floats
    deleted: Floats
    flipped: Singles
    weight_squares: Floats
    variance: Floats
    """m x m: of what the types inside such a class may do unseen."""


def between(totals: Totals, signs: Floats) -> Between:
    """Return the sum of B."""
    weights = np.broadcast_to(totals.pilot > 0.0, totals.pilot.shape).astype(np.float64)
    squares, deleted = energies(totals, weights)
    noise = weights**2 * totals.inflation
    return Between(
        squares=squares,
        deleted=deleted,
        flipped=flipped(totals, weights, signs),
        weight_squares=noise @ noise.T,
        variance=(_UNSEEN * _unmeasured(totals)) ** 2,
    )


def _unmeasured(totals: Totals) -> Floats:
    """Return the sum of B as far as nobody could see whether the types of a class stay together.

    They hardly drift apart more than all of them move, and not beyond 2 sqrt(M_i M_j).
    """
    found = np.zeros(totals.squares.shape[1:])
    for k, (squares, chance) in enumerate(zip(totals.squares, totals.chance_squares, strict=True)):
        own, mass = totals.measured[:, k], totals.pilot[:, k]
        most = 2.0 * np.sqrt(np.outer(mass, mass))
        moved = squares - chance
        found += (1.0 - np.outer(own, own)) * np.clip(moved, 0.0, most)
    return found


def split_off(found: Sums, classes: NDArray[np.int64], totals: Totals, signs: Floats) -> None:
    """Take f B off the energies of some classes, whose numbers among all these are, in place.

    Mass is what may drift inside a class, sqrt(M_i M_j) (1 - h).
    """
    at = np.flatnonzero(np.isin(totals.split, classes))
    if not at.size:
        return
    part = _only(totals, at)
    weights = part.measured
    taught = _taught(part, weights, found.learning)
    for k, one in enumerate(at):
        row = int(np.searchsorted(classes, totals.split[one]))
        own = np.outer(weights[:, k], weights[:, k]) * totals.squares[one]
        found.energy[row] -= own
        found.deleted_classes[:, row] -= taught[:, k]
        found.moved[0, row] = np.vdot(found.learning, own)
        found.moved[1:, row] = taught[:, k]
        found.measured[row] *= (1.0 - totals.chance[one]) * evenness(totals, int(one))
    found.deleted[...] -= energies(part, weights)[1]
    found.flipped[...] -= flipped(part, weights, signs)
    noise = weights**2 * part.inflation
    found.weight_squares[...] -= np.minimum(noise @ noise.T, found.weight_squares)


def restrict_to_classes(masses: Floats, totals: Totals) -> Floats:
    """Turn the masses of pairs into what may drift inside the classes, in place, C x m x m.

    Return the same of the mass in no class.
    """
    for at, c in enumerate(totals.split):
        masses[c] *= (1.0 - totals.chance[at]) * evenness(totals, at)
    mass = totals.pilot[:, len(totals.split)]
    joint: Floats = np.sqrt(np.outer(mass, mass))
    return joint


def evenness(totals: Totals, at: int) -> Floats:
    """Return sqrt(M_i M_j) over the mean of M_i and M_j of one of the totals, by the pilot."""
    mass = totals.pilot[:, at]
    mean = 0.5 * (mass[:, None] + mass[None, :])
    joint = np.sqrt(np.outer(mass, mass))
    even: Floats = np.divide(joint, mean, out=np.ones_like(mean), where=mean > 0.0)
    return even


def _only(totals: Totals, at: NDArray[np.int64]) -> Totals:
    return replace(
        totals,
        pilot=totals.pilot[:, at],
        inflation=totals.inflation[at],
        deviations=np.ascontiguousarray(totals.deviations[:, :, at]),
        measured=totals.measured[:, at],
    )
