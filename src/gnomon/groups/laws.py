r"""Laws of an encoding, each with a residual, and the positions at which they are asked.

A residual is 0 where the law holds.
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

Where a function is asked: the design of positions behind every law, and a record of it.

A law holds "for all positions", and a certificate sees some. Faults of tables, caches and layers do
not lie at random: they sit at the first token (attention sinks), at the ends of tables, at lengths
that are powers of two, in one half of a plane. So positions are asked in four ways, and each is
compared with itself after common shifts, every query with every key of its set:

* low    0, 1, 2, 3, 2^k - 1, 2^k, 2^k + 1 up to half of the reach, shifted up;
* high   the same from there on, and the last three, shifted down;
* free   some hundred random places in the lower half of every axis, beside a few others; shifted by
         half of the reach along each set of axes they lie evenly over all of it;
* far    random places all over the reach, for the longest lags, shifted a little.

Many get a partner near by, so that short lags are seen everywhere. On several axes coordinates are
drawn independently, so that places lie on no common line; the origin, each axis alone and the far
corner are among them. Of whole positions all rows are asked, on a grid of several axes,
too, up to `ROWS`: each as a query and as a key.

A fault that touches a share s of positions, or of lags, is missed by n uniform and independent ones
with probability (1 - s)^n: one in the lower half of an axis stands for those that shifts make of
it, so that it meets the part where the share is largest. The certificate states this for a share
of 1 %. A fault at a single real position or lag has no share, and none is promised to be found.

Laws of what lies between: do other tokens decide a logit, does their order, and is it a path?

With the tokens of a line given, f(q_i, k_j) of query i and key j:

* context  f does not change with tokens other than i and j: so it is for encodings of positions;
* order    f does not change when tokens well between both are exchanged: group elements commute, so
           that only a *clock*, the sum of what they add, counts (level L3); a clock may also read
           up to `MARGIN` neighbours of each token;
* path     T(i, r) = T(i, s) T(s, r), T the matrix of f, biases summed: a product along the path
           (L4 where the order matters) [yang2025path];
* content  the rank of f(q_a, k_b) at one pair of positions over many vectors: finite where fixed
           features of q and k are multiplied (L2), full where content decides otherwise (L7).

Boundedness: do logits stay within bounds as the lag grows?

Logits that are linear but for a bias, f = q^T B(t) k + a(t).q + b(t).k + c(t), are looked at from
lag 0 to the reach on each axis (to both sides, where keys may come later). What grows is the
largest of |B|, |a| and |b| in the 2-norm, for vectors of either sign; of the bias c only its rise
counts, since softmax lets what falls vanish. The residual is by how much lags beyond a quarter of
the reach exceed those before: 3 for growth in proportion to the lag, 0 for turns, decays and slopes
that fall.

This is what can be seen up to the reach. Where a generator was read its spectrum decides for all
lags: |exp(tX)| is bounded for t >= 0 exactly if no real part is above 0 and no block on the
imaginary axis has an order above 1 [higham2008 sec. 10.1].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gnomon.errors import GroupError
from gnomon.groups.generator import Floats
from gnomon.groups.logit_function import LogitFunction, as_positions, last_of, special

QUERIES, KEYS = 5, 8
NEAR, FAR = 64.0, float(2**17)
"""Lags, and the position they are seen from, where digits of float32 are few."""
AT_ONCE = 512
"""Vectors that are asked in one call where places are many."""
ANCHORS = 64
"""Rows near by at most that every row of a table with a window is asked with, by the block."""
ROWS = 8192
"""Whole positions, of all axes together, up to which every one is asked."""
PARTNERS, FREE_PLACES, FAR_PLACES, FEW_PARTNERS = 12, 512, 16, 6
CORNERS, MOST_AXES = 8, 3
"""Shifts at most by half of the reach, and axes up to which these are all there are."""
IN_LINE = 8
"""Tokens of a line, where their order counts."""
TOKENS, MARGIN = 13, 4
GROWN = 0.5
"""Largest rise beyond a quarter of the reach, as a share of what was there before."""
GROWTH_LAGS = 40
TINY = float(np.finfo(np.float64).tiny)
SIZES, SIZES_OF_FLOAT16, FLOAT16 = (1e-3, 1e3), (2.0**-4, 2.0**4), 2.0**-10
"""By how much vectors are shorter and longer where f is asked to be linear; in half precision."""
LARGEST, LARGEST_OF_FLOAT32, LARGEST_OF_FLOAT16 = 1e300, 1e36, 2e4
"""Logits up to which vectors are made longer."""


@dataclass(frozen=True)
class Question:
    """Queries, keys, positions and tokens with which a subject is asked."""

    q: Floats
    k: Floats
    t: Floats
    s: Floats
    tokens: Floats | None = None

    def of(self, subject: LogitFunction) -> Floats:
        """Return the logits; of a causal subject those of keys after their query are -inf."""
        found = subject(self.q, self.k, self.t, self.s, self.tokens)
        if not subject.causal or subject.in_order:
            return found
        late, early = (at.reshape(len(at), -1) for at in (self.t, self.s))
        seen = (late[:, None] >= early[None]).all(axis=-1)
        return np.where(seen, found, -np.inf)

    def shift(self, step: float | Floats) -> Question:
        """Return the question with all positions shifted."""
        return replace(self, t=self.t + step, s=self.s + step)


def sample(
    subject: LogitFunction, rng: np.random.Generator, *, at: tuple[Floats, Floats] | None = None
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


def linearity(subject: LogitFunction, rng: np.random.Generator, *, affine: bool = False) -> float:
    """Return how far f is from linear in queries and in keys, or from affine.

    One side has all places of the design, the other a few, the first and the last among them. At a
    few places vectors are far shorter and far longer as well: what is cut off, capped or rounded to
    steps is linear in between.
    """
    a = 0.7
    b = 1.0 - a if affine else -1.6
    every = many(subject, rng)
    early, late = few(subject, rng)
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
    return max(worst, _off_at_sizes(subject, rng, affine=affine))


def _off_at_sizes(subject: LogitFunction, rng: np.random.Generator, *, affine: bool) -> float:
    """Return how far f(c x) is from c f(x), or a bias more, for each side and every size c."""
    asked = sample(subject, rng)
    base, worst = asked.of(subject), 0.0
    seen = np.isfinite(base)
    sizes = _sizes_of_vectors(subject, float(np.abs(base[seen]).max(initial=0.0)))
    for side in ("q", "k"):
        x = getattr(asked, side)
        none = replace(asked, **{side: 0.0 * x}).of(subject) if affine else np.zeros(base.shape)
        for size in sizes:
            found = _numbers_of(replace(asked, **{side: size * x}), subject)
            if found is None or not np.array_equal(np.isfinite(found), seen):
                return float("inf")
            wanted = size * base[seen] + (1.0 - size) * none[seen]
            worst = max(worst, residual(found[seen], wanted))
    subject.asked.sizes = tuple(sorted({sizes[0], 1.0, sizes[1]}))
    return worst


def _numbers_of(asked: Question, subject: LogitFunction) -> Floats | None:
    """Return logits, or None where they are NaN: what is not linear may leave its type."""
    try:
        return asked.of(subject)
    except GroupError:
        return None


def _sizes_of_vectors(subject: LogitFunction, largest: float) -> tuple[float, float]:
    """Return by how much vectors are shortened and lengthened, where logits are so large at most.

    Logits then stay within their type, and above what is taken for a mask.
    """
    half = subject.rounding == FLOAT16
    least, most = SIZES_OF_FLOAT16 if half else SIZES
    room = LARGEST_OF_FLOAT16 if half else LARGEST_OF_FLOAT32 if subject.narrow else LARGEST
    room = room if subject.floor is None else min(room, 0.25 * abs(subject.floor))
    return least, max(1.0, min(most, room / max(largest, 1.0)))


def shifts(subject: LogitFunction, rng: np.random.Generator) -> tuple[float, float]:
    """Return how much common shifts of all positions change logits: as they are, and gauged."""
    worst = np.zeros(2)
    for shifted in moves(subject, rng):
        asked = sample(subject, rng, at=(shifted.queries, shifted.keys))
        before = asked.of(subject)
        for step in shifted.steps:
            worst = np.maximum(worst, _residuals(asked.shift(step).of(subject), before))
    every = None if subject.in_order else rows(subject)
    if every is not None:
        worst = np.maximum(worst, _rows(subject, rng, every))
    return float(worst[0]), float(worst[1])


def _residuals(found: Floats, wanted: Floats) -> tuple[float, float]:
    """Return residuals as they are, and of what softmax sees."""
    return residual(found, wanted), residual(_without_row_means(found), _without_row_means(wanted))


def _rows(subject: LogitFunction, rng: np.random.Generator, every: Floats) -> Floats:
    """Return how far logits of every row with a few others are from those of the same lag.

    One vector stands for all queries and one for all keys, so that logits depend on the lag alone:
    those of a query at a corner with all keys say what they must be at lags of one sign on each
    axis. Signs are compared apart, since what softmax does not see is a number for each query.
    """
    q, k = rng.normal(size=(2, 1, subject.dimension))
    last = last_of(subject)
    size = int(last) + 1
    powers = size ** np.arange(subject.axes - 1, -1, -1)

    def logits(t: Floats, s: Floats) -> Floats:
        left, right = (np.repeat(x, len(at), axis=0) for x, at in ((q, t), (k, s)))
        return Question(left, right, *(as_positions(subject, at) for at in (t, s))).of(subject)

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
                worst = np.maximum(worst, _residuals(*pair))
    return worst


def _anchors(subject: LogitFunction, rng: np.random.Generator, rows: Floats) -> Floats:
    """Return rows that some are asked with: the ends and two others, or near ones in a window."""
    last, axes = last_of(subject), subject.axes
    ends = np.array([[0.0], [last]]) * np.ones(axes)
    made = [ends, np.floor(rng.uniform(0.0, last + 1.0, size=(2, axes)))]
    if subject.span is not None:
        step = max(1.0, np.floor(0.5 * subject.span))
        near = rows[:: max(1, int(min(step, len(rows))), len(rows) // ANCHORS)]
        made += [near, rows[-1:], np.clip(near - step, 0.0, last)]
    return np.unique(np.concatenate(made), axis=0)


def _without_row_means(logits: Floats) -> Floats:
    """Return logits without the mean of what each row shows, which softmax does not see."""
    seen = np.isfinite(logits)
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    mean = np.where(seen, logits, 0.0).sum(axis=-1, keepdims=True) / count
    return np.where(seen, logits - mean, logits)


def at_lag(subject: LogitFunction, lag: float) -> Floats:
    """Return B (..., d, d) at a lag on the first axis, by asking for unit vectors."""
    return at_lags(subject, np.array([lag]))[0]


def at_lags(
    subject: LogitFunction,
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


def at_once_of(subject: LogitFunction, vectors: Floats, lags: Floats) -> list[Floats]:
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


def condition(matrices: Floats) -> float:
    """Return the largest condition number, infinite where something else is."""
    return float(np.max(np.linalg.cond(matrices))) if np.isfinite(matrices).all() else float("inf")


def identity(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how far B(t, t) C^-1 is from I at 1, the last and random t, C = B(0, 0)."""
    inverse = np.linalg.inv(at_lag(subject, 0.0))
    eye = np.eye(subject.dimension)
    last = last_of(subject)
    ends = as_positions(subject, np.array([[1.0], [last]]) * np.ones(subject.axes))
    worst = 0.0
    for place in np.concatenate([ends, random_places(subject, rng, 2, high=last)]):
        here = np.repeat(place[None], subject.dimension, axis=0)
        there = subject(eye, eye, here, here) @ inverse
        worst = max(worst, residual(there, np.broadcast_to(eye, there.shape)))
    return worst


