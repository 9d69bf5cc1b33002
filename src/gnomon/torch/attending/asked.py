"""What was asked of attention, checked once, in one form for every route.

Queries, keys and values become (batch, heads, n, d); positions become coordinates (n, axes), or
(batch or 1, heads or 1, n, axes) where sequences differ. Wrappers are taken off: a layer of a
schedule is its inner encoding or none, and randomised positions are the places they stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gnomon.encodings import (
    Encoding,
    Nope,
    both_sides,
    causal_of,
    check_cache,
    check_counting,
    check_segments,
    flat,
    numbers_in,
    scale_of,
    unfit_positions,
    unwrapped,
)
from gnomon.errors import EncodingError
from gnomon.torch.attending import checking
from gnomon.torch.base import XP, Layer
from gnomon.torch.places import coordinates_of
from gnomon.torch.transform import Transform


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """The arguments of one call of attention."""

    q: Tensor
    k: Tensor
    v: Tensor
    leading: tuple[int, ...]
    """The axes before heads, as the caller has them."""
    encoding: Any
    numbers: dict[str, Any]
    fast: Transform | None
    """The layer, where it turns queries and keys faster than the formula does."""
    at_q: Any
    at_k: Any
    counted: bool
    """Whether keys stand at 0 ... m-1 and queries at the last n of these."""
    causal: bool
    mask: Tensor | None
    segments_q: Tensor | None
    segments_k: Tensor | None
    scale: float
    tokens: Tensor | None
    dropout: float
    profile: Tensor | None = None
    """The profile of the bias, where it was made before (`gnomon.torch.attending.prepared`)."""
    whole: Tensor | None = None
    """Bias and mask of all queries and keys, where they were made before."""

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Return batch, heads, queries and keys."""
        batch, heads, n, _ = self.q.shape
        return batch, heads, n, self.k.shape[-2]

    @property
    def empty(self) -> bool:
        """Whether there is no query, or no key, so that nothing is to be computed."""
        _, _, n, m = self.sizes
        return bool(n == 0 or m == 0)

    @property
    def wide(self) -> torch.dtype:
        """Return the type of biases and logits: float32 or better."""
        return torch.promote_types(self.q.dtype, torch.float32)

    @property
    def groups(self) -> int:
        """Return how many query heads share a key head."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def biased(self) -> bool:
        """Whether something is added to logits; no encoding at all adds nothing."""
        return "bias" in self.encoding.kinds and not isinstance(self.encoding, Nope)

    @property
    def masked(self) -> bool:
        """Whether a mask or segments are given, beside what causality asks."""
        return self.mask is not None or self.segments_q is not None


def asked_of(q: Any, k: Any, v: Any, encoding: Any, given: dict[str, Any]) -> Asked:
    """Return the checked arguments of a call."""
    definition, layer = _definition(encoding)
    checking.check_vectors(q, k, v)
    leading = tuple(q.shape[:-3])
    q, k, v = (four_axes(x, leading) for x in (q, k, v))
    n, m = q.shape[-2], k.shape[-2]
    at_q, at_k, counted = _places(definition, q, m, leading, given)
    numbers = numbers_in(definition, q, xp=XP) if layer is None else layer.numbers_on(q.device)
    inner, at_q, at_k, moved = unwrapped(definition, numbers, at_q, at_k, xp=XP)
    check_cache(inner, n, m)
    turns = isinstance(layer, Transform) and inner is definition
    size = (*leading, q.shape[-3], n, m)
    segments = _segments(given, leading, n, m, q.device)
    return Asked(
        q=q,
        k=k,
        v=v,
        leading=leading,
        encoding=inner,
        numbers=numbers,
        fast=layer if turns else None,
        at_q=at_q,
        at_k=at_k,
        counted=counted and not moved,
        causal=causal_of(inner, given["causal"]),
        mask=checking.mask_of(given["mask"], size, q.device),
        segments_q=segments[0],
        segments_k=segments[1],
        scale=scale_of(given["scale"], definition, q.shape[-1]),
        tokens=_tokens(given["tokens"], leading),
        dropout=checking.dropout_of(given["dropout"]),
    )


def _definition(encoding: Any) -> tuple[Encoding, Layer | None]:
    """Return the definition, and the layer that holds learned numbers of it."""
    if isinstance(encoding, Layer):
        return encoding.definition, encoding
    if isinstance(encoding, Encoding):
        return encoding, None
    raise EncodingError(
        f"The encoding is of type {type(encoding).__name__}; pass what gnomon.encoding(...) or "
        "gnomon.torch.layer(...) returns."
    )


def four_axes(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """Return vectors (..., heads, n, d) as (batch, heads, n, d)."""
    if len(leading) == 1:
        return x
    return flat(x, 3)


def _places(
    encoding: Any, q: Tensor, m: int, leading: tuple[int, ...], given: dict[str, Any]
) -> tuple[Any, Any, bool]:
    """Return coordinates of queries and keys, and whether they were counted."""
    n, axes = q.shape[-2], encoding.axes
    asked_q, asked_k = given["positions_q"], given["positions_k"]
    if asked_q is None and asked_k is None:
        check_counting(encoding, n, m)
        keys = torch.arange(m, device=q.device, dtype=torch.float64)[:, None]
        return keys[m - n :], keys, True
    asked_q, asked_k = both_sides("positions", asked_q, asked_k, n, m)
    heads = q.shape[1]
    made = [
        _beside(coordinates_of(at, axes, q.device), count, name, leading, heads)
        for at, count, name in ((asked_q, n, "q"), (asked_k, m, "k"))
    ]
    if made[0].ndim != made[1].ndim:  # one side is shared: so that both have the same axes
        made = [at if at.ndim == 4 else at[None, None] for at in made]
    return made[0], made[1], False


def _beside(coordinates: Any, count: int, name: str, leading: tuple[int, ...], heads: int) -> Any:
    """Return coordinates as (count, axes), or (batch or 1, heads or 1, count, axes)."""
    shape = tuple(coordinates.shape[:-1])
    if shape == (count,):
        return coordinates
    if checking.broadcasts(shape, (*leading, count)) and shape[-1] == count:
        return checking.flattened(coordinates[..., None, :, :], leading)
    if checking.broadcasts(shape, (*leading, heads, count)) and shape[-1] == count:
        return checking.flattened(coordinates, leading)
    raise unfit_positions(name, shape, leading, count)


def _segments(
    given: dict[str, Any], leading: tuple[int, ...], n: int, m: int, device: Any
) -> tuple[Tensor | None, Tensor | None]:
    """Return the segments of queries and keys, (batch or 1, n) and (batch or 1, m)."""
    of_q, of_k = given["segments_q"], given["segments_k"]
    if of_q is None and of_k is None:
        return None, None
    of_q, of_k = both_sides("segments", of_q, of_k, n, m)
    made = []
    for segments, count, name in ((of_q, n, "segments_q"), (of_k, m, "segments_k")):
        values = torch.as_tensor(segments, device=device)
        shape = tuple(values.shape)
        if shape[-1:] != (count,) or not checking.broadcasts(shape, (*leading, count)):
            check_segments(name, shape, leading, count)
        beside = values.reshape(*[1] * (len(leading) + 1 - values.ndim), *values.shape)
        made.append(checking.flattened(beside[..., None, None, :], leading)[:, 0, 0])
    return made[0], made[1]


def _tokens(tokens: Any, leading: tuple[int, ...]) -> Tensor | None:
    """Return what a rule reads, with the axes that keys have here."""
    if not isinstance(tokens, Tensor) or len(leading) == 1:
        return tokens
    if not leading:
        return tokens[None]
    same = tokens.ndim == len(leading) + 3
    return flat(tokens, 3 if same else 2)
