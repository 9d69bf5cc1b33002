"""Records of settings that a grid has no more: never mixed with those of the grid as it is."""

from __future__ import annotations

import dataclasses

import pytest

from gnomon.errors import LabError
from gnomon.lab.grid import grid_of
from gnomon.lab.records import Record, read_records, write_record
from gnomon.lab.run import Progress
from gnomon.lab.table import folder_table, grid_table

TINY = {
    "model": {"dimension": 16, "heads": 2, "layers": 1},
    "training": {"steps": 40},
    "sweep": {"learning_rate": [1e-3, 3e-3], "seeds": [100]},
    "report": {"seeds": [0, 1]},
    "tasks": {"order": {"length": 8}},
    "encodings": {"rope": {}},
}


def grid(**changes):
    return grid_of({**TINY, **changes}, name="tiny")


def planted(made, folder, scores):
    """Fill a folder with records of every cell of a grid, with a score by learning rate."""
    while cells := Progress(made, folder).next_cells():
        for cell in cells:
            score = scores[cell.training.learning_rate]
            told = {"area": score, "score": score, "cpu_seconds": 1.0}
            write_record(
                cell.file(folder), Record(cell=cell.to_dict(), status="done", curve=(), **told)
            )


def test_a_table_of_a_grid_leaves_out_what_was_run_with_other_settings(tmp_path):
    old, new = grid(), grid(training={"steps": 30})
    planted(old, tmp_path, {1e-3: 0.1, 3e-3: 0.2})
    planted(new, tmp_path, {1e-3: 0.8, 3e-3: 0.9})
    assert len(read_records(tmp_path)) == 8
    for asked, steps, score in ((new, 30, 0.9), (old, 40, 0.2)):
        made = folder_table(tmp_path, grid=asked)
        (row,) = made["rows"]
        assert (row["seeds"], row["scores"], row["steps"]) == ([0, 1], [score] * 2, steps)
        assert (made["runs"], made["cpu_seconds"]) == (4, 4)
        assert [tried["mean"] for tried in row["tried"]] == pytest.approx([score - 0.1, score])


def test_a_table_of_a_grid_has_the_rate_that_is_chosen_now(tmp_path):
    planted(grid(), tmp_path, {1e-3: 0.1, 3e-3: 0.2})
    more = grid(sweep={"learning_rate": [1e-3, 3e-3, 1e-2], "seeds": [100]})
    planted(more, tmp_path, {1e-3: 0.1, 3e-3: 0.2, 1e-2: 0.7})
    (row,) = folder_table(tmp_path, grid=more)["rows"]
    assert row["choice"] == {"learning_rate": 1e-2}
    assert row["scores"] == [0.7, 0.7]
    with pytest.raises(LabError, match=r"with training\.learning_rate 0\.0(03|1) and 0\.0(03|1);"):
        folder_table(tmp_path)


@pytest.mark.parametrize("seeds", [[0, 1], [5, 6]])
def test_a_folder_with_two_settings_in_a_row_is_refused_and_the_remedy_named(seeds, tmp_path):
    planted(grid(), tmp_path, {1e-3: 0.1, 3e-3: 0.2})
    other = grid(training={"steps": 30}, report={"seeds": seeds})
    planted(other, tmp_path, {1e-3: 0.1, 3e-3: 0.2})
    words = (
        r"task 'order' and encoding 'rope' with training\.steps \d0 and \d0; name their grid to "
        r"say which count \(`gnomon lab report GRID --records FOLDER`\)"
    )
    with pytest.raises(LabError, match=words):
        folder_table(tmp_path)


def test_a_seed_that_is_there_twice_is_refused(tmp_path):
    planted(grid(), tmp_path, {1e-3: 0.1, 3e-3: 0.2})
    first = next(tmp_path.glob("*/*/report-1-*.json"))
    first.with_name("copy.json").write_bytes(first.read_bytes())
    with pytest.raises(LabError, match="encoding 'rope' twice for seed 1; name their grid"):
        folder_table(tmp_path)
    assert folder_table(tmp_path, grid=grid())["rows"][0]["seeds"] == [0, 1]


def test_versions_are_those_of_all_runs(tmp_path):
    planted(grid(), tmp_path, {1e-3: 0.1, 3e-3: 0.2})
    runs = [
        dataclasses.replace(one, versions={"torch": torch, "numpy": "2.4"})
        for one, torch in zip(read_records(tmp_path), ("2.12", "2.13", "2.13", "2.12"), strict=True)
    ]
    assert grid_table(runs)["versions"] == {"torch": "2.12, 2.13", "numpy": "2.4"}
