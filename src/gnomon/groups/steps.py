r"""Which generator measured actions have: one step A(1), or rotations at far lags.

A step matrix A(1) for whole positions: which generator it has, or why it has none.

On whole positions A(n) = A(1)^n, and any invertible matrix will do. It belongs to a group in
continuous time if A(1) = exp(X) with X real, which is so exactly if A(1) is invertible and every
Jordan block of a negative eigenvalue occurs an even number of times [culver1966]. The logarithm
keeps block sizes: J_m(mu) becomes J_m(ln |mu| + i arg mu), and two blocks of mu < 0 become one that
turns by pi. Frequencies are those up to pi: whole positions cannot tell 2 pi more. A cyclic roll
of even size has the eigenvalue -1 once, so it has no real generator; a nilpotent shift has only the
eigenvalue 0, so it acts on lags n >= 0 only, as tables of finitely many lags do.

The real logarithm of a step, as blocks and a basis.

In a chain of A = P J P^-1, J_m(mu) with g above the diagonal, log is

    log J = ln mu I + nu,    nu = sum_(0 < r < m) (-1)^(r+1) / r (g / mu)^r N^r,

which is nilpotent of the same order: with c = |g / mu| the vectors nu^(m-1) e_m / c^(m-1), ...,
nu e_m / c, e_m are its chain, with c above the diagonal. Two chains v, w of a negative mu are one
complex chain v - iw of ln |mu| + i pi, and its conjugate [culver1966], [higham2008 sec. 1.3].

Rotations read from far lags: each frequency with the error of its phase.

Where A(t) is orthogonal at every lag it is a sum of turns, and the planes that turn are the same at
all lags. The phase of a plane at lag t, known to e, gives its frequency to e / t: doubling the lag
from one that no frequency outruns, and unwrapping each phase by the frequency known so far, reads
slow pairs as well as their rounding lets them be read [higham2008 sec. 11.2 for one lag only]. In
float32 one step cannot: half of the frequencies of a long ladder lie below its rounding.

The error is measured, not assumed: six lags of the last octave give six readings, and what they
differ by, with the rounding of the type itself, is the error that names are held to.

Coordinates that no lag mixes are kept apart, exactly; within a part that is mixed, planes are the
eigenvectors of a random sum of the skew parts of A(t), which commute.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm, logm

from gnomon.errors import GroupError
from gnomon.groups import laws
from gnomon.groups.classification import (
    STEP,
    Found,
    Structure,
    _balance_chain,
    block_of,
    chains_of,
    exact_clusters,
    generator_of,
    real_pairs,
    sort_blocks,
    split_chains,
    structure_of,
)
from gnomon.groups.generator import Block, Floats, Generator
from gnomon.groups.jordan import Matrix
from gnomon.groups.logit_function import TOLERANCE, LogitFunction
from gnomon.groups.names import name_structure
from gnomon.results import Result

STEPPED = 8.0
"""How much coarser than A(1)^2 - A(2) one step is read."""
LAST_OCTAVE = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Lags whose readings are compared, as shares of the farthest."""
FARTHEST = 4096.0
"""Largest lag that is asked for: beyond, phases of float32 lose more than lags gain."""
FINEST_LAG, SHORTEST_LAG = 2.0**-12, 1e-9
"""Lags from which frequencies are read upwards: no turn that is continuous has gone around."""
READINGS = 2.0
"""How many times the largest difference of readings is taken for their error."""
READ_TRIES = 4
Vectors = NDArray[np.complex128]


@dataclass(frozen=True, kw_only=True, eq=False)
class Step(Result):
    """What a step matrix is: its own blocks, those of its real generator, or why there is none."""

    has_generator: bool
    reason: str
    structure: tuple[Found, ...]
    named: str
    bounded: dict[str, bool]
    step: Structure
    warnings: tuple[str, ...]

    def generator(self) -> Generator:
        """Return X in blocks and a basis, exp(X) = A up to the tolerance; refuse if there is none.

        >>> classify_step([[0.0, -1.0], [1.0, 0.0]]).generator().matrix.round(6)
        array([[ 0.      , -1.570796],
               [ 1.570796,  0.      ]])
        """
        if not self.has_generator:
            raise GroupError(
                f"the step has no real generator: {self.reason}; use its powers on whole positions."
            )
        return logarithm(self.step, self.step.tolerance * self.step.norm)


