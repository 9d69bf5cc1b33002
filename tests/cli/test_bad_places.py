"""What cannot be written is said in one sentence, and leaves nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnomon import files
from gnomon.corpus.counts import load_counts
from gnomon.errors import StorageError

POSIX = pytest.mark.skipif(os.name != "posix", reason="limits and devices of POSIX systems")
FILES = {"counts.npz", "encoding.safetensors", "geometry.npz", "report.html", "survey.json"}


@pytest.mark.parametrize("below", [(), ("deeper",)])
def test_a_file_in_place_of_the_folder_is_named_before_the_work_is_done(
    call, corpus: Path, below: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.pipeline.surveys.survey_with", _unreachable)
    out = corpus.joinpath(*below)
    called = call("survey", corpus, "--out", out)
    assert (called.code, called.out) == (2, "")
    assert called.err == (
        f"gnomon: {out} could not be written ({corpus} is a file); "
        "choose a folder you may write to.\n"
    )


def test_json_below_a_file_is_refused_before_the_work_is_done(
    call, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.pipeline.surveys.survey_with", _unreachable)
    called = call("survey", corpus, "--json", corpus / "result.json")
    assert (called.code, called.out) == (2, "")
    assert f"could not be written ({corpus} is a file)" in called.err


def _unreachable(*_: Any, **__: Any) -> None:
    raise RuntimeError("the work was done")


@POSIX
def test_a_folder_without_permission_is_refused(call, corpus: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        pytest.skip("this user may write anywhere")
    called = call("survey", corpus, "--out", closed / "out")
    assert (called.code, called.out) == (2, "")
    assert (
        "could not be written (Permission denied); choose a folder you may write to." in called.err
    )


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_full_disk_is_said_for_the_file_that_met_it_and_leaves_the_old_ones(
    call, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """ENOSPC while one of the three files is flushed, in a folder that holds an older survey."""
    out = tmp_path / "out"
    assert call("survey", corpus, "--length", 4, "--out", out).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert set(before) == FILES
    filling = files.fill

    def full(path: Path, write: Callable[..., Any]) -> None:
        filling(path, write)
        if path.name.startswith(f".{name}."):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "fill", full)
    called = call("survey", corpus, "--out", out)
    assert (called.code, called.out) == (2, "")
    assert called.err == (
        f"gnomon: {out / name} could not be written: no room left on its disk; "
        "free some, or choose another folder.\n"
    )
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@POSIX
@pytest.mark.parametrize("limit", [512, 8_000])
def test_a_real_limit_on_file_sizes_is_met_in_one_sentence(
    corpus: Path, tmp_path: Path, environment: dict[str, str], limit: int
) -> None:
    """RLIMIT_FSIZE stands for a full disk: the system itself refuses to write on."""
    program = (
        "import resource, sys; from gnomon.cli.app import run; "
        f"run(['survey', {str(corpus)!r}, '-q', '--no-cache']); "  # compile first
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); "
        "sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "survey", corpus, "--out", tmp_path / "out"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gnomon: ")
    assert "could not be written: no room left on its disk; free some" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []
    assert not list((tmp_path / "cache").glob(".*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("survey", "digits")])
def test_full_standard_output_is_one_sentence(
    start: Callable[..., subprocess.Popen[str]], arguments: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = start(*arguments, stdout=full)
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.startswith("gnomon: standard output or compiled code could not be written (No space")
    assert err.count("\n") == 1


def test_output_closed_early_gives_no_complaint(
    start: Callable[..., subprocess.Popen[str]], corpus: Path
) -> None:
    """`gnomon survey ... | head -1`, with a reader that leaves before anything was written."""
    with start("survey", corpus, "--json", "-") as process:
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (0, "")


def test_a_folder_is_made_and_holds_files_that_can_be_read(
    call, corpus: Path, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file

    out = tmp_path / "new" / "folder"
    called = call("survey", corpus, "--out", out, "--dimension", 16)
    assert called.code == 0
    assert called.out.endswith(f"written to {out}\npage: {out / 'report.html'}\n")
    assert {path.name for path in out.iterdir()} == FILES
    found = json.loads((out / "survey.json").read_text(encoding="utf-8"))
    assert load_counts(out / "counts.npz").tokens == found["corpus"]["tokens"] == 1600
    assert len(load_file(out / "encoding.safetensors")["status"]) == 8


@POSIX
def test_leftovers_of_dead_processes_are_removed_and_those_of_living_ones_are_not(
    tmp_path: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    left = tmp_path / f".survey.json.{dead.pid}.0123abcd.tmp"
    mine = tmp_path / f".survey.json.{os.getpid()}.0123abcd.tmp"
    other = tmp_path / f".notes.txt.{dead.pid}.0123abcd.tmp"
    for path in (left, mine, other):
        path.write_text("{", encoding="utf-8")
    files.remove_leftovers(tmp_path, ["survey.json"])
    assert sorted(tmp_path.iterdir()) == sorted([mine, other])


def test_files_that_belong_together_are_named_in_the_promised_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is named last: a reader that finds it finds the others whole."""
    named: list[str] = []
    replacing = Path.replace

    def replace(self: Path, target: Path) -> Path:
        assert not (tmp_path / "first").exists()
        named.append(target.name)
        return replacing(self, target)

    (tmp_path / "first").write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", replace)
    content = {name: lambda handle: handle.write(b"new") for name in ("first", "second", "third")}
    files.write_together(tmp_path, content)
    assert named == ["third", "second", "first"]
    assert {path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"new"}


def test_writing_where_a_folder_is_says_so(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StorageError, match=r"taken could not be written \(.*\); choose a folder"):
        files.write_text(tmp_path / "taken", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@POSIX
def test_a_disk_too_full_for_compiled_code_is_one_sentence(
    corpus: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The first survey after installation also writes compiled kernels."""
    program = (
        "import resource, sys; from gnomon.cli.app import run; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900)); sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "survey", corpus, "--out", tmp_path / "out"],
        env=environment | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gnomon: standard output or compiled code could not be written (")
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
