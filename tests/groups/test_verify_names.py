"""Names of rotary encodings hold in float32, with the error of what was read, and tell casts apart.

Frequencies come from closed forms and from transformers' own functions; a name must give the true
base, give it within the error that it states, or give none.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import ortho_group

import gnomon

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")


def ladder(dimension, base):
    return base ** (-np.arange(dimension // 2) / (dimension // 2))


def turning(frequencies, dtype=np.float32):
    """Rotary encoding by hand in a type; further coordinates are left as they are."""
    rates = np.asarray(frequencies).astype(dtype)
    pairs = len(rates)

    def encode(x, at):
        x = np.asarray(x).astype(dtype)
        phases = np.asarray(at).astype(dtype)[:, None] * rates
        a, b, rest = x[:, :pairs], x[:, pairs : 2 * pairs], x[:, 2 * pairs :]
        cosine, sine = np.cos(phases), np.sin(phases)
        return np.concatenate([a * cosine - b * sine, a * sine + b * cosine, rest], axis=1)

    return encode


def name_of(frequencies, dtype=np.float32, still=0):
    found = gnomon.verify(turning(frequencies, dtype), dimension=2 * len(frequencies) + still)
    assert (found.level, found.holds) == ("L0 strict group", True)
    assert found.laws["rank"].holds
    return found.structure.named


def scaled(dimension, base, length=None, **rope):
    """Frequencies as transformers makes them, in float32."""
    config = transformers.LlamaConfig(
        hidden_size=dimension,
        num_attention_heads=1,
        head_dim=dimension,
        max_position_embeddings=65536,
        rope_parameters={"rope_theta": base, **rope},
    )
    function = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS[rope["rope_type"]]
    return function(config, "cpu", seq_len=length)[0].numpy()


def rounded(frequencies, dtype):
    return torch.tensor(np.asarray(frequencies, dtype=np.float32)).to(dtype).float().numpy()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("dimension", "base"), [(128, 5e5), (64, 1e4), (32, 1e3), (80, 1.6e5), (256, 1e8), (4, 1e4)]
)
def test_rope_is_named_with_its_base_in_both_types(dimension, base, dtype):
    said = f"rotary encoding (RoPE), {dimension // 2} frequencies, base {base:.0f}"
    assert name_of(ladder(dimension, base), dtype) == said


def test_a_base_that_is_not_round_comes_with_the_error_of_its_fit():
    said = re.search(r"base ([\d.]+) \(fitted, within ([\d.]+)\)$", name_of(ladder(128, 93057.3)))
    base, within = map(float, said.groups())
    assert abs(base - 93057.3) <= within < 1.0


@pytest.mark.parametrize(("dtype", "name"), [("bfloat16", "bfloat16"), ("float16", "float16")])
def test_frequencies_that_were_cast_are_told_apart(dtype, name):
    rates = rounded(ladder(128, 5e5), getattr(torch, dtype))
    for computed in (np.float32, np.float64):
        assert name_of(rates, computed) == (
            f"rotary encoding (RoPE), 64 frequencies, base 500000, frequencies rounded to {name}"
        )


def test_a_model_whose_frequencies_were_cast_is_named_so():
    config = transformers.LlamaConfig(
        hidden_size=128, num_attention_heads=2, num_hidden_layers=1, vocab_size=16
    )
    found = gnomon.verify(transformers.LlamaModel(config).bfloat16())
    assert found.structure.named.endswith("base 10000, frequencies rounded to bfloat16")


def test_frequencies_that_float16_rounds_to_zero_do_not_change_the_base():
    """Below 2^-25 nothing is left: of 48 pairs of base 7 10^7, divided by 4, the last are 0."""
    rates = rounded(ladder(96, 7e7) / 4.0, torch.float16)
    assert (rates == 0.0).any()
    found = name_of(rates[rates > 0.0], still=2 * int((rates == 0.0).sum()))
    assert "base 70000000, positions divided by 4 (interpolation), frequencies rounded" in found


LLAMA = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA["original_max_position_embeddings"] = 8192
YARN = {"rope_type": "yarn", "original_max_position_embeddings": 4096}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scalings_are_named_in_both_types(dtype):
    """EXAONE 4 has Llama-3's scaling by 16 of base 1,000,000."""
    found = name_of(scaled(128, 1e6, factor=16.0, **LLAMA), dtype)
    assert "64 frequencies, base 1000000, Llama-3 scaling with factor 16" in found
    found = name_of(scaled(64, 5e5, factor=8.0, **YARN), dtype)
    assert "32 frequencies, base 500000, YaRN with factor 8" in found
    found = name_of(scaled(64, 1e4, length=131072, rope_type="dynamic", factor=2.0), dtype)
    assert f"base {1e4 * 3.0 ** (64 / 62):.6g} (NTK-aware scaling of 10000 by 3, or dyn" in found


