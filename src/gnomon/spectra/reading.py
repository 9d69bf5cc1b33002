r"""From an encoding to its kernel: by blocks in closed form, or by asking for logits at every lag.

Asked are one query at position n-1 (keys before it, lags n-1 ... 0) and one at position 0 (keys
after it): n logits each. The trace of a transform takes d such rows, one for each unit vector; a
rule on content takes one, with a vector that is drawn from N(0, 1/2) by the seed 0.

Logits that do not depend on the lag alone have no kernel; which encodings these are, their cards
say (levels L3, L4, L6, L7 [puranik2026]). Vectors that are added may have one all the same, p_i.p_j
of the sinusoid, and if not, a matrix (`gnomon.spectra.gram`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Encoding, Interleaved, Kerple, Nope, dimension_of, heads_of
from gnomon.errors import EncodingError, SpectrumError
from gnomon.numeric.reals import reals
from gnomon.spectra.checks import whole
from gnomon.spectra.closed import closed_form
from gnomon.spectra.content import drawn_vector
from gnomon.spectra.kernel import Kernel, LagValues
from gnomon.spectra.line import Line, on_line

Floats = NDArray[np.float64]
LEVELS = ("L0", "L1", "L2", "L5")
"""Levels whose logits see the lag alone."""
NOTES = {
    "transform": "tr A(t) / d: the mean logit of a unit vector at both places, over directions",
    "bias": "the bias as it is added",
    "vectors": "p_i.p_j of the vectors that are added",
    "content": "the logit of one vector at all places, drawn by seed 0: another has another kernel",
}


def kernel_of(encoding: Encoding, *, head: int | None = None, direction: Any = None) -> Kernel:
    """Return the kernel of an encoding, that of one head or the mean over heads.

    With several axes it is the kernel along a line (`gnomon.spectra.line`).

    >>> from gnomon.encodings import Rope
    >>> kernel_of(Rope(dimension=2)).column(3).round(4)
    array([ 1.    ,  0.5403, -0.4161])
    """
    known = on_line(acting(encoding), direction)
    check_head(known, head)
    sees_lags = known.card.level[:2] in LEVELS
    found = closed_form(known, head) if sees_lags or "vectors" in known.kinds else None
    if found is None and not sees_lags:
        raise SpectrumError(
            f"The logits of {known.name!r} do not depend on the lag alone ({known.card.level}), so "
            "it has no kernel; choose an encoding of level L0, L1 or L5."
        )
    kind = kernel_kind(known)
    return Kernel(
        name=encoding.name,
        kind=kind,
        head=head,
        modes=None if found is None else found.even,
        odd=None if found is None else found.odd,
        lag_values=_asked(known, kind, head),
        causal=known.card.causal_only,
        note=NOTES[kind] + _which(known, head),
        grows=bool(found.even.growing.any()) if found is not None else _grows(known),
    )


def as_encoding(encoding: Any) -> Encoding:
    """Return an encoding, or the one of that name or file."""
    from gnomon.encodings import shown

    known = shown(encoding) if isinstance(encoding, str) else encoding
    if not isinstance(known, Encoding):
        raise SpectrumError(
            f"A {type(known).__name__} has no spectrum; pass an encoding, or the name of one."
        )
    return known


def check_head(encoding: Encoding, head: int | None) -> None:
    """Refuse a head that is not there."""
    heads = heads_of(encoding)
    if head is None:
        return
    try:
        whole("head", head, least=0, most=heads - 1)
    except SpectrumError:
        known = "no heads" if heads == 1 else f"{heads}"
        advice = "0 or none" if heads == 1 else f"a whole number from 0 to {heads - 1}"
        rest = "" if heads == 1 else ", or none for their mean"
        raise SpectrumError(
            f"head is {head!r}, and the encoding {encoding.name!r} tells {known} apart; pass "
            f"{advice}{rest}."
        ) from None


def acting(encoding: Encoding) -> Encoding:
    """Return what acts in this layer of a schedule, along its line."""
    if isinstance(encoding, Line) and acting(encoding.inner) is not encoding.inner:
        return dataclasses.replace(encoding, inner=acting(encoding.inner))
    if not isinstance(encoding, Interleaved) or encoding.temperature:
        return encoding
    return encoding.inside if encoding.encoded else Nope(axes=encoding.axes)


def kernel_kind(encoding: Encoding) -> str:
    """Return which part of an encoding its kernel is read from."""
    if encoding.card.level.startswith("L2"):
        return "content"  # a map that is not linear has no trace
    order = ("content", "vectors", "transform", "bias")
    return next(kind for kind in order if kind in encoding.kinds)


def _which(encoding: Encoding, head: int | None) -> str:
    """Return the words for one head of several or their mean, and for a line in several axes."""
    steps = ", ".join(f"{step:.4g}" for step in getattr(encoding, "direction", ()))
    line = f", from 0 along steps of ({steps})" if steps else ""
    if heads_of(encoding) == 1:
        return line
    return (", the mean over heads" if head is None else f", head {head}") + line


def _grows(encoding: Encoding) -> bool | None:
    return True if isinstance(encoding, Kerple) else None


def _asked(encoding: Encoding, kind: str, head: int | None) -> LagValues:
    """Return the function that asks for the kernel at all lags of a length."""
    ask = _ASK[kind]

    def values(length: int) -> tuple[Floats, Floats]:
        keys = np.arange(length, dtype=np.float64)
        try:
            before = ask(encoding, keys[-1:], keys, head)[::-1]
            after = before if encoding.card.causal_only else ask(encoding, keys[:1], keys, head)
        except EncodingError as error:
            raise SpectrumError(
                f"The encoding {encoding.name!r} has no kernel of length {length} ({error}) Pass a "
                "shorter length."
            ) from error
        return np.ascontiguousarray(before), after

    return values


def values_at(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    """Return the positional part of the logits of one query (1, axes) with keys (n, axes)."""
    return _ASK[kernel_kind(encoding)](encoding, query, keys, head)


def _of_head(values: Any, head: int | None) -> Floats:
    """Return rows (heads, 1, n) of one head, or their mean."""
    rows = reals(values, "values")
    rows = rows.reshape(-1, rows.shape[-1])
    return np.asarray(rows.mean(axis=0) if head is None else rows[head % len(rows)])


def _trace(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    dimension, total = dimension_of(encoding), np.zeros(len(keys))
    for unit in np.eye(dimension):
        total += _logits(encoding, unit, query, keys, head, 1.0 / dimension)
    return total


def _content(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    dimension = dimension_of(encoding)
    return _logits(encoding, drawn_vector(dimension), query, keys, head, dimension**-0.5)


def _logits(
    encoding: Encoding, vector: Floats, query: Floats, keys: Floats, head: int | None, scale: float
) -> Floats:
    heads, size = heads_of(encoding), len(vector)
    q = np.broadcast_to(vector, (heads, 1, size))
    k = np.broadcast_to(vector, (heads, len(keys), size))
    return _of_head(encoding.scores(q, k, query, keys, scale=scale), head)


def _bias(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    return _of_head(encoding.bias(query, keys), head)


def _products(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    del head
    left, right = (np.asarray(encoding.vectors(at), dtype=np.float64) for at in (query, keys))
    return np.asarray(left[0] @ right.T)


_ASK = {"transform": _trace, "bias": _bias, "vectors": _products, "content": _content}
