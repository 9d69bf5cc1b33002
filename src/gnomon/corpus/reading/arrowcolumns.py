"""Arrow columns to documents: strings to texts, lists of integers to ids.

The fast way converts a whole column at once; the slow way runs only to find the row of a fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gnomon.corpus.documents import IdBatch, Ids, TextBatch
from gnomon.corpus.reading.batching import TEXT_CHARACTERS, id_batch
from gnomon.corpus.reading.decoding import Place, decode
from gnomon.corpus.reading.lines import too_long
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.reading.options import ReadingOptions

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


def text_piece(column: Any, groups: Any, options: ReadingOptions, place: Place) -> TextBatch:
    """Turn a string or binary array into texts; null becomes the empty text, which is dropped."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = column.cast(pa.large_binary())
    _check_lengths(column, options, place)
    names = None if groups is None else group_names(groups, options, place)
    return TextBatch(texts=_texts(column, options, place), groups=names)


def bounded_slices(column: Any) -> Iterator[tuple[int, int, int]]:
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


def _texts(column: Any, options: ReadingOptions, place: Place) -> list[str]:
    import pyarrow as pa

    try:
        texts = column.cast(pa.large_string()).to_pylist()
    except pa.ArrowInvalid:
        values = [value or b"" for value in column.to_pylist()]
        return decode(values, options.errors, place)
    return [text or "" for text in texts] if column.null_count else texts


def _check_lengths(column: Any, options: ReadingOptions, place: Place) -> None:
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
    beyond = np.flatnonzero(lengths > options.limits.line_bytes)
    if len(beyond):
        raise too_long(place(int(beyond[0])), options.limits)


def group_names(groups: Any, options: ReadingOptions, place: Place) -> list[str]:
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


def id_piece(column: Any, groups: Any, options: ReadingOptions, place: Place) -> IdBatch:
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
    values = checked_ids(flat.to_numpy(zero_copy_only=False), offsets, place)
    names = None if groups is None else group_names(groups, options, place)
    return id_batch(values, offsets, groups=names)


def checked_ids(values: np.ndarray[Any, Any], offsets: Any, place: Place) -> Ids:
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
