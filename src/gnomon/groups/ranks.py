r"""Finite rank: does a sum of exponential polynomials make all lags, or do they never end?

A kernel of the lag splits into finitely many coordinates of query and key exactly if its Hankel
rank is finite, and then it is P exp(tX) Q [ho1966]. On a window of lags, smooth kernels such as
ln(1 + t) have a small numerical rank, too, and slow turns look like polynomials. So a rank counts
only if

* singular values fall clearly to their rounding after it, and do not just fade;
* there is a generator: a table that ends has a singular step;
* it predicts lags that were not looked at, and its recurrence holds at all lags up to a few
  thousand (`gnomon.groups.recurrence`);
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
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnomon.errors import GroupError
from gnomon.groups.blocks import Floats
from gnomon.groups.dyadic import dyadic
from gnomon.groups.laws import at_lag, residual
from gnomon.groups.realisation import realise
from gnomon.groups.recurrence import FEWEST, FLOOR, lattice, runs, unmet, values_at
from gnomon.groups.subject import Subject

LAGS = 192
"""Lags that a generator is read from; as many more are predicted."""
STRIDES = (1.0, 4.0, 16.0, 64.0, 256.0)
PREDICTED = 1e-6
"""Largest error of predicted lags."""
FAR_OFF = 1e-2
"""Largest error of lags at coarser steps, as a share of the largest: what is cut there is seen."""
CONDITION = 1e8
"""Largest condition number of B(0) at which powers of A(h) are asked for."""
COARSEST = 0.05
"""The same, however coarse logits are rounded."""


@dataclass(frozen=True)
class Rank:
    """A rank, or None; the error of the lags it predicts, and the step of the lag it is read at."""

    rank: int | None
    residual: float
    stride: float
    step: Floats | None = None
    """The step that makes the lags, where there is one."""


def finite_rank(
    subject: Subject, rng: np.random.Generator, *, rounding: float | None = None
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
    off = _off_everywhere(subject, rng, (q, k), found, floor=FLOOR if rounding is None else 1.0)
    if off > predicted(rounding):
        return Rank(None, off, found[0].stride)
    return max(found, key=lambda one: one.rank or 0)


def _off_everywhere(
    subject: Subject,
    rng: np.random.Generator,
    vectors: tuple[Floats, Floats],
    found: list[Rank],
    *,
    floor: float,
) -> float:
    """Return how far the lags of heads are from the recurrences of their steps, near and far."""
    worst = 0.0
    length = 2 * max(one.rank or 0 for one in found) + 2
    for stride in sorted({one.stride for one in found}):
        steps = {head: one.step for head, one in enumerate(found) if one.stride == stride}
        every = lattice(subject, stride, length)
        other, others = stride, steps
        if not subject.whole:
            other = stride * _ratio(subject, rng)
            others = _steps_at(subject, vectors, other, list(steps))
            if any(step is None for step in others.values()):
                return float("inf")
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
    return worst


def _ratio(subject: Subject, rng: np.random.Generator) -> float:
    """Return a ratio of steps that is not simple; one of few binary digits where lags are rounded.

    >>> 0.7 <= _ratio(Subject(name="it", dimension=1, logits=None), np.random.default_rng(0)) < 1
    True
    """
    ratio = rng.uniform(0.7, 1.0)
    return float(np.floor(64.0 * ratio) / 64.0 if subject.narrow else ratio)


def _steps_at(
    subject: Subject, vectors: tuple[Floats, Floats], stride: float, heads: list[int]
) -> dict[int, Floats | None]:
    """Return the steps that make the lags of heads at another stride; None, where none does."""
    count = LAGS if not _is_limited(subject) else min(LAGS, int(0.5 * subject.lags / stride))
    values = _kernel(subject, *vectors, stride, count)
    return {head: _predicted(values[:, head]).step for head in heads}


def group_rank(
    subject: Subject, rng: np.random.Generator, limit: float, *, known: bool = False
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
    linear: Subject, vectors: tuple[Floats, Floats], strides: list[float], count: int, limit: float
) -> float:
    """Return how far lags are from those that powers of A(h) give, at steps h up to one that fails.

    Of what does not turn nothing is said: the search sees the bias with it.
    """
    start = at_lag(linear, 0.0)
    if not float(np.max(np.linalg.cond(start))) <= CONDITION:
        return float("inf")
    if residual(at_lag(linear, max(1.0, np.floor(0.5 * linear.lags))), start) <= limit:
        return float("inf")
    worst = 0.0
    for stride in strides:
        worst = max(worst, _unpredicted(linear, *vectors, stride, count, start))
        if not worst <= limit:
            return float("inf")
    return worst


def _unpredicted(
    linear: Subject, q: Floats, k: Floats, stride: float, count: int, start: Floats
) -> float:
    """Return how far lags are from those that powers of A(stride) give."""
    seen = _kernel(linear, q, k, stride, count)
    steps = at_lag(linear, stride) @ np.linalg.inv(start)
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


def _bilinear(subject: Subject) -> Any:
    """Return what of logits is linear in query and in key."""
    rest = _rest(subject)
    return lambda q, k, t, s: subject.of(q, k, t, s) - rest(q, k, t, s)


def _rest(subject: Subject) -> Any:
    """Return what of logits is not: f(q, 0) + f(0, k) - f(0, 0)."""

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Floats:
        none, nothing = np.zeros_like(q), np.zeros_like(k)
        both = subject.of(q, nothing, t, s) + subject.of(none, k, t, s)
        return both - subject.of(none, nothing, t, s)

    return logits


def _strides(subject: Subject, count: int, *, limited: bool) -> list[float]:
    """Return steps of the lag, from fine to coarse, that stay within the reach where it ends."""
    if not limited:
        return list(STRIDES)
    farthest = 2 * count if subject.causal else count  # lags of both signs share the number
    coarsest = subject.lags / farthest
    finest = 1.0 if subject.whole else min(1.0, subject.lags / (2 * count))
    inside = [finest * step for step in STRIDES[1:] if finest * step < coarsest]
    last = np.floor(coarsest) if subject.whole else coarsest
    return sorted({finest, *inside, max(finest, float(last))})


def _is_limited(subject: Subject) -> bool:
    """Whether lags end, where positions or a window do."""
    return subject.ends or subject.span is not None


def _of_head(kernels: dict[float, Floats], rounding: float | None, *, whole: bool) -> Rank:
    """Return the rank at the first step that is clear, predicts, and shows no fewer modes.

    Lags at coarser steps must then be of finite rank, too: a kernel may be cut far away.
    """
    seen, best = 0, Rank(None, float("inf"), 1.0)
    fine = list(kernels)[:1] if whole else list(kernels)
    for stride in fine:
        made = _predicted(kernels[stride])
        if made.clear and made.rank >= seen and made.error <= predicted(rounding):
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
    own = _predicted(values).error
    return own if own <= FAR_OFF else min(own, fine.at_step(values, round(ratio)))


def _kernel(subject: Subject, q: Floats, k: Floats, stride: float, count: int) -> Floats:
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


def predicted(rounding: float | None) -> float:
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
            return residual(_powers(self.start, coarse, self.end, len(values)), values)


def _powers(row: Floats, step: Floats, end: Floats, count: int) -> Floats:
    """Return row step^n end for n = 0, 1, ..."""
    found = []
    with np.errstate(over="ignore", invalid="ignore"):  # a rank that is none may explode
        for _ in range(count):
            found.append(float(row @ end))
            row = row @ step
    return np.array(found)


def _predicted(values: Floats) -> _Prediction:
    """Return the rank of the first half, whether it is one, and how well it gives the second."""
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
    if made.rank > count // 4 or made.generator_matrix is None:
        return _Prediction(made.rank, clear=False, error=float("inf"))
    row, end = made.left[0], made.right[:, 0]
    error = residual(_powers(row, made.step, end, len(values)), values)
    return _Prediction(made.rank, made.clear, error, row, made.step, end)
