"""The factor of q.k is the encoding's own where it has one, and other libraries' names get a hint.

The truth of the scale is the attention of DeepSeek-V3 in transformers.
"""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError
from gnomon.torch import attention, attention_plan, layer

torch = pytest.importorskip("torch")

SCALING = {
    "name": "yarn",
    "factor": 40.0,
    "original_length": 64,
    "mscale": 1.0,
    "mscale_all_dim": 0.7,
}
MLA = {"dimension": 24, "content_dimension": 16, "scaling": SCALING}


def draws(*shape):
    g = np.random.default_rng(7)
    return [g.normal(size=shape) for _ in range(3)]


def expected(q, k, v, encoding, scale):
    """Return causal attention in NumPy's float64."""
    q, k = encoding.transform(q, k, np.arange(q.shape[-2]))
    logits = scale * q @ np.swapaxes(k, -1, -2)
    logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def wrapped():
    mla = gnomon.encoding("mla", **MLA)
    yield mla, mla
    yield gnomon.encoding("rope-nope-layers", inner=mla, every=4, layer=0), mla


def test_the_scale_is_that_of_deepseek_v3_in_transformers():
    peer = pytest.importorskip("transformers.models.deepseek_v3.modeling_deepseek_v3")
    config = {
        "model_type": "deepseek_v3",
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "num_attention_heads": 4,
        "hidden_size": 64,
        "q_lora_rank": 24,
        "kv_lora_rank": 12,
        "v_head_dim": 128,
        "max_position_embeddings": 163840,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "type": "yarn",
            "factor": 40,
            "original_max_position_embeddings": 4096,
            "beta_fast": 32,
            "beta_slow": 1,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    }
    from transformers import DeepseekV3Config

    made = peer.DeepseekV3Attention(DeepseekV3Config(**dict(config)), layer_idx=0)
    encoding = gnomon.from_config(config)
    assert encoding.softmax_scale == pytest.approx(made.scaling, rel=1e-6)
    q, k, v = (torch.from_numpy(x) for x in draws(1, 2, 5, 192))
    ours = attention(q, k, v, encoding, causal=True)
    assert torch.equal(ours, attention(q, k, v, encoding, causal=True, scale=made.scaling))
    plain = attention(q, k, v, encoding, causal=True, scale=192**-0.5)
    assert (ours - plain).abs().max() > 0.01


@pytest.mark.parametrize("route", ["plain", "tiles", "dense", "flex"])
@pytest.mark.parametrize("at", [0, 1])
def test_every_route_and_wrapper_takes_the_scale_of_the_encoding(at, route):
    encoding, mla = list(wrapped())[at]
    arrays = draws(1, 2, 9, 24)
    want = expected(*arrays, mla, mla.softmax_scale)
    tensors = [torch.from_numpy(x) for x in arrays]
    if route == "flex":
        tensors = [x.float() for x in tensors]
    for held in (encoding, layer(encoding)):
        made = attention(*tensors, held, causal=True, route=route)
        assert np.allclose(made.numpy(), want, atol=1e-5 if route == "flex" else 1e-10)
    given = attention(*tensors, encoding, causal=True, scale=0.5, route=route)
    assert np.allclose(given.numpy(), expected(*arrays, mla, 0.5), atol=1e-5)


@pytest.mark.parametrize("route", ["plain", "blocks", "dense"])
def test_jax_takes_the_scale_of_the_encoding(route):
    pytest.importorskip("jax")
    from gnomon.jax import attention as attend

    mla = gnomon.encoding("mla", **MLA)
    arrays = [x.astype(np.float32) for x in draws(1, 2, 9, 24)]
    want = expected(*arrays, mla, mla.softmax_scale)
    assert np.allclose(attend(*arrays, mla, causal=True, route=route), want, atol=1e-4)
    want = expected(*arrays, mla, 0.5)
    assert np.allclose(attend(*arrays, mla, causal=True, scale=0.5, route=route), want, atol=1e-4)


def test_the_laboratory_takes_the_scale_of_the_encoding():
    from gnomon.lab.encode import LayerEncodings, place_encodings

    mla = gnomon.encoding("mla", **MLA)
    arrays = draws(1, 2, 9, 24)
    made = LayerEncodings(
        place_encodings(mla, layers=1, heads=2, causal=True), heads=2, causal=True
    )
    out = made(*(torch.from_numpy(x) for x in arrays)).detach()
    assert np.allclose(out.numpy(), expected(*arrays, mla, mla.softmax_scale), atol=1e-6)


def test_no_other_encoding_of_the_catalogue_has_a_scale_of_its_own():
    from gnomon.encodings.registry import ENTRIES

    examples = {
        name: gnomon.encoding(name, **entry.examples[0])
        for name, entry in ENTRIES.items()
        if entry.examples
    }
    own = {name for name, made in examples.items() if made.softmax_scale is not None}
    assert own == {"mla"}


@pytest.mark.parametrize(
    ("name", "given", "hint"),
    [
        ("rope", {"dimension": 8, "theta": 1e4}, "'base'"),
        ("rope", {"dimension": 8, "rope_theta": 1e4}, "'base'"),
        ("rope", {"head_dim": 8}, "'dimension'"),
        ("rope", {"dim": 8}, "'dimension'"),
        ("rope", {"dimension": 8, "max_position_embeddings": 9}, "leave it out"),
        ("rope", {"dimension": 8, "max_seq_len": 9}, "leave it out"),
        ("learned", {"dimension": 8, "max_seq_len": 9}, "'"),
        ("alibi", {"n_heads": 4}, "'heads'"),
        ("alibi", {"num_heads": 4}, "'heads'"),
        ("t5", {"heads": 4, "num_buckets": 4}, "'buckets'"),
    ],
)
def test_names_of_other_libraries_are_translated(name, given, hint):
    with pytest.raises(EncodingError, match=hint):
        gnomon.encoding(name, **given)


CALLS = {
    "is_causal": "'causal'",
    "attn_mask": "'mask'",
    "attention_mask": "'mask'",
    "dropout_p": "'dropout'",
    "sm_scale": "'scale'",
    "softmax_scale": "'scale'",
    "position_ids": "'positions_q'",
    "caussal": "'causal'",
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("call", [attention, attention_plan])
def test_arguments_of_other_attentions_are_translated(call, name):
    x = torch.ones(1, 2, 3, 8)
    with pytest.raises(EncodingError, match=CALLS[name]):
        call(x, x, x, gnomon.encoding("nope"), **{name: 1})


@pytest.mark.parametrize("name", ["is_causal", "attn_mask", "sm_scale"])
def test_arguments_of_other_attentions_are_translated_in_jax(name):
    pytest.importorskip("jax")
    from gnomon.jax import attention as attend
    from gnomon.jax import attention_plan as plan

    x = np.ones((1, 2, 3, 8), np.float32)
    for call in (attend, plan):
        with pytest.raises(EncodingError, match=CALLS[name]):
            call(x, x, x, gnomon.encoding("nope"), **{name: 1})
