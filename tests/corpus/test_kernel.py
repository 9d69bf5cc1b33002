"""Counting kernels: both routes against a dictionary, whatever the order or the threads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.corpus.counting import Slots, count_slots

ROUTES = ["0", "1"]


def by_hand(slots: Slots, length: int, vocabulary: int, folds: int) -> np.ndarray:
    """Count with a dictionary, one token at a time."""
    counter: Counter[tuple[int, int]] = Counter()
    for start, size, fold in zip(slots.starts, slots.lengths, slots.folds, strict=True):
        for p in range(size):
            counter[p * folds + int(fold), int(slots.values[start + slots.step * p])] += 1
    table = np.zeros((length * folds, vocabulary), np.int64)
    for place, number in counter.items():
        table[place] = number
    return table


@st.composite
def some_slots(draw: st.DrawFn) -> tuple[Slots, int, int, int]:
    length = draw(st.integers(1, 40))
    vocabulary = draw(st.sampled_from([1, 2, 7, 300, 200_000]))
    folds = draw(st.sampled_from([1, 2, 16]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    windows = draw(st.integers(0, 60))
    lengths = rng.integers(1, length + 1, windows)
    step = draw(st.sampled_from([1, -1]))
    values = rng.integers(0, vocabulary, max(int(lengths.sum()), 1)).astype(np.int32)
    ends = np.cumsum(lengths)
    starts = ends - lengths if step == 1 else ends - 1
    slots = Slots(
        values=values,
        starts=starts.astype(np.int64),
        lengths=lengths.astype(np.int64),
        folds=rng.integers(0, folds, windows).astype(np.uint8),
        step=step,
    )
    return slots, length, vocabulary, folds


@pytest.mark.parametrize("numba", ROUTES)
@given(case=some_slots())
@settings(max_examples=60, deadline=None)
def test_kernel_counts_what_a_dictionary_counts(numba, case):
    slots, length, vocabulary, folds = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNOMON_NUMBA", numba)
        found = count_slots(slots, length=length, vocabulary=vocabulary, folds=folds)
    assert found.has_sorted_indices
    if vocabulary < 1000:
        np.testing.assert_array_equal(found.toarray(), by_hand(slots, length, vocabulary, folds))
    else:
        used = np.unique(slots.values)
        rank = np.zeros(vocabulary, np.int32)
        rank[used] = np.arange(len(used))
        small = Slots(
            values=rank[slots.values],
            starts=slots.starts,
            lengths=slots.lengths,
            folds=slots.folds,
            step=slots.step,
        )
        wanted = by_hand(small, length, len(used), folds)
        np.testing.assert_array_equal(found[:, used].toarray(), wanted)
        assert found.sum() == wanted.sum()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_tokens_scanned_and_few_tokens_sorted_give_the_same_as_numpy(
    threads, rng, monkeypatch
):
    """Rows with many tokens are scanned, rows with few are sorted: both occur here."""
    lengths = rng.integers(1, 65, 30_000)
    slots = Slots(
        values=rng.zipf(1.3, int(lengths.sum())).clip(max=2000).astype(np.int32) - 1,
        starts=(np.cumsum(lengths) - lengths).astype(np.int64),
        lengths=lengths.astype(np.int64),
        folds=(rng.random(len(lengths)) ** 4 * 16).astype(np.uint8),
    )
    options = {"length": 64, "vocabulary": 2000, "folds": 16}
    found = count_slots(slots, **options, threads=threads)
    monkeypatch.setenv("GNOMON_NUMBA", "0")
    wanted = count_slots(slots, **options)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part))
        assert getattr(found, part).dtype == getattr(wanted, part).dtype
