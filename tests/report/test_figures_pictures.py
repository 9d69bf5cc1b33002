"""What is drawn of a survey against NumPy, SciPy and its own definition."""

from __future__ import annotations

import io
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gnomon.errors import InputError
from gnomon.pipeline.page_data import Pictures, load_pictures, pictures, store_pictures


def stored(found: Pictures, path: Path) -> Path:
    handle = io.BytesIO()
    store_pictures(found, handle)
    path.write_bytes(handle.getvalue())
    return path


def test_plugin_distances_are_chords_of_the_observed_shares(surveyed) -> None:
    survey = surveyed("seven")
    shares = survey.counts.matrix.toarray() / survey.counts.totals[:, None]
    assert np.allclose(pictures(survey).plugin, cdist(np.sqrt(shares), np.sqrt(shares)), atol=1e-6)


def test_debiased_points_have_the_debiased_distances_where_three_coordinates_hold_all(
    surveyed,
) -> None:
    found = pictures(surveyed("masked"))  # three positions, so at most two directions
    assert np.allclose(cdist(found.points, found.points), found.debiased, atol=1e-5)


def test_points_lie_along_the_principal_axes_of_the_core(surveyed) -> None:
    """Centred, uncorrelated, the widest first."""
    found = pictures(surveyed("projected"))
    core = found.points[found.core].astype(float)
    covariance = core.T @ core
    assert np.allclose(core.mean(axis=0), 0.0, atol=1e-6)
    assert np.allclose(covariance, np.diag(np.diag(covariance)), atol=1e-5 * covariance[0, 0])
    assert (np.diff(np.diag(covariance)) <= 0.0).all()


def test_a_position_outside_the_core_is_placed_and_called_projected(surveyed) -> None:
    found = pictures(surveyed("projected"))
    assert found.status.tolist() == [2] * 9 + [1] * 3
    assert np.isfinite(found.points).all()


def test_plugin_points_are_the_leading_eigenvectors_of_the_centred_gram(surveyed) -> None:
    survey = surveyed("seven")
    squares = pictures(survey).plugin.astype(float) ** 2
    centring = np.eye(7) - 1 / 7
    values, axes = np.linalg.eigh(-0.5 * centring @ squares @ centring)
    wanted = axes[:, :-4:-1] * np.sqrt(values[:-4:-1])
    made = pictures(survey).plugin_points
    assert np.allclose(made @ made.T, wanted @ wanted.T, atol=1e-5)


def test_the_null_is_the_root_of_its_mean_squares(surveyed) -> None:
    survey = surveyed("seven")
    found = pictures(survey)
    assert found.null_kind == "dealt"
    assert np.allclose(found.null**2, survey.null.mean_squares, atol=1e-7)


@pytest.mark.parametrize("case", ["seven", "noise", "projected"])
def test_shepard_pairs_give_back_the_stress_of_every_encoding(surveyed, case: str) -> None:
    """All pairs of few positions are drawn, and at the best scale |h - aD|^2 / |h|^2 is S*."""
    survey = surveyed(case)
    found = pictures(survey)
    debiased = len(found.shepard_debiased) > 0
    wanted = (found.shepard_debiased if debiased else found.shepard_plugin).astype(float)
    for entry, made in zip(survey.entries, found.shepard_made.astype(float), strict=True):
        stress = entry.debiased.scale_free if debiased else entry.stress.scale_free
        assert ((wanted - made) ** 2).sum() / (wanted**2).sum() == pytest.approx(stress, abs=1e-6)


def test_shepard_pairs_are_those_of_the_core_without_repetition(surveyed) -> None:
    found = pictures(surveyed("projected"))
    pairs = {tuple(pair) for pair in found.shepard_pairs.tolist()}
    assert len(pairs) == len(found.shepard_pairs) == 9 * 8 // 2
    assert all(i < j < 9 for i, j in pairs)


@pytest.mark.parametrize("case", ["seven", "flat", "noise", "untrusted", "grid"])
def test_pictures_are_read_back_as_they_were_written(surveyed, case: str, tmp_path: Path) -> None:
    found = pictures(surveyed(case))
    again = load_pictures(stored(found, tmp_path / "geometry.npz"))
    for field in fields(found):
        one, two = getattr(found, field.name), getattr(again, field.name)
        assert np.array_equal(one, two, equal_nan=isinstance(one, np.ndarray)), field.name
        assert not isinstance(one, np.ndarray) or one.dtype == two.dtype


def test_the_same_survey_gives_the_same_file(surveyed, tmp_path: Path) -> None:
    made = [
        stored(pictures(surveyed("seven")), tmp_path / name).read_bytes() for name in ("a", "b")
    ]
    assert made[0] == made[1]


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*; run the survey again, with --out"):
        load_pictures(tmp_path / "geometry.npz")


@pytest.mark.parametrize("damage", [lambda b: b[:200], lambda b: b[:0], lambda b: b[::-1]])
def test_a_damaged_file_is_refused_in_one_sentence(surveyed, damage, tmp_path: Path) -> None:
    path = stored(pictures(surveyed("seven")), tmp_path / "geometry.npz")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match="is damaged or holds no pictures of a survey"):
        load_pictures(path)
