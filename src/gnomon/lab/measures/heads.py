"""What a trained model's heads do, in one result: both ablations, and how they concentrate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnomon.lab.measures.ablation import Importance, mean_ablation, zero_ablation
from gnomon.lab.measures.concentration import Concentration, concentration
from gnomon.lab.tasks.base import Batch
from gnomon.results import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class Heads(Result):
    """Zero- and mean-ablation of one model on one batch, and their concentration by layer."""

    zero: Importance
    mean: Importance
    zero_concentration: tuple[Concentration, ...]
    mean_concentration: tuple[Concentration, ...]


def head_report(model: Any, batch: Batch) -> Heads:
    """Return both ablations of a model; 2 layers x heads + 3 passes over held-out rows."""
    zero, mean = zero_ablation(model, batch), mean_ablation(model, batch)
    layers = range(model.layers_count)
    return Heads(
        zero=zero,
        mean=mean,
        zero_concentration=tuple(concentration(zero, layer=layer) for layer in layers),
        mean_concentration=tuple(concentration(mean, layer=layer) for layer in layers),
    )
