"""The records of real models: verdicts and rows follow from what they hold, pages from them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "benchmarks" / "records"
FOUND = sorted(RECORDS.glob("scaling-*.json"))
PRIVATE = re.compile(r"""(?:^|[\s"'=])(?:/\w|[A-Z]:\\|~|\.\./)""")
COMPARISONS = {"<": np.less, "<=": np.less_equal, ">=": np.greater_equal}


def load(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    record = json.loads(path.read_text(encoding="utf-8"))
    (details,) = record["corpora"].values()
    return record, details


def test_there_is_a_record_of_smollm2() -> None:
    assert any("smollm2" in path.stem for path in FOUND)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_a_record_names_its_command_and_no_private_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not PRIVATE.search(text)
    record, details = load(path)
    assert record["provenance"]["command"].startswith("gnomon reproduce scaling ")
    assert len(details["documents"]) >= 2
    assert all(len(one["sha256"]) == 64 for one in details["documents"].values())


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_every_verdict_on_scalings_follows_from_its_evidence(path: Path) -> None:
    record, details = load(path)
    for verdict in record["verdicts"]:
        pieces = details["evidence"][verdict["claim"]]
        said = np.concatenate(
            [COMPARISONS[piece["relation"]](piece["values"], piece["bounds"]) for piece in pieces]
        )
        outcome = "holds" if said.all() else "depends" if said.any() else "does not hold"
        assert verdict["holds"] == outcome


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_rows_and_evidence_follow_from_the_losses_of_the_documents(path: Path) -> None:
    record, details = load(path)
    losses = [one["losses"] for one in details["documents"].values()]
    trained = details["model"]["trained_length"]
    sizes = np.array([last + 1 - max(first, 1) for first, last in details["bins"]])
    later = np.array([first >= trained for first, _ in details["bins"]])
    pieces = [piece for found in details["evidence"].values() for piece in found]
    values = {piece["what"]: piece["values"] for piece in pieces}
    for line in set(losses[0]) - {"cut"}:
        more = np.array([np.subtract(one[line], one["cut"]) for one in losses])
        rows = [row["ours"][line] for row in record["rows"]]
        np.testing.assert_allclose(rows, np.exp(more.mean(axis=0)), rtol=1e-4)
        beyond = (more * sizes * later).sum(axis=1) / (sizes * later).sum()
        np.testing.assert_allclose(values[f"{line}, beyond"], np.exp(beyond), rtol=1e-4)
        assert line != "unscaled" or np.abs(more[:, ~later]).max() == 0.0


def test_the_page_on_real_models_is_what_the_records_say(tmp_path: Path) -> None:
    page = tmp_path / "real-models.md"
    shutil.copy(ROOT / "docs" / "real-models.md", page)
    command = [sys.executable, str(ROOT / "scripts" / "scaling_page.py"), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert page.read_text("utf-8") == (ROOT / "docs" / "real-models.md").read_text("utf-8")
    for path in FOUND:
        drawn = (tmp_path / "figures" / f"{path.stem}.svg").read_text("utf-8")
        assert drawn == (ROOT / "docs" / "figures" / f"{path.stem}.svg").read_text("utf-8")
