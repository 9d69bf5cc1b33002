"""survey.json: every figure of a survey under the key that other tools read.

No number is NaN: what is undefined is null, and the nearest `reason` says why.

Typical tokens (only when asked: --show-tokens) make a position unlike the rest. With p the law at a
position and q that of all other positions together, token v adds

    (sqrt p_v - sqrt q_v)^2

to the squared chord between the two. Of the tokens that are commoner here (p_v > q_v) those that
add most are typical. Only positions whose law was found to differ are shown, and of these the ones
whose typical tokens add most: elsewhere the largest terms are the luck of small counts.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import PositionCounts
from gnomon.diagnostics import parameter_table
from gnomon.distances import NullGeometry, outside_core
from gnomon.pipeline.measured import FLAT
from gnomon.pipeline.noise import WHY
from gnomon.pipeline.rows import monotonicity_dict
from gnomon.pipeline.survey_file import SCHEMA_VERSION
from gnomon.results import plain

if TYPE_CHECKING:
    from gnomon.distances import Figure, Signal
    from gnomon.pipeline.noise import NoiseReport
    from gnomon.pipeline.surveys import Survey


SPECTRUM = 64
"""Eigenvalues of a null that are kept: 5 %, 50 % and 95 % quantiles over its replicates."""
MOST_POSITIONS = 12
MOST_TOKENS = 8


def contents(survey: Survey) -> dict[str, Any]:
    """Return the contents of survey.json."""
    return {
        "schema_version": SCHEMA_VERSION,
        "corpus": survey.counts.to_dict(),
        "positions": _positions(survey),
        "geometry": _geometry(survey),
        "encodings": [found.to_dict() for found in survey.entries],
        "dimensions": _dimensions(survey),
        "verdict": survey.verdict.to_dict(),
        "provenance": plain(survey.provenance),
        **_tokens(survey),
    }


def _tokens(survey: Survey) -> dict[str, Any]:
    """Return typical tokens where they were asked for: otherwise no text of the corpus is shown."""
    if not survey.options.show_tokens:
        return {}
    distinct = sorted(index for index, flag in _distinct(survey).items() if flag)
    return {"tokens": typical_tokens(survey.counts, distinct)}


def _positions(survey: Survey) -> list[dict[str, Any]]:
    kept, status, distinct = survey.counts.kept, _status(survey), _distinct(survey)
    untested = survey.measured.reason or "tokens in fewer than three folds"
    apart = {} if survey.noise is None else {one.position: one for one in survey.noise.unshared}
    found: list[dict[str, Any]] = []
    for index, tokens in enumerate(survey.counts.totals):
        line: dict[str, Any] = {
            "index": index,
            "tokens": int(tokens),
            "status": status[index],
            "distinct": distinct.get(index),
        }
        if survey.counts.bins is not None:
            line["first"], line["last"] = survey.counts.extents[index]
        if not kept[index]:
            line["reason"] = "fewer tokens than the minimum count"
        elif index in apart:
            one = apart[index]
            line["reason"] = WHY
            line["unshared"] = {"plugin": one.plugin, "at_least": _figure(one.at_least)}
        elif line["status"] in (None, "unestimated") or line["distinct"] is None:
            line["reason"] = untested
        found.append(line)
    return found


def _status(survey: Survey) -> list[str | None]:
    """Return core, projected, unestimated or masked; None where nothing was debiased."""
    kept, noise = survey.counts.kept, survey.noise
    if noise is None:
        return [None if ok else "masked" for ok in kept]
    status: list[str | None] = ["unestimated" if ok else "masked" for ok in kept]
    for index in noise.core:
        status[index] = "core"
    for index in noise.debiased.positions[outside_core(noise.debiased)]:
        status[index] = "projected"
    return status


def _distinct(survey: Survey) -> dict[int, bool]:
    return {} if survey.tests is None else survey.tests.flags


def _geometry(survey: Survey) -> dict[str, Any]:
    spectrum, noise = survey.geometry.spectrum, survey.noise
    reasons = [] if noise is not None else [f"measured_share: {survey.measured.reason}"]
    if spectrum.isometric_from_dimension is None:
        reasons.append("isometric_from_dimension: some eigenvalues are negative")
    found = {
        "metric": survey.geometry.metric,
        "estimator": survey.geometry.estimator,
        "mean_distance": survey.geometry.mean_distance,
        "mean_squared": _mean_squared(survey),
        "head": _head(survey),
        "measured_share": None if noise is None else noise.measured_share,
        "eigenvalues": plain(spectrum.eigenvalues),
        "cumulative_share": plain(spectrum.cumulative_share),
        "participation": spectrum.participation,
        "rank": _rank(survey),
        "isometric_from_dimension": spectrum.isometric_from_dimension,
        "positive_semidefinite": spectrum.positive_semidefinite,
        "negative_share": spectrum.negative_share,
        "shift_equivariance": survey.shift.toeplitz,
        "circulant": survey.shift.circulant,
        "monotonicity": monotonicity_dict(survey.monotonicity),
        "null": _nulls(survey),
        "debiased": _estimate(noise),
    }
    return found | ({"reason": "; ".join(reasons)} if reasons else {})


def _mean_squared(survey: Survey) -> dict[str, Any]:
    plugin, noise = survey.geometry.mean_squared, survey.noise
    if noise is None:
        return {
            "plugin": plugin,
            "debiased": None,
            "interval": None,
            "reason": survey.measured.reason,
        }
    return {
        "plugin": plugin,
        "debiased": noise.mean.value,
        "interval": list(noise.mean.interval),
        "standard_error": noise.mean.error,
        "plugin_core": noise.plugin_core,
        "noise_share": noise.noise_share,
    }


def _head(survey: Survey) -> dict[str, Any]:
    noise = survey.noise
    if noise is None:
        return {"mean_squared": None, "interval": None, "reason": survey.measured.reason}
    return {
        "mean_squared": noise.head.value,
        "interval": list(noise.head.interval),
        "types": noise.head_types,
    }


def _rank(survey: Survey) -> dict[str, Any]:
    numerical = survey.geometry.spectrum.rank_numerical
    if survey.noise is None:
        return {"numerical": numerical, "effective": None, "reason": survey.measured.reason}
    return {"numerical": numerical, "effective": survey.noise.debiased.rank}


def _nulls(survey: Survey) -> dict[str, Any]:
    used = None if survey.null is None else "dealt" if survey.shuffled is None else "shuffled"
    found = {
        "used": used,
        "dealt": _null(survey.null, FLAT),
        "shuffled": _null(
            survey.shuffled, survey.measured.recounts.unshuffled or "all distances are zero"
        ),
    }
    return found | ({"reason": FLAT} if used is None else {})


def _null(null: NullGeometry | None, reason: str) -> dict[str, Any]:
    keys = ("share", "mean_distance", "correlation")
    if null is None:
        return {**dict.fromkeys(keys), "reason": reason}
    found = {key: getattr(null, key) for key in keys}
    undefined = {"reason": "the distances of corpus or null are all alike"}
    because = undefined if None in found.values() else {}
    quantiles = null.eigenvalue_quantiles[:, :SPECTRUM]
    bands = dict(zip(("low", "median", "high"), plain(quantiles), strict=True))
    return {
        **found,
        "replicates": null.replicates,
        "spread": plain(null.spread),
        "eigenvalues": bands,
        "top_eigenvalue_95": null.top_eigenvalue_95,
        **because,
    }


def _estimate(noise: NoiseReport | None) -> dict[str, Any] | None:
    """Return what is known of the debiased geometry beyond the keys above."""
    if noise is None:
        return None
    found = noise.debiased
    return {
        "core": len(found.core),
        "significant_share": noise.significant_share,
        "edge": float(found.edge) if np.isfinite(found.edge) else None,
        "eigenvalues": plain(found.low_rank.eigenvalues[: max(found.rank + 5, 10)]),
        "profile": plain(found.profile),
        "participation": _figure(noise.participation),
        "violations": _figure(noise.violations),
        "intervals": "sampling only (fold jackknife), but for the means, which hold an allowance "
        "for the tail",
        "pattern": noise.pattern.to_dict(),
        "signal": _signal(noise.tests.signal),
        "order": _signal(noise.tests.order),
        "survivorship": None
        if noise.survivorship is None
        else {
            key: _figure(getattr(noise.survivorship, key))
            for key in ("original", "shuffled", "difference")
        },
        "geometry_reason": noise.no_geometry,
        "reservations": list(noise.debiased.reservations),
        "warnings": list(noise.warnings),
    }


def _figure(found: Figure | None) -> dict[str, Any] | None:
    return None if found is None else plain(asdict(found))


def _signal(found: Signal | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        key: getattr(found, key) for key in ("p_value", "p_spread", "p_isolated", "draws", "folds")
    }


def _dimensions(survey: Survey) -> list[dict[str, Any]]:
    if survey.by_dimension is None:
        return []
    n, d = len(survey.geometry.positions), survey.options.dimension
    table = parameter_table(n, d, [int(r) for r in survey.by_dimension.dimensions])
    curve = survey.by_dimension.to_dict()
    rows = plain(table.to_dict())["rows"]
    return [
        {
            "rank": row["rank"],
            "stress": {key: curve[key][i] for key in ("raw", "scale_free", "kruskal")},
            "parameters": row,
        }
        for i, row in enumerate(rows)
    ]


def typical_tokens(counts: PositionCounts, distinct: list[int]) -> list[dict[str, Any]]:
    """Return the typical tokens of the most unlike of the distinct positions, in their order."""
    everywhere = np.asarray(counts.matrix.sum(axis=0)).ravel().astype(np.float64)
    found = {index: _of(counts, index, everywhere) for index in distinct}
    strongest = sorted(found, key=lambda index: -found[index][0])[:MOST_POSITIONS]
    return [
        {
            "index": index,
            "first": counts.extents[index][0],
            "last": counts.extents[index][1],
            "typical": found[index][1],
        }
        for index in sorted(strongest)
    ]


def _of(
    counts: PositionCounts, index: int, everywhere: NDArray[np.float64]
) -> tuple[float, list[dict[str, Any]]]:
    """Return what the typical tokens of one position add together, and the tokens."""
    row = counts.matrix[[index]]
    here = row.data / max(row.data.sum(), 1)
    rest = everywhere[row.indices] - row.data
    there = rest / max(everywhere.sum() - row.data.sum(), 1)
    added = np.where(here > there, (np.sqrt(here) - np.sqrt(there)) ** 2, 0.0)
    order = np.lexsort((row.indices, -added))[:MOST_TOKENS]
    chosen = [i for i in order if added[i] > 0]
    tokens = [
        {
            "token": _name(counts, int(row.indices[i])),
            "share": float(here[i]),
            "elsewhere": float(there[i]),
        }
        for i in chosen
    ]
    return float(added[chosen].sum()), tokens


def _name(counts: PositionCounts, token: int) -> str:
    names = counts.vocabulary.tokens
    return f"id {token}" if names is None else names[token]
