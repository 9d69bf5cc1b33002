"""Write the page of verdicts from the records of `gnomon reproduce`.

    python scripts/verdict_page.py docs/verdicts.md [benchmarks/records]

A record that holds verdicts is a table or figure of the source document made again: its claims,
whether each holds, our numbers, and the command; experiments of our own, which name another source,
have pages of their own. All others stand on the page between
<!-- verdict_records:begin --> and <!-- verdict_records:end -->: for each table or figure the claims
against the corpora, and under it the numbers, folded in HTML that GitHub shows as well.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
SLOT = re.compile(r"<!-- verdict_records:begin -->\n.*?<!-- verdict_records:end -->", re.DOTALL)
DOCUMENT = "cirrincione2026"
CORPORA = {
    "synthetic": "three-regimes",
    "sst2-sentences": "SST-2, sentences",
    "sst2-contained": "SST-2, rows",
    "imdb": "IMDB",
}
"""What the files are named after, and what readers call it, in the order of the columns."""
HOLDS = ("holds", "does not hold")
ORDER = ("table", "figure", "remark")
"""Tables come first, then figures, then remarks; what has no such name comes last."""
NAMES = {"remark8": "Remark 8", "stress-vs-dimension": "Stress against dimension"}


def records(folder: Path) -> dict[str, Record]:
    """Return the records of the document, by file name: tables, figures, remarks, the rest."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(record.get("verdicts"), list) and record["source"] == DOCUMENT:
            found[path.stem] = record
    return dict(sorted(found.items(), key=lambda item: (_place(item[1]["name"]), item[0])))


def _place(name: str) -> int:
    return next((k for k, kind in enumerate(ORDER) if name.startswith(kind)), len(ORDER))


def corpus(stem: str, record: Record) -> str:
    """Say on which corpus a record was made."""
    rest = stem.removeprefix(record["name"]).strip("-")
    return CORPORA.get(rest, rest) or CORPORA["synthetic"]


def overview(found: dict[str, Record]) -> str:
    """Return one line for each claim, with where it is made and what each corpus says.

    A claim that two tables make is one line; where they differ on a corpus, both are named.
    """
    named = {corpus(stem, record) for stem, record in found.items()}
    corpora = sorted(named, key=lambda place: (_column(place), place))
    places: dict[str, dict[str, None]] = {}
    lines: dict[str, dict[str, dict[str, None]]] = {}
    for stem, record in found.items():
        for verdict in record["verdicts"]:
            claim, where = verdict["claim"], corpus(stem, record)
            places.setdefault(claim, {})[title(record["name"])] = None
            lines.setdefault(claim, {}).setdefault(where, {})[verdict["holds"]] = None
    rows = [["in", "claim", *corpora], ["---"] * (2 + len(corpora))]
    rows += [
        [", ".join(places[claim]), claim, *(" or ".join(said.get(where, {})) for where in corpora)]
        for claim, said in lines.items()
    ]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


SHORT = (
    "the MDS encoding is an exact isometry at dimension n - 1",
    "an exact isometry is unattainable: B has negative eigenvalues, which are clipped",
    "two eigenvalues are dominant",
    "rank(B) is the intrinsic dimensionality of the positional metric",
    "a few directions hold most of the positional variance (three: more than half)",
    "r(n+d) is the minimal parametrisation",
    "ALiBi is far below the sinusoid (less than half its stress)",
    "sinusoid and RoPE differ by less than 3 %",
    "the stress of the sinusoid and of RoPE grows exponentially with d",
    "the MDS encoding is monotone: distances grow with the lag",
)
"""The claims that the README shows; the page has them all."""


def summary(found: dict[str, Record]) -> str:
    """Return the lines of a few claims, as `overview` has them, in the order of `SHORT`."""
    head, rule, *lines = overview(found).splitlines()
    chosen = {claim: [line for line in lines if f"| {claim} |" in line] for claim in SHORT}
    missing = [claim for claim, line in chosen.items() if len(line) != 1]
    if missing:
        sys.exit(f"No record, or more than one table, has the claim {missing[0]!r}.")
    return "\n".join([head, rule, *(line for claim in SHORT for line in chosen[claim])])


