"""The oracle's five questions, asked of any encoding it has a definition of.

vectors(i), transform(x, i), bias(i, j), and score(q, k, i, j) = <F(i)(q + p_i), G(j)(k + p_j)> +
bias(i, j), -inf where an encoding is causal only and j is after i. A rule on content sees all keys
of a head at once: scores(qs, ks, positions) asks for all logits of a head, of any encoding.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError
from gnomon.oracle import additive, biases, content, generators, relative, rotary, wrapped
from gnomon.oracle.definition import (
    Content,
    Definition,
    Point,
    Real,
    Vector,
    context,
    coordinates,
    dot,
    number,
    vector,
)

DEFINITIONS: dict[str, Definition] = {
    **additive.DEFINITIONS,
    **rotary.DEFINITIONS,
    **generators.DEFINITIONS,
    **biases.DEFINITIONS,
    **relative.DEFINITIONS,
    **content.DEFINITIONS,
}
"""By the name of the class that defines an encoding; subclasses inherit."""


def definition_of(encoding: Encoding) -> Definition:
    """Return what the oracle knows of an encoding, or say that it knows nothing."""
    for kind in type(encoding).__mro__:
        if kind.__name__ in DEFINITIONS:
            return DEFINITIONS[kind.__name__]
        if kind.__name__ in wrapped.WRAPPERS:
            inner: Any = encoding
            return wrapped.WRAPPERS[kind.__name__](encoding, definition_of(inner.inner))
    raise EncodingError(
        f"The oracle has no definition of the encoding {encoding.name!r} "
        f"({type(encoding).__name__}); add one to gnomon.oracle."
    )


def vectors(encoding: Encoding, positions: Iterable[Any]) -> list[list[Real]]:
    """Return the vector of every position, to 60 digits.

    >>> from gnomon.encodings import encoding
    >>> [[row]] = [vectors(encoding("sinusoidal", dimension=2), [1])]
    >>> str(row[0])[:30]
    '0.8414709848078965066525023216'
    """
    rule = definition_of(encoding).vectors
    if rule is None:
        raise _lacks(encoding, "vectors")
    return [rule(encoding, coordinates(position, encoding.axes)) for position in positions]


def transform(
    encoding: Encoding, x: Iterable[Any], position: Any, *, side: str = "q", head: int = 0
) -> list[Real]:
    """Return one query (side "q") or key ("k") as seen from its position, to 60 digits."""
    rule = definition_of(encoding).transform
    if rule is None:
        raise _lacks(encoding, "transform of queries and keys")
    if side not in ("q", "k"):
        raise EncodingError(f"side is {side!r}; pass one of: q, k.")
    return rule(encoding, vector(x, side), coordinates(position, encoding.axes), side, head)


def bias(encoding: Encoding, i: Any, j: Any, *, head: int = 0) -> Real:
    """Return what is added to the logit of a query at i and a key at j, to 60 digits.

    >>> from gnomon.encodings import encoding
    >>> int(bias(encoding("alibi", slopes=(0.5,)), 10, 4))
    -3
    """
    rule = definition_of(encoding).bias
    if rule is None:
        raise _lacks(encoding, "bias")
    return rule(encoding, coordinates(i, encoding.axes), coordinates(j, encoding.axes), head)


def score(
    encoding: Encoding, q: Iterable[Any], k: Iterable[Any], i: Any, j: Any, *, head: int = 0
) -> Real:
    """Return the logit of a query at i and a key at j with all that the encoding does to it."""
    if definition_of(encoding).content is not None:
        raise EncodingError(
            f"Under the encoding {encoding.name!r} a logit may depend on other tokens, too; ask "
            "for the scores of all queries and keys."
        )
    return scores(encoding, [q], [k], [i], [j], head=head)[0][0]


def scores(
    encoding: Encoding,
    q: Iterable[Any],
    k: Iterable[Any],
    positions_q: Iterable[Any],
    positions_k: Iterable[Any] | None = None,
    *,
    head: int = 0,
    scale: Any = 1,
    tokens: Iterable[Any] | None = None,
    beside: tuple[Any, Any] | None = None,
) -> list[list[Real]]:
    """Return the logits of all queries (n, d) and keys (m, d) of one head, to 60 digits.

    A rule that mixes heads needs those of all heads, (heads, n, d) and (heads, m, d), `beside`.
    """
    at_q = [coordinates(position, encoding.axes) for position in positions_q]
    given = at_q if positions_k is None else positions_k
    at_k = at_q if positions_k is None else [coordinates(at, encoding.axes) for at in given]
    queries, keys = [vector(x, "q") for x in q], [vector(x, "k") for x in k]
    rule, by = definition_of(encoding), number(scale, "scale")
    if rule.content is not None:
        read = keys if tokens is None else [vector(x, "tokens") for x in tokens]
        seen = Content(
            queries=queries,
            keys=keys,
            at_queries=at_q,
            at_keys=at_k,
            tokens=read,
            head=head,
            scale=by,
            beside=[] if beside is None else _all_heads(*beside),
        )
        logits = rule.content(encoding, seen)
    else:
        logits = [
            [
                _logit(encoding, rule, x, y, (i, j), head, by)
                for y, j in zip(keys, at_k, strict=True)
            ]
            for x, i in zip(queries, at_q, strict=True)
        ]
    if not encoding.card.causal_only:
        return logits
    mp, cached = context(), len(at_k) - len(at_q)
    for i, j in product(range(len(at_q)), range(len(at_k))):
        in_order = j > i + cached
        later = in_order if encoding.in_order else at_k[j][0] > at_q[i][0]
        logits[i][j] = -mp.inf if later else logits[i][j]
    return logits


def _all_heads(q: Any, k: Any) -> list[tuple[list[Vector], list[Vector]]]:
    """Return queries and keys head by head, exactly."""
    heads = zip(q, k, strict=True)
    return [([vector(x, "q") for x in a], [vector(x, "k") for x in b]) for a, b in heads]


def _logit(
    encoding: Encoding,
    rule: Definition,
    left: Vector,
    right: Vector,
    places: tuple[Point, Point],
    head: int,
    scale: Real,
) -> Real:
    at_q, at_k = places
    if rule.vectors is not None:
        left = [a + b for a, b in zip(left, rule.vectors(encoding, at_q), strict=True)]
        right = [a + b for a, b in zip(right, rule.vectors(encoding, at_k), strict=True)]
    if rule.between is not None:
        right = rule.between(encoding, right, at_q, at_k, head)
    elif rule.transform is not None:
        left = rule.transform(encoding, left, at_q, "q", head)
        right = rule.transform(encoding, right, at_k, "k", head)
    logit = scale * dot(left, right)
    return logit if rule.bias is None else logit + rule.bias(encoding, at_q, at_k, head)


def _lacks(encoding: Encoding, wanted: str) -> EncodingError:
    offered = " and ".join(encoding.kinds)
    return EncodingError(f"The encoding {encoding.name!r} has no {wanted}; it offers {offered}.")