def classify_step(a: ArrayLike, *, tolerance: float | None = None) -> Step:
    """Return the structure of the real X with exp(X) = A, or say why there is none.

    >>> classify_step([[0.0, 1.0], [1.0, 0.0]]).has_generator
    False
    >>> classify_step([[0.0, -1.0], [1.0, 0.0]]).named
    'a rotation by 1.5708 radians per position'
    """
    step = structure_of(a, tolerance=tolerance, what="the step matrix")
    delta = step.tolerance * step.norm
    reason = _obstacle(step)
    founds = (
        () if reason else sort_blocks([_class_of_logarithm(one, delta) for one in step.structure])
    )
    return Step(
        has_generator=not reason,
        reason=reason,
        structure=founds,
        named=_without(step) if reason else name_structure(founds),
        bounded=_bounds(step, delta),
        step=step,
        warnings=tuple(said for said in step.warnings if said != STEP),
    )


def _obstacle(step: Structure) -> str:
    """Return why there is no real logarithm, or nothing."""
    for one in step.structure:
        if one.decay == 0.0 and not one.frequency:
            return (
                "the eigenvalue 0 has no logarithm: the step is singular, and acts on lags n >= 0 "
                "only"
            )
        if one.decay < 0.0 and not one.frequency and one.count % 2:
            return (
                f"the eigenvalue {one.decay:.6g} has {one.count} block{'s'[: one.count > 1]} of "
                f"order {one.order}, and a real logarithm needs an even number"
            )
    return ""


def _class_of_logarithm(one: Found, delta: float) -> Found:
    """Return the blocks of the logarithm; a modulus of 1 is one that cannot be told from it."""
    value = complex(one.decay, one.frequency)
    found = logarithm_of(value, delta * one.condition)
    decay, turn = found.real, found.imag
    negative = turn == math.pi
    return Found(
        kind=Block(decay=decay, frequency=turn, order=one.order).kind,
        decay=decay,
        frequency=turn,
        order=one.order,
        count=one.count // 2 if negative else one.count,
        backward_error=one.backward_error,
        gap=one.gap,
        condition=one.condition / abs(value),
        error=delta * one.condition / abs(value),
    )


def _bounds(step: Structure, delta: float) -> dict[str, bool]:
    """Say where A^n stays bounded: for n >= 0, and for all n."""
    sides = []
    for one in step.structure:
        modulus = abs(complex(one.decay, one.frequency))
        on_circle = abs(modulus - 1.0) <= delta * one.condition
        sides.append((0 if on_circle else 1 if modulus > 1.0 else -1, one.order))
    causal = all(side < 0 or (side == 0 and order == 1) for side, order in sides)
    return {"causal": causal, "both": all(side == 0 and order == 1 for side, order in sides)}


def _without(step: Structure) -> str:
    """Name a step that has no real generator."""
    size = step.dimension
    only = step.structure[0]
    if all(one.decay == 0.0 and not one.frequency for one in step.structure):
        longest = max(one.order for one in step.structure)
        if only.order == size:
            return (
                f"nilpotent shift of {size} coordinates: tables of {size} lags, no real generator"
            )
        return f"nilpotent step: tables of {longest} lags, no real generator"
    if _rolls(step, size):
        return f"cyclic roll of {size} coordinates (RollPE) as a step, no real generator"
    return "a step on whole positions that has no real generator"


