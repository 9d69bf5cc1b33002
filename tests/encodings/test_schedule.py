"""What each layer of a model does with positions, and what a config may not say in vain."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError

HEAD = {"hidden_size": 256, "num_attention_heads": 4}
BASE = {**HEAD, "rope_theta": 1e4, "max_position_embeddings": 4096}
WINDOW = {"sliding_window": 512}


def names(said, **options):
    return [layer.encoding.name for layer in gnomon.schedule(said, **options)]


@pytest.mark.parametrize(
    ("said", "period"),
    [
        ({"model_type": "cohere2", **WINDOW}, 4),
        ({"model_type": "cohere2", "sliding_window_pattern": 3, **WINDOW}, 3),
        ({"model_type": "exaone4", "sliding_window_pattern": "LLLG", **WINDOW}, 4),
        ({"model_type": "exaone4", "sliding_window_pattern": "LLG", **WINDOW}, 3),
        ({"model_type": "afmoe", "global_attn_every_n_layers": 2, **WINDOW}, 2),
        ({"model_type": "kolibri1", **WINDOW}, 5),
    ],
)
def test_layers_with_full_attention_have_no_encoding_where_the_code_gives_them_none(said, period):
    schedule = gnomon.schedule({**BASE, **said, "num_hidden_layers": 2 * period})
    for number, layer in enumerate(schedule):
        full = (number + 1) % period == 0
        assert layer.encoding.name == ("nope" if full else "rope")
        assert layer.window == (None if full else 512)
    assert not schedule.uniform


def test_a_listed_type_of_layer_wins_over_the_habit_of_its_model_type():
    types = ["full_attention", "sliding_attention"]
    said = {**BASE, **WINDOW, "model_type": "cohere2", "num_hidden_layers": 2, "layer_types": types}
    assert names(said) == ["nope", "rope"]


def test_a_model_without_a_window_rotates_in_all_layers_where_its_code_says_so():
    said = {**BASE, "model_type": "exaone4", "num_hidden_layers": 4, "sliding_window": None}
    assert set(names(said)) == {"rope"}


def test_bases_that_are_listed_by_layer_are_kept_to_and_zero_means_none():
    said = {**BASE, "model_type": "granite_swa", "num_hidden_layers": 3, "sliding_window": None}
    said["layer_rope_theta"] = [1e4, 0, 5e5]
    schedule = gnomon.schedule(said)
    assert [layer.encoding.name for layer in schedule] == ["rope", "nope", "rope"]
    assert [schedule[0].encoding.base, schedule[2].encoding.base] == [1e4, 5e5]
    with pytest.raises(EncodingError, match=r"layers without rotary encoding \(1\)"):
        gnomon.from_config(said)


def test_muse_glimmer_leaves_out_every_fourth_layer_counted_from_the_last():
    said = {**BASE, "model_type": "muse_glimmer_text", "num_hidden_layers": 6}
    assert names(said) == ["rope", "nope", "rope", "rope", "rope", "nope"]


def test_a_flat_scaling_of_olmo_3_belongs_to_layers_with_full_attention():
    scaling = {"type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512}
    said = {
        **BASE,
        **WINDOW,
        "model_type": "olmo3",
        "num_hidden_layers": 4,
        "rope_scaling": scaling,
        "rope_theta": 500000,
    }
    with pytest.raises(EncodingError, match=r"rope_theta is 10000.0, which .* some layers"):
        gnomon.schedule({**said, "rope_theta": 1e4})
    found = [layer.encoding.scaling.name for layer in gnomon.schedule(said)]
    assert found == ["unscaled"] * 3 + ["yarn"]
    with pytest.raises(EncodingError, match="full_attention and sliding_attention"):
        gnomon.from_config(said)


def test_a_temperature_is_part_of_the_schedule_and_never_dropped():
    scaling = {
        "rope_type": "yarn",
        "factor": 16.0,
        "original_max_position_embeddings": 16384,
        "llama_4_scaling_beta": 0.1,
    }
    said = {**HEAD, "model_type": "ministral3", "num_hidden_layers": 2, "rope_parameters": scaling}
    said["rope_parameters"]["rope_theta"] = 1e6
    tempered = gnomon.schedule(said)[1].temperature
    assert tempered.at([0, 16383]).tolist() == [1.0, 1.0]
    assert tempered.at([40000])[0] == pytest.approx(1 + 0.1 * math.log(3))
    with pytest.raises(EncodingError, match=r"temperature .* ask gnomon\.schedule for both"):
        gnomon.from_config(said)


def test_a_power_is_the_temperature_of_beam():
    said = {**BASE, "model_type": "beam", "num_hidden_layers": 2, "sliding_window": 512}
    said["layer_types"] = ["sliding_attention", "full_attention"]
    said["rope_parameters"] = {"sliding_attention": {"rope_theta": 1e4}, "full_attention": None}
    del said["rope_theta"]
    one, other = gnomon.schedule(said)
    assert one.temperature is None
    assert np.allclose(other.temperature.at([2047]), 2**0.1)


def test_a_schedule_is_plain_values_and_a_table():
    said = {**BASE, **WINDOW, "model_type": "cohere2", "num_hidden_layers": 4}
    schedule = gnomon.schedule(said)
    assert schedule.to_dict()["layers"][3]["encoding"]["name"] == "nope"
    assert len(schedule) == 4
    pytest.importorskip("pandas")
    assert list(schedule.to_dataframe()["window"])[:3] == [512, 512, 512]


def test_a_schedule_needs_to_know_how_many_layers_there_are():
    with pytest.raises(EncodingError, match="add num_hidden_layers"):
        gnomon.schedule(BASE)


@pytest.mark.parametrize("model_type", ["brand_new", "qwen9", "my_llama"])
def test_a_model_type_that_nobody_knows_is_refused_its_layout(model_type):
    said = {**BASE, "model_type": model_type}
    with pytest.raises(EncodingError, match=r"is not known here, .*pass layout="):
        gnomon.from_config(said)
    assert gnomon.from_config(said, layout="interleaved").layout == "interleaved"


def test_a_config_of_metas_or_mistrals_own_form_is_interleaved():
    said = {"dim": 4096, "n_heads": 32, "n_layers": 32, "rope_theta": 1e6}
    assert gnomon.from_config(said).layout == "interleaved"


@pytest.mark.parametrize(
    "key", ["yarn", "dual_chunk_attention_config", "rope_ratio", "ntk_alpha", "rotary_scale"]
)
def test_a_top_key_that_speaks_of_positions_and_is_not_read_is_refused_by_name(key):
    with pytest.raises(EncodingError, match=f"key '{key}' is read by nothing here"):
        gnomon.from_config({**BASE, key: {"factor": 4.0}})


@pytest.mark.parametrize(
    "key", ["alpha", "short_mscale", "llama_4_scaling_beta", "rope_theta", "beta_fast"]
)
def test_a_key_that_changes_numbers_can_not_be_passed_over(key):
    with pytest.raises(EncodingError, match=f"ignore names '{key}', which changes the numbers"):
        gnomon.from_config(BASE, ignore=(key,))


@pytest.mark.parametrize(
    ("key", "value"), [("rope_theta", 1e6), ("rope_scaling", {"type": "linear", "factor": 2.0})]
)
def test_what_stands_above_the_text_part_is_not_dropped_in_silence(key, value):
    said = {"model_type": "llava", "text_config": {**HEAD, "model_type": "llama"}, key: value}
    with pytest.raises(EncodingError, match=f"says {key} = .* beside text_config"):
        gnomon.from_config(said)


@pytest.mark.parametrize(
    "inside",
    [
        {"rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "default"}},
        {"partial_rotary_factor": 0.5},
    ],
)
def test_a_base_above_a_text_part_with_other_keys_is_not_dropped_either(inside):
    part = {**HEAD, "model_type": "llama", **inside}
    with pytest.raises(EncodingError, match=r"says rope_theta = 1000000\.0 beside text_config"):
        gnomon.from_config({"model_type": "llava", "text_config": part, "rope_theta": 1e6})


def test_what_stands_above_and_inside_is_read_inside():
    part = {**HEAD, "model_type": "llama", "rope_parameters": {"rope_theta": 5e5}}
    said = {"model_type": "llava", "text_config": part, "rope_theta": 1e6}
    assert gnomon.from_config(said).base == 5e5


@pytest.mark.parametrize(
    ("model_type", "way"),
    [("esm", "absolute"), ("esm", None), ("bert", "relative_key"), ("llama", "nope")],
)
def test_a_config_that_names_another_way_of_encoding_is_not_read_as_rotary(model_type, way):
    said = {**BASE, "model_type": model_type}
    said |= {} if way is None else {"position_embedding_type": way}
    with pytest.raises(EncodingError, match="which is no rotary encoding"):
        gnomon.from_config(said, layout="half")


def test_esm_2_is_read_where_it_says_that_it_is_rotary():
    said = {**HEAD, "model_type": "esm", "position_embedding_type": "rotary"}
    assert gnomon.from_config(said).base == 1e4


def test_a_model_whose_way_is_absolute_is_read_as_its_table_whatever_base_its_config_has():
    hf, transformers = (pytest.importorskip(name) for name in ("gnomon.hf", "transformers"))
    small = {"vocab_size": 8, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 1}
    small |= {"intermediate_size": 32, "pad_token_id": 1, "mask_token_id": 2}
    for way, name in (("absolute", "learned"), ("rotary", "rope")):
        config = transformers.EsmConfig(position_embedding_type=way, **small)
        assert hf.read(transformers.EsmModel(config)).name == name


def test_sizes_of_the_whole_do_not_hide_the_part_that_reads_text():
    part = {**HEAD, "model_type": "qwen3", "head_dim": 128, "rope_theta": 1e6}
    found = gnomon.from_config(
        {"model_type": "internvl_chat", "hidden_size": 9, "llm_config": part}
    )
    assert (found.dimension, found.base) == (128, 1e6)


def test_bands_that_meet_are_taken_as_transformers_does():
    scaling = {"rope_type": "llama3", "factor": 16.0, "original_max_position_embeddings": 8192}
    scaling |= {"low_freq_factor": 1.0, "high_freq_factor": 1.0}
    found = gnomon.from_config({**BASE, "rope_scaling": scaling}).frequencies[:, 0]
    plain = gnomon.from_config(BASE).frequencies[:, 0]
    slow = 2 * np.pi / plain > 8192
    assert np.allclose(found, np.where(slow, plain / 16, plain))


def test_an_mscale_alone_is_read_by_nothing():
    scaling = {"type": "yarn", "factor": 20.0, "original_max_position_embeddings": 512}
    alone, none = ({**BASE, "rope_scaling": {**scaling, **more}} for more in ({"mscale": 1.0}, {}))
    assert gnomon.from_config(alone).attention_factor == gnomon.from_config(none).attention_factor


def test_gpt_j_may_say_that_it_is_rotary():
    said = {"model_type": "gptj", "n_embd": 256, "n_head": 1, "rotary_dim": 64, "rotary": True}
    assert gnomon.from_config(said).rotated == 64


def test_layers_of_deepseek_v4_are_found_by_their_number():
    said = {"model_type": "deepseek_v4", "head_dim": 512, "qk_rope_head_dim": 64}
    said |= {"layer_types": ["sliding_attention", "heavily_compressed_attention"]}
    schedule = gnomon.schedule({**said, "num_hidden_layers": 2, "sliding_window": 128})
    assert [layer.encoding.base for layer in schedule] == [1e4, 160000.0]
    assert all(layer.rotates_values for layer in schedule)
    with pytest.warns(UserWarning, match="also rotates values"):
        gnomon.from_config(said, layer=1)


V4_SCALED = {"type": "yarn", "factor": 16, "original_max_position_embeddings": 512}


@pytest.mark.parametrize("listed", [{"compress_ratios": [0, 128, 4, 128]}, {}])
@pytest.mark.parametrize("scaling", [V4_SCALED, {**V4_SCALED, "attention_factor": 1.5}, None])
def test_layers_of_deepseek_v4_are_those_that_transformers_makes_of_its_config(listed, scaling):
    transformers = pytest.importorskip("transformers")
    said = {"num_hidden_layers": 4, "num_attention_heads": 4, "hidden_size": 64, **listed}
    made = transformers.DeepseekV4Config(**copy.deepcopy({**said, "rope_scaling": scaling}))
    found = gnomon.schedule(
        {**said, "model_type": "deepseek_v4", "sliding_window": 128, "rope_scaling": scaling}
    )
    assert [layer.layer_type for layer in found] == made.layer_types
    for layer in found:
        kind = "main" if layer.layer_type == "sliding_attention" else "compress"
        want = made.rope_parameters[kind]
        assert layer.encoding.base == want["rope_theta"]
        assert layer.encoding.rotated == 512 * want["partial_rotary_factor"]
        assert layer.encoding.attention_factor == want.get("attention_factor", 1.0)
        assert getattr(layer.encoding.scaling, "factor", None) == want.get("factor")


@pytest.mark.parametrize("ratios", [[0, 128, 4], [0, 128, 4, 5], 128])
def test_ratios_of_deepseek_v4_that_fit_no_layer_are_refused(ratios):
    said = {"num_hidden_layers": 4, "num_attention_heads": 4, "hidden_size": 64}
    said |= {"model_type": "deepseek_v4", "sliding_window": 128, "compress_ratios": ratios}
    with pytest.raises(EncodingError):
        gnomon.schedule(said)


LONG = {"type": "longrope", "short_factor": [1.0] * 32, "long_factor": [4.0] * 32}
FOLLOWING = [
    {**LONG, "original_max_position_embeddings": 1024},
    {"type": "dynamic", "factor": 4.0},
]


@pytest.mark.parametrize("scaling", FOLLOWING)
def test_past_the_trained_length_a_scaling_that_follows_it_asks_for_the_length(scaling):
    said = {**BASE, "rope_scaling": scaling}
    found, one = gnomon.from_config(said), np.ones((1, 64))
    assert np.isfinite(found.transform(one, one, [1023])[0]).all()
    with pytest.raises(EncodingError, match=r"beyond the trained length .*at_length"):
        found.transform(one, one, [8000])
    with pytest.raises(EncodingError, match=r"beyond the trained length .*at_length"):
        found.scores(one, one, [8000])
    fixed = gnomon.from_config(said, length=9000)
    assert np.isfinite(fixed.transform(one, one, [8000])[0]).all()


def test_reading_by_transformers_leaves_the_mapping_as_it_was():
    hf = pytest.importorskip("gnomon.hf")
    scaling = {"type": "linear", "factor": 2.0}
    said = {**BASE, "model_type": "llama", "num_hidden_layers": 2, "rope_scaling": scaling}
    before = copy.deepcopy(said)
    hf.read(said)
    assert said == before


@pytest.mark.parametrize("kind", ["su", "yarm", 7])
def test_what_transformers_can_not_make_a_config_of_is_refused_in_words(kind):
    hf = pytest.importorskip("gnomon.hf")
    said = {**BASE, "model_type": "phi3", "rope_scaling": {"type": kind}}
    with pytest.raises(EncodingError):
        hf.read(said)


def test_layers_without_attention_have_no_encoding_and_say_so():
    said = {**BASE, "model_type": "qwen3_next", "head_dim": 64, "num_hidden_layers": 4}
    schedule = gnomon.schedule(said)
    assert [layer.attends for layer in schedule] == [False, False, False, True]
    assert names(said) == ["nope", "nope", "nope", "rope"]
    with pytest.raises(EncodingError, match=r"Layer 0 is of type 'linear_attention' and has no"):
        gnomon.from_config(said, layer=0)


@pytest.mark.parametrize("kind", ["conv", "mamba", "recurrent"])
def test_a_listed_layer_without_attention_has_no_encoding(kind):
    said = {**BASE, "model_type": "lfm2", "num_hidden_layers": 2}
    assert names({**said, "layer_types": [kind, "full_attention"]}) == ["nope", "rope"]
    with pytest.raises(EncodingError, match=r"layers without attention.*add layer_types"):
        gnomon.schedule(said)


def test_granite_hybrids_rotate_only_where_they_are_told_to():
    said = {**BASE, "model_type": "granitemoehybrid", "num_hidden_layers": 1}
    said["layer_types"] = ["attention"]
    assert names(said) == ["nope"]
    assert names({**said, "position_embedding_type": "rope"}) == ["rope"]


def test_a_window_whose_length_is_not_said_is_not_read_as_none():
    said = {**BASE, "model_type": "qwen2", "num_hidden_layers": 2, "head_dim": 64}
    for asked in (
        {"layer_types": ["sliding_attention", "full_attention"]},
        {"use_sliding_window": True, "max_window_layers": 0},
    ):
        with pytest.raises(EncodingError, match=r"Layer 0 has a sliding .*add sliding_window"):
            gnomon.schedule({**said, **asked})
    with pytest.raises(EncodingError, match="use_sliding_window is 'false'"):
        gnomon.schedule({**said, "sliding_window": 4, "use_sliding_window": "false"})
