"""Parts of the table of a grid: differences to a reference, and the documents behind a score.

Differences are of areas under the learning curve, paired by seed, with Holm's correction over the
encodings of a task (`Summary.compared`). The reference is RoPE where a task was run with it, and
otherwise the first encoding that has a finished run there.

Intervals of a real task are over seeds, and all seeds are scored on the same documents. What these
documents alone leave open is the standard error of an accuracy, beside which an interval over seeds
may look narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.lab.measures.intervals import document_error
from gnomon.lab.records import Record
from gnomon.lab.summaries import Comparison, Summary

PREFERRED = "rope"
QUANTITY = "area"


def compared(summary: Summary) -> list[dict[str, Any]]:
    """Return every encoding less the reference of its task, as plain values."""
    lines: list[dict[str, Any]] = []
    for task in dict.fromkeys(row.task for row in summary.rows):
        rows = tuple(row for row in summary.rows if row.task == task and row.seeds)
        names = [row.encoding for row in rows]
        if len(names) > 1:
            reference = PREFERRED if PREFERRED in names else names[0]
            found = Summary(rows=rows).compared(reference, QUANTITY)
            lines += [_line(one) for one in found]
    return lines


def _line(one: Comparison) -> dict[str, Any]:
    return {
        "task": one.task,
        "encoding": one.encoding,
        "reference": one.reference,
        "quantity": one.quantity,
        "difference": one.difference.mean,
        "interval": one.difference.interval,
        "seeds": one.difference.seeds,
        "p": one.difference.p,
        "p_holm": one.p_holm,
    }


def data_of(runs: Sequence[Record]) -> dict[str, Any] | None:
    """Return what the runs of a row have read, or None where their task is drawn.

    `test` is how many documents the score rests on, `standard_error` what they alone give;
    `digests` says how many different data sets the runs have read: more than one is a fault.
    """
    told = [run.data for run in runs if run.data]
    if not told or len(told) < len(runs):
        return None
    asked = int(runs[0].cell["training"]["held_out"])
    test = min(int(told[0]["test"]), asked)
    scores = [float(run.score) for run in runs if run.score is not None]
    single = told[0].get("one_answer", True) and runs[0].ceiling.get("measure") == "accuracy"
    error = document_error(sum(scores) / len(scores), test) if single and scores else None
    digests = len({one["digest"] for one in told})
    return {**told[0], "test": test, "digests": digests, "standard_error": error}
