r"""The spectrum of a lag kernel far from lag 0: where it has sharp lines, and how sure they are.

    Z(v) = sum_tau w(tau) k(tau) e^(-2 pi i v tau),    w Hann's window over the lags n/8 .. n

What is periodic lasts, and is a line of the window's width at its frequency v in turns per token;
what decays early is not in the window, what decays slowly or is spread over periods is wide. The
kernel of a periodic process is even, so that its lines are real and positive: Re Z = c/2 for a
part c cos(2 pi v tau).

A line's *ratio* is 2 (Re Z)^2 over its background, a squared normal number where nothing is. The
background is the larger of the noise there, as folds of documents show it, and of what the
spectrum itself has to the left and to the right of the line: its lower quartile from 2 to 12
resolution cells away, low enough to lie between the lines of a comb.

*Lines.* The lines of a spectrum, all at once: their frequencies, and how well each is known.

    k(tau) = trend + sum_j c_j cos(2 pi f_j tau),    tau in the spectrum's window

Peaks of the spectrum (`gnomon.lags.spectrum`) that are lines and stand apart are fitted together,
frequencies with them (Gauss and Newton's step), and peaks are looked for in what is left, as CLEAN
does [hogbom1974], until there are none. What is left beside a strong line, less than `APART` cells
away, is its own width or a slow change of its size and no line of its own. The error of a frequency
is that of a jackknife over folds of documents, by the same step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import percentile_filter

from gnomon.lags.kernel import LagKernel, jackknife_errors
from gnomon.lags.token_line import Floats

FINE = 8
"""Frequencies in one resolution cell, 1 over the number of lags."""
NEAR, FAR = 2, 12
"""Cells away from a line where its background begins and ends."""
Complex = NDArray[np.complex128]
APART = 2.5
"""Cells between two lines, at least."""
FLANK = 1.5
"""Cells beside a line in which its transform turns round: flanks of the other sign are there."""
SLOWEST = 3.0
"""Resolution cells of the slowest frequency: slower ones are not told from trends."""
MOST = 160
"""Lines, at most."""
ROUNDS = 8
"""Times that lines are looked for in what is left."""
AT_ONCE = 0.02
"""Power of a line beside the strongest of its round, at least: weaker ones wait for the next."""
STRONGEST, STEPS = 6, 8
"""Lines that are asked whether they are two, and the steps of a search for the two."""
RATES = (1.0, 3.0, 10.0)
"""How fast the size of one line falls over the lags, that two are compared with."""
CLOSE, LEAST, HALF = 0.5, 0.1, 0.8
"""Cells between such two, the smaller beside the larger, and what they leave, see `_divide`."""
EXACT = 0.2
"""Cells to which a line is known, at best: others stand beside it."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A kernel's lines: frequencies in turns per token, their real parts and ratios."""

    lags: Floats
    window: Floats
    values: Floats
    replicates: Floats
    """Values at the lags of the window less their trend; rows without each fold in turn."""
    frequencies: Floats
    ratios: Floats

    @property
    def cell(self) -> float:
        """Return the width of a resolution cell, in turns per token."""
        return 1.0 / len(self.lags)

    def ratio_at(self, frequencies: Floats) -> Floats:
        """Return the ratios at frequencies from 0 to 1/2, between those known."""
        return np.interp(frequencies, self.frequencies, self.ratios)

    def lines(self, values: Floats, frequencies: Floats) -> Floats:
        """Return Re Z of values (..., lags) at some frequencies (..., frequencies)."""
        waves = np.cos(2.0 * np.pi * self.lags[:, None] * frequencies)
        return np.asarray((values * self.window) @ waves)


