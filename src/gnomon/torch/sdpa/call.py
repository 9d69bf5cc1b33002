"""Attention under any encoding: the public calls, and which route serves a call.

`attention` computes; `attention_plan` says which route it takes, why, and what that holds in
memory; `prepare_attention` makes once what depends on positions, masks and fixed numbers alone (the
checks, the route, the profile of a bias, and the bias itself where the route writes it out), so
that each of many calls costs its products and little else. Learned numbers are read anew in each
call, so that training goes on. The bias that gains most is that of [press2021].

The route depends on what the encoding is, on how positions lie, on masks and lengths, and on
thresholds measured by `benchmarks/bench_attention.py`; never on values of q, k and v. Thresholds,
here and beside the routes, are choices of speed and memory: no result depends on them beyond
rounding. Memory is counted from shapes, at its peak, for a call without gradients on a processor,
where the kernel itself holds O(d) per thread; with gradients, what every tile or block made is kept
until the backward pass.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import traced
from gnomon.results import Result
from gnomon.torch.coordinates import is_tracing
from gnomon.torch.sdpa.bias_routes import (
    LIMBS,
    dense_bias,
    has_profile,
    lag_profile,
    rank_of,
    run_augmented,
    run_bias,
    run_flex,
    run_tiles,
    run_toeplitz,
    slopes_of,
    tile_of,
    unfit_places,
    writes_out,
)
from gnomon.torch.sdpa.decay_blocks import KEYS, LEAST_BLOCK, MERGED_BLOCK, block_length, run_blocks
from gnomon.torch.sdpa.kernel import attend, is_triangle, run_dense, run_empty, run_plain
from gnomon.torch.sdpa.prepare import Layout, TorchCall, layout_of, prepare_call

_TILES_FROM = 256
"""Queries from which on tiles of a causal bias are faster than one call."""
_MASK_BYTES = 2**26
"""Largest mask or bias that is made whole; beyond, tiles make a part of it at a time."""
ROUTES = ("plain", "bias", "toeplitz", "tiles", "augmented", "blocks", "dense", "flex")
_WORDS: dict[str, str] = {
    "plain": "the encoding acts on q and k, so one call of PyTorch's attention is all",
    "bias": "the formula makes the bias of every query and key",
    "toeplitz": "the bias is a function of the lag at equal steps, made of its profile",
    "tiles": "tiles of queries need only a part of bias and mask, and no later keys",
    "augmented": "the bias is linear in the position, so it is a coordinate of q and k",
    "blocks": "the encoding decays, so every block of queries has a reference point of its own",
    "dense": "logits are made by the encoding's own rule",
    "flex": "the bias is looked up inside of a fused kernel",
}

_Route = Callable[[TorchCall, Layout], Tensor]
_NAMES = (*TorchCall.ARGUMENTS, "dropout", "route")
_RUN: dict[str, _Route] = {
    "plain": run_plain,
    "bias": run_bias,
    "toeplitz": run_toeplitz,
    "tiles": run_tiles,
    "augmented": run_augmented,
    "blocks": run_blocks,
    "dense": run_dense,
    "flex": run_flex,
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
    if unknown:
        TorchCall.refuse_arguments("attention", unknown, _NAMES)
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
    call, layout, chosen = _ready(q, k, v, encoding, given, route)
    out = run_empty(call, layout) if 0 in call.sizes else _RUN[chosen](call, layout)
    return out.reshape(*call.leading, *out.shape[-3:])


def attention_plan(
    q: Tensor, k: Tensor, v: Tensor, encoding: Any, *, route: str = "auto", **given: Any
) -> Plan:
    """Return the route that `attention` takes for the same arguments, with the reasons."""
    call, layout, chosen = _ready(q, k, v, encoding, _with_defaults("attention_plan", given), route)
    return _plan(call, layout, chosen, route)


def prepare_attention(
    q: Tensor, k: Tensor, v: Tensor, encoding: Any, *, route: str = "auto", **given: Any
) -> Prepared:
    """Return attention for many calls with the sizes and all other arguments of this one.

        attend = prepare_attention(q, k, v, encoding)
        out = attend(q, k, v)

    Checks, route and bias are made once; the plan is `attend.plan`. Only sizes, type and device of
    q, k and v are kept.
    """
    call, layout, chosen = _ready(
        q, k, v, encoding, _with_defaults("prepare_attention", given), route
    )
    run = run_empty if 0 in call.sizes else _RUN[chosen]
    return Prepared(call, layout, run, _plan(call, layout, chosen, route))


def _with_defaults(caller: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of attention, those that are not given as they are by default."""
    defaults = dict.fromkeys(TorchCall.ARGUMENTS) | {"dropout": 0.0}
    TorchCall.refuse_arguments(
        caller, {n: x for n, x in given.items() if n not in defaults}, _NAMES
    )
    return defaults | given


