"""The gallery in Markdown: one line for each corpus, then each with its picture and command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gallery_trim import command_of

from gnomon.survey.verdict import FIXED, LIFTS

Survey = dict[str, Any]
HEADER = [
    "corpus",
    "positions",
    "tokens",
    "informative",
    "mean squared distance, debiased",
    "noise",
    "effective rank",
    "nearest fixed encoding",
    "leaves",
    "a random table leaves",
]
ANSWERS = {True: "yes", False: "no", None: "undecided"}


def table(surveys: Sequence[tuple[str, str, Survey]], folder: Path) -> str:
    """Return the table, and a section for each corpus; pictures are those found in `folder`."""
    rows = [HEADER, ["---"] * len(HEADER)]
    rows += [_row(name, contents) for name, _, contents in surveys]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, *(_section(*one, folder) for one in surveys)])


def _row(name: str, contents: Survey) -> list[str]:
    geometry, squared = contents["geometry"], contents["geometry"]["mean_squared"]
    return [
        f"[{name}](#{name})",
        f"{sum(one['status'] != 'masked' for one in contents['positions'])}",
        f"{contents['corpus']['tokens']:,}",
        ANSWERS[contents["verdict"]["informative"]],
        _with_interval(squared["debiased"], squared["interval"]),
        _percent(squared["noise_share"]),
        "-" if geometry["rank"]["effective"] is None else str(geometry["rank"]["effective"]),
        *compared(contents),
    ]


def compared(contents: Survey) -> tuple[str, str, str]:
    """Return the nearest encoding that is not fitted, what it leaves, and what chance leaves.

    Chosen as the verdict of a survey chooses: among fixed encodings under the lifts it trusts, by
    stress of squared distances where most pairs are not significantly apart.
    """
    share = (contents["geometry"].get("debiased") or {}).get("significant_share")
    kind = "squared" if share is not None and share < 0.5 else "scale_free"
    known = [one for one in contents["encodings"] if one["stress"]["debiased"][kind] is not None]
    fixed = [one for one in known if one["name"] in FIXED and one["lift"] in LIFTS]
    if not fixed:
        return "-", "-", "-"
    best = min(fixed, key=lambda one: round(one["stress"]["debiased"][kind], 9))
    chance = next(one for one in known if one["name"] == "random")
    interval = {"squared": "squared_interval", "scale_free": "interval"}[kind]
    found = best["stress"]["debiased"]
    shown = _with_interval(found[kind], found[interval])
    mark = " (squares)" if kind == "squared" else ""
    left = f"{chance['stress']['debiased'][kind]:.3f}{mark}"
    return f"{best['label']}, {best['lift']} lift", shown + mark, left


def _with_interval(value: float | None, interval: Sequence[float] | None) -> str:
    if value is None:
        return "-"
    if interval is None:
        return f"{value:.3f}"
    return f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _section(name: str, what: str, contents: Survey, folder: Path) -> str:
    """Return the heading, the verdict in words, the picture and the command of one corpus."""
    picture = f"![Distances and map of {name}](gallery/{name}.png)\n\n"
    return (
        f"\n## {name}\n\n{what[:1].upper()}{what[1:]}. {contents['verdict']['summary']}\n\n"
        f"{picture if (folder / f'{name}.png').is_file() else ''}"
        f"Made by `{command_of(contents)}`. [Its numbers](gallery/{name}.json)"
    )
