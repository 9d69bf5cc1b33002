"""`gnomon lab`: a grid from the command line, in real processes."""

from __future__ import annotations

import json

import pytest

from gnomon.cli.app import run

pytest.importorskip("torch")

GRID = """
[model]
dimension = 16
heads = 2
layers = 1
[training]
steps = 3
batch = 4
held_out = 16
[report]
seeds = [0, 1]
[tasks.order]
length = 8
[encodings.rope]
[encodings.nope]
"""


@pytest.fixture
def grid(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(GRID, encoding="utf-8")
    return file


@pytest.fixture
def in_process(monkeypatch):
    """Train here: a process of its own loads PyTorch first, which takes longer than the grid."""
    from gnomon.lab import worker

    # The front keeps a name once it was asked for: what the command line reads is patched.
    monkeypatch.setattr("gnomon.lab.Processes", lambda _: worker.InProcess())


def test_a_grid_runs_in_processes_and_its_status_says_how_far_it_is(grid, capsys):
    assert run(["lab", "status", str(grid), "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["done"] == 0
    assert run(["lab", "run", str(grid), "--workers", "2", "-q"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["lab", "status", str(grid), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["done"], told["cells"]) == (4, 4)
    assert [len(one["scores"]) for one in told["reported"]] == [2, 2]
    assert len(list((grid.parent / "small").glob("order/*/*.json"))) == 4
    assert run(["lab", "run", str(grid)]) == 0
    shown = capsys.readouterr().out
    assert "small: 4 of 4 cells" in shown
    assert "steps to 90 %" in shown


@pytest.mark.usefixtures("in_process")
def test_the_longer_text_has_what_the_sweep_tried(grid, capsys):
    """Each mean is that of the areas in the records of its cells."""
    swept = GRID + "[sweep]\nlearning_rate = [0.001, 0.01]\nseeds = [7, 8]\n"
    grid.write_text(swept.replace("[encodings.nope]\n", ""), encoding="utf-8")
    assert run(["lab", "run", str(grid), "-v", "--workers", "1"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "tried for" in line)
    areas: dict[float, list[float]] = {}
    for path in (grid.parent / "small").glob("order/rope/selection-*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        areas.setdefault(record["cell"]["training"]["learning_rate"], []).append(record["area"])
    means = [f"learning_rate {rate:g}: {sum(areas[rate]) / 2:.3f}" for rate in (0.001, 0.01)]
    assert line == f"tried for order, rope: {'; '.join(means)}"


def test_a_grid_that_can_not_be_read_ends_with_one_sentence_and_code_2(grid, capsys):
    grid.write_text(GRID.replace("rope", "rop"), encoding="utf-8")
    assert run(["lab", "run", str(grid)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("gnomon: The cell of task 'order', encoding 'rop', seed 0 cannot work")
    assert error.count("\n") == 1
    assert run(["lab", "run", str(grid.parent / "none.toml")]) == 2
    assert "none.toml cannot be read" in capsys.readouterr().err


@pytest.mark.usefixtures("in_process")
def test_cells_that_failed_are_not_done_and_the_exit_code_says_so(grid, capsys, monkeypatch):
    from gnomon.lab import worker

    def failing(cell, folder, *, attempt=1):
        raise RuntimeError("no such luck")

    with monkeypatch.context() as patched:
        patched.setattr(worker, "run_cell", failing)
        assert run(["lab", "run", str(grid)]) == 1
    shown = capsys.readouterr().out
    assert "small: 0 of 4 cells" in shown
    assert shown.count("RuntimeError: no such luck") == 4
    assert run(["lab", "status", str(grid), "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["done"] == 0


def test_tasks_are_listed_and_each_is_drawn_with_its_ceiling(capsys, monkeypatch):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    assert run(["lab", "tasks"]) == 0
    assert "distance            Name the distance from a to b" in capsys.readouterr().out
    assert run(["lab", "tasks", "--json", "-"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["tasks"]]
    for name in names:
        assert run(["lab", "tasks", name, "--json", "-"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert "\n\n    " in told["drawing"], name
        assert told["ceiling"] is None or told["ceiling"]["value"] <= 1.0
    assert run(["lab", "tasks", "order"]) == 0
    shown = capsys.readouterr().out
    assert "accuracy 1 (exact); without order 0.5, one answer to all 0.5" in shown
    assert run(["lab", "tasks", "splice"]) == 0
    assert "ceiling      task splice reads real data: name the folder" in capsys.readouterr().out
    assert run(["lab", "tasks", "ordr"]) == 2
    assert "'ordr' is no task; did you mean 'order'?" in capsys.readouterr().err
