"""A grid: tasks x encodings x seeds, with the sweep of the learning rate inside it, as TOML.

    question = "..."              what the grid is to answer
    [model]                       keys of `ModelConfig`: dimension, layers, heads, kind, causal, ...
    [training]                    keys of `TrainingConfig`: steps, batch, lengths, watch, ...
    [sweep]                       every combination of these lists, on seeds of its own
    learning_rate = [1e-3, 3e-3, 8e-3]
    seeds = [100, 101]
    by = "area"                   what the best is chosen by: area under the curve, or final score
    extend = 1                    rates that are added where the best is at an end of the list
    [report]                      the best combination of each task and encoding, on fresh seeds
    seeds = [0, 1, 2, 3, 4]
    measures = ["heads"]          what is measured of the models of these seeds
    [tasks.NEAR]                  a task: name (default NEAR), its parameters, and differences from
    name = "distance"             [model] and [training]
    training = { steps = 600 }
    [encodings.MINE]              an encoding: name (default MINE), its parameters, and
    name = "rope"                     on_heads = 1, on_layers = [0]     where it acts
    base = 100.0                      multiplier = 20.0                 of the rate of its numbers
                                      both_directions = true            though it is causal only
                                      frozen = true                     its numbers are not learned
                                      sweep = { base = [30.0, 100.0] }  chosen as the rate is
                                      model, training, tasks            as above; only these tasks
                                      parts = [{ name = "rope" }, ...]  several that act together;
                                                                        [] is none at all

Choosing and reporting on the same seeds would report the luck of the choice, so both are kept
apart. What the grid has to do next is a function of the grid and of the records that are there
(`gnomon.lab.planning`): a grid that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnomon.encodings import Table
from gnomon.errors import LabError, nearest
from gnomon.lab.cells import Cell
from gnomon.lab.config import (
    Config,
    ModelConfig,
    PartConfig,
    TrainingConfig,
    mapping,
    real,
    replaced,
    several,
    text,
    whole,
)
from gnomon.reading import UnreadableError, read_toml

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_OWN = ("model", "training", "sweep", "parts", "tasks")
_PLACE = ("on_layers", "on_heads", "multiplier", "both_directions", "frozen")
CRITERIA = ("area", "score")


@dataclass(frozen=True, kw_only=True)
class TaskEntry(Config):
    """A task of a grid: its name in the laboratory, parameters, and what training differs in."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    def check(self, where: str) -> None:
        """Refuse a name that is none, and differences that are no tables."""
        text(where, "name", self.name)
        mapping(where, "model", self.model)
        mapping(where, "training", self.training)


@dataclass(frozen=True, kw_only=True)
class EncodingEntry(Config):
    """An encoding of a grid: its parts, and what the model and its training differ in."""

    parts: tuple[PartConfig, ...] = ()
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Any] = field(default_factory=dict)
    """Lists of values of its first part, swept as the learning rate is."""
    tasks: tuple[str, ...] | None = None
    """The tasks it is run on; all of them where it is not given."""

    def check(self, where: str) -> None:
        """Refuse differences and a sweep that are no tables, and tasks that are none."""
        for name in ("model", "training", "sweep"):
            mapping(where, name, getattr(self, name))
        for key, values in self.sweep.items():
            if not isinstance(values, list | tuple) or not values:
                raise LabError(f"{where} sweeps {key} over {values!r}; pass a list of values.")
            different(where, key, values)
        if self.tasks is not None and not several(where, "tasks", self.tasks):
            raise LabError(f"{where} is for no task; name some, or leave tasks out for all.")


@dataclass(frozen=True, kw_only=True)
class Sweep(Config):
    """Lists of values of the training, and the seeds on which the best is chosen."""

    learning_rate: tuple[float, ...] = ()
    seeds: tuple[int, ...] = ()
    by: str = "area"
    extend: int = 0
    """How many more rates are tried where the best is the first or last of the list."""

    def check(self, where: str) -> None:
        """Refuse rates that are none, a criterion that is not known, and seeds that are none."""
        for rate in several(where, "learning_rate", self.learning_rate):
            real(where, "learning_rate", rate, above=0.0)
        different(where, "learning_rate", self.learning_rate)
        whole(where, "extend", self.extend, least=0)
        text(where, "by", self.by)
        if self.by not in CRITERIA:
            raise LabError(f"{where} chooses by {self.by!r}: {nearest(self.by, CRITERIA)}.")
        _seeds(where, self.seeds)


