"""Batches of bounded size, whatever the sizes of the pieces that formats hand on.

A batch holds at most about 4 MiB of text or 4096 documents, or about a million ids. Documents of
nothing but white space, or of no ids, are no documents: they are dropped here, for every format.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gnomon.corpus.documents import IdBatch, Ids, Keys, Offsets, TextBatch, id_keys, text_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TEXT_CHARACTERS = 4 << 20
TEXT_DOCUMENTS = 4096
ID_TOKENS = 1 << 20


def rebatch_texts(pieces: Iterable[TextBatch]) -> Iterator[TextBatch]:
    """Merge small pieces and cut large ones; order is kept.

    A batch that ends inside a piece has read its share of that piece, so that progress and
    estimates do not take a piece for done when it is begun.
    """
    texts: list[str] = []
    groups: list[str] = []
    held = read = 0
    for piece in pieces:
        before, read = read, piece.bytes_read
        fresh, names = _documents(piece)
        ends = list(accumulate(map(len, fresh), initial=0))
        start = 0
        while start < len(fresh):
            stop = bisect_left(ends, ends[start] + TEXT_CHARACTERS - held, start + 1)
            stop = min(stop, start + TEXT_DOCUMENTS - len(texts), len(fresh))
            texts += fresh[start:stop]
            groups += names[start:stop]
            held += ends[stop] - ends[start]
            start = stop
            if held >= TEXT_CHARACTERS or len(texts) >= TEXT_DOCUMENTS:
                share = before + (read - before) * ends[stop] // ends[-1]
                yield TextBatch(texts=texts, groups=groups or None, bytes_read=share)
                texts, groups, held = [], [], 0
    if texts:
        yield TextBatch(texts=texts, groups=groups or None, bytes_read=read)


def _documents(piece: TextBatch) -> tuple[list[str], list[str]]:
    """Return the texts that are documents, with the names of their groups where declared."""
    texts = [text for text in piece.texts if text and not text.isspace()]
    if piece.groups is None or len(texts) == len(piece.texts):
        return texts, piece.groups or []
    pairs = zip(piece.texts, piece.groups, strict=True)
    return texts, [group for text, group in pairs if text and not text.isspace()]


def id_batch(
    values: Ids, offsets: Offsets, *, groups: list[str] | None = None, bytes_read: int = 0
) -> IdBatch:
    """Make a batch with its keys; documents of no ids are dropped."""
    kept = np.diff(offsets) > 0
    if not kept.all():
        offsets = np.concatenate([offsets[:1], offsets[1:][kept]])
        groups = None if groups is None else [g for g, k in zip(groups, kept, strict=True) if k]
    documents = id_keys(values, offsets)
    keys: Keys = documents if groups is None else text_keys(groups)
    return IdBatch(
        values=values, offsets=offsets, documents=documents, groups=keys, bytes_read=bytes_read
    )


def rebatch_ids(pieces: Iterable[IdBatch]) -> Iterator[IdBatch]:
    """Merge small pieces until they hold about a million ids; order is kept."""
    held: list[IdBatch] = []
    tokens = 0
    for piece in pieces:
        if not piece.rows:
            continue
        held.append(piece)
        tokens += len(piece.values)
        if tokens >= ID_TOKENS:
            yield _merged(held)
            held, tokens = [], 0
    if held:
        yield _merged(held)


def _merged(pieces: list[IdBatch]) -> IdBatch:
    if len(pieces) == 1:
        return pieces[0]
    lengths = np.concatenate([np.diff(piece.offsets) for piece in pieces])
    return IdBatch(
        values=np.concatenate([piece.values for piece in pieces]),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        documents=np.concatenate([piece.documents for piece in pieces]),
        groups=np.concatenate([piece.groups for piece in pieces]),
        bytes_read=pieces[-1].bytes_read,
    )
