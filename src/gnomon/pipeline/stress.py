"""One encoding against one geometry: stress with its null, or debiased with its interval.

Debiased stress is that of the core against the low-rank geometry, as in a survey of the same counts
with the same seed; where there is no such geometry its numbers are None and `reason` says why.
`called` names the encoding, or the file of a table, whose `rows` are those compared; `conclusion`
says in a sentence what the stress comes to, by the rule of a survey's verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import BUILTIN, CountOptions, PositionCounts, Progress, Silence, load_counts
from gnomon.diagnostics import lifted_of, stress, target_of
from gnomon.distances import Geometry, dealt_geometry, dealt_null, measure
from gnomon.encodings import Table, encoding, entry_of
from gnomon.errors import InputError
from gnomon.pipeline.debiased_stress import LeftOut, is_close
from gnomon.pipeline.measured import count_groups, measure_counts
from gnomon.pipeline.noise import NoiseReport, in_folds
from gnomon.pipeline.rows import ALIKE, rows_of
from gnomon.pipeline.verdict import MOSTLY
from gnomon.reading import UnreadableError, load_array
from gnomon.results import sentences

DEBIASED = "debiased"
_LITTLE = 0.9
"""Part of what equal distances leave from which an encoding has little of a geometry."""
NUMBERS = (
    "raw",
    "scale_free",
    "interval",
    "squared",
    "squared_interval",
    "best_scale",
    "scale_part",
    "kruskal",
    "nonmetric",
    "simplex",
    "skill",
)
"""What is None where there is no debiased geometry."""


@dataclass(frozen=True, kw_only=True)
class EncodingChoice:
    """An encoding by name, or a table, and how it is to be given distances."""

    name: str
    lift: str
    dimension: int
    given: Mapping[str, Any]
    seed: int
    first_row: int = 0

    def __post_init__(self) -> None:
        """Refuse a first row of what has no rows."""
        if self.first_row and not Table.is_named(self.name):
            raise InputError(
                f"--first-row {self.first_row} is for tables, and {self.name} is none; leave it "
                "out."
            )

    def encoding(self, target: Any, axes: int) -> Any:
        """Return the encoding; a fitted one is fitted to the target."""
        if Table.is_named(self.name):
            return encoding("table", path=self.name, first_row=self.first_row)
        known = entry_of(self.name).parameters
        defaults = {
            "dimension": self.dimension,
            "axes": axes,
            "geometry": target,
            "seed": self.seed,
        }
        taken = {key: value for key, value in defaults.items() if key in known}
        return encoding(self.name, **(taken | dict(self.given)))

    @property
    def fitted(self) -> bool:
        """Whether the encoding is made for a geometry."""
        return not Table.is_named(self.name) and "geometry" in entry_of(self.name).parameters

    @property
    def rng(self) -> np.random.Generator:
        """Return the stream of a probe."""
        return np.random.default_rng([self.seed, 1])


def stress_place(
    choice: EncodingChoice,
    place: str,
    *,
    metric: str = "chord",
    estimator: str | None = None,
    minimum_count: int = 10,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the stress against what a place holds: counts, a survey, or distances as they are.

    A built-in corpus is counted as a survey does. The estimator of counts is debiased by default.
    """
    listener = progress or Silence()
    if Path(place).suffix == ".npy":
        if estimator is not None:
            raise InputError(
                f"--estimator {estimator} needs counts, and {place} holds distances as they are; "
                "pass counts.npz or the folder of a survey, or leave the estimator out."
            )
        return against_distances(choice, _load_distances(Path(place)))
    counts = _load_counts(place, choice.seed, listener).with_minimum_count(minimum_count)
    return against_counts(
        choice, counts, metric=metric, estimator=estimator or DEBIASED, progress=listener
    )


