"""One pass over the types: energies by class, fold-deleted twins, and sign-flipped nulls.

With y_gi = (x_gi - N_gi q_i) / sqrt q_i the deviation of fold g, Y_i = sum_g y_gi, ybar = Y / N,

    (ybar_i ybar_j)_U = (Y_i Y_j - sum_g y_gi y_gj) / (N_i N_j - sum_g N_gi N_gj)

never multiplies a fold with itself, so the noise of a group never meets itself either. The energy
of a pair of positions in a class is the sum over its types of

    s_i s_j { a_i + a_j - 2 [ sqrt(q_i q_j) + (sqrt q_i ybar_j + sqrt q_j ybar_i)/2
                              + (ybar_i ybar_j)_U / 4 ] },
    a_i = q_i + sqrt q_i ybar_i + (ybar_i^2)_U / 4,

a sum of products of matrices, which common types make by BLAS and rare ones entry by entry; what
the tangent of the root misses is added (`pilot.remainder`).
Deleting a fold subtracts its part from every term but that. Flipping the signs of half of the folds
keeps the noise with all its dependence and cancels the signal: the null of the quadratic terms.

Energies and their fold-deleted twins are in double precision, the nulls in single precision.

The terms of the energy, fold by fold: what every route adds up, and how energies are made of it.

With z_g = s y_g the weighted deviation of fold g, Z = sum_g z_g and r = s sqrt q, let

    C_g[i, j] = z_gi . r_j,        M_g[i, j] = z_gi . (Z - z_g)_j,

sums over the types of a block. No product in M_g has a fold with itself, so sum_g M_g is the
numerator of the U product, sum_g C_g that of the cross term, and without fold g they are

    sum_h M_h - M_g - M_g^T,       sum_h C_h - C_g:

one fold costs two matrix products. With D_ij the denominators of all folds and D_g,ij those without
fold g, N_i and n_gi the tokens, and o the own terms of a position, the energy is X + X^T, where

    X   = o   - r_i . r_j - C / N_i - M / (4 D_ij),
    X_g = o_g - r_i . r_j - (C - C_g) / n_gi - (M - 2 M_g) / (4 D_g,ij).

Matrices stand for their symmetric part: a route may hand over M_g + B with B antisymmetric.

Terms of common types: dense deviations, multiplied by BLAS.

A type that occurs in more than a few of the (position, fold) cells is cheapest as a dense column.
The deviations are centred before they are multiplied, in double precision; only sums under random
signs, of which an edge is read to two digits, are taken in single precision. Products are few and
large: a call of BLAS on a busy machine waits for its slowest thread.

Terms of rare types: only the counts that are there are multiplied.

With a_g = s x_g / sqrt q, zero wherever a type was not seen, z_g = a_g - N_g r, so

    C_g[i, j] = a_gi . r_j - N_gi r_i . r_j
    M_g[i, j] = a_gi . sum_{h != g} a_hj - n_gj C_g[i, j] - N_gj sum_{h != g} a_hi . r_j,

the last term transposed, which the symmetric part allows: all of row i is then made of the entries
of position i. A type with k entries costs k^2 additions for products and k m for crosses, where a
dense column costs F m^2 of each. Few cells hold such a type, so a is about as large as z and
nothing cancels. Sums under signs, however many draws, follow from the products of all pairs of
folds:

    sum_{g != h} e_g e_h z_gi . z_hj = S + S^T,
    S = sum_{g != h} e_g e_h [a_gi . a_hj / 2 - N_hj (a_gi . r_j - N_gi R_ij / 2)],

with R = r r^T. This route is compiled; without numba all types are treated as common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from gnomon.distances.drift import Drift
from gnomon.distances.folds import Block, Floats, FoldedCounts, Singles
from gnomon.distances.pilot import Pilot, pilot, pilot_of, remainder
from gnomon.numeric.parallel import map_threads, stripes, use_numba

LEARNING_TOKENS = 30
"""Pairs of positions with at least this many tokens teach the class profile."""
_DRAWS_AT_ONCE = 8
"""Draws of signs whose sums are held at a time."""
_HELD_BYTES = 64 * 2**20
RARE_SHARE = 0.06
"""A class is rare where its types occur in fewer than this share of the cells, by the mean."""
_FEW = 64
"""So few types are all treated as dense."""
_RARE_BYTES = 32 * 2**20
_ROWS = 16
"""Positions per task of one thread."""
_PAIR_ROWS, _TASK_ROWS = 8, 2
"""Positions of which the products of all pairs of folds are held, and those of one task."""
_PADDING = 16
"""Numbers between rows of these: at distances of a power of two they would share cache lines."""


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


def join(parts: list[Sums]) -> Sums:
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
    half = at.sum_pairs(at.weight * shares) / at.curvature
    found.measured[c] += 0.5 * (half + half.T)
    found.mass[c] += shares.sum(axis=1)
    found.weight_squares[...] += at.sum_square_pairs(folded.type_inflation[types] ** 2)


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


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What does not depend on types: tokens, denominators, signs."""

    fold_tokens: Floats
    """F x m: N_gi."""
    signs: Floats
    """K x F."""

    @cached_property
    def tokens(self) -> Floats:
        """Return N_i."""
        return self.fold_tokens.sum(axis=0)

    @cached_property
    def rest_tokens(self) -> Floats:
        """Return n_gi = N_i - N_gi, F x m."""
        return self.tokens - self.fold_tokens

    @cached_property
    def shared(self) -> Floats:
        """Return sum_g N_gi N_gj, m x m."""
        shared: Floats = self.fold_tokens.T @ self.fold_tokens
        return shared

    @cached_property
    def pairs(self) -> Floats:
        """Return D_ij = N_i N_j - sum_g N_gi N_gj, m x m."""
        return np.outer(self.tokens, self.tokens) - self.shared

    @cached_property
    def per_rest_pairs(self) -> Floats:
        """Return 1 / D_g, of the denominators without fold g, F x m x m."""
        whole = np.empty((len(self.fold_tokens), *self.shared.shape))
        for g, (own, rest) in enumerate(zip(self.fold_tokens, self.rest_tokens, strict=True)):
            np.multiply.outer(rest, rest, out=whole[g])
            whole[g] -= self.shared
            whole[g] += np.outer(own, own)
            np.reciprocal(whole[g], out=whole[g])
        return whole

    @cached_property
    def rest_diagonals(self) -> Floats:
        """Return the diagonals of D_g, F x m."""
        diagonals: Floats = self.rest_tokens**2 - np.diag(self.shared) + self.fold_tokens**2
        return diagonals

    @cached_property
    def learning(self) -> Floats:
        """Return (1/N_i + 1/N_j)^-2 of the pairs that teach the class profile, else 0; m x m."""
        enough = self.tokens >= LEARNING_TOKENS
        weights = (1.0 / self.tokens[:, None] + 1.0 / self.tokens[None, :]) ** -2.0
        weights *= np.outer(enough, enough)
        np.fill_diagonal(weights, 0.0)
        return weights


