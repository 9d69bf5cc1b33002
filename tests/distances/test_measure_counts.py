"""The walk from counts to a Geometry: what is kept, what is masked, what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array

import gnomon.distances
from gnomon.distances import angle, chord_distances
from gnomon.distances.geometry import measure
from gnomon.errors import CountsError, InputError


@dataclass
class Held:
    """Counts as another room may hold them."""

    matrix: csr_array
    kept: np.ndarray
    axes: tuple[int, ...] | None


def test_the_room_itself_measures_counts(zipf_counts):
    called = gnomon.geometry(zipf_counts, metric="chord", estimator="plugin", rng=None)
    np.testing.assert_array_equal(called.distances, measure(zipf_counts).distances)
    assert called.estimator == "plugin"


def test_importing_the_room_loads_neither_scipy_nor_numba():
    probe = (
        "import sys, gnomon.distances\n"
        "heavy = {'scipy', 'numba', 'pyarrow', 'torch'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or None)"
    )
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_unknown_part_of_the_room_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gnomon.distances.nonsense


def test_empty_and_unkept_positions_are_left_out_and_named(zipf_counts):
    counts = zipf_counts.copy()
    counts[5] = 0
    keep = np.ones(70, dtype=bool)
    keep[7] = False
    found = measure(counts, keep=keep)
    assert found.masked.tolist() == [5, 7]
    kept = np.delete(np.arange(70), [5, 7])
    np.testing.assert_array_equal(found.positions, kept)
    np.testing.assert_array_equal(found.coordinates, kept[:, None])
    np.testing.assert_array_equal(found.distances, chord_distances(counts[kept]))
    np.testing.assert_array_equal(found.counts_per_position, counts[kept].sum(axis=1))


def test_positions_below_the_minimum_count_are_masked():
    found = measure([[9, 0], [5, 5], [0, 10], [1, 1]], minimum_count=10)
    assert found.positions.tolist() == [1, 2]
    assert found.masked.tolist() == [0, 3]


def test_object_that_holds_counts_says_itself_what_is_kept_and_how_positions_lie(zipf_counts):
    kept = np.ones(70, dtype=bool)
    kept[3] = False
    found = measure(Held(csr_array(zipf_counts), kept, (7, 10)))
    assert found.axes == (7, 10)
    grid = [[i, j] for i in range(7) for j in range(10) if (i, j) != (0, 3)]
    assert found.coordinates.tolist() == grid


def test_axis_of_a_sequence_gives_one_coordinate(zipf_counts):
    assert measure(zipf_counts, axes=(70,)).coordinates.shape == (70, 1)


def test_means_are_over_pairs(zipf_counts):
    found = measure(zipf_counts)
    pairs = found.distances[np.triu_indices(70, 1)]
    assert found.mean_distance == pytest.approx(pairs.mean(), rel=1e-12)
    assert found.mean_squared == pytest.approx(np.square(pairs).mean(), rel=1e-12)


def test_angle_geometry_has_the_gram_of_its_own_distances(zipf_counts):
    found = measure(zipf_counts, metric="angle")
    np.testing.assert_array_equal(found.distances, angle(chord_distances(zipf_counts)))
    J = np.eye(70) - 1.0 / 70
    np.testing.assert_allclose(found.gram, -0.5 * J @ found.distances**2 @ J, atol=1e-13)


def test_results_can_not_be_changed_and_become_plain_values(zipf_counts):
    found = measure(zipf_counts[:4])
    with pytest.raises(ValueError, match="read-only"):
        found.distances[0, 1] = 3.0
    plain = found.to_dict()
    assert plain["spectrum"]["rank_numerical"] == 3
    assert plain["axes"] is None
    assert len(plain["distances"]) == 4


def test_same_counts_give_the_same_bits_twice(zipf_counts):
    np.testing.assert_array_equal(measure(zipf_counts).gram, measure(zipf_counts).gram)


@pytest.mark.parametrize("threads", [1, 3])
def test_number_of_threads_does_not_change_a_bit(monkeypatch, zipf_counts, threads):
    counts = np.hstack([zipf_counts, zipf_counts[::-1]])
    expected = measure(counts).gram
    monkeypatch.setattr("gnomon.numeric.parallel.threads", lambda: threads)
    np.testing.assert_array_equal(measure(counts).gram, expected)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([[1.0, np.nan], [1.0, 2.0]], r"counts\[0, 1\] = nan is no number \(1 such entries\)"),
        ([[1.0, 2.0], [np.inf, 2.0]], r"counts\[1, 0\] = inf is no number"),
        ([[1, -2], [1, 2]], r"counts\[0, 1\] = -2 is negative .*counts start at zero"),
        ([[0.5, 0.5], [1, 0]], r"counts\[0, 0\] = 0.5 is not a whole number.*not probabilities"),
        ([[1e300, 1.0], [1, 0]], r"counts\[0, 0\] = 1e\+300 is too large to be exact"),
        ([1, 2, 3], "counts have 1 axes where 2 are needed"),
        (np.zeros((2, 2, 2), dtype=int), "counts have 3 axes where 2 are needed"),
        ([["a", "b"]], "counts are of type <U1, not numbers"),
        ([[1, 2]], "1 of 1 positions can be measured, and distances need two"),
        ([[0, 0], [0, 0]], "0 of 2 positions can be measured.*--minimum-count"),
        (np.zeros((0, 4), dtype=int), "0 of 0 positions can be measured"),
        (np.zeros((4, 0), dtype=int), "0 of 4 positions can be measured"),
    ],
)
def test_what_can_not_be_counts_is_refused_in_one_sentence(counts, sentence):
    with pytest.raises(CountsError, match=sentence):
        measure(counts)


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(InputError, match=r"'cord' is no metric.*did you mean 'chord'\?"):
        measure(np.eye(3, dtype=int), metric="cord")
    with pytest.raises(InputError, match=r"'pluggin' is no estimator.*did you mean 'plugin'\?"):
        measure(np.eye(3, dtype=int), estimator="pluggin")


def test_mask_of_the_wrong_shape_or_type_is_refused():
    with pytest.raises(CountsError, match=r"keep is bool of shape \(2,\).*each of the 3 positions"):
        measure(np.eye(3, dtype=int), keep=np.ones(2, dtype=bool))
    with pytest.raises(CountsError, match="keep is int64"):
        measure(np.eye(3, dtype=int), keep=np.ones(3, dtype=np.int64))


def test_axes_that_do_not_hold_the_positions_are_refused():
    with pytest.raises(CountsError, match=r"axes \(2, 2\) hold 4 positions and the counts have 3"):
        measure(np.eye(3, dtype=int), axes=(2, 2))
