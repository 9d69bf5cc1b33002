"""The four terms of a model's first layer, against its own weights and its own logits."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import SpectrumError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", minversion="5.0")
hf_logits = pytest.importorskip("gnomon.hf.logits")
hf_terms = pytest.importorskip("gnomon.hf.logits")


@pytest.mark.parametrize("family", ["gpt2", "bert", "roberta", "opt"])
def test_terms_add_up_to_the_logits_of_the_model(room, family: str) -> None:
    model = room.build(family)
    tokens = room.sentences(model)["input_ids"][:1]
    found = hf_terms.first_layer_terms(model, tokens)
    wanted = hf_logits.collect(model, tokens)[0].logits()[0]
    assert len(found) == 4
    for one, logits in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.matrices.sum(axis=0), logits, atol=2e-4)
        assert one.part.sum() == pytest.approx(1.0)


def test_terms_of_gpt2_are_those_of_its_weights(room) -> None:
    """Position against position by hand, from wpe, ln_1 and c_attn, in float64."""
    model = room.build("gpt2")
    with torch.no_grad():
        model.transformer.h[0].attn.c_attn.bias.normal_(generator=torch.Generator().manual_seed(3))
    tokens = room.sentences(model)["input_ids"][0]
    found = hf_terms.first_layer_terms(model, tokens)
    block = model.transformer.h[0]
    p = model.transformer.wpe.weight[: len(tokens)].double().detach().numpy()
    c = model.transformer.wte.weight[tokens].double().detach().numpy()
    sigma = np.sqrt((c + p).var(axis=1, keepdims=True) + block.ln_1.eps)
    gamma, beta = (x.double().detach().numpy() for x in (block.ln_1.weight, block.ln_1.bias))
    weight, constant = (
        x.double().detach().numpy() for x in (block.attn.c_attn.weight, block.attn.c_attn.bias)
    )
    position = gamma * (p - p.mean(axis=1, keepdims=True)) / sigma
    content = gamma * (c - c.mean(axis=1, keepdims=True)) / sigma + beta
    for head in range(4):
        q, k = (slice(at + 8 * head, at + 8 * head + 8) for at in (0, 32))
        pq, pk = position @ weight[:, q], position @ weight[:, k]
        cq, ck = content @ weight[:, q] + constant[q], content @ weight[:, k] + constant[k]
        wanted = np.array([cq @ ck.T, cq @ pk.T, pq @ ck.T, pq @ pk.T]) / np.sqrt(8)
        np.testing.assert_allclose(found[head].matrices, wanted, atol=1e-4)


def test_without_a_table_or_with_a_table_of_zeros_positions_have_no_part(room) -> None:
    model = room.build("bert")
    tokens = room.sentences(model)["input_ids"][0]
    with torch.no_grad():
        model.bert.embeddings.position_embeddings.weight.zero_()
    for one in hf_terms.first_layer_terms(model, tokens):
        np.testing.assert_allclose(one.part, [1.0, 0.0, 0.0, 0.0], atol=1e-6)
    with pytest.raises(SpectrumError, match="LlamaForCausalLM has 0 tables of positions"):
        hf_terms.first_layer_terms(room.build("llama"), tokens)
