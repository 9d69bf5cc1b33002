r"""How dependence falls with the lag: as a power law, as an exponential, or not to be told.

    I(tau) = c tau^(-p)    against    I(tau) = c e^(-tau / l)

A Markov chain's mutual information falls exponentially, that of texts about as a power [lin2017].
Both laws are fitted to I(tau) of `gnomon.lags.information`, averaged over bins of lags that grow
by `GROWTH` and hold whole periods where one lasts, by least squares: a bin's variance is that of a
jackknife over folds of documents [efron1982] plus (`SLACK` I)^2, since no corpus is exactly either.
The fit begins at the first bin from which one of the laws fits: a law is of the tail. With chi^2
the sums of squares,

    evidence = (chi^2 of the exponential - chi^2 of the power law) / 2,

a log likelihood ratio in nats, above 0 for a power law. A law is named where its evidence is above
`CLEAR`, and its interval over folds keeps to its side; otherwise they are not to be told apart, nor
where neither fits. Where I does not fall over the lags, there is no tail and no law.

Information is no straight measure of dependence: what is shared with probability q tells about
q^2 bits of frequent types and q ln(q / p) of rare ones, so that an exponential of many types bends.
A law is therefore named only where two others do not speak against it: all lags, from the first on,
and the excess of equal tokens (`gnomon.lags.kernel`), in which a state that is forgotten with a
constant chance falls as an exponential exactly, less a constant that shuffles take off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import t as student

from gnomon.lags.information import LagInformation
from gnomon.lags.kernel import LagKernel, jackknife_errors
from gnomon.lags.token_line import Floats
from gnomon.results import Result

GROWTH = 1.3
"""Ratio of neighbouring bins of lags."""
SLACK = 0.1
"""How far a corpus may be from a law, as a part of its value."""
CLEAR = 3.0
"""Nats: one law is 20 times as likely as the other."""
FITS, POOR = 1.5, 4.0
"""chi^2 over degrees of freedom of a law that fits, and of one that does not."""
FEWEST = 5
"""Bins with dependence, at least, to fit two numbers and compare."""
Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class DecayLaw(Result):
    """Which law the tail follows, with both fits."""

    law: str
    """"power law", "exponential", "neither can be told apart" or "none"."""
    reason: str
    exponent: float | None = None
    """p of the power law of mutual information; covariances fall with about half of it."""
    exponent_interval: Interval | None = None
    half_life: float | None = None
    """Lags in which the exponential halves mutual information; covariances take about twice."""
    half_life_interval: Interval | None = None
    evidence: float | None = None
    """Nats for the power law, less than 0 for the exponential."""
    evidence_interval: Interval | None = None
    begins: float | None = None
    """The lag from which the laws are compared."""
    misfit: float | None = None
    """chi^2 of the better law over its degrees of freedom."""
    kernel_evidence: float | None = None
    """Nats for the power law in the excess of equal tokens; None where that is not asked."""


@dataclass(frozen=True)
class _Bins:
    """Averages over bins of lags: the lags, and the matrix that takes averages."""

    lags: Floats
    means: Floats


def fit_decay_law(
    information: LagInformation, *, period: float = 1.0, kernel: LagKernel | None = None
) -> DecayLaw:
    """Return the law by which mutual information falls, averaged over whole periods.

    With the kernel of equal tokens at the same lags, a law is named where it agrees.
    """
    if information.reach == 0:
        return DecayLaw(law="none", reason="no dependence is detected at any lag")
    bins = _bins(information.lags.astype(np.float64), max(round(period), 1))
    values, replicates = bins.means @ information.values, information.replicates @ bins.means.T
    errors = jackknife_errors(replicates)
    seen = int((bins.means @ information.detected > 0.0).sum())
    if seen < FEWEST:
        reason = f"laws need {FEWEST} bins of lags with dependence, and it is detected in {seen}"
        return DecayLaw(law="neither can be told apart", reason=reason)
    spread = np.sqrt(errors**2 + (SLACK * values) ** 2) + 1e-12
    last = int(np.flatnonzero(bins.means @ information.detected > 0.0)[-1])
    start = _start(bins, values, spread, last)
    tail = _Bins(bins.lags, bins.means[start:])
    whole = _compare(tail, values[start:], spread[start:])
    others = np.stack([_compare(tail, one[start:], spread[start:]) for one in replicates])
    reach = student.ppf(0.975, len(others) - 1) * jackknife_errors(others)
    begins = float(bins.lags[np.argmax(tail.means[0] > 0.0)])
    law = _name(whole, reach, begins, len(values) - start - 2)
    all_lags = float(_compare(bins, values, spread)[2]) if start else float(whole[2])
    equal = None if kernel is None or kernel.errors.max() <= 0.0 else _by_kernel(bins, kernel)
    return _agree(replace(law, kernel_evidence=equal), all_lags, equal)


def _agree(law: DecayLaw, all_lags: float, equal: float | None) -> DecayLaw:
    """Return the law, or that it cannot be told where all lags or equal tokens speak against it.

    Evidence is above 0 for a power law.
    """
    side = {"power law": 1.0, "exponential": -1.0}.get(law.law)
    if side is None:
        return law
    against = None
    if side * all_lags < -CLEAR:
        against = f"it is so from lag {law.begins:g} on, and the other way over all lags"
    elif equal is not None and side * equal < -max(CLEAR, 0.1 * abs(all_lags)):
        against = "information falls as one of them, and the excess of equal tokens as the other"
    return law if against is None else replace(law, law="neither can be told apart", reason=against)


def _by_kernel(bins: _Bins, kernel: LagKernel) -> float | None:
    """Return the evidence in the excess of equal tokens, with a constant beside both laws.

    Bins share the noise of the same documents, so squares are of what their covariance leaves.
    """
    means = bins.means
    values, parts = means @ kernel.values, (kernel.replicates - kernel.values) @ means.T
    if values[0] <= 0.0:
        return None
    folds = len(parts)
    spread = parts - parts.mean(axis=0)
    noise = (folds - 1.0) / folds * spread.T @ spread
    slack = np.diag((SLACK * 0.5 * (values - values.min())) ** 2)
    usual = 1e-6 * np.trace(noise) / len(values) + 1e-300
    factor = np.linalg.cholesky(noise + slack + usual * np.eye(len(values)))
    scale = float(bins.lags[-1])
    squares = []
    for clock, starts in (
        (np.log(bins.lags), (0.2, 0.7, 2.0)),
        (bins.lags, (0.1 / scale, 3.0 / scale, 30.0 / scale)),
    ):
        curves = [_least_squares(means, values, factor, clock, start) for start in starts]
        squares.append(min(curves))
    return 0.5 * (squares[1] - squares[0])


def _least_squares(
    means: Floats, values: Floats, factor: Floats, clock: Floats, start: float
) -> float:
    """Return the least sum of squares of c e^(-r clock) + b, over c > 0, r > 0 and b <= 0."""

    def left(numbers: Floats) -> Floats:
        rate, size = np.exp(np.clip(numbers[:2], -30.0, 10.0))
        made = size * (means @ np.exp(-np.clip(rate * clock, 0.0, 700.0))) - abs(numbers[2])
        return np.asarray(np.linalg.solve(factor, made - values))

    first = float(values[0] - min(float(values.min()), 0.0))
    begin = [np.log(start), np.log(max(first, 1e-12)), min(float(values.min()), 0.0)]
    return 2.0 * float(least_squares(left, begin, max_nfev=200).cost)


def _start(bins: _Bins, values: Floats, spread: Floats, last: int) -> int:
    """Return the first bin from which one of the laws fits, and enough bins are left."""
    tried = []
    for start in range(max(last - FEWEST + 2, 1)):
        tail = _Bins(bins.lags, bins.means[start:])
        *_, power, exponential = _compare(tail, values[start:], spread[start:])
        tried.append(2.0 * min(power, exponential) / (len(values) - start - 2))
        if tried[-1] <= FITS:
            return start
    return int(np.argmin(tried))


def _bins(lags: Floats, period: int) -> _Bins:
    """Return lags in bins of growing width, each of whole periods; what is left over is left out.

    >>> _bins(np.arange(1.0, 8.0), 3).means @ np.arange(1.0, 8.0)
    array([2., 5.])
    """
    blocks = (lags - 1.0) // period + 1.0
    last = np.floor(lags[-1] / period)
    edges = np.unique(np.rint(GROWTH ** np.arange(0.0, np.log(last + 1.0) / np.log(GROWTH) + 1.0)))
    which = np.where(blocks <= last, np.searchsorted(edges, blocks, side="right"), 0)
    rows = (which[None, :] == np.unique(which[which > 0])[:, None]).astype(np.float64)
    return _Bins(lags, rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0))


def _compare(bins: _Bins, values: Floats, spread: Floats) -> Floats:
    """Return the exponent, the rate 1 / l, the evidence, and half of both sums of squares."""
    scale = float(bins.lags[-1])
    power = _fit(bins, values, spread, np.log(bins.lags), (0.3, 1.0, 3.0))
    rate = _fit(bins, values, spread, bins.lags, (0.1 / scale, 3.0 / scale, 30.0 / scale))
    return np.array([power[0], rate[0], rate[1] - power[1], power[1], rate[1]])


def _fit(
    bins: _Bins, values: Floats, spread: Floats, clock: Floats, starts: tuple[float, ...]
) -> tuple[float, float]:
    """Return the rate r of c e^(-r clock), and half its sum of squares."""

    def away(numbers: Floats) -> Floats:
        return np.asarray((bins.means @ _curve(numbers, clock) - values) / spread)

    size = np.log(max(float(values[0]), 1e-12))
    tried = [
        least_squares(away, [size + start * clock[0], start], x_scale=[1.0, start], max_nfev=200)
        for start in starts
    ]
    best = min(tried, key=lambda one: float(one.cost))
    return float(best.x[1]), float(best.cost)


def _curve(numbers: Floats, clock: Floats) -> Floats:
    """Return c e^(-r clock), kept finite where a fit strays."""
    return np.asarray(np.exp(np.clip(numbers[0] - numbers[1] * clock, -700.0, 50.0)))


def _name(whole: Floats, reach: Floats, begins: float, freedom: int) -> DecayLaw:
    """Return the law from the exponent, rate and evidence, and how far they may be off."""
    exponent, rate, evidence = (float(one) for one in whole[:3])
    misfit = 2.0 * float(whole[3:].min()) / freedom
    low, high = whole - reach, whole + reach
    law, reason = _decide(low, high, misfit)
    return DecayLaw(
        law=law,
        reason=reason,
        exponent=exponent,
        exponent_interval=(float(low[0]), float(high[0])),
        half_life=float(np.log(2.0)) / rate if rate > 0.0 else None,
        half_life_interval=_lives(float(low[1]), float(high[1])),
        evidence=evidence,
        evidence_interval=(float(low[2]), float(high[2])),
        begins=begins,
        misfit=misfit,
    )


def _decide(low: Floats, high: Floats, misfit: float) -> tuple[str, str]:
    """Return the law and the reason, from intervals of exponent, rate and evidence."""
    evidence = 0.5 * float(low[2] + high[2])
    if low[0] <= 0.0 or low[1] <= 0.0:
        return "none", "dependence does not fall over these lags by more than its error"
    if misfit > POOR:
        return "neither can be told apart", "neither law fits"
    if evidence > CLEAR and low[2] > 0.0:
        return "power law", "it fits better than an exponential"
    if evidence < -CLEAR and high[2] < 0.0:
        return "exponential", "it fits better than a power law"
    return "neither can be told apart", "both laws fit about as well"


def _lives(slowest: float, fastest: float) -> Interval | None:
    """Return the half-lives of two rates, None where one is not above 0."""
    if slowest <= 0.0 or fastest <= 0.0:
        return None
    return float(np.log(2.0) / fastest), float(np.log(2.0) / slowest)
