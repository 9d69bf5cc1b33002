"""Head importance on models whose heads are known: what each does is written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import LabError
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Batch

torch = pytest.importorskip("torch")

from gnomon.lab.heads import (  # noqa: E402 - torch may be missing  # noqa: E402
    mean_ablation,
    pair_ablation,
    pair_importance,
    row_margins,
    row_scores,
    zero_ablation,
)
from gnomon.lab.measures import MEASURES  # noqa: E402
from gnomon.lab.model import Transformer  # noqa: E402
from gnomon.lab.scoring import score  # noqa: E402
from gnomon.torch import AttentionHeads, mean_of_rows  # noqa: E402


class Sum(torch.nn.Module):
    """Mixes heads by adding what they say."""

    def forward(self, said):
        return said.unflatten(-1, (3, 2)).sum(dim=-2)


class Written(torch.nn.Module):
    """Two layers of three heads; logits are the sum of what the heads say.

    Head (0, 0) names the right class, heads (0, 1) and (0, 2) say the same softly, head (1, 0) adds
    a constant, the others are silent.
    """

    layers_count, heads_count = 2, 3

    def __init__(self, softly=0.6):
        super().__init__()
        self.softly, self.mixers = softly, torch.nn.ModuleList([Sum(), Sum()])

    def said(self, tokens):
        right = torch.nn.functional.one_hot(tokens[:, 0] - 1, 2).double()
        made = torch.zeros(2, len(tokens), 1, 3, 2, dtype=torch.float64)
        made[0, :, 0, 0] = right
        made[0, :, 0, 1] = made[0, :, 0, 2] = self.softly * right
        made[1, :, 0, 0] = torch.tensor([0.9, 0.0])
        return made.flatten(-2)

    def heads(self):
        return AttentionHeads(self.mixers, 3)

    def forward(self, tokens):
        return sum(
            mix(said)[:, 0] for mix, said in zip(self.mixers, self.said(tokens), strict=True)
        )


@pytest.fixture
def batch():
    tokens = np.tile([[1], [2]], (50, 1))
    return Batch(tokens=tokens, targets=tokens[:, 0] - 1, mask=np.ones(tokens.shape, bool))


def test_zero_ablation_finds_what_each_written_head_is_worth(batch):
    """Without head (0, 0) class 1 has 1.2 against 0.9 and is still right; margins tell."""
    found = zero_ablation(Written(), batch)
    assert found.score == 1.0
    assert (found.drops == 0.0).all()
    assert found.margins == pytest.approx(np.array([[1.0, 0.6, 0.6], [0.0, 0.0, 0.0]]), abs=1e-12)
    found = zero_ablation(Written(softly=0.3), batch)
    assert found.drops.tolist() == [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    lost = np.tile([0.0, 1.0], 50)
    assert found.errors[0, 0] == pytest.approx(lost.std(ddof=1) / 10)


def test_mean_ablation_leaves_alone_what_a_head_always_says(batch):
    same = batch.rows(slice(0, None, 2))  # class 0 only: every head says the same in every row
    assert zero_ablation(Written(), same).margins[1, 0] == pytest.approx(0.9)
    assert mean_ablation(Written(), same).margins == pytest.approx(np.zeros((2, 3)), abs=1e-12)


def test_mean_ablation_removes_what_a_head_tells(batch):
    """The mean over both classes names neither."""
    found = mean_ablation(Written(), batch)
    assert found.margins == pytest.approx(np.array([[1.0, 0.6, 0.6], [0, 0, 0]]), abs=1e-12)


def test_heads_that_stand_in_for_one_another_show_in_pairs_only(batch):
    """1.0 and 0.6, or 0.6 and 0.6, hold class 1 up against 0.9; 0.6 alone does not."""
    found = pair_ablation(Written(softly=0.6), batch, layer=0)
    assert np.diag(found.drops).tolist() == [0.0, 0.0, 0.0]
    assert found.drops[0, 1] == found.drops[1, 0] == 0.5
    assert found.excess[0, 1] == found.excess[0, 2] == 0.5
    assert found.excess[1, 2] == 0.0
    lost = np.tile([0.0, 1.0], 50)  # without both, every row of class 1 is wrong
    assert found.excess_errors[0, 1] == pytest.approx(lost.std(ddof=1) / 10)
    assert found.excess_errors[1, 2] == 0.0


def test_an_excess_is_what_rows_lose_beyond_both_single_losses(batch):
    """Head (0, 0) alone holds class 1: what is lost without it and another is lost once."""
    found = pair_ablation(Written(softly=0.3), batch, layer=0)
    assert found.drops[0].tolist() == [0.5, 0.5, 0.5]
    assert found.excess[0].tolist() == [0.0, 0.0, 0.0]
    assert found.excess_errors[0].tolist() == [0.0, 0.0, 0.0]


def test_a_layer_that_is_not_there_is_refused(batch):
    with pytest.raises(LabError, match="there is no layer 2 in a model of 2 layers; pass one of"):
        pair_ablation(Written(), batch, layer=2)


def test_a_paired_error_is_that_of_the_differences():
    rng = np.random.default_rng(0)
    before = rng.random(500)
    after = before - 0.1 + 0.01 * rng.standard_normal(500)
    drop, error = mean_of_rows(before - after)
    assert drop == pytest.approx(0.1, abs=4 * 0.01 / np.sqrt(500))
    assert error == pytest.approx(0.01 / np.sqrt(500), rel=0.15)


@pytest.fixture(scope="module")
def trained():
    """A model as it is initialised, for what must hold of any model."""
    import gnomon

    made = task("lag", length=12, lag=2, shortest=8)
    torch.manual_seed(0)
    encoding = gnomon.encoding("rope", dimension=4, base=100.0)
    model = Transformer(
        vocabulary=made.vocabulary,
        classes=made.classes,
        encoding=encoding,
        dimension=16,
        heads=4,
        pooling="tokens",
    )
    return model, made.batch(np.random.default_rng(0), 40)


def test_rows_have_the_mean_that_the_laboratory_reports(trained):
    from gnomon.lab.heads import answer_rows

    model, batch = trained
    assert row_scores(answer_rows(model, batch), batch).mean() == pytest.approx(score(model, batch))


def test_rows_of_a_regression_have_the_mean_r2(rng):
    sklearn = pytest.importorskip("sklearn.metrics")
    targets = rng.standard_normal(50).astype(np.float32)
    answers = targets + rng.standard_normal(50) / 2
    batch = Batch(tokens=np.ones((50, 1), int), targets=targets, mask=np.ones((50, 1), bool))
    assert row_scores(answers, batch).mean() == pytest.approx(sklearn.r2_score(targets, answers))
    assert row_margins(answers, batch) is None


def test_ablation_writes_no_weight_and_leaves_the_answers_as_they_were(trained):
    model, batch = trained
    weights = {name: p.clone() for name, p in model.named_parameters()}
    before = score(model, batch)
    for measure in ("heads", "redundancy", "pairs"):
        MEASURES[measure](model, batch)
    assert score(model, batch) == before
    assert all(torch.equal(p, weights[name]) for name, p in model.named_parameters())


def test_zero_ablation_is_zeroed_columns_of_the_output_projection(trained):
    """The same by another way: a copy of the model with the head's columns of W_o at zero."""
    from copy import deepcopy

    model, batch = trained
    found = zero_ablation(model, batch)
    copy = deepcopy(model)
    with torch.no_grad():
        copy.blocks[1].attention.out.weight[:, 8:12] = 0.0
    assert found.drops[1, 2] == pytest.approx(score(model, batch) - score(copy, batch), abs=1e-6)


