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

import itertools
from dataclasses import dataclass, replace

import numpy as np

from gnomon.errors import GroupError
from gnomon.groups import places
from gnomon.groups.blocks import Floats
from gnomon.groups.subject import Subject

QUERIES, KEYS = 5, 8
NEAR, FAR = 64.0, float(2**17)
"""Lags, and the position they are seen from, where digits of float32 are few."""
AT_ONCE = 512
"""Vectors that are asked in one call where places are many."""
ANCHORS = 64
"""Rows near by at most that every row of a table with a window is asked with, by the block."""


@dataclass(frozen=True)
class Question:
    """Queries, keys, positions and tokens with which a subject is asked."""

    q: Floats
    k: Floats
    t: Floats
    s: Floats
    tokens: Floats | None = None

    def of(self, subject: Subject) -> Floats:
        """Return the logits; of a causal subject those of keys after their query are -inf."""
        found = subject(self.q, self.k, self.t, self.s, self.tokens)
        if not subject.causal or subject.in_order:
            return found
        late, early = (at.reshape(len(at), -1) for at in (self.t, self.s))
        seen = (late[:, None] >= early[None]).all(axis=-1)
        return np.where(seen, found, -np.inf)

    def moved(self, step: float | Floats) -> Question:
        """Return the question with all positions shifted."""
        return replace(self, t=self.t + step, s=self.s + step)


def sample(
    subject: Subject, rng: np.random.Generator, *, at: tuple[Floats, Floats] | None = None
) -> Question:
    """Return vectors at positions of queries and keys: without any, at a line of tokens.

    Where order counts queries are the last tokens of the line.
    """
    line = subject.places(np.arange(KEYS) / (KEYS - 1), reach=subject.lags) if at is None else at[1]
    if at is None or subject.in_order:
        at = line[-QUERIES:], line
    tokens = None if subject.width is None else rng.normal(size=(len(at[1]), subject.width))
    q, k = (rng.normal(size=(len(places), subject.dimension)) for places in at)
    return Question(q, k, *at, tokens)


def residual(found: Floats, wanted: Floats) -> float:
    """Return the largest difference as a share of the largest value; masked logits must agree."""
    seen = np.isfinite(wanted)
    if not np.array_equal(seen, np.isfinite(found)):
        return float("inf")
    largest = float(np.abs(found[seen] - wanted[seen]).max(initial=0.0))
    scale = float(np.abs(wanted[seen]).max(initial=0.0))
    return largest / scale if scale > 0.0 else largest


def linearity(subject: Subject, rng: np.random.Generator, *, affine: bool = False) -> float:
    """Return how far f is from linear in queries and in keys, or from affine.

    One side has all places of the design, the other a few, the first and the last among them.
    """
    a = 0.7
    b = 1.0 - a if affine else -1.6
    every = places.many(subject, rng)
    early, late = places.few(subject, rng)
    worst = 0.0
    for side, at in (("q", (every, early)), ("k", (late, every))):
        asked = sample(subject, rng, at=None if subject.in_order else at)
        x = getattr(asked, side)
        y = rng.normal(size=x.shape)
        one, other, both = (
            replace(asked, **{side: vectors}).of(subject) for vectors in (x, y, a * x + b * y)
        )
        seen = np.isfinite(one)
        if not np.array_equal(seen, np.isfinite(other)):
            return float("inf")
        worst = max(worst, residual(both[seen], a * one[seen] + b * other[seen]))
    return worst


def shifts(subject: Subject, rng: np.random.Generator) -> tuple[float, float]:
    """Return how much common shifts of all positions change logits: as they are, and gauged."""
    worst = np.zeros(2)
    for moves in places.moves(subject, rng):
        asked = sample(subject, rng, at=(moves.queries, moves.keys))
        before = asked.of(subject)
        for step in moves.steps:
            worst = np.maximum(worst, _both(asked.moved(step).of(subject), before))
    every = None if subject.in_order else places.rows(subject)
    if every is not None:
        worst = np.maximum(worst, _rows(subject, rng, every))
    return float(worst[0]), float(worst[1])


def _both(found: Floats, wanted: Floats) -> tuple[float, float]:
    """Return residuals as they are, and of what softmax sees."""
    return residual(found, wanted), residual(_gauged(found), _gauged(wanted))