def _plan(call: TorchCall, layout: Layout, chosen: str, route: str) -> Plan:
    why = _WORDS[chosen] if route == "auto" else f"asked for by name: {_WORDS[chosen]}"
    if "vectors" in call.encoding.kinds:
        why += "; its vectors are added to q and k here, where a model adds them to embeddings"
    others = {
        name: _refusal(name, call, layout) or "it would serve as well, and is not faster"
        for name in ROUTES
        if name != chosen
    }
    return Plan(
        route=chosen,
        why=why,
        extra_bytes=_extra_bytes(chosen, call, layout),
        causal=call.causal,
        alternatives=others,
    )


def _ready(
    q: Tensor, k: Tensor, v: Tensor, encoding: Any, given: dict[str, Any], route: str
) -> tuple[TorchCall, Layout, str]:
    """Return the checked call, how its positions lie, and its route."""
    if route != "auto":
        checks.one_of("route", route, ("auto", *ROUTES))
    call = prepare_call(q, k, v, encoding, given)
    layout = layout_of(call)
    if route == "auto":
        return call, layout, _choose(call, layout)
    reason = _refusal(route, call, layout)
    if reason is not None:
        raise EncodingError(
            f"The route {route!r} cannot serve this call, because {reason}; leave route out, and "
            "one that can is taken."
        )
    return call, layout, route


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Result):
    """The route of a call of attention."""

    route: str
    why: str
    extra_bytes: int
    """Memory beside q, k, v and the result that the route holds at its peak, without gradients."""
    causal: bool
    alternatives: Mapping[str, str]
    """The other routes: why each is not taken."""


def _choose(call: TorchCall, layout: Layout) -> str:
    """Return the route that suits a call."""
    encoding = call.encoding
    if encoding.fades and _no_blocks(call, layout) is None:
        return "blocks"
    if call.needs_logits() is not None:
        return "dense"
    if call.q.device.type == "cuda" and _refusal("flex", call, layout) is None:
        return "flex" if call.biased else "plain"
    if not call.biased:
        return "tiles" if _large(call) and _refusal("tiles", call, layout) is None else "plain"
    if _for_other_lengths() or not has_profile(call, layout):
        return "bias" if not _large(call) else _large_route(call, layout)
    skips = call.causal and layout.ahead is not None and call.q.shape[-2] >= _TILES_FROM
    return "tiles" if skips or (call.masked and _large(call)) else "toeplitz"


def _large_route(call: TorchCall, layout: Layout) -> str:
    """Return the route of a large bias without a profile."""
    return "tiles" if _refusal("augmented", call, layout) is not None else "augmented"


def _for_other_lengths() -> bool:
    """Whether a graph is recorded that other lengths will use: then these must decide nothing."""
    return bool(torch.compiler.is_exporting() or traced())


def _large(call: TorchCall) -> bool:
    """Whether a mask or bias of all queries and keys is more than is made at once."""
    batch, heads, n, m = call.sizes
    bias = call.biased
    if not bias and not call.masked and not (call.causal and n != m):
        return False
    if _for_other_lengths():
        return False
    whole = (heads if bias else 1) * (batch if call.masked else 1) * n * m
    return whole * call.wide.itemsize > _MASK_BYTES


def _refusal(route: str, call: TorchCall, layout: Layout) -> str | None:
    """Say why a route cannot serve a call, or None where it can."""
    if route == "dense":
        return None
    if route == "blocks":
        return _no_blocks(call, layout)
    reason = call.needs_logits()
    if reason is None and call.biased and _own_places(call):
        reason = "heads have positions of their own"
    return _OWN[route](call, layout) if reason is None else reason


def _own_places(call: TorchCall) -> bool:
    return call.at_q.ndim == 4 and max(call.at_q.shape[1], call.at_k.shape[1]) > 1


def _no_blocks(call: TorchCall, layout: Layout) -> str | None:
    encoding = call.encoding
    if not encoding.fades:
        return "nothing decays"
    if not call.causal:
        return "it is not causal"
    if encoding.on_values:
        return f"{encoding.name!r} acts on values, too"
    hidden = is_tracing() or not layout.seen
    return "positions and decays cannot be seen in compiled code" if hidden else None


def _no_profile(call: TorchCall, layout: Layout) -> str | None:
    if not call.biased:
        return "there is no bias"
    if has_profile(call, layout):
        return None
    if not call.encoding.card.relative:
        return f"{call.encoding.name!r} depends on more than the lag"
    if call.encoding.axes > 1:
        return "positions have several axes"
    return "positions cannot be seen" if not layout.seen else "positions are not equally spaced"


