"""Queries in tiles, each with the part of bias and mask that it needs.

A tile of 256 queries needs no key after its last query, so a causal bias costs half; its bias is a
strided view of the profile where positions are equally spaced (`gnomon.torch.attending.profile`),
else made by the formula, (heads, 256, m) at a time. No n x m matrix is in memory: beside the result
there is one tile, and keys and values turned around once, O(m d). Short sequences in large batches
have tiles of 64, and the profile is written out: that is less than turning their keys around.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.kernel import attend
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.masks import Span, keys_for, whole_mask
from gnomon.torch.attending.plain import bias_of
from gnomon.torch.attending.profile import profile_of, turned_around, written
from gnomon.torch.attending.thresholds import SHORT, SHORT_TILE, TILE
from gnomon.torch.attending.toeplitz import whole as written_out
from gnomon.torch.attending.toeplitz import writes_out
from gnomon.torch.attending.turned import turned_pair


def run(asked: Asked, layout: Layout) -> Tensor:
    """Return attention tile by tile."""
    m = asked.k.shape[-2]
    q, k, v = turned_pair(asked)
    profile = profile_of(asked, layout) if has_profile(asked, layout) else None
    if profile is None or asked.masked:
        made = [_forward(asked, layout, (q, k, v), profile, rows) for rows in spans(asked)]
        return torch.cat(made, dim=-2)
    given: dict[str, Any] = {"scale": asked.scale, "dropout": asked.dropout}
    whole = written_out(asked, layout) if writes_out(asked) else None
    keys, values = (k, v) if whole is not None else (k.flip(-2), v.flip(-2))
    made = []
    for rows in spans(asked):
        end = keys_for(asked, layout, rows)
        if whole is not None:
            bias, some = whole[..., slice(*rows), :end], slice(0, end)
        else:
            bias, some = turned_around(profile, m, rows, end), slice(m - end, m)
        part = (q[:, :, slice(*rows)], keys[:, :, some], values[:, :, some])
        made.append(attend(*part, mask=bias, **given))
    return torch.cat(made, dim=-2)


def spans(asked: Asked, tile: int | None = None) -> Iterator[Span]:
    """Return the first and one past the last query of each tile."""
    n = asked.q.shape[-2]
    tile = tile_of(n) if tile is None else tile
    return ((first, min(first + tile, n)) for first in range(0, max(n, 1), tile))


def tile_of(n: int) -> int:
    """Return how many queries a tile has: of a short sequence fewer, so that keys are skipped."""
    return TILE if n > SHORT else SHORT_TILE


def has_profile(asked: Asked, layout: Layout) -> bool:
    """Whether the bias is a function of the lag at equally spaced lags."""
    encoding = asked.encoding
    return (
        asked.biased and encoding.axes == 1 and encoding.card.relative and layout.step is not None
    )


def _forward(
    asked: Asked,
    layout: Layout,
    vectors: tuple[Tensor, Tensor, Tensor],
    profile: Tensor | None,
    rows: Span,
) -> Tensor:
    """Return one tile with its keys in their order, and a mask in memory."""
    q, k, v = vectors
    m = k.shape[-2]
    end = keys_for(asked, layout, rows)
    bias = None
    if profile is not None:
        bias = written(profile, m, rows, end)
    elif asked.biased:
        bias = bias_of(asked, rows, end)
    mask = whole_mask(asked, layout, rows, end, bias)
    part = (q[:, :, slice(*rows)], k[:, :, :end], v[:, :, :end])
    return attend(*part, mask=mask, scale=asked.scale, dropout=asked.dropout)
