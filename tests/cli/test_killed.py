"""A survey that is interrupted or killed leaves whole files or none, and can be repeated."""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnomon.corpus import cache
from gnomon.corpus.counts import load_counts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
Start = Callable[..., subprocess.Popen[str]]
PATIENCE = 600.0
"""Seconds that are given to what takes ten, on a machine that has other things to do."""


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Let children hear SIGINT also where the tests run in the background, deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1.2 million tokens of Zipfian words: reading and writing take long enough to be met."""
    rng = np.random.default_rng(3)
    words = np.array([f"w{i}" for i in range(20_000)])
    path = tmp_path_factory.mktemp("killed") / "large.txt"
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(15):
            ids = (rng.pareto(1.0, (2000, 40)) * 50).astype(int) % len(words)
            stream.writelines(" ".join(row) + "\n" for row in words[ids])
    return path


def until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for something to be there, or for the process to end."""
    end = time.monotonic() + PATIENCE
    while not happened() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def temporaries(folder: Path) -> list[Path]:
    return list(folder.glob(".*.tmp")) if folder.is_dir() else []


def size(files: list[Path]) -> int:
    """Bytes of those files that are still there."""
    found = 0
    for path in files:
        with contextlib.suppress(FileNotFoundError):
            found += path.stat().st_size
    return found


@pytest.mark.parametrize("where", ["cache", "before"])
def test_an_interrupt_is_one_sentence_and_leaves_nothing(
    start: Start, large: Path, tmp_path: Path, where: str
) -> None:
    """Ctrl-C while the token cache is being written, and right after the program began to work."""
    out, cached = tmp_path / "out", tmp_path / "cache"
    with start("survey", large, "--out", out) as process:
        until(lambda: bool(temporaries(cached)), process)
        time.sleep(0.15 if where == "cache" else 0.0)
        process.send_signal(signal.SIGINT)
        printed, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed) == (130, "")
    assert err == "gnomon: interrupted; nothing was left half-written.\n"
    assert not out.exists()
    assert list(cached.iterdir()) == []


def test_an_interrupt_while_the_files_are_written_leaves_nothing(
    start: Start, large: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with start("survey", large, "--out", out) as process:
        until(lambda: bool(temporaries(out)), process)
        process.send_signal(signal.SIGINT)
        printed, err = process.communicate(timeout=PATIENCE)
    assert temporaries(out) == []
    if process.returncode == 0:  # the signal came when all was done
        assert whole(out)["corpus"]["rows"] == 30_000
        return
    assert (process.returncode, printed) == (130, "")
    assert err == "gnomon: interrupted; nothing was left half-written.\n"
    assert not (out / "survey.json").exists()


Moment = Callable[[Path, Path], bool]
MOMENTS: dict[str, Moment] = {
    "reading begins": lambda _, cached: bool(temporaries(cached)),
    "much is read": lambda _, cached: size(temporaries(cached)) > 10**5,
    "the cache is written": lambda _, cached: bool(list(cached.glob("*.parquet"))),
    "results are written": lambda out, _: bool(temporaries(out)),
}
"""When the process is killed, by what lies in the folder of results and in the cache."""


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(name, marks=() if name == "results are written" else pytest.mark.wide)
        for name in MOMENTS
    ],
)
def test_a_killed_survey_leaves_whole_files_or_none_and_a_second_one_is_undisturbed(
    start: Start, large: Path, tmp_path: Path, moment: str
) -> None:
    """SIGKILL; the interrupts above meet the cache, so by default it strikes at the results."""
    out, cached = tmp_path / "out", tmp_path / "cache"
    undisturbed = surveyed(start, large, tmp_path / "undisturbed")
    for path in cached.iterdir():
        path.unlink()
    with start("survey", large, "--out", out, "-q") as process:
        until(lambda: MOMENTS[moment](out, cached), process)
        process.kill()
        process.communicate(timeout=PATIENCE)
    if (out / "survey.json").exists():
        whole(out)
    for entry in cached.glob("*.parquet"):
        found = cache.CacheEntry.open(entry, entry.stem)
        assert found is not None
        assert sum(batch.rows for batch in found.batches()) == found.rows == 30_000
    again = surveyed(start, large, out)
    assert numbers(again) == numbers(undisturbed)
    assert temporaries(out) == []
    assert load_counts(out / "counts.npz").digest == undisturbed["corpus"]["digest"]


def surveyed(start: Start, corpus: Path, out: Path) -> dict[str, Any]:
    """Survey to the end and return what was written."""
    with start("survey", corpus, "--out", out, "-q") as process:
        printed, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed, err) == (0, "", "")
    return whole(out)


def whole(out: Path) -> dict[str, Any]:
    """Load every file of a finished survey; each must belong to the others."""
    from safetensors.numpy import load_file

    found: dict[str, Any] = json.loads((out / "survey.json").read_text(encoding="utf-8"))
    assert load_counts(out / "counts.npz").digest == found["corpus"]["digest"]
    assert len(load_file(out / "encoding.safetensors")["status"]) == found["corpus"]["length"]
    return found


def numbers(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out what may differ between two runs: the command, and whether the cache was used."""
    corpus = {key: value for key, value in found["corpus"].items() if key != "notes"}
    kept = {key: found[key] for key in ("positions", "geometry", "encodings", "dimensions")}
    return kept | {"corpus": corpus}


def test_an_interrupt_while_the_program_loads_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    importing = builtins.__import__

    def interrupted(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "gnomon.cli.app":
            raise KeyboardInterrupt
        return importing(name, *arguments, **options)

    from gnomon.__main__ import main

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit, match="130"):
        main()
    monkeypatch.undo()
    assert capsys.readouterr().err == "gnomon: interrupted; nothing was left half-written.\n"