@dataclass(frozen=True, kw_only=True)
class Reporting(Config):
    """The seeds that are reported, and what is measured of their models."""

    seeds: tuple[int, ...] = (0,)
    measures: tuple[str, ...] = ()

    def check(self, where: str) -> None:
        """Refuse a report without seeds, and measures that are no names."""
        for name in several(where, "measures", self.measures):
            text(where, "measures", name)
        _seeds(where, self.seeds)
        if not self.seeds:
            raise LabError(f"{where} has no seeds; pass a list of whole numbers.")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Everything that is to be run."""

    name: str
    question: str
    tasks: Mapping[str, TaskEntry]
    encodings: Mapping[str, EncodingEntry]
    model: ModelConfig
    training: TrainingConfig
    sweep: Sweep
    report: Reporting

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every task with every encoding that is run on it."""
        for task, encoding in itertools.product(self.tasks, self.encodings):
            allowed = self.encodings[encoding].tasks
            if allowed is None or task in allowed:
                yield task, encoding

    def choices(self, encoding: str) -> list[dict[str, Any]]:
        """Return every combination of the sweep for an encoding; one, where nothing is swept."""
        lists: dict[str, Any] = dict(self.encodings[encoding].sweep)
        if self.sweep.learning_rate:
            lists["learning_rate"] = self.sweep.learning_rate
        return [
            dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())
        ]

    def cell(
        self, task: str, encoding: str, *, choice: Mapping[str, Any], seed: int, phase: str
    ) -> Cell:
        """Return one cell of the grid."""
        on, by = self.tasks[task], self.encodings[encoding]
        where = f"The cell of task {task!r} and encoding {encoding!r}"
        rest = dict(choice)
        swept = {"learning_rate": rest.pop("learning_rate")} if "learning_rate" in rest else {}
        return Cell(
            task=task,
            encoding=encoding,
            seed=seed,
            phase=phase,
            task_name=on.name,
            task_parameters=on.parameters,
            parts=_with_choice(by.parts, rest),
            model=replaced(self.model, {**on.model, **by.model}, where),
            training=replaced(self.training, {**on.training, **by.training, **swept}, where),
            measures=self.report.measures if phase == "report" else (),
            choice=dict(choice),
        )


def shipped() -> dict[str, Path]:
    """Return the grids that come with the package, by name."""
    return {file.stem: file for file in sorted((Path(__file__).parent / "grids").glob("*.toml"))}


def read_grid(path: Path | str) -> Grid:
    """Return the grid in a file of TOML, or the one of that name that comes with the package."""
    file = Path(path)
    if not file.is_file():  # the folder of its records may have the same name
        file = shipped().get(str(path), file)
    try:
        table = read_toml(file)
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{file} is no TOML ({error}); mend that line.") from error
    except (OSError, UnreadableError) as error:
        raise LabError(
            f"{file} can not be read ({error}); name a grid in TOML, or one that ships: "
            f"{nearest(str(path), shipped())}."
        ) from error
    return grid_of(table, name=file.stem)


def grid_of(table: Mapping[str, Any], *, name: str = "grid") -> Grid:
    """Return the grid that a table describes."""
    known = ("name", "question", "model", "training", "sweep", "report", "tasks", "encodings")
    for key in table:
        if key not in known:
            raise LabError(f"The grid has no key {key!r}: {nearest(key, known)}.")
    if "name" in table and not _LABEL.fullmatch(str(table["name"])):
        raise LabError(
            f"The grid has name {table['name']!r}, which is no name of a folder; use letters, "
            "digits, dots and dashes."
        )
    made = Grid(
        name=str(table.get("name", name)),
        question=str(table.get("question", "")),
        tasks={k: _task(k, v) for k, v in _labelled(table, "tasks").items()},
        encodings={k: _encoding(k, v) for k, v in _labelled(table, "encodings").items()},
        model=ModelConfig.from_table(table.get("model", {}), "[model]"),
        training=TrainingConfig.from_table(table.get("training", {}), "[training]"),
        sweep=Sweep.from_table(table.get("sweep", {}), "[sweep]"),
        report=Reporting.from_table(table.get("report", {}), "[report]"),
    )
    _check(made)
    return made