def frame_of(folded: FoldedCounts, signs: Floats) -> Frame:
    """Return the frame of folded counts."""
    return Frame(fold_tokens=np.ascontiguousarray(folded.fold_tokens.T), signs=signs)


@dataclass(frozen=True, kw_only=True)
class Running:
    """Sums over all blocks, changed in place: what is large and needed only as a whole."""

    deleted: Floats
    """F x m x m: C_g / n_gi + M_g / (2 D_g,ij)."""
    signed: Singles
    """K x m x m: T with (T + T^T) / 2 = sum_{g != h} e_g e_h z_gi . z_hj."""
    signed_squares: list[Singles] = field(default_factory=list)
    """K x m x nodes: sum_{g != h} e_g e_h s y_g y_h, the nodes of all blocks in turn."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Sums over the types of one block."""

    roots: Floats
    """m x m: r_i . r_j."""
    cross: Floats
    """m x m: sum_g C_g."""
    product: Floats
    """m x m: sum_g M_g."""
    taught: Floats
    """F: sum_ij learning_ij (what the block added to Running.deleted)."""
    constant: Floats
    """m x nodes: s q, its types gathered at the nodes."""
    linear: Floats
    """F x m x nodes: s sqrt q y_g."""
    square: Floats
    """F x m x nodes: s y_g (Y - y_g)."""


