"""Configs with the keys that published models have: every layer is read, and nothing is refused.

Keys and values are those of the models' own `config.json`, with fewer layers.
"""

from __future__ import annotations

import warnings

import pytest

import gnomon

PUBLISHED = {
    "minimax_m2": (
        {
            "model_type": "minimax_m2",
            "hidden_size": 3072,
            "num_attention_heads": 48,
            "head_dim": 128,
            "rotary_dim": 64,
            "rope_theta": 5000000.0,
            "num_hidden_layers": 2,
        },
        [("rope", 64, None)],
    ),
    "mistral": (
        {
            "model_type": "mistral",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "rope_theta": 1000000.0,
            "sliding_window": None,
            "num_hidden_layers": 2,
        },
        [("rope", 128, None)],
    ),
    "stablelm": (
        {
            "model_type": "stablelm",
            "hidden_size": 2048,
            "num_attention_heads": 32,
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.25,
            "rope_pct": 0.25,
            "num_hidden_layers": 2,
        },
        [("rope", 16, None)],
    ),
    "gemma3": (
        {
            "model_type": "gemma3",
            "text_config": {
                "hidden_size": 2560,
                "model_type": "gemma3_text",
                "num_hidden_layers": 12,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "sliding_window": 1024,
            },
        },
        [("rope", 256, 1024), ("rope-linear", 256, None)],
    ),
    "gemma2": (
        {
            "model_type": "gemma2",
            "hidden_size": 4608,
            "num_attention_heads": 32,
            "head_dim": 128,
            "query_pre_attn_scalar": 144,
            "rope_theta": 10000.0,
            "sliding_window": 4096,
            "num_hidden_layers": 2,
        },
        [("rope", 128, 4096), ("rope", 128, None)],
    ),
    "llama4": (
        {
            "model_type": "llama4",
            "text_config": {
                "model_type": "llama4_text",
                "hidden_size": 5120,
                "num_attention_heads": 40,
                "head_dim": 128,
                "num_hidden_layers": 4,
                "rope_theta": 500000.0,
                "no_rope_layers": [],
                "attention_chunk_size": 8192,
                "rope_scaling": {
                    "factor": 16.0,
                    "high_freq_factor": 1.0,
                    "low_freq_factor": 1.0,
                    "original_max_position_embeddings": 8192,
                    "rope_type": "llama3",
                },
                "for_llm_compressor": False,
                "attn_temperature_tuning": True,
                "floor_scale": 8192,
                "attn_scale": 0.1,
            },
        },
        [("rope-llama3", 128, None), ("nope", None, None)],
    ),
    "phi3": (
        {
            "model_type": "phi3",
            "hidden_size": 3072,
            "num_attention_heads": 24,
            "partial_rotary_factor": 0.75,
            "rope_theta": 10000.0,
            "sliding_window": 262144,
            "num_hidden_layers": 2,
            "max_position_embeddings": 131072,
            "original_max_position_embeddings": 4096,
            "rope_scaling": {
                "type": "longrope",
                "short_factor": [1.0] * 48,
                "long_factor": [2.0] * 48,
            },
        },
        [("rope-longrope", 96, 262144)],
    ),
    "qwen2": (
        {
            "model_type": "qwen2",
            "hidden_size": 3584,
            "num_attention_heads": 28,
            "rope_theta": 1000000.0,
            "sliding_window": 131072,
            "max_window_layers": 28,
            "use_sliding_window": False,
            "num_hidden_layers": 2,
        },
        [("rope", 128, None)],
    ),
    "qwen3_next": (
        {
            "model_type": "qwen3_next",
            "hidden_size": 2048,
            "num_attention_heads": 16,
            "head_dim": 256,
            "partial_rotary_factor": 0.25,
            "rope_theta": 10000000.0,
            "num_hidden_layers": 4,
            "full_attention_interval": 4,
        },
        [("nope", None, None), ("rope", 64, None)],
    ),
    "exaone4": (
        {
            "model_type": "exaone4",
            "hidden_size": 2048,
            "num_attention_heads": 32,
            "head_dim": 64,
            "rope_theta": 1000000.0,
            "sliding_window": None,
            "sliding_window_pattern": None,
            "num_hidden_layers": 4,
            "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
            "rope_scaling": {
                "factor": 16.0,
                "high_freq_factor": 4.0,
                "low_freq_factor": 1.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3",
            },
        },
        [("rope-llama3", 64, None)],
    ),
    "gpt_oss": (
        {
            "model_type": "gpt_oss",
            "hidden_size": 2880,
            "num_attention_heads": 64,
            "head_dim": 64,
            "rope_theta": 150000,
            "sliding_window": 128,
            "num_hidden_layers": 4,
            "layer_types": [
                "sliding_attention",
                "full_attention",
                "sliding_attention",
                "full_attention",
            ],
            "rope_scaling": {
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "factor": 32.0,
                "original_max_position_embeddings": 4096,
                "rope_type": "yarn",
                "truncate": False,
            },
        },
        [("rope-yarn", 64, 128), ("rope-yarn", 64, None)],
    ),
    "olmo3": (
        {
            "model_type": "olmo3",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "rope_theta": 500000,
            "sliding_window": 4096,
            "num_hidden_layers": 4,
            "layer_types": [
                "sliding_attention",
                "sliding_attention",
                "sliding_attention",
                "full_attention",
            ],
            "rope_scaling": {
                "attention_factor": 1.2079441541679836,
                "beta_fast": 32,
                "beta_slow": 1,
                "factor": 8.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "yarn",
            },
        },
        [("rope", 128, 4096), ("rope-yarn", 128, None)],
    ),
    "bamba": (
        {
            "model_type": "bamba",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "attn_rotary_emb": 64,
            "attn_layer_indices": [1],
            "num_hidden_layers": 3,
            "rope_theta": 10000.0,
        },
        [("nope", None, None), ("rope", 64, None)],
    ),
    "lfm2": (
        {
            "model_type": "lfm2",
            "hidden_size": 1024,
            "num_attention_heads": 16,
            "full_attn_idxs": [2],
            "num_hidden_layers": 4,
            "rope_theta": 1000000.0,
        },
        [("nope", None, None), ("rope", 64, None)],
    ),
    "gpt_neox": (
        {
            "model_type": "gpt_neox",
            "hidden_size": 512,
            "num_attention_heads": 8,
            "rotary_pct": 0.25,
            "rotary_emb_base": 10000,
            "num_hidden_layers": 2,
        },
        [("rope", 16, None)],
    ),
    "gemma": (
        {
            "model_type": "gemma",
            "hidden_size": 2048,
            "num_attention_heads": 8,
            "head_dim": 256,
            "rope_theta": 10000.0,
            "num_hidden_layers": 2,
        },
        [("rope", 256, None)],
    ),
    "cohere2": (
        {
            "model_type": "cohere2",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "head_dim": 128,
            "rope_theta": 50000,
            "sliding_window": 4096,
            "sliding_window_pattern": 4,
            "num_hidden_layers": 4,
            "rope_scaling": None,
        },
        [("rope", 128, 4096), ("nope", None, None)],
    ),
    "granite": (
        {
            "model_type": "granite",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "rope_theta": 10000000.0,
            "attention_multiplier": 0.0078125,
            "num_hidden_layers": 2,
        },
        [("rope", 128, None)],
    ),
    "modernbert": (
        {
            "model_type": "modernbert",
            "hidden_size": 768,
            "num_attention_heads": 12,
            "position_embedding_type": "absolute",
            "global_rope_theta": 160000.0,
            "local_rope_theta": 10000.0,
            "global_attn_every_n_layers": 3,
            "local_attention": 128,
            "num_hidden_layers": 4,
        },
        [("rope", 64, None), ("rope", 64, 65)],
    ),
    "deepseek_v32": (
        {
            "model_type": "deepseek_v32",
            "hidden_size": 7168,
            "num_attention_heads": 128,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "rope_theta": 10000,
            "num_hidden_layers": 2,
            "rope_scaling": {
                "beta_fast": 32,
                "beta_slow": 1,
                "factor": 40,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 4096,
                "type": "yarn",
            },
        },
        [("mla", 64, None)],
    ),
    "smollm3": (
        {
            "model_type": "smollm3",
            "hidden_size": 2048,
            "num_attention_heads": 16,
            "rope_theta": 5000000.0,
            "no_rope_layers": [1, 1, 1, 0],
            "no_rope_layer_interval": 4,
            "num_hidden_layers": 4,
            "use_sliding_window": False,
            "sliding_window": None,
            "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
        },
        [("rope", 128, None), ("nope", None, None)],
    ),
    "qwen2_vl": (
        {
            "model_type": "qwen2_vl",
            "hidden_size": 1536,
            "num_attention_heads": 12,
            "rope_theta": 1000000.0,
            "sliding_window": 32768,
            "use_sliding_window": False,
            "max_window_layers": 28,
            "num_hidden_layers": 2,
            "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
        },
        [("m-rope", 128, None)],
    ),
    "qwen3_vl": (
        {
            "model_type": "qwen3_vl",
            "text_config": {
                "model_type": "qwen3_vl_text",
                "hidden_size": 2048,
                "num_attention_heads": 16,
                "head_dim": 128,
                "rope_theta": 5000000.0,
                "num_hidden_layers": 2,
                "rope_scaling": {
                    "mrope_interleaved": True,
                    "mrope_section": [24, 20, 20],
                    "rope_type": "default",
                },
            },
        },
        [("m-rope", 128, None)],
    ),
    "ministral3": (
        {
            "model_type": "ministral3",
            "hidden_size": 3072,
            "num_attention_heads": 32,
            "head_dim": 128,
            "num_hidden_layers": 2,
            "sliding_window": None,
            "rope_parameters": {
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "factor": 16.0,
                "llama_4_scaling_beta": 0.1,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 16384,
                "rope_theta": 1000000.0,
                "rope_type": "yarn",
                "type": "yarn",
            },
        },
        [("rope-yarn", 128, None)],
    ),
    "falcon": (
        {
            "model_type": "falcon",
            "hidden_size": 4544,
            "num_attention_heads": 71,
            "alibi": False,
            "num_hidden_layers": 2,
            "rope_theta": 10000.0,
        },
        [("rope", 64, None)],
    ),
    "kimi_k2": (
        {
            "model_type": "kimi_k2",
            "hidden_size": 7168,
            "num_attention_heads": 64,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "rope_theta": 50000.0,
            "num_hidden_layers": 2,
            "rope_scaling": {
                "beta_fast": 1.0,
                "beta_slow": 1.0,
                "factor": 32.0,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 4096,
                "type": "yarn",
            },
        },
        [("mla", 64, None)],
    ),
    "granitemoehybrid": (
        {
            "model_type": "granitemoehybrid",
            "hidden_size": 1536,
            "num_attention_heads": 12,
            "position_embedding_type": "nope",
            "layer_types": ["mamba", "attention"],
            "num_hidden_layers": 2,
            "rope_theta": 10000.0,
            "attention_multiplier": 0.0078125,
        },
        [("nope", None, None)],
    ),
}
"""By model type a config and what its layers do: encoding, coordinates that rotate, window."""


@pytest.mark.parametrize("model_type", PUBLISHED)
def test_what_published_models_say_is_read(model_type):
    said, wanted = PUBLISHED[model_type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = gnomon.schedule(said, length=4096).layers
    seen = [
        (one.encoding.name, getattr(one.encoding, "rotated", None), one.window) for one in layers
    ]
    assert list(dict.fromkeys(seen)) == wanted
