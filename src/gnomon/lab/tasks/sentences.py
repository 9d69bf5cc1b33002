"""The sentiment of a sentence of SST-2."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from gnomon.corpus import open_tokenizer, text_keys
from gnomon.errors import LabError
from gnomon.lab.tasks.base import Ints, check_int
from gnomon.lab.tasks.documents import (
    TRAIN,
    Documents,
    Labelled,
    data_file,
    folds_of,
    in_part,
    pad_documents,
    read_texts,
)

SENTIMENTS = ("0", "1")
UNKNOWN_WORD = 1


@dataclass(frozen=True, kw_only=True)
class Sentences(Labelled):
    """Name the sentiment of a sentence.

    Sentences: is this review kind or unkind?

        row      a stirring , funny and finally transporting re imagining of beauty ...
        target   1                                                     (0: unkind, 1: kind)

    Whole sentences of SST-2 [socher2013], one row each, independent of one another. Words that
    occur less than twice in the training rows are one unknown word. Sentences above `length` words
    are left out, so that a model can be trained on short ones; `batch(..., length=k)` gives
    sentences of more than k / 2 and at most k words, for the test on longer ones. Most of the label
    is in the bag of words: the prior says how much.
    """

    name: ClassVar[str] = "sentences"

    length: int = 64
    least_count: int = 2
    """Words below this count in the training rows are one unknown word."""

    def __post_init__(self) -> None:
        """Check the least count, then the rest."""
        check_int(self.name, "least_count", self.least_count, least=1)
        super().__post_init__()

    @property
    def vocabulary(self) -> int:
        """Padding, the unknown word, and words of the training rows."""
        return self._read()[1]

    @property
    def classes(self) -> int:
        """Unkind, kind."""
        return len(SENTIMENTS)

    def documents(self) -> Documents:
        """Return all sentences."""
        return self._read()[0]

    def chosen(self, documents: Documents, length: int | None) -> Ints:
        """Return the rows of this part, short ones, or those of one range of lengths."""
        rows = self.of_part(documents)
        words = documents.lengths[rows]
        if length is None:
            return rows[words <= self.length]
        check_int(self.name, "length", length, least=1)
        return rows[(words > length // 2) & (words <= length)]

    def _read(self) -> tuple[Documents, int]:
        path = data_file(self.name, self.data, "sst2/whole-sentences.tsv")
        return _read_sentences(path, self.fold, self.least_count)


@lru_cache(maxsize=4)
def _read_sentences(path: Path, fold: int, least: int) -> tuple[Documents, int]:
    texts, labels = read_texts(path, column="0", label="1")
    unknown = sorted({label for label in labels if label not in SENTIMENTS})
    if unknown:
        raise LabError(f"task sentences: {path} has the label {unknown[0]!r}; it must be 0 or 1.")
    words = pad_documents(*open_tokenizer("words").encode(texts))
    folds = folds_of(text_keys(texts))
    seen = words[in_part(folds, fold, TRAIN)]
    counts = np.bincount(seen.reshape(-1), minlength=int(words.max()) + 1)
    known = np.flatnonzero(counts >= least)
    known = known[known > 0]  # 0 is padding
    renamed = np.full(len(counts), UNKNOWN_WORD, np.int64)
    renamed[0] = 0
    renamed[known] = UNKNOWN_WORD + 1 + np.arange(len(known))
    values = np.array([SENTIMENTS.index(label) for label in labels], np.int64)
    return Documents(tokens=renamed[words], labels=values, folds=folds), UNKNOWN_WORD + 1 + len(
        known
    )
