"""From a cell to what is trained: the task, the encodings, and the model.

What an encoding needs of the model and the task is filled in where the cell leaves it out: the
dimension (of a head, or of the model for vectors), heads, the rows of a table, the length it is
scaled to, the axes of positions, and the seed of its starting values.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.registry import encoding, entry_of
from gnomon.errors import LabError, nearest
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
        given = {**_filled(part, model, on, seed), **part.parameters}
        given = {
            key: list(value) if isinstance(value, tuple) else value for key, value in given.items()
        }
        made.append(
            Part(
                encoding=encoding(part.name, **given),
                layers=part.on_layers,
                heads=part.on_heads,
                multiplier=part.multiplier,
                both_directions=part.both_directions,
                frozen=part.frozen,
            )
        )
    return tuple(made)


def model_for(encoding: Any, model: ModelConfig, on: Task) -> nn.Module:
    """Return an untrained model for a task; `encoding` is what a model takes (`Transformer`)."""
    if model.kind not in VARIANTS:
        raise LabError(f"There is no model {model.kind!r}: {nearest(model.kind, VARIANTS)}.")
    build = VARIANTS[model.kind].load()
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
        causal=on.causal if model.causal is None else model.causal,
        pooling="mean" if on.output == "label" else "tokens",
        length=on.length,
        rms=model.rms,
        dropout=model.dropout,
        **own,
        **model.extra,
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
    kind = entry.read_card().kind[0]
    declared = inspect.signature(entry.factory).parameters
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
