"""Training one model on one task: deterministic by its seed, and resumed where it was stopped.

    rate(t) = lr min(1, t / w) (f + (1 - f) (1 + cos(pi (t - w) / (T - w))) / 2),   after warm-up w

AdamW [loshchilov2019] with gradients clipped at a norm; matrices decay, nothing else does. Learned
numbers of encodings have a rate of their own: AdamW moves a number by about the rate in a step,
whatever its gradient, so a table that must reach the size of logits needs more than a matrix does.

Data and held-out data are drawn by (seed, purpose), the same for all encodings, and so are starting
weights in models of the same shapes: differences between encodings can be taken seed by seed. A
model of other shapes (latent attention, a recurrence) draws other weights from where it differs.

A run in the middle is kept in one file: weights, moments of the optimiser, and the curve so far. It
is a `.safetensors` (no pickle), written whole or not at all, and carries the digest of its cell:
one of other settings is passed over. Batches are drawn by (seed, purpose, step), so nothing of the
data has to be kept, and a run that was killed goes on to the same last bit as one that was not;
dropout takes its numbers from the generator, whose state is kept.
"""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import gnomon
from gnomon.errors import LabError
from gnomon.files import write_with
from gnomon.lab.grid import Cell, ModelConfig, TrainingConfig, check_int
from gnomon.lab.measures import take_measures
from gnomon.lab.records import Record, mean_score, steps_to_score
from gnomon.lab.scoring import held_out_loss, loss, score
from gnomon.lab.tasks.base import Batch, Task
from gnomon.lab.variants import build_model

PURPOSES = {"weights": 0, "training": 1, "held-out": 2, "lengths": 3}
GOAL = 0.9
WATCHED = 128
"""Held-out samples that measures along training are taken on."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A trained model, and the record of its run."""

    model: Any
    record: Record


class _Diverged(Exception):  # noqa: N818 - the end of a run, not a fault
    """The loss, or a gradient, is no number any more."""