def _task(label: str, table: Any) -> TaskEntry:
    """Return a task; keys that are not the grid's own are parameters of it."""
    where = f"[tasks.{label}]"
    given = dict(_table(table, where))
    own = {key: given.pop(key) for key in ("model", "training") if key in given}
    name = given.pop("name", label)
    return TaskEntry.from_table({"name": name, "parameters": given, **own}, where)


def _encoding(label: str, table: Any) -> EncodingEntry:
    """Return an encoding; keys that are not the grid's own are parameters of its one part."""
    where = f"[encodings.{label}]"
    given = dict(_table(table, where))
    own = {key: given.pop(key) for key in _OWN if key in given}
    if "parts" in own and given:
        raise LabError(
            f"{where} has parts and, beside them, {next(iter(given))!r}; write it into the part "
            "it belongs to."
        )
    parts = own.pop("parts", [{"name": label, **given}])
    if not isinstance(parts, list | tuple):
        raise LabError(f"{where} has parts {parts!r}; pass a list of tables, each with a name.")
    made = tuple(_part(one, where) for one in parts)
    return EncodingEntry.from_table({**own, "parts": made}, where)


def _part(table: Any, where: str) -> PartConfig:
    given = dict(_table(table, where))
    own = {key: given.pop(key) for key in ("name", *_PLACE) if key in given}
    own["contents"] = _digest(str(own.get("name", "")))
    return PartConfig.from_table({**own, "parameters": given}, where)


def _digest(name: str) -> str:
    """Return the digest of the file of a name, or nothing where it names an encoding."""
    file = Path(name)
    if file.suffix not in Table.SUFFIXES or not file.is_file():
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _with_choice(
    parts: tuple[PartConfig, ...], choice: Mapping[str, Any]
) -> tuple[PartConfig, ...]:
    """Return parts, with what was swept in the first of them."""
    if not choice:
        return parts
    first, *others = parts
    own = {key: value for key, value in choice.items() if key in _PLACE}
    rest = {key: value for key, value in choice.items() if key not in _PLACE}
    changes = {**own, "parameters": {**first.parameters, **rest}}
    return (replaced(first, changes, "the sweep of an encoding"), *others)


def _labelled(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = _table(table.get(key, {}), f"[{key}]")
    if not found:
        raise LabError(f"The grid has no {key}; add a table [{key}.NAME] for each.")
    for label in found:
        if not _LABEL.fullmatch(label):
            raise LabError(
                f"[{key}.{label}] has a name that is no name of a folder; use letters, digits, "
                "dots and dashes."
            )
    return found


def different(where: str, name: str, values: Sequence[Any]) -> None:
    """Refuse a list that has a value twice: both would be the same cells."""
    for number, value in enumerate(values):
        if value in values[:number]:
            raise LabError(f"{where} has {name} {value!r} twice; pass different values.")


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise LabError(f"{where} is {value!r}; pass a table of keys and values.")
    return value


def _seeds(where: str, seeds: Any) -> None:
    whole = isinstance(seeds, tuple) and all(type(seed) is int and seed >= 0 for seed in seeds)
    if not whole or len(set(seeds)) < len(seeds):
        raise LabError(f"{where} has seeds {seeds!r}; pass different whole numbers from 0 on.")


def _check(grid: Grid) -> None:
    """Refuse a grid whose parts do not go together."""
    both = sorted({*grid.sweep.seeds} & {*grid.report.seeds})
    if both:
        raise LabError(
            f"The seed {both[0]} is in [sweep] and in [report]; choose and report on different "
            "seeds."
        )
    for label, entry in grid.encodings.items():
        for task in entry.tasks or ():
            if task not in grid.tasks:
                raise LabError(
                    f"[encodings.{label}] is for task {task!r}: {nearest(task, grid.tasks)}."
                )
        if entry.sweep and not entry.parts:
            raise LabError(
                f"[encodings.{label}] sweeps {next(iter(entry.sweep))} and has no part that it "
                "could belong to; leave the sweep out, or name an encoding."
            )
        if "learning_rate" in entry.sweep and grid.sweep.learning_rate:
            raise LabError(
                f"[encodings.{label}] sweeps learning_rate, and so does [sweep] for all encodings; "
                "leave one of them out."
            )
        if len(grid.choices(label)) > 1 and not grid.sweep.seeds:
            raise LabError(
                f"[encodings.{label}] has {len(grid.choices(label))} settings to choose from and "
                "no seeds to choose on; add seeds to [sweep]."
            )
