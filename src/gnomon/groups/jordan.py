r"""The most special Jordan structure within a distance of X, with the change of X that makes it.

The staircase of a nilpotent matrix: block sizes from nullities, by unitary transforms alone.

For N with the single eigenvalue 0 let w_j = dim ker N^j - dim ker N^(j-1) (Weyr's numbers). The
sizes of its Jordan blocks are the conjugate partition: w_j blocks have size j or more. N^j itself
is never formed: a singular value decomposition gives ker N, N is deflated by it, and so on; what is
left is

    Q* N Q = [0 A_12 A_13 ...; 0 0 A_23 ...; ...],    A_(j,j+1) of full column rank w_(j+1)

[kublanovskaya1966], [golub1976]. Singular values up to a threshold count as zero: they are dropped,
so that the staircase belongs exactly to a matrix as near as the dropped part is small.

A Jordan basis follows from the staircase by pushing vectors down its steps, longest chains first,
and the matrices that commute with a Jordan form are known entry by entry [gantmacher1959 ch. VIII].

Which clusters of eigenvalues are one eigenvalue: the most special structure within a distance.

From the coarsest cluster on: candidates are the staircases of T_11 - mean at growing thresholds,
the most special (largest codimension) first, and one is taken if the nearest matrix with that
structure is within delta of X. Otherwise the cluster is split and its parts are tried. A candidate
that is farther away, but within 300 delta, is kept as a near miss: X may be it with noise that is
larger than was thought.

Two necessary conditions spare most of the work. If N = S + D with S nilpotent, no eigenvalue of N
is farther from 0 than (|N| + |S|)^(1 - 1/k) |D|^(1/k) [elsner1985]; and X - mean has a singular
value that is no larger than the distance to a matrix with that eigenvalue.

The nearest matrix in which a cluster is one eigenvalue with given block sizes.

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

Clusters of eigenvalues: a Schur form that is reordered so that one of them leads.

X = Q [T_11 T_12; 0 T_22] Q* with the cluster in T_11 [bai1993]. With T_11 Z - Z T_22 = T_12 the
spectral projector is Q [I Z; 0 0] Q*, and its norm sqrt(1 + |Z|^2) says how much a change of X
moves the mean of the cluster; single members of a defective cluster move by roots of the change, so
that only the mean is used. Clusters are proposed by single linkage from the coarsest on:
eigenvalues stay together until the longest edge of their spanning tree is cut. Cutting all edges of
that length at once keeps the proposal symmetric, as the eigenvalues of a real matrix are.

Eigenvectors of a triangular matrix, and how far it is from one in which eigenvalues coincide.

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

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, rsf2csf, schur, solve_triangular

Matrix = NDArray[np.complex128]
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
STEPS = 8
"""Corrections at most; each squares what is left, so that a good start needs two or three."""
MOST_WORK = 3e8
"""Products at most for an orthonormal basis of the normals: of 32 coordinates in 16 chains of 2."""
TURNS = 300
"""Steps of conjugate gradients at most."""
SETTLED = 1e-3
"""A correction of this share of the distance, or of the size of rounding, is the last one."""
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
ROOT = float(np.sqrt(np.finfo(np.float64).eps))
"""An eigenvalue of condition 1 / ROOT is not told from others by its vectors."""
EPSILON = float(np.finfo(np.float64).eps)
HUGE = 1e60
"""Vectors are kept below this: the condition of a defective eigenvalue is infinite."""


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
        stage = stage.deflate(nullity)
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
            further = stage.deflate(nullity) if nullity <= most else None
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
    def _svd_form(self) -> tuple[Matrix, Matrix, NDArray[np.float64]]:
        """Return the form and the basis with right singular vectors, the smallest first."""
        first, form, basis = self.first, self.form.copy(), self.basis.copy()
        _, values, right = np.linalg.svd(form[first:, first:])
        turn = right[::-1].conj().T
        form[:, first:] = form[:, first:] @ turn
        form[first:, :] = turn.conj().T @ form[first:, :]
        basis[:, first:] = basis[:, first:] @ turn
        form[first:, :first] = 0.0
        return form, basis, values

    def deflate(self, nullity: int) -> _Stage | None:
        """Return the next stage, with so many null vectors, or None where there are none such."""
        if nullity == 0 or (self.weyr and nullity > self.weyr[-1]):
            return None
        form, basis, values = self._svd_form
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


def centraliser_basis(sizes: Sequence[int]) -> NDArray[np.float64]:
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
        real = _is_closed(values)
        if not real and values.imag.mean() < 0.0:
            continue  # its mirror image is examined instead
        taken = _examine(space, members, real=real, found=found)
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
    waiting = [np.union1d(members, _conjugates(space, members))]
    while waiting:
        members = waiting.pop()
        values = space.whole.eigenvalues[members]
        if len(members) < 2 or (not _is_closed(values) and values.imag.mean() < 0.0):
            continue
        new = tuple(members.tolist()) not in tried
        taken = _examine(space, members, real=_is_closed(values), found=found) if new else None
        turn = None if taken is not None else _of_one_turn(space, members)
        if turn is not None:
            members = turn
            taken = _examine(space, members, real=False, found=found)
        if taken is not None:
            inside = {*members.tolist(), *_conjugates(space, members).tolist()}
            found.clusters = [one for one in found.clusters if not inside.issuperset(one.members)]
            found.clusters.append(taken)
        else:
            waiting += [members[part] for part in split(values)] if turn is None else []


def _of_one_turn(space: _Space, members: Indices) -> Indices | None:
    """Return one of two conjugate clusters that lie on both sides of the real axis, mixed.

    Of each pair the eigenvalue is taken whose vector is nearer to that of the first.
    """
    values = space.whole.eigenvalues[members]
    if len(members) < 4 or not _is_closed(values) or (values.imag == 0.0).any():
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


def _conjugates(space: _Space, members: Indices) -> Indices:
    """Return the conjugates of a set of eigenvalues."""
    values = space.whole.eigenvalues
    return np.abs(values[members, None].conj() - values).argmin(axis=1)


def _is_closed(values: Matrix) -> bool:
    """Say whether a set of eigenvalues is its own mirror image."""
    return bool(np.array_equal(np.sort_complex(values), np.sort_complex(values.conj())))


def _examine(space: _Space, members: Indices, *, real: bool, found: Searched) -> Cluster | None:
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
    made = staircases(part.without_mean, thresholds.tolist(), blocks)
    return sorted(made, key=lambda stairs: -codimension(stairs.weyr))


def _cluster(members: Indices, made: Fit, *, real: bool) -> Cluster:
    mean = complex(made.part.mean.real, 0.0) if real else made.part.mean
    indices = tuple(int(k) for k in members)
    return Cluster(indices, mean, made.distance, real, made.part, made.stairs, made.change)


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
        dropped = part.without_mean - stairs.exact
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
        redone = staircase(part.without_mean, weyr=stairs.weyr)
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

    def mirror(self, normal: Matrix) -> Matrix:
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
    commuting = centraliser_basis(stairs.sizes).transpose(0, 2, 1)
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
        image = way + normals.mirror(way)
        step = size / float(np.vdot(way, image).real)
        found, left = found + step * way, left - step * image
        size, before = float(np.vdot(left, left).real), size
        way = left + size / before * way
    return found


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
    def without_mean(self) -> Matrix:
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
    order = _match(np.diag(form), eigenvalues)
    return Schur(form, turned, eigenvalues[order])


def _match(found: Matrix, exact: Matrix) -> Indices:
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
    order, parents, edges = _least_tree(np.abs(points[:, None] - points[None, :]))
    shortest_cut = max(edges) * (1.0 - 1e-9)
    label = np.zeros(len(points), dtype=np.int64)
    for count, (k, parent, edge) in enumerate(zip(order, parents, edges, strict=True), start=1):
        label[k] = label[parent] if edge < shortest_cut else count
    return [np.flatnonzero(label == name) for name in np.unique(label)]


def _least_tree(apart: Floats) -> tuple[list[int], list[int], list[float]]:
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


class Eigenvectors:
    """Right and left vectors of every eigenvalue of T, as columns."""

    def __init__(self, form: Matrix) -> None:
        flipped = form.conj().T[::-1, ::-1]
        right = _back_substitute(form)
        left = _back_substitute(flipped)[::-1, ::-1]
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


def _back_substitute(form: Matrix) -> Matrix:
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
