"""Parquet: one column, read in batches of rows.

A column of strings is text, a column of lists of integers is token ids. The number of rows per
batch follows from the average size of a row as the file states it, so that long documents do not
add up.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gnomon.corpus.reading.arrowcolumns import bounded_slices, column_kind, id_piece, text_piece
from gnomon.corpus.reading.batching import TEXT_CHARACTERS, TEXT_DOCUMENTS
from gnomon.corpus.reading.columns import choose_column, column_note, named_column
from gnomon.corpus.reading.decoding import numbered
from gnomon.corpus.reading.opening import SLACK, StoredFile, unreadable
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.documents import IdBatch, TextBatch
    from gnomon.corpus.reading.options import ReadingOptions


@dataclass(frozen=True)
class ParquetReader:
    """Reads one column of Parquet files."""

    options: ReadingOptions
    column: str
    kind: Literal["text", "ids"]
    names: tuple[str, ...] = ()
    """Columns of the first file."""
    axes: ClassVar[None] = None

    @classmethod
    def of(cls, file: StoredFile, options: ReadingOptions) -> ParquetReader:
        """Look at the schema to learn the column and whether it holds text or ids."""
        with _opened(file) as table:
            column, kind = documents_column(table.schema_arrow, options, file.path)
            names = tuple(table.schema_arrow.names)
        return cls(options, column, kind, names)

    def note(self, _: StoredFile) -> str | None:
        """Say which column is read, where that was not the user's choice."""
        chosen = self.options.column is None and len(self.names) > 1
        return column_note(self.column, self.names) if chosen else None

    def read(self, file: StoredFile) -> Iterator[TextBatch] | Iterator[IdBatch]:
        """Yield the documents of one file."""
        with _opened(file) as table:
            self._check_kind(table.schema_arrow, file)
        with _opened(file, self.column if self.kind == "text" else None) as table:
            total, done, made = max(1, table.metadata.num_rows), 0, 0
            for batch in _guarded(self._batches(table, file), file.path):
                _check_codes(batch, file.path)
                column = batch.column(self.column)
                groups = batch.column(self.options.group) if self.options.group else None
                for start, stop, size in bounded_slices(column):
                    made += size
                    self._check_expansion(made, file)
                    names = None if groups is None else groups.slice(start, stop - start)
                    place = numbered(file.path, "row", done + start + 1)
                    piece: Any = text_piece if self.kind == "text" else id_piece
                    part = piece(column.slice(start, stop - start), names, self.options, place)
                    yield replace(part, bytes_read=(file.size or 0) * (done + stop) // total)
                done += len(batch)

    def _check_kind(self, schema: Any, file: StoredFile) -> None:
        options = replace(self.options, column=self.column)
        _, kind = documents_column(schema, options, file.path)
        if kind != self.kind:
            raise CorpusError(
                f"{file.path}: the column {self.column!r} holds {kind} where the files before it "
                f"hold {self.kind}; read them apart."
            )

    def _check_expansion(self, size: int, file: StoredFile) -> None:
        """Refuse a small file that stands for far too much, such as one value repeated."""
        limit = self.options.limits.expansion
        if file.size is not None and size > limit * file.size + SLACK:
            raise CorpusError(
                f"{file.path} holds more than {limit:g} times its size; if you trust it, raise "
                "--limit-expansion."
            )

    def _batches(self, table: Any, file: StoredFile) -> Iterator[Any]:
        names = dict.fromkeys([self.column, *([self.options.group] if self.options.group else [])])
        metadata = table.metadata
        rows = TEXT_DOCUMENTS
        for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
            leaves = [group.column(i) for i in range(group.num_columns)]
            own = [leaf for leaf in leaves if leaf.path_in_schema.split(".")[0] in names]
            # Repeated ids take no room in the file, so their number counts beside their bytes.
            size = sum(max(leaf.total_uncompressed_size, 4 * leaf.num_values) for leaf in own)
            self._check_expansion(size, file)
            rows = min(rows, int(TEXT_CHARACTERS * group.num_rows / max(1, size)))
        for index in range(metadata.num_row_groups):  # one by one, so that each is freed in time
            yield from table.iter_batches(
                max(1, rows), row_groups=[index], columns=list(names), use_threads=False
            )


def documents_column(
    schema: Any, options: ReadingOptions, where: str
) -> tuple[str, Literal["text", "ids"]]:
    """Choose the column by the schema, and check the group column with it."""
    textual = [field.name for field in schema if column_kind(field.type)]
    column = choose_column(options.column, schema.names, textual, where)
    kind = column_kind(schema.field(column).type)
    if kind is None:
        raise CorpusError(
            f"{where}: the column {column!r} holds {schema.field(column).type}, neither strings "
            "nor lists of integers; choose another with --column."
        )
    if options.group:
        named_column(options.group, schema.names, where, "--group")
    return column, kind


@contextmanager
def _opened(file: StoredFile, repeating: str | None = None) -> Iterator[Any]:
    """Open a file; values of the column `repeating` are kept once, however often they are used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.once or file.compression:
        raise CorpusError(
            f"{file.path}: Parquet can not be read from a stream; save it uncompressed to a file "
            "(its own pages are compressed already)."
        )
    try:
        handle = pa.OSFile(str(file.local)) if file.local else file.open_raw()
    except OSError as error:
        raise unreadable(file.path, error) from error
    with handle:
        try:
            table = pq.ParquetFile(
                handle,
                read_dictionary=[repeating] if repeating else None,
                pre_buffer=False,
                page_checksum_verification=True,
            )
        except (pa.ArrowException, OSError) as error:
            raise _damaged(file.path, error) from error
        yield table


def _guarded(batches: Iterator[Any], path: str) -> Iterator[Any]:
    import pyarrow as pa

    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _check_codes(batch: Any, path: str) -> None:
    """Refuse codes of values that a dictionary does not have; Arrow believes them.

    A full validation would also refuse text that is no UTF-8, which --errors may let pass.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            ends = pc.min_max(column.indices).as_py()
            if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(
                column.dictionary
            ):
                raise _damaged(path, IndexError(f"no value has the code {ends['max']}"))


def _damaged(path: str, error: Exception) -> CorpusError:
    reason = " ".join(str(error).split())
    return CorpusError(
        f"{path} is not a whole Parquet file ({reason}); fetch it again, or name its format with "
        "--format."
    )
