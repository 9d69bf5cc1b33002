"""One line of the survey for each encoding: how its distances compare with the corpus's.

The lines come from the catalogue, which says of every encoding with which parameters and under
which lifts it is compared: all by the kernel, rotary encodings also by a probe and ALiBi also as a
slope, since published tables use those. The lift decides rankings, so each line names its own.
Then follow what the user asks for, the user's tables, and what is fitted to the corpus.

Encodings are made for the dimension, the axes and the seed of the survey, the rest of their
parameters being those of the row, or the usual ones (`gnomon.encodings.registry`). A survey
measures what an encoding is by itself, so one whose numbers training decides is refused, as is one
whose coordinates are no positions.

Of a table, position p of a corpus is compared with row first_row + p. Tables of trained models
often begin with rows of no word: of [CLS], of padding. Such a row is far from all others, and a
corpus whose first position is far from all others is then near to the table for no other reason.

Rows stand apart where they are farther from every other row than twice the median distance between
those, and the step to the next of these is more than twice as long as the steps that follow:
rows that settle down begin far from the others too, but step by step. Up to four rows at the
beginning are looked at together, since they may be near each other; elsewhere one at a time. A row
of zeros is one that nobody trained, where no other row is near zero.

What is fitted is the debiased geometry as points: the coordinates a_ik of the core
(`gnomon.distances.estimate`) are centred and rotated to their principal axes, so that the
first k of them are the best k; positions outside the core are carried along as far as their tokens
allow (`projected`). Other targets than chords at full rank (angles, least stress) are fitted to the
distances between these points.
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
from gnomon.distances import Debiased, Geometry, angle, outside_core, project, scale
from gnomon.encodings import (
    ENTRIES,
    Encoding,
    Finish,
    Fitted,
    Places,
    Points,
    Row,
    Table,
    best_slope,
    encoding,
    entry_of,
    fit,
    usual_parameters,
)
from gnomon.encodings import lift as lift_encoding
from gnomon.errors import EncodingError
from gnomon.numeric.rows import distances_between
from gnomon.pipeline.debiased_stress import DebiasedStress, DebiasedTarget, scale_at_pairs
from gnomon.pipeline.noise import NoiseReport
from gnomon.results import Result, plain, sentences

NONMETRIC_UP_TO = 1024
"""Non-metric stress sorts all pairs: beyond this many positions a survey leaves it out."""
ALIKE = "skill: the distances cannot be told from equal ones with the noise there is"
Floats = NDArray[np.float64]
MOST_LEADING = 4
APART = 2.0
JUMP = 2.0
_STEPS = 4
"""Steps that a jump is compared with."""
_NEAR_ZERO = 0.25
"""Part of the median norm below which a row is near zero."""
_LEAST_ROWS = 6
"""With fewer rows nobody can say what is usual."""
STRAIN = "strain of the debiased Gram matrix"


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
        plugin |= _because(_join_reasons(self.stress.reasons))
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


def _join_reasons(reasons: Mapping[str, str]) -> str | None:
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or None


def _because(reason: str | None) -> dict[str, str]:
    """Return the reason that stands beside a null, where there is one."""
    return {} if reason is None else {"reason": reason}


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
        yield from _from_user(what, dimension=dimension, axes=axes, seed=seed)
    yield from _tables(tables, first_rows)
    yield from _fits(geometry, dimension, rank)
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


def _from_user(
    what: str | Encoding, *, dimension: int, axes: int, seed: int
) -> Iterator[Candidate]:
    """Yield what a user asked for under its first lift; nothing where it has rows already."""
    if isinstance(what, str) and entry_of(what).surveyed:
        return
    made = encoding_for(what, dimension=dimension, axes=axes, seed=seed)
    yield Candidate(encoding=made, lift=made.lifts[0], label=made.name)


def check_tables(paths: tuple[str | Path, ...], first_rows: tuple[int, ...]) -> None:
    """Refuse tables that cannot be read."""
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


def _fits(geometry: Geometry, dimension: int, rank: int) -> Iterator[Candidate]:
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
        reason=_join_reasons(reasons),
        rows=rows_of(candidate.encoding, distances, geometry.positions),
        scaled=scale_at_pairs(distances, geometry, target, seed),
    )


def encoding_for(asked: str | Encoding, *, dimension: int, axes: int, seed: int) -> Encoding:
    """Return what was asked for, by name or ready made, if it can be surveyed."""
    if isinstance(asked, Encoding):
        made = asked
    else:
        row = Row(parameters=entry_of(asked).shown, pairs=asked != "random")
        usual = {key: value for key, value in usual_parameters(asked).items() if key != "dimension"}
        settings = _settings(asked, row, dimension=dimension, axes=axes, seed=seed)
        made = encoding(asked, **(usual | settings))
    if made.learnable:
        vectors = "vectors" in made.kinds  # a trained bias or frequency is no table of positions
        advice = "survey its trained table with --table instead" if vectors else "leave it out"
        raise EncodingError(
            f"The encoding {made.name!r} learns {', '.join(made.learnable)}, so it has no "
            f"distances of its own before training; {advice}."
        )
    if made.span is not None:
        low, high = made.span
        raise EncodingError(
            f"The encoding {made.name!r} takes coordinates from {low:g} to {high:g}, and a survey "
            "has positions 0, 1, 2, ...; leave it out."
        )
    return made


def encoding_of_row(name: str, row: Row, *, dimension: int, axes: int, seed: int) -> Encoding:
    """Return the encoding of a row of the catalogue."""
    return encoding(name, **_settings(name, row, dimension=dimension, axes=axes, seed=seed))


def _settings(name: str, row: Row, *, dimension: int, axes: int, seed: int) -> dict[str, Any]:
    """Return what the survey decides and the encoding takes, then what the row decides."""
    usable = _divisible(dimension, 2 * axes) if row.pairs else dimension
    decided = {"dimension": usable, "axes": axes, "seed": seed}
    known = entry_of(name).parameters
    return {key: value for key, value in decided.items() if key in known} | row.parameters


def _divisible(dimension: int, by: int) -> int:
    """Return the largest usable dimension: whole pairs on every axis.

    >>> _divisible(15, 4), _divisible(3, 4)
    (12, 4)
    """
    return max(dimension - dimension % by, by)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableRows(Result):
    """The rows of a table that were compared with a corpus, by their numbers in the file."""

    source: str
    first: int
    """The row of position 0."""
    last: int
    """The row of the last position compared."""
    of: int
    """How many rows the table has."""
    apart: tuple[int, ...]
    """Rows far from all others."""
    zero: tuple[int, ...]
    """Rows of zeros among others."""

    @property
    def warning(self) -> str | None:
        """Say which rows no conclusion should rest on; None where none stands apart."""
        found: str | None = sentences().table_warning(self)
        return found

    @property
    def begins(self) -> int:
        """The first row behind those at the beginning that stand apart."""
        odd, begin = {*self.apart, *self.zero}, self.first
        while begin in odd:
            begin += 1
        return begin


def rows_of(encoding: Any, distances: Floats, positions: NDArray[np.int64]) -> TableRows | None:
    """Return the rows that an encoding is read from; None where it is no table.

    `distances` are those between its vectors at `positions`.
    """
    if not isinstance(encoding, Table):
        return None
    first = encoding.first_row
    apart = _apart(distances)
    zero = _rows_of_zeros(np.linalg.norm(encoding.values[positions], axis=1))
    rows = positions + first
    return TableRows(
        source=encoding.source,
        first=first,
        last=int(rows.max()),
        of=len(encoding.values) + first,
        apart=tuple(rows[apart].tolist()),
        zero=tuple(rows[zero].tolist()),
    )


def _rows_of_zeros(norms: Floats) -> NDArray[np.int64]:
    """Return the rows of zeros, where all others are clearly none."""
    others = norms[norms > 0.0]
    if not others.size or others.min() < _NEAR_ZERO * np.median(others):
        return np.array([], np.int64)
    return np.flatnonzero(norms == 0.0)


def _apart(distances: Floats) -> list[int]:
    """Return the rows that stand apart: the first few together, then single ones."""
    size = len(distances)
    order = np.arange(size)
    most = min(MOST_LEADING, size - _LEAST_ROWS)
    leading = max(
        (k for k in range(1, most + 1) if _stands_apart(distances, order[:k], order[k:])), default=0
    )
    return [
        *range(leading),
        *(
            row
            for row in range(leading, size)
            if size - leading > _LEAST_ROWS
            and _stands_apart(distances, order[row : row + 1], np.delete(order, row)[leading:])
        ),
    ]


def _stands_apart(distances: Floats, named: NDArray[np.int64], rest: NDArray[np.int64]) -> bool:
    """Say whether rows are far from the rest, and by a jump."""
    away = distances[np.ix_(named, rest)]
    usual = np.median(distances[np.ix_(rest, rest)][np.triu_indices(len(rest), 1)])
    if not away.min() > APART * usual > 0.0:
        return False
    at = int(np.searchsorted(rest, named[0]))
    near = rest[max(at - _STEPS, 0) : at + _STEPS + 1]
    steps = distances[near[:-1], near[1:]]
    return bool(away.min() > JUMP * steps.max())


def debiased_points(
    found: Debiased,
    places: Places,
    *,
    rank: int,
    method: str = "classical",
    metric: str = "chord",
) -> Points:
    """Return the estimated positions as points of that rank; `places` says where units lie."""
    whole = coordinates_of(found)
    status = np.full(len(whole), Fitted.PROJECTED, dtype=np.uint8)
    status[found.core] = Fitted.MEASURED
    rows, minimises = whole[:, :rank], STRAIN
    if (method, metric) != ("classical", "chord"):
        made = scale(_distances(whole, metric), method, dimension=rank)
        rows, minimises = made.vectors, f"{made.minimises} of debiased distances"
    coordinates, every = replace(places, units=found.positions).all_units(rows, status)
    return Points(
        coordinates=coordinates,
        status=every,
        shape=places.shape,
        widths=places.widths,
        method=method,
        estimator="debiased",
        minimises=minimises,
        origin={"metric": metric},
    )


def coordinates_of(found: Debiased) -> Floats:
    """Return all estimated positions in the principal axes of the core, its mean at the origin."""
    left = np.zeros((len(found.positions), found.rank))
    left[found.core] = found.low_rank.coordinates
    left[outside_core(found)] = project(found)
    centred = left - left[found.core].mean(axis=0)
    axes = np.linalg.svd(centred[found.core], full_matrices=False)[2]
    turned: Floats = centred @ axes.T
    # The largest entry is positive; of entries equal to rounding, the first decides.
    size = np.abs(turned)
    first = np.argmax(size >= size.max(axis=0) * (1.0 - 1e-8), axis=0)
    signs = np.where(turned[first, np.arange(found.rank)] < 0.0, -1.0, 1.0)
    return turned * signs


def _distances(points: Floats, metric: str) -> Floats:
    distances = distances_between(points)
    if metric == "chord":
        return distances
    return angle(np.minimum(distances, np.sqrt(2.0)))  # no two laws are farther apart
