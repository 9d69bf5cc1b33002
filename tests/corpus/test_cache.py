"""The token cache: whole entries come back exactly, and nothing else is ever used."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import stat
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.corpus import cache
from gnomon.corpus import cache as cache_format
from gnomon.corpus.counts import Vocabulary
from gnomon.corpus.documents import IdBatch
from gnomon.errors import InputError

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes of POSIX systems")
KEY = cache.key_of("source", "tokenizer", None)
WORDS = Vocabulary.of(("the", "é", '"', "\x00"), grows=True)


def batch_of(lengths: list[int], rng: np.random.Generator, place: int = 0) -> IdBatch:
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    return IdBatch(
        values=rng.integers(0, 2**31 - 1, size=int(offsets[-1]), dtype=np.int32),
        offsets=offsets,
        documents=rng.integers(0, 2**64 - 1, size=len(lengths), dtype=np.uint64),
        groups=rng.integers(0, 2**64 - 1, size=len(lengths), dtype=np.uint64),
        bytes_read=place,
    )


def keep(batches: list[IdBatch], key: str = KEY, vocabulary: Vocabulary = WORDS) -> Path:
    with cache.writer(key, source="corpus.txt") as writer:
        for batch in batches:
            writer.add(batch)
        writer.finish(vocabulary, skipped=3)
    assert writer.kept
    assert writer.notes == ()
    return cache.folder() / f"{key}.parquet"


def flat(batches: list[IdBatch]) -> list[np.ndarray]:
    """All ids, lengths, documents and groups, however they are cut into batches."""
    parts = [
        (b.values[b.offsets[0] : b.offsets[-1]], np.diff(b.offsets), b.documents, b.groups)
        for b in batches
    ]
    return [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else []


def same(left: list[IdBatch], right: list[IdBatch]) -> bool:
    pairs = zip(flat(left), flat(right), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def test_an_entry_comes_back_exactly(rng):
    batches = [batch_of([3, 0, 5], rng, 10), batch_of([0], rng, 20), batch_of([4], rng, 30)]
    keep(batches)
    entry = cache.lookup(KEY)
    assert entry is not None
    assert same(list(entry.batches()), batches)
    assert (entry.rows, entry.tokens, entry.source) == (5, 12, "corpus.txt")
    assert entry.vocabulary == WORDS
    assert entry.extra == {"skipped": 3}
    assert [b.bytes_read for b in entry.batches()] == [30]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(data=st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=6))
def test_any_cut_into_batches_and_row_groups_comes_back_in_order(data, monkeypatch):
    monkeypatch.setattr("gnomon.corpus.cache.ROW_GROUP", 7)
    monkeypatch.setattr(cache_format, "ROW_GROUP", 7)
    rng = np.random.default_rng(0)
    batches = [batch_of(lengths, rng) for lengths in data]
    keep(batches)
    entry = cache.lookup(KEY)
    assert entry is not None
    found = list(entry.batches())
    kept = [b for b in batches if b.rows]
    assert same(found, kept)
    assert all(len(b.values) + b.rows <= 7 + 7 + 10 for b in found)


def test_a_slice_of_a_larger_array_is_stored_alone(rng):
    whole = batch_of([3, 4, 5], rng)
    part = IdBatch(
        values=whole.values,
        offsets=whole.offsets[1:],
        documents=whole.documents[1:],
        groups=whole.groups[1:],
    )
    keep([part])
    entry = cache.lookup(KEY)
    assert entry is not None
    assert same(list(entry.batches()), [part])
    assert entry.tokens == 9


def test_the_file_is_plain_parquet_that_others_can_read(rng):
    """Another route: pyarrow's own reader."""
    parquet = pytest.importorskip("pyarrow.parquet")
    batch = batch_of([2, 0, 3], rng)
    table = parquet.read_table(keep([batch]))
    rows = [part.tolist() for part in np.split(batch.values, batch.offsets[1:-1])]
    assert table["ids"].to_pylist() == rows
    assert table["group"].to_pylist() == batch.groups.tolist()


def test_a_key_depends_on_source_tokenizer_and_grouping():
    parts = [("a", "b", None), ("a", "b", "c"), ("ab", "", None), ("", "ab", None), ("a", "bc", "")]
    assert len({cache.key_of(*part) for part in parts}) == len(parts)


