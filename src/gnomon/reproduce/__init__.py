"""The tables, figures and experiments of the documents, made again, each claim with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.reproduce.registry import REPRODUCTIONS as REPRODUCTIONS
    from gnomon.reproduce.registry import reproduce as reproduce
    from gnomon.reproduce.text import reproduction_text as reproduction_text

__getattr__, __dir__ = front(
    __name__,
    {
        "registry": ("REPRODUCTIONS", "reproduce"),
        "text": ("reproduction_text",),
    },
)
