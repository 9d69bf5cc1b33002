"""What the record of `stress-accuracy` shows beside its claims, found when the runs had been seen.

The claims ask over all scales at once; here each scale is looked at alone, and raw stress on those
corpora on which the largest vectors reach more than the smallest. Nothing was claimed before, so
nothing gets a verdict. Numbers come from the record alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gnomon.lab.table import over_seeds
from gnomon.reproduce.stress_accuracy import KINDS, REACHED, by_corpus

Record = dict[str, Any]
Line = dict[str, Any]
AFTER = (
    "Not claimed before the runs, so without a verdict; intervals are 95 % over corpora, each by "
    "itself."
)
ALONE = (
    "Rank correlation of stress and accuracy along training at one scale alone. Few encodings have "
    "a scale in common, so that single values are coarse: four in a given order come by chance "
    "once in 24."
)


def seen(record: Record) -> list[str]:
    """Return lines of Markdown; none for a record without stress."""
    lines = record["corpora"]["laboratory"].get("stress")
    if not lines:
        return []
    return [
        "#### Seen afterwards",
        "",
        AFTER,
        "",
        *(f"- {line}" for line in (*_raw(lines), *_faint(lines))),
        "",
        ALONE,
        "",
        *_by_scale(lines),
    ]


def rising(lines: Sequence[Line]) -> list[str]:
    """Return the corpora on which the largest vectors reach more than the smallest, on average."""
    scales = [line["scale"] for line in lines]
    found = []
    for corpus in dict.fromkeys(line["corpus"] for line in lines):
        small, large = (
            [one["share"] for one in lines if (one["corpus"], one["scale"]) == (corpus, scale)]
            for scale in (min(scales), max(scales))
        )
        if np.mean(large) > np.mean(small):
            found.append(corpus)
    return found


def _raw(lines: Sequence[Line]) -> Iterator[str]:
    """Tell how raw stress goes with accuracy where larger vectors reach more."""
    kept = rising(lines)
    own = [line for line in lines if line["corpus"] in kept]
    told = []
    for reached, words in REACHED.items():
        found = list(by_corpus(own, "raw", reached).values())
        if len(found) > 1:
            told.append(f"{words} {_interval(found)}")
    if told:
        yield (
            f"Raw stress and accuracy over all scales, on the {len(kept)} corpora on which the "
            f"largest vectors reach more than the smallest ({', '.join(kept)}): "
            f"{', '.join(told)}. Above 0, more stress goes with more accuracy; the smallest "
            "vectors have the least raw stress."
        )


def _faint(lines: Sequence[Line]) -> Iterator[str]:
    """Tell what each encoding reaches at the smallest scale."""
    least = min(line["scale"] for line in lines)
    kept = rising(lines)
    own = [line for line in lines if line["scale"] == least and line["corpus"] in kept]
    told = []
    for name in dict.fromkeys(line["encoding"] for line in own):
        values = [line["along"] for line in own if line["encoding"] == name]
        told.append(f"{name} {np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})")
    if told:
        yield (
            f"Share of the way to the ceiling along training at rms {least:g}, mean over the "
            f"same corpora (smallest to largest): {', '.join(told)}."
        )


def _by_scale(lines: Sequence[Line]) -> list[str]:
    corpora = list(dict.fromkeys(line["corpus"] for line in lines))
    made = [f"| stress | rms | mean | {' | '.join(corpora)} |", "| --- " * (3 + len(corpora)) + "|"]
    for kind, words in KINDS.items():
        for scale in sorted({line["scale"] for line in lines}):
            found = by_corpus([one for one in lines if one["scale"] == scale], kind, "along")
            if len(found) < 2:
                continue
            cells = [f"{found[one]:+.1f}" if one in found else "-" for one in corpora]
            mean = _interval(list(found.values()))
            made.append(f"| {words} | {scale:g} | {mean} | {' | '.join(cells)} |")
    return made


def _interval(values: Sequence[float]) -> str:
    """Return the mean with its interval, cut where a correlation ends."""
    low, high = np.clip(over_seeds(values).interval or (np.nan, np.nan), -1.0, 1.0)
    return f"{np.mean(values):+.2f} [{low:+.2f}, {high:+.2f}]"
