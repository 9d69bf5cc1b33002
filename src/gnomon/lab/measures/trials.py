"""Short trials at a constant learning rate, for the largest stable one.

A trial trains a copy of the model as it is, on fresh batches, without warm-up, decay, clipping or a
schedule, so that nothing but the rate keeps it stable. Every trial of a search sees the same
batches. `descent` is plain gradient descent, to which the border 2 / top eigenvalue belongs;
`adamw` is what the laboratory trains with.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import isfinite
from typing import Any

import numpy as np

from gnomon.errors import LabError
from gnomon.lab.measures.stability import StableRate, largest_stable_rate
from gnomon.lab.tasks.base import Task

Optimiser = Callable[[Any, float], Any]


def adamw(parameters: Any, rate: float) -> Any:
    """Return AdamW without weight decay."""
    import torch

    return torch.optim.AdamW(parameters, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)


def descent(parameters: Any, rate: float) -> Any:
    """Return plain gradient descent."""
    import torch

    return torch.optim.SGD(parameters, lr=rate)


def trial_losses(
    model: Any,
    task: Task,
    rate: float,
    *,
    optimiser: Optimiser = adamw,
    steps: int = 100,
    size: int = 32,
    seed: int = 0,
) -> list[float]:
    """Return the losses of a copy of the model at a constant rate, up to the first non-number."""
    from gnomon.lab.scoring import loss

    if steps < 2:
        raise LabError(f"a trial of {steps} steps shows nothing; give it 2 or more.")
    copy, rng = deepcopy(model), np.random.default_rng(seed)
    copy.train()
    stepping, losses = optimiser(_groups(copy, rate), rate), []
    for _ in range(steps):
        stepping.zero_grad()
        value = loss(copy, task.batch(rng, size))
        losses.append(float(value.detach()))
        if not isfinite(losses[-1]):
            break
        value.backward()
        stepping.step()
    return losses


def _groups(model: Any, rate: float) -> list[dict[str, Any]]:
    """Return what is trained, learned numbers of encodings at their multiple of the rate."""
    own = model.learned_parts() if hasattr(model, "learned_parts") else []
    taken = {id(one) for held, _ in own for one in held}
    rest = [one for one in model.parameters() if id(one) not in taken]
    several = [{"params": held, "lr": rate * multiple} for held, multiple in own if held]
    return [{"params": rest}, *several]


def stable_rate(model: Any, task: Task, *, start: float = 1e-2, **trial: Any) -> StableRate:
    """Return the largest rate at which a trial does not diverge, bracketed within a tenth."""
    return largest_stable_rate(lambda rate: trial_losses(model, task, rate, **trial), start=start)
