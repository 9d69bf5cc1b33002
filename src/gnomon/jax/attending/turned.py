"""Queries and keys as their encoding has them: vectors added, or turned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp

from gnomon.encodings import by_head, with_vectors

if TYPE_CHECKING:
    from gnomon.encodings import Array
    from gnomon.jax.attending.asked import Asked


def turned_pair(asked: Asked) -> tuple[Array, Array, Array]:
    """Return queries, keys and values; keys have fewer heads where heads are treated alike."""
    q, k, v, made = asked.q, asked.k, asked.v, asked.encoding
    if not {"vectors", "transform"} & set(made.kinds):
        return q, k, v
    own_places = asked.at_k.ndim == 4 and asked.at_k.shape[1] > 1
    if by_head(made) or own_places:
        k, v = own_heads(k, asked.groups), own_heads(v, asked.groups)
    if "vectors" in made.kinds:
        q = with_vectors(made, q, asked.at_q, asked.numbers, name="q", xp=jnp)
        k = with_vectors(made, k, asked.at_k, asked.numbers, name="k", xp=jnp)
    if "transform" in made.kinds:
        q = made.turned(q, asked.at_q, asked.numbers, side="q", xp=jnp)
        k = made.turned(k, asked.at_k, asked.numbers, side="k", xp=jnp)
    return q, k, v


def own_heads(x: Array, groups: int) -> Array:
    """Return keys or values with each head repeated for the queries that share it."""
    return x if groups == 1 else jnp.repeat(x, groups, axis=1)
