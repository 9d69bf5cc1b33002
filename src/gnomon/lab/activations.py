"""Queries, keys and logits of a model while it reads: what encodings do to logits that are real.

    L0 = scale q.k         before transforms and biases; vectors are in q and k already
    L  = scale q~.k~ + b   what the softmax is given; of a causal model, keys up to their query

The *Toeplitz share* of L is how much of it is a function of the lag (`gnomon.spectra.share`). The
*contraction* is |L|_2 / |L0|_2, the ratio of largest singular values: below 1 where turning damps
what all queries and keys share, 1 where it does not [gu2025 claims the first].
Neither says that a model trains better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnomon.errors import LabError
from gnomon.lab.scoring import inputs
from gnomon.lab.tasks.base import Batch
from gnomon.results import Result
from gnomon.spectra import toeplitz_share

SEQUENCES = 16
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Activations(Result):
    """Queries and keys of one layer before its encodings, and logits after them."""

    q: Floats
    """(sequences, heads, n, d)."""
    k: Floats
    content: Floats
    """L0, (sequences, heads, n, m)."""
    logits: Floats
    """L, unmasked, of the same shape."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitsReport(Result):
    """Toeplitz share and contraction of logits by layer and head, means over sequences."""

    toeplitz_share: Floats
    contraction: Floats
    sequences: int


@torch.no_grad()
def activations(model: Any, batch: Batch) -> tuple[Activations, ...]:
    """Return what every layer of attention of a model asks and sees on a batch."""
    seen: list[tuple[Any, tuple[Tensor, ...], dict[str, Any]]] = []
    hooks = [
        one.register_forward_pre_hook(
            lambda module, args, kwargs: seen.append((module, args, kwargs)), with_kwargs=True
        )
        for one in model.coupled()
    ]
    was = model.training
    model.eval()
    try:
        entered, beside = inputs(model, batch)
        model(entered, **beside)
    finally:
        model.train(was)
        for hook in hooks:
            hook.remove()
    return tuple(_seen(*one) for one in seen)


def logits_report(model: Any, batch: Batch) -> LogitsReport:
    """Return Toeplitz share and contraction of the first sequences, cut to the shortest of them."""
    rows = batch.rows(slice(0, SEQUENCES))
    found = activations(model, rows)
    if not found:
        raise LabError("This model has no attention, and so no logits; leave the measure out.")
    length = int(rows.mask.sum(axis=1).min())
    shares, ratios = [], []
    for layer in found:
        whole = layer.logits[..., :length, :length]
        bare = layer.content[..., :length, :length]
        if whole.shape[-2] != whole.shape[-1]:
            raise LabError(
                "A layer attends from one sequence to another, where there is no Toeplitz share; "
                "leave the measure out."
            )
        share = toeplitz_share(whole, causal=model.causal).share
        shares.append(np.asarray(share).mean(axis=0))
        if model.causal:  # only what a query may see counts
            earlier = np.tri(length, dtype=bool)
            whole, bare = (np.where(earlier, one, 0.0) for one in (whole, bare))
        ratios.append((_norm(whole) / _norm(bare)).mean(axis=0))
    return LogitsReport(
        toeplitz_share=np.array(shares), contraction=np.array(ratios), sequences=len(rows.tokens)
    )


def _norm(logits: Floats) -> Floats:
    return np.asarray(np.linalg.svd(logits, compute_uv=False)[..., 0], dtype=np.float64)


def _seen(module: Any, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> Activations:
    q, k = (one.double() for one in args[:2])
    places = {name: kwargs.get(name) for name in ("positions_q", "positions_k")}
    content = q @ k.mT * q.shape[-1] ** -0.5
    logits = module.logits(args[0], args[1], **places)
    return Activations(
        q=q.numpy(), k=k.numpy(), content=content.numpy(), logits=logits.double().numpy()
    )
