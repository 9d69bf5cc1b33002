"""Certificates in narrow types: honest functions pass, faults are not taken for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError, GroupError

D = 8
FREQUENCIES = 10000.0 ** (-np.arange(D // 2) / (D // 2))


def rotary(x, at, *, dtype=np.float64, table=None, layout="half"):
    """Rotary encoding by hand, computed in a type, its cosines perhaps in a narrower one."""
    x, at = np.asarray(x).astype(dtype), np.asarray(at).astype(dtype)
    phases = at[:, None] * FREQUENCIES.astype(dtype)
    phases = np.concatenate([phases] * 2, 1) if layout == "half" else np.repeat(phases, 2, axis=1)
    turned = np.concatenate([-x[:, D // 2 :], x[:, : D // 2]], axis=1)
    cosine, sine = np.cos(phases), np.sin(phases)
    if table is not None:
        cosine, sine = table(cosine), table(sine)
    return x * cosine + turned * sine


def brain_floats(x):
    """What bfloat16 leaves: eight bits of each number."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 256.0) / 256.0, exponent)


def single(x, at):
    return rotary(x, at, dtype=np.float32)


def widened(x, at):
    return single(x, at).astype(np.float64)


def phases_only(x, at):
    """Vectors in float64, phases in float32, as torch does with a buffer of float32."""
    phases = np.asarray(at).astype(np.float32)[:, None] * FREQUENCIES.astype(np.float32)
    a, b = x[:, : D // 2], x[:, D // 2 :]
    cosine, sine = np.cos(phases), np.sin(phases)
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)


@pytest.mark.parametrize("encode", [single, widened, phases_only])
def test_honest_float32_is_a_group_and_named(encode):
    """The bound by hand: phases up to 4096 err by half a unit, 2^-13, on either side."""
    found = gnomon.verify(encode, dimension=D)
    assert (found.level, found.holds) == ("L0 strict group", True)
    assert found.structure.named == "rotary encoding (RoPE), 4 frequencies, base 10000"
    assert found.laws["boundedness"].holds
    assert 1e-8 < found.laws["shift"].residual < 2.0**-10
    assert found.laws["shift"].tolerance < 0.05


