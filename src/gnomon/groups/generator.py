r"""A generator X = P J P^-1 in blocks, and the group exp(tX) in closed form.

Continuous encodings of the lag by square linear maps F and G with F(0)^T G(0) invertible are
q^T exp((t - s)X) k, up to a change of basis that W_q and W_k absorb [puranik2026]; others of
finitely many coordinates are compressions P exp((t - s)X) Q of such a group. Queries and keys get
the *contragredient* pair

    F(t) = exp((t - r)X)^T,   G(s) = exp((r - s)X),   F(t)^T G(s) = exp((t - s)X),

with any reference r. The same map for both is right only where exp(tX) is orthogonal: X skew.

Bounds. |exp(tX)| stays bounded for t >= 0 exactly if no real part is above 0 and blocks on the
imaginary axis have order 1; for both signs of t, if all blocks are zero or turns: X is similar to a
skew matrix [higham2008 sec. 10.1]. In between it may rise first: a block of order m and real part a
with gain 1 does where |a| < cos(pi / (m + 1)), and for small |a| its hump is near
t = (m - 1) / |a|, earlier otherwise. `growth` looks for it, and bounds it from above by
cond(P) max_blocks e^(at) sum_(r < m) (|g| t)^r / r!.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups import evaluate
from gnomon.groups.blocks import Block
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
ORTHOGONAL = 1e-12
"""Largest |P^T P - I| at which a basis counts as orthogonal."""
STEPS = 513
"""Points of time at which `growth` looks for the largest norm."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Growth(Result):
    """How large exp(tX) becomes for 0 <= t <= until, in the 2-norm."""

    until: float
    largest: float
    """At the points that were looked at, the ends and (order - 1) / |a| of blocks among them."""
    at: float
    end: float
    bound: float
    """What the norm can not exceed anywhere in between."""


