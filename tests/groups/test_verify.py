"""Certificates find planted faults, and pass what is honest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from gnomon.conformance.verification import verify
from gnomon.errors import EncodingError, GroupError
from gnomon.groups.certificate import certify
from gnomon.groups.generator import Block, Generator
from gnomon.groups.logit_function import LogitFunction, modulo, of_maps
from gnomon.testing import assert_encoding

D = 8
FREQUENCIES = 100.0 ** (-2.0 * np.arange(D // 2) / D)


def rotary(x, at, *, turn="half", table="half"):
    """Rotary encoding by hand: the layout of the turn, and that of the table of cosines."""
    phases = np.asarray(at)[:, None] * FREQUENCIES
    phases = np.concatenate([phases] * 2, 1) if table == "half" else np.repeat(phases, 2, axis=1)
    if turn == "half":
        other = np.concatenate([-x[:, D // 2 :], x[:, : D // 2]], axis=1)
    else:
        other = np.stack([-x[:, 1::2], x[:, 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(phases) + other * np.sin(phases)


def brain_floats(at):
    """Positions held in bfloat16: eight bits of each are kept."""
    mantissa, exponent = np.frexp(at)
    return np.ldexp(np.round(mantissa * 256.0) / 256.0, exponent)


def certified(encode, other=None, **how):
    about = {name: how.pop(name) for name in ("causal", "whole") if name in how}
    return certify(of_maps(encode, other, dimension=D, name="it", **about), **how)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rotary_encoding_is_a_strict_group_of_turns(layout):
    found = certified(lambda x, at: rotary(x, at, turn=layout, table=layout))
    assert found.level == "L0"
    assert found.holds
    turns = [(one.kind, one.order) for one in found.structure.structure]
    assert turns == [("rotation", 1)] * 4
    frequencies = sorted(one.frequency for one in found.structure.structure)
    np.testing.assert_allclose(frequencies, sorted(FREQUENCIES), rtol=1e-6)


def test_the_table_of_one_layout_with_the_turn_of_the_other_is_not_relative():
    found = certified(lambda x, at: rotary(x, at, turn="half", table="interleaved"))
    assert found.level == "L6"
    assert "shift" in found.broken
    assert found.laws["shift"].residual > 0.1


def test_one_map_on_both_sides_of_a_jordan_block_keeps_the_group_law_and_breaks_shift():
    block = Generator([Block(decay=-0.01, order=2)] * (D // 2))
    carry = lambda x, at: np.einsum("nij,nj->ni", block.exp(-np.asarray(at) / 100), x)
    found = certified(carry)
    assert not found.laws["shift"].holds
    assert found.level == "L6"
    pair = certified(
        lambda x, at: np.einsum("nji,nj->ni", block.exp(np.asarray(at) / 100), x),
        carry,
        causal=True,
    )
    assert pair.level == "L0"
    assert pair.holds


@pytest.mark.parametrize(
    ("spoil", "laws"),
    [(np.round, {"shift", "continuity"}), (brain_floats, {"shift"}), (np.log1p, {"shift"})],
)
def test_positions_that_are_rounded_or_squeezed_are_not_relative(spoil, laws):
    found = certified(lambda x, at: rotary(x, spoil(np.asarray(at))))
    assert laws <= set(found.broken)
    assert found.level == "L6"


def test_a_clock_makes_what_it_drives_a_group_again():
    squeezed = of_maps(
        lambda x, at: rotary(x, 50 * np.log1p(at)), None, dimension=D, name="it", reach=100.0
    )
    assert certify(squeezed).level == "L6"
    found = certify(modulo(squeezed, lambda at: 50 * np.log1p(at)))
    assert found.level == "L3"
    assert found.holds


def test_a_stabilised_jordan_block_is_relative_and_no_group():
    x = np.kron(np.eye(D // 2), np.array([[-0.1, 0.3], [0.0, -0.1]]))

    def logits(q, k, t, s):
        lags = np.asarray(t)[:, None] - np.asarray(s)[None, :]
        squashed = lags / (1.0 + np.abs(lags) / 16.0)
        return np.einsum("ni,nmij,mj->nm", q, expm(squashed[..., None, None] * x), k)

    found = certify(LogitFunction(name="it", dimension=D, logits=logits, causal=True))
    assert found.laws["shift"].holds
    assert "group" in found.broken
    assert found.level == "L5"
    shown = found.to_dict()["laws"]["rank"]
    assert shown["residual"] is not None or shown["reason"]


def test_frequencies_that_follow_the_length_break_the_cache():
    def dynamic(q, k, t, s):
        longest = max(np.max(t), np.max(s), 64.0)
        stretch = (longest / 64.0) ** (-np.arange(D // 2) / D)
        turned = []
        for x, at in ((q, t), (k, s)):
            phases = np.asarray(at)[:, None] * FREQUENCIES * stretch
            a, b = x[:, : D // 2], x[:, D // 2 :]
            cosine, sine = np.cos(phases), np.sin(phases)
            turned.append(np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1))
        return turned[0] @ turned[1].T

    found = certify(LogitFunction(name="it", dimension=D, logits=dynamic))
    assert "cache" in found.broken


def test_magnitudes_that_are_not_linear_are_a_feature_map():
    found = certified(lambda x, at: rotary(np.log1p(np.exp(x)), at), promised="L2")
    assert (found.level, found.holds) == ("L2", True)
    assert not found.laws["linearity"].holds


def test_a_sinusoid_that_is_added_is_not_relative():
    def added(x, at):
        phases = np.asarray(at)[:, None] * FREQUENCIES
        return x + np.concatenate([np.sin(phases), np.cos(phases)], axis=1)

    found = certified(added)
    assert found.level == "L6"
    assert found.laws["affine"].holds


@pytest.mark.parametrize(
    ("bias", "level"),
    [
        (lambda lag: -0.5 * lag, "L1"),
        (lambda lag: 0.3 * np.cos(0.2 * lag) - 0.1 * lag, "L1"),
        (lambda lag: -np.log1p(0.7 * np.maximum(lag, 0.0)), "L5"),
        (lambda lag: -np.minimum(lag, 40.0), "L5"),
        (lambda lag: np.exp(-((lag / 20.0) ** 2)), "L5"),
    ],
)
def test_a_bias_of_the_lag_is_augmented_if_its_rank_is_finite(bias, level):
    def logits(q, k, t, s):
        return q @ k.T + bias(np.asarray(t)[:, None] - np.asarray(s)[None, :])

    found = certify(
        LogitFunction(name="it", dimension=D, logits=logits, causal=True), promised=level
    )
    assert (found.level, found.holds) == (level, True)


def test_a_slope_on_both_sides_has_a_kink_and_no_finite_rank():
    def logits(q, k, t, s):
        return q @ k.T - 0.5 * np.abs(np.asarray(t)[:, None] - np.asarray(s)[None, :])

    assert (
        certify(LogitFunction(name="it", dimension=D, logits=logits), promised="L5").level == "L5"
    )


def test_phases_in_float32_are_lost_far_from_the_origin():
    """At position 131,072 float32 has 2^-7 of a radian left."""

    def single(x, at):
        phases = np.asarray(at, np.float32)[:, None] * FREQUENCIES.astype(np.float32)
        a, b = x[:, : D // 2], x[:, D // 2 :]
        cosine, sine = np.cos(phases), np.sin(phases)
        return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)

    def careless(x, at):
        return single(x, at) if x.dtype == np.float32 else rotary(x, at)

    assert certified(careless, promised=["dtype"]).broken == ("dtype",)
    assert certified(rotary, promised=["dtype"]).holds


def test_axes_that_do_not_commute_are_not_relative_and_are_named():
    skew = [m - m.T for m in np.random.default_rng(0).normal(size=(2, D, D))]

    def encode(x, at):
        carried = expm(np.tensordot(np.asarray(at), np.stack(skew), axes=1))
        return np.einsum("nji,nj->ni", carried, x)

    subject = of_maps(encode, None, dimension=D, name="it", axes=2, reach=4.0)
    found = certify(subject, promised=["commutators"])
    assert found.broken == ("commutators",)
    assert found.level == "L6"


def test_what_softmax_does_not_see_is_told_apart():
    """ALiBi as BLOOM has it: the slope times the position of the key alone."""

    def logits(q, k, t, s):
        return q @ k.T + 0.5 * np.asarray(s)[None, :]

    found = certify(
        LogitFunction(name="it", dimension=D, logits=logits, causal=True), promised=["gauge"]
    )
    assert found.holds
    assert not found.laws["shift"].holds


def random_answers(q, k, *_):
    return np.random.default_rng().normal(size=(len(q), len(k)))


REFUSED = [
    (random_answers, {}, r"it gives other logits when it is asked again; fix its seed"),
    (lambda q, *_: q, {}, r"it gave an array of shape \(3, 8\) for 3 queries and 3 keys"),
    (lambda q, k, *_: np.nan * (q @ k.T), {}, r"it gives NaN at positions up to 4096"),
    (lambda q, k, *_: q @ k.T, {"promised": "shft"}, r"There is no law 'shft': did you mean"),
]


@pytest.mark.parametrize(("logits", "how", "sentence"), REFUSED)
def test_what_can_not_be_certified_is_refused_in_words(logits, how, sentence):
    with pytest.raises(GroupError, match=sentence):
        certify(LogitFunction(name="it", dimension=D, logits=logits), **how)


def test_maps_that_change_the_number_of_vectors_are_refused():
    with pytest.raises(GroupError, match=r"made \(1, 8\) of queries of shape \(3, 8\); a map must"):
        certified(lambda x, _: x[:1])
    with pytest.raises(GroupError, match=r"queries of dimension 8 and keys of dimension 4; both"):
        certified(lambda x, _: x, lambda x, _: x[:, :4])


def test_what_is_for_functions_is_refused_beside_an_encoding():
    with pytest.raises(
        EncodingError, match="dimension is for functions, and an encoding or a mode"
    ):
        verify("rope", dimension=8)
    with pytest.raises(EncodingError, match="A int cannot be verified; pass an encoding, its na"):
        verify(3)
    with pytest.raises(EncodingError, match="A function is verified on vectors; pass their dim"):
        verify(rotary)


def test_a_clock_that_stands_still_is_refused():
    subject = of_maps(rotary, None, dimension=D)
    with pytest.raises(GroupError, match=r"The clock does not rise after position 0; pass one"):
        modulo(subject, np.zeros_like)


def test_other_projects_fail_with_the_whole_certificate():
    assert assert_encoding(rotary, dimension=D, promised="L0").level == "L0 strict group"
    with pytest.raises(AssertionError, match=r"(?s)^<lambda>: L6 not shift.*broken: shift"):
        assert_encoding(lambda x, at: rotary(x, np.log1p(at)), dimension=D)