def _load_counts(place: str, seed: int, progress: Progress) -> PositionCounts:
    path = Path(place)
    if place in BUILTIN:  # as everywhere: write ./digits for a folder of that name
        progress.stage("counting")
        return count_groups(place, CountOptions(seed=seed), progress)[0]
    if not path.exists():
        raise InputError(
            f"there is no file {place}; pass counts.npz, the folder of a survey, square distances "
            f"(.npy), or a built-in corpus ({', '.join(sorted(BUILTIN))})."
        )
    return load_counts(path / "counts.npz" if path.is_dir() else path)


def _load_distances(path: Path) -> Any:
    try:
        return load_array(path)
    except (OSError, UnreadableError) as error:
        raise InputError(f"{path} cannot be read as a .npy file ({error}); check it.") from error


def against_distances(choice: EncodingChoice, distances: Any) -> dict[str, Any]:
    """Return the stress against distances as they are given."""
    made = choice.encoding(distances, 1)
    wanted = target_of(distances)
    lifted = lifted_of(made, wanted, lift_name=choice.lift, rng=choice.rng)
    report = stress(lifted, wanted.distances, nonmetric=True).to_dict()
    value = _describe(made, "given", report, lifted, wanted.coordinates)
    value["conclusion"] = _conclude(value, "distances", value["scale_free"], value["simplex"])
    return _without_null(value, "distances alone cannot be dealt at random; pass counts")


def against_counts(
    choice: EncodingChoice,
    counts: PositionCounts,
    *,
    metric: str,
    estimator: str,
    progress: Progress,
) -> dict[str, Any]:
    """Return the stress against the distances that an estimator finds in counts."""
    if estimator == DEBIASED:
        return _against_core(choice, counts, metric, progress)
    progress.stage("geometry")
    folds = counts if estimator == "plugin" else in_folds(counts, choice.seed)
    rng = np.random.default_rng([choice.seed, 3])
    geometry = measure(folds, metric, estimator=estimator, rng=rng)
    made = choice.encoding(geometry, geometry.coordinates.shape[1])
    lifted = lifted_of(made, target_of(geometry), lift_name=choice.lift, rng=choice.rng)
    report = stress(lifted, geometry, nonmetric=True).to_dict()
    value = _describe(made, estimator, report, lifted, geometry.coordinates)
    value["negative_squares"] = geometry.negative_squares
    what = f"{estimator} distances"
    value["conclusion"] = _conclude(value, what, value["scale_free"], value["simplex"])
    if estimator != "plugin":
        return _without_null(
            value,
            "chance alone, the tokens dealt at random, is measured for plug-in distances only",
        )
    progress.stage("the tokens dealt at random")
    null = _null(counts, geometry, lifted, choice.seed)
    value["conclusion"] += f" {sentences().share_of_chance(null['share'])}"
    return value | {"null": null}


def _describe(
    made: Any, estimator: str, report: dict[str, Any], lifted: Any, coordinates: Any
) -> dict[str, Any]:
    return {
        "encoding": made.name,
        "called": _name_of(made),
        "parameters": made.parameters,
        "estimator": estimator,
        **report,
        **_rows(made, lifted, coordinates),
    }


def _name_of(made: Any) -> str:
    """Return the name of an encoding, of a table that of its file."""
    return str(made.source) if isinstance(made, Table) else str(made.name)


def _rows(made: Any, lifted: Any, coordinates: Any) -> dict[str, Any]:
    found = rows_of(made, lifted.distances, np.asarray(coordinates)[:, 0].astype(np.int64))
    return {} if found is None else {"rows": {**found.to_dict(), "warning": found.warning}}


def _conclude(
    value: dict[str, Any], what: str, left: float, equal: float, without: LeftOut | None = None
) -> str:
    """Say what a stress comes to beside that of equal distances, by the rule of a verdict."""
    nearness = _nearness(left, equal, without)
    said = sentences().stress_conclusion(value["called"], what, left, equal, nearness, without)
    return str(said)


def _nearness(left: float, equal: float, without: LeftOut | None) -> str:
    if left >= equal:
        return "nothing"
    if not is_close(left, equal):
        return "little" if left > _LITTLE * equal else "a part"
    return "close" if without is None or without.close else "one position"


def _without_null(value: dict[str, Any], reason: str) -> dict[str, Any]:
    return value | {"null": None, "reasons": {**value["reasons"], "null": reason}}


