"""Queries and keys as their encoding has them: vectors added, or turned."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gnomon.encodings import by_head, with_vectors
from gnomon.torch.attending.asked import Asked
from gnomon.torch.base import XP


def turned_pair(asked: Asked) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values as PyTorch's attention takes them."""
    q, k, v = asked.q, asked.k, asked.v
    kinds = asked.encoding.kinds
    if not {"vectors", "transform"} & set(kinds):
        return q, k, v
    if asked.groups > 1 and by_head(asked.encoding):
        k, v = own_heads(k, asked.groups), own_heads(v, asked.groups)
    if "vectors" in kinds:
        q = with_vectors(asked.encoding, q, asked.at_q, asked.numbers, name="q", xp=XP)
        k = with_vectors(asked.encoding, k, asked.at_k, asked.numbers, name="k", xp=XP)
    if "transform" in kinds:
        q, k = _turned(asked, q, k)
    return q, k, v


def _turned(asked: Asked, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    if asked.fast is not None and asked.counted and q.shape[-2] == k.shape[-2]:
        made: tuple[Tensor, Tensor] = asked.fast(q, k)
        return made
    if asked.fast is not None:
        given: tuple[Tensor, Tensor] = asked.fast(q, k, places(asked.at_q), places(asked.at_k))
        return given
    turn = asked.encoding.turned
    left = turn(q, asked.at_q, asked.numbers, side="q", xp=XP)
    right = turn(k, asked.at_k, asked.numbers, side="k", xp=XP)
    return left, right


def places(coordinates: Any) -> Any:
    """Return coordinates as positions: without the axis of one, and of heads where all agree."""
    if coordinates.ndim == 4 and coordinates.shape[1] == 1:
        coordinates = coordinates[:, 0]
    return coordinates[..., 0] if coordinates.shape[-1] == 1 else coordinates


def own_heads(x: Tensor, groups: int) -> Tensor:
    """Return keys or values with each head repeated for the queries that share it."""
    return x if groups == 1 else x.repeat_interleave(groups, dim=1)
