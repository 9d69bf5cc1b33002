"""Choosing cards: by family, level, kind and framework, each word checked against those there are.

A level may be written short (L0), as a number (0), or with its words (L0 strict group).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.encodings.card import FRAMEWORKS, LEVELS, in_words
from gnomon.errors import EncodingError, nearest

if TYPE_CHECKING:
    from gnomon.encodings.card import Card

KINDS = ("vectors", "transform", "bias", "content")


def chosen(
    cards: Sequence[Card],
    *,
    family: str | None = None,
    level: str | None = None,
    kind: str | None = None,
    framework: str | None = None,
) -> list[Card]:
    """Return the cards that are all that is asked for; nothing asked for is every card."""
    families = tuple(dict.fromkeys(card.family for card in cards))
    wanted = {
        "family": _known("family", family, families),
        "level": _known_level(level),
        "kind": _known("kind", kind, KINDS),
        "framework": _known("framework", framework, FRAMEWORKS),
    }
    return [
        card
        for card in cards
        if wanted["family"] in (None, card.family)
        and wanted["level"] in (None, _short(card.level))
        and (wanted["kind"] is None or wanted["kind"] in card.kind)
        and (wanted["framework"] is None or wanted["framework"] in card.frameworks)
    ]


def _known(what: str, word: str | None, known: tuple[str, ...]) -> str | None:
    if word is not None and word not in known:
        raise EncodingError(f"There is no {what} {word!r}: {nearest(word, known)}.")
    return word


def _known_level(level: str | None) -> str | None:
    short = _short(level)
    if level is not None and short not in LEVELS:
        listing = "; ".join(in_words(known) for known in LEVELS)
        raise EncodingError(f"There is no level {level!r}: known: {listing}.")
    return short


def _short(level: str | None) -> str | None:
    """Return a level without its words.

    >>> _short("L0 strict group"), _short("l6"), _short("5")
    ('L0', 'L6', 'L5')
    """
    if level is None:
        return None
    first, _, words = level.strip().partition(" ")
    short = first.upper() if first[:1] in ("L", "l") else f"L{first}"
    return level if words and words != LEVELS.get(short) else short
