"""Which layers of a model turn, and by which parameters: one mapping for each type of layer.

Configs keep the parameters of rotary encoding in `rope_parameters` (transformers 5) or
`rope_scaling` (4), flat, or nested by the types of layers; older spellings put a second base beside
the first (`rope_local_base_freq` for layers with a sliding window). All become one mapping from
layer types to flat parameters here, with the single type None where all layers are alike. A type
whose parameters are None has no rotary encoding. Spellings are those of [wolf2020].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gnomon.encodings import checks
from gnomon.encodings.rotary.config.keys import check_nested
from gnomon.encodings.rotary.config.models import EVERY
from gnomon.errors import EncodingError, nearest

if TYPE_CHECKING:
    from gnomon.encodings.rotary.config.source import Source

Flat = Mapping[str, Any] | None
"""The parameters of one type of layer; None where such layers do not turn."""
FULL, SLIDING = "full_attention", "sliding_attention"
_TWICE = (
    ("rope_theta", "rope_theta"),
    ("rope_theta", "rotary_emb_base"),
    ("partial_rotary_factor", "partial_rotary_factor"),
    ("partial_rotary_factor", "rotary_pct"),
)
"""Keys among the parameters, and those at the top that say the same."""


def parameters_by_type(source: Source) -> dict[str | None, Flat]:
    """Return the flat parameters of each type of layer; the type is None where all are alike."""
    given = _given(source)
    types = check_nested(given, source)
    if types:
        return {name: given[name] for name in types}
    _check_agreement(given, source)
    compress = source.one("compress_rope_theta")
    if compress is not None:
        return {"main": {}, "compress": {"rope_theta": compress, **given}}
    local = source.one("rope_local_base_freq", "local_rope_theta")
    if local is None:
        return {None: given}
    base, shared = source.one("global_rope_theta"), {}
    if base is None:
        base = source.one("rope_theta")
    else:
        shared = dict(given)  # ModernBERT's scaling holds for both of its bases
    return {FULL: {"rope_theta": base, **given}, SLIDING: {"rope_theta": local, **shared}}


def _given(source: Source) -> Mapping[str, Any]:
    found = source.one("rope_parameters", "rope_scaling")
    if found is not None and not isinstance(found, Mapping):
        raise EncodingError(
            f"The config's rope_parameters (or rope_scaling) is {found!r}; pass a mapping."
        )
    return found or {}


def _check_agreement(given: Mapping[str, Any], source: Source) -> None:
    """Refuse a value at the top of a config that flat parameters would override in silence."""
    for inside, above in _TWICE:
        first, second = given.get(inside), source.said.get(above)
        if first is not None and second is not None and first != second:
            raise EncodingError(
                f"The config says {above} = {second!r} and, among the rotary parameters, {inside} "
                f"= {first!r}; keep the right one."
            )


def parameters_of(
    source: Source, layer_type: str | None, layer: int | None
) -> tuple[str | None, Flat]:
    """Return the type of layer that is asked for, and its flat parameters."""
    every = parameters_by_type(source)
    name = _chosen(source, layer_type, layer)
    if None in every:
        _check_alike(source, layer_type)
        return name, every[None]
    if name is None:
        values = list(every.values())
        if all(value == values[0] for value in values):
            return None, values[0]
        unsaid = "" if layer is None else f" and does not list the type of layer {layer}"
        raise EncodingError(
            f"The config has rotary encodings of its own for {_listed(every)}{unsaid}; pass "
            "layer_type=... to say which."
        )
    if name not in every:
        raise EncodingError(
            f"The config has no layer type {name!r}: {nearest(name, _names(every))}."
        )
    return name, every[name]


def _check_alike(source: Source, layer_type: str | None) -> None:
    """Refuse a type of layer that a config with one encoding for all does not know."""
    known = source.said.get("layer_types") or ()
    if layer_type is not None and layer_type not in known:
        raise EncodingError(
            f"The config has one rotary encoding for all layers and no type {layer_type!r}; leave "
            "layer_type out."
        )


def _chosen(source: Source, layer_type: str | None, layer: int | None) -> str | None:
    """Return the type that is asked for by its name, by the number of a layer, or by both."""
    found = None if layer is None else _layer_type(source, layer)
    if layer_type is None or found is None:
        return found if layer_type is None else layer_type
    if found != layer_type:
        raise EncodingError(
            f"layer is {layer}, whose type is {found!r}, and layer_type is {layer_type!r}; pass "
            "one of the two."
        )
    return layer_type


def _layer_type(source: Source, layer: int) -> str | None:
    """Return the type of a layer by its number, where the config or the model type says it."""
    types = source.said.get("layer_types")
    if types is not None:
        _check_layer(layer, len(_list("layer_types", types)))
        return str(types[layer])
    _check_layer(layer, source.whole("num_hidden_layers", "n_layer", "num_layers"))
    if source.model_type not in EVERY:
        return None
    key, usual, first = EVERY[source.model_type]
    every = source.whole(key) or usual
    return FULL if (layer + first) % every == 0 else SLIDING


def _list(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise EncodingError(f"The config's {name} is {value!r}; pass a list, one for each layer.")
    return value


def turns(source: Source, layer: int | None) -> bool:
    """Say whether a layer turns at all: some models leave rotary encoding out of some layers."""
    listed, interval = source.one("no_rope_layers"), source.one("no_rope_layer_interval")
    if interval is not None:
        checks.whole("no_rope_layer_interval", interval, least=0)
    some = not all(_list("no_rope_layers", listed)) if listed else bool(interval)
    if not some:
        return True
    if layer is None:
        raise EncodingError(
            "The config has layers without rotary encoding (no_rope_layers); pass layer=... to say "
            "which layer is meant."
        )
    if listed:
        _check_layer(layer, len(listed))
        return bool(listed[layer])
    _check_layer(layer, source.whole("num_hidden_layers"))
    return (layer + 1) % int(interval) != 0


def _check_layer(layer: int, count: int | None) -> None:
    checks.whole("layer", layer, least=0)
    if count is not None and layer >= count:
        raise EncodingError(f"layer is {layer}, but the config has {count} layers, counted from 0.")


def _names(every: Mapping[str | None, Flat]) -> list[str]:
    return [name for name in every if name is not None]


def _listed(every: Mapping[str | None, Flat]) -> str:
    return " and ".join(_names(every))
