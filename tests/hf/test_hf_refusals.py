"""What cannot be installed: one sentence each, and the model stays as it was."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gnomon
from gnomon.encodings.rotary.rope import Rope
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")


class Homemade(Rope):
    """A rotary encoding that no catalogue knows."""


ROPE = {"dimension": 8, "layout": "half"}
DYNAMIC = {**ROPE, "factor": 2.0, "original_length": 16}
REFUSED = {
    "another head dimension": (
        "llama",
        ("rope", {"dimension": 16, "layout": "half"}),
        {},
        (
            "The encoding 'rope' is for heads of dimension 16, and the model's heads have "
            "8; make it with dimension=8."
        ),
    ),
    "another head dimension, in the attention": (
        "llama",
        ("xpos", {"dimension": 16}),
        {},
        (
            "The encoding 'xpos' has dimension=16, and the model has 4 heads of dimension "
            "8; make it with dimension=8."
        ),
    ),
    "another number of heads": (
        "llama",
        ("alibi", {"heads": 8}),
        {},
        (
            "The encoding 'alibi' has heads=8, and the model has 4 heads of dimension 8; "
            "make it with heads=4."
        ),
    ),
    "other coordinates": (
        "llama",
        ("rope", {**ROPE, "fraction": 0.5}),
        {},
        (
            "The encoding 'rope' turns 4 coordinates from number 0 on, and the model 8 from "
            "number 0 on; make it with the fraction of the model, or see "
            "gnomon.hf.read(model)."
        ),
    ),
    "another layout": (
        "llama",
        ("rope", {"dimension": 8}),
        {},
        (
            "The encoding 'rope' has the layout 'interleaved', and the model's weights were "
            "trained for 'half'; make it with layout='half'."
        ),
    ),
    "several axes in a rotary model": (
        "llama",
        ("m-rope", {"dimension": 8, "layout": "half", "sections": (2, 1, 1)}),
        {},
        (
            "The encoding 'm-rope' has 3 axes and the model's positions 1, or other "
            "sections; see gnomon.hf.read(model)."
        ),
    ),
    "frequencies that grow": (
        "llama",
        ("rope-dynamic", DYNAMIC),
        {},
        (
            "The encoding 'rope-dynamic' changes its frequencies as a sequence grows, so "
            "keys in a cache would be wrong; fix its length: install "
            "encoding.at_length(4096), say."
        ),
    ),
    "frequencies that grow, in the attention": (
        "gpt2",
        ("rope-dynamic", DYNAMIC),
        {},
        (
            "The encoding 'rope-dynamic' changes its frequencies as a sequence grows, so "
            "keys in a cache would be wrong; fix its length: install "
            "encoding.at_length(4096), say."
        ),
    ),
    "taps over the edge of a window": (
        "gemma3_text",
        ("path", {"dimension": 16, "heads": 4, "kernel": 3}),
        {},
        (
            "The encoding 'path' reads the tokens before a key (kernel=3), and a window of this "
            "model forgets them in a cache; make it with kernel=1."
        ),
    ),
    "vectors in a rotary model": (
        "llama",
        ("sinusoidal", {"dimension": 32}),
        {},
        (
            "LlamaForCausalLM has no table of positions that the vectors of 'sinusoidal' "
            "could replace; install a transform, a bias or a rule on content."
        ),
    ),
    "vectors of another dimension": (
        "bert",
        ("sinusoidal", {"dimension": 16}),
        {},
        (
            "The encoding 'sinusoidal' has vectors of dimension 16, and the model adds "
            "vectors of dimension 32; make it with dimension=32."
        ),
    ),
    "vectors on several axes": (
        "bert",
        ("sinusoidal", {"dimension": 32, "axes": 2}),
        {},
        (
            "The encoding 'sinusoidal' has 2 axes, and the model counts its positions on "
            "one; make it with axes=1."
        ),
    ),
    "a table that is too short": (
        "bert",
        ("learned", {"rows": 20, "dimension": 32}),
        {},
        (
            "The encoding 'learned' has 20 rows, and the model's context has 64 positions; "
            "make it with at least 64 rows."
        ),
    ),
    "causality in an encoder": (
        "bert",
        ("alibi", {"heads": 4}),
        {},
        (
            "The encoding 'alibi' needs a causal mask, and this model sees every key; make "
            "it symmetric where it can be, or take a causal model."
        ),
    ),
    "causality in the encoder of a T5": (
        "t5",
        ("alibi", {"heads": 4}),
        {},
        (
            "The encoding 'alibi' needs a causal mask, and the encoder of this model sees "
            "every key; make it symmetric (bidirectional), or install it with "
            'part="decoder".'
        ),
    ),
    "another number of heads in a T5": (
        "t5",
        ("alibi", {"heads": 8, "symmetric": True}),
        {},
        "The encoding 'alibi' has biases for 8 heads, and the model has 4; make it with heads=4.",
    ),
    "a transform in a T5": (
        "t5",
        ("rope", ROPE),
        {},
        (
            "T5ForConditionalGeneration attends across two sequences, whose positions have "
            "no common lag; install an encoding of its own kind, or take a model with one "
            "stack."
        ),
    ),
    "attention that is computed elsewhere": (
        "falcon",
        ("alibi", {"heads": 4}),
        {},
        (
            "FalconForCausalLM computes its attention itself, so an encoding cannot join "
            "it; take a model whose attention can be chosen (attn_implementation)."
        ),
    ),
    "capped logits": (
        "gemma2",
        ("alibi", {"heads": 4}),
        {},
        (
            "Gemma2ForCausalLM caps its logits or has sinks beside its keys, which "
            "attention with an encoding does not repeat; take a model without them."
        ),
    ),
    "an encoding that is not relative": (
        "llama",
        ("randomised", {"inner": {"name": "alibi", "heads": 4}, "largest": 64, "length": 16}),
        {},
        (
            "The encoding 'randomised' is not relative on one axis, and a layer of "
            "attention knows lags alone (padding shifts positions); install a relative one."
        ),
    ),
    "a type of layers that is not there": (
        "llama",
        ("rope", ROPE),
        {"layer_type": "full_attention"},
        (
            "layer_type is 'full_attention', and the types of layers that turn in this "
            "model are: none of its own."
        ),
    ),
    "a type of layers for vectors": (
        "bert",
        ("sinusoidal", {"dimension": 32}),
        {"layer_type": "full_attention"},
        "layer_type is 'full_attention', and this encoding serves all layers alike; leave it out.",
    ),
    "a part that is none": (
        "bert",
        ("sinusoidal", {"dimension": 32}),
        {"part": "middle"},
        "part is 'middle'; pass one of: encoder, decoder.",
    ),
    "a part of a model with one": (
        "bert",
        ("sinusoidal", {"dimension": 32}),
        {"part": "encoder"},
        "part is 'encoder', and this encoding serves the whole model; leave it out.",
    ),
    "functions that learn in a table of its own kind": (
        "opt",
        ("ctlpe", {"dimension": 32}),
        {},
        (
            "and the table of this model (OPTLearnedPositionalEmbedding) can hold rows "
            "alone; install it with learn=False."
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence_and_nothing_changes(room, case):
    family, (name, parameters), options, sentence = REFUSED[case]
    model = room.build(family)
    before = room.photograph(model)
    with pytest.raises(EncodingError, match=re.escape(sentence) + "$"):
        hf.install(model, gnomon.encoding(name, **parameters), **options)
    room.assert_same(room.photograph(model), before)


@pytest.mark.parametrize(
    ("family", "first"),
    [
        ("llama", ("rope", ROPE)),
        ("bert", ("sinusoidal", {"dimension": 32})),
        ("t5", ("t5", {"heads": 4})),
        ("gpt2", ("alibi", {"heads": 4})),
    ],
)
def test_a_model_that_has_an_encoding_takes_no_second_one(room, family, first):
    model = hf.install(room.build(family), gnomon.encoding(first[0], **first[1]))
    before = room.photograph(model)
    again = (
        f"already has the encoding '{first[0]}' installed; call gnomon.hf.uninstall(model) first."
    )
    with pytest.raises(EncodingError, match=re.escape(again)):
        hf.install(model, gnomon.encoding(first[0], **first[1]))
    with pytest.raises(EncodingError, match=re.escape(again)):
        hf.install(model, gnomon.encoding("nope"))
    room.assert_same(room.photograph(model), before)


def test_uninstall_without_an_encoding_is_refused(room):
    with pytest.raises(EncodingError, match=r"has no encoding installed by gnomon\.hf; there is"):
        hf.uninstall(room.build("bert"))


def test_what_is_no_model_and_what_is_no_encoding_is_refused(room):
    with pytest.raises(EncodingError, match="The model is Linear; pass a PreTrainedModel"):
        hf.install(torch.nn.Linear(2, 2), gnomon.encoding("nope"))
    with pytest.raises(EncodingError, match="An encoding is installed, and this is str; pass what"):
        hf.install(room.build("bert"), "rope")


def test_a_model_without_storage_is_refused():
    with torch.device("meta"):
        model = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1))
    with pytest.raises(EncodingError, match=r"BertModel has no storage yet \(device meta\); load"):
        hf.install(model, gnomon.encoding("nope"))


def test_an_encoding_that_is_not_in_the_catalogue_is_refused(room):
    with pytest.raises(EncodingError, match="made by Homemade, which is not in the catalogue"):
        hf.install(room.build("llama"), Homemade(dimension=8, layout="half"))


def test_a_model_that_turns_by_a_module_of_its_own_takes_no_second_encoding():
    """ESM's rotary module has no parameters in a config, so it cannot be switched off."""
    model = transformers.EsmModel(
        transformers.EsmConfig(
            vocab_size=20,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            position_embedding_type="rotary",
            pad_token_id=0,
        )
    )
    if hf.places.rotary_modules(model):
        pytest.skip("this release keeps ESM's rotary parameters in its config")
    with pytest.raises(EncodingError, match="does with positions what cannot be switched off"):
        hf.install(model, gnomon.encoding("alibi", heads=2, symmetric=True))


