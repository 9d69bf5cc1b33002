r"""What is certified: a function that gives logits at positions, and how it may be asked.

    logits(q, k, t, s) -> (..., n, m)      q (n, d), k (m, d), positions t (n,) or (n, axes), s (m,)

Whatever is to be certified is brought into this form: a pair of maps of queries and keys, one map
for both, or logits themselves. Leading axes are heads, all certified together. A function is asked
twice with the same arguments first: one that does not answer alike can not be certified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import GnomonError, GroupError

Floats = NDArray[np.float64]
Logits = Callable[..., Any]
Map = Callable[[Floats, Floats], Any]
"""(vectors (n, d), positions (n,)) -> vectors (n, e)."""

ENDLESS = 4095.0


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A function of logits, with what must be known to ask it.

    Of a causal one only keys up to their query are looked at. `reach` is the largest position that
    it is asked for; 4095 or more stands for no end, and some laws then look further. `in_order`:
    the tokens between a key and its query count, keys are given in their order, and queries are the
    last of them. One that reads tokens beside queries and keys has the `width` of these, and takes
    them as its last argument, (m, width). `timed`: its positions are the times of a clock
    (`gnomon.groups.clocks`). `narrow`: it computes in a type below float64, whatever it is given;
    `farthest` is then the position near which that is looked at.
    """

    name: str
    dimension: int
    logits: Logits
    causal: bool = False
    axes: int = 1
    whole: bool = False
    reach: float = 4096.0
    in_order: bool = False
    width: int | None = None
    timed: bool = False
    narrow: bool = False
    farthest: float | None = None

    @property
    def ends(self) -> bool:
        """Whether nothing may be asked beyond the reach."""
        return self.whole or self.timed or self.reach < ENDLESS

    def __call__(
        self, q: Floats, k: Floats, t: Floats, s: Floats, tokens: Floats | None = None
    ) -> Floats:
        """Return the logits as float64, or say what is wrong with them."""
        return self.of(q, k, t, s, *(() if tokens is None else (tokens,)))

    def of(self, q: Any, k: Any, *rest: Any) -> Floats:
        """Return the logits of vectors in any type, as float64."""
        found = _asked(self.name, self.logits, q, k, *rest)
        if found.shape[-2:] != (len(q), len(k)):
            raise GroupError(
                f"{self.name} gave an array of shape {found.shape} for {len(q)} queries and "
                f"{len(k)} keys; it must give logits of shape (..., {len(q)}, {len(k)})."
            )
        if np.isnan(found).any():
            raise GroupError(
                f"{self.name} gives NaN at positions up to {self.reach:g}; pass the largest "
                "position at which it gives numbers as its reach."
            )
        return found

    def check(self, rng: np.random.Generator) -> None:
        """Refuse a function that answers the same question in two ways, or changes the question."""
        q, k = rng.normal(size=(2, 3, self.dimension))
        late, early = (
            self.places(np.array(shares)) for shares in ((0.7, 0.8, 1.0), (0.0, 0.2, 0.5))
        )
        late, early = (late, late) if self.in_order else (late, early)
        tokens = None if self.width is None else rng.normal(size=(3, self.width))
        asked = [x for x in (q, k, late, early, tokens) if x is not None]
        before = [x.copy() for x in asked]
        first = self(q, k, late, early, tokens)
        if not all(map(np.array_equal, asked, before)):
            raise GroupError(
                f"{self.name} writes into the vectors or positions that it is given; let it make "
                "arrays of its own."
            )
        second = self(q, k, late, early, tokens)
        if not np.array_equal(first, second):
            raise GroupError(
                f"{self.name} gives other logits when it is asked again; fix its seed, or switch "
                "off what is random in it."
            )

    def places(self, shares: Floats, *, reach: float | None = None) -> Floats:
        """Return positions at shares (n,) in [0, 1] of the reach, on every axis in its own way."""
        span = self.reach if reach is None else reach
        at = span * np.asarray(shares, dtype=np.float64)
        if self.axes > 1:
            ways = np.linspace(1.0, 0.3, self.axes)
            at = at[:, None] * ways
        return np.floor(at) if self.whole else at


def _real(found: NDArray[Any]) -> Floats:
    if found.dtype.kind not in "biuf":
        raise TypeError(f"it gave {found.dtype}")
    return found.astype(np.float64)


def _asked(name: str, function: Callable[..., Any], *given: Any) -> Floats:
    """Return what a user's function gives as float64, or say in a sentence why there is nothing."""
    try:
        with np.errstate(all="ignore"):  # what overflows is seen in the result
            found = np.asarray(function(*given))
        return _real(found)
    except GnomonError:
        raise
    except Exception as error:  # whatever a user's function raises becomes one sentence
        shapes = ", ".join(str(np.shape(x)) for x in given)
        reason = " ".join(str(error).split()) or "no reason given"
        raise GroupError(
            f"{name} gives no real numbers for arrays of shapes {shapes} "
            f"({type(error).__name__}: {reason}); pass a function that does."
        ) from error


def of_maps(
    encode_q: Map, encode_k: Map | None, *, dimension: int, name: str = "the pair", **about: Any
) -> Subject:
    """Return the subject of two maps, or of one that serves queries and keys."""
    keys = encode_q if encode_k is None else encode_k

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Any:
        left, right = (
            _asked(name, encode, x, at) for encode, x, at in ((encode_q, q, t), (keys, k, s))
        )
        for side, made, given in (("queries", left, q), ("keys", right, k)):
            if made.shape[-2:-1] != (len(given),) or made.ndim < 2:
                raise GroupError(
                    f"{name} made {made.shape} of {side} of shape {given.shape}; a map must give "
                    "one vector for each."
                )
        if left.shape[-1] != right.shape[-1]:
            raise GroupError(
                f"{name} makes queries of dimension {left.shape[-1]} and keys of dimension "
                f"{right.shape[-1]}; both must be the same."
            )
        return left @ np.swapaxes(right, -1, -2)

    return Subject(name=name, dimension=dimension, logits=logits, **about)
