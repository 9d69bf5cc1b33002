"""Stress against scikit-learn, closed forms and laws that hold for every pair of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.isotonic import IsotonicRegression
from sklearn.manifold import smacof

from gnomon.diagnostics.stress_report import stress
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import InputError


def random_distances(seed, size=9, dimension=3):
    return squareform(pdist(np.random.default_rng(seed).normal(size=(size, dimension))))


def brute(made, wanted):
    """Every sum as it is written, over a list of pairs."""
    size = len(wanted)
    pairs = [(made[i][j], wanted[i][j]) for i in range(size) for j in range(i + 1, size)]
    squares = sum(h * h for _, h in pairs)
    own = sum(d * d for d, _ in pairs)
    cross = sum(d * h for d, h in pairs)
    raw = sum((d - h) ** 2 for d, h in pairs)
    mean = sum(h for _, h in pairs) / len(pairs)
    return {
        "raw": raw / squares,
        "scale_free": 1 - cross**2 / (own * squares),
        "best_scale": cross / own,
        "kruskal": (raw / own) ** 0.5,
        "simplex": 1 - mean**2 / (squares / len(pairs)),
    }


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), size=st.integers(2, 12))
def test_every_stress_equals_its_formula_pair_by_pair(seed, size):
    made, wanted = random_distances(seed, size), random_distances(seed + 1, size)
    report = stress(made, wanted)
    for name, value in brute(made, wanted).items():
        assert getattr(report, name) == pytest.approx(value, rel=1e-9, abs=1e-12), name
    if size > 2:
        assert report.skill == pytest.approx(1 - report.scale_free / report.simplex)


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32), scale=st.floats(1e-6, 1e6))
def test_raw_stress_splits_exactly_into_shape_and_scale(seed, scale):
    """S = S* + (1/a* - 1)^2 (1 - S*)."""
    made, wanted = scale * random_distances(seed), random_distances(seed + 1)
    report = stress(made, wanted)
    assert report.scale_free + report.scale_part == pytest.approx(report.raw, rel=1e-12)
    published = (1 / report.best_scale - 1) ** 2 * (1 - report.scale_free)
    assert report.scale_part == pytest.approx(published, rel=1e-9, abs=1e-12)
    assert 0 <= report.scale_free <= 1


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), scale=st.floats(1e-3, 1e3))
def test_scale_free_stress_is_the_least_raw_stress_over_scales(seed, scale):
    made, wanted = random_distances(seed), random_distances(seed + 1)
    report = stress(made, wanted)
    assert stress(scale * made, wanted).scale_free == pytest.approx(report.scale_free, rel=1e-9)
    at_best = stress(report.best_scale * made, wanted).raw
    assert at_best == pytest.approx(report.scale_free, rel=1e-9)
    assert stress(scale * made, wanted).raw >= at_best * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_kruskal_and_raw_equal_scikit_learn(seed):
    """`normalized_stress=True` divides by the squares of the fitted distances, as Kruskal does."""
    wanted = random_distances(seed, 15, 5)
    start = np.random.default_rng(seed).normal(size=(15, 2))
    options = {"n_components": 2, "init": start, "n_init": 1, "max_iter": 20, "metric": True}
    points, normalised = smacof(wanted, normalized_stress=True, **options)
    _, plain = smacof(wanted, normalized_stress=False, **options)
    report = stress(points, wanted)
    assert report.kruskal == pytest.approx(normalised, rel=1e-12)
    assert report.raw == pytest.approx(plain / np.sum(pdist_of(wanted) ** 2), rel=1e-12)


def pdist_of(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


@pytest.mark.parametrize("seed", range(3))
def test_nonmetric_stress_equals_kruskals_with_scikit_learns_isotonic_regression(seed):
    made, wanted = random_distances(seed, 20), random_distances(seed + 50, 20)
    d, h = pdist_of(made), pdist_of(wanted)
    fitted = IsotonicRegression().fit_transform(h, d)
    want = np.sqrt(np.sum((d - fitted) ** 2) / np.sum(d**2))
    assert stress(made, wanted, nonmetric=True).nonmetric == pytest.approx(want, rel=1e-10)


def test_nonmetric_stress_does_not_see_a_monotone_change_of_the_target():
    wanted = random_distances(1)
    report = stress(wanted, wanted**3, nonmetric=True)
    assert report.nonmetric == 0.0
    assert report.raw > 0.01


def test_equal_targets_leave_the_encoding_free():
    """Kruskal's primary approach: a constant target is met by any distances."""
    made = random_distances(3)
    assert stress(made, 1.0 - np.eye(9), nonmetric=True).nonmetric == 0.0


def test_zero_vectors_have_raw_stress_exactly_one():
    report = stress(np.zeros((9, 4)), random_distances(0), nonmetric=True)
    assert report.raw == 1.0
    assert report.scale_free == 1.0
    assert report.best_scale == 0.0
    assert report.kruskal is None
    assert "stress-1 divides by them" in report.reasons["kruskal"]
    assert "stress-1 divides by them" in report.reasons["nonmetric"]
    assert stress(encoding("nope"), random_distances(0)).raw == pytest.approx(1.0, rel=1e-15)


