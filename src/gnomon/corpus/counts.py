"""PositionCounts: how often each token stands at each position, fold by fold.

Counts are exact integers in one sparse matrix whose row p * F + f belongs to position p and fold
f of F. Adding two of them is associative and commutative over any partition of a corpus, bit for
bit: vocabularies that grew are united in sorted order, the group sketch and the digest are merged
by operations that do not know an order, and unequal numbers of folds meet at their common divisor.

Where neighbours were merged (`binning`), a position is a bin and `bins` says where it begins.

Counts may come from elsewhere, dense or sparse, whole or in folds. Accepted are position x token,
fold x position x token, and a list of matrices, one per fold. A count is a whole number >= 0; what
is none is named by its place.

Two vocabularies are *the same* when their digests are. A vocabulary that grew while reading
(words) is put in sorted order when reading ends, so that its ids do not depend on the order or
the partition in which the corpus was read.

Counts remark what a reader should know before she trusts them. Noise is estimated by comparing
folds, so few or unequal groups take its ground away: then a sentence says so. Nothing is kept or
added up here; a sum of counts has the remarks of the sum.

On disk they are one `.npz` without pickle, a sparse block per fold, and JSON metadata. Integers are
stored in the smallest type that holds them. A file is written whole or not at all, and nothing in
it is believed before it is checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from math import gcd, prod
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, vstack

from gnomon.corpus.binning import Binning, add_note, bin_counts, join_bins
from gnomon.corpus.documents import GroupSketch
from gnomon.corpus.grouping import NearCopies
from gnomon.errors import CountsError
from gnomon.files import write_with
from gnomon.numeric.checks import in_usual_type, refuse_masked
from gnomon.reading import Archive, UnreadableError, open_archive, parse_json
from gnomon.results import Result, html_fields, to_dataframe

OTHER = "OTHER"
_OVERSTATED = 0.04
"""By so much the share of the commonest types may be too large since they were chosen for it."""
_ALIKE, _DOUBTLESS = 4.0, 3.0
"""Deviations of a count within which types are about as frequent; beyond which a gap is no luck."""
_LARGEST = 2.0**63
_ENOUGH = 100
"""Fewer letters than this may lack most amino acids by chance."""
_MOST = 0.5
"""A fold with more than this share of the tokens outweighs all others."""
FORMAT = 1
BINNED_FORMAT = 2
"""Of counts whose positions were merged: who does not know of bins must not read them."""
_PLAIN = ("folds", "rows", "document_sum", "source", "tokenizer", "window", "minimum_count")
_MOST_ROWS = 2**31 - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionCounts(Result):
    """Counts of token by position and fold, with what is known of where they came from."""

    blocks: csr_array
    """(length * folds) x vocabulary, row p * folds + f, int64, indices sorted."""
    folds: int
    axes: tuple[int, ...]
    vocabulary: Vocabulary
    rows: int = 0
    groups: GroupSketch = field(default_factory=GroupSketch)
    document_sum: int = 0
    """Sum of all document keys modulo 2^64: the digest of the corpus as a set of documents."""
    source: str = "array"
    tokenizer: str = "ids"
    window: str = "start"
    minimum_count: int = 10
    notes: tuple[str, ...] = ()
    """What only the making of the counts knows; what they show themselves is in `remarks`."""
    binning: Binning | None = None
    """How neighbouring positions were merged; None: every position is its own bin."""
    near_copies: NearCopies | None = None
    """Documents that agree far more than chance gives; None where nothing was compared."""

    # -- what it says ---------------------------------------------------------------------------

    @property
    def length(self) -> int:
        """Number of positions n."""
        return prod(self.axes)

    @property
    def bins(self) -> tuple[int, ...] | None:
        """First position of each bin of merged positions; None: every position is its own."""
        return None if self.binning is None else self.binning.starts

    @property
    def extents(self) -> tuple[tuple[int, int], ...]:
        """First and last position of each bin; of a position by itself both are the same."""
        starts = self.bins or tuple(range(self.length))
        ends = (*starts[1:], self.length if self.binning is None else self.binning.span)
        return tuple((start, end - 1) for start, end in zip(starts, ends, strict=True))

    @cached_property
    def matrix(self) -> csr_array:
        """Counts of all folds together, length x vocabulary."""
        return _pool(self.blocks, self.folds, self.folds)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """Tokens at each position."""
        return np.asarray(self.matrix.sum(axis=1)).ravel().astype(np.int64)

    @cached_property
    def fold_tokens(self) -> NDArray[np.int64]:
        """Tokens in each fold."""
        by_row = np.asarray(self.blocks.sum(axis=1)).ravel().astype(np.int64)
        return by_row.reshape(-1, self.folds).sum(axis=0)

    @property
    def tokens(self) -> int:
        """Tokens counted in all."""
        return int(self.blocks.data.sum())

    @cached_property
    def types(self) -> int:
        """Token types that occur."""
        return int(np.count_nonzero(np.bincount(self.blocks.indices, minlength=1)))

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Positions with at least `minimum_count` tokens; the rest is masked."""
        return self.totals >= max(self.minimum_count, 1)

    @property
    def masked(self) -> list[int]:
        """Indices of the masked positions."""
        return np.flatnonzero(~self.kept).tolist()

    @property
    def digest(self) -> str:
        """Digest of documents and vocabulary in any order; the window is not part of it."""
        return f"{self.document_sum:016x}-{self.rows}-{self.vocabulary.digest[:16]}"

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know that the counts show themselves, as few groups."""
        return remarks(self)

    def fold(self, index: int) -> csr_array:
        """Return the counts of one fold, length x vocabulary."""
        return self.blocks[index :: self.folds]

    def to_dict(self) -> dict[str, Any]:
        """Describe the corpus; the counts themselves are saved by `save`."""
        return {
            "source": self.source,
            "rows": self.rows,
            "groups": self.groups.estimate(),
            "groups_exact": self.groups.exact,
            "tokens": self.tokens,
            "vocabulary": self.vocabulary.size,
            "types": self.types,
            "length": self.length,
            "axes": list(self.axes),
            "tokenizer": self.tokenizer,
            "window": self.window,
            "folds": self.folds,
            "minimum_count": self.minimum_count,
            "digest": self.digest,
            "notes": [*self.notes, *self.remarks],
            "bins": None if self.binning is None else self.binning.to_dict(),
            "near_copies": None if self.near_copies is None else self.near_copies.to_dict(),
        }

    def to_dataframe(self) -> Any:
        """Return one row per position or bin: first, last, tokens, and whether it is kept."""
        lines = zip(self.extents, self.totals.tolist(), self.kept.tolist(), strict=True)
        return to_dataframe(
            [
                {"index": index, "first": first, "last": last, "tokens": tokens, "kept": kept}
                for index, ((first, last), tokens, kept) in enumerate(lines)
            ]
        )

    def _repr_html_(self) -> str:
        """Show what the corpus is; the counts themselves are many."""
        return html_fields("PositionCounts", self.to_dict())

    # -- what can be made of it -----------------------------------------------------------------

    def __add__(self, other: PositionCounts) -> PositionCounts:
        """Return the counts of both corpora together."""
        binning = join_bins(self, other)
        if (self.axes, self.window) != (other.axes, other.window):
            raise CountsError(
                f"counts over {self.axes} positions ({self.window} window) and over {other.axes} "
                f"({other.window} window) cannot be added; count both with the same window."
            )
        folds = gcd(self.folds, other.folds)
        vocabulary, left, right = unite(self.vocabulary, other.vocabulary)
        blocks = renamed(self.with_folds(folds).blocks, left, vocabulary.size) + renamed(
            other.with_folds(folds).blocks, right, vocabulary.size
        )
        both = replace(
            self,
            blocks=blocks,
            folds=folds,
            vocabulary=vocabulary,
            rows=self.rows + other.rows,
            groups=self.groups.merge(other.groups),
            document_sum=(self.document_sum + other.document_sum) % 2**64,
            source=_join(self.source, other.source),
            tokenizer=_join(self.tokenizer, other.tokenizer),
            minimum_count=max(self.minimum_count, other.minimum_count),
            notes=tuple(sorted({*self.notes, *other.notes})),
            binning=binning,
            near_copies=None,  # those between the two were not looked for
        )
        return add_note(both)

    def with_folds(self, folds: int) -> PositionCounts:
        """Return the same counts in fewer folds: fold f of many becomes fold f mod `folds`."""
        if folds == self.folds:
            return self
        if folds < 1 or self.folds % folds:
            raise CountsError(f"{self.folds} folds cannot be merged to {folds}; choose a divisor.")
        return replace(self, blocks=merge_folds(self.blocks, self.folds, folds), folds=folds)

    def with_minimum_count(self, minimum: int) -> PositionCounts:
        """Return the same counts with another threshold for masking positions."""
        if minimum < 0:
            raise CountsError(f"--minimum-count is {minimum}; it must be 0 or more.")
        return replace(self, minimum_count=minimum)

    def shortened(self, length: int) -> PositionCounts:
        """Return the counts of the first `length` positions (or bins) of a sequence corpus."""
        bins = None if self.binning is None else self.binning.shortened(length)
        rows = self.blocks[: length * self.folds]
        return add_note(replace(self, blocks=rows, axes=(length,), binning=bins))

    def binned(self, bins: int | str | tuple[int, ...] | None) -> PositionCounts:
        """Return the counts with neighbouring positions of a sequence corpus merged to bins.

        `bins` is how many make a bin (the last may be shorter), the first position of each bin, or
        "auto": merged from the left until counted well enough to be debiased.

        >>> PositionCounts.from_array([[3, 0], [1, 2], [1, 0]]).binned(2).matrix.toarray()
        array([[4, 2],
               [1, 0]])
        """
        return bin_counts(self, bins)

    def coarsened(self, top: int) -> PositionCounts:
        """Keep the `top` most frequent types and put all others in one piece called OTHER.

        Types chosen for their counts have luck in them. Where that would overstate their share by
        more than one part in twenty-five, as among types of one frequency, those that cannot be
        told from the last one chosen are drawn at random.
        """
        if top < 1:
            raise CountsError(f"--top-k is {top}; keep at least one type.")
        if top >= self.types:
            return self
        frequency = np.bincount(
            self.blocks.indices, weights=self.blocks.data, minlength=self.vocabulary.size
        )
        best, alike = _commonest(frequency.astype(np.int64), top)
        column = np.full(self.vocabulary.size, top, dtype=np.int64)
        column[best] = np.arange(top)
        names = self.vocabulary.tokens
        kept_names = tuple(names[b] if names else str(b) for b in best)
        return replace(
            self,
            blocks=renamed(self.blocks, column, top + 1),
            vocabulary=Vocabulary.of((*kept_names, OTHER)),
            notes=(*self.notes, f"vocabulary coarsened to {top} types and {OTHER}{alike}"),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the counts to a `.npz` file without pickle, whole or not at all."""
        save_counts(self, Path(path))

    @staticmethod
    def load(path: str | PathLike[str]) -> PositionCounts:
        """Read counts that `save` or a survey wrote; whatever is wrong with them is refused."""
        return load_counts(Path(path))

    @classmethod
    def from_array(
        cls,
        array: ArrayLike | csr_array | Sequence[csr_array],
        *,
        axes: tuple[int, ...] | None = None,
        minimum_count: int = 10,
        source: str = "array",
    ) -> PositionCounts:
        """Take counts that come from elsewhere: position x token, or fold x position x token.

        Either may be dense; sparse counts are one matrix, or a list of them, one per fold.

        >>> PositionCounts.from_array([[3, 0], [1, 2]], minimum_count=1).totals
        array([3, 3])
        """
        parts = given_folds(array)
        blocks, folds = vstack_folds(parts), len(parts)
        length = blocks.shape[0] // folds
        if axes is not None and prod(axes) != length:
            raise CountsError(f"axes {axes} do not make the {length} positions of the counts.")
        return cls(
            blocks=blocks,
            folds=folds,
            axes=axes or (length,),
            vocabulary=Vocabulary.anonymous(blocks.shape[1]),
            document_sum=_content(blocks),
            source=source,
            minimum_count=minimum_count,
            notes=("counts given as an array: no documents, so groups are unknown",),
        )