def spectrum_of(kernel: LagKernel) -> Spectrum:
    """Return the spectrum of a kernel, over the lags from an eighth on."""
    first = len(kernel.lags) // 8
    lags = kernel.lags[first:].astype(np.float64)
    window = np.hanning(len(lags) + 2)[1:-1]
    window = window / window.sum()
    values, replicates = (_level(part[..., first:], lags) for part in _both(kernel))
    frequencies = np.arange(0, len(lags) * FINE // 2 + 1) / (len(lags) * FINE)
    noise = np.sqrt(len(replicates) - 1) * (replicates - replicates.mean(axis=0))
    level = (np.abs(_transform(noise * window, lags)) ** 2).mean(axis=0)
    found = _transform(values * window, lags)
    background = np.maximum(_smooth(level), _beside(np.abs(found) ** 2))
    parts = np.where(frequencies > 0.5 - 1.0 / len(lags), 1.0, 2.0)  # at 1/2 turn Z is real
    ratios = parts * np.maximum(found.real, 0.0) ** 2 / np.maximum(background, 1e-300)
    return Spectrum(lags, window, values, replicates, frequencies, ratios)


def _both(kernel: LagKernel) -> tuple[Floats, Floats]:
    return np.asarray(kernel.values), np.asarray(kernel.replicates)


def _level(values: Floats, lags: Floats) -> Floats:
    """Return values less a straight line in the logarithm of the lag, and one in the lag."""
    columns = np.stack([np.ones_like(lags), np.log(lags), lags / lags[-1]], axis=1)
    fitted = columns @ np.linalg.lstsq(columns, values.T, rcond=None)[0]
    return np.asarray(values - fitted.T)


def _transform(values: Floats, lags: Floats) -> Complex:
    """Return sums of values e^(-2 pi i v tau), v = 0 .. 1/2 in steps of a fine cell."""
    size = FINE * values.shape[-1]
    made = np.fft.rfft(values, size, axis=-1)
    shift = np.exp(-2.0j * np.pi * np.arange(made.shape[-1]) * lags[0] / size)
    return np.asarray(made * shift)


def _smooth(level: Floats) -> Floats:
    """Return the noise averaged over a few cells: it comes from few folds."""
    width = 2 * NEAR * FINE + 1
    padded = np.pad(level, NEAR * FINE, mode="reflect")
    return np.asarray(np.convolve(padded, np.full(width, 1.0 / width), mode="valid"))


def _beside(power: Floats) -> Floats:
    """Return the larger lower quartile of both sides, each from NEAR to FAR cells away."""
    width, middle = (FAR - NEAR) * FINE, (FAR + NEAR) * FINE // 2
    quartile = percentile_filter(np.pad(power, FAR * FINE, mode="reflect"), 25, size=width)
    here = np.arange(len(power)) + FAR * FINE
    sides = np.maximum(quartile[here - middle], quartile[here + middle])
    return np.asarray(sides)


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines by their frequency in turns per token, the strongest first."""

    frequencies: Floats
    errors: Floats
    """To which the frequencies are known, three standard errors."""
    sizes: Floats
    cell: float

    def beside(self, places: Floats) -> NDArray[np.bool_]:
        """Return which lines stand beside some places, less than `APART` cells away, not there."""
        apart = np.abs(self.frequencies[:, None] - places).min(axis=1) / self.cell
        return np.asarray((apart >= 0.5 * CLOSE) & (apart < APART - 1e-6))

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self.frequencies)


def lines_of(
    kernel: LagKernel, *, least: float, faint: float, slowest: float = SLOWEST
) -> tuple[Lines, Spectrum]:
    """Return the lines of a kernel, the strongest of a ratio of `least`, and what is left."""
    whole = spectrum_of(kernel)
    found: list[float] = []
    spectrum = whole
    for _ in range(ROUNDS):
        fresh = _peaks(spectrum, found, least if not found else faint, slowest)
        if not fresh or len(found) >= MOST:
            break
        found = _refine(whole, [*found, *fresh])
        spectrum = spectrum_of(_without(kernel, whole, found))
    divided = _divide(whole, found)
    if len(divided) > len(found):
        found = divided
        spectrum = spectrum_of(_without(kernel, whole, found))
    return _measure(whole, np.array(found)), spectrum


def _without(kernel: LagKernel, spectrum: Spectrum, found: list[float]) -> LagKernel:
    """Return what lines leave of a kernel."""
    taken = _lines_at(spectrum, np.array(found), kernel.lags.astype(np.float64))
    return replace(kernel, values=kernel.values - taken)


def _divide(spectrum: Spectrum, found: list[float]) -> list[float]:
    """Return lines, with two for one of the strongest where it is two that stand close together.

    Two lines of one sign that are half a cell or more apart beat: their sum swells and falls as a
    cosine, and what decays does not. They are taken for two where they leave less than a part
    `HALF` of what a line leaves whose size changes with the lag as a straight line, or as an
    exponential and a constant.
    """
    made = list(found)
    for place in range(min(len(found), STRONGEST)):
        line = made[place]
        others = [one for one in made if one != line]
        lags = spectrum.lags[:, None] / spectrum.lags[-1]
        turns = 2.0 * np.pi * line * spectrum.lags[:, None]
        wave = np.concatenate([np.cos(turns), np.sin(turns)], axis=1)
        sizes = (lags, *(np.exp(-rate * lags) for rate in RATES))
        shapes = [np.concatenate([wave, wave * size], axis=1) for size in sizes]
        changing = min(left_by(spectrum, others, shape) for shape in shapes)
        pair = _pair(spectrum, line, others)
        if pair is None:
            continue
        solved, _ = _solve(spectrum, np.array([*others, *pair]), spectrum.values[None])
        small, large = np.sort(solved[0][-2:])
        nothing = np.empty((len(spectrum.lags), 0))
        if small > LEAST * large and left_by(spectrum, [*others, *pair], nothing) < HALF * changing:
            made[place] = pair[0]
            made.append(pair[1])
    return made


def _pair(spectrum: Spectrum, line: float, others: list[float]) -> list[float] | None:
    """Return the two lines near one that fit best, None where they are no cell apart."""
    best: tuple[float, list[float] | None] = (np.inf, None)
    nothing = np.empty((len(spectrum.lags), 0))
    for low, high in ((-0.3, 0.3), (-0.7, 0.7), (0.0, 1.4), (-1.4, 0.0)):
        start = np.array([*others, line + low * spectrum.cell, line + high * spectrum.cell])
        if start[-2:].min() < SLOWEST * spectrum.cell or start[-2:].max() > 0.5:
            continue
        tried = start
        for _ in range(STEPS):
            _, steps = _solve(spectrum, tried, spectrum.values[None])
            reach = np.where(np.arange(len(tried)) < len(others), 0.0, 0.3 * spectrum.cell)
            tried = np.clip(tried + np.clip(steps[0], -reach, reach), spectrum.cell, 0.5)
        left = left_by(spectrum, list(tried), nothing)
        apart = abs(float(tried[-1] - tried[-2]))
        if left < best[0] and CLOSE * spectrum.cell <= apart < APART * spectrum.cell:
            best = left, [float(one) for one in tried[-2:]]
    return best[1]


def left_by(spectrum: Spectrum, frequencies: list[float], more: Floats) -> float:
    """Return the weighted squares that lines and other columns leave."""
    lags, root = spectrum.lags, np.sqrt(spectrum.window)[:, None]
    own = _columns(lags, np.array(frequencies), float(lags[-1]))
    columns = root * np.concatenate([own, more], axis=1)
    values = root[:, 0] * spectrum.values
    fitted = columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
    return float(((values - fitted) ** 2).sum())


def _peaks(spectrum: Spectrum, found: list[float], least: float, slowest: float) -> list[float]:
    """Return peaks that stand apart from lines that were found, and from stronger peaks."""
    ratios, cell = spectrum.ratios, spectrum.cell
    signed = spectrum.lines(spectrum.values, spectrum.frequencies)
    power = np.maximum(signed, 0.0) ** 2
    inner = np.concatenate([[-1.0], ratios, [-1.0]])
    peak = (inner[1:-1] >= inner[:-2]) & (inner[1:-1] > inner[2:]) & (ratios >= least)
    places = np.flatnonzero(peak & (spectrum.frequencies >= slowest * cell))
    places = places[np.argsort(-power[places], kind="stable")]
    slow = spectrum.frequencies < slowest * cell
    taken: list[float] = []
    for place in places:
        here = float(spectrum.frequencies[place])
        beside = slow & (spectrum.frequencies > here - APART * cell)
        if np.any(power[beside] > power[place]):  # the flank of what turns too slowly to be a line
            continue
        around = np.abs(spectrum.frequencies - here) < FLANK * cell
        if signed[around].min() < -signed[place]:
            continue  # the flank of a stronger line below 0, which no period makes
        if power[place] < AT_ONCE * power[places[0]]:
            break
        if all(abs(here - other) >= APART * cell for other in (*found, *taken)):
            taken.append(here)
    return taken


def _columns(lags: Floats, frequencies: Floats, longest: float) -> Floats:
    """Return the columns of a trend, then those of the lines."""
    trend = np.stack([np.ones_like(lags), np.log(lags), lags / longest], axis=1)
    return np.concatenate([trend, np.cos(2.0 * np.pi * lags[:, None] * frequencies)], axis=1)


def _solve(spectrum: Spectrum, frequencies: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return sizes (rows, lines) and steps of the frequencies (rows, lines), fitted together."""
    lags, root = spectrum.lags, np.sqrt(spectrum.window)[:, None]
    columns = root * _columns(lags, frequencies, float(lags[-1]))
    own = np.linalg.lstsq(columns, root[:, 0] * spectrum.values, rcond=None)[0][3:]
    sizes = np.linalg.lstsq(columns, root * values.T, rcond=None)[0][3:]
    slopes = -2.0 * np.pi * lags[:, None] * np.sin(2.0 * np.pi * lags[:, None] * frequencies) * own
    moving = frequencies < 0.5 - 0.5 * spectrum.cell  # at half a turn there is no sine
    both = np.concatenate([columns, root * slopes[:, moving]], axis=1)
    steps = np.zeros((len(frequencies), len(values)))
    steps[moving] = np.linalg.lstsq(both, root * values.T, rcond=None)[0][columns.shape[1] :]
    return np.asarray(sizes.T), steps.T


def _refine(spectrum: Spectrum, start: list[float]) -> list[float]:
    """Return frequencies after two steps, none further than half a cell away."""
    frequencies = first = np.array(start)
    for _ in range(2):
        _, steps = _solve(spectrum, frequencies, spectrum.values[None])
        near = np.clip(frequencies + steps[0] - first, -0.5 * spectrum.cell, 0.5 * spectrum.cell)
        frequencies = np.clip(first + near, spectrum.cell, 0.5)
    return [float(one) for one in frequencies]


def _lines_at(spectrum: Spectrum, frequencies: Floats, lags: Floats) -> Floats:
    """Return the sum of the lines at lags."""
    sizes, _ = _solve(spectrum, frequencies, spectrum.values[None])
    return np.asarray(np.cos(2.0 * np.pi * lags[:, None] * frequencies) @ sizes[0])


def _measure(spectrum: Spectrum, frequencies: Floats) -> Lines:
    """Return the lines with a positive size, the strongest first, and their errors."""
    if not len(frequencies):
        nothing: NDArray[np.float64] = np.empty(0)
        return Lines(nothing, nothing, nothing, spectrum.cell)
    sizes = _solve(spectrum, frequencies, spectrum.values[None])[0][0]
    _, moved = _solve(spectrum, frequencies, spectrum.replicates - spectrum.values)
    errors = np.hypot(3.0 * jackknife_errors(moved), EXACT * spectrum.cell)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0.0]
    return Lines(frequencies[order], errors[order], sizes[order], spectrum.cell)
