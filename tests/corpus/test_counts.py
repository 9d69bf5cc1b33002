"""PositionCounts: exact, mergeable over any partition, and whole on disk."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from gnomon.corpus import counting
from gnomon.corpus.counting import Accumulator, count
from gnomon.corpus.counts import PositionCounts, load_counts, save_counts
from gnomon.errors import CountsError

WORDS = st.lists(st.sampled_from(list("abcdef,.")), min_size=1, max_size=9).map(" ".join)
CORPORA = st.lists(WORDS, min_size=1, max_size=25)


def assert_same(left: PositionCounts, right: PositionCounts) -> None:
    """Equal bit for bit: numbers, names, digest, groups."""
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(left.blocks, part), getattr(right.blocks, part))
    assert left.vocabulary == right.vocabulary
    assert (left.axes, left.folds, left.rows) == (right.axes, right.folds, right.rows)
    assert left.digest == right.digest
    np.testing.assert_array_equal(left.groups.array, right.groups.array)


def counted(documents: list[str], tokenizer: str = "words", **options) -> PositionCounts:
    """Count at length 9 even where no document of a part is that long."""
    padded = count(documents, tokenizer=tokenizer, minimum_count=1, **options)
    if padded.length == 9:
        return padded
    rows = (9 - padded.length) * padded.folds
    empty = csr_array((rows, padded.vocabulary.size), dtype=np.int64)
    from dataclasses import replace

    from scipy.sparse import vstack

    return replace(padded, blocks=csr_array(vstack([padded.blocks, empty])), axes=(9,))


@given(documents=CORPORA, data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_partition_and_order_gives_the_same_counts_bit_for_bit(documents, data):
    whole = counted(documents)
    order = data.draw(st.permutations(documents))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=4)))
    parts = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    merged = [counted(part) for part in parts if part]
    left = merged[0]
    for part in merged[1:]:
        left = left + part
    right = merged[-1]
    for part in reversed(merged[:-1]):
        right = part + right
    assert_same(left, whole)
    assert_same(right, whole)


@pytest.mark.parametrize("tokenizer", ["words", "characters", "bytes"])
def test_threads_batches_and_chunks_do_not_change_counts(tokenizer, rng, monkeypatch):
    documents = [" ".join(rng.choice(["ab", "c", "de"], 9)) for _ in range(200)]
    wanted = count(documents, tokenizer=tokenizer, length=9, threads=1)
    monkeypatch.setattr("gnomon.corpus.counting.SMALL_CHUNK", 100)
    for threads in (1, 3):
        again = count(documents[::-1], tokenizer=tokenizer, length=9, threads=threads)
        assert_same(again, wanted)


def test_counts_equal_a_ten_line_script(rng):
    documents = [" ".join(rng.choice(list("abcde"), rng.integers(1, 8))) for _ in range(300)]
    found = count(documents, tokenizer="words", minimum_count=1)
    table = np.zeros((7, 5), np.int64)
    for document in documents:
        for position, word in enumerate(document.split()):
            table[position, "abcde".index(word)] += 1
    np.testing.assert_array_equal(found.matrix.toarray(), table)
    assert found.vocabulary.tokens == tuple("abcde")
    assert (found.rows, found.tokens) == (300, table.sum())
    assert found.groups.estimate() == len(set(documents))


def test_folds_are_disjoint_sets_of_groups_and_sum_to_the_whole(rng):
    documents = [" ".join(rng.choice(list("abcde"), 6)) for _ in range(400)]
    found = count(documents, tokenizer="words", length=6)
    folds = [found.fold(f).toarray() for f in range(16)]
    np.testing.assert_array_equal(sum(folds), found.matrix.toarray())
    assert sum(fold[0].sum() > 0 for fold in folds) == 16
    doubled = count(documents * 2, tokenizer="words", length=6)
    for f in range(16):
        np.testing.assert_array_equal(doubled.fold(f).toarray(), 2 * folds[f])


def test_too_little_memory_halves_the_folds_and_says_so(rng):
    documents = [" ".join(rng.choice(list("abcdefghij"), 6)) for _ in range(400)]
    whole = count(documents, tokenizer="words", length=6)
    small = count(documents, tokenizer="words", length=6, memory=2_000)
    assert 1 <= small.folds < 16
    assert any(f"{small.folds} folds instead of 16" in note for note in small.notes)
    assert_same(small, whole.with_folds(small.folds))


def test_merging_many_chunks_is_the_same_as_counting_at_once(rng, monkeypatch):
    monkeypatch.setattr("gnomon.corpus.counting.SMALL_CHUNK", 64)
    documents = [" ".join(rng.choice(list("abcdefghij"), 6)) for _ in range(400)]
    pieces = count(documents, tokenizer="words", length=6)
    monkeypatch.setattr("gnomon.corpus.counting.SMALL_CHUNK", 2**30)
    assert_same(pieces, count(documents, tokenizer="words", length=6))


def test_an_accumulator_without_windows_has_no_counts():
    assert Accumulator(3, 2).finish().shape == (6, 1)


def test_from_array_keeps_folds_positions_and_tokens(rng):
    array = rng.poisson(0.7, (4, 6, 9))
    found = PositionCounts.from_array(array, minimum_count=1)
    np.testing.assert_array_equal(found.matrix.toarray(), array.sum(axis=0))
    for f in range(4):
        np.testing.assert_array_equal(found.fold(f).toarray(), array[f])
    halved = found.with_folds(2)
    np.testing.assert_array_equal(halved.fold(1).toarray(), array[1] + array[3])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ([[1, -2]], r"counts\[0, 1\] is negative"),
        ([[1.0, np.nan]], r"counts\[0, 1\] is not a number"),
        ([[0.5, 0.5]], "not whole; give counts, not probabilities"),
        ([1, 2], "1 axes; give position x token"),
        ([["a", "b"]], "not numbers; give integers"),
        (np.zeros((0, 3)), "counts are empty"),
        (csr_array(np.array([[-1, 2]])), "negative"),
    ],
)
def test_counts_that_are_none_are_refused_with_their_place(array, words):
    with pytest.raises(CountsError, match=words):
        PositionCounts.from_array(array)


def test_coarsening_keeps_the_commonest_types_and_all_tokens(rng):
    array = rng.poisson(np.arange(1, 11), (5, 10))
    found = PositionCounts.from_array(array).coarsened(3)
    best = np.sort(np.argsort(-array.sum(axis=0), kind="stable")[:3])
    rest = np.setdiff1d(np.arange(10), best)
    wanted = np.column_stack([array[:, best], array[:, rest].sum(axis=1)])
    np.testing.assert_array_equal(found.matrix.toarray(), wanted)
    assert found.vocabulary.tokens[-1] == "OTHER"


def test_adding_and_coarsening_leave_what_they_are_made_of_unchanged(rng):
    """Columns move in both, and what is moved must be a copy."""
    one = count([" ".join(rng.choice(list("bdfh"), 6)) for _ in range(80)], tokenizer="words")
    other = count([" ".join(rng.choice(list("aceg"), 6)) for _ in range(80)], tokenizer="words")
    before = [found.blocks.toarray() for found in (one, other)]
    _ = one + other, one.coarsened(2), other.coarsened(1)
    for found, table in zip((one, other), before, strict=True):
        np.testing.assert_array_equal(found.blocks.toarray(), table)


def test_positions_below_the_minimum_are_masked_and_named():
    found = PositionCounts.from_array([[9, 1], [4, 5], [0, 0]], minimum_count=10)
    assert found.kept.tolist() == [True, False, False]
    assert found.masked == [1, 2]
    assert found.with_minimum_count(9).masked == [2]


def test_different_vocabularies_and_windows_do_not_add():
    one = count(["a b"], tokenizer="bytes", minimum_count=1)
    other = count(["a b"], tokenizer="dna", errors="replace", minimum_count=1)
    with pytest.raises(CountsError, match="cannot be added; count both with the same"):
        _ = one + other
    end = count(["a b"], tokenizer="bytes", window="end", minimum_count=1)
    with pytest.raises(CountsError, match="count both with the same window"):
        _ = one + end


@given(documents=CORPORA)
@settings(max_examples=20, deadline=None)
def test_saved_counts_come_back_bit_for_bit(documents, tmp_path_factory):
    path = tmp_path_factory.mktemp("counts") / "counts.npz"
    found = count(documents, tokenizer="words", minimum_count=1)
    save_counts(found, path)
    assert_same(load_counts(path), found)
    first = path.read_bytes()
    save_counts(found, path)
    assert path.read_bytes() == first


def test_a_counts_file_changed_anywhere_is_refused_or_means_the_same(tmp_path, rng):
    path = tmp_path / "counts.npz"
    found = count([" ".join(rng.choice(list("abc"), 5)) for _ in range(50)], tokenizer="words")
    save_counts(found, path)
    good = path.read_bytes()
    refused = 0
    for place in rng.integers(0, len(good), 150):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        try:
            again = load_counts(path)
        except CountsError:
            refused += 1
        else:  # bytes that zip does not check, as dates: the counts are untouched
            np.testing.assert_array_equal(again.blocks.toarray(), found.blocks.toarray())
    assert refused > 75
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(CountsError, match="damaged or holds no counts"):
        load_counts(path)


def test_a_counts_file_that_would_need_pickle_is_refused(tmp_path):
    path = tmp_path / "counts.npz"
    np.savez(path, metadata=np.array([{"a": 1}], dtype=object))
    with pytest.raises(CountsError, match="damaged or holds no counts"):
        load_counts(path)


def test_counts_whose_entries_lie_are_refused(tmp_path):
    path = tmp_path / "counts.npz"
    save_counts(PositionCounts.from_array([[3, 4], [1, 2]]), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    np.save(buffer, np.array([0, 7, 0, 1], np.uint8))
    members["fold_000_indices.npy"] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    with pytest.raises(CountsError, match="fold 0 of the counts file is damaged"):
        load_counts(path)


def test_words_get_sorted_ids_and_characters_only_those_that_occur():
    vocabulary, column = counting.settle(
        counting.Vocabulary.of(("b", "a", "c"), grows=True), np.array([0])
    )
    assert vocabulary.tokens == ("a", "b", "c")
    assert column.tolist() == [1, 0, 2]
    found = count(["bá", "ba"], tokenizer="characters", minimum_count=1)
    assert found.vocabulary.tokens == ("a", "b", "á")
    np.testing.assert_array_equal(found.matrix.toarray(), [[0, 2, 0], [1, 0, 1]])
