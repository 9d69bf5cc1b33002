"""Rotated vectors against the code of transformers, one test per way in which its models turn.

Positions go to 4095, apart for queries and keys where the peer can do it. The peer's phases are in
float32, ours in float64, so the allowed difference grows with the phase: see conftest.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.rope import convert_vectors

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture
def heads(rng):
    """Return queries and keys (batch, heads, positions, dimension), float32, and position ids."""

    def make(dimension, length=24):
        q, k = torch.asarray(rng.normal(size=(2, 2, 3, length, dimension)), dtype=torch.float32)
        ids = torch.asarray(rng.integers(0, 4096, size=(2, length)))
        return q, k, ids

    return make


def check_both(check, made, wanted, before, ids):
    for ours, theirs, x in zip(made, wanted, before, strict=True):
        check(ours, theirs, x, ids[:, None, :].numpy())


@pytest.mark.parametrize(
    ("written", "ours"),
    [
        ({"rope_type": "default", "rope_theta": 10000.0}, {}),
        ({"rope_type": "default", "rope_theta": 500000.0}, {"base": 500000.0}),
        (
            {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
            {"scaling": {"name": "linear", "factor": 4.0}},
        ),
        (
            {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 8.0,
                "original_max_position_embeddings": 512,
            },
            {"scaling": {"name": "yarn", "factor": 8.0, "original_length": 512}},
        ),
    ],
)
def test_llama_turns_as_layout_half(written, ours, heads, assert_turned_alike):
    from transformers.models.llama import modeling_llama as peer
    from transformers.models.llama.configuration_llama import LlamaConfig

    config = LlamaConfig(
        hidden_size=96, num_attention_heads=3, max_position_embeddings=4096, rope_parameters=written
    )
    q, k, ids = heads(32)
    rotary = peer.LlamaRotaryEmbedding(config)
    wanted = peer.apply_rotary_pos_emb(q, k, *rotary(q, ids))
    rope = encoding("rope", dimension=32, layout="half", **ours)
    assert rope.attention_factor == pytest.approx(rotary.attention_scaling, rel=1e-15)
    longer = (q * rope.attention_factor, k * rope.attention_factor)
    check_both(assert_turned_alike, rope.transform(q, k, ids), wanted, longer, ids)


def test_gpt_j_turns_the_first_coordinates_as_layout_interleaved(
    rng, monkeypatch, assert_turned_alike
):
    from transformers.models.gptj import modeling_gptj as peer
    from transformers.models.gptj.configuration_gptj import GPTJConfig

    config = GPTJConfig(n_embd=64, n_head=2, rotary_dim=16, n_positions=512)
    torch.manual_seed(0)
    attention = peer.GPTJAttention(config, layer_idx=0)
    seen = {}

    def spy(query, key, value, attention_mask=None):
        seen.update(q=query, k=key)
        return value, None

    monkeypatch.setattr(attention, "_attn", spy)
    hidden = torch.asarray(rng.normal(size=(2, 20, 64)), dtype=torch.float32)
    ids = torch.asarray(rng.integers(0, 512, size=(2, 20)))
    with torch.no_grad():
        attention(hidden, position_ids=ids)
        q, k = (
            project(hidden).view(2, 20, 2, 32).transpose(1, 2)
            for project in (attention.q_proj, attention.k_proj)
        )
    made = encoding("rope", dimension=32, fraction=0.5).transform(q, k, ids)
    check_both(assert_turned_alike, made, (seen["q"], seen["k"]), (q, k), ids)


@pytest.mark.parametrize("fraction", [0.25, 1.0])
def test_gpt_neox_turns_a_fraction_as_layout_half(fraction, heads, assert_turned_alike):
    from transformers.models.gpt_neox import modeling_gpt_neox as peer
    from transformers.models.gpt_neox.configuration_gpt_neox import GPTNeoXConfig

    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": fraction}
    config = GPTNeoXConfig(hidden_size=192, num_attention_heads=3, rope_parameters=rope)
    q, k, ids = heads(64)
    cosine, sine = peer.GPTNeoXRotaryEmbedding(config)(q, ids)
    wanted = peer.apply_rotary_pos_emb(q, k, cosine, sine)
    made = encoding("rope", dimension=64, layout="half", fraction=fraction).transform(q, k, ids)
    check_both(assert_turned_alike, made, wanted, (q, k), ids)


def test_deepseek_turns_interleaved_vectors_and_returns_them_in_layout_half(
    heads, assert_turned_alike
):
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as peer
    from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config

    q, k, ids = heads(64)
    cosine, sine = peer.DeepseekV3RotaryEmbedding(DeepseekV3Config())(q, ids)
    wanted = peer.apply_rotary_pos_emb_interleave(q, k, cosine, sine)
    made = encoding("rope", dimension=64).transform(q, k, ids)
    made_half = [convert_vectors(x, to="half") for x in made]
    check_both(assert_turned_alike, made_half, wanted, (q, k), ids)


def test_llama_4_turns_as_layout_interleaved(heads, assert_turned_alike):
    from transformers.models.llama4 import modeling_llama4 as peer
    from transformers.models.llama4.configuration_llama4 import Llama4TextConfig

    rope = {"rope_type": "default", "rope_theta": 500000.0}
    config = Llama4TextConfig(
        hidden_size=96, num_attention_heads=3, head_dim=32, rope_parameters=rope
    )
    q, k, ids = heads(32)
    turns = peer.Llama4TextRotaryEmbedding(config)(q, ids)
    wanted = peer.apply_rotary_emb(q.transpose(1, 2), k.transpose(1, 2), turns)
    made = encoding("rope", dimension=32, base=500000.0).transform(q, k, ids)
    check_both(assert_turned_alike, made, [x.transpose(1, 2) for x in wanted], (q, k), ids)


@pytest.mark.parametrize("layer_type", ["full_attention", "sliding_attention"])
def test_gemma_turns_proportionally_in_full_layers_and_plainly_in_local_ones(
    layer_type, heads, assert_turned_alike
):
    from transformers.models.gemma4 import modeling_gemma4 as peer
    from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig

    config = Gemma4TextConfig(num_hidden_layers=6)
    rope = config.rope_parameters[layer_type]
    full = layer_type == "full_attention"
    assert rope["rope_type"] == ("proportional" if full else "default")
    dimension = config.per_layer_config[layer_type].head_dim
    q, k, ids = heads(dimension, length=8)
    cosine, sine = peer.Gemma4TextRotaryEmbedding(config)(q, ids, layer_type)
    wanted = [peer.apply_rotary_pos_emb(x, cosine, sine) for x in (q, k)]
    same = {"dimension": dimension, "layout": "half", "base": rope["rope_theta"]}
    if full:
        ours = encoding("rope-proportional", fraction=rope["partial_rotary_factor"], **same)
    else:
        ours = encoding("rope", **same)
    check_both(assert_turned_alike, ours.transform(q, k, ids), wanted, (q, k), ids)


@pytest.mark.parametrize("rows", ["weight", "bias"])
def test_weights_are_converted_as_transformers_converts_llama_weights(rows, rng):
    """Its permutation brings weights of Meta's interleaved layout into its own, half."""
    from transformers.core_model_loading import PermuteForRope
    from transformers.models.llama.configuration_llama import LlamaConfig

    from gnomon.encodings.rotary.rope import convert_weights

    config = LlamaConfig(hidden_size=48, num_attention_heads=4)
    shape = (48, 20) if rows == "weight" else (48,)
    weight = torch.asarray(rng.normal(size=shape))
    half = convert_weights(weight, heads=4, to="half")
    assert torch.equal(half, PermuteForRope()._permute_for_rope(weight, config))
    back = convert_weights(half, heads=4, to="interleaved")
    assert torch.equal(back, weight)
    assert torch.equal(back, PermuteForRope(inverse=True)._permute_for_rope(half, config))


def test_converted_weights_give_the_same_scores_in_the_other_layout(rng):
    from gnomon.encodings.rotary.rope import convert_weights

    hidden = rng.normal(size=(10, 24))
    weights = rng.normal(size=(2, 24, 24))
    converted = [convert_weights(weight, heads=3, to="half") for weight in weights]
    layouts = {"interleaved": weights, "half": converted}
    scores = []
    for layout, (of_q, of_k) in layouts.items():
        q, k = (np.swapaxes((hidden @ weight.T).reshape(10, 3, 8), 0, 1) for weight in (of_q, of_k))
        scores.append(encoding("rope", dimension=8, layout=layout).scores(q, k, np.arange(10)))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-11)
