"""Hyperbolic rotary encoding: boosts as published, whole exponentials, and what cannot grow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def damped(made):
    """Dampings of all pairs: the mean of the two rates of each, with the sign changed."""
    return -made.rates.reshape(-1, 2).mean(axis=1)


@pytest.mark.parametrize("damping", ["common", "own"])
def test_logits_are_those_of_the_exponential_of_the_generator(damping, rng):
    made = encoding("rope-hyperbolic", dimension=6, base=100.0, excess=0.03, damping=damping)
    x = block_diag(
        *([[-a, b], [b, -a]] for a, b in zip(damped(made), made.rapidities, strict=True))
    )
    q, k = rng.normal(size=(2, 5, 6))
    at = np.array([0.0, 0.5, 2.0, 3.0, 7.0])
    found = made.scores(q, k, at)
    for i, t in enumerate(at):
        for j, s in enumerate(at[: i + 1]):
            wanted = q[i] @ expm((t - s) * x) @ k[j]
            np.testing.assert_allclose(found[i, j], wanted, rtol=1e-11, atol=1e-13)
        assert np.isneginf(found[i, i + 1 :]).all()


def test_transformed_vectors_are_those_of_the_published_formula(rng):
    """e^(-at) B(bt) on queries, e^(as) B(-bs) on keys, one damping above every rapidity."""
    made = encoding("rope-hyperbolic", dimension=4, base=100.0, excess=0.2)
    q, k = rng.normal(size=(2, 4, 4))
    at = np.array([0.0, 1.0, 2.5, 4.0])
    left, right = made.transform(q, k, at)
    a, b = 1.2, np.array([1.0, 0.1])
    p = at[:, None] * b
    for x, sign, found in ((q, 1.0, left), (k, -1.0, right)):
        even, odd = x[:, 0::2], x[:, 1::2]
        cosh, sinh = np.cosh(p), sign * np.sinh(p)
        pair = [even * cosh + odd * sinh, even * sinh + odd * cosh]
        wanted = np.stack(pair, axis=-1).reshape(4, 4) * np.exp(-sign * a * at)[:, None]
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("value", [-1e5, 0.0, 1e5])
@pytest.mark.parametrize("damping", ["common", "own"])
def test_whatever_training_reaches_decays(value, damping, rng):
    made = encoding("rope-hyperbolic", dimension=8, damping=damping)
    moved = made.with_numbers(
        rapidities=rng.normal(scale=30.0, size=4),
        excesses=np.full(made.numbers["excesses"].shape, value),
    )
    assert (moved.rates < 0.0).all()


def test_scores_in_float32_equal_sums_in_float64_at_20000_positions(rng):
    n = 20_000
    made = encoding("rope-hyperbolic", dimension=4, base=1e6, excess=1e-3, damping="own")
    q, k = rng.normal(size=(2, n, 4)).astype(np.float32)
    rows = np.array([0, 300, n - 1])
    found = made.scores(q[rows], k, rows, np.arange(n))
    light = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    u, v = ((x.astype(float).reshape(-1, 2, 2) @ light).reshape(-1, 4) for x in (q[rows], k))
    lags = (rows[:, None] - np.arange(n)).astype(float)
    ages = np.maximum(lags, 0.0)
    wanted = sum(np.exp(r * ages) * np.outer(u[:, c], v[:, c]) for c, r in enumerate(made.rates))
    later = lags < 0
    assert np.isneginf(found[later]).all()
    assert np.abs(found - wanted)[~later].max() <= 1e-5 * np.abs(wanted[~later]).max()


def test_what_would_grow_is_refused_in_words():
    with pytest.raises(EncodingError, match=r"excess is 0\.0; pass a finite number above 1e-06"):
        encoding("rope-hyperbolic", dimension=4, excess=0.0)
    with pytest.raises(EncodingError, match=r"damping is 'none'; pass one of: common, own"):
        encoding("rope-hyperbolic", dimension=4, damping="none")