def _rows(subject: Subject, rng: np.random.Generator, every: Floats) -> Floats:
    """Return how far logits of every row with a few others are from those of the same lag.

    One vector stands for all queries and one for all keys, so that logits depend on the lag alone:
    those of a query at a corner with all keys say what they must be at lags of one sign on each
    axis. Signs are compared apart, since what softmax does not see is a number for each query.
    """
    q, k = rng.normal(size=(2, 1, subject.dimension))
    last = places.last_of(subject)
    size = int(last) + 1
    powers = size ** np.arange(subject.axes - 1, -1, -1)

    def logits(t: Floats, s: Floats) -> Floats:
        left, right = (np.repeat(x, len(at), axis=0) for x, at in ((q, t), (k, s)))
        return Question(left, right, *(places.shaped(subject, at) for at in (t, s))).of(subject)

    blocks = [every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE)]
    choices = (1.0,) if subject.causal else (1.0, -1.0)
    sides = []
    for signs in itertools.product(choices, repeat=subject.axes):
        corner = np.where(np.array(signs) > 0.0, last, 0.0)
        made = np.concatenate([logits(corner[None], s)[..., 0, :] for s in blocks], axis=-1)
        away = np.abs(corner - every).astype(int) @ powers
        sides.append((np.array(signs), made[..., np.argsort(away)]))
    worst = np.zeros(2)
    for rows in blocks:
        some = _anchors(subject, rng, rows)
        for t, s in ((rows, some), (some, rows)):
            found = logits(t, s)
            lag = t[:, None] - s[None, :]
            for sign, values in sides:
                seen = (lag * sign >= 0.0).all(axis=-1)
                wanted = values[..., np.abs(lag).astype(int) @ powers]
                pair = (np.where(seen, one, -np.inf) for one in (found, wanted))
                worst = np.maximum(worst, _both(*pair))
    return worst


