r"""Laws of an encoding, each with a residual: 0 where it holds.

With f(q, k, t, s) the logit of a query at t and a key at s, for all positions and vectors:

* linearity   f is linear in q and in k; *affine* where a bias is added: then it is linear on
              vectors with one more coordinate;
* shift       f(q, k, t + c, s + c) = f(q, k, t, s); *gauge*: up to a number for each query, which
              softmax does not see;
* identity    B(t, t) is one matrix C at every t, and invertible: C goes into the map of keys, and
              then a token at its own place is seen as it is, A(0) = I;
* group       A(a + b) = A(a) A(b), A(t) = B(t) B(0)^-1, B(t - s) the matrix of f: apart from
              shift, since one map for queries and keys that is no isometry keeps this and breaks
              shift;
* continuity  A(t + h) - A(t) vanishes with h, at random t: jumps are seen only where they are;
* commutators A of a step on one axis commutes with A of a step on another;
* cache       the logits of a query do not change when later tokens are added; where queries and
              keys are encoded apart, each key is kept as the call made it in which it came;
* dtype       queries and keys in float32 give the logits of float64, far from the origin: what is
              lost there was lost in positions or phases. What computes in a narrow type of its own
              must give the logits there that it gives near the origin.

Residuals are relative to the largest logit at hand. They are evidence on samples, not a proof
[puranik2026].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.errors import GroupError
from gnomon.groups.blocks import Floats
from gnomon.groups.subject import Subject

QUERIES, KEYS = 5, 8
NEAR, FAR = 64.0, float(2**17)
"""Lags, and the position they are seen from, where digits of float32 are few."""
SHIFTS = (0.0003, 0.01, 0.31, 0.75)
"""Of the reach."""


@dataclass(frozen=True)
class Asked:
    """Queries, keys, positions and tokens with which a subject is asked."""

    q: Floats
    k: Floats
    t: Floats
    s: Floats
    tokens: Floats | None = None

    def of(self, subject: Subject) -> Floats:
        """Return the logits."""
        return subject(self.q, self.k, self.t, self.s, self.tokens)


def sample(subject: Subject, rng: np.random.Generator, *, reach: float | None = None) -> Asked:
    """Return vectors and positions; keys of a causal subject stand before queries."""
    q = rng.normal(size=(QUERIES, subject.dimension))
    k = rng.normal(size=(KEYS, subject.dimension))
    tokens = None if subject.width is None else rng.normal(size=(KEYS, subject.width))
    if subject.in_order:
        at = subject.places(np.arange(KEYS) / (KEYS - 1), reach=reach)
        return Asked(q, k, at[KEYS - QUERIES :], at, tokens)
    late, early = rng.random(QUERIES), rng.random(KEYS)
    if subject.causal:
        late, early = 0.5 + 0.5 * late, 0.5 * early
    t, s = (subject.places(at, reach=reach) for at in (late, early))
    return Asked(q, k, t, s, tokens)


def residual(found: Floats, wanted: Floats) -> float:
    """Return the largest difference as a share of the largest value; masked logits must agree."""
    seen = np.isfinite(wanted)
    if not np.array_equal(seen, np.isfinite(found)):
        return float("inf")
    largest = float(np.abs(found[seen] - wanted[seen]).max(initial=0.0))
    scale = float(np.abs(wanted[seen]).max(initial=0.0))
    return largest / scale if scale > 0.0 else largest


def linearity(subject: Subject, rng: np.random.Generator, *, affine: bool = False) -> float:
    """Return how far f is from linear in queries and in keys, or from affine."""
    asked = sample(subject, rng)
    a = 0.7
    b = 1.0 - a if affine else -1.6
    worst = 0.0
    for side in ("q", "k"):
        x = getattr(asked, side)
        y = rng.normal(size=x.shape)
        one, other, both = (
            _with(asked, side, vectors).of(subject) for vectors in (x, y, a * x + b * y)
        )
        seen = np.isfinite(one)
        if not np.array_equal(seen, np.isfinite(other)):
            return float("inf")
        worst = max(worst, residual(both[seen], a * one[seen] + b * other[seen]))
    return worst


def _with(asked: Asked, side: str, vectors: Floats) -> Asked:
    return Asked(**{**vars(asked), side: vectors})


def shift(subject: Subject, rng: np.random.Generator, *, gauge: bool = False) -> float:
    """Return how much a common shift of all positions changes logits."""
    asked = sample(subject, rng, reach=0.25 * subject.reach)
    before = asked.of(subject)
    worst = 0.0
    for part in SHIFTS:
        step = part * subject.reach
        step = max(1.0, float(np.floor(step))) if subject.whole else step
        moved = Asked(asked.q, asked.k, asked.t + step, asked.s + step, asked.tokens).of(subject)
        pair = (_gauged(moved), _gauged(before)) if gauge else (moved, before)
        worst = max(worst, residual(*pair))
    return worst


def _gauged(logits: Floats) -> Floats:
    """Return logits without the mean of what each row shows, which softmax does not see."""
    seen = np.isfinite(logits)
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    mean = np.where(seen, logits, 0.0).sum(axis=-1, keepdims=True) / count
    return np.where(seen, logits - mean, logits)


def at_lag(subject: Subject, lag: float) -> Floats:
    """Return B (..., d, d) at a lag on the first axis, by asking for unit vectors."""
    eye = np.eye(subject.dimension)
    here = np.repeat(subject.places(np.zeros(1)), subject.dimension, axis=0)
    there = here.copy()
    first = (...,) if subject.axes == 1 else (..., 0)
    there[first] += abs(lag)
    return subject(eye, eye, there, here) if lag >= 0 else subject(eye, eye, here, there)


def identity(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far B(t, t) C^-1 is from I at random t, C = B(0, 0)."""
    inverse = np.linalg.inv(at_lag(subject, 0.0))
    eye = np.eye(subject.dimension)
    worst = 0.0
    for share in rng.random(4):
        here = np.repeat(subject.places(np.array([share])), subject.dimension, axis=0)
        there = subject(eye, eye, here, here) @ inverse
        worst = max(worst, residual(there, np.broadcast_to(eye, there.shape)))
    return worst


