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

from gnomon.errors import GroupError

Floats = NDArray[np.float64]
Logits = Callable[..., Any]
Map = Callable[[Floats, Floats], Any]
"""(vectors (n, d), positions (n,)) -> vectors (n, e)."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A function of logits, with what must be known to ask it.

    Of a causal one only keys up to their query are looked at. `reach` is the largest position that
    it is asked for. `in_order`: the tokens between a key and its query count, keys are given in
    their order, and queries are the last of them. One that reads tokens beside queries and keys has
    the `width` of these, and takes them as its last argument, (m, width).
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

    def __call__(
        self, q: Floats, k: Floats, t: Floats, s: Floats, tokens: Floats | None = None
    ) -> Floats:
        """Return the logits as float64, or say what is wrong with them."""
        return self.of(q, k, t, s, *(() if tokens is None else (tokens,)))

    def of(self, q: Any, k: Any, *rest: Any) -> Floats:
        """Return the logits of vectors in any type, as float64."""
        found = np.asarray(self.logits(q, k, *rest), dtype=np.float64)
        if found.shape[-2:] != (len(q), len(k)):
            raise GroupError(
                f"{self.name} gave an array of shape {found.shape} for {len(q)} queries and "
                f"{len(k)} keys; it must give logits of shape (..., {len(q)}, {len(k)})."
            )
        return found

    def check(self, rng: np.random.Generator) -> None:
        """Refuse a function that answers the same question in two ways, or not in numbers."""
        q, k = rng.normal(size=(2, 3, self.dimension))
        late, early = (
            self.places(np.array(shares)) for shares in ((0.7, 0.8, 1.0), (0.0, 0.2, 0.5))
        )
        late, early = (late, late) if self.in_order else (late, early)
        tokens = None if self.width is None else rng.normal(size=(3, self.width))
        first, second = (self(q, k, late, early, tokens) for _ in range(2))
        if not np.array_equal(first, second, equal_nan=True):
            raise GroupError(
                f"{self.name} gives other logits when it is asked again; fix its seed, or switch "
                "off what is random in it."
            )
        if np.isnan(first).any():
            raise GroupError(f"{self.name} gives NaN at positions up to {self.reach:g}.")

    def places(self, shares: Floats, *, reach: float | None = None) -> Floats:
        """Return positions at shares (n,) in [0, 1] of the reach, on every axis in its own way."""
        span = self.reach if reach is None else reach
        at = span * np.asarray(shares, dtype=np.float64)
        if self.axes > 1:
            ways = np.linspace(1.0, 0.3, self.axes)
            at = at[:, None] * ways
        return np.floor(at) if self.whole else at


def of_maps(
    encode_q: Map, encode_k: Map | None, *, dimension: int, name: str = "the pair", **about: Any
) -> Subject:
    """Return the subject of two maps, or of one that serves queries and keys."""
    keys = encode_q if encode_k is None else encode_k

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Any:
        left, right = (
            np.asarray(encode(x, at), dtype=np.float64)
            for encode, x, at in ((encode_q, q, t), (keys, k, s))
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
