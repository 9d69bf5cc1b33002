"""Logits with vectors of the lag: Shaw, Transformer-XL, DeBERTa, wavelets, one pair at a time.

shaw            s q.(k + a), a the row of j - i, held within -K ... K'       [shaw2018 sec. 3]
transformer-xl  s ((q + u).k + (q + v).W r), r = (sin w(i-j)..., cos w(i-j)...)  [dai2019 sec. 3.3]
deberta         s / sqrt 3 (q.k + q.A + k.B), A and B the rows of i - j     [he2021 sec. 3.1]
wavelet         s q.(k + p), p_c = (1 - x^2) exp(-x^2/2), x = (i-j-b_c)/a_c [oka2025]

A lag that is no whole number has the row of its whole part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gnomon.oracle.definition import (
    Content,
    Definition,
    Real,
    Vector,
    context,
    dot,
    normal_row,
    number,
)

Pair = Callable[[Any, Vector, Vector, Real, int], Real]
"""(encoding, query, key, i - j, head) -> the logit of one pair, before the scale."""


def _each_pair(rule: Pair) -> Callable[[Any, Content], list[Vector]]:
    """Return the logits of all pairs by a rule that sees one of them."""

    def logits(encoding: Any, content: Content) -> list[Vector]:
        return [
            [
                content.scale * rule(encoding, q, k, at_q[0] - at_k[0], content.head)
                for k, at_k in zip(content.keys, content.at_keys, strict=True)
            ]
            for q, at_q in zip(content.queries, content.at_queries, strict=True)
        ]

    return logits


def _row_of(
    encoding: Any, name: str, at: list[int], purpose: int, size: int, each: int = 1
) -> Vector:
    """Return a row of a learned array: what was given, or what the seed starts it with.

    Rows are counted over all heads, which have `each` of them.
    """
    given = getattr(encoding, name)
    if given is not None:
        for index in at:
            given = given[index]
        return [number(value) for value in given]
    row = at[0] if len(at) == 1 else at[0] * each + at[1]
    return [number(encoding.sigma) * value for value in drawn((purpose, row), size, encoding.seed)]


@lru_cache(maxsize=4096)
def drawn(at: tuple[int, ...], size: int, seed: int) -> tuple[Real, ...]:
    """Return normal numbers, kept: every pair asks for the same rows."""
    return tuple(normal_row([*at], size, seed))


def held(lag: Real, least: int, most: int) -> int:
    """Return the whole part of a lag within bounds."""
    return max(least, min(most, int(lag)))


def shaw(encoding: Any, q: Vector, k: Vector, lag: Real, head: int) -> Real:
    """Return q.(k + a) with the row of j - i."""
    del head
    most = encoding.largest_lag_after
    most = encoding.largest_lag if most is None else most
    row = held(-lag, -encoding.largest_lag, most) + encoding.largest_lag
    return dot(q, k) + dot(q, _row_of(encoding, "table", [row], 1, len(q)))


def transformer_xl(encoding: Any, content: Content) -> list[Vector]:
    """Return s ((q + u).k + (q + v).W r), the last product as (W^T (q + v)).r."""
    head, d = content.head, len(content.queries[0]) if content.queries else 0
    size, base = encoding.model_dimension or encoding.heads * d, number(encoding.base)
    u = _row_of(encoding, "content_bias", [head], 3, d)
    v = _row_of(encoding, "position_bias", [head], 4, d)
    rows = [_row_of(encoding, "projection", [head, row], 5, size, d) for row in range(d)]
    logits = []
    for q, at_q in zip(content.queries, content.at_queries, strict=True):
        with_u, with_v = ([a + b for a, b in zip(q, x, strict=True)] for x in (u, v))
        seen = [dot(with_v, column) for column in zip(*rows, strict=True)]
        terms = [
            dot(with_u, k) + dot(seen, sinusoid(at_q[0] - at_k[0], base, size))
            for k, at_k in zip(content.keys, content.at_keys, strict=True)
        ]
        logits.append([content.scale * term for term in terms])
    return logits


@lru_cache(maxsize=65536)
def sinusoid(lag: Real, base: Real, size: int) -> tuple[Real, ...]:
    """Return the sines, then the cosines, of a lag; every head asks for the same."""
    mp = context()
    phases = [lag * mp.power(base, -mp.mpf(2 * pair) / size) for pair in range(size // 2)]
    return tuple(mp.sin(x) for x in phases) + tuple(mp.cos(x) for x in phases)


def bucket(lag: int, buckets: int, largest: int) -> int:
    """Return the bucket of a lag from 0 on, by powers of whole numbers.

    With h = buckets/2, lags to h have one each; past it, bucket h + ceil(x) with
    (lag/h)^(h-1) = ((largest-1)/h)^x.
    """
    half, step = buckets // 2, 0
    if lag <= half:
        return lag
    while (largest - 1) ** step * half ** (half - 1) < lag ** (half - 1) * half**step:
        step += 1
    return half + step


def deberta(encoding: Any, q: Vector, k: Vector, lag: Real, head: int) -> Real:
    """Return the three products over sqrt 3."""
    size = encoding.largest_lag if encoding.buckets is None else encoding.buckets
    whole = int(lag)
    if encoding.buckets is not None:
        capped = min(abs(whole), encoding.largest_lag)
        whole = bucket(capped, size, encoding.largest_lag) * (1 if whole > 0 else -1)
    row = [head, held(whole, -size, size - 1) + size]
    of_key = _row_of(encoding, "key_table", row, 6, len(q), 2 * size)
    of_query = _row_of(encoding, "query_table", row, 7, len(q), 2 * size)
    return (dot(q, k) + dot(q, of_key) + dot(k, of_query)) / context().sqrt(3)


def wavelet(encoding: Any, q: Vector, k: Vector, lag: Real, head: int) -> Real:
    """Return q.(k + p) with one wavelet for each coordinate."""
    del head
    mp, shifts = context(), len(q) // encoding.scales
    waves = []
    for c in range(len(q)):
        x = (lag - c % shifts) / mp.power(2, c // shifts)
        waves.append((1 - x * x) * mp.exp(-x * x / 2))
    return dot(q, [a + b for a, b in zip(k, waves, strict=True)])


DEFINITIONS = {
    "Shaw": Definition(content=_each_pair(shaw)),
    "TransformerXL": Definition(content=transformer_xl),
    "Deberta": Definition(content=_each_pair(deberta)),
    "Wavelet": Definition(content=_each_pair(wavelet)),
}