def merge_folds(blocks: csr_array, folds: int, fewer: int) -> csr_array:
    """Sum fold f into fold f mod `fewer`, exactly."""
    return vstack_folds(
        [_pool(blocks[f::fewer], folds // fewer, folds // fewer) for f in range(fewer)]
    )


def vstack_folds(blocks: list[csr_array]) -> csr_array:
    """Interleave one matrix per fold to rows p * F + f."""
    length, folds = blocks[0].shape[0], len(blocks)
    stacked = csr_array(vstack(blocks, format="csr"))
    order = np.arange(folds * length).reshape(folds, length).T.ravel()
    return csr_array(stacked[order])


def _pool(blocks: csr_array, folds: int, together: int) -> csr_array:
    """Sum every `together` consecutive rows."""
    if folds == 1:
        return blocks
    rows = blocks.shape[0]
    summing = csr_array(
        (np.ones(rows, np.int64), np.arange(rows), np.arange(0, rows + 1, together)),
        shape=(rows // together, rows),
    )
    pooled = csr_array(summing @ blocks)
    pooled.sort_indices()
    return pooled


def renamed(blocks: csr_array, column: NDArray[np.int64] | None, size: int) -> csr_array:
    """Move token v to column[v] of `size`, adding what meets there."""
    if column is None:
        if blocks.shape[1] == size:
            return blocks
        return csr_array(
            (blocks.data, blocks.indices, blocks.indptr), shape=(blocks.shape[0], size)
        )
    moved = csr_array(  # copies, since adding up what meets works in place
        (blocks.data.copy(), column[blocks.indices], blocks.indptr.copy()),
        shape=(blocks.shape[0], size),
    )
    moved.sum_duplicates()
    return moved


def _commonest(frequency: NDArray[np.int64], top: int) -> tuple[NDArray[np.int64], str]:
    """Return the commonest types in order of their index, and a remark where some were drawn."""
    order = np.argsort(-frequency, kind="stable")
    if not _luck_shows(frequency, top):
        return np.sort(order[:top]), ""
    last = frequency[order[top - 1]]
    gap = _ALIKE * np.sqrt(last)
    sure = np.flatnonzero(frequency > last + gap)
    alike = np.flatnonzero(np.abs(frequency - last) <= gap)
    drawn = np.random.default_rng(0).permutation(alike)[: top - len(sure)]
    remark = f"; {len(drawn)} of them drawn from {len(alike)} that are about as frequent"
    return np.sort(np.concatenate([sure, drawn])), remark


def _luck_shows(frequency: NDArray[np.int64], top: int) -> bool:
    """Whether the share of types chosen for their counts is too large by that choice.

    One half of the tokens chooses and the other half is counted: the types chosen have more in the
    former. All tokens tell types apart better than half of them by the root of two.
    """
    half = np.random.default_rng(0).binomial(frequency, 0.5)
    chosen = np.argsort(-half, kind="stable")[:top]
    own, others = half[chosen].sum(), (frequency - half)[chosen].sum()
    beyond_doubt = own - others > _DOUBTLESS * np.sqrt(own + others)
    return bool(beyond_doubt and own - others > np.sqrt(2.0) * _OVERSTATED * others)


def _content(blocks: csr_array) -> int:
    """Return a key of the counts themselves, for counts that have no documents."""
    digest = blake2b(digest_size=8)
    for part in (blocks.indptr, blocks.indices, blocks.data):
        digest.update(part.astype("<i8").tobytes())
    return int.from_bytes(digest.digest(), "little")


def _join(left: str, right: str) -> str:
    return " + ".join(sorted({*left.split(" + "), *right.split(" + ")}))


def given_folds(array: Any) -> list[csr_array]:
    """Return one matrix of counts (position x token, int64) per fold, or say what is wrong."""
    if issparse(array):
        folds = [_canonical(array, None)]
    elif isinstance(array, (list, tuple)) and any(issparse(part) for part in array):
        folds = [_canonical(part, f) for f, part in enumerate(array)]
    else:
        folds = _dense(array)
    _check_shapes([fold.shape for fold in folds])
    _check_tokens(folds)
    return folds


def _dense(array: Any) -> list[csr_array]:
    try:
        given = np.asarray(array)
    except ValueError as error:  # NumPy has no shape for it
        raise CountsError(_why_ragged(array)) from error
    refuse_masked(array, "counts hold", kind=CountsError)
    if given.ndim not in (2, 3):
        raise CountsError(
            f"counts have {given.ndim} axes; give position x token, or fold x position x token."
        )
    if given.size == 0:
        raise CountsError(
            f"counts are empty, of shape {given.shape}; give at least one position and one token."
        )
    if given.ndim == 2:
        return [_canonical(given, None)]
    return [_canonical(part, f) for f, part in enumerate(given)]


def _why_ragged(array: Any) -> str:
    """Say what in nested lists is of unequal size."""
    try:
        shapes = [np.shape(part) for part in array]
    except (TypeError, ValueError):  # the parts are ragged themselves
        return "counts are lists of unequal lengths; give every position the same tokens."
    if all(len(shape) == 2 for shape in shapes):
        _check_shapes(shapes)
    other = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), 0)
    return (
        f"counts have {_size(shapes[0])} in row 0 and {_size(shapes[other])} in row {other}; "
        "give every position the same tokens."
    )


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else "a single number"


def _check_shapes(shapes: list[tuple[int, ...]]) -> None:
    """Refuse folds that disagree, and folds that are no matrices."""
    for fold, shape in enumerate(shapes):
        if len(shape) != 2:
            raise CountsError(f"fold {fold} has {len(shape)} axes; give position x token.")
        if min(shape) == 0:
            raise CountsError("counts are empty; give at least one position and one token.")
        if shape != shapes[0]:
            what = "positions" if shape[0] != shapes[0][0] else "token types"
            raise CountsError(
                f"fold {fold} has {shape[0]} positions x {shape[1]} token types and fold 0 has "
                f"{shapes[0][0]} x {shapes[0][1]}; give all folds the same {what}, with zeros "
                "where nothing was counted."
            )


def _check_tokens(folds: list[csr_array]) -> None:
    """Refuse folds without a token, and more tokens than 64 bits can add up."""
    tokens = [float(fold.data.sum(dtype=np.float64)) for fold in folds]
    if sum(tokens) == 0:
        raise CountsError("all counts are 0; give counts of at least one token.")
    if 0 in tokens:
        raise CountsError(
            f"fold {tokens.index(0)} of {len(folds)} holds no token; leave it out, or merge it "
            "with another one."
        )
    if sum(tokens) >= _LARGEST:
        raise CountsError(
            f"counts sum to {sum(tokens):.3g}, more than 64 bits hold; divide them by a power of 2."
        )


def _canonical(part: Any, fold: int | None) -> csr_array:
    """Return one matrix as int64 without zeros or duplicates, every number checked."""
    given: Any = part.tocoo() if issparse(part) else np.asarray(part)
    if given.dtype.kind not in "iuf":
        raise CountsError(f"counts are {given.dtype}, not numbers; give integers.")
    given = in_usual_type(given)
    if given.ndim != 2:
        raise CountsError(f"fold {fold or 0} has {given.ndim} axes; give position x token.")
    values = given.data if issparse(given) else given
    for bad, word in _faults(values):
        if bad.any():
            place = ([] if fold is None else [fold]) + _place(given, bad)
            raise CountsError(
                f"counts{place} is {word}; give counts, not probabilities or logarithms: "
                "integers from 0 to 2^63 - 1."
            )
    blocks = csr_array(given.astype(np.int64))
    blocks.sum_duplicates()
    blocks.eliminate_zeros()
    return blocks


def _faults(values: NDArray[Any]) -> list[tuple[NDArray[np.bool_], str]]:
    """Return what may be wrong with numbers: where, and in which word."""
    return [
        (~np.isfinite(values), "not a number"),
        (values < 0, "negative"),
        (values != np.floor(values), "not whole"),
        (values >= _LARGEST, "beyond 64 bits"),
    ]


def _place(given: Any, bad: NDArray[np.bool_]) -> list[int]:
    """Return row and column of the first fault."""
    first = np.argwhere(bad)[0]
    if not issparse(given):
        return [int(i) for i in first]
    return [int(given.row[first[0]]), int(given.col[first[0]])]


@dataclass(frozen=True)
class Vocabulary:
    """`size` token types with digest `digest`; `tokens` are their names where they are known."""

    size: int
    digest: str
    tokens: tuple[str, ...] | None = None
    open: bool = False
    """True when it grew while reading, so that merging takes the union of two of them."""

    @classmethod
    def of(cls, tokens: tuple[str, ...], *, grows: bool = False) -> Vocabulary:
        """Return the vocabulary with these names, in this order.

        >>> Vocabulary.of(("a", "b")).size
        2
        """
        digest = blake2b("\x00".join(tokens).encode("utf-8", "surrogatepass"), digest_size=16)
        return cls(size=len(tokens), digest=digest.hexdigest(), tokens=tokens, open=grows)

    @classmethod
    def anonymous(cls, size: int, *, grows: bool = False) -> Vocabulary:
        """Return a vocabulary of `size` ids without names."""
        return cls(size=size, digest=f"anonymous-{size}", open=grows)


def unite(
    left: Vocabulary, right: Vocabulary
) -> tuple[Vocabulary, NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Return the vocabulary of both, and where each token of either goes (None: it stays).

    >>> unite(Vocabulary.of(("a", "c"), grows=True), Vocabulary.of(("b",), grows=True))[1:]
    (array([0, 2]), array([1]))
    """
    if left.digest == right.digest:
        return left, None, None
    if left.tokens is None and right.tokens is None and left.open and right.open:
        return max(left, right, key=lambda vocabulary: vocabulary.size), None, None
    if not (left.open and right.open) or left.tokens is None or right.tokens is None:
        raise CountsError(
            f"counts over two different vocabularies ({left.size} and {right.size} types) cannot "
            "be added; count both with the same tokenizer."
        )
    united = Vocabulary.of(tuple(sorted({*left.tokens, *right.tokens})), grows=True)
    place = {token: index for index, token in enumerate(united.tokens or ())}
    where = [np.array([place[t] for t in v.tokens or ()], np.int64) for v in (left, right)]
    return united, where[0], where[1]


def remarks(counts: PositionCounts) -> tuple[str, ...]:
    """Return the sentences that apply, none for counts without oddities."""
    found = (
        _empty_folds(counts),
        _giant(counts),
        _one_type(counts),
        _gaps(counts),
        _nucleotides(counts),
    )
    return tuple(sentence for sentence in found if sentence is not None)


def _empty_folds(counts: PositionCounts) -> str | None:
    empty = int(np.count_nonzero(counts.fold_tokens == 0))
    if empty == 0:
        return None
    groups, folds = counts.groups.estimate(), counts.folds
    known = counts.rows > 0 and groups < folds
    one = "s" if groups != 1 else ""
    begin = (
        f"the corpus has {groups} group{one} and {folds} folds" if known else f"of {folds} folds"
    )
    return (
        f"{begin}{': ' if known else ', '}{empty} hold no token, and noise is hard to tell from "
        "signal; use more documents, or name smaller groups with --group"
    )


def _giant(counts: PositionCounts) -> str | None:
    """Say that one fold holds most tokens; with one group alone the empty folds say it all."""
    folds, tokens = counts.folds, counts.fold_tokens
    share = tokens.max() / max(tokens.sum(), 1)
    if folds <= 2 or share <= _MOST or np.count_nonzero(tokens) == 1:
        return None
    return (
        f"one fold of {folds} holds {100 * share:.0f} % of the tokens, so one group, or a few, "
        "outweigh all others and noise is hard to estimate; name smaller groups with --group"
    )


def _one_type(counts: PositionCounts) -> str | None:
    if counts.types != 1:
        return None
    return "only one type of token occurs, so all positions have the same law"


def _gaps(counts: PositionCounts) -> str | None:
    used = np.flatnonzero(counts.totals)
    missing = np.setdiff1d(np.arange(used[-1] if used.size else 0), used)
    if missing.size == 0:
        return None
    number = "position" if missing.size == 1 else f"{missing.size} positions"
    which = ", ".join(map(str, missing[:5])) + (", ..." if missing.size > 5 else "")
    first = f"{number} {which} holds" if missing.size == 1 else f"{number} ({which}) hold"
    return f"{first} no token although later ones do, and cannot be measured"


def _nucleotides(counts: PositionCounts) -> str | None:
    """Say that a protein without any of the other amino acids is probably DNA."""
    names = counts.vocabulary.tokens
    if counts.tokenizer != "protein" or names is None:
        return None
    used = [names[token] for token in np.unique(counts.blocks.indices)]
    if counts.tokens < _ENOUGH or not set(used) <= set("ACGTNX"):
        return None
    return (
        f"of the amino acids only the letters {', '.join(used)} occur, which is how DNA looks; "
        "pass --tokenizer dna if it is"
    )


def save_counts(counts: PositionCounts, path: Path) -> None:
    """Write counts to `path`."""
    write_with(path, lambda handle: store_counts(counts, handle))


def store_counts(counts: PositionCounts, handle: BinaryIO) -> None:
    """Write counts to an open file."""
    arrays: dict[str, NDArray[Any]] = {"metadata": _text_array(json.dumps(_metadata(counts)))}
    arrays["groups"] = counts.groups.array
    if counts.vocabulary.tokens is not None:
        arrays["tokens"] = _text_array(json.dumps(counts.vocabulary.tokens, ensure_ascii=False))
    for index in range(counts.folds):
        block = counts.fold(index)
        for part in ("indptr", "indices", "data"):
            arrays[f"fold_{index:03d}_{part}"] = _small(getattr(block, part))
    np.savez(handle, allow_pickle=False, **arrays)


def load_counts(path: Path) -> PositionCounts:
    """Read counts that `save_counts` wrote, checking everything that is read."""
    try:
        with open_archive(path) as stored:
            return _read(stored)
    except FileNotFoundError as error:
        raise CountsError(f"there is no file {path}; check the path.") from error
    except CountsError as error:
        raise CountsError(f"{path} cannot be used: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # what is not foreseen here is still damage, no fault of ours
        raise CountsError(
            f"{path} is damaged or holds no counts of Gnomon ({error}); "
            "pass a counts.npz, or count the corpus again."
        ) from error


def _metadata(counts: PositionCounts) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(counts, name) for name in _PLAIN}
    vocabulary = counts.vocabulary
    if counts.binning is not None:
        values |= {"bins": counts.binning.to_dict()}
    if counts.near_copies is not None:
        values |= {"near_copies": counts.near_copies.to_dict()}
    return values | {
        "format": FORMAT if counts.binning is None else BINNED_FORMAT,
        "axes": list(counts.axes),
        "notes": list(counts.notes),
        "vocabulary": {
            "size": vocabulary.size,
            "digest": vocabulary.digest,
            "open": vocabulary.open,
        },
    }


def _read(stored: Archive) -> PositionCounts:
    metadata = _check(parse_json(_array_text(stored["metadata"])))
    if metadata.get("format") not in (FORMAT, BINNED_FORMAT):
        raise CountsError(
            f"counts of format {metadata.get('format')} cannot be read by this version; "
            "count the corpus again."
        )
    size = metadata["vocabulary"]["size"]
    tokens = _tokens(stored, size) if "tokens" in stored else None
    axes = tuple(metadata["axes"])
    blocks = [_block(stored, f, math.prod(axes), size) for f in range(metadata["folds"])]
    return PositionCounts(
        blocks=vstack_folds(blocks),
        axes=axes,
        vocabulary=Vocabulary(
            size=size,
            digest=metadata["vocabulary"]["digest"],
            tokens=tokens,
            open=metadata["vocabulary"]["open"],
        ),
        groups=GroupSketch.from_array(stored["groups"]),
        notes=tuple(metadata["notes"]),
        binning=_read_bins(metadata, axes),
        near_copies=_near_copies(metadata),
        **{name: metadata[name] for name in _PLAIN},
    )


def _near_copies(metadata: dict[str, Any]) -> NearCopies | None:
    if "near_copies" not in metadata:
        return None
    _check_fields(metadata, {"near_copies": lambda value: isinstance(value, dict)}, "")
    found = metadata["near_copies"]
    found = {"shared": 0} | found  # counts of older versions do not know it
    _check_fields(found, _OF_COPIES, "near_copies.")
    return NearCopies(**{name: found[name] for name in _OF_COPIES})


def _check(metadata: Any) -> dict[str, Any]:
    """Refuse metadata whose parts are not of their kind: later they would be believed."""
    if not isinstance(metadata, dict):
        raise UnreadableError("its metadata is no JSON object")
    _check_fields(metadata, _FIELDS, "")
    _check_fields(metadata["vocabulary"], _OF_VOCABULARY, "vocabulary.")
    return metadata


def _check_fields(found: dict[str, Any], fields: dict[str, Any], prefix: str) -> None:
    for key, fits in fields.items():
        if key not in found:
            raise UnreadableError(f"its metadata has no {prefix}{key}")
        if not fits(found[key]):
            shown = repr(found[key])
            raise UnreadableError(f"its metadata has {prefix}{key} = {shown[:40]}")


def _whole(least: int, most: int = 2**63 - 1) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most  # True is no number here


def _words(value: Any) -> bool:
    return isinstance(value, str)


def _several(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _fit_axes(value: Any) -> bool:
    return bool(value) and _several(_whole(1, _MOST_ROWS))(value) and math.prod(value) <= _MOST_ROWS


_OF_COPIES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("documents", "looked_at", "copies", "families", "largest", "shared"), _whole(0)
    ),
    "partners": lambda value: type(value) in (int, float) and 0 <= value < math.inf,
}

_FIELDS: dict[str, Callable[[Any], bool]] = {
    "format": lambda value: value is not None,
    "folds": _whole(1, 2**16),
    "rows": _whole(0),
    "document_sum": _whole(0, 2**64 - 1),
    "source": _words,
    "tokenizer": _words,
    "window": _words,
    "minimum_count": _whole(0),
    "axes": _fit_axes,
    "notes": _several(_words),
    "vocabulary": lambda value: isinstance(value, dict),
}

_OF_VOCABULARY: dict[str, Callable[[Any], bool]] = {
    "size": _whole(0, _MOST_ROWS),
    "digest": _words,
    "open": lambda value: isinstance(value, bool),
}


def _tokens(stored: Archive, size: int) -> tuple[str, ...]:
    tokens = parse_json(_array_text(stored["tokens"]))
    if not _several(_words)(tokens) or len(tokens) != size:
        raise CountsError("the vocabulary of the counts file is damaged; count the corpus again.")
    return tuple(tokens)


def _read_bins(metadata: dict[str, Any], axes: tuple[int, ...]) -> Binning | None:
    """Read how positions were merged; files from before there were bins say nothing of it."""
    if metadata["format"] == FORMAT:
        return None
    bins = metadata["bins"]
    starts, span = tuple(map(int, bins["starts"])), int(bins["positions"])
    edges = (*starts, span)
    if starts[:1] != (0,) or axes != (len(starts),) or any(a >= b for a, b in pairwise(edges)):
        raise CountsError("the bins of the counts file are damaged; count the corpus again.")
    enough = bins.get("tokens_enough")
    return Binning(
        starts=starts,
        span=span,
        rule=str(bins["rule"]),
        enough=None if enough is None else int(enough),
    )


def _block(stored: Archive, fold: int, length: int, vocabulary: int) -> csr_array:
    """Read one fold and refuse anything that is no canonical matrix of counts."""
    parts = [stored[f"fold_{fold:03d}_{part}"] for part in ("indptr", "indices", "data")]
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in parts):
        raise UnreadableError(f"fold {fold} holds no lists of whole numbers")
    indptr, indices, data = (part.astype(np.int64) for part in parts)
    sound = (
        len(indptr) == length + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(data)
        and (np.diff(indptr) >= 0).all()
        and (data > 0).all()
        and (indices >= 0).all()
        and (indices < vocabulary).all()
    )
    if sound and len(indices) > 1:
        begins = np.zeros(len(indices), bool)
        begins[indptr[:-1][np.diff(indptr) > 0]] = True
        sound = bool((np.diff(indices)[~begins[1:]] > 0).all())
    if not sound:
        found = "holds a count that is negative or 0" if (data <= 0).any() else "is out of order"
        raise CountsError(
            f"fold {fold} of the counts file is damaged (it {found}); count the corpus again."
        )
    return csr_array((data, indices, indptr), shape=(length, vocabulary))


def _small(values: NDArray[Any]) -> NDArray[Any]:
    largest = int(values.max(initial=0))
    return values.astype(np.min_scalar_type(largest))


def _text_array(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _array_text(array: NDArray[np.uint8]) -> str:
    if array.dtype != np.uint8:
        raise UnreadableError("its text is no bytes")
    return array.tobytes().decode("utf-8", "surrogatepass")
