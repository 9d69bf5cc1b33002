"""Training: its rates, its determinism, resuming after a kill, and what can be learned."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon  # noqa: E402 - after the check that there is a framework
from gnomon.lab import training as trainer  # noqa: E402
from gnomon.lab.encode import Placement  # noqa: E402
from gnomon.lab.grid import (  # noqa: E402
    Cell,
    ModelConfig,
    TrainingConfig,
)
from gnomon.lab.records import read_record, write_record  # noqa: E402
from gnomon.lab.scoring import loss, score_answers  # noqa: E402
from gnomon.lab.tasks import task  # noqa: E402
from gnomon.lab.tasks.base import Batch  # noqa: E402
from gnomon.lab.training import draw_batch, parameter_groups, rate, train  # noqa: E402

SMALL = ModelConfig(dimension=16, heads=2, layers=1)
SHORT = TrainingConfig(
    steps=30, batch=8, held_out=64, curve_samples=32, evaluate_every=10, checkpoint_every=10
)


def rope():
    return gnomon.encoding("rope", dimension=8)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_the_rate_rises_to_its_full_value_and_falls_by_a_cosine_as_torch_schedules_it():
    how = TrainingConfig(steps=50, warmup=0.1, floor=0.05)
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    falls = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=45, eta_min=0.05)
    theirs = []
    for _ in range(45):
        optimiser.step()
        falls.step()
        theirs.append(falls.get_last_lr()[0])
    ours = [rate(step, how) for step in range(1, 51)]
    np.testing.assert_allclose(ours[:5], [0.2, 0.4, 0.6, 0.8, 1.0])
    np.testing.assert_allclose(ours[5:], theirs, rtol=1e-12)


def test_matrices_decay_and_learned_numbers_of_encodings_have_their_own_rate():
    part = Placement(encoding=gnomon.encoding("t5", heads=2), multiplier=20.0)
    model = trainer.build_model(part, SMALL, task("order"))
    groups = parameter_groups(model, TrainingConfig(learning_rate=1e-3, decay=0.1))
    table = [p for name, p in model.named_parameters() if name.endswith("table")]
    by_rate = {group["lr"]: group for group in groups}
    assert [id(p) for p in by_rate[0.02]["params"]] == [id(p) for p in table]
    assert by_rate[0.02]["weight_decay"] == 0.0
    decaying = [p for g in groups if g["weight_decay"] for p in g["params"]]
    assert all(p.ndim > 1 for p in decaying)
    assert sum(len(g["params"]) for g in groups) == len(list(model.parameters()))


def test_the_same_seed_trains_the_same_bits_and_another_seed_others():
    runs = [train(task("order"), rope(), model=SMALL, training=SHORT, seed=s) for s in (4, 4, 5)]
    assert torch.equal(weights(runs[0].model), weights(runs[1].model))
    assert runs[0].record.curve == runs[1].record.curve
    assert not torch.equal(weights(runs[0].model), weights(runs[2].model))


def test_data_and_starting_weights_are_the_same_for_every_encoding():
    made = []
    for encoding in (None, rope(), gnomon.encoding("alibi", heads=2, symmetric=True)):
        how = dataclasses.replace(SHORT, steps=1, learning_rate=1e-30)
        made.append(weights(train(task("order"), encoding, model=SMALL, training=how).model))
    torch.testing.assert_close(made[0], made[1], rtol=0, atol=1e-29)
    torch.testing.assert_close(made[0], made[2], rtol=0, atol=1e-29)
    first = [draw_batch(task("order"), 3, "training", 4, step).tokens for step in (0, 0, 1)]
    assert np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], first[2])


@pytest.mark.parametrize("killed", [7, 10, 23])
def test_a_run_that_was_killed_ends_in_the_same_bits_as_one_that_was_not(
    killed, tmp_path, monkeypatch
):
    how = {"model": ModelConfig(dimension=16, heads=2, layers=1, dropout=0.1), "training": SHORT}
    cell = Cell(task="order", encoding="rope", seed=1, task_name="order", **how)
    whole = train(task("order"), rope(), seed=1, cell=cell, **how)
    taken, step = [], trainer._Run._take_step

    def dying(run):
        if run.step == killed and not taken:
            taken.append(run.step)
            raise KeyboardInterrupt
        step(run)

    monkeypatch.setattr(trainer._Run, "_take_step", dying)
    file = tmp_path / "run.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        train(task("order"), rope(), seed=1, cell=cell, checkpoint=file, **how)
    assert file.exists() == (killed >= 10)
    resumed = train(task("order"), rope(), seed=1, cell=cell, checkpoint=file, **how)
    assert torch.equal(weights(whole.model), weights(resumed.model))
    assert whole.record.curve == resumed.record.curve
    assert whole.record.score == resumed.record.score


def test_a_checkpoint_of_other_settings_or_of_no_kind_is_passed_over(tmp_path):
    file = tmp_path / "run.checkpoint"
    told = {"model": SMALL, "training": SHORT, "seed": 0}
    cells = [
        Cell(task="order", encoding=name, seed=0, task_name="order", training=SHORT, model=SMALL)
        for name in ("one", "other")
    ]
    train(task("order"), rope(), cell=cells[0], checkpoint=file, **told)
    assert file.exists()
    plain = train(task("order"), rope(), **told)
    other = train(task("order"), rope(), cell=cells[1], checkpoint=file, **told)
    file.write_bytes(b"no checkpoint")
    broken = train(task("order"), rope(), cell=cells[0], checkpoint=file, **told)
    for run in (other, broken):
        assert torch.equal(weights(plain.model), weights(run.model))
        assert len(run.record.curve) == 3


def test_a_run_that_diverges_is_recorded_as_diverged_and_has_no_score(monkeypatch):
    def exploding(model, batch):
        return loss(model, batch) * float("inf")

    monkeypatch.setattr(trainer, "loss", exploding)
    record = train(task("order"), rope(), model=SMALL, training=SHORT).record
    assert record.status == "diverged"
    assert record.reason == "the loss or its gradient was no number at step 1"
    assert record.score is None
    assert record.area is None


@pytest.mark.parametrize("kind", ["gru", "state-space"])
def test_no_encoding_by_its_name_trains_a_recurrence_as_none_at_all_does(kind):
    shape = ModelConfig(dimension=16, heads=2, layers=1, kind=kind)
    how = dataclasses.replace(SHORT, steps=3)
    made = [
        weights(train(task("order"), encoding, model=shape, training=how).model)
        for encoding in (None, gnomon.encoding("nope"))
    ]
    assert torch.equal(made[0], made[1])


def test_a_last_step_that_leaves_no_numbers_is_recorded_as_diverged():
    """At a rate of 1e30 one step of AdamW moves weights by 1e30, and logits leave float32."""
    how = dataclasses.replace(SHORT, steps=1, learning_rate=1e30, warmup=0.0)
    trained = train(task("order"), rope(), model=SMALL, training=how)
    batch = draw_batch(task("order"), 0, "held-out", 8)
    with torch.no_grad():
        answers = trained.model(torch.from_numpy(batch.tokens))
    assert not torch.isfinite(answers).all()
    assert trained.record.status == "diverged"
    assert trained.record.reason == "the loss was no number after step 1, the last"
    assert trained.record.score is None


def test_a_record_that_was_written_is_read_back_as_it_was(tmp_path):
    how = dataclasses.replace(SHORT, lengths=(40,))
    record = train(task("order"), rope(), model=SMALL, training=how).record
    write_record(tmp_path / "a.json", record)
    again = read_record(tmp_path / "a.json")
    assert again.to_dict() == record.to_dict()
    assert [point["length"] for point in again.lengths] == [40]
    assert [point["step"] for point in again.curve] == [10, 20, 30]
    mean = sum(point["score"] for point in again.curve) / 3
    assert again.area == pytest.approx(mean, rel=1e-12)


def test_accuracy_and_r2_are_those_of_their_definitions_with_weights_and_padding():
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    mask = rng.random((6, 5)) < 0.7
    weights_given = (mask * rng.random((6, 5))).astype(np.float32)
    answers = rng.normal(size=(6, 5)).astype(np.float32)
    targets = rng.normal(size=(6, 5)).astype(np.float32)
    shared = {"tokens": np.zeros((6, 5), np.int64), "mask": mask, "weights": weights_given}
    ours = score_answers(torch.from_numpy(answers), Batch(targets=targets, **shared))
    flat = {"sample_weight": weights_given.ravel()}
    assert ours == pytest.approx(
        sklearn.r2_score(targets.ravel(), answers.ravel(), **flat), abs=1e-5
    )
    classes, chosen = rng.integers(0, 3, (6, 5)), rng.integers(0, 3, (6, 5))
    logits = torch.from_numpy(np.eye(3, dtype=np.float32)[chosen])
    found = score_answers(logits, Batch(targets=classes, **shared))
    theirs = sklearn.accuracy_score(classes.ravel(), chosen.ravel(), **flat)
    assert found == pytest.approx(theirs, abs=1e-6)


def test_order_is_learned_under_rope_and_is_chance_under_a_symmetric_bias():
    """A bias that sees |lag| alone cannot tell a before b from b before a: exactly chance."""
    how = TrainingConfig(steps=80, batch=32, learning_rate=8e-3, held_out=1024)
    turning = gnomon.encoding("rope", dimension=8, base=100.0)
    seen = train(task("order"), turning, training=how)
    bias = gnomon.encoding("alibi", heads=8, symmetric=True)
    blind = train(task("order"), bias, training=how)
    assert seen.record.score > 0.95
    assert abs(blind.record.score - 0.5) < 3 * (0.25 / 1024) ** 0.5


def test_distance_without_an_encoding_is_chance():
    """An order-blind model can do no better than its prior, 1/16, within three standard errors."""
    how = TrainingConfig(steps=40, batch=32, held_out=2048)
    shape = ModelConfig(dimension=32, heads=4)
    record = train(task("distance"), None, model=shape, training=how).record
    assert abs(record.score - 1 / 16) < 3 * (15 / 256 / 2048) ** 0.5
