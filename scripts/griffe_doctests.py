"""Show the doctests of docstrings as code in the API pages.

Our docstrings are plain text with a doctest in them. Markdown would take `[k for k in x][:3]` for
a link, so every doctest is put between fences before the docstring is rendered.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.DOTALL | re.MULTILINE)


def fenced(text: str) -> str:
    r"""Return `text` with every doctest between fences.

    >>> fenced("Adds.\n\n>>> 1 + 1\n2").splitlines()[2]
    '```pycon'
    """
    return DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


class Doctests(griffe.Extension):
    """Put fences around the doctests of everything that is documented."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object, once it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
