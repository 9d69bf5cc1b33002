"""Stretches unlike the rest: planted ones with noise, at any length; what noise alone gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.diagnostics.patterns import LEAST_SUM, LEVEL_Z, MOST_Z, find_apart, stretches

FOLDS = 16


def measured(points: np.ndarray, rng, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Return unbiased squared distances between rows, and the same with each fold left out.

    Each fold sees the rows with noise of its own; products of two folds have none on average.
    """
    seen = points + noise * rng.normal(size=(FOLDS, *points.shape))

    def squares(folds: np.ndarray) -> np.ndarray:
        total = folds.sum(axis=0)
        gram = total @ total.T - np.einsum("fik,fjk->ij", folds, folds)
        gram /= len(folds) * (len(folds) - 1)
        own = np.diag(gram)
        found = own[:, None] + own[None, :] - 2.0 * gram
        np.fill_diagonal(found, 0.0)
        return found

    return squares(seen), np.array([squares(np.delete(seen, g, axis=0)) for g in range(FOLDS)])


def laws(size: int, named: range | tuple[int, ...], rng, *, each: bool) -> np.ndarray:
    """Return points of one law but for `named`: each with a law of its own, or all with one."""
    points = np.zeros((size, 12))
    other = rng.normal(size=(size, 12)) if each else np.tile(rng.normal(size=12), (size, 1))
    points[list(named)] = other[list(named)]
    return points


@pytest.mark.parametrize("size", [30, 45, 90, 180])
@pytest.mark.parametrize(
    "named",
    [range(1), range(5), range(22), range(9, 14), (3,), range(7, 19)],
    ids=["first", "few", "many", "burst", "one", "long burst"],
)
@pytest.mark.parametrize("each", [True, False])
def test_a_stretch_is_found_at_its_place_however_many_positions_follow(size, named, each, rng):
    found = find_apart(*measured(laws(size, named, rng, each=each), rng))
    truth = np.isin(np.arange(size), list(named))
    wrong = np.flatnonzero(found.named != truth)
    if not each and truth.sum() > size / 2:  # the other law is that of most: both are right
        wrong = np.flatnonzero(found.named == truth)
    assert set(wrong) <= set(np.flatnonzero(found.unsure))
    assert len(wrong) <= 2


def test_weak_stretches_are_sure_only_as_far_as_they_can_be(rng):
    """At a signal near the noise the true ends are named or unsure nearly always."""
    missed = 0
    for _ in range(40):
        points = 0.35 * laws(60, range(20), rng, each=True)
        found = find_apart(*measured(points, rng))
        if found is None:
            continue
        wrong = found.named != (np.arange(60) < 20)
        missed += (wrong & ~found.unsure).sum() > 1
    assert missed <= 6


def test_noise_alone_has_no_stretches(rng):
    alarms = sum(find_apart(*measured(np.zeros((50, 12)), rng)) is not None for _ in range(40))
    assert alarms <= 3


@pytest.mark.parametrize("kind", ["own", "line"])
def test_where_all_positions_differ_no_rest_is_made_up(kind, rng):
    places = np.arange(40)[:, None]
    points = rng.normal(size=(40, 12)) if kind == "own" else places * np.ones((1, 12)) / 8.0
    found = find_apart(*measured(points, rng, noise=0.05))
    assert found is None or (~found.named).sum() <= 8


def falls(gains) -> bool:
    """Whether the sum falls by 4.5 from its largest so far: what is inside is like the rest."""
    total = np.cumsum(gains)
    return bool((np.maximum.accumulate(total) - total).max() >= LEAST_SUM - 1e-9)


@given(z=st.lists(st.floats(-4.0, 9.0), min_size=1, max_size=14))
@settings(max_examples=200, deadline=None)
def test_stretches_are_those_of_the_largest_sum_in_turn(z):
    """By trying every stretch."""
    gains = np.minimum(np.array(z), MOST_Z) - LEVEL_Z
    named = np.zeros(len(z), bool)
    while True:
        spans = [
            (gains[a : b + 1].sum(), a, b)
            for a in range(len(z))
            for b in range(a, len(z))
            if not named[a : b + 1].any() and not falls(gains[a : b + 1])
        ]
        best = max(spans, default=(0.0, 0, 0))
        if best[0] < LEAST_SUM - 1e-9:
            break
        ties = [span for span in spans if abs(span[0] - best[0]) < 1e-9]
        if len(ties) > 1:
            return  # either is right
        named[best[1] : best[2] + 1] = True
    assert (stretches(np.array(z)) == named).all()
