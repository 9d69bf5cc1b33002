"""The base and the scaling that flat parameters of a config describe.

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

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gnomon.encodings.rotary.scaling import UNSCALED, Scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.rotary.config.source import Source

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
    from gnomon.encodings.rotary.scaling import scaling

    return scaling(kind, **_READERS[kind](parameters, source))


def _linear(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    del source
    return {"factor": _needed(parameters, "factor", "linear")}


def _dynamic(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    longest = _longest(parameters, source, "dynamic")
    trained = parameters.get("original_max_position_embeddings", longest)
    if trained != longest:
        raise EncodingError(
            f"The config says original_max_position_embeddings = {trained!r}, and the rope type "
            f"'dynamic' reads max_position_embeddings ({longest}) instead; make them equal."
        )
    return {"factor": _needed(parameters, "factor", "dynamic"), "original_length": longest}


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
    read = {name: _needed(parameters, name, "longrope") for name in lists}
    return {**_grown(parameters, source, "longrope"), **read}


def _llama3(parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    names = ("factor", "low_freq_factor", "high_freq_factor")
    read = {name: _needed(parameters, name, "llama3") for name in names}
    return {**read, "original_length": _trained(parameters, source, "llama3")}


def _grown(parameters: Mapping[str, Any], source: Source, kind: str) -> dict[str, Any]:
    """Return the trained length, the growth of the context and the attention factor."""
    trained = _trained(parameters, source, kind)
    factor = parameters.get("factor")
    if factor is None:
        factor = _longest(parameters, source, kind) / trained
    attention = parameters.get("attention_factor")
    return {"original_length": trained, "factor": factor, "attention": attention}


def _trained(parameters: Mapping[str, Any], source: Source, kind: str) -> int:
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


def _needed(parameters: Mapping[str, Any], name: str, kind: str) -> Any:
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
