"""Write the notebooks from the tutorials, so that the two never differ.

Prose becomes text, ```python blocks become cells, `$ gnomon ...` becomes `%run -m gnomon ...`, and
what the page shows as printed is left out: a notebook prints for itself, and keeps no output.

    python scripts/make_notebooks.py docs/tutorials docs/notebooks
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from run_docs import FENCE, PROMPT

NOTEBOOK = {
    "metadata": {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    },
    "nbformat": 4,
    "nbformat_minor": 5,
}


def cells(text: str) -> list[dict[str, Any]]:
    """Return the cells of a page, in order."""
    found: list[dict[str, Any]] = []
    last = 0
    for fence in FENCE.finditer(text):
        _add(found, "markdown", text[last : fence.start()])
        last = fence.end()
        if fence["kind"] == "python":
            _add(found, "code", fence["body"])
        elif fence["kind"] == "console":
            _add(found, "code", _commands(fence["body"]))
    _add(found, "markdown", text[last:])
    return found


def _commands(body: str) -> str:
    lines = [line.removeprefix(PROMPT) for line in body.splitlines() if line.startswith(PROMPT)]
    ours = [line.partition(" ")[2] for line in lines if line.startswith("gnomon")]
    return "\n".join(f"%run -m gnomon {line}".rstrip() for line in ours)


def _add(found: list[dict[str, Any]], kind: str, source: str) -> None:
    """Append a cell; an empty one, and lines about the notebook itself, are left out."""
    kept = "\n".join(line for line in source.splitlines() if ".ipynb" not in line).strip()
    kept = re.sub(r"\n{3,}", "\n\n", kept)
    if kept:
        cell = {"cell_type": kind, "id": f"cell-{len(found)}", "metadata": {}}
        cell |= {"execution_count": None, "outputs": []} if kind == "code" else {}
        found.append(cell | {"source": kept.splitlines(keepends=True)})


def notebook(text: str) -> str:
    """Return the notebook of a page as the text of its file."""
    return json.dumps({"cells": cells(text)} | NOTEBOOK, indent=1, ensure_ascii=False) + "\n"


def main(pages: Path, folder: Path) -> None:
    """Write a notebook for each page."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("*.md")):
        made = notebook(page.read_text(encoding="utf-8"))
        (folder / f"{page.stem}.ipynb").write_text(made, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Arguments: the folder of the tutorials, and the folder of the notebooks.")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
