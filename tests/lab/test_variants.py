"""Relatives of the laboratory's Transformer, each against its formula by hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon  # noqa: E402 - after the check that there is a framework
from gnomon.errors import LabError  # noqa: E402
from gnomon.lab.grid import ModelConfig, PartConfig  # noqa: E402
from gnomon.lab.scoring import inputs, score  # noqa: E402
from gnomon.lab.tasks import task  # noqa: E402
from gnomon.lab.variants import (  # noqa: E402  # noqa: E402
    Gru,
    GruModel,
    LatentQuery,
    LatentTransformer,
    PatchTransformer,
    SequenceToSequence,
    StateSpace,
    build_model,
    build_placements,
)

TOKENS, CLASSES, LENGTH = 9, 4, 10
SHAPE = {"vocabulary": TOKENS, "classes": CLASSES, "dimension": 32, "heads": 4, "length": LENGTH}


def made(kind, **given):
    torch.manual_seed(2)
    return kind(**{**SHAPE, **given}).double().eval()


def tokens_of(rows=5, seed=0):
    source = torch.Generator().manual_seed(seed)
    return torch.randint(TOKENS, (rows, LENGTH), generator=source)


def masked(lengths):
    return torch.arange(LENGTH) < torch.tensor(lengths)[:, None]


@torch.no_grad()
def test_latent_attention_is_softmax_of_content_and_shared_products():
    model = made(LatentTransformer, encoding=None, layers=1, pooling="tokens")
    block, x = model.blocks[0], model.embed(tokens_of())
    own, h = block.attention, block.before(x)
    latent_q, latent_kv = own.norm_q(own.down_q(h)), own.norm_kv(own.down_kv(h))
    up_q, up_kv, shared = own.up_q(latent_q), own.up_kv(latent_kv), own.shared(h)
    outs = []
    for head in range(4):
        at = slice(8 * head, 8 * head + 8)
        later = slice(32 + 8 * head, 32 + 8 * head + 8)
        logits = up_q[..., at] @ up_kv[..., at].mT + up_q[..., later] @ shared.mT
        outs.append(torch.softmax(logits / 16**0.5, -1) @ up_kv[..., later])
    by_hand = own.out(torch.cat(outs, dim=-1))
    torch.testing.assert_close(own(h), by_hand, rtol=0, atol=1e-12)


@torch.no_grad()
def test_decoupled_rotation_of_latent_attention_sees_order_and_not_absolute_positions():
    encoding = gnomon.encoding("mla", dimension=16, content_dimension=8)
    model, tokens = made(LatentTransformer, encoding=encoding), tokens_of()
    at = torch.arange(LENGTH, dtype=torch.float64).expand(len(tokens), -1)
    shifted = model(tokens, positions=at + 5.0)
    torch.testing.assert_close(model(tokens, positions=at), shifted, rtol=0, atol=1e-12)
    assert (model(tokens) - model(tokens.flip(1))).abs().max() > 1e-4
    coordinates = [one.coordinates for one in model.rotary_pairs()]
    assert coordinates == [((8, 9), (10, 11), (12, 13), (14, 15))] * 2  # 0..7 is content


@torch.no_grad()
def test_a_decoder_answers_from_all_tokens_and_from_answers_before():
    encoding = gnomon.encoding("rope", dimension=8)
    model = made(SequenceToSequence, encoding=encoding, layers=1, pooling="tokens")
    tokens, answers = tokens_of(), tokens_of(seed=1) % CLASSES
    base = model(tokens, answers=answers)
    later = answers.clone()
    later[:, 5:] = (later[:, 5:] + 1) % CLASSES
    changed = model(tokens, answers=later)
    torch.testing.assert_close(base[:, :6], changed[:, :6], rtol=0, atol=1e-12)
    assert (base[:, 6:] - changed[:, 6:]).abs().amax() > 1e-4
    other = tokens.clone()
    other[:, -1] = (other[:, -1] + 1) % TOKENS
    assert (model(other, answers=answers)[:, 0] - base[:, 0]).abs().amax() > 1e-6


@torch.no_grad()
def test_cross_attention_sees_the_lag_between_answer_and_token():
    """Only the cross-attention has an encoding: moving answers against tokens must be seen."""
    from gnomon.lab.encode import Placement

    rope = gnomon.encoding("rope", dimension=8)
    model = made(
        SequenceToSequence,
        encoding=Placement(encoding=rope, layers=(2,)),
        layers=1,
        pooling="tokens",
    )
    tokens, answers = tokens_of(), torch.zeros(5, LENGTH, dtype=torch.long)
    base = model(tokens, answers=answers)
    assert (base[:, 3] - base[:, 4]).abs().max() > 1e-5
    blind = made(SequenceToSequence, encoding=None, layers=1, pooling="tokens")
    even = blind(tokens, answers=answers)
    # without an encoding answers differ by the causal mask alone, and not from the third on:
    # the first is the start, all later ones see the start and equal answers
    shuffled = tokens[:, torch.randperm(LENGTH, generator=torch.Generator().manual_seed(3))]
    torch.testing.assert_close(even, blind(shuffled, answers=answers), rtol=0, atol=1e-12)
    assert (base - model(shuffled, answers=answers)).abs().max() > 1e-5


@torch.no_grad()
@pytest.mark.parametrize("name", [None, "rope", "alibi"])
def test_latent_queries_do_not_see_padding_and_stand_over_the_sequence(name):
    given = {"rope": {"dimension": 8}, "alibi": {"heads": 4, "symmetric": True}}
    encoding = None if name is None else gnomon.encoding(name, **given[name])
    model, tokens = made(LatentQuery, encoding=encoding, latents=4), tokens_of()
    padded = model(tokens, mask=masked([10, 6, 6, 6, 6]))
    torch.testing.assert_close(padded[1:], model(tokens[1:, :6]), rtol=0, atol=1e-12)
    places = model._places(tokens, None, None)["positions_q"]
    np.testing.assert_allclose(places, [0.75, 3.25, 5.75, 8.25])
    moved = model(tokens) - model(tokens.flip(1))
    assert (moved.abs().max() < 1e-12) == (name is None)


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
def test_a_gated_recurrence_over_padded_rows_is_that_of_each_row_alone(causal):
    torch.manual_seed(0)
    layer = Gru(8, causal=causal).double()
    x, lengths = torch.randn(3, LENGTH, 8).double(), [10, 4, 7]
    found = layer(x, None, mask=masked(lengths))
    for row, length in enumerate(lengths):
        alone = layer.cells(x[row : row + 1, :length])[0][0]
        torch.testing.assert_close(found[row, :length], alone, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
def test_a_diagonal_state_space_is_its_recurrence_step_by_step(causal):
    torch.manual_seed(0)
    layer = StateSpace(3, causal=causal, states=4).double()
    x = torch.randn(2, LENGTH, 3).double()
    mask = masked([10, 6])
    ways = [x * mask[..., None]] + ([] if causal else [(x * mask[..., None]).flip(1)])
    total = torch.zeros_like(x)
    for way, rows in enumerate(ways):
        a = torch.exp(torch.complex(-layer.decay[way].exp(), layer.turn[way]))
        c = torch.view_as_complex(layer.read)[way]
        state, out = torch.zeros(2, 3, 4, dtype=torch.complex128), []
        for t in range(LENGTH):
            state = a * state + rows[:, t, :, None]
            out.append((c * state).real.sum(-1))
        made_rows = torch.stack(out, dim=1)
        total = total + (made_rows.flip(1) if way else made_rows)
    clean = x * mask[..., None]
    by_hand = layer.mix(torch.nn.functional.gelu(total + layer.through * clean))
    torch.testing.assert_close(layer(x, None, mask=mask), by_hand, rtol=0, atol=1e-10)


@torch.no_grad()
def test_patches_enter_by_a_matrix_at_the_root_mean_square_of_tokens():
    model = made(PatchTransformer, features=16, encoding=None, dimension=256, heads=4)
    values = torch.randn(64, LENGTH, 16).double()
    entered = model.embed_tokens(values, None)
    assert float(entered.square().mean().sqrt()) == pytest.approx(0.5, rel=0.05)
    assert model(values).shape == (64, CLASSES)


def test_a_model_of_patches_reads_values_and_two_axes_of_the_digits():
    digits = task("digits")
    how = ModelConfig(kind="patches", dimension=32, heads=4)
    parts = build_placements([PartConfig(name="rope")], how, digits, seed=0)
    assert parts[0].encoding.axes == 2
    model = build_model(parts, how, digits)
    batch = digits.batch(np.random.default_rng(0), 8)
    assert inputs(model, batch)[0].shape == batch.values.shape
    assert 0.0 <= score(model, batch) <= 1.0


@pytest.mark.parametrize(
    ("kind", "name", "on", "words"),
    [
        ("seq2seq", "rope", "distance", "writes a token for each token"),
        ("latent-query", "rope", "lag", "Latent queries give one answer for a sequence"),
        ("gru", "rope", "distance", "acts on attention, and this model has none"),
        ("patches", "rope", "distance", "has tokens and no numbers"),
        ("seq2seq", "rope", "modular", "is shown the answer before, which gives the answers of"),
        ("seq2seq", "rope", "characters", "is shown all tokens, and so what comes next, which"),
        ("transformer", "mla", "distance", 'add model = { kind = "latent" }'),
        ("transformr", "rope", "distance", "There is no model 'transformr': did you mean"),
    ],
)
def test_a_model_that_does_not_go_with_its_task_or_encoding_is_refused(kind, name, on, words):
    how, over = ModelConfig(kind=kind), task(on)
    with pytest.raises(LabError, match=words):
        build_model(build_placements([PartConfig(name=name)], how, over, seed=0), how, over)


def test_parameters_of_another_kind_of_model_are_refused_with_the_nearest():
    how = ModelConfig(kind="state-space", extra={"state": 4})
    with pytest.raises(LabError, match="has no 'state': did you mean 'states'"):
        build_model(None, how, task("order"))


def test_a_model_without_heads_refuses_to_scale_them():
    model = made(GruModel, encoding=None)
    with pytest.raises(LabError, match="no heads to be scaled"), model.heads().scale([[1.0]]):
        pass
