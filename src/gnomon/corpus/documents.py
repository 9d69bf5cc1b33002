"""What a source hands on: batches of documents, as text or as token ids.

A *document* is what is read; a *group* is what is independent of the rest (by default the
document itself). Every document has a 64-bit content key. Equal documents have equal keys, so
exact duplicates fall into the same fold, and the sum of all keys modulo 2^64 is a digest that
does not depend on the order or the partition in which a corpus is read.

A *fold* is a random set of groups: fold(key) = mix(key) mod F with F a power of two, so that the
same group falls into the same fold on every machine, and halving F merges fold f with f + F/2.

The number of distinct groups is kept by a sketch of the k smallest mixed keys (KMV: Bar-Yossef et
al. 2002; the estimator of Beyer et al. 2007): below k groups it is exact; above, with U the k-th
smallest of the keys scaled to (0, 1], the estimate is (k - 1) / U with relative standard error
1 / sqrt(k - 2), 0.2 % for k = 2^18. Merging is a union: associative, commutative, idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from math import sqrt
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import InputError

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
Keys = NDArray[np.uint64]
_WEYL = np.uint64(0x9E3779B97F4A7C15)
CONTAINED, NEAR_COPIES, ROWS = "contained", "near-copies", "rows"
FOUND = (CONTAINED, NEAR_COPIES, ROWS)
"""Groups that are no columns: found by comparing documents, or every row by itself."""
MOST_FOLDS = 256
CAPACITY = 2**18
_PENDING = 2**16


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """Documents as text, in reading order; `groups` names what each belongs to, if declared."""

    texts: list[str]
    groups: list[str] | None = None
    bytes_read: int = 0
    """How much of the source, in bytes as stored, was consumed up to the end of this batch."""


@dataclass(frozen=True, kw_only=True)
class IdBatch:
    """Documents as token ids: document r is `values[offsets[r]:offsets[r + 1]]`."""

    values: Ids
    offsets: Offsets
    documents: Keys
    groups: Keys
    bytes_read: int = 0

    @property
    def rows(self) -> int:
        """Number of documents."""
        return len(self.offsets) - 1


class Source(Protocol):
    """Something that can be read, once or again, as batches of documents."""

    @property
    def name(self) -> str:
        """What the user wrote."""

    @property
    def kind(self) -> Literal["text", "ids"]:
        """Whether batches hold text (to be tokenised) or ids."""

    @property
    def axes(self) -> tuple[int, ...] | None:
        """Sizes of the position axes of a grid corpus; None for sequences."""

    @property
    def vocabulary_size(self) -> int | None:
        """Declared vocabulary of an ids source, if it is known beforehand."""

    @property
    def size(self) -> int | None:
        """Bytes as stored, for progress; None where it cannot be known."""

    def fingerprint(self) -> str | None:
        """Digest of the stored bytes and reading options; None where it can be read only once."""

    def batches(self) -> Iterator[TextBatch] | Iterator[IdBatch]:
        """Read from the beginning, in bounded memory."""


def text_key(text: str) -> int:
    """Return the 64-bit key of a text or of a declared group name.

    >>> text_key("abc") == text_key("abc") != text_key("abd")
    True
    """
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def text_keys(texts: list[str]) -> Keys:
    """Return `text_key` of every text."""
    return np.fromiter((text_key(t) for t in texts), dtype=np.uint64, count=len(texts))


def mix(values: Keys) -> Keys:
    """Scramble 64-bit integers (the finaliser of splitmix64; Steele, Lea and Flood 2014)."""
    z = values + _WEYL
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def id_keys(values: Ids, offsets: Offsets, token_keys: Keys | None = None) -> Keys:
    """Return the content key of every document given as ids.

    The key is mix(length + sum_t mix(key(token_t) + mix(t))) modulo 2^64: it depends on order, and
    costs one vectorised pass. `token_keys` replaces ids by keys that do not depend on the order
    in which a growing vocabulary met its tokens.
    """
    lengths = np.diff(offsets)
    starts = np.repeat(offsets[:-1], lengths)
    place = (np.arange(offsets[0], offsets[-1], dtype=np.int64) - starts).astype(np.uint64)
    used = values[offsets[0] : offsets[-1]]
    token = used.astype(np.uint64) if token_keys is None else token_keys[used]
    terms = np.append(mix(token + mix(place)), np.uint64(0))
    sums = np.add.reduceat(terms, offsets[:-1] - offsets[0]) if len(lengths) else terms[:0]
    sums[lengths == 0] = 0  # reduceat gives the next term, not zero, for an empty document
    return mix(sums + lengths.astype(np.uint64))


def offsets_of(lengths: list[int] | NDArray[np.int64] | NDArray[np.bool_]) -> Offsets:
    """Return where each document begins, and where the last one ends.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def fold_of(keys: Keys, folds: int) -> NDArray[np.uint8]:
    """Return the fold of every group key; `folds` is a power of two, at most 256."""
    check_folds(folds)
    return (mix(keys) & np.uint64(folds - 1)).astype(np.uint8)


