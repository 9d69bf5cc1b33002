"""Stress of the sinusoid against its dimension: does it grow exponentially?

Squared distances of the sinusoid are 4 sum_k sin^2(w_k t / 2): each further frequency adds to them,
so D grows like sqrt(d), and raw stress sum (D - h)^2 / sum h^2 like d. On an axis of doublings a
straight line looks exponential. Three curves with two numbers each are fitted to d >= 64, all to
the relative error, and compared by the root mean square of log(S / fit):

    linear a + b d,   exponential a exp(b d),   power a d^b     [cirrincione2026 sec. 6.4]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import Progress
from gnomon.diagnostics import StressReport, stress
from gnomon.encodings import encoding
from gnomon.pipeline import provenance
from gnomon.reproduce.claims import LOST, Published, Reproduction, Row, Verdict, agreement, spread
from gnomon.reproduce.subjects import Options, RegimeSample, describe_setting, draw_three_regimes

TITLE = "stress of the sinusoid against dimension"
DIMENSIONS = (8, 16, 32, 64, 128, 256, 512, 1024)
FITTED_FROM = 64
RISE = 1.05
"""Scale-free stress has grown with d when the last is above the first by this factor."""
ELSEWHERE = (
    "the published curves are on SST-2 and IMDB and their values are lost; what they were said to "
    "show of the sinusoid is judged here on the three-regime corpus."
)
FORMS = ("linear", "exponential", "power")

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Fits:
    """How well each form fits one curve, and the slope of the curve on two log axes."""

    errors: Mapping[str, float]
    """Root mean square of log(S / fit), by form; infinite where a fit is not positive."""
    slope: float
    last: float
    """The slope between the last two points alone."""

    @property
    def best(self) -> str:
        """Name the form that fits best."""
        return min(FORMS, key=lambda form: self.errors[form])


def make(options: Options, progress: Progress) -> Reproduction:
    """Make the curve again, raw and scale-free."""
    samples = draw_three_regimes(options, progress)
    progress.stage("stress at every dimension")
    reports = {d: _reports(samples, d) for d in DIMENSIONS}
    raw = np.array([[report.raw for report in reports[d]] for d in DIMENSIONS]).T
    free = np.array([[report.scale_free for report in reports[d]] for d in DIMENSIONS]).T
    long = np.array(DIMENSIONS) >= FITTED_FROM
    fits = [fit_forms(np.array(DIMENSIONS)[long], curve[long]) for curve in raw]
    return Reproduction(
        name="stress-vs-dimension",
        title=TITLE,
        source="cirrincione2026",
        setting=f"sinusoidal, d = {DIMENSIONS[0]} to {DIMENSIONS[-1]}; {describe_setting(options)}",
        rows=tuple(_row(d, raw[:, k], free[:, k]) for k, d in enumerate(DIMENSIONS)),
        verdicts=(judge_growth(fits), judge_alignment(free[:, 0], free[:, -1])),
        notes=(ELSEWHERE,),
        provenance=provenance(options.seed),
    )


def _reports(samples: Sequence[RegimeSample], dimension: int) -> list[StressReport]:
    made = encoding("sinusoidal", dimension=dimension)
    return [stress(made, sample.geometry) for sample in samples]


def _row(dimension: int, raw: Floats, scale_free: Floats) -> Row:
    return Row(
        what=f"d = {dimension}",
        published=Published(quantity="stress", reason=LOST),
        ours={
            "raw": spread(raw),
            "raw / d": spread(raw / dimension),
            "scale-free": spread(scale_free),
        },
    )


def fit_forms(dimensions: NDArray[np.int64], stresses: Floats) -> Fits:
    """Fit the three forms by least squares of the relative error.

    >>> fit_forms(np.array([1, 2, 4, 8]), np.array([3.0, 6.0, 12.0, 24.0])).slope
    1.0
    """
    d, logs = np.asarray(dimensions, dtype=np.float64), np.log(stresses)
    ones = np.ones_like(d)
    linear = _solve(np.stack([ones, d], axis=1) / stresses[:, None], ones)
    rate = _solve(np.stack([ones, d], axis=1), logs)
    power = _solve(np.stack([ones, np.log(d)], axis=1), logs)
    line = linear[0] + linear[1] * d
    errors = {
        "linear": _rms(logs - np.log(line)) if (line > 0.0).all() else float("inf"),
        "exponential": _rms(logs - rate[0] - rate[1] * d),
        "power": _rms(logs - power[0] - power[1] * np.log(d)),
    }
    last = (logs[-1] - logs[-2]) / np.log(d[-1] / d[-2])
    return Fits(errors=errors, slope=round(float(power[1]), 12), last=float(last))


def _solve(design: Floats, wanted: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(design, wanted, rcond=None)[0], dtype=np.float64)


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values * values)))


def judge_growth(fits: Sequence[Fits]) -> Verdict:
    """Say whether the exponential is the form that fits best."""
    errors = {form: _mean([fit.errors[form] for fit in fits]) for form in FORMS}
    words = ", ".join(f"{form} {100 * error:.2g} %" for form, error in errors.items())
    slope, last = spread([fit.slope for fit in fits]), spread([fit.last for fit in fits])
    return Verdict(
        claim="the stress of the sinusoid grows exponentially with d",
        holds=agreement(fit.best == "exponential" for fit in fits),
        reason=f"from d = {FITTED_FROM} on, typical relative error of the fit: {words}; the slope "
        f"on two log axes is {slope}, and {last} over the last step (1: proportional to d).",
    )


def judge_alignment(first: Floats, last: Floats) -> Verdict:
    """Say whether scale-free stress grows from the smallest dimension to the largest."""
    return Verdict(
        claim="added frequencies are worse aligned with the corpus",
        holds=agreement((last > RISE * first).tolist()),
        reason=f"scale-free stress goes from {_words(first)} at d = {DIMENSIONS[0]} to "
        f"{_words(last)} at d = {DIMENSIONS[-1]}; raw stress follows the squared "
        "norm, d/2.",
    )


def _words(values: Floats) -> str:
    return str(spread(values))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