def _no_coordinates(call: TorchCall, layout: Layout) -> str | None:
    del layout
    if not call.biased:
        return "there is no bias"
    if rank_of(call) is None:
        return f"the bias of {call.encoding.name!r} has no finite rank"
    if call.scale == 0.0:
        return "scale is 0"
    if slopes_of(call) is None and call.q.dtype not in (torch.float32, torch.float64):
        return f"{call.q.dtype} would round the factors of the bias"
    return unfit_places(call)


def _no_flex(call: TorchCall, layout: Layout) -> str | None:
    if call.biased and not has_profile(call, layout):
        return _no_profile(call, layout)
    if call.dropout:
        return "it has no dropout"
    trained = torch.is_grad_enabled() and any(
        x.requires_grad for x in (call.q, call.k, call.v, *_tensors(call.numbers))
    )
    if trained and call.q.device.type == "cpu":
        return "it has no backward on a processor"
    return None


def _tensors(numbers: Mapping[str, Any]) -> list[torch.Tensor]:
    return [value for value in numbers.values() if isinstance(value, torch.Tensor)]


_OWN: dict[str, Callable[[TorchCall, Layout], str | None]] = {
    "plain": lambda call, _: "a bias is to be added" if call.biased else None,
    "bias": lambda call, _: None if call.biased else "there is no bias",
    "toeplitz": _no_profile,
    "tiles": lambda _call, _layout: None,
    "augmented": _no_coordinates,
    "flex": _no_flex,
}


