"""The rooms keep their contracts, and the contracts can be broken.

A violation planted in a copy of the source must be named: a contract that nothing can break
protects nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the `src` of a folder, whatever else is installed."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--no-logo"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project that a test may spoil."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    return tmp_path


def test_the_rooms_keep_their_contracts() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("room", "planted", "named"),
    [
        ("distances", "import gnomon.corpus", "gnomon.distances.planted -> gnomon.corpus"),
        ("corpus", "import gnomon.pipeline", "gnomon.corpus.planted -> gnomon.pipeline"),
        ("encodings", "def f():\n    import torch", "gnomon.encodings.planted -> torch"),
        ("corpus", "def f():\n    import torch", "gnomon.corpus.planted -> torch"),
        ("pipeline", "import gnomon.cli", "gnomon.pipeline.planted -> gnomon.cli"),
    ],
)
def test_a_planted_import_against_the_stream_is_named(
    copy: Path, room: str, planted: str, named: str
) -> None:
    (copy / "src" / "gnomon" / room / "planted.py").write_text(planted, encoding="utf-8")
    done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert named in " ".join(done.stdout.split())


def test_a_room_must_be_placed_before_it_can_exist(copy: Path) -> None:
    room = copy / "src" / "gnomon" / "attic"
    room.mkdir()
    (room / "__init__.py").touch()
    done = lint(copy)
    assert done.returncode != 0
    assert "attic" in done.stdout + done.stderr
