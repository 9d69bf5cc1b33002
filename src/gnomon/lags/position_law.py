r"""Periods in the law of positions: of documents that begin in phase, all at one place of a period.

Coding sequences in frame, pieces that begin with a bar and text that begins with a line have a law
for each position, and that law has a period. It is no dependence between tokens beyond position,
and `gnomon.lags.kernel` takes it off; here it is what is looked for:

    k(tau) = A(tau) - A

with A(tau) the rate of equal tokens at positions i and i + tau of documents of different folds,
and A the same at any positions. Without each fold in turn it gives the noise [efron1982].

Only sharp periods are read from it (`gnomon.lags.combs`), and only clear ones: with a line of a
ratio of `SHARP`, that explain a share `EXPLAINED` of how it varies with the lag beyond noise. A law
that has no period, be it drawn anew for each position, has a rough spectrum that more documents do
not make smooth, and its highest line is no period. Counted are the `TYPES` most frequent types: the
kernel is a sum over types, and rare ones have little of it.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from gnomon.lags.combs import combs
from gnomon.lags.kernel import AT_ONCE, LagKernel, jackknife_errors
from gnomon.lags.line import Floats, Line, Whole
from gnomon.lags.modes import Dependence, counted, teeth
from gnomon.lags.spectrum import spectrum_of

SHARP = 150.0
"""Ratio of a line in the law of positions, at least."""
TURNS = 5.0
"""Times that a line repeats over the far lags, at least: a law that drifts has slow ones."""
EXPLAINED = 0.7
"""Share of the kernel's variance at far lags beyond noise, at least."""
TYPES = 128
"""Types that are counted, at most."""


def position_kernel(line: Line, steps: Whole) -> LagKernel:
    """Return what positions alone add to the rate of equal tokens, by lag, with its noise.

    Cost O(folds x types x positions), for any number of lags.
    """
    there = _counts(line, np.zeros(len(line.tokens), dtype=np.int64), line.place, 1)
    equal, same = _equal(line, steps)
    pairs = _between(_powers(there, steps), steps)
    rates = equal / np.maximum(pairs, 1.0)
    sizes = np.bincount(line.fold[line.owner], minlength=line.folds).astype(np.float64)
    anywhere = same / np.maximum(_apart(sizes[:, None])[:, 0], 1.0)
    made = np.where(pairs > 0.5, rates - anywhere[:, None], 0.0)
    return LagKernel(
        lags=steps,
        values=made[0],
        errors=jackknife_errors(made[1:]),
        shuffled=np.full(len(steps), anywhere[0]),
        across=made[0],
        pairs=pairs[0].astype(np.int64),
        replicates=made[1:],
        documents=len(line.fold),
        anywhere=float(anywhere[0]),
    )


def position_periods(kernel: LagKernel) -> Dependence:
    """Return the periods of a law of positions, none where it has none."""
    near = kernel.first(counted(kernel))
    sharp, rest = combs(near, least=SHARP, slowest=TURNS)
    if not sharp or _beyond_noise(rest) > (1.0 - EXPLAINED) * _beyond_noise(near):
        sharp, rest = (), near
    modes = sorted(teeth(sharp), key=lambda mode: -mode.amplitude)
    return Dependence(
        modes=tuple(modes),
        rank=2 * len(modes),
        lags=len(near.lags),
        largest_error=float(np.abs(rest.values - rest.values.mean()).max()),
    )


def _beyond_noise(kernel: LagKernel) -> float:
    """Return how much a kernel varies with the lag, less what its folds do, at far lags."""
    far = spectrum_of(kernel)
    noise = jackknife_errors(far.replicates) ** 2
    return max(float((far.values**2 - noise).sum()), 0.0)


def _equal(line: Line, steps: Whole) -> tuple[Floats, Floats]:
    """Return equal pairs of different folds by lag, and anywhere: of all, then without each."""
    often = np.bincount(line.tokens, minlength=line.types)
    kept = np.argsort(-often, kind="stable")[:TYPES]
    names = np.full(line.types, -1)
    names[kept] = np.arange(len(kept))
    named, place = names[line.tokens], line.place
    size = int(place.max()) + 1
    width = max(AT_ONCE // (2 * size * line.folds), 1)
    power = np.zeros((1 + line.folds, _places(size, steps) // 2 + 1))
    same = np.zeros(1 + line.folds)
    for first in range(0, len(kept), width):
        rows = min(width, len(kept) - first)
        counts = _counts(line, named - first, place, rows)
        same += _apart(counts.sum(axis=2)).sum(axis=1)
        power += _powers(counts, steps)
    return _between(power, steps), same


def _counts(line: Line, named: Whole, place: Whole, rows: int) -> Floats:
    """Return how often types 0 .. rows - 1 stand at each position, (folds, rows, positions)."""
    size = int(place.max()) + 1
    chosen = (named >= 0) & (named < rows)
    keys = (line.fold[line.owner[chosen]] * rows + named[chosen]) * size + place[chosen]
    counts = np.bincount(keys, minlength=line.folds * rows * size)
    return counts.reshape(line.folds, rows, size).astype(np.float64)


def _apart(sums: Floats) -> Floats:
    """Return (sum_f n_f)^2 - sum_f n_f^2 of sums (folds, rows), of all and without each fold."""
    squares = sums**2
    total, own = sums.sum(axis=0), squares.sum(axis=0)
    without = (total - sums) ** 2 - (own - squares)
    return np.concatenate([(total**2 - own)[None], without])


def _powers(counts: Floats, steps: Whole) -> Floats:
    """Return spectra of pairs of different folds, (1 + folds, frequencies), summed over rows."""
    waves = rfft(counts, _places(counts.shape[2], steps), axis=2)
    own = np.abs(waves) ** 2
    total, all_own = waves.sum(axis=0), own.sum(axis=0)
    whole = (np.abs(total) ** 2 - all_own).sum(axis=0)
    without = (np.abs(total - waves) ** 2 - (all_own - own)).sum(axis=1)
    return np.concatenate([whole[None], without])


def _places(size: int, steps: Whole) -> int:
    """Return how many places a transform has, an even number, that no lag goes round."""
    return 2 * int(next_fast_len((size + int(steps[-1]) + 1) // 2, real=True))


def _between(power: Floats, steps: Whole) -> Floats:
    """Return the pairs at each lag from their spectrum: whole numbers, exactly."""
    return np.asarray(np.rint(irfft(power, 2 * (power.shape[1] - 1), axis=1)[:, steps]))
