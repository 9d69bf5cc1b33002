"""A cell: everything that decides one run, as plain values, and the digest that names it.

The digest is SHA-256 of the canonical JSON of the values: the same cell has the same record on any
machine, and a cell whose settings changed is another cell. A file counts by its contents and not by
its name or folder; a task whose rows are drawn or split anew counts by its edition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnomon.lab.config import Config, ModelConfig, PartConfig, TrainingConfig

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
        from gnomon.lab.tasks.registry import edition_of

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
