"""Which coordinates of a head turn, as a config says it.

    plain      head_dim, or hidden_size / heads; all of them
    partial    the first int(fraction head_dim): partial_rotary_factor, rotary_pct, or rotary_dim
               as a count
    decoupled  qk_nope_head_dim that stay, then qk_rope_head_dim that turn

A few model types turn the last coordinates instead of the first, and in some the heads of types of
layers differ (global_head_dim, per_layer_config). Spellings are those of [wolf2020].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.encodings.rotary.config.keys import rope_type
from gnomon.encodings.rotary.config.models import (
    DEAF_TO_COUNT,
    HALF,
    INTERLEAVED,
    PARTIAL,
    TRAILING,
)
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.rotary.config.source import Source


GLOBAL = frozenset({"diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified"})
"""Model types whose layers with full attention have heads of 512, where a config says nothing."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A head of `dimension` coordinates: `content` stay, then a `fraction` of the rest turns."""

    dimension: int
    fraction: float = 1.0
    content: int = 0


def shape_of(source: Source, parameters: Mapping[str, Any], layer_type: str | None) -> Shape:
    """Return which coordinates of a head turn."""
    decoupled = source.whole("qk_rope_head_dim")
    if decoupled is not None and source.model_type not in TRAILING:
        return _decoupled(source, parameters, decoupled)
    head = _head(source, layer_type)
    fraction = fraction_of(source, parameters, head)
    if source.model_type not in TRAILING:
        return Shape(dimension=head, fraction=fraction)
    turning = int(head * fraction) if decoupled is None else decoupled
    return Shape(dimension=head, content=head - turning)


def _head(source: Source, layer_type: str | None) -> int:
    """Return the dimension of the heads of a type of layer."""
    wide = source.whole("global_head_dim") if layer_type == "full_attention" else None
    if wide is None and source.model_type in GLOBAL and "per_layer_config" not in source.said:
        wide = 512 if layer_type == "full_attention" else None
    own, types = source.said.get("per_layer_config"), source.said.get("layer_types") or ()
    if wide is not None or not isinstance(own, Mapping) or layer_type not in types:
        return source.head if wide is None else wide
    given = {int(number): part for number, part in own.items()}
    heads = {
        given.get(number, {}).get("head_dim", source.head)
        for number, name in enumerate(types)
        if name == layer_type
    }
    if len(heads) > 1:
        raise EncodingError(
            f"The config has heads of {sorted(heads)} coordinates in layers of type {layer_type}; "
            "pass a config of one of them."
        )
    return int(heads.pop())


def _decoupled(source: Source, parameters: Mapping[str, Any], turning: int) -> Shape:
    content = source.whole("qk_nope_head_dim") or 0
    given = source.whole("head_dim") if "head_dim" in source.said else None
    head = content + turning if given is None else given
    fraction = fraction_of(source, parameters, head)
    if fraction != 1.0 and int(head * fraction) != turning:
        raise EncodingError(
            f"The config says qk_rope_head_dim = {turning} and a share of {fraction:g} of heads of "
            f"{head}, which is another number; keep the right one."
        )
    return Shape(dimension=content + turning, content=content)


def fraction_of(source: Source, parameters: Mapping[str, Any], head: int) -> float:
    """Return the share of a head's coordinates that turns, 1 where nothing says otherwise."""
    inside = parameters.get("partial_rotary_factor")
    given = source.one("partial_rotary_factor", "rotary_pct") if inside is None else inside
    count = None if source.model_type in DEAF_TO_COUNT else source.whole("rotary_dim")
    if given is not None:
        checks.real("partial_rotary_factor", given, above=0.0)
    if rope_type(parameters) != "proportional":  # a rotation of whole heads, by fewer frequencies
        _check_partial(source, given)
    if count is None:
        return 1.0 if given is None else float(given)
    if given is not None and int(head * given) != count:
        raise EncodingError(
            f"The config says rotary_dim = {count} and a share of {given:g} of heads of {head}, "
            "which is another number; keep the right one."
        )
    share = count / head
    _check_partial(source, share)
    # The quotient may be a little too small for int(head share) to give the count back.
    return share if int(head * share) == count else math.nextafter(share, 2.0)


def _check_partial(source: Source, fraction: Any) -> None:
    """Refuse a part of a head that the code of a model type does not read: it rotates all of it."""
    kind = source.model_type
    whole = kind in HALF | INTERLEAVED and kind not in PARTIAL
    if whole and fraction not in (None, 1) and "qk_rope_head_dim" not in source.said:
        raise EncodingError(
            f"The config says that a share of {fraction:g} of each head rotates, and the code of "
            f"model type {kind!r} does not read it and rotates all; take it out, or leave out "
            "model_type and pass layout=... where another code reads it."
        )
