r"""A generator X = P J P^-1 in real Jordan blocks, and the group exp(tX) in closed form.

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

Real Jordan blocks, and their exponentials in closed form.

    J = kron(I_m, a I + b [[0, -1], [1, 0]]) + g kron(N, I_2),     b > 0, of dimension 2m
    J = a I_m + g N,                                               b = 0, of dimension m
    exp(tJ) = e^(at) kron(sum_(r < m) (g t)^r / r! N^r, Rot(bt))

N has ones above its diagonal. Every real matrix is similar to a direct sum of such blocks with
g = 1 [horn2013 thm. 3.4.1.5]; g counts the nilpotent part in other units, and is a change of basis.
What exp(tX) does for t >= 0 depends on the blocks alone: constant (a = b = 0), decay, growth,
turns, damped turns, and for m > 1 all of these times powers of t up to m - 1. How it acts on a
vector stands in `gnomon.groups.actions`, for blocks and for the encodings of the catalogue.

Logits of a generator, q^T exp((t - s) X) k, right at every position.

Vectors are taken into blocks once, q by P^T and k by P^-1, and carried there: O(d) for a vector and
block, and no (n, d, d) matrices. Positions are counted from the middle of all before anything is
multiplied, so that times of 1.7e9 seconds keep the precision of their differences; groups that fade
get a reference for each block of pairs (`gnomon.groups.actions`) [sun2022 sec. 3.2 for a decay].

Positions on several axes: A(x) = exp(sum_i x_i X_i), a group exactly if all X_i commute.

    |exp(x X) exp(y Y) - exp(x X + y Y)| is about |[X, Y]| |x y| / 2,

so generators that do not commute give logits that depend on more than the lag: the defect is
reported, and they are refused as a group [hall2015 sec. 5.2]. Skew ones that commute have one
orthogonal basis in which each turns every plane: mixed rotary encoding in a basis [schenck2025].

Products of kernels: exp(t (X (+) Y)) = exp(tX) (x) exp(tY), X (+) Y = X (x) I + I (x) Y.

The blocks of a Kronecker sum follow from those of its parts. Blocks of orders m and n with
eigenvalues x and y make blocks of orders m + n - 1, m + n - 3, ..., |m - n| + 1 with x + y (and,
where both turn, with x + conj(y)) [trampus1966]. The basis is found in closed form, too: with the
degree a + b of e_a (x) e_b, the nilpotent part M lowers degrees by one, and the chain of length
s = m + n - 1 - 2i starts from the vector of degree m + n - 2 - i that M^s sends to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups.actions import (
    Side,
    block_logits,
    causal_logits,
    jordan_weights,
    rotate_run,
    shear_run,
)
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
ORTHOGONAL = 1e-12
"""Largest |P^T P - I| at which a basis counts as orthogonal."""
GROWTH_STEPS = 513
"""Points of time at which `growth` looks for the largest norm."""
KINDS = ("zero", "decay", "growth", "rotation", "damped", "jordan")
COMMUTING = 1e-10
"""Largest commutator, as a share of the norms of its factors, that rounding may leave."""
Complex = NDArray[np.complex128]
SAME = 1e-12
"""Frequencies closer than this share of the larger one are one frequency."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Growth(Result):
    """How large exp(tX) becomes for 0 <= t <= until, in the 2-norm."""

    until: float
    largest: float
    """At the points that were looked at, the ends and (order - 1) / |a| of blocks among them."""
    at: float
    end: float
    bound: float
    """What the norm cannot exceed anywhere in between."""


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
        self.basis = None if basis is None else _read_basis(basis, self.dimension)

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
            _read_vectors(self, x, at, side)
            for x, at, side in zip((q, k), (positions_q, at_k), ("q", "k"), strict=True)
        ]
        left, right = (
            _carry(self, x, at - reference, side)
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
        return _scores(self, q, k, positions_q, at_k)

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
        grid = np.concatenate(
            [[0.0], np.geomspace(1e-3 * min(until, 1.0), until, GROWTH_STEPS), humps]
        )
        times = np.unique(grid[grid <= until])
        norms = np.linalg.norm(self.exp(times), ord=2, axis=(-2, -1))
        best = int(np.argmax(norms))
        bound = self.condition * max(_norm_bound(block, until) for block in self.blocks)
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


def _read_basis(basis: ArrayLike, dimension: int) -> Floats:
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


def _norm_bound(block: Block, until: float) -> float:
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

    def apply(self, x: ArrayLike, t: ArrayLike, *, transposed: bool = False) -> Floats:
        """Return exp(tJ) x, or exp(tJ)^T x, for vectors (..., dimension) and times (...,)."""
        steps = reals(t, "t")
        values = reals(x, "x")
        return self.shear(self.rotate(values, steps, back=transposed), steps, back=transposed)

    def rotate(self, x: Floats, t: Floats, *, back: bool = False) -> Floats:
        """Return what the turns alone do: Rot(bt) on every pair, or back."""
        if self.frequency == 0.0:
            return x
        angles = (self.frequency * t)[..., None]
        cosine, sine = np.cos(angles), np.sin(angles)
        return np.asarray(rotate_run(x, cosine, sine, order=self.order, back=back, xp=np))

    def shear(self, x: Floats, t: Floats, *, back: bool = False) -> Floats:
        """Return what is left without turns: e^(at) sum_r (g t)^r / r! N^r x, or its transpose."""
        width = self.dimension // self.order
        weights = jordan_weights(t[..., None], self.decay, self.gain, self.order, xp=np)
        return np.asarray(shear_run(x, weights, width=width, transposed=back, xp=np))

    def exp(self, t: ArrayLike) -> Floats:
        """Return exp(tJ) at every t, shape (..., dimension, dimension).

        >>> Block(decay=-1.0, order=2).exp(1.0).round(4)
        array([[0.3679, 0.3679],
               [0.    , 0.3679]])
        """
        steps = reals(t, "t")[..., None]
        size = self.dimension
        columns = np.broadcast_to(np.eye(size), (*steps.shape[:-1], size, size))
        return np.swapaxes(self.apply(columns, steps), -1, -2)


def _by_block(generator: Generator, x: Floats, act: Callable[[Block, Floats], Floats]) -> Floats:
    """Return what `act` does to the coordinates of each block."""
    first, made = 0, []
    for block in generator.blocks:
        made.append(act(block, x[..., first : first + block.dimension]))
        first += block.dimension
    return np.concatenate(made, axis=-1)


def _carry(generator: Generator, x: Floats, steps: Floats, side: str) -> Floats:
    """Return exp(tJ)^T x ("q") or exp(-tJ) x ("k")."""
    if side == "q":
        return _by_block(generator, x, lambda b, part: b.apply(part, steps, transposed=True))
    return _by_block(generator, x, lambda b, part: b.apply(part, -steps))


def _scores(generator: Generator, q: ArrayLike, k: ArrayLike, t: ArrayLike, s: ArrayLike) -> Floats:
    """Return logits (..., n, m), -inf on keys after their query unless X is bounded both ways."""
    if any(block.decay > 0.0 for block in generator.blocks):
        generator.causal()
    (left, at_q), (right, at_k) = (
        _read_vectors(generator, q, t, "q"),
        _read_vectors(generator, k, s, "k"),
    )
    both = np.concatenate([at_q.reshape(-1), at_k.reshape(-1)])
    origin = 0.5 * (both.min() + both.max()) if both.size else 0.0
    at_q, at_k = at_q - origin, at_k - origin
    if generator.bounded("both"):
        made = _carry(generator, left, at_q, "q"), _carry(generator, right, at_k, "k")
        return made[0] @ np.swapaxes(made[1], -1, -2)
    sides = [
        Side(vectors=turned, coordinates=places[..., None], places=places[..., None])
        for turned, places in (
            (_rotate_blocks(generator, left, at_q), at_q),
            (_rotate_blocks(generator, right, at_k), at_k),
        )
    ]
    simple = all(block.order == 1 for block in generator.blocks)
    return np.asarray(
        causal_logits(
            sides[0],
            sides[1],
            carry=lambda x, steps, side: _shear_blocks(generator, x, steps[..., 0], side),
            weigh=lambda x, y, ages: _logits_of_pairs(generator, x, y, ages),
            steepness=-min(b.decay for b in generator.blocks) if simple else np.inf,
            xp=np,
        )
    )


def _rotate_blocks(generator: Generator, x: Floats, at: Floats) -> Floats:
    """Return what turns do to either side; they need no reference."""
    return _by_block(generator, x, lambda block, part: block.rotate(part, at, back=True))


def _shear_blocks(generator: Generator, x: Floats, steps: Floats, side: str) -> Floats:
    """Return what is left without turns, of queries or keys."""
    if side == "q":
        return _by_block(generator, x, lambda b, part: b.shear(part, steps, back=True))
    return _by_block(generator, x, lambda b, part: b.shear(part, -steps))


def _logits_of_pairs(generator: Generator, q: Floats, k: Floats, ages: Floats) -> Floats:
    total: Any = 0.0
    first = 0
    for block in generator.blocks:
        part = slice(first, first + block.dimension)
        weights = jordan_weights(ages, block.decay, block.gain, block.order, xp=np)
        width = block.dimension // block.order
        total = total + block_logits(q[..., part], k[..., part], weights, width=width, xp=np)
        first += block.dimension
    return np.asarray(total)


def _read_vectors(
    generator: Generator, x: ArrayLike, positions: ArrayLike, side: str
) -> tuple[Floats, Floats]:
    """Return vectors where blocks act, and their positions, or say what does not fit."""
    array, at = reals(x, "x"), reals(positions, "positions")
    if array.ndim < 2 or array.shape[-1] != generator.dimension:
        raise GroupError(
            f"{side} has shape {array.shape}, and the generator acts on {generator.dimension} "
            f"coordinates; pass an array of shape (..., positions, {generator.dimension})."
        )
    if at.ndim == 0 or at.shape[-1] != array.shape[-2] or not np.isfinite(at).all():
        raise GroupError(
            f"The positions of {side} have shape {at.shape}, and there are {array.shape[-2]} "
            "vectors; pass a finite position for each."
        )
    return generator.into_blocks(array, side), at


def matrix_of(generator: Generator | ArrayLike) -> Floats:
    """Return X of a generator, or a square matrix of finite numbers, or say what is wrong."""
    return generator.matrix if isinstance(generator, Generator) else read_matrix(generator)


def commutator_defect(x: Generator | ArrayLike, y: Generator | ArrayLike) -> float:
    """Return |XY - YX| / (|X| |Y|) in the Frobenius norm, 0 where one of them is 0."""
    one, other = matrix_of(x), matrix_of(y)
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.linalg.norm(one @ other - other @ one)) / sizes if sizes > 0.0 else 0.0


