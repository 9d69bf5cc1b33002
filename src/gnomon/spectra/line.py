r"""Positions of several axes along a line from 0: x(t) = t u, so that a lag is one number again.

    W_k -> <W_k, u>,    X -> sum_a u_a X_a,    |x(t) - x(s)| = |u| |t - s|.

The matrix of all places of a picture is Toeplitz in blocks of blocks (`gnomon.spectra.lattice`);
along a line it is Toeplitz, and its kernel is that of a group with one parameter, exp(t sum_a u_a
X_a). Where the X_a do not commute that is so for lines through 0 alone [hall2015 sec. 2.4]: other
rows of a picture have no kernel. By default u is a step on the first axis; where coordinates lie in
a span, as across a picture, it takes n positions from end to end.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Card, Dense, Encoding, Moving, Numbers, in_words
from gnomon.errors import EncodingError, SpectrumError
from gnomon.groups import Commuting, Generator
from gnomon.spectra.checks import real_array

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Line(Moving):
    """The encoding `inner` of several axes at positions t `direction`; the rest is that of `inner`.

    >>> from gnomon.encodings import Rope
    >>> made = Line(inner=Rope(dimension=4, axes=2), direction=(0.0, 2.0))
    >>> made.frequencies.tolist()
    [[0.0], [2.0]]
    """

    direction: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("kinds", "mixes_heads", "on_values", "reads_tokens"):
            object.__setattr__(self, name, getattr(self.inner, name))

    def __getattr__(self, name: str) -> Any:
        """Return what the encoding has beside its positions: heads, slopes, dimension."""
        if name == "inner":  # not yet there while an instance is copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def card(self) -> Card:
        """Return the card of the encoding; any matrices are a group on a line through 0."""
        card: Card = self.inner.card
        level = in_words("L0") if isinstance(self.inner, Dense) else card.level
        return dataclasses.replace(card, level=level)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return those of the encoding, and the direction."""
        return {**self.inner.parameters, "direction": list(self.direction)}

    @property
    def numbers(self) -> dict[str, Floats]:
        """Return the numbers of the encoding."""
        return dict(self.inner.numbers)

    @property
    def step(self) -> float:
        """Return |u|."""
        return float(np.linalg.norm(self.direction))

    @property
    def frequencies(self) -> Floats | None:
        """Return turns along the line, (..., pairs, 1)."""
        known = getattr(self.inner, "frequencies", None)
        if known is not None:
            return np.asarray(known @ np.array(self.direction))[..., None]
        if not isinstance(self.inner, Dense):
            return None
        turns = np.linalg.eigvalsh(1j * self._skew())[..., ::-1][..., : self.inner.block // 2]
        return np.asarray(turns.reshape(*turns.shape[:-2], -1, 1))

    def _skew(self) -> Floats:
        """Return sum_a u_a X_a of matrices, (..., blocks, b, b)."""
        u = np.array(self.direction)[:, None, None, None]
        return np.asarray((self.inner.matrices * u).sum(axis=-4))

    def generator(self, head: int = 0) -> Generator:
        """Return sum_a u_a X_a of a head in blocks."""
        from scipy.linalg import block_diag

        from gnomon.groups import classify

        if isinstance(self.inner, Dense):
            skew = self._skew()
            return classify(block_diag(*(skew if skew.ndim == 3 else skew[head]))).generator()
        known = self.inner.generator(head)
        if not isinstance(known, Commuting):
            raise EncodingError(f"The encoding {self.name!r} has no generator for each axis.")
        return classify(np.tensordot(self.direction, np.stack(known.matrices), axes=1)).generator()

    def moved(self, coordinates: Any, numbers: Numbers, *, xp: Any) -> Any:
        """Return t u of coordinates (..., 1)."""
        del numbers
        return coordinates * xp.asarray(self.direction)


def on_line(encoding: Encoding, direction: Any = None, length: int | None = None) -> Encoding:
    """Return an encoding of several axes along a direction; one of a single axis as it is."""
    if encoding.axes == 1:
        if direction is not None:
            raise SpectrumError(
                f"direction is {direction!r}, and the encoding {encoding.name!r} has one axis; "
                "leave direction out."
            )
        return encoding
    return Line(inner=encoding, direction=_checked(encoding, direction, length))


def _checked(encoding: Encoding, direction: Any, length: int | None) -> tuple[float, ...]:
    """Return a step on every axis that is not 0 everywhere."""
    what = f"{encoding.axes} numbers, the step on every axis"
    if direction is None and (encoding.span is None or length is not None):
        low, high = encoding.span or (0.0, 1.0)
        step = (high - low) / (max(length or 2, 2) - 1) if encoding.span else 1.0
        return (step, *(0.0,) * (encoding.axes - 1))
    if direction is None:
        raise SpectrumError(
            f"The encoding {encoding.name!r} has {encoding.axes} axes whose coordinates lie in "
            f"{encoding.span}; pass direction, {what}."
        )
    u = real_array("direction", direction, what)
    if u.shape != (encoding.axes,) or not u.any():
        raise SpectrumError(
            f"direction is {np.asarray(direction).tolist()!r}, and the encoding {encoding.name!r} "
            f"has {encoding.axes} axes; pass {what}, not all 0."
        )
    return tuple(u.tolist())
