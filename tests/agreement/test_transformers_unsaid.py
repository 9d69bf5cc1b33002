"""What configs leave to the code of their model, as the installed transformers has it."""

from __future__ import annotations

import warnings

import pytest

import gnomon
from gnomon.encodings.rotary.config.source import (
    BY_TYPE,
    CHUNKS,
    EVERY,
    HEAD_DIMENSIONS,
    LOGIT_SCALES,
    OWN_UNSAID,
    READ_BY,
    WINDOWS,
    plain_type,
)
from gnomon.errors import GnomonError

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def text_configs(names, **given):
    """Return the config that transformers makes of each type of text model, by its name."""
    found = {}
    for model_type, kind in transformers.CONFIG_MAPPING.items():
        if plain_type(model_type) not in names:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                config = kind(**given).to_dict()
            except Exception:  # noqa: BLE001 -- sizes that this type does not take
                continue
        if "text_config" not in config:
            found[plain_type(model_type)] = config
    return found


def test_heads_that_a_config_does_not_size_are_those_of_transformers():
    found = text_configs(HEAD_DIMENSIONS, hidden_size=640, num_attention_heads=10)
    assert len(found) > 40
    for name, config in found.items():
        assert config.get("head_dim", HEAD_DIMENSIONS[name]) == HEAD_DIMENSIONS[name], name


def test_windows_that_a_config_does_not_say_are_those_of_transformers():
    found = text_configs(WINDOWS)
    assert len(found) > 30
    for name, config in found.items():
        if name not in ("voxtral_realtime", "neomme"):  # two parts, each with its own
            assert config["sliding_window"] == WINDOWS[name], name


@pytest.mark.parametrize("count", [5, 7, 12])
def test_types_of_layers_that_a_config_does_not_list_are_those_of_transformers(count):
    found = text_configs(EVERY, num_hidden_layers=count)
    assert len(found) > 10
    for name, config in found.items():
        _, every, first = EVERY[name]
        full = [kind == "full_attention" for kind in config["layer_types"]]
        assert full == [(layer + first) % every == 0 for layer in range(count)], name


def test_scalings_that_a_config_does_not_say_are_not_passed_over():
    found = text_configs(OWN_UNSAID)
    assert len(found) > 5
    for name, config in found.items():
        theirs = config["rope_parameters"]
        theirs = theirs.get("full_attention", theirs)
        assert theirs["rope_type"] != "default" or theirs["partial_rotary_factor"] != 1.0, name
        said = {"model_type": name, "num_hidden_layers": 2, "head_dim": 64, "rope_theta": 1e4}
        with pytest.raises(GnomonError, match="then takes some of its own"):
            gnomon.from_config(said)


def test_scales_of_logits_that_a_config_does_not_say_are_those_of_transformers():
    found = text_configs(LOGIT_SCALES)
    assert len(found) > 8
    for name, config in found.items():
        key, usual = LOGIT_SCALES[name]
        assert not key or config[key] == usual, name


def test_chunks_and_parameters_by_type_of_layer_are_those_of_transformers():
    assert text_configs(CHUNKS)["llama4"]["attention_chunk_size"] == CHUNKS["llama4"]
    flat = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}
    for name, config in text_configs(BY_TYPE, rope_parameters=flat).items():
        both = config["rope_parameters"]
        assert both["full_attention"]["rope_type"] == "default", name
        said = {"model_type": name, "hidden_size": 64, "num_attention_heads": 2}
        with pytest.raises(GnomonError, match=r"by type of layer only|beside the layer types"):
            gnomon.from_config({**said, "num_hidden_layers": 2, "rope_parameters": flat})


OTHERS = {"llama": 4096, "qwen3": 4096, "gemma": 3072}


@pytest.mark.parametrize("model_type", OTHERS)
@pytest.mark.parametrize("key", READ_BY)
def test_keys_that_only_other_types_read_are_refused(model_type, key):
    said = {"model_type": model_type, "head_dim": 64, "num_hidden_layers": 2, "rope_theta": 1e4}
    assert gnomon.from_config(said).dimension == 64
    given = {"rope_parameters": {key: 1}} if key.startswith("llama_4") else {key: 1}
    with pytest.raises(GnomonError, match=r"is not read by the code|which name one"):
        gnomon.from_config({**said, **given})


@pytest.mark.parametrize("model_type", OTHERS)
def test_a_part_of_each_head_is_refused_where_the_code_rotates_all(model_type):
    said = {"model_type": model_type, "head_dim": 64, "rope_theta": 1e4}
    for given in (
        {"partial_rotary_factor": 0.5},
        {"rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 1e4}},
        {"rotary_dim": 32},
    ):
        with pytest.raises(GnomonError, match="does not read it and rotates all"):
            gnomon.from_config({**said, **given})
    assert gnomon.from_config({**said, "partial_rotary_factor": 1.0}).rotated == 64


@pytest.mark.parametrize(
    ("said", "scale"),
    [
        ({"model_type": "granite", "attention_multiplier": 0.0078125}, 0.0078125),
        ({"model_type": "gemma2", "query_pre_attn_scalar": 144}, 1 / 12),
        ({"model_type": "gemma3", "query_pre_attn_scalar": 168}, 168**-0.5),
    ],
)
def test_a_scale_of_logits_is_in_the_schedule_and_is_warned_of(said, scale):
    said |= {"head_dim": 128, "num_hidden_layers": 1, "rope_theta": 1e4}
    assert gnomon.schedule(said)[0].softmax_scale == pytest.approx(scale)
    with pytest.warns(UserWarning, match="pass scale=.* to attention"):
        gnomon.from_config(said, layer=0)


def test_a_window_that_counts_both_sides_is_halved_as_transformers_does():
    said = {"model_type": "gemma3_text", "head_dim": 256, "num_hidden_layers": 2}
    both = {**said, "sliding_window": 512, "use_bidirectional_attention": True}
    theirs = transformers.Gemma3TextConfig(sliding_window=512, use_bidirectional_attention=True)
    assert gnomon.schedule(both)[0].window == theirs.sliding_window == 257
    assert gnomon.schedule({**both, "use_bidirectional_attention": False})[0].window == 512
