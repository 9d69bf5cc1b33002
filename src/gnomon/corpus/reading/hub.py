"""Hugging Face `datasets`: a folder made by `save_to_disk`, or `hf:NAME` streamed from the hub.

`hf:NAME:CONFIG` names a configuration. A hub corpus is streamed, so it has no fingerprint here; a
folder keeps the fingerprint that the library wrote. No code of a dataset is ever run: libraries
before version 4, which could, are refused. The library's own readers have names, too (`hf:pandas`
would read pickles that lie in the current folder), and none of these is a dataset.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gnomon.corpus.reading.arrowcolumns import id_piece, text_piece
from gnomon.corpus.reading.batching import rebatch_ids, rebatch_texts
from gnomon.corpus.reading.columns import column_note
from gnomon.corpus.reading.decoding import numbered
from gnomon.corpus.reading.filesource import nonempty
from gnomon.corpus.reading.parquet import documents_column
from gnomon.errors import CorpusError, MissingExtraError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gnomon.corpus.documents import IdBatch, TextBatch
    from gnomon.corpus.reading.options import ReadingOptions

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
    options: ReadingOptions
    column: str
    kind: Literal["text", "ids"]
    size: int | None
    axes: ClassVar[None] = None
    vocabulary_size: ClassVar[None] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which column is read, where that was not the user's choice."""
        names = list(self.data.features)
        chosen = self.options.column is None and len(names) > 1
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
            place = numbered(self.name, "row", done + 1)
            done += len(table)
            column = table.column(self.column).combine_chunks()
            made = piece(column, groups or None, self.options, place)
            yield replace(made, bytes_read=(self.size or 0) * done // max(1, total))


def open_saved(folder: Path, options: ReadingOptions) -> DatasetSource:
    """Open a folder made by `save_to_disk`."""
    library = _library()
    try:
        data = library.load_from_disk(str(folder))
    except Exception as error:  # the library raises whatever its layers raise
        raise CorpusError(
            f"{folder} can not be read as a saved dataset ({_first_line(error)}); save it again."
        ) from error
    if hasattr(data, "keys"):
        data = data[_split(options.split, list(data), str(folder))]
    elif options.split is not None:
        raise CorpusError(f"{folder} is a single dataset without splits; drop --split.")
    return _source(str(folder), data, options, size=int(data.data.nbytes))


def open_hub(name: str, options: ReadingOptions) -> DatasetSource:
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
            f"{name} can not be opened on the hub ({_first_line(error)}); check the name, the "
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


def _source(name: str, data: Any, options: ReadingOptions, size: int | None) -> DatasetSource:
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
