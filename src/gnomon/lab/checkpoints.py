"""A run in the middle: weights, moments of the optimiser, and the curve so far, in one file.

The file is a `.safetensors` (no pickle), written whole or not at all. It carries the digest of its
cell: one of other settings is passed over. Batches are drawn by (seed, purpose, step), so nothing
of the data has to be kept, and a run that was killed goes on to the same last bit as one that was
not; dropout takes its numbers from the generator, whose state is kept.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gnomon.files import write_with


def save(path: Path, model: nn.Module, optimiser: Any, told: dict[str, Any]) -> None:
    """Write a checkpoint; `told` are plain values, with the digest of the cell among them."""
    from safetensors.torch import save as packed

    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for number, held in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": value for name, value in held.items()}
    tensors["generator"] = torch.get_rng_state()
    data = packed({name: _own(value) for name, value in tensors.items()}, _header(told))
    write_with(path, lambda handle: handle.write(data))


def load(path: Path, model: nn.Module, optimiser: Any, digest: str) -> dict[str, Any] | None:
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

    data = packed({name: _own(value) for name, value in model.state_dict().items()})
    write_with(path, lambda handle: handle.write(data))


def remove(path: Path) -> None:
    """Remove a checkpoint that is no longer needed."""
    with suppress(OSError):
        path.unlink()


def _own(value: torch.Tensor) -> torch.Tensor:
    """Return a tensor with memory of its own, as the format asks for."""
    return value.detach().clone().contiguous()


def _header(told: dict[str, Any]) -> dict[str, str]:
    return {"run": json.dumps(told, allow_nan=False)}