def _anchors(subject: Subject, rng: np.random.Generator, rows: Floats) -> Floats:
    """Return rows that some are asked with: the ends and two others, or near ones in a window."""
    last, axes = places.last_of(subject), subject.axes
    ends = np.array([[0.0], [last]]) * np.ones(axes)
    made = [ends, np.floor(rng.uniform(0.0, last + 1.0, size=(2, axes)))]
    if subject.span is not None:
        step = max(1.0, np.floor(0.5 * subject.span))
        near = rows[:: max(1, int(min(step, len(rows))), len(rows) // ANCHORS)]
        made += [near, rows[-1:], np.clip(near - step, 0.0, last)]
    return np.unique(np.concatenate(made), axis=0)


def _gauged(logits: Floats) -> Floats:
    """Return logits without the mean of what each row shows, which softmax does not see."""
    seen = np.isfinite(logits)
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    mean = np.where(seen, logits, 0.0).sum(axis=-1, keepdims=True) / count
    return np.where(seen, logits - mean, logits)


def at_lag(subject: Subject, lag: float) -> Floats:
    """Return B (..., d, d) at a lag on the first axis, by asking for unit vectors."""
    return at_lags(subject, np.array([lag]))[0]


def at_lags(
    subject: Subject,
    lags: Floats,
    *,
    vectors: Floats | None = None,
    axis: int = 0,
    at_once: int = AT_ONCE,
) -> Floats:
    """Return B (lags, ..., d, d) at lags (n,) on an axis, or at (n, axes), by unit vectors.

    Either the key or the query stands at 0, unless the lag has coordinates of both signs. With
    `at_once=1` each lag is asked in a call of its own.
    """
    vectors = np.eye(subject.dimension) if vectors is None else vectors
    if lags.ndim == 1:
        lags = lags[:, None] * np.eye(subject.axes)[axis]
    made: list[Floats | None] = [None] * len(lags)
    ahead, behind = (lags >= 0.0).all(axis=1), (lags <= 0.0).all(axis=1)
    most = 1 if subject.in_order else max(1, at_once // len(vectors))
    for side in (ahead, behind & ~ahead):
        chosen = np.flatnonzero(side)
        for start in range(0, len(chosen), most):
            some = chosen[start : start + most]
            for k, found in zip(some, at_once_of(subject, vectors, lags[some]), strict=True):
                made[k] = found
    for k in np.flatnonzero(~ahead & ~behind):
        made[k] = at_once_of(subject, vectors, lags[k : k + 1])[0]
    return np.array(made)


def at_once_of(subject: Subject, vectors: Floats, lags: Floats) -> list[Floats]:
    """Return the logits of vectors with each other at lags of one sign, or at one, in one call."""
    count = len(vectors)
    late, early = (np.maximum(sign * lags, 0.0) for sign in (1.0, -1.0))
    late = np.repeat(late if late.any() else late[:1], count, axis=0)
    early = np.repeat(early if early.any() else early[:1], count, axis=0)
    t, s = (at[:, 0] if subject.axes == 1 else at for at in (late, early))
    left, right = (np.tile(vectors, (len(at) // count, 1)) for at in (t, s))
    found = subject(left, right, t, s)
    if len(t) >= len(s):
        return np.split(found, len(t) // count, axis=-2)
    return np.split(found, len(s) // count, axis=-1)


def identity(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far B(t, t) C^-1 is from I at 1, the last and random t, C = B(0, 0)."""
    inverse = np.linalg.inv(at_lag(subject, 0.0))
    eye = np.eye(subject.dimension)
    last = places.last_of(subject)
    ends = places.shaped(subject, np.array([[1.0], [last]]) * np.ones(subject.axes))
    worst = 0.0
    for place in np.concatenate([ends, places.random_places(subject, rng, 2, high=last)]):
        here = np.repeat(place[None], subject.dimension, axis=0)
        there = subject(eye, eye, here, here) @ inverse
        worst = max(worst, residual(there, np.broadcast_to(eye, there.shape)))
    return worst


def commutators(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far steps on different axes are from commuting."""
    steps = np.diag(1.0 + 3.0 * rng.random(subject.axes))
    made = at_lags(subject, np.floor(steps) if subject.whole else steps)
    pairs = [(x, y) for i, x in enumerate(made) for y in made[:i]]
    return max(residual(x @ y, y @ x) for x, y in pairs)


def group(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far A(a + b) is from A(a) A(b).

    For short lags on each axis and far ones, of both signs where keys may come later, and on
    several axes for lags that lie on none.
    """
    pairs = _pairs(subject, rng)
    lags = np.concatenate([pairs[:, 0], pairs[:, 1], pairs.sum(axis=1)])
    # What follows the length of a call is a group at each length: one call for each lag.
    made = at_lags(subject, lags, at_once=1) @ np.linalg.inv(at_lag(subject, 0.0))
    if not np.isfinite(made).all():
        return float("inf")
    one, other, both = np.split(made, 3)
    size = np.maximum(1.0, np.maximum(_largest(one), _largest(other)))
    return float((_largest(both - one @ other) / size**2).max())


def _largest(made: Floats) -> Floats:
    """Return the largest entry at each lag."""
    return np.asarray(np.abs(made).reshape(len(made), -1).max(axis=1))


def _pairs(subject: Subject, rng: np.random.Generator) -> Floats:
    """Return pairs of lags (n, 2, axes) whose sum is a lag that may be asked, too."""
    half, axes = 0.5 * subject.lags, subject.axes
    near = min(50.0, 0.5 * half)
    on_axes = [near * rng.random((3, 2, 1)) * np.eye(axes)[axis] for axis in range(axes)]
    far = [half * rng.random((4, 2, axes))]
    off = [near * rng.random((3, 2, axes))] if axes > 1 else []
    made = np.concatenate([*on_axes, *off, *far])
    if subject.whole:
        made = np.minimum(np.floor(made) + (made > 0.0), np.floor(half))
    if subject.causal:
        return made
    signs = rng.choice([-1.0, 1.0], size=made.shape)
    signs[:2] = [[[1.0], [-1.0]], [[-1.0], [-1.0]]]
    signs[-2:] = [[[1.0], [-1.0]], [[1.0], [1.0]]]
    return made * signs


def continuity(subject: Subject, rng: np.random.Generator) -> float:
    """Return the largest jump of B between positions 2^-20 apart, beside what a slope of 1 makes.

    Jumps lie at whole positions more often than not, so these are looked at, too: on each axis,
    near and far.
    """
    step = 2.0**-20
    most = subject.lags - 2.0
    place = np.append(1.0 + min(100.0, most) * rng.random(8), 1.0 + most * rng.random(2))
    at = np.concatenate([place, np.floor(place), np.floor(place) + 0.5])
    at = at[at < subject.lags - step]
    worst = 0.0
    for axis in range(subject.axes):
        made = at_lags(subject, np.concatenate([at - step, at + step]), axis=axis)
        for before, after in zip(*np.split(made, 2), strict=True):
            worst = max(worst, residual(after, before))
    return worst


def cache(subject: Subject, rng: np.random.Generator, *, tokens: int = 7) -> float:
    """Return how much the logits of a query change with the tokens after it."""
    at = _line(subject, rng, tokens)
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


def _line(subject: Subject, rng: np.random.Generator, tokens: int) -> Floats:
    """Return the first two positions, the last one that can be seen from 0, and some between."""
    last = min(places.last_of(subject), subject.lags)
    between = np.sort(rng.uniform(0.0, last, size=(tokens - 3, subject.axes)), axis=0)
    ends = np.array([0.0, min(1.0, last), last])[:, None] * np.ones(subject.axes)
    return np.unique(places.shaped(subject, np.concatenate([ends, between])), axis=0)


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
    near = min(NEAR, subject.lags)
    late = places.random_places(subject, rng, QUERIES, low=0.5 * near, high=near)
    early = places.random_places(subject, rng, KEYS, high=0.5 * near)
    line = replace(subject, span=near)
    asked = sample(line, rng, at=None if subject.in_order else (late, early))
    far = subject.reach - near if subject.ends else FAR
    if subject.narrow:
        last = subject.reach if subject.farthest is None else subject.farthest
        far = last - near if subject.ends else FAR
        try:
            return residual(asked.moved(far).of(subject), asked.of(subject))
        except GroupError:  # half precision has no such positions, and gives NaN
            return float("inf")
    narrow = [np.asarray(x, dtype=np.float32) for x in (asked.q, asked.k)]
    wide = [x.astype(np.float64) for x in narrow]
    rest = (asked.t + far, asked.s + far, *(() if asked.tokens is None else (asked.tokens,)))
    found, wanted = (subject.of(*vectors, *rest) for vectors in (narrow, wide))
    return residual(found, wanted)
