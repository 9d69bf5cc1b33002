"""Words for planted patterns: header, bump, blocks, period, drift, at many sizes and lengths.

What is planted is a label for each position: equal labels, equal laws. The words must follow from
the labels of the positions that are seen, at whatever length a document is cut.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.diagnostics import Pattern, Unbiased, pattern

FOLDS, DIMENSION = 16, 12
KINDS = (
    "start",
    "one header",
    "end",
    "header and bump",
    "two bumps",
    "single",
    "blocks",
    "period",
    "indentation",
    "alternate",
    "throughout",
    "drift",
)


def labels(kind: str, size: int, rng) -> np.ndarray:
    """Return the label of each position; the drift has none of its own."""
    at = np.arange(size)
    head = int(rng.integers(1, max(2, size // 4) + 1))
    bump = int(rng.integers(head + 2, size - 1))
    count = int(rng.integers(2, 4 if size >= 15 else 3))
    period = int(rng.integers(3, max(4, size // 3) + 1))
    first, each = at < head, int(rng.integers(2))
    return {
        "start": np.where(first, 1 + at, 0),
        "one header": first.astype(int),
        "end": np.where(first, 1 + at, 0)[::-1],
        "header and bump": np.where(first, 1 + each * at, (size + 1) * (at == bump)),
        "two bumps": (at == head) + (1 + each) * (at == bump),
        "single": (at == bump).astype(int),
        "blocks": np.searchsorted(np.arange(1, count) * size // count, at, side="right"),
        "period": at % period,
        "indentation": ((at + head) % period < max(1, period // 3)).astype(int),
        "alternate": at % 2,
        "throughout": at,
        "drift": np.zeros(size, int),
    }[kind]


def points_of(kind: str, label: np.ndarray, rng) -> np.ndarray:
    if kind == "drift":
        return np.linspace(-3.0, 3.0, len(label))[:, None] * np.eye(DIMENSION)[0]
    return rng.normal(size=(int(label.max()) + 1, DIMENSION))[label]


def named(points: np.ndarray, noise: float, rng) -> Pattern:
    """Name the pattern of points seen in folds with noise of their own."""
    seen = points + noise * rng.normal(size=(FOLDS, *points.shape))

    def squares(folds: np.ndarray) -> np.ndarray:
        total = folds.sum(axis=0)
        gram = total @ total.T - np.einsum("fik,fjk->ij", folds, folds)
        gram /= len(folds) * (len(folds) - 1)
        own = np.diag(gram)
        found = own[:, None] + own[None, :] - 2.0 * gram
        np.fill_diagonal(found, 0.0)
        return found

    whole = squares(seen)
    replicates = np.array([squares(np.delete(seen, g, axis=0)) for g in range(FOLDS)])
    size = len(points)
    error = replicates.std(axis=0).mean(axis=1) * np.sqrt(FOLDS - 1)
    distinct = whole.mean(axis=1) > 4.0 * error
    clean = np.maximum(whole, 0.0)
    return pattern(clean, np.arange(size), distinct, unbiased=Unbiased(whole, replicates))


def is_true(found: Pattern, kind: str, label: np.ndarray) -> bool:
    """Say whether words are true of what was planted; words that claim nothing are."""
    size = len(label)
    if found.kind in {"throughout", "drift"}:
        return found.kind == "throughout" or kind == "drift"
    if kind == "drift":
        return False
    if found.kind == "periodic":
        return bool((label[found.period :] == label[: -found.period]).all())
    if found.kind == "blocks":
        block = np.searchsorted(found.positions, np.arange(size), side="right")
        return all(
            (label[i] == label[j]) == (block[i] == block[j])
            for i, j in combinations(range(size), 2)
        )
    where = set(found.positions.tolist())
    ends = {"start": range(len(where)), "end": range(size - len(where), size), "some": where}
    rests = [set(np.flatnonzero(label != one)) for one in np.unique(label)]
    return where == set(ends[found.kind]) and any(
        where ^ unlike <= set(found.unsure.tolist()) for unlike in rests
    )


def test_words_are_true_of_what_was_planted():
    """At most one in fifty is not, and most say more than nothing."""
    wrong, vague, tried = [], 0, 0
    for size in (8, 10, 12, 16, 24, 33, 48, 80, 200):
        for k, kind in enumerate(KINDS):
            for noise in (0.2, 0.8) if size < 200 else (0.8,):
                for seed in range(3 if size < 100 else 1):
                    rng = np.random.default_rng([size, k, seed, int(10 * noise)])
                    label = labels(kind, size, rng)
                    shorter = max(6, int(size * (1.0, 0.6, 0.8)[seed]))
                    points = points_of(kind, label, rng)[:shorter]
                    label = label[:shorter]
                    if not np.ptp(label) and kind != "drift":
                        continue
                    tried += 1
                    found = named(points, noise, rng)
                    if not is_true(found, kind, label):
                        wrong.append((kind, size, noise, seed, found.kind, found.positions))
                    vague += found.kind == "throughout" and kind != "throughout"
    assert len(wrong) <= 0.02 * tried, wrong
    assert vague <= 0.1 * tried


@pytest.mark.parametrize("size", [12, 24, 48])
@pytest.mark.parametrize("seed", range(4))
def test_a_header_and_a_bump_are_two_places_and_no_blocks(size, seed):
    rng = np.random.default_rng([size, seed])
    label = np.zeros(size, int)
    label[:3], label[size // 2] = 1, 2
    found = named(points_of("header and bump", label, rng), 0.4, rng)
    assert (found.kind, found.positions.tolist()) == ("some", [0, 1, 2, size // 2])


@pytest.mark.parametrize("size", [19, 28, 29])
def test_an_indentation_that_comes_twice_is_listed_and_one_that_comes_thrice_is_a_period(size):
    """Four of ten positions, from the first on: no start, however short the window."""
    rng = np.random.default_rng(size)
    label = (np.arange(size) % 10 < 4).astype(int)
    found = named(points_of("indentation", label, rng), 0.3, rng)
    assert found.kind == "some"
    assert found.positions.tolist() == np.flatnonzero(label).tolist()
    longer = (np.arange(40) % 10 < 4).astype(int)
    found = named(points_of("indentation", longer, rng), 0.3, rng)
    assert (found.kind, found.period) == ("periodic", 10)


@given(cut=st.integers(14, 60), seed=st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_a_longer_window_names_the_same_positions(cut, seed):
    rng = np.random.default_rng(seed)
    label = np.zeros(60, int)
    label[[0, 1, 9]] = 1, 2, 3
    points = points_of("header and bump", label, rng)
    found = named(points[:cut], 0.2, rng)
    assert (found.kind, found.positions.tolist()) == ("some", [0, 1, 9])


def test_blocks_that_may_have_one_law_are_not_told_as_blocks():
    """Law A, B, A, C in stretches of six: A is the rest, and B and C are named."""
    rng = np.random.default_rng(5)
    label = np.repeat([0, 1, 0, 2], 6)
    found = named(points_of("blocks", label, rng), 0.3, rng)
    assert found.kind == "some"
    assert found.positions.tolist() == np.flatnonzero(label).tolist()
