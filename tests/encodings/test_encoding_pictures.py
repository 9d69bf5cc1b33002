"""Rotary encodings of pictures: positions of pixels and patches, frequencies in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.axes import move_centres, patch_centres, pixel_positions
from gnomon.errors import EncodingError


def test_corner_pixels_stand_at_the_ends_and_centres_half_a_patch_inside():
    np.testing.assert_array_equal(pixel_positions(3, 2)[[0, -1]], [[-1, -1], [1, 1]])
    np.testing.assert_allclose(patch_centres(4, 2)[[0, -1]], [[-0.75, -0.5], [0.75, 0.5]])


def test_pixels_and_patches_are_listed_row_by_row():
    assert pixel_positions(2, 3)[:, 0].tolist() == [-1, -1, -1, 1, 1, 1]
    assert np.diff(patch_centres(2, 3)[:3, 1]).min() > 0


def test_pixel_frequencies_run_evenly_from_pi_to_half_the_largest():
    frequencies = encoding("rope-pixel", dimension=16, axes=2, max_frequency=20.0).frequencies
    first, second = frequencies[:4, 0], frequencies[4:, 1]
    np.testing.assert_allclose(first / np.pi, [1.0, 4.0, 7.0, 10.0], rtol=1e-15)
    np.testing.assert_array_equal(first, second)
    assert not frequencies[:4, 1].any()
    assert not frequencies[4:, 0].any()


def test_the_fastest_pair_makes_two_turns_over_the_patches_of_a_picture():
    patches = encoding("rope-patches", dimension=64)
    x = np.tile([1.0] + [0.0] * 63, (2, 1))
    (start, end), _ = patches.transform(x, x, [[-1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(start[:1], 1.0, atol=1e-15)  # -1 is a whole turn before the middle
    np.testing.assert_allclose(start, end, atol=1e-14)
    np.testing.assert_allclose(patches.frequencies[0, 0] * 2.0, 4.0 * np.pi, rtol=1e-15)


def test_tokens_without_a_place_stand_at_0_and_are_not_turned(rng):
    x = rng.normal(size=(3, 8))
    made, _ = encoding("rope-patches", dimension=8).transform(x, x, np.zeros((3, 2)))
    np.testing.assert_array_equal(made, x)


def test_moved_centres_are_one_affine_map_of_the_picture(rng):
    centres = patch_centres(5, 7)
    moved = move_centres(centres, rng=rng, shift=0.3, jitter=1.5, rescale=2.0)
    design = np.column_stack([centres[:, 0], np.ones(len(centres))])
    for axis in range(2):
        design[:, 0] = centres[:, axis]
        solution, residual, *_ = np.linalg.lstsq(design, moved[:, axis], rcond=None)
        assert residual[0] < 1e-20
        assert 1.0 / 3.0 <= solution[0] <= 3.0
        assert abs(solution[1] / solution[0]) <= 0.3


def test_rescaling_alone_stretches_both_axes_alike_between_a_half_and_two(rng):
    centres = patch_centres(3, 4)
    ratios = [move_centres(centres, rng=rng)[0] / centres[0] for _ in range(400)]
    np.testing.assert_allclose([r[0] for r in ratios], [r[1] for r in ratios], rtol=1e-14)
    logarithms = np.log2([r[0] for r in ratios])
    assert -1.0 <= logarithms.min() < -0.9
    assert 0.9 < logarithms.max() <= 1.0
    assert abs(np.mean(logarithms)) < 4.0 / np.sqrt(3.0 * 400)


def test_centres_stay_where_they_are_without_any_movement(rng):
    centres = patch_centres(3, 4)
    np.testing.assert_array_equal(move_centres(centres, rng=rng, rescale=1.0), centres)


def test_a_stretch_below_one_is_refused(rng):
    with pytest.raises(EncodingError, match=r"rescale is 0\.5; pass a finite number from 1 on\."):
        move_centres(patch_centres(2, 2), rng=rng, rescale=0.5)


def test_an_empty_grid_is_refused():
    with pytest.raises(EncodingError, match=r"the size of a grid is 0; pass a whole number from 1"):
        patch_centres(4, 0)


@pytest.mark.parametrize("name", ["rope-pixel", "rope-patches", "rope-mixed"])
def test_a_dimension_without_a_pair_for_each_axis_is_refused(name):
    more = {"heads": 2} if name == "rope-mixed" else {}
    with pytest.raises(EncodingError, match=r"dimension is 6 and 6 of .* multiple of 4 turn, two"):
        encoding(name, dimension=6, **more)


def test_a_fraction_without_a_pair_for_each_axis_is_refused():
    with pytest.raises(EncodingError, match=r"dimension is 8 and 2 .*; pass a fraction with which"):
        encoding("rope-pixel", dimension=8, fraction=0.25)


@pytest.mark.parametrize("fraction", [1.5, 0.0])
def test_a_fraction_outside_of_0_to_1_is_refused(fraction):
    with pytest.raises(EncodingError, match=r"fraction is .*; pass a .*number above 0"):
        encoding("rope-pixel", dimension=8, fraction=fraction)


def test_a_largest_frequency_of_0_is_refused():
    with pytest.raises(EncodingError, match=r"max_frequency is 0; pass a finite number above 0\."):
        encoding("rope-pixel", dimension=8, max_frequency=0)


def test_a_negative_base_is_refused():
    with pytest.raises(EncodingError, match=r"base is -100\.0; pass a finite number above 0\."):
        encoding("rope-patches", dimension=8, base=-100.0)
