"""Where documents begin, for rules that read the neighbours of a token.

A short convolution reads the tokens before its own and stops where positions do not rise
(`gnomon.encodings.content.short`). Segments, or a mask, may say that a document begins though
positions were counted on: then they are counted again, so that they fall there. The order of tokens
is all else that such a rule knows, so nothing but the reach of its taps changes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gnomon.encodings.content.short import reads_neighbours, rising
from gnomon.torch.base import XP


def by_document(encoding: Any, at_q: Any, at_k: Any, segments: Tensor | None) -> tuple[Any, Any]:
    """Return coordinates that fall where the segment of keys (batch or 1, m) is another."""
    if segments is None or not reads_neighbours(encoding):
        return at_q, at_k
    begins = torch.ones_like(segments, dtype=torch.bool)
    begins[:, 1:] = segments[:, 1:] != segments[:, :-1]
    begins = begins[:, None] | ~rising(at_k, xp=XP)
    keys = falling(begins)[..., None]
    return keys[..., keys.shape[-2] - at_q.shape[-2] :, :], keys


def falling(begins: Tensor) -> Tensor:
    """Return positions (..., m) that rise by one, and fall where a document begins.

    >>> falling(torch.tensor([True, False, True, False])).tolist()
    [-4.0, -3.0, -6.0, -5.0]
    """
    count = begins.shape[-1]
    index = torch.arange(count, dtype=torch.float64, device=begins.device)
    return index - count * begins.cumsum(dim=-1)
