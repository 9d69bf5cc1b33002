"""Portraits: what the figures of a card show, against closed forms, for every entry."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.lifts import portrait, unit_pairs
from gnomon.encodings.registry import ENTRIES, described, encoding, shown, usual_parameters
from gnomon.errors import EncodingError

EXAMPLES = [
    (name, example)
    for name, entry in ENTRIES.items()
    if entry.examples
    for example in ({}, *entry.examples)
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_entry_has_a_portrait_of_finite_numbers(name: str, example: dict) -> None:
    made = shown(name, **example)
    found = portrait(made)
    assert found.rows.ndim == 2
    assert np.isfinite(found.rows).all()
    assert found.profiles
    for profile in found.profiles:
        assert profile.mean[0] == 0.0
        assert np.isfinite(profile.mean).all()
        assert (profile.low <= profile.mean + 1e-12).all()
        assert (profile.mean <= profile.high + 1e-12).all()
    for ladder in found.ladders:
        assert ladder.values.ndim == 2
        assert len(ladder.labels) == len(ladder.values)


def test_carried_unit_pairs_are_cosines_and_sines() -> None:
    rows = portrait(encoding("rope", dimension=4, base=100.0)).rows
    angles = np.arange(128)[:, None] * np.array([1.0, 0.1])
    np.testing.assert_allclose(rows[:, 0::2], np.cos(angles), atol=1e-12)
    np.testing.assert_allclose(rows[:, 1::2], np.sin(angles), atol=1e-12)


def test_unit_pairs_follow_the_layout() -> None:
    half = encoding("rope", dimension=8, fraction=0.5, layout="half")
    assert unit_pairs(half, 8).tolist() == [1, 1, 0, 0, 1, 1, 1, 1]
    pairs = encoding("rope", dimension=8, fraction=0.5)
    assert unit_pairs(pairs, 8).tolist() == [1, 0, 1, 0, 1, 1, 1, 1]


def test_the_bias_of_alibi_is_a_line_through_zero_for_every_head() -> None:
    found = portrait(encoding("alibi", heads=2))
    lags = found.places[:, 0]
    assert lags.tolist() == list(range(128))
    np.testing.assert_allclose(found.rows, -np.outer([2.0**-4, 2.0**-8], lags), atol=1e-15)


def test_a_symmetric_bias_is_drawn_on_both_sides_of_its_query() -> None:
    found = portrait(encoding("alibi", slopes=(1.0,), symmetric=True))
    lags = found.places[:, 0]
    assert lags.min() < 0.0 < lags.max()
    np.testing.assert_allclose(found.rows[0], -np.abs(lags))


def test_the_profile_of_the_sinusoid_is_its_closed_form() -> None:
    profile = portrait(encoding("sinusoidal", dimension=4, base=100.0)).profiles[0]
    lags = np.arange(512)
    squares = 4.0 * (np.sin(lags / 2.0) ** 2 + np.sin(lags / 20.0) ** 2)
    np.testing.assert_allclose(profile.mean, np.sqrt(squares), atol=1e-9)
    assert not profile.varies
    assert profile.whole


def test_a_profile_without_a_closed_form_is_the_mean_over_the_diagonals() -> None:
    """A table whose distances are known: points at 0, 1, 3 on a line."""
    profile = portrait(encoding("table", path=np.array([[0.0], [1.0], [3.0]]))).profiles[0]
    assert profile.mean.tolist() == [0.0, 1.5, 3.0]
    assert profile.low.tolist() == [0.0, 1.0, 3.0]
    assert profile.high.tolist() == [0.0, 2.0, 3.0]
    assert profile.varies


def test_a_table_is_drawn_as_far_as_it_goes() -> None:
    assert portrait(encoding("table", path=np.eye(5))).rows.shape == (5, 5)


def test_the_ladder_of_several_axes_has_a_row_for_each() -> None:
    ladder = portrait(encoding("rope", dimension=8, axes=2, base=100.0)).ladders[0]
    assert ladder.labels == ("axis 0", "axis 1")
    np.testing.assert_allclose(ladder.values, [[1.0, 0.1, 0.0, 0.0], [0.0, 0.0, 1.0, 0.1]])


def test_a_scaled_ladder_stands_beside_the_plain_one() -> None:
    """Linear scaling divides every frequency by its factor [chen2023]."""
    ladder = portrait(shown("rope-linear", factor=4.0)).ladders[0]
    np.testing.assert_allclose(4.0 * ladder.values, ladder.plain)


def test_positions_of_a_picture_lie_in_its_span() -> None:
    found = portrait(shown("rope-pixel"))
    assert (found.places.min(), found.places.max()) == (-1.0, 1.0)
    assert found.ladders[0].measured.endswith("per unit")


def test_usual_parameters_are_those_without_a_default() -> None:
    assert usual_parameters("rope") == {"dimension": 64}
    assert usual_parameters("nope") == {}
    with pytest.raises(EncodingError, match="did you mean 'rope'"):
        usual_parameters("rop")


def test_a_description_makes_an_encoding_only_where_one_is_asked_for() -> None:
    contents, made = described("mds")
    assert made is None
    assert contents["needs"] == ["geometry", "dimension"]
    contents, made = described("rope", {"base": 500.0})
    assert made.base == 500.0
    assert contents["made_with"]["dimension"] == 64
