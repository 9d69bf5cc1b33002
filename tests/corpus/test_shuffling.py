"""The shuffled null: what it keeps exactly, what it makes uniform, what it does not depend on."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gnomon.corpus import cache
from gnomon.corpus.counting import count_with
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.documents import mix
from gnomon.corpus.options import CountOptions
from gnomon.corpus.shuffling import permute, shuffled_counts, why_not_shuffled
from gnomon.corpus.windows import Windows
from gnomon.errors import CorpusError, CountsError

OPTIONS = CountOptions(tokenizer="words", minimum_count=1, cache=False, folds=4)
KINDS = [
    replace(OPTIONS, window="start", length=5),
    replace(OPTIONS, window="end", length=5),
    replace(OPTIONS, window="sliding", length=4, stride=3),
    replace(OPTIONS, window="packed", length=6),
]
DOCUMENTS = st.lists(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9).map(" ".join),
    min_size=4,
    max_size=20,
)


def same(left: PositionCounts, right: PositionCounts) -> bool:
    """Bit for bit, folds and vocabulary included."""
    parts = ("indptr", "indices", "data")
    equal = all(np.array_equal(getattr(left.blocks, p), getattr(right.blocks, p)) for p in parts)
    return equal and left.vocabulary == right.vocabulary and left.folds == right.folds


def corpus(rng, rows=200, length=12, types=30):
    """Documents whose words drift with position."""
    words = rng.integers(0, types, size=(rows, length)) + np.arange(length)
    return [" ".join(f"w{word}" for word in row[: rng.integers(3, length + 1)]) for row in words]


def windows_of(lengths, *, step=1):
    """Windows over the values 0, 1, 2, ..; with step -1 they are read backwards."""
    lengths = np.asarray(lengths, np.int64)
    stops = np.cumsum(lengths)
    starts = stops - lengths
    if step < 0:
        starts, stops = stops - 1, starts - 1
    return Windows(
        values=np.arange(lengths.sum(), dtype=np.int32),
        starts=starts,
        stops=stops,
        step=step,
        keys=np.arange(lengths.size, dtype=np.uint64),
        rows=np.arange(lengths.size),
    )


def content(windows):
    return [
        windows.values[a : b : windows.step].tolist() if b >= 0 else windows.values[a::-1].tolist()
        for a, b in zip(windows.starts, windows.stops, strict=True)
    ]


# What is kept


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.sampled_from([1, -1]))
@settings(max_examples=50, deadline=None)
def test_every_window_keeps_its_tokens_and_both_routes_agree_bit_for_bit(lengths, step):
    windows = windows_of(lengths, step=step)
    keys = mix(windows.keys + np.uint64(7))
    found = []
    for numba in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GNOMON_NUMBA", numba)
            found.append(permute(windows, keys))
    assert found[0].values.tolist() == found[1].values.tolist()
    assert found[0].lengths.tolist() == lengths
    for before, after in zip(content(windows), content(found[0]), strict=True):
        assert sorted(before) == sorted(after)


@pytest.mark.parametrize("options", KINDS, ids=lambda options: options.window)
def test_totals_of_positions_and_tokens_are_kept_in_every_fold(rng, options):
    documents = corpus(rng)
    before, after = count_with(documents, options), shuffled_counts(documents, options)
    assert not same(before, after)
    assert (before.digest, before.rows) == (after.digest, after.rows)
    for fold in range(4):
        old, new = before.fold(fold), after.fold(fold)
        np.testing.assert_array_equal(old.sum(axis=1), new.sum(axis=1))
        np.testing.assert_array_equal(old.sum(axis=0), new.sum(axis=0))


def test_each_document_keeps_its_own_tokens():
    """Documents over disjoint words: the sums of their words are their own."""
    documents = ["a a b c", "x y", "p q r"]
    found = shuffled_counts(documents, OPTIONS)
    sums = dict(zip(found.vocabulary.tokens, found.matrix.sum(axis=0).tolist(), strict=True))
    assert sums == {"a": 2, "b": 1, "c": 1, "x": 1, "y": 1, "p": 1, "q": 1, "r": 1}
    at_third = found.matrix.toarray()[2]
    assert at_third[list(found.vocabulary.tokens).index("x")] == 0  # too short to get there


def test_what_the_length_of_documents_does_to_positions_survives():
    """Short documents of one word, long ones of another: permuting changes nothing at all."""
    documents = ["short"] * 30 + ["long long long"] * 20
    assert same(count_with(documents, OPTIONS), shuffled_counts(documents, OPTIONS))


def test_coarsening_keeps_the_same_types(rng):
    options = replace(OPTIONS, top_k=5)
    documents = corpus(rng)
    before, after = count_with(documents, options), shuffled_counts(documents, options)
    assert before.vocabulary == after.vocabulary


def test_grids_are_permuted_inside_each_picture(rng):
    pictures = rng.integers(0, 9, size=(50, 3, 4))
    options = CountOptions(minimum_count=1)
    before, after = count_with(pictures, options), shuffled_counts(pictures, options)
    assert after.axes == (3, 4)
    np.testing.assert_array_equal(before.totals, after.totals)
    np.testing.assert_array_equal(before.matrix.sum(axis=0), after.matrix.sum(axis=0))


# What becomes uniform


@pytest.mark.parametrize("numba", ["0", "1"])
def test_all_orders_of_four_tokens_are_equally_likely(numba, monkeypatch):
    monkeypatch.setenv("GNOMON_NUMBA", numba)
    windows = windows_of([4] * 4800)
    found = permute(windows, mix(windows.keys)).values.reshape(-1, 4)
    orders = Counter(map(tuple, (found % 4).tolist()))
    counts = [orders[order] for order in itertools.permutations(range(4))]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_first_word_is_spread_evenly_over_documents_of_equal_length(rng):
    """The same word opens every document; shuffled it stands anywhere, by chi-square."""
    documents = [
        "start " + " ".join(f"w{word}" for word in row) for row in rng.integers(0, 99, (3000, 7))
    ]
    before, after = count_with(documents, OPTIONS), shuffled_counts(documents, OPTIONS)
    column = list(before.vocabulary.tokens).index("start")
    assert before.matrix.toarray()[:, column].tolist() == [3000] + [0] * 7
    assert stats.chisquare(after.matrix.toarray()[:, column]).pvalue > 1e-3


def test_seeds_and_replicates_are_independent():
    """The place of the first word under one stream tells nothing of it under another."""
    documents = [" ".join([f"d{i}", "b", "c", "d", "e", "f"]) for i in range(3600)]

    def places(**stream):
        table = shuffled_counts(documents, OPTIONS, **stream)
        firsts = [i for i, name in enumerate(table.vocabulary.tokens) if name[1:].isdigit()]
        return np.argmax(table.matrix.toarray()[:, firsts], axis=0)

    first = places(seed=1)
    for other in (places(seed=2), places(seed=1, replicate=1)):
        joint = np.zeros((6, 6))
        np.add.at(joint, (first, other), 1)
        assert stats.chi2_contingency(joint).pvalue > 1e-3
    assert np.array_equal(first, places(seed=1))


# What it does not depend on


@given(documents=DOCUMENTS, data=st.data())
@settings(max_examples=40, deadline=None)
def test_order_and_partition_of_a_corpus_change_nothing(documents, data):
    whole = shuffled_counts(documents, OPTIONS, seed=3)
    mixed = data.draw(st.permutations(documents))
    assert same(whole, shuffled_counts(mixed, OPTIONS, seed=3))
    at = data.draw(st.integers(1, len(mixed) - 1))
    parts = [shuffled_counts(part, OPTIONS, seed=3) for part in (mixed[:at], mixed[at:])]
    assert same(whole, _longer(parts[0], whole) + _longer(parts[1], whole))


def _longer(part: PositionCounts, whole: PositionCounts) -> PositionCounts:
    """Give counts of short documents the rows of positions that they do not reach."""
    blocks = part.blocks.copy()
    blocks.resize((whole.length * part.folds, blocks.shape[1]))
    return replace(part, blocks=blocks, axes=whole.axes)


@pytest.mark.parametrize("options", KINDS, ids=lambda options: options.window)
def test_threads_routes_and_the_token_cache_change_nothing(rng, options, monkeypatch, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(corpus(rng)), encoding="utf-8")
    first = shuffled_counts(path, options)
    assert same(first, shuffled_counts(path, replace(options, threads=3)))
    cached = replace(options, cache=True)
    assert same(first, shuffled_counts(path, cached))
    assert len(cache.entries()) == 1
    assert same(first, shuffled_counts(path, cached))
    monkeypatch.setenv("GNOMON_NUMBA", "0")
    assert same(first, shuffled_counts(path, options))


def test_equal_documents_of_one_group_are_permuted_alike_and_of_two_groups_not(tmp_path):
    """One observation many times over stays one; many users who say the same are many."""
    sentence = "a b c d e f"
    alike = shuffled_counts([sentence] * 100, OPTIONS)
    assert set(alike.matrix.data.tolist()) == {100}
    path = tmp_path / "users.csv"
    lines = ["user,said"] + [f"u{i},{sentence}" for i in range(100)]
    path.write_text("\n".join(lines), encoding="utf-8")
    options = replace(OPTIONS, column="said", group="user")
    apart = shuffled_counts(path, options)
    assert apart.matrix.data.max() < 50


# What bad input gets


def test_counts_without_documents_are_refused_with_the_other_null_named():
    counts = PositionCounts.from_array([[3, 1], [2, 2]])
    message = "counts of array hold no documents.*use the dealt null, or count the corpus itself"
    with pytest.raises(CountsError, match=message):
        shuffled_counts(counts, OPTIONS)
    assert "hold no documents" in why_not_shuffled(counts)


def test_counts_of_a_corpus_are_refused_in_place_of_the_corpus():
    counts = count_with(["a b", "b a"], OPTIONS)
    assert why_not_shuffled(counts) is None
    with pytest.raises(CountsError, match="counts no longer hold the order of tokens; pass the c"):
        shuffled_counts(counts, OPTIONS)


def test_an_empty_corpus_is_refused_as_in_counting(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("", encoding="utf-8")
    with pytest.raises(CorpusError, match="holds no document"):
        shuffled_counts(path, OPTIONS)


def test_the_notes_say_inside_what_tokens_were_permuted(rng):
    documents = corpus(rng)
    assert (
        "tokens permuted inside each document's window"
        in shuffled_counts(documents, KINDS[0]).notes
    )
    packed = shuffled_counts(documents, KINDS[3]).notes
    assert "tokens permuted inside each pack, across its documents" in packed


# Real corpora


@pytest.mark.data
@pytest.mark.wide
def test_sst2_shuffled_keeps_its_documented_totals(data_root):
    options = CountOptions(
        column="sentence",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=64,
    )
    found = shuffled_counts(data_root / "sst2" / "train.tsv", options)
    assert (found.rows, found.tokens) == (67_349, 762_340)
    assert found.totals[[0, 8, 31, 63]].tolist() == [67_349, 32_755, 3_255, 2]
