"""Real rows of DNA: splice junctions, and promoters against two kinds of wrong rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from gnomon.corpus import open_tokenizer, text_keys
from gnomon.errors import LabError
from gnomon.lab.tasks.base import Batch, Ceiling, Ints, Rng, check_int
from gnomon.lab.tasks.documents import (
    Documents,
    Labelled,
    data_file,
    folds_of,
    pad_documents,
    read_texts,
)

JUNCTIONS = ("EI", "IE", "N")
NUCLEOTIDES = 5
"""A, C, G, T and N for any."""


@dataclass(frozen=True, kw_only=True)
class Splice(Labelled):
    """Name the kind of junction in the middle of 60 nucleotides.

    Splice junctions: where does a gene's message begin or end an intron?

        row      CCAGCTGCATCACAGGAGGCCAGCGAGCAG | GTCTGTTCCAAGG...     60 nucleotides, aligned
        target   EI (exon to intron), IE (intron to exon) or neither

    The junction, if there is one, stands in the middle, so absolute places tell (the intron begins
    with GT and ends with AG). Data: the splice-junction set of the UCI repository [noordewier1991],
    3,190 rows. Letters other than A, C, G, T are read as N.
    """

    name: ClassVar[str] = "splice"

    length: int = 60

    @property
    def vocabulary(self) -> int:
        """Padding, four nucleotides, and N."""
        return 1 + NUCLEOTIDES

    @property
    def classes(self) -> int:
        """EI, IE, neither."""
        return len(JUNCTIONS)

    def documents(self) -> Documents:
        """Return all rows."""
        return _read_splice(data_file(self.name, self.data, "splice/splice.data"))


@lru_cache(maxsize=4)
def _read_splice(path: Path) -> Documents:
    texts, labels = read_texts(path, column="2", label="0")
    unknown = sorted({label for label in labels if label not in JUNCTIONS})
    if unknown:
        raise LabError(
            f"task splice: {path} has the label {unknown[0]!r}; it must be one of "
            f"{', '.join(JUNCTIONS)}."
        )
    texts = [text.strip() for text in texts]
    return Documents(
        tokens=pad_documents(*open_tokenizer("dna").encode(texts)),
        labels=np.array([JUNCTIONS.index(label) for label in labels], np.int64),
        folds=folds_of(text_keys(texts)),
    )


FILES = {"human": "promoters/hs_pos_TATA.txt", "mouse": "promoters/mm_pos_TATA.txt"}


@dataclass(frozen=True, kw_only=True)
class Promoters(Labelled):
    """Tell promoters (1) from their own letters dealt at random (0).

    Promoters: is this the start of a gene, or the same letters elsewhere?

        row      ... G G C T A T A A A A G G C ... | start of the gene ...
        promoters            against the same letters dealt at random to the same slots
        promoter-alignment   against the same row, turned round by a quarter to three quarters

    Real rows are aligned on the start of transcription, slot 249 of 0..299, with the TATA box some
    30 before it. Both kinds of wrong row have the bag of tokens of a real one, so an order-blind
    observer is right half of the time, exactly. A dealt row lacks local patterns as well; a turned
    one keeps them all (but for one seam) and only its absolute places are wrong.

    Data: human and mouse TATA promoters as in EPDnew [dreos2013], one a line. A window of the row
    is given, by default the 64 slots around TATA box and start.
    """

    name: ClassVar[str] = "promoters"
    least_length: ClassVar[int] = 4

    length: int = 64
    start: int = 200
    """The first slot of the window."""
    species: str = "human"

    def __post_init__(self) -> None:
        """Check the window and the species."""
        check_int(self.name, "start", self.start, least=0)
        if self.species not in FILES:
            raise LabError(
                f"task {self.name}: species is {self.species!r}; it is one of {', '.join(FILES)}."
            )
        super().__post_init__()

    @property
    def vocabulary(self) -> int:
        """Padding, four nucleotides, and N."""
        return 1 + NUCLEOTIDES

    @property
    def classes(self) -> int:
        """A promoter, or not."""
        return 2

    def documents(self) -> Documents:
        """Return the window of every promoter."""
        path = data_file(self.name, self.data, FILES[self.species])
        return _read_promoters(self.name, path, self.start, self.length)

    def wrong(self, rng: Rng, rows: Ints) -> Ints:
        """Return rows with the same letters that are no promoters."""
        return rng.permuted(rows, axis=1)

    def chosen(self, documents: Documents, length: int | None) -> Ints:
        """Return every row twice: as it is, and, counted on from the last row, as a wrong one."""
        rows = super().chosen(documents, length)
        return np.concatenate([rows, rows + len(documents.tokens)])

    def made(self, rng: Rng, documents: Documents, picked: Ints) -> Batch:
        """Return every picked row as it is, or as a wrong one."""
        right = picked < len(documents.tokens)
        rows = documents.tokens[picked % len(documents.tokens)]
        tokens = np.where(right[:, None], rows, self.wrong(rng, rows))
        mask = np.ones(tokens.shape, np.bool_)
        return Batch(tokens=tokens, targets=right.astype(np.int64), mask=mask)

    def ceiling(self) -> Ceiling:
        """Return the ceiling with its exact prior: both kinds of rows have the same bags."""
        return replace(super().ceiling(), prior=0.5, constant=0.5)


@dataclass(frozen=True, kw_only=True)
class PromoterAlignment(Promoters):
    """Tell aligned promoters (1) from turned ones (0)."""

    name: ClassVar[str] = "promoter-alignment"

    def wrong(self, rng: Rng, rows: Ints) -> Ints:
        """Return rows turned round by a quarter to three quarters of their length."""
        length = rows.shape[1]
        shifts = rng.integers(length // 4, length - length // 4 + 1, len(rows))
        slots = (np.arange(length) + shifts[:, None]) % length
        return np.take_along_axis(rows, slots, axis=1)


@lru_cache(maxsize=8)
def _read_promoters(name: str, path: Path, start: int, length: int) -> Documents:
    texts, _ = read_texts(path)
    shortest = min(map(len, texts))
    if start + length > shortest:
        raise LabError(
            f"task {name}: slots {start} to {start + length - 1} are asked for, and {path} has "
            f"rows of {shortest}; make start or length smaller."
        )
    folds = folds_of(text_keys(texts))
    cut = [text[start : start + length] for text in texts]
    tokens = pad_documents(*open_tokenizer("dna").encode(cut))
    return Documents(tokens=tokens, labels=np.ones(len(tokens), np.int64), folds=folds)
