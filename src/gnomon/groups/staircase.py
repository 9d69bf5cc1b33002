r"""The staircase of a nilpotent matrix: block sizes from nullities, by unitary transforms alone.

For N with the single eigenvalue 0 let w_j = dim ker N^j - dim ker N^(j-1) (Weyr's numbers). The
sizes of its Jordan blocks are the conjugate partition: w_j blocks have size j or more. N^j itself
is never formed: a singular value decomposition gives ker N, N is deflated by it, and so on; what is
left is

    Q* N Q = [0 A_12 A_13 ...; 0 0 A_23 ...; ...],    A_(j,j+1) of full column rank w_(j+1)

[kublanovskaya1966], [golub1976]. Singular values up to a threshold count as zero: they are dropped,
so that the staircase belongs exactly to a matrix as near as the dropped part is small.

A Jordan basis follows from the staircase by pushing vectors down its steps, longest chains first,
and the matrices that commute with a Jordan form are known entry by entry [gantmacher1959 ch. VIII].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.complex128]


@dataclass(frozen=True)
class Staircase:
    """Q (`basis`), the exact staircase (`form`), Weyr's numbers, and the smallest value kept."""

    basis: Matrix
    form: Matrix
    weyr: tuple[int, ...]
    kept: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the sizes of the Jordan blocks, largest first."""
        return conjugate(self.weyr)

    @property
    def exact(self) -> Matrix:
        """Return the matrix that has this structure exactly, Q form Q*."""
        return np.asarray(self.basis @ self.form @ self.basis.conj().T)


def conjugate(partition: Sequence[int]) -> tuple[int, ...]:
    """Return the conjugate partition: Weyr's numbers from sizes, and sizes from Weyr's numbers.

    >>> conjugate((3, 1))
    (2, 1, 1)
    """
    return tuple(sum(1 for part in partition if part > j) for j in range(max(partition)))


def codimension(weyr: Sequence[int]) -> int:
    """Return how special a structure is: the codimension of its orbit, sum of w_j^2."""
    return sum(number**2 for number in weyr)


def staircase(
    nilpotent: Matrix, *, threshold: float = 0.0, weyr: Sequence[int] | None = None
) -> Staircase | None:
    """Return the staircase with values up to `threshold` dropped, or with given Weyr's numbers.

    None, if at some step nothing is small enough, or the numbers grow: no structure at all.
    """
    stage: _Stage | None = _Stage.of(nilpotent)
    while stage is not None and not stage.done:
        nullity = stage.nullity(threshold) if weyr is None else weyr[len(stage.weyr)]
        stage = stage.deflated(nullity)
    return None if stage is None else stage.stairs


def staircases(nilpotent: Matrix, thresholds: Sequence[float], most: int) -> list[Staircase]:
    """Return the staircases at growing thresholds with at most so many blocks, each one once.

    Thresholds that drop the same share the decomposition that decides what comes next. Beyond a
    threshold at which everything is dropped there is nothing more to find.
    """
    made: dict[tuple[int, ...], Staircase] = {}
    waiting = [(_Stage.of(nilpotent), list(thresholds))]
    while waiting:
        stage, own = waiting.pop()
        groups: dict[int, list[float]] = {}
        for threshold in own:
            groups.setdefault(stage.nullity(threshold), []).append(threshold)
        for nullity, alike in groups.items():
            further = stage.deflated(nullity) if nullity <= most else None
            if further is not None and further.done:
                made[further.weyr] = further.stairs
            elif further is not None:
                waiting.append((further, alike))
    return list(made.values())


class _Stage:
    """A staircase on its way: what is deflated already, and the decomposition of what is left."""

    def __init__(self, form: Matrix, basis: Matrix, weyr: tuple[int, ...], kept: float) -> None:
        self.form, self.basis, self.weyr, self.kept = form, basis, weyr, kept
        self.first = sum(weyr)

    @classmethod
    def of(cls, nilpotent: Matrix) -> _Stage:
        return cls(nilpotent, np.eye(len(nilpotent), dtype=nilpotent.dtype), (), np.inf)

    @property
    def done(self) -> bool:
        return self.first == len(self.form)

    @property
    def stairs(self) -> Staircase:
        return Staircase(self.basis, self.form, self.weyr, self.kept)

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return np.asarray(np.linalg.svd(self.form[self.first :, self.first :], compute_uv=False))

    def nullity(self, threshold: float) -> int:
        """Return how many singular values of what is left count as zero."""
        return int((self._values <= threshold).sum())

    @cached_property
    def _turned(self) -> tuple[Matrix, Matrix, NDArray[np.float64]]:
        """Return the form and the basis with right singular vectors, the smallest first."""
        first, form, basis = self.first, self.form.copy(), self.basis.copy()
        _, values, right = np.linalg.svd(form[first:, first:])
        turn = right[::-1].conj().T
        form[:, first:] = form[:, first:] @ turn
        form[first:, :] = turn.conj().T @ form[first:, :]
        basis[:, first:] = basis[:, first:] @ turn
        form[first:, :first] = 0.0
        return form, basis, values

    def deflated(self, nullity: int) -> _Stage | None:
        """Return the next stage, with so many null vectors, or None where there are none such."""
        if nullity == 0 or (self.weyr and nullity > self.weyr[-1]):
            return None
        form, basis, values = self._turned
        kept = self.kept
        if nullity < len(values):
            kept = min(kept, float(values[len(values) - nullity - 1]))
        form = form.copy()
        form[self.first :, self.first : self.first + nullity] = 0.0
        return _Stage(form, basis, (*self.weyr, nullity), kept)


def jordan_chains(stairs: Staircase) -> Matrix:
    """Return W with N W = W J: chains by decreasing size, each from its eigenvector upwards.

    Chains are scaled to mean squared length 1; J has ones above the diagonal.
    """
    ends = np.cumsum((0, *stairs.weyr))
    chains: list[list[Matrix]] = []
    for step in range(len(stairs.weyr) - 1, -1, -1):
        rows = slice(ends[step], ends[step + 1])
        for chain in chains:
            chain.append(stairs.form @ chain[-1])
        old = len(chains)
        if old < stairs.weyr[step]:
            tops = [chain[-1][rows] for chain in chains]
            pushed = np.array(tops).reshape(old, stairs.weyr[step]).T
            free = np.eye(stairs.weyr[step]) if old == 0 else np.linalg.svd(pushed)[0]
            for head in free.T[old:]:
                vector = np.zeros(len(stairs.form), dtype=stairs.form.dtype)
                vector[rows] = head
                chains.append([vector])
    columns = [np.array(chain[::-1]).T for chain in chains]
    scaled = [part * np.sqrt(part.shape[1]) / np.linalg.norm(part) for part in columns]
    return np.asarray(stairs.basis @ np.concatenate(scaled, axis=1))


def commuting_basis(sizes: Sequence[int]) -> NDArray[np.float64]:
    """Return a basis (count, k, k) of the traceless matrices that commute with the Jordan form.

    Block (i, j) is constant along its diagonals and zero below the diagonal that ends in the last
    column, or starts in the first row, whichever is higher: min(m_i, m_j) numbers.
    """
    starts = np.cumsum((0, *sizes))
    made: list[NDArray[np.float64]] = []
    identities: list[NDArray[np.float64]] = []
    for i, rows in enumerate(sizes):
        for j, columns in enumerate(sizes):
            for offset in range(max(0, columns - rows), columns):
                one = np.zeros((starts[-1], starts[-1]))
                block = one[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
                block += np.eye(rows, columns, k=offset)
                (identities if i == j and offset == 0 else made).append(one)
    traceless = [
        one / sizes[i] - identities[0] / sizes[0] for i, one in enumerate(identities) if i > 0
    ]
    return np.array(made + traceless).reshape(-1, starts[-1], starts[-1])
