"""Layers without an encoding against SmolLM3 and Llama 4 in transformers: schedule and queries."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

ROPE = {"name": "rope", "dimension": 16, "base": 500000.0}


def schedule(every, layers):
    model = encoding("rope-nope-layers", inner=ROPE, every=every)
    return [int(model.at_layer(layer).encoded) for layer in range(layers)]


@pytest.mark.parametrize("every", [2, 4, 5])
def test_the_schedule_is_that_of_smollm3(every):
    from transformers.models.smollm3.configuration_smollm3 import SmolLM3Config

    config = SmolLM3Config(num_hidden_layers=36, no_rope_layer_interval=every)
    assert schedule(every, 36) == config.no_rope_layers


@pytest.mark.parametrize("every", [2, 4, 5])
def test_the_schedule_is_that_of_llama_4(every):
    from transformers.models.llama4.configuration_llama4 import Llama4TextConfig

    config = Llama4TextConfig(num_hidden_layers=48, no_rope_layer_interval=every)
    assert schedule(every, 48) == config.no_rope_layers


@pytest.mark.parametrize("layer", range(4))
def test_layers_turn_or_sharpen_as_llama_4_attention(layer, rng, monkeypatch):
    """Its whole attention runs; queries and keys are caught where attention begins."""
    from transformers.models.llama4 import modeling_llama4 as peer
    from transformers.models.llama4.configuration_llama4 import Llama4TextConfig

    config = Llama4TextConfig(
        hidden_size=32,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        num_hidden_layers=4,
        use_qk_norm=False,
        floor_scale=8,
        attn_scale=0.1,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        attn_implementation="eager",
    )
    torch.manual_seed(2)
    attention, seen = peer.Llama4TextAttention(config, layer), {}

    def spy(module, query, key, value, mask, **kwargs):
        seen.update(q=query, k=key)
        return value.transpose(1, 2), None

    monkeypatch.setattr(peer, "eager_attention_forward", spy)
    hidden = torch.asarray(rng.normal(size=(2, 40, 32)), dtype=torch.float32)
    ids = torch.arange(40)
    with torch.no_grad():
        attention(hidden, peer.Llama4TextRotaryEmbedding(config)(hidden, ids[None]), None)
        q, k = (
            project(hidden).view(2, 40, 2, 16).transpose(1, 2)
            for project in (attention.q_proj, attention.k_proj)
        )
    ours = encoding(
        "rope-nope-layers", inner=ROPE, layer=layer, temperature=0.1, temperature_length=8
    )
    made = ours.transform(q, k, ids)
    for mine, theirs in zip(made, (seen["q"], seen["k"]), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=8 * 2.0**-24 * 41)
    unchanged = torch.equal(made[0], q)
    assert unchanged is False
    assert torch.equal(made[1], k) is (layer == 3)