def half_energy(terms: Terms, at: Pilot, frame: Frame) -> Floats:
    """Return X of a block."""
    half: Floats = _own_at_nodes(terms, frame) @ at.at_nodes.T
    half -= terms.roots
    half -= terms.cross / frame.tokens[:, None]
    half -= 0.25 * terms.product / frame.pairs
    return half


def _own_at_nodes(terms: Terms, frame: Frame) -> Floats:
    """Return o at the nodes: q + sqrt q ybar + (ybar^2)_U / 4."""
    linear = terms.linear.sum(axis=0) / frame.tokens[:, None]
    square = terms.square.sum(axis=0) / np.diag(frame.pairs)[:, None]
    own: Floats = terms.constant + linear + 0.25 * square
    return own


def rest_own(terms: Terms, frame: Frame) -> Floats:
    """Return o_g at the nodes, F x m x nodes."""
    linear = (terms.linear.sum(axis=0) - terms.linear) / frame.rest_tokens[:, :, None]
    square = terms.square.sum(axis=0) - 2.0 * terms.square
    own: Floats = terms.constant + linear + 0.25 * square / frame.rest_diagonals[:, :, None]
    return own


def common_terms(block: Block, at: Pilot, frame: Frame, running: Running) -> tuple[Terms, Floats]:
    """Return the terms of a dense block and its deviations z_g; add to the running sums."""
    r = at.weight * at.root
    z = _deviations(block, at, frame, r)
    total = z.sum(axis=0)
    cross, product, taught = _fold_products(z, total, r, frame, running)
    linear, square = _common_own(z, total, at)
    terms = Terms(
        roots=r @ r.T,
        cross=cross,
        product=product,
        taught=taught,
        constant=(r * at.root) @ at.basis,
        linear=linear,
        square=square,
    )
    return terms, z


def _deviations(block: Block, at: Pilot, frame: Frame, r: Floats) -> Floats:
    """Return z_g = s (x_g - N_g q) / sqrt q, folds x positions x types."""
    scale = at.weight / at.root
    z = np.empty((len(frame.fold_tokens), *r.shape))
    for g, tokens in enumerate(frame.fold_tokens):
        np.multiply(block.counts[:, g], scale, out=z[g])
        z[g] -= tokens[:, None] * r
    return z


def _fold_products(
    z: Floats, total: Floats, r: Floats, frame: Frame, running: Running
) -> tuple[Floats, Floats, Floats]:
    """Return sum_g C_g, sum_g M_g and what the folds teach; C_g and M_g in one product each."""
    m, folds = len(r), len(z)
    cross, product, taught = np.zeros((m, m)), np.zeros((m, m)), np.zeros(folds)
    partners = np.concatenate([r, total])
    for g in range(folds):
        np.subtract(total, z[g], out=partners[m:])
        both = z[g] @ partners.T
        cross += both[:, :m]
        product += both[:, m:]
        taught[g] = _add_deleted(running.deleted[g], both, frame, g)
    return cross, product, taught


def _common_own(z: Floats, total: Floats, at: Pilot) -> tuple[Floats, Floats]:
    """Return s sqrt q y_g and s y_g (Y - y_g), gathered at the nodes."""
    folds, m, types = z.shape
    weighted = z * at.root
    linear = weighted.reshape(-1, types) @ at.basis
    np.subtract(total, z, out=weighted)
    weighted *= z
    weighted /= at.weight
    square = weighted.reshape(-1, types) @ at.basis
    return linear.reshape(folds, m, -1), square.reshape(folds, m, -1)


