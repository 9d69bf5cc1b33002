"""PositionCounts: how often each token stands at each position, fold by fold.

Counts are exact integers in one sparse matrix whose row p * F + f belongs to position p and fold
f of F. Adding two of them is associative and commutative over any partition of a corpus, bit for
bit: vocabularies that grew are united in sorted order, the group sketch and the digest are merged
by operations that do not know an order, and unequal numbers of folds meet at their common divisor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from math import gcd, prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, vstack

from gnomon.corpus.folds import GroupSketch
from gnomon.corpus.vocabulary import Vocabulary, unite
from gnomon.errors import CountsError
from gnomon.results import Result

OTHER = "OTHER"


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

    # -- what it says ---------------------------------------------------------------------------

    @property
    def length(self) -> int:
        """Number of positions n."""
        return prod(self.axes)

    @cached_property
    def matrix(self) -> csr_array:
        """Counts of all folds together, length x vocabulary."""
        return _pooled(self.blocks, self.folds, self.folds)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """Tokens at each position."""
        return np.asarray(self.matrix.sum(axis=1)).ravel().astype(np.int64)

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
            "notes": list(self.notes),
        }

    # -- what can be made of it -----------------------------------------------------------------

    def __add__(self, other: PositionCounts) -> PositionCounts:
        """Return the counts of both corpora together."""
        if (self.axes, self.window) != (other.axes, other.window):
            raise CountsError(
                f"counts over {self.axes} positions ({self.window} window) and over {other.axes} "
                f"({other.window} window) can not be added; count both with the same window."
            )
        folds = gcd(self.folds, other.folds)
        vocabulary, left, right = unite(self.vocabulary, other.vocabulary)
        blocks = renamed(self.with_folds(folds).blocks, left, vocabulary.size) + renamed(
            other.with_folds(folds).blocks, right, vocabulary.size
        )
        return replace(
            self,
            blocks=blocks,
            folds=folds,
            vocabulary=vocabulary,
            rows=self.rows + other.rows,
            groups=self.groups.merge(other.groups),
            document_sum=(self.document_sum + other.document_sum) % 2**64,
            source=_joined(self.source, other.source),
            tokenizer=_joined(self.tokenizer, other.tokenizer),
            minimum_count=max(self.minimum_count, other.minimum_count),
            notes=tuple(sorted({*self.notes, *other.notes})),
        )

    def with_folds(self, folds: int) -> PositionCounts:
        """Return the same counts in fewer folds: fold f of many becomes fold f mod `folds`."""
        if folds == self.folds:
            return self
        if folds < 1 or self.folds % folds:
            raise CountsError(f"{self.folds} folds can not be merged to {folds}; choose a divisor.")
        return replace(self, blocks=merge_folds(self.blocks, self.folds, folds), folds=folds)

    def with_minimum_count(self, minimum: int) -> PositionCounts:
        """Return the same counts with another threshold for masking positions."""
        if minimum < 0:
            raise CountsError(f"--minimum-count is {minimum}; it must be 0 or more.")
        return replace(self, minimum_count=minimum)

    def shortened(self, length: int) -> PositionCounts:
        """Return the counts of the first `length` positions of a sequence corpus."""
        return replace(self, blocks=self.blocks[: length * self.folds], axes=(length,))

    def coarsened(self, top: int) -> PositionCounts:
        """Keep the `top` most frequent types and put all others in one piece called OTHER."""
        if top < 1:
            raise CountsError(f"--top-k is {top}; keep at least one type.")
        if top >= self.types:
            return self
        frequency = np.bincount(
            self.blocks.indices, weights=self.blocks.data, minlength=self.vocabulary.size
        )
        best = np.sort(np.argsort(-frequency, kind="stable")[:top])
        column = np.full(self.vocabulary.size, top, dtype=np.int64)
        column[best] = np.arange(top)
        names = self.vocabulary.tokens
        kept_names = tuple(names[b] if names else str(b) for b in best)
        return replace(
            self,
            blocks=renamed(self.blocks, column, top + 1),
            vocabulary=Vocabulary.of((*kept_names, OTHER)),
            notes=(*self.notes, f"vocabulary coarsened to {top} types and {OTHER}"),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the counts to a `.npz` file without pickle, whole or not at all."""
        from gnomon.corpus.counts_file import save_counts

        save_counts(self, Path(path))

    @staticmethod
    def load(path: str | PathLike[str]) -> PositionCounts:
        """Read counts that `save` or a survey wrote; whatever is wrong with them is refused."""
        from gnomon.corpus.counts_file import load_counts

        return load_counts(Path(path))

    @classmethod
    def from_array(
        cls,
        array: ArrayLike | csr_array,
        *,
        axes: tuple[int, ...] | None = None,
        minimum_count: int = 10,
        source: str = "array",
    ) -> PositionCounts:
        """Take counts that come from elsewhere: position x token, or fold x position x token.

        >>> PositionCounts.from_array([[3, 0], [1, 2]], minimum_count=1).totals
        array([3, 3])
        """
        blocks, folds = _checked(array)
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
        [_pooled(blocks[f::fewer], folds // fewer, folds // fewer) for f in range(fewer)]
    )


def vstack_folds(blocks: list[csr_array]) -> csr_array:
    """Interleave one matrix per fold to rows p * F + f."""
    length, folds = blocks[0].shape[0], len(blocks)
    stacked = csr_array(vstack(blocks, format="csr"))
    order = np.arange(folds * length).reshape(folds, length).T.ravel()
    return csr_array(stacked[order])


def _pooled(blocks: csr_array, folds: int, together: int) -> csr_array:
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
    moved = csr_array(
        (blocks.data, column[blocks.indices], blocks.indptr), shape=(blocks.shape[0], size)
    )
    moved.sum_duplicates()
    return moved


def _content(blocks: csr_array) -> int:
    """Return a key of the counts themselves, for counts that have no documents."""
    digest = blake2b(digest_size=8)
    for part in (blocks.indptr, blocks.indices, blocks.data):
        digest.update(part.astype("<i8").tobytes())
    return int.from_bytes(digest.digest(), "little")


def _joined(left: str, right: str) -> str:
    return " + ".join(sorted({*left.split(" + "), *right.split(" + ")}))


def _checked(array: Any) -> tuple[csr_array, int]:
    """Return counts given from outside as (position * fold) x token, or say what is wrong."""
    if issparse(array):
        matrix = csr_array(array)
        _check_numbers(matrix.data, None)
        folds, dense = 1, matrix
    else:
        given = np.asarray(array)
        if given.ndim not in (2, 3):
            raise CountsError(
                f"counts have {given.ndim} axes; give position x token, or fold x position x token."
            )
        if given.dtype.kind not in "iuf":
            raise CountsError(f"counts are {given.dtype}, not numbers; give integers.")
        _check_numbers(given, given.shape)
        folds = given.shape[0] if given.ndim == 3 else 1
        stacked = given.transpose(1, 0, 2).reshape(-1, given.shape[2]) if folds > 1 else given
        dense = csr_array(stacked.reshape(-1, given.shape[-1]))
    blocks = csr_array(dense.astype(np.int64))
    blocks.eliminate_zeros()
    blocks.sum_duplicates()
    if min(blocks.shape) == 0:
        raise CountsError("counts are empty; give at least one position and one token.")
    return blocks, folds


def _check_numbers(values: NDArray[Any], shape: tuple[int, ...] | None) -> None:
    for bad, word in ((~np.isfinite(values), "not a number"), (values < 0, "negative")):
        if bad.any():
            raise CountsError(f"counts{_place(bad, shape)} is {word}; counts are integers >= 0.")
    if values.dtype.kind == "f" and (values != np.floor(values)).any():
        place = _place(values != np.floor(values), shape)
        raise CountsError(f"counts{place} is not whole; give counts, not probabilities.")


def _place(bad: NDArray[np.bool_], shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return ""
    return str([int(i) for i in np.argwhere(bad)[0]])
