"""A layer whose rule makes the logits of queries and keys itself.

Such a rule (`content_scores` of its encoding) may read the tokens between a key and its query, or
act on logits that are there already, so there is nothing smaller to share than logits.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gnomon.torch.base import Layer


class Content(Layer):
    """The rule of an encoding on content, as a module."""

    keeps_float32 = True  # gates and clocks are summed over tokens, and errors with them

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        positions_q: Any,
        positions_k: Any = None,
        *,
        scale: float = 1.0,
        tokens: Tensor | None = None,
    ) -> Tensor:
        """Return the logits (..., n, m), -inf on keys that the encoding masks."""
        return self.scores(q, k, positions_q, positions_k, scale=scale, tokens=tokens)
