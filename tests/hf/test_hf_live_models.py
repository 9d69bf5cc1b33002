"""Models that are not what their config says, in parts, in memory, or in the number of layers."""

from __future__ import annotations

import contextlib
import copy
import json

import numpy as np
import pytest

import gnomon
from gnomon.errors import GnomonError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import gnomon.hf  # noqa: E402

SMALL = {
    "vocab_size": 32,
    "intermediate_size": 16,
    "hidden_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "num_hidden_layers": 4,
    "pad_token_id": 0,
}


def model_of(model_type, **given):
    config = transformers.AutoConfig.for_model(model_type, **{**SMALL, **given})
    return transformers.AutoModel.from_config(config)


def test_each_part_of_a_model_of_two_is_read_from_its_own_config():
    def part(base):
        return {
            "model_type": "t5_gemma_module",
            "head_dim": 32,
            "rope_theta": base,
            "sliding_window": 16,
            "layer_types": ["sliding_attention", "full_attention"] * 2,
            **SMALL,
        }

    said = {"model_type": "t5gemma", "vocab_size": 32, "encoder": part(1e4), "decoder": part(5e4)}
    assert gnomon.hf.read(said, part="encoder").base == 1e4
    assert gnomon.hf.read(said, part="decoder").base == 5e4
    assert gnomon.hf.read(said).base == 1e4


def test_a_part_whose_bias_has_another_form_is_not_read_from_the_other_part():
    said = {"model_type": "longt5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 2}
    said |= {"d_ff": 16, "vocab_size": 32}
    with pytest.raises(GnomonError, match="none in its encoder as T5 has it"):
        gnomon.hf.read(said)
    assert gnomon.hf.read(said, part="decoder").bidirectional is False


def test_a_config_of_several_texts_is_refused_in_words():
    with pytest.raises(GnomonError, match="several parts that read text"):
        gnomon.hf.read({"model_type": "musicgen"})


class Thrice(transformers.models.llama.modeling_llama.LlamaRotaryEmbedding):
    def forward(self, x, position_ids):
        return super().forward(x, position_ids * 3)


class Still(torch.nn.Module):
    def forward(self, x, position_ids):
        one = torch.ones(*position_ids.shape, x.shape[-1])
        return one, 0.0 * one


@pytest.mark.parametrize("made", [Thrice, lambda _: Still()])
def test_a_module_that_is_none_of_transformers_is_not_read_as_its_config(made):
    model = model_of("llama", rope_theta=5e5)
    assert gnomon.hf.read(model).base == 5e5
    model.rotary_emb = made(model.config)
    with pytest.raises(GnomonError, match="is none of transformers'"):
        gnomon.hf.read(model)


def test_a_certificate_asks_the_module_that_stands_in_the_model():
    model = model_of("llama", rope_theta=5e5)
    model.rotary_emb = Thrice(model.config)
    fastest = max(abs(each.frequency) for each in gnomon.verify(model).structure.structure)
    assert fastest == pytest.approx(3.0, rel=1e-5)


def halve(module):
    module.inv_freq.mul_(0.5)


def cast(module):
    module.bfloat16()


def scale(module):
    module.attention_scaling = 1.5


@pytest.mark.parametrize("change", [halve, cast, scale])
def test_numbers_that_are_not_those_of_the_config_are_told(change):
    model = model_of("llama", rope_theta=5e5)
    change(model.rotary_emb)
    with pytest.warns(UserWarning, match="What is read is the config, and the model's f"):
        gnomon.hf.read(model)
    assert gnomon.verify(model).warnings


def test_a_certificate_names_the_layers_that_have_no_encoding():
    made = gnomon.verify(model_of("smollm3", no_rope_layers=[1, 0, 1, 0]))
    assert [(one.layer_type, one.numbers) for one in made.layers] == [
        ("rotary", (0, 2)),
        ("no encoding", (1, 3)),
    ]
    none = gnomon.verify(model_of("smollm3", no_rope_layers=[0, 0, 0, 0]))
    assert [one.kind for one in none.structure.structure] == ["zero"]


def test_llama_4_is_certified_layer_by_layer(tmp_path):
    model = model_of("llama4_text", head_dim=32, intermediate_size_mlp=16, num_local_experts=2)
    model.save_pretrained(tmp_path)
    made = gnomon.verify(tmp_path)
    assert [one.numbers for one in made.layers] == [(0, 1, 2), (3,)]


@pytest.mark.parametrize("count", [5000, 10**9, 10**18])
@pytest.mark.parametrize("key", ["num_hidden_layers", "num_layers", "n_layer", "encoder_layers"])
def test_layers_without_end_are_refused_before_they_are_made(tmp_path, key, count):
    said = {"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, key: count}
    (tmp_path / "config.json").write_text(json.dumps(said))
    for ask in (gnomon.verify, gnomon.hf.read, gnomon.from_config):
        with pytest.raises(GnomonError, match=f"{key} is {count}; pass at most 4,096 layers"):
            ask(tmp_path)


def deep():
    found = inner = {}
    for _ in range(100_000):
        inner["text_config"] = inner = {}
    return found


def itself():
    found = {"model_type": "llama", "hidden_size": 128, "num_attention_heads": 2}
    found["rope_scaling"] = found
    return found


BASE = {"model_type": "llama", "hidden_size": 128, "num_attention_heads": 2, "rope_theta": 1e4}
HOSTILE = {
    "number as key": {**BASE, "rope_scaling": {1: 2}},
    "none as key": {**BASE, "rope_scaling": {None: 2}},
    "deep": deep(),
    "itself": itself(),
    "array": {
        **BASE,
        "model_type": "smollm3",
        "num_hidden_layers": 2,
        "no_rope_layers": np.array([1, 0]),
    },
    "list as type": {**BASE, "model_type": ["llama"]},
    "list as part": {**BASE, "text_config": [1]},
    "text as part": {**BASE, "text_config": "x"},
    "long": {**BASE, "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 10**6}},
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("ask", [gnomon.from_config, gnomon.schedule, gnomon.hf.read])
def test_hostile_mappings_are_refused_in_words_or_read(ask, name):
    given = HOSTILE[name]
    shown = copy.copy(given)
    with contextlib.suppress(GnomonError):
        ask(given)
    assert shown.keys() == given.keys()
