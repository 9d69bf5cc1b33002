"""What turning does to the logits of a trained model, stories260K, by plain NumPy and by ours.

The claim that rotary coupling contracts the spectral norm is looked at in all 40 heads: queries and
keys are turned back by complex numbers, and singular values of both products are compared.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.encodings.rotary.rope import convert_weights
from gnomon.spectra.coupling import couple

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
hf_logits = pytest.importorskip("gnomon.hf.logits")
pytestmark = pytest.mark.data
LENGTH = 128


@pytest.fixture(scope="module")
def model(data_root: Path) -> Any:
    """A Llama of transformers with the weights of the llama2.c file."""
    raw = (data_root / "stories260K" / "stories260K.bin").read_bytes()
    d, hidden, layers, heads, key_heads, vocabulary, _ = struct.unpack("7i", raw[:28])
    keys = key_heads * d // heads
    flat, at = np.frombuffer(raw, np.float32, offset=28), 0

    def take(*shape: int) -> Any:
        nonlocal at
        count = int(np.prod(shape))
        at += count
        return torch.tensor(flat[at - count : at].reshape(shape))

    embedding, norm1 = take(vocabulary, d), take(layers, d)
    q, k, v = take(layers, d, d), take(layers, keys, d), take(layers, keys, d)
    o, norm2 = take(layers, d, d), take(layers, d)
    gate, down, up = take(layers, hidden, d), take(layers, d, hidden), take(layers, hidden, d)
    state = {"model.embed_tokens.weight": embedding, "model.norm.weight": take(d)}
    for i in range(layers):
        here = {
            "self_attn.q_proj": convert_weights(q[i], heads=heads, to="half"),
            "self_attn.k_proj": convert_weights(k[i], heads=key_heads, to="half"),
            "self_attn.v_proj": v[i],
            "self_attn.o_proj": o[i],
            "input_layernorm": norm1[i],
            "post_attention_layernorm": norm2[i],
            "mlp.gate_proj": gate[i],
            "mlp.down_proj": down[i],
            "mlp.up_proj": up[i],
        }
        state |= {f"model.layers.{i}.{name}.weight": value for name, value in here.items()}
    shape = {"hidden_size": d, "intermediate_size": hidden, "num_hidden_layers": layers}
    shape |= {"num_attention_heads": heads, "num_key_value_heads": key_heads}
    shape |= {"vocab_size": vocabulary, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
    made = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape)).eval()
    missing, unexpected = made.load_state_dict(state, strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])
    made.tie_weights()
    return made


@pytest.fixture(scope="module")
def heads(model: Any) -> Any:
    """Queries and keys of a story that the model tells itself, greedily."""
    with torch.no_grad():
        ids = torch.tensor([[1]])
        story = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_length=LENGTH,
            do_sample=False,
            pad_token_id=0,
        )
    return hf_logits.collect(model, story)


def turned_back(x: np.ndarray) -> np.ndarray:
    """Pairs (j, j + d/2) as complex numbers, times e^(-i position w_j), base 10,000."""
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-np.arange(half) / half)
    waves = np.exp(-1j * np.outer(np.arange(x.shape[-2]), frequencies))
    made = (x[..., :half] + 1j * x[..., half:]) * waves
    return np.concatenate([made.real, made.imag], axis=-1)


def ratios(heads: Any) -> np.ndarray:
    """Spectral norm with turns over that without, (layers, heads)."""
    found = []
    for one in heads:
        with_turns = one.q[0] @ np.swapaxes(one.k[0], -1, -2)
        without = turned_back(one.q[0]) @ np.swapaxes(turned_back(one.k[0]), -1, -2)
        norms = [np.linalg.norm(x, 2, axis=(-2, -1)) for x in (with_turns, without)]
        found.append(norms[0] / norms[1])
    return np.array(found)


def test_in_a_trained_model_turns_expand_the_norm_of_most_heads(heads: Any) -> None:
    """The published contraction is not what training leaves: the norm grows in most heads."""
    found = ratios(heads)
    assert found.shape == (5, 8)
    assert (found > 1.0).mean() > 0.6
    assert found.max() > 5.0
    assert found.min() < 1.0


def spectra(heads: Any, *, turned: bool) -> np.ndarray:
    """The eight singular values of every head, (layers, heads, 8)."""
    found = []
    for one in heads:
        q, k = (x if turned else turned_back(x) for x in (one.q[0], one.k[0]))
        found.append(np.linalg.svd(q @ np.swapaxes(k, -1, -2), compute_uv=False)[..., :8])
    return np.array(found)


def test_in_a_trained_model_turns_even_out_the_spectrum_of_most_heads(heads: Any) -> None:
    """The condition number falls, and the effective rank, exp(entropy of shares), grows."""
    before, after = (spectra(heads, turned=turned) for turned in (False, True))
    condition = [x[..., 0] / x[..., -1] for x in (before, after)]
    shares = [x / x.sum(axis=-1, keepdims=True) for x in (before, after)]
    rank = [np.exp(-np.sum(x * np.log(x), axis=-1)) for x in shares]
    assert (condition[1] < condition[0]).mean() > 0.6
    assert (rank[1] > rank[0]).mean() > 0.6


def test_before_turns_the_lag_explains_next_to_nothing(heads: Any) -> None:
    n = LENGTH
    lags = np.subtract.outer(np.arange(n), np.arange(n))
    seen = lags >= 0
    found = []
    for one in heads:
        for q, k in zip(turned_back(one.q[0]), turned_back(one.k[0]), strict=True):
            logits = q @ k.T
            means = np.array([np.diagonal(logits, -lag).mean() for lag in range(n)])
            y, fit = logits[seen], means[lags[seen]]
            found.append(1.0 - np.sum((y - fit) ** 2) / np.sum((y - y.mean()) ** 2))
    assert np.median(found) < 0.05


def test_couplings_of_collected_heads_are_those_of_plain_numpy(heads: Any) -> None:
    wanted, known = ratios(heads), gnomon.encoding("rope", dimension=8, layout="half")
    for layer in (0, 3):
        q, k = heads[layer].unturned(known)
        np.testing.assert_allclose(q, turned_back(heads[layer].q), atol=1e-9)
        made = couple(q[0, 5], k[0, 5], known, scale=heads[layer].scale)
        assert made.norm == pytest.approx(wanted[layer, 5], rel=1e-6)


def test_the_lag_explains_far_more_than_chance_and_far_less_than_all(heads: Any) -> None:
    shares = np.array([one.share().share[0] for one in heads])
    assert shares.min() > 2 * heads[0].share().chance
    assert 0.2 < np.median(shares) < 0.7
    assert shares.max() < 0.9


@pytest.mark.parametrize("name", ["minilm_l6", "mpnet_base", "whisper_decoder"])
def test_learned_tables_are_no_kernels_of_the_lag(data_root: Path, name: str) -> None:
    """p_i.p_j of three trained tables: diagonals explain under half of its variance."""
    path = data_root / "position-tables" / f"{name}.npy"
    table = np.load(path).astype(np.float64)
    gram = table @ table.T
    lags = np.subtract.outer(np.arange(len(table)), np.arange(len(table)))
    means = {lag: np.diagonal(gram, -lag).mean() for lag in np.unique(lags)}
    fitted = np.vectorize(means.get)(lags)
    wanted = 1.0 - np.sum((gram - fitted) ** 2) / np.sum((gram - gram.mean()) ** 2)
    found = gnomon.spectrum(gnomon.encoding(str(path)), len(table), coupled=False)
    assert found.toeplitz_share == pytest.approx(wanted, abs=1e-6)
    assert wanted < 0.5
