"""Violations and ties against all triples written out, on lines, gaps and grids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.diagnostics.monotonicity import inversions, violations
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import InputError


def brute(distances, lags):
    size, above, equal, triples = len(distances), 0, 0, 0
    for i in range(size):
        for j in range(size):
            for k in range(size):
                if i in (j, k) or j == k or lags[i][j] >= lags[i][k]:
                    continue
                triples += 1
                above += distances[i][j] > distances[i][k]
                equal += distances[i][j] == distances[i][k]
    return above, equal, triples


def check(distances, lags, report):
    above, equal, triples = brute(distances, lags)
    assert report.triples == triples
    assert report.violations == above / triples
    assert report.ties == equal / triples


def symmetric(rng, size, levels):
    values = rng.integers(1, levels + 1, size=(size, size)).astype(float)
    values = np.triu(values, 1)
    return values + values.T


@pytest.mark.parametrize("route", ["0", "1"])
@pytest.mark.parametrize("levels", [1, 2, 5, 10**6])
@pytest.mark.parametrize("size", [3, 4, 7, 18, 37])
def test_shares_equal_all_triples_written_out_ties_included(size, levels, route, rng, monkeypatch):
    monkeypatch.setenv("GNOMON_NUMBA", route)
    distances = symmetric(rng, size, levels)
    lags = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    check(distances, lags, violations(distances))


@pytest.mark.parametrize("route", ["0", "1"])
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), size=st.integers(3, 14), levels=st.integers(1, 6))
def test_any_lags_are_counted_as_they_stand(route, seed, size, levels):
    rng = np.random.default_rng(seed)
    distances, lags = symmetric(rng, size, 4), symmetric(rng, size, levels + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNOMON_NUMBA", route)
        report = violations(distances, lags)
    if report.triples:
        check(distances, lags, report)
    else:
        assert brute(distances, lags) == (0, 0, 0)


@pytest.mark.parametrize("route", ["0", "1"])
def test_gaps_and_grids_count_by_euclidean_lag(route, rng, monkeypatch):
    monkeypatch.setenv("GNOMON_NUMBA", route)
    gaps = np.array([9, 0, 1, 4, 5, 20, 21])
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(5), indexing="ij"), -1).reshape(-1, 2)
    for points in (gaps[:, None], grid):
        distances = symmetric(rng, len(points), 6)
        steps = points[:, None] - points[None]
        check(distances, (steps**2).sum(-1), violations(distances, positions=points))


def test_both_routes_agree_on_larger_matrices(rng, monkeypatch):
    distances = rng.normal(size=(150, 4))
    distances = np.linalg.norm(distances[:, None] - distances[None], axis=-1)
    reports = []
    for route in ("0", "1"):
        monkeypatch.setenv("GNOMON_NUMBA", route)
        reports.append(violations(distances).to_dict())
    assert reports[0] == reports[1]
    assert reports[0]["violations"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_the_number_of_threads_changes_nothing(threads, rng, monkeypatch):
    distances = symmetric(rng, 100, 50)
    wanted = violations(distances).to_dict()
    monkeypatch.setenv("GNOMON_THREADS", threads)
    assert violations(distances).to_dict() == wanted


def test_distances_that_grow_with_the_lag_have_no_violations():
    lifted = lift(encoding("alibi"), np.arange(60))
    report = violations(lifted)
    assert report.violations == 0.0
    assert report.ties == 0.0


def test_constant_distances_are_all_ties():
    report = violations(1.0 - np.eye(8))
    assert (report.violations, report.ties) == (0.0, 1.0)


def test_two_positions_make_no_triple():
    report = violations([[0, 1], [1, 0]])
    assert report.violations is None
    assert report.triples == 0
    assert report.reason == "no position has two others at different lags"


def test_violations_of_classical_mds_equal_those_of_the_distances_it_fits(rng):
    """At d = n - 1 the isometry is exact, so the test says nothing about MDS."""
    from scipy.spatial.distance import pdist, squareform

    from gnomon.encodings.fitted import fit

    laws = rng.dirichlet(np.full(40, 0.2), size=24)
    distances = squareform(pdist(np.sqrt(laws)))
    made = lift(fit(distances, dimension=23), np.arange(24))
    assert violations(made).violations == violations(distances).violations


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=70))
def test_inversions_equal_all_pairs_written_out(values):
    wanted = sum(a > b for i, a in enumerate(values) for b in values[i + 1 :])
    ranks = np.unique(values, return_inverse=True)[1]
    assert inversions(ranks) == wanted


def test_positions_that_do_not_match_are_refused():
    with pytest.raises(InputError, match=r"There are 2 positions for 3 rows of distances"):
        violations(1.0 - np.eye(3), positions=[0, 1])
    with pytest.raises(InputError, match=r"The distances have shape \(3,\); pass a square array"):
        violations(np.zeros(3))
    with pytest.raises(InputError, match=r"The lags have shape \(2, 3\); pass a square array"):
        violations(1.0 - np.eye(3), np.zeros((2, 3)))
