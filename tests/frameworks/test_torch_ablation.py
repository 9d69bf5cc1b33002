"""Heads and rotary pairs taken out of models that are not ours, against weights zeroed by hand."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from gnomon.errors import InputError

torch = pytest.importorskip("torch")

import gnomon.torch as ours  # noqa: E402 - after the check that there is a framework

HEADS, WIDTH, LAYERS = 4, 4, 2
SIZE = HEADS * WIDTH


@pytest.fixture(autouse=True)
def exact():
    """Everything in float64, so that equal means equal."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(before)


def tokens():
    return torch.randint(30, (5, 7), generator=torch.Generator().manual_seed(1))


def scores_of(model):
    """One number for each row, from everything that a model of transformers says."""
    with torch.no_grad():
        made = model(tokens()).last_hidden_state
        return (made * torch.linspace(-1.0, 2.0, made.shape[-1])).mean(dim=(1, 2))


def bert():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=30,
        hidden_size=SIZE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    return transformers.BertModel(config).double().eval()


def gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=30, n_embd=SIZE, n_layer=LAYERS, n_head=HEADS, n_positions=16
    )
    return transformers.GPT2Model(config).double().eval()


def llama():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=30,
        hidden_size=SIZE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        intermediate_size=16,
    )
    return transformers.LlamaModel(config).double().eval()


def cut_bert(model, layer, head):
    model.encoder.layer[layer].attention.output.dense.weight[:, columns(head)] = 0.0


def cut_gpt2(model, layer, head):
    model.h[layer].attn.c_proj.weight[columns(head)] = 0.0  # inputs are rows there


def cut_llama(model, layer, head):
    model.layers[layer].self_attn.o_proj.weight[:, columns(head)] = 0.0


def columns(head):
    return slice(head * WIDTH, (head + 1) * WIDTH)


MODELS = {
    "bert": (bert, "encoder.layer.*.attention.output.dense", cut_bert),
    "gpt2": (gpt2, "h.*.attn.c_proj", cut_gpt2),
    "llama": (llama, "layers.*.self_attn.o_proj", cut_llama),
}


def drops_by_hand(model, cut, score):
    """What is lost where weights of one head are zero, row by row: (layers, heads, rows)."""
    lost = np.zeros((LAYERS, HEADS, len(tokens())))
    whole = score(model)
    for layer, head in np.ndindex(LAYERS, HEADS):
        copy = deepcopy(model)
        with torch.no_grad():
            cut(copy, layer, head)
        lost[layer, head] = whole - score(copy)
    return lost


@pytest.mark.parametrize("name", MODELS)
def test_without_a_head_a_model_is_one_whose_projection_has_no_weights_for_it(name):
    build, names, cut = MODELS[name]
    model = build()
    found = ours.ablate(ours.find_heads(model, names, heads=HEADS), lambda: scores_of(model))
    lost = drops_by_hand(model, cut, scores_of)
    assert np.abs(lost).max() > 1e-5
    np.testing.assert_allclose(found.drops, lost.mean(axis=2), rtol=0, atol=1e-12)
    errors = lost.std(axis=2, ddof=1) / np.sqrt(lost.shape[2])
    np.testing.assert_allclose(found.errors, errors, rtol=0, atol=1e-12)
    assert found.score == pytest.approx(float(scores_of(model).mean()))
    assert found.rows == len(tokens())


@pytest.mark.parametrize("name", MODELS)
def test_no_weight_is_written_and_the_model_answers_as_before(name):
    build, names, _ = MODELS[name]
    model = build()
    before, weights = scores_of(model), {k: v.clone() for k, v in model.state_dict().items()}
    heads = ours.find_heads(model, names, heads=HEADS)
    with heads.without((0, 1), (1, 2)):
        assert not torch.equal(scores_of(model), before)
    with pytest.raises(IndexError), heads.without((0, 1)):
        model(tokens() + 30)  # no such tokens
    assert torch.equal(scores_of(model), before)
    assert all(torch.equal(v, weights[k]) for k, v in model.state_dict().items())


