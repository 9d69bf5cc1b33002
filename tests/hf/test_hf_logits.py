"""Queries and keys of a model's own attention, against the attention weights it returns itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

import gnomon
from gnomon.errors import SpectrumError
from gnomon.spectra.coupling import couple
from gnomon.spectra.share import toeplitz_share

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", minversion="5.0")
hf_logits = pytest.importorskip("gnomon.hf.logits")


@pytest.mark.parametrize("family", ["llama", "gpt2", "bert"])
def test_logits_make_the_attention_weights_of_the_model(room, family: str) -> None:
    model = room.build(family)
    tokens = room.sentences(model)["input_ids"]
    found = hf_logits.collect(model, tokens)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        wanted = model(input_ids=tokens, output_attentions=True).attentions
    assert len(found) == len(wanted) == 2
    for one, weights in zip(found, wanted, strict=True):
        logits = one.logits()
        if one.causal:
            logits = np.where(np.tril(np.ones(logits.shape[-2:])) > 0, logits, -np.inf)
        np.testing.assert_allclose(softmax(logits, axis=-1), weights.numpy(), atol=1e-5)
    assert found[0].causal is (family != "bert")


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_collecting_changes_nothing_in_the_model(room, implementation: str) -> None:
    model = room.build("llama")
    model.set_attn_implementation(implementation)
    before = room.photograph(model)
    hf_logits.collect(model, room.sentences(model)["input_ids"])
    room.assert_same(room.photograph(model), before)


def test_queries_are_turned_back_to_what_no_position_has_seen(room) -> None:
    """The same token everywhere: content is one vector, and turned back all queries are equal."""
    model = room.build("llama")
    tokens = torch.full((1, 12), 7)
    first = hf_logits.collect(model, tokens)[0]
    known = gnomon.encoding("rope", dimension=first.q.shape[-1], layout="half")
    q, k = first.unturned(known)
    np.testing.assert_allclose(q, np.broadcast_to(q[:, :, :1], q.shape), atol=1e-5)
    np.testing.assert_allclose(k, np.broadcast_to(k[:, :, :1], k.shape), atol=1e-5)
    assert np.ptp(first.q, axis=-2).max() > 1e-2
    share = first.share()
    np.testing.assert_allclose(share.share, 1.0, atol=1e-6)
    coupled = couple(q[0, 0], k[0, 0], known, scale=first.scale)
    wanted = np.linalg.svd(first.logits()[0, 0], compute_uv=False)
    np.testing.assert_allclose(coupled.singular_after, wanted, atol=1e-5)


def test_real_tokens_are_less_toeplitz_than_one_token_repeated(room) -> None:
    model = room.build("llama")
    found = hf_logits.collect(model, room.sentences(model, 24)["input_ids"])[0]
    logits = found.logits()
    assert logits.shape == (2, 4, 24, 24)
    wanted = toeplitz_share(logits[1, 2], causal=True).share
    assert found.share().share[1, 2] == pytest.approx(float(wanted))
    assert (found.share().share < 0.99).all()


def test_what_can_not_be_collected_is_refused_in_words(room) -> None:
    model = room.build("llama")
    tokens = room.sentences(model)["input_ids"]
    mask = torch.ones_like(tokens)
    mask[0, :3] = 0
    with pytest.raises(SpectrumError, match="The attention_mask hides some tokens"):
        hf_logits.collect(model, tokens, attention_mask=mask)
    with pytest.raises(SpectrumError, match="A Linear has no layers of attention"):
        hf_logits.collect(torch.nn.Linear(2, 2), tokens)
    with pytest.raises(SpectrumError, match="'alibi' does not turn queries and keys"):
        hf_logits.collect(model, tokens)[0].unturned(gnomon.encoding("alibi", heads=4))
