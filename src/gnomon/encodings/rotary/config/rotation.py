"""Which coordinates of a head turn, and with which base and scaling, as a config says it.

    plain      head_dim, or hidden_size / heads; all of them
    partial    the first int(fraction head_dim): partial_rotary_factor, rotary_pct, or rotary_dim
               as a count
    decoupled  qk_nope_head_dim that stay, then qk_rope_head_dim that turn

A few model types turn the last coordinates instead of the first, and in some the heads of types of
layers differ (global_head_dim, per_layer_config). Spellings are those of [wolf2020].

    rope type      scaling             trained length L0
    linear         Linear              -
    dynamic        DynamicNtk          max_position_embeddings
    yarn           Yarn                original_max_position_embeddings, else the longest
    longrope       LongRope            as yarn
    llama3         Llama3              as yarn

A factor that is left out of yarn and longrope is the longest length over the trained one. All this
is the reading of [wolf2020], release 5.22; release 4 reads two things otherwise: longrope then
takes L0 from the top of the config only, and its factor from the lengths wherever L0 stands there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.encodings.rotary.config.models import (
    DEAF_TO_COUNT,
    HALF,
    INTERLEAVED,
    PARTIAL,
    TRAILING,
)
from gnomon.encodings.rotary.config.source import rope_type
from gnomon.encodings.rotary.scaling import UNSCALED, Scaling
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


BASES = ("rope_theta", "rotary_emb_base", "global_rope_theta")


def base_of(source: Source, parameters: Mapping[str, Any]) -> Any:
    """Return the base; there is no silent 10,000."""
    base = parameters.get("rope_theta")
    base = source.one(*BASES) if base is None else base
    if base is None:
        raise EncodingError(
            f"The config names no base (rope_theta), and the model type {source.model_type!r} has "
            "no known one; add rope_theta, if the model has rotary encoding at all."
        )
    return base


def scaling_of(kind: str, parameters: Mapping[str, Any], source: Source) -> Scaling:
    """Return the scaling of flat parameters."""
    if kind == "default":
        return UNSCALED
    from gnomon.encodings.rotary.scaling import scaling

    return scaling(kind, **_READERS[kind](parameters, source))


def _linear(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    del source
    return {"factor": _needed(parameters, "factor", "linear")}


def _dynamic(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    longest = _longest(parameters, source, "dynamic")
    trained = parameters.get("original_max_position_embeddings", longest)
    if trained != longest:
        raise EncodingError(
            f"The config says original_max_position_embeddings = {trained!r}, and the rope type "
            f"'dynamic' reads max_position_embeddings ({longest}) instead; make them equal."
        )
    return {"factor": _needed(parameters, "factor", "dynamic"), "original_length": longest}


def _yarn(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    # Alone, mscale is read by nothing: transformers asks for both.
    lone = not parameters.get("mscale_all_dim")
    kept = ("truncate",) if lone else ("mscale", "mscale_all_dim", "truncate")
    read = {name: parameters[name] for name in kept if name in parameters}
    # In transformers a beta of 0 means that it was not given.
    betas = {name: parameters[name] for name in ("beta_fast", "beta_slow") if parameters.get(name)}
    return {**_grown(parameters, source, "yarn"), **read, **betas}


def _longrope(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    lists = ("short_factor", "long_factor")
    read = {name: _needed(parameters, name, "longrope") for name in lists}
    return {**_grown(parameters, source, "longrope"), **read}


def _llama3(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    names = ("factor", "low_freq_factor", "high_freq_factor")
    read = {name: _needed(parameters, name, "llama3") for name in names}
    return {**read, "original_length": _trained(parameters, source, "llama3")}


def _grown(parameters: Mapping[str, Any], source: Source, kind: str) -> dict[str, Any]:
    """Return the trained length, the growth of the context and the attention factor."""
    trained = _trained(parameters, source, kind)
    factor = parameters.get("factor")
    if factor is None:
        factor = _longest(parameters, source, kind) / trained
    attention = parameters.get("attention_factor")
    return {"original_length": trained, "factor": factor, "attention": attention}


def _trained(parameters: Mapping[str, Any], source: Source, kind: str) -> int:
    """Return the length the model was trained for before its context grew."""
    name = "original_max_position_embeddings"
    above, inside = source.whole(name), parameters.get(name)
    if above is not None and inside is not None and above != inside:
        raise EncodingError(
            f"The config says {name} = {above} and, among the rotary parameters, {inside!r}; keep "
            "the right one."
        )
    if inside is None:
        return _longest(parameters, source, kind) if above is None else above
    return _whole(name, inside)


def _longest(parameters: Mapping[str, Any], source: Source, kind: str) -> int:
    inside, above = parameters.get("max_position_embeddings"), source.longest
    if inside is not None and above is not None and inside != above:
        raise EncodingError(
            f"The config says max_position_embeddings = {above} and, among the rotary parameters, "
            f"{inside!r}; keep the right one."
        )
    longest = inside if above is None else above
    if longest is None:
        raise EncodingError(
            f"The rope type {kind!r} needs a trained length; add max_position_embeddings to the "
            "config."
        )
    return _whole("max_position_embeddings", longest)


def _whole(name: str, value: Any) -> int:
    """Return a length; some configs write it with a decimal point."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    checks.whole(name, whole, least=1)
    return int(whole)


def _needed(parameters: Mapping[str, Any], name: str, kind: str) -> Any:
    if parameters.get(name) is None:
        raise EncodingError(f"The rope type {kind!r} needs {name!r}; add it to the config.")
    return parameters[name]


_READERS: Mapping[str, Callable[[Mapping[str, Any], Source], dict[str, Any]]] = {
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
}
