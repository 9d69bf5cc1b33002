"""Which layers of a model turn, and by which parameters: one mapping for each type of layer.

Configs keep the parameters of rotary encoding in `rope_parameters` (transformers 5) or
`rope_scaling` (4), flat, or nested by the types of layers; older spellings put a second base beside
the first (`rope_local_base_freq` for layers with a sliding window). All become one mapping from
layer types to flat parameters here, with the single type None where all layers are alike. A type
whose parameters are None has no rotary encoding. Spellings are those of [wolf2020].

What each layer of a model does with positions, as its config says: a schedule over its depth.

A layer has an encoding, which may be none; it may multiply its queries by a temperature that grows
with the position, see a window of the last keys only, or see the chunk that its position falls in:

    logit(i, j) = tau(i) <q_i, k_j>_encoding,   i - window < j <= i,   i div chunk = j div chunk.

Two temperatures are in use, with strength s, length L and first position o:

    steps   tau(i) = 1 + s ln(1 + floor((i + o) / L))    Llama 4 (o = 1), Ministral 3 (o = 0)
    power   tau(i) = (1 + (i + o) / L)^s                 Beam (o = 1)

as [wolf2020] has them, release 5.22; the first is after the scaled softmax of [nakanishi2025].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import Encoding
from gnomon.encodings.rotary.config.source import (
    BY_TYPE,
    CHUNKS,
    COMPRESSED,
    EVERY,
    HALVED,
    LOGIT_SCALES,
    OWN_UNSAID,
    RADIUS,
    SCALED_IN_FULL,
    STILL,
    STILL_IN_FULL,
    WINDOW_IN_ALL,
    WINDOW_KEYS,
    WINDOWS,
    check_nested,
    check_read,
    rope_type,
)
from gnomon.errors import EncodingError, nearest
from gnomon.numeric import checks
from gnomon.results import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

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
COMPRESSED_TYPES: Mapping[int, str] = MappingProxyType(
    {0: SLIDING, 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}
)
"""Types of layers of DeepSeek V4, by how many keys become one; 0 for a window alone."""
ATTENDING_LISTS: Mapping[str, str] = MappingProxyType(
    {"attn_layer_indices": "linear_attention", "full_attn_idxs": "conv"}
)
"""Keys that list the layers with attention, and what the others are."""
OLMO_BASE = 500000.0
"""The base that OLMo 3 keeps in layers with a window, whatever `rope_theta` says."""
NEOX = frozenset({"gpt_neox", "gpt_neox_japanese"})
"""Model types that do not read `rope_theta`."""
INTERVAL = frozenset({"qwen3_5", "qwen3_5_moe", "qwen3_next"})
"""Model types with linear attention in all layers but one in `full_attention_interval`."""
_PERIODS = 24
"""How many layers are looked at where a config does not say how many there are."""


def parameters_by_type(source: Source) -> dict[str | None, Flat]:
    """Return the flat parameters of each type of layer; the type is None where all are alike."""
    given = _given(source)
    types = check_nested(given, source)
    _check_said(source, given, nested=bool(types))
    if types:
        return {name: _with_own_base(source, name, given[name]) for name in types}
    _check_agreement(given, source)
    if source.model_type in SCALED_IN_FULL and given:
        base = {name: given[name] for name in ("rope_theta",) if name in given}
        return {FULL: given, SLIDING: base}
    compress = source.one("compress_rope_theta")
    if compress is not None:
        unscaled = {"attention_factor": 1.0} if given.get("attention_factor") is None else {}
        unscaled = unscaled if rope_type(given) == "yarn" else {}  # the code says so for YaRN alone
        return {"main": {}, "compress": {"rope_theta": compress, **given, **unscaled}}
    local = source.one("rope_local_base_freq", "local_rope_theta")
    if local is None:
        return {None: given}
    base, shared = source.one("global_rope_theta"), {}
    if base is None:
        base = source.one("rope_theta")
    else:
        shared = dict(given)  # ModernBERT's scaling holds for both of its bases
    return {FULL: {"rope_theta": base, **given}, SLIDING: {"rope_theta": local, **shared}}


def _with_own_base(source: Source, layer_type: str, given: Flat) -> Flat:
    """Return the parameters of a type of layer, with the base that layers with a window have."""
    local = source.one("rope_local_base_freq", "local_rope_theta")
    if given is None or layer_type != SLIDING or local is None or "rope_theta" in given:
        return given
    return {**given, "rope_theta": local}


def _check_said(source: Source, given: Mapping[str, Any], *, nested: bool) -> None:
    """Refuse rotary parameters that the code of a model type takes otherwise than they read."""
    kind = source.model_type
    check_read(source, given)
    if kind in OWN_UNSAID and not given:
        raise EncodingError(
            f"The config has no rope_parameters (or rope_scaling), and the code of model type "
            f"{kind!r} then takes some of its own; add those of the model."
        )
    if kind in BY_TYPE and not nested and source.said.get("rope_parameters"):
        raise EncodingError(
            f"The config's rope_parameters are flat, and the code of model type {kind!r} reads "
            f"them by type of layer only; nest them by {FULL} and {SLIDING}."
        )
    parts = [given, *(each for each in given.values() if isinstance(each, Mapping))]
    if kind in COMPRESSED and any(each.get("mscale_all_dim") for each in parts):
        raise EncodingError(
            f"The config has mscale_all_dim, by which the code of model type {kind!r} does not "
            "scale its logits as that of its forerunners; take it out."
        )
    base = source.said.get("rope_theta")
    if kind in SCALED_IN_FULL and not nested and base not in (None, OLMO_BASE):
        raise EncodingError(
            f"The config's rope_theta is {base!r}, which the code of model type {kind!r} gives to "
            f"some layers only (others keep {OLMO_BASE:g}); nest rope_parameters by type of layer."
        )
    if kind in NEOX and base not in (None, source.one("rotary_emb_base")):
        raise EncodingError(
            f"The config's rope_theta is {base!r}, and the code of model type {kind!r} reads "
            "rotary_emb_base instead; say that."
        )


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
        return name, _find_scaled(source, layer, every[None])
    if name is None:
        values = list(every.values())
        if all(value == values[0] for value in values):
            return None, values[0]
        unsaid = "" if layer is None else f" and does not list the type of layer {layer}"
        raise EncodingError(
            f"The config has rotary encodings of its own for {_list_types(every)}{unsaid}; pass "
            "layer_type=... to say which."
        )
    if name not in every and source.model_type in COMPRESSED and {"main", "compress"} <= {*every}:
        # Layers with a window alone have the plain base, those that read compressed keys the other.
        name = "main" if name == SLIDING else "compress"
    if name not in every:
        raise EncodingError(
            f"The config has no layer type {name!r}: {nearest(name, _names(every))}."
        )
    return name, every[name]


def _find_scaled(source: Source, layer: int | None, given: Flat) -> Flat:
    """Return parameters without their scaling, for layers that a config leaves out of it."""
    listed = source.said.get("rope_scaling_layers")
    if listed is None or not given:
        return given
    scaled = set(_list("rope_scaling_layers", listed))
    if layer is None:
        if scaled >= set(_numbers(source)):
            return given
        raise EncodingError(
            "The config scales some layers only (rope_scaling_layers); pass layer=... to say which "
            "layer is meant, or ask gnomon.schedule for all of them."
        )
    kept = ("rope_theta", "partial_rotary_factor")
    return given if layer in scaled else {key: given[key] for key in kept if key in given}


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
    found = None if layer is None else layer_type_of(source, layer)
    if layer_type is None or found is None:
        return found if layer_type is None else layer_type
    if found != layer_type:
        raise EncodingError(
            f"layer is {layer}, whose type is {found!r}, and layer_type is {layer_type!r}; pass "
            "one of the two."
        )
    return layer_type


def layer_type_of(source: Source, layer: int) -> str | None:
    """Return the type of a layer by its number, where the config or the model type says it."""
    types = source.said.get("layer_types")
    if types is not None:
        _check_list(source, "layer_types", types)
        _check_layer(layer, len(types))
        if not isinstance(types[layer], str):
            raise EncodingError(
                f"The config's layer_types has {types[layer]!r} for layer {layer}; write the name "
                "of its type."
            )
        return str(types[layer])
    _check_layer(layer, count_layers(source) or None)
    blocks = source.said.get("block_types")  # a period, in RecurrentGemma
    if blocks:
        return str(_list("block_types", blocks)[layer % len(blocks)])
    for key, other in ATTENDING_LISTS.items():
        if source.said.get(key) is not None:
            return FULL if layer in _list(key, source.said[key]) else other
    return _usual_type(source, layer)


def _usual_type(source: Source, layer: int) -> str | None:
    """Return the type of a layer by the habit of its model type, None where it has none."""
    if source.model_type == "muse_glimmer" and source.said.get("layer_rope_theta") is None:
        return FULL if base_in(source, layer) == 0 else SLIDING
    if source.model_type in INTERVAL:
        every = source.whole("full_attention_interval") or 4
        return FULL if (layer + 1) % every == 0 else "linear_attention"
    if source.model_type in COMPRESSED:
        return _type_of_compression(source, layer)
    if source.model_type not in EVERY:
        return None
    key, usual, first = EVERY[source.model_type]
    said = source.said.get(key)
    if isinstance(said, str) and said and set(said) <= {"L", "G"}:  # EXAONE writes "LLLG"
        return FULL if said[layer % len(said)] == "G" else SLIDING
    every = source.whole(key) or usual
    return FULL if (layer + first) % every == 0 else SLIDING


def _type_of_compression(source: Source, layer: int) -> str:
    """Return the type of a layer by how many keys it makes one of, or by the habit of the code."""
    ratios = source.said.get("compress_ratios")
    if ratios is None:
        return COMPRESSED_TYPES[128 if layer < 2 or layer % 2 == 0 else 4]
    _check_layer(layer, len(_list("compress_ratios", ratios)))
    if ratios[layer] not in COMPRESSED_TYPES:
        raise EncodingError(
            f"The config's compress_ratios has {ratios[layer]!r} for layer {layer}; known are "
            f"{', '.join(map(str, COMPRESSED_TYPES))}."
        )
    return COMPRESSED_TYPES[ratios[layer]]


def _check_list(source: Source, name: str, value: Any) -> None:
    """Refuse what is no list, and a list that has not one entry for each layer of the config."""
    count = source.whole("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if count is not None and len(_list(name, value)) < count:
        raise EncodingError(
            f"The config's {name} has {len(value)} entries, and it says that there are {count} "
            "layers; keep the right number."
        )
    _list(name, value)


def _list(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise EncodingError(f"The config's {name} is {value!r}; pass a list, one for each layer.")
    return value


def rotates(source: Source, layer: int | None, layer_type: str | None) -> bool:
    """Say whether a layer rotates at all: some models leave rotary encoding out of some layers.

    Refuse, naming them, where layers differ and none is chosen.
    """
    if layer is not None:
        return _rotates(source, layer, layer_type or layer_type_of(source, layer))
    if layer_type is not None and source.model_type in STILL_IN_FULL:
        return _rotates(source, 0, layer_type)
    every = [_rotates(source, each, layer_type_of(source, each)) for each in _numbers(source)]
    if all(every) or not any(every):
        return every[0]
    still = [
        str(each) for each, encoded in zip(_numbers(source), every, strict=True) if not encoded
    ]
    shown = ", ".join(still[:4]) + (", ..." if len(still) > 4 else "")
    raise EncodingError(
        f"The config has layers without rotary encoding ({shown}); pass layer=... to say which "
        "layer is meant, or ask gnomon.schedule for all of them."
    )


def _rotates(source: Source, layer: int, layer_type: str | None) -> bool:
    """Say whether one layer rotates, by the lists of a config or by the rule of its model type."""
    key = STILL.get(source.model_type)
    if (key and source.said.get(key) is not False) or base_in(source, layer) == 0:
        return False
    listed, interval = source.one("no_rope_layers"), source.one("no_rope_layer_interval")
    if listed is not None and len(_list("no_rope_layers", listed)):
        _check_list(source, "no_rope_layers", listed)
        _check_layer(layer, len(listed))
        return bool(listed[layer])
    if interval is not None:
        checks.whole("no_rope_layer_interval", interval, least=0)
        return not interval or (layer + 1) % int(interval) != 0
    return _has_window(source, layer_type) or _dense_prefix(source, layer)


def _has_window(source: Source, layer_type: str | None) -> bool:
    """Say whether a layer has the window that its model type asks for before it rotates."""
    kind, said = source.model_type, source.said
    if kind not in STILL_IN_FULL:
        return True
    if STILL_IN_FULL[kind] and "sliding_window" in said and not said["sliding_window"]:
        return True
    if layer_type is None:
        raise EncodingError(
            f"The model type {kind!r} encodes layers with a sliding window only, and the config "
            "does not list which they are; add layer_types."
        )
    return layer_type != FULL


def _dense_prefix(source: Source, layer: int) -> bool:
    """Say whether a layer of Cohere2-MoE is one of the dense ones that rotate all the same."""
    if source.model_type != "cohere2_moe":
        return False
    kinds = source.said.get("mlp_layer_types") or ()
    dense = layer < len(kinds) and kinds[layer] == "dense"
    return dense and source.said.get("prefix_dense_sliding_window_pattern", 1) == 1


def base_in(source: Source, layer: int | None) -> Any:
    """Return the base of one layer where a config lists them (0: no encoding), else None."""
    listed = source.said.get("layer_rope_theta")
    if listed is None and source.model_type == "muse_glimmer" and layer is not None:
        # Counted from the last layer, every fourth has no encoding.
        return 0 if (count_layers(source, needed=True) - 1 - layer) % 4 == 0 else None
    if listed is None or layer is None:
        return None
    _check_layer(layer, len(_list("layer_rope_theta", listed)))
    return listed[layer]


def count_layers(source: Source, *, needed: bool = False) -> int:
    """Return how many layers a config has; 0, or a refusal, where it does not say."""
    found = source.whole("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if found is None:
        lists = ("layer_types", "no_rope_layers", "layer_rope_theta")
        found = next((len(source.said[name]) for name in lists if source.said.get(name)), 0)
    if needed and not found:
        raise EncodingError(
            "The config does not say how many layers there are; add num_hidden_layers."
        )
    return found


def _numbers(source: Source) -> range:
    """Return the numbers of all layers; those of a few periods where their count is unsaid."""
    return range(count_layers(source) or _PERIODS)


def _check_layer(layer: int, count: int | None) -> None:
    checks.whole("layer", layer, least=0)
    if count is not None and layer >= count:
        raise EncodingError(f"layer is {layer}, but the config has {count} layers, counted from 0.")


def _names(every: Mapping[str | None, Flat]) -> list[str]:
    return [name for name in every if name is not None]


def _list_types(every: Mapping[str | None, Flat]) -> str:
    return " and ".join(_names(every))


CHUNKED = "chunked_attention"
WITHIN = (SLIDING, "local_attention", "window_attention", "hybrid_sliding")
"""What types of layers with a window are called."""


@dataclass(frozen=True, kw_only=True)
class QueryTemperature:
    """What queries are multiplied by, as it grows with their position.

    >>> QueryTemperature(strength=0.1, length=8192, first=1).at([0, 8191]).round(4).tolist()
    [1.0, 1.0693]
    """

    strength: float
    length: int
    first: int = 0
    form: str = "steps"

    def at(self, positions: ArrayLike) -> NDArray[np.float64]:
        """Return the factor of the query at each position; 1 before position 0."""
        places = np.maximum(np.asarray(positions, dtype=np.float64) + self.first, 0.0)
        if self.form == "power":
            return np.exp(self.strength * np.log1p(places / self.length))
        return 1.0 + self.strength * np.log1p(np.floor(places / self.length))


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerSchedule(Result):
    """One layer: its encoding, and what else it does with positions."""

    layer: int
    layer_type: str | None
    encoding: Encoding
    temperature: QueryTemperature | None = None
    softmax_scale: float | None = None
    """What logits are multiplied by where it is not 1 / sqrt(dimension of a head)."""
    window: int | None = None
    chunk: int | None = None
    rotates_values: bool = False
    attends: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the layer as plain values, its encoding by name and parameters."""
        return {
            "layer": self.layer,
            "layer_type": self.layer_type,
            "encoding": describe(self.encoding),
            "temperature": None if self.temperature is None else vars(self.temperature).copy(),
            "softmax_scale": self.softmax_scale,
            "window": self.window,
            "chunk": self.chunk,
            "rotates_values": self.rotates_values,
            "attends": self.attends,
        }

    def acts_as(self, other: LayerSchedule) -> bool:
        """Whether another layer does the same with positions."""
        mine, theirs = self.to_dict(), other.to_dict()
        return all(mine[name] == theirs[name] for name in mine if name not in _NAMES)


