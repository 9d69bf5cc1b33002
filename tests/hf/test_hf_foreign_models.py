"""Models that others saved: data is opened, code and pickles never, and nobody is asked."""

from __future__ import annotations

import builtins
import json
import shutil
from pathlib import Path

import pytest

import gnomon
from gnomon.errors import EncodingError, InputError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")
foreign = pytest.importorskip("gnomon.hf.foreign")

EVIL = """
from pathlib import Path
Path({mark!r}).write_text("ran")
from transformers import BertConfig, BertModel
class EvilConfig(BertConfig):
    model_type = "evil"
class EvilModel(BertModel):
    config_class = EvilConfig
"""
AUTO = {
    "AutoConfig": "evil.EvilConfig",
    "AutoModel": "evil.EvilModel",
    "AutoModelForCausalLM": "evil.EvilModel",
    "AutoTokenizer": ["evil.EvilConfig", None],
}


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch):
    """A prompt would be answered with yes: asking is as bad as running."""
    asked = []
    monkeypatch.setattr(builtins, "input", lambda *question: asked.append(question) or "y")
    yield
    assert asked == []


@pytest.fixture
def change(room, tmp_path):
    """Save a small model, its config changed, and code of its own beside it."""

    def changed(family="bert", **said):
        folder = tmp_path / "model"
        model = room.build(family)
        model.save_pretrained(folder)
        place = folder / "config.json"
        place.write_text(json.dumps(json.loads(place.read_text()) | said))
        (folder / "evil.py").write_text(EVIL.format(mark=str(tmp_path / "mark")))
        return folder

    return changed


def reproduced(folder):
    from gnomon.reproduce.scaling import reader

    return reader(folder)


DOORS = {"read": hf.read, "load": hf.load, "verify": gnomon.verify, "reproduce": reproduced}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("said", [{"model_type": "evil"}, {"model_type": "gnomon-none"}, {}])
def test_no_code_of_a_model_is_run_and_nobody_is_asked(change, tmp_path, door, said):
    folder = change(auto_map=AUTO, **said)
    if said or door == "reproduce":  # a BERT is none of the models that are asked for perplexity
        with pytest.raises(InputError) as caught:
            DOORS[door](folder)
        assert len(str(caught.value).splitlines()) == 1
        assert not said or "code of its own (auto_map), which is never run" in str(caught.value)
    else:
        DOORS[door](folder)  # of a type that is known, by the class that is known
    assert not (tmp_path / "mark").exists()


def test_a_type_without_a_model_class_asks_nobody_when_a_model_is_made_of_it(change, tmp_path):
    """Of such a config transformers would make a model by the code beside it."""
    known = transformers.CONFIG_MAPPING.items()
    lone = next(name for name, kind in known if kind not in transformers.MODEL_MAPPING)
    folder = change(auto_map=AUTO, model_type=lone)
    for door in ("read", "verify"):
        try:
            DOORS[door](folder)
        except InputError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017 - either answer is right
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "name",
    [
        *("Trainer", "pipeline", "AutoModel", "logging", "models", "PretrainedConfig", "__file__"),
        *("BertTokenizer", "BertConfig", "dynamic_module_utils", "os", "", "../x", 5, None, ["a"]),
    ],
)
def test_only_a_class_of_models_is_made_of_the_name_in_a_config(change, name):
    folder = change(architectures=[name])
    with pytest.raises(EncodingError, match=r"names no class of transformers .*; pass model_class"):
        hf.load(folder)


@pytest.mark.parametrize("said", ["BertModel", 7, {"0": "BertModel"}, []])
def test_architectures_that_are_no_list_are_refused(change, said):
    with pytest.raises(EncodingError):
        hf.load(change(architectures=said))


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize("door", ["read", "load", "verify"])
def test_a_kernel_of_the_hub_is_not_fetched(change, door, key):
    folder = change(**{key: "somebody/kernel:run"})
    with pytest.raises(EncodingError, match=r"asks for code of the hub .* remove that entry\.$"):
        DOORS[door](folder)


def test_a_kernel_in_a_part_of_a_config_is_found():
    config = transformers.LlavaConfig()
    config.text_config._attn_implementation = "somebody/kernel"
    with pytest.raises(EncodingError, match="asks for code of the hub"):
        foreign.without_kernels(config)


