"""Rotary modules of transformers while they run: lengths that grow, lists that switch, layer types.

A known disagreement, on the installed release: a `truncate` that is nested by layer type is not
read by transformers.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gnomon.encodings.rotary.config.build import from_config, schedule
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
array_torch = pytest.importorskip("array_api_compat.torch")


def config_of(parameters, **more):
    transformers.logging.set_verbosity_error()
    shape = {"hidden_size": 256, "num_attention_heads": 4, "head_dim": 64}
    return transformers.LlamaConfig(
        **shape, max_position_embeddings=128, rope_parameters=dict(parameters), **more
    )


def their_module(config):
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    return LlamaRotaryEmbedding(config)


def bits(encoding):
    return encoding.frequencies_in(xp=array_torch, dtype=torch.float32)[:, 0]


def test_a_growing_dynamic_model_has_our_bits_at_each_length():
    config = config_of({"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4})
    module, encoding = their_module(config), from_config(config.to_dict())
    for length in (64, 128, 129, 300, 1001, 4096):
        module(torch.zeros(1, 1), torch.arange(length)[None])
        assert torch.equal(bits(encoding.at_length(length)), module.inv_freq), length


def test_longrope_of_a_model_switches_its_list_after_the_trained_length():
    lists = {
        "short_factor": np.linspace(1, 2, 32).tolist(),
        "long_factor": np.linspace(1, 30, 32).tolist(),
    }
    trained = {"original_max_position_embeddings": 128, "factor": 4.0}
    config = config_of({"rope_type": "longrope", "rope_theta": 1e4, **trained, **lists})
    module, encoding = their_module(config), from_config(config.to_dict())
    for length in (128, 129):
        module(torch.zeros(1, 1), torch.arange(length)[None])
        assert torch.equal(bits(encoding.at_length(length)), module.inv_freq), length
    assert encoding.attention_factor == module.attention_scaling > 1.0


def test_layer_types_of_gemma_3_have_frequencies_of_their_own():
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding

    config = transformers.Gemma3TextConfig(
        rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        }
    )
    module = Gemma3RotaryEmbedding(config)
    for layer_type in ("full_attention", "sliding_attention"):
        ours = bits(from_config(config.to_dict(), layer_type=layer_type))
        assert torch.equal(ours, getattr(module, f"{layer_type}_inv_freq"))


def test_full_attention_of_gemma_4_is_proportional_with_its_own_head():
    from transformers.models.gemma4.modeling_gemma4 import Gemma4TextRotaryEmbedding

    config = transformers.Gemma4TextConfig()
    module = Gemma4TextRotaryEmbedding(config)
    said = config.to_dict()
    older = {**said, "global_head_dim": 512, "per_layer_config": None}
    for spelled, layer_type in itertools.product((said, older), module.layer_types):
        with pytest.warns(UserWarning, match="multiplies logits by 1, "):
            ours = from_config(spelled, layer_type=layer_type)
        assert torch.equal(bits(ours), getattr(module, f"{layer_type}_inv_freq"))
    layers = schedule(said).layers
    assert [layers[5].encoding.name, layers[4].encoding.name] == ["rope-proportional", "rope"]


@pytest.mark.parametrize(
    ("model", "spelled"),
    [
        ("GPTNeoX", {"rotary_pct": 0.25, "rotary_emb_base": 20000}),
        ("StableLm", {"partial_rotary_factor": 0.25, "rope_theta": 20000.0}),
        ("Glm", {"partial_rotary_factor": 0.5, "rope_theta": 20000.0, "head_dim": 64}),
    ],
)
def test_old_spellings_of_partial_models_are_read_as_transformers_reads_them(model, spelled):
    name = {"GPTNeoX": "gpt_neox", "StableLm": "stablelm", "Glm": "glm"}[model]
    plain = {"hidden_size": 256, "num_attention_heads": 4, **spelled}
    config = getattr(transformers, f"{model}Config")(**plain)
    room = __import__(f"transformers.models.{name}.modeling_{name}", fromlist=["x"])
    module = getattr(room, f"{model}RotaryEmbedding")(config)
    for said in ({"model_type": name, **plain}, config.to_dict()):
        assert torch.equal(bits(from_config(said)), module.inv_freq)


def test_deepseek_v3_with_yarn_has_the_bits_and_the_factor_of_transformers():
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3RotaryEmbedding

    parameters = {
        "rope_type": "yarn",
        "factor": 40.0,
        "original_max_position_embeddings": 4096,
        "mscale": 1.0,
        "mscale_all_dim": 0.707,
        "rope_theta": 10000.0,
    }
    config = transformers.DeepseekV3Config(
        max_position_embeddings=163840, rope_parameters=parameters
    )
    module = DeepseekV3RotaryEmbedding(config)
    encoding = from_config(config.to_dict())
    assert torch.equal(bits(encoding), module.inv_freq)
    assert encoding.attention_factor == module.attention_scaling
    assert (encoding.name, encoding.first, encoding.layout) == ("mla", 128, "interleaved")


def test_a_nested_truncate_is_read_here_and_not_by_transformers():
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding

    yarn = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4, "truncate": False}
    yarn["original_max_position_embeddings"] = 2048
    plain = {"rope_type": "default", "rope_theta": 1e4}
    both = {"full_attention": yarn, "sliding_attention": plain}
    config = transformers.Gemma3TextConfig(rope_parameters=both)
    theirs = Gemma3RotaryEmbedding(config).full_attention_inv_freq
    said = config.to_dict()
    assert not torch.equal(bits(from_config(said, layer_type="full_attention")), theirs)
    del said["rope_parameters"]["full_attention"]["truncate"]
    assert torch.equal(bits(from_config(said, layer_type="full_attention")), theirs)


def test_a_share_that_the_llama_of_transformers_does_not_read_is_refused():
    parameters = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    config = config_of(parameters)
    with pytest.raises(EncodingError, match="does not read it and rotates all"):
        from_config(config.to_dict())
    assert len(their_module(config).inv_freq) == 32  # pairs, so all 64 coordinates
    parameters = {**parameters, "rope_type": "linear", "factor": 1.0}
    assert len(their_module(config_of(parameters)).inv_freq) == 16
