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


PLANTED = [
    ("distances", "import gnomon.corpus", "gnomon.corpus"),
    ("corpus", "import gnomon.pipeline", "gnomon.pipeline"),
    ("encodings", "def f():\n    import torch", "torch"),
    ("corpus", "def f():\n    import torch", "torch"),
    ("pipeline", "import gnomon.cli", "gnomon.cli"),
]
"""Imports against the stream: where, how, and of what."""


def copied(folder: Path) -> Path:
    """A copy of the project that a test may spoil."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    return folder


def test_the_rooms_keep_their_contracts() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_planted_import_against_the_stream_is_named(tmp_path: Path) -> None:
    """All in one copy, each in a module of its own: the linter reads all of the source."""
    folder = copied(tmp_path)
    for number, (room, statement, _) in enumerate(PLANTED):
        module = folder / "src" / "gnomon" / room / f"planted{number}.py"
        module.write_text(statement, encoding="utf-8")
    done = lint(folder)
    assert done.returncode == 1, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    for number, (room, _, imported) in enumerate(PLANTED):
        assert f"gnomon.{room}.planted{number} -> {imported}" in said


def test_a_room_must_be_placed_before_it_can_exist(tmp_path: Path) -> None:
    room = copied(tmp_path) / "src" / "gnomon" / "attic"
    room.mkdir()
    (room / "__init__.py").touch()
    done = lint(tmp_path)
    assert done.returncode != 0
    assert "attic" in done.stdout + done.stderr
