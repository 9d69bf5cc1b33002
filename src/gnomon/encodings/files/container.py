"""What all files of encodings share: a header in one order, a digest, and a reader that says why.

A `.safetensors` file is eight bytes of length, a JSON header padded to a multiple of eight, and the
data. `format` in the header says which of ours it is: `gnomon.encoding.1` is a fitted table
(`gnomon.encodings.fitted.files`), `gnomon.encoding.2` any encoding (`gnomon.encodings.files`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.errors import EncodingError

OURS = "gnomon.encoding."
TABLE, ANY = f"{OURS}1", f"{OURS}2"
KNOWN = (TABLE, ANY)


def digest_of(tensors: Mapping[str, Any], *texts: str) -> str:
    """Return BLAKE2 of texts and then of tensors with their names and shapes."""
    digest = blake2b(digest_size=16)
    for text in texts:
        digest.update(f"{len(text)} {text}".encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].shape}".encode())
        digest.update(np.ascontiguousarray(tensors[name]).data)
    return digest.hexdigest()


def ordered(stored: bytes) -> bytes:
    """Put the header in one order: the library has none, and equal encodings are equal files."""
    length = 8 + int.from_bytes(stored[:8], "little")
    header = json.dumps(json.loads(stored[8:length]), sort_keys=True).encode("ascii")
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + stored[length:]


def format_of(file: Path) -> str | None:
    """Return which of our formats a file has; None where it holds something else.

    A file that can not be opened is also None: who reads it next says why.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(file), framework="np") as opened:
            kind = (opened.metadata() or {}).get("format", "")
    except (OSError, SafetensorError, TypeError, ValueError):
        return None
    return kind if kind.startswith(OURS) else None


def check_known(file: Path, kind: str) -> None:
    """Refuse a format of ours that this version does not read."""
    if kind not in KNOWN:
        raise EncodingError(
            f"{file} has the format {kind}, and this version of Gnomon reads "
            f"{' and '.join(KNOWN)}; use a newer one, or save the encoding again."
        )


def unreadable(file: Path, error: Exception) -> EncodingError:
    """Return the sentence for a file that is no `.safetensors` at all."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return EncodingError(
        f"{file} can not be read as .safetensors ({reason}); save it again, or copy it again."
    )
