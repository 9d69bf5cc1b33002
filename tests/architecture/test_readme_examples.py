"""What README and index show can be typed: Python examples and commands run as they stand."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gnomon.cli.app import run as command

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
COMMANDS = sorted(set(re.findall(r"^    gnomon (.*)$", README + INDEX, re.MULTILINE)))

MODEL = """
import numpy as np

def rotate(x, positions):
    phases = positions[:, None] * 10000.0 ** (-np.arange(32) / 32)
    a, b = x[:, :32], x[:, 32:]
    cosine, sine = np.cos(phases), np.sin(phases)
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)
"""

GRID = """
[model]
dimension = 16
heads = 2
layers = 1
[training]
steps = 2
batch = 4
held_out = 16
[tasks.order]
length = 8
[encodings.rope]
"""


@pytest.fixture
def desk(tmp_path: Path, rng: np.random.Generator) -> Path:
    """A folder with the files the README talks about, of words drawn at random."""
    words = np.array(["sun", "dial", "shadow", "noon", "hour", "stone"])
    rows = [" ".join(rng.choice(words, size=80)) for _ in range(60)]
    with (tmp_path / "reviews.csv").open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([["text"], *([row] for row in rows)])
    genes = ["".join(rng.choice(list("ACGT"), size=320)) for _ in range(60)]
    fasta = "".join(f">gene{number}\n{gene}\n" for number, gene in enumerate(genes))
    (tmp_path / "genes.fasta").write_text(fasta, encoding="utf-8")
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    np.save(tmp_path / "X.npy", [[0.0, -0.5], [0.5, 0.0]])
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("example", "shown"), PYTHON)
def test_the_python_example_of_the_readme_prints_what_it_shows(
    desk: Path, example: str, shown: str
) -> None:
    done = run(desk, "-W", "error", "-c", example)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


def commands_on(name: str) -> list[str]:
    return [line.partition("#")[0].strip() for line in COMMANDS if name in line]


TRIED = (
    "reviews.csv",
    "genes.fasta",
    "catalogue",
    "card ",
    "verify ",
    "classify ",
    "spectrum ",
    "lab ",
)


@pytest.mark.parametrize("line", [line for name in TRIED for line in commands_on(name)])
def test_a_command_of_the_readme_runs_as_it_stands(
    desk: Path, line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(desk)
    assert command(shlex.split(line)) == 0, capfd.readouterr().err


def test_the_readme_has_examples_to_try() -> None:
    """Without this, a change of layout could empty the tests above."""
    assert len(PYTHON) == README.count("```python")
    assert PYTHON
    assert all(commands_on(name) for name in TRIED)
