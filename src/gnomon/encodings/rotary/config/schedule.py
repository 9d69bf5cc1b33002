"""What each layer of a model does with positions, as its config says: a schedule over its depth.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import Encoding
from gnomon.encodings.rotary.config.layers import SLIDING
from gnomon.encodings.rotary.config.models import (
    CHUNKS,
    HALVED,
    LOGIT_SCALES,
    RADIUS,
    WINDOW_IN_ALL,
    WINDOW_KEYS,
    WINDOWS,
)
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.results import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from gnomon.encodings.rotary.config.source import Source

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
