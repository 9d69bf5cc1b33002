r"""A finite rank at every lag: what P A^n Q makes obeys one recurrence, wherever it is looked at.

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

import numpy as np

from gnomon.groups.blocks import Floats
from gnomon.groups.laws import AT_ONCE
from gnomon.groups.subject import Subject

MOST = 8192
"""Lags of each sign that are asked, about."""
FEWEST = 2
"""Lags that stand for a lattice that is too long."""
FLOOR = 1e-4
"""Share of the largest value below which values are those of their rounding."""


def lattice(subject: Subject, stride: float, length: int) -> Floats:
    """Return all lags (1, n) in steps of a stride, or two of them where they are too many."""
    first, last = _ends(subject, stride, length)
    most = MOST if subject.whole else MOST // 2
    return np.asarray(stride * np.arange(first, last if last <= most else first + FEWEST)[None])


def runs(subject: Subject, rng: np.random.Generator, stride: float, length: int) -> Floats:
    """Return random runs of lags (runs, n) in steps of a stride, and those at both ends."""
    first, last = _ends(subject, stride, length)
    count = max(1, (MOST // 2 if last <= MOST // 2 else MOST) // length)
    starts = rng.uniform(first, last - length, size=count)
    starts = np.floor(starts) if subject.whole else starts
    starts = np.concatenate([starts, [first, last - length - 1.0]])
    return np.asarray(stride * (starts[:, None] + np.arange(float(length))))


def _ends(subject: Subject, stride: float, length: int) -> tuple[float, float]:
    """Return the first and the last lag in strides: from 0 where keys never come later."""
    last = float(np.floor(subject.lags / stride + 1e-9))
    if not (subject.ends or subject.span is not None):
        last = max(last, 2.0 * length)  # no end is known
    return 0.0 if subject.causal else -last, last


def values_at(subject: Subject, q: Floats, k: Floats, lags: Floats) -> Floats:
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
