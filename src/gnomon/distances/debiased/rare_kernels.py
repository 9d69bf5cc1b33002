"""Compiled loops over the entries of rare types (see `rare_types`).

Entries are listed by type (`positions`, `folds`, `values`; those of type v are begins[v] ..
begins[v + 1] - 1, by position and then fold) and by position: those of position i are places
starts[i] .. starts[i + 1] - 1 of `types` and `entries`, by type and then fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


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
