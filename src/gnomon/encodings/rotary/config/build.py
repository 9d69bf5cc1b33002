"""Rotary encodings from a model's config, in the spellings of transformers 4 and 5.

No transformers is needed: a config is a mapping, or the path of a `config.json`. What a config says
of rotary encoding decides everything, and what it says in vain is refused; the formulas are those
of `Rope` and its scalings, `MRope`, `Mla` and `Proportional`, whose modules name their sources. The
meaning of the keys is that of [wolf2020], release 5.22.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gnomon.encodings import checks
from gnomon.encodings.nope import Nope
from gnomon.encodings.rotary.config.keys import SECTIONED, check_parameters, check_top, rope_type
from gnomon.encodings.rotary.config.layers import parameters_by_type, parameters_of, turns
from gnomon.encodings.rotary.config.models import INTERLEAVED, SECTIONS, UNLIKE
from gnomon.encodings.rotary.config.scaling import base_of, scaling_of
from gnomon.encodings.rotary.config.shape import shape_of
from gnomon.encodings.rotary.config.source import Config, Source, read_config
from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding


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

    `layer_type` chooses where types of layers differ (`layer_types`), or `layer` by its number;
    `length` is that of the sequence, for scalings that follow it; `layout` overrides the layout of
    the model type, which is *half* where it is not known; `ignore` names keys to pass over.

    >>> encoding = from_config({"head_dim": 64, "rope_theta": 500000.0})
    >>> encoding.rotated, encoding.layout
    (64, 'half')
    """
    source = read_config(config, ignore)
    if length is not None:
        checks.whole("length", length, least=1)
    _check_rotary(source)
    check_top(source)
    chosen, parameters = parameters_of(source, layer_type, layer)
    if parameters is None or source.said.get("position_embedding_type") == "nope":
        return Nope()
    given = {name: value for name, value in parameters.items() if value is not None}
    found = _encoding(source, given, chosen, layout or layout_of(source))
    if not turns(source, layer):
        return _still(source, found)
    follows = getattr(found, "at_length", None)
    return found if length is None or follows is None else follows(length)


def layer_types(config: Config) -> tuple[str, ...]:
    """Return the types of layers that have parameters of their own; none where all are alike.

    >>> layer_types({"rope_parameters": {"full_attention": {}, "sliding_attention": {}}})
    ('full_attention', 'sliding_attention')
    """
    return tuple(name for name in parameters_by_type(read_config(config)) if name is not None)


def layout_of(source: Source) -> str:
    """Return the layout that a config says, or that its model type is known to have."""
    said = source.one("rope_interleave")
    if said is not None and not isinstance(said, bool):
        raise EncodingError(f"The config's rope_interleave is {said!r}; write true or false.")
    interleaved = source.model_type in INTERLEAVED if said is None else bool(said)
    return "interleaved" if interleaved else "half"


def _check_rotary(source: Source) -> None:
    """Refuse models that have no rotary encoding, or one that is no member of a family here."""
    if source.model_type in UNLIKE:
        raise EncodingError(f"The model type {source.model_type!r} {UNLIKE[source.model_type]}.")
    if source.said.get("alibi"):
        raise EncodingError(
            "The config says alibi = True, so its model has no rotary encoding; use "
            'gnomon.encoding("alibi", heads=...).'
        )


def _encoding(
    source: Source, parameters: Mapping[str, Any], layer_type: str | None, layout: str
) -> Encoding:
    """Return the encoding of flat parameters."""
    kind = rope_type(parameters)
    check_parameters(kind, parameters, source.ignored)
    shape = shape_of(source, parameters, layer_type)
    made = {
        "dimension": shape.dimension,
        "base": base_of(source, parameters),
        "layout": layout,
    }
    if kind == "proportional":
        from gnomon.encodings.rotary.proportional import Proportional

        factor = parameters.get("factor", 1.0)
        return Proportional(fraction=shape.fraction, factor=factor, **made)
    made["scaling"] = scaling_of(kind, parameters, source)
    if shape.content:
        from gnomon.encodings.rotary.mla import Mla

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
    from gnomon.encodings.rotary.mrope import MRope

    if any(parameters.get(key) for key in SECTIONED[1:]):
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


def _still(source: Source, encoding: Encoding) -> Encoding:
    """Return a layer that does not turn; Llama 4 sharpens queries there as positions grow."""
    if not source.one("attn_temperature_tuning"):
        return Nope()
    from gnomon.encodings.wrappers.layers import Interleaved

    return Interleaved(
        inner=encoding,
        every=1,
        temperature=source.one("attn_scale"),
        temperature_length=source.one("floor_scale"),
    )
