"""Frequencies of a rotary encoding in the place of a model's own.

A model turns queries and keys by `inv_freq` and multiplies cosines and sines by
`attention_scaling`; both are set to those of the encoding, in float32 and in the order of
operations of transformers [wolf2020], so that an encoding that a model already has gives its bits.
The config then says `rope_type: gnomon`, and holds the encoding and the parameters from before:

    {"rope_type": "gnomon", "rope_theta": ..., "gnomon": {"name", "parameters", "before"}}

so transformers itself makes the same frequencies again when it opens the model.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from gnomon.encodings import Encoding, Nope, Rotating, encoding_within
from gnomon.errors import EncodingError
from gnomon.hf.places import Written, rebuilt, rotary_modules, written
from gnomon.torch import XP

ROPE_TYPE = "gnomon"
_KEPT = "_gnomon_before"
"""Where a module keeps the frequencies from before, which then need not be made again."""


class _State(NamedTuple):
    """What a rotary module turns by: frequencies now and at first, their factor, the rope type."""

    now: torch.Tensor
    first: torch.Tensor
    factor: float
    kind: str


def is_ladder(encoding: Encoding) -> bool:
    """Whether an encoding is one ladder of frequencies for all heads, or none at all."""
    return encoding.turns_by_frequencies or encoding.is_one_of("nope")


def _frequencies(encoding: Encoding, pairs: int) -> tuple[torch.Tensor, float]:
    """Return frequencies (pairs,) in float32 and the attention factor; no encoding turns by 0."""
    with torch.device("cpu"):  # a model may be made without storage, but not its frequencies
        if not isinstance(encoding, Rotating):
            return torch.zeros(pairs), 1.0
        by_axis = encoding.frequencies_in(xp=XP, dtype=torch.float32)
        return by_axis.sum(dim=-1), encoding.attention_factor


def rope_parameters(
    config: Any,
    device: Any = None,
    seq_len: Any = None,
    layer_type: str | None = None,
    **_: Any,
) -> tuple[torch.Tensor, float]:
    """Return what transformers asks of a rope type: the frequencies that a config holds."""
    del seq_len  # no installed encoding follows the length
    record = _said(config, layer_type)["gnomon"]
    if "beside" in record and not _is_opening():
        raise EncodingError(
            "This model has an encoding installed in its attention, and without it no positions at "
            "all; open it by gnomon.hf.load(folder)."
        )
    made, factor = _frequencies(rebuilt(record), record["pairs"])
    return made.to(torch.get_default_device() if device is None else device), factor


def check(model: Any, encoding: Encoding, layer_type: str | None) -> None:
    """Refuse an encoding that does not turn the coordinates that the model turns."""
    modules = rotary_modules(model)
    if len({id(module.config) for module in modules}) > 1:
        raise EncodingError(
            f"The model has {len(modules)} parts that turn by configs of their own; install the "
            "encoding in one of them, such as model.language_model."
        )
    refuse_growing(encoding)
    written(encoding)
    for name in _types(modules[0], layer_type):
        native = _native(modules[0].config, name)
        pairs = _buffer(modules[0], name).shape[0]
        if isinstance(encoding, Rotating):
            _check_fit(encoding, native, pairs)


def _native(config: Any, layer_type: str | None) -> Encoding:
    """Return the model's own encoding, of the first layer that turns where not all of them do."""
    said = config.to_dict()
    if layer_type is not None:
        return encoding_within(said, layer_type=layer_type)
    every = (encoding_within(said, layer=layer) for layer in range(config.num_hidden_layers))
    return next((found for found in every if isinstance(found, Rotating)), Nope())


def refuse_growing(encoding: Encoding) -> None:
    """Refuse frequencies that change while the sequence grows: keys in a cache would be wrong."""
    if not encoding.card.cacheable and not encoding.has_fixed_length:
        raise EncodingError(
            f"The encoding {encoding.name!r} changes its frequencies as a sequence grows, so keys "
            "in a cache would be wrong; fix its length: install encoding.at_length(4096), say."
        )


def _check_fit(encoding: Rotating, native: Encoding, pairs: int) -> None:
    """Refuse another head dimension, other coordinates, another layout or other axes."""
    own = native if isinstance(native, Rotating) else None
    if own is not None and encoding.dimension != own.dimension:
        raise EncodingError(
            f"The encoding {encoding.name!r} is for heads of dimension {encoding.dimension}, and "
            f"the model's heads have {own.dimension}; make it with dimension={own.dimension}."
        )
    first = 0 if own is None else own.first
    if encoding.rotated != 2 * pairs or encoding.first != first:
        raise EncodingError(
            f"The encoding {encoding.name!r} turns {encoding.rotated} coordinates from number "
            f"{encoding.first} on, and the model {2 * pairs} from number {first} on; make it with "
            "the fraction of the model, or see gnomon.hf.read(model)."
        )
    if own is not None and encoding.layout != own.layout:
        raise EncodingError(
            f"The encoding {encoding.name!r} has the layout {encoding.layout!r}, and the model's "
            f"weights were trained for {own.layout!r}; make it with layout={own.layout!r}."
        )
    dealt = None if own is None else own.pairs_by_axis
    if encoding.axes != native.axes or encoding.pairs_by_axis != dealt:
        raise EncodingError(
            f"The encoding {encoding.name!r} has {encoding.axes} axes and the model's positions "
            f"{native.axes}, or other sections; see gnomon.hf.read(model)."
        )


