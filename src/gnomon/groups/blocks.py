r"""Real Jordan blocks, and their exponentials in closed form.

    J = kron(I_m, a I + b [[0, -1], [1, 0]]) + g kron(N, I_2),     b > 0, of dimension 2m
    J = a I_m + g N,                                               b = 0, of dimension m
    exp(tJ) = e^(at) kron(sum_(r < m) (g t)^r / r! N^r, Rot(bt))

N has ones above its diagonal. Every real matrix is similar to a direct sum of such blocks with
g = 1 [horn2013 thm. 3.4.1.5]; g counts the nilpotent part in other units, and is a change of basis.
What exp(tX) does for t >= 0 depends on the blocks alone: constant (a = b = 0), decay, growth,
turns, damped turns, and for m > 1 all of these times powers of t up to m - 1. How it acts on a
vector stands in `gnomon.groups.actions`, for blocks and for the encodings of the catalogue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups.actions import jordan_weights, run_carried, run_turned
from gnomon.numeric.checks import reals

Floats = NDArray[np.float64]
KINDS = ("zero", "decay", "growth", "rotation", "damped", "jordan")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block: `decay` a (below 0 it decays), `frequency` b >= 0, `order` m, `gain` g.

    >>> Block(frequency=0.5).kind, Block(decay=-0.05, order=3).dimension
    ('rotation', 3)
    """

    decay: float = 0.0
    frequency: float = 0.0
    order: int = 1
    gain: float = 1.0

    def __post_init__(self) -> None:
        for name in ("decay", "frequency", "gain"):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
                raise GroupError(f"{name} of a block is {value!r}; pass a finite number.")
            object.__setattr__(self, name, float(value))
        if self.frequency < 0.0:
            raise GroupError(
                f"frequency of a block is {self.frequency!r}; pass 0 or more: a turn the other way "
                "is the same block in another basis."
            )
        if isinstance(self.order, bool) or self.order != int(self.order) or self.order < 1:
            raise GroupError(f"order of a block is {self.order!r}; pass a whole number from 1 on.")
        if self.order > 1 and self.gain == 0.0:
            raise GroupError(
                f"gain of a block of order {self.order} is 0, so it is {self.order} blocks of "
                "order 1; pass these, or another gain."
            )

    @property
    def kind(self) -> str:
        """Name what the block is: zero, decay, growth, rotation, damped, or jordan (order > 1)."""
        if self.order > 1:
            return "jordan"
        if self.decay > 0.0:
            return "growth"
        if self.frequency > 0.0:
            return "damped" if self.decay < 0.0 else "rotation"
        return "decay" if self.decay < 0.0 else "zero"

    @property
    def dimension(self) -> int:
        """Return the size of the matrix."""
        return self.order * (2 if self.frequency > 0.0 else 1)

    def matrix(self) -> Floats:
        """Return J (dimension, dimension)."""
        upper = self.gain * np.eye(self.order, k=1)
        if self.frequency == 0.0:
            return self.decay * np.eye(self.order) + upper
        turn = np.array([[self.decay, -self.frequency], [self.frequency, self.decay]])
        return np.kron(np.eye(self.order), turn) + np.kron(upper, np.eye(2))

    def acting(self, x: ArrayLike, t: ArrayLike, *, transposed: bool = False) -> Floats:
        """Return exp(tJ) x, or exp(tJ)^T x, for vectors (..., dimension) and times (...,)."""
        steps = reals(t, "t")
        values = reals(x, "x")
        return self.sheared(self.turned(values, steps, back=transposed), steps, back=transposed)

    def turned(self, x: Floats, t: Floats, *, back: bool = False) -> Floats:
        """Return what the turns alone do: Rot(bt) on every pair, or back."""
        if self.frequency == 0.0:
            return x
        angles = (self.frequency * t)[..., None]
        cosine, sine = np.cos(angles), np.sin(angles)
        return np.asarray(run_turned(x, cosine, sine, order=self.order, back=back, xp=np))

    def sheared(self, x: Floats, t: Floats, *, back: bool = False) -> Floats:
        """Return what is left without turns: e^(at) sum_r (g t)^r / r! N^r x, or its transpose."""
        width = self.dimension // self.order
        weights = jordan_weights(t[..., None], self.decay, self.gain, self.order, xp=np)
        return np.asarray(run_carried(x, weights, width=width, transposed=back, xp=np))

    def exp(self, t: ArrayLike) -> Floats:
        """Return exp(tJ) at every t, shape (..., dimension, dimension).

        >>> Block(decay=-1.0, order=2).exp(1.0).round(4)
        array([[0.3679, 0.3679],
               [0.    , 0.3679]])
        """
        steps = reals(t, "t")[..., None]
        size = self.dimension
        columns = np.broadcast_to(np.eye(size), (*steps.shape[:-1], size, size))
        return np.swapaxes(self.acting(columns, steps), -1, -2)
