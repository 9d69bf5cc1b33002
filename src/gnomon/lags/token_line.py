r"""All documents in one line of tokens, fold by fold, and what is counted in pairs along it.

A fold is a random set of groups of documents. Documents that belong together, such as copies, share
a group and so a fold: in different folds they would make errors too small. Lags stay inside a
document: pairs are counted document by document, by compiled loops (`gnomon.lags.token_kernels`)
or by NumPy, with equal results.

*Nulls.* Pairs of tokens as they would be without order: their expectation, exactly, at every lag.

Shuffle document d, with n tokens and c_u of type u. The m = n - tau pairs at lag tau then are

    m (c_u c_v - [u = v] c_u) / (n (n - 1))      pairs of types (u, v), on average,

and the pairs of two different documents of n and n' tokens, both shuffled in the same way so that
no position meets itself, m (c_u c'_v - e_uv) / (n n' - min(n, n')), where m = min(n, n' - tau) and
e_uv pairs stand at the same position. A document meets itself there in [u = v] c_u, so this is one
formula: where positions alone have laws, both expectations are the same. They are sums over
documents of m(tau) times a fixed table, and m is constant, then falls by one a lag, then is 0. So
tables are summed once, and changed where a document bends: O(documents x types^2) in all, for any
number of lags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from gnomon.errors import GroupError
from gnomon.numeric.parallel import over_rows, use_numba

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class TokenLine:
    """Tokens as numbers of types 0, 1, ...; documents of a fold stand side by side."""

    tokens: NDArray[np.integer]
    starts: Integers
    """Where each document begins, and at the end how many tokens there are."""
    fold: Integers
    """Of each document, ascending."""
    folds: int
    types: int
    group: Integers
    """Of each document, a number; documents of a group are in one fold."""

    @property
    def lengths(self) -> Integers:
        """Return the tokens of each document."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Integers:
        """Return the document of each token."""
        return np.repeat(np.arange(len(self.fold)), self.lengths)

    @property
    def place(self) -> Integers:
        """Return the position of each token in its document."""
        return np.arange(len(self.tokens)) - np.repeat(self.starts[:-1], self.lengths)

    @cached_property
    def counts(self) -> csr_array:
        """Return how often each document has each type."""
        shape = (len(self.fold), self.types)
        made = csr_array((np.ones(len(self.tokens)), (self.owner, self.tokens)), shape=shape)
        made.sum_duplicates()
        return made


def join_documents(
    documents: Iterable[ArrayLike], *, folds: int, seed: int, groups: ArrayLike | None = None
) -> TokenLine:
    """Return documents, each a list of token numbers, in one line with each in a random fold.

    `groups` names what each document belongs to; without it each is by itself.
    """
    checked = [_check_document(one, place) for place, one in enumerate(documents)]
    group = number_groups(np.arange(len(checked)) if groups is None else groups)
    many = int(group.max(initial=-1)) + 1
    if many < folds:
        whose = "documents" if many == len(checked) else "groups of documents"
        raise GroupError(
            f"There are {many} {whose} and {folds} folds; pass more documents, or "
            "fewer folds: errors come from them."
        )
    which = (np.random.default_rng(seed).permutation(many) % folds)[group]
    order = np.lexsort((group, which))
    lengths = np.array([len(checked[place]) for place in order])
    if lengths.max() < 2:
        raise GroupError("No document has two tokens, so there is no lag; pass longer documents.")
    together = np.concatenate([checked[place] for place in order])
    names, tokens = np.unique(together, return_inverse=True)
    return TokenLine(
        tokens=tokens.astype(np.min_scalar_type(len(names))),
        starts=np.concatenate([[0], np.cumsum(lengths)]),
        fold=which[order],
        folds=folds,
        types=len(names),
        group=group[order],
    )


def number_groups(groups: ArrayLike) -> Integers:
    """Return names as numbers 0, 1, ... in the order in which they come first.

    >>> number_groups([7, 7, 3, 7]).tolist()
    [0, 0, 1, 0]
    """
    _, first, inverse = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def split_folds(line: TokenLine, parts: int) -> TokenLine:
    """Return the same documents, the groups of each fold dealt into so many; all have a group."""
    if parts <= 1:
        return line
    place = np.cumsum(np.diff(line.group, prepend=line.group[0]) != 0)  # of groups, fold by fold
    begins = np.searchsorted(line.fold, np.arange(line.folds))
    rank = place - place[begins][line.fold]
    last = np.append(begins[1:], len(place)) - 1
    sizes = (place[last] - place[begins] + 1)[line.fold]
    fold = line.fold * parts + rank * parts // np.maximum(sizes, parts)
    return replace(line, fold=fold, folds=line.folds * parts)


def _check_document(document: ArrayLike, place: int) -> NDArray[np.integer]:
    """Return a document as whole numbers, or say what it is."""
    array = np.asarray(document)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GroupError(
            f"Document {place} has shape {array.shape} and holds {array.dtype}; pass token numbers "
            "in a line."
        )
    return array