class Stack(torch.nn.Module):
    """PyTorch's own attention, twice, added to what comes in."""

    def __init__(self, batch_first, bias):
        super().__init__()
        given = {"batch_first": batch_first, "bias": bias}
        self.layers = torch.nn.ModuleList(
            [torch.nn.MultiheadAttention(SIZE, HEADS, **given) for _ in range(LAYERS)]
        )
        if bias:
            for one in self.layers:
                torch.nn.init.normal_(one.out_proj.bias)

    def forward(self, x):
        for one in self.layers:
            x = x + one(x, x, x)[0]
        return x


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_heads_of_pytorchs_own_attention_are_taken_out(batch_first, bias):
    model = Stack(batch_first, bias).eval()
    x = torch.randn((5, 7, SIZE) if batch_first else (7, 5, SIZE))

    def score(one=model):
        with torch.no_grad():
            return one(x).square().mean(dim=(1, 2) if batch_first else (0, 2))

    def cut(one, layer, head):
        one.layers[layer].out_proj.weight[:, columns(head)] = 0.0

    heads = ours.find_heads(model, "layers.?")
    lost = drops_by_hand(model, cut, score)
    np.testing.assert_allclose(
        ours.ablate(heads, score).drops, lost.mean(axis=2), rtol=0, atol=1e-12
    )
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    with pytest.raises(AssertionError, match="embedding dimension"), heads.without((0, 0)):
        model(x[..., :-1])  # fails inside the attention
    assert all(torch.equal(v, weights[k]) for k, v in model.state_dict().items())
    assert torch.equal(score(), score(model))


@pytest.mark.parametrize("training", [True, False])
def test_the_fast_path_of_pytorchs_encoder_does_not_pass_a_head_that_is_out(training):
    layer = torch.nn.TransformerEncoderLayer(SIZE, HEADS, 16, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, LAYERS).train(training)
    x = torch.randn(5, 7, SIZE)

    def score(one=model):
        with torch.no_grad():
            return one(x).mul(torch.arange(SIZE)).mean(dim=(1, 2))

    def cut(one, layer, head):
        one.layers[layer].self_attn.out_proj.weight[:, columns(head)] = 0.0

    found = ours.ablate(ours.find_heads(model, "layers.*.self_attn"), score)
    lost = drops_by_hand(model, cut, score)
    assert np.abs(lost).max() > 1e-2
    np.testing.assert_allclose(found.drops, lost.mean(axis=2), rtol=0, atol=1e-12)


def test_a_head_that_says_its_mean_is_a_constant_beside_the_bias():
    model = bert()
    dense = "encoder.layer.*.attention.output.dense"
    heads = ours.find_heads(model, dense, heads=HEADS)
    means = heads.measure_means(lambda: scores_of(model))
    read = []
    hook = model.encoder.layer[1].attention.output.dense.register_forward_pre_hook(
        lambda _, given: read.append(given[0])
    )
    scores_of(model)
    hook.remove()
    by_hand = read[0].flatten(0, 1).mean(dim=0)
    torch.testing.assert_close(means[1].flatten(), by_hand, rtol=0, atol=1e-12)

    def cut(one, layer, head):
        own = one.encoder.layer[layer].attention.output.dense
        own.bias += own.weight[:, columns(head)] @ means[layer, head]
        own.weight[:, columns(head)] = 0.0

    found = ours.ablate(heads.fill_with(means), lambda: scores_of(model))
    lost = drops_by_hand(model, cut, scores_of)
    np.testing.assert_allclose(found.drops, lost.mean(axis=2), rtol=0, atol=1e-12)
    assert np.abs(found.drops - ours.ablate(heads, lambda: scores_of(model)).drops).max() > 1e-4


def test_means_of_heads_leave_padding_out():
    model = bert()
    mask = torch.arange(7) < torch.tensor([[7], [3], [5], [2], [6]])
    heads = ours.find_heads(model, "encoder.layer.*.attention.output.dense", heads=HEADS)

    def run():
        model(tokens(), attention_mask=mask.long())

    read = []
    hook = model.encoder.layer[0].attention.output.dense.register_forward_pre_hook(
        lambda _, given: read.append(given[0])
    )
    with torch.no_grad():
        run()
    hook.remove()
    by_hand = read[0][mask].mean(dim=0).reshape(HEADS, WIDTH)
    torch.testing.assert_close(heads.measure_means(run, mask)[0], by_hand, rtol=0, atol=1e-12)