def _add_deleted(deleted: Floats, both: Floats, frame: Frame, g: int) -> float:
    """Add C_g / n_gi + M_g / (2 D_g), given C_g and M_g side by side; return what it teaches."""
    m = len(deleted)
    part = both[:, m:] * frame.per_rest_pairs[g]
    part *= 0.5
    part += both[:, :m] * (1.0 / frame.rest_tokens[g])[:, None]
    deleted += part
    return float(np.vdot(frame.learning, part))


@dataclass(kw_only=True)
class Held:
    """Deviations of several blocks, held until there are enough for large products under signs."""

    frame: Frame
    running: Running
    own: Floats
    """m x m: sum_g z_g z_g^T of all blocks so far. Signs drop out of it: it is taken off."""
    blocks: list[tuple[Singles, Pilot]] = field(default_factory=list)

    def add(self, z: Floats, at: Pilot, between: Floats) -> None:
        """Take the deviations of a block, and their products between different folds."""
        if not len(self.frame.signs):
            return
        total = z.sum(axis=0)
        self.own += total @ total.T - between
        self.blocks.append((z.astype(np.float32), at))
        if sum(single.nbytes for single, _ in self.blocks) >= _HELD_BYTES:
            self.multiply()

    def finish(self) -> None:
        """Multiply what is still held."""
        self.multiply()
        self.running.signed[...] -= self.own.astype(np.float32)

    def multiply(self) -> None:
        """Add to the sums under signs, and let go of what was held."""
        if not self.blocks:
            return
        z = np.concatenate([single for single, _ in self.blocks], axis=2)
        weight = np.concatenate([at.weight for _, at in self.blocks], axis=1)
        basis = _side_by_side([at.basis for _, at in self.blocks])
        self.blocks.clear()
        folds, m, types = z.shape
        per_weight = (1.0 / weight).astype(np.float32)
        own = (np.einsum("giv,giv->iv", z, z) * per_weight) @ basis
        squares = np.empty((len(self.frame.signs), m, basis.shape[1]), np.float32)
        for first in range(0, len(squares), _DRAWS_AT_ONCE):
            drawn = self.frame.signs[first : first + _DRAWS_AT_ONCE].astype(np.float32)
            totals = (drawn @ z.reshape(folds, -1)).reshape(-1, m, types)
            for k, total in enumerate(totals, first):
                self.running.signed[k] += total @ total.T
            totals *= totals
            totals *= per_weight
            gathered = (totals.reshape(-1, types) @ basis).reshape(-1, *own.shape)
            squares[first : first + _DRAWS_AT_ONCE] = gathered - own
        self.running.signed_squares.append(squares)


