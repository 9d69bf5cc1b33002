"""Which route a call of attention takes, why, and why the others are not taken.

The rules, first to last: an encoding with logits of its own needs all of them at once (*dense*),
but for a decay, which needs *blocks*. Blocks also serve where all logits would take more than
`LARGEST` bytes, and on a processor where queries and keys are `BLOCKS_FROM` or more: there, causal
and without gradients, they were faster than `jax.nn.dot_product_attention`, which writes out all
logits. float64 is dense, since JAX's own softmax is float32, and float16 on a processor, where
JAX's function does not take it. The rest is *plain*, or *bias* where there is one. The choice
depends on sizes, types and the kind of device; never on values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from gnomon.encodings import needs_logits
from gnomon.errors import EncodingError
from gnomon.jax.attending.blocks import block_of, decays
from gnomon.numeric import checks
from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.jax.attending.asked import Asked

ROUTES = ("plain", "bias", "blocks", "dense")
WORDS = {
    "plain": "the encoding acts on q and k, so one call of JAX's attention is all",
    "bias": "the formula makes the bias of every query and key",
    "blocks": "blocks of queries and keys are merged by their log-sum-exp",
    "dense": "logits are made by the encoding's own rule",
}
NO_BIAS = "there is no bias"
LARGEST = 2**30
"""Bytes of logits that are made at once."""
BLOCKS_FROM = 1024
"""Queries and keys from which on blocks are faster on a processor (8 heads, dimension 64)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Result):
    """The route of a call of attention."""

    route: str
    why: str
    extra_bytes: int
    """Memory beside q, k, v and the result: the logits that are held at a time."""
    causal: bool
    alternatives: Mapping[str, str]
    """The other routes: why each is not taken."""


def plan_of(asked: Asked, route: Any) -> Plan:
    """Return the plan of a call, by the rules or as the caller forces it."""
    checks.one_of("route", route, ("auto", *ROUTES))
    chosen = _chosen(asked) if route == "auto" else route
    reason = refusal(asked, chosen)
    if reason is not None:
        raise EncodingError(
            f"The route {chosen!r} can not serve this call, because {reason}; leave route out, and "
            "one that can is taken."
        )
    why = WORDS[chosen] if route == "auto" else f"asked for by name: {WORDS[chosen]}"
    if "vectors" in asked.encoding.kinds:
        why += "; its vectors are added to q and k here, where a model adds them to embeddings"
    others = {
        name: refusal(asked, name) or "it would serve as well, and is not faster"
        for name in ROUTES
        if name != chosen
    }
    return Plan(
        route=chosen,
        why=why,
        extra_bytes=_bytes(asked, chosen),
        causal=asked.causal,
        alternatives=others,
    )


def _chosen(asked: Asked) -> str:
    _, _, n, m = asked.sizes
    if refusal(asked, "blocks") is not None:
        return "dense"
    long = min(n, m) >= BLOCKS_FROM and jax.default_backend() == "cpu"
    if decays(asked.encoding) or long or _bytes(asked, "dense") > LARGEST:
        return "blocks"
    if _untaken(asked) is not None:
        return "dense"
    return "bias" if asked.biased else "plain"


def refusal(asked: Asked, route: str) -> str | None:
    """Say why a route can not serve a call, or None where it can."""
    made, biased = asked.encoding, asked.biased
    if route == "dense" or (route == "blocks" and decays(made)):
        return None
    reason = needs_logits(made)
    if reason is not None:
        return reason
    unserved = {"plain": biased and "a bias is to be added", "bias": not biased and NO_BIAS}
    if route in unserved and _untaken(asked) is not None:
        return _untaken(asked)
    return unserved.get(route) or None


def _untaken(asked: Asked) -> str | None:
    """Say why JAX's own function does not serve this type on this device, or None."""
    if asked.q.dtype == jnp.float64:
        return "jax.nn.dot_product_attention computes the softmax of float64 in float32"
    if asked.q.dtype == jnp.float16 and jax.default_backend() == "cpu":
        return "jax.nn.dot_product_attention does not take float16 on a processor"
    return None


def _bytes(asked: Asked, route: str) -> int:
    """Return the size of the logits that a route holds at a time."""
    batch, heads, n, m = asked.sizes
    if route == "blocks":
        size = block_of(asked.encoding)
        n, m = min(n, size), min(m, size)
    return int(batch * heads * n * m * jnp.dtype(asked.wide).itemsize)
