"""Rotary encodings from a model's config, in the spellings of transformers 4 and 5.

No transformers is needed: a config is a mapping, or the path of a `config.json`. What a config says
of rotary encoding decides everything, and what it says in vain is refused; the formulas are those
of `Rope` and its scalings, `MRope`, `Mla` and `Proportional`, whose modules name their sources. The
meaning of the keys is that of [wolf2020], release 5.22.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnomon.encodings.nope import Nope
from gnomon.encodings.rotary.config.layers import (
    ATTENDING_LISTS,
    base_in,
    count_layers,
    layer_type_of,
    parameters_by_type,
    parameters_of,
    rotates,
)
from gnomon.encodings.rotary.config.models import (
    HALF,
    HYBRID,
    INTERLEAVED,
    ON_REQUEST,
    ROTATED_VALUES,
    SECTIONS,
    STILL_TYPES,
    UNLIKE,
    WITHOUT_ATTENTION,
)
from gnomon.encodings.rotary.config.rotation import base_of, scaling_of, shape_of
from gnomon.encodings.rotary.config.schedule import (
    LayerSchedule,
    QueryTemperature,
    Schedule,
    chunk_of,
    softmax_scale_of,
    temperature_of,
    window_of,
)
from gnomon.encodings.rotary.config.source import (
    SECTIONED,
    Config,
    Source,
    check_ignored,
    check_parameters,
    check_top,
    read_config,
    rope_type,
)
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding


ROTARY_WAYS = ("rope", "rotary", "nope")
"""What configs that name their way of encoding call the ways that are read here."""
NAMED_WAYS = frozenset({"EvollaModel", "esm", "evolla", "granitemoehybrid"})
"""Model types whose code asks their configs for the way; others rotate whatever is said."""


def from_config(
    config: Config,
    *,
    layer_type: str | None = None,
    layer: int | None = None,
    length: int | None = None,
    layout: str | None = None,
    ignore: Iterable[str] = (),
) -> Encoding:
    """Return the encoding that a model's config describes.

    Where layers differ, `layer` chooses by number or `layer_type` by type (`layer_types`); without
    either such a config is refused, and `schedule` gives all of its layers. `length` is that of the
    sequence, for scalings that follow it. `layout` overrides the layout of the model type; it is
    *half* where the config names no model type, and must be given where the type is not known
    (`gnomon.encoding("rope")` is *interleaved* by default). `ignore` names keys to pass over.

    >>> encoding = from_config({"head_dim": 64, "rope_theta": 500000.0})
    >>> encoding.rotated, encoding.layout
    (64, 'half')
    """
    source = _opened(config, length, ignore)
    found = _attending(source, layer, layer_type, length=length, layout=layout)
    _warn_of_scale(source, found)
    return _with_temperature(source, found, layout)


def encoding_within(
    config: Config, *, layer_type: str | None = None, layer: int | None = None
) -> Encoding:
    """Return the encoding of a config whose model keeps its own attention, and scale of logits."""
    source = _opened(config, None, ())
    found = _attending(source, layer, layer_type, length=None, layout=None)
    return _with_temperature(source, found, None)


def _attending(
    source: Source, layer: int | None, layer_type: str | None, **how: Any
) -> LayerSchedule:
    """Return a layer with attention, and warn where it also rotates values."""
    found = _layer(source, layer, layer_type, **how)
    if not found.attends:
        raise EncodingError(
            f"Layer {layer} is of type {found.layer_type!r} and has no attention, so it has no "
            "encoding; pass another layer, or ask gnomon.schedule for all of them."
        )
    if found.rotates_values:
        warnings.warn(
            f"The model type {source.model_type!r} also rotates values, and rotates the output of "
            "attention back; the encoding holds queries and keys only.",
            stacklevel=3,
        )
    return found


def _with_temperature(source: Source, layer: LayerSchedule, layout: str | None) -> Encoding:
    """Return the encoding of a layer, or one that sharpens queries where the layer does."""
    return layer.encoding if layer.temperature is None else _sharpened(source, layer, layout)


def _warn_of_scale(source: Source, layer: LayerSchedule) -> None:
    """Warn of a scale of logits that attention with the encoding alone would not take."""
    scale, width = layer.softmax_scale, getattr(layer.encoding, "dimension", None)
    usual = layer.encoding.softmax_scale or (width**-0.5 if width else None)
    if scale is not None and usual is not None and not math.isclose(scale, usual, rel_tol=1e-6):
        warnings.warn(
            f"The model type {source.model_type!r} multiplies logits by {scale:.6g}, not by "
            f"{usual:.6g} = 1 / sqrt({width}), and the encoding does not hold that; pass "
            f"scale={scale:.6g} to attention.",
            stacklevel=3,
        )


def schedule(
    config: Config,
    *,
    length: int | None = None,
    layout: str | None = None,
    ignore: Iterable[str] = (),
) -> Schedule:
    """Return what each layer of a model does with positions: encoding, temperature, window, chunk.

    Options are those of `from_config`. A config must say how many layers there are.
    """
    source = _opened(config, length, ignore)
    keys = ("layer_types", "block_types", *ATTENDING_LISTS)
    listed = any(source.said.get(key) for key in keys)
    if source.model_type in HYBRID and not listed:
        raise EncodingError(
            f"The model type {source.model_type!r} has layers without attention, and the config "
            "does not list which they are; add layer_types."
        )
    layers = []
    for layer in range(count_layers(source, needed=True)):
        found = _layer(source, layer, None, length=length, layout=layout)
        still, kind = isinstance(found.encoding, Nope), layer_type_of(source, layer)
        window = window_of(source, layer, kind) if found.attends else None
        chunk = chunk_of(source, kind, still=still) if found.attends else None
        layers.append(replace(found, layer_type=kind, window=window, chunk=chunk))
    return Schedule(model_type=source.model_type, layers=tuple(layers))


def _opened(config: Config, length: int | None, ignore: Iterable[str]) -> Source:
    """Return a config whose keys are all understood, of a model that rotates."""
    source = read_config(config, ignore)
    if length is not None:
        checks.whole("length", length, least=1)
    check_ignored(source.ignored)
    _check_rotary(source)
    check_top(source)
    return source


def _layer(
    source: Source,
    layer: int | None,
    layer_type: str | None,
    *,
    length: int | None,
    layout: str | None,
) -> LayerSchedule:
    """Return one layer, or what all layers have in common where none is chosen."""
    if layer is not None and layer_type_of(source, layer) in WITHOUT_ATTENTION:
        kind = layer_type_of(source, layer)
        return LayerSchedule(layer=layer, layer_type=kind, encoding=Nope(), attends=False)
    chosen, parameters = parameters_of(source, layer_type, layer)
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    base = base_in(source, layer)
    if base:
        given["rope_theta"] = base
    way = source.said.get("position_embedding_type")
    still = parameters is None or way == "nope"
    still = still or (source.model_type in ON_REQUEST and way != "rope")
    still = still or not rotates(source, layer, chosen)
    found = Nope() if still else _encoding(source, given, chosen, layout)
    follows = getattr(found, "at_length", None)
    found = found if length is None or follows is None else follows(length)
    return LayerSchedule(
        layer=layer or 0,
        layer_type=chosen,
        encoding=found,
        temperature=temperature_of(source, given, still=still),
        softmax_scale=softmax_scale_of(source, found),
        rotates_values=source.model_type in ROTATED_VALUES,
    )


def _sharpened(source: Source, layer: LayerSchedule, layout: str | None) -> Encoding:
    """Return a layer whose queries are sharpened, where one encoding of the catalogue is that."""
    tempered = layer.temperature
    if tempered is None or not isinstance(layer.encoding, Nope) or tempered != _llama_4(tempered):
        raise EncodingError(
            "The config's queries are multiplied by a temperature that grows with the position, "
            "which an encoding alone does not hold; ask gnomon.schedule for both."
        )
    from gnomon.encodings.wrappers import Interleaved

    _, parameters = parameters_of(source, layer.layer_type, None)
    return Interleaved(
        inner=_encoding(source, parameters or {}, layer.layer_type, layout),
        every=1,
        temperature=tempered.strength,
        temperature_length=tempered.length,
    )


def _llama_4(found: QueryTemperature) -> QueryTemperature:
    """Return the temperature that `Interleaved` has, with the numbers of another."""
    return QueryTemperature(strength=found.strength, length=found.length, first=1)


def layer_types(config: Config) -> tuple[str, ...]:
    """Return the types of layers that have parameters of their own; none where all are alike.

    >>> layer_types({"rope_parameters": {"full_attention": {}, "sliding_attention": {}}})
    ('full_attention', 'sliding_attention')
    """
    return tuple(name for name in parameters_by_type(read_config(config)) if name is not None)


def layout_of(source: Source) -> str:
    """Return the layout that a config says, or that its model type is known to have."""
    said, kind = source.one("rope_interleave"), source.model_type
    if said is not None and not isinstance(said, bool):
        raise EncodingError(f"The config's rope_interleave is {said!r}; write true or false.")
    if said is not None:
        return "interleaved" if said else "half"
    if kind in INTERLEAVED or source.native:
        return "interleaved"
    if kind and kind not in HALF:
        raise EncodingError(
            f"The model type {kind!r} is not known here, and a config does not say which "
            'coordinates make a pair; pass layout="half" or layout="interleaved".'
        )
    return "half"


def _check_rotary(source: Source) -> None:
    """Refuse models that have no rotary encoding, or one that is no member of a family here."""
    if source.model_type in UNLIKE:
        raise EncodingError(f"The model type {source.model_type!r} {UNLIKE[source.model_type]}.")
    if source.model_type in STILL_TYPES:
        raise EncodingError(
            f"The model type {source.model_type!r} has no rotary encoding, whatever its config "
            'says of one; use gnomon.encoding("nope").'
        )
    way = source.one("position_embedding_type", "position_embeddings_type")
    deaf = source.model_type in (HALF | INTERLEAVED) - NAMED_WAYS
    if isinstance(way, str) and (way == "nope" if deaf else way not in ROTARY_WAYS):
        raise EncodingError(
            f"The config's position_embedding_type is {way!r}, which is no rotary encoding, or is "
            "not read by the code of its model; build that of the model by name, or take it out."
        )
    if source.said.get("alibi"):
        raise EncodingError(
            "The config says alibi = True, so its model has no rotary encoding; use "
            'gnomon.encoding("alibi", heads=...).'
        )


def _encoding(
    source: Source, parameters: Mapping[str, Any], layer_type: str | None, layout: str | None
) -> Encoding:
    """Return the encoding of flat parameters."""
    kind = rope_type(parameters)
    check_parameters(kind, parameters, source.ignored)
    shape = shape_of(source, parameters, layer_type)
    made = {
        "dimension": shape.dimension,
        "base": base_of(source, parameters),
        "layout": layout or layout_of(source),
    }
    if kind == "proportional":
        from gnomon.encodings.rotary.partial import Proportional

        factor = parameters.get("factor", 1.0)
        return Proportional(fraction=shape.fraction, factor=factor, **made)
    made["scaling"] = scaling_of(kind, parameters, source)
    if shape.content:
        from gnomon.encodings.rotary.partial import Mla

        return Mla(content_dimension=shape.content, **made)
    return _on_axes(source, parameters, {**made, "fraction": shape.fraction})


def _on_axes(source: Source, parameters: Mapping[str, Any], made: dict[str, Any]) -> Encoding:
    """Return plain rotary encoding, or that of several position axes where the config has them."""
    arrangement, usual = SECTIONS.get(source.model_type, ("chunked", None))
    sections = parameters.get("mrope_section", usual)
    if sections is None:
        _check_one_axis(parameters)
        from gnomon.encodings.rotary.rope import Rope

        return Rope(**made)
    from gnomon.encodings.rotary.axes import MRope

    if any(parameters.get(key) for key in SECTIONED[1:]):
        if source.model_type in SECTIONS and arrangement != "interleaved":
            raise EncodingError(
                f"The config asks for interleaved sections, and the code of model type "
                f"{source.model_type!r} deals them otherwise ({arrangement}); take that key out."
            )
        arrangement = "interleaved"
    if not isinstance(sections, (list, tuple)) or not sections:
        raise EncodingError(f"The config's mrope_section is {sections!r}; pass a list of numbers.")
    if arrangement == "spatial-first":  # such configs list height, width, time
        sections = [sections[-1], *sections[:-1]]
    return MRope(sections=tuple(sections), arrangement=arrangement, axes=len(sections), **made)


def _check_one_axis(parameters: Mapping[str, Any]) -> None:
    """Refuse a config that asks for several position axes and does not say how they share."""
    asked = [key for key in ("rope_type", "type") if parameters.get(key) == "mrope"]
    asked += [key for key in SECTIONED[1:] if parameters.get(key)]
    if asked:
        raise EncodingError(
            f"The config's {asked[0]} is {parameters[asked[0]]!r}, and the pairs of each axis are "
            "not said; add mrope_section."
        )