def _rolls(step: Structure, size: int) -> bool:
    """Say whether the eigenvalues are the roots of unity of this order, each once."""
    found = [complex(one.decay, one.frequency) for one in step.structure]
    if len(found) != size // 2 + 1 or any(one.count * one.order > 1 for one in step.structure):
        return False
    roots = np.exp(2j * np.pi * np.arange(size // 2 + 1) / size)
    return all(np.abs(np.array(found) - root).min() < 1e-6 for root in roots)


def logarithm_of(value: complex, allowed: float) -> complex:
    """Return ln mu with an angle from 0 to pi; a modulus that may be 1 counts as 1."""
    modulus = abs(value)
    decay = 0.0 if abs(modulus - 1.0) <= allowed else math.log(modulus)
    return complex(decay, cmath.phase(value))


def logarithm(step: Structure, delta: float) -> Generator:
    """Return X with exp(X) = A up to the tolerance, for a step that has a real logarithm."""
    clusters, values = exact_clusters(step)
    blocks: list[Block] = []
    columns: list[Floats] = []
    for cluster, value in zip(clusters, values, strict=True):
        found = logarithm_of(value, delta * cluster.condition)
        chains = split_chains(chains_of(cluster), cluster.sizes)
        for chain in _two_by_two(chains) if _negative(value) else chains:
            ratio = step.scale / value
            moved, gain = _balance_chain(chain @ _chain_of_logarithm(chain.shape[1], ratio))
            columns.append(real_pairs(moved) if found.imag else np.asarray(moved.real))
            blocks.append(block_of(found, moved.shape[1], gain * abs(ratio)))
    return generator_of(blocks, np.concatenate(columns, axis=1))


def _negative(value: complex) -> bool:
    return value.imag == 0.0 and value.real < 0.0


def _two_by_two(chains: list[Matrix]) -> list[Matrix]:
    """Return pairs of chains as complex ones: of a negative eigenvalue every size occurs evenly."""
    return [one - 1j * other for one, other in zip(chains[::2], chains[1::2], strict=True)]


def _chain_of_logarithm(order: int, ratio: complex) -> Matrix:
    """Return the chain of nu in the chain of J, for g / mu."""
    nilpotent = np.zeros((order, order), dtype=np.complex128)
    for power in range(1, order):
        nilpotent += -((-ratio) ** power) / power / abs(ratio) * np.eye(order, k=power)
    made = [np.eye(order, dtype=np.complex128)[:, -1]]
    for _ in range(order - 1):
        made.append(nilpotent @ made[-1])
    return np.array(made[::-1]).T


@dataclass(frozen=True, kw_only=True, eq=False)
class Rotations(Result):
    """Planes that turn, coordinates that do not, and what that amounts to."""

    structure: tuple[Found, ...]
    named: str
    bounded: dict[str, bool]
    tolerance: float
    warnings: tuple[str, ...] = ()
    basis: Floats = field(repr=False)
    frequencies: Floats = field(repr=False)

    def to_dict(self) -> dict[str, object]:
        """Return plain values, without the basis behind `generator()`."""
        made = super().to_dict()
        return {name: made[name] for name in made if name not in ("basis", "frequencies")}

    def generator(self) -> Generator:
        """Return the generator: a turn for each plane, 0 elsewhere, in the basis of the planes."""
        turning = [Block(frequency=float(one)) for one in self.frequencies]
        still = self.basis.shape[1] - 2 * len(turning)
        return Generator([*turning, *([Block()] * still)], self.basis)


@dataclass(frozen=True)
class _Plane:
    """A plane as a complex vector, or a coordinate as a real one; its frequency, and the error."""

    vector: Vectors
    frequency: float
    error: float

    @property
    def turns(self) -> bool:
        return self.frequency > self.error


def read_rotations(
    at: Callable[[float], Floats], *, reach: float, whole: bool, rounding: float, tolerance: float
) -> Rotations | None:
    """Return the turns that A(t) is made of, or None where it is not orthogonal at all lags.

    `rounding` is that of the type A(t) is computed in, `tolerance` what A(t) may be off by.
    """
    lags = _lags(at, min(reach, FARTHEST), whole=whole)
    if not lags:
        return None
    known = {lag: at(lag) for lag in lags}
    eye = np.eye(len(known[lags[0]]))
    for matrix in known.values():
        if not np.abs(matrix.T @ matrix - eye).max() <= 2.0 * tolerance:
            return None
    planes: list[_Plane] = []
    for members in _parts(known.values()):
        made = _read_part(members, known, rounding, tolerance)
        if made is None:
            return None
        planes += made
    return _summarise(planes, len(eye), tolerance)


def _lags(at: Callable[[float], Floats], farthest: float, *, whole: bool) -> list[float]:
    """Return lags that double, from one at which nothing turns by a third, and the last octave."""
    step = 1.0 if whole else _first_lag(at)
    if farthest < 2.0 * step:
        return []
    doubling = step * 2.0 ** np.arange(int(math.log2(farthest / step)) + 1)
    octave = farthest * np.array(LAST_OCTAVE)
    octave = np.floor(octave) if whole else octave
    return sorted({*doubling.tolist(), *octave[octave >= step].tolist()})


def _first_lag(at: Callable[[float], Floats]) -> float:
    """Return the longest 2^-k up to which nothing turns far: A is near I there and at all finer.

    A near I at one lag alone may have gone around: a turn by 2 pi is I at every whole lag. What
    jumps less than the law of continuity allows goes around at none below `FINEST_LAG`.
    """
    step, finer = FINEST_LAG, 2.0 * FINEST_LAG
    while step > SHORTEST_LAG and not _is_near_rest(at(step)):
        step, finer = 0.5 * step, step
    while finer <= 1.0 and _is_near_rest(at(finer)):
        step, finer = finer, 2.0 * finer
    return step


def _is_near_rest(matrix: Floats) -> bool:
    """Say whether nothing turns by more than half a radian, in any plane."""
    return float(np.linalg.norm(matrix - np.eye(len(matrix)), 2)) <= 0.5


def _parts(matrices: Iterable[Floats]) -> list[NDArray[np.int64]]:
    """Return sets of coordinates that no matrix mixes with others."""
    mixed = np.abs(np.array(list(matrices))).sum(axis=0) > 0.0
    left, parts = set(range(len(mixed))), []
    while left:
        part, seen = [min(left)], {min(left)}
        for one in part:
            near = np.flatnonzero(mixed[one] | mixed[:, one]).tolist()
            part += [other for other in near if other not in seen]
            seen.update(near)
        left -= seen
        parts.append(np.array(sorted(seen), dtype=np.int64))
    return parts


def _read_part(
    members: NDArray[np.int64], known: dict[float, Floats], rounding: float, tolerance: float
) -> list[_Plane] | None:
    """Return the planes of coordinates that are mixed, in all coordinates."""
    inside = {lag: matrix[np.ix_(members, members)] for lag, matrix in known.items()}
    size = len(next(iter(known.values())))
    for attempt in range(READ_TRIES):
        found, off = [], 0.0
        for vector in _vectors(inside, attempt):
            values = {lag: complex(vector.conj() @ a @ vector) for lag, a in inside.items()}
            far = max(inside)
            missed = float(np.abs(inside[far] @ vector - values[far] * vector).max())
            off = max(off, missed, *(abs(abs(value) - 1.0) for value in values.values()))
            frequency, error = _frequency_of(values, rounding)
            if not vector.imag.any() and abs(frequency) > error:
                return None  # one coordinate changes its sign: no real generator turns it
            full = np.zeros(size, dtype=np.complex128)
            full[members] = vector if frequency >= 0.0 else vector.conj()
            found.append(_Plane(full, abs(frequency), error))
        if off <= max(2.0 * tolerance, 64.0 * rounding):
            return found
    return None


def _vectors(inside: dict[float, Floats], attempt: int) -> list[Vectors]:
    """Return vectors of unit length, one for each plane, and a real one for a coordinate left."""
    size = len(next(iter(inside.values())))
    if size == 1:
        return [np.ones(1, dtype=np.complex128)]
    if size == 2:
        return [np.array([1.0, -1.0j], dtype=np.complex128) * math.sqrt(0.5)]
    weights = np.random.default_rng(attempt).uniform(0.5, 1.5, len(inside))
    skew = sum(w * 0.5 * (a - a.T) for w, a in zip(weights, inside.values(), strict=True))
    _, found = np.linalg.eigh(-1j * np.asarray(skew))
    planes = [found[:, -1 - k] for k in range(size // 2)]
    if size % 2:
        left = found[:, size // 2]
        real = left * np.exp(-1j * np.angle(left[np.argmax(np.abs(left))]))
        planes.append((real.real / np.linalg.norm(real.real)).astype(np.complex128))
    return planes


def _frequency_of(values: dict[float, complex], rounding: float) -> tuple[float, float]:
    """Return the frequency of phases at rising lags, unwrapped, and its error."""
    frequency, readings = 0.0, []
    last = max(values)
    for lag, value in values.items():
        phase = float(np.angle(value))
        turns = round((frequency * lag - phase) / (2.0 * math.pi))
        frequency = (phase + 2.0 * math.pi * turns) / lag
        if lag >= 0.499 * last:
            readings.append(frequency)
    middle = float(np.median(readings))
    spread = max(abs(one - middle) for one in readings)
    return middle, READINGS * spread + rounding * abs(middle)


def _summarise(planes: list[_Plane], size: int, tolerance: float) -> Rotations:
    """Return planes of equal frequency as one class, and name them all."""
    turning = sorted((one for one in planes if one.turns), key=lambda one: -one.frequency)
    still = [one for one in planes if not one.turns]
    founds, frequencies = [], []
    for group in _alike(turning):
        rate = float(np.mean([one.frequency for one in group]))
        error = max(one.error + abs(one.frequency - rate) for one in group)
        founds.append(_class_of(rate, error, len(group)))
        frequencies += [rate] * len(group)
    zeros = size - 2 * len(turning)
    if zeros:
        founds.append(_class_of(0.0, max((one.error for one in still), default=0.0), zeros))
    structure = sort_blocks(founds)
    return Rotations(
        structure=structure,
        named=name_structure(structure),
        bounded={"causal": True, "both": True},
        tolerance=tolerance,
        basis=_basis([one.vector for one in turning], size),
        frequencies=np.array(frequencies),
    )


def _alike(turning: list[_Plane]) -> list[list[_Plane]]:
    """Return planes whose frequencies, from the highest on, are not told from their neighbour's."""
    groups: list[list[_Plane]] = []
    for one in turning:
        before = groups[-1][-1] if groups else None
        if before and before.frequency - one.frequency <= before.error + one.error:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _class_of(rate: float, error: float, count: int) -> Found:
    return Found(
        kind=Block(frequency=rate).kind,
        decay=0.0,
        frequency=rate,
        order=1,
        count=count,
        backward_error=0.0,
        gap=None,
        condition=1.0,
        error=error,
    )


def _basis(vectors: list[Vectors], size: int) -> Floats:
    """Return an orthonormal basis: two columns for each plane that turns, then the rest."""
    # exp(tX) turns (Re v, -Im v) by J where A(t) v = e^(iwt) v.
    columns = [part for v in vectors for part in (v.real, -v.imag)]
    planes = math.sqrt(2.0) * np.array(columns).reshape(len(columns), size).T
    left, _, _ = np.linalg.svd(planes, full_matrices=True)
    return np.concatenate([planes, left[:, len(columns) :]], axis=1)


def actions_of(subject: LogitFunction) -> Callable[[float], Floats]:
    """Return A(t) of the first head on the first axis."""
    inverse = np.linalg.inv(laws.at_lag(subject, 0.0))

    def at(t: float) -> Floats:
        made = laws.at_lag(subject, t) @ inverse
        return np.asarray(made.reshape(-1, subject.dimension, subject.dimension)[0])

    return at


def read_generator(subject: LogitFunction) -> tuple[Floats, float, float]:
    """Return X of the first head on the first axis, how far exp(tX) is from A(t), and its rounding.

    The last is a share of |X|: what A(h)^2 is off from A(2h), over |hX|.
    """
    at = actions_of(subject)
    step = _first_lag(at)
    once = at(step)
    x = np.asarray(logm(once), dtype=np.complex128).real / step
    worst = 0.0
    for t in (2.0 * step, 16.0 * step, 7.0):
        if t > subject.lags:
            continue
        worst = max(worst, laws.residual(np.asarray(expm(t * x)), at(t)))
    off = laws.residual(once @ once, at(2.0 * step))
    size = step * float(np.linalg.norm(x, 2))
    return x, worst, STEPPED * off / size if size > 0.0 else 0.0


def step_of(subject: LogitFunction) -> Step:
    """Return the classes of one step, A(1), to its rounding: what A(1)^2 is off from A(2)."""
    at = actions_of(subject)
    once = at(1.0)
    off = laws.residual(once @ once, at(2.0))
    return classify_step(once, tolerance=max(TOLERANCE, STEPPED * off))


def rotations_of(subject: LogitFunction, tolerance: float) -> Rotations | None:
    """Return what rotates, with the errors of the phases, if nothing else is there."""
    return read_rotations(
        actions_of(subject),
        reach=subject.lags,
        whole=subject.whole,
        rounding=subject.rounding,
        tolerance=tolerance,
    )
