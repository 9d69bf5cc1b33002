"""Containment, folds and the count of groups, against brute force and exact numbers."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.corpus.documents import GroupSketch, fold_of, mix
from gnomon.corpus.grouping import find_roots
from gnomon.errors import InputError

if TYPE_CHECKING:
    import random

ROWS = st.lists(
    st.lists(st.sampled_from(["a", "b", "aa", "ab", "c"]), max_size=6).map(" ".join)
    | st.text("ab \t\u00a0", max_size=8),
    max_size=14,
)
KEYS = st.lists(st.integers(0, 2**64 - 1), max_size=40)


def contained_by_hand(texts: list[str]) -> list[str]:
    """The definition: every row against every root, longest first."""
    rows = [" ".join(text.split()) for text in texts]
    roots: list[str] = []
    root_of = {}
    for row in sorted(set(rows), key=lambda row: (-len(row), row)):
        found = [root for root in roots if f" {row} " in f" {root} "]
        root_of[row] = found[0] if found else row
        if not found:
            roots.append(row)
    return [root_of[row] for row in rows]


@given(ROWS)
def test_a_row_joins_the_longest_root_that_contains_it(texts):
    assert find_roots(texts) == contained_by_hand(texts)


@given(ROWS, st.randoms(use_true_random=False))
def test_groups_do_not_depend_on_the_order_of_rows(texts, source: random.Random):
    order = list(range(len(texts)))
    source.shuffle(order)
    shuffled = find_roots([texts[i] for i in order])
    expected = find_roots(texts)
    assert shuffled == [expected[i] for i in order]


def test_a_part_of_a_word_is_not_contained():
    assert find_roots(["category theory", "cat", "theory"]) == [
        "category theory",
        "cat",
        "category theory",
    ]


@pytest.mark.data
@pytest.mark.wide
def test_sst2_has_6886_groups_of_rows(data_root):
    with (data_root / "sst2" / "train.tsv").open(encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [row[1] for row in reader][1:]
    groups = find_roots(texts)
    assert len(set(groups)) == 6_886
    assert round(len(groups) / 6_886, 1) == 9.8


def keys_of(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


@given(KEYS, st.integers(0, 8))
def test_a_fold_is_the_low_bits_of_the_mixed_key(values, bits):
    folds = fold_of(keys_of(values), 2**bits)
    assert folds.dtype == np.uint8
    assert folds.tolist() == [int(m) % 2**bits for m in mix(keys_of(values))]


@given(KEYS, st.integers(1, 8))
def test_halving_the_folds_merges_each_with_its_opposite(values, bits):
    many, half = fold_of(keys_of(values), 2**bits), fold_of(keys_of(values), 2 ** (bits - 1))
    assert np.array_equal(many % 2 ** (bits - 1), half)


def test_consecutive_keys_spread_evenly_over_folds():
    """A chi-squared of 15 degrees of freedom is below 37.7 in 999 of 1000 cases."""
    counts = np.bincount(fold_of(np.arange(160_000, dtype=np.uint64), 16), minlength=16)
    assert ((counts - 10_000.0) ** 2 / 10_000.0).sum() < 37.7


@pytest.mark.parametrize("folds", [0, -2, 3, 24, 512])
def test_a_number_of_folds_that_can_not_be_halved_is_refused(folds):
    with pytest.raises(InputError, match=rf"{folds} folds were asked for; choose a power of two"):
        fold_of(keys_of([1]), folds)


def sketch_of(values: list[int], capacity: int = 16) -> GroupSketch:
    sketch = GroupSketch(capacity)
    sketch.add(keys_of(values))
    return sketch


@given(KEYS)
def test_few_groups_are_counted_exactly(values):
    sketch = sketch_of(values, capacity=64)
    assert sketch.exact
    assert sketch.estimate() == len(set(values))
    assert sketch.relative_error() == 0.0


@given(KEYS, KEYS, KEYS)
def test_merging_is_associative_commutative_idempotent_and_equals_adding(a, b, c):
    x, y, z = sketch_of(a), sketch_of(b), sketch_of(c)
    arrays = [
        x.merge(y).merge(z).array,
        z.merge(y.merge(x)).array,
        x.merge(y).merge(z).merge(y).array,
        sketch_of(a + b + c).array,
    ]
    for array in arrays[1:]:
        assert np.array_equal(arrays[0], array)


@given(st.lists(KEYS, max_size=6))
def test_a_sketch_keeps_the_smallest_mixed_keys_in_whatever_pieces_they_came(pieces):
    sketch = GroupSketch(16)
    for piece in pieces:
        sketch.add(keys_of(piece))
    smallest = sorted({int(m) for piece in pieces for m in mix(keys_of(piece))})[:16]
    assert sketch.array.tolist() == smallest
    assert np.array_equal(GroupSketch.from_array(sketch.array, 16).array, sketch.array)


def test_many_groups_are_estimated_within_four_standard_errors():
    sketch = GroupSketch(2**12)
    for start in range(0, 1_000_000, 50_000):
        sketch.add(np.arange(start, start + 100_000, dtype=np.uint64))  # every key met twice
    true = 1_050_000
    assert not sketch.exact
    assert sketch.relative_error() == pytest.approx((2**12 - 2) ** -0.5)
    assert abs(sketch.estimate() / true - 1) < 4 * sketch.relative_error()


def test_sketches_of_different_capacity_are_not_merged():
    with pytest.raises(InputError, match=r"sketches of 16 and 32 keys cannot be merged"):
        GroupSketch(16).merge(GroupSketch(32))
    with pytest.raises(InputError, match=r"a sketch of 2 keys estimates nothing"):
        GroupSketch(2)
