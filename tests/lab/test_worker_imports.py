"""A worker runs our code and the installed libraries', and nothing that lies where it stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("torch")
executor = pytest.importorskip("gnomon.lab.worker")

PLANTED = ("json", "random", "torch", "numpy", "gnomon", "sitecustomize", "usercustomize", "queue")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with modules of well-known names, each of which leaves a mark."""
    for name in PLANTED:
        mark = f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})\n"
        (tmp_path / f"{name}.py").write_text(mark)
    monkeypatch.chdir(tmp_path)
    return tmp_path


WIDE = pytest.mark.wide  # each case starts a process that loads PyTorch


@pytest.mark.parametrize(
    "said",
    [None, "", f".{os.pathsep}", *(pytest.param(x, marks=WIDE) for x in (".", "./", os.pathsep))],
)
def test_a_worker_imports_nothing_from_the_folder_it_stands_in(planted, monkeypatch, said) -> None:
    if said is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", said)
    source = str(Path(executor.__file__).parents[2])
    if said:  # the place of our own source, where it is not installed, beside the rest
        monkeypatch.setenv("PYTHONPATH", said + os.pathsep + source)
    worker = executor.start_worker()
    try:
        began = executor.is_ready(worker)
    finally:
        executor._end_worker(worker)
    assert not (planted / "mark").exists()
    assert began


def test_what_the_user_put_on_the_path_is_kept(monkeypatch, tmp_path) -> None:
    told = {}
    monkeypatch.setattr(
        executor.subprocess, "Popen", lambda line, **more: told.update(more, line=line)
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(tmp_path), ".", "lib"]))
    executor.start_worker()
    assert told["env"]["PYTHONPATH"] == os.pathsep.join([str(tmp_path), "lib"])
    assert "-P" in told["line"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    executor.start_worker()
    assert "PYTHONPATH" not in told["env"]


def test_leftovers_of_killed_workers_are_removed_when_a_grid_is_run(tmp_path, monkeypatch) -> None:
    from gnomon.lab import run as running

    left = tmp_path / ".cell.checkpoint.999999999.0123abcd.tmp"
    left.write_bytes(b"half")
    monkeypatch.setattr(running, "check_cells", lambda *_, **__: None)
    monkeypatch.setattr(running, "pairs_to_run", lambda *_: [])
    monkeypatch.setattr(running, "_forget_failures", lambda *_: None)
    monkeypatch.setattr(running, "_run_all", lambda *_: None)
    monkeypatch.setattr(running, "status", lambda *_: _Made())
    running.run_grid(None, tmp_path)
    assert not left.exists()


class _Made:
    def to_dict(self) -> dict[str, int]:
        return {}
