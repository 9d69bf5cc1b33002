"""What configs leave to code, by model type, against the code and the defaults of transformers."""

from __future__ import annotations

import importlib
import inspect

import pytest

from gnomon.encodings.rotary.config.build import from_config
from gnomon.encodings.rotary.config.layers import layer_type_of
from gnomon.encodings.rotary.config.source import (
    DEFAULTS,
    EVERY,
    INTERLEAVED,
    SECTIONS,
    plain_type,
    read_config,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SLICE = ("codegen", "cohere", "deepseek_v2", "glm", "gptj", "llama", "llama4_text", "qwen2_vl_text")
BASES = {"rope_theta", "rotary_emb_base", "global_rope_theta"}
LOCAL = {"rope_local_base_freq", "local_rope_theta"}
SHARES = {"partial_rotary_factor", "rotary_pct"}
FIXED = {"gptj", "codegen"}  # their base is a constant of their code
VISUAL = ("vision", "audio", "sam", "edgetam", "mlcd", "pixtral", "efficientloftr", "musicflamingo")
OTHERWISE = {"nanochat"}  # rotates by minus the position, and is refused for that


def config_class(model_type):
    from transformers import CONFIG_MAPPING

    text = f"{model_type}_text"
    return CONFIG_MAPPING[text if text in CONFIG_MAPPING else model_type]


def their_parameters(config):
    """Return the rotary parameters of a default config, of full attention where types differ."""
    parameters = config.rope_parameters
    for nested in ("full_attention", "main"):
        parameters = parameters.get(nested, parameters)
    return parameters


@pytest.mark.parametrize("model_type", sorted(DEFAULTS))
def test_what_a_model_type_leaves_out_has_the_value_of_transformers(model_type):
    transformers.logging.set_verbosity_error()
    config = config_class(model_type)()
    for key, value in DEFAULTS[model_type].items():
        if key in BASES and model_type in FIXED:
            room = importlib.import_module(
                f"transformers.models.{model_type}.modeling_{model_type}"
            )
            assert "/ (10000 **" in inspect.getsource(room.create_sinusoidal_positions)
        elif key in BASES and not hasattr(config, "rope_parameters"):
            assert getattr(config, key) == value
        elif key in BASES:
            assert their_parameters(config)["rope_theta"] == value
        elif key in SHARES:
            assert their_parameters(config)["partial_rotary_factor"] == value
        elif key in LOCAL:
            assert config.rope_parameters["sliding_attention"]["rope_theta"] == value
        else:
            assert config.to_dict()[key] == value


def layout_in_code(model_type):
    """Return the layout of a model's code by what it does to a vector, or None."""
    room = importlib.import_module(
        config_class(model_type).__module__.replace("configuration_", "modeling_")
    )
    for name in ("rotate_half", "rotate_every_two"):
        if hasattr(room, name):
            turned = (
                getattr(room, name)(torch.arange(1.0, 5.0)[None, None, None]).flatten().tolist()
            )
            return {(-3, -4, 1, 2): "half", (-2, 1, -4, 3): "interleaved"}.get(tuple(turned))
    source = inspect.getsource(room)
    complex_numbers = "torch.view_as_complex" in source
    return "interleaved" if complex_numbers or "apply_rotary_pos_emb_interleave" in source else None


def check_layout(model_type):
    found = layout_in_code(model_type)
    name = plain_type(model_type)
    if found == "interleaved":
        assert name in INTERLEAVED, model_type
    room = config_class(model_type).__module__.replace("configuration_", "modeling_")
    source = inspect.getsource(importlib.import_module(room))
    twofold = "0::2" in source or "apply_rotary_pos_emb_interleave" in source
    if found == "half" and not twofold:
        assert name not in INTERLEAVED, model_type
    if name in INTERLEAVED:
        assert found == "interleaved" or twofold, model_type


@pytest.mark.parametrize("model_type", SLICE)
def test_the_layout_of_a_model_type_is_that_of_its_code(model_type):
    check_layout(model_type)


@pytest.mark.wide
def test_the_layout_of_every_model_type_with_rotary_encoding_is_that_of_its_code():
    from transformers import CONFIG_MAPPING

    transformers.logging.set_verbosity_error()
    seen = 0
    for model_type in CONFIG_MAPPING:
        if any(word in model_type for word in VISUAL) or model_type in OTHERWISE:
            continue
        try:
            config = CONFIG_MAPPING[model_type]()
        except Exception:  # noqa: BLE001 -- some composite configs cannot be made of nothing
            continue
        if getattr(config, "rope_parameters", None):
            check_layout(model_type)
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("model_type", sorted(SECTIONS))
def test_sections_and_their_arrangement_are_those_of_the_code(model_type):
    room = importlib.import_module(f"transformers.models.{model_type}.modeling_{model_type}")
    source = inspect.getsource(room)
    arrangement, sections = SECTIONS[model_type]
    assert f'get("mrope_section", {list(sections)})' in source
    assert ("mrope_section[dim] * 3" in source) == (arrangement == "interleaved")
    assert ("freq_h, freq_w, freq_t" in source) == (arrangement == "spatial-first")


@pytest.mark.parametrize("every", [None, 2])
@pytest.mark.parametrize("model_type", sorted(EVERY))
def test_layers_whose_types_no_config_lists_have_those_of_transformers(model_type, every):
    key, usual, _ = EVERY[model_type]
    said = {"num_hidden_layers": 2 * usual + 1}
    said |= {key: every} if key and every else {}
    types = config_class(model_type)(**said).layer_types
    source = read_config({**said, "model_type": model_type})
    assert [layer_type_of(source, layer) for layer in range(len(types))] == list(types)
    assert len(set(types)) == 2


@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3", "glm4_moe_lite"])
def test_heads_that_a_decoupled_config_leaves_out_are_those_of_transformers(model_type):
    config = config_class(model_type)()
    made = from_config({"model_type": model_type, "hidden_size": 7168, "num_attention_heads": 128})
    assert made.content_dimension == config.qk_nope_head_dim
    assert made.dimension == config.qk_nope_head_dim + config.qk_rope_head_dim
