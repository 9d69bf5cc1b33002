"""The rotary function of a Hugging Face model as a subject of certificates.

A model turns queries and keys by two pieces of code that must fit each other: a module that makes
cosines and sines, and `apply_rotary_pos_emb` of the same file [wolf2020]. Both are asked as the
model's attention asks them, in float32 and at whole positions, so a table of one layout with the
turn of another is found. Dimensions that are not turned are left out.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gnomon.errors import EncodingError
from gnomon.groups.subject import Subject
from gnomon.hf.finding import rotary_modules

Floats = NDArray[np.float64]
APPLIED = ("apply_rotary_pos_emb_interleave", "apply_rotary_pos_emb")
"""Names of the function that turns; of two in one file the config decides."""


def subject_of_model(model: nn.Module) -> Subject:
    """Return the rotary function of a model as a subject; refuse a model without one."""
    found = rotary_modules(model)
    apply = _applied(model)
    if not found or apply is None:
        raise EncodingError(
            f"{type(model).__name__} has no rotary module with a function that applies it, so "
            "there is nothing to certify; pass a model that turns queries and keys."
        )
    rotary = found[0]
    dimension = 2 * int(rotary.inv_freq.shape[-1])
    longest = int(getattr(model.config, "max_position_embeddings", 4096))

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Any:
        left, right = (_turned(rotary, apply, x, at) for x, at in ((q, t), (k, s)))
        return (left @ right.mT).double().numpy()

    return Subject(
        name=f"the rotary function of {type(model).__name__}",
        dimension=dimension,
        logits=logits,
        whole=True,
        reach=float(min(4096, longest) - 1),
    )


def _applied(model: nn.Module) -> Any:
    """Return the function that turns, from the file that the model's class stands in."""
    file = sys.modules[type(model).__module__]
    interleaved = bool(getattr(getattr(model, "config", None), "rope_interleave", False))
    names = APPLIED if interleaved else APPLIED[::-1]
    return next((getattr(file, name) for name in names if hasattr(file, name)), None)


def _turned(rotary: Any, apply: Any, x: Floats, at: Floats) -> torch.Tensor:
    with torch.no_grad():
        vectors = torch.as_tensor(np.array(x), dtype=torch.float32)[None, None]
        cosine, sine = rotary(vectors, torch.as_tensor(np.array(at), dtype=torch.long)[None])
        turned, _ = apply(vectors, vectors, cosine, sine)
    made: torch.Tensor = turned[0, 0].double()
    return made
