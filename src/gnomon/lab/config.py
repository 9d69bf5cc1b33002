"""What a run is made of, as plain values: the model, its encoding, and how it is trained.

A configuration is a frozen dataclass that comes from a table of TOML or JSON and goes back to one.
A key that is not known is refused with the nearest one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from gnomon.errors import LabError, nearest
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
        needed = [one.name for one in dataclasses.fields(cls) if _needed(one)]
        for key in needed:
            if key not in table:
                raise LabError(f"{where} has no {key}, which it needs; add {key} = ... .")
        made = cls(**{key: _frozen(value) for key, value in table.items()})
        made.check(where)
        return made

    def check(self, where: str) -> None:
        """Refuse values that can not be meant."""

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
        text(where, "kind", self.kind)
        flag(where, "causal", self.causal, optional=True)
        mapping(where, "extra", self.extra)
        for name in ("dimension", "layers", "heads"):
            whole(where, name, getattr(self, name), least=1)
        if self.feedforward is not None:
            whole(where, "feedforward", self.feedforward, least=1)
        real(where, "rms", self.rms, above=0.0)
        real(where, "dropout", self.dropout, least=0.0, below=1.0)
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
        """Refuse what can not be trained with."""
        counts = (
            "steps",
            "batch",
            "evaluate_every",
            "curve_samples",
            "held_out",
            "measure_samples",
        )
        for name in (*counts, "checkpoint_every"):
            whole(where, name, getattr(self, name), least=1)
        for name in ("learning_rate", "clip"):
            real(where, name, getattr(self, name), above=0.0)
        for name in ("warmup", "floor"):
            real(where, name, getattr(self, name), least=0.0, below=1.0)
        real(where, "decay", self.decay, least=0.0)
        if len(several(where, "betas", self.betas)) != 2:
            raise LabError(f"{where} has betas {list(self.betas)!r}; pass two numbers.")
        for beta in self.betas:
            real(where, "betas", beta, least=0.0, below=1.0)
        for length in several(where, "lengths", self.lengths):
            whole(where, "lengths", length, least=1)
        for name in several(where, "watch", self.watch):
            text(where, "watch", name)
        flag(where, "keep_weights", self.keep_weights)


@dataclass(frozen=True, kw_only=True)
class PartConfig(Config):
    """One encoding by its name, and the layers and heads it acts in (`gnomon.lab.parts`)."""

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
        text(where, "name", self.name)
        mapping(where, "parameters", self.parameters)
        if self.on_layers is not None:
            for layer in several(where, "on_layers", self.on_layers):
                whole(where, "on_layers", layer, least=0)
        if self.on_heads is not None:
            whole(where, "on_heads", self.on_heads, least=1)
        real(where, "multiplier", self.multiplier, above=0.0)
        flag(where, "both_directions", self.both_directions)
        flag(where, "frozen", self.frozen)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; a part that learns says nothing of it."""
        made = super().to_dict()
        return made if self.frozen else {k: v for k, v in made.items() if k != "frozen"}


def replaced(config: Made, changes: Mapping[str, Any], where: str) -> Made:
    """Return a configuration with some values changed, checked as a whole."""
    table = {one.name: getattr(config, one.name) for one in dataclasses.fields(config)}
    if not isinstance(changes, Mapping):
        raise LabError(f"{where} is {changes!r}; pass a table of keys and values.")
    return type(config).from_table({**table, **changes}, where)


def _needed(one: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return one.default is missing and one.default_factory is missing


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def several(where: str, name: str, value: Any) -> tuple[Any, ...]:
    """Return the values of a list; what is none is refused."""
    if not isinstance(value, tuple):
        raise LabError(f"{where} has {name} {value!r}; pass a list.")
    return value


def text(where: str, name: str, value: Any) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise LabError(f"{where} has {name} {value!r}; pass a name in quotes.")


def flag(where: str, name: str, value: Any, *, optional: bool = False) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool) and not (optional and value is None):
        raise LabError(f"{where} has {name} {value!r}; pass true or false.")


def mapping(where: str, name: str, value: Any) -> None:
    """Refuse what is no table."""
    if not isinstance(value, Mapping):
        raise LabError(f"{where} has {name} {value!r}; pass a table of keys and values.")


_MOST = {"dimension": 2**20, "feedforward": 2**22, "layers": 2**12, "heads": 2**16}
_MOST |= dict.fromkeys(("batch", "curve_samples", "held_out", "measure_samples"), 2**24)


def whole(where: str, name: str, value: Any, *, least: int) -> None:
    """Refuse what is no whole number, below the least, or far above any use."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise LabError(f"{where} has {name} {value!r}; pass a whole number from {least} on.")
    most = _MOST.get(name, 2**31 - 1)
    if value > most:
        raise LabError(f"{where} has {name} {value}; pass a whole number up to {most:,}.")


def real(
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
