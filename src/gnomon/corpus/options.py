"""The options of reading and counting, each declared once (`gnomon.options`).

Limits on untrusted input are options, too: each has a message that names it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from operator import not_
from typing import Literal

from gnomon.corpus.documents import check_folds
from gnomon.corpus.windows import Kind, Window
from gnomon.errors import InputError
from gnomon.numeric.parallel import MOST_THREADS
from gnomon.options import SEED, Flag, check_options, number_or_word, option

Unit = Literal["line", "file", "block"]
OnError = Literal["strict", "replace"]
DEFAULT_MEMORY = 4 * 2**30
DEFAULT_LENGTH = 512
_MOST_TYPES = 2**31 - 1


def _bytes_of(gigabytes: float) -> int:
    if not 0 < gigabytes < 2**33:  # also NaN
        raise InputError(f"--memory is {gigabytes:g} GB; it must be more than 0, and a size.")
    return max(int(gigabytes * 2**30), 1)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a source may ask of this machine before it is refused."""

    line_bytes: int = option(
        64 * 2**20,
        "Longest line, field or document in bytes.",
        least=1,
        flag=Flag(name="--limit-line"),
    )
    expansion: float = option(
        1000.0,
        "Largest ratio of decompressed to compressed bytes.",
        least=1,
        flag=Flag(name="--limit-expansion"),
    )
    tokenizer_bytes: int = option(
        256 * 2**20,
        "Largest tokenizer file in bytes.",
        least=1,
        flag=Flag(name="--limit-tokenizer"),
    )

    def __post_init__(self) -> None:
        """Refuse limits that nothing, or everything, would pass."""
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a corpus is read; None means that the format decides."""

    format: str | None = option(
        None,
        "text, csv, tsv, jsonl, parquet, fasta, npy, memmap or datasets. Default: by the file's "
        "name.",
    )
    column: str | int | None = option(
        None, "Column or field of text or ids; a number (from 0) where there is no header."
    )
    group: str | None = option(
        None,
        "What is independent: a column; `contained` (a row inside a longer row belongs to it); "
        "`near-copies` (documents that agree in far more tokens than chance gives belong "
        "together); `rows` (every document by itself, equal ones too). Default: the document, "
        "equal ones together unless they are equal by chance.",
    )
    unit: Unit = option(
        "line", "What a document is in plain text: line, file or block (blank lines between)."
    )
    split: str | None = option(None, "Split of a Hugging Face data set.")
    separator: int | None = option(None, "Id that ends a document in a flat file of ids.")
    dtype: str | None = option(None, "uint16 or uint32: the type of a flat file of ids.")
    errors: OnError = option(
        "strict", "strict, or replace: what happens to undecodable bytes and unknown letters."
    )
    limits: Limits = option(
        None,
        "Longest line, largest expansion and largest tokenizer file that are accepted.",
        made=Limits,
    )

    def __post_init__(self) -> None:
        """Refuse values of another type."""
        check_options(self)

    @property
    def column_name(self) -> str | None:
        """Return the column as text: a number may be one, too."""
        return None if self.column is None else str(self.column)

    def stamp(self) -> bytes:
        """Return the options that change documents as bytes, for fingerprints.

        Limits are left out: they refuse a corpus or let it pass, and never change a document.
        """
        names = ("format", "group", "unit", "split", "separator", "dtype", "errors")
        values = {name: getattr(self, name) for name in names} | {"column": self.column_name}
        return json.dumps(values, sort_keys=True).encode()


@dataclass(frozen=True, kw_only=True)
class CountOptions(ReadOptions):
    """Everything that decides counts: how a corpus is read, and how its tokens are counted."""

    tokenizer: str | os.PathLike[str] | None = option(
        None,
        "A tokenizer.json, or words, characters, bytes, dna, protein. Default: words (FASTA: its "
        "alphabet).",
    )
    vocabulary: int | None = option(
        None, "Size of the vocabulary that ids must keep to.", least=1, most=_MOST_TYPES
    )
    length: int | None = option(
        None, "Number of positions n. Default: 512, or the longest document if that is shorter."
    )
    window: Kind = option("start", "start, end (position 0 is the last token), sliding, or packed.")
    stride: int | None = option(None, "Step of sliding windows. Default: the length.")
    minimum_count: int = option(10, "Positions with fewer tokens are masked.", least=0)
    top_k: int | None = option(
        None, "Coarsen the vocabulary to the k commonest types and OTHER.", most=_MOST_TYPES
    )
    bins: int | str | tuple[int, ...] | None = option(
        None,
        "Merge this many neighbouring positions, or `auto`: until each bin is counted well enough "
        "to be debiased; or the first position of each bin. Default: every position by itself.",
        flag=Flag(
            help="Merge this many neighbouring positions, or `auto`: until each bin is counted "
            "well enough to be debiased. Default: every position by itself.",
            parse=number_or_word,
        ),
    )
    folds: int = option(16, "Random sets of groups, a power of two.")
    engine: str = option("local", "Where counting runs: local.")
    memory: float = option(
        DEFAULT_MEMORY,
        "Memory for counts in bytes; beyond it folds are merged, and that is said.",
        least=1,
        flag=Flag(
            help="Memory for counts in GB; beyond it folds are merged, and that is said.",
            default=4.0,
            parse=_bytes_of,
        ),
    )
    threads: int | None = option(
        None, "Threads for counting. Default: all cores.", least=1, most=MOST_THREADS
    )
    cache: bool = option(
        True,
        "Whether the token cache is read and written.",
        flag=Flag(
            name="--no-cache",
            help="Neither read nor write the token cache.",
            default=False,
            parse=not_,
        ),
    )
    seed: int = option(0, SEED)

    def __post_init__(self) -> None:
        """Refuse what no corpus could satisfy, before anything is read."""
        from gnomon.corpus.binning import check_bins

        check_bins(self.bins)
        check_options(self)
        if self.engine != "local":
            raise InputError(
                f"--engine {self.engine!r} is unknown; this version counts on one machine: local."
            )
        check_folds(self.folds)
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"--top-k is {self.top_k}; keep at least one type.")
        Window(self.window, DEFAULT_LENGTH if self.length is None else self.length, self.stride)
