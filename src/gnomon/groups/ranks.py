r"""Laws of many lags: what products of A at binary steps say of each, and a finite rank.

Finite rank: does a sum of exponential polynomials make all lags, or do they never end?

A kernel of the lag splits into finitely many coordinates of query and key exactly if its Hankel
rank is finite, and then it is P exp(tX) Q [ho1966]. On a window of lags, smooth kernels such as
ln(1 + t) have a small numerical rank, too, and slow turns look like polynomials. So a rank counts
only if

* singular values fall clearly to their rounding after it, and do not just fade;
* its step is invertible, with eigenvalues below 0 or without: a table that ends has a singular one;
* it predicts lags that were not looked at, and its recurrence holds at all lags up to a few
  thousand (the recurrence below);
* no finer step of the lag shows more modes: a bump narrower than the step looks like a decay;
* coarser steps, as far as the reach, are of finite rank as well: a kernel may be cut far away.

Several steps are tried, from fine to coarse, since a mode shows itself at the scale it lives on. Of
a kernel that is not causal, lags of both signs must come from one generator: |t| does not. Ranks
above a quarter of the lags, and fast decays beside very slow turns, are not recognised. Logits that
were rounded to float32 have a rank to that rounding.

A group needs no such search. If B(t) = A(t) B(0) with A(a + b) = A(a) A(b), its d coordinates make
all lags, however many and however slow: so powers of one measured A(h) must give every lag of both
signs, at fine steps and coarse ones. Of logits with a bias this is asked of what is linear in query
and key, and the search is left for the bias alone.

The group law at many lags: what products of A at binary steps say of each.

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

A finite rank at every lag: what P A^n Q makes obeys one recurrence, wherever it is looked at.

With p(z) = sum_j c_j z^j the characteristic polynomial of the step A, p(A) = 0, so that

    sum_j c_j k(u + (n + j) h) = 0     for all n and every offset u,

for k(t) = P exp(tX) Q, A = exp(hX) [ho1966]. A rank is read from some hundred lags near by and from
strides; a bias that begins far away, or one wrong entry of a table, lies between them. The
recurrence needs no extrapolation, in which errors of eigenvalues grow with the lag, so it is asked
of all multiples of the step up to a few thousand, and of runs of lags that begin anywhere. Runs of
real lags are in steps of their own, of no simple ratio to the first: a fault that repeats with a
step obeys its recurrence.

The largest coefficient is 1, so that one wrong value leaves all of itself; the residual is a share
of the largest value of the run, or of `FLOOR` of the largest of all, where values have vanished.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import GroupError
from gnomon.groups.generator import Floats
from gnomon.groups.laws import AT_ONCE, ROWS, at_lag, at_lags, at_once_of, condition, residual
from gnomon.groups.logit_function import EPSILON, LogitFunction, special
from gnomon.groups.realisation import has_logarithm, realise

LAGS = 192
"""Lags that a generator is read from; as many more are predicted."""
STRIDES = (1.0, 4.0, 16.0, 64.0, 256.0)
PREDICTED = 1e-6
"""Largest error of predicted lags."""
FAR_OFF = 1e-2
"""Largest error of lags at coarser steps, as a share of the largest: what is cut there is seen."""
LARGEST_CONDITION = 1e8
"""Largest condition number of B(0) at which powers of A(h) are asked for."""
COARSEST = 0.05
"""The same, however coarse logits are rounded."""
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
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
"""A part of a position that no period of whole ones divides."""
Whole = NDArray[np.int64]
MOST = 8192
"""Lags of each sign that are asked, about."""
FEWEST = 2
"""Lags that stand for a lattice that is too long."""
FLOOR = 1e-4
"""Share of the largest value below which values are those of their rounding."""


@dataclass(frozen=True)
class Rank:
    """A rank, or None; the error of the lags it predicts, and the step of the lag it is read at."""

    rank: int | None
    residual: float
    stride: float
    step: Floats | None = None
    """The step that makes the lags, where there is one."""


def finite_rank(
    subject: LogitFunction, rng: np.random.Generator, *, rounding: float | None = None
) -> Rank:
    """Return the rank of the lags between two random vectors, the largest over heads.

    `rounding` is the share of logits that was rounded away, where that is more than in float64.
    """
    q, k = rng.normal(size=(2, 1, subject.dimension))
    count = min(LAGS, int(subject.lags) // 2) if subject.whole else LAGS
    strides = _strides(subject, count, limited=_is_limited(subject))
    known = {stride: _kernel(subject, q, k, stride, count) for stride in strides}
    heads = next(iter(known.values())).shape[1]
    found = [
        _of_head(
            {stride: values[:, head] for stride, values in known.items()},
            rounding,
            whole=subject.whole,
        )
        for head in range(heads)
    ]
    none = [one for one in found if one.rank is None]
    if none:
        return none[0]
    floor = FLOOR if rounding is None else 1.0
    off, more = _off_everywhere(subject, rng, (q, k), found, floor=floor)
    if off > largest_prediction_error(rounding):
        return Rank(None, off, found[0].stride)
    return max([*found, *more], key=lambda one: one.rank or 0)


def _off_everywhere(
    subject: LogitFunction,
    rng: np.random.Generator,
    vectors: tuple[Floats, Floats],
    found: list[Rank],
    *,
    floor: float,
) -> tuple[float, list[Rank]]:
    """Return how far the lags of heads are from the recurrences of their steps, near and far.

    With it come the ranks at other steps of real lags: what has the first step as its period, or
    half of it, shows itself there only.
    """
    worst, more = 0.0, []
    length = 2 * max(one.rank or 0 for one in found) + 2
    for stride in sorted({one.stride for one in found}):
        steps = {head: one.step for head, one in enumerate(found) if one.stride == stride}
        every = lattice(subject, stride, length)
        other, others = stride, steps
        if not subject.whole:
            other = stride * _ratio(subject, rng)
            made = _predictions_at(subject, vectors, other, list(steps))
            others = {head: one.step for head, one in made.items()}
            if any(step is None for step in others.values()):
                return float("inf"), []
            more += [Rank(x.rank, x.error, other, x.step) for x in made.values() if x.clear]
        some = runs(subject, rng, other, length)
        all_asked = subject.whole and every.size > FEWEST
        subject.asked.compare(every.reshape(-1, 1), free=None)
        if not all_asked:
            subject.asked.compare(some.reshape(-1, 1), free=len(some) - 2)
        for lags, known in ((every, steps), (some, others))[: 1 if all_asked else 2]:
            values = values_at(subject, *vectors, lags)
            for head, step in known.items():
                if step is not None:
                    worst = max(worst, unmet(values[head], step, floor=floor))
    return worst, more


def _ratio(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return a ratio of steps that is not simple; one of few binary digits where lags are rounded.

    >>> one = LogitFunction(name="it", dimension=1, logits=None)
    >>> 0.7 <= _ratio(one, np.random.default_rng(0)) < 1
    True
    """
    ratio = rng.uniform(0.7, 1.0)
    return float(np.floor(64.0 * ratio) / 64.0 if subject.narrow else ratio)


