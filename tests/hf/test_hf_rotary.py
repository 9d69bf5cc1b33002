"""Rotary models with other frequencies: against models of transformers that have them natively."""

from __future__ import annotations

import copy

import pytest

import gnomon

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")
ROTARY = (
    "llama",
    "gemma3_text",
    "phi",
    "cohere",
    "smollm3",
    "modernbert",
    "mistral",
    "qwen3",
    "gemma",
    "gemma2",
    "phi3",
    "gpt_neox",
    "stablelm",
    "falcon",
    "deepseek_v3",
)
CASES = [
    pytest.param(name, marks=() if i < 6 else pytest.mark.wide) for i, name in enumerate(ROTARY)
]


def own(model):
    """The encodings of a model by type of layers: what it has itself."""
    types = getattr(model.config, "rope_parameters", {})
    nested = [name for name, value in types.items() if isinstance(value, dict)]
    if nested:
        return {name: hf.read(model, layer_type=name) for name in nested}
    return {None: hf.read(model, layer=0)}


@pytest.mark.parametrize("family", CASES)
def test_a_model_with_its_own_encoding_installed_is_itself_bit_for_bit(room, family):
    model = room.build(family)
    before = room.logits(model)
    for layer_type, encoding in own(model).items():
        hf.install(model, encoding, layer_type=layer_type)
        assert torch.equal(room.logits(model), before)
        hf.uninstall(model)


@pytest.mark.parametrize("family", CASES)
def test_uninstall_brings_every_rotary_model_back_bit_for_bit(room, family):
    model = room.build(family)
    before = room.photograph(model)
    hf.install(model, gnomon.encoding("nope"))
    assert not torch.equal(room.logits(model), before["logits"])
    hf.uninstall(model)
    room.assert_same(room.photograph(model), before)


LISTS = {"short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [1.0, 4.0, 8.0, 16.0]}
NATIVE = {
    "rope-linear": ({"factor": 4.0}, {"rope_type": "linear", "factor": 4.0}),
    "rope-yarn": (
        {"factor": 4.0, "original_length": 16},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
    ),
    "rope-llama3": (
        {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_length": 16},
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    ),
    "rope-longrope": (
        {**LISTS, "factor": 4.0, "original_length": 8, "length": 12},
        {"rope_type": "longrope", **LISTS, "factor": 4.0, "original_max_position_embeddings": 8},
    ),
}


@pytest.mark.parametrize("name", NATIVE)
def test_an_installed_scaling_gives_the_bits_of_a_model_that_has_it_natively(room, name):
    ours, theirs = NATIVE[name]
    native = room.build("llama", rope_parameters={"rope_theta": 500.0, **theirs})
    plain = room.build("llama", rope_parameters={"rope_theta": 500.0, "rope_type": "default"})
    plain.load_state_dict(native.state_dict())
    encoding = gnomon.encoding(name, dimension=8, layout="half", base=500.0, **ours)
    assert not torch.equal(room.logits(plain), room.logits(native))
    assert torch.equal(room.logits(hf.install(plain, encoding)), room.logits(native))


def test_one_type_of_layers_can_have_an_encoding_of_its_own(room):
    base = {"rope_type": "default", "rope_theta": 10000.0}
    scaled = {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}
    both = {"sliding_attention": base, "full_attention": scaled}
    native = room.build("gemma3_text", rope_parameters=both)
    plain = room.build(
        "gemma3_text",
        rope_parameters={**both, "full_attention": {**base, "rope_theta": 1e6}},
    )
    encoding = gnomon.encoding("rope-linear", dimension=16, layout="half", base=1e6, factor=8.0)
    hf.install(plain, encoding, layer_type="full_attention")
    assert torch.equal(room.logits(plain), room.logits(native))
    assert hf.installed(plain).name == "rope-linear"


def test_a_saved_rotary_model_opens_by_transformers_itself_and_can_be_taken_back(room, tmp_path):
    model = room.build("llama")
    before = room.photograph(model)
    yarn = gnomon.encoding("rope-yarn", dimension=8, layout="half", factor=4.0, original_length=16)
    changed = room.logits(hf.install(model, yarn))
    model.save_pretrained(tmp_path)
    opened = type(model).from_pretrained(tmp_path).eval()
    assert torch.equal(room.logits(opened), changed)
    assert hf.installed(opened).parameters == yarn.parameters
    after = room.photograph(hf.uninstall(opened))
    after["config"]["_name_or_path"] = before["config"]["_name_or_path"]
    room.assert_same(after, before)


def test_a_fixed_length_of_a_growing_scaling_keeps_the_cache_right(room):
    """Frequencies at one length for all lengths: generation with a cache equals that without."""
    model = room.build("llama")
    growing = gnomon.encoding(
        "rope-dynamic", dimension=8, layout="half", factor=2.0, original_length=16
    )
    hf.install(model, growing.at_length(40))
    tokens = room.sentences(model)["input_ids"]
    asked = {"max_new_tokens": 20, "do_sample": False, "eos_token_id": None}
    with_cache = model.generate(tokens, use_cache=True, **asked)
    assert torch.equal(with_cache, model.generate(tokens, use_cache=False, **asked))


def test_a_copy_of_a_model_keeps_its_encoding_and_gives_it_back(room):
    model = room.build("llama")
    before = room.photograph(model)
    hf.install(model, gnomon.encoding("nope"))
    twin = copy.deepcopy(model)
    room.assert_same(room.photograph(hf.uninstall(twin)), before)
    assert hf.installed(model).name == "nope"


def test_the_config_of_an_installed_model_is_plain_json(room):
    import json

    model = room.build("llama")
    hf.install(model, gnomon.encoding("rope", dimension=8, layout="half", base=77.0))
    said = json.loads(model.config.to_json_string())["rope_parameters"]
    assert said["rope_type"] == "gnomon"
    assert said["gnomon"]["name"] == "rope"
    assert said["gnomon"]["parameters"]["base"] == 77.0
