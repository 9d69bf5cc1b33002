"""Grids of the laboratory as one self-contained page: claims, scores, curves, heads, lengths.

The page is drawn from tables that were computed before (`gnomon.lab.table`), never from models.
It is built as the page of a survey is: nothing is fetched, and no text but the two scripts named by
their SHA-256 can run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.report.figure import Figure
from gnomon.report.figures.lab_beside import spectra_figure, stress_figure
from gnomon.report.figures.lab_curvature import hessian_figure, logits_figure
from gnomon.report.figures.lab_curves import curves_figure, lengths_figure
from gnomon.report.figures.lab_heads import deposit_figure, heads_figure, rates_figure
from gnomon.report.figures.lab_pairs import pairs_figure, redundancy_figure
from gnomon.report.figures.lab_rows import in_words
from gnomon.report.figures.lab_scores import scores_figure
from gnomon.report.figures.places import figure_of
from gnomon.report.page.build import Shown
from gnomon.report.page.single import SinglePage

CLASSES = {"holds": "yes", "does not hold": "no", "depends": "unsure", "undecided": "unsure"}
EXPLAINED = {
    "lab-scores": "Every dot is a run with its own seed; the bar is the 95 % interval of the mean. "
    "The dotted line is the best that can be reached, the dashed one what an observer reaches who "
    "is told the tokens and not their order. Of real data the first is an estimate or a bound that "
    "may be out of reach, the second what counting tokens reaches, which a model may pass.",
    "lab-areas": "The mean score over the points of the learning curve: it tells encodings apart "
    "that all end at the ceiling. Learning rates were chosen by it, on other seeds.",
    "lab-curves": "Means over seeds; bars reach from the lowest seed to the highest. A curve that "
    "is cut before it rises looks dead and may only be slow.",
    "lab-heads": "Held-out score lost where the output of one head is replaced by zero. Heads of a "
    "layer stand in descending order in every run, then runs are averaged.",
    "lab-deposit": "The largest loss as a share of all losses in the first layer; the dashed line "
    "is that of equal heads. An open dot is a run whose largest loss is within its noise.",
    "lab-rates": "The same index where the same encoding was trained at several learning rates: "
    "what moves with the rate is no property of the encoding.",
    "lab-redundancy": "What is lost without two heads beyond what is lost without each: above 0, "
    "one does the work of the other when it is gone, and single losses understate both.",
    "lab-pairs": "Held-out score lost where one pair of coordinates that the encoding turns is "
    "taken out of the logits of all heads of a layer that turn it. Pairs stand in the order of "
    "their coordinates; a gap is a pair that is not there.",
    "lab-hessian": "How curved the loss is in its steepest direction, on held-out rows; means over "
    "seeds, bars from the lowest seed to the highest. Plain descent is stable at rates below 2 "
    "over it. It belongs to the loss, and not to the logits.",
    "lab-logits": "Of trained models, on held-out rows: the largest singular value of logits with "
    "encodings over that without them, and how much of the logits is a function of the lag. Means "
    "over layers and heads; a dot is a run. Vectors are in queries and keys already, so that their "
    "ratio is 1.",
    "lab-lengths": "The trained model on sequences of other lengths, nothing trained again; bars "
    "reach from the lowest seed to the highest.",
    "lab-spectra": "Contraction is the ratio of the largest singular value of logits with the "
    "encoding to that without it. A norm of logits is no statement on the loss.",
    "lab-stress": "Stress of the encoding on the corpus of the task against what a model with it "
    "reached. Raw stress measures scale before anything else.",
}


def lab_page(contents: Mapping[str, Any], *, version: str) -> bytes:
    """Return the page in UTF-8.

    `contents` has `name`, `question`, `grids` (tables of `gnomon.lab.table`) and where there are
    any `verdicts`, `optimisation`, `stress`, `correlations` and `notes`.
    """
    page = SinglePage()
    grids = [
        {
            **grid,
            "figures": _shown(page, _figures(grid["rows"]), f"g{k}", grid["name"]),
            "lines": [_line(row) for row in grid["rows"]],
            "differences": [_difference(one) for one in grid.get("compared") or ()],
            "data": _data(grid["rows"]),
            "swept": any(row["choice"] for row in grid["rows"]),
        }
        for k, grid in enumerate(contents["grids"])
    ]
    verdicts = [
        dict(one) | {"class": CLASSES.get(one["holds"], "unsure")}
        for one in contents.get("verdicts", ())
    ]
    return page.made(
        "lab.html",
        contents=contents,
        grids=grids,
        beside=_shown(page, _beside(contents), "beside", str(contents["name"])),
        verdicts=verdicts,
        notes=contents.get("notes", ()),
        version=version,
    )


def _figures(rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return what a grid can show; what it was never asked for is left out."""
    made = [
        scores_figure(rows),
        scores_figure(rows, "areas"),
        curves_figure(rows),
        lengths_figure(rows),
        heads_figure(rows),
        deposit_figure(rows),
        rates_figure(rows),
        redundancy_figure(rows),
        pairs_figure(rows),
        hessian_figure(rows),
        logits_figure(rows),
    ]
    first = made[0]
    return [one for one in made if one is first or one.missing is None]


