"""CSV and TSV: one column of a table as documents, another as their groups.

CSV is quoted as in RFC 4180, with newlines inside values; TSV is not quoted at all, since the
common corpora in TSV hold bare quotation marks. A column is named by the header; a number counts
columns from 0 and says that there is no header. Values are read as bytes and decoded here, so
that a byte that is no UTF-8 can be named by its row.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading.arrow import text_piece
from gnomon.corpus.reading.streams import BLOCK, ByteStream, StoredFile, number_places, too_long
from gnomon.corpus.reading.text import choose_column, column_by_name, header_note, is_number
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.options import ReadOptions

_SAMPLE_ROWS = 50
_UNEVEN = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
# The parser reads some thirty blocks ahead, so small blocks keep the memory small.
_FIRST_BLOCK = 256 << 10
_LARGEST_BLOCK = 1 << 30
_PASSING_BLOCK = 2 << 20


@dataclass(frozen=True)
class Layout:
    """Where the documents stand in one file."""

    names: tuple[str, ...]
    column: int
    group: int | None
    header_lines: int


class _RowBeyondBlockError(Exception):
    """A row does not fit the block in which it was to be parsed."""


@dataclass(frozen=True)
class TableReader:
    """Reads one column of CSV or TSV files."""

    options: ReadOptions
    kind: ClassVar[Literal["text"]] = "text"
    axes: ClassVar[None] = None

    def read(self, file: StoredFile) -> Iterator[TextBatch]:
        """Yield the documents of one file.

        Rows are parsed in blocks. When a row is longer than a block, reading starts again with
        larger blocks after the rows already given, up to the limit.
        """
        layout = self.layout(file)
        if layout is None:
            return
        limit = min(self.options.limits.line_bytes, _PASSING_BLOCK if file.once else _LARGEST_BLOCK)
        block, done = limit if file.once else min(_FIRST_BLOCK, limit), 0
        while True:
            try:
                for rows, piece in self._pieces(file, layout, block, done):
                    done += rows
                    yield piece
            except _RowBeyondBlockError:
                if block >= limit:
                    raise self._too_long(file, limit, done) from None
                block = min(limit, 8 * block)
            else:
                return

    def _too_long(self, file: StoredFile, limit: int, done: int) -> CorpusError:
        place = f"{file.path}, a row after row {done}"
        if limit >= self.options.limits.line_bytes:
            return too_long(place, self.options.limits)
        return CorpusError(
            f"{place} is longer than the {limit} bytes in which this is parsed; save the table to "
            "a file, or convert it to Parquet."
        )

    def note(self, file: StoredFile) -> str | None:
        """Say which column is read, and whether the first row is a header."""
        layout = self.layout(file)
        if layout is None:
            return None
        return header_note(layout.column, layout.names, header=layout.header_lines > 0)

    def layout(self, file: StoredFile) -> Layout | None:
        """Find the columns from the head of the file; None for an empty file."""
        options = self.options
        head = file.head(options.limits)
        records = _records(head.decode("utf-8-sig", "replace"), self._dialect())
        if not records:
            return None
        if len(records) == 1 and len(head) >= BLOCK:
            raise CorpusError(
                f"{file.path}: the first row does not end within a mebibyte, so its columns can "
                "not be found; put a header line first, or name the format with --format."
            )
        first, header_lines = records[0]
        if options.column_name is not None and options.column_name.isdecimal():
            names, header_lines = [str(i) for i in range(len(first))], 0
        else:
            names = first
        textual = _textual(names, [record for record, _ in records[1:]])
        column = choose_column(options.column_name, names, textual, file.path)
        group = options.group and column_by_name(options.group, names, file.path, "--group")
        return Layout(
            names=tuple(names),
            column=names.index(column),
            group=names.index(group) if group else None,
            header_lines=header_lines,
        )

    def _dialect(self) -> dict[str, Any]:
        if self.options.format == "tsv":
            return {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        return {"delimiter": ","}

    def _pieces(
        self, file: StoredFile, layout: Layout, block: int, skip: int
    ) -> Iterator[tuple[int, TextBatch]]:
        seen = 0
        with file.stream(self.options.limits) as stream:
            for batch in self._parse(stream, layout, block, file.path):
                seen, first = seen + len(batch), seen
                if seen <= skip:
                    continue
                fresh = batch.slice(max(0, skip - first))
                start = seen - len(fresh) + 1
                piece = text_piece(
                    fresh.column(0),
                    fresh.column(1) if layout.group is not None else None,
                    self.options,
                    number_places(file.path, "row", start),
                )
                counted = TextBatch(
                    texts=piece.texts, groups=piece.groups, bytes_read=stream.stored
                )
                yield len(fresh), counted

    def _parse(self, stream: ByteStream, layout: Layout, block: int, path: str) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        try:
            yield from arrow.open_csv(stream, **self._settings(layout, block))
        except pa.ArrowInvalid as error:
            # A handler of rows would be given the text of the row, and fails where that is none.
            if uneven := _UNEVEN.search(str(error)):
                raise _uneven(path, uneven, layout) from error
            if "straddling" in str(error):
                raise _RowBeyondBlockError from error
            if "Empty CSV" in str(error):
                return
            raise CorpusError(
                f"{path} is not a table as declared ({error}); check the file, or name its "
                "format with --format."
            ) from error

    def _settings(self, layout: Layout, block: int) -> dict[str, Any]:
        """Columns go by their number: a header may name two of them alike."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        quoted = self.options.format == "csv"
        wanted = [layout.column] if layout.group is None else [layout.column, layout.group]
        names = [str(number) for number in wanted]
        reading = arrow.ReadOptions(
            use_threads=False,  # so that an uneven row has its number
            block_size=block,
            skip_rows=layout.header_lines,
            column_names=[str(number) for number in range(len(layout.names))],
        )
        parsing = arrow.ParseOptions(
            delimiter=self._dialect()["delimiter"],
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
        )
        converting = arrow.ConvertOptions(
            include_columns=names, column_types=dict.fromkeys(names, pa.binary())
        )
        return {
            "read_options": reading,
            "parse_options": parsing,
            "convert_options": converting,
        }


def _records(head: str, dialect: dict[str, Any]) -> list[tuple[list[str], int]]:
    """Return the first records, each with the number of lines up to its end."""
    reader = csv.reader(io.StringIO(head, newline=""), **dialect)
    found: list[tuple[list[str], int]] = []
    usual = csv.field_size_limit(max(csv.field_size_limit(), len(head) + 1))
    try:
        records = itertools.islice(reader, _SAMPLE_ROWS)
        found.extend((record, reader.line_num) for record in records if record)
    except csv.Error:  # the real parser meets the same place and says what is wrong
        pass
    finally:
        csv.field_size_limit(usual)
    return found


def _textual(names: list[str], records: list[list[str]]) -> list[str]:
    """Return the columns in which some value is no number; without values, all of them."""
    if not records:
        return names
    return [
        name
        for index, name in enumerate(names)
        if any(index < len(record) and not is_number(record[index]) for record in records)
    ]


def _uneven(path: str, found: re.Match[str], layout: Layout) -> CorpusError:
    row, expected, actual = found.groups()
    place = path if row is None else f"{path}, row {int(row) - layout.header_lines}"
    return CorpusError(
        f"{place} has {actual} columns where {expected} are expected; "
        "quote the values or mend the row."
    )
