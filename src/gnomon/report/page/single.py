"""A page of one result: its figures are packed, a template is filled, nothing is fetched.

Style, scripts and policy are those of the page of a survey: no text but the two scripts named by
their SHA-256 can run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gnomon.report.figure import Figure
from gnomon.report.page.build import (
    Shown,
    file_name,
    page_environment,
    page_policy,
    page_scripts,
    page_style,
)  # fmt: skip
from gnomon.report.page.packing import Packer, script_json


class SinglePage:
    """What a page holds while it is made."""

    def __init__(self) -> None:
        self._packer = Packer()
        self._store: dict[str, Any] = {}

    def shown(
        self, figures: Iterable[Figure], *, prefix: str, label: str, said: Callable[[Figure], str]
    ) -> list[Shown]:
        """Return figures with where they stand and how to read them; missing ones stay words."""
        found = []
        for figure in figures:
            place = f"{prefix}-{figure.key}"
            if figure.missing is None:
                name = f"{file_name(label)}-{figure.key}"
                self._store[place] = self._packer.figure(figure, file=name)
            found.append(Shown(place, figure, [said(figure)]))
        return found

    def made(self, template: str, **values: Any) -> bytes:
        """Return the page in UTF-8; half a character (in a file name) becomes its escape."""
        scripts = page_scripts()
        text = page_environment().get_template(template).render(
            style=page_style(),
            policy=page_policy(scripts.values()),
            store=script_json({"arrays": self._packer.arrays, "figures": self._store}),
            **scripts,
            **values,
        )  # fmt: skip
        return str(text).encode("utf-8", "backslashreplace")