class Commuting:
    """Generators of several axes that commute.

    >>> turn = Generator([Block(frequency=1.0)])
    >>> Commuting([turn, turn]).exp([np.pi / 2, np.pi / 2]).round(12) + 0.0
    array([[-1.,  0.],
           [ 0., -1.]])
    """

    def __init__(
        self, generators: Sequence[Generator | ArrayLike], *, tolerance: float = COMMUTING
    ) -> None:
        self.matrices = tuple(matrix_of(one) for one in generators)
        if not self.matrices:
            raise GroupError("There is no axis without a generator; pass one for each axis.")
        if len({x.shape for x in self.matrices}) > 1:
            shapes = ", ".join(str(x.shape) for x in self.matrices)
            raise GroupError(f"The generators have shapes {shapes}; pass matrices of one size.")
        self.defect = 0.0
        for (i, x), (j, y) in combinations(enumerate(self.matrices), 2):
            found = commutator_defect(x, y)
            if found > tolerance:
                raise GroupError(
                    f"The generators of axes {i} and {j} do not commute: |[X, Y]| is {found:.2g} "
                    f"of |X| |Y|, and {tolerance:.2g} is allowed; logits would not be relative."
                )
            self.defect = max(self.defect, found)

    def exp(self, x: ArrayLike) -> Floats:
        """Return exp(sum_i x_i X_i) for positions (..., axes)."""
        from scipy.linalg import expm

        at = reals(x, "x")
        if at.ndim == 0 or at.shape[-1] != len(self.matrices):
            raise GroupError(
                f"The positions have shape {at.shape}, and there are {len(self.matrices)} axes; "
                f"pass an array of shape (..., {len(self.matrices)})."
            )
        return np.asarray(expm(np.tensordot(at, np.stack(self.matrices), axes=1)))


