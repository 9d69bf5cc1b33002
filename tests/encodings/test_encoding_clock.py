"""A learned clock: identity at the start, a broken line, exact at timestamps, found by training."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon import oracle
from gnomon.encodings.registry import encoding
from gnomon.encodings.wrappers import Clock
from gnomon.errors import EncodingError

INNER = {
    "rope": {"name": "rope", "dimension": 8},
    "alibi": {"name": "alibi", "heads": 2},
    "xpos": {"name": "xpos", "dimension": 8},
    "kerple-log": {"name": "kerple-log", "heads": 2},
    "jordan": {"name": "jordan", "dimension": 8},
}
START = 1.7e9
EVENTS = START + np.array([0.0, 0.125, 1.5, 61.75, 3600.5, 86399.25, 2.5e6, 3.1e7 + 0.375])


def made(inner="rope", knots=(0.0, 8.0, 32.0, 100.0), **more):
    return encoding("clock", inner=INNER[inner], knots=knots, **more)


@pytest.mark.parametrize("inner", INNER)
def test_without_paces_it_is_the_inner_encoding(inner, rng):
    """Knots from 0 on: not a bit differs. Another first knot moves the origin, and no lag."""
    parameters = {key: value for key, value in INNER[inner].items() if key != "name"}
    plain = encoding(INNER[inner]["name"], **parameters)
    at = rng.uniform(-20.0, 200.0, size=12)
    q, k = rng.normal(size=(2, 2, 12, 8))
    wanted = plain.scores(q, k, at)
    np.testing.assert_array_equal(made(inner).scores(q, k, at), wanted)
    moved = made(inner, knots=(-3.0, 50.0)).scores(q, k, at)
    np.testing.assert_allclose(moved, wanted, rtol=1e-11, atol=1e-11)


def test_the_clock_is_the_interpolation_of_its_knots(rng):
    """Heights of the knots by hand; outside of them the end pieces go on."""
    knots, paces = np.array([-2.0, 3.0, 4.5, 60.0]), np.array([0.5, -1.5, 3.0])
    slopes = 2.0**-12 + (1.0 - 2.0**-12) * (1.0 + paces / 2.0) ** 2
    heights = np.append(0.0, np.cumsum(slopes * np.diff(knots)))
    which = made(knots=knots, paces=paces)
    inside = rng.uniform(-2.0, 60.0, size=200)
    np.testing.assert_allclose(
        which.clock(inside), np.interp(inside, knots, heights), rtol=1e-13, atol=1e-13
    )
    np.testing.assert_allclose(
        which.clock([-12.0, 70.0]), [-10 * slopes[0], heights[-1] + 10 * slopes[-1]]
    )
    np.testing.assert_allclose(which.slopes, slopes, rtol=1e-15)


def test_whatever_the_paces_the_clock_rises_and_can_be_turned_back(rng):
    for _ in range(20):
        which = made(paces=rng.normal(size=3, scale=4.0))
        at = np.sort(rng.uniform(-50.0, 300.0, size=100))
        shown = which.clock(at)
        assert (np.diff(shown) > 0.0).all()
        np.testing.assert_allclose(which.inverse(shown), at, rtol=1e-9, atol=1e-9)
    assert made(paces=[-2.0] * 3).slopes.min() == 2.0**-12


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_timestamps_keep_their_digits(library, rng):
    """Biases over seconds since 1970: the clock's lag from 60 digits; float32 alone is lost."""
    pytest.importorskip("mpmath")
    inner = {"name": "decay-time", "half_lives": (1.0, 3600.0)}
    knots = (START, START + 4000.5, START + 1e6, START + 4e7)
    which = encoding("clock", inner=inner, knots=knots, paces=(0.5, -0.25, 0.125))
    wanted = [
        [[float(oracle.bias(which, i, j, head=h)) for j in EVENTS] for i in EVENTS] for h in (0, 1)
    ]
    found = in_library(library, which)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    rounded = which.bias(EVENTS.astype(np.float32).astype(np.float64))
    assert np.abs(rounded - wanted).max() > 1.0


def in_library(library, which):
    """Biases at the timestamps, which each library takes without losing a digit."""
    if library == "jax":
        split, jax = pytest.importorskip("gnomon.jax").split, pytest.importorskip("jax")
        return np.asarray(jax.jit(which.bias)(split(EVENTS)), dtype=np.float64)
    given = EVENTS if library == "numpy" else pytest.importorskip("torch").asarray(EVENTS)
    return np.asarray(which.bias(given), dtype=np.float64)


def test_a_turn_in_the_time_of_the_clock_is_that_of_the_oracle_at_timestamps(rng):
    pytest.importorskip("mpmath")
    split = pytest.importorskip("gnomon.jax").split
    jax = pytest.importorskip("jax")
    inner = {"name": "rope-time", "dimension": 4, "shortest": 60.0, "longest": 86400.0}
    which = encoding("clock", inner=inner, knots=(START, START + 1e6), paces=(0.375,))
    x = rng.normal(size=(len(EVENTS), 4)).astype(np.float32)
    wanted = [
        [float(v) for v in oracle.apply(which, row.astype(float), at)]
        for row, at in zip(x, EVENTS, strict=True)
    ]
    found, _ = which.transform(x.astype(float), x.astype(float), EVENTS)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7)
    narrow, _ = jax.jit(which.transform)(x, x, split(EVENTS))
    np.testing.assert_allclose(narrow, wanted, rtol=0, atol=1e-6 * np.abs(x).max())