def _side_by_side(bases: list[Floats]) -> Singles:
    """Return a block-diagonal matrix: types of all blocks x nodes of all blocks."""
    rows, columns = np.cumsum([[0, 0], *[base.shape for base in bases]], axis=0).T
    whole = np.zeros((rows[-1], columns[-1]), np.float32)
    for k, base in enumerate(bases):
        whole[rows[k] : rows[k + 1], columns[k] : columns[k + 1]] = base
    return whole


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Counts of some types that are not zero, by type and by position."""

    begins: NDArray[np.int64]
    positions: NDArray[np.int32]
    folds: NDArray[np.int32]
    counts: Floats
    starts: NDArray[np.int64]
    type_of: NDArray[np.int32]
    place_of: NDArray[np.int64]
    """Entry e of a position is entry place_of[e] of type type_of[e]."""

    @property
    def by_position(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """What the kernels take for the list by position."""
        return self.starts, self.type_of, self.place_of

    @property
    def columns(self) -> NDArray[np.int64]:
        """The type of every entry, in the list by type."""
        return np.repeat(np.arange(len(self.begins) - 1), np.diff(self.begins))


@dataclass(frozen=True, kw_only=True)
class RareSums:
    """What the sums under signs need of all rare types together."""

    first: int
    """Types from this one on are rare."""
    values: list[Singles]
    """For every block: a of its entries."""
    crossing: Singles
    """F x m x m: a_gi . r_j; empty where no signs are drawn."""
    roots: Floats
    """m x m: R."""

    @classmethod
    def empty(cls, frame: Frame, first: int) -> RareSums:
        """Return sums over no types."""
        folds, m = frame.fold_tokens.shape
        drawn = folds if len(frame.signs) else 0
        crossing = np.zeros((drawn, m, m), np.float32)
        return cls(first=first, values=[], crossing=crossing, roots=np.zeros((m, m)))


def common_classes(folded: FoldedCounts) -> int:
    """Return how many classes, from the common end, are to be treated as dense."""
    if not use_numba() or len(folded.type_tokens) <= _FEW:
        return folded.classes
    entries = np.diff(folded.columns.indptr[folded.class_bounds])
    cells = np.diff(folded.class_bounds) * folded.columns.shape[0]
    dense = np.flatnonzero(entries >= RARE_SHARE * cells)
    return int(dense[-1]) + 1 if dense.size else 0


def rare_blocks(folded: FoldedCounts, first_class: int) -> list[tuple[int, slice]]:
    """Cut the classes from `first_class` on into blocks of types: (class, types)."""
    width = max(64, _RARE_BYTES // (8 * folded.size))
    bounds = folded.class_bounds
    return [
        (c, slice(*piece))
        for c in range(first_class, folded.classes)
        for piece in stripes(int(bounds[c]), int(bounds[c + 1]), width)
    ]


def entries_of(folded: FoldedCounts, types: slice) -> Entries:
    """List the entries of some types both ways."""
    part = folded.columns[:, types]
    positions = (part.indices // folded.folds).astype(np.int32)
    shape = (folded.size, part.shape[1])
    # Numbered entries, turned from columns to rows: scipy keeps the order of equal ones.
    turned = csr_array(csc_array((np.arange(part.nnz), positions, part.indptr), shape=shape))
    return Entries(
        begins=part.indptr.astype(np.int64),
        positions=positions,
        folds=(part.indices % folded.folds).astype(np.int32),
        counts=part.data.astype(np.float64),
        starts=turned.indptr.astype(np.int64),
        type_of=turned.indices.astype(np.int32),
        place_of=turned.data.astype(np.int64),
    )


def rare_terms(
    entries: Entries, at: Pilot, frame: Frame, running: Running, rare: RareSums
) -> Terms:
    """Return the terms of rare types, and add to the running sums."""
    from gnomon.distances.kernels import add_fold_rows

    m, folds = len(frame.tokens), len(frame.fold_tokens)
    r = at.weight * at.root
    gram = r @ r.T
    cells = (entries.positions, entries.columns)
    values = entries.counts * at.weight[cells] / at.root[cells]
    by_type = (entries.begins, entries.positions, entries.folds, values)
    turned = np.ascontiguousarray(r.T)
    cross, product, taught = np.zeros((m, m)), np.zeros((m, m)), np.zeros((folds, m))
    known = (frame.fold_tokens, frame.rest_tokens, frame.per_rest_pairs, frame.learning)
    out = (cross, product, taught, running.deleted, rare.crossing)

    def rows(first: int, last: int) -> None:
        add_fold_rows(entries.by_position, by_type, turned, gram, *known, *out, first, last)

    map_threads(rows, stripes(0, m, _ROWS))
    rare.roots[...] += gram
    rare.values.append(values.astype(np.float32))
    constant = (r * at.root) @ at.basis
    linear, square, signed_square = _rare_own(entries, at, frame, constant)
    running.signed_squares.append(signed_square.astype(np.float32))
    return Terms(
        roots=gram,
        cross=cross,
        product=product,
        taught=taught.sum(axis=1),
        constant=constant,
        linear=linear,
        square=square,
    )


def _rare_own(
    entries: Entries, at: Pilot, frame: Frame, constant: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return linear and square of `Terms`, and the sums of squares under signs.

    s y_g y_h = s x_g x_h / q - N_h s x_g - N_g s x_h + N_g N_h s q, gathered at the nodes.
    """
    from gnomon.distances.kernels import own_rows

    m, folds, nodes = len(frame.tokens), len(frame.fold_tokens), at.basis.shape[1]
    seen, pairs = np.zeros((folds, m, nodes)), np.zeros((folds, folds, m, nodes))
    cells = (entries.positions, entries.columns)
    weights, laws = at.weight[cells], np.square(at.root[cells])
    given = (entries.by_position, entries.folds, entries.counts, weights, laws, at.basis)
    map_threads(lambda *rows: own_rows(*given, seen, pairs, *rows), stripes(0, m, _ROWS))
    own, rest = frame.fold_tokens[:, :, None], frame.rest_tokens[:, :, None]
    linear = seen - own * constant
    square = pairs.sum(axis=1) - rest * linear - own * (seen.sum(axis=0) - seen)
    return linear, square, _signed_square(pairs, seen, constant, frame)


