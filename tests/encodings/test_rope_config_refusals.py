"""Configs that cannot be kept to: each is refused in one sentence, and nothing is computed."""

from __future__ import annotations

import pytest

from gnomon.encodings.rotary.config.build import from_config
from gnomon.errors import EncodingError

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
BASE = {**HEAD, **TRAINED, "rope_theta": 1e4}


def scaled(**parameters):
    return {**BASE, "rope_scaling": parameters}


REFUSED = [
    (scaled(type="yarrn"), r"The config's rope_type is 'yarrn': did you mean 'yarn'\?"),
    (scaled(rope_type="axial"), r"The config's rope_type is 'axial', by which models turn the"),
    (
        scaled(type="linear", rope_type="yarn"),
        r"The config says rope_type = 'yarn' and type = 'linear'; keep the right one\.",
    ),
    (
        scaled(type="yarn", **YARN, atention_factor=1.0),
        r"The rope type 'yarn' does not read 'atention_factor': did you mean 'attention_factor'\?",
    ),
    (
        scaled(type="linear", factor=2.0, beta_fast=32),
        r"The rope type 'linear' does not read 'beta_fast': .* take it out of the config\.",
    ),
    (scaled(type="linear"), r"The rope type 'linear' needs 'factor'; add it to the config\."),
    (scaled(type="llama3", factor=8.0), r"The rope type 'llama3' needs 'low_freq_factor'"),
    (scaled(type="longrope"), r"The rope type 'longrope' needs 'short_factor'"),
    (
        {**BASE, "rope_thetta": 1e6},
        r"The config's key 'rope_thetta' is read by nothing here: did you mean 'rope_theta'\?",
    ),
    (
        {**BASE, "rotary_percent": 0.5},
        r"The config's key 'rotary_percent' is read by nothing here: did you mean 'rotary_pct'\?",
    ),
    (
        HEAD,
        r"The config names no base \(rope_theta\), and the model type '' has no known one; add",
    ),
    (
        {"model_type": "gpt2", "n_embd": 768, "n_head": 12},
        r"names no base \(rope_theta\), and the model type 'gpt2' has no known one",
    ),
    (
        {"rope_theta": 1e4, "num_attention_heads": 4},
        r"The config has neither head_dim nor hidden_size, so the dimension of a head is unknown",
    ),
    ({**BASE, "hidden_size": "256"}, r"hidden_size is '256'; pass a whole number from 1 on\."),
    ({**BASE, "rope_theta": -1.0}, r"base is -1\.0; pass a finite number above 0\."),
    ({**BASE, "head_dim": 63}, r"dimension is 63 and 63 of its coordinates turn"),
    ({**BASE, "partial_rotary_factor": "half"}, r"partial_rotary_factor is 'half'; pass a finite"),
    (
        {**BASE, "rope_parameters": {"rope_theta": 1e6}},
        (
            r"The config says rope_theta = 10000\.0 and, among the rotary parameters, rope_theta = "
            r"1000000\.0; keep the right one\."
        ),
    ),
    (
        {**BASE, "rope_scaling": {"factor": 1.0}, "rope_parameters": {"factor": 2.0}},
        r"The config says rope_parameters = .* and rope_scaling = .*, which name one thing",
    ),
    (
        {**BASE, "partial_rotary_factor": 0.5, "rotary_dim": 16},
        r"The config says rotary_dim = 16 and a share of 0\.5 of heads of 64, which is another",
    ),
    (
        {**BASE, "qk_rope_head_dim": 64, "partial_rotary_factor": 0.25},
        r"The config says qk_rope_head_dim = 64 and a share of 0\.25 of heads of 64",
    ),
    (
        scaled(type="dynamic", factor=2.0, original_max_position_embeddings=1024),
        (
            r"original_max_position_embeddings = 1024, and the rope type 'dynamic' reads "
            r"max_position_embeddings \(4096\) instead; make them equal\."
        ),
    ),
    (
        {**scaled(type="yarn", **YARN), "original_max_position_embeddings": 2048},
        (
            r"The config says original_max_position_embeddings = 2048 and, among the rotary "
            r"parameters, 1024; keep the right one\."
        ),
    ),
    (
        scaled(type="yarn", original_max_position_embeddings=1024, max_position_embeddings=8192),
        r"The config says max_position_embeddings = 4096 and, among the rotary parameters, 8192",
    ),
    (
        {**HEAD, "rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
        r"The rope type 'dynamic' needs a trained length; add max_position_embeddings",
    ),
    ({**BASE, "rope_scaling": 4.0}, r"rope_parameters \(or rope_scaling\) is 4\.0; pass a mapping"),
    ({**BASE, "alibi": True}, r"The config says alibi = True, so its model has no rotary encoding"),
    (
        {**BASE, "model_type": "hunyuan_vl"},
        r"The model type 'hunyuan_vl' deals its pairs to four axes by a rule of its own",
    ),
    (scaled(mrope_section=16), r"The config's mrope_section is 16; pass a list of numbers\."),
    (scaled(mrope_section=[1, 2, 3]), r"sections is \[1, 2, 3\]; pass 3 numbers"),
    (
        scaled(type="mrope"),
        r"The config's type is 'mrope', and the pairs of each axis are not said; add mrope_section",
    ),
    (scaled(mrope_interleaved=True), r"The config's mrope_interleaved is True, and the pairs of"),
    (
        scaled(factor=8.0),
        r"The rope type 'default' does not read 'factor', and the config names no rope_type: ",
    ),
    (
        {**BASE, "num_attention_heads": 30},
        r"The config's hidden_size is 256, which 30 heads do not divide; add head_dim\.",
    ),
    (
        {**BASE, "rope_interleave": "false"},
        r"The config's rope_interleave is 'false'; write true or false\.",
    ),
    (
        {
            **HEAD,
            "rope_theta": 1e4,
            "rope_scaling": {"type": "yarn", "max_position_embeddings": "9"},
        },
        r"max_position_embeddings is '9'; pass a whole number from 1 on\.",
    ),
    (
        scaled(type="yarn", original_max_position_embeddings=0),
        r"original_max_position_embeddings is 0; pass a whole number from 1 on\.",
    ),
    (
        scaled(type="yarn", original_max_position_embeddings="4096"),
        r"original_max_position_embeddings is '4096'; pass a whole number from 1 on\.",
    ),
    (
        {**BASE, "no_rope_layers": "1110"},
        r"The config's no_rope_layers is '1110'; pass a list, one for each layer\.",
    ),
    ({**BASE, "no_rope_layer_interval": "4"}, r"no_rope_layer_interval is '4'; pass a whole"),
    ({**BASE, "qk_rope_head_dim": 64, "head_dim": "x"}, r"head_dim is 'x'; pass a whole number"),
    (
        NESTED,
        r"rotary encodings of its own for sliding_attention and full_attention; pass layer_type=",
    ),
    (
        {**NESTED, "rope_parameters": {**NESTED["rope_parameters"], "truncate": False}},
        (
            r"rope_parameters hold 'truncate' beside the layer types sliding_attention, "
            r"full_attention, where nothing reads it; put it into each of them\."
        ),
    ),
    (
        {**BASE, "no_rope_layers": [1, 0]},
        r"The config has layers without rotary encoding \(1\); pass layer=\.\.\. to say",
    ),
    (
        {**BASE, "model_type": "smollm3", "no_rope_layers": None},
        r"The config has layers without rotary encoding",
    ),
]


@pytest.mark.parametrize(("said", "sentence"), REFUSED)
def test_a_config_that_can_not_be_kept_to_is_refused_in_words(said, sentence):
    with pytest.raises(EncodingError, match=sentence) as caught:
        from_config(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "asked", "sentence"),
    [
        (
            NESTED,
            {"layer_type": "full_atention"},
            r"The config has no layer type 'full_atention': did you mean 'full_attention'\?",
        ),
        (
            BASE,
            {"layer_type": "full_attention"},
            r"one rotary encoding for all layers and no type 'full_attention'; leave layer_type",
        ),
        (NESTED, {"layer": 3}, r"layer is 3, but the config has 3 layers, counted from 0\."),
        (NESTED, {"layer": -1}, r"layer is -1; pass a whole number from 0 on\."),
        (BASE, {"layout": "halves"}, r"layout is 'halves'; pass one of: interleaved, half\."),
        (scaled(type="dynamic", factor=2.0), {"length": 0}, r"length is 0; pass a whole number"),
        (BASE, {"length": "long"}, r"length is 'long'; pass a whole number from 1 on\."),
        (BASE, {"layer": "5"}, r"layer is '5'; pass a whole number from 0 on\."),
        (
            {**BASE, "num_hidden_layers": 2},
            {"layer": 2},
            r"layer is 2, but the config has 2 layers, counted from 0\.",
        ),
        (
            NESTED,
            {"layer": 0, "layer_type": "full_attention"},
            (
                r"layer is 0, whose type is 'sliding_attention', and layer_type is "
                r"'full_attention'; pass one of the two\."
            ),
        ),
        (
            {**NESTED, "layer_types": None},
            {"layer": 0},
            r"does not list the type of layer 0; pass layer_type=",
        ),
        (
            {**BASE, "layer_types": "full_attention"},
            {"layer": 0},
            r"The config's layer_types is 'full_attention'; pass a list, one for each layer\.",
        ),
        (BASE, {"ignore": 5}, r"ignore is 5; pass the names of keys"),
        (
            {"model_type": "llama4_text", "attn_scale": "x"},
            {"layer": 3},
            r"temperature is 'x'; pass a finite number",
        ),
    ],
)
def test_a_choice_that_the_config_has_not_is_refused_in_words(said, asked, sentence):
    with pytest.raises(EncodingError, match=sentence):
        from_config(said, **asked)


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        (None, r"The config .*config\.json cannot be read \(No such file or directory\); check"),
        ("{", r"config\.json holds no JSON \(.*\); pass a config\.json\."),
        ("[1]", r"config\.json holds a JSON list; pass a config\.json\."),
    ],
)
def test_a_file_that_is_no_config_is_refused_in_words(contents, sentence, tmp_path):
    if contents is not None:
        (tmp_path / "config.json").write_text(contents)
    with pytest.raises(EncodingError, match=sentence):
        from_config(tmp_path / "config.json")


def test_an_object_that_is_no_mapping_is_refused_in_words():
    with pytest.raises(EncodingError, match=r"not int; of a config object pass its to_dict\(\)\."):
        from_config(3)
