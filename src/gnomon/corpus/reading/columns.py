"""Which column of a table holds the documents, and what is said of the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import CorpusError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 8
_LONGEST_NAME = 40
_MOST_WORDS = 3
USUAL = ("text", "sentence", "content", "document", "sequence", "input_ids", "ids", "tokens")


def choose_column(
    wanted: str | None, names: Sequence[str], textual: Sequence[str], where: str
) -> str:
    """Return the column of documents: the wanted one, a usual name, or the only textual one.

    >>> choose_column(None, ["label", "sentence"], ["sentence"], "a.tsv")
    'sentence'
    """
    if wanted is not None:
        return named_column(wanted, names, where, "--column")
    usual = [name for name in USUAL if name in textual]
    if usual or len(textual) == 1:
        return usual[0] if usual else textual[0]
    if len(names) == 1:
        return names[0]
    raise CorpusError(
        f"{where} has the columns {', '.join(names)}, and none of them is clearly the text; "
        "choose one with --column."
    )


def named_column(wanted: str, names: Sequence[str], where: str, option: str) -> str:
    """Return the wanted column, or list the ones there are."""
    if wanted in names:
        return wanted
    raise CorpusError(
        f"{where} has no column {wanted!r}; {nearest(wanted, names)}; choose one with {option}."
    )


def column_note(column: str, names: Sequence[str]) -> str:
    """Say which column was read, and of which.

    >>> column_note("sentence", ["label", "sentence"])
    "column 'sentence' of 2 (label, sentence)"
    """
    listing = ", ".join(_short(name) for name in names[:_SHOWN])
    rest = ", ..." if len(names) > _SHOWN else ""
    return f"column {_short(column)!r} of {len(names)} ({listing}{rest})"


def header_note(column: int, names: Sequence[str], *, header: bool) -> str:
    """Say which column of a table was read, and what its first row was taken for.

    A first row with a number or with a long text is hardly a header. Its values are not repeated:
    they are text of the corpus.

    >>> header_note(0, ["it was a dark and stormy night", "1"], header=True).partition(";")[0]
    'column 0 of 2 (counted from 0)'
    """
    if header and all(map(_is_name, names)):
        return f"{column_note(names[column], names)}; the first row is the header"
    place = f"column {column} of {len(names)} (counted from 0)"
    if not header:
        return f"{place}; there is no header, so the first row is a document, too"
    return (
        f"{place}; the first row was taken for the header but looks like a document: if there is "
        f"no header, pass --column {column}"
    )


def is_number(value: str) -> bool:
    """Say whether a value is a number, or nothing."""
    try:
        float(value or "0")
    except ValueError:
        return False
    return True


def _is_name(value: str) -> bool:
    """Say whether a value may be the name of a column; the name of an index may be empty."""
    short = len(value) <= _LONGEST_NAME and len(value.split()) <= _MOST_WORDS
    return not value or (short and not is_number(value))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