def test_times_that_int32_does_not_hold_are_nan_without_float64():
    split = pytest.importorskip("gnomon.jax").split
    which = encoding("clock", inner={"name": "alibi", "slopes": (1.0,)}, knots=(0, 1), paces=(4.0,))
    found = np.asarray(pytest.importorskip("jax").jit(which.bias)(split(np.array([0.0, 1e8, 1e9]))))
    assert np.isfinite(found[0, :2, :2]).all()
    assert np.isnan(found[0, 2]).all()


def test_training_finds_a_planted_clock(rng):
    """Biases of log-time teach a clock: from the identity to the best broken line there is.

    A bias is linear in the clock's heights at its knots, so the best ones are least squares.
    """
    torch = pytest.importorskip("torch")
    knots = np.array([0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0])
    at = np.sort(2.0 ** rng.uniform(0.0, 6.0, size=(64, 12)) - 1.0, axis=1)
    wanted = -10.0 * (np.log2(1.0 + at)[:, :, None] - np.log2(1.0 + at)[:, None, :])
    hats = np.stack([np.interp(at, knots, row) for row in np.eye(7)], axis=-1)
    design = -0.5 * (hats[:, :, None] - hats[:, None, :]).reshape(-1, 7)
    heights = np.linalg.lstsq(design, wanted.ravel(), rcond=None)[0]
    least = np.mean((design @ heights - wanted.ravel()) ** 2)

    which = encoding("clock", inner={"name": "alibi", "slopes": (0.5,)}, knots=knots)
    layer = gnomon.torch.layer(which, dtype=torch.float64)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.3)
    places, target, losses = torch.asarray(at), torch.asarray(wanted), []
    for step in range(200):
        optimiser.param_groups[0]["lr"] = 0.3 * (1.0 - step / 200)
        optimiser.zero_grad()
        loss = (layer(places)[:, 0] - target).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 100.0 * least
    assert losses[-1] < 1.001 * least
    learned = layer.encoding
    np.testing.assert_allclose(learned.clock(knots), heights - heights[0], rtol=0.02)
    assert np.abs(learned.clock(knots) - 20.0 * np.log2(1.0 + knots)).max() < 2.5
    assert gnomon.verify(learned).level == "L3 group with a learned clock"


def test_paces_have_the_same_slopes_in_torch_and_jax_as_by_differences():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    which = made("alibi", paces=(0.5, -0.25, 0.125))
    at = np.array([-4.0, 2.5, 9.0, 40.0, 150.0])

    weights = np.random.default_rng(3).normal(size=(2, 5, 5))

    def total(paces):
        return (weights * which.with_numbers(paces=paces).bias(at)).sum()

    steps = 1e-6 * np.eye(3)
    wanted = [(total(which.paces + h) - total(which.paces - h)) / 2e-6 for h in steps]
    layer = gnomon.torch.layer(which, dtype=torch.float64)
    (torch.asarray(weights) * layer(torch.asarray(at))).sum().backward()
    np.testing.assert_allclose(layer.paces.grad, wanted, rtol=1e-6)
    leaves = gnomon.jax.layer(which)
    found = jax.jit(jax.grad(lambda one: (weights * one.bias(at)).sum()))(leaves).numbers["paces"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_the_certificate_is_that_of_the_inner_encoding_in_the_time_of_the_clock():
    found = gnomon.verify(made("alibi", paces=(0.5, -0.25, 0.125)))
    assert (found.level, found.broken) == ("L3 group with a learned clock", ())
    assert found.rank == 2
    turned = gnomon.verify(made("rope", paces=(0.5, -0.25, 0.125)))
    assert turned.structure.named.startswith("rotary encoding (RoPE), 4 frequencies")
    log = gnomon.verify(made("kerple-log", paces=(0.5, -0.25, 0.125)))
    assert (log.level, log.broken) == ("L6 not shift invariant", ())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inner": {"name": "sinusoidal", "dimension": 8}}, "'sinusoidal', which does not depend"),
        ({"inner": {"name": "fox", "heads": 1, "dimension": 8}}, "'fox', which counts tokens in"),
        ({"inner": {"name": "nope"}}, "'nope', which does not depend on lags; pass a relative"),
        ({"inner": {"name": "rope", "dimension": 8, "axes": 2}}, "'rope' has positions on one ax"),
        ({"inner": 3}, "inner is 3; pass an encoding, or its parameters with its name"),
        ({"knots": (1.0,)}, r"knots are \[1.0\]; pass two positions or more, each above the one"),
        ({"knots": (1.0, 1.0)}, r"knots are \[1.0, 1.0\]; pass two positions or more, each above"),
        ({"knots": (1.0, np.nan)}, r"knots holds nan at \[1\]; pass finite numbers of shape"),
        ({"paces": (1.0,)}, r"paces has shape \(1,\); pass finite numbers of shape \(2,\)"),
        ({"axes": 2}, "'clock' has positions on one axis; pass axes=1"),
    ],
)  # fmt: skip
def test_clocks_that_make_no_sense_are_refused(given, said):
    with pytest.raises(EncodingError, match=said):
        encoding("clock", **{"inner": INNER["rope"], "knots": (0.0, 1.0, 2.0), **given})


def test_a_clock_around_a_clock_is_refused():
    with pytest.raises(EncodingError, match="'clock', which does not depend on lags; pass a rela"):
        Clock(inner=made(), knots=(0, 1))
