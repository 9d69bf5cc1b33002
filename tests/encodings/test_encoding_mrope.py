"""M-RoPE: its sections against explicit complex numbers, on text against plain rotary encoding."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.axes import axes_of_pairs
from gnomon.errors import EncodingError

SECTIONS = {
    "chunked": (4, 2, 2),
    "interleaved": (3, 3, 2),
    "spatial-first": (2, 3, 3),
}


@pytest.mark.parametrize("arrangement", SECTIONS)
def test_text_is_turned_as_by_plain_rotary_encoding(arrangement, rng):
    q, k = rng.normal(size=(2, 2, 9, 16))
    text = np.arange(9)
    mrope = encoding(
        "m-rope", dimension=16, sections=SECTIONS[arrangement], arrangement=arrangement
    )
    made = mrope.transform(q, k, np.stack([text, text, text], axis=-1))
    wanted = encoding("rope", dimension=16, layout="half").transform(q, k, text)
    np.testing.assert_allclose(made, wanted, atol=1e-14)


@pytest.mark.parametrize(
    ("arrangement", "axes"),
    [
        ("chunked", "tttthhww"),
        ("interleaved", "thwthwth"),
        ("spatial-first", "hwhwhwtt"),
    ],
)
def test_pairs_are_dealt_to_the_axes_in_the_published_order(arrangement, axes):
    dealt = axes_of_pairs(SECTIONS[arrangement], arrangement)
    assert "".join("thw"[axis] for axis in dealt) == axes


@pytest.mark.parametrize("arrangement", SECTIONS)
def test_each_pair_turns_by_the_complex_number_of_its_axis(arrangement, rng):
    x = rng.normal(size=(5, 16))
    places = rng.integers(0, 100, size=(5, 3))
    mrope = encoding(
        "m-rope", dimension=16, sections=SECTIONS[arrangement], arrangement=arrangement
    )
    made, _ = mrope.transform(x, x, places)
    letters = {"chunked": "tttthhww", "interleaved": "thwthwth", "spatial-first": "hwhwhwtt"}
    for pair, letter in enumerate(letters[arrangement]):
        angle = places[:, "thw".index(letter)] * 10000.0 ** (-2 * pair / 16)
        wanted = (x[:, pair] + 1j * x[:, pair + 8]) * np.exp(1j * angle)
        np.testing.assert_allclose(made[:, pair] + 1j * made[:, pair + 8], wanted, atol=1e-13)


def test_a_scaling_stretches_the_ladder_and_follows_the_length():
    plain = encoding("m-rope", dimension=16, sections=(4, 2, 2))
    half = encoding(
        "m-rope", dimension=16, sections=(4, 2, 2), scaling={"name": "linear", "factor": 2.0}
    )
    np.testing.assert_array_equal(half.frequencies, plain.frequencies / 2.0)
    assert half.card.name == "m-rope"
    growing = encoding(
        "m-rope",
        dimension=16,
        sections=(4, 2, 2),
        scaling={"name": "dynamic", "factor": 2.0, "original_length": 32},
    )
    assert not growing.card.cacheable
    assert (growing.at_length(64).frequencies != growing.at_length(32).frequencies).any()


def test_sections_that_do_not_add_up_are_refused():
    with pytest.raises(
        EncodingError,
        match=r"sections is \[4, 2, 1\]; pass 3 numbers, one per axis, whose sum is 8",
    ):
        encoding("m-rope", dimension=16, sections=(4, 2, 1))


def test_too_few_sections_are_refused():
    with pytest.raises(EncodingError, match=r"sections is \[4, 4\]; pass 3 numbers"):
        encoding("m-rope", dimension=16, sections=(4, 4))


def test_a_section_that_is_no_count_is_refused():
    with pytest.raises(EncodingError, match=r"sections is 2\.5; pass a whole number from 0 on\."):
        encoding("m-rope", dimension=16, sections=(4, 2.5, 1.5))


def test_interleaved_sections_that_would_be_dealt_otherwise_are_refused():
    """The rule of Qwen3-VL deals (2, 3, 3) as [3, 3, 2], and its code says nothing."""
    with pytest.raises(
        EncodingError, match=r"sections is \[2, 3, 3\]; .* dealt as \[3, 3, 2\], so pass a first"
    ):
        encoding("m-rope", dimension=16, sections=(2, 3, 3), arrangement="interleaved")


def test_unequal_spatial_sections_are_refused_where_they_alternate():
    with pytest.raises(EncodingError, match=r"sections is \[2, 4, 2\]; pass equal sections of all"):
        encoding("m-rope", dimension=16, sections=(2, 4, 2), arrangement="spatial-first")


def test_an_unknown_arrangement_is_refused():
    with pytest.raises(EncodingError, match=r"arrangement is 'mixed'; pass one of: chunked, inter"):
        encoding("m-rope", dimension=16, sections=(4, 2, 2), arrangement="mixed")


def test_positions_without_axes_are_refused(rng):
    q = rng.normal(size=(4, 16))
    with pytest.raises(EncodingError, match=r"positions have shape \(4,\), but .* 3 axes; pass"):
        encoding("m-rope", dimension=16, sections=(4, 2, 2)).transform(q, q, np.arange(4))
