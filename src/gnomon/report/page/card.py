"""The card of an encoding as one self-contained page: its facts, and its figures.

It is built as the page of a survey is, with its style, its script and its policy: nothing is
fetched, and no text but the two scripts named by their SHA-256 can run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.report.card_text import facts_of
from gnomon.report.figures.card import card_figures, explanation
from gnomon.report.page.build import (
    Shown,
    file_name,
    page_environment,
    page_policy,
    page_scripts,
    page_style,
)  # fmt: skip
from gnomon.report.page.packing import Packer, script_json

if TYPE_CHECKING:
    from gnomon.encodings.catalogue.portrait import Portrait


def card_page(contents: dict[str, Any], portrait: Portrait, *, version: str) -> bytes:
    """Return the page in UTF-8; half a character (in a file name) becomes its escape."""
    packer, store = Packer(), dict[str, Any]()
    shown = []
    for k, figure in enumerate(card_figures(portrait)):
        place = f"card-{k}-{figure.key}"
        store[place] = packer.figure(figure, file=f"{file_name(portrait.name)}-{figure.key}")
        shown.append(Shown(place, figure, [explanation(figure, portrait)]))
    scripts = page_scripts()
    text = page_environment().get_template("card.html").render(
        contents=contents,
        facts=facts_of(contents),
        figures=shown,
        version=version,
        style=page_style(),
        policy=page_policy(scripts.values()),
        store=script_json({"arrays": packer.arrays, "figures": store}),
        **scripts,
    )  # fmt: skip
    return str(text).encode("utf-8", "backslashreplace")
