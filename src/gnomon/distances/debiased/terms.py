"""The terms of the energy, fold by fold: what every route adds up, and how energies are made of it.

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
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gnomon.distances.debiased.folded import Floats, FoldedCounts, Singles
from gnomon.distances.debiased.pilot import Pilot

LEARNING_TOKENS = 30
"""Pairs of positions with at least this many tokens teach the class profile."""


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
    half: Floats = _own(terms, frame) @ at.at_nodes.T
    half -= terms.roots
    half -= terms.cross / frame.tokens[:, None]
    half -= 0.25 * terms.product / frame.pairs
    return half


def _own(terms: Terms, frame: Frame) -> Floats:
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