@pytest.mark.parametrize(("name", "parameters"), [("rope", ROPE), ("alibi", {"heads": 4})])
def test_a_model_that_shares_its_config_with_one_that_has_an_encoding_is_refused(
    room, name, parameters
):
    model = room.build("llama")
    before = room.photograph(model)
    other = type(model)(model.config).eval()
    hf.install(model, gnomon.encoding(name, **parameters))
    for call in (hf.installed, hf.uninstall, lambda it: hf.install(it, gnomon.encoding("nope"))):
        with pytest.raises(EncodingError, match="does not have, so another model shares it; give"):
            call(other)
    hf.uninstall(model)
    room.assert_same(room.photograph(model), before)
    assert hf.installed(other) is None


def test_a_fitted_table_that_ends_is_refused_and_one_that_clamps_is_not(room):
    from dataclasses import replace

    turn = np.exp(2j * np.pi * np.arange(16) / 16)
    fitted = gnomon.fit(np.abs(turn[:, None] - turn), dimension=32, rank=2)
    model = room.build("bert")
    with pytest.raises(EncodingError, match="has 16 rows, and the model's context has 64"):
        hf.install(model, fitted)
    hf.install(model, replace(fitted, beyond="clamp"))
    rows = model.bert.embeddings.position_embeddings.weight
    assert torch.equal(rows[15], rows[63])
