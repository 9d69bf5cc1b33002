r"""Text that Unicode can not write: half of a surrogate pair.

A Python string may hold a lone surrogate (JSON's `"\ud800"` makes one), but no UTF can encode it.
It is refused with its place, or becomes U+FFFD with `--errors replace`.
"""

from __future__ import annotations

import re
from typing import Literal

from gnomon.errors import CorpusError

Errors = Literal["strict", "replace"]

_LONE = re.compile("[\ud800-\udfff]")


def without_surrogates(texts: list[str], errors: Errors, first: int = 0) -> list[str]:
    r"""Return the texts, with lone surrogates replaced by U+FFFD where that was asked for.

    `first` is the number of documents read before these; it makes the message name the document.

    >>> without_surrogates(["a\ud800b"], "replace") == ["a\ufffdb"]
    True
    """
    if errors == "replace":
        return [_LONE.sub("\ufffd", text) for text in texts]
    for row, text in enumerate(texts):
        found = _LONE.search(text)
        if found:
            raise CorpusError(
                f"document {first + row + 1} holds half a surrogate pair "
                f"(U+{ord(found.group()):04X}) as its character {found.start() + 1}, which is no "
                "text; correct it, or pass --errors replace."
            )
    return texts
