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
apart. What the grid has to do next is asked in `gnomon.lab.run`: a grid that was stopped goes on
where it was.

All of it are configurations: frozen dataclasses that come from tables of TOML or JSON and go back
to them. A key that is not known is refused with the nearest one. A *cell* is everything that
decides one run, as plain values. Its digest, SHA-256 of the canonical JSON of the values, names its
record: the same cell has the same record on any machine, and a cell whose settings changed is
another cell. A file counts by its contents and not by its name or folder; a task whose rows are
drawn or split anew counts by its edition.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from gnomon.encodings import Table
from gnomon.errors import LabError, nearest
from gnomon.reading import UnreadableError, read_toml
from gnomon.results import plain

Made = TypeVar("Made", bound="Config")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of all configurations."""

    @classmethod
    def from_table(cls, table: Any, where: str) -> Self:
        """Return the configuration that a table describes; `where` names it in a refusal."""
        if not isinstance(table, Mapping):
            raise LabError(f"{where} is {table!r}; pass a table of keys and values.")
        known = [one.name for one in dataclasses.fields(cls)]
        for key in table:
            if key not in known:
                raise LabError(f"{where} has no key {key!r}: {nearest(str(key), known)}.")
        needed = [one.name for one in dataclasses.fields(cls) if _is_required(one)]
        for key in needed:
            if key not in table:
                raise LabError(f"{where} has no {key}, which it needs; add {key} = ... .")
        made = cls(**{key: _freeze(value) for key, value in table.items()})
        made.check(where)
        return made

    def check(self, where: str) -> None:
        """Refuse values that cannot be meant."""

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain values that JSON can hold."""
        return {one.name: plain(getattr(self, one.name)) for one in dataclasses.fields(self)}


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """A model; what the task decides (vocabulary, classes, reading out) is not in it."""

    kind: str = "transformer"
    dimension: int = 64
    layers: int = 2
    heads: int = 8
    feedforward: int | None = None
    """Width of the network at every token; twice the dimension where it is not given."""
    causal: bool | None = None
    """Whether keys after their query are hidden; what the task says where it is not given."""
    rms: float = 0.5
    """Root mean square at which tokens and vectors enter."""
    dropout: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of other kinds of models (`gnomon.lab.variants`)."""

    def check(self, where: str) -> None:
        """Refuse sizes below 1, and shares that are none."""
        check_text(where, "kind", self.kind)
        check_flag(where, "causal", self.causal, optional=True)
        check_table(where, "extra", self.extra)
        for name in ("dimension", "layers", "heads"):
            check_int(where, name, getattr(self, name), least=1)
        if self.feedforward is not None:
            check_int(where, "feedforward", self.feedforward, least=1)
        check_float(where, "rms", self.rms, above=0.0)
        check_float(where, "dropout", self.dropout, least=0.0, below=1.0)
        if self.dimension % self.heads:
            raise LabError(
                f"{where} has dimension {self.dimension} and {self.heads} heads; pass a dimension "
                "that is a multiple of the heads."
            )


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """How a model is trained: AdamW, warm-up, then a cosine [loshchilov2019]."""

    steps: int = 600
    batch: int = 64
    learning_rate: float = 3e-3
    warmup: float = 0.06
    """Share of the steps in which the rate rises from 0."""
    floor: float = 0.05
    """Share of the rate that is left at the end."""
    betas: tuple[float, float] = (0.9, 0.98)
    decay: float = 0.01
    """Weight decay of matrices; biases, norms and learned numbers of encodings have none."""
    clip: float = 1.0
    evaluate_every: int = 50
    curve_samples: int = 512
    held_out: int = 2048
    measure_samples: int = 512
    """Held-out samples that measures are taken on."""
    lengths: tuple[int, ...] = ()
    """Other lengths at which the trained model is scored."""
    watch: tuple[str, ...] = ()
    """Measures that are taken at every point of the curve, along training."""
    checkpoint_every: int = 200
    keep_weights: bool = False
    """Whether the trained weights are kept beside the record."""

    def check(self, where: str) -> None:
        """Refuse what cannot be trained with."""
        counts = (
            "steps",
            "batch",
            "evaluate_every",
            "curve_samples",
            "held_out",
            "measure_samples",
        )
        for name in (*counts, "checkpoint_every"):
            check_int(where, name, getattr(self, name), least=1)
        for name in ("learning_rate", "clip"):
            check_float(where, name, getattr(self, name), above=0.0)
        for name in ("warmup", "floor"):
            check_float(where, name, getattr(self, name), least=0.0, below=1.0)
        check_float(where, "decay", self.decay, least=0.0)
        if len(check_list(where, "betas", self.betas)) != 2:
            raise LabError(f"{where} has betas {list(self.betas)!r}; pass two numbers.")
        for beta in self.betas:
            check_float(where, "betas", beta, least=0.0, below=1.0)
        for length in check_list(where, "lengths", self.lengths):
            check_int(where, "lengths", length, least=1)
        for name in check_list(where, "watch", self.watch):
            check_text(where, "watch", name)
        check_flag(where, "keep_weights", self.keep_weights)


@dataclass(frozen=True, kw_only=True)
class PartConfig(Config):
    """One encoding by its name, and the layers and heads it acts in (`gnomon.lab.encode`)."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    on_layers: tuple[int, ...] | None = None
    on_heads: int | None = None
    multiplier: float = 1.0
    both_directions: bool = False
    frozen: bool = False
    contents: str = ""
    """Digest of the file, where the name is that of a file: another file is another cell."""

    def check(self, where: str) -> None:
        """Refuse places that are none, and a multiplier that is no number above 0."""
        check_text(where, "name", self.name)
        check_table(where, "parameters", self.parameters)
        if self.on_layers is not None:
            for layer in check_list(where, "on_layers", self.on_layers):
                check_int(where, "on_layers", layer, least=0)
        if self.on_heads is not None:
            check_int(where, "on_heads", self.on_heads, least=1)
        check_float(where, "multiplier", self.multiplier, above=0.0)
        check_flag(where, "both_directions", self.both_directions)
        check_flag(where, "frozen", self.frozen)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; a part that learns says nothing of it."""
        made = super().to_dict()
        return made if self.frozen else {k: v for k, v in made.items() if k != "frozen"}


def replace_values(config: Made, changes: Mapping[str, Any], where: str) -> Made:
    """Return a configuration with some values changed, checked as a whole."""
    table = {one.name: getattr(config, one.name) for one in dataclasses.fields(config)}
    if not isinstance(changes, Mapping):
        raise LabError(f"{where} is {changes!r}; pass a table of keys and values.")
    return type(config).from_table({**table, **changes}, where)


def _is_required(one: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return one.default is missing and one.default_factory is missing


def _freeze(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def check_list(where: str, name: str, value: Any) -> tuple[Any, ...]:
    """Return the values of a list; what is none is refused."""
    if not isinstance(value, tuple):
        raise LabError(f"{where} has {name} {value!r}; pass a list.")
    return value


def check_text(where: str, name: str, value: Any) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise LabError(f"{where} has {name} {value!r}; pass a name in quotes.")


def check_flag(where: str, name: str, value: Any, *, optional: bool = False) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool) and not (optional and value is None):
        raise LabError(f"{where} has {name} {value!r}; pass true or false.")


def check_table(where: str, name: str, value: Any) -> None:
    """Refuse what is no table."""
    if not isinstance(value, Mapping):
        raise LabError(f"{where} has {name} {value!r}; pass a table of keys and values.")


_MOST = {"dimension": 2**20, "feedforward": 2**22, "layers": 2**12, "heads": 2**16}
_MOST |= dict.fromkeys(("batch", "curve_samples", "held_out", "measure_samples"), 2**24)


def check_int(where: str, name: str, value: Any, *, least: int) -> None:
    """Refuse what is no whole number, below the least, or far above any use."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise LabError(f"{where} has {name} {value!r}; pass a whole number from {least} on.")
    most = _MOST.get(name, 2**31 - 1)
    if value > most:
        raise LabError(f"{where} has {name} {value}; pass a whole number up to {most:,}.")