def usable(path: Path) -> list[IdBatch] | None:
    """What a caller gets from the entry: all of it, or nothing."""
    entry = cache.lookup(path.stem)
    try:
        return None if entry is None else list(entry.batches())
    except cache.DamagedCacheError as damage:
        assert damage.key == path.stem  # noqa: PT017 - the point is what may happen, not that it does
        cache.discard(damage.key)
        assert not path.exists()
        return None


def test_a_flipped_bit_anywhere_is_found_or_harmless(rng):
    batches = [batch_of([5, 7], rng)]
    path = keep(batches)
    stored = path.read_bytes()
    refused = 0
    for at in range(0, len(stored), 2):
        changed = bytearray(stored)
        changed[at] ^= 1 << (at // 2 % 8)
        path.write_bytes(changed)
        found = usable(path)
        refused += found is None
        assert found is None or same(found, batches), at
    assert refused > len(stored) / 2 / 4
    path.write_bytes(stored)
    assert usable(path) is not None


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_truncated_entry_is_never_used(rng, share):
    path = keep([batch_of([50, 70], rng)])
    stored = path.read_bytes()
    path.write_bytes(stored[: int(len(stored) * share)])
    assert usable(path) is None


def test_a_changed_page_is_refused_before_its_batch_is_handed_on(rng, monkeypatch):
    """The first row group is whole and may be read; the second raises."""
    monkeypatch.setattr("gnomon.corpus.cache.ROW_GROUP", 100)
    path = keep([batch_of([500], rng), batch_of([500], rng)])
    stored = bytearray(path.read_bytes())
    stored[len(stored) // 2] ^= 1
    path.write_bytes(stored)
    entry = cache.lookup(KEY)
    assert entry is not None
    batches = entry.batches()
    next(batches)
    with pytest.raises(cache.DamagedCacheError, match=r"it is discarded and made anew"):
        list(batches)


def test_an_entry_under_another_name_is_not_trusted(rng):
    path = keep([batch_of([5], rng)])
    other = cache.key_of("another source", "tokenizer", None)
    path.rename(path.with_name(f"{other}.parquet"))
    assert cache.lookup(other) is None
    assert cache.lookup(KEY) is None


def test_a_foreign_parquet_file_is_not_trusted(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cache.folder().mkdir(parents=True)
    parquet.write_table(pa.table({"ids": [[1, 2]]}), cache.folder() / f"{KEY}.parquet")
    assert cache.lookup(KEY) is None


def interrupted(batch: IdBatch) -> None:
    with cache.writer(KEY, source="x") as writer:
        writer.add(batch)
        raise KeyboardInterrupt


def test_an_unfinished_entry_leaves_nothing(rng):
    with cache.writer(KEY, source="x") as writer:
        writer.add(batch_of([5], rng))
    assert not writer.kept
    with pytest.raises(KeyboardInterrupt):
        interrupted(batch_of([5], rng))
    assert list(cache.folder().iterdir()) == []


def _killed() -> None:
    with cache.writer(KEY, source="x") as writer:
        for _ in range(3):
            writer.add(batch_of([2**20], np.random.default_rng(0)))
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_process_killed_while_writing_leaves_no_entry(rng):
    process = multiprocessing.get_context("spawn").Process(target=_killed)
    process.start()
    process.join(600)
    assert process.exitcode == -signal.SIGKILL
    (left,) = cache.folder().iterdir()
    assert left.suffix == ".tmp"
    assert left.stat().st_size > 2**20
    assert cache.lookup(KEY) is None
    assert (cache.entries(), cache.total_bytes()) == ([], 0)
    keep([batch_of([5], rng)])
    assert cache.lookup(KEY) is not None


def test_a_folder_that_can_not_be_made_is_noted_and_nothing_fails(rng, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "file"))
    with cache.writer(KEY, source="x") as writer:
        writer.add(batch_of([5], rng))
        writer.finish(WORDS)
    assert not writer.kept
    assert len(writer.notes) == 1
    assert "the tokens were not kept in the cache" in writer.notes[0]
    assert cache.lookup(KEY) is None
    assert (cache.entries(), cache.total_bytes(), cache.clear()) == ([], 0, (0, 0))


def test_a_full_disk_is_noted_and_leaves_nothing(rng, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", full)
    with cache.writer(KEY, source="x") as writer:
        writer.add(batch_of([5], rng))
        writer.finish(WORDS)
    assert "No space left on device" in writer.notes[0]
    assert list(cache.folder().iterdir()) == []


def test_an_entry_over_the_limit_is_not_kept_and_said(rng, monkeypatch):
    monkeypatch.setenv("GNOMON_CACHE_LIMIT", "2kB")
    with cache.writer(KEY, source="x") as writer:
        writer.add(batch_of([5_000], rng))
        writer.finish(WORDS)
    assert not writer.kept
    assert "exceed the cache limit of 2,000 bytes (GNOMON_CACHE_LIMIT)" in writer.notes[0]
    assert list(cache.folder().iterdir()) == []


def test_the_entry_unused_for_longest_makes_room(rng, monkeypatch):
    keys = [cache.key_of(name, "t", None) for name in "abc"]
    for key in keys[:2]:
        keep([batch_of([1_000], rng)], key)
    size = cache.total_bytes() // 2
    now = time.time()
    for age, key in ((30, keys[0]), (60, keys[1])):
        os.utime(cache.folder() / f"{key}.parquet", (now - age, now - age))
    assert [e.key for e in cache.entries()] == keys[:2]
    assert cache.lookup(keys[1]) is not None  # used now: the other one is the older
    monkeypatch.setenv("GNOMON_CACHE_LIMIT", str(int(size * 2.5)))
    keep([batch_of([1_000], rng)], keys[2])
    assert {e.key for e in cache.entries()} == {keys[1], keys[2]}


def test_clearing_removes_entries_and_only_entries(rng):
    path = keep([batch_of([5], rng)])
    foreign = path.with_name("mine.parquet")
    foreign.write_text("not ours")
    size = path.stat().st_size
    assert cache.total_bytes() == size
    assert cache.clear(older_than=1) == (0, 0)
    old = time.time() - 2 * 86_400
    os.utime(path, (old, old))
    assert cache.clear(older_than=1) == (1, size)
    keep([batch_of([5], rng)])
    assert cache.clear()[0] == 1
    assert foreign.exists()
    assert cache.entries() == []


@POSIX
def test_what_a_killed_process_left_is_removed_by_the_next_and_no_other(rng):
    """Whose process is gone goes; what a living one holds stays, however old it is."""
    path = keep([batch_of([5], rng)])
    gone = multiprocessing.get_context("spawn").Process(target=int)
    gone.start()
    gone.join()
    left = path.with_name(f".{path.name}.{gone.pid}.0123abcd.tmp")
    left.write_bytes(b"half")
    other = cache.key_of("other", "t", None)
    with cache.writer(other, source="x") as writer:
        held = next(cache.folder().glob(f".{other}*.tmp"))
        os.utime(held, (0, time.time() - 9 * 86_400))
        keep([batch_of([5], rng)])
        assert held.exists()
        writer.add(batch_of([5], rng))
        writer.finish(WORDS)
    assert not left.exists()
    assert cache.lookup(other) is not None


def footer_of(path: Path) -> tuple[dict[str, object], object]:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path)
    return json.loads(parquet.read_metadata(path).metadata[b"gnomon"]), table


@pytest.mark.parametrize("secret", [b"", b"0" * 32, None])
def test_a_forged_entry_is_not_believed(rng, secret):
    """Other ids under a true key, every digest made anew as anybody can."""
    path = keep([batch_of([5, 7], rng)])
    forged = batch_of([5, 7], np.random.default_rng(99))
    about, _ = footer_of(path)
    about["parts"] = [[cache_format.checksum(forged), 0]]
    writer = cache_format.open_writer(path)
    writer.write_table(cache_format.to_table(forged))
    if secret is None:  # as before entries were signed
        text = json.dumps(about).encode()
        proof = blake2b(text, digest_size=16).hexdigest().encode()
        writer.add_key_value_metadata({b"gnomon": text, b"gnomon.digest": proof})
    else:
        cache_format.write_about(writer, about, secret)
    writer.close()
    assert usable(path) is None


def test_other_ids_in_a_signed_entry_are_not_believed(rng):
    """The footer as it was signed, and other rows under it."""
    path = keep([batch_of([5, 7], rng)])
    parquet = pytest.importorskip("pyarrow.parquet")
    kept = parquet.read_metadata(path).metadata
    writer = cache_format.open_writer(path)
    writer.write_table(cache_format.to_table(batch_of([5, 7], np.random.default_rng(99))))
    own = {name: kept[name] for name in (b"gnomon", b"gnomon.digest")}
    writer.add_key_value_metadata(own)
    writer.close()
    assert usable(path) is None


@POSIX
def test_folder_and_files_are_for_this_user_alone(rng):
    cache.folder().mkdir(parents=True)
    cache.folder().chmod(0o755)
    path = keep([batch_of([5], rng)])
    path.chmod(0o644)
    keep([batch_of([5], rng)])
    assert stat.S_IMODE(cache.folder().stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in cache.folder().iterdir()} == {0o600}


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used_and_said(rng, mode):
    keep([batch_of([5], rng)])
    cache.folder().chmod(mode)
    assert cache.lookup(KEY) is None
    with cache.writer(KEY, source="x") as writer:
        writer.add(batch_of([5], rng))
        writer.finish(WORDS)
    assert not writer.kept
    assert f"others can write to {cache.folder()}; run `chmod 700" in writer.notes[0]


@POSIX
def test_a_folder_of_another_user_is_not_used_and_said(rng, monkeypatch):
    keep([batch_of([5], rng)])
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert cache.lookup(KEY) is None
    with cache.writer(KEY, source="x") as writer:
        writer.finish(WORDS)
    assert "belongs to another user; set GNOMON_CACHE" in writer.notes[0]


@POSIX
@pytest.mark.parametrize("spoil", ["open", "link", "short", "gone"])
def test_a_secret_that_others_may_know_is_made_anew(rng, tmp_path, spoil):
    path = keep([batch_of([5], rng)])
    secret = path.with_name("secret")
    before = secret.read_bytes()
    if spoil == "open":
        secret.chmod(0o644)
    elif spoil == "short":
        secret.write_bytes(before[:31])
    else:
        secret.unlink()
    if spoil == "link":
        (tmp_path / "planted").write_bytes(before)
        secret.symlink_to(tmp_path / "planted")
    assert usable(path) is None
    path = keep([batch_of([5], rng)])
    assert secret.read_bytes() != before
    assert usable(path) is not None


@pytest.mark.parametrize(
    ("written", "expected"), [("5GB", 5 * 10**9), ("1.5 m", 1_500_000), ("700", 700), ("0", 0)]
)
def test_the_limit_is_read_from_the_environment(written, expected, monkeypatch):
    monkeypatch.setenv("GNOMON_CACHE_LIMIT", written)
    assert cache.limit_bytes() == expected


def test_a_limit_that_is_no_size_is_named(monkeypatch):
    monkeypatch.setenv("GNOMON_CACHE_LIMIT", "lots")
    with pytest.raises(InputError, match=r"GNOMON_CACHE_LIMIT is 'lots', which is no size; write"):
        cache.limit_bytes()


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "a"))
    assert cache.folder() == tmp_path / "a"
    monkeypatch.delenv("GNOMON_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "gnomon"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert "gnomon" in cache.folder().parts


def test_a_user_without_a_home_is_told_to_name_a_folder(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError

    for name in ("GNOMON_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    with pytest.raises(InputError, match=r"no home folder .*; set GNOMON_CACHE to a folder"):
        cache.folder()


def _write(seed: int) -> None:
    keep([batch_of([20_000], np.random.default_rng(7)) for _ in range(3)])


def test_concurrent_writers_of_one_entry_leave_a_whole_one():
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(seed,)) for seed in range(3)]
    for process in writers:
        process.start()
    for process in writers:
        process.join(600)
    assert [process.exitcode for process in writers] == [0, 0, 0]
    expected = [batch_of([20_000], np.random.default_rng(7)) for _ in range(3)]
    entry = cache.lookup(KEY)
    assert entry is not None
    assert same(list(entry.batches()), expected)
    assert {path.name for path in cache.folder().iterdir()} == {f"{KEY}.parquet", "secret"}
