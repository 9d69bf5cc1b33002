"""Logits with vectors of lags against layers of transformers, from the weights they hold."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HEADS, DIMENSION = 3, 8
HIDDEN = HEADS * DIMENSION
SCALE = DIMENSION**-0.5
ROUNDINGS = 2e-6
"""Of the largest logit: both sides have float32 inputs, theirs adds up in float32."""


@pytest.fixture
def softmax_inputs(monkeypatch):
    """The logits that reach any softmax from here on."""
    logits, plain = [], torch.nn.functional.softmax

    def kept(x, *args, **kwargs):
        logits.append(x.detach().numpy())
        return plain(x, *args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "softmax", kept)
    return logits


def with_large_weights(module):
    """Weights large enough for every term to matter."""
    with torch.no_grad():
        for weight in module.parameters():
            weight.normal_(0.0, 0.4)
    return module.eval()


def numbers(x):
    return x.detach().double().numpy()


def by_head(linear, hidden):
    """A linear map of (batch, n, hidden) as (batch, heads, n, dimension)."""
    return numbers(linear(hidden).unflatten(-1, (HEADS, DIMENSION)).transpose(1, 2))


def compare(ours, theirs):
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDINGS * np.abs(theirs).max())


@pytest.mark.parametrize("remembered", [0, 5])
def test_transformer_xl_scores_are_those_of_xlnet(remembered, softmax_inputs):
    """Keys before and after their query, and keys of a memory before all queries."""
    torch.manual_seed(0)
    config = transformers.XLNetConfig(
        vocab_size=40, d_model=HIDDEN, n_layer=2, n_head=HEADS, d_inner=16, mem_len=16
    )
    model = with_large_weights(transformers.XLNetModel(config))
    tokens, inputs = torch.arange(14).reshape(2, 7), []
    memory = [torch.randn(remembered, 2, HIDDEN) for _ in range(2)] if remembered else None
    for layer in model.layer:
        layer.rel_attn.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    with torch.no_grad():
        model(tokens, mems=memory, use_mems=True)
    at = np.arange(remembered + 7)
    for number, (layer, hidden) in enumerate(zip(model.layer, inputs, strict=True)):
        part = layer.rel_attn
        known = torch.cat([memory[number], hidden]) if remembered else hidden
        q = numbers(torch.einsum("ibh,hnd->bnid", hidden, part.q))
        k = numbers(torch.einsum("ibh,hnd->bnid", known, part.k))
        made = encoding(
            "transformer-xl",
            dimension=DIMENSION,
            heads=HEADS,
            content_bias=numbers(part.r_w_bias),
            position_bias=numbers(part.r_r_bias),
            projection=numbers(part.r.permute(1, 2, 0)),
        )
        compare(made.scores(q, k, at[remembered:], at, scale=SCALE), softmax_inputs[number])


def test_transformer_xl_scores_are_those_of_wav2vec2_conformer(softmax_inputs):
    """Its sinusoid has sines and cosines in turn; ours has all sines first."""
    from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as peer

    torch.manual_seed(0)
    config = transformers.Wav2Vec2ConformerConfig(
        hidden_size=HIDDEN,
        num_attention_heads=HEADS,
        position_embeddings_type="relative",
        max_source_positions=32,
        attn_implementation="eager",
    )
    layer = with_large_weights(peer.Wav2Vec2ConformerSelfAttention(config))
    hidden = torch.randn(2, 9, HIDDEN)
    sinusoid = peer.Wav2Vec2ConformerRelPositionalEmbedding(config)(hidden)
    with torch.no_grad():
        layer(hidden, relative_position_embeddings=sinusoid)
    projection = numbers(layer.linear_pos.weight).reshape(HEADS, DIMENSION, HIDDEN)
    made = encoding(
        "transformer-xl",
        dimension=DIMENSION,
        heads=HEADS,
        content_bias=numbers(layer.pos_bias_u),
        position_bias=numbers(layer.pos_bias_v),
        projection=np.concatenate([projection[..., 0::2], projection[..., 1::2]], axis=-1),
    )
    q, k = by_head(layer.linear_q, hidden), by_head(layer.linear_k, hidden)
    compare(made.scores(q, k, np.arange(9), scale=SCALE), softmax_inputs[0])


def test_shaw_scores_are_those_of_wav2vec2_bert(softmax_inputs):
    """Fewer rows for keys after their query than before it."""
    from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as peer

    torch.manual_seed(0)
    config = transformers.Wav2Vec2BertConfig(
        hidden_size=HIDDEN,
        num_attention_heads=HEADS,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=6,
        right_max_position_embeddings=3,
        attn_implementation="eager",
    )
    layer = with_large_weights(peer.Wav2Vec2BertSelfAttention(config))
    hidden = torch.randn(2, 12, HIDDEN)
    with torch.no_grad():
        layer(hidden)
    made = encoding(
        "shaw",
        dimension=DIMENSION,
        largest_lag=6,
        largest_lag_after=3,
        table=numbers(layer.distance_embedding.weight),
    )
    q, k = by_head(layer.linear_q, hidden), by_head(layer.linear_k, hidden)
    compare(made.scores(q, k, np.arange(12), scale=SCALE), softmax_inputs[0])
