"""Encodings in the attention of models that have another kind: transforms, biases, rules.

The truth is another model of transformers: one that adds a bias as a mask of floats, and RoFormer,
which is BERT with a rotary encoding.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gnomon
from gnomon.hf.attention import query_positions

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")
SLOPES = 2.0 ** (-2.0 * np.arange(1, 5))
"""ALiBi's slopes for four heads [press2021 sec. 3]."""
CAUSAL = {
    "alibi": {"heads": 4},
    "xpos": {"dimension": 8},
    "t5": {"heads": 4, "bidirectional": False, "sigma": 1.0},
    "retnet": {"dimension": 8, "heads": 4},
    "rope-mixed": {"dimension": 8, "heads": 4, "axes": 1},
    "shaw": {"dimension": 8, "sigma": 1.0},
    "fox": {"dimension": 8, "heads": 4},
    "path": {"dimension": 8, "heads": 4},
}
TAPS = {
    "path": {"dimension": 8, "heads": 4, "kernel": 3},
    "selective-rope": {"dimension": 8, "heads": 4, "kernel": 4},
}


def alibi_mask(length, *, causal):
    lags = np.arange(length)[:, None] - np.arange(length)
    bias = -SLOPES[:, None, None] * np.abs(lags)
    return torch.from_numpy(np.where(causal & (lags < 0), -np.inf, bias))[None]


def switch_off(model):
    """Take all positions from a model."""
    for name, module in model.named_modules():
        if name.endswith(("position_embeddings", "wpe")):
            module.weight.data.zero_()
        if name.endswith("rotary_emb"):
            module.inv_freq.zero_()


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_alibi_equals_a_mask_of_floats_in_a_model_without_positions(room, family):
    causal = family != "bert"
    blind = room.build(family, attn_implementation="eager").double()
    switch_off(blind)
    wanted = room.logits(blind, attention_mask=alibi_mask(12, causal=causal))
    model = room.build(family).double()
    hf.install(model, gnomon.encoding("alibi", heads=4, symmetric=not causal))
    near = 1e-5 if family == "llama" else 1e-10  # its eager softmax is in float32
    torch.testing.assert_close(room.logits(model), wanted, rtol=near, atol=near)


def test_bert_with_a_rotary_encoding_is_roformer(room):
    """The same weights in RoFormer of transformers, which turns queries and keys natively."""
    bert = room.build("bert").double()
    theirs = transformers.RoFormerForMaskedLM(
        transformers.RoFormerConfig(
            **{
                key: getattr(bert.config, key)
                for key in (
                    "vocab_size",
                    "hidden_size",
                    "num_hidden_layers",
                    "num_attention_heads",
                    "intermediate_size",
                    "max_position_embeddings",
                )
            },
            embedding_size=bert.config.hidden_size,
            type_vocab_size=bert.config.type_vocab_size,
        )
    )
    theirs = theirs.double().eval()
    weights = {name.replace("bert.", "roformer.", 1): v for name, v in bert.state_dict().items()}
    missing, _ = theirs.load_state_dict(weights, strict=False)
    assert all("embed_positions" in name for name in missing)
    hf.install(bert, gnomon.encoding("rope", dimension=8))
    ours, wanted = (
        room.logits(bert),
        theirs(**room.sentences(bert)).logits.detach(),
    )
    torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-5)  # its sines are float32


def test_a_rotary_encoding_by_the_attention_equals_the_model_that_turns_itself(room):
    """Per-head frequencies that are all alike: the one road that is not `inv_freq`."""
    model = room.build("llama").double()
    wanted = room.logits(model)
    native = hf.read(model)
    encoding = gnomon.encoding("rope-mixed", dimension=8, heads=4, axes=1, layout="half")
    alike = np.tile(native.frequencies, (4, 1, 1))
    hf.install(model, encoding.with_numbers(frequencies=alike))
    assert model.config.gnomon["attention"]["name"] == "rope-mixed"
    torch.testing.assert_close(room.logits(model), wanted, rtol=1e-4, atol=1e-4)


