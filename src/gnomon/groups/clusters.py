r"""Clusters of eigenvalues: a Schur form that is reordered so that one of them leads.

X = Q [T_11 T_12; 0 T_22] Q* with the cluster in T_11 [bai1993]. With T_11 Z - Z T_22 = T_12 the
spectral projector is Q [I Z; 0 0] Q*, and its norm sqrt(1 + |Z|^2) says how much a change of X
moves the mean of the cluster; single members of a defective cluster move by roots of the change, so
that only the mean is used. Clusters are proposed by single linkage from the coarsest on:
eigenvalues stay together until the longest edge of their spanning tree is cut. Cutting all edges of
that length at once keeps the proposal symmetric, as the eigenvalues of a real matrix are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, rsf2csf, schur

from gnomon.groups.eigenvectors import Eigenvectors
from gnomon.groups.staircase import Matrix

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
ROOT = float(np.sqrt(np.finfo(np.float64).eps))
"""An eigenvalue of condition 1 / ROOT is not told from others by its vectors."""


@dataclass(frozen=True)
class Schur:
    """X = Q T Q* with T upper triangular, and eigenvalues in pairs that are conjugate exactly."""

    form: Matrix
    vectors: Matrix
    eigenvalues: Matrix

    @cached_property
    def eigen(self) -> Eigenvectors:
        """Return the eigenvectors of T, in the coordinates of Q."""
        return Eigenvectors(self.form)


@dataclass(frozen=True)
class Part:
    """The leading block of a cluster: T_11, Q_1, the left vectors Y, and the factor L."""

    form: Matrix
    right: Matrix
    left: Matrix
    factor: Matrix

    @property
    def mean(self) -> complex:
        """Return the mean of the cluster, which is much less sensitive than its members."""
        return complex(np.trace(self.form) / len(self.form))

    @property
    def centred(self) -> Matrix:
        """Return T_11 minus its mean: nilpotent, if all of the cluster is one eigenvalue."""
        return self.form - self.mean * np.eye(len(self.form))

    @property
    def condition(self) -> float:
        """Return the norm of the spectral projector, at least 1."""
        return float(np.linalg.norm(self.factor, 2))


def schur_of(x: Floats) -> Schur:
    """Return the complex Schur form of a real matrix."""
    real, vectors = schur(x, output="real")
    eigenvalues = np.diag(real).astype(np.complex128)
    for k in np.flatnonzero(np.diag(real, -1)):  # standardised: equal diagonal, opposite signs
        turn = np.sqrt(abs(real[k, k + 1])) * np.sqrt(abs(real[k + 1, k]))
        eigenvalues[k : k + 2] = np.array([complex(0.0, turn), complex(0.0, -turn)]) + real[k, k]
    form, turned = rsf2csf(real, vectors)
    order = _matched(np.diag(form), eigenvalues)
    return Schur(form, turned, eigenvalues[order])


def _matched(found: Matrix, exact: Matrix) -> Indices:
    """Return which exact eigenvalue each diagonal entry is: the two of a pair may be swapped."""
    order = np.arange(len(exact))
    for k in np.flatnonzero(exact.imag > 0.0):
        if abs(found[k] - exact[k + 1]) < abs(found[k] - exact[k]):
            order[k], order[k + 1] = k + 1, k
    return order


def part_of(whole: Schur, members: Indices) -> Part:
    """Return the cluster of these eigenvalues as the leading block of a reordered Schur form."""
    size, count = len(members), len(whole.form)
    form, vectors = whole.form, whole.vectors
    if size < count:
        chosen = np.zeros(count, dtype=np.int32)
        chosen[members] = 1
        form, vectors, *_ = lapack.ztrsen(chosen, form, vectors, job="N")
    right = vectors[:, :size]
    if size == count:
        return Part(form, right, right, np.eye(size, dtype=np.complex128))
    lead, rest = form[:size, :size], form[size:, size:]
    solved, scale, _ = lapack.ztrsyl(lead, rest, form[:size, size:], isgn=-1)
    z = solved / scale
    left = right + vectors[:, size:] @ z.conj().T
    # L L* = I + Z Z* by QR of [I Z]*: Z is huge where others are near, and its square loses them.
    factor = np.asarray(np.linalg.qr(np.concatenate([np.eye(size), z.conj().T]), mode="r"))
    factor = factor.conj().T
    return Part(np.triu(lead), right, left, factor)


def single_part(whole: Schur, index: int) -> Part:
    """Return one eigenvalue as a part, by its eigenvectors: no reordering is needed."""
    known = whole.eigen
    if known.condition(index) > 1.0 / ROOT:
        return part_of(whole, np.array([index]))
    right = whole.vectors @ known.right[:, [index]]
    left = whole.vectors @ known.left[:, [index]]
    factor = np.array([[known.condition(index)]], dtype=np.complex128)
    return Part(whole.form[[index]][:, [index]], right, left, factor)


def nearest_members(whole: Schur, mean: complex, count: int) -> Indices:
    """Return the eigenvalues nearest to a mean."""
    return np.argsort(np.abs(whole.eigenvalues - mean), kind="stable")[:count]


def split(points: Matrix) -> list[Indices]:
    """Return the parts that points fall into when the longest edges of their tree are cut."""
    order, parents, edges = _spanning_tree(np.abs(points[:, None] - points[None, :]))
    shortest_cut = max(edges) * (1.0 - 1e-9)
    label = np.zeros(len(points), dtype=np.int64)
    for count, (k, parent, edge) in enumerate(zip(order, parents, edges, strict=True), start=1):
        label[k] = label[parent] if edge < shortest_cut else count
    return [np.flatnonzero(label == name) for name in np.unique(label)]


def _spanning_tree(apart: Floats) -> tuple[list[int], list[int], list[float]]:
    """Return a least spanning tree (Prim): points as they are reached, from which, how far."""
    reach, outside = apart[0].copy(), np.ones(len(apart), dtype=bool)
    outside[0] = False
    origin = np.zeros(len(apart), dtype=np.int64)
    order, parents, edges = [], [], []
    while outside.any():
        k = int(np.argmin(np.where(outside, reach, np.inf)))
        order.append(k)
        parents.append(int(origin[k]))
        edges.append(float(reach[k]))
        outside[k] = False
        nearer = apart[k] < reach
        origin[nearer], reach[nearer] = k, apart[k][nearer]
    return order, parents, edges
