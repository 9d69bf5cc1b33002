r"""The lines of a spectrum, all at once: their frequencies, and how well each is known.

    k(tau) = trend + sum_j c_j cos(2 pi f_j tau),    tau in the spectrum's window

Peaks of the spectrum (`gnomon.groups.spectrum`) that are lines and stand apart are fitted together,
frequencies with them (Gauss and Newton's step), and peaks are looked for in what is left, as CLEAN
does [hogbom1974], until there are none. What is left beside a strong line, less than `APART` cells
away, is its own width or a slow change of its size and no line of its own. The error of a frequency
is that of a jackknife over folds of documents, by the same step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gnomon.groups.lags import LagKernel, jackknife_errors
from gnomon.groups.line import Floats
from gnomon.groups.spectrum import Spectrum, spectrum_of

APART = 2.5
"""Cells between two lines, at least."""
SLOWEST = 3.0
"""Resolution cells of the slowest frequency: slower ones are not told from trends."""
MOST = 160
"""Lines, at most."""
ROUNDS = 8
"""Times that lines are looked for in what is left."""
AT_ONCE = 0.02
"""Power of a line beside the strongest of its round, at least: weaker ones wait for the next."""
EXACT = 0.2
"""Cells to which a line is known, at best: others stand beside it."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines by their frequency in turns per token, the strongest first."""

    frequencies: Floats
    errors: Floats
    """To which the frequencies are known, three standard errors."""
    sizes: Floats
    cell: float

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self.frequencies)


def lines_of(
    kernel: LagKernel, *, least: float, faint: float, slowest: float = SLOWEST
) -> tuple[Lines, Spectrum]:
    """Return the lines of a kernel, the strongest of a ratio of `least`, and what is left."""
    whole = spectrum_of(kernel)
    found: list[float] = []
    rest, spectrum = kernel, whole
    for _ in range(ROUNDS):
        fresh = _peaks(spectrum, found, least if not found else faint, slowest)
        if not fresh or len(found) >= MOST:
            break
        found = _refined(whole, [*found, *fresh])
        taken = _fitted(whole, np.array(found), kernel.lags.astype(np.float64))
        rest = replace(kernel, values=kernel.values - taken)
        spectrum = spectrum_of(rest)
    return _measured(whole, np.array(found)), spectrum


def _peaks(spectrum: Spectrum, found: list[float], least: float, slowest: float) -> list[float]:
    """Return peaks that stand apart from lines that were found, and from stronger peaks."""
    ratios, cell = spectrum.ratios, spectrum.cell
    power = np.maximum(spectrum.lines(spectrum.values, spectrum.frequencies), 0.0) ** 2
    inner = np.concatenate([[-1.0], ratios, [-1.0]])
    peak = (inner[1:-1] >= inner[:-2]) & (inner[1:-1] > inner[2:]) & (ratios >= least)
    places = np.flatnonzero(peak & (spectrum.frequencies >= slowest * cell))
    places = places[np.argsort(-power[places], kind="stable")]
    taken: list[float] = []
    for place in places:
        here = float(spectrum.frequencies[place])
        if power[place] < AT_ONCE * power[places[0]]:
            break
        if all(abs(here - other) >= APART * cell for other in (*found, *taken)):
            taken.append(here)
    return taken


def _columns(lags: Floats, frequencies: Floats, longest: float) -> Floats:
    """Return the columns of a trend, then those of the lines."""
    trend = np.stack([np.ones_like(lags), np.log(lags), lags / longest], axis=1)
    return np.concatenate([trend, np.cos(2.0 * np.pi * lags[:, None] * frequencies)], axis=1)


def _solved(spectrum: Spectrum, frequencies: Floats, values: Floats) -> tuple[Floats, Floats]:
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


def _refined(spectrum: Spectrum, start: list[float]) -> list[float]:
    """Return frequencies after two steps, none further than half a cell away."""
    frequencies = first = np.array(start)
    for _ in range(2):
        _, steps = _solved(spectrum, frequencies, spectrum.values[None])
        near = np.clip(frequencies + steps[0] - first, -0.5 * spectrum.cell, 0.5 * spectrum.cell)
        frequencies = np.clip(first + near, spectrum.cell, 0.5)
    return [float(one) for one in frequencies]


def _fitted(spectrum: Spectrum, frequencies: Floats, lags: Floats) -> Floats:
    """Return the sum of the lines at lags."""
    sizes, _ = _solved(spectrum, frequencies, spectrum.values[None])
    return np.asarray(np.cos(2.0 * np.pi * lags[:, None] * frequencies) @ sizes[0])


def _measured(spectrum: Spectrum, frequencies: Floats) -> Lines:
    """Return the lines with a positive size, the strongest first, and their errors."""
    if not len(frequencies):
        nothing: NDArray[np.float64] = np.empty(0)
        return Lines(nothing, nothing, nothing, spectrum.cell)
    sizes = _solved(spectrum, frequencies, spectrum.values[None])[0][0]
    _, moved = _solved(spectrum, frequencies, spectrum.replicates - spectrum.values)
    errors = np.hypot(3.0 * jackknife_errors(moved), EXACT * spectrum.cell)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0.0]
    return Lines(frequencies[order], errors[order], sizes[order], spectrum.cell)
