"""How ids lie in the Parquet file of a cache entry, and how they prove themselves.

Columns `ids` (a list of int32), `document` and `group` (64-bit keys); any Parquet reader can read
them. The ids are split by byte and compressed: of seven ways tried on 7.8 million WordPiece ids
the smallest, a third of plain, and as fast to read as any.

Nothing is trusted. The footer holds, as JSON under `gnomon`, what the entry is: its key, which is a
digest of all that it was made from, and a digest of the decoded arrays of every row group, since
Parquet's page checksums cover neither page headers nor the footer. `gnomon.digest` proves that JSON
by a secret that only this user can read: an entry that others made is none.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from hashlib import blake2b
from hmac import compare_digest
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.corpus.documents import IdBatch, offsets_of
from gnomon.errors import GnomonError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = 2
ROW_GROUP = 2**20
"""Tokens (and documents) of a row group, about."""
_ABOUT, _DIGEST = b"gnomon", b"gnomon.digest"


class DamagedCacheError(GnomonError):
    """An entry is not what was written; the caller discards `key` and reads the corpus again."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"the cache entry {path} {found}; it is discarded and made anew.")
        self.key = path.stem


def open_writer(path: Path) -> Any:
    """Return a Parquet writer of entries."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        path,
        _schema(),
        compression="zstd",
        use_dictionary=False,
        column_encoding={"ids.list.element": "BYTE_STREAM_SPLIT"},
        write_page_checksum=True,
        write_statistics=False,
    )


def write_about(parquet: Any, about: dict[str, Any], secret: bytes) -> None:
    """Put what the entry is into the footer, with its proof."""
    text = json.dumps(about, allow_nan=False).encode()
    parquet.add_key_value_metadata({_ABOUT: text, _DIGEST: _digest(text, secret)})


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Yield the Parquet file; whatever goes wrong with it is damage."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except DamagedCacheError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedCacheError(path, f"can not be read ({reason})") from error


def read_about(path: Path, secret: bytes | None) -> dict[str, Any]:
    """Return what the footer says the entry is, proved by its digest; without a secret, none is."""
    with reading(path) as file:
        stored = file.metadata.metadata or {}
        text = stored.get(_ABOUT, b"")
        proof = stored.get(_DIGEST, b"")
        if secret is None or not compare_digest(proof, _digest(text, secret)):
            raise DamagedCacheError(path, "was not written by Gnomon, or was changed since")
        about: dict[str, Any] = json.loads(text)
    return about


def _digest(text: bytes, secret: bytes) -> bytes:
    return blake2b(text, digest_size=32, key=secret).hexdigest().encode()


def checksum(batch: IdBatch) -> str:
    """Return a digest of all that a batch holds."""
    made = blake2b(digest_size=16)
    for array in (batch.values, batch.offsets, batch.documents, batch.groups):
        made.update(len(array).to_bytes(8, "little"))
        made.update(np.ascontiguousarray(array).view(np.uint8).data)
    return made.hexdigest()


def read_batch(file: Any, group: int) -> IdBatch:
    """Return one row group, its arrays shared with Arrow and hence read-only."""
    table = file.read_row_group(group, use_threads=False).combine_chunks()
    if not table.schema.equals(_schema(), check_metadata=False):
        raise TypeError("its columns are not those of an entry")  # `reading` makes this damage
    ids, documents, groups = (table[name].chunk(0) for name in ("ids", "document", "group"))
    return IdBatch(
        values=ids.values.to_numpy(),
        offsets=ids.offsets.to_numpy(),
        documents=documents.to_numpy(),
        groups=groups.to_numpy(),
    )


def _schema() -> Any:
    import pyarrow as pa

    ids = pa.large_list(pa.field("element", pa.int32(), nullable=False))
    columns = (("ids", ids), ("document", pa.uint64()), ("group", pa.uint64()))
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns])


def to_table(batch: IdBatch) -> Any:
    """Return an Arrow table of a batch whose offsets begin at zero."""
    import pyarrow as pa

    schema = _schema()
    ids = pa.LargeListArray.from_arrays(
        pa.array(batch.offsets), pa.array(batch.values), type=schema.field("ids").type
    )
    columns = [ids, pa.array(batch.documents), pa.array(batch.groups)]
    return pa.Table.from_arrays(columns, schema=schema)


def joined(batches: list[IdBatch]) -> IdBatch:
    """Return one batch whose offsets begin at zero."""
    offsets = offsets_of(np.concatenate([np.diff(b.offsets) for b in batches]))
    values = np.concatenate([b.values[b.offsets[0] : b.offsets[-1]] for b in batches])
    return IdBatch(
        values=values.astype(np.int32, copy=False),
        offsets=offsets,
        documents=np.concatenate([b.documents for b in batches]),
        groups=np.concatenate([b.groups for b in batches]),
        bytes_read=batches[-1].bytes_read,
    )


def split(batch: IdBatch) -> Iterator[IdBatch]:
    """Yield pieces of about a row group, cut between documents."""
    weights = batch.offsets - batch.offsets[0] + np.arange(batch.rows + 1)
    steps = np.searchsorted(weights, np.arange(0, weights[-1], ROW_GROUP))
    for a, b in pairwise((*steps.tolist(), batch.rows)):
        if a < b:
            yield IdBatch(
                values=batch.values,
                offsets=batch.offsets[a : b + 1],
                documents=batch.documents[a:b],
                groups=batch.groups[a:b],
                bytes_read=batch.bytes_read,
            )
