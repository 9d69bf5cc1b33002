"""Configs of models: every spelling gives its encoding, whatever its release."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gnomon
from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.config.build import from_config, layer_types

HEAD = {"hidden_size": 256, "num_attention_heads": 4}
TRAINED = {"max_position_embeddings": 4096}
YARN = {"factor": 4.0, "original_max_position_embeddings": 1024}
NESTED = {
    **HEAD,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
    },
}


def same(one, other):
    assert one.name == other.name
    assert one.layout == other.layout
    np.testing.assert_array_equal(one.frequencies, other.frequencies)
    assert one.attention_factor == other.attention_factor
    return True


@pytest.mark.parametrize(
    "said",
    [
        {**HEAD, "rope_theta": 5e5},
        {**HEAD, "rope_theta": 5e5, "rope_scaling": None},
        {**HEAD, "rope_parameters": {"rope_theta": 5e5}},
        {**HEAD, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}},
        {**HEAD, "rope_theta": 5e5, "rope_scaling": {"type": "default"}},
        {**HEAD, "rope_theta": 5e5, "rope_parameters": {"rope_theta": 5e5, "factor": None}},
        {"n_embd": 256, "n_head": 4, "rotary_emb_base": 5e5},
        {"head_dim": 64, "hidden_size": 1000, "num_attention_heads": 3, "rope_theta": 5e5},
        {"text_config": {**HEAD, "rope_theta": 5e5}, "vision_config": {"rope_theta": 1.0}},
    ],
)
def test_spellings_of_one_encoding_give_the_same(said):
    assert same(from_config(said), encoding("rope", dimension=64, base=5e5, layout="half"))


@pytest.mark.parametrize(
    "said",
    [
        {"partial_rotary_factor": 0.5},
        {"rotary_pct": 0.5},
        {"rotary_dim": 32},
        {"rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 1e4}},
        {"rope_parameters": {"partial_rotary_factor": 0.5}, "rotary_dim": 32},
    ],
)
def test_spellings_of_a_part_of_the_head_give_the_same(said):
    wanted = encoding("rope", dimension=64, fraction=0.5, layout="half")
    assert same(from_config({**HEAD, "rope_theta": 1e4, **said}), wanted)


def test_any_count_of_rotated_coordinates_is_kept_exactly():
    for head in range(4, 260, 2):
        for count in range(2, head + 1, 2):
            said = {"head_dim": head, "rotary_dim": count, "rope_theta": 1e4}
            assert from_config(said).rotated == count


def test_both_spellings_of_a_scaling_give_the_same():
    old = {**HEAD, **TRAINED, "rope_theta": 1e6, "rope_scaling": {"type": "yarn", **YARN}}
    new = {**HEAD, **TRAINED, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, **YARN}}
    wanted = encoding(
        "rope-yarn", dimension=64, base=1e6, layout="half", factor=4.0, original_length=1024
    )
    assert same(from_config(old), wanted)
    assert same(from_config(new), wanted)


def test_a_factor_that_is_left_out_is_the_ratio_of_the_lengths():
    said = {**HEAD, **TRAINED, "rope_theta": 1e4}
    said["rope_scaling"] = {"rope_type": "yarn", "original_max_position_embeddings": 512}
    assert from_config(said).scaling.factor == 8.0


def test_a_trained_length_that_is_left_out_is_the_longest():
    said = {**HEAD, **TRAINED, "rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": 2.0}}
    assert from_config(said).scaling.original_length == 4096


def test_the_length_of_the_sequence_chooses_for_scalings_that_follow_it():
    said = {
        **HEAD,
        **TRAINED,
        "rope_theta": 1e4,
        "rope_scaling": {"type": "dynamic", "factor": 2.0},
    }
    assert from_config(said, length=9000).scaling.length == 9000
    assert from_config(said).scaling.length is None
    plain = {**HEAD, "rope_theta": 1e4}
    assert same(from_config(plain, length=9000), from_config(plain))


def test_types_of_layers_have_encodings_of_their_own():
    assert layer_types(NESTED) == ("sliding_attention", "full_attention")
    assert layer_types({**HEAD, "rope_theta": 1e4}) == ()
    full = encoding("rope-linear", dimension=64, base=1e6, factor=8.0, layout="half")
    assert same(from_config(NESTED, layer_type="full_attention"), full)
    assert same(from_config(NESTED, layer=2), full)
    assert from_config(NESTED, layer=0).base == 10000.0


def test_types_of_layers_that_are_alike_need_no_choice():
    one = {"rope_type": "default", "rope_theta": 10000.0}
    said = {**HEAD, "rope_parameters": {"full_attention": one, "sliding_attention": dict(one)}}
    assert from_config(said).base == 10000.0


def test_a_type_of_layer_without_parameters_does_not_turn():
    parameters = {"sliding_attention": {"rope_theta": 10000.0}, "full_attention": None}
    said = {**HEAD, "rope_parameters": parameters}
    assert from_config(said, layer_type="full_attention").name == "nope"
    assert from_config(said, layer_type="sliding_attention").name == "rope"


def test_llama_4_sharpens_queries_in_layers_that_do_not_turn():
    said = {"model_type": "llama4_text", **HEAD, "num_hidden_layers": 8}
    assert [from_config(said, layer=layer).name for layer in (2, 3)] == ["rope", "rope-nope-layers"]
    still = from_config(said, layer=3)
    assert (still.encoded, still.temperature, still.temperature_length) == (False, 0.1, 8192)
    assert from_config({**said, "attn_temperature_tuning": False}, layer=3).name == "nope"
    assert from_config(said, layer=2).layout == "interleaved"


def test_a_list_of_layers_without_rotary_encoding_is_kept_to():
    said = {**HEAD, "rope_theta": 1e4, "no_rope_layers": [1, 0, 1]}
    assert [from_config(said, layer=layer).name for layer in range(3)] == ["rope", "nope", "rope"]
    assert from_config({**said, "no_rope_layers": [1, 1, 1]}).name == "rope"


@pytest.mark.parametrize(
    ("said", "layout"),
    [
        ({}, "half"),
        ({"model_type": "llama"}, "half"),
        ({"model_type": "gptj", "rotary_dim": 64}, "interleaved"),
        ({"model_type": "cohere"}, "interleaved"),
        ({"model_type": "deepseek_v3", "qk_rope_head_dim": 64}, "interleaved"),
        (
            {"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "rope_interleave": False},
            "half",
        ),
    ],
)
def test_the_layout_is_what_the_config_says_or_that_of_the_model_type(said, layout):
    assert from_config({**HEAD, "rope_theta": 1e4, **said}).layout == layout
    assert from_config({**HEAD, "rope_theta": 1e4, **said}, layout="half").layout == "half"


def test_decoupled_heads_turn_their_last_coordinates():
    said = {**HEAD, "rope_theta": 1e4, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
    made = from_config(said)
    assert (made.name, made.dimension, made.first, made.rotated) == ("mla", 192, 128, 64)
    del said["qk_nope_head_dim"]
    assert same(from_config(said), encoding("rope", dimension=64, layout="half"))


def test_deepseek_v4_turns_its_last_coordinates_with_one_base_for_each_kind_of_layer():
    said = {"model_type": "deepseek_v4", "head_dim": 512, "qk_rope_head_dim": 64}
    assert layer_types(said) == ("main", "compress")
    with pytest.warns(UserWarning, match="'deepseek_v4' also rotates values"):
        made = [from_config(said, layer_type=name) for name in layer_types(said)]
    assert [one.base for one in made] == [10000.0, 160000.0]
    assert {(one.first, one.rotated, one.layout) for one in made} == {(448, 64, "interleaved")}


@pytest.mark.parametrize(
    ("said", "sections", "arrangement"),
    [
        ({"type": "mrope", "mrope_section": [8, 12, 12]}, (8, 12, 12), "chunked"),
        (
            {"rope_type": "default", "mrope_section": [12, 10, 10], "mrope_interleaved": True},
            (12, 10, 10),
            "interleaved",
        ),
    ],
)
def test_sections_make_an_encoding_of_several_axes(said, sections, arrangement):
    made = from_config({**HEAD, "rope_theta": 1e6, "rope_scaling": said})
    assert (made.sections, made.arrangement, made.axes) == (sections, arrangement, 3)


def test_sections_of_ernie_are_brought_into_the_order_of_the_axes():
    said = {"model_type": "ernie4_5_vl_moe_text", "head_dim": 128, "rope_theta": 5e5}
    made = from_config({**said, "rope_parameters": {"mrope_section": [22, 22, 20]}})
    assert (made.sections, made.arrangement) == ((20, 22, 22), "spatial-first")
    assert made.layout == "interleaved"


def test_an_early_phi_3_calls_its_lists_su():
    lists = {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32}
    said = {**HEAD, **TRAINED, "rope_theta": 1e4, "original_max_position_embeddings": 1024}
    for name in ("su", "yarn", "longrope"):
        made = from_config({**said, "rope_scaling": {"type": name, **lists}})
        assert (made.name, made.scaling.factor) == ("rope-longrope", 4.0)


def test_a_config_is_read_from_its_file_or_folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(NESTED))
    for path in (tmp_path, tmp_path / "config.json", str(tmp_path / "config.json")):
        assert layer_types(path) == ("sliding_attention", "full_attention")
        assert from_config(path, layer=2).base == 1e6
    assert gnomon.from_config is from_config


def test_reading_changes_nothing_in_the_config():
    before = copy.deepcopy(NESTED)
    from_config(NESTED, layer=1)
    assert before == NESTED


def test_a_key_is_passed_over_when_it_is_named():
    said = {**HEAD, **TRAINED, "rope_theta": 1e4, "use_mem_rope": True}
    said["rope_scaling"] = {"type": "yarn", **YARN, "finetuned": True}
    made = from_config(said, ignore=("finetuned", "use_mem_rope"))
    assert made.name == "rope-yarn"


def test_no_framework_is_needed_to_read_a_config():
    code = (
        "import sys, gnomon; gnomon.from_config({'head_dim': 64, 'rope_theta': 1e4}).frequencies;"
        "print(sorted({'torch', 'jax', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "[]"
