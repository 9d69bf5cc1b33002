"""List the decision records on their page, by what they are about, with their own titles.

    python scripts/decision_page.py docs/decisions.md

The list stands between <!-- decisions:begin --> and <!-- decisions:end -->.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SLOT = re.compile(r"<!-- decisions:begin -->\n.*?<!-- decisions:end -->", re.DOTALL)
DEPENDENCY = "\nKind: dependency"


def listed(folder: Path) -> str:
    """Return the list of the records in a folder: dependencies, then method and structure."""
    records = sorted(folder.glob("[0-9]*.md"))
    texts = {path: path.read_text(encoding="utf-8") for path in records}
    kinds = {
        "Of method and structure": [path for path in records if DEPENDENCY not in texts[path]],
        "Dependencies of the plain installation": [
            path for path in records if DEPENDENCY in texts[path]
        ],
    }
    parts = []
    for heading, paths in kinds.items():
        lines = [f"- [{_title(texts[path])}]({folder.name}/{path.name})" for path in paths]
        parts.append("\n".join([f"## {heading}", "", *lines]))
    return "\n\n".join(parts)


def _title(text: str) -> str:
    return text.splitlines()[0].lstrip("# ").strip()


def main(page: Path) -> None:
    """Write the list into the page; a page without its place is left alone."""
    text = page.read_text(encoding="utf-8")
    if not SLOT.search(text):
        sys.exit(f"{page.name} has no place for the list; put <!-- decisions:begin --> back.")
    body = f"<!-- decisions:begin -->\n\n{listed(page.parent / 'decisions')}\n\n"
    written = SLOT.sub(lambda _: f"{body}<!-- decisions:end -->", text)
    page.write_text(written, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Argument: the page to write the list of decisions to.")
    main(Path(sys.argv[1]))
