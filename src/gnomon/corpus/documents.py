"""What a source hands on: batches of documents, as text or as token ids.

A *document* is what is read; a *group* is what is independent of the rest (by default the
document itself). Every document has a 64-bit content key. Equal documents have equal keys, so
exact duplicates fall into the same fold, and the sum of all keys modulo 2^64 is a digest that
does not depend on the order or the partition in which a corpus is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
Keys = NDArray[np.uint64]

_WEYL = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """Documents as text, in reading order; `groups` names what each belongs to, if declared."""

    texts: list[str]
    groups: list[str] | None = None
    bytes_read: int = 0
    """How much of the source, in bytes as stored, was consumed up to the end of this batch."""


CONTAINED, NEAR_COPIES, ROWS = "contained", "near-copies", "rows"
FOUND = (CONTAINED, NEAR_COPIES, ROWS)
"""Groups that are no columns: found by comparing documents, or every row by itself."""


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
        """Bytes as stored, for progress; None where it can not be known."""

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
