"""Python source as documents: every top-level function or class, grouped by its file.

The borders come from Python's own parser, decorators included, so a string that looks like code
is not taken for it. A file that this Python can not parse is left out.
"""

from __future__ import annotations

import ast
import os
import warnings
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading.batching import rebatch_texts
from gnomon.corpus.reading.filesource import nonempty

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_FILE = 100_000
EXCLUDED = frozenset(
    {"__pycache__", "dist-packages", "distutils", "encodings", "ensurepip", "idlelib", "lib2to3"}
    | {"pydoc_data", "site-packages", "test", "tests", "turtledemo"}
)


@dataclass(frozen=True)
class ModulesSource:
    """Functions and classes of the Python files below a folder."""

    name: str
    folder: Path
    kind: ClassVar[Literal["text"]] = "text"
    axes: ClassVar[None] = None
    vocabulary_size: ClassVar[None] = None

    def files(self) -> list[Path]:
        """Return the files that are read, sorted by their path."""
        found: list[Path] = []
        for parent, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name not in EXCLUDED]
            found += [Path(parent, name) for name in names if name.endswith(".py")]
        return sorted(path for path in found if path.stat().st_size <= LARGEST_FILE)

    @property
    def size(self) -> int:
        """Bytes of all files that are read."""
        return sum(path.stat().st_size for path in self.files())

    def fingerprint(self) -> str:
        """Return the digest of all files and their places."""
        digest = blake2b(b"modules", digest_size=16)
        for path in self.files():
            data = path.read_bytes()
            name = path.relative_to(self.folder).as_posix()
            digest.update(f"|{name}|{len(data)}|".encode() + data)
        return digest.hexdigest()

    def batches(self) -> Iterator[TextBatch]:
        """Give the documents file by file."""
        return nonempty(rebatch_texts(self._pieces()), self.name)

    def _pieces(self) -> Iterator[TextBatch]:
        read = 0
        for path in self.files():
            data = path.read_bytes()
            read += len(data)
            blocks = top_level_blocks(data.decode("utf-8", "replace"))
            group = path.relative_to(self.folder).as_posix()
            yield TextBatch(texts=blocks, groups=[group] * len(blocks), bytes_read=read)


def top_level_blocks(source: str) -> list[str]:
    r"""Return the source of every top-level function and class.

    >>> top_level_blocks("x = 1\n@wraps\ndef f():\n    return x\n")
    ['@wraps\ndef f():\n    return x']
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in strings are not our business
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    # Line numbers of the parser count \n, \r\n and \r, which str.splitlines would exceed.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            blocks.append("\n".join(lines[first - 1 : node.end_lineno]))
    return blocks
