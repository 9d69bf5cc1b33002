"""Compiled loops over pairs of tokens at a lag.

Each has a NumPy route of equal result in `gnomon.lags.token_line`, which chooses. This module is
imported only when the compiled route is taken: it loads numba.
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, cache=True)
def equal(tokens: Any, starts: Any, fold: Any, steps: Any, found: Any) -> None:
    """Add to found[f, j] how many pairs at lag steps[j] are equal in documents of fold f."""
    for j in range(steps.size):
        step = steps[j]
        for d in range(fold.size):
            size = starts[d + 1] - starts[d] - step
            if size <= 0:
                continue
            left = tokens[starts[d] : starts[d] + size]
            right = tokens[starts[d] + step : starts[d + 1]]
            same = 0
            for i in range(size):
                same += left[i] == right[i]
            found[fold[d], j] += same


@njit(nogil=True, cache=True)
def tables(line: Any, partner: Any, step: int, types: int, found: Any) -> None:
    """Add to found[f, u types + v] the pairs of a document and its partner at a lag."""
    tokens, starts, fold = line
    for d in range(fold.size):
        other = partner[d]
        size = min(starts[d + 1] - starts[d], starts[other + 1] - starts[other] - step)
        row = found[fold[d]]
        for i in range(size):
            u, v = tokens[starts[d] + i], tokens[starts[other] + step + i]
            row[int(u) * types + int(v)] += 1