def test_a_llama_with_layers_that_do_not_turn_is_smollm3(room):
    """The same weights in SmolLM3 of transformers, whose second layer does not turn."""
    theirs = room.build("smollm3", use_sliding_window=False).double()
    model = room.build("llama", rope_parameters=theirs.config.rope_parameters).double()
    model.load_state_dict(theirs.state_dict())
    inner = {
        "name": "rope",
        "dimension": 8,
        "layout": "half",
        "base": hf.read(theirs, layer=0).base,
    }
    hf.install(model, gnomon.encoding("rope-nope-layers", inner=inner, every=2))
    torch.testing.assert_close(room.logits(model), room.logits(theirs), rtol=1e-4, atol=1e-4)
    plain = room.logits(room.build("llama").double())
    assert (room.logits(model) - plain).abs().max() > 0.01


@pytest.mark.parametrize("name", CAUSAL)
def test_uninstall_brings_a_llama_back_bit_for_bit(room, name):
    model = room.build("llama")
    before = room.photograph(model)
    hf.install(model, gnomon.encoding(name, **CAUSAL[name]))
    assert model.config._attn_implementation == "gnomon"
    assert not torch.equal(room.logits(model), before["logits"])
    hf.uninstall(model)
    room.assert_same(room.photograph(model), before)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_uninstall_brings_models_with_a_table_back_bit_for_bit(room, family):
    model = room.build(family)
    before = room.photograph(model)
    hf.install(model, gnomon.encoding("rope", dimension=8))
    assert not torch.equal(room.logits(model), before["logits"])
    hf.uninstall(model)
    room.assert_same(room.photograph(model), before)


@pytest.mark.parametrize("name", ["alibi", "xpos", "shaw", "path"])
def test_generation_with_a_cache_of_either_kind_equals_generation_without(room, name):
    model = hf.install(room.build("llama"), gnomon.encoding(name, **CAUSAL[name]))
    tokens = room.sentences(model)["input_ids"]
    asked = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None}
    without = model.generate(tokens, use_cache=False, **asked)
    assert torch.equal(model.generate(tokens, use_cache=True, **asked), without)
    static = model.generate(tokens, cache_implementation="static", disable_compile=True, **asked)
    assert torch.equal(static, without)


@pytest.mark.parametrize("name", ["alibi", "path", "selective-rope"])
def test_room_to_spare_in_a_cache_does_not_change_logits(room, name):
    """Rules that read the tokens between a key and its query must not read empty places."""
    parameters = CAUSAL.get(name, {"dimension": 8, "heads": 4})
    model = hf.install(room.build("llama").double(), gnomon.encoding(name, **parameters))
    tokens = room.sentences(model)["input_ids"]
    wanted = model(tokens, use_cache=False).logits
    cache = transformers.StaticCache(config=model.config, max_cache_len=30)
    first = model(tokens[:, :7], past_key_values=cache).logits
    rest = model(tokens[:, 7:], past_key_values=cache).logits
    found = torch.cat([first, rest], dim=1)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["alibi", "xpos", "fox"])
def test_padding_on_either_side_does_not_change_a_sentence(room, name):
    model = hf.install(room.build("llama").double(), gnomon.encoding(name, **CAUSAL[name]))
    tokens = room.sentences(model)["input_ids"][:1]
    wanted = model(tokens).logits
    for left, right in ((5, 0), (0, 5)):
        padded = torch.nn.functional.pad(tokens, (left, right), value=0)
        mask = torch.nn.functional.pad(torch.ones_like(tokens), (left, right), value=0)
        found = model(padded, attention_mask=mask).logits[:, left : left + tokens.shape[1]]
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", TAPS)
def test_taps_do_not_reach_into_padding_in_a_cache_either(room, name):
    model = hf.install(room.build("llama").double(), gnomon.encoding(name, **TAPS[name]))
    tokens = room.sentences(model)["input_ids"][:1]
    wanted = model(tokens).logits
    padded = torch.nn.functional.pad(tokens, (5, 0), value=7)
    mask = torch.nn.functional.pad(torch.ones_like(tokens), (5, 0), value=0)
    whole = model(padded, attention_mask=mask).logits[:, 5:]
    torch.testing.assert_close(whole, wanted, rtol=1e-9, atol=1e-9)
    first = model(padded[:, :8], attention_mask=mask[:, :8])
    rest = model(padded[:, 8:], attention_mask=mask, past_key_values=first.past_key_values)
    found = torch.cat([first.logits[:, 5:], rest.logits], dim=1)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "parameters"), [("alibi", {"heads": 4}), *TAPS.items()])
