r"""Boundedness: do logits stay within bounds as the lag grows?

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

import numpy as np

from gnomon.groups.blocks import Floats
from gnomon.groups.laws import at_lags
from gnomon.groups.subject import Subject

GROWN = 0.5
"""Largest rise beyond a quarter of the reach, as a share of what was there before."""
LAGS = 40


def boundedness(subject: Subject, rng: np.random.Generator) -> float:
    """Return by how much logits rise beyond a quarter of the lags, on the worst axis."""
    del rng  # unit vectors see everything
    grid = np.append(np.arange(9.0), np.geomspace(1.0, subject.lags, LAGS))
    lags = np.unique(grid.astype(np.float64))
    lags = np.unique(np.floor(lags)) if subject.whole else lags
    lags = lags[lags <= subject.lags]
    sides = (1.0,) if subject.causal else (1.0, -1.0)
    axes = range(subject.axes)
    return max(_rise(subject, side * lags, axis) for side in sides for axis in axes)


def _rise(subject: Subject, lags: Floats, axis: int) -> float:
    vectors = np.concatenate([np.eye(subject.dimension), np.zeros((1, subject.dimension))])
    sizes = np.array([_sizes(made) for made in at_lags(subject, lags, vectors=vectors, axis=axis)])
    near = np.abs(lags) <= max(0.25 * subject.lags, 1.0)
    if near.all():
        return 0.0
    before, after = (sizes[part].max(axis=0) for part in (near, ~near))
    scale = max(float(before[0]), float(np.abs(sizes[near, 1]).max()), np.finfo(np.float64).tiny)
    return max(0.0, float((after - before).max()) / scale)


def _sizes(found: Floats) -> tuple[float, float]:
    """Return the largest norm among B, a and b at a lag over heads, and the largest bias."""
    found = found.reshape(-1, *found.shape[-2:])
    found = np.where(np.isneginf(found), 0.0, found)  # what is masked does not grow
    bias = found[:, -1:, -1:]
    of_q, of_k = found[:, :-1, -1:] - bias, found[:, -1:, :-1] - bias
    whole = found[:, :-1, :-1] - of_q - of_k - bias
    norms = [np.linalg.norm(part, ord=2, axis=(-2, -1)).max() for part in (whole, of_q, of_k)]
    return float(max(norms)), float(bias.max())
