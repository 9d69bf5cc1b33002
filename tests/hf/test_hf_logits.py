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


MODELS = {
    "llama": {},
    "gpt2": {},
    "bert": {},
    "mistral": {"sliding_window": 4},
    "gemma2": {"sliding_window": 4, "attn_logit_softcapping": 2.0},
    "t5": {},
}


@pytest.mark.parametrize("family", MODELS)
def test_logits_make_the_attention_weights_of_the_model(room, family: str) -> None:
    """Windows, caps and biases among them: what the softmax of the model itself meets."""
    model = room.build(family, **MODELS[family])
    tokens = room.sentences(model)["input_ids"]
    model = model.get_encoder() if family == "t5" else model
    found = hf_logits.collect(model, tokens)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        wanted = model(input_ids=tokens, output_attentions=True).attentions
    assert len(found) == len(wanted) == 2
    for one, weights in zip(found, wanted, strict=True):
        logits = np.where(one.seen, one.logits(), -np.inf)
        np.testing.assert_allclose(softmax(logits, axis=-1), weights.numpy(), atol=1e-5)
    assert found[0].causal is (family not in ("bert", "t5"))
    windows = family in ("mistral", "gemma2")
    assert found[0].seen.sum(axis=1).max() == (4 if windows else tokens.shape[-1])


def test_the_share_of_a_model_with_a_bias_holds_its_bias(room) -> None:
    """T5's own bias made a hundred times as large: the lag is then nearly all there is."""
    model = room.build("t5").get_encoder()
    tokens = room.sentences(model)["input_ids"]
    before = hf_logits.collect(model, tokens)[0].share().share
    with torch.no_grad():
        table = model.block[0].layer[0].SelfAttention.relative_attention_bias.weight
        table.copy_(1000.0 * torch.randn(table.shape, generator=torch.Generator().manual_seed(0)))
    after = hf_logits.collect(model, tokens)[0].share().share
    assert before.max() < 0.9
    assert after.min() > 0.99


@pytest.mark.parametrize("name", ["rope", "rope-yarn", "rope-ntk"])
@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_what_an_encoding_turned_is_turned_back_though_it_scales(name: str, fraction) -> None:
    given = {
        "rope": {},
        "rope-yarn": {"factor": 4.0, "original_length": 64},
        "rope-ntk": {"factor": 4.0},
    }
    turns = gnomon.encoding(name, dimension=16, fraction=fraction, **given[name])
    q, k = np.random.default_rng(0).standard_normal((2, 1, 2, 9, 16))
    there = turns.transform(q, k, np.arange(9))
    seen = np.ones((9, 9), dtype=bool)
    made = hf_logits.Heads(layer=0, q=there[0], k=there[1], scale=1.0, causal=False, seen=seen)
    back = made.unturned(turns)
    np.testing.assert_allclose(back[0], q, atol=1e-12)
    np.testing.assert_allclose(back[1], k, atol=1e-12)
    fourier = gnomon.encoding("fope", dimension=16, length=32)
    with pytest.raises(SpectrumError, match="Turning by 'fope' cannot be undone"):
        made.unturned(fourier)


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
    with pytest.raises(SpectrumError, match="A Linear has no layers of attention that ask"):
        hf_logits.collect(torch.nn.Linear(2, 2), tokens)
    with pytest.raises(SpectrumError, match=r"cannot read these 70 tokens .*pass ids of its"):
        hf_logits.collect(room.build("gpt2"), torch.ones(1, 70, dtype=torch.long))
    with pytest.raises(SpectrumError, match="'alibi' does not turn queries and keys"):
        hf_logits.collect(model, tokens)[0].unturned(gnomon.encoding("alibi", heads=4))
