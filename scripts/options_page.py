"""Write the tables of options in the pages of the API, from the options themselves.

A table stands between two comments that name the class of its options:

    <!-- options gnomon.corpus.CountOptions:begin -->  ...  <!-- options:end -->

    python scripts/options_page.py docs/api/corpus.md docs/api/pipeline.md docs/api/encodings.md
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from gnomon.options import rows

SLOT = re.compile(r"<!-- options ([\w.]+):begin -->\n.*?<!-- options:end -->", re.DOTALL)


def table(kind: str) -> str:
    """Return the options of a class as a table of Markdown."""
    room, _, name = kind.rpartition(".")
    lines = ["| option | default | what it does |", "|---|---|---|"]
    for option, default, said in rows(getattr(import_module(room), name)):
        cells = (f"`{option}`", f"`{default}`", said.replace("|", "\\|"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def filled(found: re.Match[str]) -> str:
    """Return a slot with its table."""
    return f"<!-- options {found[1]}:begin -->\n\n{table(found[1])}\n\n<!-- options:end -->"


def main(pages: list[Path]) -> None:
    """Rewrite the tables of the pages."""
    for page in pages:
        text, count = SLOT.subn(filled, page.read_text(encoding="utf-8"))
        if not count:
            sys.exit(f"{page.name} has no place for options; put the two comments back.")
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
