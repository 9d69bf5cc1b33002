"""`gnomon verify NAME | module:function | FOLDER`: which laws of positions hold, and the level."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli.options import Seed, flag, takes
from gnomon.cli.output import Output
from gnomon.cli.parameters import Parameter, parse_parameters
from gnomon.errors import GnomonError, InputError
from gnomon.options import DIMENSION

BROKEN = 1
Subject = Annotated[
    str,
    typer.Argument(
        help=(
            "Name or file of an encoding, module:function of vectors and positions (it is run), or "
            "the folder of a Hugging Face model (config.json; rotary ones need no weights)."
        )
    ),
]
Keys = Annotated[
    str | None,
    typer.Option("--keys", help="module:function for keys, where queries have another map."),
]
Dimension = Annotated[
    int | None,
    flag("dimension", DIMENSION, text="Dimension of the vectors of a function."),
]
Logits = Annotated[
    bool,
    typer.Option("--logits", help="The function takes q, k and both positions, and gives logits."),
]
Causal = Annotated[bool, typer.Option("--causal", help="Only keys up to their query count.")]
Whole = Annotated[bool, typer.Option("--whole", help="Positions are integers.")]
Reach = Annotated[
    float | None,
    typer.Option("--reach", help="Largest position that a function is asked for (4096).", min=8.0),
]
Axes = Annotated[
    int | None,
    typer.Option("--axes", help="Positions have so many numbers each, (n, axes).", min=1),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        help=(
            "Largest residual at which a law holds, a share of the largest logit; without it, what "
            "the type of the numbers leaves (float64: 1e-9)."
        ),
    ),
]
Clock = Annotated[
    str | None,
    typer.Option("--clock", help="module:function of positions: laws are asked in its time."),
]
Promised = Annotated[
    str | None,
    typer.Option(
        "--promised",
        help="A level (L0 ... L7), or laws with commas between: exit code 1 if one is broken.",
    ),
]


@takes(output=Output)
def verify(
    subject: Subject,
    *,
    parameter: Parameter = None,
    keys: Keys = None,
    dimension: Dimension = None,
    logits: Logits = False,
    causal: Causal = False,
    whole: Whole = False,
    reach: Reach = None,
    axes: Axes = None,
    clock: Clock = None,
    promised: Promised = None,
    tolerance: Tolerance = None,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Certify an encoding, a function or a model: every law with its residual, and a level."""
    from gnomon.conformance import verify as verified

    output.check()
    given = parse_parameters(parameter)
    if ":" in subject:
        if given:
            raise InputError("A function has no --parameter; leave it out.")
        if dimension is None:
            raise InputError("A function is verified on vectors; name their --dimension, too.")
        made = verified(
            load_function(subject),
            None if keys is None else load_function(keys),
            dimension=dimension,
            logits=logits,
            clock=None if clock is None else load_function(clock),
            promised=promised,
            seed=seed,
            causal=causal,
            whole=whole,
            reach=reach,
            axes=axes,
            tolerance=tolerance,
        )
    else:
        only_functions: dict[str, Any] = {"keys": keys, "dimension": dimension, "clock": clock}
        only_functions |= {
            "logits": logits,
            "causal": causal,
            "whole": whole,
            "reach": reach,
            "axes": axes,
        }
        wrong = next((name for name, value in only_functions.items() if value), None)
        if wrong is not None:
            raise InputError(f"--{wrong} is for functions, and {subject!r} is none; leave it out.")
        chosen = _chosen(subject, given)
        made = verified(chosen, promised=promised, seed=seed, tolerance=tolerance)
    output.emit(made.to_dict(), made.text())
    if not made.holds:
        raise typer.Exit(BROKEN)


def _chosen(subject: str, given: dict[str, Any]) -> Any:
    """Return a name as it is, or the encoding of a name with parameters."""
    if not given:
        return subject
    from gnomon.encodings import encoding

    if Path(subject).is_dir() or "/" in subject:
        raise InputError(f"A model has no --parameter, and {subject!r} is one; leave it out.")
    return encoding(subject, **given)


def load_function(name: str) -> Any:
    """Return module:function, the module looked for here first; it is run by being imported."""
    module, _, function = name.partition(":")
    if not module or module.startswith("."):
        raise InputError(
            f"{name!r} names no module; write module:function, as in encodings:rotate."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    before = os.getpid()
    try:
        found = importlib.import_module(module)
        _check_process(module, before)
    except ImportError as error:
        raise InputError(
            f"The module {module!r} cannot be imported ({error}); name one that stands here or is "
            "installed, as in encodings:rotate."
        ) from error
    except (KeyboardInterrupt, _StreamError):
        raise
    except BaseException as error:  # a module may raise anything, SystemExit too
        raise InputError(
            f"The module {module!r} fails when it is imported ({_short(error)}); mend it."
        ) from error
    value = getattr(found, function, None)
    if not callable(value):
        raise InputError(f"{module!r} has no function {function!r}; name one that it has.")
    if inspect.iscoroutinefunction(value):
        raise InputError(
            f"{name} is a coroutine function, which gives nothing when it is called; write it with "
            "def instead of async def."
        )
    return _guard(value, name)


def _guard(function: Any, name: str) -> Any:
    """Return a function that cannot end the process without a word.

    What a function raises as an `Exception` is answered where laws are tried. SystemExit and its
    kind pass through there, and would be taken for the end of the command, with its exit code; and
    so do our own exceptions, whose words would be taken for ours.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        before = os.getpid()
        try:
            made = function(*arguments, **options)
            _check_process(name, before)
        except (KeyboardInterrupt, _StreamError):
            raise
        except Exception as error:
            _leave_if_forked(before)
            if not isinstance(error, GnomonError):
                raise
            raise _end_error(name, error) from error
        except BaseException as error:  # SystemExit, GeneratorExit and their like
            _leave_if_forked(before)
            raise _end_error(name, error) from error
        return made

    return call


class _StreamError(InputError):
    """A function closed a stream that is needed after it."""


def _check_process(name: str, before: int) -> None:
    """Leave in a child that the code of a user made, and refuse a stream that it closed."""
    _leave_if_forked(before)
    if sys.stdout is not None and sys.stdout.closed:
        raise _StreamError(
            f"{name} closed standard output, which the result is printed to; leave it open."
        )


def _leave_if_forked(before: int) -> None:
    """Leave where this process is a copy of the one that called: it would go on as Gnomon, too."""
    if os.getpid() != before:
        os._exit(0)


def _end_error(name: str, error: BaseException) -> InputError:
    return InputError(
        f"{name} ended with {_short(error)} instead of returning numbers; let it return them, or "
        "raise an Exception of its own."
    )


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())[:160]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
