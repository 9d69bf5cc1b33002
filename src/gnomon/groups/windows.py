r"""Windows: at which lags logits are finite at all.

Attention over a window, in chunks, or beside a sink gives -inf for pairs that it leaves out, and
some code a number such as -1e9 or -1e4 instead, beside which every other logit looks like rounding.
Laws are judged where logits are finite, so that it must be known where that is. A few queries are
asked with keys at special and at random lags, and the first lag that is masked is found by
bisection [brent1973 ch. 3]. A window is finite up to one lag and masked beyond; of anything else,
such as chunks, only the lags below the first masked one are safe, and the law of shifts sees the
rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import GroupError
from gnomon.groups.places import last_of, shaped, special
from gnomon.groups.subject import Floats, Subject

LARGEST, LIKELY = -5e8, -5e3
"""Values below the first that no vector changes are a mask; below the second if they are alike."""
ALIKE, STEPS = 1e-2, 3
"""By how much values of a mask of that size differ, and at how many lags they are met at least."""
LEAST = 8.0
"""Shortest span on which laws of the lag are tested."""
LAGS, ROUNDS = 32, 6
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class _Pairs:
    """Lags (n, axes) of queries and keys that were asked, and which of them are masked."""

    lags: Floats
    masked: Bools

    @property
    def sizes(self) -> Floats:
        return np.abs(self.lags).max(axis=1)

    @property
    def ahead(self) -> Bools:
        """Return which keys come after their query on some axis."""
        return np.asarray((self.lags < 0.0).any(axis=1))


def find_window(subject: Subject, *, seed: int = 0) -> Subject:
    """Return a subject with the span of its lags, and a warning where it is not the reach."""
    if subject.looked or subject.in_order:
        return subject
    rng = np.random.default_rng(seed)
    subject, pairs = _look(replace(subject, looked=True), rng)
    if not pairs.masked.any():
        return subject
    if pairs.masked.all():
        raise GroupError(
            f"{subject.name} gives -inf for every pair that was asked, so there is nothing to "
            "certify; pass logits before they are masked."
        )
    ahead = pairs.ahead
    if not subject.causal and ahead.any() and pairs.masked[ahead].all():
        said = "keys after their query are masked, so that laws are of keys up to it."
        subject = replace(subject, causal=True, warnings=(*subject.warnings, said))
        pairs = _Pairs(pairs.lags[~ahead], pairs.masked[~ahead])
    if not pairs.masked.any():
        return subject
    first = float(pairs.sizes[pairs.masked].min())
    span = _bisected(subject, pairs, first)
    regular = bool((pairs.sizes[~pairs.masked] <= first).all())
    said = (
        f"logits are -inf at lags above {span:.6g}, as in a window: laws are judged where they are "
        "finite, and nothing is said beyond."
        if regular
        else f"logits are -inf at some lags above {span:.6g} and finite at longer ones: laws are "
        "judged where they are finite, and those of the lag up to there."
    )
    return replace(subject, span=span, warnings=(*subject.warnings, said))


def _look(subject: Subject, rng: np.random.Generator) -> tuple[Subject, _Pairs]:
    """Ask a few queries with keys at many lags, and find what stands for a mask."""
    last = last_of(subject)
    ways = rng.uniform(0.0, 0.5, size=(4, subject.axes)) + np.array([[0.0], [0.5], [0.5], [0.0]])
    queries = last * ways
    queries[0], queries[3] = last, min(8.0, last)  # a prefix may be seen from both sides
    queries = np.floor(queries) if subject.whole else queries
    lags, masked = [], []
    for at in queries:
        keys = _keys(subject, rng, at, last)
        found = _ask(subject, rng, at, keys)
        if (found <= LIKELY).any() and subject.floor is None:
            subject = _with_floor(subject, found, _ask(subject, rng, at, keys))
            found = np.where(found <= (subject.floor or -np.inf), -np.inf, found)
        lags.append(at - keys)
        masked.append(np.isneginf(found).any(axis=0))
    return subject, _Pairs(np.concatenate(lags), np.concatenate(masked))


def _keys(subject: Subject, rng: np.random.Generator, at: Floats, last: float) -> Floats:
    """Return keys (n, axes) at special and random lags of a query, on axes and off them."""
    known = np.concatenate([special(last), rng.uniform(0.0, last, size=LAGS)])
    ways = np.eye(subject.axes)
    if subject.axes > 1:
        ways = np.concatenate([ways, rng.uniform(-1.0, 1.0, size=(4, subject.axes))])
    lags = (known[:, None, None] * ways).reshape(-1, subject.axes)
    keys = np.concatenate([at - lags] if subject.causal else [at - lags, at + lags])
    keys = np.floor(keys) if subject.whole else keys
    inside = ((keys >= 0.0) & (keys <= last)).all(axis=1)
    if subject.causal:
        inside &= (keys <= at).all(axis=1)
    return np.unique(keys[inside], axis=0)


def _ask(subject: Subject, rng: np.random.Generator, at: Floats, keys: Floats) -> Floats:
    """Return the logits (heads, keys) of one query."""
    q, k = rng.normal(size=(2, 1, subject.dimension))
    found = subject(q, np.repeat(k, len(keys), axis=0), _as(subject, at[None]), _as(subject, keys))
    return found.reshape(-1, len(keys))


def _as(subject: Subject, at: Floats) -> Floats:
    return at[:, 0] if subject.axes == 1 else at


def _with_floor(subject: Subject, found: Floats, other: Floats) -> Subject:
    """Return a subject that takes for a mask what is far below 0 whatever the vectors are."""
    held = np.isfinite(found) & np.isfinite(other) & (found <= _below(found))
    found, other = found[held], other[held]
    steady = np.abs(found - other) <= 1e-3 * np.abs(found)
    if not steady.any():
        return subject
    value = float(found[steady].max())
    said = f"logits of about {value:.2g} are taken for a mask."
    return replace(subject, floor=0.5 * value, warnings=(*subject.warnings, said))


def _below(found: Floats) -> float:
    """Return the value up to which logits may be a mask.

    A number such as -1e4 is one where it is the same at several lags, and nothing lies between it
    and half of it: a bias that falls with the lag passes all values on its way.
    """
    known = found[np.isfinite(found) & (found <= LIKELY)]
    if not len(known) or (known <= LARGEST).any():
        return LARGEST
    lowest = float(known.min())
    alike = known <= (1.0 - ALIKE) * lowest
    between = (found > (1.0 - ALIKE) * lowest) & (found <= 0.5 * lowest)
    return LIKELY if alike.sum() >= STEPS and not between.any() else LARGEST


def _bisected(subject: Subject, pairs: _Pairs, first: float) -> float:
    """Return the longest lag below the first that is masked, on one axis to its last digits."""
    below = pairs.sizes[(pairs.sizes < first) & ~pairs.masked]
    low, high = float(below.max(initial=0.0)), first
    if subject.axes > 1:
        return low
    rng = np.random.default_rng(0)
    worst = pairs.masked & (pairs.sizes == first)
    side = -1.0 if pairs.ahead[worst].all() else 1.0
    at = np.array([last_of(subject) if side > 0.0 else 0.0])
    if not np.isneginf(_ask(subject, rng, at, at[None] - side * high)).any():
        return low  # what is masked there is not masked here
    for _ in range(ROUNDS):
        lags = np.unique(shaped(subject, np.linspace(low, high, 34)[1:-1, None]))
        lags = lags[(lags > low) & (lags < high)]
        if not len(lags):
            break
        masked = np.isneginf(_ask(subject, rng, at, at - side * lags[:, None])).any(axis=0)
        high = float(lags[masked].min(initial=high))
        low = float(lags[~masked & (lags < high)].max(initial=low))
    return low
