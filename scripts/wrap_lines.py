"""A hook of MkDocs: long sentences that a program printed are wrapped, tables of it are not.

Output is shown as it was printed, so that an example can be compared with it. A sentence of 200
letters would then run out of the page, and a table that is wrapped cannot be read. Therefore every
line of a block of output that is a sentence (longer than `LONGEST`, and without the runs of spaces
that make columns) gets the class `sentence`, which the style sheet wraps; the rest scrolls.
"""

from __future__ import annotations

import html
import re
from typing import Any

LONGEST = 44
"""What fits on the width of a telephone; a shorter line needs no help."""
BLOCK = re.compile(r'<div class="language-(?:text|console) highlight">.*?</div>', re.DOTALL)
LINE = re.compile(r'<span id="(__span-[\d-]+)">(.*?\n)(?=</span><span id="__span|</span></code>)',
                  re.DOTALL)  # fmt: skip
TAG = re.compile(r"<[^>]+>")
COLUMNS = re.compile(r"\S {2,}\S.*\S {2,}\S")


def is_sentence(line: str) -> bool:
    """Tell whether a printed line is to be wrapped.

    >>> is_sentence("Position 40 is past the end of this encoding, which has 32 of them.")
    True
    >>> is_sentence("sinusoidal             kernel    128       29.34     0.133")
    False
    """
    return len(line.rstrip()) > LONGEST and not COLUMNS.search(line)


def on_page_content(content: str, **_: Any) -> str:
    """Mark the sentences in the blocks of output of a page; MkDocs calls this by its name."""
    return BLOCK.sub(lambda block: LINE.sub(_marked, block[0]), content)


def _marked(line: re.Match[str]) -> str:
    kind = ' class="sentence"' if is_sentence(html.unescape(TAG.sub("", line[2]))) else ""
    return f'<span id="{line[1]}"{kind}>{line[2]}'
