r"""Which clusters of eigenvalues are one eigenvalue: the most special structure within a distance.

From the coarsest cluster on: candidates are the staircases of T_11 - mean at growing thresholds,
the most special (largest codimension) first, and one is taken if the nearest matrix with that
structure is within delta of X. Otherwise the cluster is split and its parts are tried. A candidate
that is farther away, but within 300 delta, is kept as a near miss: X may be it with noise that is
larger than was thought.

Two necessary conditions spare most of the work. If N = S + D with S nilpotent, no eigenvalue of N
is farther from 0 than (|N| + |S|)^(1 - 1/k) |D|^(1/k) [elsner1985]; and X - mean has a singular
value that is no larger than the distance to a matrix with that eigenvalue.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gnomon.groups.clusters import (
    Floats,
    Indices,
    Part,
    Schur,
    part_of,
    schur_of,
    single_part,
    split,
)
from gnomon.groups.nearest import Fit, fit
from gnomon.groups.staircase import Matrix, Staircase, codimension, staircases

NEAR = 300.0
"""A structure up to this many times the tolerance away is worth a warning."""
FARTHEST = 1e-6
"""But no farther than this share of |X|, unless the tolerance itself is larger."""
FAR = 8.0
"""A cluster estimated to be so many times farther than that is not examined."""
SENSITIVE = 30.0
"""Condition from which a single eigenvalue may be one of a cluster that was not seen."""
AMPLIFIED = 1e6
"""What is dropped in a cluster may be this many times larger than the distance in X."""
COARSEST = 1e-4
"""Beyond this share of |X| nothing is dropped that is above `NEAR` tolerances."""

_ONE = np.eye(1, dtype=np.complex128)
SINGLE = Staircase(_ONE, 0.0 * _ONE, (1,), np.inf)
"""The staircase of a simple eigenvalue."""


@dataclass(frozen=True)
class Cluster:
    """Eigenvalues that are one: where, with which block sizes, at which distance from X."""

    members: tuple[int, ...]
    mean: complex
    distance: float
    real: bool
    part: Part
    stairs: Staircase
    change: Floats | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the sizes of the Jordan blocks, largest first."""
        return self.stairs.sizes

    @property
    def condition(self) -> float:
        """Return how much a change of X moves the eigenvalue."""
        return self.part.condition


@dataclass
class Searched:
    """What was found: the clusters (of a conjugate pair the upper one), and what was near."""

    clusters: list[Cluster] = field(default_factory=list)
    misses: list[Cluster] = field(default_factory=list)
    others: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Space:
    x: Floats
    whole: Schur
    norm: float
    delta: float

    @property
    def coarse(self) -> float:
        return min(AMPLIFIED * self.delta, max(NEAR * self.delta, COARSEST * self.norm))

    @property
    def reach(self) -> float:
        return min(NEAR * self.delta, max(self.delta, FARTHEST * self.norm))


def search(x: Floats, delta: float) -> Searched:
    """Return the clusters of the most special structure that is within `delta` of X."""
    whole = schur_of(x)
    space = _Space(x, whole, float(np.linalg.norm(x, 2)), delta)
    found = Searched()
    waiting = [np.arange(len(x), dtype=np.int64)]
    tried = set()
    while waiting:
        members = waiting.pop()
        tried.add(tuple(members.tolist()))
        values = whole.eigenvalues[members]
        real = _closed(values)
        if not real and values.imag.mean() < 0.0:
            continue  # its mirror image is examined instead
        taken = _examined(space, members, real=real, found=found)
        if taken is not None:
            found.clusters.append(taken)
        elif len(members) > 1:
            waiting += [members[part] for part in split(values)]
    _gather(space, found, tried)
    return found


def _gather(space: _Space, found: Searched, tried: set[tuple[int, ...]]) -> None:
    """Look for clusters among what was left single and is sensitive, and put them in its place.

    Distance alone does not tell who belongs to a defective eigenvalue: it spreads over what lies
    near, and across the real axis over its own mirror image. Its members do: their conditions are
    large, and their eigenvectors turn the same way.
    """
    single = [one for one in found.clusters if len(one.members) == 1]
    single = [one for one in single if one.condition > SENSITIVE]
    members = np.array([one.members[0] for one in single], dtype=np.int64)
    if len(members) < 2:
        return
    waiting = [np.union1d(members, _mirrored(space, members))]
    while waiting:
        members = waiting.pop()
        values = space.whole.eigenvalues[members]
        if len(members) < 2 or (not _closed(values) and values.imag.mean() < 0.0):
            continue
        new = tuple(members.tolist()) not in tried
        taken = _examined(space, members, real=_closed(values), found=found) if new else None
        turn = None if taken is not None else _of_one_turn(space, members)
        if turn is not None:
            members = turn
            taken = _examined(space, members, real=False, found=found)
        if taken is not None:
            inside = {*members.tolist(), *_mirrored(space, members).tolist()}
            found.clusters = [one for one in found.clusters if not inside.issuperset(one.members)]
            found.clusters.append(taken)
        else:
            waiting += [members[part] for part in split(values)] if turn is None else []


