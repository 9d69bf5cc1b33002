"""What attention refuses in every library, each in one sentence, before anything is computed.

Sizes, flags and numbers alone are looked at, so that the same words serve PyTorch and JAX.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gnomon.encodings.base import Encoding
from gnomon.encodings.wrappers import Clock, Interleaved, Randomised
from gnomon.errors import EncodingError, nearest
from gnomon.numeric.checks import serves

if TYPE_CHECKING:
    from gnomon.encodings.base import Numbers
    from gnomon.numeric.arrays import Coordinates, Namespace

Shape = tuple[int, ...]
ARGUMENTS = (
    "positions_q",
    "positions_k",
    "causal",
    "mask",
    "segments_q",
    "segments_k",
    "scale",
    "tokens",
)
"""What attention takes in every library, beside q, k, v, the encoding and the route."""
_WAYS = ("scores", "logits")
"""Methods by which an encoding makes logits otherwise than others do."""


def refuse_arguments(call: str, unknown: Iterable[str], known: Iterable[str]) -> None:
    """Refuse arguments that a call does not have, saying what they are called here."""
    for name in unknown:
        if _caps(name):
            raise EncodingError(
                f"{call} has no argument {name!r}: logits are not capped here, and no other "
                "argument does it; leave it out where it caps nothing, or keep the attention of "
                "the model."
            )
        raise EncodingError(f"{call} has no argument {name!r}: {nearest(name, known)}.")


def _caps(name: str) -> bool:
    """Whether an argument of another library caps logits, as c tanh(logits / c) does.

    >>> [_caps(name) for name in ("softcap", "attn_logit_softcapping", "logits_soft_cap", "scale")]
    [True, True, True, False]
    """
    plain = name.lower().replace("_", "")
    return any(word in plain for word in ("softcap", "logitcap", "logitscap"))


def check_vectors(name: str, shape: Shape, dtype: Any, *, real: bool) -> None:
    """Refuse queries, keys or values that are no vectors of heads."""
    if not real:
        raise EncodingError(
            f"{name} holds {dtype}; pass real numbers (floats) of 16, 32 or 64 bits."
        )
    if len(shape) < 3:
        raise EncodingError(
            f"{name} has shape {shape}; pass a tensor of shape (..., heads, n, dimension)."
        )


def check_shapes(q: Shape, k: Shape, v: Shape) -> None:
    """Refuse queries, keys and values that do not go together."""
    if k[:-1] != v[:-1]:
        raise EncodingError(
            f"k has shape {k} and v {v}; pass as many values as keys, with the same heads."
        )
    if q[-1] != k[-1] or q[:-3] != k[:-3]:
        raise EncodingError(
            f"q has shape {q} and k {k}; pass the same batch and the same dimension of a head."
        )
    if k[-3] == 0 or q[-3] % k[-3]:
        raise EncodingError(
            f"q has {q[-3]} heads and k {k[-3]}; pass query heads that are a multiple of the key "
            "heads."
        )
    if q[-1] == 0:
        raise EncodingError(f"q has shape {q}; pass vectors of one coordinate or more.")


def flat(x: Any, kept: int) -> Any:
    """Return an array with all axes but the last `kept` as one, also where they have no entries."""
    return x.reshape(math.prod(x.shape[:-kept]), *x.shape[-kept:])


def check_counting(encoding: Encoding, n: int, m: int) -> None:
    """Refuse to count positions where queries can not be the last of the keys."""
    if encoding.axes != 1:
        raise EncodingError(
            f"The encoding {encoding.name!r} has {encoding.axes} axes, so positions can not be "
            f"counted; pass positions_q and positions_k of shape (..., {encoding.axes})."
        )
    if n > m > 0:  # of no keys it makes no difference where they stand
        raise EncodingError(
            f"There are {n} queries and {m} keys, so queries are not the last of the keys; pass "
            "positions_q and positions_k."
        )


def check_cache(encoding: Encoding, n: int, m: int) -> None:
    """Refuse a cache where the frequencies follow the length, unless that was fixed."""
    fixed = getattr(getattr(encoding, "scaling", None), "length", None) is not None
    if n != m and not encoding.card.cacheable and not fixed and n > 0 and m > 0:
        raise EncodingError(
            f"There are {n} queries beside {m} keys of a cache, and the encoding "
            f"{encoding.name!r} changes its frequencies as the sequence grows; pass the queries of "
            "the whole sequence, or fix the length beforehand by encoding.at_length(...)."
        )


def both_sides(what: str, of_q: Any, of_k: Any, n: int, m: int) -> tuple[Any, Any]:
    """Return positions or segments of both sides; those of queries serve as many keys."""
    of_k = of_q if of_k is None and n == m else of_k
    if of_q is None or of_k is None:
        rest = ", or none of them" if what == "positions" else ""
        raise EncodingError(
            f"There are {n} queries and {m} keys, and {what} for only one side; pass both "
            f"{what}_q and {what}_k{rest}."
        )
    return of_q, of_k


def check_segments(name: str, shape: Shape, leading: Shape, count: int) -> None:
    """Refuse segments that are not one number for each token."""
    if shape not in ((count,), (*leading, count)):
        raise EncodingError(
            f"{name} has shape {shape}; pass a number for each token, of shape ({count},) or "
            f"{(*leading, count)}."
        )


def unfit_positions(name: str, shape: Shape, leading: Shape, count: int) -> EncodingError:
    """Return the refusal of positions that are not those of the vectors."""
    return EncodingError(
        f"The positions of {name} have shape {shape}, and there are {count} vectors in sequences "
        f"of shape {leading}; pass positions of shape ({count},) or {(*leading, count)}."
    )


def causal_of(encoding: Encoding, causal: Any) -> bool:
    """Return whether later keys are masked: by default where the encoding can not do without."""
    only = encoding.card.causal_only
    if causal is None:
        return bool(only)
    if not isinstance(causal, bool):
        raise EncodingError(f"causal is {causal!r}; pass True, False or None.")
    if only and not causal:
        raise EncodingError(
            f"causal is False, and the encoding {encoding.name!r} is causal only; pass "
            "causal=True, or an encoding for both directions."
        )
    return causal


def scale_of(scale: Any, encoding: Encoding, dimension: int) -> float:
    """Return the factor of q.k: as given, else the encoding's own, else 1 / sqrt(dimension).

    >>> from gnomon.encodings.nope import Nope
    >>> scale_of(None, Nope(), 64)
    0.125
    """
    if scale is None:
        own = encoding.softmax_scale
        return 1.0 / math.sqrt(dimension) if own is None else own
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not math.isfinite(scale):
        raise EncodingError(f"scale is {scale!r}; pass a finite number.")
    return float(scale)


def check_mask(shape: Shape, size: Shape, dtype: Any, *, usable: bool) -> None:
    """Refuse a mask that is neither booleans nor floats, or does not broadcast to the logits."""
    if not usable:
        raise EncodingError(
            f"mask holds {dtype}; pass booleans (True: may attend) or floats that are added."
        )
    pairs = zip(reversed(shape), reversed(size), strict=False)
    if len(shape) > len(size) or not all(serves(a, b) for a, b in pairs):
        raise EncodingError(
            f"mask has shape {shape} and the logits {size}; pass a mask that broadcasts to them."
        )


def needs_logits(encoding: Encoding) -> str | None:
    """Say why an encoding has no route but logits of its own, or None."""
    if "content" in encoding.kinds:
        return f"{encoding.name!r} is a rule on content"
    if encoding.on_values:
        return f"{encoding.name!r} acts on values, too"
    if any(getattr(type(encoding), way) is not getattr(Encoding, way) for way in _WAYS):
        return f"{encoding.name!r} has logits of its own"
    return None


def unwrapped(
    encoding: Any, numbers: Numbers, at_q: Coordinates, at_k: Coordinates, *, xp: Namespace
) -> tuple[Any, Coordinates, Coordinates, bool]:
    """Return the encoding inside of wrappers, where it sees queries and keys, and if that moved."""
    moved = False
    while True:
        if isinstance(encoding, Interleaved) and encoding.encoded:
            encoding = encoding.inside
        elif isinstance(encoding, Randomised):
            at_q, at_k = (encoding.placed(at, numbers["places"], xp=xp) for at in (at_q, at_k))
            encoding, moved = encoding.inner, True
        elif isinstance(encoding, Clock):
            at_q, at_k = (encoding.shown(at, numbers["paces"], xp=xp) for at in (at_q, at_k))
            encoding, moved = encoding.inner, True
        else:
            return encoding, at_q, at_k, moved


def by_head(encoding: Any) -> bool:
    """Whether an encoding treats heads differently, so that each needs a key of its own."""
    return getattr(encoding, "heads", None) is not None