def test_packed_sentences_do_not_see_each_other(room, name, parameters):
    model = hf.install(room.build("llama").double(), gnomon.encoding(name, **parameters))
    first, second = (row[None] for row in room.sentences(model)["input_ids"])
    places = torch.arange(12)[None]
    packed = model(
        torch.cat([first, second], dim=1),
        position_ids=torch.cat([places, places], dim=1),
        use_cache=False,
    ).logits
    apart = torch.cat([model(first).logits, model(second).logits], dim=1)
    torch.testing.assert_close(packed, apart, rtol=1e-9, atol=1e-9)


def test_gradients_reach_learned_numbers_and_they_are_saved(room, tmp_path):
    model = room.build("llama")
    before = room.photograph(model)
    hf.install(model, gnomon.encoding("t5", **CAUSAL["t5"]))
    inputs = room.sentences(model)
    model(**inputs, labels=inputs["input_ids"]).loss.backward()
    table = model.model.gnomon.table
    assert table.grad.abs().max() > 0
    table.data -= 0.5 * table.grad
    model.zero_grad()
    changed = room.logits(model)
    model.save_pretrained(tmp_path)
    opened = hf.load(tmp_path).eval()
    assert torch.equal(room.logits(opened), changed)
    learned = table.detach().double().numpy()
    np.testing.assert_array_equal(hf.installed(opened).numbers["table"], learned)
    after = room.photograph(hf.uninstall(opened))
    after["config"]["_name_or_path"] = before["config"]["_name_or_path"]
    room.assert_same(after, before)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_loaded_model_with_a_table_has_its_encoding(room, tmp_path, family):
    model = room.build(family)
    before = room.photograph(model)
    symmetric = family == "bert"
    hf.install(model, gnomon.encoding("alibi", heads=4, symmetric=symmetric))
    model.save_pretrained(tmp_path)
    opened = hf.load(tmp_path).eval()
    assert torch.equal(room.logits(opened), room.logits(model))
    after = room.photograph(hf.uninstall(opened))
    after["config"]["_name_or_path"] = before["config"]["_name_or_path"]
    room.assert_same(after, before)


def test_numbers_are_not_trained_where_learn_is_false_also_after_loading(room, tmp_path):
    model = hf.install(room.build("llama"), gnomon.encoding("t5", **CAUSAL["t5"]), learn=False)
    assert not model.model.gnomon.table.requires_grad
    model.save_pretrained(tmp_path)
    assert not hf.load(tmp_path).model.gnomon.table.requires_grad


def test_a_copy_asks_its_own_encoding(room):
    model = hf.install(room.build("llama"), gnomon.encoding("t5", **CAUSAL["t5"]))
    twin = copy.deepcopy(model)
    twin.model.gnomon.table.data.zero_()
    assert not torch.equal(room.logits(twin), room.logits(model))
    assert torch.equal(room.logits(copy.deepcopy(model)), room.logits(model))


def test_the_mask_says_which_keys_the_queries_are():
    """A cache with room for ten, of which six are filled, and two new tokens."""
    seen = torch.zeros(1, 1, 2, 10, dtype=torch.bool)
    seen[..., 0, :7], seen[..., 1, :8] = True, True
    assert query_positions(seen, 2, 10, "cpu").tolist() == [6, 7]
    floats = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
    assert query_positions(floats, 2, 10, "cpu").tolist() == [6, 7]
    assert query_positions(None, 2, 10, "cpu").tolist() == [8, 9]
