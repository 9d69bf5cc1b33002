"""Tasks, a Transformer short enough to read, training, grids of runs, and what they show.

Names are loaded when they are first used; what needs PyTorch says so then.

from gnomon import encoding, lab
trained = lab.train(lab.task("distance"), encoding("rope", dimension=8, base=100.0))
trained.record.score, trained.record.area
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "Batch": "gnomon.lab.tasks.base",
    "Cell": "gnomon.lab.cells",
    "Ceiling": "gnomon.lab.ceilings",
    "Grid": "gnomon.lab.grid",
    "ModelConfig": "gnomon.lab.config",
    "Part": "gnomon.lab.parts",
    "Record": "gnomon.lab.records",
    "TASKS": "gnomon.lab.tasks.registry",
    "Task": "gnomon.lab.tasks.base",
    "TrainingConfig": "gnomon.lab.config",
    "Transformer": "gnomon.lab.model",
    "loss": "gnomon.lab.scoring",
    "read_grid": "gnomon.lab.grid",
    "read_record": "gnomon.lab.records",
    "run_grid": "gnomon.lab.running",
    "score": "gnomon.lab.scoring",
    "task": "gnomon.lab.tasks.registry",
    "train": "gnomon.lab.training",
}

_TRAINED = ("Transformer", "loss", "score", "train")

__all__ = [  # noqa: PLE0604 - the names are the keys of the table above
    *sorted(_HOME)
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'gnomon.lab' has no attribute {name!r}")
    if name in _TRAINED:
        importlib.import_module("gnomon.torch")  # says what to install where PyTorch is missing
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