def check_float(
    where: str,
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> None:
    """Refuse what is no number, or out of its range."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (value >= least and above < value < below):
        low = f"above {above:g}" if above > -math.inf else f"from {least:g} on"
        high = "" if below == math.inf else f" and below {below:g}"
        raise LabError(f"{where} has {name} {value!r}; pass a number {low}{high}.")


PHASES = ("selection", "report")


@dataclass(frozen=True, kw_only=True)
class Cell(Config):
    """One run: a task, an encoding, a model, its training, and a seed."""

    task: str
    """What the grid calls the task."""
    encoding: str
    """What the grid calls the encoding."""
    seed: int
    phase: str = "report"
    task_name: str
    task_parameters: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[PartConfig, ...] = ()
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    measures: tuple[str, ...] = ()
    choice: Mapping[str, Any] = field(default_factory=dict)
    """What of the sweep this cell has."""

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Cell:
        """Return the cell that `to_dict` wrote."""
        parts = [PartConfig.from_table(one, "a part of the cell") for one in table["parts"]]
        model = ModelConfig.from_table(table["model"], "the model of the cell")
        training = TrainingConfig.from_table(table["training"], "the training of the cell")
        inner = {"parts": parts, "model": model, "training": training}
        return cls.from_table({**table, **inner}, "the cell")

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain values that JSON can hold."""
        inner = {"model": self.model.to_dict(), "training": self.training.to_dict()}
        return {**super().to_dict(), "parts": [part.to_dict() for part in self.parts], **inner}

    @property
    def digest(self) -> str:
        """Return 16 hexadecimal digits that stand for all settings of this cell."""
        text = json.dumps(self._identity(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]

    def _identity(self) -> dict[str, Any]:
        """Return the values that the digest stands for."""
        from gnomon.lab.tasks import edition_of

        table = self.to_dict()
        table["parts"] = [
            {**part, "name": ""} if part["contents"] else part for part in table["parts"]
        ]
        edition = edition_of(self.task_name)
        return table if edition == 1 else {**table, "edition": edition}

    @property
    def words(self) -> str:
        """Say which cell it is."""
        chosen = "".join(
            f", {key} {value:g}" if isinstance(value, float) else f", {key} {value}"
            for key, value in self.choice.items()
        )
        return f"task {self.task!r}, encoding {self.encoding!r}{chosen}, seed {self.seed}"

    def file(self, folder: Path, ending: str = ".json") -> Path:
        """Return where its record lies, or another file of it."""
        name = f"{self.phase}-{self.seed}-{self.digest}{ending}"
        return folder / self.task / self.encoding / name


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
        check_text(where, "name", self.name)
        check_table(where, "model", self.model)
        check_table(where, "training", self.training)


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
            check_table(where, name, getattr(self, name))
        for key, values in self.sweep.items():
            if not isinstance(values, list | tuple) or not values:
                raise LabError(f"{where} sweeps {key} over {values!r}; pass a list of values.")
            _check_different(where, key, values)
        if self.tasks is not None and not check_list(where, "tasks", self.tasks):
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
        for rate in check_list(where, "learning_rate", self.learning_rate):
            check_float(where, "learning_rate", rate, above=0.0)
        _check_different(where, "learning_rate", self.learning_rate)
        check_int(where, "extend", self.extend, least=0)
        check_text(where, "by", self.by)
        if self.by not in CRITERIA:
            raise LabError(f"{where} chooses by {self.by!r}: {nearest(self.by, CRITERIA)}.")
        _check_seeds(where, self.seeds)


@dataclass(frozen=True, kw_only=True)
class Reporting(Config):
    """The seeds that are reported, and what is measured of their models."""

    seeds: tuple[int, ...] = (0,)
    measures: tuple[str, ...] = ()

    def check(self, where: str) -> None:
        """Refuse a report without seeds, and measures that are no names."""
        for name in check_list(where, "measures", self.measures):
            check_text(where, "measures", name)
        _check_seeds(where, self.seeds)
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
            model=replace_values(self.model, {**on.model, **by.model}, where),
            training=replace_values(self.training, {**on.training, **by.training, **swept}, where),
            measures=self.report.measures if phase == "report" else (),
            choice=dict(choice),
        )


def built_in_grids() -> dict[str, Path]:
    """Return the grids that come with the package, by name."""
    return {file.stem: file for file in sorted((Path(__file__).parent / "grids").glob("*.toml"))}


def read_grid(path: Path | str) -> Grid:
    """Return the grid in a file of TOML, or the one of that name that comes with the package."""
    file = Path(path)
    if not file.is_file():  # the folder of its records may have the same name
        file = built_in_grids().get(str(path), file)
    try:
        table = read_toml(file)
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{file} is no TOML ({error}); mend that line.") from error
    except (OSError, UnreadableError) as error:
        raise LabError(
            f"{file} cannot be read ({error}); name a grid in TOML, or one that ships: "
            f"{nearest(str(path), built_in_grids())}."
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
        tasks={k: _read_task(k, v) for k, v in _tables_by_label(table, "tasks").items()},
        encodings={
            k: _read_encoding(k, v) for k, v in _tables_by_label(table, "encodings").items()
        },
        model=ModelConfig.from_table(table.get("model", {}), "[model]"),
        training=TrainingConfig.from_table(table.get("training", {}), "[training]"),
        sweep=Sweep.from_table(table.get("sweep", {}), "[sweep]"),
        report=Reporting.from_table(table.get("report", {}), "[report]"),
    )
    _check_together(made)
    return made


def _read_task(label: str, table: Any) -> TaskEntry:
    """Return a task; keys that are not the grid's own are parameters of it."""
    where = f"[tasks.{label}]"
    given = dict(_check_is_table(table, where))
    own = {key: given.pop(key) for key in ("model", "training") if key in given}
    name = given.pop("name", label)
    return TaskEntry.from_table({"name": name, "parameters": given, **own}, where)


def _read_encoding(label: str, table: Any) -> EncodingEntry:
    """Return an encoding; keys that are not the grid's own are parameters of its one part."""
    where = f"[encodings.{label}]"
    given = dict(_check_is_table(table, where))
    own = {key: given.pop(key) for key in _OWN if key in given}
    if "parts" in own and given:
        raise LabError(
            f"{where} has parts and, beside them, {next(iter(given))!r}; write it into the part "
            "it belongs to."
        )
    parts = own.pop("parts", [{"name": label, **given}])
    if not isinstance(parts, list | tuple):
        raise LabError(f"{where} has parts {parts!r}; pass a list of tables, each with a name.")
    made = tuple(_read_part(one, where) for one in parts)
    return EncodingEntry.from_table({**own, "parts": made}, where)


def _read_part(table: Any, where: str) -> PartConfig:
    given = dict(_check_is_table(table, where))
    own = {key: given.pop(key) for key in ("name", *_PLACE) if key in given}
    own["contents"] = _digest_of_file(str(own.get("name", "")))
    return PartConfig.from_table({**own, "parameters": given}, where)


def _digest_of_file(name: str) -> str:
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
    return (replace_values(first, changes, "the sweep of an encoding"), *others)


def _tables_by_label(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = _check_is_table(table.get(key, {}), f"[{key}]")
    if not found:
        raise LabError(f"The grid has no {key}; add a table [{key}.NAME] for each.")
    for label in found:
        if not _LABEL.fullmatch(label):
            raise LabError(
                f"[{key}.{label}] has a name that is no name of a folder; use letters, digits, "
                "dots and dashes."
            )
    return found


def _check_different(where: str, name: str, values: Sequence[Any]) -> None:
    """Refuse a list that has a value twice: both would be the same cells."""
    for number, value in enumerate(values):
        if value in values[:number]:
            raise LabError(f"{where} has {name} {value!r} twice; pass different values.")


def _check_is_table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise LabError(f"{where} is {value!r}; pass a table of keys and values.")
    return value


def _check_seeds(where: str, seeds: Any) -> None:
    whole = isinstance(seeds, tuple) and all(type(seed) is int and seed >= 0 for seed in seeds)
    if not whole or len(set(seeds)) < len(seeds):
        raise LabError(f"{where} has seeds {seeds!r}; pass different whole numbers from 0 on.")


def _check_together(grid: Grid) -> None:
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
