r"""Which encoding a matrix generates: its real Jordan structure at a stated tolerance.

exp(tX) is sorted by the Jordan form of X, and the Jordan form is not continuous: eigenvalues of a
block of order m move by the m-th root of a change of X, so that the eigenvalues of a computed
J_3(a) are a decay beside a slowly turning pair. What can be decided is which structures are within
a given distance of X. `classify` returns the most special of them, found by Schur, clusters and
staircases [golub1976], [kagstrom1980], together with what the eigenvalues alone say. Where the
answer rests on the tolerance the verdict is "cannot be told", and what X is at other tolerances
stands beside it, each reading with its distance from X.

The tolerance is relative to |X|_2. A block of order above 1 and eigenvalues that coincide are
reported, if a matrix that has them was reached within the tolerance. A real part is zero, if a
change of X within the tolerance can make it zero: |Re| <= tolerance |X| c, with c the norm of the
spectral projector, by which a change of X moves the mean of a cluster.

What a reader of a structure must be told: what else X may be, and what would decide it.

Where two structures are within reach of X, both are named, with the tolerance at which the answer
turns from one to the other. A tolerance is advised only where the answer at it, and at three times
it, is one and leaves nothing of this kind to say; else it is said that there is none.

A real Jordan basis P with X = P J P^-1, of the chains of every cluster, made when asked for.

First X is moved to a matrix that has the structure: the changes that every cluster needs are taken
away, and with them the smallest change that makes real parts zero which count as zero. A change E
moves the mean of a cluster with projector Pi and k members by tr(Pi E) / k; the least E with given
real parts of these is a combination of the Re Pi^T. Putting zeros into J alone would cost cond(P)
more.

A cluster on the real axis has a real invariant subspace: its basis is turned into a real one before
the chains are made. Of a conjugate pair, v = p - i q with X v = (a + ib) v + v' gives the columns
p, q: X p = a p + b q + p', X q = -b p + a q + q'.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gnomon.errors import GroupError
from gnomon.groups.generator import Block, Generator, read_matrix
from gnomon.groups.jordan import (
    FARTHEST,
    NEAR,
    Cluster,
    Floats,
    Matrix,
    Searched,
    jordan_chains,
    schur_of,
    search,
    staircase,
)
from gnomon.groups.names import name_structure, round_up
from gnomon.results import Result, plain

INTERNAL = ("settled", "rounding", "matrix", "clusters", "values", "scale", "norm")
"""Fields of a structure that `generator()` is made of."""
LEAST = float(np.finfo(np.float64).tiny)
"""Smallest frequency of what turns."""
AGAIN = 1e-6
"""Share of |X| by which blocks in their basis may miss X, or a thousand tolerances."""
TRIES, WIDER, LOOSEST = 4, 3.0, 1e-2
"""Tolerances tried for advice; by how much more the answer must stay; and the largest."""
ROUNDINGS, COARSEST, A_DECADE = 4.0, 1e-5, 3
"""Other readings are looked for from some roundings of X on, up to a share of |X|, or the advice,
at so many tolerances in each decade."""
ORDER = ("zero", "rotation", "damped", "decay", "growth", "jordan")
TOLERANCE = 1e-10
"""What is taken for X with 1e-12 of noise or rounding, with room for a basis that magnifies it."""
LARGEST_CLASSIFIED = 256
"""Rows at most: the search costs up to n Schur forms."""
EPSILON = float(np.finfo(np.float64).eps)
NARROW_ROUNDINGS = 4.0
"""A narrow type is taken to be known to so many of its roundings."""
STEP = (
    "all eigenvalues have modulus 1, as those of a step A(1) of rotations have; if X is a step and "
    "no generator, pass it to classify_step (--step)."
)
EXACT = 1e-3
"""Share of the tolerance below which blocks are exact, so that no tolerance takes them apart."""
THIN = 0.1
"""Share of the tolerance above which what was put to zero, or together, is spoken of."""
CLEAR = 10.0
"""The next structure is so many tolerances away, where an answer is settled."""
SENSITIVE = 30.0
"""Condition from which an eigenvalue may be one of a block that was split."""
SPLIT = 3e-6
"""Change of X, as a share, that is looked for behind such an eigenvalue."""
NOTED = 1e-2
"""Share of its frequency from which a real part that was put to zero is spoken of."""
Settle = Callable[[float], float | None]
"""A tolerance to begin with -> one at which the answer is settled, or None."""
ROUNDS = 3
"""Corrections of X; the second is already of the order of rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Found(Result):
    """Blocks of one kind: what they are, how many, and how well that is known.

    `backward_error`: change of X, relative to |X|, that makes the cluster exact. `gap`: distance to
    the nearest eigenvalue that is not the conjugate. `condition`: how much a change of X moves it.
    `error`: what that lets decay and frequency be off by, at the tolerance.
    """

    kind: str
    decay: float
    frequency: float
    order: int
    count: int
    backward_error: float
    gap: float | None
    condition: float
    error: float

    @property
    def block(self) -> Block:
        """Return the block."""
        return Block(decay=self.decay, frequency=self.frequency, order=self.order)

    @property
    def dimension(self) -> int:
        """Return how many dimensions all of them take."""
        return self.count * self.order * (2 if self.frequency else 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading(Result):
    """What X is at another tolerance; `residual`: the change of X that makes it so, over |X|."""

    structure: tuple[Found, ...]
    named: str
    residual: float
    tolerance: float
    blocks: str
    """The structure as a formula."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Structure(Result):
    """The structure of X at a tolerance, beside the one that its eigenvalues alone give.

    `distance`, relative to |X|, is that of the nearest more special structure that was found and
    not taken: of one that was tried, the smallest singular value that had to be kept, or an
    estimate where eigenvalues are so far apart that nothing was tried.
    `departure` is Henrici's, from normality. Both are there to judge the tolerance by.
    `residual` is the change of X, over |X|, that makes the structure exact.
    """

    structure: tuple[Found, ...]
    generic: tuple[Found, ...]
    named: str
    bounded: dict[str, bool]
    tolerance: float
    distance: float | None
    departure: float
    warnings: tuple[str, ...]
    residual: float
    settled: bool
    """Whether no other structure is so near that the tolerance decides."""
    rounding: float = field(repr=False)
    matrix: Floats = field(repr=False)
    clusters: tuple[Cluster, ...] = field(repr=False)
    values: tuple[complex, ...] = field(repr=False)
    scale: float = field(repr=False)
    norm: float = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the vectors behind `generator()`."""
        names = [name for name in self.__dataclass_fields__ if name not in INTERNAL]
        made = {name: plain(getattr(self, name)) for name in names}
        made["verdict"] = self.verdict
        made["alternatives"] = [one.to_dict() for one in self.alternatives]
        if self.distance is None:
            made["reason"] = "no more special structure was found near"
        return made

    @property
    def dimension(self) -> int:
        """Return the size of X."""
        return sum(found.dimension for found in self.structure)

    @property
    def verdict(self) -> str:
        """Return "settled", or "cannot be told" where the tolerance decides what X is."""
        return "settled" if self.settled else "cannot be told"

    @cached_property
    def alternatives(self) -> tuple[Reading, ...]:
        """Return what else X may be, the nearest reading first; nothing where it is settled.

        One search for each of some thirty tolerances, made when it is first asked for.
        """
        return () if self.settled else _alternatives(self)

    def generator(self) -> Generator:
        """Return blocks and a real basis P with X = P J P^-1 up to the backward errors.

        In a defective block P is as ill-conditioned as the structure is near to others; where it
        does not make X again, that is said.
        """
        made = generator_of(*blocks_and_basis(self))
        off = float(np.linalg.norm(made.matrix / self.scale - self.matrix, 2))
        if off * self.scale > max(AGAIN, 1e3 * self.tolerance) * self.norm:
            raise singular()
        return made


def classify(x: ArrayLike, *, tolerance: float | None = None) -> Structure:
    """Return the structure of the generator X (n, n), real.

    >>> classify([[0.0, -0.5], [0.5, 0.0]]).structure[0].kind
    'rotation'
    >>> [(f.kind, f.order, f.decay) for f in classify([[1.0, 1.0], [-1.0, -1.0]]).structure]
    [('jordan', 2, 0.0)]
    """
    return structure_of(x, tolerance=tolerance)


def structure_of(
    x: ArrayLike, *, tolerance: float | None = None, what: str = "the generator"
) -> Structure:
    """Return the structure of a matrix that errors call by a name."""
    matrix = read_matrix(x, what)
    check_size(matrix, what)
    rounding = unit_roundoff(x)
    used = check_tolerance(tolerance, len(matrix), rounding)
    scale = _scale(matrix)
    matrix = matrix / scale
    norm = float(np.linalg.norm(matrix, 2))
    units = Units(scale, norm, used, rounding)
    searched = search(matrix, units.delta)
    structure = _founds(searched.clusters, units)
    generic = _generic(matrix, searched.clusters, structure, units)
    warnings, settled = warnings_of(
        searched.clusters,
        structure,
        generic,
        searched.misses,
        units,
        lambda start: _find_tolerance(matrix, units, start),
    )
    return Structure(
        structure=structure,
        generic=generic,
        named=name_structure(structure),
        bounded=_bounds(structure),
        tolerance=used,
        distance=_distance(searched, norm),
        departure=_departure(matrix),
        warnings=warnings,
        residual=_residual(searched.clusters, units),
        settled=settled,
        rounding=rounding,
        matrix=matrix,
        clusters=tuple(searched.clusters),
        values=tuple(values_of(searched.clusters, units)),
        scale=scale,
        norm=norm * scale,
    )


def _find_tolerance(matrix: Floats, units: Units, start: float) -> float | None:
    """Return a tolerance from here on at which the answer is settled, as at three times it.

    What is called settled has nothing near, and no eigenvalue that may be a part of a block.
    """
    tolerance = round_up(start)
    for _ in range(TRIES):
        if WIDER * tolerance > LOOSEST:
            return None
        answers = []
        for used in (tolerance, WIDER * tolerance):
            at = replace(units, tolerance=used)
            searched = search(matrix, at.delta)
            structure = _founds(searched.clusters, at)
            if not is_settled(structure, searched.misses, at):
                more = suggestion(structure, searched.misses, at, most=CLEAR)
                tolerance = round_up(max(more or 0.0, WIDER * used))
                break
            answers.append(_signature(structure))
        else:
            if answers[0] == answers[1]:
                return tolerance
            tolerance = round_up(WIDER * tolerance)
    return None


def _residual(clusters: list[Cluster], units: Units) -> float:
    """Return the change of X, over |X|, that makes clusters one and small real parts zero."""
    changes = [one.distance for one in clusters]
    for one, value in zip(clusters, values_of(clusters, units), strict=True):
        if value.real == 0.0:
            changes.append(abs(one.mean.real) / one.condition)
    return max(changes) / units.norm if units.norm else 0.0


def _alternatives(known: Structure) -> tuple[Reading, ...]:
    """Return the other structures that X has at tolerances from its rounding to the coarsest."""
    norm = known.norm / known.scale
    least = ROUNDINGS * max(known.rounding, len(known.matrix) * EPSILON)
    most = min(LOOSEST, max(COARSEST, WIDER * known.tolerance))
    decades = np.log10(most / least) if most > least else 0.0
    made: dict[tuple[tuple[str, int, int], ...], Reading | None]
    made = {_signature(known.structure): None}
    for tolerance in np.geomspace(least, max(least, most), 1 + int(np.ceil(A_DECADE * decades))):
        units = Units(known.scale, norm, float(tolerance), known.rounding)
        clusters = search(known.matrix, units.delta).clusters
        found = _founds(clusters, units)
        if _signature(found) not in made:
            made[_signature(found)] = Reading(
                structure=found,
                named=name_structure(found),
                residual=_residual(clusters, units),
                tolerance=units.tolerance,
                blocks=" + ".join(map(in_words, found)),
            )
    return tuple(sorted(filter(None, made.values()), key=lambda one: one.residual))


def _signature(structure: tuple[Found, ...]) -> tuple[tuple[str, int, int], ...]:
    """Return kinds, orders and counts, by which structures differ."""
    return tuple(sorted((one.kind, one.order, one.count) for one in structure))


@dataclass(frozen=True)
class Units:
    """What X was divided by, its norm then, and the tolerance relative to that."""

    scale: float
    norm: float
    tolerance: float
    rounding: float = EPSILON

    @property
    def delta(self) -> float:
        """Return the distance within which structures are looked for."""
        return self.tolerance * self.norm


def _scale(matrix: Floats) -> float:
    """Return a power of two that brings extreme entries near 1; ordinary ones are left alone."""
    largest = float(np.abs(matrix).max())
    if largest == 0.0 or 1e-8 < largest < 1e8:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def _founds(clusters: list[Cluster], units: Units) -> tuple[Found, ...]:
    """Return the blocks of every cluster, equal ones counted, in a fixed order."""
    known = zip(clusters, values_of(clusters, units), _gaps(clusters), strict=True)
    found = [
        Found(
            kind=Block(decay=value.real, frequency=value.imag, order=size).kind,
            decay=value.real,
            frequency=value.imag,
            order=size,
            count=cluster.sizes.count(size),
            backward_error=cluster.distance / units.norm if units.norm else 0.0,
            gap=gap * units.scale if np.isfinite(gap) else None,
            condition=cluster.condition,
            error=units.delta * units.scale * cluster.condition,
        )
        for cluster, value, gap in known
        for size in set(cluster.sizes)
    ]
    return sort_blocks(found)


def _gaps(clusters: list[Cluster]) -> list[float]:
    """Return the distance of every eigenvalue to the nearest one that is not its conjugate."""
    means = np.array([cluster.mean for cluster in clusters])
    means = np.concatenate([means, means.conj()])
    own = [(means == one.mean) | (means == one.mean.conjugate()) for one in clusters]
    apart = [
        np.where(k, np.inf, abs(means - one.mean)) for k, one in zip(own, clusters, strict=True)
    ]
    return [float(distances.min()) for distances in apart]


def values_of(clusters: list[Cluster], units: Units) -> list[complex]:
    """Return the eigenvalues, with a real part of zero where it cannot be told from zero.

    The condition is of first order: it says nothing of moves as large as the gap to others, of
    which the conjugate is one. A turn that rounding has carried across the real axis is the same.
    """
    values = []
    for cluster, gap in zip(clusters, _gaps(clusters), strict=True):
        decay = cluster.mean.real
        frequency = 0.0 if cluster.real else max(abs(cluster.mean.imag), LEAST)
        apart = gap if cluster.real else min(gap, 2.0 * frequency)
        if abs(decay) <= min(units.delta * cluster.condition, 0.25 * apart):
            decay = 0.0
        values.append(complex(decay, frequency) * units.scale)
    return values


def sort_blocks(found: list[Found]) -> tuple[Found, ...]:
    """Return blocks by kind, order and frequency."""

    def key(one: Found) -> tuple[float, ...]:
        return (ORDER.index(one.kind), -one.order, -one.frequency, one.decay)

    return tuple(sorted(found, key=key))


def _generic(
    matrix: Floats, clusters: list[Cluster], structure: tuple[Found, ...], units: Units
) -> tuple[Found, ...]:
    """Return what the eigenvalues alone give: members of defective clusters by themselves."""
    plainly = [cluster for cluster in clusters if max(cluster.sizes) == 1]
    if len(plainly) == len(clusters):
        return structure
    values = schur_of(matrix).eigenvalues
    found = list(_founds(plainly, units))
    for cluster in clusters:
        if max(cluster.sizes) > 1:
            chosen = values[list(cluster.members)]
            found += [_single(complex(v) * units.scale) for v in chosen if v.imag >= 0.0]
    return sort_blocks(found)


def _single(value: complex) -> Found:
    block = Block(decay=value.real, frequency=value.imag)
    return Found(
        kind=block.kind, decay=block.decay, frequency=block.frequency, order=1, count=1,
        backward_error=0.0, gap=None, condition=float("inf"), error=float("inf"),
    )  # fmt: skip


def _bounds(structure: tuple[Found, ...]) -> dict[str, bool]:
    """Say where exp(tX) stays bounded: for t >= 0, and for all t."""
    made = Generator(one.block for one in structure)
    return {direction: made.bounded(direction) for direction in ("causal", "both")}


def _distance(searched: Searched, norm: float) -> float | None:
    known = [other for other in searched.others if np.isfinite(other)]
    return min(known) / norm if known and norm else None


def _departure(matrix: Floats) -> float:
    """Return Henrici's departure from normality, |X^T X - X X^T| / |X|^2 in Frobenius norms."""
    size = float(np.linalg.norm(matrix))
    if size == 0.0:
        return 0.0
    unit = matrix / size
    return float(np.linalg.norm(unit.T @ unit - unit @ unit.T))


def check_size(x: Floats, what: str = "the generator") -> None:
    """Refuse a matrix that a search through its structures would take too long for."""
    if len(x) > LARGEST_CLASSIFIED:
        raise GroupError(
            f"{what} has {len(x)} rows, and at most {LARGEST_CLASSIFIED} are classified; pass the "
            "generator of one head."
        )


def unit_roundoff(x: ArrayLike) -> float:
    """Return the relative rounding of the type that X came in; whole numbers are exact."""
    dtype = np.asarray(x).dtype
    return max(EPSILON, float(np.finfo(dtype).eps)) if dtype.kind == "f" else EPSILON


def check_tolerance(tolerance: float | None, size: int, rounding: float = EPSILON) -> float:
    """Return the tolerance, or refuse one that rounding alone exceeds."""
    narrow = rounding > EPSILON
    if tolerance is None:
        return NARROW_ROUNDINGS * rounding if narrow else TOLERANCE
    if (
        isinstance(tolerance, bool)
        or not isinstance(tolerance, (int, float, np.integer, np.floating))
        or not np.isfinite(tolerance)
    ):
        raise GroupError(f"tolerance is {tolerance!r}; pass a number such as {TOLERANCE:g}.")
    least = rounding if narrow else size * EPSILON
    if tolerance < least:
        where = "in the type of the matrix" if narrow else f"for {size} rows"
        way = ", or the matrix as float64 if its numbers are exact" if narrow else ""
        raise GroupError(
            f"tolerance {tolerance:g} is below rounding, which is {least:.1e} {where}; pass a "
            f"larger one{way}."
        )
    if tolerance > 0.1:
        raise GroupError(
            f"tolerance {tolerance:g} is relative to the norm of the matrix, and everything is "
            "alike beyond 0.1; pass a smaller one."
        )
    return float(tolerance)


def warnings_of(
    clusters: Sequence[Cluster],
    structure: Sequence[Found],
    generic: Sequence[Found],
    misses: Sequence[Cluster],
    units: Units,
    settled: Settle,
) -> tuple[tuple[str, ...], bool]:
    """Return the warnings, each a sentence, and whether none is of another structure near by."""
    asked = suggestion(structure, misses, units)
    advised = None if asked is None else settled(asked)
    thin = any(one.backward_error > THIN * units.tolerance for one in structure if one.order > 1)
    doubts = [
        _say_merged(structure, units),
        _say_near(misses, units.norm, advised),
        _say_nearly_undamped(structure, units, advised),
        _say_zeroed(clusters, structure, units),
        _say_undecided(structure, units) or _say_fragile(structure, units),
        _say_slow(structure, units),
    ]
    said = [
        _say_defective(structure, generic, units),
        *doubts,
        _say_narrow(units),
        _is_step(structure, units),
    ]
    return tuple(sentence for sentence in said if sentence), not (thin or any(doubts))


def suggestion(
    structure: Sequence[Found], misses: Sequence[Cluster], units: Units, *, most: float = math.inf
) -> float | None:
    """Return a tolerance that takes in all that is near up to so many tolerances, or None."""
    asked = [2.0 * one.distance / units.norm for one in _widest(misses)]
    asked = asked or [2.0 * ratio * units.tolerance for ratio in _nearly_zero(structure, units)]
    return max((one for one in asked if one <= most * units.tolerance), default=None)


def is_settled(structure: Sequence[Found], misses: Sequence[Cluster], units: Units) -> bool:
    """Whether no other structure is near and no eigenvalue may be a part of a block."""
    if suggestion(structure, misses, units, most=CLEAR) is not None:
        return False
    return not (_say_undecided(structure, units) or _say_fragile(structure, units))


def in_words(one: Found) -> str:
    """Return blocks as a short formula.

    >>> from gnomon.groups.classification import classify
    >>> in_words(classify([[-0.5, 1.0], [0.0, -0.5]]).structure[0])
    'J2(-0.5)'
    """
    turn = f"+-{one.frequency:.6g}i" if one.frequency else ""
    value = f"{one.decay:.6g}{turn}" if one.decay or not turn else turn
    name = f"J{one.order}({value})"
    return name if one.count == 1 else f"{one.count} x {name}"


def _say_defective(structure: Sequence[Found], generic: Sequence[Found], units: Units) -> str:
    chains = [one for one in structure if one.order > 1]
    if not chains:
        return ""
    alone = [one for one in generic if one.condition == math.inf]
    error = max(one.backward_error for one in chains)
    turns = error > EXACT * units.tolerance
    below = ", and at a tolerance below that distance the second reading is the answer"
    below = below if turns else ""
    return (
        f"the blocks {_list(chains)} hold within {error:.1e} of |X|, but eigenvalues alone read "
        f"{_list(alone)}: almost every change of X takes such blocks apart{below}."
    )


def _say_merged(structure: Sequence[Found], units: Units) -> str:
    """Say which eigenvalues are equal only since the tolerance is as large as it is."""
    thin = [one for one in structure if one.order == 1 and one.count > 1]
    thin = [one for one in thin if one.backward_error > THIN * units.tolerance]
    if not thin:
        return ""
    error = max(one.backward_error for one in thin)
    return (
        f"the eigenvalues of {_list(thin)} are equal within {error:.1e} of |X|; at a tolerance "
        "below that they differ."
    )


def _say_zeroed(clusters: Sequence[Cluster], structure: Sequence[Found], units: Units) -> str:
    """Say which real parts are zero only since the tolerance is as large as it is."""
    moved = [(one.mean.real, units.delta * one.condition) for one in clusters]
    thin = [(abs(part) / most, part) for part, most in moved if THIN * most < abs(part) <= most]
    known = {(one.decay, one.frequency) for one in structure}
    for one, (part, most) in zip(clusters, moved, strict=True):
        turn = abs(one.mean.imag)
        if abs(part) > NOTED * turn > 0.0 and (0.0, turn * units.scale) in known:
            thin.append((abs(part) / most, part))  # small for the tolerance, and not for the turn
    if not thin:
        return ""
    ratio, part = max(thin)
    count = "1 real part is" if len(set(thin)) == 1 else f"{len(set(thin))} real parts are"
    least = ratio * units.tolerance
    below = f"at a tolerance below {least:.1e} such a part is not zero."
    below = below if least > EPSILON else "rounding alone moves X as far as that takes."
    size = f"{part * units.scale:.2g}"
    return f"{count} within the tolerance of zero (up to {size}); {below}"


def _widest(misses: Sequence[Cluster]) -> list[Cluster]:
    return [
        one for one in misses if not any(set(one.members) < set(other.members) for other in misses)
    ]


def _advice(advised: float | None) -> str:
    """Return the advice to pass a tolerance that was tried, or that there is none to pass."""
    if advised is None:
        return "no tolerance was found at which the answer is settled"
    return f"pass tolerance={advised:.0e}"


def _say_near(misses: Sequence[Cluster], norm: float, advised: float | None) -> str:
    """Say which tolerance would make the structure more special."""
    widest = _widest(misses)
    if not widest:
        return ""
    far = max(one.distance for one in widest) / norm
    sizes = ", ".join("+".join(f"J{size}" for size in one.sizes) for one in widest[:4])
    more = ", ..." if len(widest) > 4 else ""
    return (
        f"a more special structure ({sizes}{more}) is {far:.1e} of |X| away; if X is not known "
        f"better than that, {_advice(advised)}."
    )


def _nearly_zero(structure: Sequence[Found], units: Units) -> list[float]:
    """Return real parts, in tolerances, that a larger tolerance would call zero."""
    most = max(NEAR, FARTHEST / units.tolerance)
    return [ratio for ratio in _in_tolerances(structure, units) if 1.0 < ratio <= most]


def _say_nearly_undamped(structure: Sequence[Found], units: Units, advised: float | None) -> str:
    """Warn of real parts that a slightly larger tolerance would call zero."""
    near = _nearly_zero(structure, units)
    if not near:
        return ""
    parts = "1 real part is" if len(near) == 1 else f"{len(near)} real parts are"
    return (
        f"{parts} not zero, but within {max(near):.0f} tolerances of it; if X is not known better "
        f"than that, {_advice(advised)}."
    )


def _say_undecided(structure: Sequence[Found], units: Units) -> str:
    """Warn of eigenvalues that the tolerance lets move as far as to their neighbours."""
    lost = [ratio for ratio in _in_tolerances(structure, units) if ratio <= 1.0]
    lost += [0.0 for one in structure if one.decay == 0.0 and one.error > (one.gap or math.inf)]
    if not lost:
        return ""
    worst = max(one.condition for one in structure)
    told = "is not told from its" if len(lost) == 1 else "are not told from their"
    return (
        f"{_count(len(lost), 'eigenvalue')} {told} neighbours at this tolerance (condition up to "
        f"{worst:.1e}): what they are is not known; try a smaller or a larger tolerance."
    )


def _say_fragile(structure: Sequence[Found], units: Units) -> str:
    """Warn of simple eigenvalues that a small change of X moves onto each other.

    So do those of a block that was split: J_m at a distance e becomes eigenvalues e^(1/m) apart,
    each of a condition that is the inverse of e^(1 - 1/m).
    """
    reach = max(units.tolerance, SPLIT) * units.norm
    found = []
    for one in structure:
        if one.order > 1 or one.condition < SENSITIVE:
            continue
        apart = min(one.gap or math.inf, 2.0 * one.frequency or math.inf) / units.scale
        if 0.25 * apart <= reach * one.condition:
            found.append((0.25 * apart / one.condition / units.norm, one.condition))
    if not found:
        return ""
    least, worst = min(found)[0], max(found, key=lambda pair: pair[1])[1]
    return (
        f"{_count(len(found), 'eigenvalue')} may reach a neighbour by a change of {least:.1e} "
        f"of |X| (condition up to {worst:.1e}): if X is not known much better than that they may "
        "be parts of blocks of higher order, which only a tolerance above its error shows."
    )


def _say_slow(structure: Sequence[Found], units: Units) -> str:
    """Name both readings of a damped turn so slow that noise of X makes it of two equal decays."""
    slow = [
        (one.frequency / units.scale / one.condition / units.norm, one)
        for one in structure
        if one.frequency and one.decay and one.order == 1 and one.condition < SENSITIVE
    ]
    slow = [pair for pair in slow if pair[0] <= SPLIT]
    if not slow:
        return ""
    change, one = max(slow, key=lambda pair: pair[0])
    return (
        f"{in_words(one)} turns by so little that a change of {change:.1e} of |X| makes it of two "
        f"equal decays {one.decay:.6g}: it is those if X is not known better than that, and a "
        "damped rotation if it is."
    )


def _say_narrow(units: Units) -> str:
    """Say what a narrow type leaves to know."""
    if units.rounding <= EPSILON:
        return ""
    return (
        f"X came in a type that rounds to {units.rounding:.1e}, so that the tolerance is "
        f"{units.tolerance:.1e}; pass the matrix in float64 to know more."
    )


def _is_step(structure: Sequence[Found], units: Units) -> str:
    """Ask whether X is a step: eigenvalues on the unit circle, and not only +-i, or only -1."""
    delta = units.delta * units.scale
    for one in structure:
        modulus = abs(complex(one.decay, one.frequency))
        if abs(modulus - 1.0) > 1e-6 + min(delta * one.condition, 1e-3):
            return ""
    size = sum(one.dimension for one in structure)
    turning = any(one.decay and one.frequency for one in structure)
    growing = any(one.decay > 0.0 for one in structure)
    return STEP if size > 1 and (turning or growing) else ""


def _in_tolerances(structure: Sequence[Found], units: Units) -> list[float]:
    """Return the real parts that are not zero in units of what the tolerance can move them by."""
    moved = [(abs(one.decay) / units.scale, units.delta * one.condition) for one in structure]
    return [decay / most for decay, most in moved if decay]


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _list(founds: Sequence[Found]) -> str:
    shown = [in_words(one) for one in founds[:4]]
    return ", ".join(shown) + (", ..." if len(founds) > 4 else "")


def blocks_and_basis(structure: Structure) -> tuple[tuple[Block, ...], Floats]:
    """Return the blocks, and the real basis in which they stand."""
    blocks: list[Block] = []
    columns: list[Floats] = []
    for cluster, value in zip(*exact_clusters(structure), strict=True):
        for chain in split_chains(chains_of(cluster), cluster.sizes):
            moved, gain = _balance_chain(chain)
            columns.append(np.asarray(moved.real) if cluster.real else real_pairs(moved))
            blocks.append(block_of(value, moved.shape[1], gain * structure.scale))
    return tuple(blocks), np.concatenate(columns, axis=1)


def block_of(value: complex, order: int, gain: float) -> Block:
    """Return a block; one of order 1 has no nilpotent part to scale."""
    return Block(
        decay=value.real, frequency=value.imag, order=order, gain=gain if order > 1 else 1.0
    )


def split_chains(vectors: Matrix, sizes: tuple[int, ...]) -> list[Matrix]:
    """Return chains that stand side by side one by one."""
    return np.split(vectors, np.cumsum(sizes)[:-1], axis=1)


def _balance_chain(chain: Matrix) -> tuple[Matrix, float]:
    """Return a chain whose ends are of one length, and what stands above the diagonal for it.

    A nilpotent part that is small against the rest would make a chain with ones ill-conditioned.
    """
    order = chain.shape[1]
    if order == 1:
        return chain, 1.0
    first, last = np.linalg.norm(chain[:, 0]), np.linalg.norm(chain[:, -1])
    step = float((first / last) ** (1.0 / (order - 1)))
    made = chain * step ** np.arange(order)
    return made * np.sqrt(order) / np.linalg.norm(made), step


def generator_of(blocks: Sequence[Block], basis: Floats) -> Generator:
    """Return the generator, or say that its basis cannot be held."""
    try:
        return Generator(blocks, basis)
    except GroupError as error:
        raise singular() from error


def singular() -> GroupError:
    """Return the refusal of blocks that do not make the matrix again."""
    return GroupError(
        "the blocks stand in a basis that is singular to rounding or to the tolerance, and do not "
        "make the matrix again; classify it at another tolerance, or use the matrix itself."
    )


def exact_clusters(structure: Structure) -> tuple[list[Cluster], list[complex]]:
    """Return clusters and eigenvalues of a matrix near X that has the structure exactly."""
    x = structure.matrix
    norm = float(np.linalg.norm(x, 2))
    units = Units(structure.scale, norm, structure.tolerance)
    clusters = list(structure.clusters)
    shape = _shape(clusters)
    for _ in range(ROUNDS):
        change = _change(clusters, values_of(clusters, units), structure.scale)
        if np.linalg.norm(change, 2) <= 4.0 * np.finfo(np.float64).eps * norm:
            break
        x = x - change
        moved = search(x, units.delta).clusters
        if _shape(moved) != shape:  # the move was not small after all: keep what there was
            break
        clusters = moved
    return clusters, values_of(clusters, units)


def _shape(clusters: list[Cluster]) -> list[tuple[bool, tuple[int, ...]]]:
    return sorted((cluster.real, cluster.sizes) for cluster in clusters)


def _change(clusters: list[Cluster], values: list[complex], scale: float) -> Floats:
    """Return the changes of all clusters, and the least one that makes real parts zero."""
    size = len(clusters[0].part.right)
    change = np.zeros((size, size))
    wanted, normals = [], []
    for cluster, value in zip(clusters, values, strict=True):
        if cluster.change is not None:
            change = change + cluster.change
        shift = cluster.mean.real - value.real / scale
        if shift:
            wanted.append(shift * len(cluster.members))
            normals.append((cluster.part.left @ cluster.part.right.conj().T).real.reshape(-1))
    if wanted:
        span = np.array(normals)
        weights = np.linalg.lstsq(span @ span.T, np.array(wanted), rcond=None)[0]
        change = change + (weights @ span).reshape(size, size)
    return change


def columns_of(cluster: Cluster, *, time: float = 1.0) -> Floats:
    """Return the real columns of P for a cluster, or for it at another speed: X / time."""
    powers = time ** np.concatenate([np.arange(size) for size in cluster.sizes])
    vectors = chains_of(cluster) * powers
    if cluster.real:
        return np.asarray(vectors.real)
    return real_pairs(vectors.conj() if time < 0.0 else vectors)


def chains_of(cluster: Cluster) -> Matrix:
    """Return the chains of a cluster side by side, longest first; real ones on the real axis."""
    if cluster.real:
        return _real_vectors(cluster).astype(np.complex128)
    return np.asarray(cluster.part.right @ jordan_chains(cluster.stairs))


def real_pairs(vectors: Matrix) -> Floats:
    """Return p and q of every v = p - i q, as columns."""
    pairs = np.stack([vectors.real, -vectors.imag], axis=-1)
    return np.asarray(pairs.reshape(len(vectors), -1))


def _real_vectors(cluster: Cluster) -> Floats:
    right, exact = cluster.part.right, cluster.stairs.exact
    real = np.linalg.svd(np.concatenate([right.real, right.imag], axis=1))[0][:, : len(exact)]
    turn = real.T @ right
    nilpotent: Matrix = np.ascontiguousarray((turn @ exact @ turn.conj().T).real)
    made = staircase(nilpotent, weyr=cluster.stairs.weyr)
    stairs = cluster.stairs if made is None else made  # None only where sizes grow: they cannot
    return np.asarray((real @ jordan_chains(stairs)).real)
