"""Rotary encodings from a model's config, in the spellings of transformers 4 and 5.

No transformers is needed: a config is a mapping, or the path of a `config.json`. What a config says
of rotary encoding decides everything, and what it says in vain is refused; the formulas are those
of `Rope` and its scalings, `MRope`, `Mla` and `Proportional`, whose modules name their sources. The
meaning of the keys is that of [wolf2020], release 5.22.

Which coordinates of a head turn, and with which base and scaling, as a config says it.

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
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gnomon.encodings.frequencies import UNSCALED, Scaling
from gnomon.encodings.nope import Nope
from gnomon.encodings.rotary.config.layers import (
    ATTENDING_LISTS,
    LayerSchedule,
    QueryTemperature,
    Schedule,
    base_in,
    chunk_of,
    count_layers,
    layer_type_of,
    parameters_by_type,
    parameters_of,
    rotates,
    softmax_scale_of,
    temperature_of,
    window_of,
)
from gnomon.encodings.rotary.config.source import (
    DEAF_TO_COUNT,
    HALF,
    HYBRID,
    INTERLEAVED,
    ON_REQUEST,
    PARTIAL,
    ROTATED_VALUES,
    SECTIONED,
    SECTIONS,
    STILL_TYPES,
    TOP,
    TRAILING,
    UNLIKE,
    WITHOUT_ATTENTION,
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
    from gnomon.encodings.rotary.config.source import Source


_ROTARY_WAYS = ("rope", "rotary", "nope")
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
    source = _open(config, length, ignore)
    found = _find_layer(source, layer, layer_type, length=length, layout=layout)
    _warn_of_scale(source, found)
    return _with_temperature(source, found, layout)


def encoding_within(
    config: Config, *, layer_type: str | None = None, layer: int | None = None
) -> Encoding:
    """Return the encoding of a config whose model keeps its own attention, and scale of logits."""
    source = _open(config, None, ())
    found = _find_layer(source, layer, layer_type, length=None, layout=None)
    return _with_temperature(source, found, None)


def _find_layer(
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
    return layer.encoding if layer.temperature is None else _sharpen(source, layer, layout)


def names_rotary(said: Mapping[str, Any]) -> bool:
    """Whether the keys of a config are those of rotary encoding: its way, or any setting of it."""
    way = said.get("position_embedding_type")
    if isinstance(way, str):
        return way in _ROTARY_WAYS
    return any(said.get(key) is not None for key in TOP if key != "rope_interleave")


def _warn_of_scale(source: Source, layer: LayerSchedule) -> None:
    """Warn of a scale of logits that attention with the encoding alone would not take."""
    scale, made = layer.softmax_scale, layer.encoding
    width = None if made.is_one_of("nope") else made.query_width
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
    source = _open(config, length, ignore)
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


def _open(config: Config, length: int | None, ignore: Iterable[str]) -> Source:
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
    found = found if length is None else found.at_length(length)
    return LayerSchedule(
        layer=layer or 0,
        layer_type=chosen,
        encoding=found,
        temperature=temperature_of(source, given, still=still),
        softmax_scale=softmax_scale_of(source, found),
        rotates_values=source.model_type in ROTATED_VALUES,
    )


def _sharpen(source: Source, layer: LayerSchedule, layout: str | None) -> Encoding:
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
    if isinstance(way, str) and (way == "nope" if deaf else way not in _ROTARY_WAYS):
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
        from gnomon.encodings.rotary.variants import Proportional

        factor = parameters.get("factor", 1.0)
        return Proportional(fraction=shape.fraction, factor=factor, **made)
    made["scaling"] = scaling_of(kind, parameters, source)
    if shape.content:
        from gnomon.encodings.rotary.variants import Mla

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
        return _read_decoupled(source, parameters, decoupled)
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


def _read_decoupled(source: Source, parameters: Mapping[str, Any], turning: int) -> Shape:
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
    from gnomon.encodings.frequencies import scaling

    return scaling(kind, **_READERS[kind](parameters, source))


def _linear(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    del source
    return {"factor": _require(parameters, "factor", "linear")}


def _dynamic(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    longest = _longest(parameters, source, "dynamic")
    trained = parameters.get("original_max_position_embeddings", longest)
    if trained != longest:
        raise EncodingError(
            f"The config says original_max_position_embeddings = {trained!r}, and the rope type "
            f"'dynamic' reads max_position_embeddings ({longest}) instead; make them equal."
        )
    return {"factor": _require(parameters, "factor", "dynamic"), "original_length": longest}


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
    read = {name: _require(parameters, name, "longrope") for name in lists}
    return {**_grown(parameters, source, "longrope"), **read}


def _llama3(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    names = ("factor", "low_freq_factor", "high_freq_factor")
    read = {name: _require(parameters, name, "llama3") for name in names}
    return {**read, "original_length": _trained_length(parameters, source, "llama3")}


def _grown(parameters: Mapping[str, Any], source: Source, kind: str) -> dict[str, Any]:
    """Return the trained length, the growth of the context and the attention factor."""
    trained = _trained_length(parameters, source, kind)
    factor = parameters.get("factor")
    if factor is None:
        factor = _longest(parameters, source, kind) / trained
    attention = parameters.get("attention_factor")
    return {"original_length": trained, "factor": factor, "attention": attention}


def _trained_length(parameters: Mapping[str, Any], source: Source, kind: str) -> int:
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


def _require(parameters: Mapping[str, Any], name: str, kind: str) -> Any:
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
