"""Chord and angle distances against SciPy, high precision and their own laws."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import pdist, squareform

from gnomon.distances import angle, centred_gram, chord_distances
from gnomon.errors import InputError

small_counts = arrays(
    np.int64, st.tuples(st.integers(2, 7), st.integers(1, 6)), elements=st.integers(0, 40)
).map(lambda counts: counts + (counts.sum(axis=1) == 0)[:, None])


def roots(counts):
    return np.sqrt(counts / counts.sum(axis=1, keepdims=True))


def exact_chord(row, other):
    """|sqrt p - sqrt q| of two integer rows, to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        n, k = Decimal(int(row.sum())), Decimal(int(other.sum()))
        pairs = zip(row.tolist(), other.tolist(), strict=True)
        terms = (((Decimal(a) / n).sqrt() - (Decimal(b) / k).sqrt()) ** 2 for a, b in pairs)
        return float(sum(terms).sqrt())


def test_chords_equal_scipy_distances_of_square_roots(route, zipf_counts):
    expected = squareform(pdist(roots(zipf_counts)))
    np.testing.assert_allclose(chord_distances(zipf_counts), expected, rtol=1e-12, atol=1e-14)


def test_sparse_and_dense_counts_of_any_integer_type_give_the_same_chords(route, zipf_counts):
    expected = chord_distances(zipf_counts)
    for given_counts in (
        csr_array(zipf_counts),
        csr_matrix(zipf_counts.astype(np.int32)),
        csr_array(zipf_counts).tocoo(),
        zipf_counts.astype(float),
        zipf_counts.astype(np.uint16).tolist(),
    ):
        np.testing.assert_array_equal(chord_distances(given_counts), expected)


