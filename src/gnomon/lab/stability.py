"""The largest stable learning rate, by trying.

A run of losses L_1 ... L_K *diverged* where a loss is not finite, or where its last tenth has a
larger mean than its first loss. `largest_stable_rate` brackets the border between rates that are
stable and rates that are not: it doubles (or halves) from a starting rate until the answer changes,
then bisects the logarithm of the rate.

    on a quadratic with top eigenvalue h gradient descent is stable below 2 / h exactly

The border of a real run is not sharp and depends on its length, its optimiser and its seed, so the
answer comes with its bracket.

A trial trains a copy of the model as it is, on fresh batches, without warm-up, decay, clipping or a
schedule, so that nothing but the rate keeps it stable. Every trial of a search sees the same
batches. `descent` is plain gradient descent, to which the border 2 / h belongs; `adamw` is what the
laboratory trains with.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np

from gnomon.errors import LabError
from gnomon.lab.grid import TrainingConfig
from gnomon.lab.tasks.base import Task
from gnomon.numeric.checks import reals
from gnomon.results import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class StableRate(Result):
    """The bracket of the border: `rate` was stable, `unstable` was not (None: none was found)."""

    rate: float | None
    unstable: float | None
    runs: int
    reason: str | None = None


def has_diverged(losses: Any) -> bool:
    """Say whether a run of losses diverged.

    >>> has_diverged([2.0, 1.0, 0.5]), has_diverged([2.0, 30.0, 400.0])
    (False, True)
    """
    values = reals(losses, "losses")
    if not values.size:
        raise LabError("a run without losses has neither converged nor diverged; pass its losses.")
    last = values[-max(1, len(values) // 10) :]
    return not np.isfinite(values).all() or bool(last.mean() > values[0])


def largest_stable_rate(
    losses: Callable[[float], Any],
    *,
    start: float = 1e-2,
    ratio: float = 1.1,
    most: int = 40,
) -> StableRate:
    """Return the largest stable rate of `losses(rate)`, bracketed within `ratio`.

    >>> found = largest_stable_rate(lambda rate: [abs(1.0 - rate) ** k for k in range(50)])
    >>> found.rate <= 2.0 <= found.unstable
    True
    """
    if not start > 0.0 or not ratio > 1.0:
        raise LabError(
            f"start is {start} and ratio is {ratio}; start must be positive and ratio above 1."
        )
    stable: float | None = None
    unstable: float | None = None
    rate = start
    for run in range(1, most + 1):
        if has_diverged(losses(rate)):
            unstable = rate
        else:
            stable = rate
        if stable is not None and unstable is not None:
            if unstable / stable <= ratio:
                return StableRate(rate=stable, unstable=unstable, runs=run)
            rate = sqrt(stable * unstable)
        else:
            rate = rate * 2.0 if unstable is None else rate / 2.0
    reason = f"the border was not bracketed within a ratio of {ratio} in {most} runs"
    return StableRate(rate=stable, unstable=unstable, runs=most, reason=reason)


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
    from gnomon.lab.training import parameter_groups

    if steps < 2:
        raise LabError(f"a trial of {steps} steps shows nothing; give it 2 or more.")
    copy, rng = deepcopy(model), np.random.default_rng(seed)
    copy.train()
    how = TrainingConfig(learning_rate=rate, decay=0.0)
    stepping, losses = optimiser(parameter_groups(copy, how), rate), []
    for _ in range(steps):
        stepping.zero_grad()
        value = loss(copy, task.batch(rng, size))
        losses.append(float(value.detach()))
        if not isfinite(losses[-1]):
            break
        value.backward()
        stepping.step()
    return losses


def stable_rate(model: Any, task: Task, *, start: float = 1e-2, **trial: Any) -> StableRate:
    """Return the largest rate at which a trial does not diverge, bracketed within a tenth."""
    return largest_stable_rate(lambda rate: trial_losses(model, task, rate, **trial), start=start)
