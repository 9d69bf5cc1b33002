"""Plain text: a document per line, per file, or per block between blank lines.

FASTA has a header line that begins with `>`, then lines of one sequence (Pearson and Lipman 1988).
The document is the joined sequence without white space; headers and `;` comments are not part of
it. Letters are left as they are: what they mean is for the tokenizer to say.

Lines of text are taken for a table where all of them hold the same number of one separator. That
decides nothing: it only words the advice after a document could not be read.

Here is also decided which column of a table holds the documents, and what is said of the choice.
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
    number_places,
    too_long,
)
from gnomon.errors import CorpusError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.options import ReadOptions

_SEPARATORS = {"csv": (",", "commas"), "tsv": ("\t", "tabs")}
_SAMPLE = 50
_SHOWN = 8
_LONGEST_NAME = 40
_MOST_WORDS = 3
USUAL = ("text", "sentence", "content", "document", "sequence", "input_ids", "ids", "tokens")


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
        return decode(block.lines, self.options.errors, number_places(path, "line", block.first))

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
            place = number_places(file.path, "line", block.first)
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


def choose_column(
    wanted: str | None, names: Sequence[str], textual: Sequence[str], where: str
) -> str:
    """Return the column of documents: the wanted one, a usual name, or the only textual one.

    >>> choose_column(None, ["label", "sentence"], ["sentence"], "a.tsv")
    'sentence'
    """
    if wanted is not None:
        return column_by_name(wanted, names, where, "--column")
    usual = [name for name in USUAL if name in textual]
    if usual or len(textual) == 1:
        return usual[0] if usual else textual[0]
    if len(names) == 1:
        return names[0]
    raise CorpusError(
        f"{where} has the columns {', '.join(names)}, and none of them is clearly the text; "
        "choose one with --column."
    )


def column_by_name(wanted: str, names: Sequence[str], where: str, option: str) -> str:
    """Return the wanted column, or list the ones there are."""
    if wanted in names:
        return wanted
    raise CorpusError(
        f"{where} has no column {wanted!r}; {nearest(wanted, names)}; choose one with {option}."
    )


@dataclass(frozen=True)
class ColumnReader:
    """What readers of one column have in common: which it is, and what it holds."""

    options: ReadOptions
    column: str
    kind: Literal["text", "ids"]
    names: tuple[str, ...] = ()
    """Columns of the first file, or fields of the first record."""
    axes: ClassVar[None] = None

    def note(self, _: StoredFile) -> str | None:
        """Say which column is read, where that was not the user's choice."""
        chosen = self.options.column_name is None and len(self.names) > 1
        return column_note(self.column, self.names) if chosen else None


def column_note(column: str, names: Sequence[str]) -> str:
    """Say which column was read, and of which.

    >>> column_note("sentence", ["label", "sentence"])
    "column 'sentence' of 2 (label, sentence)"
    """
    listing = ", ".join(_short(name) for name in names[:_SHOWN])
    rest = ", ..." if len(names) > _SHOWN else ""
    return f"column {_short(column)!r} of {len(names)} ({listing}{rest})"


def header_note(column: int, names: Sequence[str], *, header: bool) -> str:
    """Say which column of a table was read, and what its first row was taken for.

    A first row with a number or with a long text is hardly a header. Its values are not repeated:
    they are text of the corpus.

    >>> header_note(0, ["it was a dark and stormy night", "1"], header=True).partition(";")[0]
    'column 0 of 2 (counted from 0)'
    """
    if header and all(map(_is_name, names)):
        return f"{column_note(names[column], names)}; the first row is the header"
    place = f"column {column} of {len(names)} (counted from 0)"
    if not header:
        return f"{place}; there is no header, so the first row is a document, too"
    return (
        f"{place}; the first row was taken for the header but looks like a document: if there is "
        f"no header, pass --column {column}"
    )


def is_number(value: str) -> bool:
    """Say whether a value is a number, or nothing."""
    try:
        float(value or "0")
    except ValueError:
        return False
    return True


def _is_name(value: str) -> bool:
    """Say whether a value may be the name of a column; the name of an index may be empty."""
    short = len(value) <= _LONGEST_NAME and len(value.split()) <= _MOST_WORDS
    return not value or (short and not is_number(value))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
