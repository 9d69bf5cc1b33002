"""How the tests of the command line call it, and what every refusal must look like."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gnomon.cli.app import run

SOURCE = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True)
class Called:
    """What came of a call."""

    code: int
    out: str
    err: str


Call = Callable[..., Called]
Refused = Callable[..., str]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """Run the command line in this process."""

    def calling(*arguments: object) -> Called:
        code = run([str(argument) for argument in arguments])
        seen = capfd.readouterr()
        return Called(code, seen.out, seen.err)

    return calling


@pytest.fixture
def refused(call: Call, tmp_path: Path) -> Refused:
    """Call with bad input, which must be refused in one sentence and leave no file."""

    def refusing(*arguments: object) -> str:
        out = tmp_path / "out"
        called = call(*arguments, "--out", out)
        assert called.code == 2, called
        assert called.out == ""
        return the_sentence(called.err, out)

    return refusing


def the_sentence(err: str, out: Path) -> str:
    """Return the one line of standard error, after checking that nothing was written to `out`."""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("gnomon: ")
    assert lines[0].endswith((".", "?"))
    assert not out.exists() or not list(out.iterdir())
    return lines[0].removeprefix("gnomon: ")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment of a child process that runs this source with a token cache of its own."""
    return os.environ | {
        "PYTHONPATH": str(SOURCE),
        "GNOMON_CACHE": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start `python -m gnomon` as a process of its own."""

    def starting(*arguments: object, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "gnomon", *map(str, arguments)],
            env=environment,
            cwd=tmp_path,
            text=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
        )

    return starting


@pytest.fixture
def lines() -> list[str]:
    """Two hundred short documents of six words, whose law depends on the position."""
    rng = np.random.default_rng(7)
    words = np.array(list("abcdef"))
    return [" ".join(words[(rng.integers(0, 3, 8) + np.arange(8) // 3)]) for _ in range(200)]


@pytest.fixture
def corpus(tmp_path: Path, lines: list[str]) -> Path:
    """A corpus that can be surveyed in a moment."""
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
