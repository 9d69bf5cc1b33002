"""Compiled loops of the geometry room: centred roots, mirrored Gram, near pairs.

Each has a NumPy route of equal result beside its caller; `gnomon.numeric.compiled` chooses.
This module is imported only when the compiled route is taken: it loads numba.
Sums keep the order that is written, as in the NumPy route, so results agree bit for bit or nearly;
only the sums of `ratio_rows` may be regrouped, which makes them vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

TILE = 64
"""Tokens (or positions) handled at a time: m x 64 roots stay in the cache while centred."""


@njit(nogil=True, cache=True)
def mark_tokens(tokens: Any, occurs: Any, first: int, last: int) -> None:
    """Set the flag of every token in the entries first:last; threads only ever write True."""
    for k in range(first, last):
        occurs[tokens[k]] = True


@njit(nogil=True, cache=True)
def first_entries(starts: Any, tokens: Any, first: int) -> Any:
    """Return where the entries of token `first` or later begin in every row."""
    cursor = np.empty(starts.size - 1, np.int64)
    for i in range(cursor.size):
        row = tokens[starts[i] : starts[i + 1]]
        cursor[i] = starts[i] + np.searchsorted(row, first)
    return cursor


@njit(nogil=True, cache=True, error_model="numpy")
def fill_centred(
    starts: Any, tokens: Any, counts: Any, totals: Any, first: int, last: int, block: Any
) -> None:
    """Write sqrt(c / N) minus its mean over positions for the tokens first:last into `block`."""
    m = totals.size
    cursor = first_entries(starts, tokens, first)
    mean = np.empty(TILE)
    roots = np.empty(TILE)
    tile = np.empty((m, TILE))
    for begin in range(first, last, TILE):
        end = min(begin + TILE, last)
        width = end - begin
        mean[:] = 0.0
        tile[:] = 0.0
        for i in range(m):
            out = tile[i]
            k = cursor[i]
            stop = k
            while stop < starts[i + 1] and tokens[stop] < end:
                stop += 1
            total = float(totals[i])
            found, places = counts[k:stop], tokens[k:stop]
            for e in range(found.size):  # a loop of its own: it becomes vector instructions
                roots[e] = np.sqrt(found[e] / total)
            for e in range(found.size):
                v = places[e] - begin
                out[v] = roots[e]
                mean[v] += roots[e]
            cursor[i] = stop
        for v in range(width):
            mean[v] /= m
        for i in range(m):
            out = block[i, begin - first : end - first]
            for v in range(width):
                out[v] = tile[i, v] - mean[v]


@njit(nogil=True, cache=True)
def finish_rows(
    gram: Any, distances: Any, share: float, floor: float, first: int, last: int
) -> None:
    """Mirror the upper triangle of rows first:last and write the distances; near ones as -1."""
    m = gram.shape[0]
    for begin in range(first, m, TILE):
        end = min(begin + TILE, m)
        for i in range(first, last):
            own = gram[i, i]
            for j in range(max(i + 1, begin), end):
                other = gram[j, j]
                squared = own + other - 2.0 * gram[i, j]
                near = squared < max(floor, share * max(own, other))
                distance = -1.0 if near else np.sqrt(squared)
                gram[j, i] = gram[i, j]
                distances[i, j] = distance
                distances[j, i] = distance
    for i in range(first, last):
        distances[i, i] = 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def near_squared(
    starts: Any,
    tokens: Any,
    counts: Any,
    totals: Any,
    rows: Any,
    columns: Any,
    exact: bool,  # noqa: FBT001 -- numba takes positional arguments
    out: Any,
    first: int,
    last: int,
) -> None:
    """Write sum_v (sqrt p_iv - sqrt p_jv)^2 of the pairs first:last by walking two sorted rows."""
    for pair in range(first, last):
        i, j = rows[pair], columns[pair]
        a, a_stop, b, b_stop = starts[i], starts[i + 1], starts[j], starts[j + 1]
        ni, nj = totals[i], totals[j]
        product = float(ni) * float(nj)
        squared = 0.0
        while a < a_stop or b < b_stop:
            ta = tokens[a] if a < a_stop else np.int32(2**31 - 1)
            tb = tokens[b] if b < b_stop else np.int32(2**31 - 1)
            ci = counts[a] if ta <= tb else 0
            cj = counts[b] if tb <= ta else 0
            if ta <= tb:
                a += 1
            if tb <= ta:
                b += 1
            roots = np.sqrt(ci / float(ni)) + np.sqrt(cj / float(nj))
            if exact:
                cross = float(ci * nj - cj * ni)
            else:
                cross = float(ci) * float(nj) - float(cj) * float(ni)
            if cross != 0.0:
                difference = cross / (product * roots)
                squared += difference * difference
        out[pair] = squared


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc"})
def ratio_rows(
    target: Any,
    own: Any,
    products: Any,
    stress: Any,
    weight: Any,
    offset: int,
    first: int,
    last: int,
) -> None:
    """Turn inner products into h / D in place; sum (D - h)^2 and h / D along each row."""
    m = own.size
    for row in range(first, last):
        i = offset + row
        here, wanted = products[row], target[i]
        here[i] = 0.5 * (own[i] + own[i])  # D_ii = 0 exactly
        gaps, ratios = 0.0, 0.0
        for j in range(m):
            length = np.sqrt(max(own[i] + own[j] - 2.0 * here[j], 0.0))
            gap = length - wanted[j]
            gaps += gap * gap
            ratio = wanted[j] / length if length > 0.0 else 0.0
            ratios += ratio
            here[j] = ratio
        stress[i] = gaps
        weight[row] = ratios
