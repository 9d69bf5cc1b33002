"""An encoding of the catalogue as a subject of certificates: its logits, and how it may be asked.

All heads that an encoding tells apart are asked with the same vectors. What its card claims is what
it promises: the laws of its level (`gnomon.groups.certificate`, [puranik2026]), that of caches only
if it is cacheable; and logits in float32 as far as position 131,072. An encoding with a clock
promises what the one inside of it does, in the time of the clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.base import Encoding
from gnomon.encodings.card import in_words
from gnomon.errors import EncodingError
from gnomon.groups import PROMISED, Certificate, LogitFunction, certify, modulo

Floats = NDArray[np.float64]
_REACHES = (4096, 1024, 512, 128, 64, 32, 16, 8)
"""Largest positions that are tried, where an encoding may end."""


def certificate(
    encoding: Any,
    *,
    promised: str | Iterable[str] | None = None,
    seed: int = 0,
    tolerance: float | None = None,
) -> Certificate:
    """Return the certificate of an encoding, which promises what its card claims."""
    subject = _subject_of(encoding)
    subject = modulo(subject, encoding.clock) if encoding.is_one_of("clock") else subject
    promised = _laws_of_card(encoding) if promised is None else promised
    return certify(subject, promised=promised, words=in_words, seed=seed, tolerance=tolerance)


def _laws_of_card(encoding: Any) -> list[str]:
    """Return the laws that the card of an encoding claims."""
    card = encoding.inside.card if encoding.is_one_of("clock") else encoding.card
    level = card.level.partition(" ")[0]
    promised = [law for law in PROMISED[level] if law != "cache" or card.cacheable]
    return [*promised, "dtype", *(["commutators"] if level == "L0" and encoding.axes > 1 else [])]


def _subject_of(encoding: Encoding) -> LogitFunction:
    """Return an encoding as a subject."""
    heads, dimension = encoding.head_count or 1, encoding.query_width

    def logits(q: Floats, k: Floats, t: Floats, s: Floats, *tokens: Floats) -> Any:
        left, right = (np.broadcast_to(x, (heads, *x.shape)) for x in (q, k))
        read = tokens[0] if tokens else None
        return encoding.scores(left, right, t, s, tokens=read)

    whole = not _takes(logits, encoding, 0.5, dimension)
    known = (last for last in _REACHES if _takes(logits, encoding, last - 1, dimension))
    reach = next(known, None)
    if reach is None:
        raise EncodingError(
            f"The encoding {encoding.name!r} has fewer than {_REACHES[-1]} positions, too few to "
            "see a law on; pass one that has more."
        )
    width = encoding.read_width if encoding.reads_tokens else None
    return LogitFunction(
        name=encoding.name,
        dimension=dimension,
        logits=logits,
        causal=encoding.card.causal_only,
        axes=encoding.axes,
        whole=whole,
        reach=float(reach - 1),
        in_order=encoding.in_order,
        width=width,
    )


def _takes(logits: Any, encoding: Encoding, position: float, dimension: int) -> bool:
    """Whether an encoding has something at a position."""
    at = np.full((1, encoding.axes), float(position))
    at = at[:, 0] if encoding.axes == 1 else at
    try:
        logits(np.ones((1, dimension)), np.ones((1, dimension)), at, at)
    except EncodingError:
        return False
    return True
