"""Typical tokens: which tokens make a position unlike the rest (only when asked: --show-tokens).

With p the law at a position and q that of all other positions together, token v adds

    (sqrt p_v - sqrt q_v)^2

to the squared chord between the two. Of the tokens that are commoner here (p_v > q_v) those that
add most are typical. Only positions whose law was found to differ are shown, and of these the ones
whose typical tokens add most: elsewhere the largest terms are the luck of small counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import PositionCounts

MOST_POSITIONS = 12
MOST_TOKENS = 8


def typical_tokens(counts: PositionCounts, distinct: list[int]) -> list[dict[str, Any]]:
    """Return the typical tokens of the most unlike of the distinct positions, in their order."""
    everywhere = np.asarray(counts.matrix.sum(axis=0)).ravel().astype(np.float64)
    found = {index: _of(counts, index, everywhere) for index in distinct}
    strongest = sorted(found, key=lambda index: -found[index][0])[:MOST_POSITIONS]
    return [
        {
            "index": index,
            "first": counts.extents[index][0],
            "last": counts.extents[index][1],
            "typical": found[index][1],
        }
        for index in sorted(strongest)
    ]


def _of(
    counts: PositionCounts, index: int, everywhere: NDArray[np.float64]
) -> tuple[float, list[dict[str, Any]]]:
    """Return what the typical tokens of one position add together, and the tokens."""
    row = counts.matrix[[index]]
    here = row.data / max(row.data.sum(), 1)
    rest = everywhere[row.indices] - row.data
    there = rest / max(everywhere.sum() - row.data.sum(), 1)
    added = np.where(here > there, (np.sqrt(here) - np.sqrt(there)) ** 2, 0.0)
    order = np.lexsort((row.indices, -added))[:MOST_TOKENS]
    chosen = [i for i in order if added[i] > 0]
    tokens = [
        {
            "token": _name(counts, int(row.indices[i])),
            "share": float(here[i]),
            "elsewhere": float(there[i]),
        }
        for i in chosen
    ]
    return float(added[chosen].sum()), tokens


def _name(counts: PositionCounts, token: int) -> str:
    names = counts.vocabulary.tokens
    return f"id {token}" if names is None else names[token]
