"""Modules of PyTorch as subjects of certificates.

A module is a map (vectors (n, d), positions (n,)) -> vectors, in the type of its parameters, or in
float64 where it has none. Rounding limits what such a certificate can see: phases of frequency w
err by about u w t at position t, u the rounding of the type [goldberg1991].
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gnomon.groups.subject import Subject, of_maps

Floats = NDArray[np.float64]


def subject_of_module(
    module: nn.Module, keys: nn.Module | None, *, dimension: int, **about: Any
) -> Subject:
    """Return a module, or one for queries and one for keys, as a subject."""

    def mapped(one: nn.Module) -> Any:
        dtype = type_of(one)

        def encode(x: Floats, at: Floats) -> Floats:
            with torch.no_grad():
                made = one(torch.as_tensor(np.array(x), dtype=dtype), torch.as_tensor(np.array(at)))
            return np.asarray(made.double().cpu().numpy())

        return encode

    name = type(module).__name__
    other = None if keys is None else mapped(keys)
    narrow = type_of(module) != torch.float64
    return of_maps(mapped(module), other, dimension=dimension, name=name, narrow=narrow, **about)


def type_of(module: nn.Module) -> torch.dtype:
    """Return the type that a module computes in: that of its floating numbers, or float64."""
    held = [*module.parameters(), *module.buffers()]
    types = {x.dtype for x in held if x.dtype.is_floating_point}
    narrow = sorted(types, key=lambda dtype: torch.finfo(dtype).bits)
    return narrow[0] if narrow else torch.float64


def rounding_of(subject: Subject, dtype: torch.dtype, *, fastest: float = 1.0) -> float:
    """Return what rounding alone may leave: 16 u (1 + w t), t the farthest position."""
    return float(16.0 * torch.finfo(dtype).eps * (1.0 + fastest * subject.reach))