def test_several_scores_at_once_are_each_what_they_are_alone():
    model = gpt2()
    heads = ours.find_heads(model, "h.*.attn.c_proj", heads=HEADS)
    both = ours.ablate(heads, lambda: torch.stack([scores_of(model), -2.0 * scores_of(model)]))
    one = ours.ablate(heads, lambda: scores_of(model))
    assert both.drops.shape == (LAYERS, HEADS, 2)
    np.testing.assert_allclose(both.drops[..., 0], one.drops, rtol=0, atol=1e-15)
    np.testing.assert_allclose(both.drops[..., 1], -2.0 * one.drops, rtol=0, atol=1e-15)


def test_without_a_rotary_pair_a_llama_is_one_whose_queries_have_no_rows_for_it():
    model = llama()
    pairs = ours.find_rotary_pairs(model, "layers.*.self_attn.q_proj", heads=HEADS)
    assert pairs.shape == (LAYERS, WIDTH // 2)
    found = ours.ablate(pairs, lambda: scores_of(model))
    for layer, pair in np.ndindex(pairs.shape):
        copy = deepcopy(model)
        with torch.no_grad():
            rows = copy.layers[layer].self_attn.q_proj.weight.view(HEADS, WIDTH, SIZE)
            rows[:, [pair, pair + WIDTH // 2]] = 0.0
        lost = (scores_of(model) - scores_of(copy)).mean()
        assert abs(lost) > 1e-9
        assert found.drops[layer, pair] == pytest.approx(float(lost), abs=1e-12)


def test_pairs_that_stand_side_by_side_are_those_of_gpt_j():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPTJConfig(
        vocab_size=30, n_embd=SIZE * 2, n_layer=1, n_head=HEADS, n_positions=16, rotary_dim=4
    )
    model = transformers.GPTJModel(config).double().eval()
    pairs = ours.find_rotary_pairs(
        model, "h.*.attn.q_proj", heads=HEADS, layout="interleaved", rotated=4
    )
    assert pairs.shape == (1, 2)
    copy = deepcopy(model)
    with torch.no_grad():
        copy.h[0].attn.q_proj.weight.view(HEADS, 2 * WIDTH, -1)[:, [2, 3]] = 0.0
    with pairs.without((0, 1)):
        without = scores_of(model)
    torch.testing.assert_close(without, scores_of(copy), rtol=0, atol=1e-12)
    assert not torch.equal(without, scores_of(model))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda m: ours.find_heads(m, "nowhere.*"), "no module whose name is 'nowhere"),
        (lambda m: ours.find_heads(m, "h.*.attn.c_proj"), r"cannot be seen; pass heads="),
        (
            lambda m: ours.ablate(
                ours.find_heads(m, "h.*.attn.c_proj", heads=5), lambda: scores_of(m)
            ),
            "16 numbers, which are no 5 heads side by side",
        ),
        (
            lambda m: ours.ablate(
                ours.find_heads(m, "h.*.attn.c_proj", heads=HEADS), lambda: scores_of(m).mean()
            ),
            "The score is one number; return one for each row",
        ),
        (
            lambda m: ours.find_rotary_pairs(m, "h.*.attn", heads=3),
            "How many numbers a GPT2Attention gives cannot be seen; pass rotated",
        ),
        (
            lambda m: ours.find_rotary_pairs(m, "h.*.attn.c_attn", heads=3, layout="halves"),
            "The layout is 'halves'; pass one of: half, interleaved",
        ),
    ],
)
def test_what_can_not_be_taken_out_is_refused_in_words(asked, words):
    with pytest.raises(InputError, match=words):
        asked(gpt2())


def test_factors_of_another_model_are_refused():
    heads = ours.find_heads(Stack(True, True), "layers.?")
    with pytest.raises(InputError, match="one for each of 2 layers and 4 heads"):
        heads.scale(np.ones((3, 3))).__enter__()
