"""What attention refuses: one sentence each, and nothing is computed."""

from __future__ import annotations

import pytest
import torch

import gnomon
from gnomon.errors import EncodingError
from gnomon.torch import attention, attention_plan

ALIBI = gnomon.encoding("alibi", heads=2)
ROPE = gnomon.encoding("rope", dimension=4)
DYNAMIC = gnomon.encoding("rope-dynamic", dimension=4, factor=2.0, original_length=8)


def x(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


def refused(sentence, q, k, v, encoding, **asked):
    for call in (attention, attention_plan):
        with pytest.raises(EncodingError, match=sentence):
            call(q, k, v, encoding, **asked)


Q = x(1, 2, 5, 4)


@pytest.mark.parametrize(
    ("sentence", "vectors", "encoding", "asked"),
    [
        ("q comes from builtins; pass a tensor of PyTorch", ([1.0], Q, Q), ALIBI, {}),
        (r"k holds torch.int64; pass real numbers", (Q, Q.long(), Q), ALIBI, {}),
        (r"v has shape \(5, 4\); pass a tensor of shape", (Q, Q, x(5, 4)), ALIBI, {}),
        ("pass one type for all three", (Q, Q.double(), Q), ALIBI, {}),
        ("pass as many values as keys", (Q, Q, x(1, 2, 6, 4)), ALIBI, {}),
        ("the same dimension of a head", (Q, x(1, 2, 5, 6), x(1, 2, 5, 4)), ALIBI, {}),
        ("q has 2 heads and k 3; pass query heads", (Q, x(1, 3, 5, 4), x(1, 3, 5, 4)), ALIBI, {}),
        ("The encoding is of type str; pass what gnomon.encoding", (Q, Q, Q), "alibi", {}),
        ("causal is False, and the encoding 'alibi'", (Q, Q, Q), ALIBI, {"causal": False}),
        ("causal is 1; pass True, False or None", (Q, Q, Q), ALIBI, {"causal": 1}),
        ("scale is 'x'; pass a finite number", (Q, Q, Q), ALIBI, {"scale": "x"}),
        ("scale is nan; pass a finite number", (Q, Q, Q), ALIBI, {"scale": float("nan")}),
        ("dropout is 1.0; pass a share", (Q, Q, Q), ALIBI, {"dropout": 1.0}),
        ("route is 'fast'; pass one of: auto, plain", (Q, Q, Q), ALIBI, {"route": "fast"}),
        ("because a bias is to be added", (Q, Q, Q), ALIBI, {"route": "plain"}),
        ("because nothing decays; leave route out", (Q, Q, Q), ROPE, {"route": "blocks"}),
        ("because there is no bias", (Q, Q, Q), ROPE, {"route": "toeplitz"}),
        ("mask holds torch.int64; pass booleans", (Q, Q, Q), ALIBI, {"mask": x(5, 5).long()}),
        (r"mask has shape \(4, 5\) and the logits", (Q, Q, Q), ALIBI, {"mask": x(4, 5)}),
        (r"positions of q have shape \(4,\)", (Q, Q, Q), ALIBI, {"positions_q": [0, 1, 2, 3]}),
        ("and positions for only one side", (Q, Q, Q), ALIBI, {"positions_k": [0, 1, 2, 3, 4]}),
        (r"segments_q has shape \(4,\)", (Q, Q, Q), ALIBI, {"segments_q": [0, 0, 1, 1]}),
        ("and segments for only one side", (Q, Q, Q), ALIBI, {"segments_k": [0, 0, 1, 1, 1]}),
        ("reads no tokens; leave it out", (Q, Q, Q), ALIBI, {"tokens": x(5, 3)}),
        (
            "changes its frequencies as the sequence grows; .*fix the length beforehand",
            (x(1, 2, 1, 4), Q, Q),
            DYNAMIC,
            {},
        ),
        ("so queries are not the last of the keys", (x(1, 2, 6, 4), Q, Q), ALIBI, {}),
        (
            "has 2 axes, so positions cannot be counted",
            (Q, Q, Q),
            gnomon.encoding("rope", dimension=4, axes=2),
            {},
        ),
    ],
)
def test_what_can_not_be_is_refused_in_a_sentence(sentence, vectors, encoding, asked):
    refused(sentence, *vectors, encoding, **asked)


def test_a_bias_of_other_heads_is_refused():
    q = x(1, 3, 5, 4)
    for route in ("bias", "toeplitz", "tiles", "augmented"):
        with pytest.raises(EncodingError, match="has biases for 2; pass q of shape"):
            attention(q, q, q, ALIBI, route=route)


def test_a_plan_takes_no_other_arguments():
    with pytest.raises(EncodingError, match="attention_plan has no argument 'maks'"):
        attention_plan(Q, Q, Q, ALIBI, maks=None)


def test_vectors_of_another_dimension_are_refused():
    encoding = gnomon.encoding("sinusoidal", dimension=6)
    with pytest.raises(EncodingError, match="adds vectors of dimension 6"):
        attention(Q, Q, Q, encoding)


def test_a_length_that_is_fixed_keeps_its_cache():
    q = torch.randn(1, 2, 5, 4, generator=torch.Generator().manual_seed(0))
    fixed = DYNAMIC.at_length(20)
    whole = attention(q, q, q, fixed, causal=True)
    last = attention(q[:, :, 4:], q, q, fixed, causal=True)
    assert torch.allclose(last, whole[:, :, 4:], atol=1e-6)


def test_coordinates_are_refused_where_nothing_of_them_would_be_left():
    """With a scale of 0 logits are the bias alone, which no product of coordinates gives."""
    with pytest.raises(EncodingError, match=r"'augmented' cannot serve .* scale is 0; leave route"):
        attention(Q, Q, Q, ALIBI, scale=0.0, route="augmented")
    assert torch.isfinite(attention(Q, Q, Q, ALIBI, scale=0.0)).all()