def check_folds(folds: int) -> None:
    """Refuse a number of folds that is no power of two between 1 and 256."""
    if not 1 <= folds <= MOST_FOLDS or folds & (folds - 1):
        raise InputError(
            f"{folds} folds were asked for; choose a power of two from 1 to 256 (--folds)."
        )


class GroupSketch:
    """How many distinct groups were met, in memory that does not grow with them."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 3:
            raise InputError(f"a sketch of {capacity} keys estimates nothing; give it 3 or more.")
        self.capacity = capacity
        self._smallest: Keys = np.empty(0, dtype=np.uint64)
        self._pending: list[Keys] = []
        self._waiting = 0

    @classmethod
    def from_array(cls, smallest: Keys, capacity: int = CAPACITY) -> GroupSketch:
        """Return the sketch that `array` came from."""
        sketch = cls(capacity)
        sketch._smallest = np.unique(smallest.astype(np.uint64))[:capacity]
        return sketch

    def add(self, keys: Keys) -> None:
        """Meet these groups, new or known."""
        self._wait(mix(keys))

    def merge(self, other: GroupSketch) -> GroupSketch:
        """Return the sketch of both sets of groups."""
        if self.capacity != other.capacity:
            raise InputError(
                f"sketches of {self.capacity} and {other.capacity} keys cannot be merged; "
                "make both with the same capacity."
            )
        both = np.concatenate((self.array, other.array))
        return GroupSketch.from_array(both, self.capacity)

    @property
    def array(self) -> Keys:
        """The smallest mixed keys, sorted: all there is to save."""
        self._settle()
        return self._smallest

    @property
    def exact(self) -> bool:
        """Whether `estimate` is the number itself."""
        return len(self.array) < self.capacity

    def estimate(self) -> int:
        """Return the number of distinct groups, exact or estimated."""
        smallest = self.array
        if self.exact:
            return len(smallest)
        scaled = (int(smallest[-1]) + 1) / 2.0**64
        return round((self.capacity - 1) / scaled)

    def relative_error(self) -> float:
        """Return the relative standard error of the estimate."""
        return 0.0 if self.exact else 1.0 / sqrt(self.capacity - 2)

    def _wait(self, mixed: Keys) -> None:
        """Collect keys that may still matter; sorting is done for many batches at once."""
        if len(self._smallest) == self.capacity:
            mixed = mixed[mixed < self._smallest[-1]]
        self._pending.append(mixed)
        self._waiting += len(mixed)
        if self._waiting >= _PENDING:
            self._settle()

    def _settle(self) -> None:
        if self._pending:
            met = np.unique(np.concatenate((self._smallest, *self._pending)))
            self._smallest = met[: self.capacity]
            self._pending, self._waiting = [], 0