def commutators(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how far steps on different axes are from commuting."""
    steps = np.diag(1.0 + 3.0 * rng.random(subject.axes))
    made = at_lags(subject, np.floor(steps) if subject.whole else steps)
    pairs = [(x, y) for i, x in enumerate(made) for y in made[:i]]
    return max(residual(x @ y, y @ x) for x, y in pairs)


def group(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how far A(a + b) is from A(a) A(b).

    For short lags on each axis and far ones, of both signs where keys may come later, and on
    several axes for lags that lie on none.
    """
    pairs = _pairs_of_lags(subject, rng)
    lags = np.concatenate([pairs[:, 0], pairs[:, 1], pairs.sum(axis=1)])
    # What follows the length of a call is a group at each length: one call for each lag.
    with np.errstate(invalid="ignore"):  # what is infinite is seen in the result
        made = at_lags(subject, lags, at_once=1) @ np.linalg.inv(at_lag(subject, 0.0))
    if not np.isfinite(made).all():
        return float("inf")
    one, other, both = np.split(made, 3)
    size = np.abs(np.split(made, 3)[:2]).reshape(2, len(pairs), -1).max(axis=(0, 2), initial=1.0)
    off = np.abs(both - one @ other).reshape(len(pairs), -1).max(axis=1)
    return float((off / size**2).max())


def _pairs_of_lags(subject: LogitFunction, rng: np.random.Generator) -> Floats:
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


def continuity(subject: LogitFunction, rng: np.random.Generator) -> float:
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


def cache(subject: LogitFunction, rng: np.random.Generator, *, tokens: int = 7) -> float:
    """Return how much the logits of a query change with the tokens after it."""
    at = _cache_line(subject, rng, tokens)
    q, k = rng.normal(size=(2, len(at), subject.dimension))
    read = None if subject.width is None else rng.normal(size=(len(at), subject.width))
    whole = subject(q, k, at, at, read)
    if subject.coder is not None:
        return max(_off_one_pass(subject, q, k, at, whole, first) for first in (1, len(at) // 2))
    worst = 0.0
    for last in range(1, len(at) + 1):
        some = None if read is None else read[:last]
        alone = subject(q[last - 1 : last], k[:last], at[last - 1 : last], at[:last], some)
        worst = max(worst, residual(alone, whole[..., last - 1 : last, :last]))
    return worst


def _cache_line(subject: LogitFunction, rng: np.random.Generator, tokens: int) -> Floats:
    """Return the first two positions, the last one that can be seen from 0, and some between."""
    last = min(last_of(subject), subject.lags)
    between = np.sort(rng.uniform(0.0, last, size=(tokens - 3, subject.axes)), axis=0)
    ends = np.array([0.0, min(1.0, last), last])[:, None] * np.ones(subject.axes)
    return np.unique(as_positions(subject, np.concatenate([ends, between])), axis=0)


def _off_one_pass(
    subject: LogitFunction, q: Floats, k: Floats, at: Floats, whole: Floats, first: int
) -> float:
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


def dtype(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how far logits of float32 are from those of float64, near the farthest position.

    A subject in a narrow type of its own has no float64: its logits near 0 stand for them.
    """
    near = min(NEAR, subject.lags)
    late = random_places(subject, rng, QUERIES, low=0.5 * near, high=near)
    early = random_places(subject, rng, KEYS, high=0.5 * near)
    line = replace(subject, span=near)
    asked = sample(line, rng, at=None if subject.in_order else (late, early))
    far = subject.reach - near if subject.ends else FAR
    if subject.narrow:
        last = subject.reach if subject.farthest is None else subject.farthest
        far = last - near if subject.ends else FAR
        try:
            return residual(asked.shift(far).of(subject), asked.of(subject))
        except GroupError:  # half precision has no such positions, and gives NaN
            return float("inf")
    narrow = [np.asarray(x, dtype=np.float32) for x in (asked.q, asked.k)]
    wide = [x.astype(np.float64) for x in narrow]
    rest = (asked.t + far, asked.s + far, *(() if asked.tokens is None else (asked.tokens,)))
    found, wanted = (subject(*vectors, *rest) for vectors in (narrow, wide))
    return residual(found, wanted)


@dataclass(frozen=True)
class Moves:
    """Places of queries and of keys, (n,) or (n, axes), and steps that shift all of them."""

    queries: Floats
    keys: Floats
    steps: Floats

    @classmethod
    def of(cls, places: Floats, steps: Floats) -> Moves:
        """Return moves with the same places for both."""
        return cls(places, places, steps)


def random_places(
    subject: LogitFunction, rng: np.random.Generator, count: int, *, low: float = 0.0, high: float
) -> Floats:
    """Return uniform places, every coordinate drawn by itself."""
    return as_positions(subject, rng.uniform(low, high, size=(count, subject.axes)))


def rows(subject: LogitFunction) -> Floats | None:
    """Return all whole positions (n, axes) up to the reach, or None where they are too many."""
    size = int(last_of(subject)) + 1
    if not subject.whole or size**subject.axes > ROWS:
        return None
    return np.indices((size,) * subject.axes).reshape(subject.axes, -1).T.astype(np.float64)


def many(subject: LogitFunction, rng: np.random.Generator, count: int = 48) -> Floats:
    """Return all rows of a table that is short, or special places and random ones."""
    last = last_of(subject)
    if subject.whole and subject.axes == 1 and last < 1024.0:
        return np.arange(last + 1.0)
    ends = _special_places(subject, rng, 0.0, last)
    return np.concatenate([ends, random_places(subject, rng, count, high=last)])


def few(subject: LogitFunction, rng: np.random.Generator, count: int = 2) -> tuple[Floats, Floats]:
    """Return early places with the first, and late ones with the last, some for each."""
    last = last_of(subject)
    ends = [as_positions(subject, np.full((1, subject.axes), end)) for end in (0.0, last)]
    early = random_places(subject, rng, count, high=0.5 * last)
    late = random_places(subject, rng, count, low=0.5 * last, high=last)
    return np.concatenate([ends[0], early]), np.concatenate([ends[1], late])


def moves(subject: LogitFunction, rng: np.random.Generator) -> Iterator[Moves]:
    """Yield sets of places with the steps by which they are shifted."""
    last = last_of(subject)
    half = 0.5 * last
    if subject.in_order:
        yield from _lines_of_tokens(subject, rng, last)
        return

    def steps(count: int, most: float, sign: float = 1.0) -> Floats:
        at = rng.uniform(0.0, most, size=(count, subject.axes))
        return sign * as_positions(subject, np.maximum(at, min(1.0, most)))

    low = _special_places(subject, rng, 0.0, half)
    yield Moves.of(_with_partners(subject, rng, low, (0.0, half)), steps(2, half))
    high = _special_places(subject, rng, np.ceil(half), last)
    room = math.floor(half) if subject.whole else half
    yield Moves.of(_with_partners(subject, rng, high, (np.ceil(half), last)), steps(2, room, -1.0))
    yield from _free_places(subject, rng, half)
    if subject.axes <= MOST_AXES:
        subject.asked.free_places = FREE_PLACES
    near = 0.1 * last
    far = random_places(subject, rng, FAR_PLACES, high=last - near)
    first = as_positions(subject, np.zeros((1, subject.axes)))
    small = np.exp(rng.uniform(0.0, math.log(half), size=(1, subject.axes)))
    yield Moves.of(np.concatenate([first, far]), steps(2, near))
    near_by = random_places(subject, rng, FAR_PLACES, high=half)
    yield Moves.of(_with_partners(subject, rng, near_by, (0.0, half)), as_positions(subject, small))


def _free_places(subject: LogitFunction, rng: np.random.Generator, half: float) -> Iterator[Moves]:
    """Yield many random places as queries with few keys, and as keys with few queries."""
    if subject.axes > MOST_AXES:
        corners = rng.integers(0, 2, size=(CORNERS, subject.axes)).astype(np.float64)
    else:
        corners = np.array(list(itertools.product((0.0, 1.0), repeat=subject.axes)))[1:]
    steps = as_positions(subject, half * corners)
    if subject.span is not None:
        for _ in range(2):
            places = random_places(subject, rng, FREE_PLACES // 2, high=half)
            both = _with_partners(subject, rng, places, (0.0, half), most=FREE_PLACES)
            yield Moves.of(both, steps)
        return
    every = random_places(subject, rng, FREE_PLACES, high=half)
    near = rng.uniform(0.0, 0.2 * half, size=(2, FEW_PARTNERS, subject.axes))
    near[:, 0] = 0.0
    early, late = as_positions(subject, near[0]), as_positions(subject, half - near[1])
    yield Moves(every, early, steps)
    yield Moves(late, every, steps)


def _lines_of_tokens(
    subject: LogitFunction, rng: np.random.Generator, last: float
) -> Iterator[Moves]:
    """Yield lines of tokens in their order: the first places, the last ones, and random ones."""
    count = int(min(IN_LINE, last + 1.0))
    first = np.arange(float(count))
    drawn = np.sort(rng.uniform(0.0, 0.5 * last, size=count))
    drawn = np.unique(np.floor(drawn)) if subject.whole else drawn
    random = as_positions(subject, rng.uniform(1.0, 0.5 * last, size=(3, 1)))
    room = last - count + 1.0
    for places, steps in ((first, random), (first + room, -random), (drawn, random)):
        at = places if subject.axes == 1 else np.repeat(places[:, None], subject.axes, axis=1)
        way = steps if subject.axes == 1 else np.repeat(steps[:, None], subject.axes, axis=1)
        yield Moves.of(at, np.clip(way, -room, room))


def _special_places(
    subject: LogitFunction, rng: np.random.Generator, low: float, high: float
) -> Floats:
    """Return special places between two positions: ends, each axis alone, and mixed ones."""
    known = special(last_of(subject))
    known = known[(known >= low) & (known <= high)]
    if not len(known):
        known = np.array([low])
    if subject.axes == 1:
        return known
    made = [np.full((1, subject.axes), known[0]), np.full((1, subject.axes), known[-1])]
    for axis in range(subject.axes):
        alone = np.full((4, subject.axes), low)
        alone[:, axis] = [known[0], known[-1], *rng.choice(known, size=2)]
        made.append(alone)
    made.append(rng.choice(known, size=(16, subject.axes)))
    return np.unique(np.concatenate(made), axis=0)


def _with_partners(
    subject: LogitFunction,
    rng: np.random.Generator,
    at: Floats,
    ends: tuple[float, float],
    *,
    most: int = PARTNERS,
) -> Floats:
    """Return places with others near to some of them, within the ends."""
    chosen = rng.choice(len(at), size=min(most, len(at)), replace=False)
    widest = max(2.0, min(subject.lags, ends[1] - ends[0]))
    size = np.exp(rng.uniform(0.0, math.log(widest), size=(len(chosen), subject.axes)))
    sign = rng.choice([-1.0, 1.0], size=size.shape)
    beside = at[chosen].reshape(len(chosen), subject.axes) + sign * size
    return np.concatenate([at, as_positions(subject, np.clip(beside, *ends))])


def _line_of_tokens(
    subject: LogitFunction, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats | None]:
    """Return positions and keys of a line of tokens, and what is read of them."""
    reach = subject.reach if subject.lags < TOKENS else subject.lags
    at = np.unique(subject.places(np.linspace(0.0, 1.0, TOKENS), reach=reach), axis=0)
    k = rng.normal(size=(len(at), subject.dimension))
    read = None if subject.width is None else rng.normal(size=(len(at), subject.width))
    return at, k, read


def context(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how much the logits of the last query depend on the token before it.

    That token stands between the query and all other keys, near or far.
    """
    at, k, read = _line_of_tokens(subject, rng)
    q = rng.normal(size=(1, subject.dimension))
    before = subject(q, k, at[-1:], at, read)
    changed = len(at) - 2
    for held in (k, read):
        if held is not None:
            held[changed] = rng.normal(size=held.shape[-1])
    after = subject(q, k, at[-1:], at, read)
    others = np.arange(len(at)) != changed
    return residual(after[..., others], before[..., others])


def order(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how much the logit of the last query and the first key depends on an exchange."""
    at, k, read = _line_of_tokens(subject, rng)
    q = rng.normal(size=(1, subject.dimension))
    before = subject(q, k, at[-1:], at, read)
    inside = np.arange(1 + MARGIN, len(at) - MARGIN)
    for held in (k, read):
        if held is not None:
            held[inside] = held[inside[::-1]]
    after = subject(q, k, at[-1:], at, read)
    return residual(after[..., :1], before[..., :1])


def path(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return how far T(i, r) is from T(i, s) T(s, r), and a bias from a sum along the path."""
    at, _, read = _line_of_tokens(subject, rng)
    last, middle = len(at) - 1, len(at) // 2
    parts = {}
    for name, i, j in (("whole", last, 0), ("late", last, middle), ("early", middle, 0)):
        some = None if read is None else read[: i + 1]
        parts[name] = _matrix_and_bias(subject, at[: i + 1], j, some)
    matrices = {name: part[0] for name, part in parts.items()}
    biases = {name: part[1] for name, part in parts.items()}
    product = matrices["late"] @ matrices["early"]
    summed = biases["late"] + biases["early"]
    return max(residual(matrices["whole"], product), residual(biases["whole"], summed))


def _matrix_and_bias(
    subject: LogitFunction, at: Floats, key: int, read: Floats | None
) -> tuple[Floats, Floats]:
    """Return T (..., d, d) of the last token's query and one key, and the bias between them."""
    d, m = subject.dimension, len(at)
    eye = np.eye(d)

    def logit(q: Floats, k: Floats) -> Floats:
        keys = np.zeros((m, d))
        keys[key] = k
        return subject(q[None], keys, at[-1:], at, read)[..., 0, key]

    zero = np.zeros(d)
    bias = logit(zero, zero)
    rows = [np.stack([logit(q, k) - bias for k in eye], axis=-1) for q in eye]
    return np.stack(rows, axis=-2), bias


def content_rank(subject: LogitFunction, rng: np.random.Generator) -> tuple[int, int]:
    """Return the rank of f over many queries and keys at one pair of positions, and how many.

    Half of the queries are long, where their logits are numbers: what is capped is linear before.
    """
    count = 4 * (subject.dimension + 2)
    q, k = rng.normal(size=(2, count, subject.dimension))
    late, early = (np.repeat(subject.places(np.array([x])), count, axis=0) for x in (0.02, 0.01))
    found = subject(q, k, late, early)
    _, most = _sizes_of_vectors(subject, float(np.abs(found[np.isfinite(found)]).max(initial=0.0)))
    sizes = np.where(np.arange(count)[:, None] % 2, most, 1.0)
    longer = _numbers_of(Question(sizes * q, k, late, early), subject)
    found = longer if longer is not None and np.isfinite(longer).all() else found
    found = found.reshape(-1, *found.shape[-2:])
    found = found / np.maximum(np.abs(found).max(axis=-1, keepdims=True), TINY)
    values = np.linalg.svd(found, compute_uv=False)
    return int(max((s > 1e-10 * s[0]).sum() for s in values)), count


def boundedness(subject: LogitFunction, rng: np.random.Generator) -> float:
    """Return by how much logits rise beyond a quarter of the lags, on the worst axis."""
    del rng  # unit vectors see everything
    grid = np.append(np.arange(9.0), np.geomspace(1.0, subject.lags, GROWTH_LAGS))
    lags = np.unique(grid.astype(np.float64))
    lags = np.unique(np.floor(lags)) if subject.whole else lags
    lags = lags[lags <= subject.lags]
    sides = (1.0,) if subject.causal else (1.0, -1.0)
    axes = range(subject.axes)
    return max(_rise(subject, side * lags, axis) for side in sides for axis in axes)


def _rise(subject: LogitFunction, lags: Floats, axis: int) -> float:
    vectors = np.concatenate([np.eye(subject.dimension), np.zeros((1, subject.dimension))])
    sizes = np.array([_sizes(made) for made in at_lags(subject, lags, vectors=vectors, axis=axis)])
    near = np.abs(lags) <= max(0.25 * subject.lags, 1.0)
    if not np.isfinite(sizes).all():
        return float("inf")
    if near.all():
        return 0.0
    before, after = (sizes[part].max(axis=0) for part in (near, ~near))
    scale = max(float(before[0]), float(np.abs(sizes[near, 1]).max()), np.finfo(np.float64).tiny)
    return max(0.0, float((after - before).max()) / scale)


def _sizes(found: Floats) -> tuple[float, float]:
    """Return the largest norm among B, a and b at a lag over heads, and the largest bias."""
    found = found.reshape(-1, *found.shape[-2:])
    found = np.where(np.isneginf(found), 0.0, found)  # what is masked does not grow
    if not np.isfinite(found).all():
        return float("inf"), float("inf")
    bias = found[:, -1:, -1:]
    of_q, of_k = found[:, :-1, -1:] - bias, found[:, -1:, :-1] - bias
    whole = found[:, :-1, :-1] - of_q - of_k - bias
    norms = [np.linalg.norm(part, ord=2, axis=(-2, -1)).max() for part in (whole, of_q, of_k)]
    return float(max(norms)), float(bias.max())