def test_scalings_that_were_cast_are_named_where_their_settings_are_published():
    found = name_of(rounded(scaled(128, 5e5, factor=8.0, **LLAMA), torch.bfloat16))
    assert found.endswith(
        "base 500000, Llama-3 scaling with factor 8, original length 8192, frequencies rounded to "
        "bfloat16"
    )
    bent = ladder(64, 1e4) * np.linspace(1.0, 0.2, 32) ** 2
    assert "on no ladder that is known, frequencies rounded to bfl" in name_of(
        rounded(bent, torch.bfloat16)
    )


def test_no_base_is_named_where_slow_pairs_are_lost_in_a_dense_basis():
    """A random basis in float32 hides what turns by less than its rounding over 4096 positions."""
    basis = ortho_group.rvs(64, random_state=0).astype(np.float32)
    inner = turning(ladder(64, 1e8))
    dense = lambda x, at: inner(np.asarray(x).astype(np.float32) @ basis, at)
    found = gnomon.verify(lambda x, at: dense(x, at) @ basis.T, dimension=64)
    bases = re.findall(r"base (\d+)", found.structure.named)
    assert all(base == "100000000" for base in bases)
    exact = turning(ladder(64, 1e4), np.float64)
    wide = basis.astype(np.float64)
    found = gnomon.verify(lambda x, at: exact(x @ wide, at), dimension=64)
    assert found.structure.named == "rotary encoding (RoPE), 32 frequencies, base 10000"


def test_the_generator_of_turns_makes_the_rotation_again():
    basis = ortho_group.rvs(8, random_state=1)
    inner = turning(np.array([1.0, 0.3, 0.3]), np.float64)
    found = gnomon.verify(lambda x, at: inner(x @ basis, at), dimension=8)
    q, k = np.random.default_rng(0).normal(size=(2, 8))
    wanted = inner((q @ basis)[None], np.array([3.5])) @ inner((k @ basis)[None], np.zeros(1)).T
    assert q @ found.structure.generator().exp(3.5) @ k == pytest.approx(wanted.item(), abs=1e-9)


WIDE = pytest.mark.wide
KINDS = ("default", "linear", "llama3", "yarn", "dynamic", "longrope")
BASES = (1e3, 5e3, 1e4, 1.5e5, 5e5, 1e6, 5e6, 1e8, 8192.0, 12345.678, 11158840.0)


def drawn(rng):
    """A head size, a base, a scaling, a cast and a partial width at random."""
    dimension = int(rng.choice([32, 48, 64, 96, 128, 192, 256]))
    base, kind = float(rng.choice(BASES)), str(rng.choice(KINDS))
    factor, true = float(rng.choice([2.0, 4.0, 8.0, 32.0])), base
    if kind == "default":
        rates = ladder(dimension, base)
    elif kind == "longrope":
        list_of = np.sort(1.0 + 30.0 * rng.random(dimension // 2)).tolist()
        rope = {"short_factor": [1.0] * (dimension // 2), "long_factor": list_of}
        rope |= {"rope_type": kind, "factor": factor, "original_max_position_embeddings": 4096}
        rates = scaled(dimension, base, length=65536, **rope)
    else:
        rope = {"llama3": LLAMA, "yarn": YARN}.get(kind, {"rope_type": kind})
        length = int(rng.choice([100000, 131072])) if kind == "dynamic" else None
        rates = scaled(dimension, base, length, factor=factor, **rope)
        if kind == "dynamic":
            true *= (factor * length / 65536 - (factor - 1.0)) ** (dimension / (dimension - 2))
    cast = str(rng.choice(["", "", "bfloat16", "float16"]))
    rates = rounded(rates, getattr(torch, cast)) if cast else rates
    still = int(rng.choice([0, 0, dimension])) + 2 * int((rates == 0.0).sum())
    return kind, true, cast, rates[rates > 0.0], still


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=WIDE) for s in range(6, 200))])
def test_no_name_has_a_wrong_base(seed):
    rng = np.random.default_rng(seed)
    kind, true, cast, rates, still = drawn(rng)
    said = name_of(rates, [np.float32, np.float64][seed % 2], still)
    bases = [float(x) for x in re.findall(r"base (\d[\d.]*(?:e\+\d+)?)", said)]
    within = max([1.1e-5 * true, *map(float, re.findall(r"fitted, within ([\d.e+]+)", said))])
    assert any(abs(base - true) <= within for base in bases) or not bases, said
    lost = cast == "float16" and still > 0  # how many pairs became 0 may not be known
    assert bases or lost or kind in ("llama3", "yarn", "longrope"), said
    assert not (bases and kind == "longrope"), said
    assert ("rounded to" in said) == bool(cast)
    assert cast in said
