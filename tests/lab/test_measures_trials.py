"""Trials at a constant rate: deterministic, on a copy, and at the border that theory gives."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import LabError
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Batch

torch = pytest.importorskip("torch")

from gnomon.lab.measures import top_eigenvalue  # noqa: E402
from gnomon.lab.model import Transformer  # noqa: E402
from gnomon.lab.scoring import loss  # noqa: E402
from gnomon.lab.stability import descent, stable_rate, trial_losses  # noqa: E402


class Fixed:
    """A regression on one fixed batch: the loss of a linear model is then a quadratic."""

    def batch(self, *_):
        tokens = np.arange(1, 9).reshape(8, 1)
        targets = np.linspace(-1, 1, 8).astype(np.float32)
        return Batch(tokens=tokens, targets=targets, mask=np.ones((8, 1), bool))


class Linear(torch.nn.Module):
    """One weight per token."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(9))
        self.scale = torch.linspace(0.5, 3.0, 9)

    def forward(self, tokens):
        return (self.weight * self.scale)[tokens[:, 0]]


def test_descent_on_a_quadratic_is_stable_up_to_two_over_its_top_eigenvalue():
    model, fixed = Linear(), Fixed()
    batch = fixed.batch(None, 8)
    top = top_eigenvalue(lambda: loss(model, batch), model.parameters())
    assert top.value == pytest.approx(2 * 3.0**2 / 8, rel=1e-3)
    found = stable_rate(model, fixed, optimiser=descent, start=0.5, steps=100)
    assert found.rate <= 2 / top.value <= 1.02 * found.unstable


@pytest.fixture(scope="module")
def small():
    made = task("order", length=6)
    torch.manual_seed(0)
    size = {"dimension": 8, "heads": 2, "layers": 1}
    return Transformer(vocabulary=made.vocabulary, classes=2, **size), made


def test_a_trial_leaves_the_model_alone_and_repeats_itself(small):
    model, made = small
    before = [p.clone() for p in model.parameters()]
    first, again = (trial_losses(model, made, 1e-2, steps=5) for _ in range(2))
    assert first == again
    assert first[0] != first[-1]
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True))


def test_a_trial_ends_where_the_loss_is_no_number(small):
    model, made = small
    losses = trial_losses(model, made, 1e30, steps=20, optimiser=descent)
    assert len(losses) < 20
    assert not np.isfinite(losses[-1])


def test_a_trial_of_one_step_is_refused(small):
    with pytest.raises(LabError, match="a trial of 1 steps shows nothing; give it 2 or more"):
        trial_losses(*small, 0.1, steps=1)
