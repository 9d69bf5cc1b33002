"""One door to all certificates: an encoding, its name, functions, a module, a model.

What is given becomes a function from queries, keys and positions to logits
(`gnomon.groups.logit_function`), made by the room that knows it; laws and levels are then the same
for all [puranik2026].
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from gnomon.encodings import ENTRIES, Encoding, Table, certificate, encoding, in_words
from gnomon.errors import EncodingError, nearest
from gnomon.groups import (
    Certificate,
    LogitFunction,
    certify,
    detect_rounding,
    join_certificates,
    modulo,
    of_maps,
    tolerance_of,
)
from gnomon.numeric import checks

LEAST = 8.0
"""Smallest reach on which laws are looked at."""


def verify(
    subject: Any,
    keys: Any = None,
    *,
    dimension: int | None = None,
    logits: bool = False,
    causal: bool = False,
    whole: bool = False,
    reach: float | None = None,
    axes: int | None = None,
    clock: Any = None,
    promised: str | Iterable[str] | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    **unknown: Any,
) -> Certificate:
    """Return the certificate of an encoding, a module, a model, or functions of your own.

    `subject` is an encoding or the name of one, a layer of Gnomon, a Hugging Face model (its rotary
    function, or the encoding it has instead) or the folder of one, or a map (vectors (n, d),
    positions (n,)) -> vectors: a function or a module, one for queries and keys, or that of queries
    beside a second one for `keys`. With `logits=True` it is a function or module (q, k,
    positions_q, positions_k) -> logits (n, m). A module of self-attention that takes hidden states
    and positions is certified by the logits it makes (`gnomon.torch.attention`).

    Maps need their `dimension`, and may say `causal=True`, `whole=True` (positions are whole
    numbers), `reach=` (the largest position, 4096) and `axes=` (positions are (n, axes), if more
    than one). With a `clock` they are certified in its time. `promised` is a level, or the laws
    that must hold: for an encoding those of its card, else those of L0. `tolerance` is the largest
    residual at which a law holds, a share of the largest logit; without it that follows from the
    type that is computed in (`gnomon.groups.logit_function`).

    >>> verify("alibi", seed=1).level
    'L1 augmented group'
    """
    if unknown:
        raise _unknown(next(iter(unknown)))
    checks.whole("seed", seed, least=0)
    known = _resolve(subject, dimension)
    if isinstance(known, list) and known is not subject:
        how = {"promised": promised, "seed": seed, "tolerance": tolerance}
        _refuse(keys=keys, dimension=dimension, logits=logits or None, clock=clock)
        return _of_layers(known, how)
    about = {"causal": causal or None, "whole": whole or None, "reach": reach, "axes": axes}
    if isinstance(known, Encoding | LogitFunction):
        _refuse(keys=keys, dimension=dimension, logits=logits or None, clock=clock, **about)
    if isinstance(known, Encoding):
        return certificate(known, seed=seed, promised=promised, tolerance=tolerance)
    told = {name: value for name, value in about.items() if value is not None}
    asked = _to_logit_function(known, keys, dimension, _check_reach(told), logits=logits)
    if not isinstance(known, LogitFunction):
        asked = detect_rounding(asked, cut=tolerance is None)
    if tolerance is None:  # rounding is that of positions, also in the time of a clock
        tolerance = tolerance_of(asked)
    asked = asked if clock is None else modulo(asked, clock)
    wanted = "L0" if promised is None else promised
    return certify(asked, promised=wanted, words=in_words, seed=seed, tolerance=tolerance)


def _of_layers(known: list[Any], how: dict[str, Any]) -> Certificate:
    """Return the certificate of a model that treats types of layers differently."""
    made = [
        replace(verify(one.subject, **how), layer_type=one.kind, numbers=one.numbers)
        for one in known
    ]
    return join_certificates(made, known[0].subject.name)


def _unknown(name: str) -> EncodingError:
    """Return the refusal of an argument that there is not, with the nearest name."""
    known = [one for one in inspect.signature(verify).parameters if one != "unknown"]
    return EncodingError(f"verify has no argument {name!r}: {nearest(name, known)}.")


def _check_reach(about: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a function, or refuse a reach or axes that cannot be."""
    reach, axes = about.get("reach", LEAST), about.get("axes", 1)
    if isinstance(reach, bool) or not isinstance(reach, int | float) or not LEAST <= reach < 1e15:
        raise EncodingError(f"reach is {reach!r}; pass the largest position, {LEAST:g} or more.")
    checks.whole("axes", axes, least=1)
    return about


def _resolve(subject: Any, dimension: int | None) -> Any:
    """Return the encoding of a name or a layer, the subject of a model or its folder, or itself."""
    if isinstance(subject, str | PathLike):
        return _of_name(subject)
    if not _is_module(subject):
        return subject
    if isinstance(getattr(subject, "encoding", None), Encoding):
        return subject.encoding
    if hasattr(subject, "config") and dimension is None:
        from gnomon.hf import subject_of_model

        return subject_of_model(subject)
    return subject


def _of_name(name: str | PathLike[str]) -> Any:
    """Return the encoding of a name or file, or what a model's folder, or one of the hub, does."""
    if isinstance(name, str) and name in ENTRIES:
        return _encoding_by_name(name)
    place = Path(name)
    if Table.is_named(str(name)) and not place.is_dir():
        return encoding(name)
    if place.is_dir() or str(name).count("/") == 1:
        from gnomon.hf import subject_of_folder

        return subject_of_folder(name)
    if len(place.parts) > 1 or place.exists():
        raise EncodingError(
            f"There is no folder {str(name)!r} with a model; pass one that has a config.json, or "
            "the name of an encoding."
        )
    return _encoding_by_name(str(name))


def _refuse(**given: Any) -> None:
    """Refuse what only a function has to be told."""
    for name, value in given.items():
        if value is not None:
            raise EncodingError(
                f"{name} is for functions, and an encoding or a model knows it; leave it out."
            )


def _to_logit_function(
    subject: Any, keys: Any, dimension: int | None, about: dict[str, Any], *, logits: bool
) -> LogitFunction:
    """Return what is given as a subject."""
    if isinstance(subject, LogitFunction):
        return subject
    if not callable(subject) or not (keys is None or callable(keys)):
        raise EncodingError(
            f"A {type(subject).__name__} cannot be verified; pass an encoding, its name, a model, "
            "or a function of vectors and positions."
        )
    for one in (subject, keys):
        if inspect.iscoroutinefunction(one):
            raise EncodingError(
                f"{one.__name__} is a coroutine function, which gives nothing when it is called; "
                "write it with def instead of async def."
            )
    if dimension is None:
        raise EncodingError("A function is verified on vectors; pass their dimension=... too.")
    checks.whole("dimension", dimension, least=1)
    if logits and keys is not None:
        raise EncodingError(
            "A function of logits takes queries and keys; leave the second one out."
        )
    if _is_module(subject):
        from gnomon.torch import subject_of_module

        return subject_of_module(subject, keys, dimension=dimension, logits=logits, **about)
    name = getattr(subject, "__name__", type(subject).__name__)
    if logits:
        return LogitFunction(name=name, dimension=dimension, logits=subject, **about)
    return of_maps(subject, keys, dimension=dimension, name=name, **about)


def _is_module(subject: Any) -> bool:
    """Whether something is a module of PyTorch, which is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(subject, torch.nn.Module)


def _encoding_by_name(name: str) -> Encoding:
    """Return an encoding by its name alone: with the parameters of its first example."""
    entry = ENTRIES.get(name)
    return encoding(name, **(dict(entry.examples[0]) if entry and entry.examples else {}))
