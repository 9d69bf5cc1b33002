"""The card of an encoding as one self-contained page: its facts, and its figures.

It is built as the page of a survey is, with its style, its script and its policy: nothing is
fetched, and no text but the two scripts named by their SHA-256 can run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.report.cards import facts_of
from gnomon.report.figures.card import card_figures, explanation
from gnomon.report.page.single import SinglePage

if TYPE_CHECKING:
    from gnomon.encodings import Portrait


def card_page(contents: dict[str, Any], portrait: Portrait, *, version: str) -> bytes:
    """Return the page in UTF-8; half a character (in a file name) becomes its escape."""
    page = SinglePage()
    figures = [
        one
        for k, figure in enumerate(card_figures(portrait))
        for one in page.shown(
            [figure],
            prefix=f"card-{k}",
            label=portrait.name,
            said=lambda drawn: explanation(drawn, portrait),
        )
    ]
    facts = facts_of(contents)
    return page.made("card.html", contents=contents, facts=facts, figures=figures, version=version)
