"""One pass over the types: energies by class, fold-deleted twins, and sign-flipped nulls.

With y_gi = (x_gi - N_gi q_i) / sqrt q_i the deviation of fold g, Y_i = sum_g y_gi, ybar = Y / N,

    (ybar_i ybar_j)_U = (Y_i Y_j - sum_g y_gi y_gj) / (N_i N_j - sum_g N_gi N_gj)

never multiplies a fold with itself, so the noise of a group never meets itself either. The energy
of a pair of positions in a class is the sum over its types of

    s_i s_j { a_i + a_j - 2 [ sqrt(q_i q_j) + (sqrt q_i ybar_j + sqrt q_j ybar_i)/2
                              + (ybar_i ybar_j)_U / 4 ] },
    a_i = q_i + sqrt q_i ybar_i + (ybar_i^2)_U / 4,

a sum of products of matrices (`terms`), which common types make by BLAS (`common_types`) and rare
ones entry by entry (`rare_types`); what the tangent of the root misses is added (`remainder`).
Deleting a fold subtracts its part from every term but that. Flipping the signs of half of the folds
keeps the noise with all its dependence and cancels the signal: the null of the quadratic terms.

Energies and their fold-deleted twins are in double precision, the nulls in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gnomon.distances.debiased.common_types import Held, common_terms
from gnomon.distances.debiased.drift import Drift
from gnomon.distances.debiased.folded import Floats, FoldedCounts, Singles
from gnomon.distances.debiased.pilot import Pilot, pilot, pilot_of
from gnomon.distances.debiased.rare_types import (
    RareSums,
    add_rare_signed,
    common_classes,
    entries_of,
    rare_blocks,
    rare_terms,
)
from gnomon.distances.debiased.remainder import remainder
from gnomon.distances.debiased.terms import (
    Frame,
    Running,
    Terms,
    half_energy,
    rest_own,
)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What the pass adds up, for m positions, C classes, F folds and K sign draws."""

    energy: Floats
    """C x m x m."""
    measured: Floats
    """C x m x m: weighted mass, half the sum of both positions."""
    mass: Floats
    """C x m: mass of each class at each position, unweighted."""
    curvature: Floats
    """C: the curvature ratio that is in the energies."""
    weight_squares: Floats
    """m x m: sum_v c_v^2 s_i^2 s_j^2."""
    deleted: Floats
    """F x m x m: energy of all classes with one fold left out."""
    deleted_classes: Floats
    """F x C: the same, by class, summed over pairs with the weights `learning`."""
    flipped: Singles
    """K x m x m: quadratic terms under balanced random signs, all classes."""
    learning: Floats
    """m x m: weight (1/N_i + 1/N_j)^-2 of the pairs that teach the class profile."""
    moved: Floats
    """(1 + F) x C: the energy that the totals of each class took, and without each fold."""

    def scale(self, factor: Floats) -> None:
        """Multiply the energies of every pair, their twins, nulls and noise, in place."""
        self.energy[...] *= factor
        self.deleted[...] *= factor
        self.flipped[...] *= factor.astype(np.float32)
        self.weight_squares[...] *= factor**2


