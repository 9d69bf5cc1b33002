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
    from gnomon.lab.encode import Placement as Placement
    from gnomon.lab.grid import Cell as Cell
    from gnomon.lab.grid import EncodingEntry as EncodingEntry
    from gnomon.lab.grid import Grid as Grid
    from gnomon.lab.grid import ModelConfig as ModelConfig
    from gnomon.lab.grid import PartConfig as PartConfig
    from gnomon.lab.grid import TaskEntry as TaskEntry
    from gnomon.lab.grid import TrainingConfig as TrainingConfig
    from gnomon.lab.grid import built_in_grids as built_in_grids
    from gnomon.lab.grid import read_grid as read_grid
    from gnomon.lab.measures import logits_report as logits_report
    from gnomon.lab.measures import top_eigenvalue as top_eigenvalue
    from gnomon.lab.model import Transformer as Transformer
    from gnomon.lab.records import NUMBER as NUMBER
    from gnomon.lab.records import Record as Record
    from gnomon.lab.records import nullable as nullable
    from gnomon.lab.records import read_record as read_record
    from gnomon.lab.records import table_of as table_of
    from gnomon.lab.run import Selection as Selection
    from gnomon.lab.run import Status as Status
    from gnomon.lab.run import run_grid as run_grid
    from gnomon.lab.run import status as status
    from gnomon.lab.scoring import loss as loss
    from gnomon.lab.scoring import score as score
    from gnomon.lab.stability import largest_stable_rate as largest_stable_rate
    from gnomon.lab.stability import trial_losses as trial_losses
    from gnomon.lab.table import folder_table as folder_table
    from gnomon.lab.table import over_seeds as over_seeds
    from gnomon.lab.tasks import DATA as DATA
    from gnomon.lab.tasks import TASKS as TASKS
    from gnomon.lab.tasks import build_task as build_task
    from gnomon.lab.tasks import task as task
    from gnomon.lab.tasks.alignment import Alignment as Alignment
    from gnomon.lab.tasks.base import Batch as Batch
    from gnomon.lab.tasks.base import Ceiling as Ceiling
    from gnomon.lab.tasks.base import Task as Task
    from gnomon.lab.tasks.digits import Digits as Digits
    from gnomon.lab.tasks.digits import DigitsRaster as DigitsRaster
    from gnomon.lab.tasks.documents import TRAIN as TRAIN
    from gnomon.lab.tasks.documents import Labelled as Labelled
    from gnomon.lab.tasks.documents import digest_of as digest_of
    from gnomon.lab.training import train as train
    from gnomon.lab.training import weights_seed as weights_seed
    from gnomon.lab.variants import build_model as build_model
    from gnomon.lab.variants import build_placements as build_placements
    from gnomon.lab.worker import Executor as Executor
    from gnomon.lab.worker import Processes as Processes

__all__ = [
    "TASKS",
    "Batch",
    "Ceiling",
    "Cell",
    "Grid",
    "ModelConfig",
    "Placement",
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

_TRAINED = ("Placement", "Transformer", "loss", "score", "train")

_load, __dir__ = front(
    __name__,
    {
        "encode": ("Placement",),
        "grid": (
            "Cell",
            "EncodingEntry",
            "Grid",
            "ModelConfig",
            "PartConfig",
            "TaskEntry",
            "TrainingConfig",
            "built_in_grids",
            "read_grid",
        ),
        "measures": ("logits_report", "top_eigenvalue"),
        "model": ("Transformer",),
        "records": ("NUMBER", "Record", "nullable", "read_record", "table_of"),
        "run": ("Selection", "Status", "run_grid", "status"),
        "scoring": ("loss", "score"),
        "stability": ("largest_stable_rate", "trial_losses"),
        "table": ("folder_table", "over_seeds"),
        "tasks": ("DATA", "TASKS", "build_task", "task"),
        "tasks.alignment": ("Alignment",),
        "tasks.base": ("Batch", "Ceiling", "Task"),
        "tasks.digits": ("Digits", "DigitsRaster"),
        "tasks.documents": ("Labelled", "TRAIN", "digest_of"),
        "training": ("train", "weights_seed"),
        "variants": ("build_model", "build_placements"),
        "worker": ("Executor", "Processes"),
    },
)


def __getattr__(name: str) -> Any:
    """Load a name from its home on first use."""
    if name in _TRAINED:
        importlib.import_module("gnomon.torch")  # says what to install where PyTorch is missing
    return _load(name)
