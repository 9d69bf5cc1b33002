"""Compiled loops of the geometry room: centred roots, mirrored Gram, near pairs.

Each has a NumPy route beside its caller; `gnomon.numeric.parallel.use_numba` chooses, and
`gnomon.numeric.parallel` says how far both agree.
This module is imported only when the compiled route is taken: it loads numba.
Sums keep the order that is written; only those of `ratio_rows` may be regrouped, which makes them
vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

TILE = 64
"""Tokens (or positions) handled at a time: m x 64 roots stay in the cache while centred."""


@njit(nogil=True, cache=True)
def count_tokens(tokens: Any, found: Any, first: int, last: int) -> None:
    """Add to `found` how many of the entries first:last belong to each token."""
    for k in range(first, last):
        found[tokens[k]] += 1


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
    starts: Any, tokens: Any, counts: Any, scales: Any, column: Any, head: Any, block: Any
) -> None:
    """Write sqrt(c) scale minus its mean over positions, one column of `block` per head token.

    `head` are the tokens wanted, ascending; `column` numbers all head tokens, -1 for the others.
    """
    m, offset = scales.size, column[head[0]]
    cursor = first_entries(starts, tokens, head[0])
    roots = np.sqrt(np.arange(1024.0))
    mean, tile = np.empty(TILE), np.empty((m, TILE))
    for begin in range(0, head.size, TILE):
        width = min(TILE, head.size - begin)
        end = head[begin + width - 1] + 1
        mean[:] = 0.0
        tile[:] = 0.0
        for i in range(m):
            out, scale = tile[i], scales[i]
            k, stop = cursor[i], starts[i + 1]
            while k < stop and tokens[k] < end:
                v = column[tokens[k]] - offset - begin
                if v >= 0:
                    c = counts[k]
                    root = (roots[np.uint64(c)] if c < 1024 else np.sqrt(float(c))) * scale
                    out[np.uint64(v)] = root
                    mean[np.uint64(v)] += root
                k += 1
            cursor[i] = k
        for v in range(width):
            mean[v] /= m
        for i in range(m):
            out = block[i, begin : begin + width]
            for v in range(width):
                out[v] = tile[i, v] - mean[v]


@njit(nogil=True, cache=True)
def gather_tail(
    starts: Any,
    tokens: Any,
    counts: Any,
    scales: Any,
    tail: Any,
    ends: Any,
    by_row: Any,
    positions: Any,
    roots: Any,
) -> None:
    """List the entries of tail tokens by token (positions, roots) and by row (their places).

    `ends` holds where each token's list begins, and afterwards where it ends.
    """
    e = 0
    for i in range(scales.size):
        by_row[i] = e
        for k in range(starts[i], starts[i + 1]):
            t = tail[tokens[k]]
            if t >= 0:
                positions[ends[t]] = i
                roots[ends[t]] = np.sqrt(float(counts[k])) * scales[i]
                ends[t] += 1
                e += 1
    by_row[scales.size] = e


@njit(nogil=True, cache=True)
def place_tail(starts: Any, tokens: Any, tail: Any, begins: Any, rows: Any, places: Any) -> None:
    """Write (token list, place in it) for every tail entry, row by row."""
    e = 0
    for i in range(starts.size - 1):
        for k in range(starts[i], starts[i + 1]):
            t = tail[tokens[k]]
            if t >= 0:
                rows[e] = t
                places[e] = begins[t]
                begins[t] += 1
                e += 1


@njit(nogil=True, cache=True)
def add_tail_rows(
    gram: Any,
    by_row: Any,
    lists: Any,
    places: Any,
    ends: Any,
    positions: Any,
    roots: Any,
    overlap: Any,
    square: float,
    first: int,
    last: int,
) -> None:
    """Add the centred inner products of tail roots to the upper triangle of rows first:last."""
    for i in range(first, last):
        row = gram[i]
        for e in range(by_row[i], by_row[i + 1]):
            own = roots[places[e]]
            for q in range(places[e], ends[lists[e]]):
                row[np.uint64(positions[q])] += own * roots[q]
        for j in range(i, row.size):
            row[j] += square - overlap[i] - overlap[j]


@njit(nogil=True, cache=True)
def finish_rows(gram: Any, distances: Any, near: Any, floor: float, first: int, last: int) -> None:
    """Mirror the upper triangle of rows first:last and write the distances; near ones as -1."""
    m = gram.shape[0]
    for begin in range(first, m, TILE):
        end = min(begin + TILE, m)
        for i in range(first, last):
            own = gram[i, i]
            for j in range(max(i + 1, begin), end):
                squared = own + gram[j, j] - 2.0 * gram[i, j]
                cancels = squared < max(floor, near[i], near[j])
                distance = -1.0 if cancels else np.sqrt(squared)
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