def commutators(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far steps on different axes are from commuting."""
    eye = np.eye(subject.dimension)
    origin = np.zeros((subject.dimension, subject.axes))
    made = []
    for axis in range(subject.axes):
        there = origin.copy()
        there[:, axis] += 1.0 + 3.0 * rng.random()
        made.append(subject(eye, eye, there, origin))
    pairs = [(x, y) for i, x in enumerate(made) for y in made[:i]]
    return max(residual(x @ y, y @ x) for x, y in pairs)


def group(subject: Subject, rng: np.random.Generator, *, reach: float) -> float:
    """Return how far A(a + b) is from A(a) A(b)."""
    inverse = np.linalg.inv(at_lag(subject, 0.0))
    worst = 0.0
    for _ in range(4):
        a, b = reach * rng.random(2)
        a, b = (np.floor(a) + 1, np.floor(b) + 1) if subject.whole else (a, b)
        one, other, both = (at_lag(subject, x) @ inverse for x in (a, b, a + b))
        size = max(1.0, *(float(np.abs(x).max()) for x in (one, other)))
        worst = max(worst, float(np.abs(both - one @ other).max()) / size**2)
    return worst


def continuity(subject: Subject, rng: np.random.Generator) -> float:
    """Return the largest jump of B between positions 2^-20 apart, beside what a slope of 1 makes.

    Jumps lie at whole positions more often than not, so these are looked at, too.
    """
    step = 2.0**-20
    worst = 0.0
    for place in 1.0 + min(100.0, subject.reach - 2.0) * rng.random(8):
        for at in (place, np.floor(place), np.floor(place) + 0.5):
            before, after = (at_lag(subject, at + side * step) for side in (-1.0, 1.0))
            worst = max(worst, residual(after, before))
    return worst


def cache(subject: Subject, rng: np.random.Generator, *, tokens: int = 7) -> float:
    """Return how much the logits of a query change with the tokens after it."""
    at = np.unique(subject.places(np.linspace(0.0, 1.0, tokens)), axis=0)
    q, k = rng.normal(size=(2, len(at), subject.dimension))
    read = None if subject.width is None else rng.normal(size=(len(at), subject.width))
    whole = subject(q, k, at, at, read)
    if subject.coder is not None:
        return max(_kept(subject, q, k, at, whole, first) for first in (1, len(at) // 2))
    worst = 0.0
    for last in range(1, len(at) + 1):
        some = None if read is None else read[:last]
        alone = subject(q[last - 1 : last], k[:last], at[last - 1 : last], at[:last], some)
        worst = max(worst, residual(alone, whole[..., last - 1 : last, :last]))
    return worst


def _kept(subject: Subject, q: Floats, k: Floats, at: Floats, whole: Floats, first: int) -> float:
    """Return how far logits are from those of one pass, with keys kept: some at once, then each."""
    if subject.coder is None:
        return 0.0
    code = subject.coder()
    kept: list[Floats] = []
    worst = 0.0
    for start, stop in [(0, first), *((i, i + 1) for i in range(first, len(at)))]:
        queries, keys = code(q[start:stop], k[start:stop], at[start:stop])
        kept.append(keys)
        with np.errstate(all="ignore"):  # what overflows is seen in the result
            made = queries @ np.swapaxes(np.concatenate(kept, axis=-2), -1, -2)
        for row in range(start, stop):
            seen = made[..., row - start, : row + 1]
            worst = max(worst, residual(seen, whole[..., row, : row + 1]))
    return worst


def dtype(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far logits of float32 are from those of float64, near the farthest position.

    A subject in a narrow type of its own has no float64: its logits near 0 stand for them.
    """
    asked = sample(subject, rng, reach=min(NEAR, subject.reach))
    far = subject.reach - min(NEAR, subject.reach) if subject.ends else FAR
    if subject.narrow:
        last = subject.reach if subject.farthest is None else subject.farthest
        far = last - min(NEAR, subject.reach) if subject.ends else FAR
        moved = Asked(asked.q, asked.k, asked.t + far, asked.s + far, asked.tokens)
        try:
            return residual(moved.of(subject), asked.of(subject))
        except GroupError:  # half precision has no such positions, and gives NaN
            return float("inf")
    narrow = [np.asarray(x, dtype=np.float32) for x in (asked.q, asked.k)]
    wide = [x.astype(np.float64) for x in narrow]
    rest = (asked.t + far, asked.s + far, *(() if asked.tokens is None else (asked.tokens,)))
    found, wanted = (subject.of(*vectors, *rest) for vectors in (narrow, wide))
    return residual(found, wanted)
