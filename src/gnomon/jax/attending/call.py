"""The public calls: attention, and the plan of it."""

from __future__ import annotations

from typing import Any

from gnomon.encodings import ARGUMENTS, Array, refuse_arguments, refuse_tokens
from gnomon.jax.attending.asked import Asked, asked_of
from gnomon.jax.attending.blocks import blocks
from gnomon.jax.attending.plan import Plan, plan_of
from gnomon.jax.attending.whole import dense, empty, plain

NAMES = (*ARGUMENTS, "route")
RUN = {"plain": plain, "bias": plain, "blocks": blocks, "dense": dense}


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
    refuse_arguments("attention", unknown, NAMES)
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
    asked, plan = _planned(q, k, v, encoding, given, route)
    out = empty(asked) if asked.empty else RUN[plan.route](asked)
    return out.reshape(*asked.leading, *out.shape[1:])


def attention_plan(
    q: Array, k: Array, v: Array, encoding: Any, *, route: str = "auto", **given: Any
) -> Plan:
    """Return the route that `attention` takes for the same arguments, with the reasons."""
    known: dict[str, Any] = dict.fromkeys(ARGUMENTS)
    unknown = {name: value for name, value in given.items() if name not in known}
    refuse_arguments("attention_plan", unknown, NAMES)
    return _planned(q, k, v, encoding, {**known, **given}, route)[1]


def _planned(
    q: Array, k: Array, v: Array, encoding: Any, given: dict[str, Any], route: str
) -> tuple[Asked, Plan]:
    asked = asked_of(q, k, v, encoding, given)
    refuse_tokens(asked.encoding, asked.tokens)
    return asked, plan_of(asked, route)