def test_a_pair_without_weight_in_the_queries_costs_nothing_when_taken_out(trained):
    from copy import deepcopy

    model, batch = trained
    copy = deepcopy(model)
    with torch.no_grad():  # pairs stand side by side: the second has coordinates 2 and 3 of four
        for block in copy.blocks:
            rows = block.attention.project.weight[:16].view(4, 4, 16)
            rows[:, [2, 3]] = 0.0
            block.attention.project.bias[:16].view(4, 4)[:, [2, 3]] = 0.0
    found = pair_importance(copy, batch)
    assert (found.drops[:, 1] == 0.0).all()
    assert found.drops.shape == (2, 2)
    assert found.coordinates == (((0, 1), (2, 3)),) * 2
    tokens = torch.from_numpy(batch.tokens)
    without = np.ones((2, 4, 2))
    without[:, :, 1] = 0.0
    with torch.no_grad(), copy.scale_pairs(without):
        scaled = copy(tokens)
    assert torch.equal(scaled, copy(tokens))


def test_too_few_pairs_and_no_heads_are_refused(trained):
    model, batch = trained
    few = np.ones((2, 4, 1))
    with (
        pytest.raises(LabError, match="factors for 1 pairs, and the layer turns 2; pass one for"),
        model.scale_pairs(few),
    ):
        score(model, batch)
    with pytest.raises(LabError, match="measure heads needs a model with heads, and a Linear has"):
        MEASURES["heads"](torch.nn.Linear(1, 1), batch)
