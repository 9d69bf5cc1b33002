"""Symmetries of the laboratory's Transformer: masks, positions and encodings, in float64."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import gnomon  # noqa: E402 - after the check that there is a framework
from gnomon.lab.encode import Placement  # noqa: E402
from gnomon.lab.model import Transformer  # noqa: E402

TOKENS, CLASSES, LENGTH = 11, 5, 12
RELATIVE = {
    "rope": {"dimension": 8},
    "alibi": {"heads": 4, "symmetric": True},
    "t5": {"heads": 4},
    "jordan": {"dimension": 8},
    "shaw": {"dimension": 8},
}


def model_of(encoding, **given):
    """A small model in float64, the same weights for every encoding."""
    torch.manual_seed(3)
    shape = {"vocabulary": TOKENS, "classes": CLASSES, "dimension": 32, "heads": 4, "length": 12}
    return Transformer(encoding=encoding, **{**shape, **given}).double().eval()


def tokens_of(rows=6, seed=0):
    made = torch.Generator().manual_seed(seed)
    return torch.randint(TOKENS, (rows, LENGTH), generator=made)


def part(name, parameters):
    return Placement(encoding=gnomon.encoding(name, **parameters), both_directions=True)


@torch.no_grad()
@pytest.mark.parametrize("name", RELATIVE)
@pytest.mark.parametrize("pooling", ["mean", "tokens"])
def test_answers_under_a_relative_encoding_do_not_change_when_all_positions_are_shifted(
    name, pooling
):
    model = model_of(part(name, RELATIVE[name]), pooling=pooling)
    tokens = tokens_of()
    at = torch.arange(LENGTH, dtype=torch.float64).expand(len(tokens), -1)
    torch.testing.assert_close(
        model(tokens, positions=at), model(tokens, positions=at + 7.0), rtol=0, atol=1e-12
    )
    torch.testing.assert_close(model(tokens), model(tokens, positions=at), rtol=0, atol=1e-12)


@torch.no_grad()
def test_answers_under_a_sinusoid_change_when_all_positions_are_shifted():
    model = model_of(gnomon.encoding("sinusoidal", dimension=32))
    tokens = tokens_of()
    at = torch.arange(LENGTH, dtype=torch.float64).expand(len(tokens), -1)
    assert (model(tokens, positions=at) - model(tokens, positions=at + 7.0)).abs().max() > 1e-2


@torch.no_grad()
def test_without_an_encoding_the_order_of_tokens_is_not_seen_and_with_one_it_is():
    tokens = tokens_of()
    shuffled = tokens[:, torch.randperm(LENGTH, generator=torch.Generator().manual_seed(1))]
    blind = model_of(None)
    torch.testing.assert_close(blind(tokens), blind(shuffled), rtol=0, atol=1e-12)
    seeing = model_of(gnomon.encoding("rope", dimension=8))
    assert (seeing(tokens) - seeing(shuffled)).abs().max() > 1e-4


@torch.no_grad()
def test_under_a_symmetric_bias_a_sequence_and_its_reversal_have_one_answer():
    tokens = tokens_of()
    symmetric = model_of(gnomon.encoding("alibi", heads=4, symmetric=True))
    torch.testing.assert_close(symmetric(tokens), symmetric(tokens.flip(1)), rtol=0, atol=1e-12)
    turning = model_of(gnomon.encoding("rope", dimension=8))
    assert (turning(tokens) - turning(tokens.flip(1))).abs().max() > 1e-4


@torch.no_grad()
@pytest.mark.parametrize("name", [None, "rope", "alibi", "t5", "sinusoidal", "learned", "shaw"])
@pytest.mark.parametrize("pooling", ["mean", "tokens"])
def test_a_padded_sequence_has_the_answer_of_the_sequence_alone(name, pooling):
    parameters = {**RELATIVE, "sinusoidal": {"dimension": 32}}
    parameters["learned"] = {"dimension": 32, "rows": LENGTH}
    model = model_of(None if name is None else part(name, parameters[name]), pooling=pooling)
    tokens, length = tokens_of(), 7
    mask = (torch.arange(LENGTH) < length).expand(len(tokens), -1).clone()
    mask[0] = True  # rows of different lengths
    padded = model(tokens, mask=mask)
    alone = model(tokens[1:, :length])
    found = padded[1:] if pooling == "mean" else padded[1:, :length]
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-12)
    torch.testing.assert_close(padded[:1], model(tokens[:1]), rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("name", [None, "rope", "alibi", "t5", "xpos", "fox"])
def test_a_causal_model_answers_at_a_token_by_those_up_to_it(name):
    parameters = {**RELATIVE, "xpos": {"dimension": 8}, "fox": {"heads": 4, "dimension": 8}}
    encoding = None if name is None else gnomon.encoding(name, **parameters[name])
    model = model_of(encoding, causal=True, pooling="tokens")
    tokens, changed = tokens_of(), tokens_of()
    changed[:, 8:] = (changed[:, 8:] + 1) % TOKENS
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :8], after[:, :8], rtol=0, atol=1e-12)
    assert (before[:, 8:] - after[:, 8:]).abs().max() > 1e-4


LINEAR = {
    "jordan": {"dimension": 8, "gain": 0.3},
    "xpos": {"dimension": 8, "scale_base": 16.0},
    "liere": {"dimension": 8, "block": 4, "spread": 0.5},
    "retnet": {"dimension": 8, "heads": 4},
    "rope-plus-plus": {"dimension": 8, "heads": 4},
    "grape": {"dimension": 8},
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_transform_multiplied_by_matrices_is_the_transform_of_every_vector(name):
    """A small batch is turned vector by vector, a large one by the matrices of a basis."""
    model = model_of(part(name, LINEAR[name]))
    few, many = tokens_of(3), tokens_of(3).repeat(5, 1)
    grads = []
    for tokens in (few, many):
        model.zero_grad()
        made = model(tokens)[:3]
        made.sum().backward()
        held = [one for own, _ in model.trainable_by_placement() for one in own]
        grads.append((made.detach(), [one.grad.clone() for one in held]))
    torch.testing.assert_close(grads[0][0], grads[1][0], rtol=0, atol=1e-12)
    for one, other in zip(grads[0][1], grads[1][1], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@torch.no_grad()
@pytest.mark.parametrize("name", ["rope", "alibi"])
def test_a_model_that_moves_to_another_type_after_it_was_used_answers_in_that_type(name):
    model, tokens = model_of(part(name, RELATIVE[name])), tokens_of()
    exact = model(tokens)
    model.float()(tokens)
    again = model.double()(tokens)
    assert again.dtype == torch.float64
    torch.testing.assert_close(again, exact, rtol=0, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("name", ["sinusoidal", "learned", "random"])
def test_vectors_of_every_encoding_enter_at_the_same_root_mean_square(name):
    given = {"dimension": 32} | ({"rows": LENGTH} if name == "learned" else {})
    model = model_of(gnomon.encoding(name, **given), rms=0.25)
    vectors = model.added[0](torch.arange(LENGTH))
    assert float(vectors.square().mean().sqrt()) == pytest.approx(0.25, rel=1e-6)
    many = Transformer(vocabulary=4000, classes=2, dimension=32, heads=4, rms=0.25)
    assert float(many.embed.weight.square().mean().sqrt()) == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize("name", ["jordan", "t5", "learned"])
def test_what_a_frozen_part_could_learn_stays_and_the_rest_of_the_model_moves(name):
    given = {
        "jordan": {"dimension": 8},
        "t5": {"heads": 4},
        "learned": {"dimension": 32, "rows": 12},
    }
    made = gnomon.encoding(name, **given[name])
    model = model_of(Placement(encoding=made, frozen=True, both_directions=True))
    free = model_of(Placement(encoding=made, both_directions=True))
    torch.testing.assert_close(model(tokens_of()), free(tokens_of()))  # the same before training
    assert [len(held) for held, _ in model.trainable_by_placement()] == [0]
    assert [len(held) > 0 for held, _ in free.trainable_by_placement()] == [True]
    own = [
        one
        for _, modules in model.modules_by_placement()
        for m in modules
        for one in m.parameters()
    ]
    before = [one.clone() for one in own]
    model(tokens_of()).square().mean().backward()
    assert all(one.grad is None for one in own)
    assert model.embed.weight.grad.abs().sum() > 0
    torch.optim.AdamW(model.parameters(), lr=0.1).step()
    assert all(torch.equal(a, b) for a, b in zip(own, before, strict=True))