class Bomb:
    """What runs when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("door", ["load", "verify", "reproduce"])
@pytest.mark.parametrize(
    "name",
    ["pytorch_model.bin", "model.pt", "consolidated.00.pth", "last.ckpt", "MODEL.BIN"],
)
def test_weights_that_are_pickles_are_refused_with_the_line_that_converts_them(
    change, tmp_path, door, name
):
    folder = change()
    (folder / "model.safetensors").unlink()
    torch.save({"a": Bomb(tmp_path / "mark")}, folder / name)
    with pytest.raises(InputError) as caught:
        DOORS[door](folder)
    assert f"as pickles ({name})" in str(caught.value)
    line = f"BertForMaskedLM.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})"
    assert line in str(caught.value)
    assert not (tmp_path / "mark").exists()


def test_the_line_converts(room, tmp_path):
    model = room.build("bert")
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(EncodingError) as caught:
        hf.load(tmp_path)
    exec(str(caught.value).split("`")[1], {"transformers": transformers})
    assert torch.equal(room.logits(hf.load(tmp_path)), room.logits(model))


@pytest.mark.parametrize("part", ["pytorch_model.bin", "x.pt", "../model.safetensors", 5])
def test_an_index_that_leads_elsewhere_is_refused(change, tmp_path, part):
    folder = change()
    (folder / "model.safetensors").rename(folder / "kept.safetensors")
    torch.save({"a": Bomb(tmp_path / "mark")}, folder / "pytorch_model.bin")
    index = {"metadata": {}, "weight_map": {"bert.embeddings": part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(EncodingError, match=r"as pickles|leads out of its folder"):
        hf.load(folder)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 3}', "[" * 100_000])
def test_an_index_that_is_none_is_refused(change, text):
    folder = change()
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(text)
    with pytest.raises(EncodingError, match=r"index of weights .* cannot be read .*; save"):
        hf.load(folder)


def test_a_file_of_weights_that_the_config_names_is_no_pickle(change, tmp_path):
    """By transformers this one name is opened in spite of use_safetensors."""
    folder = change(transformers_weights="adapter_model.bin")
    torch.save({"a": Bomb(tmp_path / "mark")}, folder / "adapter_model.bin")
    with pytest.raises(EncodingError, match=r"as pickles \(adapter_model\.bin\)"):
        hf.load(folder)
    assert not (tmp_path / "mark").exists()


def test_an_adapter_beside_a_model_is_refused(change):
    folder = change()
    said = {"base_model_name_or_path": "somebody/else", "peft_type": "LORA"}
    (folder / "adapter_config.json").write_text(json.dumps(said))
    with pytest.raises(EncodingError, match=r"holds an adapter .* merge it"):
        hf.load(folder)


@pytest.mark.parametrize(
    "option",
    [{"trust_remote_code": True}, {"trust_remote_code": "yes"}, {"use_safetensors": False}],
)
def test_an_option_that_would_run_code_is_refused(change, option):
    folder = change()
    with pytest.raises(EncodingError, match="leave it out"):
        hf.load(folder, **option)
    assert hf.load(folder, trust_remote_code=False, use_safetensors=True) is not None


def test_what_training_leaves_beside_safe_weights_is_not_opened(change, tmp_path, room):
    folder = change()
    for name in ("training_args.bin", "optimizer.pt", "rng_state_0.pth", "pytorch_model.bin"):
        torch.save({"a": Bomb(tmp_path / "mark")}, folder / name)
    hf.load(folder)
    assert gnomon.verify(folder).name == "learned"
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("cut", [0, 8, 100])
def test_weights_that_are_cut_short_are_refused_in_one_sentence(change, cut):
    folder = change()
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(EncodingError, match=r"transformers opens no BertForMaskedLM at .*; save"):
        hf.load(folder)


def test_a_model_of_the_hub_is_held_to_the_same(change, monkeypatch):
    """Without a network: what the hub would hand over stands in a folder."""
    folder = change()
    places = {"config.json": folder / "config.json"}

    def fetched(name, file, **options):
        assert options["revision"] == "abc"
        return str(places[file]) if file in places else None

    import transformers.utils.hub

    monkeypatch.setattr(transformers.utils.hub, "cached_file", fetched)
    config = transformers.AutoConfig.from_pretrained(folder)
    with pytest.raises(EncodingError, match=r"somebody/model has its weights as pickles"):
        foreign.check_weights("somebody/model", config, revision="abc")
    places["model.safetensors"] = folder / "model.safetensors"
    foreign.check_weights("somebody/model", config, revision="abc")
    places["adapter_config.json"] = folder / "config.json"
    with pytest.raises(EncodingError, match="holds an adapter"):
        foreign.check_weights("somebody/model", config, revision="abc")


def test_a_variant_and_a_subfolder_are_looked_for_where_they_are(room, tmp_path):
    model = room.build("bert")
    model.save_pretrained(tmp_path / "inner", variant="fp16")
    opened = hf.load(tmp_path, subfolder="inner", variant="fp16")
    assert torch.equal(room.logits(opened), room.logits(model))
    shutil.move(tmp_path / "inner" / "model.fp16.safetensors", tmp_path / "model.safetensors")
    with pytest.raises(EncodingError, match=r"has no model\.fp16\.safetensors"):
        hf.load(tmp_path, subfolder="inner", variant="fp16")
