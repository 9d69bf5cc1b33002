"""Wavelets of the lag: what they are, and that both ways to them give the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from gnomon.encodings.registry import encoding
from gnomon.encodings.relative import ricker
from gnomon.errors import EncodingError


def vectors(lags, dimension, scales):
    """p_t (..., dimension): scales 1, 2, 4, ... with shifts 0, 1, ... each."""
    shifts = dimension // scales
    x = [(lags - b) / 2.0**s for s in range(scales) for b in range(shifts)]
    return np.stack([-special.eval_hermitenorm(2, y) * np.exp(-(y**2) / 2) for y in x], axis=-1)


def test_wavelets_are_second_derivatives_of_gaussians():
    """The n-th derivative of e^(-x^2/2) is (-1)^n He_n(x) times it."""
    x = np.linspace(-12.0, 12.0, 1001)
    wanted = -special.eval_hermitenorm(2, x) * np.exp(-(x**2) / 2)
    np.testing.assert_allclose(ricker(x, xp=np), wanted, rtol=1e-12, atol=1e-16)


def test_a_wavelet_has_no_mean():
    """Sums over whole lags are integrals to many digits, where a wavelet is wide."""
    x = np.arange(-400, 401) / 16.0
    assert abs(ricker(x, xp=np).sum()) < 1e-12


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_logits_are_sums_over_the_vectors_of_pairs(step, rng):
    """At whole positions, where lags have a table, and at halves, where they have none."""
    made = encoding("wavelet", dimension=12, scales=3)
    q, k = rng.normal(size=(2, 3, 2, 9, 12))
    at_q, at_k = step * rng.integers(0, 30, size=9), step * rng.integers(0, 30, size=9)
    pairs = vectors(at_q[:, None] - at_k, 12, 3)
    wanted = np.einsum("...id,...jd->...ij", q, k) + np.einsum("...id,ijd->...ij", q, pairs)
    found = made.scores(q, k, at_q, at_k, scale=0.25)
    np.testing.assert_allclose(found, 0.25 * wanted, rtol=1e-12, atol=1e-12)


def test_code_that_can_not_see_positions_gives_the_same(rng):
    torch = pytest.importorskip("torch")
    made = encoding("wavelet", dimension=8, scales=4)
    q, k = (torch.asarray(x) for x in rng.normal(size=(2, 2, 9, 8)))
    at = torch.arange(9)
    hidden = at.double().requires_grad_()
    found = made.scores(q, k, hidden)
    torch.testing.assert_close(found.detach(), made.scores(q, k, at), rtol=1e-12, atol=1e-12)
    found.sum().backward()
    assert hidden.grad.abs().max() > 0


def test_far_lags_add_nothing(rng):
    made = encoding("wavelet", dimension=8, scales=4)
    q, k = rng.normal(size=(2, 1, 2, 8))
    far = made.scores(q, k, np.array([10_000, 1_000_000]), np.array([0, 1]))
    np.testing.assert_array_equal(far, q @ np.swapaxes(k, -1, -2))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"scales": 0}, r"scales is 0; pass a whole number from 1 on"),
        (
            {"dimension": 9},
            r"dimension is 9; pass a multiple of 8, every scale with as many shifts",
        ),
        ({"axes": 2}, r"the encoding 'wavelet' has positions on one axis; pass axes=1"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(given, sentence):
    with pytest.raises(EncodingError, match=sentence):
        encoding("wavelet", **{"dimension": 8, **given})
