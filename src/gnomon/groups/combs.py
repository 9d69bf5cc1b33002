r"""Sharp periods: one fundamental frequency, and all its harmonics.

A mark that stands at every 61st place has 30 harmonics of equal size, too many and too close for a
Hankel matrix of 128 lags, yet one number, the period, says where all of them are. It is searched
for in the kernel's spectrum (`gnomon.groups.spectrum`), as in searches for pulsars [ransom2002]:

1. From the strongest line, of frequency u, the fundamentals u, u/2, u/3, ... are tried, and near
   each the one with the largest sum over its harmonics h of ln(1 + ratio(h v)) - ln(1 + LINE) / 2.
   A harmonic that is no line costs, so a period of 10 is not taken for 20, nor for 5. The
   fundamental itself need be no line: a period of 100 may be told from 50, 33.3, 20, ... alone.
2. The fundamental is refined over its slow lines together: the v with the largest sum of ratios.
   Its interval is that of a jackknife over folds of documents.
3. Its part c_h = 2 Re Z(h v) e^(a tau) is taken off the kernel, and the next one is searched for.

Decay a is what the lines of the window's second half are less than those of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import t as student

from gnomon.groups.lags import LagKernel, jackknife_errors
from gnomon.groups.line import Floats
from gnomon.groups.spectrum import Spectrum, spectrum_of

LINE = 30.0
"""A line's ratio, at least: five and a half standard deviations."""
FAINT = 16.0
"""Ratio of a line where a comb has a harmonic anyway."""
SLOWEST = 5.0
"""Resolution cells of the slowest frequency: slower ones are not told from trends."""
APART = 1.5
"""Cells between two lines that are told apart."""
SLOW = 0.25
"""Turns per token up to which lines are used to refine a fundamental."""
WEAK = 0.2
"""Size of a single line beside a comb it may belong to."""
DIVISORS = 256
"""Fundamentals that are tried below the strongest line."""
MOST = 4
"""Combs in one kernel, at most."""
CLOSEST = 3.0
"""Cells between the lines of a comb, at least: of a fundamental that may be weak itself."""
EXACT = 0.02
"""Cells to which a line is known, at best."""
FEWEST = 32
"""Lags in the window below which there is no spectrum to speak of."""


@dataclass(frozen=True, eq=False)
class Comb:
    """A fundamental in turns per token, its decay per token, and its harmonics' sizes at lag 0."""

    frequency: float
    decay: float
    harmonics: tuple[int, ...]
    amplitudes: Floats
    frequencies: Floats
    """The fundamental without each fold in turn."""
    decays: Floats
    rate: float
    """The decay where it is more than its error, else 0: it lasts."""
    least: float = 0.0
    """Error of the fundamental, at least: documents that end within a period shift it a little."""


def comb_values(lags: Floats, frequencies: Floats, amplitudes: Floats, decay: float) -> Floats:
    """Return sum_h c_h e^(-a tau) cos(2 pi v_h tau), for amplitudes (..., harmonics)."""
    waves = np.exp(-decay * lags) * np.cos(2.0 * np.pi * frequencies[:, None] * lags)
    return np.asarray(amplitudes @ waves)


def combs(kernel: LagKernel, *, least: float = LINE) -> tuple[tuple[Comb, ...], LagKernel]:
    """Return the combs of a kernel, the strongest first, and the kernel without them.

    `least` is the ratio of the strongest line of a comb, at least.
    """
    if len(kernel.lags) - len(kernel.lags) // 8 < FEWEST:
        return (), kernel
    found: list[Comb] = []
    rest = kernel
    for _ in range(2 * MOST):
        spectrum = spectrum_of(rest)
        strongest = _strongest(spectrum, least)
        if strongest is None or len(found) == MOST:
            break
        comb, rest = _taken(rest, spectrum, _lines(spectrum, strongest))
        if not any(_echo(comb, other, spectrum.cell) for other in found):
            found.append(comb)
    return tuple(found), rest


def _echo(comb: Comb, other: Comb, cell: float) -> bool:
    """Say whether a weak single line is one of a stronger comb, of up to two turns."""
    if len(comb.harmonics) > 1 or comb.amplitudes.sum() > WEAK * other.amplitudes.sum():
        return False
    turns = other.frequency * np.arange(1.0, np.ceil(2.0 / other.frequency))
    seen = np.abs(turns - np.rint(turns))  # as whole lags show them
    return bool(np.abs(seen - comb.frequency).min() < 2.0 * cell)


def _strongest(spectrum: Spectrum, least: float) -> float | None:
    """Return the frequency of the strongest line, or None where there is no line."""
    ratios = np.where(spectrum.frequencies >= SLOWEST * spectrum.cell, spectrum.ratios, 0.0)
    return float(spectrum.frequencies[np.argmax(ratios)]) if ratios.max() >= least else None


def _fundamental(spectrum: Spectrum, strongest: float) -> float:
    """Return the fundamental with the best score of those that have a line as a harmonic.

    Between tokens nothing is seen, so the line may also be one of more than half a turn.
    """
    tried = [
        _best_near(spectrum, line, divisor)
        for line, least in ((strongest, 1), (1.0 - strongest, 2))
        for divisor in range(least, DIVISORS + 1)
        if line / divisor >= CLOSEST * spectrum.cell
    ]
    return max(tried)[1]