def _predictions_at(
    subject: LogitFunction, vectors: tuple[Floats, Floats], stride: float, heads: list[int]
) -> dict[int, _Prediction]:
    """Return what makes the lags of heads at another stride; without a step, where none does."""
    count = LAGS if not _is_limited(subject) else min(LAGS, int(0.5 * subject.lags / stride))
    values = _kernel(subject, *vectors, stride, count)
    return {head: _predict(values[:, head]) for head in heads}


def group_rank(
    subject: LogitFunction, rng: np.random.Generator, limit: float, *, known: bool = False
) -> Rank | None:
    """Return the rank of logits whose linear part is a group, as its d coordinates and the bias's.

    The residual is the largest error of the lags that powers of A(h) predict; above the limit there
    is no group, and nothing is returned. `known`: logits at many lags were those of a group, so
    that there is no bias among them either.
    """
    q, k = rng.normal(size=(2, 1, subject.dimension))
    linear = replace(subject, logits=_bilinear(subject))
    count = min(LAGS, int(subject.lags) // 2) if subject.whole else LAGS
    limited = _is_limited(subject) or subject.narrow
    strides = _strides(subject, count, limited=limited)
    worst = _off_group(linear, (q, k), strides, count, limit)
    if not worst <= limit:
        return None
    patchy = 0.0 if known else dyadic(linear, rng)
    if not patchy <= limit:  # what is analytic is a group everywhere, if it is one at some lags
        return None if subject.narrow else Rank(None, patchy, strides[0])
    fine = strides[0]
    bias = replace(subject, logits=_rest(subject))
    values = [_kernel(bias, q, k, fine, count)]
    if not known:
        values.append(values_at(bias, q, k, lattice(subject, fine, count)))
        values.append(values_at(bias, q, k, runs(subject, rng, fine, count)))
    largest = max(float(np.abs(one).max()) for one in values)
    if largest <= limit * float(np.abs(_kernel(subject, q, k, fine, 4)).max()):
        return Rank(subject.dimension, worst, fine)
    left = finite_rank(bias, rng, rounding=None if limit <= PREDICTED else 0.1 * limit)
    if left.rank is None:
        return left
    return Rank(subject.dimension + left.rank, max(worst, left.residual), left.stride)


def _off_group(
    linear: LogitFunction,
    vectors: tuple[Floats, Floats],
    strides: list[float],
    count: int,
    limit: float,
) -> float:
    """Return how far lags are from those that powers of A(h) give, at steps h up to one that fails.

    Of what does not turn nothing is said: the search sees the bias with it.
    """
    start = at_lag(linear, 0.0)
    if not condition(start) <= LARGEST_CONDITION:
        return float("inf")
    half = max(1.0, np.floor(0.5 * linear.lags))
    some = at_lags(linear, np.array([half, half - (1.0 if linear.whole else GOLDEN)]))
    if residual(some, np.broadcast_to(start, some.shape)) <= limit:  # one alone may be a period
        return float("inf")
    worst = 0.0
    for stride in strides:
        worst = max(worst, _prediction_error(linear, *vectors, stride, count, start))
        if not worst <= limit:
            return float("inf")
    return worst


def _prediction_error(
    linear: LogitFunction, q: Floats, k: Floats, stride: float, count: int, start: Floats
) -> float:
    """Return how far lags are from those that powers of A(stride) give."""
    seen = _kernel(linear, q, k, stride, count)
    once = at_lag(linear, stride)
    if not np.isfinite(once).all():
        return float("inf")
    steps = once @ np.linalg.inv(start)
    steps, start = (x.reshape(-1, *x.shape[-2:]) for x in (steps, start))
    rows = np.repeat(q[None], len(steps), axis=0)
    right = start @ k[0]
    before = 0 if linear.causal else count
    with np.errstate(over="ignore", invalid="ignore"):  # what is no group may explode
        back = np.linalg.inv(steps)
        for _ in range(before):
            rows = rows @ back
        made = []
        for _ in seen:
            made.append(np.einsum("hid,hd->h", rows, right))
            rows = rows @ steps
    return residual(np.array(made), seen)


def _bilinear(subject: LogitFunction) -> Any:
    """Return what of logits is linear in query and in key."""
    rest = _rest(subject)
    return lambda q, k, t, s: _subtract(subject(q, k, t, s), rest(q, k, t, s))


def _subtract(whole: Floats, part: Floats) -> Floats:
    """Return a difference; what is infinite stays as it is, and makes no NaN of a number."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(whole), whole - part, whole)


def _rest(subject: LogitFunction) -> Any:
    """Return what of logits is not: f(q, 0) + f(0, k) - f(0, 0)."""

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Floats:
        none, nothing = np.zeros_like(q), np.zeros_like(k)
        both = subject(q, nothing, t, s) + subject(none, k, t, s)
        return _subtract(both, subject(none, nothing, t, s))

    return logits


def _strides(subject: LogitFunction, count: int, *, limited: bool) -> list[float]:
    """Return steps of the lag, from fine to coarse, that stay within the reach where it ends."""
    if not limited:
        return list(STRIDES)
    farthest = 2 * count if subject.causal else count  # lags of both signs share the number
    coarsest = subject.lags / farthest
    finest = 1.0 if subject.whole else min(1.0, subject.lags / (2 * count))
    inside = [finest * step for step in STRIDES[1:] if finest * step < coarsest]
    last = np.floor(coarsest) if subject.whole else coarsest
    return sorted({finest, *inside, max(finest, float(last))})


def _is_limited(subject: LogitFunction) -> bool:
    """Whether lags end, where positions or a window do."""
    return subject.ends or subject.span is not None


def _of_head(kernels: dict[float, Floats], rounding: float | None, *, whole: bool) -> Rank:
    """Return the rank at the first step that is clear, predicts, and shows no fewer modes.

    Lags at coarser steps must then be of finite rank, too: a kernel may be cut far away.
    """
    seen, best = 0, Rank(None, float("inf"), 1.0)
    fine = list(kernels)[:1] if whole else list(kernels)
    for stride in fine:
        made = _predict(kernels[stride])
        if made.clear and made.rank >= seen and made.error <= largest_prediction_error(rounding):
            coarser = [step for step in kernels if step > stride]
            off = max((_unlike(made, kernels[x], x / stride) for x in coarser), default=0.0)
            if off > FAR_OFF:
                return Rank(None, off, stride)
            return Rank(made.rank, made.error, stride, made.step)
        best = min(best, Rank(None, made.error, stride), key=lambda one: one.residual)
        seen = max(seen, made.rank)
    return best


def _unlike(fine: _Prediction, values: Floats, ratio: float) -> float:
    """Return how far lags at a coarser step are from a finite rank: its own, or the fine one.

    Values that have vanished beyond the first say nothing against it.
    """
    size = np.abs(values)
    if np.sort(size)[-2] <= FAR_OFF * size.max():
        return 0.0
    own = _predict(values).error
    return own if own <= FAR_OFF else min(own, fine.at_step(values, round(ratio)))


def _kernel(subject: LogitFunction, q: Floats, k: Floats, stride: float, count: int) -> Floats:
    """Return the logits (2 count, heads) of one query and one key at equal steps of the lag."""
    after = count * (2 if subject.causal else 1)
    here = np.zeros(1)
    late = stride * np.arange(after, dtype=np.float64)
    ahead = subject(np.repeat(q, after, axis=0), k, late, here)[..., :, 0]
    if subject.causal:
        return ahead.reshape(-1, after).T
    early = stride * np.arange(count, 0, -1, dtype=np.float64)
    behind = subject(q, np.repeat(k, count, axis=0), here, early)[..., 0, :]
    return np.concatenate([behind, ahead], axis=-1).reshape(-1, 2 * count).T


def largest_prediction_error(rounding: float | None) -> float:
    """Return the largest error of predicted lags."""
    return PREDICTED if rounding is None else max(PREDICTED, min(10.0 * rounding, COARSEST))


@dataclass(frozen=True)
class _Prediction:
    """The rank of the first half of lags, whether it is one, and how well it gives the second."""

    rank: int
    clear: bool
    error: float
    start: Floats | None = None
    step: Floats | None = None
    end: Floats | None = None

    def at_step(self, values: Floats, ratio: int) -> float:
        """Return how far lags at a step that is coarser are from those that it gives."""
        if self.start is None or self.step is None or self.end is None:
            return float("inf")
        with np.errstate(over="ignore", invalid="ignore"):
            coarse = np.linalg.matrix_power(self.step, ratio)
            return residual(_values_by_step(self.start, coarse, self.end, len(values)), values)


def _values_by_step(row: Floats, step: Floats, end: Floats, count: int) -> Floats:
    """Return row step^n end for n = 0, 1, ..."""
    found = []
    with np.errstate(over="ignore", invalid="ignore"):  # a rank that is none may explode
        for _ in range(count):
            found.append(float(row @ end))
            row = row @ step
    return np.array(found)


def _predict(values: Floats) -> _Prediction:
    """Return the rank of the first half, whether it is one, and how well it gives the second.

    A step may have eigenvalues below 0, and no real logarithm: what has period 2 in its multiples.
    """
    if np.ptp(values) == 0.0:
        one = np.full((1, 1), float(values[0] != 0.0))
        return _Prediction(
            int(values[0] != 0.0),
            clear=True,
            error=0.0,
            start=values[:1],
            step=one,
            end=np.ones(1),
        )
    count = len(values) // 2
    try:
        made = realise(values[:count])
    except GroupError:
        return _Prediction(count, clear=False, error=float("inf"))
    if made.rank > count // 4 or not has_logarithm(made.step):
        return _Prediction(made.rank, clear=False, error=float("inf"))
    row, end = made.left[0], made.right[:, 0]
    error = residual(_values_by_step(row, made.step, end, len(values)), values)
    return _Prediction(made.rank, made.clear, error, row, made.step, end)


@dataclass(frozen=True)
class _Factor:
    """A (heads, d, d) at a binary step, and which lags it is a factor of."""

    matrix: Floats
    size: Floats
    chosen: NDArray[np.bool_]


def dyadic(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how far logits at many lags are from products of A at binary steps."""
    exponents = _exponents(subject)
    unit = 2.0 ** int(exponents[0])
    slack = VECTORS * subject.rounding if subject.narrow else ROUNDINGS * EPSILON
    free = FREE // 16 if subject.in_order else FREE  # where each lag takes a call of its own
    every = _every(subject)
    lags = _lags(subject, rng, unit, free) if every is None else every
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
            matrices = _matrices(subject, sign, sign * 2.0 ** exponents[:, None] * way)
            steps = matrices @ inverse if np.isfinite(matrices).all() else matrices
            if not np.isfinite(steps).all():
                return float("inf")
            worst = max(worst, _off_squares(steps, slack))
            here = sign * lags[:, axis] > 0.0
            for place, step in enumerate(steps):
                chosen = here & ((digits[:, axis] >> place) & 1 == 1)
                factors.append(_Factor(step, _norms(step), chosen))
    found = _logits_at(subject, q, k, lags)
    subject.asked.compare(lags, free=free if every is None else None)
    return max(worst, _off_products(factors, q, right, found, slack))


def _matrices(subject: LogitFunction, sign: float, lags: Floats) -> Floats:
    """Return B (n, heads, d, d) at lags (n, axes) of a sign.

    The farthest lag is a part of every call, here as of single vectors: what a call makes of all
    its positions is then the same in each, and only the law of caches is about it.
    """
    vectors, d = np.eye(subject.dimension), subject.dimension
    size = 1 if subject.in_order else max(1, AT_ONCE // d - 1)
    farthest = np.full((1, subject.axes), np.floor(subject.lags))
    made: list[Floats] = []
    for first in range(0, len(lags), size):
        some = lags[first : first + size]
        asked = some if subject.in_order else np.concatenate([some, sign * farthest])
        made += at_once_of(subject, vectors, asked)[: len(some)]
    return np.array(made).reshape(len(lags), -1, d, d)


def _exponents(subject: LogitFunction) -> Whole:
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
        known = np.isfinite(wanted) & np.isfinite(rounding)
        if (known & np.isposinf(found)).any():
            return float("inf")
        seen = np.isfinite(found) & known
        if not seen.any():
            return 0.0
        largest = float((np.abs(wanted) / np.maximum(size, TINY))[seen].max())
        off = np.maximum(np.abs(found - wanted) - rounding, 0.0)
        return float((off / np.maximum(largest * size, TINY))[seen].max())


def _lags(subject: LogitFunction, rng: np.random.Generator, unit: float, free: int) -> Floats:
    """Return lags (n, axes), multiples of a unit, on each axis and between them."""
    sides = (1.0,) if subject.causal else (1.0, -1.0)
    axes = np.eye(subject.axes)
    made = [np.zeros((1, subject.axes))]
    for axis, sign in itertools.product(range(subject.axes), sides):
        made.append(sign * _on_axis(subject, rng, unit, free)[:, None] * axes[axis])
    if subject.axes > 1:
        made += [_off_axes(subject, rng, unit, signs) for signs in _signs(subject)]
    if subject.axes > 2:
        for pair in _pairs_of_axes(subject, rng):
            signs = rng.choice(sides, size=(BY_SIZE, subject.axes))
            plane = signs * axes[list(pair)].sum(axis=0)
            made.append(plane * _uniform(subject, rng, unit, (BY_SIZE, subject.axes)))
    return np.unique(np.concatenate(made), axis=0)


def _every(subject: LogitFunction) -> Floats | None:
    """Return all lags (n, axes) of integer positions, or None where they are too many."""
    last = math.floor(subject.lags)
    first = 0 if subject.causal else -last
    few = (last - first + 1) ** subject.axes <= 2 * ROWS + 1
    if not (subject.whole and few) or (subject.in_order and subject.axes > 1):
        return None
    grid = np.indices((last - first + 1,) * subject.axes).reshape(subject.axes, -1).T
    return np.asarray(grid + first, dtype=np.float64)


def _on_axis(subject: LogitFunction, rng: np.random.Generator, unit: float, free: int) -> Floats:
    """Return special lags from 0 on, and random ones, uniform and by their size."""
    known = [special(float(math.floor(subject.lags)))]
    known.append(2.0 ** np.arange(float(FINEST) if unit < 1.0 else 0.0, 1.0))
    known.append(_uniform(subject, rng, unit, (free,)))
    known.append(_by_size(subject, rng, unit, (BY_SIZE * free // FREE,)))
    lags = np.concatenate(known)
    return np.asarray(lags[lags <= subject.lags])


def _uniform(
    subject: LogitFunction, rng: np.random.Generator, unit: float, size: tuple[int, ...]
) -> Floats:
    """Return uniform lags, multiples of a unit."""
    return np.asarray(unit * np.floor(rng.uniform(0.0, subject.lags, size=size) / unit))


def _by_size(
    subject: LogitFunction, rng: np.random.Generator, unit: float, size: tuple[int, ...]
) -> Floats:
    """Return lags whose logarithm is uniform, from 2^-6, or 1, to the longest."""
    least = max(unit, 2.0**FINEST)
    return np.asarray(unit * np.floor(least * (subject.lags / least) ** rng.random(size) / unit))


def _off_axes(
    subject: LogitFunction, rng: np.random.Generator, unit: float, signs: Floats | None
) -> Floats:
    """Return lags (n, axes) of given or random signs: diagonals, and all coordinates by themselves.

    Diagonals are those of tokens of text among positions of images.
    """
    axes = subject.axes
    known = special(math.floor(subject.lags))
    made = np.concatenate(
        [
            np.repeat(known[:, None], axes, axis=1),
            rng.choice(known, size=(FEW, axes)),
            _uniform(subject, rng, unit, (FREE, axes)),
            _by_size(subject, rng, unit, (BY_SIZE, axes)),
        ]
    )
    return made * (rng.choice([-1.0, 1.0], size=made.shape) if signs is None else signs)


def _signs(subject: LogitFunction) -> Iterator[Floats | None]:
    """Yield the signs of coordinates: all combinations; of many, None for signs at random."""
    if subject.causal:
        yield np.ones(subject.axes)
    elif 2**subject.axes <= SIGNS:
        yield from map(np.array, itertools.product((1.0, -1.0), repeat=subject.axes))
    else:
        yield from itertools.repeat(None, SIGNS)


def _pairs_of_axes(subject: LogitFunction, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return all pairs of axes, or some of many."""
    pairs = list(itertools.combinations(range(subject.axes), 2))
    chosen = rng.choice(len(pairs), size=min(PAIRS, len(pairs)), replace=False)
    return [pairs[one] for one in np.sort(chosen)]


def _logits_at(subject: LogitFunction, q: Floats, k: Floats, lags: Floats) -> Floats:
    """Return the logits (heads, n) of one query and one key at lags (n, axes).

    The key stands at 0, or the query, or each at 0 on some axes: as unit vectors are asked.
    """
    ahead, behind = np.asarray((lags >= 0.0).all(axis=1)), np.asarray((lags <= 0.0).all(axis=1))
    farthest = np.full((1, subject.axes), np.floor(subject.lags))
    made: list[Floats] = [np.empty(0)] * len(lags)
    for side, most in ((ahead & ~behind, AT_ONCE), (behind, AT_ONCE), (~ahead & ~behind, BY_SIZE)):
        chosen = np.flatnonzero(side)
        size = 1 if subject.in_order else most - 1
        for first in range(0, len(chosen), size):
            some = chosen[first : first + size]
            sign = -1.0 if behind[some[0]] and not subject.causal else 1.0
            alone = subject.in_order or most == BY_SIZE
            asked = lags[some] if alone else np.concatenate([lags[some], sign * farthest])
            found = _ask_lags(subject, q, k, asked)
            for place, one in enumerate(some):
                made[one] = found[:, place]
    return np.stack(made, axis=-1)


def _ask_lags(subject: LogitFunction, q: Floats, k: Floats, lags: Floats) -> Floats:
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


def lattice(subject: LogitFunction, stride: float, length: int) -> Floats:
    """Return all lags (1, n) in steps of a stride, or two of them where they are too many."""
    first, last = _ends(subject, stride, length)
    most = MOST if subject.whole else MOST // 2
    return np.asarray(stride * np.arange(first, last if last <= most else first + FEWEST)[None])


def runs(subject: LogitFunction, rng: np.random.Generator, stride: float, length: int) -> Floats:
    """Return random runs of lags (runs, n) in steps of a stride, and those at both ends."""
    first, last = _ends(subject, stride, length)
    count = max(1, (MOST // 2 if last <= MOST // 2 else MOST) // length)
    starts = rng.uniform(first, last - length, size=count)
    starts = np.floor(starts) if subject.whole else starts
    starts = np.concatenate([starts, [first, last - length - 1.0]])
    return np.asarray(stride * (starts[:, None] + np.arange(float(length))))


def _ends(subject: LogitFunction, stride: float, length: int) -> tuple[float, float]:
    """Return the first and the last lag in strides: from 0 where keys never come later."""
    last = float(np.floor(subject.lags / stride + 1e-9))
    if not (subject.ends or subject.span is not None):
        last = max(last, 2.0 * length)  # no end is known
    return 0.0 if subject.causal else -last, last


def values_at(subject: LogitFunction, q: Floats, k: Floats, lags: Floats) -> Floats:
    """Return the logits (heads, ...) of one query and one key at lags of any shape."""
    flat = lags.ravel()
    made: list[Floats] = [np.empty(0)] * len(flat)
    here = np.zeros(1)
    for side in (flat >= 0.0, flat < 0.0):
        chosen = np.flatnonzero(side)
        for first in range(0, len(chosen), AT_ONCE):
            some = chosen[first : first + AT_ONCE]
            at, many = np.abs(flat[some]), len(some)
            if flat[some[0]] >= 0.0:
                found = subject(np.repeat(q, many, axis=0), k, at, here)
            else:
                found = subject(q, np.repeat(k, many, axis=0), here, at)
            for place, one in enumerate(found.reshape(-1, many).T):
                made[some[place]] = one
    return np.stack(made, axis=-1).reshape(-1, *lags.shape)


def coefficients(step: Floats) -> Floats:
    """Return the recurrence of a step, the largest coefficient 1; of no step that of zeros.

    >>> coefficients(np.array([[1.0, 1.0], [0.0, 1.0]])).tolist()
    [0.5, -1.0, 0.5]
    """
    made = np.atleast_1d(np.poly(np.linalg.eigvals(step)).real) if len(step) else np.ones(1)
    return np.asarray(made[::-1] / np.abs(made).max())


def unmet(values: Floats, step: Floats, *, floor: float) -> float:
    """Return how far values (runs, n) are from the recurrence of a step, at the worst place."""
    weights = coefficients(step)
    if values.shape[-1] < len(weights):
        return 0.0
    windows = np.lib.stride_tricks.sliding_window_view(values, len(weights), axis=-1)
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return 0.0
    size = np.maximum(np.abs(windows).max(axis=-1), floor * largest)
    return float((np.abs(windows @ weights) / size).max())
