"""Long texts for a model: the middle of each file, as tokens.

Of a Project Gutenberg file the words before its line `*** START OF ...` and after `*** END OF ...`
are its licence, and left out. What remains is read as it is, line breaks included. The tokens in
the middle are taken, so that no title page or index is among them; a text that is shorter than the
length asked for is refused.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import InputError

_START = re.compile(r"^\*\*\* ?START OF .*$", re.MULTILINE)
_END = re.compile(r"^\*\*\* ?END OF .*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """Tokens from the middle of one file."""

    name: str
    tokens: NDArray[np.int64]
    first: int
    """Which token of the file is the first one here."""
    digest: str
    """SHA-256 of the file."""


def document(path: str | Path, tokenizer: Any, length: int) -> Document:
    """Read `length` tokens from the middle of a text file."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no text at {path}; pass plain text files in UTF-8.")
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}); convert it first.") from error
    found = np.array(tokenizer(body(text), verbose=False)["input_ids"], dtype=np.int64)
    if len(found) < length:
        raise InputError(
            f"{path} has {len(found):,} tokens and {length:,} are read; pass a longer text, or a "
            "smaller --length."
        )
    first = (len(found) - length) // 2
    return Document(
        name=path.stem,
        tokens=found[first : first + length],
        first=first,
        digest=hashlib.sha256(data).hexdigest(),
    )


def body(text: str) -> str:
    r"""Return a text without the licence around it, its line breaks as \n.

    >>> body("Licence\r\n*** START OF THIS BOOK ***\r\nCall me.\r\n*** END OF IT ***\r\nMore")
    'Call me.'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    start, end = _START.search(text), _END.search(text)
    return text[start.end() if start else 0 : end.start() if end else None].strip()
