"""The oracle's four questions, asked of any encoding it has a definition of.

vectors(i), turned(x, i), bias(i, j), and score(q, k, i, j) = <F(i)(q + p_i), G(j)(k + p_j)> +
bias(i, j), -inf where an encoding is causal only and j is after i.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gnomon.encodings.base import Encoding
from gnomon.errors import EncodingError
from gnomon.oracle import additive, axes, biases, decaying, rotary, wrapped
from gnomon.oracle.definition import Definition
from gnomon.oracle.exact import Real, context, coordinates, dot, vector

DEFINITIONS: dict[str, Definition] = {
    **additive.DEFINITIONS,
    **rotary.DEFINITIONS,
    **axes.DEFINITIONS,
    **decaying.DEFINITIONS,
    **biases.DEFINITIONS,
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

    >>> from gnomon.encodings.registry import encoding
    >>> [[row]] = [vectors(encoding("sinusoidal", dimension=2), [1])]
    >>> str(row[0])[:30]
    '0.8414709848078965066525023216'
    """
    rule = definition_of(encoding).vectors
    if rule is None:
        raise _lacks(encoding, "vectors")
    return [rule(encoding, coordinates(position, encoding.axes)) for position in positions]


def turned(
    encoding: Encoding, x: Iterable[Any], position: Any, *, side: str = "q", head: int = 0
) -> list[Real]:
    """Return one query (side "q") or key ("k") as seen from its position, to 60 digits."""
    rule = definition_of(encoding).turned
    if rule is None:
        raise _lacks(encoding, "transform of queries and keys")
    if side not in ("q", "k"):
        raise EncodingError(f"side is {side!r}; pass one of: q, k.")
    return rule(encoding, vector(x, side), coordinates(position, encoding.axes), side, head)


def bias(encoding: Encoding, i: Any, j: Any, *, head: int = 0) -> Real:
    """Return what is added to the logit of a query at i and a key at j, to 60 digits.

    >>> from gnomon.encodings.registry import encoding
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
    rule = definition_of(encoding)
    at_q, at_k = coordinates(i, encoding.axes), coordinates(j, encoding.axes)
    if encoding.card.causal_only and at_k[0] > at_q[0]:
        return -context().inf
    left, right = vector(q, "q"), vector(k, "k")
    if rule.vectors is not None:
        left = [a + b for a, b in zip(left, rule.vectors(encoding, at_q), strict=True)]
        right = [a + b for a, b in zip(right, rule.vectors(encoding, at_k), strict=True)]
    if rule.turned is not None:
        left = rule.turned(encoding, left, at_q, "q", head)
        right = rule.turned(encoding, right, at_k, "k", head)
    logit = dot(left, right)
    return logit if rule.bias is None else logit + rule.bias(encoding, at_q, at_k, head)


def _lacks(encoding: Encoding, wanted: str) -> EncodingError:
    offered = " and ".join(encoding.kinds)
    return EncodingError(f"The encoding {encoding.name!r} has no {wanted}; it offers {offered}.")
