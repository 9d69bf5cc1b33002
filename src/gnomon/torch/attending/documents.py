"""Where documents begin, for rules that read the neighbours of a token.

A short convolution reads the tokens before its own and stops where positions do not rise
(`gnomon.encodings.content.ordering`). A mask may say that a document begins though positions were
counted on: then they are counted again from 0 in each document, so that they fall there.
"""

from __future__ import annotations

import torch
from torch import Tensor


def falling(begins: Tensor) -> Tensor:
    """Return positions (..., m) that are counted from 0 wherever a document begins.

    >>> falling(torch.tensor([True, False, True, False])).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    index = torch.arange(begins.shape[-1], dtype=torch.float64, device=begins.device)
    first = torch.where(begins, index, 0.0).cummax(dim=-1).values
    return index - first
