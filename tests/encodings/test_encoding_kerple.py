"""KERPLE against its authors' formula and clamp, ALiBi, and what makes it a kernel.

The formula, the clamp at 0.01 and 2, and the starting values were read in ParallelKerpleLog and
ParallelKerplePower of github.com/chijames/KERPLE at 25be3d7; the code here is written anew.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.encodings.biases.kernels import KerpleLog, KerplePower
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

LAGS = [0, 1, 2, 7, 100, 4095]


def at_lags(made):
    """The bias of a query at the last position on keys at these lags before it: (heads, lags)."""
    return made.bias([4095], [4095 - lag for lag in LAGS])[:, 0]


def test_the_log_is_that_of_the_authors():
    scale, rate = (0.01, 1.3, 2.0), (1.0, 0.01, 0.4)
    found = at_lags(KerpleLog(heads=3, scale=scale, rate=rate))
    for head, (p, a) in enumerate(zip(scale, rate, strict=True)):
        wanted = [-max(p, 0.01) * math.log(1 + max(a, 0.01) * lag) for lag in LAGS]
        np.testing.assert_allclose(found[head], wanted, rtol=1e-14, atol=1e-16)


def test_the_power_is_that_of_the_authors():
    scale, exponent = (0.01, 0.5, 1.0), (2.0, 0.01, 0.7)
    found = at_lags(KerplePower(heads=3, scale=scale, exponent=exponent))
    for head, (a, p) in enumerate(zip(scale, exponent, strict=True)):
        power = min(max(p, 0.01), 2.0)
        wanted = [-a * math.pow(lag, power) for lag in LAGS]
        np.testing.assert_allclose(found[head], wanted, rtol=1e-14, atol=1e-16)


def test_the_first_power_is_symmetric_alibi():
    alibi = encoding("alibi", heads=4, symmetric=True)
    power = KerplePower(heads=4, scale=alibi.slopes, exponent=1.0)
    at = np.arange(-3, 60)
    np.testing.assert_allclose(power.bias(at), alibi.bias(at), rtol=1e-15)


@pytest.mark.parametrize("kind", [KerpleLog, KerplePower])
def test_penalties_are_negative_definite(kind, rng):
    """c^T B c >= 0 for every c that sums to 0: the centred matrix has no negative eigenvalue."""
    at = np.sort(rng.uniform(0, 300, size=40))
    for seed in range(3):
        for bias in kind(heads=3, seed=seed).bias(at):
            centred = bias - bias.mean(axis=0) - bias.mean(axis=1)[:, None] + bias.mean()
            values = np.linalg.eigvalsh(0.5 * (centred + centred.T))
            assert values.min() >= -1e-12 * values.max()


def test_an_exponent_past_two_would_not_be_negative_definite():
    """Why there is a bound: without it the law above fails, and plainly."""
    lags = np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))
    bias = -(lags**2.5)
    centred = bias - bias.mean(axis=0) - bias.mean(axis=1)[:, None] + bias.mean()
    assert np.linalg.eigvalsh(centred).min() < -1.0


@pytest.mark.parametrize(
    ("kind", "name", "most"),
    [(KerpleLog, "rate", 1.0), (KerpleLog, "scale", 2.0), (KerplePower, "exponent", 2.0)],
)
def test_training_starts_uniform_within_the_published_range(kind, name, most):
    drawn = np.array(getattr(kind(heads=4000, seed=7), name))
    assert drawn.min() == 0.01  # the authors' clamp, which some draws reach
    assert drawn.max() <= most
    sorted_draws, steps = np.sort(drawn) / most, (np.arange(4000) + 0.5) / 4000
    assert np.abs(sorted_draws - steps).max() < 1.63 / math.sqrt(4000)  # 1 % of Kolmogorov's law


def test_parameters_pushed_out_of_their_bounds_stay_within_and_keep_their_gradient():
    torch = pytest.importorskip("torch")
    layer = pytest.importorskip("gnomon.torch").layer
    made = layer(KerplePower(heads=2, scale=(0.02, 0.5), exponent=(0.02, 1.99)))
    steps = torch.optim.SGD(made.parameters(), lr=0.3)
    at = torch.arange(8)
    for sign in (1.0, -1.0, 1.0, -1.0):
        (sign * made(at).mean()).backward()
        assert all(p.grad.abs().min() > 0 for p in made.parameters())
        steps.step()
        steps.zero_grad()
        now = made.encoding
        assert min(now.scale) >= 0.0
        assert 0.0 <= min(now.exponent) <= max(now.exponent) <= 2.0
        np.testing.assert_allclose(now.bias(np.arange(8)), made(at).detach(), rtol=1e-6)
        assert (now.bias(np.arange(8)) <= 0).all()


def test_its_kernel_lift_has_no_negative_squares():
    at = np.arange(0, 200, 3)
    for made in (KerpleLog(heads=4), KerplePower(heads=4)):
        lifted = lift(made, at)
        wanted = np.sqrt(-2.0 * made.bias(at).mean(axis=0))
        assert lifted.negative_share == 0.0
        np.testing.assert_allclose(lifted.distances, wanted, rtol=1e-13)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (KerpleLog, {"scale": -1.0}, r"scale is -1\.0; pass one number from 0 on, or one for each"),
        (KerpleLog, {"rate": (1.0, 2.0, 3.0)}, r"rate is \[1\.0, 2\.0, 3\.0\]; .* the 2 heads"),
        (KerpleLog, {"rate": "fast"}, r"rate is 'fast'; pass one number from 0 on"),
        (KerplePower, {"exponent": 2.5}, r"exponent is 2\.5; pass one number from 0 to 2, or"),
        (KerplePower, {"exponent": math.nan}, r"exponent is nan; pass one number from 0 to 2"),
        (KerplePower, {"axes": 2}, r"'kerple-power' has positions on one axis; pass axes=1"),
    ],
)
def test_parameters_out_of_their_bounds_are_refused(kind, given, said):
    with pytest.raises(EncodingError, match=said):
        kind(heads=2, **given)


def test_the_slope_of_an_exponent_is_finite_at_lag_zero():
    """There 0^p has the logarithm of 0 in its slope; the bias is 0 whatever p is."""
    torch = pytest.importorskip("torch")
    from gnomon.torch import layer

    module = layer(KerplePower(heads=2, scale=0.5, exponent=0.7))
    module(torch.arange(3)).sum().backward()
    wanted = -0.5 * (2 * 2**0.7 * np.log(2.0))  # lags 0 and 1 add nothing
    np.testing.assert_allclose(module.exponent.grad.numpy(), [wanted] * 2, rtol=1e-6)
