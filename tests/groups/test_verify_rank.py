"""The law of rank: every rotary encoding keeps it, whatever its size; what has no rank does not."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon

WIDE = pytest.mark.wide
SIZES = [2, 6, 48, 64, 128, 256]
BASES = [10.0, 1e4, 1e8]


def rotary(dimension, base, dtype=np.float64):
    pairs = dimension // 2
    rates = (base ** (-np.arange(pairs) / pairs)).astype(dtype)

    def encode(x, at):
        x, phases = np.asarray(x).astype(dtype), np.asarray(at).astype(dtype)[:, None] * rates
        a, b = x[:, :pairs], x[:, pairs:]
        cosine, sine = np.cos(phases), np.sin(phases)
        return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)

    return encode


def logits_of(dimension, bias=lambda lag: 0.0 * lag, base=1e4):
    encode = rotary(dimension, base)

    def logits(q, k, t, s):
        return encode(q, t) @ encode(k, s).T + bias(t[:, None] - s[None, :])

    return logits


def every(sizes, more):
    return [*sizes, *(pytest.param(d, marks=WIDE) for d in more if d not in sizes)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", every(SIZES, range(2, 258, 2)))
def test_every_rotary_encoding_has_as_many_modes_as_coordinates(dimension, dtype):
    for base in BASES:
        found = gnomon.verify(rotary(dimension, base, dtype), dimension=dimension, whole=True)
        assert found.laws["rank"].holds
        assert found.rank == dimension


@pytest.mark.parametrize("dimension", [8, 64])
def test_a_slope_beside_a_rotation_adds_two_modes(dimension):
    found = gnomon.verify(
        logits_of(dimension, lambda lag: -0.1 * lag), dimension=dimension, logits=True
    )
    assert (found.level, found.rank) == ("L1 augmented group", dimension + 2)


BROKEN = {
    "a logarithm": lambda lag: -np.log1p(np.abs(lag)),
    "a distance": lambda lag: -0.1 * np.abs(lag),
    "a table": lambda lag: np.where(np.round(lag) == 37.0, 1.0, 0.0),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("dimension", [8, 64])
def test_a_bias_of_no_finite_rank_beside_a_rotation_has_none(name, dimension):
    found = gnomon.verify(logits_of(dimension, BROKEN[name]), dimension=dimension, logits=True)
    assert not found.laws["rank"].holds
    assert found.rank is None


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "factor",
    [
        lambda lag: np.where(np.abs(lag) < 150.0, 1.0, 0.5),
        lambda lag: np.exp(-0.02 * np.abs(lag)),
        lambda lag: 1.0 / (1.0 + 0.1 * np.abs(lag)),
        lambda lag: np.where(np.abs(np.abs(lag) - 180.0) < 1.0, 0.5, 1.0),
    ],
)
def test_a_rotation_whose_logits_are_cut_or_fade_by_distance_has_no_finite_rank(factor, whole):
    plain = logits_of(64)
    cut = lambda q, k, t, s: plain(q, k, t, s) * factor(t[:, None] - s[None, :])
    found = gnomon.verify(cut, dimension=64, logits=True, whole=whole)
    assert not found.laws["rank"].holds
