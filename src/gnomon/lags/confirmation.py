r"""Is a sharp period found again, where the modes do not fit the kernel?

Where chi^2 over its degrees of freedom is bad, noise is no measure of what a comb is beside: lines
of a spectrum may come from anything that modes cannot explain. What a period *means* is asked then:
tokens a period apart are alike, one period on and at most multiples of it, in any documents.

* With k the kernel less all other combs, c what the comb adds to it, and a window of whole periods,

      b = sum (c - mean c) (k - mean k) / sum (c - mean c)^2,

  which is 1 for a period that is there. Windows follow each other, from half a period on. In the
  first `NEAR` of them together b has to be `PART` or more, within its error over folds; and over
  all windows what b spreads around 1 beyond that error, by its median, has to be `BESIDE` or less:
  the comb is then well above what modes leave beside it.
* In two halves of the documents, each refined by itself, the period is found near its interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gnomon.lags.combs import Comb, added, fundamental_of
from gnomon.lags.kernel import LagKernel, jackknife_errors
from gnomon.lags.line import Floats
from gnomon.lags.spectrum import spectrum_of
from gnomon.results import Result

PART = 0.5
"""Of a comb, at least, that the kernel has in the first windows."""
BESIDE = 1.0 / 3.0
"""What modes leave beside a comb, as a part of it, at most."""
NEAR = 3
"""Windows in which tokens that are near are compared."""
MEDIAN = 0.6745
"""Median size of a normal number in its standard deviations."""
HALVES = 3.0
"""Reaches of its interval from the period that those of halves of the documents are, at most."""
SHORTEST = 8
"""Lags of a window, at least: whole periods of fewer tokens are taken together."""
NOWHERE, SELDOM, ONE_HALF = "not one period on", "not at most multiples", "not in both halves"
"""Reasons: near tokens a period apart are not as alike as it says, nor those that are many periods
apart, or halves of the documents have other periods."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Unconfirmed(Result):
    """A sharp period that was found in a kernel that modes do not fit, and not found again."""

    period: float
    period_interval: tuple[float, float]
    amplitude: float
    reason: str
    """`NOWHERE`, `SELDOM` or `ONE_HALF`."""


def doubt(comb: Comb, whole: LagKernel, others: Iterable[Comb], *, reach: float) -> str | None:
    """Return why a comb is not confirmed by a kernel that holds others, None where it is.

    `reach` is how far the frequency may be off.
    """
    lags = whole.lags.astype(np.float64)
    taken = sum((added(one, lags) for one in others), np.zeros(len(lags)))
    own, parts = np.asarray(whole.values) - taken, np.asarray(whole.replicates) - taken
    shares, errors = _shares(comb, lags, np.concatenate([own[None], parts]))
    if len(shares) and shares[:NEAR].mean() + errors[:NEAR].mean() < PART:
        return NOWHERE
    spread = np.median(np.abs(shares - 1.0)) / MEDIAN if len(shares) else 0.0
    if spread**2 - np.median(errors) ** 2 > BESIDE**2:
        return SELDOM
    away = max(abs(one - comb.frequency) for one in _by_halves(comb, whole, taken))
    return ONE_HALF if away > HALVES * reach else None


def _shares(comb: Comb, lags: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return b of every window, and its errors."""
    period = 1.0 / comb.frequency
    width = period * np.ceil(SHORTEST / period)
    made, found = added(comb, lags), []
    for first in np.arange(max(0.5 * period, 1.0), lags[-1] - width + 1.5, width):
        here = (lags >= first) & (lags < first + width)
        shape = made[here] - made[here].mean()
        found.append(values[:, here] @ shape / max(float(shape @ shape), 1e-300))
    all_of = np.array(found).reshape(-1, len(values)).T
    return all_of[0], jackknife_errors(all_of[1:])


def _by_halves(comb: Comb, whole: LagKernel, taken: Floats) -> list[float]:
    """Return the fundamentals of two halves of the folds, from pseudo-values of a jackknife."""
    folds = len(whole.replicates)
    parts = folds * whole.values - (folds - 1) * whole.replicates
    made = []
    for first in (0, 1):
        values = parts[first::2].mean(axis=0) - taken
        made.append(fundamental_of(spectrum_of(replace(whole, values=values)), comb))
    return made
