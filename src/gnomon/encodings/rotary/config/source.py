"""A model's config as a source of facts: read from a file or mapping, asked by any spelling.

Spellings differ between releases of [wolf2020] and between model types (`rope_theta`,
`rotary_emb_base`; `hidden_size`, `n_embd`). A question names all spellings of one thing: those that
are given must agree; where none is given, the habit of the model type answers
(`gnomon.encodings.rotary.config.models`), and where it has none, nothing does. Nothing is guessed.

A key that nothing reads is a setting that the user believes to have made: a misspelt
`attention_factor`, a `beta_fast` under linear scaling. So that none is passed over in silence, each
is refused by name with the nearest known one, unless the caller lists it as ignored. Keys are those
of [wolf2020], releases 4 and 5.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gnomon.encodings.rotary.config.models import (
    DEFAULTS,
    HALF,
    HEAD_DIMENSIONS,
    INTERLEAVED,
    READ_BY,
    plain_type,
)
from gnomon.errors import EncodingError, nearest
from gnomon.numeric import checks
from gnomon.reading import read_json

Config = Mapping[str, Any] | str | os.PathLike[str]
TEXT_PARTS = ("text_config", "language_config", "llm_config")
"""Where configs of larger models keep the part that reads text."""
PARAMETERS = ("rope_parameters", "rope_scaling")
ABOVE = ("rope_theta", *PARAMETERS, "partial_rotary_factor", "rotary_pct")
"""Keys that belong to the part that reads text, and not above it."""
HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
DEEPEST, MOST, MOST_LAYERS = 30, 200_000, 4096
"""How deep a config may be nested, and how many values and layers it may have."""
LAYERED = re.compile(r"^(num_|n_)?((hidden|encoder|decoder)_)?layers?$")
"""What configs call the number of their layers."""
LONGEST = ("max_position_embeddings", "n_positions", "max_seq_len")


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a config says, and what its model type leaves unsaid."""

    said: Mapping[str, Any]
    ignored: frozenset[str] = frozenset()

    @property
    def model_type(self) -> str:
        """Return the model type, without the ending of a text part; may be empty."""
        return plain_type(str(self.said.get("model_type") or ""))

    def one(self, *names: str) -> Any:
        """Return the one value behind several spellings, or None where nothing answers."""
        found = [(name, self.said[name]) for name in names if self.said.get(name) is not None]
        for name, value in found[1:]:
            if value != found[0][1]:
                raise EncodingError(
                    f"The config says {found[0][0]} = {found[0][1]!r} and {name} = {value!r}, "
                    "which name one thing; keep the right one."
                )
        if found:
            return found[0][1]
        unsaid = DEFAULTS.get(self.model_type, {})
        return next((unsaid[name] for name in names if name in unsaid), None)

    def whole(self, *names: str) -> int | None:
        """Return a whole number behind several spellings, or None where nothing answers."""
        value = self.one(*names)
        if value is not None:
            checks.whole(names[0], value, least=1)
        return None if value is None else int(value)

    @property
    def native(self) -> bool:
        """Whether this is the `params.json` of Meta or Mistral, whose weights are interleaved."""
        return not self.model_type and {"dim", "n_heads", "n_layers"} <= set(self.said)

    @property
    def head(self) -> int:
        """Return the dimension of a head."""
        given = self.whole("head_dim", "kv_channels") or HEAD_DIMENSIONS.get(self.model_type)
        if given is not None:
            return given
        hidden, heads = self.whole(*HIDDEN), self.whole(*HEADS)
        if hidden is None or heads is None:
            missing = HIDDEN[0] if hidden is None else HEADS[0]
            raise EncodingError(
                f"The config has neither head_dim nor {missing}, so the dimension of a head is "
                "unknown; add head_dim."
            )
        if hidden % heads:
            raise EncodingError(
                f"The config's {HIDDEN[0]} is {hidden}, which {heads} heads do not divide; add "
                "head_dim."
            )
        return hidden // heads

    @property
    def longest(self) -> int | None:
        """Return the longest sequence the model is meant for, where it says so."""
        return self.whole(*LONGEST)


def read_config(config: Config, ignore: Iterable[str] = ()) -> Source:
    """Return the part of a config that says how text is encoded, read from a file if need be."""
    said = config if isinstance(config, Mapping) else _from_file(config)
    check_plain(said)
    return _text_part(said, ignore)


