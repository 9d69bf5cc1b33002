"""One line of the survey for each encoding: how its distances compare with the corpus's.

The lines come from the catalogue, which says of every encoding with which parameters and under
which lifts it is compared: all by the kernel, rotary encodings also by a probe and ALiBi also as a
slope, since published tables use those. The lift decides rankings, so each line names its own.
Then follow what the user asks for, the user's tables, and what is fitted to the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics import (
    GRAIN,
    Monotonicity,
    Separation,
    StressReport,
    correlation,
    separation,
    stress,
    violations,
)
from gnomon.distances import Geometry
from gnomon.encodings import (
    ENTRIES,
    Encoding,
    Finish,
    Fitted,
    Places,
    Row,
    best_slope,
    encoding,
    entry_of,
    fit,
)
from gnomon.encodings import lift as lift_encoding
from gnomon.pipeline.asked import encoding_for, encoding_of_row
from gnomon.pipeline.debiased_points import debiased_points
from gnomon.pipeline.debiased_stress import DebiasedStress, DebiasedTarget
from gnomon.pipeline.noise import NoiseReport
from gnomon.pipeline.shepard import scaled_at_pairs
from gnomon.pipeline.table_rows import TableRows, rows_of
from gnomon.results import Result, plain

NONMETRIC_UP_TO = 1024
"""Non-metric stress sorts all pairs: beyond this many positions a survey leaves it out."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An encoding with the lift that gives it distances."""

    encoding: Encoding
    lift: str
    label: str
    """What the line is called: the name, with the parameter that tells it from its neighbours."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry(Result):
    """What the survey says of one encoding under one lift."""

    name: str
    label: str
    lift: str
    dimension: int | None
    parameters: dict[str, Any]
    stress: StressReport
    monotonicity: Monotonicity
    separation: Separation
    pearson: float | None
    spearman: float | None
    debiased: DebiasedStress | None = None
    not_debiased: str | None = None
    """Why there is no debiased stress, where there is none."""
    reason: str | None = None
    """Why there is no dimension or no correlation, where there is none."""
    rows: TableRows | None = None
    """Which rows of a table were compared; None where the encoding is no table."""
    scaled: NDArray[np.float64] | None = None
    """Distances at the pairs of a Shepard plot, times the best scale (`shepard`)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the entry with the keys of survey.json."""
        plugin = {
            key: getattr(self.stress, key)
            for key in ("raw", "scale_free", "best_scale", "kruskal", "nonmetric", "skill")
        }
        plugin |= _because(_listed(self.stress.reasons))
        return {
            "name": self.name,
            "label": self.label,
            "dimension": self.dimension,
            "lift": self.lift,
            "parameters": self.parameters,
            "stress": {
                "plugin": plugin,
                "debiased": self._debiased(),
                "negative_share": self.stress.negative_share,
            },
            "monotonicity": monotonicity_dict(self.monotonicity),
            "separation": {
                "minimum": self.separation.minimum,
                "mean": self.separation.mean,
                "relative": self.separation.relative,
            }
            | _because(self.separation.reason),
            "pearson": self.pearson,
            "spearman": self.spearman,
            **self._rows(),
        } | _because(self.reason)

    def _rows(self) -> dict[str, Any]:
        if self.rows is None:
            return {}
        return {"rows": {**self.rows.to_dict(), "warning": self.rows.warning}}

    def _debiased(self) -> dict[str, Any]:
        if self.debiased is None:
            empty = dict.fromkeys(("scale_free", "interval", "skill", "squared"))
            return {**empty, "squared_interval": None, "reason": self.not_debiased}
        found = plain(asdict(self.debiased))
        return found | ({"reason": ALIKE} if self.debiased.skill is None else {})


def monotonicity_dict(found: Monotonicity) -> dict[str, Any]:
    """Return the shares of triples, with the reason where there are none."""
    return {"violations": found.violations, "ties": found.ties} | _because(found.reason)


def _listed(reasons: Mapping[str, str]) -> str | None:
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or None


def _because(reason: str | None) -> dict[str, str]:
    """Return the reason that stands beside a null, where there is one."""
    return {} if reason is None else {"reason": reason}


ALIKE = "skill: the distances can not be told from equal ones with the noise there is"


def candidates(
    geometry: Geometry,
    *,
    dimension: int,
    rank: int,
    seed: int,
    tables: tuple[str | Path, ...] = (),
    first_rows: tuple[int, ...] = (),
    asked: tuple[str | Encoding, ...] = (),
    noise: NoiseReport | None = None,
) -> Iterator[Candidate]:
    """Yield the encodings that a survey compares, fitted ones last."""
    axes = geometry.coordinates.shape[1]
    for name, listed in ENTRIES.items():
        for row in listed.surveyed:
            yield from _of_catalogue(name, row, dimension=dimension, axes=axes, seed=seed)
        if name == "alibi":
            yield _best_alibi(geometry, axes)
    for what in asked:
        yield from _asked(what, dimension=dimension, axes=axes, seed=seed)
    yield from _tables(tables, first_rows)
    yield from _fitted(geometry, dimension, rank)
    if noise is not None and noise.no_geometry is None:
        made = debiased_encoding(noise, geometry, dimension)
        yield Candidate(encoding=made, lift="kernel", label=f"mds, debiased, rank {made.rank}")


def _of_catalogue(
    name: str, row: Row, *, dimension: int, axes: int, seed: int
) -> Iterator[Candidate]:
    """Yield the rows of an encoding as the catalogue wants them; none where it knows no grids."""
    if axes > 1 and not entry_of(name).on_grids:
        return
    made = encoding_of_row(name, row, dimension=dimension, axes=axes, seed=seed)
    for lift in row.lifts:
        yield Candidate(encoding=made, lift=lift, label=row.label or name)


def _asked(what: str | Encoding, *, dimension: int, axes: int, seed: int) -> Iterator[Candidate]:
    """Yield what a user asked for under its first lift; nothing where it has rows already."""
    if isinstance(what, str) and entry_of(what).surveyed:
        return
    made = encoding_for(what, dimension=dimension, axes=axes, seed=seed)
    yield Candidate(encoding=made, lift=made.lifts[0], label=made.name)


def check_tables(paths: tuple[str | Path, ...], first_rows: tuple[int, ...]) -> None:
    """Refuse tables that can not be read."""
    for _ in _tables(paths, first_rows):
        pass


def _tables(paths: tuple[str | Path, ...], first_rows: tuple[int, ...]) -> Iterator[Candidate]:
    """Yield the tables of the user; one first row is that of all of them."""
    begins = first_rows * len(paths) if len(first_rows) == 1 else first_rows or (0,) * len(paths)
    for path, begin in zip(map(Path, paths), begins, strict=True):
        made = encoding("table", path=path, first_row=begin)
        label = f"{path.stem}, from row {begin}" if begin else path.stem
        yield Candidate(encoding=made, lift="kernel", label=label)


def _best_alibi(geometry: Geometry, axes: int) -> Candidate:
    """Return the one slope that fits this corpus best, read as a distance as published tables do.

    It is no row of the catalogue, since its number comes from the corpus.
    """
    slope = best_slope(geometry.distances, geometry.coordinates)
    best = encoding("alibi", slopes=(slope,), axes=axes)
    return Candidate(encoding=best, lift="slope", label="alibi, best slope")


def _fitted(geometry: Geometry, dimension: int, rank: int) -> Iterator[Candidate]:
    low = min(rank, dimension, len(geometry.positions) - 1)
    full = fit(geometry, dimension=dimension)
    yield Candidate(encoding=full, lift="kernel", label="mds")
    made = fit(geometry, dimension=dimension, rank=low)
    yield Candidate(encoding=made, lift="kernel", label=f"mds, rank {low}")
    made = fit(geometry, method="smacof", dimension=dimension, rank=low)
    yield Candidate(encoding=made, lift="kernel", label=f"smacof, rank {low}")


def debiased_encoding(noise: NoiseReport, geometry: Geometry, dimension: int) -> Fitted:
    """Return the debiased points as an encoding; what could not be estimated follows the rule."""
    found = noise.debiased
    places = Places.of(geometry)
    units = places.units[np.searchsorted(geometry.positions, found.positions)]
    points = debiased_points(
        replace(found, positions=units), places, rank=min(found.rank, dimension)
    )
    return points.finish(Finish(dimension=dimension, masked="continue"), factored=True)


def entry(
    candidate: Candidate,
    geometry: Geometry,
    *,
    seed: int,
    target: DebiasedTarget | None = None,
    not_debiased: str | None = None,
) -> Entry:
    """Measure one candidate against the geometry of the corpus, plug-in and debiased."""
    rng = np.random.default_rng([seed, 1])
    lifted = lift_encoding(candidate.encoding, geometry.coordinates, lift=candidate.lift, rng=rng)
    distances: NDArray[np.float64] = lifted.distances
    relation = correlation(distances, geometry.distances)
    dimension = candidate.encoding.parameters.get("dimension")
    reasons = {} if dimension is not None else {"dimension": "a bias has no vectors"}
    if relation.reason is not None:
        reasons["pearson, spearman"] = relation.reason
    return Entry(
        name=candidate.encoding.name,
        label=candidate.label,
        lift=candidate.lift,
        dimension=dimension,
        parameters=candidate.encoding.parameters,
        stress=stress(lifted, geometry, nonmetric=len(distances) <= NONMETRIC_UP_TO),
        monotonicity=violations(distances, positions=geometry.coordinates, grain=GRAIN),
        separation=separation(distances),
        pearson=relation.pearson,
        spearman=relation.spearman,
        debiased=None if target is None else target.stress(distances),
        not_debiased=not_debiased,
        reason=_listed(reasons),
        rows=rows_of(candidate.encoding, distances, geometry.positions),
        scaled=scaled_at_pairs(distances, geometry, target, seed),
    )
