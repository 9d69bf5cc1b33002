"""The gallery in Markdown: one line for each corpus, then each with its picture and command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gallery_corpora import Corpus
from gallery_trim import command_of

from gnomon.report import called

Survey = dict[str, Any]
HEADER = [
    "corpus",
    "positions",
    "tokens",
    "mean squared distance",
    "noise",
    "rank",
    "nearest known encoding",
    "leaves",
    "equal distances leave",
]
ANSWERS = {True: "yes", False: "no", None: "undecided"}


def table(surveys: Sequence[tuple[Corpus, Survey]], folder: Path) -> str:
    """Return the table, and a section for each corpus; pictures are those found in `folder`."""
    rows = [HEADER, ["---"] * len(HEADER)]
    rows += [_row(corpus.name, contents) for corpus, contents in surveys]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    answers = {ANSWERS[contents["verdict"]["informative"]] for _, contents in surveys}
    told = "Position shows in all of them."
    lines += ["", told] if answers == {"yes"} else []
    return "\n".join([*lines, *(_section(*one, folder) for one in surveys)])


def _row(name: str, contents: Survey) -> list[str]:
    geometry, squared = contents["geometry"], contents["geometry"]["mean_squared"]
    return [
        f"[{name}](#{name})",
        f"{sum(one['status'] != 'masked' for one in contents['positions'])}",
        f"{contents['corpus']['tokens']:,}",
        _with_interval(squared["debiased"], squared["interval"]),
        _percent(squared["noise_share"]),
        "-" if geometry["rank"]["effective"] is None else str(geometry["rank"]["effective"]),
        *compared(contents["verdict"]["nearest"]),
    ]


def compared(nearest: dict[str, Any] | None) -> tuple[str, str, str]:
    """Return the nearest encoding that is not fitted, what it leaves, and what equality leaves.

    They are those of the verdict, so that the page of a survey and the gallery say the same.
    """
    if nearest is None:
        return "-", "-", "-"
    mark = " of squares" if nearest["measure"] == "squared" else ""
    name = called(nearest["label"], nearest["lift"]) if nearest["closer"] else "none"
    left = f"{_percent(nearest['value'], 1)}{mark}" if nearest["closer"] else "-"
    return name, left, f"{_percent(nearest['equal'], 1)}{mark}"


def _with_interval(value: float | None, interval: Sequence[float] | None) -> str:
    if value is None:
        return "-"
    if interval is None:
        return f"{value:.3f}"
    return f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def _percent(share: float | None, digits: int = 0) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def _section(corpus: Corpus, contents: Survey, folder: Path) -> str:
    """Return what one corpus is, what is to be seen in it, its picture and its command."""
    name, what = corpus.name, corpus.what
    picture = f"![Distances and map of {name}](gallery/{name}.png)\n\n"
    return (
        f"\n## {name}\n\n"
        f"{what[:1].upper()}{what[1:]}. {corpus.shows}\n\n"
        f"{' '.join(_measured(contents))}\n\n"
        f"{picture if (folder / f'{name}.png').is_file() else ''}"
        '<details markdown="1">\n<summary>Source, command and numbers</summary>\n\n'
        f"{corpus.cited}\n\n"
        f"Made by `{command_of(contents)}`. [Its numbers](gallery/{name}.json)\n\n</details>"
    )


def _measured(contents: Survey) -> list[str]:
    """Return the sentences that hold measured numbers, each only where it says something."""
    geometry, squared = contents["geometry"], contents["geometry"]["mean_squared"]
    ranks, found = geometry["rank"], geometry["debiased"]
    published = f"{squared['plugin_core']:.3f} and the rank {ranks['numerical']}"
    left = f"{squared['debiased']:.3f} and {ranks['effective']}"
    return [
        f"As published the mean squared distance is {published}; without noise, {left}.",
        *_where(found["pattern"]),
        *_survivors(found["survivorship"]),
    ]


def _where(pattern: dict[str, Any] | None) -> list[str]:
    """Say at which end it is, if it is at one."""
    ends = {"start": "first", "end": "last"}
    if pattern is None or pattern["kind"] not in ends:
        return []
    places, share = sorted(pattern["positions"]), _percent(pattern["share"])
    which = f"the {ends[pattern['kind']]} positions, {places[0]} to {places[-1]}"
    return [f"{share} of the signal is in pairs with one of {which}."]


def _survivors(found: dict[str, Any] | None) -> list[str]:
    """Say what part is left when tokens change places inside documents, where that is sure."""
    if not found or found["shuffled"] is None or found["shuffled"]["interval"][0] <= 0.0:
        return []
    share = found["shuffled"]["value"] / found["original"]["value"]
    what = "survivorship (which documents reach a position), not order"
    return [f"{_percent(share)} of the distance is {what}."]
