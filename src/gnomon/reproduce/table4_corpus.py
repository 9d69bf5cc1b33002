"""What of a corpus of Table 4 can be trusted, in numbers for JSON and in a heading for readers.

The corpus is counted, then counted again with its windows shuffled and, where groups were declared,
with every row on its own; from these the noise is taken out as `gnomon survey` does it. Where that
can not be done the debiased figures are None, and the reason is kept.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from gnomon.corpus import CountOptions, Progress
from gnomon.distances import Figure
from gnomon.pipeline import (
    DebiasedTarget,
    Measured,
    NoiseReport,
    Tests,
    measure_corpus,
    ranges,
    signed_figure,
)
from gnomon.results import plain

LENGTH = 64
"""The published length is lost."""
EDGES = 12
"""So many eigenvalues are kept beyond those above the edge."""


def measure_published(corpus: Any, options: CountOptions, progress: Progress) -> Measured:
    """Measure a corpus; long sequences at our default length where none is asked for."""
    return measure_corpus(corpus, options, longest=LENGTH, progress=progress)


def missing(measured: Measured) -> str | None:
    """Say why there is no debiased stress, without a full stop; None where there is."""
    reason = measured.no_target
    return None if reason is None else reason.rstrip(".")


def in_words(measured: Measured) -> str:
    """Return what the heading of a corpus says of noise and signal."""
    if measured.noise is None:
        return f"Debiased: none, since {missing(measured)}. {_signal(measured)}"
    parts = [
        _noise(measured.noise),
        _geometry(measured),
        _signal(measured),
        *measured.noise.warnings,
    ]
    return " ".join(part for part in parts if part)


def _noise(found: NoiseReport) -> str:
    share = found.noise_share
    listed = ranges(found.tests.extents[k] for k in found.debiased.core)
    noise = "" if share is None else f"; {100 * share:.0f} % of the former is sampling noise"
    return (
        f"Debiased: on the {len(found.core)} core positions ({listed}) the "
        f"mean squared distance is {found.plugin_core:.3f} plug-in and {signed_figure(found.mean)} "
        f"debiased{noise}. Effective rank {found.debiased.rank}."
    )


def _geometry(measured: Measured) -> str:
    found, target = measured.noise, measured.target
    if found is None or target is None:
        return f"No debiased stress, since {missing(measured)}."
    matter = "" if found.participation is None else signed_figure(found.participation)
    trusted_more = (
        "; most pairs are not significantly apart, so trust `squared`"
        if found.significant_share < 0.5
        else ""
    )
    return (
        f"Participation ratio {matter}; pairs significantly apart "
        f"{100 * found.significant_share:.0f} %{trusted_more}. Equal distances leave "
        f"{target.simplex:.3f}, of squares {target.simplex_squared:.3f}."
    )


def _signal(measured: Measured) -> str:
    if measured.tests is None:
        return "Informative: undecided, the folds allow no test."
    answer = {True: "yes", False: "no", None: "undecided"}[measured.informative]
    return (
        f"Informative: {answer} ({measured.tests.what} p = {measured.tests.deciding.p_value:.2g})."
    )


def in_numbers(measured: Measured) -> dict[str, Any]:
    """Return the same for JSON, with the reason where something is missing."""
    geometry, reason = measured.geometry, missing(measured)
    spectrum = geometry.spectrum
    numbers: dict[str, Any] = {
        "corpus": measured.counts.to_dict(),
        "plugin": {
            "positions": len(geometry.positions),
            "mean_squared": geometry.mean_squared,
            "rank": spectrum.rank_numerical,
            "participation": spectrum.participation,
        },
        "informative": measured.informative,
        "tests": _p_values(measured.tests),
        "debiased": None if measured.noise is None else _debiased(measured.noise, measured.target),
        "unshuffled": measured.recounts.unshuffled,
    }
    if reason is not None:
        numbers["reason"] = reason
    converted: dict[str, Any] = plain(numbers)
    return converted


def _p_values(tests: Tests | None) -> dict[str, float | None] | None:
    if tests is None:
        return None
    order = None if tests.order is None else tests.order.p_value
    return {"signal": tests.signal.p_value, "word_order": order}


def _debiased(found: NoiseReport, target: DebiasedTarget | None) -> dict[str, Any]:
    made, edges = found.debiased, found.debiased.edges
    survived = found.survivorship
    return {
        "core": found.core,
        "noise_share": found.noise_share,
        "plugin_core": found.plugin_core,
        "mean_squared": _figure(found.mean),
        "head": {"types": found.head_types, **(_figure(found.head) or {})},
        "measured_share": found.measured_share,
        "significant_share": found.significant_share,
        "rank": made.rank,
        "edges": edges[np.isfinite(edges)],
        "eigenvalues": made.low_rank.eigenvalues[: made.rank + EDGES],
        "participation": _figure(found.participation),
        "violations": _figure(found.violations),
        "simplex": None if target is None else target.simplex,
        "simplex_squared": None if target is None else target.simplex_squared,
        "survivorship": None
        if survived is None
        else {k: _figure(getattr(survived, k)) for k in ("original", "shuffled", "difference")},
        "pattern": found.pattern,
        "warnings": found.warnings,
    }


def _figure(found: Figure | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)
