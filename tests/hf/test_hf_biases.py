"""T5 with another bias: against models whose bias is native, and against attention masks."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")
ALIBI = {"heads": 4, "symmetric": True}


@pytest.mark.parametrize("family", ["t5", "umt5"])
def test_uninstall_brings_every_t5_back_bit_for_bit(room, family):
    model = room.build(family)
    before = room.photograph(model)
    hf.install(model, gnomon.encoding("alibi", **ALIBI))
    assert not torch.equal(room.logits(model), before["logits"])
    hf.uninstall(model)
    room.assert_same(room.photograph(model), before)


@pytest.mark.parametrize("family", ["t5", "umt5"])
def test_a_t5_with_its_own_biases_installed_by_parts_is_itself_bit_for_bit(room, family):
    model = room.build(family)
    if family == "umt5":  # each layer learns its own table there, so make them one
        for part in (model.encoder, model.decoder):
            first = part.block[0].layer[0].SelfAttention.relative_attention_bias.weight
            for block in part.block[1:]:
                block.layer[0].SelfAttention.relative_attention_bias.weight.data.copy_(first.data)
    before = room.photograph(model)
    own = {part: hf.read(model, part=part) for part in ("encoder", "decoder")}
    assert [own[part].bidirectional for part in own] == [True, False]
    for part, encoding in own.items():
        hf.install(model, encoding, part=part)
    assert torch.equal(room.logits(model), before["logits"])
    assert hf.installed(model, part="decoder").bidirectional is False
    room.assert_same(room.photograph(hf.uninstall(model)), before)


def test_an_installed_t5_bias_gives_the_bits_of_a_model_that_has_its_table(room):
    native = room.build("t5", seed=5)
    tables = {part: hf.read(native, part=part) for part in ("encoder", "decoder")}
    other = room.build("t5", seed=5)
    for part in (other.encoder, other.decoder):
        part.block[0].layer[0].SelfAttention.relative_attention_bias.weight.data.zero_()
    assert not torch.equal(room.logits(other), room.logits(native))
    for part, encoding in tables.items():
        hf.install(other, encoding, part=part)
    assert torch.equal(room.logits(other), room.logits(native))


def test_alibi_in_an_encoder_equals_a_mask_of_floats_in_an_encoder_without_bias(room):
    """A mask of floats is added to logits in transformers: the bias by another road."""
    model = room.build("t5", attn_implementation="eager").double()
    tokens = room.sentences(model)["input_ids"]
    table = model.encoder.block[0].layer[0].SelfAttention.relative_attention_bias
    own = table.weight.detach().clone()
    table.weight.data.zero_()
    lags = np.abs(np.arange(12)[:, None] - np.arange(12))
    mask = torch.from_numpy(-(2.0 ** (-2.0 * np.arange(1, 5)))[None, :, None, None] * lags)
    with torch.no_grad():
        wanted = model.encoder(tokens, attention_mask=mask).last_hidden_state
        table.weight.data.copy_(own)
        hf.install(model, gnomon.encoding("alibi", **ALIBI), part="encoder")
        found = model.encoder(tokens).last_hidden_state
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_loaded_t5_has_its_biases_and_the_weights_from_before(room, tmp_path):
    model = room.build("t5")
    before = room.photograph(model)
    hf.install(model, gnomon.encoding("t5", heads=4, seed=2), part="encoder")
    hf.install(model, gnomon.encoding("kerple-log", heads=4), part="decoder")
    inputs = room.sentences(model)
    model(input_ids=inputs["input_ids"], labels=inputs["input_ids"]).loss.backward()
    attention = model.encoder.block[0].layer[0].SelfAttention
    assert attention.gnomon.table.grad.abs().max() > 0
    assert attention.relative_attention_bias.weight.grad is None
    attention.gnomon.table.data -= 0.1 * attention.gnomon.table.grad
    model.zero_grad()
    changed = room.logits(model)
    model.save_pretrained(tmp_path)
    opened = hf.load(tmp_path).eval()
    assert torch.equal(room.logits(opened), changed)
    learned = hf.installed(opened, part="encoder").numbers["table"]
    np.testing.assert_array_equal(learned, hf.installed(model).numbers["table"])
    assert hf.installed(opened, part="decoder").name == "kerple-log"
    after = room.photograph(hf.uninstall(opened))
    after["config"]["_name_or_path"] = before["config"]["_name_or_path"]
    room.assert_same(after, before)


def test_generation_with_a_cache_equals_generation_without(room):
    model = hf.install(room.build("t5"), gnomon.encoding("alibi", **ALIBI))
    tokens = room.sentences(model)["input_ids"]
    asked = {"max_new_tokens": 20, "do_sample": False, "eos_token_id": None}
    with_cache = model.generate(tokens, use_cache=True, **asked)
    assert torch.equal(with_cache, model.generate(tokens, use_cache=False, **asked))
    static = model.generate(tokens, cache_implementation="static", disable_compile=True, **asked)
    assert torch.equal(with_cache, static)


def test_without_an_encoding_a_t5_is_one_whose_table_is_zero(room):
    model, zeroed = room.build("t5"), room.build("t5")
    for part in (zeroed.encoder, zeroed.decoder):
        part.block[0].layer[0].SelfAttention.relative_attention_bias.weight.data.zero_()
    hf.install(model, gnomon.encoding("nope"))
    assert torch.equal(room.logits(model), room.logits(zeroed))
