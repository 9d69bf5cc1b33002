"""Arrow: Parquet files, columns of Arrow arrays, and Hugging Face `datasets`.

Parquet is one column, read in batches of rows.

A column of strings is text, a column of lists of integers is token ids. The number of rows per
batch follows from the average size of a row as the file states it, so that long documents do not
add up.

The fast way converts a whole column at once; the slow way runs only to find the row of a fault.

Hugging Face `datasets`: a folder made by `save_to_disk`, or `hf:NAME` streamed from the hub.

`hf:NAME:CONFIG` names a configuration. A hub corpus is streamed, so it has no fingerprint here; a
folder keeps the fingerprint that the library wrote. No code of a dataset is ever run: libraries
before version 4, which could, are refused. The library's own readers have names, too (`hf:pandas`
would read pickles that lie in the current folder), and none of these is a dataset.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gnomon.corpus.documents import IdBatch, Ids, TextBatch
from gnomon.corpus.reading.streams import (
    SLACK,
    TEXT_CHARACTERS,
    TEXT_DOCUMENTS,
    Place,
    StoredFile,
    decode,
    id_batch,
    nonempty,
    number_places,
    rebatch_ids,
    rebatch_texts,
    too_long,
    unreadable,
)
from gnomon.corpus.reading.text import ColumnReader, choose_column, column_by_name, column_note
from gnomon.errors import CorpusError, MissingExtraError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gnomon.corpus.options import ReadOptions


@dataclass(frozen=True)
class ParquetReader(ColumnReader):
    """Reads one column of Parquet files."""

    @classmethod
    def of(cls, file: StoredFile, options: ReadOptions) -> ParquetReader:
        """Look at the schema to learn the column and whether it holds text or ids."""
        with _open(file) as table:
            column, kind = documents_column(table.schema_arrow, options, file.path)
            names = tuple(table.schema_arrow.names)
        return cls(options, column, kind, names)

    def read(self, file: StoredFile) -> Iterator[TextBatch] | Iterator[IdBatch]:
        """Yield the documents of one file."""
        with _open(file) as table:
            self._check_kind(table.schema_arrow, file)
        with _open(file, self.column if self.kind == "text" else None) as table:
            total, done, made = max(1, table.metadata.num_rows), 0, 0
            for batch in _guard(self._batches(table, file), file.path):
                _check_codes(batch, file.path)
                column = batch.column(self.column)
                groups = batch.column(self.options.group) if self.options.group else None
                for start, stop, size in slice_within(column):
                    made += size
                    self._check_expansion(made, file)
                    names = None if groups is None else groups.slice(start, stop - start)
                    place = number_places(file.path, "row", done + start + 1)
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
    schema: Any, options: ReadOptions, where: str
) -> tuple[str, Literal["text", "ids"]]:
    """Choose the column by the schema, and check the group column with it."""
    textual = [field.name for field in schema if column_kind(field.type)]
    column = choose_column(options.column_name, schema.names, textual, where)
    kind = column_kind(schema.field(column).type)
    if kind is None:
        raise CorpusError(
            f"{where}: the column {column!r} holds {schema.field(column).type}, neither strings "
            "nor lists of integers; choose another with --column."
        )
    if options.group:
        column_by_name(options.group, schema.names, where, "--group")
    return column, kind


@contextmanager
def _open(file: StoredFile, repeating: str | None = None) -> Iterator[Any]:
    """Open a file; values of the column `repeating` are kept once, however often they are used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.once or file.compression:
        raise CorpusError(
            f"{file.path}: Parquet cannot be read from a stream; save it uncompressed to a file "
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
            raise _damage(file.path, error) from error
        yield table


def _guard(batches: Iterator[Any], path: str) -> Iterator[Any]:
    import pyarrow as pa

    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise _damage(path, error) from error


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
                raise _damage(path, IndexError(f"no value has the code {ends['max']}"))


def _damage(path: str, error: Exception) -> CorpusError:
    reason = " ".join(str(error).split())
    return CorpusError(
        f"{path} is not a whole Parquet file ({reason}); fetch it again, or name its format with "
        "--format."
    )


LARGEST_ID = 2**31 - 1


def column_kind(kind: Any) -> Literal["text", "ids"] | None:
    """Say what an Arrow type holds: text, ids, or nothing that we read."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return column_kind(kind.value_type)
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary)
    if any(test(kind) for test in (*texts, types.is_large_binary)):
        return "text"
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if any(test(kind) for test in lists) and types.is_integer(kind.value_type):
        return "ids"
    return None


def text_piece(column: Any, groups: Any, options: ReadOptions, place: Place) -> TextBatch:
    """Turn a string or binary array into texts; null becomes the empty text, which is dropped."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = column.cast(pa.large_binary())
    _check_lengths(column, options, place)
    names = None if groups is None else group_names(groups, options, place)
    return TextBatch(texts=_texts(column, options, place), groups=names)


def slice_within(column: Any) -> Iterator[tuple[int, int, int]]:
    """Cut a column into slices of at most about 4 MiB each: (start, stop, bytes).

    Only a dictionary column can be far larger than it looks: its values stand in it once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        yield 0, len(column), column.nbytes
        return
    lengths = pc.fill_null(pc.binary_length(column.dictionary), 0).to_numpy(zero_copy_only=False)
    codes = pc.fill_null(column.indices, 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths[codes], dtype=np.int64) if len(lengths) else np.zeros(len(codes), int)
    start = before = 0
    while start < len(codes):
        stop = max(start + 1, int(np.searchsorted(ends, before + TEXT_CHARACTERS, side="right")))
        size = int(ends[stop - 1]) - before
        yield start, stop, size
        start, before = stop, before + size


def _texts(column: Any, options: ReadOptions, place: Place) -> list[str]:
    import pyarrow as pa

    try:
        texts = column.cast(pa.large_string()).to_pylist()
    except pa.ArrowInvalid:
        values = [value or b"" for value in column.to_pylist()]
        return decode(values, options.errors, place)
    return [text or "" for text in texts] if column.null_count else texts


def _check_lengths(column: Any, options: ReadOptions, place: Place) -> None:
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
    beyond = np.flatnonzero(lengths > options.limits.line_bytes)
    if len(beyond):
        raise too_long(place(int(beyond[0])), options.limits)


def group_names(groups: Any, options: ReadOptions, place: Place) -> list[str]:
    """Return the names of groups; a row without one is refused."""
    values = groups.to_pylist()
    if groups.null_count:
        row = values.index(None)
        raise CorpusError(
            f"{place(row)}: the group column is empty there; fill it, or drop --group."
        )
    if values and isinstance(values[0], bytes):
        return decode(values, options.errors, place)
    return [str(value) for value in values]


def id_piece(column: Any, groups: Any, options: ReadOptions, place: Place) -> IdBatch:
    """Turn an array of lists of integers into ids; null becomes the empty list."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    flat = column.flatten()
    if flat.null_count:
        raise CorpusError(
            f"{place(_row_of(offsets, flat.is_null().to_numpy(zero_copy_only=False)))}: "
            "an id is null; remove it or give it a number."
        )
    values = check_ids(flat.to_numpy(zero_copy_only=False), offsets, place)
    names = None if groups is None else group_names(groups, options, place)
    return id_batch(values, offsets, groups=names)


def check_ids(values: np.ndarray[Any, Any], offsets: Any, place: Place) -> Ids:
    """Return ids as int32, or name the row of the first that is none."""
    if len(values) and (int(values.min()) < 0 or int(values.max()) > LARGEST_ID):
        bad = (values < 0) | (values > LARGEST_ID)
        value = int(values[bad.argmax()])
        raise CorpusError(
            f"{place(_row_of(offsets, bad))}: {value} is no token id; "
            "ids must lie between 0 and 2^31 - 1."
        )
    return values.astype(np.int32, copy=False)


def _row_of(offsets: Any, bad: Any) -> int:
    return int(np.searchsorted(offsets, int(np.argmax(bad)), side="right")) - 1


PREFIX = "hf:"
_ROWS = 1024


def is_saved_dataset(folder: Path) -> bool:
    """Say whether a folder was made by `save_to_disk`."""
    marks = ("state.json", "dataset_dict.json")
    return any(os.path.isfile(folder / mark) for mark in marks)  # noqa: PTH113 - never raises


@dataclass(frozen=True)
class DatasetSource:
    """One column of a dataset."""

    name: str
    data: Any
    options: ReadOptions
    column: str
    kind: Literal["text", "ids"]
    size: int | None
    axes: ClassVar[None] = None
    vocabulary_size: ClassVar[None] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which column is read, where that was not the user's choice."""
        names = list(self.data.features)
        chosen = self.options.column_name is None and len(names) > 1
        return (column_note(self.column, names),) if chosen else ()

    def fingerprint(self) -> str | None:
        """Return the library's own fingerprint joined with the options; None for a stream."""
        own = getattr(self.data, "_fingerprint", None)
        if own is None:
            return None
        stamp = replace(self.options, column=self.column).stamp()
        return blake2b(f"{own}|".encode() + stamp, digest_size=16).hexdigest()

    def batches(self) -> Iterator[TextBatch] | Iterator[IdBatch]:
        """Read from the beginning, in bounded memory."""
        rebatch: Any = rebatch_texts if self.kind == "text" else rebatch_ids
        return nonempty(rebatch(self._pieces()), self.name)

    def _pieces(self) -> Iterator[Any]:
        piece: Any = text_piece if self.kind == "text" else id_piece
        done = 0
        total = len(self.data) if self.size is not None else 1
        for table in self.data.with_format("arrow").iter(batch_size=_ROWS):
            groups = self.options.group and table.column(self.options.group).combine_chunks()
            place = number_places(self.name, "row", done + 1)
            done += len(table)
            column = table.column(self.column).combine_chunks()
            made = piece(column, groups or None, self.options, place)
            yield replace(made, bytes_read=(self.size or 0) * done // max(1, total))


def open_saved(folder: Path, options: ReadOptions) -> DatasetSource:
    """Open a folder made by `save_to_disk`."""
    library = _library()
    try:
        data = library.load_from_disk(str(folder))
    except Exception as error:  # the library raises whatever its layers raise
        raise CorpusError(
            f"{folder} cannot be read as a saved dataset ({_first_line(error)}); save it again."
        ) from error
    if hasattr(data, "keys"):
        data = data[_split(options.split, list(data), str(folder))]
    elif options.split is not None:
        raise CorpusError(f"{folder} is a single dataset without splits; drop --split.")
    return _source(str(folder), data, options, size=int(data.data.nbytes))


def open_hub(name: str, options: ReadOptions) -> DatasetSource:
    """Open a dataset of the hub as a stream."""
    library = _library()
    path, _, configuration = name.removeprefix(PREFIX).partition(":")
    if path in _readers():
        raise CorpusError(
            f"{name} is a reader of the library datasets and no dataset; name a dataset as "
            "hf:OWNER/NAME, or pass the path of a file."
        )
    try:
        data = library.load_dataset(
            path, configuration or None, split=options.split, streaming=True
        )
        if hasattr(data, "keys"):
            data = data[_split(None, list(data), name)]
        if data.features is None:
            data = data._resolve_features()  # noqa: SLF001 - a stream does not know its columns before
    except CorpusError:
        raise
    except Exception as error:  # the library raises whatever its layers raise
        raise CorpusError(
            f"{name} cannot be opened on the hub ({_first_line(error)}); check the name, the "
            "configuration (hf:NAME:CONFIG), --split and the network."
        ) from error
    return _source(name, data, options, size=None)


def _readers() -> set[str]:
    """Return the names of the library's own readers, and see that none of them opens a pickle."""
    try:
        from datasets import packaged_modules
        from datasets.packaged_modules.webdataset.webdataset import WebDataset
    except ImportError:  # of another version
        return {"pandas"}
    getattr(WebDataset, "DECODERS", {}).pop("pth", None)  # such a member of a .tar stays bytes
    return {"pandas", *getattr(packaged_modules, "_PACKAGED_DATASETS_MODULES", ())}


def _source(name: str, data: Any, options: ReadOptions, size: int | None) -> DatasetSource:
    column, kind = documents_column(data.features.arrow_schema, options, name)
    return DatasetSource(name, data, options, column, kind, size)


def _split(wanted: str | None, names: list[str], where: str) -> str:
    if wanted in names:
        return wanted
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None:
        raise CorpusError(f"{where} has the splits {', '.join(names)}; choose one with --split.")
    raise CorpusError(f"{where} has no split {wanted!r}; {nearest(wanted, names)}.")


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError(
            "reading a dataset needs the library datasets, which is not installed; "
            "run `pip install gnomon[hf]`."
        ) from error
    if int(datasets.__version__.split(".")[0]) < 4:
        raise MissingExtraError(
            f"datasets {datasets.__version__} may run code that comes with a dataset; "
            "run `pip install 'datasets>=4'`."
        )
    return datasets


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
