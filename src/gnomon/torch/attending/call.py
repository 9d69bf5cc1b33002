"""The calls: attention, the plan of it without computing, and attention prepared for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from gnomon.encodings import ARGUMENTS, refuse_arguments, refuse_tokens
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.torch.attending import (
    augmented,
    blocks,
    dense,
    flex,
    memory,
    plain,
    tiles,
    toeplitz,
)
from gnomon.torch.attending.asked import Asked, asked_of
from gnomon.torch.attending.layout import Layout, layout_of
from gnomon.torch.attending.plan import ROUTES, WORDS, Plan, choose, refusal
from gnomon.torch.attending.prepared import Prepared

NAMES = (*ARGUMENTS, "dropout", "route")
RUN: dict[str, Callable[[Asked, Layout], Tensor]] = {
    "plain": plain.run,
    "bias": plain.run_with_bias,
    "toeplitz": toeplitz.run,
    "tiles": tiles.run,
    "augmented": augmented.run,
    "blocks": blocks.run,
    "dense": dense.run,
    "flex": flex.run,
}


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    encoding: Any,
    *,
    positions_q: Any = None,
    positions_k: Any = None,
    causal: bool | None = None,
    mask: Tensor | None = None,
    segments_q: Any = None,
    segments_k: Any = None,
    scale: float | None = None,
    tokens: Tensor | None = None,
    dropout: float = 0.0,
    route: str = "auto",
    **unknown: Any,
) -> Tensor:
    """Return attention of queries (..., heads, n, d) under an encoding, or a layer of one.

    Keys and values may have fewer heads, each for a group of query heads. Positions are counted
    where they are not given: keys stand at 0 ... m-1, queries at the last n of these, as beside a
    cache. `causal` masks keys at later positions (later in order, where positions have several
    axes); by default that is so where the encoding is causal only. A boolean `mask` is True where a
    query may attend, a float one is added; tokens of different `segments` do not see one another.
    `scale` is by default the encoding's own (`Encoding.softmax_scale`, as multi-head latent
    attention under YaRN has it), or 1 / sqrt(d) where it has none. `route`
    takes one by name; `attention_plan` says which one is taken. A query that may attend to nothing
    gives zeros.
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
        "dropout": dropout,
    }
    asked, layout, chosen = _ready(q, k, v, encoding, given, route)
    out = _run_of(asked, chosen)(asked, layout)
    return out.reshape(*asked.leading, *out.shape[-3:])


def attention_plan(
    q: Tensor, k: Tensor, v: Tensor, encoding: Any, *, route: str = "auto", **given: Any
) -> Plan:
    """Return the route that `attention` takes for the same arguments, with the reasons."""
    asked, layout, chosen = _ready(q, k, v, encoding, _named("attention_plan", given), route)
    return _plan(asked, layout, chosen, route)


def prepare_attention(
    q: Tensor, k: Tensor, v: Tensor, encoding: Any, *, route: str = "auto", **given: Any
) -> Prepared:
    """Return attention for many calls with the sizes and all other arguments of this one.

        attend = prepare_attention(q, k, v, encoding)
        out = attend(q, k, v)

    Checks, route and bias are made once; the plan is `attend.plan`. Only sizes, type and device of
    q, k and v are kept.
    """
    asked, layout, chosen = _ready(q, k, v, encoding, _named("prepare_attention", given), route)
    return Prepared(asked, layout, _run_of(asked, chosen), _plan(asked, layout, chosen, route))


def _run_of(asked: Asked, route: str) -> Callable[[Asked, Layout], Tensor]:
    """Return what computes a route; of no query or no key there is nothing to compute."""
    return plain.run_empty if asked.empty else RUN[route]


def _named(call: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of attention, those that are not given as they are by default."""
    defaults = dict.fromkeys(ARGUMENTS) | {"dropout": 0.0}
    refuse_arguments(call, {n: x for n, x in given.items() if n not in defaults}, NAMES)
    return defaults | given


def _plan(asked: Asked, layout: Layout, chosen: str, route: str) -> Plan:
    why = WORDS[chosen] if route == "auto" else f"asked for by name: {WORDS[chosen]}"
    if "vectors" in asked.encoding.kinds:
        why += "; its vectors are added to q and k here, where a model adds them to embeddings"
    others = {
        name: refusal(name, asked, layout) or "it would serve as well, and is not faster"
        for name in ROUTES
        if name != chosen
    }
    return Plan(
        route=chosen,
        why=why,
        extra_bytes=memory.extra_bytes(chosen, asked, layout),
        causal=asked.causal,
        alternatives=others,
    )


def _ready(
    q: Tensor, k: Tensor, v: Tensor, encoding: Any, given: dict[str, Any], route: str
) -> tuple[Asked, Layout, str]:
    """Return the checked call, how its positions lie, and its route."""
    if route != "auto":
        checks.one_of("route", route, ("auto", *ROUTES))
    asked = asked_of(q, k, v, encoding, given)
    refuse_tokens(asked.encoding, asked.tokens)
    layout = layout_of(asked)
    if route == "auto":
        return asked, layout, choose(asked, layout)
    reason = refusal(route, asked, layout)
    if reason is not None:
        raise EncodingError(
            f"The route {route!r} can not serve this call, because {reason}; leave route out, and "
            "one that can is taken."
        )
    return asked, layout, route
