r"""Eigenvectors of a triangular matrix, and how far it is from one in which eigenvalues coincide.

T r_i = l_i r_i and y_i* T = l_i y_i* by substitution, |r_i| = 1 and y_i* r_i = 1, so that |y_i| is
the condition of l_i [golub1976]. A change E moves the sum of squares of a cluster with mean m,

    p = sum (l_i - m)^2,    dp = 2 tr(M E),    M = sum (l_i - m) r_i y_i*,

which must become 0 where all of the cluster is one eigenvalue. As |tr(M E)| <= sqrt k |M|_F |E|_2,
no such matrix is nearer than |p| / (2 sqrt k |M|_F), to first order. p is of second order in the
spread and M of first, so that the distance itself is rather twice as large: for two eigenvalues of
a normal matrix it is |p| / (sqrt k |M|_F), half of their gap. All |M|_F come from one Gram matrix,
|M|_F^2 = d* G d with G_ij = (r_i* r_j) conj(y_i* y_j); what rounding may hide in it is added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.complex128]
Indices = NDArray[np.int64]

EPSILON = float(np.finfo(np.float64).eps)
HUGE = 1e60
"""Vectors are kept below this: the condition of a defective eigenvalue is infinite."""


class Eigenvectors:
    """Right and left vectors of every eigenvalue of T, as columns."""

    def __init__(self, form: Matrix) -> None:
        flipped = form.conj().T[::-1, ::-1]
        right = _substituted(form)
        left = _substituted(flipped)[::-1, ::-1]
        self.right = right / np.linalg.norm(right, axis=0)
        left = left / np.linalg.norm(left, axis=0)
        shared = np.diag(left).conj() * np.diag(self.right)  # supports meet in one coordinate
        small = np.abs(shared) < 1.0 / HUGE
        self.left = left / np.where(small, 1.0 / HUGE, shared).conj()
        self._gram = (self.right.conj().T @ self.right) * (self.left.conj().T @ self.left).conj()
        self._sizes = np.abs(self._gram)

    def condition(self, index: int) -> float:
        """Return how much a change of T moves one eigenvalue."""
        return float(np.linalg.norm(self.left[:, index]))

    def distance(self, values: Matrix, members: Indices) -> float:
        """Estimate the distance to a matrix in which these eigenvalues are one."""
        off = values - values.mean()
        gram, sizes = (one[np.ix_(members, members)] for one in (self._gram, self._sizes))
        exact = float((off.conj() @ gram @ off).real)
        hidden = len(self.right) * EPSILON * float(np.abs(off) @ sizes @ np.abs(off))
        moment = abs(complex((off**2).sum()))
        if moment == 0.0:
            return 0.0
        return float(moment / np.sqrt(len(off) * (max(exact, 0.0) + hidden)))


def _substituted(form: Matrix) -> Matrix:
    """Return V with T V = V diag(T), unit triangular up to the scale of columns."""
    size, values = len(form), np.diag(form)
    least = max(EPSILON * float(np.abs(form).max()), float(np.finfo(np.float64).tiny))
    vectors = np.eye(size, dtype=np.complex128)
    for k in range(size - 2, -1, -1):
        apart = values[k] - values[k + 1 :]
        apart = np.where(np.abs(apart) < least, least, apart)
        row = -(form[k, k + 1 :] @ vectors[k + 1 :, k + 1 :]) / apart
        vectors[k, k + 1 :] = row
        large = np.abs(row) > HUGE
        if large.any():
            columns = k + 1 + np.flatnonzero(large)
            vectors[:, columns] /= np.abs(row[large])
    return vectors
