"""`arithmetic="float32"` repeats the operations of transformers: every bit of q, k and logits.

Also what its loading does to a module: models are made without storage and filled from files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gnomon
from gnomon.torch import Transform, layer

transformers = pytest.importorskip("transformers")
from transformers.models.gptj import modeling_gptj  # noqa: E402 - only where it is installed
from transformers.models.llama import modeling_llama  # noqa: E402 - only where it is installed

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
SCALED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rope": ({"rope_type": "default"}, {}),
    "rope-linear": ({"rope_type": "linear", "factor": 4.0}, {"factor": 4.0}),
    "rope-yarn": (
        {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 1024},
        {"factor": 8.0, "original_length": 1024},
    ),
    "rope-llama3": (
        {"rope_type": "llama3", "original_max_position_embeddings": 1024, **LLAMA3},
        {"original_length": 1024, **LLAMA3},
    ),
}


def config(**rope: Any) -> Any:
    return transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=40,
        max_position_embeddings=8192,
        rope_parameters={"rope_theta": 10000.0, "rope_type": "default", **rope},
    )


def vectors(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SCALED)
def test_queries_and_keys_are_those_of_llama_bit_for_bit(name: str, dtype: torch.dtype) -> None:
    spelled, parameters = SCALED[name]
    peer = modeling_llama.LlamaRotaryEmbedding(config(**spelled))
    made = gnomon.encoding(name, dimension=16, layout="half", **parameters)
    ours = layer(made, arithmetic="float32")
    positions = torch.randint(0, 200_000, (2, 9), generator=torch.Generator().manual_seed(6))
    q, k = vectors(2, 4, 9, 16, dtype=dtype), vectors(2, 2, 9, 16, dtype=dtype)
    wanted = modeling_llama.apply_rotary_pos_emb(q, k, *peer(q, positions))
    assert torch.equal(ours.inv_freq, peer.inv_freq)
    for found, want in zip(ours(q, k, positions), wanted, strict=True):
        assert found.dtype == dtype
        assert torch.equal(found, want)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_queries_are_those_of_gptj_bit_for_bit(dtype: torch.dtype) -> None:
    """GPT-J pairs neighbours and keeps a table; 12 of 16 coordinates turn."""
    positions = torch.tensor([0, 1, 17, 1023])
    table = modeling_gptj.create_sinusoidal_positions(1024, 12)[positions].to(dtype)
    sine, cosine = table[None].chunk(2, dim=-1)
    q = vectors(1, 4, 3, 16, dtype=dtype)  # (batch, n, heads, d), as GPT-J has them
    turned = modeling_gptj.apply_rotary_pos_emb(q[..., :12], sine, cosine)
    ours = layer(gnomon.encoding("rope", dimension=16, fraction=0.75), arithmetic="float32")
    heads_first = q.transpose(1, 2)
    found, _ = ours(heads_first, heads_first, positions)
    wanted = torch.cat([turned, q[..., 12:]], dim=-1).transpose(1, 2)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_queries_and_keys_are_those_of_qwen2_vl_bit_for_bit(dtype: torch.dtype) -> None:
    """Three axes: time, height, width, each with a section of the pairs."""
    from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

    sections = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 6, 6]}
    peer = qwen.Qwen2VLRotaryEmbedding(
        Qwen2VLTextConfig(hidden_size=96, num_attention_heads=3, rope_parameters=sections)
    )
    made = gnomon.encoding("m-rope", dimension=32, sections=(4, 6, 6), base=1e6, layout="half")
    at = torch.randint(0, 9000, (2, 7, 3), generator=torch.Generator().manual_seed(6))
    q, k = vectors(2, 3, 7, 32, dtype=dtype), vectors(2, 1, 7, 32, dtype=dtype)
    wanted = qwen.apply_rotary_pos_emb(q, k, *peer(q, at.movedim(-1, 0)))
    for found, want in zip(layer(made, arithmetic="float32")(q, k, at), wanted, strict=True):
        assert torch.equal(found, want)


def test_by_default_phases_are_better_than_those_of_transformers() -> None:
    """Half precision at a late position: float64 phases against float32 ones, by the definition."""
    made = gnomon.encoding("rope", dimension=16, layout="half")
    q = vectors(1, 1, 16, dtype=torch.float32)
    positions = torch.tensor([1_000_003])
    wanted, _ = made.transform(q.double().numpy(), q.double().numpy(), positions.numpy())
    exact, _ = layer(made)(q, q, positions)
    narrow, _ = layer(made, arithmetic="float32")(q, q, positions)
    assert (exact.double() - torch.from_numpy(wanted)).abs().max() < 3e-7
    assert (narrow.double() - torch.from_numpy(wanted)).abs().max() > 1e-3


class Installed(nn.Module):
    """Our tables in the place of a model's rotary embedding, in the form that it returns."""

    def __init__(self, rotary: Transform) -> None:
        super().__init__()
        self.rotary = rotary

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        cosine, sine, _ = self.rotary.tables(position_ids, dtype=x.dtype)
        return torch.cat([cosine, cosine], -1), torch.cat([sine, sine], -1)


class InstalledLlama(transformers.LlamaForCausalLM):  # type: ignore[misc]
    """A model that makes our layer while it is made, with or without storage."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        made = gnomon.encoding("rope", dimension=16, layout="half")
        self.model.rotary_emb = Installed(layer(made, arithmetic="float32"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_model_loaded_from_a_file_gives_the_bits_of_the_stock_model(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    """Made on the meta device, filled from a file, in half precision: constants are not lost."""
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config()).save_pretrained(tmp_path)
    tokens = torch.arange(24).reshape(2, 12)
    stock = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=dtype).eval()
    ours = InstalledLlama.from_pretrained(tmp_path, dtype=dtype).eval()
    with torch.no_grad():
        assert torch.equal(ours(tokens).logits, stock(tokens).logits)
    assert torch.equal(ours.model.rotary_emb.rotary.inv_freq, stock.model.rotary_emb.inv_freq)


def test_a_model_without_storage_that_is_emptied_keeps_its_frequencies() -> None:
    with torch.device("meta"):
        model = InstalledLlama(config())
    assert model.model.embed_tokens.weight.device.type == "meta"
    model = model.to_empty(device="cpu").to(torch.bfloat16)
    stock = modeling_llama.LlamaRotaryEmbedding(config())
    assert torch.equal(model.model.rotary_emb.rotary.inv_freq, stock.inv_freq)


def test_tokens_that_transformers_generates_are_the_same_with_our_layer(tmp_path: Path) -> None:
    torch.manual_seed(1)
    transformers.LlamaForCausalLM(config()).save_pretrained(tmp_path)
    told = []
    for kind in (transformers.LlamaForCausalLM, InstalledLlama):
        model = kind.from_pretrained(tmp_path).eval()
        start = torch.tensor([[1, 2, 3]])
        told.append(model.generate(start, max_new_tokens=12, do_sample=False, pad_token_id=0))
    assert torch.equal(told[0], told[1])