_NAMES = ("layer", "layer_type")


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule(Result):
    """All layers of a model, counted from 0.

    >>> from gnomon.encodings.rotary.config.build import schedule
    >>> said = {"model_type": "cohere2", "hidden_size": 64, "num_attention_heads": 4,
    ...         "num_hidden_layers": 4, "sliding_window": 4096}
    >>> [(layer.encoding.name, layer.window) for layer in schedule(said)]
    [('rope', 4096), ('rope', 4096), ('rope', 4096), ('nope', None)]
    """

    model_type: str
    layers: tuple[LayerSchedule, ...]

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[LayerSchedule]:
        return iter(self.layers)

    def __getitem__(self, layer: int) -> LayerSchedule:
        return self.layers[layer]

    @property
    def uniform(self) -> bool:
        """Whether all layers do the same with positions."""
        return all(layer.acts_as(self.layers[0]) for layer in self.layers)

    def to_dict(self) -> dict[str, Any]:
        """Return the schedule as plain values."""
        return {"model_type": self.model_type, "layers": [each.to_dict() for each in self.layers]}

    def to_dataframe(self) -> Any:
        """Return one row for each layer; needs pandas."""
        from gnomon.results import to_dataframe

        return to_dataframe([each.to_dict() for each in self.layers])


def describe(encoding: Encoding) -> dict[str, Any]:
    """Return an encoding as its name and its parameters."""
    return {"name": encoding.name, "parameters": encoding.parameters}


