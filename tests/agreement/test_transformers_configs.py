"""Configs as they were published, in the spelling of transformers 4, read by transformers 5 and us.

Each is the part of a released `config.json` that speaks of positions. transformers reads the raw
mapping by its own config class and builds its own rotary module; ours reads the raw mapping.
"""

from __future__ import annotations

import copy
import importlib

import pytest

from gnomon.encodings.rotary.config.build import from_config, layer_types
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
array_torch = pytest.importorskip("array_api_compat.torch")

LLAMA_3_1 = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
}
LLAMA_2 = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
    "rope_scaling": None,
}
QWEN_YARN = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"},
}
PHI_3_LONG = {
    "model_type": "phi3",
    "hidden_size": 3072,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "rope_theta": 10000.0,
    "rope_scaling": {
        "type": "longrope",
        "short_factor": [1.05 + 0.01 * k for k in range(48)],
        "long_factor": [1.03 + 1.3 * k for k in range(48)],
    },
}
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "max_position_embeddings": 163840,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "rope_theta": 10000,
    "rope_scaling": {
        "beta_fast": 32,
        "beta_slow": 1,
        "factor": 40,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
        "type": "yarn",
    },
}
PYTHIA = {
    "model_type": "gpt_neox",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "max_position_embeddings": 2048,
    "rotary_emb_base": 10000,
    "rotary_pct": 0.25,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "head_dim": 64,
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "max_position_embeddings": 131072,
    "initial_context_length": 4096,
    "rope_theta": 150000,
    "rope_scaling": {
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "rope_type": "yarn",
        "truncate": False,
    },
}
GEMMA_3 = {
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
}
MODERNBERT = {
    "model_type": "modernbert",
    "global_rope_theta": 160000.0,
    "hidden_size": 768,
    "local_rope_theta": 10000.0,
    "max_position_embeddings": 8192,
    "num_attention_heads": 12,
    "position_embedding_type": "absolute",
}
QWEN_2_VL = {
    "model_type": "qwen2_vl",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
}
SMOLLM_3 = {
    "model_type": "smollm3",
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "max_position_embeddings": 65536,
    "num_hidden_layers": 36,
    "no_rope_layer_interval": 4,
    "rope_scaling": None,
    "rope_theta": 5000000.0,
}
FLAT = {
    "Llama": (LLAMA_3_1, LLAMA_2),
    "Qwen2": (QWEN_YARN,),
    "Phi3": (PHI_3_LONG,),
    "DeepseekV3": (DEEPSEEK_V3,),
    "GPTNeoX": (PYTHIA,),
    "GptOss": (GPT_OSS,),
}


def their_config(said, model_type=None):
    from transformers import CONFIG_MAPPING

    transformers.logging.set_verbosity_error()
    return CONFIG_MAPPING[model_type or said["model_type"]].from_dict(copy.deepcopy(said))


def their_module(config, name):
    room = type(config).__module__.replace("configuration_", "modeling_")
    return getattr(importlib.import_module(room), name)(config)


def bits(encoding):
    return encoding.frequencies_in(xp=array_torch, dtype=torch.float32)[:, 0]


@pytest.mark.parametrize(
    ("model", "said"), [(m, said) for m, every in FLAT.items() for said in every]
)
def test_a_published_config_is_read_as_transformers_reads_it(model, said):
    config = their_config(said)
    module = their_module(config, f"{model}RotaryEmbedding")
    for spelled in (said, config.to_dict()):
        ours = from_config(spelled)
        assert torch.equal(bits(ours), module.inv_freq)
        assert ours.attention_factor == module.attention_scaling


def test_the_long_list_of_phi_3_is_read_as_transformers_reads_it():
    module = their_module(their_config(PHI_3_LONG), "Phi3RotaryEmbedding")
    module(torch.zeros(1, 1), torch.arange(4097)[None])
    assert torch.equal(bits(from_config(PHI_3_LONG, length=4097)), module.inv_freq)


