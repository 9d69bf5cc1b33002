"""The command `gnomon`: one verb, one library call, one output.

Exit codes: 0 done, 1 the thing checked does not hold, 2 bad input (one sentence), 3 a fault of
ours, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer
from typer.core import TyperGroup

import gnomon
from gnomon.cli.cache import app as cache_app
from gnomon.cli.catalogue import card, catalogue
from gnomon.cli.classify import classify
from gnomon.cli.fit import fit
from gnomon.cli.lab import app as lab_app
from gnomon.cli.output import abandon, warn
from gnomon.cli.report import report
from gnomon.cli.reproduce import reproduce
from gnomon.cli.spectrum import spectrum
from gnomon.cli.stress import stress
from gnomon.cli.survey import survey
from gnomon.cli.verify import verify
from gnomon.errors import GnomonError, InputError

INTERRUPTED = 130
FAULT = 3

# typer carries a click of its own or uses the installed one: its exceptions lead to the right one.
_MISUSED: Any = next(k for k in typer.BadParameter.__mro__ if k.__name__ == "ClickException")


class _InterruptedError(Exception):
    """The user pressed Ctrl-C; typer has several ways of its own to end then, none with words."""


class _ClosedPipeError(Exception):
    """Nobody reads our output any more (`gnomon survey | head -1`), and typer would exit with 1."""


@contextlib.contextmanager
def _our_ends() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        raise _InterruptedError from error
    except BrokenPipeError as error:
        raise _ClosedPipeError from error
    except EOFError as error:  # which typer takes for Ctrl-D at a prompt, and there are none
        raise InputError(
            "a file ends before it should; copy it again, or make it again."
        ) from error
    except SystemExit as error:  # typer ends otherwise: a library or a function of the user's
        raise InputError(
            f"code that Gnomon was asked to run ended it (SystemExit: {error.code}); let that code "
            "return instead."
        ) from error


class _Verbs(TyperGroup):
    """All verbs, with the ends that typer would otherwise choose the exit code of."""

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        with _our_ends():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _our_ends():
            outcome = super().invoke(ctx)
            if sys.stdout is not None:  # it is None where the caller closed it
                sys.stdout.flush()  # here, where trouble still has an exit code
            return outcome


app = typer.Typer(
    name="gnomon",
    cls=_Verbs,
    help="Measure, design, verify and ship positional encodings for Transformers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(survey)
app.command()(fit)
app.command()(stress)
app.command()(catalogue)
app.command("catalog", hidden=True)(catalogue)
app.command()(card)
app.command()(classify)
app.command()(verify)
app.command()(spectrum)
app.command()(report)
app.command()(reproduce)
app.add_typer(lab_app, name="lab")
app.add_typer(cache_app, name="cache")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gnomon {gnomon.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command line and leave with the exit code that the outcome has."""
    # Where colorama is installed, numba would have it write an escape code to any terminal.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    _fill_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show is escaped
            stream.reconfigure(errors="backslashreplace")
    with np.errstate(all="ignore"):  # what it would warn of ends in a sentence, or is no harm
        code = run()
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run with these arguments; return the exit code and print at most one sentence of error."""
    try:
        outcome = app(arguments, prog_name="gnomon", standalone_mode=False)
    except _MISUSED as error:
        return _explain_misuse(error)
    except _ClosedPipeError:
        abandon(sys.stdout)
        return 0
    except BaseException as error:  # noqa: BLE001 - the border: a fault of ours is one sentence, too
        return _report_end(error)
    if outcome == INTERRUPTED:  # before a verb began, where typer answers for itself
        return _say("interrupted; nothing was left half-written.", INTERRUPTED)
    return outcome if isinstance(outcome, int) else 0


def _report_end(error: BaseException) -> int:
    """Say in one sentence what ended a verb; return the exit code of its kind."""
    if isinstance(error, GnomonError):
        return _say(str(error), error.exit_code)
    if isinstance(error, (KeyboardInterrupt, _InterruptedError, typer.Abort)):
        return _say("interrupted; nothing was left half-written.", INTERRUPTED)
    if isinstance(error, OSError):
        abandon(sys.stdout)
        return _say(_explain_refusal(error), 2)
    kind = next((one for one in _TOO_LARGE if isinstance(error, one)), None)
    if kind is not None:
        return _say(_TOO_LARGE[kind].format(error), 2)
    if os.environ.get("GNOMON_TRACEBACK"):
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exception(error)
    return _say(
        f"a fault of Gnomon itself ({type(error).__name__}: {error}); please report it, with "
        "what GNOMON_TRACEBACK=1 prints.",
        FAULT,
    )


_TOO_LARGE: dict[type[BaseException], str] = {
    MemoryError: "this machine has not enough memory for that; choose a smaller --length, "
    "--dimension or --top-k.",
    OverflowError: "a number that was given is so large that what is made of it is none ({}); pass "
    "smaller ones.",
}


def _fill_descriptors() -> None:
    """Give closed standard streams a place, or the next file that is opened would be one of them.

    Standard error that was closed goes nowhere, as was asked for. Standard output that was closed
    stays one that cannot be written to: what was to be printed is missed, and that is said.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # what is opened next takes the lowest number that is free: this one
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _explain_refusal(error: OSError) -> str:
    """Say what the system refused; results have sentences of their own, so this is the rest."""
    reason = error.strerror or type(error).__name__
    if error.filename is not None:
        return (
            f"{error.filename} could not be used ({reason}); check that it is there and has room."
        )
    return (
        f"standard output or compiled code could not be written ({reason}); free some room, or "
        "send the output and NUMBA_CACHE_DIR elsewhere."
    )


def _explain_misuse(error: Any) -> int:
    """Explain a wrong option or verb in one sentence; without arguments, print the help."""
    message = error.format_message().rstrip()
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message)
        return 2
    stop = "" if message.endswith((".", "?")) else "."
    if message.startswith("Got unexpected extra") and error.ctx.info_name in ("survey", "fit"):
        stop += f" A {error.ctx.info_name} reads one corpus: quote a glob, so that the shell "
        stop += "leaves it alone."
    return _say(f"{message}{stop} Run `gnomon --help` for what there is.", 2)


def _say(sentence: str, code: int) -> int:
    warn(_one_line(sentence))
    return code


def _one_line(sentence: str) -> str:
    """Escape what is not printable: names of files and columns may hold anything."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in sentence
    )