def _best_near(spectrum: Spectrum, line: float, divisor: int) -> tuple[float, float]:
    """Return the largest score of fundamentals near line / divisor, and that fundamental."""
    middle = line / divisor
    count = _count(middle)
    reach = spectrum.cell / divisor
    points = np.linspace(middle - reach, middle + reach, 8 * count // divisor + 9)
    harmonics = np.arange(1, count + 1)
    at = np.minimum(points[:, None] * harmonics, 0.5)
    scores = (np.log1p(spectrum.ratio_at(at)) - 0.5 * np.log1p(LINE)).sum(axis=1)
    best = int(np.argmax(scores))
    return float(scores[best]), float(points[best])


def _taken(
    kernel: LagKernel, spectrum: Spectrum, near: tuple[float, NDArray[np.int64]]
) -> tuple[Comb, LagKernel]:
    """Return the comb near a fundamental with some lines, and the kernel without it."""
    first, lines = near
    teeth = _slow(spectrum, first, lines.astype(np.float64))
    weights = 1.0 / np.maximum(spectrum.lines(spectrum.values, first * teeth) ** 2, 1e-300)
    weights = weights * spectrum.ratio_at(np.minimum(first * teeth, 0.5))
    frequency = _refined(spectrum, spectrum.values, first, teeth, weights)
    moved = [_refined(spectrum, one, frequency, teeth, weights) for one in spectrum.replicates]
    decays = np.array([_decay(spectrum, one, frequency * teeth) for one in spectrum.replicates])
    decay = _decay(spectrum, spectrum.values, frequency * teeth)
    lasting = decay <= student.ppf(0.975, len(decays) - 1) * float(jackknife_errors(decays))
    rate = 0.0 if lasting else decay
    at = _all(spectrum, frequency)  # weak harmonics go with the others
    sizes, *others = (
        _amplitudes(spectrum, one, at, rate) for one in (spectrum.values, *spectrum.replicates)
    )
    lags = kernel.lags.astype(np.float64)
    rest = replace(
        kernel,
        values=kernel.values - comb_values(lags, at, sizes, rate),
        replicates=kernel.replicates - comb_values(lags, at, np.stack(others), rate),
    )
    sizes = sizes[lines - 1]
    harmonics, least = tuple(lines.tolist()), EXACT * spectrum.cell / float(teeth.max())
    return Comb(frequency, decay, harmonics, sizes, np.array(moved), decays, rate, least), rest


def _slow(spectrum: Spectrum, first: float, lines: Floats) -> Floats:
    """Return the lines of up to a quarter turn, where they tell enough, or all of them.

    Of a period that is no whole number harmonics of over half a turn lie beside those of less, at
    whole lags, and would draw the period to a whole number; slow ones are small there.
    """
    told = lines**2 * spectrum.ratio_at(np.minimum(first * lines, 0.5))
    slow = lines * first <= SLOW
    return lines[slow] if told[slow].sum() > 0.1 * told.sum() else lines


def _all(spectrum: Spectrum, frequency: float) -> Floats:
    """Return all harmonics up to a turn, less those of over half a turn that look like others.

    At whole lags h v and 1 - h v are the same: for a whole period both are harmonics, for others
    there are lines between.
    """
    below = frequency * np.arange(1.0, _count(frequency) + 1.0)
    above = frequency * np.arange(len(below) + 1.0, np.floor(1.0 / frequency) + 1.0)
    apart = np.abs((1.0 - above)[:, None] - np.append(below, 0.0)).min(axis=1)
    return np.concatenate([below, above[apart > APART * spectrum.cell]])


def _lines(spectrum: Spectrum, strongest: float) -> tuple[float, NDArray[np.int64]]:
    """Return the fundamental, and which of its harmonics are lines, the greatest divisor out."""
    first = _fundamental(spectrum, strongest)
    whole = np.arange(1, _count(first) + 1)
    ratios = spectrum.ratio_at(np.minimum(whole * first, 0.5))
    lines = whole[ratios >= LINE]
    if not len(lines):
        return strongest, np.ones(1, dtype=np.int64)
    divisor = int(np.gcd.reduce(lines))
    seen = whole[(ratios >= FAINT) & (whole % divisor == 0)]
    return divisor * first, seen // divisor


def _count(frequency: float) -> int:
    """Return how many harmonics there are up to half a turn per token."""
    return max(int(0.5 / frequency + 1e-2), 1)


def _refined(
    spectrum: Spectrum, values: Floats, start: float, teeth: Floats, weights: Floats
) -> float:
    """Return the fundamental with the largest sum of weighted squared lines."""
    reach = 0.5 * spectrum.cell / float(teeth.max())

    def lost(frequency: float) -> float:
        return -float(weights @ np.maximum(spectrum.lines(values, frequency * teeth), 0.0) ** 2)

    bounds = (start - reach, start + reach)
    return float(minimize_scalar(lost, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)


def _decay(spectrum: Spectrum, values: Floats, frequencies: Floats) -> float:
    """Return by which rate the lines fall from the first half of the window to the second."""
    half = len(spectrum.lags) // 2
    window = np.hanning(half + 2)[1:-1]
    sizes = []
    for part in (slice(0, half), slice(len(spectrum.lags) - half, None)):
        waves = np.cos(2.0 * np.pi * spectrum.lags[part, None] * frequencies)
        sizes.append(max(float(((values[part] * window) @ waves).sum()), 1e-300))
    return float(np.log(sizes[0] / sizes[1])) / (len(spectrum.lags) - half)


def _amplitudes(spectrum: Spectrum, values: Floats, frequencies: Floats, decay: float) -> Floats:
    """Return c_h from the lines: twice their real part, once at 1/2 turn, grown back to lag 0."""
    lasted = float(spectrum.window @ np.exp(-decay * spectrum.lags))
    twice = np.where(np.abs(frequencies - 0.5) < 0.25 * spectrum.cell, 1.0, 2.0)
    return np.asarray(twice * spectrum.lines(values, frequencies) / lasted)
