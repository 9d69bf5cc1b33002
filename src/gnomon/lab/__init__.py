"""Tasks, a Transformer short enough to read, training, grids of runs, and what they show.

Names are loaded when they are first used; what needs PyTorch says so then.

from gnomon import encoding, lab
trained = lab.train(lab.task("distance"), encoding("rope", dimension=8, base=100.0))
trained.record.score, trained.record.area
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.lab.activations import logits_report as logits_report
    from gnomon.lab.building import DATA as DATA
    from gnomon.lab.building import model_for as model_for
    from gnomon.lab.building import parts_for as parts_for
    from gnomon.lab.building import task_of as task_of
    from gnomon.lab.ceilings import Ceiling as Ceiling
    from gnomon.lab.cells import Cell as Cell
    from gnomon.lab.compact import compact_folder as compact_folder
    from gnomon.lab.config import ModelConfig as ModelConfig
    from gnomon.lab.config import PartConfig as PartConfig
    from gnomon.lab.config import TrainingConfig as TrainingConfig
    from gnomon.lab.executor import Executor as Executor
    from gnomon.lab.executor import Processes as Processes
    from gnomon.lab.grid import EncodingEntry as EncodingEntry
    from gnomon.lab.grid import Grid as Grid
    from gnomon.lab.grid import TaskEntry as TaskEntry
    from gnomon.lab.grid import read_grid as read_grid
    from gnomon.lab.grid import shipped as shipped
    from gnomon.lab.measures.hessian import top_eigenvalue as top_eigenvalue
    from gnomon.lab.measures.intervals import over_seeds as over_seeds
    from gnomon.lab.measures.stability import largest_stable_rate as largest_stable_rate
    from gnomon.lab.measures.trials import trial_losses as trial_losses
    from gnomon.lab.model import Transformer as Transformer
    from gnomon.lab.parts import Part as Part
    from gnomon.lab.planning import Selection as Selection
    from gnomon.lab.record_shape import NUMBER as NUMBER
    from gnomon.lab.record_shape import holding as holding
    from gnomon.lab.record_shape import maybe as maybe
    from gnomon.lab.records import Record as Record
    from gnomon.lab.records import read_record as read_record
    from gnomon.lab.running import Status as Status
    from gnomon.lab.running import run_grid as run_grid
    from gnomon.lab.running import status as status
    from gnomon.lab.scoring import loss as loss
    from gnomon.lab.scoring import score as score
    from gnomon.lab.tasks.alignment import Alignment as Alignment
    from gnomon.lab.tasks.base import Batch as Batch
    from gnomon.lab.tasks.base import Task as Task
    from gnomon.lab.tasks.real.digits import Digits as Digits
    from gnomon.lab.tasks.real.digits import DigitsRaster as DigitsRaster
    from gnomon.lab.tasks.real.documents import TRAIN as TRAIN
    from gnomon.lab.tasks.real.documents import Labelled as Labelled
    from gnomon.lab.tasks.real.documents import digest_of as digest_of
    from gnomon.lab.tasks.registry import TASKS as TASKS
    from gnomon.lab.tasks.registry import task as task
    from gnomon.lab.training import starting_seed as starting_seed
    from gnomon.lab.training import train as train

__all__ = [
    "TASKS",
    "Batch",
    "Ceiling",
    "Cell",
    "Grid",
    "ModelConfig",
    "Part",
    "Record",
    "Task",
    "TrainingConfig",
    "Transformer",
    "loss",
    "read_grid",
    "read_record",
    "run_grid",
    "score",
    "task",
    "train",
]

_TRAINED = ("Transformer", "loss", "score", "train")

_load, __dir__ = front(
    __name__,
    {
        "activations": ("logits_report",),
        "building": ("DATA", "model_for", "parts_for", "task_of"),
        "ceilings": ("Ceiling",),
        "cells": ("Cell",),
        "compact": ("compact_folder",),
        "config": ("ModelConfig", "PartConfig", "TrainingConfig"),
        "executor": ("Executor", "Processes"),
        "grid": ("EncodingEntry", "Grid", "TaskEntry", "read_grid", "shipped"),
        "measures.hessian": ("top_eigenvalue",),
        "measures.intervals": ("over_seeds",),
        "measures.stability": ("largest_stable_rate",),
        "measures.trials": ("trial_losses",),
        "model": ("Transformer",),
        "parts": ("Part",),
        "planning": ("Selection",),
        "record_shape": ("NUMBER", "holding", "maybe"),
        "records": ("Record", "read_record"),
        "running": ("Status", "run_grid", "status"),
        "scoring": ("loss", "score"),
        "tasks.alignment": ("Alignment",),
        "tasks.base": ("Batch", "Task"),
        "tasks.real.digits": ("Digits", "DigitsRaster"),
        "tasks.real.documents": ("Labelled", "TRAIN", "digest_of"),
        "tasks.registry": ("TASKS", "task"),
        "training": ("starting_seed", "train"),
    },
)


def __getattr__(name: str) -> Any:
    """Load a name from its home on first use."""
    if name in _TRAINED:
        importlib.import_module("gnomon.torch")  # says what to install where PyTorch is missing
    return _load(name)
