"""Certificates for modules of PyTorch and for the rotary functions of Hugging Face models."""

from __future__ import annotations

import re
import sys

import pytest

import gnomon
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")


@pytest.mark.parametrize("family", ["llama", "gpt_neox", "qwen3", "deepseek_v3"])
def test_the_rotary_function_of_a_model_is_a_group(room, family):
    found = gnomon.verify(room.build(family))
    assert found.level == "L0 strict group"
    assert found.holds
    assert found.laws["shift"].residual > 0.0  # it is rounded, and measured


def test_the_table_of_another_layout_in_a_model_is_found(room, monkeypatch):
    """As in ports: the model's cosines are those of halves, its turn is that of neighbours."""
    model = room.build("llama")

    def neighbours(x):
        return torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)

    monkeypatch.setattr(sys.modules[type(model).__module__], "rotate_half", neighbours)
    found = gnomon.verify(model)
    assert "shift" in found.broken
    assert found.level == "L6 not shift invariant"


def test_a_model_that_does_not_turn_is_certified_by_the_encoding_it_has(room):
    """BERT adds rows of a table, T5 a bias of the lag that has no finite rank."""
    table = gnomon.verify(room.build("bert"))
    assert (table.name, table.level) == ("learned", "L6 not shift invariant")
    bias = gnomon.verify(room.build("t5"))
    assert (bias.name, bias.level) == ("t5", "L5 relative, not separable")


def test_keys_that_are_not_turned_are_found(room, monkeypatch):
    """Only what the function returns for keys differs: q_embed, and k as it came."""
    model = room.build("llama")
    file = sys.modules[type(model).__module__]
    turned = file.apply_rotary_pos_emb
    monkeypatch.setattr(
        file, "apply_rotary_pos_emb", lambda q, k, *rest, **how: (turned(q, k, *rest, **how)[0], k)
    )
    found = gnomon.verify(model)
    assert {"shift", "identity"} <= set(found.broken)


def frequencies_of(found):
    return sorted(one.frequency for one in found.structure.structure)


def test_the_frequencies_are_those_that_the_model_holds_now(room):
    """Not those that its config would make: changed by hand, and rounded with the model."""
    model = room.build("llama")
    rotary = next(one for one in model.modules() if hasattr(one, "inv_freq"))
    assert gnomon.verify(model).warnings == ()
    before = rotary.inv_freq.clone()
    rotary.inv_freq = 2.5 * before
    found = gnomon.verify(model)
    assert frequencies_of(found) == pytest.approx(sorted(2.5 * before.double().numpy()), rel=1e-4)
    assert "are not those of its config: they differ by up to 1.5 of themselves" in str(
        found.warnings
    )
    rotary.inv_freq = before
    found = gnomon.verify(model.bfloat16())
    rounded = before.bfloat16().double().numpy()
    assert not (rounded == before.double().numpy()).all()
    assert frequencies_of(found) == pytest.approx(sorted(rounded), rel=1e-4)
    assert "frequencies, held in bfloat16, are not those of its config" in str(found.warnings)


def test_what_float32_loses_at_the_last_position_of_a_model_is_measured(room):
    """Half a unit in the last place of 131,071 is 2^-8: phases of frequency 1 err by that much."""
    model = room.build("llama")
    near = gnomon.verify(model, promised=["dtype"])
    assert near.holds
    model.config.max_position_embeddings = 131072
    far = gnomon.verify(type(model)(model.config), promised=["dtype"])
    assert far.broken == ("dtype",)
    assert 1e-5 < far.laws["dtype"].residual < 2.0**-6


FOLLOWING = {
    "dynamic": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0},
    "longrope": {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        "factor": 2.0,
        "short_factor": [1.0] * 4,
        "long_factor": [3.0] * 4,
        "original_max_position_embeddings": 32,
    },
}


@pytest.mark.parametrize("kind", FOLLOWING)
def test_frequencies_that_follow_the_length_break_the_cache_of_a_model(room, kind):
    """By the modules of transformers: keys turned before are wrong when the text grows."""
    model = room.build("llama")
    model.config.rope_parameters = FOLLOWING[kind]
    found = gnomon.verify(type(model)(model.config))
    assert {"cache", "shift"} <= set(found.broken)
    assert found.laws["cache"].residual > 0.1


