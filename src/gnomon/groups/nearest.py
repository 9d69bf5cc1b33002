r"""The nearest matrix in which a cluster is one eigenvalue with given block sizes.

Let S be the staircase of T_11 - mean, D what was dropped for it. The change of X of least Frobenius
norm that leads back to matrices with the structure of S is, to first order, the part of D normal to
them. The normals are Y B Q_1*, with Y = Q [I; Z*] the left vectors and B any traceless matrix that
commutes with S* [demmel1987], [edelman1997]; in these

    <Y B Q_1*, D> = <B, D> = <L* B, L^-1 D>,    |Y B Q_1*| = |L* B|,    L L* = I + Z Z*.

D itself may be 1 + |Z| times larger than this part, which is why D says little in a basis that is
far from orthogonal. Where a structure has so many normals that an orthonormal basis of them costs
too much, all traceless B are taken: the change then takes D away whole, in the cheapest way, and
is an upper bound of the distance. The change is taken away from X and the staircase is made again,
until nothing is left to drop: the distance that is reported was reached, it is no estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from gnomon.groups.clusters import Floats, Part, nearest_members, part_of, schur_of
from gnomon.groups.staircase import (
    Matrix,
    Staircase,
    codimension,
    commuting_basis,
    jordan_chains,
    staircase,
)

STEPS = 8
"""Corrections at most; each squares what is left, so that a good start needs two or three."""

MOST_WORK = 3e8
"""Products at most for an orthonormal basis of the normals: of 32 coordinates in 16 chains of 2."""
TURNS = 300
"""Steps of conjugate gradients at most."""
SETTLED = 1e-3
"""A correction of this share of the distance, or of the size of rounding, is the last one."""


@dataclass(frozen=True)
class Fit:
    """A structure near X: its distance, whether it was reached, and the cluster of X - E there."""

    stairs: Staircase
    part: Part
    distance: float
    reached: bool
    change: Floats


def fit(x: Floats, start: Part, stairs: Staircase, *, real: bool, reach: float, norm: float) -> Fit:
    """Return the structure of `stairs` near X of a norm; not reached, if farther than `reach`."""
    part, change = start, np.zeros_like(x)
    rounding = 8.0 * len(x) * np.finfo(np.float64).eps * norm
    last, distance = np.inf, 0.0
    for _ in range(STEPS):
        dropped = part.centred - stairs.exact
        more = _normal_part(part, stairs, dropped, real=real)
        moved = _norm(more, part)
        if moved > last:
            break
        distance = moved if last == np.inf else float(np.linalg.norm(change + more, 2))
        change, last = change + more, moved
        if distance > reach:
            break
        if moved <= max(rounding, SETTLED * distance):
            return Fit(stairs, part, distance, reached=True, change=change)
        part = _again(x - change, part, real=real)
        redone = staircase(part.centred, weyr=stairs.weyr)
        if redone is None:
            break
        stairs = redone
    return Fit(stairs, part, distance, reached=False, change=change)


def _norm(change: Floats, part: Part) -> float:
    """Return the 2-norm of a real change with columns among those of the left vectors."""
    if 4 * len(part.form) < len(change):
        span = np.linalg.qr(np.concatenate([part.left.real, part.left.imag], axis=1))[0]
        change = np.asarray(span.T @ change)
    return float(np.linalg.norm(change, 2))


def _again(x: Floats, part: Part, *, real: bool) -> Part:
    whole = schur_of(x)
    centre = complex(part.mean.real, 0.0) if real else part.mean
    return part_of(whole, nearest_members(whole, centre, len(part.form)))


class _Normals:
    """The normals Y B Q_1* of one structure, written as L* B: projections and mirror images."""

    def __init__(self, part: Part, stairs: Staircase) -> None:
        self.part = part
        self.inverse = solve_triangular(part.factor, np.eye(len(part.form)), lower=True)
        work = codimension(stairs.weyr) ** 2 * part.form.size
        whole = len(stairs.weyr) == 1 or work > MOST_WORK
        self.span = None if whole else _span(part, stairs)
        self.left = part.left.conj().T @ part.left.conj()
        self.right = part.right.T @ part.right

    def project(self, dropped: Matrix) -> Matrix:
        """Return the normal part of what was dropped."""
        aim = self.inverse @ dropped
        if self.span is None:  # every traceless B: right where S is semisimple, and cheap
            weight = np.vdot(self.inverse, aim) / np.vdot(self.inverse, self.inverse)
            return np.asarray(aim - weight * self.inverse)
        return np.asarray((self.span @ (self.span.conj().T @ aim.reshape(-1))).reshape(aim.shape))

    def mirrored(self, normal: Matrix) -> Matrix:
        """Return the normal part of the complex conjugate of a normal."""
        core = self.inverse.conj().T @ normal
        return self.project(self.left @ core.conj() @ self.right)

    def change(self, normal: Matrix) -> Matrix:
        """Return a normal as a change of X."""
        core = self.inverse.conj().T @ normal
        return np.asarray(self.part.left @ core @ self.part.right.conj().T)


def _span(part: Part, stairs: Staircase) -> Matrix | None:
    """Return an orthonormal basis of L* B, with B = W^-* C* W* and C commuting with J.

    None, where chains are dependent to rounding: entries of X differ by too many orders.
    """
    chains = jordan_chains(stairs)
    try:
        dual = np.linalg.inv(chains).conj().T
    except np.linalg.LinAlgError:
        return None
    commuting = commuting_basis(stairs.sizes).transpose(0, 2, 1)
    normals = part.factor.conj().T @ (dual @ commuting @ chains.conj().T)
    flat = normals.reshape(len(normals), -1)
    return np.linalg.qr((flat / np.linalg.norm(flat, axis=1, keepdims=True)).T)[0]


def _normal_part(part: Part, stairs: Staircase, dropped: Matrix, *, real: bool) -> Floats:
    """Return the real change of X that is normal to the matrices with this structure."""
    normals = _Normals(part, stairs)
    aim = normals.project(dropped)
    if real:
        return np.asarray(normals.change(aim).real)
    return np.asarray(2.0 * normals.change(_with_mirror(normals, aim)).real)


def _with_mirror(normals: _Normals, aim: Matrix) -> Matrix:
    """Solve M + mirrored(M) = aim: a real change is a normal of the cluster plus its conjugate.

    The operator is symmetric for the real inner product: conjugate gradients.
    """
    found, left = np.zeros_like(aim), aim
    way, size = left, float(np.vdot(left, left).real)
    enough = 1e-12 * size
    for _ in range(min(4 * aim.size, TURNS)):  # twice its size, and room for rounding
        if size <= enough:
            break
        image = way + normals.mirrored(way)
        step = size / float(np.vdot(way, image).real)
        found, left = found + step * way, left - step * image
        size, before = float(np.vdot(left, left).real), size
        way = left + size / before * way
    return found