def train(
    task: Task,
    encoding: Any = None,
    *,
    model: ModelConfig | None = None,
    training: TrainingConfig | None = None,
    seed: int = 0,
    cell: Cell | None = None,
    checkpoint: Path | None = None,
) -> Trained:
    """Train a model under an encoding, a `Part`, several of them, or None; return it and a record.

    With a checkpoint a run that was killed goes on where it was. `cell` is what the record says was
    run; without it, what is given here.
    """
    how = TrainingConfig() if training is None else training
    shape = ModelConfig() if model is None else model
    _check_given(task, shape, how, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(weights_seed(seed))
        made = build_model(encoding, shape, task)
        scored = task.held_out("report" if cell is None else cell.phase)
        run = _Run(task, scored, made, how, seed, "" if cell is None else cell.digest, checkpoint)
        try:
            run.go()
            ended = {"status": "done", **run.final(() if cell is None else cell.measures)}
        except _Diverged as error:
            ended = {"status": "diverged", "reason": str(error)}
    told = _describe_run(task, made, shape, how, seed) if cell is None else cell.to_dict()
    record = Record(
        cell=told,
        curve=tuple(run.curve),
        area=mean_score(tuple(run.curve)) if ended["status"] == "done" else None,
        ceiling=run.ceiling.to_dict(),
        data=task.data_read(),
        parameters=sum(p.numel() for p in made.parameters()),
        versions=versions(),
        wall_seconds=round(run.wall(), 3),
        cpu_seconds=round(run.cpu(), 3),
        **ended,
    )
    return Trained(model=made, record=record)


def _check_given(task: Any, model: Any, training: Any, seed: Any) -> None:
    """Refuse what is no task, no configuration or no seed."""
    for name, value, kind in (
        ("task", task, Task),
        ("model", model, ModelConfig),
        ("training", training, TrainingConfig),
    ):
        if not isinstance(value, kind):
            raise LabError(
                f"{name} is of type {type(value).__name__}; pass a {kind.__name__} of gnomon.lab."
            )
    model.check("model")
    training.check("training")
    check_int("train", "seed", seed, least=0)


class _Run:
    """One run: a model, its optimiser, and how far it has come."""

    def __init__(
        self,
        task: Task,
        scored: Task,
        model: nn.Module,
        how: TrainingConfig,
        seed: int,
        digest: str,
        checkpoint: Path | None,
    ) -> None:
        self.task, self.model, self.how, self.seed = task, model, how, seed
        self.scored = scored
        self.digest, self.checkpoint = digest, checkpoint
        self.ceiling = task.ceiling()
        self.held_out = draw_batch(scored, seed, "held-out", how.held_out)
        self.optimiser = build_optimiser(model, how)
        self.rates = [group["lr"] for group in self.optimiser.param_groups]
        self.step, self.curve, self.losses = 0, [], []  # type: ignore[var-annotated]
        self.spent = [0.0, 0.0]
        self.begun = time.monotonic(), time.process_time()
        self._resume()

    def go(self) -> None:
        """Take the steps that are left."""
        self.model.train()
        while self.step < self.how.steps:
            self._take_step()
            last = self.step == self.how.steps
            if last or self.step % self.how.evaluate_every == 0:
                self._look()
            if not last and self.step % self.how.checkpoint_every == 0:
                self._keep()

    def final(self, measures: tuple[str, ...]) -> dict[str, Any]:
        """Return what is measured at the end."""
        self.model.eval()
        some = self.held_out.rows(slice(0, self.how.measure_samples))
        goal = self.ceiling.constant + GOAL * (self.ceiling.value - self.ceiling.constant)
        left = held_out_loss(self.model, self.held_out)
        if not math.isfinite(left):  # answers that are no numbers still have a largest
            raise _Diverged(f"the loss was no number after step {self.step}, the last")
        return {
            "score": score(self.model, self.held_out),
            "loss": left,
            "steps_to_90": steps_to_score(tuple(self.curve), goal),
            "lengths": tuple(self._at_length(length) for length in self.how.lengths),
            "measures": take_measures(measures, self.model, some),
        }

    def wall(self) -> float:
        """Return the seconds this run has taken, with those before it was stopped."""
        return self.spent[0] + time.monotonic() - self.begun[0]

    def cpu(self) -> float:
        """Return the seconds of the processor that this run has taken."""
        return self.spent[1] + time.process_time() - self.begun[1]

    def _take_step(self) -> None:
        factor = rate(self.step + 1, self.how)
        for group, full in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = factor * full
        batch = draw_batch(self.task, self.seed, "training", self.how.batch, self.step)
        self.optimiser.zero_grad(set_to_none=True)
        value = loss(self.model, batch)
        value.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.how.clip)
        self.step += 1
        self.losses.append(float(value.detach()))
        if not math.isfinite(self.losses[-1]) or not math.isfinite(float(norm)):
            raise _Diverged(f"the loss or its gradient was no number at step {self.step}")
        self.optimiser.step()

    def _look(self) -> None:
        """Add a point to the curve."""
        some = self.held_out.rows(slice(0, self.how.curve_samples))
        mean = sum(self.losses) / len(self.losses)
        found = score(self.model, some)
        if not math.isfinite(found):
            raise _Diverged(f"the answers were no numbers at step {self.step}")
        watched = take_measures(self.how.watch, self.model, some.rows(slice(0, WATCHED)))
        self.model.train()
        self.curve.append({"step": self.step, "score": found, "loss": mean, **watched})
        self.losses = []

    def _at_length(self, length: int) -> dict[str, Any]:
        size = self.how.curve_samples
        batch = draw_batch(self.scored, self.seed, "lengths", size, length, length=length)
        return {"length": length, "score": score(self.model, batch)}

    def _keep(self) -> None:
        if self.checkpoint is None:
            return
        told = {"digest": self.digest, "step": self.step, "curve": self.curve}
        told |= {"losses": self.losses, "spent": [self.wall(), self.cpu()]}
        _save_checkpoint(self.checkpoint, self.model, self.optimiser, told)

    def _resume(self) -> None:
        if self.checkpoint is None:
            return
        told = _load_checkpoint(self.checkpoint, self.model, self.optimiser, self.digest)
        if told is not None:
            self.step, self.curve = told["step"], told["curve"]
            self.losses, self.spent = told["losses"], told["spent"]


def rate(step: int, how: TrainingConfig) -> float:
    """Return the share of the learning rate at a step, from 1.

    >>> how = TrainingConfig(steps=100, warmup=0.1, floor=0.05)
    >>> rate(5, how), rate(10, how), round(rate(100, how), 6)
    (0.5, 1.0, 0.05)
    """
    warm = math.ceil(how.warmup * how.steps)
    if step <= warm:
        return step / warm
    turn = math.pi * (step - warm) / (how.steps - warm)
    return how.floor + (1 - how.floor) * (1 + math.cos(turn)) / 2


