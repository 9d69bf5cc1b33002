"""Which route serves a call, why, and what it holds in memory; why the others do not.

Routes: plain, bias, toeplitz, tiles, augmented, blocks, dense, flex, each a module here. The choice
depends on what the encoding is, on how positions lie, on masks and lengths, and on the thresholds
that were measured (`gnomon.torch.attending.thresholds`); never on values of q, k and v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gnomon.encodings import Referred, needs_logits
from gnomon.numeric.arrays import traced
from gnomon.results import Result
from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.augmented import rank_of, slopes_of, unfit_places
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.thresholds import MASK_BYTES, TILES_FROM
from gnomon.torch.attending.tiles import has_profile
from gnomon.torch.places import recording

ROUTES = ("plain", "bias", "toeplitz", "tiles", "augmented", "blocks", "dense", "flex")
WORDS: dict[str, str] = {
    "plain": "the encoding acts on q and k, so one call of PyTorch's attention is all",
    "bias": "the formula makes the bias of every query and key",
    "toeplitz": "the bias is a function of the lag at equal steps: a strided view of its profile",
    "tiles": "tiles of queries need only a part of bias and mask, and no later keys",
    "augmented": "the bias is linear in the position, so it is a coordinate of q and k",
    "blocks": "the encoding decays, so every block of queries has a reference point of its own",
    "dense": "logits are made by the encoding's own rule",
    "flex": "the bias is looked up inside of a fused kernel",
}


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


def choose(asked: Asked, layout: Layout) -> str:
    """Return the route that suits a call."""
    encoding = asked.encoding
    if refusal("blocks", asked, layout) is None:
        return "blocks"
    if needs_logits(encoding) is not None:
        return "dense"
    if asked.q.device.type == "cuda" and refusal("flex", asked, layout) is None:
        return "flex" if asked.biased else "plain"
    if not asked.biased:
        return "tiles" if _large(asked) and refusal("tiles", asked, layout) is None else "plain"
    if _for_other_lengths() or not has_profile(asked, layout):
        return "bias" if not _large(asked) else _large_route(asked, layout)
    skips = asked.causal and layout.ahead is not None and asked.q.shape[-2] >= TILES_FROM
    return "tiles" if skips or (asked.masked and _large(asked)) else "toeplitz"


def _large_route(asked: Asked, layout: Layout) -> str:
    """Return the route of a large bias without a profile."""
    return "tiles" if refusal("augmented", asked, layout) is not None else "augmented"


def _for_other_lengths() -> bool:
    """Whether a graph is recorded that other lengths will use: then these must decide nothing."""
    return bool(torch.compiler.is_exporting() or traced())


def _large(asked: Asked) -> bool:
    """Whether a mask or bias of all queries and keys is more than is made at once."""
    if _for_other_lengths():
        return False
    batch, heads, n, m = asked.sizes
    bias = asked.biased
    if not bias and not asked.masked and not (asked.causal and n != m):
        return False
    whole = (heads if bias else 1) * (batch if asked.masked else 1) * n * m
    return whole * asked.wide.itemsize > MASK_BYTES


def refusal(route: str, asked: Asked, layout: Layout) -> str | None:
    """Say why a route can not serve a call, or None where it can."""
    if route == "dense":
        return None
    if route == "blocks":
        return _no_blocks(asked, layout)
    reason = needs_logits(asked.encoding)
    if reason is None and asked.biased and _own_places(asked):
        reason = "heads have positions of their own"
    return _OWN[route](asked, layout) if reason is None else reason


def _own_places(asked: Asked) -> bool:
    return asked.at_q.ndim == 4 and max(asked.at_q.shape[1], asked.at_k.shape[1]) > 1


def _no_blocks(asked: Asked, layout: Layout) -> str | None:
    encoding = asked.encoding
    if not isinstance(encoding, Referred):
        return "nothing decays"
    if not asked.causal:
        return "it is not causal"
    if encoding.on_values:
        return f"{encoding.name!r} acts on values, too"
    hidden = recording() or not layout.seen
    return "positions and decays can not be seen in compiled code" if hidden else None


def _no_profile(asked: Asked, layout: Layout) -> str | None:
    if not asked.biased:
        return "there is no bias"
    if has_profile(asked, layout):
        return None
    if not asked.encoding.card.relative:
        return f"{asked.encoding.name!r} depends on more than the lag"
    if asked.encoding.axes > 1:
        return "positions have several axes"
    return "positions can not be seen" if not layout.seen else "positions are not equally spaced"


def _no_coordinates(asked: Asked, layout: Layout) -> str | None:
    del layout
    if not asked.biased:
        return "there is no bias"
    if rank_of(asked) is None:
        return f"the bias of {asked.encoding.name!r} has no finite rank"
    if asked.scale == 0.0:
        return "scale is 0"
    if slopes_of(asked) is None and asked.q.dtype not in (torch.float32, torch.float64):
        return f"{asked.q.dtype} would round the factors of the bias"
    return unfit_places(asked)


def _no_flex(asked: Asked, layout: Layout) -> str | None:
    if asked.biased and not has_profile(asked, layout):
        return _no_profile(asked, layout)
    if asked.dropout:
        return "it has no dropout"
    trained = torch.is_grad_enabled() and any(
        x.requires_grad for x in (asked.q, asked.k, asked.v, *_tensors(asked.numbers))
    )
    if trained and asked.q.device.type == "cpu":
        return "it has no backward on a processor"
    return None


def _tensors(numbers: dict[str, Any]) -> list[torch.Tensor]:
    return [value for value in numbers.values() if isinstance(value, torch.Tensor)]


_OWN: dict[str, Callable[[Asked, Layout], str | None]] = {
    "plain": lambda asked, _: "a bias is to be added" if asked.biased else None,
    "bias": lambda asked, _: None if asked.biased else "there is no bias",
    "toeplitz": _no_profile,
    "tiles": lambda _asked, _layout: None,
    "augmented": _no_coordinates,
    "flex": _no_flex,
}
