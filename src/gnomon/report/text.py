"""Results as plain text for a terminal: aligned tables, nothing computed here."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from gnomon.pipeline import order_in_words, p_in_words, rows_used

Cell = str | float | int | None
ZERO = "0"
RESERVATIONS = {
    "rare types": "this may be too small, since tokens too rare to be counted one by one differ "
    "between positions and common ones do not",
    "new types": "this may be too small, since rare tokens come and go along the positions, as "
    "where a vocabulary grows",
}
"""Why the debiased mean squared distance may be too small."""


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return an aligned table; a column of words is aligned to the left, of numbers to the right.

    >>> print(table(["name", "stress"], [["mds", 0.0123], ["zero", None]]))
    name  stress
    mds   0.0123
    zero       -
    """
    shown = [list(header)] + [[cell(value) for value in row] for row in rows]
    widths = [max(len(row[k]) for row in shown) for k in range(len(header))]
    left = {k for k in range(len(header)) if _is_text(k, rows)}
    lines = (
        "  ".join(
            text.ljust(widths[k]) if k in left else text.rjust(widths[k])
            for k, text in enumerate(row)
        ).rstrip()
        for row in shown
    )
    return "\n".join(lines)


def cell(value: Cell) -> str:
    """Return a number with three or four significant digits, an integer with its thousands."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value != 0 and abs(value) < 1e-12:
            return "<1e-12"
        return f"{value:.4f}" if 1e-3 <= abs(value) < 10 or value == 0 else f"{value:.4g}"
    return value


def percent(share: float | None) -> str:
    """Return a share as per cent; what is more than rounding but shows as 0 is not called 0.

    >>> percent(1e-18), percent(0.0004), percent(0.38)
    ('0.0 %', '<0.1 %', '38.0 %')
    """
    if share is None:
        return "-"
    return "<0.1 %" if 1e-12 < share < 0.0005 else f"{100 * share:.1f} %"


def _is_text(k: int, rows: Sequence[Sequence[Cell]]) -> bool:
    return all(isinstance(row[k], str) and row[k] != ZERO for row in rows)


def survey_text(survey: dict[str, Any], *, verbose: bool = False) -> str:
    """Return a survey (the contents of survey.json) as text."""
    parts = [_corpus(survey), *_verdict(survey["verdict"]), _encodings(survey), _geometry(survey)]
    if verbose:
        parts += [_more(survey), _dimensions(survey), _details(survey)]
    return "\n\n".join(part for part in parts if part)


def _verdict(verdict: dict[str, Any]) -> list[str]:
    """Return what to be careful with, where there is something, and the verdict."""
    word = {True: "informative", False: "not informative", None: "undecided"}
    caution = verdict.get("caution") or ""
    summary = verdict["summary"].removeprefix(caution).strip()
    said = [f"Caution: {caution}"] if caution else []
    said.append(f"Verdict: {word[verdict['informative']]}. {summary}")
    return [textwrap.fill(part, width=100, break_on_hyphens=False) for part in said]


def _corpus(survey: dict[str, Any]) -> str:
    corpus = survey["corpus"]
    masked = [p for p in survey["positions"] if p["status"] == "masked"]
    axes = " x ".join(map(str, corpus["axes"]))
    read = (
        f"{corpus['source']}: {corpus['rows']:,} documents in {corpus['groups']:,} groups, "
        f"{corpus['tokens']:,} tokens, {corpus['types']:,} types ({corpus['tokenizer']})"
    )
    unit = "positions" if corpus["bins"] is None else "bins"
    placed = (
        f"n = {axes} {unit}; window: {corpus['window']}; {corpus['folds']} folds; "
        f"masked (under {corpus['minimum_count']} tokens): {_ranges(masked) or 'none'}"
    )
    notes = [f"note: {note}" for note in corpus["notes"]]
    return "\n".join([read, placed, *_unestimated(survey), *notes])


def _unestimated(survey: dict[str, Any]) -> list[str]:
    """Say which positions have tokens enough and no debiased distances, by reason."""
    found = [p for p in survey["positions"] if p["status"] == "unestimated"]
    return [
        f"not debiased: {_ranges([p for p in found if p['reason'] == why])} ({why})"
        for why in dict.fromkeys(p["reason"] for p in found)
    ]


def _geometry(survey: dict[str, Any]) -> str:
    found = survey["geometry"]
    exact, own = found["isometric_from_dimension"], found["monotonicity"]
    distances = (
        f"{found['metric']} distances, {found['estimator']} estimator (as published): mean "
        f"{cell(found['mean_distance'])}, mean squared {cell(found['mean_squared']['plugin'])}"
    )
    rank = (
        f"numerical rank {found['rank']['numerical']}, participation ratio "
        f"{found['participation']:.3g}, exact isometry "
        + (f"from dimension {exact}" if exact is not None else "in no dimension")
        + f" (negative eigenvalues: {percent(found['negative_share'])})"
    )
    order = (
        f"violations of monotonicity in the corpus itself {percent(own['violations'])}, "
        f"ties {percent(own['ties'])}; variance explained by lag "
        f"{percent(found['shift_equivariance'])}, by cyclic lag {percent(found['circulant'])}"
    )
    nulls = [_null(found["null"][kind], kind) for kind in ("dealt", "shuffled")]
    return "\n".join([distances, rank, order, *nulls, *_debiased(survey)])


MEANING = {
    "dealt": "the same tokens dealt at random to the same slots",
    "shuffled": "the tokens of each window permuted",
}


def _null(found: dict[str, Any], kind: str) -> str:
    if found["share"] is None:
        return f"{kind} null: none, {found['reason']}"
    return (
        f"{kind} null ({MEANING[kind]}): {percent(found['share'])} of the mean squared distance, "
        f"correlation with the distances {cell(found['correlation'])}"
    )


def _debiased(survey: dict[str, Any]) -> list[str]:
    """Return the lines of what can be trusted."""
    geometry = survey["geometry"]
    found, mean, head = geometry["debiased"], geometry["mean_squared"], geometry["head"]
    if found is None:
        return [f"debiased: none, {mean['reason']}"]
    status = [position["status"] for position in survey["positions"]]
    mean_line = (
        f"debiased: mean squared {_with_interval(mean['debiased'], mean['interval'])} over "
        f"{found['core']} core positions (plug-in there {cell(mean['plugin_core'])}); "
        f"{percent(geometry['measured_share'])} of it measured, the rest filled by frequency class"
    )
    mean_line += "".join(f"; {RESERVATIONS[one]}" for one in found.get("reservations", []))
    whole = head["types"] >= survey["corpus"]["types"]
    what = "the whole vocabulary" if whole else f"{head['types']:,} types, the rest as one"
    head_line = (
        f"head ({what}): {_with_interval(head['mean_squared'], head['interval'])}"
        f"{'' if whole else ', coarser laws'}; positions: "
        f"{found['core']} core, {status.count('projected')} projected, "
        f"{status.count('masked')} masked"
        + (f", {status.count('unestimated')} not debiased" if "unestimated" in status else "")
    )
    order = found["order"]
    rank_line = (
        f"effective rank {geometry['rank']['effective']}"
        + _optional(", participation ratio ", found["participation"])
        + _optional(", violations ", found["violations"])
        + f"; pairs significantly apart {percent(found['significant_share'])}; "
        f"signal {_p(found['signal'])}"
        + ("" if order is None else f"; {_order(survey)} {_p(order)}")
    )
    distinct = [p for p in survey["positions"] if p["distinct"]]
    named = f"distinct positions (false discovery rate 5 %): {_ranges(distinct) or 'none'}"
    return [mean_line, head_line, rank_line, named]


def _p(found: dict[str, Any]) -> str:
    return p_in_words(found["p_value"], found["draws"], found.get("folds"))


def _order(survey: dict[str, Any]) -> str:
    corpus = survey["corpus"]
    return order_in_words(len(corpus["axes"]), corpus["tokenizer"])


def _with_interval(value: float, interval: Sequence[float]) -> str:
    return f"{cell(value)} [{cell(interval[0])}, {cell(interval[1])}]"


def _optional(label: str, found: dict[str, Any] | None) -> str:
    return "" if found is None else label + _with_interval(found["value"], found["interval"])


def _encodings(survey: dict[str, Any]) -> str:
    header = [
        "encoding", "lift", "d", "raw", "scale-free", "debiased", "interval", "skill", "squared",
        "violations", "ties", "Pearson",
    ]  # fmt: skip
    lines = [table(header, [_row(found) for found in survey["encodings"]])]
    lines += [rows_used(found["rows"]) for found in survey["encodings"] if "rows" in found]
    return "\n".join(lines)


def _row(found: dict[str, Any]) -> list[Cell]:
    plugin, debiased = found["stress"]["plugin"], found["stress"]["debiased"]
    bounds = debiased["interval"]
    return [
        found["label"],
        found["lift"],
        found["dimension"],
        _or_zero(plugin["raw"]),
        _or_zero(plugin["scale_free"]),
        _or_zero(debiased["scale_free"]),
        None if bounds is None else bounded(*bounds),
        _or_zero(debiased["skill"]),
        _or_zero(debiased["squared"]),
        _or_zero(found["monotonicity"]["violations"]),
        _or_zero(found["monotonicity"]["ties"]),
        _or_zero(found["pearson"]),
    ]


def _or_zero(value: float | None) -> Cell:
    """Return a number, or the one way to print what is 0 but for rounding."""
    return ZERO if value is not None and abs(value) < 1e-12 else value


def bounded(low: float, high: float) -> str:
    """Return an interval with as many digits as tell its ends apart.

    >>> bounded(0.2051, 0.2079), bounded(0.00063, 0.00078), bounded(0.0, 3e-16)
    ('[0.205, 0.208]', '[0.0006, 0.0008]', '[0, 0]')
    """
    width = high - low if high > low else 1e-3
    digits = min(max(3, math.ceil(-math.log10(width))), 7)
    ends = (ZERO if abs(end) < 1e-12 else f"{end:.{digits}f}" for end in (low, high))
    return f"[{', '.join(ends)}]"


def _more(survey: dict[str, Any]) -> str:
    header = [
        "encoding",
        "lift",
        "best scale",
        "stress-1",
        "non-metric",
        "skill, plug-in",
        "min sep.",
    ]
    rows: list[list[Cell]] = []
    for found in survey["encodings"]:
        plugin = found["stress"]["plugin"]
        figures = [plugin[key] for key in ("best_scale", "kruskal", "nonmetric", "skill")]
        least = found["separation"]["minimum"]
        rows.append([found["label"], found["lift"], *figures, least])
    return "against plug-in distances, as published\n" + table(header, rows)


def _dimensions(survey: dict[str, Any]) -> str:
    header = ["rank", "raw", "scale-free", "stress-1", "r(n+d)", "r(n+d-r)", "free nd"]
    rows: list[list[Cell]] = [
        [
            row["rank"],
            *(row["stress"][key] for key in ("raw", "scale_free", "kruskal")),
            *(row["parameters"][key] for key in ("factored", "degrees", "free")),
        ]
        for row in survey["dimensions"]
    ]
    return "classical MDS (least strain) by rank\n" + table(header, rows)


def _details(survey: dict[str, Any]) -> str:
    values = survey["geometry"]["eigenvalues"][:10]
    shares = survey["geometry"]["cumulative_share"][:10]
    return (
        "eigenvalues "
        + ", ".join(f"{v:.4g}" for v in values)
        + "\ncumulative  "
        + ", ".join(percent(s) for s in shares)
    )


def _ranges(positions: list[dict[str, Any]]) -> str:
    """Return positions (or bins, by first and last) as ranges: 1, 2, 3, 7 -> '1-3, 7'."""
    runs: list[list[int]] = []
    for position in positions:
        first, last = (position.get(key, position["index"]) for key in ("first", "last"))
        if runs and first == runs[-1][-1] + 1:
            runs[-1][-1] = last
        else:
            runs.append([first, last])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
