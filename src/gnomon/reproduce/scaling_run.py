"""Runs a model over documents, line by line, and keeps what is done: a run resumes where it ended.

What is kept of a line on a document is the loss of every token, in a file whose name follows from
the weights, the tokens and the encoding; nothing else can make it be taken for another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import Progress
from gnomon.files import write_with
from gnomon.reading import load_array
from gnomon.reproduce.scaling_lines import CUT, LINES, UNSCALED, encoding_of, windows
from gnomon.reproduce.scaling_model import Reader, losses
from gnomon.reproduce.scaling_text import Document

Losses = NDArray[np.float32]
VERSION = 2
"""Of what a kept file holds; a change of the way losses are computed raises it."""


def measured(
    read: Reader,
    documents: Sequence[Document],
    factor: float,
    progress: Progress,
    folder: Path,
) -> dict[str, NDArray[np.float32]]:
    """Return the losses of each line, one row for each document; document by document."""
    found: dict[str, list[Losses]] = {line: [] for line in LINES}
    for document in documents:
        for line in LINES:
            done = sum(map(len, found.values()))
            progress.stage(f"{document.name}, {line} ({done + 1} of {len(documents) * len(LINES)})")
            found[line].append(_kept(read, document, line, factor, folder))
    inside = read.trained.length - 1  # losses begin with token 1
    joined = [
        np.concatenate([u[:inside], c]) for u, c in zip(found[UNSCALED], found[CUT], strict=True)
    ]
    return {line: np.stack(rows) for line, rows in (found | {CUT: joined}).items()}


def _kept(read: Reader, document: Document, line: str, factor: float, folder: Path) -> Losses:
    """Return the losses of one line on one document, computed only if they are not kept yet."""
    length = len(document.tokens)
    made = encoding_of(line, read.trained, factor, length)
    cut = windows(line, read.trained.length, length)
    path = folder / f"{_key(read, document, repr(made.parameters), cut)}.npy"
    kept = _opened(path)
    if kept is not None and len(kept) == sum(end - max(k, 1) for _, end, k in cut):
        return kept
    parts = [
        losses(read, made, document.tokens[first:end])[max(counted - first - 1, 0) :]
        for first, end, counted in cut
    ]
    found = np.concatenate(parts)
    write_with(path, lambda stream: np.save(stream, found))
    return found


def _opened(path: Path) -> Losses | None:
    """Return what a file holds; None where it is not there, or damaged and to be made again."""
    try:
        return np.asarray(load_array(path), dtype=np.float32)
    except (OSError, ValueError):
        return None


def _key(read: Reader, document: Document, encoding: str, cut: Any) -> str:
    tokens = hashlib.sha256(document.tokens.tobytes()).hexdigest()
    what = json.dumps([VERSION, read.digest, tokens, encoding, cut], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()[:24]