def check_plain(said: Mapping[str, Any]) -> None:
    """Refuse a mapping with keys that are no text, or with depths or sizes without end."""
    waiting: list[tuple[Any, int]] = [(said, 0)]
    count = 0
    while waiting:
        part, depth = waiting.pop()
        inside = list(part.values()) if isinstance(part, Mapping) else part
        count += len(inside)
        if depth > DEEPEST or count > MOST:
            raise EncodingError(
                f"The config is nested more than {DEEPEST} deep or has more than {MOST:,} values; "
                "pass that of a model."
            )
        for key in part if isinstance(part, Mapping) else ():
            if not isinstance(key, str | int):  # transformers numbers its labels
                raise EncodingError(f"The config has the key {key!r}; pass keys that are text.")
            if LAYERED.search(str(key)) and isinstance(part[key], int) and part[key] > MOST_LAYERS:
                raise EncodingError(
                    f"The config's {key} is {part[key]}; pass at most {MOST_LAYERS:,} layers."
                )
        waiting += [
            (each, depth + 1) for each in inside if isinstance(each, Mapping | list | tuple)
        ]


def _text_part(said: Mapping[str, Any], ignore: Iterable[str]) -> Source:
    for name in TEXT_PARTS:
        part = said.get(name)
        if isinstance(part, Mapping) and not _reads_text(said):
            _check_above(said, part, name)
            return _text_part({"model_type": said.get("model_type"), **part}, ignore)
    if not isinstance(ignore, Iterable):
        raise EncodingError(f"ignore is {ignore!r}; pass the names of keys, such as ('my_key',).")
    names = (ignore,) if isinstance(ignore, str) else ignore
    return Source(said=said, ignored=frozenset(names))


def _reads_text(said: Mapping[str, Any]) -> bool:
    """Whether a config has sizes of its own: those of larger models leave heads to their parts."""
    return any(key in said for key in HIDDEN) and any(key in said for key in HEADS)


def _check_above(said: Mapping[str, Any], part: Mapping[str, Any], name: str) -> None:
    """Refuse what stands above the part that reads text, and would be dropped in silence."""
    inside = [part[key] for key in PARAMETERS if isinstance(part.get(key), Mapping)]
    for key in ABOVE:
        names = PARAMETERS if key in PARAMETERS else (key,)
        answered = any(part.get(name) is not None for name in names)
        answered = answered or any(_holds(key, held) for held in inside)
        if said.get(key) is not None and not answered:
            raise EncodingError(
                f"The config says {key} = {said[key]!r} beside {name}, where nothing reads it; put "
                f"it into {name}, or take it out."
            )


def _holds(key: str, parameters: Mapping[str, Any]) -> bool:
    """Whether rotary parameters, flat or by type of layer, say a key."""
    held = [parameters, *(each for each in parameters.values() if isinstance(each, Mapping))]
    return any(each.get(key) is not None for each in held)


def _from_file(path: Any) -> Mapping[str, Any]:
    if not isinstance(path, (str, os.PathLike)):
        raise EncodingError(
            f"A config is a mapping or the path of a config.json, not {type(path).__name__}; of a "
            "config object pass its to_dict()."
        )
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    try:
        said = read_json(file)
    except OSError as error:
        raise EncodingError(
            f"The config {file} can not be read ({error.strerror}); check its path."
        ) from error
    except ValueError as error:
        raise EncodingError(f"{file} holds no JSON ({error}); pass a config.json.") from error
    if not isinstance(said, Mapping):
        raise EncodingError(f"{file} holds a JSON {type(said).__name__}; pass a config.json.")
    return said


SHARED = ("rope_type", "type", "rope_theta", "partial_rotary_factor")
SECTIONED = ("mrope_section", "mrope_interleaved", "interleaved")
TRAINED = ("original_max_position_embeddings", "max_position_embeddings")
TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "default": ("llama_4_scaling_beta", *SECTIONED),
        "linear": ("factor", *SECTIONED),
        "dynamic": ("factor", *TRAINED, *SECTIONED),
        "yarn": (
            "llama_4_scaling_beta",
            "factor",
            *TRAINED,
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
            *SECTIONED,
        ),
        "longrope": ("short_factor", "long_factor", "factor", "attention_factor", *TRAINED),
        "llama3": ("factor", "low_freq_factor", "high_freq_factor", *TRAINED, *SECTIONED),
        "proportional": ("factor",),
    }
)
"""By rope type, the keys it reads beside the shared ones."""
ALIASES: Mapping[str, str] = MappingProxyType({"mrope": "default", "su": "longrope"})
TOP = (
    "compress_rope_theta",
    "global_rope_theta",
    "layer_rope_theta",
    "local_rope_theta",
    "no_rope_layer_interval",
    "no_rope_layers",
    "partial_rotary_factor",
    "qk_rope_head_dim",
    "rope_interleave",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_scaling",
    "rope_scaling_layers",
    "rope_theta",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
)
"""What is read beside the parameters, at the top of a config."""
_LIKE_ROTARY = re.compile(r"rope(?!rt)|rotary|theta|yarn|dual_chunk|llama_4_scal|(?<![a-z])ntk")
"""Top keys that speak of rotary encoding; `rope(?!rt)` spares words such as `property`."""
_SAID_IN_VAIN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"bamba": ("attn_rotary_emb",), "gptj": ("rotary",), "stablelm": ("rope_pct",)}
)
"""By model type, top keys of published configs that the code of the model does not read."""
ACTING = frozenset(
    {"alpha", "apply_yarn_scaling", "long_mscale", "short_mscale", "xdrope_section", *SHARED}
    | {key for keys in TYPES.values() for key in keys}
)
"""Keys that change numbers somewhere, so that no caller may pass them over."""


