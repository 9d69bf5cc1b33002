"""The rotary function of a Hugging Face model, or of the folder of one, as a subject.

A model turns queries and keys by two pieces of code that must fit each other: a module that makes
cosines and sines, and `apply_rotary_pos_emb` of the same file [wolf2020]. Both are asked as the
model's attention asks them, in float32 and at whole positions, so a table of one layout with the
turn of another is found. The module is the model's own, with the frequencies that it holds now;
queries are turned as queries, keys as keys. Dimensions that are not turned are left out.

Queries and keys are turned in one call of the module, as in a forward pass: frequencies that follow
the length of what is passed at once (dynamic NTK, LongRoPE) then do so here, too, and a cache of
keys that were turned before is found to be wrong: keys are turned step by step by one module, and
kept.

A model may turn layers of different types by different tables, and some layers not at all: such a
module is asked with each type of layer, and every type has a certificate of its own.

A folder needs no weights: its config says which classes to make, and the rotary module has no
weights of its own. So a model of any size is certified, and no weights are read.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gnomon.encodings import Encoding, LayerSchedule, encoding, schedule
from gnomon.errors import EncodingError, GnomonError
from gnomon.groups import Coder, LogitFunction
from gnomon.hf.foreign import first_line, open_config, pickled_weights
from gnomon.hf.places import rotary_modules, text_config

Floats = NDArray[np.float64]
_APPLIED = ("apply_rotary_pos_emb_interleave", "apply_rotary_pos_emb")
"""Names of the function that turns; of two in one file the config decides."""
_SAME = 1e-6
"""Largest relative difference of frequencies that counts as rounding of float32."""
_Turn = Callable[[Floats, Floats], tuple[Floats, Floats]]
_RAISED = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, OSError,
    RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""What classes of transformers raise where they make no model of a config."""
_FOLLOWING = ("dynamic", "longrope")
"""Kinds of frequencies that follow the length."""


@dataclass(frozen=True)
class Layers:
    """The layers of one type: the name of the type, their numbers, and what turns them."""

    kind: str
    numbers: tuple[int, ...]
    subject: LogitFunction | Encoding


def subject_of_model(model: nn.Module) -> LogitFunction | Encoding | list[Layers]:
    """Return the rotary function of a model as a subject, or the encoding that it has instead.

    Of a model that turns layers of different types differently, return one for each type.
    """
    found = _rotary(model)
    apply = None if found is None else _apply(model, found)
    if found is None or apply is None:
        return _without_apply(model)
    types = _tables(found)
    if types == [None]:
        return _beside_still(found.config, _subject(model, found, apply, None))
    by_type = _numbers(found.config)
    made = [
        Layers(str(kind), by_type.pop(str(kind), ()), _subject(model, found, apply, kind))
        for kind in types
    ]
    return made + [Layers(kind, numbers, encoding("nope")) for kind, numbers in by_type.items()]


def _without_apply(source: Any) -> Encoding | list[Layers]:
    """Return what is read of a model or a config, by its layers where these differ."""
    from gnomon.hf.reading import read

    layers = _read_schedule(getattr(source, "config", source))
    if not layers or all(one.acts_as(layers[0]) for one in layers):
        return read(source)
    groups: list[list[LayerSchedule]] = []
    for layer in layers:
        same = next((group for group in groups if group[0].acts_as(layer)), None)
        groups.append([layer]) if same is None else same.append(layer)
    return [
        Layers(
            group[0].layer_type or f"like layer {group[0].layer}",
            tuple(one.layer for one in group),
            read(source, layer=group[0].layer),
        )
        for group in groups
    ]


def _beside_still(config: Any, subject: LogitFunction) -> LogitFunction | Encoding | list[Layers]:
    """Return the rotary function of a model beside the layers that its config says use none."""
    layers = _read_schedule(config)
    still = tuple(one.layer for one in layers if one.attends and one.encoding.name == "nope")
    if not still:
        return subject
    turned = tuple(one.layer for one in layers if one.attends and one.layer not in still)
    unencoded = Layers("no encoding", still, encoding("nope"))
    return [Layers("rotary", turned, subject), unencoded] if turned else encoding("nope")


