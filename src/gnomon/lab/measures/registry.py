"""Measures of a trained model by name: each a function of the model and of held-out rows.

`heads` is zero- and mean-ablation of every head and how the losses concentrate, `redundancy` the
losses of pairs of heads of the first layer, `pairs` those of rotary pairs by layer, and `hessian`
the top eigenvalue of the Hessian of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.errors import LabError
from gnomon.lab.measures.ablation import Redundancy, pair_ablation
from gnomon.lab.measures.heads import Heads, head_report
from gnomon.lab.measures.hessian import TopEigenvalue, top_eigenvalue
from gnomon.lab.measures.rotary import PairImportance, pair_importance
from gnomon.lab.tasks.base import Batch
from gnomon.results import Result

HESSIAN_ROWS = 128
"""Rows that the Hessian is taken on: its cost is that of some forty gradients."""


def heads(model: Any, batch: Batch) -> Heads:
    """Return both ablations of every head."""
    _check(model, "heads_scaled", "heads")
    return head_report(model, batch)


def redundancy(model: Any, batch: Batch) -> Redundancy:
    """Return losses of pairs of heads of the first layer."""
    _check(model, "heads_scaled", "redundancy")
    return pair_ablation(model, batch, layer=0)


def pairs(model: Any, batch: Batch) -> PairImportance:
    """Return losses of rotary pairs by layer."""
    _check(model, "pairs_scaled", "pairs")
    return pair_importance(model, batch)


def hessian(model: Any, batch: Batch) -> TopEigenvalue:
    """Return the top eigenvalue of the Hessian of the loss on the first rows of a batch."""
    from gnomon.lab.scoring import loss

    rows = batch.rows(slice(0, HESSIAN_ROWS))
    return top_eigenvalue(lambda: loss(model, rows), model.parameters())


def _check(model: Any, method: str, measure: str) -> None:
    if not hasattr(model, method):
        raise LabError(
            f"the measure {measure} needs a model with heads, and a {type(model).__name__} has "
            "none; leave the measure out."
        )


MEASURES: dict[str, Callable[[Any, Batch], Result]] = {
    "heads": heads,
    "redundancy": redundancy,
    "pairs": pairs,
    "hessian": hessian,
}
