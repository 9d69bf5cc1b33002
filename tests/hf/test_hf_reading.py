"""What `read` says of models and configs, against what their own modules compute."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")
KNOWN = {
    "bert": ("learned", {"rows": 512, "dimension": 768}),
    "roberta": ("learned", {"rows": 510, "dimension": 768}),
    "electra": ("learned", {"rows": 512, "dimension": 128}),
    "nystromformer": ("learned", {"rows": 510, "dimension": 768}),
    "gpt2": ("learned", {"rows": 1024, "dimension": 768}),
    "opt": ("learned", {"rows": 2048, "dimension": 768}),
    "t5": ("t5", {"heads": 8, "buckets": 32, "largest_lag": 128, "bidirectional": True}),
    "bloom": ("alibi", {"heads": 8, "symmetric": False}),
    "mpt": ("alibi", {"heads": 16}),
    "falcon": ("rope", {"dimension": 64, "layout": "half"}),
    "llama": ("rope", {"dimension": 128, "layout": "half", "base": 10000.0}),
    "gpt_neox": ("rope", {"dimension": 96, "fraction": 0.25}),
    "gptj": ("rope", {"dimension": 256, "layout": "interleaved", "fraction": 0.25}),
    "cohere": ("rope", {"layout": "interleaved", "base": 500000.0}),
    "gpt_oss": ("rope-yarn", {"base": 150000.0}),
    "deepseek_v3": ("mla", {"content_dimension": 128, "dimension": 192}),
    "qwen2_vl": ("m-rope", {"sections": [16, 24, 24]}),
    "roformer": ("rope", {"dimension": 64, "layout": "interleaved"}),
    "xlnet": ("transformer-xl", {"dimension": 64, "heads": 16, "model_dimension": 1024}),
}
"""Published defaults of model types, and their encodings by the papers that define them."""


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()


@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=() if i % 3 == 0 else pytest.mark.wide) for i, k in enumerate(KNOWN)],
)
def test_a_config_says_which_encoding_its_model_has(kind):
    name, parameters = KNOWN[kind]
    config = transformers.AutoConfig.for_model(kind)
    found = hf.read(config)
    assert found.name == name
    assert {key: found.parameters[key] for key in parameters} == parameters
    assert hf.read(config.to_dict()).parameters == found.parameters


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "opt", "nystromformer"])
def test_a_learned_table_is_that_of_the_weights_from_the_first_position_on(room, family):
    model = room.build(family)
    found = hf.read(model)
    tables = [
        value.detach().numpy()
        for name, value in model.named_parameters()
        if ("position" in name or "wpe" in name) and value.ndim == 2
    ]
    rows = found.table.shape[0]
    assert rows == room.LENGTH - (family == "roberta")  # its first row is that of padding
    np.testing.assert_array_equal(found.table, tables[0][len(tables[0]) - rows :])
    from_config = hf.read(model.config)
    assert from_config.parameters == found.parameters
    assert from_config.values is None


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_the_bias_read_from_a_t5_is_the_one_that_it_computes(room, part):
    model = room.build("t5")
    layer = getattr(model, part).block[0].layer[0].SelfAttention
    theirs = layer.compute_bias(30, 40, past_seen_tokens=10).detach().numpy()[0]
    found = hf.read(model, part=part).bias(np.arange(10, 40), np.arange(40))
    if part == "decoder":  # keys after their query are masked there
        seen = np.arange(40) <= np.arange(10, 40)[:, None]
        found, theirs = found * seen, theirs * seen
    np.testing.assert_array_equal(found, theirs)


def test_falcon_with_alibi_adds_it_before_logits_are_scaled():
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor

    config = transformers.FalconConfig(hidden_size=64, num_attention_heads=4, alibi=True)
    found = hf.read(config)
    theirs = build_alibi_tensor(torch.ones(1, 20), 4, torch.float32).numpy() / math.sqrt(16)
    ours = found.bias([19], np.arange(20))
    np.testing.assert_allclose(ours - ours[..., :1], theirs, rtol=2.0**-7)  # theirs is bfloat16


SCRIPTED = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
"""DeBERTa of transformers is partly scripted."""


@SCRIPTED
@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
def test_deberta_has_as_many_lags_as_its_table_has_rows(kind):
    shape = {
        "vocab_size": 20,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 64,
    }
    relative = {
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "position_biased_input": False,
    }
    buckets = {"position_buckets": 16, "max_relative_positions": 40} if "v2" in kind else {}
    config = transformers.AutoConfig.for_model(kind, **shape, **relative, **buckets)
    model = transformers.AutoModel.from_config(config)
    found = hf.read(model)
    assert (found.name, found.dimension, found.heads) == ("deberta", 8, 2)
    rows = model.encoder.rel_embeddings.num_embeddings
    assert found.numbers["key_table"].shape == (2, rows, 8)
    assert found.largest_lag == model.encoder.max_relative_positions


@SCRIPTED
def test_deberta_with_other_products_or_a_table_beside_is_refused():
    config = transformers.DebertaConfig(relative_attention=True, position_biased_input=False)
    config.pos_att_type = ["c2p"]
    with pytest.raises(EncodingError, match="has both c2p and p2c; build the nearest one by hand"):
        hf.read(config)
    config = transformers.DebertaConfig(relative_attention=True, pos_att_type=["c2p", "p2c"])
    with pytest.raises(EncodingError, match="which no single encoding is; read them one by one"):
        hf.read(config)


def test_types_of_layers_are_asked_for(room):
    model = room.build("gemma3_text")
    with pytest.raises(EncodingError, match=r"pass layer_type=\.\.\. to say which"):
        hf.read(model)
    bases = [hf.read(model, layer_type=t).base for t in ("full_attention", "sliding_attention")]
    assert bases == [1000000.0, 10000.0]


def test_layers_that_do_not_turn_are_read_as_such(room):
    model = room.build("smollm3")
    assert [hf.read(model, layer=layer).name for layer in (0, 1)] == ["rope", "nope"]


@pytest.mark.parametrize(
    ("family", "name", "parameters"),
    [
        ("llama", "rope", {"dimension": 8, "layout": "half", "base": 77.0}),
        ("llama", "alibi", {"heads": 4}),
        ("bert", "sinusoidal", {"dimension": 32, "base": 77.0}),
        ("t5", "alibi", {"heads": 4, "symmetric": True}),
    ],
)
def test_an_installed_encoding_is_read_from_model_config_and_folder(
    room, tmp_path, family, name, parameters
):
    encoding = gnomon.encoding(name, **parameters)
    model = hf.install(room.build(family), encoding)
    model.save_pretrained(tmp_path)
    for source in (model, model.config, tmp_path, str(tmp_path)):
        found = hf.read(source)
        assert (found.name, found.parameters) == (encoding.name, encoding.parameters)


def test_a_mapping_without_a_known_model_type_is_read_as_rotary_parameters():
    found = hf.read({"head_dim": 64, "rope_theta": 500000.0})
    assert (found.name, found.dimension, found.base) == ("rope", 64, 500000.0)


def test_what_has_no_encoding_of_the_catalogue_is_said_so(room):
    with pytest.raises(EncodingError, match="In MambaModel no positional encoding of the catalog"):
        hf.read(transformers.MambaConfig(num_hidden_layers=1, hidden_size=16))
    with pytest.raises(EncodingError, match="learned table of 512 rows and T5's bias at once"):
        hf.read(transformers.MPNetConfig())
    with pytest.raises(EncodingError, match="in an order of its own; pass the model with its wei"):
        hf.read(transformers.MarianConfig(encoder_layers=1, decoder_layers=1))
    with pytest.raises(EncodingError, match="A model or its config is read, and this is int"):
        hf.read(3)
    with pytest.raises(EncodingError, match="There is no folder 'nowhere/at/all'; pass a model or"):
        hf.read("nowhere/at/all")
    with pytest.raises(
        EncodingError, match="T5EncoderModel has no decoder as T5 has it; pass another part"
    ):
        hf.read(
            transformers.T5EncoderModel(room.build("t5").config.__class__(num_layers=1)),
            part="decoder",
        )
    with pytest.raises(EncodingError, match="BertForMaskedLM has no decoder; leave part out"):
        hf.read(room.build("bert"), part="decoder")
    with pytest.raises(EncodingError, match="part is 'both'; pass one of: encoder, decoder"):
        hf.read(room.build("bert"), part="both")