def lag_range(line: TokenLine, lags: int) -> Integers:
    """Return the lags 1, 2, ... that are asked for and that the longest document has."""
    if isinstance(lags, bool) or lags != int(lags) or lags < 1:
        raise GroupError(f"lags is {lags!r}; pass a whole number from 1 on.")
    return np.arange(1, min(int(lags), int(line.lengths.max()) - 1) + 1)


def equal_pairs(line: TokenLine, steps: Integers) -> Floats:
    """Return how many pairs at each lag are equal, (folds, lags). Cost O(tokens x lags)."""
    if use_numba():
        from gnomon.lags import token_kernels

        made = np.zeros((line.folds, len(steps)), dtype=np.int64)
        over_rows(
            lambda first, last: token_kernels.equal(
                line.tokens, line.starts, line.fold, steps[first:last], made[:, first:last]
            ),
            len(steps),
            block=16,
        )
        return made.astype(np.float64)
    owner, found = line.owner, []
    for step in steps:
        same = (line.tokens[:-step] == line.tokens[step:]) & (owner[:-step] == owner[step:])
        found.append(np.bincount(line.fold[owner[:-step][same]], minlength=line.folds))
    return np.stack(found, axis=1).astype(np.float64)


def pair_tables(line: TokenLine, partner: Integers, step: int) -> Floats:
    """Return how often types u and v stand at i of a document and i + step of its partner.

    The shape is (folds, types, types); the fold is that of the document. Where each document is
    its own partner, these are the pairs at a lag.
    """
    shape = (line.folds, line.types, line.types)
    if use_numba():
        from gnomon.lags import token_kernels

        made = np.zeros((line.folds, line.types**2), dtype=np.int64)
        token_kernels.tables((line.tokens, line.starts, line.fold), partner, step, line.types, made)
        return made.reshape(shape).astype(np.float64)
    owner = line.owner
    others = line.starts[partner][owner] + line.place + step
    inside = others < line.starts[partner + 1][owner]
    left, right = line.tokens[inside].astype(np.int64), line.tokens[others[inside]]
    keys = (line.fold[owner[inside]] * line.types + left) * line.types + right
    return np.bincount(keys, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def rename_types(line: TokenLine, names: Sequence[int] | Integers, types: int) -> TokenLine:
    """Return the line with type v called names[v], one of so many types."""
    tokens = np.asarray(names)[line.tokens].astype(np.min_scalar_type(types))
    return replace(line, tokens=tokens, types=types)


def null_tables(line: TokenLine, partner: Integers, steps: Integers) -> Iterator[Floats]:
    """Yield expected pairs of documents and their partners, (folds, types, types), by lag.

    A document that is its own partner is shuffled; two different ones alike.
    """
    counts = line.counts
    lengths = line.lengths.astype(np.float64)
    most = np.minimum(lengths, lengths[partner])
    weights = 1.0 / np.maximum(lengths * lengths[partner] - most, 1.0)
    meeting = _same_position_pairs(line, partner)
    falls = np.maximum(line.lengths[partner] - line.lengths, 0)
    ends = line.lengths[partner]

    entries = counts.tocoo()
    documents, types = entries.coords

    def table(which: Integers, scale: Floats) -> Floats:
        """Return the sum of scale times the table of these documents."""
        factor = np.zeros(len(lengths))
        factor[which] = weights[which] * scale[which]
        kept = factor[documents] != 0.0
        here, kind = documents[kept], types[kept]
        values = entries.data[kept] * factor[here]
        rows = line.fold[here] * line.types + kind
        left = csr_array((values, (rows, here)), shape=(line.folds * line.types, len(lengths)))
        made = (left @ counts[partner]).toarray().reshape(line.folds, line.types, line.types)
        shape = (line.folds, len(which))
        by_fold = csr_array((factor[which], (line.fold[which], np.arange(len(which)))), shape=shape)
        return np.asarray(made - (by_fold @ meeting[which]).toarray().reshape(made.shape))

    level = np.zeros((line.folds, line.types, line.types))
    slope = np.zeros_like(level)
    done = -1
    ones = np.ones_like(lengths)
    rising = np.flatnonzero(falls > 0)
    level += table(rising, lengths)
    for step in (0, *steps.tolist()):
        bent = np.flatnonzero((falls > done) & (falls <= step) & (ends > falls))
        over = np.flatnonzero((ends > done) & (ends <= step))
        if len(bent):
            level += table(bent, lengths[partner]) - table(bent[falls[bent] > 0], lengths)
            slope += table(bent, ones)
        if len(over):
            level -= table(over, lengths[partner])
            slope -= table(over, ones)
        done = step
        if step:
            yield level - step * slope


def _same_position_pairs(line: TokenLine, partner: Integers) -> csr_array:
    """Return how often (u, v) stand at one position of a document and its partner, (docs, K^2)."""
    owner = line.owner
    others = line.starts[partner][owner] + line.place
    inside = others < line.starts[partner + 1][owner]
    keys = line.tokens[inside].astype(np.int64) * line.types + line.tokens[others[inside]]
    shape = (len(partner), line.types**2)
    made = csr_array((np.ones(len(keys)), (owner[inside], keys)), shape=shape)
    made.sum_duplicates()
    return made