def test_honest_jax_is_a_group_and_named():
    jnp = pytest.importorskip("jax.numpy")

    def encode(x, at):
        phases = jnp.asarray(at)[:, None] * jnp.asarray(FREQUENCIES)
        a, b = jnp.asarray(x[:, : D // 2]), jnp.asarray(x[:, D // 2 :])
        cosine, sine = jnp.cos(phases), jnp.sin(phases)
        return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)

    assert encode(np.zeros((1, D)), np.zeros(1)).dtype == np.float32
    found = gnomon.verify(encode, dimension=D)
    assert (found.level, found.holds) == ("L0 strict group", True)


@pytest.mark.parametrize(
    "encode",
    [
        lambda x, at: rotary(x, at, dtype=np.float32, layout="interleaved"),
        lambda x, at: rotary(x, brain_floats(at), dtype=np.float32),
        lambda x, at: rotary(x, np.round(at), dtype=np.float32),
        lambda x, at: rotary(x, at, dtype=np.float32, table=brain_floats),
        lambda x, at: rotary(x, at, table=brain_floats),
        lambda x, at: rotary(x, np.minimum(at, 3000.0), dtype=np.float32),
    ],
)
def test_faults_are_not_taken_for_rounding(encode):
    found = gnomon.verify(encode, dimension=D)
    assert found.level == "L6 not shift invariant"
    assert "shift" in found.broken


def test_float64_is_held_to_its_own_rounding():
    """A slow turn moves by less than float64 can show: that is no sign of float32."""
    slow = gnomon.verify(lambda x, at: rotary(x, 1e-8 * np.asarray(at)), dimension=D)
    assert slow.laws["shift"].tolerance == 1e-9
    assert gnomon.verify(rotary, dimension=D).laws["shift"].tolerance == 1e-9


def test_a_reach_that_rounding_hides_is_cut_and_said():
    found = gnomon.verify(single, dimension=D, reach=1e6)
    assert found.reach < 2e5
    assert found.laws["shift"].tolerance <= 0.05
    assert "of 1e+06: further away the rounding of float32 hides them" in str(found.warnings)
    exact = gnomon.verify(rotary, dimension=D, reach=1e6)
    assert (exact.reach, exact.warnings) == (1e6, ())


def test_the_tolerance_decides():
    assert not gnomon.verify(single, dimension=D, tolerance=1e-7).laws["shift"].holds
    bent = lambda x, at: rotary(x, at) * (1.0 + 1e-5 * np.sin(np.asarray(at)))[:, None]
    assert gnomon.verify(bent, dimension=D).level == "L6 not shift invariant"
    found = gnomon.verify(bent, dimension=D, tolerance=1e-3)
    assert (found.level, found.holds) == ("L0 strict group", True)


REFUSED = [
    ({"tolerance": 0}, r"tolerance is 0; pass a share of the largest logit between 1e-15 and 0"),
    ({"tolerance": 0.5}, r"tolerance is 0\.5; pass a share of the largest logit"),
    ({"reech": 3}, r"verify has no argument 'reech': did you mean 'reach'\? Known: axes, causal"),
    ({"reach": 2.0}, r"reach is 2\.0; pass the largest position, 8 or more"),
    ({"axes": 0}, r"axes is 0; pass a whole number from 1 on"),
    ({"dimension": 0}, r"dimension is 0; pass a whole number from 1 on"),
    ({"logits": True, "keys": rotary}, r"A function of logits takes queries and keys; leave the"),
]


@pytest.mark.parametrize(("how", "said"), REFUSED)
def test_what_can_not_be_asked_gets_a_sentence(how, said):
    with pytest.raises((EncodingError, GroupError), match=said):
        gnomon.verify(rotary, **{"dimension": D, **how})


def test_zeros_are_refused_and_what_has_no_positions_is_said():
    with pytest.raises(GroupError, match="gives 0 for every query and key, so there is nothing po"):
        gnomon.verify(lambda x, _: 0.0 * x, dimension=D)
    for plain in (lambda x, _: x, lambda x, _: x[:, :2], lambda x, _: np.concatenate([x, x], 1)):
        found = gnomon.verify(plain, dimension=D)
        assert found.warnings[0] == "positions change no logit: there is nothing positional in it."
    assert gnomon.verify(rotary, dimension=D).warnings == ()


def test_a_bias_that_ends_early_is_positional():
    """Beyond lag 40 nothing changes; before, all does."""

    def clipped(q, k, t, s):
        return q @ k.T - np.minimum(t[:, None] - s[None, :], 40.0)

    assert gnomon.verify(clipped, dimension=4, logits=True, causal=True).warnings == ()


def test_keys_are_kept_as_the_call_made_them_in_which_they_came():
    """The scale of xPos around the middle of what is passed at once: right only in one pass."""

    def scaled(sign, middle):
        def encode(x, at):
            return rotary(x, at) * 0.99 ** (sign * (at - middle(at)))[:, None]

        return encode

    centred = [scaled(sign, lambda at: at.max() / 2.0) for sign in (1.0, -1.0)]
    found = gnomon.verify(*centred, dimension=D, reach=256.0, causal=True)
    assert found.broken == ("cache",)
    fixed = [scaled(sign, lambda _: 128.0) for sign in (1.0, -1.0)]
    assert gnomon.verify(*fixed, dimension=D, reach=256.0, causal=True).holds


def test_the_level_that_is_found_keeps_its_own_promise():
    """ALiBi by the key's position alone: softmax does not see the difference, the level is L1."""

    def slope(q, k, t, s):
        return q @ k.T + 0.1 * s[None, :]

    found = gnomon.verify(slope, dimension=4, logits=True, causal=True, promised="L1")
    assert (found.level, found.holds) == ("L1 augmented group", True)
    for level in ("L0", "L1", "L2", "L3", "L4", "L5", "L6", "L7"):
        assert gnomon.verify(rotary, dimension=D, promised=level).holds
    assert gnomon.verify("clock", promised="L3").holds
    assert not gnomon.verify(slope, dimension=4, logits=True, causal=True, promised="L0").holds
    squeezed = gnomon.verify(lambda x, at: rotary(x, np.log1p(at)), dimension=D, promised="L3")
    assert "shift" in squeezed.broken
    jumping = gnomon.verify(lambda x, at: rotary(x, np.round(at)), dimension=D, promised="L5")
    assert jumping.broken == ("shift",)
