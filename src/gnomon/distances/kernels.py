"""Compiled loops of the geometry room: centred roots, mirrored Gram, near pairs.

Each has a NumPy route beside its caller; `gnomon.numeric.parallel.use_numba` chooses, and
`gnomon.numeric.parallel` says how far both agree.
This module is imported only when the compiled route is taken: it loads numba.
Sums keep the order that is written; only those of `ratio_rows` may be regrouped, which makes them
vector instructions.

Compiled loops of the dealt null: shuffle a list of tokens, tally the hand of every position.

The shuffle is Durstenfeld's (1964): for k = T-1 .. 1, swap places k and floor(u_k (k + 1) / 2^64),
with u_k the k-th output of splitmix64 [steele2014] from a 64-bit key. An output is a function of
its number, so the places are known ahead of the swaps and their cache misses overlap. A place is
off uniform by less than T / 2^64.
This module is imported only when the compiled route is taken: it loads numba.

Compiled means over the hypergeometric law; `gnomon.distances.estimators` has the NumPy route.

The law with row sum n, column sum k and total T has its mode at floor((n + 1)(k + 1) / (T + 2)) and

    P(x + 1) / P(x) = (k - x)(n - x) / ((x + 1)(T - k - n + x + 1)),

so everything is relative to the mode and nothing underflows.
This module is imported only when the compiled route is taken: it loads numba.

Compiled loops over the entries of rare types (`gnomon.distances.energies`).

Entries are listed by type (`positions`, `folds`, `values`; those of type v are begins[v] ..
begins[v + 1] - 1, by position and then fold) and by position: those of position i are places
starts[i] .. starts[i + 1] - 1 of `types` and `entries`, by type and then fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

TILE = 64
"""Tokens (or positions) handled at a time: m x 64 roots stay in the cache while centred."""
WEYL = uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = uint64(0xBF58476D1CE4E5B9), uint64(0x94D049BB133111EB)
LOW = uint64(0xFFFFFFFF)


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


@njit(nogil=True, cache=True, inline="always")
def place(key: Any, k: Any) -> Any:
    """Return floor(u_k (k + 1) / 2^64), for k below 2^32 - 1."""
    z = key + (k + uint64(1)) * WEYL
    z = (z ^ (z >> uint64(30))) * FIRST
    z = (z ^ (z >> uint64(27))) * SECOND
    z = z ^ (z >> uint64(31))
    size = k + uint64(1)
    # Two halves, so that no product leaves 64 bits.
    return ((z >> uint64(32)) * size + (((z & LOW) * size) >> uint64(32))) >> uint64(32)


@njit(nogil=True, cache=True, boundscheck=False)
def shuffle(tokens: Any, key: Any) -> None:
    """Put the tokens in random order, in place."""
    for k in range(tokens.size - 1, 0, -1):
        j = place(key, uint64(k))
        held = tokens[k]
        tokens[k] = tokens[j]
        tokens[j] = held


@njit(nogil=True, cache=True)
def tally(
    tokens: Any, starts: Any, vocabulary: int, counts: Any, sizes: Any, first: int, last: int
) -> None:
    """Make of every hand tokens[starts[i]:starts[i + 1]] its distinct tokens, ascending.

    They are written over the hand itself, their counts beside them, and how many in `sizes`.
    A hand of few tokens is sorted; the counters of a hand of many are scanned.
    """
    counters = np.zeros(vocabulary, np.int32)
    for i in range(first, last):
        hand = tokens[starts[i] : starts[i + 1]]
        if hand.size * np.log2(hand.size + 1.0) * 4.0 < vocabulary:
            hand.sort()
            sizes[i] = _runs(hand, counts[starts[i] : starts[i + 1]])
        else:
            for token in hand:
                counters[token] += 1
            sizes[i] = _scan(counters, hand, counts[starts[i] : starts[i + 1]])


@njit(nogil=True, cache=True, boundscheck=False)
def _runs(hand: Any, counts: Any) -> int:
    """Merge equal neighbours of a sorted hand; return how many remain."""
    used = 0
    for k in range(hand.size):
        if used > 0 and hand[used - 1] == hand[k]:
            counts[used - 1] += 1
        else:
            hand[used] = hand[k]
            counts[used] = 1
            used += 1
    return used


@njit(nogil=True, cache=True, boundscheck=False)
def _scan(counters: Any, hand: Any, counts: Any) -> int:
    """Write the counters that are not zero, clear them, return how many they were."""
    used = 0
    for token in range(counters.size):
        if counters[token] != 0:
            hand[used] = token
            counts[used] = counters[token]
            counters[token] = 0
            used += 1
    return used


@njit(nogil=True, cache=True, boundscheck=False)
def close_gaps(starts: Any, sizes: Any, tokens: Any, counts: Any) -> int:
    """Move the entries of all hands together, to the left; return how many there are."""
    used = 0
    for i in range(sizes.size):
        begin = starts[i]
        for k in range(sizes[i]):
            tokens[used] = tokens[begin + k]
            counts[used] = counts[begin + k]
            used += 1
    return used


@njit(nogil=True, cache=True, error_model="numpy")
def sum_columns(
    rows: Any,
    sizes: Any,
    total: float,
    table: Any,
    wanted: Any,
    negligible: float,
    out: Any,
    first: int,
    last: int,
) -> None:
    """Write E table[x] for the columns first:last, where it is wanted."""
    for j in range(first, last):
        for i in range(rows.size):
            if wanted[i, j]:
                out[i, j] = _mean(rows[i], sizes[j], total, table, negligible)


@njit(nogil=True, cache=True, error_model="numpy")
def _mean(n: float, k: float, total: float, table: Any, negligible: float) -> float:
    mode = np.floor((n + 1.0) * (k + 1.0) / (total + 2.0))
    start = int(mode)
    mass, mean = 1.0, table[start]
    x, term, at = mode, 1.0, start
    while True:  # a factor of zero ends it at the edge of the support
        term *= (k - x) * (n - x) / ((x + 1.0) * (total - k - n + x + 1.0))
        if not term > negligible:
            break
        x += 1.0
        at += 1
        mass += term
        mean += term * table[at]
    x, term, at = mode, 1.0, start
    while True:
        term *= x * (total - k - n + x) / ((k - x + 1.0) * (n - x + 1.0))
        if not term > negligible:
            break
        x -= 1.0
        at -= 1
        mass += term
        mean += term * table[at]
    return mean / mass


@njit(nogil=True, cache=True, error_model="numpy")
def multiply_rows(
    by_position: Any, by_type: Any, roots: Any, crosses: Any, products: Any, i: int
) -> None:
    """Write a_gi . r_j to crosses[g, j], and a_gi . sum_{h != g} a_hj to products[g, j]."""
    starts, types, entries = by_position
    begins, positions, folds, values = by_type
    crosses[:] = 0.0
    products[:] = 0.0
    for e in range(starts[i], starts[i + 1]):
        own, v = entries[e], types[e]
        g, a = folds[own], values[own]
        row, root = crosses[g], roots[v]
        for j in range(root.size):
            row[j] += a * root[j]
        row = products[g]
        for q in range(begins[v], begins[v + 1]):
            if folds[q] != g:
                row[np.uint64(positions[q])] += a * values[q]


@njit(nogil=True, cache=True, error_model="numpy")
def add_fold_rows(
    by_position: Any,
    by_type: Any,
    roots: Any,
    gram: Any,
    fold_tokens: Any,
    rest_tokens: Any,
    per_rest_pairs: Any,
    learning: Any,
    cross: Any,
    product: Any,
    taught: Any,
    deleted: Any,
    crossing: Any,
    first: int,
    last: int,
) -> None:
    """Add rows first:last of C_g and M_g to everything that is made of them."""
    folds, m = fold_tokens.shape
    crosses, products = np.empty((folds, m)), np.empty((folds, m))
    whole = np.empty(m)
    for i in range(first, last):
        multiply_rows(by_position, by_type, roots, crosses, products, i)
        whole[:] = 0.0
        for g in range(folds):
            for j in range(m):
                whole[j] += crosses[g, j]
        for g in range(folds):
            own, per_rest = fold_tokens[g, i], 1.0 / rest_tokens[g, i]
            here, there, per_pairs, total = crosses[g], products[g], per_rest_pairs[g, i], 0.0
            for j in range(m):
                centre = own * gram[i, j]
                c = here[j] - centre
                x = there[j] - rest_tokens[g, j] * c - fold_tokens[g, j] * (whole[j] - here[j])
                part = c * per_rest + 0.5 * x * per_pairs[j]
                cross[i, j] += c
                product[i, j] += x
                deleted[g, i, j] += part
                total += learning[i, j] * part
            taught[g, i] = total
        if crossing.size > 0:
            for g in range(folds):
                for j in range(m):
                    crossing[g, i, j] += np.float32(crosses[g, j])


@njit(nogil=True, cache=True)
def fold_pairs(by_position: Any, by_type: Any, out: Any, start: int, first: int, last: int) -> None:
    """Add 2 a_gi . a_hj to out[g, h, (i - start) m + j] for i in first:last and j > i.

    The diagonal, j = i, is added once: `out` stands for the half of itself and its transpose.
    """
    starts, types, entries = by_position
    begins, positions, folds, values = by_type
    m = starts.size - 1
    for i in range(first, last):
        offset = (i - start) * m
        before, begin = -1, 0
        for e in range(starts[i], starts[i + 1]):
            own, v = entries[e], types[e]
            if v != before:  # entries of one type at this position follow each other
                before, begin = v, own
            rows, a = out[folds[own]], 2.0 * values[own]
            for q in range(begin, begins[v + 1]):
                rows[np.uint64(folds[q]), np.uint64(offset + positions[q])] += a * values[q]
        out[:, :, offset + i] *= 0.5


@njit(nogil=True, cache=True)
def own_rows(
    by_position: Any,
    folds: Any,
    counts: Any,
    weights: Any,
    laws: Any,
    basis: Any,
    linear: Any,
    pairs: Any,
    first: int,
    last: int,
) -> None:
    """Gather s x_g at the nodes in linear[g, i], and s x_g x_h / q, g != h, in pairs[g, h, i].

    `weights` and `laws` hold s and q of every entry.
    """
    starts, types, entries = by_position
    for i in range(first, last):
        for e in range(starts[i], starts[i + 1]):
            own, v = entries[e], types[e]
            g, shape = folds[own], basis[v]
            amount = weights[own] * counts[own]
            for r in range(shape.size):
                linear[g, i, r] += amount * shape[r]
            f = e + 1
            while f < starts[i + 1] and types[f] == v:
                other = entries[f]
                h, both = folds[other], amount * counts[other] / laws[own]
                for r in range(shape.size):
                    pairs[g, h, i, r] += both * shape[r]
                    pairs[h, g, i, r] += both * shape[r]
                f += 1
