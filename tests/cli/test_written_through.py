"""What a path leads to is written as it is: devices, pipes, links, modes; and leftovers go."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gnomon import files
from gnomon.errors import StorageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="devices and modes of POSIX systems")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o400, 0o755])
def test_a_file_keeps_its_mode(call, tmp_path: Path, mode: int) -> None:
    place = tmp_path / "kept.json"
    place.write_text("old")
    place.chmod(mode)
    assert call("catalogue", "--json", place, "-q").code == 0
    assert json.loads(place.read_text())
    assert mode_of(place) == mode


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        files.write_text(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new") == 0o666 & ~mask


def test_a_secret_is_at_no_time_open_to_others(tmp_path: Path) -> None:
    place = tmp_path / "secret"
    place.write_text("old")
    place.chmod(0o600)
    with files.replace_file(place) as temporary:
        temporary.write_text("new")
        assert mode_of(temporary) == 0o600
    assert (place.read_text(), mode_of(place)) == ("new", 0o600)


def test_owner_and_group_are_kept_where_they_can_be(tmp_path: Path) -> None:
    place = tmp_path / "others"
    place.write_text("old")
    try:
        os.chown(place, 12345, 23456)
    except PermissionError:
        pytest.skip("this user gives no files away")
    place.chmod(0o640)
    files.write_text(place, "new")
    found = place.stat()
    assert (found.st_uid, found.st_gid, mode_of(place)) == (12345, 23456, 0o640)


def test_a_group_that_can_not_be_kept_gives_no_rights_to_another(tmp_path, monkeypatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "no")

    place = tmp_path / "others"
    place.write_text("old")
    place.chmod(0o664)
    before = place.stat()
    other = os.stat_result([*before[:5], before.st_gid + 1, *before[6:]])
    monkeypatch.setattr(os, "chown", refused)
    files._dress(place, other)
    assert mode_of(place) == 0o604


@pytest.mark.parametrize("links", [1, 3])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_and_kept(call, tmp_path: Path, links: int, *, there: bool) -> None:
    (tmp_path / "inner").mkdir()
    target = last = tmp_path / "inner" / "target.json"
    if there:
        target.write_text("old")
        target.chmod(0o600)
    for number in range(links):
        link = tmp_path / f"link{number}.json"
        link.symlink_to(os.path.relpath(last, tmp_path))
        last = link
    assert call("catalogue", "--json", last, "-q").code == 0
    assert last.is_symlink()
    assert not target.is_symlink()
    assert json.loads(target.read_text())
    assert not there or mode_of(target) == 0o600
    assert list(tmp_path.rglob("*.tmp")) == []


def test_a_link_to_nowhere_and_a_ring_of_links_are_refused(call, tmp_path: Path) -> None:
    (tmp_path / "lost").symlink_to(tmp_path / "no" / "file")
    called = call("catalogue", "--json", tmp_path / "lost")
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert f"there is no folder {tmp_path / 'no'}" in called.err
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    called = call("catalogue", "--json", tmp_path / "a")
    assert (called.code, called.err.count("\n")) == (2, 1)


def test_another_name_of_a_file_keeps_what_it_had(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("old")
    os.link(tmp_path / "one", tmp_path / "two")
    files.write_text(tmp_path / "one", "new")
    assert ((tmp_path / "one").read_text(), (tmp_path / "two").read_text()) == ("new", "old")


@pytest.mark.parametrize("links", [0, 1])
def test_a_device_is_written_through(call, tmp_path: Path, links: int) -> None:
    null = Path("/dev/null")
    place = null
    if links:
        place = tmp_path / "link"
        place.symlink_to(null)
    assert call("catalogue", "--json", place, "-q").code == 0
    assert stat.S_ISCHR(null.stat().st_mode)
    assert place.is_symlink() == bool(links)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_a_full_device_is_one_sentence(call) -> None:
    called = call("catalogue", "--json", "/dev/full", "-q")
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert "/dev/full could not be written: no room left" in called.err
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_named_pipe_is_written_through(call, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert call("catalogue", "--json", pipe, "-q").code == 0
    reader.join(600)
    assert json.loads(got[0])
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_nothing_is_written_through_of_what_did_not_become_whole(tmp_path: Path) -> None:
    """A pipe without a reader would block: it is not even opened."""
    os.mkfifo(tmp_path / "pipe")

    def fail(handle) -> None:
        handle.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        files.write_with(tmp_path / "pipe", fail)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_standard_output_by_its_name_is_written_in_order(tmp_path, name: str, to: str) -> None:
    """With output redirected to a file, what is printed later follows and overwrites nothing."""
    if not Path(name).exists():
        pytest.skip("this system has no such name")
    program = (
        "from pathlib import Path; from gnomon.files import write_text; print('before'); "
        f"write_text(Path({name!r}), 'whole\\n'); print('after')"
    )
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE if to == "pipe" else out,
            check=True,
        )
    text = done.stdout if to == "pipe" else (tmp_path / "out").read_bytes()
    assert text == b"before\nwhole\nafter\n"


@pytest.mark.parametrize("verb", [["catalogue", "--json"], ["card", "rope", "--figure"]])
def test_a_folder_in_place_of_a_file_is_refused_at_once(call, tmp_path: Path, verb) -> None:
    place = tmp_path / "taken.html"
    place.mkdir()
    called = call(*verb, place)
    assert (called.code, called.out, called.err.count("\n")) == (2, "", 1)
    assert "is a folder" in called.err


def test_links_and_modes_in_a_folder_of_results_are_kept(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("old")
    (tmp_path / "elsewhere").chmod(0o600)
    out = tmp_path / "out"
    out.mkdir()
    for name in ("first", "second"):
        (out / name).symlink_to(tmp_path / "elsewhere" if name == "first" else Path("/dev/null"))
    content = {name: lambda handle: handle.write(b"new") for name in ("first", "second", "third")}
    files.write_together(out, content)
    assert (tmp_path / "elsewhere").read_text() == (out / "third").read_text() == "new"
    assert mode_of(tmp_path / "elsewhere") == 0o600
    assert {p.name for p in out.iterdir() if p.is_symlink()} == {"first", "second"}


KILLED = """
import os, signal, sys
from pathlib import Path
from gnomon import files
with files.replace_file(Path(sys.argv[1])) as temporary, files.scratch("array") as copy:
    temporary.write_text("half"); copy.write_text("half")
    print(copy, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_goes_with_the_next(tmp_path: Path, monkeypatch) -> None:
    place = tmp_path / "out" / "result"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", KILLED, str(place)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    copy = Path(done.stdout.strip())
    assert copy.exists()
    assert len(list(place.parent.iterdir())) == 1
    files.write_text(place, "new")
    assert [p.name for p in place.parent.iterdir()] == ["result"]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with files.scratch("array"):
        assert not copy.exists()


def test_what_a_living_run_holds_stays_however_old_it_is(tmp_path: Path) -> None:
    with files.replace_file(tmp_path / "result") as held:
        held.write_text("slow")
        os.utime(held, (0, 0))
        files.write_text(tmp_path / "result", "quick")
        files.remove_leftovers(tmp_path)
        assert held.exists()
    assert (tmp_path / "result").read_text() == "slow"


def test_a_number_that_another_process_inherited_keeps_no_file(tmp_path: Path) -> None:
    """Our own process began long after the file was written to."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system does not tell when a process began")
    left = tmp_path / f".result.{os.getpid()}.0123abcd.tmp"
    left.write_text("half")
    files.remove_leftovers(tmp_path, ["result"])
    assert left.exists()
    os.utime(left, (1, 1))
    files.remove_leftovers(tmp_path, ["result"])
    assert not left.exists()


def test_files_of_others_are_no_leftovers(tmp_path: Path) -> None:
    for name in (".notes.tmp", ".a.99999999.tmp", "x.99999999.0123abcd.tmp", ".a.b.0123abcd.tmp"):
        (tmp_path / name).write_text("mine")
    (tmp_path / ".link.99999999.0123abcd.tmp").symlink_to(tmp_path / ".notes.tmp")
    before = sorted(tmp_path.iterdir())
    files.remove_leftovers(tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_a_place_that_is_no_file_is_said_by_the_library(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="it is a folder"):
        files.write_text(tmp_path, "x")
