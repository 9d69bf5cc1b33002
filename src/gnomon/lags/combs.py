r"""Sharp periods: fundamental frequencies, each with its harmonics; and whether they are confirmed.

1. `gnomon.lags.fundamentals` says near which fundamentals the lines of a kernel are.
2. Each is refined over its slow lines together, as in searches for pulsars [ransom2002]: the v with
   the largest sum of ratios. Its interval is that of a jackknife over folds of documents. Its part
   c_h = 2 Re Z(h v) e^(a tau) is taken off the kernel, before the next one. Decay a is what the
   lines of the window's second half are less than those of the first.

*Confirmation.* Where chi^2 over its degrees of freedom is bad, noise is no measure of what a comb
is beside: lines of a spectrum may come from anything that modes cannot explain. What a period
*means* is asked then: tokens a period apart are alike, one period on and at most multiples of it,
in any documents.

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
from scipy.optimize import minimize_scalar
from scipy.stats import t as student

from gnomon.lags.fundamentals import (
    FAINT,
    LINE,
    MOST,
    SLOW,
    Fundamental,
    alias,
    explain_lines,
    harmonic_count,
)
from gnomon.lags.kernel import LagKernel, jackknife_errors
from gnomon.lags.spectrum import APART, SLOWEST, Lines, Spectrum, lines_of, spectrum_of
from gnomon.lags.token_line import Floats, Integers
from gnomon.results import Result

FALLING, SEEN = 0.999, 4.0
"""A comb falls where that is so sure, and by half within so many times the lags, 95 % sure."""
GONE = 8.0
"""Logarithm of how much a comb falls over the lags, at most."""
EXACT = 0.02
"""Cells to which a line is known, at best."""
FEWEST = 32
"""Lags in the window below which there is no spectrum to speak of."""
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
    product: tuple[float, ...] = ()
    """The two periods whose product this is; it is no period of its own."""


def comb_values(lags: Floats, frequencies: Floats, amplitudes: Floats, decay: float) -> Floats:
    """Return sum_h c_h e^(-a tau) cos(2 pi v_h tau), for amplitudes (..., harmonics)."""
    waves = np.exp(-decay * lags) * np.cos(2.0 * np.pi * frequencies[:, None] * lags)
    return np.asarray(amplitudes @ waves)


def combs(
    kernel: LagKernel, *, least: float = LINE, slowest: float = SLOWEST
) -> tuple[tuple[Comb, ...], LagKernel]:
    """Return the combs of a kernel, the strongest first, and the kernel without them.

    `least` is the ratio of the strongest line, at least; `slowest` how often it turns.
    """
    if len(kernel.lags) - len(kernel.lags) // 8 < FEWEST:
        return (), kernel
    lines, left = lines_of(kernel, least=least, faint=FAINT * least / LINE, slowest=slowest)
    if not len(lines):
        return (), kernel
    found: list[Comb] = []
    rest = kernel
    nears: list[Fundamental] = []
    for near in _tell_of_others(explain_lines(spectrum_of(kernel), left, lines)):
        own, close = _without_close_lines(rest, lines, near, nears)
        spectrum = spectrum_of(own)
        if len(found) == MOST or not (close or _stands(spectrum, near, nears)):
            continue
        made = _fit_comb(own, spectrum, near)
        if made is not None:
            comb, left_over = made
            rest = replace(
                left_over,
                values=left_over.values + (rest.values - own.values),
                replicates=left_over.replicates + (rest.replicates - own.replicates),
            )
            found.append(comb)
            nears.append(replace(near, frequency=comb.frequency))
    power = [-float((comb.amplitudes**2).sum()) for comb in found]
    return tuple(found[place] for place in np.argsort(power, kind="stable")), rest


def _tell_of_others(made: list[Fundamental]) -> list[Fundamental]:
    """Return combs that know the lines of all others, so as not to take them for weak harmonics."""
    lines = [alias(one.frequency * one.harmonics.astype(np.float64)) for one in made]
    return [
        replace(near, foreign=np.concatenate([near.foreign, *lines[:place], *lines[place + 1 :]]))
        for place, near in enumerate(made)
    ]


def comb_at(comb: Comb, lags: Floats) -> Floats:
    """Return what a comb adds to a kernel at lags."""
    turns = comb.frequency * np.array(comb.harmonics, dtype=np.float64)
    return comb_values(lags, turns, comb.amplitudes, comb.rate)


def _without_close_lines(
    kernel: LagKernel, lines: Lines, near: Fundamental, taken: list[Fundamental]
) -> tuple[LagKernel, bool]:
    """Return a kernel without lines beside those of a comb that were told from them.

    And whether there are such; lines of combs that were taken off are not there any more.
    """
    beside = lines.beside(np.asarray(near.frequency * near.harmonics, dtype=np.float64))
    if not beside.any():
        return kernel, False
    gone = np.concatenate([one.places for one in taken]) if taken else np.array([-1.0])
    apart = np.abs(lines.frequencies[:, None] - gone).min(axis=1)
    waves = np.cos(2.0 * np.pi * kernel.lags[:, None] * lines.frequencies)
    extra = waves @ np.where(beside & (apart > 0.25 * lines.cell), lines.sizes, 0.0)
    made = replace(kernel, values=kernel.values - extra, replicates=kernel.replicates - extra)
    return made, True


def _stands(spectrum: Spectrum, near: Fundamental, found: list[Fundamental]) -> bool:
    """Say whether a comb has a line in what others left that is not beside one of theirs."""
    places = near.frequency * near.harmonics
    free = spectrum.ratio_at(np.minimum(places, 0.5)) >= (FAINT if len(places) > 1 else LINE)
    for comb in found:
        apart = np.abs(comb.places[:, None] - places).min(axis=0)
        free &= apart >= APART * spectrum.cell
    return bool(free.any())


def _fit_comb(
    kernel: LagKernel, spectrum: Spectrum, near: Fundamental
) -> tuple[Comb, LagKernel] | None:
    """Return the comb near a fundamental with some lines, and the kernel without it.

    None where it is gone by the second half of the lags, or has changed its sign there.
    """
    first, lines = near.frequency, near.harmonics
    multiples, weights = _refinement_weights(spectrum, first, lines)
    frequency = _refine(spectrum, spectrum.values, first, multiples, weights)
    moved = [_refine(spectrum, one, frequency, multiples, weights) for one in spectrum.replicates]
    decays = np.array([_decay(spectrum, one, frequency * multiples) for one in spectrum.replicates])
    decay = _decay(spectrum, spectrum.values, frequency * multiples)
    sure, likely = student.ppf([FALLING, 0.975], len(decays) - 1) * float(jackknife_errors(decays))
    if decay * len(spectrum.lags) > GONE:
        return None
    falls = decay - likely > np.log(2.0) / (SEEN * len(spectrum.lags))
    rate = decay if falls and decay > sure else 0.0
    # Weak harmonics go with the others; of sums of frequencies only what was seen.
    own = np.asarray(frequency * lines, dtype=np.float64)
    at, which = (own, lines) if near.product else _all(spectrum, replace(near, frequency=frequency))
    sizes = _amplitudes(spectrum, spectrum.values, at, rate)
    others = np.stack([_amplitudes(spectrum, one, at, rate) for one in spectrum.replicates])
    lags = kernel.lags.astype(np.float64)
    rest = replace(
        kernel,
        values=kernel.values - comb_values(lags, at, sizes, rate),
        replicates=kernel.replicates - comb_values(lags, at, others, rate),
    )
    sizes = sizes[np.searchsorted(which, lines)]
    harmonics, least = tuple(lines.tolist()), EXACT * spectrum.cell / float(multiples.max())
    comb = Comb(frequency, decay, harmonics, sizes, np.array(moved), decays, rate, least)
    return replace(comb, product=near.product), rest


def fundamental_of(spectrum: Spectrum, comb: Comb) -> float:
    """Return the fundamental near that of a comb, in another spectrum."""
    multiples, weights = _refinement_weights(spectrum, comb.frequency, np.array(comb.harmonics))
    return _refine(spectrum, spectrum.values, comb.frequency, multiples, weights)


def _refinement_weights(spectrum: Spectrum, first: float, lines: Integers) -> tuple[Floats, Floats]:
    """Return the lines that a fundamental is refined over, and their weights."""
    multiples = _slow(spectrum, first, lines.astype(np.float64))
    weights = 1.0 / np.maximum(spectrum.lines(spectrum.values, first * multiples) ** 2, 1e-300)
    return multiples, weights * spectrum.ratio_at(np.minimum(first * multiples, 0.5))


def _slow(spectrum: Spectrum, first: float, lines: Floats) -> Floats:
    """Return the lines of up to a quarter turn, where they tell enough, or all of them.

    Of a period that is no whole number harmonics of over half a turn lie beside those of less, at
    whole lags, and would draw the period to a whole number; slow ones are small there.
    """
    told = lines**2 * spectrum.ratio_at(np.minimum(first * lines, 0.5))
    slow = lines * first <= SLOW
    return lines[slow] if told[slow].sum() > 0.1 * told.sum() else lines


def _all(spectrum: Spectrum, near: Fundamental) -> tuple[Floats, Integers]:
    """Return all harmonics up to a turn and their numbers, less those that look like others.

    At whole lags h v and 1 - h v are the same: for a whole period both are harmonics, for others
    there are lines between. A harmonic beside a line of others is not told from it.
    """
    count = harmonic_count(near.frequency)
    below = np.arange(1, count + 1)
    numbers = [int(whole) for whole in below[~near.beside_others(below)]]
    above = np.arange(count + 1, int(1.0 / near.frequency) + 1)
    for whole in np.union1d(above, near.folded)[
        ~near.beside_others(np.union1d(above, near.folded))
    ]:
        seen = alias(near.frequency * np.array([int(whole), *numbers], dtype=np.float64))
        if min(float(np.abs(seen[1:] - seen[0]).min()), float(seen[0])) > APART * spectrum.cell:
            numbers.append(int(whole))
    return near.frequency * np.array(numbers, dtype=np.float64), np.array(numbers)


def _refine(
    spectrum: Spectrum, values: Floats, start: float, multiples: Floats, weights: Floats
) -> float:
    """Return the fundamental with the largest sum of weighted squared lines."""
    reach = 0.5 * spectrum.cell / float(multiples.max())

    def lost(frequency: float) -> float:
        return -float(weights @ np.maximum(spectrum.lines(values, frequency * multiples), 0.0) ** 2)

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
    taken = sum((comb_at(one, lags) for one in others), np.zeros(len(lags)))
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
    made, found = comb_at(comb, lags), []
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
