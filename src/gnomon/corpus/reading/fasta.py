"""FASTA: a header line that begins with `>`, then lines of one sequence (Pearson and Lipman 1988).

The document is the joined sequence without white space; headers and `;` comments are not part of
it. Letters are left as they are: what they mean is for the tokenizer to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading.decoding import decode, numbered
from gnomon.corpus.reading.lines import line_blocks, too_long
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.reading.opening import StoredFile
    from gnomon.corpus.reading.options import ReadingOptions


@dataclass(frozen=True)
class FastaReader:
    """Reads the sequences of FASTA files."""

    options: ReadingOptions
    kind: ClassVar[Literal["text"]] = "text"
    axes: ClassVar[None] = None

    def read(self, file: StoredFile) -> Iterator[TextBatch]:
        """Yield one document for every record."""
        record, held, stored = 0, 0, 0
        gathered: list[str] = []
        for block in line_blocks(file, self.options.limits):
            texts: list[str] = []
            place = numbered(file.path, "line", block.first)
            lines = decode(block.lines, self.options.errors, place)
            for number, line in enumerate(lines, block.first):
                if line.startswith(">"):
                    texts.append("".join(gathered))
                    record, gathered, held = record + 1, [], 0
                elif line and not line.isspace() and not line.startswith(";"):
                    _check_started(record, file.path, number)
                    gathered.append("".join(line.split()))
                    held += len(line)
                    if held > self.options.limits.line_bytes:
                        raise too_long(f"{file.path}, record {record}", self.options.limits)
            stored = block.stored
            yield TextBatch(texts=texts, bytes_read=stored)
        yield TextBatch(texts=["".join(gathered)], bytes_read=stored)


def _check_started(record: int, path: str, number: int) -> None:
    if not record:
        raise CorpusError(
            f"{path}, line {number}: a sequence stands before the first header; FASTA begins with "
            "a line `>name` (pass --format text if there are no headers)."
        )
