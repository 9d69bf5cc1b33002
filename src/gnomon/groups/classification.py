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
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gnomon.groups.blocks import Block
from gnomon.groups.checking import EPSILON, check_size, checked, checked_tolerance, rounding_of
from gnomon.groups.clusters import Floats, schur_of
from gnomon.groups.generator import Generator
from gnomon.groups.naming import named
from gnomon.groups.places import rounded_up
from gnomon.groups.search import Cluster, Searched, search
from gnomon.groups.words import CLEAR, in_words, is_settled, suggestion, warnings_of
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
        return self.count * self.block.dimension


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
        from gnomon.groups.basis import blocks_and_basis, generator_of, singular

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
    matrix = checked(x, what)
    check_size(matrix, what)
    rounding = rounding_of(x)
    used = checked_tolerance(tolerance, len(matrix), rounding)
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
        lambda start: _settled(matrix, units, start),
    )
    return Structure(
        structure=structure,
        generic=generic,
        named=named(structure),
        bounded=_bounded(structure),
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


def _settled(matrix: Floats, units: Units, start: float) -> float | None:
    """Return a tolerance from here on at which the answer is settled, as at three times it.

    What is called settled has nothing near, and no eigenvalue that may be a part of a block.
    """
    tolerance = rounded_up(start)
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
                tolerance = rounded_up(max(more or 0.0, WIDER * used))
                break
            answers.append(_signature(structure))
        else:
            if answers[0] == answers[1]:
                return tolerance
            tolerance = rounded_up(WIDER * tolerance)
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
                named=named(found),
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
    return ordered(found)


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
    """Return the eigenvalues, with a real part of zero where it can not be told from zero.

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


def ordered(found: list[Found]) -> tuple[Found, ...]:
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
    return ordered(found)


def _single(value: complex) -> Found:
    block = Block(decay=value.real, frequency=value.imag)
    return Found(
        kind=block.kind, decay=block.decay, frequency=block.frequency, order=1, count=1,
        backward_error=0.0, gap=None, condition=float("inf"), error=float("inf"),
    )  # fmt: skip


def _bounded(structure: tuple[Found, ...]) -> dict[str, bool]:
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
