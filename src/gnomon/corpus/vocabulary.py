"""A vocabulary: how many token types there are, what they are called, and its digest.

Two vocabularies are *the same* when their digests are. A vocabulary that grew while reading
(words) is put in sorted order when reading ends, so that its ids do not depend on the order or
the partition in which the corpus was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import CountsError


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
            f"counts over two different vocabularies ({left.size} and {right.size} types) can not "
            "be added; count both with the same tokenizer."
        )
    united = Vocabulary.of(tuple(sorted({*left.tokens, *right.tokens})), grows=True)
    place = {token: index for index, token in enumerate(united.tokens or ())}
    where = [np.array([place[t] for t in v.tokens or ()], np.int64) for v in (left, right)]
    return united, where[0], where[1]