def joined(parts: list[Sums]) -> Sums:
    """Return the sums by class of several sets of classes in turn, as copies."""
    names = ("energy", "measured", "mass", "curvature")
    whole = {name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
    for name in ("deleted_classes", "moved"):
        whole[name] = np.concatenate([getattr(one, name) for one in parts], axis=1)
    return replace(parts[0], **whole)


@dataclass(frozen=True, kw_only=True)
class _Whole:
    """Sums over all blocks that deleted and flipped energies need besides `Running`."""

    roots: Floats
    cross: Floats
    product: Floats
    remainder: Floats
    nodes: list[Floats] = field(default_factory=list)
    """For every block: the weights at its nodes, m x nodes."""
    rest_own: list[Floats] = field(default_factory=list)
    """For every block: own terms without each fold, F x m x nodes."""

    @classmethod
    def empty(cls, m: int) -> _Whole:
        """Return sums of nothing."""
        roots, cross, product, remainder = np.zeros((4, m, m))
        return cls(roots=roots, cross=cross, product=product, remainder=remainder)

    def add(self, terms: Terms, at: Pilot, rest: Floats) -> None:
        """Add one block."""
        self.roots[...] += terms.roots
        self.cross[...] += terms.cross
        self.product[...] += terms.product
        self.nodes.append(at.at_nodes)
        self.rest_own.append(rest)


def balanced_signs(folds: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return draws x folds random signs, as many +1 as -1 (one more where folds are odd)."""
    half = np.where(np.arange(folds) % 2 == 0, 1.0, -1.0)
    return np.array([rng.permutation(half) for _ in range(draws)]).reshape(draws, folds)


def sums(folded: FoldedCounts, drift: Drift, frame: Frame, kap: Floats | None = None) -> Sums:
    """Run over all types once; without draws of signs (0 x F) their part costs nothing."""
    m, classes, folds = folded.size, folded.classes, folded.folds
    found = Sums(
        energy=np.zeros((classes, m, m)),
        measured=np.zeros((classes, m, m)),
        mass=np.zeros((classes, m)),
        curvature=np.ones(classes) if kap is None else kap[folded.class_bounds[:-1]],
        weight_squares=np.zeros((m, m)),
        deleted=np.zeros((folds, m, m)),
        deleted_classes=np.zeros((folds, classes)),
        flipped=np.zeros((len(frame.signs), m, m), np.float32),
        learning=frame.learning,
        moved=np.zeros((1 + folds, classes)),
    )
    whole = _Whole.empty(m)
    running = Running(deleted=found.deleted, signed=found.flipped)
    for c, types, seen, at, terms in _terms(folded, drift, kap, frame, running):
        _add_masses(found, folded, c, types, seen, at)
        half = half_energy(terms, at, frame)
        found.energy[c] += half + half.T
        rest = rest_own(terms, frame)
        found.deleted_classes[:, c] += _taught(terms, at, rest, frame)
        whole.add(terms, at, rest)
        bent = remainder(folded, types, seen, at)
        if bent is not None:
            found.energy[c] += bent
            found.deleted_classes[:, c] += np.vdot(frame.learning, bent)
            whole.remainder[...] += bent
    _finish_deleted(found.deleted, whole, frame)
    _finish_flipped(running, whole, frame)
    return found


def _terms(
    folded: FoldedCounts, drift: Drift, kap: Floats | None, frame: Frame, running: Running
) -> Iterator[tuple[int, slice, Floats, Pilot, Terms]]:
    """Give class, types, counts over all folds, pilot and terms of every block of types."""
    common = common_classes(folded)
    held = Held(frame=frame, running=running, own=np.zeros((folded.size, folded.size)))
    for block in folded.blocks(common):
        at = pilot(folded, block, drift, kap)
        terms, z = common_terms(block, at, frame, running)
        held.add(z, at, terms.product)
        yield block.class_index, block.types, block.counts.sum(axis=1), at, terms
    held.finish()
    rare = RareSums.empty(frame, int(folded.class_bounds[common]))
    for c, types in rare_blocks(folded, common):
        seen = folded.seen(types)
        at = pilot_of(folded, types, seen, drift, kap)
        yield c, types, seen, at, rare_terms(entries_of(folded, types), at, frame, running, rare)
    add_rare_signed(folded, rare, frame, running.signed)


def _add_masses(
    found: Sums, folded: FoldedCounts, c: int, types: slice, seen: Floats, at: Pilot
) -> None:
    """Add measured and full mass of a class, and the squares of its weights."""
    shares = seen / folded.tokens[:, None]
    half = at.summed(at.weight * shares) / at.curvature
    found.measured[c] += 0.5 * (half + half.T)
    found.mass[c] += shares.sum(axis=1)
    found.weight_squares[...] += at.summed_squares(folded.type_inflation[types] ** 2)


def _taught(terms: Terms, at: Pilot, rest: Floats, frame: Frame) -> Floats:
    """Return for every fold the energy of a block without it, summed over pairs with `learning`."""
    own = np.tensordot(rest, frame.learning @ at.at_nodes, 2)
    roots = np.vdot(frame.learning, terms.roots)
    cross = (1.0 / frame.rest_tokens) @ (frame.learning * terms.cross).sum(axis=1)
    product = np.tensordot(frame.per_rest_pairs, frame.learning * terms.product, 2)
    taught: Floats = 2.0 * (own - roots - cross - 0.25 * product + terms.taught)
    return taught


def _finish_deleted(deleted: Floats, whole: _Whole, frame: Frame) -> None:
    """Turn what folds contribute into energies without them (X_g + X_g^T of `terms`)."""
    nodes = np.concatenate(whole.nodes, axis=1)
    for g in range(len(deleted)):
        half = deleted[g]
        half += np.concatenate([rest[g] for rest in whole.rest_own], axis=1) @ nodes.T
        half -= whole.roots
        half -= whole.cross / frame.rest_tokens[g][:, None]
        half -= 0.25 * whole.product * frame.per_rest_pairs[g]
        half += 0.5 * whole.remainder
        half += half.T.copy()


def _finish_flipped(running: Running, whole: _Whole, frame: Frame) -> None:
    """Turn products under signs into quadratic terms of squared distances."""
    if not len(frame.signs):
        return
    nodes = np.concatenate(whole.nodes, axis=1).astype(np.float32)
    squares = np.concatenate(running.signed_squares, axis=2)
    squares *= (0.25 / np.diag(frame.pairs)).astype(np.float32)[:, None]
    scale = (-0.25 / frame.pairs).astype(np.float32)
    for k in range(len(squares)):
        half = running.signed[k]
        half *= scale
        half += squares[k] @ nodes.T
        half += half.T.copy()
