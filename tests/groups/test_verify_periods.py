"""Certificates of what has periods: of 2 and of 1 position, on whole positions and on real ones.

Truth: turns by planted frequencies, and tables that repeat.
"""

from __future__ import annotations

import numpy as np
import pytest

import gnomon

PI = np.pi


def turned(frequencies):
    rates = np.asarray(frequencies, dtype=float)

    def encode(x, at):
        phases = np.asarray(at, dtype=float)[:, None] * rates
        a, b = x[:, : len(rates)], x[:, len(rates) :]
        cosine, sine = np.cos(phases), np.sin(phases)
        return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)

    return encode


def verified(frequencies, **how):
    return gnomon.verify(turned(frequencies), dimension=2 * len(frequencies), **how)


def lags(t, s):
    return np.asarray(t, dtype=float)[:, None] - np.asarray(s, dtype=float)[None, :]


SIGNS = {  # frequencies, the rank of exp(tX) at real lags, and at whole ones
    "periods 2 and 4": ([PI, PI / 2], 4, 3),
    "periods 2, 4, 8 and 16": (2 * PI / 2.0 ** np.arange(1, 5), 8, 7),
    "period 2, and a plane that rests": ([PI, 0.0], 3, 2),
    "period 2, twice": ([PI, PI], 2, 1),
    "period 2, beside a slow turn": ([PI, 0.001], 4, 3),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("which", SIGNS)
def test_a_turn_by_pi_is_a_group_on_whole_and_on_real_positions(which, seed, causal):
    frequencies, real, whole = SIGNS[which]
    for how, rank in (({}, real), ({"whole": True}, whole)):
        found = verified(frequencies, seed=seed, causal=causal, **how)
        assert (found.level, found.broken, found.rank) == ("L0 strict group", (), rank)
        planes = sorted(
            one.frequency for one in found.structure.structure for _ in range(one.count)
        )
        turning = [w for w in planes if w > 0]
        assert turning == pytest.approx(sorted(w for w in frequencies if w > 0), abs=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_an_alternating_sign_is_a_group_of_rank_1(dimension):
    sign = lambda x, at: x * (-1.0) ** np.rint(at)[:, None]
    found = gnomon.verify(sign, dimension=dimension, whole=True)
    assert (found.level, found.rank, found.broken) == ("L0 strict group", 1, ())


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("period", [2, 3, 4, 5, 6, 7, 12])
def test_a_bias_of_any_period_has_its_rank(period, causal):
    table = np.random.default_rng(0).normal(size=period)

    def logits(q, k, t, s):
        return q @ k.T + table[np.rint(lags(t, s)).astype(int) % period]

    found = gnomon.verify(logits, logits=True, dimension=4, whole=True, causal=causal)
    assert (found.level, found.rank) == ("L1 augmented group", period)
    assert gnomon.realise(table[np.arange(200) % period]).rank == period


def test_a_table_that_ends_still_has_no_rank():
    table = np.append(np.random.default_rng(0).normal(size=11), 0.0)

    def logits(q, k, t, s):
        return q @ k.T + table[np.clip(np.rint(lags(t, s)).astype(int), 0, 11)]

    found = gnomon.verify(logits, logits=True, dimension=4, whole=True, causal=True)
    assert (found.level, found.rank) == ("L5 relative, not separable", None)


@pytest.mark.parametrize("frequencies", [[PI], [2 * PI], [PI, 0.3], [2 * PI, 2.0]])
def test_a_bias_that_turns_by_pi_or_more_has_all_its_rank_at_real_lags(frequencies):
    def logits(q, k, t, s):
        return q @ k.T + sum(np.cos(w * lags(t, s)) for w in frequencies)

    found = gnomon.verify(logits, logits=True, dimension=4)
    assert (found.level, found.rank) == ("L1 augmented group", 1 + 2 * len(frequencies))


@pytest.mark.parametrize("reach", [8, 64, 4096])
@pytest.mark.parametrize(
    "frequencies",
    [[2 * PI], [4 * PI], [0.5 + 2 * PI], [46.133439], [189.272114], [7.0, 0.1], [2 * PI, 4 * PI]],
)
def test_frequencies_at_real_positions_are_those_that_turn_not_those_of_whole_lags(
    frequencies, reach
):
    found = verified(frequencies, reach=reach)
    read = [one for one in found.structure.structure if one.frequency]
    assert (found.level, found.rank) == ("L0 strict group", 2 * len(frequencies))
    for one, planted in zip(read, sorted(frequencies, reverse=True), strict=True):
        assert abs(one.frequency - planted) <= one.error + 1e-12 * planted
        assert one.error <= 1e-9 * planted


@pytest.mark.parametrize("dimension", [16, 64])
def test_one_fast_plane_in_a_mixed_basis_is_read_with_its_whole_turns(dimension):
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(dimension, dimension)))[0]
    rates = np.append(2 * PI + 0.3, 0.01 * np.arange(1, dimension // 2))
    encode = turned(rates)
    found = gnomon.verify(lambda x, at: encode(x @ basis, at) @ basis.T, dimension=dimension)
    read = [one.frequency for one in found.structure.structure for _ in range(one.count)]
    assert read == pytest.approx(sorted(rates, reverse=True), rel=1e-6)


def test_a_damped_turn_by_more_than_2_pi_is_read_with_its_whole_turns():
    encode = turned([2 * PI])
    fade = lambda at: np.exp(-0.01 * np.asarray(at))[:, None]
    found = gnomon.verify(
        lambda x, at: encode(x, at) * fade(at),
        lambda x, at: encode(x, at) / fade(at),
        dimension=2,
        causal=True,
        reach=64,
    )
    (one,) = found.structure.structure
    assert (one.kind, one.decay, one.frequency) == (
        "damped",
        pytest.approx(-0.01),
        pytest.approx(2 * PI),
    )


def test_the_generator_of_a_whole_turn_is_certified_as_what_it_is():
    from gnomon.groups import Block, Generator

    found = gnomon.verify(gnomon.encoding(Generator([Block(frequency=2 * PI)])))
    assert found.structure.named == "a rotation by 6.28319 radians per position"


@pytest.mark.parametrize("frequencies", [[4.0, 2.0], [3.0, 1.0], [0.25, 0.125], [0.375, 0.3125]])
def test_short_numbers_are_not_called_rounded(frequencies):
    assert "rounded" not in verified(frequencies).structure.named
