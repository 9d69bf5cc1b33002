"""Attention under any encoding: the public calls, and which route serves a call.

The rules, first to last: an encoding with logits of its own needs all of them at once (*dense*),
but for a decay, which needs *blocks*. Blocks also serve where all logits would take more than
`_LARGEST` bytes, and on a processor where queries and keys are `_BLOCKS_FROM` or more: there,
causal and without gradients, they were faster than `jax.nn.dot_product_attention`, which writes out
all logits. float64 is dense, since JAX's own softmax is float32, and float16 on a processor, where
JAX's function does not take it. The rest is *plain*, or *bias* where there is one. The choice
depends on sizes, types and the kind of device; never on values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from gnomon.errors import EncodingError
from gnomon.jax.sdpa.blocks import block_of, decays, run_blocks
from gnomon.jax.sdpa.kernel import run_dense, run_empty, run_plain
from gnomon.jax.sdpa.prepare import JaxCall, prepare_call
from gnomon.numeric import checks
from gnomon.numeric.arrays import Array
from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROUTES = ("plain", "bias", "blocks", "dense")
_WORDS = {
    "plain": "the encoding acts on q and k, so one call of JAX's attention is all",
    "bias": "the formula makes the bias of every query and key",
    "blocks": "blocks of queries and keys are merged by their log-sum-exp",
    "dense": "logits are made by the encoding's own rule",
}
_NO_BIAS = "there is no bias"
_LARGEST = 2**30
"""Bytes of logits that are made at once."""
_BLOCKS_FROM = 1024
"""Queries and keys from which on blocks are faster on a processor (8 heads, dimension 64)."""
_NAMES = (*JaxCall.ARGUMENTS, "route")
_RUN = {"plain": run_plain, "bias": run_plain, "blocks": run_blocks, "dense": run_dense}


def attention(
    q: Array,
    k: Array,
    v: Array,
    encoding: Any,
    *,
    positions_q: Any = None,
    positions_k: Any = None,
    causal: bool | None = None,
    mask: Any = None,
    segments_q: Any = None,
    segments_k: Any = None,
    scale: float | None = None,
    tokens: Any = None,
    route: str = "auto",
    **unknown: Any,
) -> Array:
    """Return attention of q (..., heads, n, d) to k and v (..., heads or fewer, m, d).

    `encoding` is an encoding, its layer of `gnomon.jax` or its module of `gnomon.jax.nnx`; learned
    numbers of these two get gradients. Without positions, keys stand at 0 ... m-1 and queries at
    the last n of them. Later keys are masked where `causal`, by default where the encoding is
    causal only. `mask` broadcasts to (..., heads, n, m): True where a query may attend, or floats
    that are added to logits. Tokens of other `segments` are not seen; a query that sees no key
    gives zeros. `scale` is by default the encoding's own (`Encoding.softmax_scale`), or
    1 / sqrt(d) where it has none. `tokens` (..., m, width) is what a rule on
    content reads. `route` takes one by name; `attention_plan` says which one is taken.
    """
    JaxCall.refuse_arguments("attention", unknown, _NAMES)
    given = {
        "positions_q": positions_q,
        "positions_k": positions_k,
        "causal": causal,
        "mask": mask,
        "segments_q": segments_q,
        "segments_k": segments_k,
        "scale": scale,
        "tokens": tokens,
    }
    call, plan = _plan_call(q, k, v, encoding, given, route)
    out = run_empty(call) if 0 in call.sizes else _RUN[plan.route](call)
    return out.reshape(*call.leading, *out.shape[1:])


def attention_plan(
    q: Array, k: Array, v: Array, encoding: Any, *, route: str = "auto", **given: Any
) -> Plan:
    """Return the route that `attention` takes for the same arguments, with the reasons."""
    known: dict[str, Any] = dict.fromkeys(JaxCall.ARGUMENTS)
    unknown = {name: value for name, value in given.items() if name not in known}
    JaxCall.refuse_arguments("attention_plan", unknown, _NAMES)
    return _plan_call(q, k, v, encoding, {**known, **given}, route)[1]


def _plan_call(
    q: Array, k: Array, v: Array, encoding: Any, given: dict[str, Any], route: str
) -> tuple[JaxCall, Plan]:
    call = prepare_call(q, k, v, encoding, given)
    return call, _plan_of(call, route)


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


def _plan_of(call: JaxCall, route: Any) -> Plan:
    """Return the plan of a call, by the rules or as the caller forces it."""
    checks.one_of("route", route, ("auto", *_ROUTES))
    chosen = _choose(call) if route == "auto" else route
    reason = _refusal(call, chosen)
    if reason is not None:
        raise EncodingError(
            f"The route {chosen!r} cannot serve this call, because {reason}; leave route out, and "
            "one that can is taken."
        )
    why = _WORDS[chosen] if route == "auto" else f"asked for by name: {_WORDS[chosen]}"
    if "vectors" in call.encoding.kinds:
        why += "; its vectors are added to q and k here, where a model adds them to embeddings"
    others = {
        name: _refusal(call, name) or "it would serve as well, and is not faster"
        for name in _ROUTES
        if name != chosen
    }
    return Plan(
        route=chosen,
        why=why,
        extra_bytes=_bytes(call, chosen),
        causal=call.causal,
        alternatives=others,
    )


def _choose(call: JaxCall) -> str:
    _, _, n, m = call.sizes
    if _refusal(call, "blocks") is not None:
        return "dense"
    long = min(n, m) >= _BLOCKS_FROM and jax.default_backend() == "cpu"
    if decays(call.encoding) or long or _bytes(call, "dense") > _LARGEST:
        return "blocks"
    if _untaken(call) is not None:
        return "dense"
    return "bias" if call.biased else "plain"


def _refusal(call: JaxCall, route: str) -> str | None:
    """Say why a route cannot serve a call, or None where it can."""
    made, biased = call.encoding, call.biased
    if route == "dense" or (route == "blocks" and decays(made)):
        return None
    reason = call.needs_logits()
    if reason is not None:
        return reason
    unserved = {"plain": biased and "a bias is to be added", "bias": not biased and _NO_BIAS}
    if route in unserved and _untaken(call) is not None:
        return _untaken(call)
    return unserved.get(route) or None


def _untaken(call: JaxCall) -> str | None:
    """Say why JAX's own function does not serve this type on this device, or None."""
    if call.q.dtype == jnp.float64:
        return "jax.nn.dot_product_attention computes the softmax of float64 in float32"
    if call.q.dtype == jnp.float16 and jax.default_backend() == "cpu":
        return "jax.nn.dot_product_attention does not take float16 on a processor"
    return None


def _bytes(call: JaxCall, route: str) -> int:
    """Return the size of the logits that a route holds at a time."""
    batch, heads, n, m = call.sizes
    if route == "blocks":
        size = block_of(call.encoding)
        n, m = min(n, size), min(m, size)
    return int(batch * heads * n * m * jnp.dtype(call.wide).itemsize)
