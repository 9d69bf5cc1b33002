"""Devices, bombs, code that ends the process, streams that are closed, and numbers without end."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.cli.app import run
from gnomon.errors import EncodingError, InputError
from gnomon.lab.run import alone_in
from gnomon.reading import UnreadableError, load_array, open_archive, parse_json, parse_toml

ENDS = """
import sys
class Own(BaseException): pass
def leave(x, p): sys.exit(0)
def close(x, p): raise GeneratorExit
def own(x, p): raise Own
def ours(x, p):
    import gnomon
    raise gnomon.GnomonError("x")
def stream(x, p):
    sys.stdout.close()
    return x
async def later(x, p): return x
def gives(x, p): return later(x, p)
def forks(x, p):
    import os
    forked = os.fork()
    if not forked: return x
    os.waitpid(forked, 0)
    return x
"""


@pytest.mark.parametrize("name", ["z.npy", "z.toml", "z.json", "z.csv", "z.txt"])
def test_a_device_is_refused_by_every_reader(call, tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/zero")
    first = {".toml": ("lab", "status"), ".json": ("report",)}
    ended = call(*first.get(Path(name).suffix, ("survey",)), tmp_path / name)
    assert ended.code == 2
    assert "device" in ended.err


@pytest.fixture
def ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a module of functions that do what no function should."""
    (tmp_path / "odd_functions.py").write_text(ENDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ours", "odd_functions:ours ended with GnomonError: x instead of returning numbers"),
        ("stream", "odd_functions:stream closed standard output, which the result is printed to"),
        ("later", "odd_functions:later is a coroutine function"),
        ("gives", "gives gives no real numbers for arrays of shapes (4, 4), (4,) (TypeError: it"),
    ],
)
def test_a_function_with_an_odd_end_is_named(
    ending: Path, monkeypatch: pytest.MonkeyPatch, capfd, name: str, told: str
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # one that may be closed
    assert run(["verify", f"odd_functions:{name}", "--dimension", "4"]) == 2
    assert told in capfd.readouterr().err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_a_function_makes_does_not_go_on_as_gnomon(ending: Path) -> None:
    """In a process of its own: a child must not share the threads of a test worker."""
    asked = ["-m", "gnomon", "verify", "odd_functions:forks", "--dimension", "4"]
    ended = subprocess.run(
        [sys.executable, *asked], cwd=ending, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("promised laws hold") == 1


@pytest.mark.parametrize("name", ["leave", "close", "own"])
def test_a_function_that_ends_the_process_is_refused(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "ending_functions.py").write_text(ENDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    ended = call("verify", f"ending_functions:{name}", "--dimension", "4")
    assert ended.code == 2
    assert "instead of returning numbers" in ended.err


@pytest.mark.parametrize("name", [":f", "..:f", ".x:f"])
def test_a_function_without_a_module_is_refused(call, name: str) -> None:
    ended = call("verify", name, "--dimension", "4")
    assert (ended.code, "names no module" in ended.err) == (2, True)


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = " + "9" * 5000, "a." * 5000 + "a = 1"])
def test_toml_without_end_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        parse_toml(text)


@pytest.mark.parametrize("text", ["[" * 5000, "9" * 5000, '{"a":' * 200 + "1" + "}" * 200])
def test_json_without_end_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        parse_json(text)


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(2**29, np.uint8))
    with (
        pytest.raises(UnreadableError, match="unpacks to more than 100 times"),
        open_archive(tmp_path / "bomb.npz"),
    ):
        pass


def test_a_header_that_promises_more_than_the_file_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(4))
    stored = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(stored.replace(b"(4,), }          ", b"(4000000000,), } "))
    with pytest.raises(UnreadableError, match="cut short"):
        load_array(tmp_path / "a.npy")


@pytest.mark.parametrize(("name", "given"), [("alibi", "heads"), ("rope", "dimension")])
def test_a_number_far_above_any_use_is_refused(name: str, given: str) -> None:
    with pytest.raises(EncodingError, match=f"{given} is 1000000000000; pass a whole number"):
        gnomon.encoding(name, **{given: 10**12})


@pytest.mark.parametrize("option", ["--threads", "--dimension"])
def test_an_option_far_above_any_use_is_refused(call, tmp_path: Path, option: str) -> None:
    (tmp_path / "t.txt").write_text("a b\n" * 20, encoding="utf-8")
    ended = call("survey", tmp_path / "t.txt", option, "1000000000000000000")
    assert (ended.code, "or less" in ended.err) == (2, True)


@pytest.mark.parametrize("what", [complex, str])
def test_distances_that_are_no_real_numbers_are_refused(what: type) -> None:
    distances = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    with pytest.raises(InputError):
        gnomon.stress(gnomon.encoding("rope", dimension=8), distances.astype(what))
    with pytest.raises(InputError):
        gnomon.stress(distances.astype(what), distances)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
@pytest.mark.parametrize(
    ("arguments", "streams", "code"),
    [
        ("stress rope none.npy", "2>&-", 2),
        ("stress rope none.npy", "2>/dev/full", 2),
        ("catalogue", ">&-", 2),
        ("catalogue", ">/dev/null 2>&-", 0),
    ],
)
def test_streams_that_are_closed_or_full_leave_the_exit_code(
    tmp_path: Path, arguments: str, streams: str, code: int
) -> None:
    line = f"{sys.executable} -m gnomon {arguments} {streams}"
    assert subprocess.run(line, shell=True, cwd=tmp_path, check=False).returncode == code


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("NUMBA_NUM_THREADS", "x"),
        ("NUMBA_NUM_THREADS", "0"),
        ("NUMBA_NUM_THREADS", "-1"),
        ("NUMBA_OPT", "x"),
    ],
)
def test_an_environment_that_numba_can_not_read_is_refused(
    tmp_path: Path, variable: str, value: str
) -> None:
    (tmp_path / "t.txt").write_text("a b c d\n" * 40, encoding="utf-8")
    command = [sys.executable, "-m", "gnomon", "survey", "t.txt", "--shuffles", "0", "--no-cache"]
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, variable: value},
    )
    assert ended.returncode == 2
    assert variable in ended.stderr
    assert "Traceback" not in ended.stderr


def test_numpy_warns_of_nothing_beside_the_sentence(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", 1e308 * (1.0 - np.eye(8)))
    command = [sys.executable, "-m", "gnomon", "verify", "d.npy"]
    ended = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ended.returncode in (0, 1, 2)
    assert "Warning" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_under_records_does_not_fail_at_the_lock(tmp_path: Path) -> None:
    """The lock is one thing; what cannot be written is said with its path where records are."""
    (tmp_path / ".running").symlink_to("/dev/full")
    with alone_in(tmp_path):
        pass
