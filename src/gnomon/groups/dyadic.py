r"""The group law at many lags: what products of A at binary steps say of each.

If A(a + b) = A(a) A(b) at all lags, A is known at every n = sum_i 2^i from A(2^i) alone, one for
each binary digit of n, and the logit of a query and a key that are n apart is

    q^T A(2^i1) A(2^i2) ... B(0) k,

a product of some thirty matrices at most, on several axes one after the other. So unit vectors are
asked at powers of two only, and one pair of vectors at as many lags as there is time for: small
ones, powers of two and their neighbours, the last three, and many at random, on each axis, in the
plane of each pair of axes, on diagonals and off all of these, of both signs where keys may come
later. Of integer positions all lags are asked where they are few enough. A step at 2^i must be the
square of the one before, or a fault from a power of two on would be one of both sides.

Real lags have 32 binary digits, so that they lie on no coarse lattice: n of them are uniform and
independent, and a fault that touches a share s of the lags of one sign is missed by all of them
with probability (1 - s)^n.

Residuals are shares of the largest logit at lags whose rows q^T A(n) are as long, so that a fault
among logits that have decayed is seen, too. What rounding does to a product is left out first:
each factor is known to its rounding, and carries that through the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.groups import places
from gnomon.groups.blocks import Floats
from gnomon.groups.laws import AT_ONCE, at_once_of
from gnomon.groups.subject import EPSILON, Subject

FINEST, DIGITS = -6, 32
"""Lags are multiples of 2^-6, or of less: real ones have so many binary digits."""
DIGITS_OF_FLOAT32, DIGITS_IN_ORDER = 20, 12
"""The same where positions may be float32, and where each lag takes a call of its own."""
FREE, BY_SIZE, FEW = 512, 128, 32
"""Random lags of each sign and axis: uniform, by their logarithm; and special ones off the axes."""
SIGNS, PAIRS = 8, 6
"""Combinations of signs off the axes, and pairs of axes, at most."""
ROUNDINGS = 64.0
"""Roundings of float64 that a factor may be off by; of narrow types as many as of vectors."""
VECTORS = 4.0
TINY = float(np.finfo(np.float64).tiny)
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class _Factor:
    """A (heads, d, d) at a binary step, and which lags it is a factor of."""

    matrix: Floats
    size: Floats
    chosen: NDArray[np.bool_]


def dyadic(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far logits at many lags are from products of A at binary steps."""
    exponents = _exponents(subject)
    unit = 2.0 ** int(exponents[0])
    slack = VECTORS * subject.rounding if subject.narrow else ROUNDINGS * EPSILON
    lags = _lags(subject, rng, unit)
    digits = np.rint(np.abs(lags) / unit).astype(np.int64)
    q, k = rng.normal(size=(2, subject.dimension))
    worst, factors = 0.0, []
    right = np.empty(0)
    for sign in (-1.0, 1.0)[subject.causal :]:
        start = _matrices(subject, sign, np.zeros((1, subject.axes)))[0]
        inverse = np.linalg.inv(start)
        at = np.broadcast_to((start @ k)[:, None], (len(start), len(lags), subject.dimension))
        behind = np.all(lags <= 0.0, axis=1).reshape(1, -1, 1)
        right = at if sign < 0.0 or not right.size else np.where(behind, right, at)
        for axis, way in enumerate(np.eye(subject.axes)):
            steps = _matrices(subject, sign, sign * 2.0 ** exponents[:, None] * way) @ inverse
            if not np.isfinite(steps).all():
                return float("inf")
            worst = max(worst, _off_squares(steps, slack))
            here = sign * lags[:, axis] > 0.0
            for place, step in enumerate(steps):
                chosen = here & ((digits[:, axis] >> place) & 1 == 1)
                factors.append(_Factor(step, _norms(step), chosen))
    found = _logits(subject, q, k, lags)
    every = _every(subject) is not None
    subject.asked.compare(lags, free=None if every else FREE // _spared(subject))
    return max(worst, _off_products(factors, q, right, found, slack))


def _matrices(subject: Subject, sign: float, lags: Floats) -> Floats:
    """Return B (n, heads, d, d) at lags (n, axes) of a sign.

    The farthest lag is a part of every call, here as of single vectors: what a call makes of all
    its positions is then the same in each, and only the law of caches is about it.
    """
    vectors, d = np.eye(subject.dimension), subject.dimension
    size = 1 if subject.in_order else max(1, AT_ONCE // d - 1)
    made: list[Floats] = []
    for first in range(0, len(lags), size):
        some = lags[first : first + size]
        asked = some if subject.in_order else np.concatenate([some, sign * _corner(subject)])
        made += at_once_of(subject, vectors, asked)[: len(some)]
    return np.array(made).reshape(len(lags), -1, d, d)


def _corner(subject: Subject) -> Floats:
    """Return the farthest lag (1, axes)."""
    return np.full((1, subject.axes), np.floor(subject.lags))


def _exponents(subject: Subject) -> Whole:
    """Return the exponents of binary steps, from the finest to the longest within the lags."""
    longest = math.floor(math.log2(subject.lags))
    digits = DIGITS_OF_FLOAT32 if subject.narrow else DIGITS
    digits = DIGITS_IN_ORDER if subject.in_order else digits
    finest = max(0, longest - DIGITS) if subject.whole else min(FINEST, longest - digits)
    return np.arange(finest, longest + 1)


def _norms(matrices: Floats) -> Floats:
    """Return bounds of the 2-norms of matrices (..., d, d)."""
    size = np.abs(matrices)
    return np.asarray(np.sqrt(size.sum(axis=-1).max(axis=-1) * size.sum(axis=-2).max(axis=-1)))


def _off_squares(steps: Floats, slack: float) -> float:
    """Return how far each step (n, heads, d, d) is from the square of the one before."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = steps[:-1] @ steps[:-1]
        off = np.abs(steps[1:] - squares).max(axis=(-2, -1), initial=0.0)
        rounding = slack * (1.0 + _norms(steps[:-1]) ** 2)
        size = np.maximum(np.abs(steps[1:]), np.abs(squares)).max(axis=(-2, -1), initial=TINY)
        off = np.maximum(off - rounding, 0.0) / size
    return float(off[np.isfinite(off)].max(initial=0.0))


def _off_products(
    factors: list[_Factor], q: Floats, right: Floats, found: Floats, slack: float
) -> float:
    """Return how far logits (heads, lags) are from q^T (product) right, (heads, lags, d)."""
    rows = np.broadcast_to(q, right.shape).copy()
    columns = right.copy()
    before = []
    with np.errstate(over="ignore", invalid="ignore"):  # what grows may leave float64
        for one in factors:
            some = rows[:, one.chosen]
            before.append(np.linalg.norm(some, axis=-1))
            rows[:, one.chosen] = some @ one.matrix
        carried = np.zeros(found.shape)
        for one, size in zip(reversed(factors), reversed(before), strict=True):
            some = columns[:, one.chosen]
            carried[:, one.chosen] += size * one.size[:, None] * np.linalg.norm(some, axis=-1)
            columns[:, one.chosen] = some @ np.swapaxes(one.matrix, -1, -2)
        wanted = np.einsum("hnd,hnd->hn", rows, right)
        length = np.linalg.norm(right, axis=-1)
        size = np.linalg.norm(rows, axis=-1) * length
        rounding = slack * (carried + np.linalg.norm(q) * length)
        seen = np.isfinite(found) & np.isfinite(wanted) & np.isfinite(rounding)
        if not seen.any():
            return 0.0
        largest = float((np.abs(wanted) / np.maximum(size, TINY))[seen].max())
        off = np.maximum(np.abs(found - wanted) - rounding, 0.0)
        return float((off / np.maximum(largest * size, TINY))[seen].max())


def _lags(subject: Subject, rng: np.random.Generator, unit: float) -> Floats:
    """Return lags (n, axes), multiples of a unit: all, or some on each axis and between them."""
    every = _every(subject)
    if every is not None:
        return every
    sides = (1.0,) if subject.causal else (1.0, -1.0)
    axes = np.eye(subject.axes)
    made = [np.zeros((1, subject.axes))]
    for axis, sign in itertools.product(range(subject.axes), sides):
        made.append(sign * _on_axis(subject, rng, unit)[:, None] * axes[axis])
    if subject.axes > 1:
        made += [_off_axes(subject, rng, unit, signs) for signs in _signs(subject)]
    if subject.axes > 2:
        for pair in _pairs_of_axes(subject, rng):
            signs = rng.choice(sides, size=(BY_SIZE, subject.axes))
            plane = signs * axes[list(pair)].sum(axis=0)
            made.append(plane * _uniform(subject, rng, unit, (BY_SIZE, subject.axes)))
    return np.unique(np.concatenate(made), axis=0)


def _every(subject: Subject) -> Floats | None:
    """Return all lags (n, axes) of integer positions, or None where they are too many."""
    last = math.floor(subject.lags)
    first = 0 if subject.causal else -last
    few = (last - first + 1) ** subject.axes <= 2 * places.ROWS + 1
    if not (subject.whole and few) or (subject.in_order and subject.axes > 1):
        return None
    grid = np.indices((last - first + 1,) * subject.axes).reshape(subject.axes, -1).T
    return np.asarray(grid + first, dtype=np.float64)


def _spared(subject: Subject) -> int:
    """Return by how much fewer lags are asked where each takes a call of its own."""
    return 16 if subject.in_order else 1


def _on_axis(subject: Subject, rng: np.random.Generator, unit: float) -> Floats:
    """Return special lags from 0 on, and random ones, uniform and by their size."""
    known = [places.special(float(math.floor(subject.lags)))]
    known.append(2.0 ** np.arange(float(FINEST) if unit < 1.0 else 0.0, 1.0))
    spared = _spared(subject)
    free = _uniform(subject, rng, unit, (FREE // spared,))
    lags = np.concatenate([*known, free, _by_size(subject, rng, unit, (BY_SIZE // spared,))])
    return np.asarray(lags[lags <= subject.lags])


def _uniform(
    subject: Subject, rng: np.random.Generator, unit: float, size: tuple[int, ...]
) -> Floats:
    """Return uniform lags, multiples of a unit."""
    return np.asarray(unit * np.floor(rng.uniform(0.0, subject.lags, size=size) / unit))


def _by_size(
    subject: Subject, rng: np.random.Generator, unit: float, size: tuple[int, ...]
) -> Floats:
    """Return lags whose logarithm is uniform, from 2^-6, or 1, to the longest."""
    least = max(unit, 2.0**FINEST)
    return np.asarray(unit * np.floor(least * (subject.lags / least) ** rng.random(size) / unit))


def _off_axes(
    subject: Subject, rng: np.random.Generator, unit: float, signs: Floats | None
) -> Floats:
    """Return lags (n, axes) of given or random signs: diagonals, and all coordinates by themselves.

    Diagonals are those of tokens of text among positions of images.
    """
    axes = subject.axes
    known = places.special(math.floor(subject.lags))
    made = np.concatenate(
        [
            np.repeat(known[:, None], axes, axis=1),
            rng.choice(known, size=(FEW, axes)),
            _uniform(subject, rng, unit, (FREE, axes)),
            _by_size(subject, rng, unit, (BY_SIZE, axes)),
        ]
    )
    return made * (rng.choice([-1.0, 1.0], size=made.shape) if signs is None else signs)


def _signs(subject: Subject) -> Iterator[Floats | None]:
    """Yield the signs of coordinates: all combinations; of many, None for signs at random."""
    if subject.causal:
        yield np.ones(subject.axes)
    elif 2**subject.axes <= SIGNS:
        yield from map(np.array, itertools.product((1.0, -1.0), repeat=subject.axes))
    else:
        yield from itertools.repeat(None, SIGNS)


def _pairs_of_axes(subject: Subject, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return all pairs of axes, or some of many."""
    pairs = list(itertools.combinations(range(subject.axes), 2))
    chosen = rng.choice(len(pairs), size=min(PAIRS, len(pairs)), replace=False)
    return [pairs[one] for one in np.sort(chosen)]


def _logits(subject: Subject, q: Floats, k: Floats, lags: Floats) -> Floats:
    """Return the logits (heads, n) of one query and one key at lags (n, axes).

    The key stands at 0, or the query, or each at 0 on some axes: as unit vectors are asked.
    """
    ahead, behind = np.asarray((lags >= 0.0).all(axis=1)), np.asarray((lags <= 0.0).all(axis=1))
    made: list[Floats] = [np.empty(0)] * len(lags)
    for side, most in ((ahead & ~behind, AT_ONCE), (behind, AT_ONCE), (~ahead & ~behind, BY_SIZE)):
        chosen = np.flatnonzero(side)
        size = 1 if subject.in_order else most - 1
        for first in range(0, len(chosen), size):
            some = chosen[first : first + size]
            sign = -1.0 if behind[some[0]] and not subject.causal else 1.0
            alone = subject.in_order or most == BY_SIZE
            asked = lags[some] if alone else np.concatenate([lags[some], sign * _corner(subject)])
            found = _asked(subject, q, k, asked)
            for place, one in enumerate(some):
                made[one] = found[:, place]
    return np.stack(made, axis=-1)


def _asked(subject: Subject, q: Floats, k: Floats, lags: Floats) -> Floats:
    """Return the logits (heads, n) at lags of the same signs, in one call."""
    late, early = np.maximum(lags, 0.0), np.maximum(-lags, 0.0)
    late = late if late.any() else late[:1]
    early = early if early.any() else early[:1]
    t, s = (at[:, 0] if subject.axes == 1 else at for at in (late, early))
    found = subject(np.repeat(q[None], len(t), axis=0), np.repeat(k[None], len(s), axis=0), t, s)
    found = found.reshape(-1, *found.shape[-2:])
    if len(t) > 1 and len(s) > 1:
        return np.asarray(np.diagonal(found, axis1=-2, axis2=-1))
    return np.asarray(found[..., 0] if len(s) == 1 else found[..., 0, :])
