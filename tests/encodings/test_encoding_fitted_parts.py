"""What happens between points and an encoding: rows filled, stretched, scaled and rotated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from gnomon.encodings.fitted import (
    Finish,
    Points,
    orthonormal_rows,
    root_mean_square,
    runs,
    stretched,
)
from gnomon.errors import EncodingError


def finish(made, how, **options):
    """Points as the encoding that `how` makes of them."""
    return made.finish(how, **options)


def points(rows, status=None, **changes):
    rows = np.asarray(rows, dtype=np.float64)
    known = {
        "coordinates": rows,
        "status": np.full(len(rows), 2, np.uint8) if status is None else np.uint8(status),
        "shape": (len(rows),),
        "method": "classical",
        "estimator": "given",
        "minimises": "strain",
    }
    return Points(**(known | changes))


@given(st.integers(1, 12), st.integers(0, 20), st.integers(0, 2**31))
def test_a_rotation_has_orthonormal_rows_and_keeps_all_distances(rank, more, seed):
    right = orthonormal_rows(rank, rank + more, seed)
    np.testing.assert_allclose(right @ right.T, np.eye(rank), atol=1e-12)
    left = np.random.default_rng(0).normal(size=(9, rank))
    np.testing.assert_allclose(pdist(left @ right), pdist(left), atol=1e-12)


def test_rotations_are_uniform_on_the_sphere():
    """The first row of a Haar rotation has mean 0 and covariance I / d."""
    rows = np.array([orthonormal_rows(2, 3, seed)[0] for seed in range(3000)])
    assert np.abs(rows.mean(axis=0)).max() < 0.05
    np.testing.assert_allclose(rows.T @ rows / len(rows), np.eye(3) / 3, atol=0.03)


def test_a_seed_gives_its_rotation_again_and_no_seed_gives_none():
    np.testing.assert_array_equal(orthonormal_rows(3, 8, 5), orthonormal_rows(3, 8, 5))
    assert not np.allclose(orthonormal_rows(3, 8, 5), orthonormal_rows(3, 8, 6))
    np.testing.assert_array_equal(orthonormal_rows(2, 4, None), np.eye(2, 4))


def test_masked_positions_continue_the_last_trusted_one():
    """Before the first trusted position there is no earlier one: the first stands for them."""
    rows = np.arange(6.0)[:, None]
    made = Points.fill(rows, np.uint8([0, 2, 0, 0, 1, 0]), (6,), "continue")
    assert made.ravel().tolist() == [1, 1, 1, 1, 4, 4]


@given(st.lists(st.booleans(), min_size=2, max_size=30).filter(any), st.integers(0, 99))
def test_interpolation_between_trusted_positions_is_that_of_numpy(trusted, seed):
    rows = np.random.default_rng(seed).normal(size=(len(trusted), 2))
    keep = np.array(trusted)
    made = Points.fill(rows, keep.astype(np.uint8) * 2, (len(rows),), "interpolate")
    at = np.arange(len(rows))
    for k in range(2):
        np.testing.assert_allclose(made[:, k], np.interp(at, at[keep], rows[keep, k]))


def test_a_plane_over_a_grid_is_interpolated_exactly_and_continued_by_the_nearest():
    """Linear interpolation reproduces a linear function inside the hull of the trusted cells."""
    cells = np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=1)
    plane = (cells @ [2.0, -1.0])[:, None]
    status = np.full(25, 2, np.uint8)
    status[[6, 12, 18]] = 0
    np.testing.assert_allclose(Points.fill(plane, status, (5, 5), "interpolate"), plane, atol=1e-12)
    status[:] = 0
    status[[0, 24]] = 2
    made = Points.fill(plane, status, (5, 5), "continue")[:, 0]
    near = np.abs(cells - 0).sum(axis=1) < np.abs(cells - 4).sum(axis=1)
    assert (made[near] == plane[0, 0]).all()
    assert made[23] == made[19] == plane[24, 0]


def test_cells_on_one_line_span_no_triangle_and_the_nearest_is_taken():
    rows = np.arange(9.0)[:, None]
    status = np.uint8([2, 2, 2, 0, 0, 0, 0, 0, 0])
    made = Points.fill(rows, status, (3, 3), "interpolate")
    assert made.ravel().tolist() == [0, 1, 2] * 3


@given(st.integers(2, 20), st.integers(0, 60), st.integers(0, 99))
def test_stretching_is_numpy_s_interpolation_and_keeps_both_ends(length, more, seed):
    rows = np.random.default_rng(seed).normal(size=(length, 3))
    reach = length + more
    made, status = stretched(rows, np.full(length, 2, np.uint8), reach)
    at = np.arange(reach) * (length - 1) / (reach - 1)
    for k in range(3):
        np.testing.assert_allclose(made[:, k], np.interp(at, np.arange(length), rows[:, k]))
    np.testing.assert_array_equal(made[[0, -1]], rows[[0, -1]])
    assert (status == 2).all()


def test_a_stretched_row_is_worth_its_worse_neighbour():
    made, status = stretched(np.array([[0.0], [1.0], [np.nan]]), np.uint8([2, 1, 0]), 5)
    assert status.tolist() == [2, 1, 1, 0, 0]
    np.testing.assert_array_equal(made.ravel(), [0, 0.5, 1, np.nan, np.nan])


def test_every_position_of_a_bin_has_its_row():
    bins = points([[1.0], [2.0]], shape=(5,), widths=np.array([2, 3]))
    made = bins.finish(Finish(dimension=1))
    assert made.vectors(range(5)).ravel().tolist() == [1, 1, 2, 2, 2]


@pytest.mark.parametrize("match", [0.02, np.full((7, 3), 0.02), [[0.02, -0.02]]])
def test_matched_entries_have_the_root_mean_square_asked_for(rng, match):
    made = finish(points(rng.normal(size=(9, 2))), Finish(dimension=6, match=match, rotation=1))
    assert np.sqrt(np.mean(made.vectors(range(9)) ** 2)) == pytest.approx(0.02, rel=1e-12)
    assert made.scale == "match"


def test_the_table_is_the_product_of_the_rounded_factors(rng):
    rows = rng.normal(size=(40, 2))
    made = finish(points(rows), Finish(dimension=30, rotation=3))
    assert made.factored
    right = orthonormal_rows(2, 30, 3)
    single = rows.astype(np.float32).astype(float) @ right.astype(np.float32).astype(float)
    np.testing.assert_array_equal(made.table(), single.astype(np.float32))
    assert made.table().dtype == np.float32


def test_numbers_are_factored_where_that_takes_fewer(rng):
    low = finish(points(rng.normal(size=(40, 2))), Finish(dimension=30))
    assert (low.factored, low.stored, low.name) == (True, 2 * (40 + 30), "mds-low-rank")
    whole = finish(points(rng.normal(size=(40, 20))), Finish(dimension=30))
    assert (whole.factored, whole.stored, whole.name) == (False, 40 * 30, "mds")


def test_clamping_brings_every_axis_to_its_end(rng):
    grid = points(rng.normal(size=(6, 2)), shape=(2, 3))
    made = grid.finish(Finish(dimension=2, beyond="clamp"))
    np.testing.assert_array_equal(made.vectors([[7, 1]]), made.vectors([[1, 1]]))
    with pytest.raises(EncodingError, match=r"Position -1, 0 is negative"):
        made.vectors([[-1, 0]])


def test_runs_of_positions_are_listed_by_first_and_last():
    masked = points(np.ones((5, 1)), [0, 2, 1, 0, 0])
    made = masked.finish(Finish(dimension=1, masked="continue"))
    assert made.origin["masked"] == [[0, 0], [3, 4]]
    assert made.origin["projected"] == [[2, 2]]
    assert runs(np.array([False])) == []


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"masked": "skip"}, r"masked is 'skip'; pass one of: continue, interpolate, refuse\."),
        ({"beyond": "wrap"}, r"beyond is 'wrap'; pass one of: refuse, clamp, interpolate\."),
        ({"scale": "unit"}, r"scale is 'unit'; pass one of: corpus, match, learned\."),
        ({"scale": "match"}, r"there is nothing to match; pass the token embedding"),
        ({"scale": "corpus", "match": 1.0}, r"which matches nothing, and match is given"),
        ({"beyond": "interpolate"}, r"needs how many positions to reach"),
        ({"beyond": "clamp", "reach": 9}, r"beyond is 'clamp' and reach is 9"),
        ({"beyond": "interpolate", "reach": 2}, r"reach is 2; pass a whole number from 3 on\."),
        ({"rotation": -1}, r"rotation is -1; pass a whole number from 0 on\."),
        ({"match": 0.0}, r"match has the root mean square 0; pass one that is finite"),
        ({"match": np.nan}, r"match has the root mean square nan"),
        ({"match": []}, r"match holds 0 values"),
        ({"match": ["a"]}, r"match holds 1 values of type <U1"),
        ({"match": 1e39}, r"match is 1e\+39, which float32 cannot hold"),
        ({"match": 1e-40}, r"match is 1e-40, which float32 cannot hold"),
        (
            {"dimension": 10**12},
            r"dimension is 1000000000000; pass a whole number from 1 to 1,048,576",
        ),
        ({"beyond": "interpolate", "reach": 10**12}, r"1,000,000,000,000 positions and dimension"),
    ],
)
def test_what_no_encoding_can_be_made_with_is_refused(how, sentence):
    with pytest.raises(EncodingError, match=sentence):
        finish(points([[0.0], [1.0], [2.0]]), Finish(**({"dimension": 1} | how)))


def test_a_grid_is_not_stretched():
    with pytest.raises(EncodingError, match=r"a grid of 2 x 3 has no single length to stretch"):
        finish(
            points(np.ones((6, 1)), shape=(2, 3)),
            Finish(dimension=1, beyond="interpolate", reach=9),
        )


def test_zeros_match_nothing():
    with pytest.raises(EncodingError, match=r"All fitted vectors are 0, so no factor"):
        finish(points(np.zeros((3, 1))), Finish(dimension=1, match=1.0))


def test_the_embedding_of_a_model_in_training_can_be_matched():
    torch = pytest.importorskip("torch")
    embedding = torch.nn.Parameter(torch.tensor([[3.0, 4.0]]))
    assert root_mean_square(embedding) == pytest.approx(12.5**0.5)


@pytest.mark.parametrize("gain", [1.0, -2.5])
def test_a_gain_is_in_the_vectors_and_in_what_is_matched(rng, gain):
    """What NumPy gives is what a layer with that gain gives."""
    own = finish(points(rng.normal(size=(9, 2))), Finish(dimension=6, scale="learned", rotation=1))
    made = replace(own, gain=gain)
    np.testing.assert_allclose(made.vectors(range(9)), gain * own.vectors(range(9)), rtol=1e-15)
    scaled = made.matched(0.02).vectors(range(9))
    assert np.sqrt(np.mean(scaled**2)) == pytest.approx(0.02, rel=1e-12)


def test_a_table_too_large_for_memory_is_said_in_a_sentence(monkeypatch):
    made = finish(points(np.eye(3)[:, :2]), Finish(dimension=6, rotation=1))

    class Full(np.ndarray):
        def __matmul__(self, other):
            raise MemoryError

    object.__setattr__(made, "left", made.left.view(Full))
    with pytest.raises(EncodingError, match=r"A table of 3 x 6 numbers does not fit into memory"):
        made.table()