def test_a_tiny_scale_free_stress_is_found_without_cancellation():
    """One part in 1e10 of noise is a stress near 1e-20, far below rounding of 1 - cosine^2."""
    wanted = random_distances(4, 40)
    noise = 1e-10 * random_distances(5, 40)
    report = stress(3.0 * (wanted + noise), wanted)
    assert 1e-22 < report.scale_free < 1e-19
    assert stress(wanted, wanted).raw == 0.0


def test_the_simplex_has_skill_zero_and_its_own_stress():
    wanted = random_distances(6)
    report = stress(np.eye(9), wanted)
    assert report.scale_free == pytest.approx(report.simplex)
    assert report.skill == pytest.approx(0.0, abs=1e-12)


def test_equal_target_distances_leave_no_skill():
    report = stress(random_distances(7), np.sqrt(2.0) * (1.0 - np.eye(9)))
    assert report.skill is None
    assert "all target distances are equal" in report.reasons["skill"]
    assert report.to_dict()["skill"] is None


@pytest.mark.parametrize("route", ["0", "1"])
@pytest.mark.parametrize("name", ["sinusoidal", "rope", "alibi"])
def test_the_lag_profile_gives_the_stress_of_the_whole_matrix(name, route, monkeypatch):
    monkeypatch.setenv("GNOMON_NUMBA", route)
    wanted = random_distances(8, 300, 8)
    made = encoding(name, **({} if name == "alibi" else {"dimension": 64}))
    lifted = lift(made, np.arange(300))
    assert lifted.profile is not None
    fast, slow = stress(made, wanted), stress(np.array(lifted.distances), wanted)
    for field in ("raw", "scale_free", "best_scale", "kruskal", "simplex", "skill", "scale_part"):
        assert getattr(fast, field) == pytest.approx(getattr(slow, field), rel=1e-11), field
    assert fast.pairs == slow.pairs == 300 * 299 // 2


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_does_not_change_a_bit(threads, monkeypatch):
    wanted = random_distances(2, 700)
    made = encoding("sinusoidal", dimension=64)
    first = stress(made, wanted).to_dict()
    monkeypatch.setenv("GNOMON_THREADS", threads)
    assert stress(made, wanted).to_dict() == first


def test_a_target_that_is_the_profile_itself_has_stress_of_rounding():
    made = encoding("sinusoidal", dimension=64)
    wanted = 0.1 * lift(made, np.arange(300)).distances
    report = stress(made, wanted)
    assert report.scale_free < 1e-28
    assert report.best_scale == pytest.approx(0.1)


def test_vectors_of_a_longer_table_are_taken_at_the_positions_kept(rng):
    table = rng.normal(size=(10, 3))
    kept = np.array([0, 2, 3, 9])
    wanted = random_distances(1, 4)
    long = stress(table, wanted, positions=kept).raw
    assert long == pytest.approx(stress(table[kept], wanted).raw)


def test_the_lift_stands_in_the_report():
    wanted = random_distances(9)
    alibi = encoding("alibi")
    assert stress(alibi, wanted).lift == "kernel"
    assert stress(alibi, wanted, lift="slope").lift == "slope"
    assert stress(wanted, wanted).lift == "distances"
    assert stress(np.eye(9), wanted).lift == "vectors"


def test_what_can_not_be_compared_is_refused():
    wanted = random_distances(0)
    cases = [
        ((wanted, np.zeros((9, 9))), r"All target distances are 0, so there is nothing to fit"),
        ((wanted, np.zeros((1, 1))), r"The target has 1 position; distances need two or more"),
        ((np.eye(8), wanted), r"The encoding has 8 positions and the target 9; measure both"),
        ((wanted, np.ones((9, 2))), r"The target distances have shape \(9, 2\); pass a square"),
        (("rope", wanted), r"The encoding is 'rope', which is no array of numbers; pass an array"),
        (([[1], [2, 3]], wanted), r"The encoding is of type list, which is no array of numbers"),
        (
            (wanted, object()),
            r"The target distances are of type object, which is no array of numbers",
        ),
        ((np.ones(9), wanted), r"The encoding is an array of shape \(9,\); pass vectors"),
        ((np.full((9, 2), np.nan), wanted), r"The encoding holds nan at row 0, column 0; pass"),
        ((wanted, -wanted), r"The target distances hold -\S+ at row 0, column 1; pass finite"),
        ((wanted, np.triu(wanted)), r"The target distances are not symmetric; pass distances"),
    ]
    for (made, target), sentence in cases:
        with pytest.raises(InputError, match=sentence):
            stress(made, target)
    with pytest.raises(InputError, match=r"Some distances are too large to be squared; divide"):
        stress(wanted, 1e200 * wanted)
    with pytest.raises(InputError, match=r"There are 3 positions for 9 rows of distances"):
        stress(encoding("alibi"), wanted, positions=[0, 1, 2])
