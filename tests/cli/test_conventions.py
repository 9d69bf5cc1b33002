"""What holds for every verb: help, version, silence, no colours, progress only on a terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import gnomon
from gnomon.cli import output as cli_output
from gnomon.cli.output import TerminalProgress

ESCAPE = "\x1b"


@pytest.mark.parametrize(
    "verb",
    [
        (),
        ("survey",),
        ("stress",),
        ("reproduce",),
        ("cache",),
        ("cache", "list"),
        ("cache", "clear"),
    ],
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_verb_has_help(call, verb: tuple[str, ...], option: str) -> None:
    called = call(*verb, option)
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith(f"Usage: {' '.join(['gnomon', *verb])}")
    assert ESCAPE not in called.out


def test_every_verb_is_in_the_help(call) -> None:
    out = call("--help").out
    assert all(f"\n  {verb} " in out for verb in ("survey", "stress", "reproduce", "cache"))


def test_the_version_is_that_of_the_package(call) -> None:
    assert call("--version").out == f"gnomon {gnomon.__version__}\n"


def test_without_arguments_the_help_is_printed_and_the_exit_code_is_2(call) -> None:
    called = call()
    assert called.code == 2
    assert called.out.startswith("Usage: gnomon")


def test_a_quiet_survey_prints_nothing(call, corpus: Path, tmp_path: Path) -> None:
    called = call("survey", corpus, "-q", "--json", tmp_path / "result.json")
    assert (called.code, called.out, called.err) == (0, "", "")
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["encodings"]


def test_output_that_is_no_terminal_has_no_escape_codes_and_no_progress(
    call, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_output, "PATIENCE", 0.0)
    called = call("survey", corpus, "-v")
    assert (called.code, called.err) == (0, "")
    assert ESCAPE not in called.out
    assert "sinusoidal" in called.out


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals of POSIX systems")
def test_no_color_is_kept_to_on_a_terminal(
    corpus: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Help, an error and a survey, each with both streams on a pseudo-terminal."""
    for arguments in (["survey", "--help"], ["survey", "none.txt"], ["survey", str(corpus)]):
        shown = _on_a_terminal(arguments, environment | {"NO_COLOR": "1", "TERM": "xterm-256color"})
        assert shown
        assert ESCAPE not in shown


