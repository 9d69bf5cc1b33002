"""JSON lines: one object per line, one of its fields as the document.

A field may be named by a dotted path (`meta.text`). A field of strings is text, a field of lists
of integers is token ids; the first record decides which.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gnomon.corpus.documents import IdBatch, TextBatch
from gnomon.corpus.reading.arrow import check_ids
from gnomon.corpus.reading.streams import (
    BYTE_ORDER_MARK,
    LineBlock,
    Place,
    decode,
    encodable,
    id_batch,
    line_blocks,
    number_places,
)
from gnomon.corpus.reading.text import ColumnReader, choose_column
from gnomon.errors import CorpusError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.options import ReadOptions
    from gnomon.corpus.reading.streams import StoredFile

_ABSENT = object()


@dataclass(frozen=True)
class JsonLinesReader(ColumnReader):
    """Reads one field of JSON lines files."""

    @classmethod
    def of(cls, file: StoredFile, options: ReadOptions) -> JsonLinesReader:
        """Look at the first record to learn the field and whether it holds text or ids."""
        head = file.head(options.limits).removeprefix(BYTE_ORDER_MARK)
        line = next((line for line in head.splitlines() if line.strip()), b"")
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return cls(options, options.column_name or "text", "text")  # reading will name the line
        if not isinstance(record, dict):
            return cls(options, options.column_name or "text", "text")
        textual = [name for name, value in record.items() if _kind(value)]
        column = options.column_name or choose_column(None, list(record), textual, file.path)
        kind = _kind(_look_up(record, column)) or "text"
        return cls(options, column, kind, tuple(record))

    def read(self, file: StoredFile) -> Iterator[TextBatch] | Iterator[IdBatch]:
        """Yield the documents of one file."""
        return self._texts(file) if self.kind == "text" else self._ids(file)

    def _texts(self, file: StoredFile) -> Iterator[TextBatch]:
        for block in line_blocks(file, self.options.limits):
            values, groups, numbers = self._fields(block, file.path)
            for value, number in zip(values, numbers, strict=True):
                if not isinstance(value, str):
                    raise self._wrong(file.path, number, value, "a string")
            texts = encodable(values, self.options.errors, _at_lines(file.path, numbers))
            yield TextBatch(texts=texts, groups=groups, bytes_read=block.stored)

    def _ids(self, file: StoredFile) -> Iterator[IdBatch]:
        for block in line_blocks(file, self.options.limits):
            values, groups, numbers = self._fields(block, file.path)
            arrays = [self._array(v, file.path, n) for v, n in zip(values, numbers, strict=True)]
            offsets = np.zeros(len(arrays) + 1, np.int64)
            np.cumsum([len(array) for array in arrays], out=offsets[1:])
            flat = np.concatenate([np.zeros(0, np.int64), *arrays])
            ids = check_ids(flat, offsets, _at_lines(file.path, numbers))
            yield id_batch(ids, offsets, groups=groups, bytes_read=block.stored)

    def _array(self, value: Any, path: str, number: int) -> Any:
        if value == "":
            return np.zeros(0, np.int64)
        if isinstance(value, list) and all(type(item) is int for item in value):
            try:
                return np.array(value, np.int64)
            except OverflowError:
                pass
        raise self._wrong(path, number, value, "a list of integers below 2^31")

    def _fields(self, block: LineBlock, path: str) -> tuple[list[Any], list[str] | None, list[int]]:
        values: list[Any] = []
        groups: list[str] | None = [] if self.options.group else None
        numbers: list[int] = []
        place = number_places(path, "line", block.first)
        lines = decode(block.lines, self.options.errors, place)
        for number, line in enumerate(lines, block.first):
            if not line or line.isspace():
                continue
            record = _record(line, path, number)
            value = self._field(record, self.column, path, number, "--column")
            values.append("" if value is None else value)
            numbers.append(number)
            if groups is not None:
                groups.append(self._group(record, path, number))
        return values, groups, numbers

    def _group(self, record: dict[str, Any], path: str, number: int) -> str:
        value = self._field(record, self.options.group or "", path, number, "--group")
        if value is None:
            raise CorpusError(
                f"{path}, line {number}: the group field is null there; fill it, or drop --group."
            )
        return str(value)

    @staticmethod
    def _field(record: dict[str, Any], name: str, path: str, number: int, option: str) -> Any:
        value = _look_up(record, name)
        if value is _ABSENT:
            known = nearest(name, record) if record else "the object is empty"
            raise CorpusError(
                f"{path}, line {number}: there is no field {name!r}; {known}; "
                f"choose one with {option}."
            )
        return value

    def _wrong(self, path: str, number: int, value: Any, expected: str) -> CorpusError:
        return CorpusError(
            f"{path}, line {number}: the field {self.column!r} holds {_describe(value)}, not "
            f"{expected}; choose another field with --column, or mend the line."
        )


def _at_lines(path: str, numbers: list[int]) -> Place:
    return lambda index: f"{path}, line {numbers[index]}"


def _why(error: Exception) -> str:
    """Say what JSON missed and at which character; its own text counts lines of one line."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _record(line: str, path: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(
            f"{path}, line {number} is not JSON ({_why(error)}); mend the line, or name the format "
            "with --format."
        ) from error
    if not isinstance(record, dict):
        raise CorpusError(
            f"{path}, line {number} holds {_describe(record)}, not an object with fields; "
            "put one object on each line."
        )
    return record


def _look_up(record: Any, name: str) -> Any:
    """Follow a dotted path; a field whose own name has dots comes first."""
    if isinstance(record, dict) and name in record:
        return record[name]
    value = record
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def _kind(value: Any) -> Literal["text", "ids"] | None:
    if isinstance(value, str):
        return "text"
    if isinstance(value, list) and value and all(type(item) is int for item in value):
        return "ids"
    return None


def _describe(value: Any) -> str:
    words = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    return words.get(type(value), "null" if value is None else "a number")
