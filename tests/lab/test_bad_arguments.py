"""What Python passes to the laboratory by mistake is refused in a sentence, before any training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnomon import encoding, lab
from gnomon.errors import LabError
from gnomon.lab.grid import read_grid
from gnomon.lab.run import check_cells, pairs_to_run, run_grid

pytest.importorskip("torch")
ORDER = lab.task("order", length=8)
SMALL = lab.ModelConfig(dimension=16, layers=1, heads=2)
SHORT = lab.TrainingConfig(steps=2, batch=4, held_out=8, curve_samples=8)


def train(**changed: Any) -> Any:
    given = {"task": ORDER, "encoding": None, "model": SMALL, "training": SHORT} | changed
    return lab.train(given.pop("task"), given.pop("encoding"), **given)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: train(task="order"), "task is of type str; pass a Task"),
        (lambda: train(model={"dimension": 16}), "model is of type dict; pass a ModelConfig"),
        (lambda: train(training=3), "training is of type int"),
        (lambda: train(seed=-1), "seed -1; pass a whole number from 0 on"),
        (lambda: train(model=lab.ModelConfig(dimension=16, heads=3)), "a multiple of the heads"),
        (lambda: train(training=lab.TrainingConfig(steps=0)), "has steps 0"),
        (
            lambda: train(encoding=encoding("alibi", heads=8, symmetric=True)),
            "'alibi' is made for 8 heads, and the model has it on 2; make it with heads=2",
        ),
        (
            lambda: train(encoding=encoding("sinusoidal", dimension=8)),
            "'sinusoidal' has vectors of dimension 8, and the model 16",
        ),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(LabError, match=words):
        call()


GRID = """
question = "Does it work?"
[model]
dimension = 16
layers = 1
heads = 2
[training]
steps = 3
batch = 4
held_out = 16
curve_samples = 16
measure_samples = 16
[report]
seeds = [0, 1]
{report}
[tasks.lag]
length = 8
lag = 2
[encodings.rope]
{encoding}
"""


def grid(folder: Path, *, report: str = "", encoding: str = "") -> Any:
    file = folder / "small.toml"
    file.write_text(GRID.format(report=report, encoding=encoding), encoding="utf-8")
    return read_grid(file)


def test_a_table_of_another_width_is_told_by_its_widths(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.ones((20, 8)))
    asked = grid(tmp_path, encoding=f'name = "{(tmp_path / "table.npy").as_posix()}"')
    with pytest.raises(LabError, match="vectors of dimension 8, and the model 16"):
        check_cells(asked)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("multiplier = 3.0", "'rope' learns nothing, and has a multiplier"),
        ("frozen = true", "'rope' learns nothing; leave frozen out"),
        ('name = "t5"\nfrozen = true\nmultiplier = 3.0', "'t5' is frozen, and has a multiplier"),
        ("model = { heads = 16 }", "16 of them share the dimension 16 of the model"),
    ],
)
def test_a_key_without_effect_and_a_head_too_narrow_are_told(
    tmp_path: Path, encoding: str, words: str
) -> None:
    with pytest.raises(LabError, match=words):
        check_cells(grid(tmp_path, encoding=encoding))


def test_a_measure_that_can_not_be_taken_is_named(tmp_path: Path) -> None:
    asked = grid(
        tmp_path,
        report='measures = ["hessian", "heads"]',
        encoding='name = "nope"\nmodel = { kind = "gru" }',
    )
    with pytest.raises(LabError, match="The measure 'heads' cannot be taken: This model has no"):
        check_cells(asked)


def test_heads_of_a_model_with_an_encoder_and_a_decoder_are_measured(tmp_path: Path) -> None:
    asked = grid(tmp_path, report='measures = ["heads"]', encoding='model = { kind = "seq2seq" }')
    check_cells(asked)


def test_a_grid_that_is_done_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, folder = grid(tmp_path), tmp_path / "records"
    heard: list[tuple[int, int]] = []
    run_grid(asked, folder, checking=lambda *told: heard.append(told))
    assert heard == [(0, 1)]
    assert pairs_to_run(asked, folder) == []
    monkeypatch.setattr("gnomon.lab.run.try_cell", lambda *_, **__: 1 / 0)
    assert run_grid(asked, folder, checking=lambda *told: heard.append(told)).complete
    assert heard == [(0, 1)]
    next(folder.glob("lag/rope/report-0-*.json")).unlink()
    assert pairs_to_run(asked, folder) == [("lag", "rope")]
