"""The keys that a config may hold about rotary encoding, so that none is passed over in silence.

A key that nothing reads is a setting that the user believes to have made: a misspelt
`attention_factor`, a `beta_fast` under linear scaling. Each is refused by name with the nearest
known one, unless the caller lists it as ignored. The keys are those of [wolf2020], releases 4 and
5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gnomon.encodings.rotary.config.models import HALF, INTERLEAVED, READ_BY
from gnomon.errors import EncodingError, nearest

if TYPE_CHECKING:
    from gnomon.encodings.rotary.config.source import Source

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
