"""Cost of training in the laboratory: a step against PyTorch's own layers, workers against threads.

Claims, each a ratio of medians from one run with interleaved repeats:
- a training step of the default cell (distance, rotary encoding, two layers of 64 dimensions and
  eight heads, 64 sequences of 32 tokens, one thread) takes at most 1.1 times that of the same model
  of torch.nn.TransformerEncoderLayer without an encoding;
- two workers of one thread take at least 1.1 times as many steps a second as one process with two
  threads.
Both models have the same sizes, optimiser, clipping and data; a step is drawing a batch, forward,
backward and update.

Run `python benchmarks/bench_lab.py`; it prints a table and writes records/lab.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

import torch
from torch import nn

import gnomon
from gnomon.lab.grid import ModelConfig, TrainingConfig
from gnomon.lab.scoring import loss
from gnomon.lab.tasks import task
from gnomon.lab.training import draw_batch, parameter_groups
from gnomon.lab.variants import build_model
from harness import figures, interleaved, ratio, show, write_record

HOW = TrainingConfig()
TASK = task("distance")


class Stock(nn.Module):
    """The same model of PyTorch's own layers, without an encoding."""

    def __init__(self):
        super().__init__()
        given = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.embed = nn.Embedding(TASK.vocabulary, 64)
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(64, 8, 128, **given) for _ in range(2)]
        )
        self.norm, self.read = nn.LayerNorm(64), nn.Linear(64, TASK.classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.read(self.norm(x).mean(dim=1))

    def trainable_by_placement(self):
        return []


def encodings():
    """The models that are timed: without an encoding, and under one of every kind."""
    made = {
        "no encoding": None,
        "rope": gnomon.encoding("rope", dimension=8, base=100.0),
        "sinusoidal": gnomon.encoding("sinusoidal", dimension=64),
        "alibi": gnomon.encoding("alibi", heads=8, symmetric=True),
        "t5": gnomon.encoding("t5", heads=8),
    }
    return {name: build_model(one, ModelConfig(), TASK) for name, one in made.items()}


def stepper(model):
    """A function that takes one training step, batches drawn one after the other."""
    optimiser = torch.optim.AdamW(parameter_groups(model, HOW), lr=1e-3, fused=True)
    at = iter(range(10**9))

    def step():
        batch = draw_batch(TASK, 0, "training", HOW.batch, next(at))
        optimiser.zero_grad(set_to_none=True)
        loss(model, batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), HOW.clip)
        optimiser.step()

    return step


def bench_step(repeats):
    models = {"TransformerEncoderLayer": Stock(), **encodings()}
    sizes = {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
    if sizes["no encoding"] != sizes["TransformerEncoderLayer"]:
        raise SystemExit(f"the models differ in size: {sizes}")
    steps = {name: stepper(model) for name, model in models.items()}
    for step in steps.values():
        step()
    return interleaved(
        {name: (lambda run=run: [run() for _ in range(4)]) for name, run in steps.items()}, repeats
    )


def bench_workers(steps):
    """Steps a second of one process with two threads, and of two processes with one."""
    one = rates(1, 2, steps)
    two = rates(2, 1, steps)
    return {"one process, two threads": one, "two processes, one thread": two}


def rates(processes, threads, steps):
    """Sum of the steps a second of processes that run at the same time."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, "--serve", str(steps), "--threads", str(threads)]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    return sum(float(one.communicate()[0]) for one in started)


def serve(steps, threads):
    torch.set_num_threads(threads)
    step = stepper(encodings()["rope"])
    for _ in range(10):
        step()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    print(steps / (time.perf_counter() - begin))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--serve", type=int, help="take so many steps and print their rate")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
        return
    torch.set_num_threads(1)
    seconds = bench_step(options.repeats)
    stock = "TransformerEncoderLayer"
    found = {f"{name}_by_stock": ratio(seconds, name, stock) for name in seconds if name != stock}
    show("four training steps, one thread", seconds, figures(found))
    workers = bench_workers(options.steps)
    one, two = workers.values()
    print(f"\nworkers: {workers}; two processes by one: {two / one:.2f}")
    both = {"steps_a_second": workers, "two_by_one": round(two / one, 2)}
    write_record("lab", {"step": {"seconds": seconds, **found}, "workers": both})


if __name__ == "__main__":
    main()
