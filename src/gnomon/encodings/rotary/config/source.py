"""A model's config as a source of facts: read from a file or mapping, asked by any spelling.

Spellings differ between releases of [wolf2020] and between model types (`rope_theta`,
`rotary_emb_base`; `hidden_size`, `n_embd`). A question names all spellings of one thing: those that
are given must agree; where none is given, the habit of the model type answers
(`gnomon.encodings.rotary.config.models`), and where it has none, nothing does. Nothing is guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.encodings.rotary.config.models import DEFAULTS, HEAD_DIMENSIONS, plain_type
from gnomon.errors import EncodingError
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
