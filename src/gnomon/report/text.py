"""Results as plain text for a terminal: aligned tables, nothing computed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Cell = str | float | int | None


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return an aligned table; the first column is text, the others are numbers.

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
    return all(isinstance(row[k], str) for row in rows)


def survey_text(survey: dict[str, Any], *, verbose: bool = False) -> str:
    """Return a survey (the contents of survey.json) as text."""
    parts = [_corpus(survey), _geometry(survey), _encodings(survey)]
    if verbose:
        parts += [_dimensions(survey), _details(survey)]
    parts.append(survey["verdict"]["summary"])
    return "\n\n".join(parts)


def _corpus(survey: dict[str, Any]) -> str:
    corpus = survey["corpus"]
    masked = [p["index"] for p in survey["positions"] if p["status"] == "masked"]
    axes = " x ".join(map(str, corpus["axes"]))
    read = (
        f"{corpus['source']}: {corpus['rows']:,} documents in {corpus['groups']:,} groups, "
        f"{corpus['tokens']:,} tokens, {corpus['types']:,} types ({corpus['tokenizer']})"
    )
    placed = (
        f"n = {axes} positions; window: {corpus['window']}; {corpus['folds']} folds; "
        f"masked (under {corpus['minimum_count']} tokens): {_ranges(masked) or 'none'}"
    )
    return "\n".join([read, placed, *(f"note: {note}" for note in corpus["notes"])])


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
    dealt = found["null"]["dealt"]
    null = (
        "dealt null (the same tokens dealt at random to the same slots): "
        f"{percent(dealt['share'])} of the mean squared distance, "
        f"correlation with the distances {cell(dealt['correlation'])}"
    )
    return f"{distances}\n{null}\n{rank}\n{order}"


def _encodings(survey: dict[str, Any]) -> str:
    header = [
        "encoding", "lift", "d", "raw", "scale-free", "best scale", "stress-1", "non-metric",
        "skill", "violations", "ties", "min sep.", "Pearson", "Spearman",
    ]  # fmt: skip
    return table(header, [_row(found) for found in survey["encodings"]])


def _row(found: dict[str, Any]) -> list[Cell]:
    stress = found["stress"]["plugin"]
    return [
        found["label"],
        found["lift"],
        found["dimension"],
        stress["raw"],
        stress["scale_free"],
        stress["best_scale"],
        stress["kruskal"],
        stress["nonmetric"],
        stress["skill"],
        found["monotonicity"]["violations"],
        found["monotonicity"]["ties"],
        found["separation"]["minimum"],
        found["pearson"],
        found["spearman"],
    ]


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


def _ranges(indices: list[int]) -> str:
    """Return indices as ranges: [1, 2, 3, 7] -> '1-3, 7'."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1][-1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
