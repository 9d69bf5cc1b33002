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
    size = len(nilpotent)
    form, basis = nilpotent.copy(), np.eye(size, dtype=nilpotent.dtype)
    found: list[int] = []
    first, kept = 0, np.inf
    while first < size:
        _, values, right = np.linalg.svd(form[first:, first:])
        nullity = int((values <= threshold).sum()) if weyr is None else weyr[len(found)]
        if nullity == 0 or (found and nullity > found[-1]):
            return None
        if nullity < len(values):
            kept = min(kept, float(values[len(values) - nullity - 1]))
        turn = right[::-1].conj().T  # the null vectors come first
        form[:, first:] = form[:, first:] @ turn
        form[first:, :] = turn.conj().T @ form[first:, :]
        basis[:, first:] = basis[:, first:] @ turn
        form[first:, first : first + nullity] = 0.0
        form[first:, :first] = 0.0
        found.append(nullity)
        first += nullity
    return Staircase(basis, form, tuple(found), kept)


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
