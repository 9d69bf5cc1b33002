"""Bytes to text: strict UTF-8, and the place where it fails.

Bytes that are no UTF-8 are either named (strict) or become U+FFFD (replace); nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gnomon.corpus.surrogates import without_surrogates
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from gnomon.corpus.reading.options import OnError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Place = Callable[[int], str]


def numbered(path: str, word: str, first: int) -> Place:
    """Return where the i-th value stands, to be said in a message.

    >>> numbered("a.txt", "line", 7)(2)
    'a.txt, line 9'
    """
    return lambda index: f"{path}, {word} {first + index}"


def decode(values: Sequence[bytes], errors: OnError, place: Place) -> list[str]:
    r"""Decode every value; `place(index)` says where a value stands, for the message.

    >>> decode([b"a", b"\xff"], "replace", str) == ["a", "\ufffd"]
    True
    """
    if errors == "replace":
        return [value.decode("utf-8", "replace") for value in values]
    try:
        return [value.decode("utf-8") for value in values]
    except UnicodeDecodeError:
        raise _first_fault(values, place) from None


def _first_fault(values: Sequence[bytes], place: Place) -> CorpusError:
    for index, value in enumerate(values):
        try:
            value.decode("utf-8")
        except UnicodeDecodeError as error:
            binary = any(b"\0" in other for other in values)
            advice = (
                "zero bytes show that this is no plain text, or UTF-16: convert it to UTF-8, or "
                "name its format with --format"
                if binary
                else "pass --errors replace to read such bytes as U+FFFD"
            )
            return CorpusError(
                f"{place(index)}: byte {error.start} (counted from 0) is "
                f"0x{value[error.start]:02x} and not UTF-8; {advice}."
            )
    return CorpusError("a value is not UTF-8; pass --errors replace.")


def encodable(texts: list[str], errors: OnError, place: Place) -> list[str]:
    """Refuse or replace lone surrogates, which JSON escapes and Python strings may hold."""
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        if errors == "replace":
            return without_surrogates(texts, errors)
        raise _first_surrogate(texts, place) from None
    return texts


def _first_surrogate(texts: list[str], place: Place) -> CorpusError:
    for index, text in enumerate(texts):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return CorpusError(
                f"{place(index)}: character {error.start} (counted from 0) is half of a surrogate "
                "pair, which is no text; pass --errors replace to read it as U+FFFD."
            )
    return CorpusError("a text holds half of a surrogate pair; pass --errors replace.")
