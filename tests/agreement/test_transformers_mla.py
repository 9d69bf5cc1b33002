"""MLA's decoupled part against the attention of DeepSeek-V3 in transformers, scores and all.

The peer's whole attention runs; what it hands to its attention function is caught, and scores are
compared with ours, made from the same projections.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

HEADS, CONTENT, ROTARY, LENGTH = 4, 16, 8, 30
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 40.0,
    "original_max_position_embeddings": 64,
    "mscale": 1.0,
    "mscale_all_dim": 0.7,
}
OURS_YARN = {
    "name": "yarn",
    "factor": 40.0,
    "original_length": 64,
    "mscale": 1.0,
    "mscale_all_dim": 0.7,
}


def deepseek(rope, **more):
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as peer
    from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config

    config = DeepseekV3Config(
        hidden_size=64,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=24,
        kv_lora_rank=12,
        qk_nope_head_dim=CONTENT,
        qk_rope_head_dim=ROTARY,
        v_head_dim=8,
        max_position_embeddings=2560,
        rope_parameters=dict(rope),
        attn_implementation="eager",
        **more,
    )
    torch.manual_seed(1)
    return peer, config, peer.DeepseekV3Attention(config, layer_idx=0).double()


def caught(peer, attention, hidden, ids, config, monkeypatch):
    """Return queries, keys and scale as the peer's attention function gets them."""
    seen = {}

    def spy(module, query, key, value, mask, scaling, **kwargs):
        seen.update(q=query, k=key, scale=scaling)
        return value.transpose(1, 2), None

    monkeypatch.setattr(peer, "eager_attention_forward", spy)
    rotary = peer.DeepseekV3RotaryEmbedding(config)
    with torch.no_grad():
        attention(hidden, rotary(hidden, ids), None)
    return seen


def projected(attention, hidden):
    """Return queries, content keys and the one decoupled key, before anything is turned."""
    with torch.no_grad():
        q = attention.q_b_proj(attention.q_a_layernorm(attention.q_a_proj(hidden)))
        latent, shared = attention.kv_a_proj_with_mqa(hidden).split([12, ROTARY], dim=-1)
        expanded = attention.kv_b_proj(attention.kv_a_layernorm(latent))
    q = q.view(2, LENGTH, HEADS, CONTENT + ROTARY).transpose(1, 2)
    content = expanded.view(2, LENGTH, HEADS, CONTENT + 8).transpose(1, 2)[..., :CONTENT]
    return q, content, shared


@pytest.mark.parametrize(("rope", "scaling"), [(PLAIN, {"name": "unscaled"}), (YARN, OURS_YARN)])
@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_scores_equal_those_of_deepseek_v3_attention(rope, scaling, layout, rng, monkeypatch):
    peer, config, attention = deepseek(rope, rope_interleave=layout == "interleaved")
    hidden = torch.asarray(rng.normal(size=(2, LENGTH, 64)))
    ids = torch.asarray(rng.integers(0, 2000, size=(2, LENGTH)))
    seen = caught(peer, attention, hidden, ids, config, monkeypatch)
    wanted = seen["q"] @ seen["k"].transpose(-1, -2) * seen["scale"]

    ours = encoding(
        "mla",
        dimension=CONTENT + ROTARY,
        content_dimension=CONTENT,
        layout=layout,
        scaling=scaling,
    )
    q, content, shared = projected(attention, hidden)
    made = ours.scores(q, ours.joined(content, shared), ids) * ours.softmax_scale
    # the phases of the peer are in float32: 8 * 2^-24 of 2000 radians, on scores of size 1
    np.testing.assert_allclose(made, wanted, atol=8 * 2.0**-24 * 2000)
    assert wanted.abs().max() > 0.1


def test_the_shared_key_may_be_turned_and_cached_alone(rng):
    ours = encoding("mla", dimension=CONTENT + ROTARY, content_dimension=CONTENT)
    content, shared = rng.normal(size=(2, HEADS, 9, CONTENT)), rng.normal(size=(2, 9, ROTARY))
    _, cached = ours.decoupled.transform(shared, shared, np.arange(9))
    whole = ours.joined(content, shared)
    _, wanted = ours.transform(whole, whole, np.arange(9))
    np.testing.assert_allclose(ours.joined(content, cached), wanted, atol=1e-14)


@pytest.mark.parametrize("magnitudes", [{}, {"mscale": 1.0, "mscale_all_dim": 0.707}])
@pytest.mark.parametrize("factor", [1.0, 40.0])
def test_the_softmax_scale_is_that_of_deepseek_v3(magnitudes, factor):
    rope = {key: YARN[key] for key in YARN if not key.startswith("mscale")}
    _, _, attention = deepseek({**rope, **magnitudes, "factor": factor})
    scaling = {"name": "yarn", "original_length": 64, "factor": factor, **magnitudes}
    ours = encoding("mla", dimension=CONTENT + ROTARY, content_dimension=CONTENT, scaling=scaling)
    assert ours.softmax_scale == pytest.approx(attention.scaling, rel=1e-15)
