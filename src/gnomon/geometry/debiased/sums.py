"""One pass over the types: energies by class, fold-deleted twins, and sign-flipped nulls.

With y_gi = (x_gi - N_gi q_i) / sqrt q_i the deviation of fold g, Y_i = sum_g y_gi, ybar = Y / N,

    (ybar_i ybar_j)_U = (Y_i Y_j - sum_g y_gi y_gj) / (N_i N_j - sum_g N_gi N_gj)

never multiplies a fold with itself, so the noise of a group never meets itself either. The energy
of a pair of positions in a class is the sum over its types of

    s_i s_j { a_i + a_j - 2 [ sqrt(q_i q_j) + (sqrt q_i ybar_j + sqrt q_j ybar_i)/2
                              + (ybar_i ybar_j)_U / 4 ] },
    a_i = q_i + sqrt q_i ybar_i + (ybar_i^2)_U / 4,

a sum of products of matrices. Deleting a fold subtracts its part from every term. Flipping the
signs of half of the folds keeps the noise with all its dependence and cancels the signal: the null
of the quadratic terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.geometry.debiased.folded import Block, Floats, FoldedCounts
from gnomon.geometry.debiased.pilot import Pilot, pilot

LEARNING_TOKENS = 30
"""Pairs of positions with at least this many tokens teach the class profile."""


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What the pass adds up, for m positions, C classes, F folds and K sign draws."""

    energy: Floats
    """C x m x m."""
    measured: Floats
    """C x m x m: weighted mass, half the sum of both positions."""
    mass: Floats
    """C x m: mass of each class at each position, unweighted."""
    weight_squares: Floats
    """m x m: sum_v c_v^2 s_i^2 s_j^2."""
    deleted: Floats
    """F x m x m: energy of all classes with one fold left out."""
    deleted_classes: Floats
    """F x C: the same, by class, summed over pairs with the weights `learning`."""
    flipped: Floats
    """K x m x m: quadratic terms under balanced random signs, all classes."""
    learning: Floats
    """m x m: weight (1/N_i + 1/N_j)^-2 of the pairs that teach the class profile."""


@dataclass(frozen=True, kw_only=True)
class _Part:
    """Deviations of a set of folds: what energy needs to know of them."""

    total: Floats
    """Y, m x types."""
    squares: Floats
    """sum_g y_g^2, m x types."""
    tokens: Floats
    """N_i."""
    pairs: Floats
    """m x m: N_i N_j - sum_g N_gi N_gj."""
    own: Floats
    """m x m: sum_g (s y_g)(s y_g)^T."""


def balanced_signs(folds: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return draws x folds random signs, as many +1 as -1 (one more where folds are odd)."""
    half = np.where(np.arange(folds) % 2 == 0, 1.0, -1.0)
    return np.array([rng.permutation(half) for _ in range(draws)]).reshape(draws, folds)


def sums(folded: FoldedCounts, tau: Floats, signs: Floats) -> Sums:
    """Run over all types once."""
    m, classes, folds = folded.size, folded.classes, folded.folds
    found = Sums(
        energy=np.zeros((classes, m, m)),
        measured=np.zeros((classes, m, m)),
        mass=np.zeros((classes, m)),
        weight_squares=np.zeros((m, m)),
        deleted=np.zeros((folds, m, m)),
        deleted_classes=np.zeros((folds, classes)),
        flipped=np.zeros((len(signs), m, m)),
        learning=_learning(folded.tokens),
    )
    shared = folded.fold_tokens @ folded.fold_tokens.T
    for block in folded.blocks():
        _add_block(found, folded, block, pilot(folded, block, tau), signs, shared)
    return found


def _learning(tokens: Floats) -> Floats:
    enough = tokens >= LEARNING_TOKENS
    weights = (1.0 / tokens[:, None] + 1.0 / tokens[None, :]) ** -2.0
    weights *= np.outer(enough, enough)
    np.fill_diagonal(weights, 0.0)
    return weights


def _add_block(
    found: Sums, folded: FoldedCounts, block: Block, at: Pilot, signs: Floats, shared: Floats
) -> None:
    c, tokens = block.class_index, folded.tokens
    law = at.root**2
    y = (block.counts - folded.fold_tokens[:, :, None] * law[:, None, :]) / at.root[:, None, :]
    weighted = at.weight[:, None, :] * y
    flat = weighted.reshape(folded.size, -1)
    whole = _Part(
        total=y.sum(axis=1),
        squares=np.einsum("igv,igv->iv", y, y),
        tokens=tokens,
        pairs=np.outer(tokens, tokens) - shared,
        own=flat @ flat.T,
    )
    constant = (at.weight * at.root) @ (at.weight * at.root).T
    found.energy[c] += _energy(at, whole, constant)
    shares = block.counts.sum(axis=1) / tokens[:, None]
    half = at.summed(at.weight * shares)
    found.measured[c] += 0.5 * (half + half.T)
    found.mass[c] += shares.sum(axis=1)
    noise = at.weight**2 * folded.type_inflation[block.types]
    found.weight_squares[...] += noise @ noise.T
    for g in range(folded.folds):
        part = _without(whole, y[:, g], weighted[:, g], folded.fold_tokens[:, g], shared)
        energy = _energy(at, part, constant)
        found.deleted[g] += energy
        found.deleted_classes[g, c] += np.vdot(found.learning, energy)
    _add_flipped(found.flipped, at, whole, weighted, signs)


def _energy(at: Pilot, part: _Part, constant: Floats) -> Floats:
    """Return the energy of every pair over the types of a block."""
    mean = part.total / part.tokens[:, None]
    square = (part.total**2 - part.squares) / np.diag(part.pairs)[:, None]
    own = at.summed(at.weight * (at.root**2 + at.root * mean + 0.25 * square))
    cross = (at.weight * at.root) @ (at.weight * mean).T
    weighted = at.weight * part.total
    product = (weighted @ weighted.T - part.own) / part.pairs
    energy: Floats = own + own.T - 2.0 * constant - cross - cross.T - 0.5 * product
    return energy


def _without(
    whole: _Part, fold: Floats, weighted: Floats, fold_tokens: Floats, shared: Floats
) -> _Part:
    """Take one fold out."""
    tokens = whole.tokens - fold_tokens
    return _Part(
        total=whole.total - fold,
        squares=whole.squares - fold**2,
        tokens=tokens,
        pairs=np.outer(tokens, tokens) - (shared - np.outer(fold_tokens, fold_tokens)),
        own=whole.own - weighted @ weighted.T,
    )


def _add_flipped(flipped: Floats, at: Pilot, whole: _Part, weighted: Floats, signs: Floats) -> None:
    """Add the quadratic terms under each draw of signs: signs drop out of the own products.

    In single precision: these are sums of noise, of which an edge is read to two digits.
    """
    diagonal = np.diag(whole.pairs)[:, None]
    own = at.summed(at.weight * whole.squares / diagonal)
    scale = (1.0 / (at.weight * diagonal)).astype(np.float32)
    single = weighted.astype(np.float32)
    for k, draw in enumerate(signs.astype(np.float32)):
        total = np.matmul(draw, single)
        square = at.summed(total**2 * scale) - own
        product = (total @ total.T - whole.own) / whole.pairs
        flipped[k] += 0.25 * (square + square.T - 2.0 * product)