def rope_type(parameters: Mapping[str, Any]) -> str:
    """Return the rope type of flat parameters by its present name."""
    names = [parameters[key] for key in ("rope_type", "type") if parameters.get(key) is not None]
    known = [ALIASES.get(str(name), str(name)) for name in names] or ["default"]
    if known[0] != known[-1]:
        raise EncodingError(
            f"The config says rope_type = {names[0]!r} and type = {names[-1]!r}; keep the right "
            "one."
        )
    if known[0] == "axial":
        raise EncodingError(
            "The config's rope_type is 'axial', by which models turn the patches of pictures in "
            'ways of their own; use gnomon.encoding("rope", axes=2, ...) or "rope-patches".'
        )
    if known[0] not in TYPES:
        every = {*TYPES, *ALIASES}
        raise EncodingError(f"The config's rope_type is {names[0]!r}: {nearest(known[0], every)}.")
    # Early Phi-3 configs call their lists of factors yarn.
    return "longrope" if known[0] == "yarn" and "short_factor" in parameters else known[0]


def check_ignored(ignored: frozenset[str]) -> None:
    """Refuse to pass over a key that changes numbers."""
    for key in sorted(ignored & (ACTING | set(TOP))):
        raise EncodingError(
            f"ignore names {key!r}, which changes the numbers of an encoding; take it out of the "
            "config if the code of the model does not read it."
        )


def check_parameters(kind: str, parameters: Mapping[str, Any], ignored: frozenset[str]) -> None:
    """Refuse a key that this rope type would not read."""
    known = (*SHARED, *TYPES[kind])
    for key in parameters:
        if key not in known and key not in ignored:
            untold = not any(parameters.get(name) for name in ("rope_type", "type"))
            hint = ", and the config names no rope_type" if untold else ""
            raise EncodingError(
                f"The rope type {kind!r} does not read {key!r}{hint}: {nearest(str(key), known)}. "
                "If the code of the model does not read it either, take it out of the config."
            )


def check_top(source: Source) -> None:
    """Refuse a top key that speaks of rotary encoding and that nothing reads."""
    for key, value in source.said.items():
        spoken = value is not None and _LIKE_ROTARY.search(str(key))
        known = (*TOP, *_SAID_IN_VAIN.get(source.model_type, ()))
        if spoken and key not in known and key not in source.ignored:
            raise EncodingError(
                f"The config's key {key!r} is read by nothing here: {nearest(str(key), TOP)}. If "
                "the code of the model does not read it either, take it out of the config."
            )


def check_read(source: Source, parameters: Mapping[str, Any]) -> None:
    """Refuse keys that the code of other model types reads, and that of this one does not."""
    kind = source.model_type
    if kind not in HALF | INTERLEAVED:
        return
    for key, readers in READ_BY.items():
        said = source.said.get(key, parameters.get(key))
        if said is not None and kind not in readers and key not in source.ignored:
            raise EncodingError(
                f"The config's key {key!r} is not read by the code of model type {kind!r}; take it "
                "out, or leave out model_type and pass layout=... where another code reads it."
            )


def check_nested(given: Mapping[str, Any], source: Source) -> tuple[str, ...]:
    """Return the types of layers that parameters are nested by; refuse keys beside them."""
    known = {*SHARED, *(key for keys in TYPES.values() for key in keys)}
    types = [
        key
        for key, value in given.items()
        if isinstance(value, Mapping) or (value is None and key not in known)
    ]
    beside = [key for key in given if key not in types and key not in source.ignored]
    if types and beside:
        raise EncodingError(
            f"The config's rope_parameters hold {beside[0]!r} beside the layer types "
            f"{', '.join(types)}, where nothing reads it; put it into each of them."
        )
    return tuple(types)
