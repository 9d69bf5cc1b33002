"""A call of attention: its arguments checked and brought into one form, the same in every library.

Queries, keys and values become (batch, heads, n, d); positions become coordinates (n, axes), or
(batch or 1, heads or 1, n, axes) where sequences differ; segments (batch or 1, n); a mask has four
axes. Wrappers are taken off: a layer of a schedule is its inner encoding or none, and randomised
positions are the places they stand for. What cannot be attention is refused, each in one sentence,
before anything is computed: sizes, flags and numbers alone are looked at, so that the same words
serve PyTorch and JAX.

A rule that reads tokens in order meets buffers longer than the text, and packed documents:
`gnomon.encodings.content.ordering` says what is done about both.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.base import Encoding
from gnomon.encodings.content.ordering import (
    Arrangement,
    arrange,
    check_rising,
    logits_in_order,
    plainly,
    refuse_unfit,
)
from gnomon.encodings.nope import Nope
from gnomon.encodings.scoring import (
    check_order,
    mask_scores,
    read_tokens,
    refuse_tokens,
    with_vectors,
)
from gnomon.encodings.wrappers import Clock, Interleaved, Randomised
from gnomon.errors import EncodingError, nearest
from gnomon.numeric.checks import serves
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from gnomon.encodings.base import Numbers
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

Shape = tuple[int, ...]
_MASKS = ("mask", "segments_q", "segments_k", "tokens")
_NO_MASKS = {**dict.fromkeys(_MASKS), "masked": False}
_WAYS = ("scores", "logits")
"""Methods by which an encoding makes logits otherwise than others do."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionCall:
    """The arguments of one call of attention; a library has a subclass, which reads its arrays."""

    ARGUMENTS: ClassVar[tuple[str, ...]] = (
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
    xp: ClassVar[Namespace]
    q: Array
    k: Array
    v: Array
    numbers: Numbers
    at_q: Coordinates
    at_k: Coordinates
    mask: Array | None
    segments_q: Array | None
    """(batch or 1, n)."""
    segments_k: Array | None
    tokens: Array | None
    leading: Shape
    """The axes before heads, as the caller has them."""
    counted: bool
    """Whether keys stand at 0 ... m-1 and queries at the last n of these."""
    causal: bool
    scale: float
    biased: bool
    """Whether something is added to logits; no encoding at all adds nothing."""
    masked: bool
    """Whether a mask or segments are given, beside what causality asks."""

    if TYPE_CHECKING:
        encoding: Any
        """The encoding, without wrappers; JAX keeps it in what can be compared."""

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Return batch, heads, queries and keys."""
        batch, heads, n, _ = self.q.shape
        return batch, heads, n, self.k.shape[-2]

    @property
    def wide(self) -> Any:
        """Return the type of biases and logits: float32 or better."""
        return self.xp.result_type(self.q.dtype, self.xp.float32)

    @staticmethod
    @abstractmethod
    def read_array(x: Any, name: str, like: Array) -> Array:
        """Return an array of the library beside another; refuse one of another library."""

    @staticmethod
    @abstractmethod
    def is_real(x: Array) -> bool:
        """Whether an array holds floats that can be computed with: those of eight bits cannot."""

    @staticmethod
    @abstractmethod
    def coordinates_of(positions: Any, axes: int, like: Array) -> Coordinates:
        """Return positions as coordinates (..., axes)."""

    @staticmethod
    @abstractmethod
    def count(length: int, like: Array) -> Coordinates:
        """Return coordinates (length, 1) of 0, 1, 2, ..."""

    @staticmethod
    def refuse_arguments(call: str, unknown: Iterable[str], known: Iterable[str]) -> None:
        """Refuse arguments that a call does not have, saying what they are called here."""
        for name in unknown:
            if _caps(name):
                raise EncodingError(
                    f"{call} has no argument {name!r}: logits are not capped here, and no other "
                    "argument does it; leave it out where it caps nothing, or keep the attention "
                    "of the model."
                )
            raise EncodingError(f"{call} has no argument {name!r}: {nearest(name, known)}.")

    @classmethod
    def fields_of(
        cls, q: Array, k: Array, v: Array, definition: Any, numbers: Numbers, given: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the checked fields of a call of arrays of the library, and its `encoding`."""
        _check_vectors(q, k, v, cls.is_real)
        leading, n, m = tuple(q.shape[:-3]), q.shape[-2], k.shape[-2]
        made = cls._places(definition, q, m, given)
        inner, at_q, at_k, counted = definition, *made
        if definition.wraps:
            inner, at_q, at_k, moved = _unwrap(definition, numbers, at_q, at_k, xp=cls.xp)
            counted = counted and not moved
        if n != m:
            _check_cache(inner, n, m)
        unmasked = all(given[name] is None for name in _MASKS)
        return {
            **{
                name: x if x.ndim == 4 else _four_axes(x)
                for name, x in zip("qkv", (q, k, v), strict=True)
            },
            "numbers": numbers,
            "at_q": at_q,
            "at_k": at_k,
            "leading": leading,
            "encoding": inner,
            "counted": counted,
            "causal": _causal_of(inner, given["causal"]),
            "scale": _scale_of(given["scale"], definition, q.shape[-1]),
            "biased": "bias" in inner.kinds and not isinstance(inner, Nope),
            **(_NO_MASKS if unmasked else cls._masks(given, inner, q, m)),
        }

    @classmethod
    def _masks(cls, given: dict[str, Any], inner: Any, q: Array, m: int) -> dict[str, Any]:
        """Return masks, segments and tokens; where none are given there is nothing to check."""
        leading, (heads, n, _) = tuple(q.shape[:-3]), q.shape[-3:]
        mask, tokens, segments = given["mask"], given["tokens"], (None, None)
        if mask is not None:
            mask = cls._mask(mask, (*leading, heads, n, m), q)
        if given["segments_q"] is not None or given["segments_k"] is not None:
            segments = cls._segments(given, leading, n, m, q)
        if tokens is not None:
            tokens = _flatten_tokens(cls.read_array(tokens, "tokens", q), leading)
            refuse_tokens(inner, tokens)
        return {
            "mask": mask,
            "segments_q": segments[0],
            "segments_k": segments[1],
            "tokens": tokens,
            "masked": mask is not None or segments[0] is not None,
        }

    @classmethod
    def _places(
        cls, encoding: Any, q: Array, m: int, given: dict[str, Any]
    ) -> tuple[Coordinates, Coordinates, bool]:
        """Return coordinates of queries and keys, and whether they were counted."""
        n, of_q, of_k = q.shape[-2], given["positions_q"], given["positions_k"]
        if of_q is None and of_k is None:
            if encoding.axes != 1 or n > m:
                _check_counting(encoding, n, m)
            keys = cls.count(m, q)
            return keys[m - n :], keys, True
        of_q, of_k = _both_sides("positions", of_q, of_k, n, m)
        made = [
            _beside(cls.coordinates_of(at, encoding.axes, q), count, name, q, xp=cls.xp)
            for at, count, name in ((of_q, n, "q"), (of_k, m, "k"))
        ]
        if made[0].ndim != made[1].ndim:  # one side is shared: so that both have the same axes
            made = [at if at.ndim == 4 else at[None, None] for at in made]
        return made[0], made[1], False

    @classmethod
    def _mask(cls, mask: Any, size: Shape, q: Array) -> Array:
        """Return a mask that broadcasts to logits of `size`, with four axes."""
        mask = cls.read_array(mask, "mask", q)
        shape = tuple(mask.shape)
        if mask.dtype != cls.xp.bool and not cls.is_real(mask):
            raise EncodingError(
                f"mask holds {mask.dtype}; pass booleans (True: may attend) or floats that are "
                "added."
            )
        pairs = zip(reversed(shape), reversed(size), strict=False)
        if len(shape) > len(size) or not all(serves(a, b) for a, b in pairs):
            raise EncodingError(
                f"mask has shape {shape} and the logits {size}; pass a mask that broadcasts to "
                "them."
            )
        mask = mask.reshape(*[1] * (len(size) - mask.ndim), *shape)
        return _flatten_leading(mask, size[:-3], xp=cls.xp)

    @classmethod
    def _segments(
        cls, given: dict[str, Any], leading: Shape, n: int, m: int, q: Array
    ) -> tuple[Array, Array]:
        """Return the segments of queries and keys, (batch or 1, n) and (batch or 1, m)."""
        both = _both_sides("segments", given["segments_q"], given["segments_k"], n, m)
        made = []
        for values, count, name in zip(both, (n, m), ("segments_q", "segments_k"), strict=True):
            array = cls.read_array(values, name, q)
            shape = tuple(array.shape)
            known = shape[-1:] == (count,) and _broadcasts(shape, (*leading, count))
            if not known and shape != (count,):
                raise EncodingError(
                    f"{name} has shape {shape}; pass a number for each token, of shape ({count},) "
                    f"or {(*leading, count)}."
                )
            beside = array.reshape(*[1] * (len(leading) + 1 - array.ndim), *shape)
            flat = _flatten_leading(beside[..., None, None, :], leading, xp=cls.xp)
            made.append(flat[:, 0, 0])
        return made[0], made[1]

    def own_heads(self, x: Array) -> Array:
        """Return keys or values with each head repeated for the queries that share it."""
        groups = self.q.shape[1] // x.shape[1]
        return x if groups == 1 else self.xp.repeat(x, groups, axis=1)

    def encode(self) -> tuple[Array, Array, Array]:
        """Return queries and keys as seen from their positions, and values with as many heads.

        Keys have fewer heads than queries where heads are treated alike.
        """
        q, k, v, made = self.q, self.k, self.v, self.encoding
        if not {"vectors", "transform"} & set(made.kinds):
            return q, k, v
        own_places = self.at_k.ndim == 4 and self.at_k.shape[1] > 1
        if made.head_count is not None or own_places:
            k, v = self.own_heads(k), self.own_heads(v)
        if "vectors" in made.kinds:
            q = with_vectors(made, q, self.at_q, self.numbers, name="q", xp=self.xp)
            k = with_vectors(made, k, self.at_k, self.numbers, name="k", xp=self.xp)
        if "transform" in made.kinds:
            q, k = self.transform(q, k)
        return q, k, v

    def transform(self, q: Array, k: Array) -> tuple[Array, Array]:
        """Return queries and keys after the transform of the encoding."""
        turn, numbers = self.encoding.apply, self.numbers
        left = turn(q, self.at_q, numbers, side="q", xp=self.xp)
        return left, turn(k, self.at_k, numbers, side="k", xp=self.xp)

    def add_bias(self, logits: Array, at_q: Array, at_k: Array) -> Array:
        """Return logits with the bias added, -inf on later keys where the encoding masks them."""
        given: dict[str, Any] = {"numbers": self.numbers, "xp": self.xp}
        return mask_scores(self.encoding, logits, at_q, at_k, **given)

    def needs_logits(self) -> str | None:
        """Say why the encoding has no route but logits of its own, or None."""
        made = self.encoding
        if "content" in made.kinds:
            return f"{made.name!r} is a rule on content"
        if made.on_values:
            return f"{made.name!r} acts on values, too"
        if any(getattr(type(made), way) is not getattr(Encoding, way) for way in _WAYS):
            return f"{made.name!r} has logits of its own"
        return None

    def logits_in_order(self) -> Array:
        """Return the logits (batch, heads, n, m), -inf on keys that are later than their query."""
        xp = self.xp
        q = xp.astype(self.q, self.wide)
        k = self.own_heads(xp.astype(self.k, self.wide))
        check_order(self.encoding, q, k)
        tokens = None if self.tokens is None else xp.astype(self.tokens, self.wide)
        at_q, at_k = (at if at.ndim == 4 else at[None, None] for at in (self.at_q, self.at_k))
        return logits_in_order(
            self.encoding,
            q,
            k,
            read_tokens(tokens, k, xp=xp),
            at_k,
            self.numbers,
            self._order(at_q, at_k),
            scale=self.scale,
            segments=None if self.segments_k is None else self.segments_k[:, None],
            xp=xp,
        )

    def _order(self, at_q: Coordinates, at_k: Coordinates) -> Arrangement | None:
        """Return the order of queries and keys, or None where it is seen to be the given one."""
        name = self.encoding.name
        if not self.masked:
            if self.counted:
                return None
            if plainly(at_q, at_k):
                check_rising(at_k, name)
                return None
        made = arrange(
            at_q,
            at_k,
            self._hidden_keys(),
            counted=self.counted,
            packed=self.segments_q is not None,
            neighbours=self.encoding.reads_neighbours,
            xp=self.xp,
        )
        refuse_unfit(made.fits, name, counted=self.counted)
        return made

    def _hidden_keys(self) -> Array | None:
        """Return which keys (batch or 1, heads or 1, m) are of no query's segment, or unseen."""
        xp, mask = self.xp, self.mask
        if self.segments_q is not None and self.segments_k is not None:
            apart = self.segments_q[:, :, None] != self.segments_k[:, None, :]
            return xp.all(apart, axis=1)[:, None]
        if mask is None:
            return None
        sees = mask if mask.dtype == xp.bool else mask > xp.finfo(mask.dtype).min
        found = ~xp.any(sees, axis=-2)
        return xp.broadcast_to(found, (*found.shape[:-1], self.k.shape[-2]))


def _caps(name: str) -> bool:
    """Whether an argument of another library caps logits, as c tanh(logits / c) does.

    >>> [_caps(name) for name in ("softcap", "attn_logit_softcapping", "logits_soft_cap", "scale")]
    [True, True, True, False]
    """
    plain = name.lower().replace("_", "")
    return any(word in plain for word in ("softcap", "logitcap", "logitscap"))


def _check_vectors(q: Array, k: Array, v: Array, is_real: Callable[[Array], bool]) -> None:
    """Refuse queries, keys and values that do not go together."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not is_real(x):
            raise EncodingError(
                f"{name} holds {x.dtype}; pass real numbers (floats) of 16, 32 or 64 bits."
            )
        if x.ndim < 3:
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}; pass a tensor of shape "
                "(..., heads, n, dimension)."
            )
    if len({q.dtype, k.dtype, v.dtype}) > 1:
        raise EncodingError(
            f"q, k and v are of {q.dtype}, {k.dtype} and {v.dtype}; pass one type for all three."
        )
    _check_shapes(tuple(q.shape), tuple(k.shape), tuple(v.shape))


def _check_shapes(q: Shape, k: Shape, v: Shape) -> None:
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


def _four_axes(x: Array) -> Array:
    """Return vectors (..., heads, n, d) as (batch, heads, n, d), also where they are empty."""
    return x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])


def _check_counting(encoding: Encoding, n: int, m: int) -> None:
    """Refuse to count positions where queries cannot be the last of the keys."""
    if encoding.axes != 1:
        raise EncodingError(
            f"The encoding {encoding.name!r} has {encoding.axes} axes, so positions cannot be "
            f"counted; pass positions_q and positions_k of shape (..., {encoding.axes})."
        )
    if n > m > 0:  # of no keys it makes no difference where they stand
        raise EncodingError(
            f"There are {n} queries and {m} keys, so queries are not the last of the keys; pass "
            "positions_q and positions_k."
        )


def _check_cache(encoding: Encoding, n: int, m: int) -> None:
    """Refuse a cache where the frequencies follow the length, unless that was fixed."""
    if not encoding.card.cacheable and not encoding.has_fixed_length and n > 0 and m > 0:
        raise EncodingError(
            f"There are {n} queries beside {m} keys of a cache, and the encoding "
            f"{encoding.name!r} changes its frequencies as the sequence grows; pass the queries of "
            "the whole sequence, or fix the length beforehand by encoding.at_length(...)."
        )


def _both_sides(what: str, of_q: Any, of_k: Any, n: int, m: int) -> tuple[Any, Any]:
    """Return positions or segments of both sides; those of queries serve as many keys."""
    of_k = of_q if of_k is None and n == m else of_k
    if of_q is None or of_k is None:
        rest = ", or none of them" if what == "positions" else ""
        raise EncodingError(
            f"There are {n} queries and {m} keys, and {what} for only one side; pass both "
            f"{what}_q and {what}_k{rest}."
        )
    return of_q, of_k


def _beside(at: Coordinates, count: int, name: str, q: Array, *, xp: Namespace) -> Coordinates:
    """Return coordinates as (count, axes), or (batch or 1, heads or 1, count, axes)."""
    shape, leading = tuple(at.shape[:-1]), tuple(q.shape[:-3])
    if shape == (count,):
        return at
    if _broadcasts(shape, (*leading, count)) and shape[-1] == count:
        return _flatten_leading(at[..., None, :, :], leading, xp=xp)
    if _broadcasts(shape, (*leading, q.shape[-3], count)) and shape[-1] == count:
        return _flatten_leading(at, leading, xp=xp)
    raise EncodingError(
        f"The positions of {name} have shape {shape}, and there are {count} vectors in sequences "
        f"of shape {leading}; pass positions of shape ({count},) or {(*leading, count)}."
    )


def _flatten_leading(x: Any, leading: Shape, *, xp: Namespace) -> Any:
    """Return x (..., a, b, c), with first axes that broadcast to `leading`, with four axes."""
    if isinstance(x, Limbs):
        parts = (_flatten_leading(part, leading, xp=xp) for part in (x.whole, x.fraction))
        return Limbs(**dict(zip(("whole", "fraction"), parts, strict=True)))
    if all(size == 1 for size in x.shape[:-3]):
        return x.reshape(1, *x.shape[-3:])
    whole = xp.broadcast_to(x, (*leading, *x.shape[-3:]))
    return whole.reshape(math.prod(leading), *x.shape[-3:])


def _flatten_tokens(tokens: Array, leading: Shape) -> Array:
    """Return what a rule reads, with one axis before heads or tokens."""
    if tokens.ndim < 2 or len(leading) == 1:
        return tokens
    kept = 3 if tokens.ndim == len(leading) + 3 else 2
    return tokens.reshape(math.prod(tokens.shape[:-kept]), *tokens.shape[-kept:])


def _broadcasts(shape: Shape, to: Shape) -> bool:
    """Whether each axis of a shape is 1 or that of another with as many axes."""
    pairs = zip(shape, to, strict=False)
    return len(shape) == len(to) and all(serves(a, b) for a, b in pairs)


def _causal_of(encoding: Encoding, causal: Any) -> bool:
    """Return whether later keys are masked: by default where the encoding cannot do without."""
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


def _scale_of(scale: Any, encoding: Encoding, dimension: int) -> float:
    """Return the factor of q.k: as given, else the encoding's own, else 1 / sqrt(dimension).

    >>> from gnomon.encodings.nope import Nope
    >>> _scale_of(None, Nope(), 64)
    0.125
    """
    if scale is None:
        own = encoding.softmax_scale
        return 1.0 / math.sqrt(dimension) if own is None else own
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not math.isfinite(scale):
        raise EncodingError(f"scale is {scale!r}; pass a finite number.")
    return float(scale)


def _unwrap(
    encoding: Any, numbers: Numbers, at_q: Coordinates, at_k: Coordinates, *, xp: Namespace
) -> tuple[Any, Coordinates, Coordinates, bool]:
    """Return the encoding inside of wrappers, where it sees queries and keys, and if that moved."""
    moved = False
    while True:
        if isinstance(encoding, Interleaved) and encoding.encoded:
            encoding = encoding.inside
        elif isinstance(encoding, Randomised):
            at_q, at_k = (encoding.place(at, numbers["places"], xp=xp) for at in (at_q, at_k))
            encoding, moved = encoding.inner, True
        elif isinstance(encoding, Clock):
            at_q, at_k = (encoding.shown(at, numbers["paces"], xp=xp) for at in (at_q, at_k))
            encoding, moved = encoding.inner, True
        else:
            return encoding, at_q, at_k, moved
