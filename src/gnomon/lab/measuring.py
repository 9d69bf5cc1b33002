"""What is measured of a trained model, by name.

To the measures of `gnomon.lab.measures` comes `logits`: Toeplitz share and contraction of logits by
layer and head (`gnomon.lab.activations`).
"""

from __future__ import annotations

from typing import Any

from gnomon.errors import LabError, nearest
from gnomon.lab.tasks.base import Batch
from gnomon.results import plain


def known_measures() -> dict[str, Any]:
    """Return every measure by name: a function of a model and held-out data."""
    from gnomon.lab.activations import logits_report
    from gnomon.lab.measures.registry import MEASURES

    return {**MEASURES, "logits": logits_report}


def check_measures(names: tuple[str, ...]) -> None:
    """Refuse a measure that is not there."""
    known = known_measures() if names else {}
    for name in names:
        if name not in known:
            raise LabError(f"There is no measure {name!r}: {nearest(name, known)}.")


def measured(names: tuple[str, ...], model: Any, batch: Batch) -> dict[str, Any]:
    """Return what the named measures say of a model on held-out data, as plain values."""
    known = known_measures() if names else {}
    made = {}
    for name in names:
        try:
            made[name] = plain(known[name](model, batch))
        except LabError as error:
            raise LabError(f"The measure {name!r} can not be taken: {error}") from error
    return made
