"""Splice junctions: where does a gene's message begin or end an intron?

    row      CCAGCTGCATCACAGGAGGCCAGCGAGCAG | GTCTGTTCCAAGG...     60 nucleotides, aligned
    target   EI (exon to intron), IE (intron to exon) or neither

The junction, if there is one, stands in the middle, so absolute places tell (the intron begins with
GT and ends with AG). Data: the splice-junction set of the UCI repository [noordewier1991], 3,190
rows. Letters other than A, C, G, T are read as N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from gnomon.corpus import open_tokenizer, text_keys
from gnomon.errors import LabError
from gnomon.lab.tasks.real.documents import (
    Documents,
    Labelled,
    data_file,
    folds_of,
    padded,
    read_texts,
)

LABELS = ("EI", "IE", "N")
NUCLEOTIDES = 5
"""A, C, G, T and N for any."""


@dataclass(frozen=True, kw_only=True)
class Splice(Labelled):
    """Name the kind of junction in the middle of 60 nucleotides."""

    name: ClassVar[str] = "splice"

    length: int = 60

    @property
    def vocabulary(self) -> int:
        """Padding, four nucleotides, and N."""
        return 1 + NUCLEOTIDES

    @property
    def classes(self) -> int:
        """EI, IE, neither."""
        return len(LABELS)

    def documents(self) -> Documents:
        """Return all rows."""
        return _read(data_file(self.name, self.data, "splice/splice.data"))


@lru_cache(maxsize=4)
def _read(path: Path) -> Documents:
    texts, labels = read_texts(path, column="2", label="0")
    unknown = sorted({label for label in labels if label not in LABELS})
    if unknown:
        raise LabError(
            f"task splice: {path} has the label {unknown[0]!r}; it must be one of "
            f"{', '.join(LABELS)}."
        )
    texts = [text.strip() for text in texts]
    return Documents(
        tokens=padded(*open_tokenizer("dna").encode(texts)),
        labels=np.array([LABELS.index(label) for label in labels], np.int64),
        folds=folds_of(text_keys(texts)),
    )
