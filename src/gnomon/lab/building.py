"""From a cell to what is trained: the task, the encodings, and the model.

What an encoding needs of the model and the task is filled in where the cell leaves it out: the
dimension (of a head, or of the model for vectors), heads, the rows of a table, the length it is
scaled to, the axes of positions, and the seed of its starting values.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings import Encoding, encoding, entry_of
from gnomon.errors import EncodingError, LabError, nearest
from gnomon.lab.cells import Cell
from gnomon.lab.config import ModelConfig, PartConfig
from gnomon.lab.parts import Part
from gnomon.lab.tasks.base import Task
from gnomon.lab.tasks.registry import TASKS, task
from gnomon.lab.variants import VARIANTS

if TYPE_CHECKING:
    from torch import nn

DATA = "GNOMON_DATA"
"""The variable that names the folder of real data."""


def task_of(cell: Cell) -> Task:
    """Return the task of a cell.

    Real data are looked for in the folder that GNOMON_DATA names, where the cell names none: so a
    record is the same wherever its data lie.
    """
    given = dict(cell.task_parameters)
    kind = TASKS.get(cell.task_name)
    names = {one.name for one in dataclasses.fields(kind)} if kind is not None else set()
    if "data" in names and "data" not in given:
        given["data"] = os.environ.get(DATA, "")
    return task(cell.task_name, **given)


def parts_for(
    parts: Sequence[PartConfig], model: ModelConfig, on: Task, *, seed: int
) -> tuple[Part, ...]:
    """Return encodings by name, with what they need of the model and the task filled in."""
    made = []
    for part in parts:
        _check_contents(part)
        filled = _filled(part, model, on, seed)
        given = {**filled, **part.parameters}
        given = {
            key: list(value) if isinstance(value, tuple) else value for key, value in given.items()
        }
        made.append(
            Part(
                encoding=_made(part.name, given, filled, model),
                layers=part.on_layers,
                heads=part.on_heads,
                multiplier=part.multiplier,
                both_directions=part.both_directions,
                frozen=part.frozen,
            )
        )
    return tuple(made)


def _made(
    name: str, given: Mapping[str, Any], filled: Mapping[str, Any], model: ModelConfig
) -> Encoding:
    """Return an encoding; a refusal says where a dimension comes from that nobody wrote down."""
    try:
        return encoding(name, **given)
    except EncodingError as error:
        width = given.get("dimension")
        of_head = "dimension" in filled and width == filled["dimension"] != model.dimension
        if not of_head or "dimension" not in str(error):
            raise
        raise LabError(
            f"{str(error).rstrip('.')} (of a head: {model.heads} of them share the dimension "
            f"{model.dimension} of the model)."
        ) from error


def model_for(encoding: Any, model: ModelConfig, on: Task) -> nn.Module:
    """Return an untrained model for a task; `encoding` is what a model takes (`Transformer`)."""
    if model.kind not in VARIANTS:
        raise LabError(f"There is no model {model.kind!r}: {nearest(model.kind, VARIANTS)}.")
    _check_sizes(encoding, model)
    build = VARIANTS[model.kind].load()
    causal = on.causal if model.causal is None else model.causal
    _check_hidden(on, model.kind, causal=causal, told=getattr(build, "reads_answers", False))
    own = {"features": _features(on)} if VARIANTS[model.kind].reads_values else {}
    known = [name for name, one in inspect.signature(build).parameters.items() if _named(one)]
    for name in model.extra:
        if name not in known:
            raise LabError(
                f"A model of kind {model.kind!r} has no {name!r}: {nearest(name, known)}."
            )
    return build(
        vocabulary=on.vocabulary,
        classes=on.classes,
        encoding=encoding,
        dimension=model.dimension,
        layers=model.layers,
        heads=model.heads,
        feedforward=model.feedforward,
        causal=causal,
        pooling="mean" if on.output == "label" else "tokens",
        length=on.length,
        rms=model.rms,
        dropout=model.dropout,
        **own,
        **model.extra,
    )


def _check_hidden(on: Task, kind: str, *, causal: bool, told: bool) -> None:
    """Refuse a model that is shown the answers of a task."""
    if told and (on.tells_ahead or on.tells_on):
        where = "all tokens, and so what comes next" if on.tells_ahead else "the answer before"
        raise LabError(
            f"A model of kind {kind!r} is shown {where}, which gives the answers of task "
            f"{on.name!r} away; choose another task or another model."
        )
    if on.tells_ahead and not causal:
        raise LabError(
            f"The answers of task {on.name!r} are tokens that come later, and a model with causal "
            "= false sees them; leave causal out."
        )


def _check_sizes(given: Any, model: ModelConfig) -> None:
    """Refuse vectors of another dimension than the model's, and another number of heads."""
    for one in given if isinstance(given, Sequence) else (given,):
        known = one.encoding if isinstance(one, Part) else one
        if not isinstance(known, Encoding):
            continue
        width = getattr(known, "dimension", None)
        if known.kinds[0] == "vectors" and width not in (None, model.dimension):
            raise LabError(
                f"The encoding {known.name!r} has vectors of dimension {width}, and the model "
                f"{model.dimension}; make one as wide as the other."
            )
        heads, asked = (
            (known.head_count or 1),
            (one.heads if isinstance(one, Part) else None) or model.heads,
        )
        if known.kinds[0] in ("bias", "transform") and heads not in (1, asked):
            raise LabError(
                f"The encoding {known.name!r} is made for {heads} heads, and the model has it on "
                f"{asked}; make it with heads={asked}."
            )


