"""Fill the tables and numbers of the texts from what was measured.

A number in a text is never typed by hand. A table stands between two comments that name it,

    <!-- encodings:begin -->  ...  <!-- encodings:end -->        (`doc_tables` has the names)

and a number in a sentence between two comments of which the first says where it comes from and how
it is written (a format of Python):

    <!--= no_signal.plugin_mean .2f -->0.56<!--/-->              of docs/figures/figures.json
    <!--= three-regimes.geometry.debiased.core d -->32<!--/-->   of a survey
    <!--= gnomon.pipeline.noise.HEAD d -->500<!--/-->              a constant of the program

    python scripts/fill_docs.py demo README.md docs/index.md docs/guide.md docs/noise.md
"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from doc_tables import TABLES, Facts

SLOT = re.compile(r"<!-- (\w+):begin -->\n.*?<!-- (\w+):end -->", re.DOTALL)
NUMBER = re.compile(r"<!--= (\S+) (\S+) -->[^<]*<!--/-->")


def number(facts: Facts, path: str, form: str) -> str:
    """Return the number that a path leads to, written as the format says."""
    value = _constant(path) if path.startswith("gnomon.") else _followed(facts, path)
    if isinstance(value, str):
        return value
    return format(value, form).replace("%", " %")


def _constant(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _followed(facts: Facts, path: str) -> Any:
    first, *rest = path.split(".")
    value: Any = facts.figures[first] if first in facts.figures else facts.survey(first)
    for part in rest:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def filled(text: str, facts: Facts, name: str) -> str:
    """Return `text` with every slot filled; a text without one, or with an unknown one, is odd."""
    slots = SLOT.findall(text)
    if not slots or any(begin != end or begin not in TABLES for begin, end in slots):
        sys.exit(f"{name} has no slot that can be filled; put <!-- encodings:begin --> back.")

    def table(found: re.Match[str]) -> str:
        slot = found[1]
        return f"<!-- {slot}:begin -->\n{TABLES[slot](facts)}\n<!-- {slot}:end -->"

    def written(found: re.Match[str]) -> str:
        path, form = found[1], found[2]
        try:
            value = number(facts, path, form)
        except (AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
            sys.exit(f"{name} asks for the number {path} ({form}), and there is none: {error}.")
        return f"<!--= {path} {form} -->{value}<!--/-->"

    return NUMBER.sub(written, SLOT.sub(table, text))


def main(folder: Path, texts: list[Path]) -> None:
    """Read every survey.json below `folder` and rewrite the tables and numbers of the texts."""
    paths = sorted(folder.rglob("survey.json"))
    if not paths:
        sys.exit(f"No survey.json is below {folder}; run `gnomon survey --out {folder}` first.")
    facts = Facts([json.loads(path.read_text(encoding="utf-8")) for path in paths])
    for path in texts:
        text = filled(path.read_text(encoding="utf-8"), facts, path.name)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path}: written from {len(facts.surveys)} surveys")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Arguments: the folder of the surveys, then the texts to fill.")
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
