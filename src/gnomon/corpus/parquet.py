"""Parquet: one column, read in batches of rows.

A column of strings is text, a column of lists of integers is token ids. The number of rows per
batch follows from the average size of a row as the file states it, so that long documents do not
add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gnomon.corpus.arrowcolumns import column_kind, id_piece, text_piece
from gnomon.corpus.batching import TEXT_CHARACTERS, TEXT_DOCUMENTS
from gnomon.corpus.columns import choose_column, named_column
from gnomon.corpus.decoding import numbered
from gnomon.corpus.opening import StoredFile, unreadable
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.documents import IdBatch, TextBatch
    from gnomon.corpus.options import ReadingOptions


@dataclass(frozen=True)
class ParquetReader:
    """Reads one column of Parquet files."""

    options: ReadingOptions
    column: str
    kind: Literal["text", "ids"]
    axes: ClassVar[None] = None

    @classmethod
    def of(cls, file: StoredFile, options: ReadingOptions) -> ParquetReader:
        """Look at the schema to learn the column and whether it holds text or ids."""
        with _opened(file) as table:
            column, kind = documents_column(table.schema_arrow, options, file.path)
        return cls(options, column, kind)

    def read(self, file: StoredFile) -> Iterator[TextBatch] | Iterator[IdBatch]:
        """Yield the documents of one file."""
        piece: Any = text_piece if self.kind == "text" else id_piece
        with _opened(file) as table:
            _, kind = documents_column(
                table.schema_arrow, replace(self.options, column=self.column), file.path
            )
            if kind != self.kind:
                raise CorpusError(
                    f"{file.path}: the column {self.column!r} holds {kind} where the files before "
                    f"it hold {self.kind}; read them apart."
                )
            total, done = max(1, table.metadata.num_rows), 0
            for batch in _guarded(self._batches(table), file.path):
                groups = batch.column(self.options.group) if self.options.group else None
                place = numbered(file.path, "row", done + 1)
                done += len(batch)
                made = piece(batch.column(self.column), groups, self.options, place)
                yield replace(made, bytes_read=(file.size or 0) * done // total)

    def _batches(self, table: Any) -> Iterator[Any]:
        names = dict.fromkeys([self.column, *([self.options.group] if self.options.group else [])])
        metadata = table.metadata
        groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
        per_row = max((g.total_byte_size / max(1, g.num_rows) for g in groups), default=1.0)
        rows = int(min(TEXT_DOCUMENTS, max(1, TEXT_CHARACTERS / max(1.0, per_row))))
        yield from table.iter_batches(batch_size=rows, columns=list(names))


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


def _opened(file: StoredFile) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.once or file.compression:
        raise CorpusError(
            f"{file.path}: Parquet can not be read from a stream; save it uncompressed to a file "
            "(its own pages are compressed already)."
        )
    try:
        where = str(file.local) if file.local else file.open_raw()
        return pq.ParquetFile(where, pre_buffer=False, page_checksum_verification=True)
    except (PermissionError, FileNotFoundError) as error:
        raise unreadable(file.path, error) from error
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path, error) from error


def _guarded(batches: Iterator[Any], path: str) -> Iterator[Any]:
    import pyarrow as pa

    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> CorpusError:
    reason = " ".join(str(error).split())
    return CorpusError(
        f"{path} is not a whole Parquet file ({reason}); fetch it again, or name its format with "
        "--format."
    )
