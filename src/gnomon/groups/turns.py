r"""Rotations read from far lags: each frequency with the error of its phase.

Where A(t) is orthogonal at every lag it is a sum of turns, and the planes that turn are the same at
all lags. The phase of a plane at lag t, known to e, gives its frequency to e / t: doubling the lag
from one that no frequency outruns, and unwrapping each phase by the frequency known so far, reads
slow pairs as well as their rounding lets them be read [higham2008 sec. 11.2 for one lag only]. In
float32 one step can not: half of the frequencies of a long ladder lie below its rounding.

The error is measured, not assumed: six lags of the last octave give six readings, and what they
differ by, with the rounding of the type itself, is the error that names are held to.

Coordinates that no lag mixes are kept apart, exactly; within a part that is mixed, planes are the
eigenvectors of a random sum of the skew parts of A(t), which commute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gnomon.groups.blocks import Block, Floats
from gnomon.groups.classification import Found, ordered
from gnomon.groups.generator import Generator
from gnomon.groups.naming import named
from gnomon.results import Result

LAST_OCTAVE = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Lags whose readings are compared, as shares of the farthest."""
FARTHEST = 4096.0
"""Largest lag that is asked for: beyond, phases of float32 lose more than lags gain."""
READINGS = 2.0
"""How many times the largest difference of readings is taken for their error."""
TRIES = 4
Vectors = NDArray[np.complex128]


@dataclass(frozen=True, kw_only=True, eq=False)
class Turns(Result):
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


def read_turns(
    at: Callable[[float], Floats], *, reach: float, whole: bool, rounding: float, tolerance: float
) -> Turns | None:
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
    return _summarised(planes, len(eye), tolerance)


def _lags(at: Callable[[float], Floats], farthest: float, *, whole: bool) -> list[float]:
    """Return lags that double, from one at which nothing turns by a third, and the last octave."""
    step = 1.0
    if not whole:
        while step > 1e-9 and np.abs(at(step) - np.eye(len(at(0.0)))).max() > 0.5:
            step *= 0.5
    if farthest < 2.0 * step:
        return []
    doubling = step * 2.0 ** np.arange(int(math.log2(farthest / step)) + 1)
    octave = farthest * np.array(LAST_OCTAVE)
    octave = np.floor(octave) if whole else octave
    return sorted({*doubling.tolist(), *octave[octave >= step].tolist()})


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
    for attempt in range(TRIES):
        found, off = [], 0.0
        for vector in _vectors(inside, attempt):
            values = {lag: complex(vector.conj() @ a @ vector) for lag, a in inside.items()}
            far = max(inside)
            missed = float(np.abs(inside[far] @ vector - values[far] * vector).max())
            off = max(off, missed, *(abs(abs(value) - 1.0) for value in values.values()))
            frequency, error = _frequency(values, rounding)
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


def _frequency(values: dict[float, complex], rounding: float) -> tuple[float, float]:
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


def _summarised(planes: list[_Plane], size: int, tolerance: float) -> Turns:
    """Return planes of equal frequency as one class, and name them all."""
    turning = sorted((one for one in planes if one.turns), key=lambda one: -one.frequency)
    still = [one for one in planes if not one.turns]
    founds, frequencies = [], []
    for group in _alike(turning):
        rate = float(np.mean([one.frequency for one in group]))
        error = max(one.error + abs(one.frequency - rate) for one in group)
        founds.append(_found(rate, error, len(group)))
        frequencies += [rate] * len(group)
    zeros = size - 2 * len(turning)
    if zeros:
        founds.append(_found(0.0, max((one.error for one in still), default=0.0), zeros))
    structure = ordered(founds)
    return Turns(
        structure=structure,
        named=named(structure),
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


def _found(rate: float, error: float, count: int) -> Found:
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
