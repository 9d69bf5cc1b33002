"""The tables, figures and experiments of the documents, made again, each claim with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.reproduce.claims import reproduction_text as reproduction_text
    from gnomon.reproduce.registry import REPRODUCTIONS as REPRODUCTIONS
    from gnomon.reproduce.registry import reproduce as reproduce

__getattr__, __dir__ = front(
    __name__,
    {
        "claims": ("reproduction_text",),
        "registry": ("REPRODUCTIONS", "reproduce"),
    },
)
