"""Small random models of many families, and what must hold of any model with an encoding in it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")

VOCABULARY, LENGTH = 40, 64
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": LENGTH,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**SHAPE, "num_key_value_heads": 2}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertForMaskedLM", SHAPE),
    "roberta": ("RobertaForMaskedLM", SHAPE),
    "electra": ("ElectraForMaskedLM", {**SHAPE, "embedding_size": 16}),
    "albert": ("AlbertForMaskedLM", {**SHAPE, "embedding_size": 16}),
    "nystromformer": ("NystromformerForMaskedLM", {**SHAPE, "segment_means_seq_len": LENGTH}),
    "gpt2": ("GPT2LMHeadModel", SHAPE),
    "opt": ("OPTForCausalLM", {**SHAPE, "ffn_dim": 48, "word_embed_proj_dim": 32}),
    "llama": ("LlamaForCausalLM", GROUPED),
    "mistral": ("MistralForCausalLM", GROUPED),
    "qwen3": ("Qwen3ForCausalLM", {**GROUPED, "head_dim": 16}),
    "gemma": ("GemmaForCausalLM", {**GROUPED, "head_dim": 16}),
    "gemma2": ("Gemma2ForCausalLM", {**GROUPED, "head_dim": 16}),
    "gemma3_text": (
        "Gemma3ForCausalLM",
        {**GROUPED, "head_dim": 16, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "phi": ("PhiForCausalLM", {**GROUPED, "rope_parameters": {"partial_rotary_factor": 0.5}}),
    "phi3": ("Phi3ForCausalLM", GROUPED),
    "gpt_neox": ("GPTNeoXForCausalLM", {**SHAPE, "rotary_pct": 0.5}),
    "stablelm": (
        "StableLmForCausalLM",
        {**GROUPED, "rope_parameters": {"partial_rotary_factor": 0.5}},
    ),
    "cohere": ("CohereForCausalLM", GROUPED),
    "smollm3": ("SmolLM3ForCausalLM", {**GROUPED, "no_rope_layers": [1, 0]}),
    "modernbert": (
        "ModernBertForMaskedLM",
        {**SHAPE, "cls_token_id": 1, "sep_token_id": 2, "global_attn_every_n_layers": 2},
    ),
    "deepseek_v3": (
        "DeepseekV3ForCausalLM",
        {
            **SHAPE,
            "num_key_value_heads": 4,
            "kv_lora_rank": 8,
            "q_lora_rank": 8,
            "qk_nope_head_dim": 4,
            "qk_rope_head_dim": 4,
            "v_head_dim": 8,
            "first_k_dense_replace": 2,
        },
    ),
    "falcon": ("FalconForCausalLM", {**SHAPE, "alibi": False}),
    "t5": (
        "T5ForConditionalGeneration",
        {
            "vocab_size": VOCABULARY,
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "pad_token_id": 0,
            "eos_token_id": 2,
            "decoder_start_token_id": 0,
        },
    ),
}
FAMILIES["umt5"] = ("UMT5ForConditionalGeneration", FAMILIES["t5"][1])
FAMILIES["bart"] = (
    "BartForConditionalGeneration",
    {
        "vocab_size": VOCABULARY,
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "max_position_embeddings": LENGTH,
    },
)


def build(family: str, *, seed: int = 0, **more: Any) -> Any:
    """A small model of a family with random weights."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    name, shape = FAMILIES[family]
    kind = getattr(transformers, name)
    torch.manual_seed(seed)
    model = kind(kind.config_class(**copy.deepcopy({**shape, **more})))
    model.config.architectures, model.config.dtype = [name], "float32"  # as saving would set them
    return model.eval()


def sentences(model: Any, length: int = 12) -> dict[str, Any]:
    """Two sentences of random tokens, for a decoder as well where the model has one."""
    tokens = torch.randint(3, VOCABULARY, (2, length), generator=torch.Generator().manual_seed(1))
    if model.config.is_encoder_decoder:
        return {"input_ids": tokens, "decoder_input_ids": tokens.flip(0)}
    return {"input_ids": tokens}


def logits(model: Any, **more: Any) -> Any:
    with torch.no_grad():
        return model(**{**sentences(model), **more}).logits


def photograph(model: Any) -> Any:
    """All that must come back: config, weights, buffers, what is trained, logits."""
    return {
        "config": copy.deepcopy(model.config.to_dict()),
        "attention": model.config._attn_implementation,
        "weights": {name: value.clone() for name, value in model.state_dict().items()},
        "buffers": {name: value.clone() for name, value in model.named_buffers()},
        "trained": {name: value.requires_grad for name, value in model.named_parameters()},
        "logits": logits(model),
    }


def assert_same(found: Any, wanted: Any) -> None:
    """Bit for bit."""
    for name in ("config", "attention", "trained"):
        assert found[name] == wanted[name], name
    for name in ("weights", "buffers"):
        assert found[name].keys() == wanted[name].keys(), name
        for key, value in wanted[name].items():
            assert torch.equal(found[name][key], value), key
    assert torch.equal(found["logits"], wanted["logits"])


class Room:
    """The helpers above, for tests."""

    build = staticmethod(build)
    sentences = staticmethod(sentences)
    logits = staticmethod(logits)
    photograph = staticmethod(photograph)
    assert_same = staticmethod(assert_same)
    LENGTH = LENGTH
    VOCABULARY = VOCABULARY


@pytest.fixture
def room() -> type[Room]:
    """Small models and what must hold of them."""
    return Room
