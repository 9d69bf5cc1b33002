"""What configs leave to the code of their model: layouts, and values that they may omit.

A `config.json` never says which coordinates make a pair, and many published ones omit what was the
default of their code. Both are facts of the implementations in [wolf2020], release 5.22, by model
type; `tests/agreement/test_transformers_models.py` compares every line with an installed release.
A model type that is not named here pairs in halves, and must say its own base.

Model types are written without the ending `_text`, which the text parts of larger models carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

INTERLEAVED: frozenset[str] = frozenset(
    {
        "axk2",
        "bailing_hybrid",
        "blt",
        "blt_global_transformer",
        "blt_local_decoder",
        "blt_local_encoder",
        "blt_patcher",
        "codegen",
        "cohere",
        "cohere2",
        "cohere2_moe",
        "deepseek_v2",
        "deepseek_v32",
        "deepseek_v4",
        "ernie4_5",
        "ernie4_5_moe",
        "ernie4_5_vl_moe",
        "glm",
        "glm4",
        "glm4v",
        "glm_moe_dsa",
        "glm_ocr",
        "gptj",
        "helium",
        "llama4",
        "longcat_flash",
        "mistral_large4",
        "moonshine",
        "moonshine_streaming",
    }
)
"""Model types whose pairs are (2k, 2k+1), where the config has no key for it."""

TRAILING: frozenset[str] = frozenset({"deepseek_v4"})
"""Model types that turn the last coordinates of a head, not the first."""

SECTIONS: Mapping[str, tuple[str, tuple[int, ...]]] = MappingProxyType(
    {
        "cosmos3_edge": ("interleaved", (24, 20, 20)),
        "ernie4_5_vl_moe": ("spatial-first", (22, 22, 20)),
        "glm4v": ("chunked", (8, 12, 12)),
        "glm4v_moe": ("chunked", (8, 12, 12)),
        "glm_ocr": ("chunked", (8, 12, 12)),
        "paddleocr_vl": ("chunked", (16, 24, 24)),
        "qwen2_5_omni": ("chunked", (16, 24, 24)),
        "qwen2_5_vl": ("chunked", (16, 24, 24)),
        "qwen2_vl": ("chunked", (16, 24, 24)),
        "qwen3_5": ("interleaved", (11, 11, 10)),
        "qwen3_5_moe": ("interleaved", (11, 11, 10)),
        "qwen3_omni_moe": ("interleaved", (24, 20, 20)),
        "qwen3_vl": ("interleaved", (24, 20, 20)),
        "qwen3_vl_moe": ("interleaved", (24, 20, 20)),
    }
)
"""How model types with several position axes deal their pairs, and the sections they default to."""

DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "axk1": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_interleave": True,
            "rope_theta": 10000.0,
        },
        "codegen": {"rope_theta": 10000.0, "rotary_dim": 64},
        "cohere": {"rope_theta": 500000.0},
        "cohere2": {"rope_theta": 10000.0},
        "deepseek_v2": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_theta": 10000.0,
        },
        "deepseek_v3": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_interleave": True,
            "rope_theta": 10000.0,
        },
        "deepseek_v32": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_theta": 10000.0,
        },
        "deepseek_v4": {
            "compress_rope_theta": 160000.0,
            "head_dim": 512,
            "partial_rotary_factor": 0.125,
            "rope_theta": 10000.0,
        },
        "ernie4_5": {"rope_theta": 500000.0},
        "falcon": {"rope_theta": 10000.0},
        "gemma": {"rope_theta": 10000.0, "head_dim": 256},
        "gemma2": {"rope_theta": 10000.0, "head_dim": 256},
        "gemma3": {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "head_dim": 256},
        "gemma3n": {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "head_dim": 256},
        "glm": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5, "head_dim": 128},
        "glm4": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5, "head_dim": 128},
        "glm4_moe": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "glm4_moe_lite": {
            "qk_nope_head_dim": 192,
            "qk_rope_head_dim": 64,
            "rope_interleave": True,
            "rope_theta": 10000.0,
        },
        "glm4v_moe": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "gpt_neox": {"rotary_emb_base": 10000.0, "rotary_pct": 0.25},
        "gptj": {"rope_theta": 10000.0, "rotary_dim": 64},
        "granite": {"rope_theta": 10000.0},
        "helium": {"rope_theta": 100000.0, "head_dim": 128},
        "llama": {"rope_theta": 10000.0},
        "llama4": {
            "attn_scale": 0.1,
            "attn_temperature_tuning": True,
            "floor_scale": 8192,
            "head_dim": 128,
            "no_rope_layer_interval": 4,
            "rope_theta": 500000.0,
        },
        "mistral": {"rope_theta": 10000.0},
        "mistral4": {"qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "rope_interleave": True},
        "mixtral": {"rope_theta": 1000000.0},
        "modernbert": {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
        "modernbert-decoder": {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
        "nemotron": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "olmo": {"rope_theta": 10000.0},
        "olmo2": {"rope_theta": 10000.0},
        "olmoe": {"rope_theta": 10000.0},
        "persimmon": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "phi": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "phi3": {"rope_theta": 10000.0},
        "qwen2": {"rope_theta": 10000.0},
        "qwen2_5_vl": {"rope_theta": 1000000.0},
        "qwen2_moe": {"rope_theta": 10000.0},
        "qwen2_vl": {"rope_theta": 1000000.0},
        "qwen3": {"rope_theta": 10000.0, "head_dim": 128},
        "qwen3_moe": {"rope_theta": 10000.0},
        "qwen3_next": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25, "head_dim": 256},
        "qwen3_vl": {"rope_theta": 500000.0, "head_dim": 128},
        "smollm3": {"rope_theta": 2000000.0, "no_rope_layer_interval": 4},
        "stablelm": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        "starcoder2": {"rope_theta": 10000.0},
        "youtu": {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_interleave": True},
    }
)
"""By model type, the keys that its configs may leave out, with the values they then have."""

EVERY: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "gemma3": ("sliding_window_pattern", 6, 1),
        "gemma3n": ("", 5, 1),
        "modernbert": ("global_attn_every_n_layers", 3, 0),
        "modernbert-decoder": ("global_attn_every_n_layers", 3, 0),
    }
)
"""Which layers have full attention, where a config lists no types: (key, usual every, first).

Layer number n has it where n + first is a multiple of what the key says; others have a window.
"""

UNLIKE: Mapping[str, str] = MappingProxyType(
    {
        "dinov3_vit": "turns the patches of a picture, which a config alone does not place; use "
        'gnomon.encoding("rope-patches", ...)',
        "eomt_dinov3": "turns the patches of a picture, which a config alone does not place; use "
        'gnomon.encoding("rope-patches", ...)',
        "hunyuan_vl": "deals its pairs to four axes by a rule of its own, which is not in the "
        "catalogue; build the nearest encoding by hand",
    }
)
"""Model types whose rotary encoding is no member of a family here, and why."""


def plain_type(model_type: str) -> str:
    """Return a model type without the ending of the text part of a larger model.

    >>> plain_type("gemma3_text")
    'gemma3'
    """
    return model_type.removesuffix("_text")
