"""What of a corpus of Table 4 can be trusted, in numbers for JSON and in a heading for readers.

The corpus is counted, then counted again with its windows shuffled and, where groups were declared,
with every row on its own; from these the noise is taken out as `gnomon survey` does it. Where that
can not be done the debiased figures are None, and the reason is kept.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gnomon.corpus.counting import CountOptions, count_with
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.progress import Progress
from gnomon.distances.debiased.intervals import Figure
from gnomon.distances.measure import Geometry
from gnomon.pipeline.debiased_stress import DebiasedTarget, target_of_trust
from gnomon.pipeline.shuffles import counted as counted_apart
from gnomon.pipeline.shuffles import shuffles_of, ungrouped_of
from gnomon.pipeline.trust import Tests, Trust, in_folds
from gnomon.pipeline.trust import trusted as survey_trusted
from gnomon.pipeline.words import ranges, signed_figure
from gnomon.results import plain

LENGTH = 64
"""The published length is lost."""
SHUFFLES = 2
EDGES = 12
"""So many eigenvalues are kept beyond those above the edge."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A corpus as counted, and counted again."""

    counts: PositionCounts
    shuffled: tuple[PositionCounts, ...] = ()
    unshuffled: str | None = None
    """Why there are no shuffled windows, where there are none."""
    ungrouped: PositionCounts | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Trusted:
    """What could be told from noise; `reason` says why there is no debiased geometry."""

    trust: Trust | None = None
    target: DebiasedTarget | None = None
    tests: Tests | None = None
    reason: str | None = None

    @property
    def informative(self) -> bool | None:
        """Whether position is in the marginals; None where that could not be tested."""
        return None if self.tests is None else self.tests.informative


def counted(corpus: Any, counting: CountOptions, progress: Progress) -> Counted:
    """Count a corpus; long sequences at our default length where none was asked for."""
    counts, counting = counted_apart(corpus, counting, progress)
    free = counting.length is None and counting.bins is None
    if free and len(counts.axes) == 1 and counts.length > LENGTH:
        counting = replace(counting, length=LENGTH)
        counts = (
            counts.shortened(LENGTH)
            if corpus == "-"  # standard input can be read only once
            else count_with(corpus, counting, progress=progress)
        )
    shuffled, why = shuffles_of(corpus, counts, counting, SHUFFLES, progress)
    return Counted(
        counts=counts,
        shuffled=shuffled,
        unshuffled=why,
        ungrouped=ungrouped_of(corpus, counts, counting, progress),
    )


def trusted(found: Counted, geometry: Geometry, seed: int, progress: Progress) -> Trusted:
    """Take the noise out, or say why that can not be done."""
    if not geometry.distances.any():
        return Trusted(reason="all distances are zero")
    known, tests, reason = survey_trusted(
        in_folds(found.counts, seed),
        geometry,
        seed=seed,
        shuffled=found.shuffled,
        ungrouped=found.ungrouped,
        progress=progress,
    )
    if known is None:
        return Trusted(tests=tests, reason=str(reason).rstrip("."))
    target = target_of_trust(known, geometry)
    return Trusted(trust=known, target=target, tests=tests, reason=known.no_geometry)


def in_words(known: Trusted) -> str:
    """Return what the heading of a corpus says of noise and signal."""
    if known.trust is None:
        return f"Debiased: none, since {known.reason}. {_signal(known)}"
    parts = [_noise(known.trust), _geometry(known), _signal(known), *known.trust.warnings]
    return " ".join(part for part in parts if part)


def _noise(found: Trust) -> str:
    share = found.noise_share
    listed = ranges(found.tests.extents[k] for k in found.debiased.core)
    noise = "" if share is None else f"; {100 * share:.0f} % of the former is sampling noise"
    return (
        f"Debiased: on the {len(found.core)} core positions ({listed}) the "
        f"mean squared distance is {found.plugin_core:.3f} plug-in and {signed_figure(found.mean)} "
        f"debiased{noise}. Effective rank {found.debiased.rank}."
    )


def _geometry(known: Trusted) -> str:
    found, target = known.trust, known.target
    if found is None or target is None:
        return f"No debiased stress, since {known.reason}."
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


def _signal(known: Trusted) -> str:
    if known.tests is None:
        return "Informative: undecided, the folds allow no test."
    answer = {True: "yes", False: "no", None: "undecided"}[known.informative]
    return f"Informative: {answer} ({known.tests.what} p = {known.tests.deciding.p_value:.2g})."


def in_numbers(found: Counted, geometry: Geometry, known: Trusted) -> dict[str, Any]:
    """Return the same for JSON, with the reason where something is missing."""
    spectrum = geometry.spectrum
    numbers: dict[str, Any] = {
        "corpus": found.counts.to_dict(),
        "plugin": {
            "positions": len(geometry.positions),
            "mean_squared": geometry.mean_squared,
            "rank": spectrum.rank_numerical,
            "participation": spectrum.participation,
        },
        "informative": known.informative,
        "tests": _p_values(known.tests),
        "debiased": None if known.trust is None else _debiased(known.trust, known.target),
        "unshuffled": found.unshuffled,
    }
    if known.reason is not None:
        numbers["reason"] = known.reason
    converted: dict[str, Any] = plain(numbers)
    return converted


def _p_values(tests: Tests | None) -> dict[str, float | None] | None:
    if tests is None:
        return None
    order = None if tests.order is None else tests.order.p_value
    return {"signal": tests.signal.p_value, "word_order": order}


def _debiased(found: Trust, target: DebiasedTarget | None) -> dict[str, Any]:
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
