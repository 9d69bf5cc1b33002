"""Options that keep their names across verbs, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.numeric.checks import check_range


def in_range(parameter: typer.CallbackParam, value: Any) -> Any:
    """Return the value of an option if it is in its range, on every verb alike."""
    check_range(str(parameter.name), value)
    return value


Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        help="Column or field of text or ids; a number (from 0) where there is no header.",
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        help="What is independent: a column; `contained` (a row inside a longer row belongs to "
        "it); `near-copies` (documents that agree in far more tokens than chance gives belong "
        "together); `rows` (every document by itself, equal ones too). Default: the document, "
        "equal ones together unless they are equal by chance.",
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="A tokenizer.json, or words, characters, bytes, dna, protein. "
        "Default: words (FASTA: its alphabet).",
    ),
]
Length = Annotated[
    int | None,
    typer.Option(
        "--length",
        help="Number of positions n. Default: 512, or the longest document if that is shorter.",
    ),
]
Window = Annotated[
    str,
    typer.Option("--window", help="start, end (position 0 is the last token), sliding, or packed."),
]
Stride = Annotated[
    int | None, typer.Option("--stride", help="Step of sliding windows. Default: the length.")
]
MinimumCount = Annotated[
    int, typer.Option("--minimum-count", help="Positions with fewer tokens are masked.")
]
TopK = Annotated[
    int | None,
    typer.Option("--top-k", help="Coarsen the vocabulary to the k commonest types and OTHER."),
]
Bins = Annotated[
    str | None,
    typer.Option(
        "--bins",
        help="Merge this many neighbouring positions, or `auto`: until each bin is counted well "
        "enough to be debiased. Default: every position by itself.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", help="Random sets of groups, a power of two.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="text, csv, tsv, jsonl, parquet, fasta, npy, memmap or datasets. "
        "Default: by the file's name.",
    ),
]
Unit = Annotated[
    str,
    typer.Option(
        "--unit",
        help="What a document is in plain text: line, file or block (blank lines between).",
    ),
]
Split = Annotated[str | None, typer.Option("--split", help="Split of a Hugging Face data set.")]
Separator = Annotated[
    int | None, typer.Option("--separator", help="Id that ends a document in a flat file of ids.")
]
Dtype = Annotated[
    str | None, typer.Option("--dtype", help="uint16 or uint32: the type of a flat file of ids.")
]
Vocabulary = Annotated[
    int | None, typer.Option("--vocabulary", help="Size of the vocabulary that ids must keep to.")
]
Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        help="strict, or replace: what happens to undecodable bytes and unknown letters.",
    ),
]
Engine = Annotated[str, typer.Option("--engine", help="Where counting runs: local.")]
Memory = Annotated[
    float,
    typer.Option(
        "--memory", help="Memory for counts in GB; beyond it folds are merged, and that is said."
    ),
]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads for counting. Default: all cores.")
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write the token cache.")
]
LimitLine = Annotated[
    int, typer.Option("--limit-line", help="Longest line, field or document in bytes.")
]
LimitExpansion = Annotated[
    float,
    typer.Option("--limit-expansion", help="Largest ratio of decompressed to compressed bytes."),
]
LimitTokenizer = Annotated[
    int, typer.Option("--limit-tokenizer", help="Largest tokenizer file in bytes.")
]
Dimension = Annotated[
    int, typer.Option("--dimension", help="Dimension d of the encodings.", callback=in_range)
]
Rank = Annotated[
    int,
    typer.Option("--rank", help="Rank of the low-rank and SMACOF encodings.", callback=in_range),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric", help="chord (Hellinger, |sqrt p - sqrt q|) or angle (arccos of the affinity)."
    ),
]
Shuffles = Annotated[
    int,
    typer.Option(
        "--shuffles",
        help="Passes over the corpus with every window shuffled, to tell the order of tokens from "
        "which documents reach a position; 0 for none.",
        callback=in_range,
    ),
]
Draws = Annotated[
    int | None,
    typer.Option(
        "--draws",
        help="Random draws of the tests: no p-value is below 2 / (draws + 1). Default: 99, beyond "
        "128 positions 59.",
        callback=in_range,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.", callback=in_range)]
Out = Annotated[Path | None, typer.Option("--out", help="Folder that receives the files.")]
Json = Annotated[
    str | None,
    typer.Option("--json", help="Write the result as JSON to this file; - for standard output."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no table and no progress.")]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Say more: notes, eigenvalues, masked positions.")
]


def number_or_word(text: str | None) -> int | str | None:
    """Return a whole number as one; any other word stays, for its option to judge."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return text