def temperature_of(
    source: Source, parameters: Mapping[str, Any], *, still: bool
) -> QueryTemperature | None:
    """Return the temperature of a layer, by the keys of its config or the habit of its type."""
    strength = parameters.get("llama_4_scaling_beta")
    if strength is not None:
        checks.real("llama_4_scaling_beta", strength, least=0.0)
        trained = parameters.get("original_max_position_embeddings")
        if trained is None:
            raise EncodingError(
                "The config has llama_4_scaling_beta and no original_max_position_embeddings "
                "beside it; add the length after which queries are sharpened."
            )
        return QueryTemperature(strength=float(strength), length=int(trained))
    if not still:
        return None
    if source.model_type == "beam":
        return QueryTemperature(strength=0.1, length=2048, first=1, form="power")
    if not source.one("attn_temperature_tuning"):
        return None
    strength, length = source.one("attn_scale"), source.one("floor_scale")
    checks.real("temperature", strength, least=0.0)
    checks.whole("temperature_length", length, least=1)
    return QueryTemperature(strength=float(strength), length=int(length), first=1)


def softmax_scale_of(source: Source, encoding: Encoding) -> float | None:
    """Return what logits are multiplied by, None where it is 1 / sqrt(dimension of a head)."""
    if source.model_type not in LOGIT_SCALES:
        return encoding.softmax_scale
    key, usual = LOGIT_SCALES[source.model_type]
    said = source.said.get(key) if key else None
    said = usual if said is None else said
    checks.real(key or "softmax_scale", said, above=0.0)
    return float(said) ** -0.5 if key == "query_pre_attn_scalar" else float(said)


