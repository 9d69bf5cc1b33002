"""Patterns that were planted exactly, and the law that no matrix makes the naming fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.diagnostics.patterns import pattern

SIZE = 40
NOBODY, EVERYBODY = np.zeros(SIZE, bool), np.ones(SIZE, bool)


def squares_of(points) -> np.ndarray:
    """Squared Euclidean distances between rows."""
    gaps = points[:, None, :] - points[None, :, :]
    return np.einsum("ijk,ijk->ij", gaps, gaps)


def apart(*positions: int) -> np.ndarray:
    """Mark some positions as distinct."""
    return np.isin(np.arange(SIZE), positions)


def lone(*positions: int) -> np.ndarray:
    """Put each of some positions on an axis of its own, all others at the origin."""
    points = np.zeros((SIZE, len(positions)))
    points[list(positions), range(len(positions))] = 1.0
    return squares_of(points)


@pytest.mark.parametrize(
    ("positions", "kind"),
    [((0,), "start"), ((0, 1, 2), "start"), ((39,), "end"), ((38, 39), "end"), ((5, 6), "some")],
)
def test_a_few_positions_unlike_the_rest_are_named(positions, kind):
    found = pattern(lone(*positions), np.arange(SIZE), apart(*positions))
    assert (found.kind, tuple(found.positions)) == (kind, positions)
    assert found.share == pytest.approx(1.0)


def test_the_share_is_that_of_the_pairs_that_touch_the_positions_named():
    """By loops over pairs."""
    points = np.zeros((SIZE, 2))
    points[0, 0] = 1.0
    points[20:, 1] = 0.05
    squares = squares_of(points)
    touching = sum(squares[i, j] for i in range(SIZE) for j in range(i) if j == 0)
    found = pattern(squares, np.arange(SIZE), apart(0))
    assert found.share == pytest.approx(2 * touching / squares.sum())


def test_positions_keep_their_own_numbers_where_some_are_missing():
    where = np.arange(10, 10 + 3 * SIZE, 3)
    assert pattern(lone(0, 1), where, apart(0, 1)).positions.tolist() == [10, 13]


def test_a_distinct_position_that_adds_nothing_to_the_distances_is_not_named():
    """A false discovery at position 17 is not where the signal sits."""
    found = pattern(lone(0), np.arange(SIZE), apart(0, 17))
    assert (found.kind, found.positions.tolist()) == ("start", [0])


def test_a_faint_position_beside_a_strong_one_is_named_with_it():
    assert pattern(lone(0), np.arange(SIZE), apart(0, 1)).positions.tolist() == [0, 1]


def test_without_any_distance_the_distinct_positions_are_all_that_is_known():
    found = pattern(np.zeros((SIZE, SIZE)), np.arange(SIZE), apart(0, 17))
    assert (found.kind, found.positions.tolist(), found.share) == ("some", [0, 17], 0.0)


@pytest.mark.parametrize("begins", [(0, 20), (0, 13, 27), (0, 5, 15, 35)])
def test_blocks_begin_where_they_were_planted(begins):
    block = np.searchsorted(begins, np.arange(SIZE), side="right") - 1
    found = pattern(squares_of(np.eye(len(begins))[block]), np.arange(SIZE), EVERYBODY)
    assert (found.kind, tuple(found.positions)) == ("blocks", begins)
    assert found.share == pytest.approx(1.0)


@pytest.mark.parametrize("period", [2, 3, 5, 8, 13])
def test_a_cycle_has_its_period(period, rng):
    """The laws of a cycle are any laws at all: no circle is asked for."""
    cycle = rng.normal(size=(period, 3 if period > 2 else 1))
    found = pattern(squares_of(cycle[np.arange(SIZE) % period]), np.arange(SIZE), EVERYBODY)
    assert (found.kind, found.period) == ("periodic", period)


def test_every_eighth_position_unlike_the_rest_is_a_period_of_eight():
    points = (np.arange(SIZE) % 8 == 3).astype(float)[:, None]
    found = pattern(squares_of(points), np.arange(SIZE), points[:, 0] > 0)
    assert (found.kind, found.period) == ("periodic", 8)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_distances_that_grow_with_the_lag_are_a_drift(power):
    """Straight motion, and a random walk's (squared distance = lag)."""
    lags = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))).astype(float)
    for distinct in (EVERYBODY, NOBODY, apart(0, 1, 2, 3, 36, 37, 38, 39)):
        assert pattern(lags ** (2.0 * power), np.arange(SIZE), distinct).kind == "drift"


def test_laws_that_settle_down_sit_at_the_start_and_are_no_blocks():
    """All positions differ from each other, but the first ones hold most of the distances."""
    found = pattern(squares_of(np.exp(-np.arange(SIZE) / 4)[:, None]), np.arange(SIZE), EVERYBODY)
    assert found.kind == "start"
    assert found.positions.tolist() == list(range(len(found.positions)))
    assert len(found.positions) <= SIZE / 4
    mirrored = squares_of(np.exp(np.arange(SIZE) / 4)[:, None])
    assert pattern(mirrored, np.arange(SIZE), EVERYBODY).kind == "end"


def test_equal_distances_have_no_pattern():
    found = pattern(squares_of(np.eye(SIZE)), np.arange(SIZE), EVERYBODY)
    assert found.kind == "throughout"


def test_independent_points_have_no_pattern(rng):
    kinds = {
        pattern(squares_of(rng.normal(size=(SIZE, 3))), np.arange(SIZE), EVERYBODY).kind
        for _ in range(20)
    }
    assert kinds == {"throughout"}


def test_on_a_grid_no_lag_is_asked_for():
    lags = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))).astype(float)
    assert pattern(lags, np.arange(SIZE), EVERYBODY, axes=2).kind == "throughout"
    assert pattern(lone(0), np.arange(SIZE), apart(0), axes=2).kind == "start"


@given(data=st.data(), size=st.integers(0, 14))
@settings(max_examples=150, deadline=None)
def test_no_matrix_makes_the_naming_fail(data, size):
    values = st.floats(0.0, 2.0, allow_subnormal=False)
    rows = data.draw(st.lists(values, min_size=size * size, max_size=size * size))
    squares = np.triu(np.array(rows).reshape(size, size), 1)
    where = sorted(data.draw(st.sets(st.integers(0, 60), min_size=size, max_size=size)))
    distinct = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    found = pattern(squares + squares.T, np.array(where, int), np.array(distinct, bool))
    assert found.kind in {"start", "end", "some", "periodic", "blocks", "drift", "throughout"}
    assert 0.0 <= found.share <= 1.0 + 1e-12
    assert set(found.positions) <= set(where)
    assert (found.period is not None) == (found.kind == "periodic")
