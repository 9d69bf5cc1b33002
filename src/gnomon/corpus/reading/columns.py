"""Which column holds the documents, and what to say when that can not be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import CorpusError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

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