def test_a_folder_without_weights_is_certified_by_its_config(room, tmp_path):
    """A model that would take 140 GB: nothing of it is made but the rotary module."""
    model = room.build("llama")
    large = {"hidden_size": 8192, "num_attention_heads": 64, "num_hidden_layers": 80}
    large |= {"intermediate_size": 28672, "max_position_embeddings": 8192, "vocab_size": 128256}
    model.config.update(large)
    model.config.head_dim = 128
    model.config.save_pretrained(tmp_path)
    for given in (tmp_path, str(tmp_path)):
        found = gnomon.verify(given)
        assert (found.level, found.holds) == ("L0 strict group", True)
    assert found.name == "the rotary function of LlamaModel"


@pytest.mark.parametrize(
    ("rope", "said"),
    [
        ({"rope_type": "default"}, r"\(RoPE\), 8 frequencies, base 5000$"),
        (
            {"rope_type": "linear", "factor": 4.0},
            r"base 5000, positions divided by 4 \(interpolation\)$",
        ),
    ],
)
def test_the_generator_of_a_model_is_named_from_its_folder(tmp_path, rope, said):
    config = transformers.LlamaConfig(
        hidden_size=64,
        num_attention_heads=4,
        num_hidden_layers=1,
        max_position_embeddings=256,
        rope_parameters={"rope_theta": 5000.0, **rope},
    )
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(tmp_path)
    assert re.search(said, gnomon.verify(tmp_path).structure.named)


def test_a_folder_with_weights_is_read_where_there_is_no_rotary_function(room, tmp_path):
    model = room.build("bert")
    model.save_pretrained(tmp_path)
    rows = model.bert.embeddings.position_embeddings.weight.detach().numpy()
    found = gnomon.verify(tmp_path)
    assert (found.name, found.level) == ("learned", "L6 not shift invariant")
    # The rows differ from one another, and so do the lags between equal positions.
    assert found.laws["shift"].residual > 0.01 * rows.std()


def test_folders_without_a_model_are_refused(tmp_path):
    with pytest.raises(EncodingError, match=r"has no config.json; pass one that a model was saved"):
        gnomon.verify(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        EncodingError, match=r"holds no JSON|transformers reads no config of a model at .*; pass"
    ):
        gnomon.verify(tmp_path)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(
        EncodingError, match=r"holds no JSON|transformers reads no config of a model at .*; pass"
    ):
        gnomon.verify(tmp_path)
    with pytest.raises(EncodingError, match=r"There is no folder .*nowhere' with a model; pa"):
        gnomon.verify(tmp_path / "no" / "nowhere")


class Turning(torch.nn.Module):
    """Rotary encoding as people write it, its frequencies a buffer that follows the module."""

    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", 100.0 ** (-torch.arange(0, 8, 2) / 8))

    def forward(self, x, positions):
        phases = positions.to(self.frequencies.dtype)[:, None] * self.frequencies
        cosine, sine = phases.cos(), phases.sin()
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=-1)


def test_a_module_is_certified_in_its_own_type():
    exact = gnomon.verify(Turning().double(), dimension=8)
    assert exact.holds
    assert exact.laws["shift"].tolerance == 1e-9
    single = gnomon.verify(Turning(), dimension=8)
    assert single.holds
    assert single.laws["shift"].residual > 1e-8


def test_a_module_in_float32_is_seen_to_lose_phases_far_from_the_origin():
    single = gnomon.verify(Turning(), dimension=8, promised=["dtype"])
    assert single.broken == ("dtype",)
    assert gnomon.verify(Turning().double(), dimension=8, promised=["dtype"]).holds


def test_a_layer_is_certified_with_the_numbers_it_learned():
    layer = gnomon.torch.layer(gnomon.encoding("t5", heads=2))
    assert gnomon.verify(layer).level == "L5 relative, not separable"
    with torch.no_grad():
        layer.table.zero_()
    assert gnomon.verify(layer).level == "L0 strict group"
