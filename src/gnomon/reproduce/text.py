"""A reproduction as plain text: tables by group, then every claim with its verdict and reason."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from gnomon.report import Cell, table
from gnomon.reproduce.claims import Figure, Reproduction, Row, Spread, Verdict
from gnomon.sources import cite

WIDTH = 110
_INDENT = " " * 15


def reproduction_text(found: Reproduction) -> str:
    """Return the whole report."""
    head = [f"{found.name}: {found.title}", f"source: {cite(found.source)}"]
    lines = [*head, f"setting: {found.setting}", *(f"note: {note}" for note in found.notes)]
    parts = ["\n".join(_wrapped(line) for line in lines)]
    parts += [_group(found.headings.get(name, name), rows) for name, rows in _groups(found.rows)]
    parts.append("\n".join(_verdict(verdict) for verdict in found.verdicts))
    return "\n\n".join(parts)


def _wrapped(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  "))


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each group, in the order in which groups first appear."""
    for name in dict.fromkeys(row.group for row in rows):
        yield name, [row for row in rows if row.group == name]


def _group(heading: str, rows: Sequence[Row]) -> str:
    """Return one table, or several under each other where one would be too wide."""
    columns = list(dict.fromkeys(name for row in rows for name in row.ours))
    quantity = rows[0].published.quantity
    shown: list[list[Cell]] = [[row.what for row in rows], [row.published.shown for row in rows]]
    shown += [[_cell(row.ours.get(name)) for row in rows] for name in columns]
    header = ["", f"published {quantity}", *columns]
    blocks = [
        table(
            [header[k] for k in chosen], [[shown[k][i] for k in chosen] for i in range(len(rows))]
        )
        for chosen in _blocks(header, shown)
    ]
    body = "\n\n".join(blocks)
    return f"{_wrapped(heading)}\n{body}" if heading else body


def _blocks(header: Sequence[str], shown: Sequence[Sequence[Cell]]) -> list[list[int]]:
    """Choose columns for each table so that it keeps to the width; the first is in all of them."""
    widths = [
        2 + max([len(name), *(len(str(value)) for value in column)])
        for name, column in zip(header, shown, strict=True)
    ]
    blocks = [[0]]
    for k in range(1, len(header)):
        if len(blocks[-1]) > 1 and sum(widths[j] for j in blocks[-1]) + widths[k] > WIDTH:
            blocks.append([0])
        blocks[-1].append(k)
    return blocks


def _cell(value: Figure) -> Cell:
    if isinstance(value, tuple):
        return f"{value[0]:.3f}-{value[1]:.3f}"
    return str(value) if isinstance(value, Spread) else value


def _verdict(verdict: Verdict) -> str:
    claim = textwrap.wrap(verdict.claim, WIDTH - len(_INDENT))
    reason = textwrap.wrap(verdict.reason, WIDTH - len(_INDENT))
    first = f"{verdict.holds.ljust(len(_INDENT))}{claim[0]}"
    return "\n".join([first, *(_INDENT + line for line in (*claim[1:], *reason))])