def kronecker_sum(first: Generator, second: Generator) -> Generator:
    """Return X (+) Y, whose exponential is the Kronecker product of both.

    >>> turn = Generator([Block(frequency=1.0)])
    >>> [block.frequency for block in kronecker_sum(turn, turn).blocks]
    [2.0, 0.0, 0.0]
    """
    blocks, columns = [], []
    for one, left in _block_columns(first):
        for other, right in _block_columns(second):
            found, basis = _sum_of_blocks(one, other)
            blocks += found
            columns.append(np.kron(left, right) @ basis)
    return Generator(blocks, np.concatenate(columns, axis=1))


def _block_columns(generator: Generator) -> list[tuple[Block, Floats]]:
    return [(block, generator.columns(at)) for at, block in enumerate(generator.blocks)]


def _sum_of_blocks(one: Block, other: Block) -> tuple[list[Block], Floats]:
    """Return the blocks of two blocks, and their basis as columns."""
    chains = _chains(one, other)
    decay = one.decay + other.decay
    turns = [(one.frequency + other.frequency, (1, 1))]
    if one.frequency > 0.0 and other.frequency > 0.0:
        turns.append((one.frequency - other.frequency, (1, -1)))
    blocks: list[Block] = []
    columns: list[Floats] = []
    for turn, signs in turns:
        size = max(one.frequency, other.frequency)
        frequency = 0.0 if abs(turn) <= SAME * size else abs(turn)
        seats = np.kron(_seat(one, signs[0]), _seat(other, signs[1]))
        for chain in chains:
            vectors = seats @ chain
            blocks += [Block(decay=decay, frequency=frequency, order=chain.shape[1])] * _copies(
                one, other, frequency
            )
            columns += _real_columns(vectors, turn, frequency, one, other)
    return blocks, np.concatenate(columns, axis=1)


