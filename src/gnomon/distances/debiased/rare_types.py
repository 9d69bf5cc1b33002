"""Terms of rare types: only the counts that are there are multiplied.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from gnomon.distances.debiased.folded import Floats, FoldedCounts, Singles
from gnomon.distances.debiased.pilot import Pilot
from gnomon.distances.debiased.terms import Frame, Running, Terms
from gnomon.numeric.parallel import map_threads, stripes, use_numba

RARE_SHARE = 0.06
"""A class is rare where its types occur in fewer than this share of the cells, by the mean."""
_FEW = 64
"""So few types are all treated as dense."""
_BLOCK_BYTES = 32 * 2**20
_ROWS = 16
"""Positions per task of one thread."""
_PAIR_ROWS, _TASK_ROWS = 8, 2
"""Positions of which the products of all pairs of folds are held, and those of one task."""
_PADDING = 16
"""Numbers between rows of these: at distances of a power of two they would share cache lines."""


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
    width = max(64, _BLOCK_BYTES // (8 * folded.size))
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
    from gnomon.distances.debiased.rare_kernels import add_fold_rows

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
    linear, square, signed_square = _own_terms(entries, at, frame, constant)
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


def _own_terms(
    entries: Entries, at: Pilot, frame: Frame, constant: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return linear and square of `Terms`, and the sums of squares under signs.

    s y_g y_h = s x_g x_h / q - N_h s x_g - N_g s x_h + N_g N_h s q, gathered at the nodes.
    """
    from gnomon.distances.debiased.rare_kernels import own_rows

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
    from gnomon.distances.debiased.rare_kernels import fold_pairs

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
