"""Mixed rotary encoding: against complex numbers, against axial encoding, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.axes import random_rotations
from gnomon.errors import EncodingError


def test_heads_turn_by_the_complex_numbers_of_their_own_frequencies(rng):
    x = rng.normal(size=(3, 7, 8))
    places = rng.uniform(-20.0, 20.0, size=(7, 2))
    frequencies = rng.normal(size=(3, 4, 2))
    mixed = encoding("rope-mixed", dimension=8, heads=3, frequencies=frequencies)
    made, _ = mixed.transform(x, x, places)
    phases = np.einsum("na,hka->hnk", places, frequencies)
    wanted = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * phases)
    np.testing.assert_allclose(made[..., 0::2] + 1j * made[..., 1::2], wanted, atol=1e-13)


def test_axial_frequencies_give_axial_rotary_encoding(rng):
    q, k = rng.normal(size=(2, 3, 7, 8))
    places = rng.integers(0, 30, size=(7, 2))
    axial = encoding("rope", dimension=8, axes=2)
    frequencies = np.tile(axial.frequencies, (3, 1, 1))
    mixed = encoding("rope-mixed", dimension=8, heads=3, frequencies=frequencies)
    np.testing.assert_allclose(
        mixed.transform(q, k, places), axial.transform(q, k, places), atol=1e-13
    )


def test_heads_start_with_one_angle_and_two_ladders_at_right_angles():
    """As the published code: lengths base^(-4j/d), directions (cos a, sin a) and a + pi/2."""
    frequencies = encoding("rope-mixed", dimension=16, heads=5, base=10.0).frequencies
    lengths = np.linalg.norm(frequencies, axis=-1)
    wanted = 10.0 ** (-4.0 * np.arange(4) / 16.0)
    np.testing.assert_allclose(lengths, np.tile(wanted, (5, 2)), rtol=1e-12)
    angles = np.arctan2(frequencies[..., 1], frequencies[..., 0])
    first, second = angles[:, :4], angles[:, 4:]
    np.testing.assert_allclose(first, np.tile(first[:, :1], 4), atol=1e-12)
    np.testing.assert_allclose(np.mod(second - first, 2.0 * np.pi), np.pi / 2.0, atol=1e-12)
    assert len(np.unique(angles[:, 0].round(6))) == 5


def test_starting_angles_are_spread_over_the_whole_circle():
    rotations = random_rotations(2000, 2, seed=1)
    np.testing.assert_allclose(np.linalg.det(rotations), 1.0, atol=1e-12)
    angles = np.mod(np.arctan2(rotations[:, 1, 0], rotations[:, 0, 0]), 2.0 * np.pi)
    counts = np.bincount((angles / (2.0 * np.pi) * 10).astype(int), minlength=10)
    chi_square = np.sum((counts - 200.0) ** 2 / 200.0)
    assert chi_square < 27.9  # the 0.1 % point of chi-square with 9 degrees of freedom


def test_the_seed_decides_where_training_starts():
    one, same, other = (
        encoding("rope-mixed", dimension=8, heads=2, seed=seed).frequencies for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


def test_learned_frequencies_replace_the_starting_ones(rng):
    mixed = encoding("rope-mixed", dimension=8, heads=2)
    learned = rng.normal(size=(2, 4, 2))
    np.testing.assert_array_equal(mixed.with_numbers(frequencies=learned).frequencies, learned)


def test_a_changed_array_of_numbers_does_not_change_the_encoding():
    mixed = encoding("rope-mixed", dimension=8, heads=2)
    before = mixed.frequencies.copy()
    mixed.numbers["frequencies"][:] = 0.0
    np.testing.assert_array_equal(mixed.frequencies, before)


def test_distances_on_a_grid_see_the_sign_of_a_diagonal(rng):
    """By the definition: |R_x u - R_y u| of unit pairs, the mean over heads of squares."""
    mixed = encoding("rope-mixed", dimension=8, heads=3, base=50.0)
    places = np.indices((4, 4)).reshape(2, -1).T
    distances = lift(mixed, places).distances
    ones = np.tile([1.0, 0.0], (3, 16, 4)).reshape(3, 16, 8)
    turned, _ = mixed.transform(ones, ones, places)
    apart = np.linalg.norm(turned[:, :, None] - turned[:, None, :], axis=-1)
    np.testing.assert_allclose(distances, np.sqrt(np.mean(apart**2, axis=0)), atol=1e-12)
    down, up = distances[0, 9], distances[8, 1]  # lags (2, 1) and (-2, 1)
    assert abs(down - up) > 1e-3


def test_gradients_reach_the_frequencies(rng):
    torch = pytest.importorskip("torch")
    xp = pytest.importorskip("array_api_compat.torch")
    mixed = encoding("rope-mixed", dimension=8, heads=2)
    x = torch.asarray(rng.normal(size=(2, 5, 8)))
    places = torch.asarray(rng.normal(size=(5, 2)))
    frequencies = torch.asarray(mixed.numbers["frequencies"]).requires_grad_()

    def turned(w):
        return mixed.apply(x, places, {"frequencies": w}, side="q", xp=xp)

    assert torch.autograd.gradcheck(turned, (frequencies,))


def test_frequencies_of_another_shape_are_refused():
    with pytest.raises(
        EncodingError,
        match=r"frequencies has shape \(2, 4\); pass finite numbers of shape \(2, 4, 2",
    ):
        encoding("rope-mixed", dimension=8, heads=2, frequencies=np.ones((2, 4)))


def test_frequencies_that_are_no_numbers_are_refused():
    with pytest.raises(EncodingError, match=r"frequencies cannot be read as an array"):
        encoding("rope-mixed", dimension=8, heads=2, frequencies=[[1.0], [1.0, 2.0]])


def test_frequencies_that_still_ask_for_gradients_are_refused():
    torch = pytest.importorskip("torch")
    asking = torch.ones(2, 4, 2, requires_grad=True)
    with pytest.raises(EncodingError, match=r"frequencies cannot be read as an array \(Can't call"):
        encoding("rope-mixed", dimension=8, heads=2, frequencies=asking)


def test_other_heads_than_the_frequencies_have_are_refused(rng):
    q = rng.normal(size=(4, 5, 8))
    with pytest.raises(
        EncodingError, match=r"q has shape \(4, 5, 8\), but .* frequencies for 2 heads"
    ):
        encoding("rope-mixed", dimension=8, heads=2).transform(q, q, np.zeros((5, 2)))
