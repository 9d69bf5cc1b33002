"""Disentangled attention against whole layers of transformers, from the weights they hold.

The rows of both products are those of the authors' code, too: microsoft/DeBERTa at 009cc44, read.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.relative import projected

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HEADS, DIMENSION = 3, 8
HIDDEN = HEADS * DIMENSION
SMALL = {
    "vocab_size": 40,
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
    "relative_attention": True,
    "pos_att_type": "c2p|p2c",
    "type_vocab_size": 0,
}
ROUNDINGS = 2e-6
"""Of the largest logit: both sides have float32 inputs, theirs adds up in float32."""


def seen_by_softmax(monkeypatch, model, tokens):
    """The logits and the inputs of every attention of a model, in order."""
    logits, inputs, plain = [], [], torch.nn.functional.softmax

    def kept(x, *args, **kwargs):
        logits.append(x.detach().numpy())
        return plain(x, *args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "softmax", kept)
    for layer in model.encoder.layer:
        layer.attention.self.register_forward_pre_hook(
            lambda module, given: inputs.append((module, given[0].detach()))
        )
    with torch.no_grad():
        model(tokens)
    assert len(logits) == len(inputs) == len(model.encoder.layer)
    return list(zip(logits, inputs, strict=True))


def made(kind, **parameters):
    """A small model with weights large enough for every term to matter."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**SMALL, **parameters)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0.0, 0.4)
    return model


def by_head(x):
    """Projections (batch, n, hidden) as (batch, heads, n, dimension), in float64."""
    return x.detach().unflatten(-1, (HEADS, DIMENSION)).transpose(1, 2).double().numpy()


def lags(model, linear):
    """The table of lags as a linear map of one layer projects it."""
    table = model.encoder.get_rel_embedding().detach().numpy()
    bias = None if linear.bias is None else linear.bias.detach().numpy()
    return projected(table, linear.weight.detach().numpy(), bias, heads=HEADS)


def compare(ours, theirs):
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDINGS * np.abs(theirs).max())


@pytest.mark.parametrize("largest_lag", [5, 32])
def test_scores_are_those_of_a_layer_of_deberta(largest_lag, monkeypatch):
    """Lags past the last row, and a table longer than the sequence."""
    model = made("Deberta", max_relative_positions=largest_lag)
    at = np.arange(12)
    for theirs, (layer, hidden) in seen_by_softmax(
        monkeypatch, model, torch.arange(24).reshape(2, 12)
    ):
        # Of each head, queries, keys and values stand together in one map.
        q, k, _ = layer.transpose_for_scores(layer.in_proj(hidden)).chunk(3, dim=-1)
        q = q + layer.transpose_for_scores(layer.q_bias[None, None, :])
        ours = encoding(
            "deberta",
            dimension=DIMENSION,
            heads=HEADS,
            largest_lag=largest_lag,
            key_table=lags(model, layer.pos_proj),
            query_table=lags(model, layer.pos_q_proj),
        ).scores(*(x.detach().double().numpy() for x in (q, k)), at, scale=DIMENSION**-0.5)
        compare(ours, theirs)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("buckets", "largest_lag"), [(8, 16), (-1, 5)])
def test_scores_are_those_of_a_layer_of_deberta_v2(buckets, largest_lag, shared, monkeypatch):
    """With and without buckets, and with the layer's own maps of content used for lags, too."""
    model = made(
        "DebertaV2",
        max_relative_positions=largest_lag,
        position_buckets=buckets,
        share_att_key=shared,
        norm_rel_ebd="layer_norm" if shared else "none",
    )
    at = np.arange(20)
    for theirs, (layer, hidden) in seen_by_softmax(
        monkeypatch, model, torch.arange(40).reshape(2, 20)
    ):
        maps = (layer.key_proj, layer.query_proj)
        maps = maps if shared else (layer.pos_key_proj, layer.pos_query_proj)
        key_table, query_table = (lags(model, linear) for linear in maps)
        ours = encoding(
            "deberta",
            dimension=DIMENSION,
            heads=HEADS,
            largest_lag=largest_lag,
            buckets=buckets if buckets > 0 else None,
            key_table=key_table,
            query_table=query_table,
        ).scores(
            by_head(layer.query_proj(hidden)),
            by_head(layer.key_proj(hidden)),
            at,
            scale=DIMENSION**-0.5,
        )
        compare(ours, theirs)


def rows(lag, *, buckets, largest_lag):
    """Our rows of lags, read off as the logits of a table whose row is its own number."""
    numbers = np.arange(2.0 * buckets)[None, :, None]
    made = encoding(
        "deberta",
        dimension=1,
        heads=1,
        largest_lag=largest_lag,
        buckets=buckets,
        key_table=numbers,
        query_table=0.0 * numbers,
    )
    q, k = np.ones((1, 1, 1)), np.zeros((1, len(lag), 1))
    found = made.scores(q, k, np.zeros(1), -lag, scale=3.0**0.5)[0, 0]
    return np.rint(found).astype(int)


@pytest.mark.parametrize(
    ("buckets", "largest_lag"), [(256, 512), (256, 1024), (32, 128), (16, 40), (8, 16), (4, 9)]
)
def test_rows_equal_those_of_deberta_v2_for_every_lag(buckets, largest_lag):
    """(256, 512) are the published models'."""
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    lag = np.arange(-4 * largest_lag, 4 * largest_lag + 1)
    theirs = make_log_bucket_position(torch.asarray(lag), buckets, largest_lag)
    theirs = torch.clamp(theirs.long() + buckets, 0, 2 * buckets - 1).numpy()
    np.testing.assert_array_equal(rows(lag, buckets=buckets, largest_lag=largest_lag), theirs)
