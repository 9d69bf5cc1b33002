"""Cells whose encoding is a file: their digest is of what the file holds."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import LabError
from gnomon.lab.grid import Cell, ModelConfig, grid_of
from gnomon.lab.tasks import task


def table_of(name):
    return {
        "tasks": {"order": {"length": 8}},
        "encodings": {"own": {"name": name}},
        "model": {"dimension": 8, "heads": 2},
    }


def cell_of(name):
    grid = grid_of(table_of(str(name)), name="try")
    return grid.cell("order", "own", choice={}, seed=0, phase="report")


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "a" / "own.npy"
    file.parent.mkdir()
    np.save(file, np.random.default_rng(0).standard_normal((8, 8)))
    return file


def test_the_digest_of_a_file_is_that_of_its_contents_however_its_path_is_spelled(
    table, tmp_path, monkeypatch
):
    copy = tmp_path / "another name.npy"
    copy.write_bytes(table.read_bytes())
    monkeypatch.chdir(table.parent)
    digests = {cell_of(name).digest for name in (table, "own.npy", "./own.npy", copy)}
    assert len(digests) == 1
    np.save(table, np.zeros((8, 8)))
    assert cell_of(table).digest not in digests
    assert cell_of("rope").digest not in digests


def test_a_cell_with_a_file_is_read_back_as_it_was_written(table):
    cell = cell_of(table)
    again = Cell.from_dict(cell.to_dict())
    assert again.digest == cell.digest
    assert again.parts[0].name == str(table)


def test_a_file_that_changed_after_its_cell_was_made_is_refused(table):
    pytest.importorskip("torch")
    from gnomon.lab.variants import build_placements

    parts, how, on = cell_of(table).parts, ModelConfig(dimension=8, heads=2), task("order")
    (made,) = build_placements(parts, how, on, seed=0)
    np.testing.assert_allclose(made.encoding.vectors(np.arange(8.0)), np.load(table), rtol=1e-6)
    np.save(table, np.zeros((8, 8)))
    with pytest.raises(LabError, match="has changed since its cell was made; read the grid again"):
        build_placements(parts, how, on, seed=0)
    table.unlink()
    with pytest.raises(LabError, match=r"cannot be read \(No such file or directory\); put"):
        build_placements(parts, how, on, seed=0)
