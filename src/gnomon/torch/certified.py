"""Modules of PyTorch as subjects of certificates.

A module is a map (vectors (n, d), positions (n,)) -> vectors, in the type of its parameters, or in
float64 where it has none; or it takes queries, keys and both positions, and gives logits. Rounding
limits what such a certificate can see (`gnomon.groups.rounding`, [goldberg1991]).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gnomon.groups import Subject, of_maps
from gnomon.torch.attended import attends, subject_of_attention

Floats = NDArray[np.float64]


def subject_of_module(
    module: nn.Module,
    keys: nn.Module | None,
    *,
    dimension: int,
    logits: bool = False,
    **about: Any,
) -> Subject:
    """Return a module as a subject: a map, one for queries and one for keys, or one of logits."""

    def called(one: nn.Module) -> Any:
        dtype = type_of(one)

        def call(*given: Floats) -> torch.Tensor:
            half = len(given) // 2
            vectors = [torch.as_tensor(np.array(x), dtype=dtype) for x in given[:half]]
            places = [torch.as_tensor(np.array(at)) for at in given[half:]]
            with torch.no_grad():
                made: torch.Tensor = one(*vectors, *places)
            return made

        return call

    name = type(module).__name__
    rounding = max(float(torch.finfo(type_of(one)).eps) for one in (module, keys or module))
    if logits:
        return Subject(
            name=name, dimension=dimension, logits=called(module), rounding=rounding, **about
        )
    if keys is None and attends(module, dimension, type_of(module)):
        return subject_of_attention(module, dimension=dimension, dtype=type_of(module), **about)
    other = None if keys is None else called(keys)
    about["rounding"] = rounding
    return of_maps(called(module), other, dimension=dimension, name=name, **about)


def type_of(module: nn.Module) -> torch.dtype:
    """Return the type that a module computes in: that of its floating numbers, or float64."""
    held = [*module.parameters(), *module.buffers()]
    types = {x.dtype for x in held if x.dtype.is_floating_point}
    narrow = sorted(types, key=lambda dtype: torch.finfo(dtype).bits)
    return narrow[0] if narrow else torch.float64
