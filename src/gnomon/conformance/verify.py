"""One door to all certificates: an encoding, its name, functions, a module, a model.

What is given is brought into the form of a subject, a function from queries, keys and positions to
logits (`gnomon.groups.subject`), by the room that knows it; laws and levels are then the same for
all [puranik2026].
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from gnomon.encodings.base import Encoding
from gnomon.encodings.card import in_words
from gnomon.encodings.certified import certificate
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import EncodingError
from gnomon.groups.certificate import Certificate
from gnomon.groups.clocks import modulo
from gnomon.groups.subject import Subject, of_maps
from gnomon.groups.verify import TOLERANCE, certify


def verify(
    subject: Any,
    keys: Any = None,
    *,
    dimension: int | None = None,
    logits: bool = False,
    clock: Any = None,
    promised: str | Iterable[str] | None = None,
    seed: int = 0,
    **about: Any,
) -> Certificate:
    """Return the certificate of an encoding, a module, a model, or functions of your own.

    `subject` is an encoding or the name of one, a layer of Gnomon, a Hugging Face model (its rotary
    function), or a map (vectors (n, d), positions (n,)) -> vectors: a function or a module, one for
    queries and keys, or that of queries beside a second one for `keys`. With `logits=True` it is a
    function (q, k, positions_q, positions_k) -> logits (n, m). Maps need their `dimension`, and may
    say `causal=True`, `whole=True` (positions are whole numbers), and `reach=` (the largest
    position). With a `clock` they are certified in its time. `promised` is a level, or the laws
    that must hold: for an encoding those of its card, else those of L0.

    >>> verify("alibi", seed=1).level
    'L1 augmented group'
    """
    known = named(subject) if isinstance(subject, str) else subject
    known = getattr(known, "encoding", known) if _is_module(known) else known
    if isinstance(known, Encoding):
        _refuse(keys=keys, dimension=dimension, logits=logits or None, clock=clock, **about)
        return certificate(known, seed=seed, promised=promised)
    asked, tolerance = _asked(subject, keys, dimension, about, logits=logits)
    asked = asked if clock is None else modulo(asked, clock)
    wanted = "L0" if promised is None else promised
    return certify(asked, promised=wanted, words=in_words, seed=seed, tolerance=tolerance)


def _refuse(**given: Any) -> None:
    """Refuse what only a function has to be told."""
    for name, value in given.items():
        if value is not None:
            raise EncodingError(f"{name} is for functions, and an encoding knows it; leave it out.")


def _asked(
    subject: Any, keys: Any, dimension: int | None, about: dict[str, Any], *, logits: bool
) -> tuple[Subject, float]:
    """Return what is given as a subject, and the residual that its rounding may leave."""
    if _is_module(subject) and hasattr(subject, "config") and dimension is None:
        import torch

        from gnomon.hf.certified import subject_of_model
        from gnomon.torch.certified import rounding_of

        model = subject_of_model(subject)
        return model, rounding_of(model, torch.float32)
    if not callable(subject) or not (keys is None or callable(keys)):
        raise EncodingError(
            f"A {type(subject).__name__} can not be verified; pass an encoding, its name, a model, "
            "or a function of vectors and positions."
        )
    if dimension is None:
        raise EncodingError("A function is verified on vectors; pass their dimension=... too.")
    if _is_module(subject):
        from gnomon.torch.certified import rounding_of, subject_of_module, type_of

        module = subject_of_module(subject, keys, dimension=dimension, **about)
        return module, max(TOLERANCE, rounding_of(module, type_of(subject)))
    name = getattr(subject, "__name__", type(subject).__name__)
    if logits:
        return Subject(name=name, dimension=dimension, logits=subject, **about), TOLERANCE
    return of_maps(subject, keys, dimension=dimension, name=name, **about), TOLERANCE


def _is_module(subject: Any) -> bool:
    """Whether something is a module of PyTorch, which is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(subject, torch.nn.Module)


def named(name: str) -> Encoding:
    """Return an encoding by its name alone: with the parameters of its first example."""
    entry = ENTRIES.get(name)
    return encoding(name, **(dict(entry.examples[0]) if entry and entry.examples else {}))