def test_sparse_counts_with_unsorted_and_repeated_entries_are_added_up_and_left_as_they_were():
    unsorted = csr_array(
        (np.array([1, 2, 3, 4]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    expected = chord_distances([[2, 0, 4], [0, 4, 0]])
    np.testing.assert_array_equal(chord_distances(unsorted), expected)
    assert unsorted.indices.tolist() == [2, 0, 2, 1]


def test_distances_are_exactly_symmetric_with_exactly_zero_diagonal(route, zipf_counts):
    distances = chord_distances(zipf_counts)
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(distances.diagonal(), 0.0)


@given(counts=small_counts)
@settings(deadline=None, max_examples=60)
def test_chords_are_a_metric_between_zero_and_root_two(counts):
    distances = chord_distances(counts)
    assert distances.min() >= 0.0
    assert distances.max() <= np.sqrt(2.0) + 1e-12
    through = (distances[:, :, None] + distances[None, :, :]).min(axis=1)
    assert (distances <= through + 1e-12).all()


@given(counts=small_counts, data=st.data())
@settings(deadline=None, max_examples=60)
def test_order_of_positions_and_of_tokens_changes_nothing_but_the_order(counts, data):
    rows = data.draw(st.permutations(range(counts.shape[0])))
    columns = data.draw(st.permutations(range(counts.shape[1])))
    moved = chord_distances(counts[np.ix_(rows, columns)])
    np.testing.assert_allclose(moved, chord_distances(counts)[np.ix_(rows, rows)], atol=1e-13)


@given(counts=small_counts, factor=st.integers(1, 50))
@settings(deadline=None, max_examples=60)
def test_rows_in_the_same_proportion_are_at_distance_exactly_zero(counts, factor):
    distances = chord_distances(np.vstack([counts, factor * counts]))
    assert (np.diagonal(distances, counts.shape[0]) == 0.0).all()


@pytest.mark.parametrize("copies", [2, 40])
def test_identical_rows_alone_are_at_distance_exactly_zero(route, zipf_counts, copies):
    assert chord_distances(np.repeat(zipf_counts[:1], copies, axis=0)).max() == 0.0


def test_tokens_that_never_occur_change_nothing(route, zipf_counts):
    padded = np.zeros((70, 2000), dtype=np.int64)
    padded[:, 1::2][:, :900] = zipf_counts
    np.testing.assert_array_equal(chord_distances(padded), chord_distances(zipf_counts))


def near_counts(rng, step):
    """Eight laws of 300 tokens whose counts differ by about `step` from 3e6."""
    base = rng.integers(2_000_000, 4_000_000, size=300)
    return base + rng.integers(-step, step + 1, size=(8, 300))


@pytest.mark.parametrize("step", [60_000, 6_000, 600, 6, 1])
def test_near_laws_keep_eleven_digits(route, rng, step):
    """From d = 6e-3 down to d = 3e-7, against 50-digit arithmetic."""
    counts = near_counts(rng, step)
    found = chord_distances(counts)
    for i, j in [(0, 1), (2, 7), (3, 5)]:
        assert found[i, j] == pytest.approx(exact_chord(counts[i], counts[j]), rel=1e-11)


@pytest.mark.parametrize("step", [60_000, 6_000, 600, 6, 1])
def test_near_pairs_far_from_the_mean_keep_eleven_digits(route, rng, step):
    """Two clusters of near laws on different tokens: the Gram matrix alone would cancel."""
    near = near_counts(rng, step)
    counts = np.zeros((8, 600), dtype=np.int64)
    counts[:4, :300] = near[:4]
    counts[4:, 300:] = near[4:]
    found = chord_distances(counts)
    for i, j in [(0, 1), (2, 3), (4, 7)]:
        assert found[i, j] == pytest.approx(exact_chord(counts[i], counts[j]), rel=1e-11)
    assert found[0, 5] == pytest.approx(np.sqrt(2.0), rel=1e-14)


@pytest.mark.parametrize("step", [60_000, 600, 1])
def test_near_pairs_on_tokens_of_their_own_keep_eleven_digits(route, rng, step):
    """Thirty pairs of near laws, each pair on ten tokens that occur nowhere else."""
    counts = np.zeros((60, 300), dtype=np.int64)
    for pair in range(30):
        block = near_counts(rng, step)[:2, :10]
        counts[2 * pair : 2 * pair + 2, 10 * pair : 10 * pair + 10] = block
    found = chord_distances(counts)
    for pair in range(30):
        i, j = 2 * pair, 2 * pair + 1
        assert found[i, j] == pytest.approx(exact_chord(counts[i], counts[j]), rel=1e-11)
    assert found[0, 2] == pytest.approx(np.sqrt(2.0), rel=1e-14)


def test_rare_and_frequent_tokens_together_equal_scipy(route, rng):
    """Frequent tokens take the dense way and rare ones the sparse way; their sum is the truth."""
    frequent = rng.integers(1, 50, size=(200, 40))
    rare = (rng.random((200, 3000)) < 0.01) * rng.integers(1, 2000, size=(200, 3000))
    counts = np.hstack([rare[:, :1500], frequent, rare[:, 1500:]])
    expected = squareform(pdist(roots(counts)))
    np.testing.assert_allclose(chord_distances(counts), expected, rtol=1e-12, atol=1e-14)
    only_rare = rare + np.eye(200, 3000, dtype=np.int64)
    expected = squareform(pdist(roots(only_rare)))
    np.testing.assert_allclose(chord_distances(only_rare), expected, rtol=1e-12, atol=1e-14)


def test_totals_beyond_31_bits_still_give_near_pairs_to_eight_digits(route):
    counts = np.array([[2**40, 2**39, 7], [2**40 + 2**20, 2**39, 7], [5, 1, 2**41]])
    expected = exact_chord(counts[0], counts[1])
    assert chord_distances(counts)[0, 1] == pytest.approx(expected, rel=1e-8)


def test_compiled_and_numpy_routes_agree_to_1e14(monkeypatch, zipf_counts, rng):
    counts = np.vstack(
        [zipf_counts, zipf_counts[:3] * 2, near_counts(rng, 5)[:, :1].repeat(900, 1)]
    )
    results = []
    for switch in ("1", "0"):
        monkeypatch.setenv("GNOMON_NUMBA", switch)
        results.append((centred_gram(counts), chord_distances(counts)))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=0, atol=1e-14)


def test_block_size_changes_nothing_beyond_rounding(route, zipf_counts):
    counts = np.hstack([zipf_counts, zipf_counts[::-1]])
    whole = chord_distances(counts)
    np.testing.assert_allclose(chord_distances(counts, block_bytes=1), whole, rtol=0, atol=1e-14)


def test_angle_is_the_arc_of_the_chord(zipf_counts):
    law = roots(zipf_counts)
    cosine = np.clip(law @ law.T, 0.0, 1.0)
    off = ~np.eye(70, dtype=bool)
    found = angle(chord_distances(zipf_counts))
    np.testing.assert_allclose(found[off], np.arccos(cosine)[off], rtol=1e-10)


def test_angle_of_laws_without_common_token_is_a_right_angle():
    assert angle(chord_distances([[3, 0], [0, 5]]))[0, 1] == pytest.approx(np.pi / 2, rel=1e-15)


def test_halved_or_negative_chords_are_refused_with_a_remedy():
    with pytest.raises(InputError, match=r"chords lie in \[0, sqrt 2\].*without halving"):
        angle(np.array([0.0, 1.9]))
    with pytest.raises(InputError, match=r"run from -0\.1"):
        angle(np.array([-0.1]))
    with pytest.raises(InputError, match="run from nan"):
        angle(np.array([np.nan]))
