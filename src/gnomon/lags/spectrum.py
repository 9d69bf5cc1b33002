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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import percentile_filter

from gnomon.lags.kernel import LagKernel
from gnomon.lags.line import Floats

FINE = 8
"""Frequencies in one resolution cell, 1 over the number of lags."""
NEAR, FAR = 2, 12
"""Cells away from a line where its background begins and ends."""
Complex = NDArray[np.complex128]


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
