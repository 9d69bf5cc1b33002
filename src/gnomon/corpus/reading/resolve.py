"""One entry for all corpora: from what the user wrote to a source of documents.

Built-in names come first, so that they mean the same in every folder (write `./digits` for a file
of that name); then standard input, the hub, URLs, paths, folders and globs. The format follows
from the suffix, after the suffix of a compression is taken off.

Folders and globs give their files in sorted order, so that a corpus reads the same everywhere;
hidden files are left out. URLs go through fsspec; a protocol whose library is missing is named.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from gnomon.corpus.documents import FOUND
from gnomon.corpus.options import ReadOptions
from gnomon.corpus.reading import arrow
from gnomon.corpus.reading.arrow import ParquetReader
from gnomon.corpus.reading.builtin import BUILTIN
from gnomon.corpus.reading.ids import SUFFIX_DTYPES, ArrayReader, FlatReader, memory_source
from gnomon.corpus.reading.jsonl import JsonLinesReader
from gnomon.corpus.reading.streams import (
    COMPRESSIONS,
    FileSource,
    Reader,
    StoredFile,
    local_file,
    standard_input,
    unreadable,
)
from gnomon.corpus.reading.tables import TableReader
from gnomon.corpus.reading.text import FastaReader, TextReader
from gnomon.errors import CorpusError, MissingExtraError, nearest
from gnomon.files import PICKLED, say_converting
from gnomon.options import make_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gnomon.corpus.documents import Source

READERS: dict[str, Callable[[StoredFile, ReadOptions], Reader]] = {
    "text": lambda _, options: TextReader(options),
    "csv": lambda _, options: TableReader(options),
    "tsv": lambda _, options: TableReader(options),
    "jsonl": JsonLinesReader.of,
    "parquet": ParquetReader.of,
    "fasta": lambda _, options: FastaReader(options),
    "npy": ArrayReader.of,
    "memmap": lambda _, options: FlatReader(options),
}
FORMATS = (*READERS, "datasets")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".fa": "fasta",
    ".fasta": "fasta",
    ".fna": "fasta",
    ".faa": "fasta",
    ".npy": "npy",
    ".bin": "memmap",
    ".u16": "memmap",
    ".u32": "memmap",
}
_USE_TABLE = (
    "to compare a table of it with a corpus, survey the corpus with --table {name}:NAME, or run "
    "`gnomon stress {name}:NAME COUNTS`"
)
_USE_ARRAYS = (
    "counts of a survey are read by `gnomon fit` and `gnomon stress`, and a table by --table {name}"
)
_USE_COPY = (
    "to compare a table of it with a corpus, save that as .safetensors or .npy and pass --table"
)
_OTHERS = {
    ".safetensors": ("a file of weights", _USE_TABLE),
    ".npz": ("an archive of arrays", _USE_ARRAYS),
} | dict.fromkeys(
    (".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".gguf", ".onnx", ".h5"),
    ("a file of weights", _USE_COPY),
)
"""Files that are met beside corpora, and what they are for."""
_WITH_COLUMNS = {"csv", "tsv", "jsonl", "parquet", "datasets"}


def open_source(
    corpus: str | os.PathLike[str] | Sequence[Any], *, seed: int = 0, **options: Any
) -> Source:
    """Open a corpus: a path, folder, glob, URL, `-`, `hf:NAME`, built-in name, or a list.

    `options` are the fields of ReadOptions; `seed` is that of a built-in corpus.

    >>> source = open_source(["a b", "b a"])
    >>> [batch.texts for batch in source.batches()]
    [['a b', 'b a']]
    """
    return open_with(corpus, *make_options("open_source", options, ReadOptions), seed=seed)


def open_with(
    corpus: str | os.PathLike[str] | Sequence[Any], given: ReadOptions, *, seed: int = 0
) -> Source:
    """Open a corpus with options that were made before.

    Groups that are no columns are found when documents are counted, and mean nothing here.
    """
    declared = _known_format(given.format)
    options = replace(
        given,
        format=declared or "text",
        group=None if given.group in FOUND else given.group,
    )
    _check_choices(options)
    if not isinstance(corpus, (str, os.PathLike)):
        return _from_memory(corpus, options, declared)
    name = os.fspath(corpus)
    if not name:
        raise CorpusError("the corpus has an empty name; pass a path, a built-in name, or - .")
    if isinstance(corpus, str) and name in BUILTIN:
        _refuse_options(options, declared, f"the built-in corpus {name}")
        return BUILTIN[name].make(seed)
    if name.startswith(arrow.PREFIX):
        return arrow.open_hub(name, _for_datasets(options, name))
    if declared == "datasets" or arrow.is_saved_dataset(Path(name)):
        return arrow.open_saved(Path(name), _for_datasets(options, name))
    return _from_files(name, options, declared)


def _from_files(name: str, options: ReadOptions, declared: str | None) -> Source:
    files = locate(name)
    if not files:
        raise _not_there(name)
    if declared is None:
        _refuse_others(files)
    form = declared or _common_format(files, name)
    options = replace(options, format=form)
    if form == "memmap" and options.dtype is None:
        options = replace(options, dtype=SUFFIX_DTYPES.get(_suffix(files[0].path)))
    _check_fitting(options, name)
    shown = files[0].path if name == "-" else name
    return FileSource(shown, files, READERS[form](files[0], options), options)


def _from_memory(corpus: Any, options: ReadOptions, declared: str | None) -> Source:
    if isinstance(corpus, (bytes, bytearray, dict)) or not hasattr(corpus, "__getitem__"):
        raise CorpusError(
            f"a corpus cannot be a {type(corpus).__name__}; pass a path, a list of strings, a "
            "list of id lists, or an array of ids."
        )
    _refuse_options(options, declared, "a list of documents")
    return memory_source(corpus, options.errors)


def _known_format(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise CorpusError(f"--format {name} is not a format; {nearest(name, FORMATS)}.")
    return name


def _check_choices(options: ReadOptions) -> None:
    for option, value, known in (
        ("--unit", options.unit, ("line", "file", "block")),
        ("--errors", options.errors, ("strict", "replace")),
    ):
        if value not in known:
            raise CorpusError(f"{option} {value} is not known; {nearest(value, known)}.")


def _suffix(path: str) -> str:
    name = PurePath(path.lower())
    return PurePath(name.stem).suffix if name.suffix in COMPRESSIONS else name.suffix


def _common_format(files: tuple[StoredFile, ...], name: str) -> str:
    found = Counter(SUFFIXES.get(_suffix(file.path), "text") for file in files)
    if len(found) == 1:
        return next(iter(found))
    listing = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
    raise CorpusError(
        f"{name} holds files of several formats ({listing}); choose some with a glob, or name one "
        "format for all with --format."
    )


def _refuse_others(files: tuple[StoredFile, ...]) -> None:
    """Refuse files of weights, whose bytes would be taken for text."""
    for file in files:
        known = _OTHERS.get(_suffix(file.path))
        if known is not None:
            what, use = known
            use = use.format(name=file.path)
            if _suffix(file.path) in PICKLED:
                use = f"{use}; {say_converting(file.path)}"
            raise CorpusError(f"{file.path} is {what} and no corpus; {use}.")


def _check_fitting(options: ReadOptions, name: str) -> None:
    """Refuse an option that the format cannot honour, rather than ignore it."""
    kind = options.format
    unfit = {
        "--column": options.column_name is not None and kind not in _WITH_COLUMNS,
        "--group": options.group is not None and kind not in _WITH_COLUMNS,
        "--unit": options.unit != "line" and kind != "text",
        "--split": options.split is not None and kind != "datasets",
        "--separator": options.separator is not None and kind != "memmap",
        "--dtype": options.dtype is not None and kind != "memmap",
    }
    for option, wrong in unfit.items():
        if wrong:
            lacking = " without columns" if option in ("--column", "--group") else ""
            raise CorpusError(
                f"{name} is read as {kind}{lacking}, so {option} means nothing; drop it, or name "
                f"another format with --format ({', '.join(FORMATS)})."
            )


def _refuse_options(options: ReadOptions, declared: str | None, what: str) -> None:
    given = {
        "--format": declared,
        "--column": options.column_name,
        "--group": options.group,
        "--unit": None if options.unit == "line" else options.unit,
        "--split": options.split,
        "--separator": options.separator,
        "--dtype": options.dtype,
    }
    for option, value in given.items():
        if value is not None:
            raise CorpusError(f"{option} means nothing for {what}; drop it.")


def _for_datasets(options: ReadOptions, name: str) -> ReadOptions:
    options = replace(options, format="datasets")
    _check_fitting(options, name)
    return options


def _not_there(name: str) -> CorpusError:
    path = Path(name)
    beside = [] if not path.parent.is_dir() else [p.name for p in path.parent.iterdir()][:1000]
    if not path.suffix and path.name == name:
        return CorpusError(
            f"{name!r} is neither a file nor a built-in corpus; {nearest(name, BUILTIN)}; or pass "
            "a path."
        )
    hint = nearest(path.name, beside).partition(" Known")[0] if beside else ""
    advice = f"{hint} Check the path." if hint.startswith("did") else "check the path."
    return CorpusError(f"{name} does not exist; {advice}")


_MAGIC = frozenset("*?[")


def is_url(corpus: str) -> bool:
    """Say whether this names a protocol, as in `s3://bucket/file`."""
    return "://" in corpus


def locate(corpus: str) -> tuple[StoredFile, ...]:
    """Return the stored files that a path, folder, glob, URL or `-` stands for; () if none."""
    if corpus == "-":
        return (standard_input(),)
    if is_url(corpus):
        return _remote(corpus)
    path = Path(corpus)
    try:
        if path.is_dir():
            return _folder(path)
        if path.exists():
            return (local_file(path),)
    except OSError as error:
        raise unreadable(corpus, error) from error
    if _MAGIC & set(corpus):
        return _matches(corpus)
    return ()


def _folder(folder: Path) -> tuple[StoredFile, ...]:
    def fail(error: OSError) -> None:
        raise unreadable(str(error.filename or folder), error) from error

    found: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in files if not name.startswith(".")]
    if not found:
        raise CorpusError(f"{folder} is a folder without readable files; pass one that has some.")
    return tuple(local_file(path) for path in sorted(found))


def _matches(pattern: str) -> tuple[StoredFile, ...]:
    found = sorted(Path(match) for match in glob.glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may be absolute, which Path.glob refuses
    files = tuple(local_file(path) for path in found if path.is_file())
    if not files:
        raise CorpusError(f"no file matches {pattern}; check the pattern and the folder.")
    return files


def _remote(url: str) -> tuple[StoredFile, ...]:
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(url)
        if _MAGIC & set(path):
            paths = sorted(system.glob(path))
        elif system.isdir(path):
            paths = sorted(system.find(path))
        else:
            paths = [path] if system.exists(path) else []
        files = tuple(_remote_file(system, item) for item in paths)
    except ImportError as error:
        protocol = url.partition("://")[0]
        raise MissingExtraError(
            f"{url} needs a library for the protocol {protocol!r} that is not installed "
            f"({error}); install it, or copy the corpus to this machine."
        ) from error
    except Exception as error:  # each protocol has exceptions of its own
        reason = str(error) or type(error).__name__
        raise CorpusError(f"{url} cannot be opened ({reason}); check the URL.") from error
    if not files:
        raise CorpusError(f"{url} holds no file; check the URL.")
    return files


def _remote_file(system: Any, path: str) -> StoredFile:
    shown = system.unstrip_protocol(path)
    return StoredFile(shown, lambda: system.open(path, "rb"), system.size(path))