class Prepared:
    """Attention of queries, keys and values of one size, under one encoding, at fixed positions."""

    def __init__(
        self,
        call: TorchCall,
        layout: Layout,
        run: _Route,
        plan: Plan,
    ) -> None:
        self.plan = plan
        self._call, self._layout, self._run = _make_ready(call, layout, plan.route), layout, run
        # One call of the kernel is all: nothing is turned, and bias and mask are there already.
        self._direct = self._call.dense_bias is not None and plan.route != "tiles"
        self._direct = self._direct and call.encoding.kinds == ("bias",)
        self._form = tuple(_form(x, call.leading) for x in (call.q, call.k, call.v))

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return attention of other queries, keys and values of the same size, type and device."""
        leading = self._call.leading
        for x, name, form in zip((q, k, v), "qkv", self._form, strict=True):
            if (tuple(x.shape), x.dtype, x.device) != form:
                shape, dtype, device = form
                raise EncodingError(
                    f"{name} has shape {tuple(x.shape)} and {x.dtype} on {x.device}, and this "
                    f"attention was prepared for {shape} and {dtype} on {device}; prepare another."
                )
        call, vectors = (
            self._call,
            [x.reshape(math.prod(leading), *x.shape[-3:]) for x in (q, k, v)],
        )
        if self._direct:
            given: dict[str, Any] = {"scale": call.scale, "dropout": call.dropout}
            out = attend(*vectors, mask=call.dense_bias, **given)
        else:
            with_vectors = dict(zip("qkv", vectors, strict=True))
            out = self._run(dataclasses.replace(call, **with_vectors), self._layout)
        return out if len(leading) == 1 else out.reshape(*leading, *out.shape[-3:])

    def __repr__(self) -> str:
        return f"Prepared({self._call.encoding.name!r}, route={self.plan.route!r})"


def _form(x: Tensor, leading: tuple[int, ...]) -> tuple[Any, ...]:
    return (*leading, *x.shape[-3:]), x.dtype, x.device


def _make_ready(call: TorchCall, layout: Layout, route: str) -> TorchCall:
    """Return the call with all that no training changes made, and without its vectors."""
    made: dict[str, Any] = {}
    if call.biased and not call.encoding.learnable and 0 not in call.sizes:
        if has_profile(call, layout):
            made["profile"] = lag_profile(call, layout)
        if _writes(call, route):
            made["dense_bias"] = dense_bias(call, layout, route)
    # Sizes and types without memory: the next call brings vectors of its own.
    sizes = {n: getattr(call, n).new_empty(()).expand(getattr(call, n).shape) for n in "qkv"}
    return dataclasses.replace(call, **sizes, **made)


def _writes(call: TorchCall, route: str) -> bool:
    """Whether a route holds bias and mask of all pairs, and nothing of them is learned."""
    if call.mask is not None and call.mask.requires_grad:
        return False  # read anew in each call, as learned numbers are
    if route == "tiles":
        return not call.masked and writes_out(call)
    return route == "bias" or (route == "toeplitz" and (call.masked or writes_out(call)))


def _extra_bytes(route: str, call: TorchCall, layout: Layout) -> int:
    """Return the bytes that a route holds."""
    return {
        "plain": _plain,
        "bias": _bias,
        "toeplitz": _toeplitz,
        "tiles": _tiles,
        "augmented": _of_augmented,
        "blocks": _blocks,
        "dense": _dense,
        "flex": _flex,
    }[route](call, layout)


def _encoded_bytes(call: TorchCall) -> int:
    """Queries and keys once more, where the encoding acts on them."""
    acts = {"vectors", "transform"} & set(call.encoding.kinds)
    return (call.q.numel() + call.k.numel()) * call.q.itemsize if acts else 0


def _mask(call: TorchCall, rows: int, keys: int) -> int:
    """A mask of some rows: booleans, and the floats that the kernel makes of them."""
    if not call.causal and not call.masked:
        return 0
    given = call.mask is not None and call.mask.shape[0] > 1
    packed = call.segments_q is not None and call.segments_q.shape[0] > 1
    batch = call.q.shape[0] if given or packed else 1
    heads = 1 if call.mask is None else call.mask.shape[1]
    return batch * heads * rows * keys * (1 + call.wide.itemsize)


def _bias_bytes(call: TorchCall, rows: int, keys: int) -> int:
    """A bias of some rows in its wide type, with masks merged into it."""
    batch = call.q.shape[0] if call.masked or call.at_q.ndim == 4 else 1
    return batch * call.q.shape[1] * rows * keys * call.wide.itemsize


def _plain(call: TorchCall, layout: Layout) -> int:
    _, _, n, m = call.sizes
    return _encoded_bytes(call) + (0 if is_triangle(call, layout) else _mask(call, n, m))


def _bias(call: TorchCall, layout: Layout) -> int:
    del layout
    _, heads, n, m = call.sizes
    float64 = heads * n * m * 8  # what the formula makes before it is rounded
    return _encoded_bytes(call) + _bias_bytes(call, n, m) + float64


def _profile(call: TorchCall) -> int:
    _, heads, n, m = call.sizes
    return heads * (n + m - 1) * (8 + call.wide.itemsize)


def _flips(call: TorchCall) -> int:
    return (call.k.numel() + call.v.numel()) * call.q.itemsize


def _toeplitz(call: TorchCall, layout: Layout) -> int:
    del layout
    _, _, n, m = call.sizes
    written = call.masked or writes_out(call)
    return (
        _encoded_bytes(call)
        + _profile(call)
        + (_bias_bytes(call, n, m) if written else _flips(call))
    )


def _tiles(call: TorchCall, layout: Layout) -> int:
    _, _, n, m = call.sizes
    rows = min(n, tile_of(n))
    if has_profile(call, layout) and not call.masked:
        return _toeplitz(call, layout)
    if not call.biased:
        return _encoded_bytes(call) + _mask(call, rows, m)
    return _encoded_bytes(call) + _profile(call) + 2 * _bias_bytes(call, rows, m)


def _of_augmented(call: TorchCall, layout: Layout) -> int:
    batch, heads, n, m = call.sizes
    rank = LIMBS.get(call.q.dtype, 1) if slopes_of(call) is not None else rank_of(call) or 0
    width = -(-(call.q.shape[-1] + rank) // 8) * 8
    vectors = batch * heads * (n + 2 * m) * width * call.q.itemsize
    mask = 0 if is_triangle(call, layout) else _mask(call, n, m)
    return _encoded_bytes(call) + vectors + mask


def _blocks(call: TorchCall, layout: Layout) -> int:
    del layout
    batch, heads, n, m = call.sizes
    length = block_length(call)
    rows = min(n, length if length >= LEAST_BLOCK else MERGED_BLOCK)
    vectors = 2 * batch * heads * m * call.k.shape[-1] * call.wide.itemsize
    logits = 0 if length >= LEAST_BLOCK else 3 * batch * heads * rows * min(m, KEYS)
    return vectors + _mask(call, rows, m) + logits * call.wide.itemsize


def _dense(call: TorchCall, layout: Layout) -> int:
    del layout
    batch, heads, n, m = call.sizes
    return _encoded_bytes(call) + 2 * batch * heads * n * m * call.wide.itemsize


def _flex(call: TorchCall, layout: Layout) -> int:
    del layout
    batch, heads, n, m = call.sizes
    unfused = 2 * batch * heads * n * m * call.wide.itemsize
    return _encoded_bytes(call) + _profile(call) + (0 if call.q.device.type == "cuda" else unfused)