def window_of(source: Source, layer: int, layer_type: str | None) -> int | None:
    """Return the w of a layer that sees lags below w only, or None where it sees all."""
    size, used = _size_of_window(source, layer), source.said.get("use_sliding_window")
    if used not in (None, True, False):
        raise EncodingError(f"The config's use_sliding_window is {used!r}; write true or false.")
    key = WINDOW_KEYS.get(source.model_type, "sliding_window")
    unsaid = size is None and key not in source.said
    if unsaid and (used is True or (layer_type == SLIDING and used is None)):
        raise EncodingError(
            f"Layer {layer} has a sliding window, and the config does not say how long it is; add "
            f"{key}."
        )
    if size is None or used is False:
        return None
    if source.model_type in WINDOW_IN_ALL:
        return size
    if layer_type is not None:
        return size if layer_type in WITHIN else None
    least = source.said.get("max_window_layers")
    if least is not None:
        return size if layer >= int(least) else None
    raise EncodingError(
        f"The config has sliding_window = {size} and does not say in which layers; add layer_types."
    )


def _size_of_window(source: Source, layer: int) -> int | None:
    """Return the window as a number of lags, whatever a model type counts it in."""
    key = WINDOW_KEYS.get(source.model_type, "sliding_window")
    size = source.said.get(key, WINDOWS.get(source.model_type))
    own = source.said.get("per_layer_config")
    if isinstance(own, Mapping):
        part = own.get(layer, own.get(str(layer), {}))
        size = part.get(key, size) if isinstance(part, Mapping) else size
    if not size:
        return None
    checks.whole(key, size, least=1)
    lags = int(size) // 2 if key == "local_attention" else int(size)  # it counts both sides
    if source.model_type in HALVED and source.said.get("use_bidirectional_attention") in (
        True,
        "all",
    ):
        lags = lags // 2 + 1
    return lags + (source.model_type in RADIUS)


def chunk_of(source: Source, layer_type: str | None, *, still: bool) -> int | None:
    """Return the size of the chunks within which a layer attends, or None where it has none."""
    size = source.said.get("attention_chunk_size", CHUNKS.get(source.model_type))
    if size is None or (layer_type != CHUNKED if layer_type is not None else still):
        return None
    checks.whole("attention_chunk_size", size, least=1)
    return int(size)
