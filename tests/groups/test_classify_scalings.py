"""Scaled rotary ladders named from a dense matrix: frequencies of transformers' own functions.

transformers computes them in float32; matrices are made of them in random bases that are not
orthogonal, with noise of 1e-12. Parameters that are read back are those of the config.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from gnomon.groups.classification import classify
from gnomon.groups.names import words_of_scaling

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
rope_utils = pytest.importorskip("transformers.modeling_rope_utils")

EXACT = np.full(256, 1e-6)


def frequencies(head: int, *, longest: int = 131072, length: int | None = None, **parameters):
    config = transformers.LlamaConfig(
        hidden_size=2 * head,
        num_attention_heads=2,
        head_dim=head,
        max_position_embeddings=longest,
        rope_parameters=parameters,
    )
    made = rope_utils.ROPE_INIT_FUNCTIONS[parameters["rope_type"]]
    return made(config, torch.device("cpu"), seq_len=length)[0].double().numpy()


def named(rates, zeros: int = 0, condition: float = 20.0) -> str:
    turns = [np.array([[0.0, -b], [b, 0.0]]) for b in rates]
    form = block_diag(*turns, *([np.zeros((zeros, zeros))] if zeros else []))
    rng, size = np.random.default_rng(len(form)), len(form)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    basis = left @ np.diag(np.geomspace(1, 1 / condition, size)) @ right
    x = basis @ form @ np.linalg.inv(basis)
    error = rng.standard_normal((size, size))
    return classify(x + 1e-12 * np.linalg.norm(x, 2) * error / np.linalg.norm(error, 2)).named


@pytest.mark.parametrize(
    ("base", "factor", "original", "ramp"),
    [
        # low = floor(32 ln(L0 / 64 pi) / ln b), high = ceil(32 ln(L0 / 2 pi) / ln b), by hand
        (1e4, 4.0, 4096, (10, 23)),
        (1.5e5, 32.0, 4096, (8, 18)),
    ],
)
def test_yarn_is_named_with_its_base_factor_ramp_and_length(base, factor, original, ramp):
    rates = frequencies(
        64,
        rope_type="yarn",
        rope_theta=base,
        factor=factor,
        original_max_position_embeddings=original,
    )
    found = named(rates)
    assert f"32 frequencies, base {base:.0f}, YaRN with factor {factor:.0f}" in found
    assert f"ramp from pair {ramp[0]} to {ramp[1]} (original length {original}, as any" in found


def test_yarn_without_rounding_gives_the_original_length_itself():
    rates = frequencies(
        64,
        rope_type="yarn",
        rope_theta=1.5e5,
        factor=32.0,
        original_max_position_embeddings=5000,
        truncate=False,
    )
    found = named(rates)
    assert "YaRN with factor 32, ramp from pair" in found
    assert found.endswith("(original length 5000)")


def test_the_lengths_that_yarn_leaves_open_all_have_the_same_frequencies():
    """Both ends of the interval that is named, in transformers; one beyond has others."""
    known = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}

    def of(length: int):
        return frequencies(64, original_max_position_embeddings=length, **known)

    words = words_of_scaling(of(4096), EXACT[:32])
    least, most = (int(one) for one in words.split("as any from ")[1].split(",")[0].split(" to "))
    np.testing.assert_array_equal(of(least), of(4096))
    np.testing.assert_array_equal(of(most), of(4096))
    assert np.abs(of(least - 1) - of(4096)).max() > 1e-5
    assert np.abs(of(most + 1) - of(4096)).max() > 1e-5


def test_yarn_between_other_turns_is_not_given_a_length():
    rates = frequencies(
        64,
        rope_type="yarn",
        rope_theta=1e4,
        factor=4.0,
        original_max_position_embeddings=4096,
        beta_fast=128.0,
    )
    assert words_of_scaling(rates, EXACT[:32]).endswith("(ends of other turns than 32 and 1)")


@pytest.mark.parametrize(("head", "factor"), [(64, 32.0), (128, 8.0)])
def test_llama_3_scaling_is_named_with_its_factor_and_wavelengths(head, factor):
    rates = frequencies(
        head,
        rope_type="llama3",
        rope_theta=5e5,
        factor=factor,
        original_max_position_embeddings=8192,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
    )
    found = named(rates, condition=5.0)
    assert f"base 500000, Llama-3 scaling with factor {factor:.0f}" in found
    assert "wavelengths from 2048 to 8192 between" in found
    assert "original length 8192 if low_freq_factor is 1, high_freq_factor 4" in found


def test_the_length_of_llama_3_and_its_low_factor_are_known_only_as_a_ratio():
    known = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0}
    one = frequencies(
        64,
        original_max_position_embeddings=8192,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
        **known,
    )
    other = frequencies(
        64,
        original_max_position_embeddings=16384,
        low_freq_factor=2.0,
        high_freq_factor=8.0,
        **known,
    )
    np.testing.assert_array_equal(one, other)
    assert words_of_scaling(one, EXACT[:32]) == words_of_scaling(other, EXACT[:32])


def test_linear_scaling_divides_positions():
    found = named(frequencies(64, rope_type="linear", rope_theta=1e4, factor=4.0))
    assert found.endswith("base 10000, positions divided by 4 (interpolation)")


def test_dynamic_scaling_is_a_base_that_ntk_aware_scaling_has_too():
    """Length 4 L0 with factor 2: the base grows by (2 * 4 - 1)^(d / (d - 2)) = 7^(64/62)."""
    rates = frequencies(
        64, rope_type="dynamic", rope_theta=1e4, factor=2.0, longest=4096, length=16384
    )
    base = 1e4 * 7.0 ** (64 / 62)
    found = named(rates)
    assert f"base {base:.6g} (NTK-aware scaling of 10000 by 7, or dynamic scaling" in found


def test_a_base_that_someone_chose_is_not_called_scaled():
    assert named(150000.0 ** (-np.arange(16) / 16)).endswith("base 150000")


def test_factors_of_longrope_are_seen_and_no_base_is_named_for_them():
    rising = np.geomspace(1.0, 24.0, 32)
    rates = frequencies(
        64,
        rope_type="longrope",
        rope_theta=1e4,
        factor=32.0,
        short_factor=[1.0] * 32,
        long_factor=rising.tolist(),
        original_max_position_embeddings=4096,
        length=131072,
    )
    # geometric factors are a ladder of base 10000 * 24^(32/31): nothing tells the two apart
    assert "on no single ladder" not in named(rates)
    bent = rates * np.where(np.arange(32) < 16, 1.0, 0.5)
    found = named(bent)
    assert "on no single ladder: one divided by rising factors, as LongRoPE's lists are" in found
    assert "the base is not told from the factors" in found


def test_proportional_rope_is_the_head_of_a_longer_ladder():
    rates = frequencies(64, rope_type="proportional", rope_theta=1e6, partial_rotary_factor=0.25)
    turning = rates[rates > 0.0]
    found = named(turning, zeros=64 - 2 * len(turning))
    assert "8 frequencies, base 1000000 (p-RoPE: the ladder of all dimensions, cut off)" in found


def test_partial_yarn_is_named_beside_dimensions_without_position():
    rates = frequencies(
        64, rope_type="yarn", rope_theta=1e4, factor=8.0, original_max_position_embeddings=4096
    )
    found = named(rates, zeros=32, condition=5.0)
    assert "YaRN with factor 8" in found
    assert found.endswith("(partial) + 32 dimensions without position")


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (range(16, 40), "every pair from 16 to 39 of 64"),
        (range(40, 64), "every pair from 40 to 63 of 64"),
        (range(1, 59, 3), "every third pair from 1 to 58 of 64"),
    ],
)
def test_one_axis_of_m_rope_is_a_section_of_the_ladder(pairs, words):
    """Sections [16, 24, 24] in turn, and axes that take turns, of a head of 128 [wang2024]."""
    whole = 1e6 ** (-np.arange(64) / 64)
    found = named(whole[list(pairs)], zeros=128 - 2 * len(pairs), condition=5.0)
    assert f"base 1000000, {words} (a section of the ladder" in found


@pytest.mark.parametrize("seed", range(8))
def test_frequencies_at_random_are_called_no_scaling(seed):
    rng = np.random.default_rng(seed)
    rates = np.sort(np.exp(rng.uniform(np.log(1e-4), 0.0, 32)))[::-1]
    rates[0] = 1.0
    assert "YaRN" not in words_of_scaling(rates, EXACT[:32])
    assert "Llama" not in words_of_scaling(rates, EXACT[:32])


def test_a_ramp_that_is_bent_is_not_called_yarn():
    """A passage smooth as a cosine between pairs 10 and 23: straight neither in k nor in w."""
    k = np.arange(32)
    ramp = 0.5 - 0.5 * np.cos(np.pi * np.clip((k - 10) / 13, 0.0, 1.0))
    rates = 1e4 ** (-k / 32) * (1.0 - 0.75 * ramp)
    words = words_of_scaling(rates, EXACT[:32])
    assert words == ""
    assert "on no single ladder: one divided by rising factors" in named(rates)
