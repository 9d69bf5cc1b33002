"""The records of grids: verdicts follow from their evidence, and the page from them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from gnomon.lab.grid import built_in_grids, read_grid
from gnomon.lab.run import status
from gnomon.reproduce.claims import decide
from gnomon.reproduce.registry import REPRODUCTIONS

ROOT = Path(__file__).resolve().parents[2]
FOUND = sorted((ROOT / "benchmarks" / "records" / "lab").glob("*.json"))
PRIVATE = re.compile(r"""(?:^|[\s"'=])(?:/\w|[A-Z]:\\|~|\.\./)""")
RAW = sorted((ROOT / "benchmarks" / "records" / "lab" / "raw").glob("*.tar.xz"))


def named(path: Path) -> str:
    return path.name.removesuffix(".tar.xz")


ENTRIES = {name for name, entry in REPRODUCTIONS.items() if entry.runs_grids}


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_every_verdict_on_grids_follows_from_its_evidence(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not PRIVATE.search(text)
    record = json.loads(text)
    pieces = record["corpora"]["laboratory"]["evidence"]
    for verdict in record["verdicts"]:
        readings = []
        for piece in pieces[verdict["claim"]]:
            ends, bound = piece["interval"], piece["bound"]
            above = ends is not None and ends[0] > bound
            below = ends is not None and ends[1] < bound
            wanted, other = (above, below) if piece["relation"] == ">" else (below, above)
            readings.append("for" if wanted else "against" if other else "open")
        assert readings == [piece["reading"] for piece in pieces[verdict["claim"]]]
        assert decide(readings) == verdict["holds"]


@pytest.mark.parametrize(
    "path", [one for one in RAW if named(one) in built_in_grids()], ids=lambda path: path.name
)
def test_the_runs_that_are_kept_are_all_of_the_grid_that_ships(path: Path, tmp_path: Path) -> None:
    """A cell that was changed since would be left over, and have to be trained."""
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    name = named(path)
    found = status(read_grid(name), tmp_path / name)
    assert found.complete
    assert not found.failed


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_a_result_rests_on_the_runs_that_are_kept(path: Path) -> None:
    """What was fitted to a corpus is in no grid that ships: its runs are counted."""
    for name, grid in json.loads(path.read_text("utf-8"))["corpora"]["laboratory"]["grids"].items():
        with tarfile.open(path.parent / "raw" / f"{name}.tar.xz") as archive:
            runs = [
                one for one in archive.getnames() if re.fullmatch(rf"{name}/.+/.+/.+\.json", one)
            ]
        assert len(runs) == grid["runs"]


def test_what_optimisation_was_measured_by_is_kept_for_every_seed() -> None:
    record = json.loads((ROOT / "benchmarks/records/lab/deposit.json").read_text("utf-8"))
    with tarfile.open(ROOT / "benchmarks/records/lab/raw/deposit-optimisation.tar.xz") as archive:
        names = [one.name for one in archive.getmembers() if one.isfile()]
        kept = [json.load(archive.extractfile(name)) for name in names]
    rates = [one["stable_rate"] for one in kept]
    told = record["corpora"]["laboratory"]["optimisation"]
    assert sorted(rates) == sorted(rate for line in told for rate in line["stable_rates"])


def test_every_reproduction_by_training_has_its_grid() -> None:
    assert set(built_in_grids()) >= ENTRIES


@pytest.mark.parametrize("name", sorted(built_in_grids()))
def test_every_grid_that_ships_chooses_and_reports_on_different_seeds(name: str) -> None:
    made = read_grid(built_in_grids()[name])
    assert made.question.endswith("?")
    assert len(made.report.seeds) >= 3
    assert not set(made.report.seeds) & set(made.sweep.seeds)


def test_the_page_of_the_laboratory_is_what_its_script_writes(tmp_path: Path) -> None:
    page = ROOT / "docs" / "laboratory.md"
    made = tmp_path / "laboratory.md"
    shutil.copy(page, made)
    script = ROOT / "scripts" / "lab_results.py"
    subprocess.run([sys.executable, str(script), str(made)], check=True, cwd=tmp_path)
    assert made.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
    fresh, there = (
        {file.name: file.read_text(encoding="utf-8") for file in folder.glob("lab-*.svg")}
        for folder in (tmp_path / "figures", ROOT / "docs" / "figures")
    )
    assert fresh == there
