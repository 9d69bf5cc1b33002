"""Plain text: a document per line, per file, or per block between blank lines.

FASTA has a header line that begins with `>`, then lines of one sequence (Pearson and Lipman 1988).
The document is the joined sequence without white space; headers and `;` comments are not part of
it. Letters are left as they are: what they mean is for the tokenizer to say.

Lines of text are taken for a table where all of them hold the same number of one separator. That
decides nothing: it only words the advice after a document could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading.streams import (
    BLOCK,
    BYTE_ORDER_MARK,
    LineBlock,
    StoredFile,
    decode,
    line_blocks,
    numbered,
    too_long,
)
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.options import ReadOptions


@dataclass(frozen=True)
class TextReader:
    """Reads plain text by the unit that the options name."""

    options: ReadOptions
    kind: ClassVar[Literal["text"]] = "text"
    axes: ClassVar[None] = None

    def read(self, file: StoredFile) -> Iterator[TextBatch]:
        """Yield the documents of one file."""
        if self.options.unit == "file":
            return self._whole(file)
        if self.options.unit == "block":
            return self._blocks(file)
        return self._lines(file)

    def _lines(self, file: StoredFile) -> Iterator[TextBatch]:
        for block in line_blocks(file, self.options.limits):
            yield TextBatch(texts=self._decode(block, file.path), bytes_read=block.stored)

    def _decode(self, block: LineBlock, path: str) -> list[str]:
        return decode(block.lines, self.options.errors, numbered(path, "line", block.first))

    def _blocks(self, file: StoredFile) -> Iterator[TextBatch]:
        """Blocks run over the borders of line blocks, so the open one is carried on."""
        gathered: list[str] = []
        held = stored = 0
        for block in line_blocks(file, self.options.limits):
            texts: list[str] = []
            for line in self._decode(block, file.path):
                if line and not line.isspace():
                    gathered.append(line)
                    held += len(line) + 1
                elif gathered:
                    texts.append("\n".join(gathered))
                    gathered, held = [], 0
                if held > self.options.limits.line_bytes:
                    raise too_long(
                        f"{file.path}, a block near line {block.first}", self.options.limits
                    )
            stored = block.stored
            yield TextBatch(texts=texts, bytes_read=stored)
        yield TextBatch(texts=["\n".join(gathered)], bytes_read=stored)

    def _whole(self, file: StoredFile) -> Iterator[TextBatch]:
        limit = self.options.limits.line_bytes
        parts: list[bytes] = []
        held = 0
        with file.stream(self.options.limits) as stream:
            while block := stream.read(BLOCK):
                parts.append(block)
                held += len(block)
                if held > limit:
                    raise too_long(file.path, self.options.limits)
            data = b"".join(parts).removeprefix(BYTE_ORDER_MARK)
            text = decode([data], self.options.errors, lambda _: file.path)[0]
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            yield TextBatch(texts=[text], bytes_read=stream.stored)


@dataclass(frozen=True)
class FastaReader:
    """Reads the sequences of FASTA files."""

    options: ReadOptions
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


_SEPARATORS = {"csv": (",", "commas"), "tsv": ("\t", "tabs")}
_SAMPLE = 50


def table_advice(texts: Sequence[str], letters: Callable[[str], int | None]) -> str | None:
    """Return how to read the lines as a table whose column `letters` knows; None if they are none.

    `letters` gives the number of letters of a value, None where one of them is unknown. The
    column with most letters is named; the first line may differ, since it may be a header.

    >>> table_advice(["EI, a-1, ACGT", "IE, b-2, GGTT"], lambda v: None if "-" in v else len(v))
    'its lines look like 3 columns separated by commas, so pass --format csv --column 2'
    """
    lines = [text for text in texts if text and not text.isspace()][:_SAMPLE]
    for name, (separator, words) in _SEPARATORS.items():
        rows = [line.split(separator) for line in lines]
        widths = {len(row) for row in rows}
        if len(widths) != 1 or widths == {1} or not rows:
            continue
        columns = list(zip(*rows, strict=True))
        known = [_letters(column[1:] or column, letters) for column in columns]
        best = known.index(max(known))
        if known[best]:
            header = letters(rows[0][best]) is None
            column = f'"{rows[0][best]}"' if header else str(best)
            return (
                f"its lines look like {len(columns)} columns separated by {words}, so pass "
                f"--format {name} --column {column}"
            )
    return None


def _letters(values: Sequence[str], letters: Callable[[str], int | None]) -> int:
    """Return how many letters all values have; 0 where one value holds an unknown one."""
    found = [letters(value) for value in values]
    return 0 if None in found else sum(count for count in found if count is not None)