def build_optimiser(model: Any, how: TrainingConfig) -> torch.optim.AdamW:
    """Return the optimiser of what is trained."""
    groups = parameter_groups(model, how)
    return torch.optim.AdamW(groups, lr=how.learning_rate, betas=how.betas, fused=True)


def parameter_groups(model: Any, how: TrainingConfig) -> list[dict[str, Any]]:
    """Return what is trained: matrices, what does not decay, and each encoding with its rate."""
    groups = []
    taken: set[int] = set()
    own = model.trainable_by_placement() if hasattr(model, "trainable_by_placement") else []
    for held, multiplier in own:
        taken |= {id(one) for one in held}
        if held:
            rate = how.learning_rate * multiplier
            groups.append({"params": held, "lr": rate, "weight_decay": 0.0})
    rest = [one for one in model.parameters() if one.requires_grad and id(one) not in taken]
    matrices = [one for one in rest if one.ndim > 1]
    others = [one for one in rest if one.ndim <= 1]
    shared = {"lr": how.learning_rate}
    return [
        {"params": matrices, "weight_decay": how.decay, **shared},
        {"params": others, "weight_decay": 0.0, **shared},
        *groups,
    ]


def draw_batch(
    task: Task, seed: int, purpose: str, size: int, number: int = 0, length: int | None = None
) -> Batch:
    """Return the batch of a task that belongs to (seed, purpose, number)."""
    return task.batch(np.random.default_rng([seed, PURPOSES[purpose], number]), size, length)


def versions() -> dict[str, str]:
    """Return what the numbers of a run may depend on."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    return {
        "gnomon": gnomon.__version__,
        "numpy": np.__version__,
        "python": python,
        "torch": str(torch.__version__),
        "threads": str(torch.get_num_threads()),
    }


def weights_seed(seed: int) -> int:
    """Return what the generator of starting weights is seeded with in a run of this seed."""
    words = np.random.SeedSequence([seed, PURPOSES["weights"]]).generate_state(2, np.uint32)
    return int(words[0]) << 31 ^ int(words[1])


def _describe_run(
    task: Task, model: Any, shape: ModelConfig, how: TrainingConfig, seed: int
) -> dict[str, Any]:
    """Return what was run, where no cell says so."""
    names = " + ".join(part.encoding.name for part in getattr(model, "parts", ())) or "none"
    parts = [
        {"name": part.encoding.name, "parameters": part.encoding.parameters}
        for part in getattr(model, "parts", ())
    ]
    return {
        "task": task.name,
        "encoding": names,
        "seed": seed,
        "parts": parts,
        "model": shape.to_dict(),
        "training": how.to_dict(),
    }


def _save_checkpoint(path: Path, model: nn.Module, optimiser: Any, told: dict[str, Any]) -> None:
    """Write a checkpoint; `told` are plain values, with the digest of the cell among them."""
    from safetensors.torch import save as packed

    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for number, held in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": value for name, value in held.items()}
    tensors["generator"] = torch.get_rng_state()
    data = packed({name: _copy(value) for name, value in tensors.items()}, _header(told))
    write_with(path, lambda handle: handle.write(data))


def _load_checkpoint(
    path: Path, model: nn.Module, optimiser: Any, digest: str
) -> dict[str, Any] | None:
    """Put a checkpoint into model and optimiser; return what was told, or None where none fits."""
    from safetensors import SafetensorError, safe_open

    if not path.exists():
        return None
    try:
        with safe_open(str(path), framework="pt") as opened:
            told: dict[str, Any] = json.loads((opened.metadata() or {}).get("run", "{}"))
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError, ValueError):
        return None  # half a file of another program: the run begins anew
    if told.get("digest") != digest:
        return None
    prefix = "model."
    model.load_state_dict({n[len(prefix) :]: v for n, v in tensors.items() if n.startswith(prefix)})
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimiser."):
            _, number, what = name.split(".")
            state.setdefault(int(number), {})[what] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    torch.set_rng_state(tensors["generator"])
    return told


def save_weights(path: Path, model: nn.Module) -> None:
    """Write trained weights."""
    from safetensors.torch import save as packed

    data = packed({name: _copy(value) for name, value in model.state_dict().items()})
    write_with(path, lambda handle: handle.write(data))


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint that is no longer needed."""
    with suppress(OSError):
        path.unlink()


def _copy(value: torch.Tensor) -> torch.Tensor:
    """Return a tensor with memory of its own, as the format asks for."""
    return value.detach().clone().contiguous()


def _header(told: dict[str, Any]) -> dict[str, str]:
    return {"run": json.dumps(told, allow_nan=False)}