def _of_one_turn(space: _Space, members: Indices) -> Indices | None:
    """Return one of two conjugate clusters that lie on both sides of the real axis, mixed.

    Of each pair the eigenvalue is taken whose vector is nearer to that of the first.
    """
    values = space.whole.eigenvalues[members]
    if len(members) < 4 or not _closed(values) or (values.imag == 0.0).any():
        return None
    vectors = space.whole.vectors @ space.whole.eigen.right[:, members]
    upper = np.flatnonzero(values.imag > 0.0)
    first = vectors[:, upper[int(np.argmax(values.imag[upper]))]]
    nearer = np.abs(first.conj() @ vectors)
    mirror = np.abs(values[:, None] - values.conj()).argmin(axis=1)
    chosen = np.where(nearer[upper] >= nearer[mirror[upper]], upper, mirror[upper])
    if values[chosen].imag.min() > 0.0 or values[chosen].imag.mean() <= 0.0:
        return None  # the parts that are examined anyway
    return np.sort(members[chosen])


def _mirrored(space: _Space, members: Indices) -> Indices:
    """Return the conjugates of a set of eigenvalues."""
    values = space.whole.eigenvalues
    return np.abs(values[members, None].conj() - values).argmin(axis=1)


def _closed(values: Matrix) -> bool:
    """Say whether a set of eigenvalues is its own mirror image."""
    return bool(np.array_equal(np.sort_complex(values), np.sort_complex(values.conj())))


def _examined(space: _Space, members: Indices, *, real: bool, found: Searched) -> Cluster | None:
    """Return the cluster if it is one eigenvalue within delta; note what is near."""
    if len(members) == 1:
        part = single_part(space.whole, int(members[0]))
        value = complex(space.whole.eigenvalues[members[0]])
        return Cluster((int(members[0]),), value, 0.0, real, part, SINGLE)
    far = space.whole.eigen.distance(space.whole.eigenvalues[members], members)
    if far > FAR * space.reach:
        found.others.append(far)
        return None
    small = _small_values(space, space.whole.eigenvalues[members], found)
    if small is None:
        return None
    part = part_of(space.whole, members)
    blocks = int((small <= 2.0 * space.reach * (1.0 + part.condition)).sum())
    best, taken = None, None
    for stairs in _candidates(part, space, blocks):
        made = fit(space.x, part, stairs, real=real, reach=space.reach, norm=space.norm)
        cluster = _cluster(members, made, real=real)
        if made.reached and made.distance <= space.delta:
            found.others.append(made.stairs.kept / made.part.condition)
            taken = cluster
            break
        if made.reached or made.distance > space.reach:  # otherwise it was lost on the way
            found.others.append(made.distance)
        if made.reached and (best is None or made.distance < best.distance):
            best = cluster
    if best is not None:
        found.misses.append(best)
    return taken


def _small_values(space: _Space, values: Matrix, found: Searched) -> Floats | None:
    """Return the singular values of X - mean, or None where a necessary condition fails."""
    mean, size = values.mean(), len(values)
    spread = float(np.abs(values - mean).max())
    root = (2.0 * space.coarse) ** (1.0 / size)
    if spread > (4.0 * space.norm) ** (1.0 - 1.0 / size) * root and size > 2:
        return None
    shifted = space.whole.form - mean * np.eye(len(space.x))
    small = np.asarray(np.linalg.svd(shifted, compute_uv=False))
    if small[-1] > space.coarse:
        found.others.append(float(small[-1]))
        return None
    return small


def _candidates(part: Part, space: _Space, blocks: int) -> list[Staircase]:
    """Return the staircases of at most so many blocks, the most special first."""
    if blocks == 0:
        return []
    wider = 1.001 * space.coarse / space.delta if space.delta else 1.0
    count = 1 + int(2.0 * np.log10(wider))
    thresholds = space.delta * np.sqrt(10.0) ** np.arange(count)
    made = staircases(part.centred, thresholds.tolist(), blocks)
    return sorted(made, key=lambda stairs: -codimension(stairs.weyr))


def _cluster(members: Indices, made: Fit, *, real: bool) -> Cluster:
    mean = complex(made.part.mean.real, 0.0) if real else made.part.mean
    indices = tuple(int(k) for k in members)
    return Cluster(indices, mean, made.distance, real, made.part, made.stairs, made.change)
