r"""Whether a signed kernel is told from nothing at any lag, at 5 % for all lags together.

With k_f = F k - (F - 1) k_(-f) the pseudo-values of a jackknife over folds [efron1982], their mean
over their error at each lag is as likely with any signs of the folds, where nothing depends on the
lag. The largest over all lags, under random signs, is what chance does [westfall1993].
"""

from __future__ import annotations

import numpy as np

from gnomon.lags.kernel import LagKernel
from gnomon.lags.line import Floats, Whole

LEVEL = 0.05
"""Of a false alarm, over all lags together."""
SIGNS = 2048
"""Random signs of the folds."""


def peaks(kernel: LagKernel) -> Whole:
    """Return places of lags with more equal tokens than by chance, the most first.

    They are told from nothing all together, and are not less than at the lags beside them.
    """
    folds = len(kernel.replicates)
    parts = folds * kernel.values - (folds - 1) * kernel.replicates
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGNS, folds))
    least = np.quantile(np.abs(_scores(signs, parts)).max(axis=1), 1.0 - LEVEL)
    scores = _scores(np.ones((1, folds)), parts)[0]
    beside = np.pad(np.asarray(kernel.values), 1, constant_values=-np.inf)
    top = (kernel.values >= beside[:-2]) & (kernel.values >= beside[2:])
    places = np.flatnonzero(top & (scores > least) & (kernel.values > 0.0))
    return places[np.argsort(-kernel.values[places], kind="stable")]


def told_from_nothing(kernel: LagKernel) -> bool:
    """Say whether a kernel differs from 0 at some lag."""
    folds = len(kernel.replicates)
    parts = folds * kernel.values - (folds - 1) * kernel.replicates
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGNS, folds))
    signs[0] = 1.0
    largest = np.abs(_scores(signs, parts)).max(axis=1)
    return bool((largest >= largest[0] - 1e-9).mean() <= LEVEL)


def _scores(signs: Floats, parts: Floats) -> Floats:
    """Return means of parts with signs over their errors, (signs, lags), 0 where nothing varies."""
    folds = len(parts)
    means = signs @ parts / folds
    spread = np.maximum((parts**2).mean(axis=0) - means**2, 0.0) / (folds - 1)
    usual = np.finfo(np.float64).eps * np.abs(parts).max(initial=0.0)
    return np.asarray(means / np.sqrt(spread + usual**2 + np.finfo(np.float64).tiny))