def _check_contents(part: PartConfig) -> None:
    """Refuse a file that is no longer the one that the cell was made with."""
    if not part.contents:
        return
    try:
        found = hashlib.sha256(Path(part.name).read_bytes()).hexdigest()
    except OSError as error:
        raise LabError(
            f"The encoding {part.name} can not be read ({error.strerror}); put the file there."
        ) from error
    if not found.startswith(part.contents):
        raise LabError(
            f"The encoding {part.name} has changed since its cell was made; read the grid again."
        )


def _features(on: Task) -> int:
    """Return how many numbers a task has in each place."""
    values = on.batch(np.random.default_rng(0), 1).values
    if values is None:
        raise LabError(
            f"The task {on.name!r} has tokens and no numbers, which a model of patches reads; "
            "choose another task or another model."
        )
    return int(values.shape[-1])


def _named(one: inspect.Parameter) -> bool:
    return one.kind is inspect.Parameter.KEYWORD_ONLY


def _filled(part: PartConfig, model: ModelConfig, on: Task, seed: int) -> dict[str, Any]:
    """Return what an encoding takes and needs, from the model and the task."""
    if part.contents:
        return {}  # a file knows what it is
    entry = entry_of(part.name)
    kind = entry.card.kind[0]
    declared = entry.parameters
    needed = {name for name, one in declared.items() if one.default is inspect.Parameter.empty}
    if kind == "bias" and not {"slopes", "half_lives"} & set(part.parameters):
        needed |= {"heads"} & set(declared)
    head = model.dimension // model.heads
    width = VARIANTS[model.kind].head_width(head) if model.kind in VARIANTS else head
    found: Mapping[str, Any] = {
        "dimension": model.dimension if kind == "vectors" else width,
        "heads": part.on_heads or model.heads,
        "rows": on.length,
        "length": on.length,
    }
    made = {name: value for name, value in found.items() if name in needed}
    axes = getattr(on, "axes", 1)
    if axes > 1 and "axes" in declared:
        made["axes"] = axes
    if part.name == "mla":  # its defaults are those of a large model
        if width == head:
            raise LabError(
                "The encoding 'mla' turns a part of queries and keys that a model of kind "
                f'{model.kind!r} does not have; add model = {{ kind = "latent" }} to it.'
            )
        made |= {"dimension": width, "content_dimension": head}
    if part.name == "jordan-scaled":
        made["length"] = float(on.length)
    return made | ({"seed": seed} if "seed" in declared else {})