class Generator:
    """A direct sum of blocks, in a basis P (its columns) or in the canonical one.

    >>> Generator([Block(frequency=1.0)]).exp(np.pi).round(12) + 0.0
    array([[-1.,  0.],
           [ 0., -1.]])
    """

    def __init__(self, blocks: Iterable[Block], basis: ArrayLike | None = None) -> None:
        self.blocks = tuple(blocks)
        if not self.blocks:
            raise GroupError("A generator without blocks acts on nothing; pass at least one block.")
        self.basis = None if basis is None else _checked_basis(basis, self.dimension)

    def __repr__(self) -> str:
        """Show the blocks, and whether there is a basis."""
        shown = ", ".join(map(repr, self.blocks))
        return f"Generator([{shown}]{'' if self.basis is None else ', basis=...'})"

    @property
    def dimension(self) -> int:
        """Return the size of the matrix."""
        return sum(block.dimension for block in self.blocks)

    @cached_property
    def _inverse(self) -> Floats:
        basis = np.eye(self.dimension) if self.basis is None else self.basis
        return np.asarray(np.linalg.inv(basis), dtype=np.float64)

    @cached_property
    def condition(self) -> float:
        """Return the condition number of the basis, 1 where it is canonical."""
        return 1.0 if self.basis is None else float(np.linalg.cond(self.basis))

    @property
    def matrix(self) -> Floats:
        """Return X."""
        return self._in_basis(_diagonal([block.matrix() for block in self.blocks]))

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Return the eigenvalues, as often as they occur, by their blocks."""
        found = []
        for block in self.blocks:
            value = complex(block.decay, block.frequency)
            pair = [value, value.conjugate()] if block.frequency > 0.0 else [value]
            found += pair * block.order
        return np.array(found)

    @property
    def isometric(self) -> bool:
        """Whether exp(tX) keeps lengths, so that one map serves queries and keys."""
        still = all(b.order == 1 and b.decay == 0.0 for b in self.blocks)
        if self.basis is None or not still:
            return still
        gram = self.basis.T @ self.basis
        return bool(np.abs(gram - np.eye(self.dimension)).max() <= ORTHOGONAL)

    def exp(self, t: ArrayLike) -> Floats:
        """Return exp(tX) at every t, shape (..., dimension, dimension)."""
        steps = reals(t, "t")
        return self._in_basis(_diagonal([block.exp(steps) for block in self.blocks]))

    def on_queries(self, t: ArrayLike, reference: float = 0.0) -> Floats:
        """Return F(t) = exp((t - r)X)^T, which acts on queries."""
        return np.swapaxes(self.exp(reals(t, "t") - reference), -1, -2)

    def on_keys(self, s: ArrayLike, reference: float = 0.0) -> Floats:
        """Return G(s) = exp((r - s)X), which acts on keys."""
        return self.exp(reference - reals(s, "s"))

    def into_blocks(self, x: Floats, side: str) -> Floats:
        """Return vectors (..., dimension) where blocks act: P^T q, or P^-1 k."""
        if self.basis is None:
            return x
        return x @ (self.basis if side == "q" else self._inverse.T)

    def transform(
        self,
        q: ArrayLike,
        k: ArrayLike,
        positions_q: ArrayLike,
        positions_k: ArrayLike | None = None,
        *,
        reference: float = 0.0,
    ) -> tuple[Floats, Floats]:
        """Return queries and keys (..., n, dimension), each carried to its position.

        They are in the coordinates of blocks, O(d) for a vector; q~.k~ is the logit, since the
        basis cancels. One reference serves all: `scores` is right further away.
        """
        at_k = positions_q if positions_k is None else positions_k
        sides = [
            evaluate.checked(self, x, at, side)
            for x, at, side in zip((q, k), (positions_q, at_k), ("q", "k"), strict=True)
        ]
        left, right = (
            evaluate.carried(self, x, at - reference, side)
            for (x, at), side in zip(sides, ("q", "k"), strict=True)
        )
        return left, right

    def scores(
        self,
        q: ArrayLike,
        k: ArrayLike,
        positions_q: ArrayLike,
        positions_k: ArrayLike | None = None,
    ) -> Floats:
        """Return q^T exp((t - s) X) k for all pairs, right at every position.

        Keys after their query get -inf, unless exp(tX) is bounded in both directions.

        >>> gone = Generator([Block(decay=-1.0)])
        >>> gone.scores([[1.0], [1.0]], [[1.0], [1.0]], [0.0, 1e6]).tolist()
        [[1.0, -inf], [0.0, 1.0]]
        """
        at_k = positions_q if positions_k is None else positions_k
        return evaluate.scores(self, q, k, positions_q, at_k)

    def bounded(self, direction: str = "causal") -> bool:
        """Whether |exp(tX)| is bounded for t >= 0 ("causal"), or for all t ("both")."""
        if direction not in ("causal", "both"):
            raise GroupError(f"direction is {direction!r}; pass 'causal' or 'both'.")
        if direction == "both":
            return all(b.decay == 0.0 and b.order == 1 for b in self.blocks)
        return all(b.decay < 0.0 or (b.decay == 0.0 and b.order == 1) for b in self.blocks)

    def causal(self) -> Generator:
        """Return the generator itself where exp(tX) is bounded for t >= 0; else say what grows."""
        growing = self.growing("causal")
        if growing is None:
            return self
        raise GroupError(
            f"The generator has {growing}, so exp(tX) grows without bound with the lag, and a "
            "causal encoding needs one that does not; call .projected() for the same generator "
            "with what grows moved onto the imaginary axis."
        )

    def growing(self, direction: str = "causal") -> str | None:
        """Name the eigenvalue by which exp(tX) is most unbounded, or None where it is bounded.

        >>> Generator([Block(decay=-1.0), Block(decay=0.25)]).growing()
        'the eigenvalue 0.25'
        """
        if self.bounded(direction):
            return None
        size = {"causal": 1.0, "both": -1.0}[direction]
        worst = max(self.blocks, key=lambda b: (max(b.decay, size * b.decay), b.order))
        turn = f" +- {worst.frequency:.6g}i" if worst.frequency > 0.0 else ""
        order = f" in a block of order {worst.order}" if worst.order > 1 else ""
        return f"the eigenvalue {worst.decay:.6g}{turn}{order}"

    def projected(self) -> Generator:
        """Return the generator in the same basis with what grows for t >= 0 taken out.

        Real parts above 0 become 0, and blocks on the imaginary axis that are left with powers of t
        are cut into blocks of order 1: every other block stays as it is.

        >>> Generator([Block(decay=-1.0), Block(decay=0.25, frequency=2.0)]).projected().blocks[1]
        Block(decay=0.0, frequency=2.0, order=1, gain=1.0)
        """
        made: list[Block] = []
        for block in self.blocks:
            steady = Block(frequency=block.frequency)
            made += [block] if block.decay < 0.0 else [steady] * block.order
        return Generator(made, self.basis)

    def growth(self, until: float) -> Growth:
        """Look for the largest norm of exp(tX) for 0 <= t <= until.

        >>> Generator([Block(decay=-0.05, order=3)]).growth(1000.0).at > 30
        True
        """
        if not np.isfinite(until) or until <= 0.0:
            raise GroupError(f"until is {until!r}; pass a time above 0.")
        humps = [(b.order - 1) / -b.decay for b in self.blocks if b.decay < 0.0 and b.order > 1]
        grid = np.concatenate([[0.0], np.geomspace(1e-3 * min(until, 1.0), until, STEPS), humps])
        times = np.unique(grid[grid <= until])
        norms = np.linalg.norm(self.exp(times), ord=2, axis=(-2, -1))
        best = int(np.argmax(norms))
        bound = self.condition * max(_bound(block, until) for block in self.blocks)
        return Growth(
            until=float(until),
            largest=float(norms[best]),
            at=float(times[best]),
            end=float(norms[-1]),
            bound=bound,
        )

    def condition_at(self, t: ArrayLike) -> Floats:
        """Return the condition number of exp(tX) at every t."""
        return np.asarray(np.linalg.cond(self.exp(t)))

    def direct_sum(self, other: Generator) -> Generator:
        """Return the generator that acts by this one and by another, side by side."""
        if self.basis is None and other.basis is None:
            return Generator(self.blocks + other.blocks)
        bases = [np.eye(g.dimension) if g.basis is None else g.basis for g in (self, other)]
        return Generator(self.blocks + other.blocks, _diagonal(bases))

    def restricted(self, *blocks: int) -> Generator:
        """Return the generator on the subspace of some blocks, in the coordinates of these."""
        known = range(len(self.blocks))
        for index in blocks:
            if index not in known:
                raise GroupError(
                    f"There is no block {index!r} among {len(self.blocks)}; pass numbers from 0 to "
                    f"{len(self.blocks) - 1}."
                )
        return Generator(self.blocks[index] for index in blocks)

    def columns(self, block: int) -> Floats:
        """Return the columns of P that span the subspace of one block."""
        first = sum(b.dimension for b in self.blocks[:block])
        basis = np.eye(self.dimension) if self.basis is None else self.basis
        return basis[:, first : first + self.blocks[block].dimension]

    def _in_basis(self, matrices: Floats) -> Floats:
        return matrices if self.basis is None else self.basis @ matrices @ self._inverse


def _checked_basis(basis: ArrayLike, dimension: int) -> Floats:
    """Return a basis as a read-only copy, or say why it is none."""
    array = reals(basis, "basis").copy()
    if array.shape != (dimension, dimension):
        raise GroupError(
            f"The basis has shape {array.shape}, and the blocks act on {dimension} coordinates; "
            f"pass an array of shape ({dimension}, {dimension})."
        )
    if not np.isfinite(array).all() or np.linalg.cond(array) > 1.0 / np.finfo(np.float64).eps:
        raise GroupError("The columns of the basis are not independent; pass an invertible matrix.")
    array.flags.writeable = False
    return array


def _diagonal(parts: list[Floats]) -> Floats:
    """Return matrices (..., d, d) side by side on a diagonal."""
    size = sum(part.shape[-1] for part in parts)
    made = np.zeros((*parts[0].shape[:-2], size, size))
    first = 0
    for part in parts:
        last = first + part.shape[-1]
        made[..., first:last, first:last] = part
        first = last
    return made


def _bound(block: Block, until: float) -> float:
    """Return what e^(at) sum_(r < m) (|g| t)^r / r! does not exceed on [0, until].

    Each term has its largest value at t = r / |a|, or at the end.
    """
    total, factorial = 0.0, 1.0
    for power in range(block.order):
        factorial *= max(power, 1)
        at = until if block.decay >= 0.0 else min(until, power / -block.decay)
        with np.errstate(over="ignore"):
            total += float(np.exp(block.decay * at) * (abs(block.gain) * at) ** power / factorial)
    return total
