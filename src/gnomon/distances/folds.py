"""Counts by fold, ready for products: positions that can be estimated, types by frequency.

Types are sorted from common to rare and cut into *classes*, the octaves of their total count; a
class is what shares one relative drift (see `profile`). Products run over dense blocks of types, so
that the array of folds x positions x types never exists as a whole.

Tokens of one type come in *clumps*: a name is repeated in its document, a copied row brings all its
tokens again. A clump lies in one fold, so a product of two folds sees X_v - c of the X_v tokens
besides its own, with c the mean clump size. It is found from how uneven the folds are,

    E sum_g X_gv^2 = c X_v + X_v (X_v - c) sum_g (N_g / N)^2,

class by class (c = 1 where tokens are independent). Types with no more tokens than one clump say
nothing about a drift of their own and are left out. The same within single positions gives the
factor by which copied rows inflate the noise of a count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from gnomon.errors import CountsError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
LEAST_FOLDS = 3
"""A position must have tokens in this many folds: products of two folds, with a third deleted."""
_BLOCK_BYTES = 96 * 2**20


@dataclass(frozen=True, kw_only=True)
class Block:
    """Counts of some types of one class: positions x folds x types."""

    class_index: int
    types: slice
    counts: Floats


@dataclass(frozen=True, kw_only=True)
class FoldedCounts:
    """Counts of m positions in F folds over the types that were seen at least twice."""

    columns: csc_array
    """(m * F) x types, row i * F + g, types from common to rare."""
    folds: int
    rows: NDArray[np.int64]
    """Which row of the counts each of these m * F is: folds without tokens are left out."""
    positions: NDArray[np.int64]
    """Indices of the m positions."""
    type_indices: NDArray[np.int64]
    """Which column of the counts each type is."""
    fold_tokens: Floats
    """m x F: tokens N_gi, types seen once included."""
    type_tokens: Floats
    """X_v, descending."""
    type_clumps: Floats
    """c of each type's class: tokens of a type that come together."""
    type_inflation: Floats
    """The same within a position: how much more than Poisson a count varies."""
    class_bounds: NDArray[np.int64]
    """Class c holds types class_bounds[c] .. class_bounds[c + 1] - 1."""
    singles: Floats
    """m x F: tokens of types that were met once."""
    unshared: NDArray[np.int64]
    """Indices of positions left out since no token there is of a type seen in two groups."""

    @property
    def tokens(self) -> Floats:
        """Tokens N_i at each position."""
        return self.fold_tokens.sum(axis=1)

    @property
    def size(self) -> int:
        """Number of positions m."""
        return len(self.positions)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_bounds) - 1

    @property
    def pooled(self) -> Floats:
        """Pooled law p_v = X_v / N."""
        return self.type_tokens / self.tokens.sum()

    @property
    def pooled_less_one(self) -> Floats:
        """(X_v - c) / (N - 1): the pooled law without the clump at hand."""
        return (self.type_tokens - self.type_clumps) / (self.tokens.sum() - 1.0)

    def missing(self) -> Floats:
        """Return tokens of no type at hand, m x F: of types that one group alone has."""
        rows = np.asarray(self.columns.sum(axis=1), dtype=np.float64)
        return self.fold_tokens - rows.reshape(self.size, self.folds)

    def only(self, kept: NDArray[np.bool_]) -> FoldedCounts:
        """Return the same positions and tokens with some of the types, in the classes left."""
        chosen = np.flatnonzero(kept)
        bounds = np.unique(np.searchsorted(chosen, self.class_bounds))
        return replace(
            self,
            columns=csc_array(self.columns[:, chosen]),
            type_indices=self.type_indices[chosen],
            type_tokens=self.type_tokens[chosen],
            type_clumps=self.type_clumps[chosen],
            type_inflation=self.type_inflation[chosen],
            class_bounds=bounds,
        )

    def align(self, counts: Any) -> csc_array:
        """Return the columns of other counts of the same corpus, in the order of these."""
        rows = csr_array(counts.blocks)[self.rows]
        return csc_array(csc_array(rows)[:, self.type_indices])

    def seen(self, types: slice) -> Floats:
        """Return x_iv, the counts of some types over all folds, as a dense array."""
        part = self.columns[:, types]
        shape = (self.size, part.shape[1])
        rows = part.indices // self.folds  # entries of one cell add up when it is made dense
        return csc_array((part.data, rows, part.indptr), shape=shape, dtype=np.float64).toarray()

    def blocks(self, classes: int | None = None) -> Iterator[Block]:
        """Give dense blocks of types, each inside one class, of the first `classes` classes."""
        width = max(16, _BLOCK_BYTES // (8 * self.size * self.folds))
        for c in range(self.classes if classes is None else classes):
            first, last = int(self.class_bounds[c]), int(self.class_bounds[c + 1])
            for start in range(first, last, width):
                types = slice(start, min(start + width, last))
                dense = self.columns[:, types].toarray().astype(np.float64)
                counts = dense.reshape(self.size, self.folds, -1)
                yield Block(class_index=c, types=types, counts=counts)


def fold_counts(
    counts: Any, keep: NDArray[np.bool_] | None = None, *, unshared: tuple[int, ...] = ()
) -> FoldedCounts:
    """Take the folds of an object with `blocks` (row p * F + f), `folds` and `kept`.

    Folds without tokens are left out, and positions that cannot be estimated: without tokens in
    at least three folds, or without a type that is seen in two groups (`unshared`, found in turns).
    """
    blocks, all_folds = csr_array(counts.blocks), int(counts.folds)
    wanted = np.asarray(counts.kept if keep is None else keep)
    spread = np.asarray(blocks.sum(axis=1)).reshape(-1, all_folds)
    filled = _filled_folds(spread[wanted])
    usable = wanted & (np.count_nonzero(spread, axis=1) >= LEAST_FOLDS)
    positions = np.flatnonzero(usable)
    if len(positions) < 2 and unshared:
        raise CountsError(
            f"at {len(unshared)} positions no token is of a type seen in a second group, and "
            "debiasing compares groups; leave out what is unique to a document, as row ids are."
        )
    if len(positions) < 2:
        raise CountsError(
            f"{len(positions)} positions have tokens in at least {LEAST_FOLDS} folds, and "
            "distances need two; use more documents, or name their groups with --group."
        )
    rows = (positions[:, None] * all_folds + filled).ravel()
    own, folds = csc_array(blocks[rows]), len(filled)
    order, type_tokens, clumps, inflation = _sorted_types(own, folds)
    if not len(order):
        types = int(np.count_nonzero(own.sum(axis=0)))
        raise CountsError(
            f"none of the {types} types is seen in two groups, and debiasing compares groups; use "
            "more documents, or a coarser --tokenizer."
        )
    columns = csc_array(own[:, order])
    silent = np.asarray(columns.sum(axis=1)).reshape(-1, folds).sum(axis=1) == 0
    if silent.any():
        rest = usable & ~np.isin(np.arange(len(usable)), positions[silent])
        return fold_counts(counts, rest, unshared=(*unshared, *positions[silent].tolist()))
    octave = np.floor(np.log2(type_tokens))
    return FoldedCounts(
        columns=columns,
        folds=folds,
        rows=rows,
        positions=positions,
        type_indices=order,
        fold_tokens=spread[positions][:, filled].astype(np.float64),
        type_tokens=type_tokens,
        type_clumps=clumps,
        type_inflation=inflation,
        class_bounds=np.concatenate([[0], np.flatnonzero(np.diff(octave)) + 1, [len(order)]]),
        singles=_singles(own, folds),
        unshared=np.array(sorted(unshared), dtype=np.int64),
    )


def quotient(above: Floats, below: Floats) -> Floats:
    """Return the quotient, 0 where nothing is below."""
    return np.divide(
        above, below, out=np.zeros(np.broadcast(above, below).shape), where=below > 0.0
    )


def _singles(own: csc_array, folds: int) -> Floats:
    """Return the tokens of types that were met once, m x F."""
    once = np.flatnonzero(own.sum(axis=0) == 1)
    tokens: Floats = own[:, once].sum(axis=1).astype(np.float64).reshape(-1, folds)
    return tokens


def _filled_folds(spread: NDArray[Any]) -> NDArray[np.int64]:
    """Return the folds that hold tokens; there must be enough of them."""
    least, folds = 2 * LEAST_FOLDS - 2, spread.shape[1]
    if folds < least:
        raise CountsError(
            f"the counts have {folds} folds, and debiasing needs at least {least}; "
            "count the corpus again with --folds 16."
        )
    filled = np.flatnonzero(spread.sum(axis=0))
    if len(filled) < least:
        raise CountsError(
            f"{len(filled)} of {folds} folds hold tokens, and debiasing needs at least {least}; "
            "use more documents, or name smaller groups with --group."
        )
    return filled


def _sorted_types(own: csc_array, folds: int) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
    """Return the types used, from common to rare: order, tokens, clumps and position clumps."""
    rows = own.shape[0]
    ones, row = np.ones(rows), np.arange(rows)
    by_fold = csr_array((ones, (row % folds, row)), shape=(folds, rows))
    by_position = csr_array((ones, (row // folds, row)), shape=(rows // folds, rows))
    together = _excess(csc_array(by_fold @ own), np.zeros(folds, np.int64))
    apart = _excess(own, row // folds)
    totals = np.asarray((by_position @ own).sum(axis=0)).ravel()
    octave = np.floor(np.log2(np.maximum(totals, 1.0))).astype(np.int64)
    clumps, inflation = _by_class(*together, octave), _by_class(*apart, octave)
    used = np.flatnonzero(totals >= np.maximum(clumps + 0.5, 2.0))
    order = used[np.argsort(-totals[used], kind="stable")]
    return order, totals[order], clumps[order], inflation[order]


def _excess(counts: csc_array, sets: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return for every type what unevenness of the rows of each set a clump size of 1 explains.

    The rows of a set are the folds of one position, or of all of them: first the sum over sets of
    sum_g x_g^2 - x^2 phi with phi = sum_g (N_g / N)^2, then that of x (1 - phi).
    """
    tokens = np.asarray(counts.sum(axis=1)).ravel()
    whole = np.bincount(sets, weights=tokens)
    even = np.bincount(sets, weights=tokens**2) / np.maximum(whole, 1.0) ** 2
    pooling = csr_array((np.ones(len(sets)), (sets, np.arange(len(sets)))))
    pooled = csc_array(pooling @ counts)
    squares = np.asarray(counts.power(2).sum(axis=0)).ravel()
    return squares - pooled.power(2).T @ even, pooled.T @ (1.0 - even)


def _by_class(above: Floats, below: Floats, octave: NDArray[np.int64]) -> Floats:
    """Return the ratio of the sums over each type's class, at least 1."""
    size = np.bincount(octave, weights=above) / np.maximum(np.bincount(octave, weights=below), 1.0)
    clumps: Floats = np.maximum(size, 1.0)[octave]
    return clumps
