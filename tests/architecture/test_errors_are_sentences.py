"""Every error we raise is a sentence: it has words, and it ends like one.

Whether the sentence helps is for a reader; that there is one can be checked.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parents[2] / "src" / "gnomon"
OURS = {
    name
    for name, value in inspect.getmembers(errors, inspect.isclass)
    if issubclass(value, errors.GnomonError)
}
FEWEST_WORDS = 5


def faults(text: str) -> Iterator[str]:
    """Yield what is wrong with the errors raised in one module."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Raise) or _name(node.exc) not in OURS:
            continue
        message = _message(node.exc)
        if message is None:
            yield f"line {node.lineno}: {_name(node.exc)} is raised without a message"
        elif message and (fault := _fault(message)):
            yield f"line {node.lineno}: {fault}: {message!r}"


def _name(raised: ast.expr | None) -> str:
    called = raised.func if isinstance(raised, ast.Call) else raised
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _message(raised: ast.expr | None) -> str | None:
    """The text with `*` for each inserted value; empty when it was made elsewhere."""
    if not isinstance(raised, ast.Call) or not raised.args:
        return None
    first = raised.args[0]
    if isinstance(first, ast.JoinedStr):
        return "".join(_piece(piece) for piece in first.values)
    return str(first.value) if isinstance(first, ast.Constant) else ""


def _piece(piece: ast.expr) -> str:
    return str(piece.value) if isinstance(piece, ast.Constant) else "*"


def _fault(message: str) -> str | None:
    if len(message.split()) < FEWEST_WORDS:
        return f"fewer than {FEWEST_WORDS} words"
    if message.rstrip()[-1] not in ".?*":  # * is an inserted value: the list of known names
        return "does not end like a sentence"
    return None


def test_every_error_raised_in_the_source_is_a_sentence() -> None:
    found = [
        f"{path.relative_to(SOURCE)} {fault}"
        for path in sorted(SOURCE.rglob("*.py"))
        for fault in faults(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_poor_messages_are_caught() -> None:
    """The check can fail: no message, too few words, no end."""
    assert list(faults("raise InputError"))
    assert list(faults("raise InputError()"))
    assert list(faults("raise errors.CorpusError('bad file.')"))
    assert list(faults("raise CountsError(f'{path} holds a count below zero')"))
    assert not list(faults("raise CountsError(f'{path} holds a negative count; pass counts.')"))
    assert not list(faults("raise ValueError('x')"))