def put(
    model: Any, encoding: Encoding, layer_type: str | None, *, beside: str | None = None
) -> None:
    """Set the frequencies of a model; `beside` names the place that the encoding itself is in."""
    modules = rotary_modules(model)
    config = modules[0].config
    record: Written = (
        written(encoding) if beside is None else {**written(encoding), "beside": beside}
    )
    types = _types(modules[0], layer_type)
    for module in modules:
        module.__dict__[_KEPT] = {name: _state(module, name) for name in types}
    for name in types:
        said, pairs = _said(config, name), int(_buffer(modules[0], name).shape[0])
        record = {**record, "pairs": pairs, "before": copy.deepcopy(said)}
        said.update({"rope_type": ROPE_TYPE, "gnomon": record})
        made, factor = _frequencies(encoding, pairs)
        for module in modules:
            _set(module, name, _State(made, made.clone(), factor, ROPE_TYPE))


def take_out(model: Any) -> None:
    """Put back the parameters and the frequencies that a model had before."""
    modules = rotary_modules(model)
    config = modules[0].config
    types = [name for name in _types(modules[0], None) if _record(config, name) is not None]
    for name in types:
        said = _said(config, name)
        before = said["gnomon"]["before"]
        said.clear()
        said.update(before)
    for module in modules:
        kept = module.__dict__.pop(_KEPT, None)
        if kept is None:  # opened from a file: made again, as the model made them at first
            fresh = type(module)(config)
            kept = {name: _state(fresh, name) for name in types}
        for name in types:
            _set(module, name, kept[name])


def records(model: Any) -> list[Mapping[str, Any]]:
    """Return what the config of a model says of rotary encodings that were installed."""
    modules = rotary_modules(model)
    if not modules:
        return []
    found = [_record(modules[0].config, name) for name in _types(modules[0], None)]
    return [record for record in found if record is not None]


def is_whole(model: Any) -> bool:
    """Whether a model turns as its config says: one that shares its config with another may not."""
    modules = rotary_modules(model)
    types = _types(modules[0], None) if modules else []
    said = [name for name in types if _record(modules[0].config, name) is not None]
    return all(_state(module, name).kind == ROPE_TYPE for module in modules for name in said)


def _record(config: Any, layer_type: str | None) -> Mapping[str, Any] | None:
    said = _said(config, layer_type)
    return said.get("gnomon") if said else None


def _said(config: Any, layer_type: str | None) -> dict[str, Any]:
    """Return the parameters of a config, of one type of layers where they differ."""
    all_of_them: dict[str, Any] = config.rope_parameters
    return all_of_them if layer_type is None else all_of_them[layer_type]


def _types(module: Any, layer_type: str | None) -> list[str | None]:
    """Return the types of layers to serve: the one that is named, or all that turn."""
    nested = module.rope_type if isinstance(module.rope_type, Mapping) else None
    if layer_type is None:
        return [None] if nested is None else list(nested)
    if nested is None or layer_type not in nested:
        known = "none of its own" if nested is None else ", ".join(nested)
        raise EncodingError(
            f"layer_type is {layer_type!r}, and the types of layers that turn in this model are: "
            f"{known}."
        )
    return [layer_type]


def _prefix(layer_type: str | None) -> str:
    return "" if layer_type is None else f"{layer_type}_"


def _buffer(module: Any, layer_type: str | None) -> torch.Tensor:
    found: torch.Tensor = getattr(module, f"{_prefix(layer_type)}inv_freq")
    return found


def _state(module: Any, layer_type: str | None) -> _State:
    """Return what a module turns by at present."""
    prefix, kind = _prefix(layer_type), module.rope_type
    return _State(
        getattr(module, f"{prefix}inv_freq"),
        getattr(module, f"{prefix}original_inv_freq"),
        getattr(module, f"{prefix}attention_scaling"),
        kind if layer_type is None else kind[layer_type],
    )


def _set(module: Any, layer_type: str | None, state: _State) -> None:
    """Give a module what it turns by, on the device where it is."""
    prefix, device = _prefix(layer_type), _buffer(module, layer_type).device
    setattr(module, f"{prefix}inv_freq", nn.Buffer(state.now.to(device), persistent=False))
    first = nn.Buffer(state.first.to(device), persistent=False)
    setattr(module, f"{prefix}original_inv_freq", first)
    setattr(module, f"{prefix}attention_scaling", state.factor)
    if layer_type is None:
        module.rope_type = state.kind
    else:
        module.rope_type[layer_type] = state.kind


_OPENING: contextvars.ContextVar[bool] = contextvars.ContextVar("gnomon_opening", default=False)


def _is_opening() -> bool:
    """Whether `load` is at work here."""
    return _OPENING.get()


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Say so while a model is being opened."""
    token = _OPENING.set(True)
    try:
        yield
    finally:
        _OPENING.reset(token)
