"""Folders and models that lost their encoding, or never had one: opened as saved, or refused."""

from __future__ import annotations

import json

import pytest

import gnomon
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")


def test_an_encoding_in_the_attention_is_not_lost_when_another_attention_is_chosen(room):
    model = room.build("llama")
    before = room.photograph(model)
    wanted = room.logits(hf.install(model, gnomon.encoding("alibi", heads=4)))
    model.set_attn_implementation("eager")
    with pytest.raises(EncodingError, match="'eager', and the encoding of this model is in its"):
        room.logits(model)
    model.set_attn_implementation("gnomon")
    assert torch.equal(room.logits(model), wanted)
    model.set_attn_implementation("eager")
    room.assert_same(room.photograph(hf.uninstall(model)), before)


def test_a_model_with_an_encoding_in_its_attention_does_not_open_without_it(room, tmp_path):
    model = hf.install(room.build("llama"), gnomon.encoding("alibi", heads=4))
    model.save_pretrained(tmp_path)
    with pytest.raises(EncodingError, match=r"open it by gnomon\.hf\.load\(folder\)"):
        type(model).from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("family", "name", "parameters"),
    [
        ("bert", "sinusoidal", {"dimension": 32}),
        ("bert", "rope", {"dimension": 8}),
        ("t5", "alibi", {"heads": 4, "symmetric": True}),
    ],
)
def test_a_model_that_was_opened_without_its_encoding_says_how_to_open_it(
    room, tmp_path, family, name, parameters
):
    model = hf.install(room.build(family), gnomon.encoding(name, **parameters))
    model.save_pretrained(tmp_path)
    stock = type(model).from_pretrained(tmp_path)
    with pytest.raises(EncodingError, match=r"without its weights; open it by gnomon\.hf\.load"):
        hf.uninstall(stock)


def test_attention_by_name_alone_is_refused_when_it_runs(room):
    model = room.build("llama", attn_implementation="gnomon")
    with pytest.raises(EncodingError, match="no encoding is installed in this model; call gnomon"):
        room.logits(model)


def test_a_config_with_our_rope_type_and_no_encoding_is_refused(tmp_path):
    said = {"model_type": "llama", "rope_parameters": {"rope_type": "gnomon", "rope_theta": 1e4}}
    (tmp_path / "config.json").write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(Exception, match="holds no encoding under 'gnomon'"):
        transformers.AutoConfig.from_pretrained(tmp_path)


def test_a_folder_that_names_no_class_is_refused(tmp_path):
    said = {"model_type": "llama", "architectures": ["NoSuchModel"]}
    (tmp_path / "config.json").write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(EncodingError, match=r"names no class of transformers .* pass model_class"):
        hf.load(tmp_path)


def test_a_folder_without_a_model_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(EncodingError, match=r"transformers finds no model at .*; pass a folder"):
        hf.load(tmp_path / "nothing here", local_files_only=True)