def _beside(contents: Mapping[str, Any]) -> list[Figure]:
    correlations = contents.get("correlations")
    made = []
    if contents.get("optimisation"):
        made.append(spectra_figure(contents["optimisation"], correlations))
    if contents.get("stress"):
        made.append(stress_figure(contents["stress"], correlations))
    return made


def _shown(page: SinglePage, figures: Sequence[Figure], prefix: str, label: str) -> list[Shown]:
    return page.shown(
        figures, prefix=prefix, label=label, said=lambda figure: EXPLAINED[figure.key]
    )


def _line(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row of the table in words."""
    if not row["scores"]:
        return {"task": row["task"], "encoding": row["encoding"], "note": _note(row)}
    steps = ["never" if step is None else f"{step:,}" for step in row["steps_to_90"]]
    costs = [cost for cost in row["cpu_seconds"] if cost is not None]
    return {
        "task": row["task"],
        "encoding": row["encoding"],
        "choice": ", ".join(f"{k.replace('_', ' ')} {v:g}" if isinstance(v, float)
                            else f"{k.replace('_', ' ')} {v}" for k, v in row["choice"].items()),
        "seeds": str(len(row["seeds"])),
        "score": in_words(row),
        "area": in_words(row, "areas"),
        "steps": " ".join(steps),
        "parameters": f"{row['parameters']:,}" if row["parameters"] else "-",
        "seconds": f"{sum(costs) / len(costs):.1f}" if costs else "-",
        "note": _note(row),
    }  # fmt: skip


def _difference(one: Mapping[str, Any]) -> dict[str, str]:
    """Return a paired difference in words."""
    ends = one["interval"]
    return {
        "task": str(one["task"]),
        "encoding": str(one["encoding"]),
        "reference": str(one["reference"]),
        "seeds": str(one["seeds"]),
        "difference": signed(one["difference"]),
        "interval": "-" if ends is None else f"[{signed(ends[0])}, {signed(ends[1])}]",
        "p": chance(one["p"]),
        "p_holm": chance(one["p_holm"]),
    }


def signed(value: float) -> str:
    """Return a difference with its sign.

    >>> signed(0.1234), signed(-0.02)
    ('+0.123', '-0.020')
    """
    return f"{value:+.3f}"


def chance(value: float | None) -> str:
    """Return a p value as it is read.

    >>> chance(0.2345), chance(0.00001), chance(None)
    ('0.234', '< 0.001', '-')
    """
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _data(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say for every task that reads documents how many there are, and what they leave open."""
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("data") and row["scores"]:
            by_task.setdefault(str(row["task"]), []).append(row["data"])
    return [f"{task}: {_documents(own)}" for task, own in by_task.items()]


def _documents(own: Sequence[Mapping[str, Any]]) -> str:
    first, words = own[0], f"{own[0]['test']:,} test documents"
    errors = sorted(one["standard_error"] for one in own if one["standard_error"] is not None)
    if errors:
        ends = dict.fromkeys(figure_of(error) for error in (errors[0], errors[-1]))
        words += f", which alone give a standard error of {' to '.join(ends)}"
    elif not first["one_answer"]:
        words += ", of many answers each"
    words += f"; {first['validation']:,} for choices and {first['train']:,} for training"
    words += f"; digest {first['digest']}."
    if max(one["digests"] for one in own) > 1 or len({one["digest"] for one in own}) > 1:
        words += " Not all runs have read the same data."
    return words


def _note(row: Mapping[str, Any]) -> str:
    """Say what a reader of a mean should know."""
    told = []
    if row.get("at_edge"):
        told.append("best rate at the edge of the sweep")
    if row["diverged"]:
        told.append(f"{row['diverged']} diverged")
    if row["failed"]:
        told.append(f"{row['failed']} failed")
    if row["late"]:
        told.append(f"late: seed {', '.join(map(str, row['late']))}")
    return "; ".join(told)