@pytest.mark.parametrize(
    ("said", "model", "text"),
    [(GEMMA_3, "Gemma3", "gemma3_text"), (MODERNBERT, "ModernBert", None)],
)
def test_two_bases_in_one_config_belong_to_two_types_of_layers(said, model, text):
    config = their_config(said.get("text_config", said), text)
    module = their_module(config, f"{model}RotaryEmbedding")
    assert set(layer_types(said)) == {"full_attention", "sliding_attention"}
    for layer_type in layer_types(said):
        ours = from_config(said, layer_type=layer_type)
        assert torch.equal(bits(ours), getattr(module, f"{layer_type}_inv_freq"))


def test_sections_of_qwen2_vl_are_read_as_transformers_reads_them():
    config = their_config(QWEN_2_VL).text_config
    module = their_module(config, "Qwen2VLRotaryEmbedding")
    for said in (QWEN_2_VL, config.to_dict(), their_config(QWEN_2_VL).to_dict()):
        ours = from_config(said)
        every = ours.frequencies_in(xp=array_torch, dtype=torch.float32).sum(axis=-1)
        assert torch.equal(every, module.inv_freq)
        assert (ours.name, ours.sections) == ("m-rope", (16, 24, 24))


def test_the_layers_of_smollm3_that_do_not_turn_are_those_of_transformers():
    config = their_config(SMOLLM_3)
    for said in (SMOLLM_3, config.to_dict()):
        turning = [from_config(said, layer=layer).name == "rope" for layer in range(36)]
        assert turning == [bool(one) for one in config.no_rope_layers]
    module = their_module(config, "SmolLM3RotaryEmbedding")
    assert torch.equal(bits(from_config(SMOLLM_3, layer=0)), module.inv_freq)


@pytest.mark.wide
def test_every_model_type_of_transformers_is_read_bit_for_bit_or_refused_in_words():
    from transformers import CONFIG_MAPPING

    agree = []
    for model_type in CONFIG_MAPPING:
        config, module = made_of_nothing(model_type)
        if module is None or model_type in OTHERWISE:
            continue
        said = config.to_dict()
        try:
            found = {name: from_config(said, layer_type=name, layer=0) for name in types_of(said)}
        except UserWarning:  # values are rotated, too: queries and keys are right all the same
            continue
        except EncodingError:
            continue
        for name, ours in found.items():
            theirs = getattr(module, f"{name}_inv_freq", getattr(module, "inv_freq", None))
            if theirs is not None and ours.name != "nope":
                once = ours.frequencies_in(xp=array_torch, dtype=torch.float32).sum(axis=-1)
                assert torch.equal(once, theirs), (model_type, name)
                agree.append(model_type)
    assert len(set(agree)) > 150


OTHERWISE = {
    "ernie4_5_vl_moe_text": "its module keeps frequencies in an order of its own",
    "musicflamingo": "its module turns sounds by time; the text part is read as that of its model",
}


def types_of(said):
    return layer_types(said) or (None,)


def made_of_nothing(model_type):
    """Return the default config of a model type and its rotary module, or None for it."""
    try:
        config = their_config({}, model_type)
        room = type(config).__module__.replace("configuration_", "modeling_")
        names = vars(importlib.import_module(room))
    except Exception:  # noqa: BLE001 -- some composite configs cannot be made of nothing
        return None, None
    if not getattr(config, "rope_parameters", None):
        return config, None
    for name, kind in names.items():
        if (
            name.endswith("RotaryEmbedding")
            and "Vision" not in name
            and kind.__module__ == names["__name__"]
        ):
            try:
                return config, kind(config)
            except Exception:  # noqa: BLE001 -- a module of another part of the model
                continue
    return config, None


def test_release_5_lets_the_top_of_a_config_override_a_trained_length_and_here_it_is_refused():
    said = {**PHI_3_LONG, "rope_scaling": {**PHI_3_LONG["rope_scaling"]}}
    said["rope_scaling"]["original_max_position_embeddings"] = 8192
    config = their_config(said)
    assert config.rope_parameters["original_max_position_embeddings"] == 4096
    with pytest.raises(EncodingError, match="keep the right one"):
        from_config(said)