def _on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gnomon", *arguments]
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 65_536):
                shown += block
        except OSError:  # Linux says so when the other side is closed
            pass
        process.wait()
    os.close(ours)
    return shown.decode()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_says_rows_speed_and_time_and_cleans_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half of the input after ten seconds: ten seconds remain."""
    clock, terminal = [0.0], Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(cli_output.time, "monotonic", lambda: clock[0])
    shown = TerminalProgress()
    shown.stage("counting")
    clock[0] = 1.0
    shown.update(rows=10, tokens=100, fraction=0.05)
    assert terminal.getvalue() == ""  # nothing in the first two seconds
    clock[0] = 10.0
    shown.update(rows=5_000, tokens=20_000_000, fraction=0.5)
    line = "counting: 5,000 rows, 2.00 M tokens/s, 50 %, 10 s remaining"
    assert terminal.getvalue() == "\r" + line
    shown.close()
    assert terminal.getvalue() == "\r" + line + "\r" + " " * len(line) + "\r"


def test_a_stage_that_says_nothing_more_is_shown_when_patience_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal, written = Terminal(), threading.Event()
    monkeypatch.setattr(terminal, "flush", written.set)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(cli_output, "PATIENCE", 0.05)
    shown = TerminalProgress()
    shown.stage("checking 0 of 1")
    assert written.wait(600.0)
    assert terminal.getvalue() == "\rchecking 0 of 1"
    shown.close()
    assert terminal.getvalue().endswith("\r")


def test_quiet_progress_is_silent_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(cli_output, "PATIENCE", 0.0)
    shown = TerminalProgress(quiet=True)
    shown.stage("counting")
    shown.update(rows=1, tokens=1, fraction=None)
    shown.close()
    assert terminal.getvalue() == ""


def test_shells_can_complete_verbs_and_options(environment: dict[str, str]) -> None:
    """As bash asks: the words typed so far, and which of them to complete."""
    for words, expected in (("gnomon sur", "survey"), ("gnomon survey --met", "--metric")):
        asking = environment | {
            "_GNOMON_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = subprocess.run(
            [sys.executable, "-m", "gnomon"],
            env=asking,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.split() == [expected]


def test_a_fault_of_ours_is_one_sentence_with_exit_code_3(
    call, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.delenv("GNOMON_TRACEBACK", raising=False)
    monkeypatch.setattr("gnomon.pipeline.survey_with", broken)
    called = call("survey", corpus)
    assert (called.code, called.out) == (3, "")
    assert called.err == (
        "gnomon: a fault of Gnomon itself (ZeroDivisionError: division by zero); please report "
        "it, with what GNOMON_TRACEBACK=1 prints.\n"
    )


def test_too_little_memory_is_one_sentence(
    call, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starved(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gnomon.pipeline.survey_with", starved)
    called = call("survey", corpus)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("gnomon: this machine has not enough memory for that; choose a")


def test_a_dry_run_reads_little_and_writes_nothing(call, corpus: Path, tmp_path: Path) -> None:
    called = call("survey", corpus, "--dry-run", "--json", "-", "--out", tmp_path / "out")
    assert (called.code, called.err) == (0, "")
    assert json.loads(called.out)["length"] == 8
    assert not (tmp_path / "out").exists()


def test_a_dry_run_does_not_speak_of_tokenising_ids(call) -> None:
    assert "counting (ids): " in call("survey", "three-regimes", "--dry-run").out


def test_a_dry_run_without_a_corpus_estimates_every_built_in_one(call) -> None:
    found = json.loads(call("survey", "--dry-run", "--json", "-").out)["estimates"]
    assert {name: one["length"] for name, one in found.items()} == {
        "three-regimes": 32,
        "python-stdlib": 512,
        "digits": 64,
    }


def test_all_built_in_corpora_can_be_surveyed_from_the_end(call) -> None:
    """A window means nothing on a grid, which is surveyed whole."""
    found = json.loads(call("survey", "--window", "end", "--length", 8, "--json", "-").out)
    windows = {name: one["corpus"]["window"] for name, one in found["surveys"].items()}
    assert windows == {"three-regimes": "end", "python-stdlib": "end", "digits": "start"}


def test_the_token_cache_is_listed_and_cleared(call, corpus: Path) -> None:
    call("survey", corpus, "-q")
    listed = json.loads(call("cache", "list", "--json", "-").out)
    assert [(e["source"], e["rows"], e["tokens"]) for e in listed["entries"]] == [
        (str(corpus), 200, 1600)
    ]
    assert call("cache", "clear").out.startswith("removed 1 entries")
    assert json.loads(call("cache", "list", "--json", "-").out)["entries"] == []


def test_the_command_is_kept_with_the_result(
    start: Callable[..., subprocess.Popen[str]], corpus: Path
) -> None:
    with start("survey", corpus, "--length", 4, "--json", "-") as process:
        out, _ = process.communicate()
    command = json.loads(out)["provenance"]["command"]
    assert command == f"gnomon survey {corpus} --length 4 --json -"


def test_names_with_control_characters_stay_on_one_line(call, tmp_path: Path) -> None:
    called = call("survey", tmp_path / "two\nlines \x1b-31m.txt")
    assert called.code == 2
    assert called.err.count("\n") == 1
    assert ESCAPE not in called.err
    assert "two\\nlines \\x1b-31m.txt does not exist" in called.err


@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(x, marks=pytest.mark.wide) for x in ("cp1252", "utf-8"))]
)
def test_any_name_can_be_printed_in_any_encoding(
    start: Callable[..., subprocess.Popen[str]],
    environment: dict[str, str],
    lines: list[str],
    tmp_path: Path,
    encoding: str,
) -> None:
    path = tmp_path / "文書.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    environment |= {"PYTHONIOENCODING": encoding}
    with start("survey", path, "--json", "-", encoding=encoding) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["corpus"]["source"] == str(path)
    with start("survey", path, encoding=encoding, errors="replace") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "sinusoidal" in out


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are no UTF-8")
def test_a_file_name_that_is_no_text_is_surveyed_and_written(
    call, lines: list[str], tmp_path: Path
) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_text("\n".join(lines), encoding="utf-8")
    assert call("survey", path, "-q", "--out", tmp_path / "out").code == 0
    found = json.loads((tmp_path / "out" / "survey.json").read_text(encoding="utf-8"))
    assert found["corpus"]["source"] == str(path)