def _signed_square(pairs: Floats, seen: Floats, constant: Floats, frame: Frame) -> Floats:
    """Return sum over g != h of e_g e_h s y_g y_h for every draw of signs e."""
    folds, m, nodes = seen.shape
    signs, own = frame.signs, frame.fold_tokens[:, :, None]
    products = np.einsum("kg,kh->kgh", signs, signs).reshape(-1, folds * folds)
    signed = (products @ pairs.reshape(folds * folds, -1)).reshape(-1, m, nodes)
    tokens, drawn = np.tensordot(signs, own, 1), np.tensordot(signs, seen, 1)
    signed -= 2.0 * (tokens * drawn - (own * seen).sum(axis=0))
    signed += (tokens**2 - (own**2).sum(axis=0)) * constant
    return signed


def add_rare_signed(folded: FoldedCounts, rare: RareSums, frame: Frame, signed: Singles) -> None:
    """Add the sums under signs of all rare types to `signed`."""
    if rare.values and len(frame.signs):
        entries = entries_of(folded, slice(rare.first, len(folded.type_tokens)))
        _add_signed_pairs(entries, np.concatenate(rare.values), frame, signed)
        _add_signed_centres(rare, frame, signed)


def _add_signed_pairs(entries: Entries, values: Singles, frame: Frame, signed: Singles) -> None:
    """Add 2 sum_{g != h} e_g e_h a_gi . a_hj above the diagonal of `signed`, once on it."""
    from gnomon.distances.kernels import fold_pairs

    folds, m = frame.fold_tokens.shape
    by_type = (entries.begins, entries.positions, entries.folds, values)
    signs = frame.signs.astype(np.float32)
    products = np.einsum("kg,kh->kgh", signs, signs)
    products[:, np.arange(folds), np.arange(folds)] = 0.0
    products = products.reshape(-1, folds * folds)
    pairs = np.empty((folds, folds, _PAIR_ROWS * m + _PADDING), np.float32)
    for start, stop in stripes(0, m, _PAIR_ROWS):
        pairs[:] = 0.0
        given = (entries.by_position, by_type, pairs, start)
        map_threads(
            lambda *rows, given=given: fold_pairs(*given, *rows), stripes(start, stop, _TASK_ROWS)
        )
        drawn = products @ pairs.reshape(folds * folds, -1)[:, : (stop - start) * m]
        signed[:, start:stop] += drawn.reshape(-1, stop - start, m)


def _add_signed_centres(rare: RareSums, frame: Frame, signed: Singles) -> None:
    """Add twice what the centres N r contribute to S."""
    tokens = frame.fold_tokens
    same = 2.0 * np.einsum("gij,gj->ij", rare.crossing, tokens) - rare.roots * frame.shared
    for k, draw in enumerate(frame.signs):
        balance = draw @ tokens
        drawn = np.tensordot(draw.astype(np.float32), rare.crossing, 1)
        part = balance[:, None] * rare.roots - 2.0 * drawn
        signed[k] += same + balance * part
