"""Terms of common types: dense deviations, multiplied by BLAS.

A type that occurs in more than a few of the (position, fold) cells is cheapest as a dense column.
The deviations are centred before they are multiplied, in double precision; only sums under random
signs, of which an edge is read to two digits, are taken in single precision. Products are few and
large: a call of BLAS on a busy machine waits for its slowest thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gnomon.distances.debiased.folded import Block, Floats, Singles
from gnomon.distances.debiased.pilot import Pilot
from gnomon.distances.debiased.terms import Frame, Running, Terms

_DRAWS = 8
"""Draws of signs whose sums are held at a time."""
_HELD_BYTES = 64 * 2**20


def common_terms(block: Block, at: Pilot, frame: Frame, running: Running) -> tuple[Terms, Floats]:
    """Return the terms of a dense block and its deviations z_g; add to the running sums."""
    r = at.weight * at.root
    z = _deviations(block, at, frame, r)
    total = z.sum(axis=0)
    cross, product, taught = _fold_products(z, total, r, frame, running)
    linear, square = _own_terms(z, total, at)
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


def _own_terms(z: Floats, total: Floats, at: Pilot) -> tuple[Floats, Floats]:
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
        for first in range(0, len(squares), _DRAWS):
            drawn = self.frame.signs[first : first + _DRAWS].astype(np.float32)
            totals = (drawn @ z.reshape(folds, -1)).reshape(-1, m, types)
            for k, total in enumerate(totals, first):
                self.running.signed[k] += total @ total.T
            totals *= totals
            totals *= per_weight
            gathered = (totals.reshape(-1, types) @ basis).reshape(-1, *own.shape)
            squares[first : first + _DRAWS] = gathered - own
        self.running.signed_squares.append(squares)


def _side_by_side(bases: list[Floats]) -> Singles:
    """Return a block-diagonal matrix: types of all blocks x nodes of all blocks."""
    rows, columns = np.cumsum([[0, 0], *[base.shape for base in bases]], axis=0).T
    whole = np.zeros((rows[-1], columns[-1]), np.float32)
    for k, base in enumerate(bases):
        whole[rows[k] : rows[k + 1], columns[k] : columns[k + 1]] = base
    return whole