def _read_schedule(config: Any) -> tuple[LayerSchedule, ...]:
    """Return the layers of a config, none where it does not say them."""
    try:
        return schedule(text_config(config).to_dict()).layers
    except EncodingError:
        return ()


def _rotary(model: Any) -> Any:
    """Return the rotary module of a model, that of its text where it has several, or None."""
    found = rotary_modules(model)
    try:
        text = model.config.get_text_config()
    except (AttributeError, ValueError):  # several configs may be that of its text
        text = None
    return next((one for one in found if one.config is text), found[0] if found else None)


def _tables(rotary: Any) -> list[str | None]:
    """Return the types of layers that a module keeps tables for, or None for all layers."""
    if not isinstance(rotary.rope_type, Mapping):
        return [None]
    return list(rotary.rope_type)


def _numbers(config: Any) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the layers of each type; a config may name no types."""
    types = list(getattr(config, "layer_types", None) or [])
    return {kind: tuple(i for i, each in enumerate(types) if each == kind) for kind in types}


def _held(rotary: Any, kind: str | None) -> torch.Tensor:
    """Return the frequencies that a module holds for a type of layers."""
    found: torch.Tensor = getattr(rotary, "inv_freq" if kind is None else f"{kind}_inv_freq")
    return found


def _subject(model: nn.Module, rotary: Any, apply: Any, kind: str | None) -> LogitFunction:
    """Return what turns the layers of one type as a subject."""
    config = rotary.config

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Any:
        turn = _turn_of(rotary, apply, kind)
        left, right = turn(np.concatenate([q, k]), np.concatenate([t, s]))
        return left[: len(q)] @ right[len(q) :].T

    def coder() -> Coder:
        turn = _turn_of(rotary, apply, kind)

        def code(q: Floats, k: Floats, at: Floats) -> tuple[Floats, Floats]:
            left, right = turn(np.concatenate([q, k]), np.concatenate([at, at]))
            return left[: len(q)], right[len(q) :]

        return code

    return LogitFunction(
        name=f"the rotary function of {type(model).__name__}",
        dimension=2 * int(_held(rotary, kind).shape[-1]),
        logits=logits,
        whole=True,
        reach=float(_reach(config, kind)),
        rounding=float(torch.finfo(torch.float32).eps),
        farthest=float(int(getattr(config, "max_position_embeddings", None) or 4096) - 1),
        coder=coder,
        warnings=_find_change(rotary, kind),
    )


def subject_of_folder(folder: str | PathLike[str]) -> LogitFunction | Encoding | list[Layers]:
    """Return what a folder with a config.json, or a model of the hub, does with positions.

    A rotary function is made of the config alone; other encodings are read with their weights
    where the folder has them.
    """
    from gnomon.hf.installing import load

    place = Path(folder)
    if place.is_dir() and not (place / "config.json").is_file():
        raise EncodingError(
            f"The folder {str(folder)!r} has no config.json; pass one that a model was saved in by "
            "save_pretrained."
        )
    config = open_config(folder)
    model = _empty(config)
    rotary = None if model is None else _rotary(model)
    if rotary is not None and _apply(model, rotary) is not None:
        return subject_of_model(model)
    weighed = place.is_dir() and (any(place.glob("*.safetensors")) or pickled_weights(place))
    try:
        return _without_apply(load(folder) if weighed else config)
    except GnomonError:
        raise
    except _RAISED as error:  # such as a library that transformers lacks
        raise EncodingError(
            f"transformers makes no model of the config at {str(folder)!r} ({first_line(error)}); "
            "install what it asks for, or pass the folder of another model."
        ) from error


def _empty(config: Any) -> Any:
    """Return the model of a config without storage, or None where transformers makes none."""
    import transformers

    try:
        with torch.device("meta"):
            maker: Any = transformers.AutoModel  # its classes say no types
            return maker.from_config(config, trust_remote_code=False)
    except _RAISED:
        return None


def _reach(config: Any, kind: str | None) -> int:
    """Return the last position: within what the model is made for, or past where it changes."""
    longest = int(getattr(config, "max_position_embeddings", None) or 4096)
    said = getattr(config, "rope_parameters", None) or {}
    said = said if kind is None else said.get(kind) or {}
    if said.get("rope_type") not in _FOLLOWING:
        return min(4096, longest) - 1
    original = said.get("original_max_position_embeddings")
    original = original or getattr(config, "original_max_position_embeddings", None) or longest
    return 2 * int(original) - 1


def _apply(model: nn.Module, rotary: Any) -> Any:
    """Return the function that turns, from the file of the rotary module, or of the model."""
    interleaved = bool(getattr(rotary.config, "rope_interleave", False))
    names = _APPLIED if interleaved else _APPLIED[::-1]
    files = [sys.modules[type(one).__module__] for one in (rotary, model)]
    both = ((file, name) for file in files for name in names)
    return next((getattr(file, name) for file, name in both if hasattr(file, name)), None)


def _made_anew(rotary: Any) -> Any:
    """Return a copy of a rotary module as it is, or one from its config where it has no storage.

    A copy, since one that follows the length keeps what it saw before.
    """
    if _held(rotary, _tables(rotary)[0]).is_meta:
        return type(rotary)(config=rotary.config)
    return copy.deepcopy(rotary).to("cpu")


def _turn_of(rotary: Any, apply: Any, kind: str | None) -> _Turn:
    """Return a function that turns vectors as queries and as keys, by a module that keeps state."""
    module = _made_anew(rotary)
    chosen = {} if kind is None else {"layer_type": kind}
    together = "k" in inspect.signature(apply).parameters

    def turn(x: Floats, at: Floats) -> tuple[Floats, Floats]:
        with torch.no_grad():
            vectors = torch.as_tensor(np.array(x), dtype=torch.float32)[None, None]
            places = torch.as_tensor(np.array(at), dtype=torch.long)[None]
            cosine, sine = module(vectors, places, **chosen)
            if together:
                left, right = apply(vectors, vectors, cosine, sine)
            else:
                left = right = apply(vectors, cosine, sine)
        return left[0, 0].double().numpy(), right[0, 0].double().numpy()

    return turn


def changes(model: nn.Module) -> list[str]:
    """Say which numbers of a model's rotary modules are not those that its config makes."""
    return [
        sentence
        for rotary in rotary_modules(model)
        for kind in _tables(rotary)
        for sentence in _find_change(rotary, kind)
    ]


def _find_change(rotary: Any, kind: str | None) -> tuple[str, ...]:
    """Warn of frequencies that are not those that the config makes."""
    held = _held(rotary, kind)
    if held.is_meta:
        return ()
    try:
        fresh = type(rotary)(config=rotary.config)
    except EncodingError:  # an installed encoding whose file the config names is not opened here
        return ()
    made = _held(fresh, kind)
    name = "attention_scaling" if kind is None else f"{kind}_attention_scaling"
    factors = [getattr(one, name, 1.0) for one in (rotary, fresh)]
    if factors[0] != factors[1]:
        return (f"the model's factor {name} is {factors[0]}, and its config says {factors[1]}.",)
    live = held.detach().double().cpu()
    made = made.detach().double().cpu()
    if live.shape == made.shape:
        off = float(((live - made).abs() / made.abs().clamp_min(1e-30)).max())
        if off <= _SAME:
            return ()
        how = f"differ by up to {off:.2g} of themselves"
    else:
        how = f"are {live.numel()} and not {made.numel()}"
    dtype = str(held.dtype).rpartition(".")[-1]
    return (f"the model's frequencies, held in {dtype}, are not those of its config: they {how}.",)