def title(name: str) -> str:
    """Return a name as people write it.

    >>> title("table4"), title("remark8")
    ('Table 4', 'Remark 8')
    """
    return NAMES.get(name) or re.sub(r"(\D+)(\d+)", r"\1 \2", name).capitalize()


def tally(found: dict[str, Record]) -> str:
    """Say how many claims hold on every corpus they were tried on, on none, and the rest."""
    said: dict[str, set[str]] = {}
    for record in found.values():
        for verdict in record["verdicts"]:
            said.setdefault(verdict["claim"], set()).add(verdict["holds"])
    true, false = (sum(all_ == {word} for all_ in said.values()) for word in HOLDS)
    return (
        f"Of {len(said)} claims {true} hold on every corpus they were tried on, {false} hold on "
        f"none, and {len(said) - true - false} depend on the reading or on the corpus."
    )


def part(name: str, found: dict[str, Record]) -> str:
    """Return one table or figure: its claims on each corpus, and the records, folded."""
    first = next(iter(found.values()))
    where = [corpus(stem, record) for stem, record in found.items()]
    claims: dict[str, dict[str, str]] = {}
    for place, record in zip(where, found.values(), strict=True):
        for verdict in record["verdicts"]:
            claims.setdefault(verdict["claim"], {})[place] = verdict["holds"]
    known = sorted(where, key=_column)
    rows = [["claim", *known], ["---"] * (1 + len(known))]
    rows += [[claim, *(said.get(place, "") for place in known)] for claim, said in claims.items()]
    table = "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)
    inner = sorted(found.items(), key=lambda item: _column(corpus(*item)))
    head = f"## {title(name)}\n\n{_sentence(first['title'])}"
    return "\n\n".join([head, table, *(one(*item) for item in inner)])


def _column(place: str) -> int:
    known = list(CORPORA.values())
    return known.index(place) if place in known else len(known)


def one(stem: str, record: Record) -> str:
    """Return what one record says, folded: setting, claims with their numbers, and the command."""
    lines = ['<details markdown="1">']
    lines += [f"<summary>{title(record['name'])} on {corpus(stem, record)}: the numbers</summary>"]
    lines += ["", _sentence(record["setting"]), ""]
    for verdict in record["verdicts"]:
        lines.append(
            f"- **{verdict['claim']}**: {verdict['holds']}. {_sentence(verdict['reason'])}"
        )
    lines += ["", *(f"- {_sentence(note)}" for note in record.get("notes", ())), ""]
    command = record["provenance"]["command"]
    lines += [f"Made by `{command}` with Gnomon {record['provenance']['gnomon']}.", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, "</details>"]))


def _sentence(text: str) -> str:
    text = text.strip()
    formula = re.match(r"\w(?:\(| [=<>])", text)  # keeps its letter: d = 128, r(n+d)
    first = text[:1] if formula else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(folder: Path) -> str:
    """Return what stands between the marks."""
    found = records(folder)
    if not found:
        return "(There is no record yet; `gnomon reproduce NAME --json FILE` makes one.)"
    names = list(dict.fromkeys(record["name"] for record in found.values()))
    parts = [
        part(name, {stem: record for stem, record in found.items() if record["name"] == name})
        for name in names
    ]
    return "\n\n".join([tally(found), *parts])


def main(path: Path, folder: Path) -> None:
    """Write the page; one without its marks is left alone."""
    text = path.read_text(encoding="utf-8")
    if not SLOT.search(text):
        sys.exit(f"{path.name} has no place for verdicts; put <!-- verdict_records:begin --> back.")
    body = f"<!-- verdict_records:begin -->\n\n{page(folder)}\n\n<!-- verdict_records:end -->"
    path.write_text(SLOT.sub(lambda _: body, text), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("Arguments: the page, and the folder of the records if it is another one.")
    given = Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "benchmarks" / "records"
    main(Path(sys.argv[1]), given)