def _null(counts: PositionCounts, geometry: Geometry, lifted: Any, seed: int) -> dict[str, Any]:
    """Return how much of the distances dealt tokens have, and the stress against one deal."""
    replicates = 10 if len(geometry.positions) <= 128 else 3  # as in a survey
    rng = np.random.default_rng([seed, 2])
    found = dealt_null(counts, replicates=replicates, rng=rng, geometry=geometry)
    deal = dealt_geometry(counts, geometry, np.random.SeedSequence([seed, 2]))
    report = stress(lifted, deal)
    keys = ("raw", "scale_free", "best_scale", "kruskal", "simplex", "skill")
    return {
        "kind": "dealt",
        "replicates": found.replicates,
        "share": found.share,
        "correlation": found.correlation,
        "stress": {key: getattr(report, key) for key in keys},
    }


def _against_core(
    choice: EncodingChoice, counts: PositionCounts, metric: str, progress: Progress
) -> dict[str, Any]:
    """Return debiased stress with its interval, or None with the reason."""
    fitted = choice.fitted  # an unknown name is refused before the long work
    measured = measure_counts(counts, metric=metric, seed=choice.seed, progress=progress)
    geometry, noise, target = measured.geometry, measured.noise, measured.target
    if noise is None:
        return _nothing(choice, geometry, str(measured.reason).rstrip("."), {})
    if target is None:
        return _nothing(choice, geometry, str(noise.no_geometry), _core(noise))
    rows, wanted = target.rows, None
    if fitted:
        rng = np.random.default_rng([choice.seed, 3])
        wanted = measure(measured.counts, metric, estimator="debiased", rng=rng)
    made = choice.encoding(wanted, geometry.coordinates.shape[1])
    distances = _square(target.targets[0], len(rows))
    points = target_of(distances, geometry.coordinates[rows])
    lifted = lifted_of(made, points, lift_name=choice.lift, rng=choice.rng)
    report = stress(lifted, distances, nonmetric=True).to_dict()
    found = replace(target, rows=np.arange(len(rows))).stress(lifted.distances)
    reasons = report["reasons"] | ({"skill": ALIKE} if found.skill is None else {})
    value = _describe(made, DEBIASED, report, lifted, geometry.coordinates[rows])
    squared = noise.significant_share < MOSTLY
    compared = (
        ("squared distances", found.squared, target.simplex_squared, found.squared_left_out)
        if squared
        else ("distances", found.scale_free, target.simplex, found.left_out)
    )
    return {
        **value,
        "conclusion": _conclude(value, *compared),
        "scale_free": found.scale_free,
        "interval": list(found.interval),
        "skill": found.skill,
        "squared": found.squared,
        "squared_interval": list(found.squared_interval),
        **_core(noise),
        "reasons": reasons,
    }


def _nothing(
    choice: EncodingChoice, geometry: Geometry, reason: str, core: dict[str, Any]
) -> dict[str, Any]:
    """Return an answer without numbers; what was asked for must exist all the same."""
    made = choice.encoding(geometry, geometry.coordinates.shape[1])
    lifted = lifted_of(made, target_of(geometry), lift_name=choice.lift, rng=choice.rng)
    return {
        "encoding": made.name,
        "called": _name_of(made),
        "parameters": made.parameters,
        "estimator": DEBIASED,
        "lift": lifted.lift,
        "note": lifted.note,
        **dict.fromkeys(NUMBERS),
        **core,
        **_rows(made, lifted, geometry.coordinates),
        "reason": reason,
    }


def _core(noise: NoiseReport) -> dict[str, Any]:
    return {
        "core": len(noise.core),
        "rank": noise.debiased.rank,
        "mean_squared": {
            "plugin": noise.plugin_core,
            "debiased": noise.mean.value,
            "interval": list(noise.mean.interval),
        },
    }


def _square(condensed: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    matrix = np.zeros((m, m))
    matrix[np.triu_indices(m, 1)] = condensed
    return matrix + matrix.T
