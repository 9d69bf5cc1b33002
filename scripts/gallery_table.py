"""The gallery in Markdown: one line for each corpus, then each with its picture and command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gallery_trim import command_of

Survey = dict[str, Any]
HEADER = ("corpus", "positions", "tokens", "informative", "mean squared distance, debiased")
HEADER += ("noise", "effective rank", "best fixed encoding", "leaves", "equal distances leave")
ANSWERS = {True: "yes", False: "no", None: "undecided"}
FITTED = ("mds", "smacof")


def table(surveys: Sequence[tuple[str, str, Survey]], folder: Path) -> str:
    """Return the table, and a section for each corpus; pictures are those found in `folder`."""
    rows = [HEADER, ["---"] * len(HEADER)]
    rows += [_row(name, contents) for name, _, contents in surveys]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, *(_section(*one, folder) for one in surveys)])


def _row(name: str, contents: Survey) -> list[str]:
    geometry, squared = contents["geometry"], contents["geometry"]["mean_squared"]
    label, stress, skill = best_fixed(contents)
    return [
        f"[{name}](#{name})",
        f"{sum(one['status'] != 'masked' for one in contents['positions'])}",
        f"{contents['corpus']['tokens']:,}",
        ANSWERS[contents["verdict"]["informative"]],
        _with_interval(squared["debiased"], squared["interval"]),
        _percent(squared["noise_share"]),
        "-" if geometry["rank"]["effective"] is None else str(geometry["rank"]["effective"]),
        label,
        stress,
        _equal(contents, skill),
    ]


def best_fixed(contents: Survey) -> tuple[str, str, float | None]:
    """Return the encoding that is not fitted and leaves least debiased stress, with its skill."""
    known = [
        entry
        for entry in contents["encodings"]
        if entry["name"] not in ("random", "table")
        and not entry["name"].startswith(FITTED)
        and entry["stress"]["debiased"]["scale_free"] is not None
    ]
    if not known:
        return "-", "-", None
    best = min(known, key=lambda entry: entry["stress"]["debiased"]["scale_free"])
    found = best["stress"]["debiased"]
    shown = _with_interval(found["scale_free"], found["interval"])
    return f"{best['label']} ({best['lift']})", shown, found["skill"]


def _equal(contents: Survey, skill: float | None) -> str:
    """Return the stress of equal distances, which the skill of any encoding tells."""
    known = [entry["stress"]["debiased"] for entry in contents["encodings"]]
    found = next((one for one in known if one["skill"] not in (None, 1.0)), None)
    if skill is None or found is None:
        return "-"
    return f"{found['scale_free'] / (1.0 - found['skill']):.3f}"


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
        f"```console\n$ {command_of(contents)}\n```\n\n"
        f"[Its numbers](gallery/{name}.json)"
    )
