"""The laboratory's Transformer against PyTorch's layers, transformers' rotation, and hand work."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon  # noqa: E402 - after the check that there is a framework
from gnomon.errors import InputError, LabError  # noqa: E402
from gnomon.lab.encode import Placement  # noqa: E402
from gnomon.lab.model import Transformer  # noqa: E402

TOKENS, CLASSES, LENGTH, HEADS, WIDTH = 11, 5, 10, 4, 32


def model_of(encoding, **given):
    torch.manual_seed(5)
    shape = {"vocabulary": TOKENS, "classes": CLASSES, "dimension": WIDTH, "heads": HEADS}
    return Transformer(encoding=encoding, **{**shape, **given}).double().eval()


def tokens_of(rows=4):
    return torch.randint(TOKENS, (rows, LENGTH), generator=torch.Generator().manual_seed(0))


def stock_of(model):
    """The same weights in torch.nn.TransformerEncoderLayer."""
    made = []
    for block in model.blocks:
        layer = torch.nn.TransformerEncoderLayer(
            WIDTH, HEADS, 2 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True
        ).double()
        pairs = {
            layer.self_attn.in_proj_weight: block.attention.project.weight,
            layer.self_attn.in_proj_bias: block.attention.project.bias,
            layer.self_attn.out_proj.weight: block.attention.out.weight,
            layer.self_attn.out_proj.bias: block.attention.out.bias,
            layer.linear1.weight: block.widen.weight,
            layer.linear1.bias: block.widen.bias,
            layer.linear2.weight: block.narrow.weight,
            layer.linear2.bias: block.narrow.bias,
        }
        with torch.no_grad():
            for theirs, ours in pairs.items():
                theirs.copy_(ours)
        made.append(layer.eval())
    return made


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_without_an_encoding_the_model_is_that_of_torch_nn_transformer_encoder_layer(
    causal, padded
):
    model, tokens = model_of(None, causal=causal, pooling="tokens"), tokens_of()
    mask = torch.arange(LENGTH) < torch.tensor([[10], [7], [3], [9]]) if padded else None
    x = model.embed(tokens)
    triangle = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1) if causal else None
    for layer in stock_of(model):
        x = layer(x, src_mask=triangle, src_key_padding_mask=None if mask is None else ~mask)
    theirs = model.read(model.norm(x))
    ours = model(tokens, mask=mask)
    there = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
    torch.testing.assert_close(ours[there], theirs[there], rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_layer_under_rope_is_attention_of_what_transformers_rotates():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    model = model_of(
        gnomon.encoding("rope", dimension=8, layout="half"), layers=1, pooling="tokens"
    )
    block, x = model.blocks[0], model.embed(tokens_of())
    q, k, v = (
        part.unflatten(-1, (HEADS, 8)).transpose(1, 2)
        for part in block.attention.project(block.before(x)).chunk(3, dim=-1)
    )
    angles = torch.arange(LENGTH)[:, None] * 10000.0 ** (-torch.arange(4.0).double() / 4)
    turns = torch.cat([angles, angles], dim=-1)[None]
    q, k = llama.apply_rotary_pos_emb(q, k, turns.cos(), turns.sin())
    weights = torch.softmax(q @ k.mT / 8**0.5, dim=-1)
    by_hand = block.attention.out((weights @ v).transpose(1, 2).flatten(2))
    ours = block.attention(block.before(x))
    torch.testing.assert_close(ours, by_hand, rtol=0, atol=1e-12)


@torch.no_grad()
def test_scaling_a_head_by_zero_is_the_output_projection_without_its_columns():
    model, tokens = model_of(gnomon.encoding("rope", dimension=8)), tokens_of()
    factors = np.ones((2, HEADS))
    factors[1, 2] = 0.0
    with model.heads().scale(factors):
        scaled = model(tokens)
    cut = model_of(gnomon.encoding("rope", dimension=8))
    cut.blocks[1].attention.out.weight[:, 16:24] = 0.0
    torch.testing.assert_close(scaled, cut(tokens), rtol=0, atol=1e-12)


@torch.no_grad()
def test_heads_come_back_after_they_were_scaled_even_where_something_failed():
    model, tokens = model_of(gnomon.encoding("rope", dimension=8)), tokens_of()
    before, weights = model(tokens), {k: v.clone() for k, v in model.state_dict().items()}
    with model.heads().scale(np.zeros((2, HEADS))):
        assert not torch.equal(model(tokens), before)
    with pytest.raises(IndexError), model.heads().scale(np.zeros((2, HEADS))):
        model(tokens + TOKENS)  # no such tokens
    assert torch.equal(model(tokens), before)
    assert all(torch.equal(v, weights[k]) for k, v in model.state_dict().items())


@torch.no_grad()
def test_a_head_that_is_filled_with_its_mean_gives_what_a_constant_of_that_value_gives():
    model = model_of(gnomon.encoding("alibi", heads=HEADS, symmetric=True), layers=1)
    tokens = tokens_of()
    mask = torch.arange(LENGTH) < torch.tensor([[10], [7], [3], [9]])
    seen = []
    hook = model.blocks[0].attention.out.register_forward_pre_hook(lambda _, x: seen.append(x[0]))
    model(tokens, mask=mask)
    hook.remove()
    by_hand = seen[0][mask].mean(0).reshape(HEADS, 8)
    means = model.heads().measure_means(lambda: model(tokens, mask=mask), mask)
    torch.testing.assert_close(means[0].double(), by_hand, rtol=0, atol=1e-6)
    with model.heads().fill_with(means).scale(np.zeros((1, HEADS))):
        filled = model(tokens, mask=mask)
    constant = model_of(None, layers=1)
    constant.load_state_dict(model.state_dict(), strict=False)
    constant.blocks[0].attention.out.bias += (
        constant.blocks[0].attention.out.weight @ by_hand.ravel()
    )
    constant.blocks[0].attention.out.weight[:] = 0.0
    torch.testing.assert_close(filled, constant(tokens, mask=mask), rtol=0, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_scaling_a_pair_by_zero_is_a_query_without_that_pair(layout):
    encoding = gnomon.encoding("rope", dimension=8, layout=layout)
    model, tokens = model_of(encoding, layers=1), tokens_of()
    factors = np.ones((1, HEADS, 4))
    factors[0, 1, 2] = 0.0
    with model.scale_pairs(factors):
        scaled = model(tokens)
    cut = model_of(encoding, layers=1)
    rows = [8 + 4, 8 + 5] if layout == "interleaved" else [8 + 2, 8 + 6]
    cut.blocks[0].attention.project.weight[rows] = 0.0
    cut.blocks[0].attention.project.bias[rows] = 0.0
    torch.testing.assert_close(scaled, cut(tokens), rtol=0, atol=1e-12)


@torch.no_grad()
def test_an_encoding_on_one_head_is_not_seen_where_that_head_is_not():
    rope = gnomon.encoding("rope", dimension=8)
    one, none, tokens = model_of(Placement(encoding=rope, heads=1)), model_of(None), tokens_of()
    factors = np.ones((2, HEADS))
    factors[:, 0] = 0.0
    assert (one(tokens) - none(tokens)).abs().max() > 1e-4
    with one.heads().scale(factors), none.heads().scale(factors):
        torch.testing.assert_close(one(tokens), none(tokens), rtol=0, atol=1e-12)
    every = model_of(Placement(encoding=rope, heads=HEADS))
    torch.testing.assert_close(every(tokens), model_of(rope)(tokens), rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_bias_on_some_heads_leaves_the_others_without_one():
    bias = gnomon.encoding("alibi", heads=2, symmetric=True)
    some, none, tokens = model_of(Placement(encoding=bias, heads=2)), model_of(None), tokens_of()
    factors = np.ones((2, HEADS))
    factors[:, :2] = 0.0
    with some.heads().scale(factors), none.heads().scale(factors):
        torch.testing.assert_close(some(tokens), none(tokens), rtol=0, atol=1e-12)


@torch.no_grad()
def test_an_encoding_in_the_last_layer_is_not_in_the_first():
    rope = gnomon.encoding("rope", dimension=8)
    late, none, tokens = (
        model_of(Placement(encoding=rope, layers=(1,))),
        model_of(None),
        tokens_of(),
    )
    x = none.embed(tokens)
    assert torch.equal(late.blocks[0](x), none.blocks[0](x))
    assert not torch.equal(late.blocks[1](x), none.blocks[1](x))


@torch.no_grad()
def test_biases_that_act_together_are_the_bias_of_summed_slopes():
    slopes = np.array([[0.5, 0.25, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4]])
    alibi = [gnomon.encoding("alibi", slopes=tuple(row), symmetric=True) for row in slopes]
    summed = gnomon.encoding("alibi", slopes=tuple(slopes.sum(axis=0)), symmetric=True)
    tokens = tokens_of()
    torch.testing.assert_close(model_of(alibi)(tokens), model_of(summed)(tokens), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("encoding", "given", "words"),
    [
        ("rope", {}, "is of type str; pass what gnomon.encoding"),
        (("rope", {"dimension": 8}, {"layers": (5,)}), {}, "for layer 5, and the model has 2"),
        (("rope", {"dimension": 8}, {"heads": 9}), {}, "is for 9 heads, and the model has 4"),
        (("sinusoidal", {"dimension": 32}, {"heads": 1}), {}, "which all heads share"),
        (("sinusoidal", {"dimension": 32}, {"layers": (0,)}), {}, "added before the first layer"),
        (("xpos", {"dimension": 8}, {}), {}, "or say both_directions = true"),
        (("alibi", {"heads": 4}, {}), {}, "or say symmetric = true"),
        (("fox", {"heads": 4, "dimension": 8}, {}), {}, "or choose another"),
        (None, {"dimension": 30}, "The dimension 30 is no multiple of 4 heads"),
        (None, {"layers": 0}, "The model has 0 layers"),
        (None, {"pooling": "last"}, "The pooling is 'last'; pass one of: mean, tokens"),
    ],
)
def test_a_model_that_can_not_be_is_refused_in_words(encoding, given, words):
    if isinstance(encoding, tuple):
        name, parameters, place = encoding
        encoding = Placement(encoding=gnomon.encoding(name, **parameters), **place)
    with pytest.raises(LabError, match=words):
        model_of(encoding, **given)


def test_two_encodings_in_a_layer_with_a_rule_on_content_are_refused():
    both = [gnomon.encoding("shaw", dimension=8), gnomon.encoding("rope", dimension=8)]
    with pytest.raises(LabError, match="leaves no room for others; give it layers of its own"):
        model_of(both)


def test_factors_of_another_model_are_refused():
    model = model_of(None)
    with (
        pytest.raises(InputError, match="one for each of 2 layers and 4 heads"),
        model.heads().scale(np.ones((2, 8))),
    ):
        pass
