"""`gnomon verify FOLDER` of models whose types of layers turn by tables of their own."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import gnomon
from gnomon.cli.app import app
from gnomon.errors import EncodingError, GnomonError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 32,
    "vocab_size": 64,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
}
MIXED = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
ROPE = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    "full_attention": {"rope_type": "default", "rope_theta": 1e6},
}
STRETCHED = {"rope_type": "linear", "rope_theta": 5e5, "factor": 4.0}


def saved(folder, kind, **more):
    """A folder with a tiny model of random weights."""
    config = transformers.AutoConfig.for_model(kind, **{**SMALL, "layer_types": MIXED, **more})
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ["gemma3_text", "olmo3", "modernbert"])
def test_each_type_of_layers_has_a_certificate_with_its_own_base(tmp_path, kind):
    found = gnomon.verify(saved(tmp_path, kind, rope_parameters=ROPE))
    assert (found.level, found.holds) == ("L0 strict group", True)
    bases = {one.layer_type: one.structure.named.partition("base ")[2] for one in found.layers}
    assert bases == {"sliding_attention": "10000", "full_attention": "1000000"}
    numbers = {one.layer_type: one.numbers for one in found.layers}
    assert numbers == {"sliding_attention": (0, 1, 3), "full_attention": (2,)}
    assert found.structure is None  # no one name is that of all layers


def test_a_scaling_of_one_type_is_not_said_of_the_other(tmp_path):
    """OLMo 3 stretches the layers of full attention, and not the sliding ones."""
    rope = {**ROPE, "full_attention": STRETCHED}
    found = gnomon.verify(saved(tmp_path, "olmo3", rope_parameters=rope))
    said = {one.layer_type: "divided by 4" in one.structure.named for one in found.layers}
    assert said == {"sliding_attention": False, "full_attention": True}


def test_the_verb_prints_every_type_and_keeps_the_keys_of_its_json(tmp_path):
    folder = saved(tmp_path / "model", "gemma3_text", rope_parameters=ROPE)
    out = tmp_path / "found.json"
    ran = CliRunner().invoke(app, ["verify", str(folder), "--json", str(out)])
    assert ran.exit_code == 0
    assert "(sliding_attention, layers 0-1, 3): L0 strict group" in ran.output
    assert "(full_attention, layer 2): L0 strict group" in ran.output
    made = json.loads(out.read_text(encoding="utf-8"))
    assert made["level"] == "L0 strict group"
    assert set(made["laws"]["rank"]) >= {"residual", "tolerance", "holds", "promised"}
    assert made["warnings"] == []
    assert [one["layer_type"] for one in made["layers"]] == ["full_attention", "sliding_attention"]
    assert [one["numbers"] for one in made["layers"]] == [[2], [0, 1, 3]]


def test_one_table_that_is_wrong_breaks_the_certificate_of_the_model(tmp_path, monkeypatch):
    """The table of one type of layers, and it alone, is put into the layout of neighbours."""
    folder = saved(tmp_path, "gemma3_text", rope_parameters=ROPE)
    kind = transformers.models.gemma3.modeling_gemma3.Gemma3RotaryEmbedding
    right = kind.forward

    def wrong(self, x, position_ids, layer_type=None):
        made = right(self, x, position_ids, layer_type=layer_type)
        if layer_type != "full_attention":
            return made
        return tuple(one[..., : one.shape[-1] // 2].repeat_interleave(2, dim=-1) for one in made)

    monkeypatch.setattr(kind, "forward", wrong)
    found = gnomon.verify(folder)
    assert "shift" in found.broken
    assert {one.layer_type: one.holds for one in found.layers} == {
        "full_attention": False,
        "sliding_attention": True,
    }


def test_layers_without_a_table_are_certified_as_such(tmp_path):
    """Beam turns its sliding layers only."""
    rope = {**ROPE, "full_attention": None}
    found = gnomon.verify(saved(tmp_path, "beam", rope_parameters=rope))
    by_type = {one.layer_type: one for one in found.layers}
    assert by_type["full_attention"].name == "nope"
    assert by_type["full_attention"].numbers == (2,)
    assert by_type["sliding_attention"].structure.named.endswith("base 10000")


def test_a_model_whose_library_is_missing_is_refused_in_a_sentence(tmp_path):
    if transformers.utils.is_timm_available():
        pytest.skip("timm is installed")
    transformers.AutoConfig.for_model("timm_wrapper").save_pretrained(tmp_path)
    with pytest.raises(EncodingError, match=r"^[^\n]+; [^\n]+\.$"):
        gnomon.verify(tmp_path)


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", sorted(transformers.CONFIG_MAPPING))
def test_no_type_of_model_ends_in_a_fault(tmp_path, kind):
    """The config of every type: certificates, or a refusal of ours in one sentence."""
    try:
        transformers.AutoConfig.for_model(kind).save_pretrained(tmp_path)
    except (AttributeError, ImportError, TypeError, ValueError) as error:
        pytest.skip(f"transformers makes no config of it: {error}")
    refused = ""
    try:
        assert gnomon.verify(tmp_path).level
    except GnomonError as error:
        refused = str(error)
    assert "\n" not in refused