def _copies(one: Block, other: Block, frequency: float) -> int:
    """Return how many real blocks a chain of complex vectors makes."""
    return 2 if frequency == 0.0 and one.frequency > 0.0 and other.frequency > 0.0 else 1


def _seat(block: Block, sign: int) -> Complex:
    """Return the eigenvectors (dimension, order) of a block's turn, or the identity without one."""
    if block.frequency == 0.0:
        return np.eye(block.order, dtype=np.complex128)
    return np.kron(np.eye(block.order), np.array([[1.0], [-1j * sign]]))


def _real_columns(
    vectors: Complex, turn: float, frequency: float, one: Block, other: Block
) -> list[Floats]:
    """Return real columns of a chain: as they are, apart, or paired as a turn has them."""
    if frequency > 0.0:
        sides = (vectors.real, -np.sign(turn) * vectors.imag)
        return [np.stack(sides, axis=-1).reshape(len(vectors), -1)]
    return [vectors.real, vectors.imag] if _copies(one, other, frequency) == 2 else [vectors.real]


def _chains(one: Block, other: Block) -> list[Floats]:
    """Return the Jordan chains (m n, s) of g N (x) I + h I (x) N, the longest first."""
    m, n = one.order, other.order
    left, right = one.gain * np.eye(m, k=1), other.gain * np.eye(n, k=1)
    lower = np.kron(left, np.eye(n)) + np.kron(np.eye(m), right)
    degrees = np.add.outer(np.arange(m), np.arange(n)).reshape(-1)
    found = []
    for place in range(min(m, n)):
        length = m + n - 1 - 2 * place
        there = np.flatnonzero(degrees == m + n - 2 - place)
        vector = np.zeros(m * n)
        sent = np.linalg.matrix_power(lower, length)[:, there]
        vector[there] = np.linalg.svd(sent)[2][-1]
        chain = [vector]
        for _ in range(length - 1):
            chain.append(lower @ chain[-1])
        found.append(np.stack(chain[::-1], axis=1))
    return found


def read_matrix(x: ArrayLike, what: str = "the generator") -> Floats:
    """Return X as float64, or say in one sentence why it is no generator."""
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise GroupError(f"{what} has rows of different lengths; pass a square matrix.") from error
    except (RuntimeError, TypeError) as error:  # as tensors say that they are no arrays
        raise GroupError(f"{what} is no array ({error}); pass a matrix of real numbers.") from error
    if array.dtype.kind not in "biuf":
        kind = "complex" if array.dtype.kind == "c" else str(array.dtype)
        raise GroupError(f"{what} holds {kind} values; pass a matrix of real numbers.")
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise GroupError(f"{what} has shape {array.shape}; pass a square matrix.")
    if array.size == 0:
        raise GroupError(f"{what} is empty; pass a square matrix with at least one row.")
    if np.ma.is_masked(x):
        raise GroupError(f"{what} has masked entries; pass a matrix of real numbers.")
    made: NDArray[np.float64] = array.astype(np.float64)
    if not np.isfinite(made).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(made))[0])
        raise GroupError(
            f"{what} holds {made[row, column]} at row {row}, column {column}; pass finite numbers."
        )
    return made
