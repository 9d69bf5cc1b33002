r"""Sharp periods: fundamental frequencies, each with its harmonics.

A mark that stands at every 61st place has 30 harmonics of equal size, too many and too close for a
Hankel matrix of 128 lags, yet one number, the period, says where all of them are. All lines of the
kernel's spectrum (`gnomon.lags.lines`) are explained together, by the fewest words: a set of
fundamentals costs

    sum_v [ln(places of v) + ln binom(N, m) + ln(N + 1)] + sum_(lines of none) ln(1 / 2 e) + 1

where v has N harmonics below half a turn, m of which are lines, and e is the error of a line
[rissanen1978]. So a period of 7 is not taken for 14, whose odd harmonics are missing, two periods
of 7 and 12 not for one of 84, and eight lines beside those of another period are one longer period.
A whole number of tokens takes fewer words than any other period.

1. The set with the least cost is searched for, all up to three, more one by one.
2. *Octaves*. The harmonics of v/2 and v/3 that v has not are tested together, one-sided, since the
   kernel of a periodic process is nowhere negative in its spectrum; where they are there, the
   period is the longer one.
3. *Products*. Of a period that is the product of two others, whose harmonics tower above the rest,
   these two are the periods; what is left, sums and differences of their frequencies, is named as
   that. So is a line at i u + j v of two fundamentals.
4. A fundamental is refined over its slow lines together, as in searches for pulsars [ransom2002]:
   the v with the largest sum of ratios. Its interval is that of a jackknife over folds of
   documents. Its part c_h = 2 Re Z(h v) e^(a tau) is taken off the kernel, before the next one.

Decay a is what the lines of the window's second half are less than those of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from scipy.stats import binom, chi2
from scipy.stats import f as f_law
from scipy.stats import t as student

from gnomon.lags.kernel import LagKernel, jackknife_errors
from gnomon.lags.line import Floats
from gnomon.lags.lines import APART, SLOWEST, Lines, left_by, lines_of
from gnomon.lags.spectrum import Spectrum, spectrum_of

LINE = 30.0
"""Ratio of the strongest line, at least: five and a half standard deviations."""
FAINT = 16.0
"""Ratio of lines beside others of their comb."""
SLOW = 0.25
"""Turns per token up to which lines are used to refine a fundamental."""
DIVISORS = 256
"""Fundamentals that are tried below a line."""
SEEDS = 12
"""Lines below which fundamentals are tried, the strongest."""
MARGIN = 3.0
"""What a fundamental of several lines has to save, at least: many are tried."""
FOLDED = 3.0
"""Cost of saying that harmonics of over half a turn are seen."""
TWICE = 2
"""Turns a token up to which harmonics are looked for, folded."""
HALVES, SMALL = 0.05, 5
"""Up to so many periods are this far from a whole number of tokens, where harmonics are folded."""
FALLING, SEEN = 0.999, 4.0
"""A comb falls where that is so sure, and by half within so many times the lags, 95 % sure."""
GONE = 8.0
"""Logarithm of how much a comb falls over the lags, at most."""
FOLLOWED = 16
"""Times as many harmonics as there are up to half a turn that a fundamental is followed to."""
FEW = 10
"""Lines of a comb, at most, that is asked whether it is two: more are no chance."""
ORDERED = 6
"""Lines, at least, whose sizes may tell the order of harmonics."""
POOL = 28
"""Fundamentals of which sets are made."""
MOST = 8
"""Combs in one kernel, at most."""
EXACT = 0.02
"""Cells to which a line is known, at best."""
FEWEST = 32
"""Lags in the window below which there is no spectrum to speak of."""
OCTAVE = 1e-3
"""Of a false alarm, for harmonics of a longer period."""
STRAY = 0.02
"""That lines are harmonics of a longer period by chance, at most."""
SHARE = 0.02
"""Of a comb's size, what harmonics of a longer period have, at least."""
CHANCE = 1e-3
"""That harmonics of two periods tower above those of their product by chance."""
ORDER = 6
"""Multiples of two fundamentals that a line is compared with, at most."""
Whole = NDArray[np.int64]


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


@dataclass(frozen=True, eq=False)
class _Near:
    """A fundamental near which a comb is, the harmonics that are lines, and what it is made of."""

    frequency: float
    harmonics: Whole
    product: tuple[float, ...] = ()
    folded: Whole = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Harmonics of over half a turn a token that are lines, where whole lags show them."""
    foreign: Floats = field(default_factory=lambda: np.empty(0))
    """Lines that are none of its multiples, and how far around each is their own."""
    reach: float = 0.0

    @property
    def places(self) -> Floats:
        """Return where all multiples are seen that are less than a turn, or are lines.

        Less those beside a line of others: what is there is theirs.
        """
        whole = np.union1d(np.arange(1.0, np.ceil(1.0 / self.frequency)), self.folded)
        return _seen(self.frequency * whole[~self.beside_others(whole)])

    def beside_others(self, whole: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which multiples are no lines and stand beside lines of others."""
        seen = _seen(np.asarray(self.frequency * whole, dtype=np.float64))
        near = np.abs(seen[:, None] - self.foreign).min(axis=1, initial=np.inf) < self.reach
        return np.asarray(near & ~np.isin(whole, np.union1d(self.harmonics, self.folded)))


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
    nears: list[_Near] = []
    for near in _each_with_others(_explained(spectrum_of(kernel), left, lines)):
        own, close = _apart_from_near(rest, lines, near, nears)
        spectrum = spectrum_of(own)
        if len(found) == MOST or not (close or _stands(spectrum, near, nears)):
            continue
        made = _taken(own, spectrum, near)
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


def _each_with_others(made: list[_Near]) -> list[_Near]:
    """Return combs that know the lines of all others, so as not to take them for weak harmonics."""
    lines = [_seen(one.frequency * one.harmonics.astype(np.float64)) for one in made]
    return [
        replace(near, foreign=np.concatenate([near.foreign, *lines[:place], *lines[place + 1 :]]))
        for place, near in enumerate(made)
    ]


def added(comb: Comb, lags: Floats) -> Floats:
    """Return what a comb adds to a kernel at lags."""
    turns = comb.frequency * np.array(comb.harmonics, dtype=np.float64)
    return comb_values(lags, turns, comb.amplitudes, comb.rate)


def _seen(turns: Floats) -> Floats:
    """Return frequencies as whole lags show them, at most half a turn a token."""
    return np.asarray(np.abs(turns - np.rint(turns)))


def _apart_from_near(
    kernel: LagKernel, lines: Lines, near: _Near, taken: list[_Near]
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


def _stands(spectrum: Spectrum, near: _Near, found: list[_Near]) -> bool:
    """Say whether a comb has a line in what others left that is not beside one of theirs."""
    places = near.frequency * near.harmonics
    free = spectrum.ratio_at(np.minimum(places, 0.5)) >= (FAINT if len(places) > 1 else LINE)
    for comb in found:
        apart = np.abs(comb.places[:, None] - places).min(axis=0)
        free &= apart >= APART * spectrum.cell
    return bool(free.any())


def _explained(whole: Spectrum, left_over: Spectrum, lines: Lines) -> list[_Near]:
    """Return the combs that explain all lines, the strongest first; `left_over` has none."""
    tried = _tried(lines)
    chosen = _least(lines, tried)
    chosen = [_shortened(lines, one, [two for two in chosen if two is not one]) for one in chosen]
    chosen = [_in_order(lines, one) for one in chosen]
    chosen = [two for one in chosen for two in _as_two(whole, lines, one)]
    left = ~np.any([one.mask for one in chosen], axis=0) if chosen else np.ones(len(lines), bool)
    known = [_near(lines, one.frequency, one.folded) for one in chosen]
    single = [_near(lines, one) for one in _lowest(lines, np.flatnonzero(left))]
    own = [_longer(left_over, lines, near, known) for near in (*known, *single)]
    made = list({near.frequency: near for near in own}.values())
    made.sort(key=lambda near: -_power(lines, near))
    parts = [part for near in made for part in _factors(lines, near)]
    return _without_sums(lines, parts)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A fundamental, the lines it has, and what it costs to say so."""

    frequency: float
    mask: NDArray[np.bool_]
    cost: float
    folded: Whole = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def _tried(lines: Lines) -> list[_Tried]:
    """Return fundamentals that some line may be a harmonic of, those first that save most."""
    starts: list[tuple[float, float]] = []
    seeds = list(zip(lines.frequencies[:SEEDS], lines.errors[:SEEDS], strict=True))
    for line, error in seeds:
        for whole, first in ((float(line), 1), (1.0 - float(line), 2)):
            # Between tokens nothing is seen: the line may be one of more than half a turn.
            last = min(DIVISORS, int(whole / (SLOWEST * lines.cell)))
            starts += [(whole / d, float(error) / d) for d in range(first, last + 1)]
    for (one, error), (other, more) in combinations(seeds[: SEEDS // 2], 2):
        apart, reach = abs(float(one - other)), float(np.hypot(error, more))
        starts += [(apart / d, reach / d) for d in (1, 2) if apart / d >= SLOWEST * lines.cell]
    found: dict[bytes, tuple[float, _Tried]] = {}
    for frequency, reach in starts:
        for one in _variants(lines, frequency, reach):
            saved = float(_alone(lines)[one.mask].sum()) - one.cost
            key = np.packbits(one.mask).tobytes()
            if saved > 0.0 and (key not in found or saved > found[key][0]):
                found[key] = saved, one
    ranked = [one for _, one in sorted(found.values(), key=lambda pair: -pair[0])]
    return _with_folded(lines, ranked)


def _with_folded(lines: Lines, ranked: list[_Tried]) -> list[_Tried]:
    """Return fundamentals, those first that save most, the best of them also followed further.

    Tried are their multiples, too: a fundamental may have saved more by lines of its multiples.
    """
    best = {np.packbits(one.mask).tobytes(): one for one in ranked}
    for one in ranked[: POOL // 2]:
        for times in (1, 2, 3):
            more = _followed(lines, min(times * one.frequency, 0.5))
            if more is not None:
                key = np.packbits(more.mask).tobytes()
                best[key] = min(best.get(key, more), more, key=lambda tried: tried.cost)
    alone = _alone(lines)
    return sorted(best.values(), key=lambda one: one.cost - float(alone[one.mask].sum()))


def _followed(lines: Lines, frequency: float, *, any_period: bool = False) -> _Tried | None:
    """Return a fundamental with its harmonics of over half a turn, None where it has none.

    Nor where few periods are a whole number of tokens, whose period it would be, unless asked.

    Whole lags show harmonic h of v at the distance of h v from a whole number. Slow harmonics tell
    v well enough to find the next ones, which tell it better: each time it is followed to twice as
    many, as long as its error leaves their places known to a cell.
    """
    start = _by_lines(lines, frequency, 0.5 * lines.cell)
    if start is None or abs(start[0] - frequency) > lines.cell:
        return None
    first, reach = start
    count, limit = _count(first), _count(first)
    numbers = _numbered(lines, first, reach, limit)
    while limit < FOLLOWED * count and 2 * limit * reach <= lines.cell and numbers.any():
        limit *= 2
        numbers = _numbered(lines, first, reach, limit)
        first, reach = _unwrapped(lines, numbers, first)
    whole = np.arange(2.0, SMALL + 1.0) / first  # so many periods are one of whole tokens
    unsure = np.maximum(whole * reach / first, 1e-9)
    mask, last = numbers > 0, int(numbers.max(initial=0))
    bent = np.unique(numbers[numbers > count])
    near = np.abs(whole - np.rint(whole)) <= unsure
    if len(bent) < 2 or (near.any() and not any_period):
        return None
    words = float(np.log(0.5 / reach)) + 1.0 + MARGIN + FOLDED
    return _Tried(first, mask, words + _words(last, int(mask.sum())), bent)


def _numbered(lines: Lines, frequency: float, reach: float, limit: int) -> Whole:
    """Return which harmonic each line is, the lowest of those near it, 0 for none."""
    whole = np.arange(1, limit + 1)
    seen = _seen(np.asarray(frequency * whole, dtype=np.float64))
    apart = np.abs(lines.frequencies[:, None] - seen)
    near = apart <= lines.errors[:, None] + np.minimum(whole * reach, lines.cell)
    return np.where(near.any(axis=1), whole[np.argmax(near, axis=1)], 0)


def _unwrapped(lines: Lines, numbers: Whole, frequency: float) -> tuple[float, float]:
    """Return a fundamental and its error from lines whose harmonics are known, folded or not."""
    known = numbers > 0
    whole = numbers[known].astype(np.float64)
    turns = frequency * whole
    sign = np.where(turns >= np.rint(turns), 1.0, -1.0)
    straight = np.rint(turns) + sign * lines.frequencies[known]
    weights = (whole / lines.errors[known]) ** 2
    first = float(weights @ (straight / whole) / weights.sum())
    return first, float(1.0 / np.sqrt(weights.sum()))


def _alone(lines: Lines) -> Floats:
    """Return what it costs to name each line by itself."""
    return np.asarray(np.log(0.5 / lines.errors) + 1.0)


def _variants(lines: Lines, frequency: float, reach: float) -> list[_Tried]:
    """Return a fundamental, refined by its lines, and as a whole number of tokens if it is near."""
    made = []
    nearest = round(1.0 / frequency)
    refined = _by_lines(lines, frequency, reach)
    if abs(nearest * frequency - 1.0) * frequency <= reach * nearest * frequency + 1e-12:
        naming = float(np.log(1.0 / lines.cell))
        whole = _judged(lines, 1.0 / nearest, naming)
        # Any lines have a long whole period: without a line of its own it saves no words.
        own = np.abs(lines.frequencies - 1.0 / nearest) <= 2.0 * lines.errors
        more = 0.0 if refined is None else float(np.log(0.5 / refined[1])) + 1.0 - naming
        made.append(whole if own.any() else replace(whole, cost=whole.cost + max(more, 0.0)))
    if refined is not None:
        first, error = refined
        made.append(_judged(lines, first, float(np.log(0.5 / error)) + 1.0))
    return [one for one in made if one.mask.any()]


def _judged(lines: Lines, frequency: float, naming: float) -> _Tried:
    """Return a fundamental with its lines and its cost; folded harmonics double their number."""
    count = _count(frequency)
    whole = np.rint(lines.frequencies / frequency)
    straight = (np.abs(lines.frequencies - whole * frequency) <= lines.errors) & (whole >= 1)
    straight &= whole <= count
    seen = set(whole[straight].astype(int).tolist())
    if len(seen) == count:  # all are there, so that those next in order may be seen folded
        straight, count = _and_next(lines, frequency, straight)
        seen = set(range(1, count + 1))
    # Harmonics of over half a turn are seen folded, unless they fall on slower ones.
    turns = frequency * np.arange(count + 1.0, 2.0 * TWICE * count + 2.0)
    folded = np.abs(turns - np.rint(turns))
    apart = np.abs(lines.frequencies[:, None] - folded).min(axis=1)
    bent = (apart <= lines.errors) & ~straight
    naming += MARGIN if straight.sum() > 1 else 0.0
    plain = _Tried(frequency, straight, naming + _words(count, len(seen)))
    small = np.arange(2.0, SMALL + 1.0) / frequency  # so many periods are one of whole tokens
    if bent.sum() < 2 or np.abs(small - np.rint(small)).min() < HALVES:
        return plain
    words = naming + MARGIN + FOLDED + _words(2 * TWICE * count, int((straight | bent).sum()))
    both = _Tried(frequency, straight | bent, words)
    gained = float(_alone(lines)[bent].sum())
    return both if gained > both.cost - plain.cost else plain


def _and_next(
    lines: Lines, frequency: float, straight: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], int]:
    """Return lines of a fundamental with the next harmonics, seen folded, up to one that is none.

    No place is chosen among many, so that this takes no more words than harmonics do.
    """
    made = straight.copy()
    count = _count(frequency)
    while (count + 1) * frequency < 1.0:
        seen = float(_seen(np.array((count + 1) * frequency)))
        fresh = (np.abs(lines.frequencies - seen) <= lines.errors) & ~made
        if not fresh.any():
            break
        made |= fresh
        count += 1
    return made, count


def _words(places: int, lines: int) -> float:
    """Return ln binom(places, lines) + ln(places + 1)."""
    lines = min(lines, places)
    ways = gammaln(places + 1) - gammaln(lines + 1) - gammaln(places - lines + 1)
    return float(ways + np.log(places + 1.0))


def _by_lines(lines: Lines, frequency: float, reach: float) -> tuple[float, float] | None:
    """Return a fundamental and its error from the lines near its harmonics, low ones first."""
    for most in (4, 32, 256):
        whole = np.rint(lines.frequencies / frequency)
        allowed = lines.errors + np.minimum(whole * reach, lines.cell)
        near = (np.abs(lines.frequencies - whole * frequency) <= allowed) & (whole >= 1)
        near &= whole <= most * max(float(whole[near].min(initial=1.0)), 1.0)
        if not near.any():
            continue
        weights = (whole[near] / lines.errors[near]) ** 2
        frequency = float(weights @ (lines.frequencies[near] / whole[near]) / weights.sum())
        reach = float(1.0 / np.sqrt(weights.sum()))
    return (frequency, reach) if frequency >= SLOWEST * lines.cell else None


def _least(lines: Lines, tried: list[_Tried]) -> list[_Tried]:
    """Return the set of fundamentals of least cost: all sets of up to three, then one more each."""
    alone = _alone(lines)

    def cost(chosen: tuple[_Tried, ...]) -> float:
        covered = np.any([one.mask for one in chosen], axis=0)
        return sum(one.cost for one in chosen) + float(alone[~covered].sum())

    best: tuple[_Tried, ...] = ()
    least = float(alone.sum())
    pool = tried[: POOL // 2]
    if pool:  # and those that explain what the first does not
        free = ~pool[0].mask
        other = sorted(tried[POOL // 2 :], key=lambda one: one.cost - alone[one.mask & free].sum())
        pool = pool + other[: POOL // 2]
    for size in (1, 2, 3):
        for chosen in combinations(pool, size):
            now = cost(chosen)
            if now < least - 1e-9:
                best, least = chosen, now
    while best and len(best) < MOST:
        more = min(((cost((*best, one)), k) for k, one in enumerate(tried)), default=(least, 0))
        if more[0] >= least - 1e-9:
            break
        best, least = (*best, tried[more[1]]), more[0]
    return list(best)


def _lowest(lines: Lines, places: Whole) -> list[float]:
    """Return single lines, less those at a multiple of a lower one, which chance seldom makes."""
    kept: list[float] = []
    for place in places[np.argsort(lines.frequencies[places])]:
        line, error = float(lines.frequencies[place]), float(lines.errors[place])
        whole = [max(round(line / one), 1) for one in kept]
        near = [
            abs(line - n * one) <= error * (1.0 + n) and 2.0 * error * (1.0 + n) < STRAY * one
            for n, one in zip(whole, kept, strict=True)
        ]
        if not any(near):
            kept.append(line)
    return kept


def _shortened(lines: Lines, chosen: _Tried, others: list[_Tried]) -> _Tried:
    """Return a fundamental, or its multiple where only chance lines would speak for the slower one.

    Lines that others do not explain fall within their errors of a harmonic now and then.
    """
    whole = np.rint(lines.frequencies / chosen.frequency)
    free = ~np.any([one.mask for one in others], axis=0) if others else np.ones(len(lines), bool)
    for part in (2, 3, 5):
        kept = chosen.mask & (whole % part == 0)
        only = chosen.mask & free & (whole % part != 0)
        tried = free & ~kept
        if not kept.any() or part * chosen.frequency > 0.5 + lines.cell or len(chosen.folded):
            continue
        places = _count(chosen.frequency) * (1.0 - 1.0 / part)
        share = min(places * 4.0 * float(lines.errors[chosen.mask].mean()), 1.0)
        if not only.any() or binom.sf(only.sum() - 1, tried.sum(), share) > STRAY:
            words = _words(_count(part * chosen.frequency), int(kept.sum()))
            words -= _words(_count(chosen.frequency), int(chosen.mask.sum()))
            shorter = replace(
                chosen,
                frequency=part * chosen.frequency,
                mask=kept,
                cost=chosen.cost + words,
            )
            return _shortened(lines, shorter, others)
    return chosen


def _in_order(lines: Lines, chosen: _Tried) -> _Tried:
    """Return a fundamental, or its multiple where the sizes of lines fall in the order of that.

    Ten periods of 7.3 tokens are 73, so that whole lags show harmonics of 7.3 at those of 73, in
    another order. Each multiple d v that is prime to the period has all lines. That the stronger of
    two lines is the lower harmonic tells it: of m! orders few have so few pairs the other way, and
    the logarithm of how few is so much less to say.
    """
    numbers = np.rint(lines.frequencies / chosen.frequency).astype(np.int64)
    count = _count(chosen.frequency)
    if chosen.mask.sum() < ORDERED or len(chosen.folded):
        return chosen
    least = chosen.cost + np.log(_chance_of_order(numbers[chosen.mask])) - MARGIN
    best = chosen
    for times in range(2, count + 1):
        more = _followed(lines, times * chosen.frequency, any_period=True)
        if more is None or (chosen.mask & ~more.mask).any():
            continue
        own = _numbered(lines, more.frequency, 0.0, int(more.folded.max()))
        cost = more.cost + np.log(_chance_of_order(own[chosen.mask]))
        if cost < least:
            best, least = more, cost
    return best


def _chance_of_order(numbers: Whole) -> float:
    """Return how often numbers in a random order have no more pairs that fall."""
    pairs = int((np.triu(numbers[:, None] > numbers, 1)).sum())
    ways = np.ones(1)
    for more in range(2, len(numbers) + 1):
        ways = np.convolve(ways, np.full(more, 1.0 / more))
    return float(ways[: pairs + 1].sum())


def _as_two(spectrum: Spectrum, lines: Lines, chosen: _Tried) -> list[_Tried]:
    """Return a fundamental, or two of its harmonics where the lines are theirs and not its own.

    Any two periods have a longer one whose harmonics are within errors of theirs, or a shorter one
    whose harmonics are, as whole lags show those of over half a turn; and these errors are wide,
    since lines may hide beside others.
    """
    places = np.flatnonzero(chosen.mask)
    places = places[lines.sizes[places] >= SHARE * lines.sizes[places].max()]
    bent = bool(len(chosen.folded))
    slowest = float(lines.frequencies[places].min(initial=np.inf))
    if not 2 <= len(places) <= FEW or (slowest < 1.5 * chosen.frequency and not bent):
        return [chosen]
    pair = _pair_in_stead(spectrum, lines, chosen, places)
    if bent:
        masks = [np.isin(np.arange(len(lines)), group) for _, group in pair]
        made = [_Tried(pair[k][0], mask, chosen.cost) for k, mask in enumerate(masks)]
        return made or [chosen]
    found = [_by_lines(lines, first, 0.5 * lines.cell * SLOW) for first, _ in pair]
    made = [_judged(lines, one[0], chosen.cost) for one in found if one is not None]
    covered = np.any([two.mask for two in made], axis=0) if made else np.zeros(len(lines), bool)
    return made if len(made) == 2 and covered[chosen.mask].sum() >= len(places) else [chosen]


def _pair_in_stead(
    spectrum: Spectrum, lines: Lines, chosen: _Tried, places: Whole
) -> list[tuple[float, Whole]]:
    """Return two lines, each with the places of its multiples, that fit better than a fundamental.

    All lines are fitted at once: the two are told where they leave less than the one does by as
    much as a line stands above its background, and hardly more than lines anywhere do.
    """
    own, powers = lines.frequencies[places], lines.sizes[places] ** 2
    others = np.delete(lines.frequencies, places)

    def left(placed: list[Floats]) -> float:
        nothing = np.empty((len(spectrum.lags), 0))
        return left_by(spectrum, list(np.concatenate([others, *placed])), nothing)

    def multiples(group: NDArray[np.bool_], first: float) -> Floats:
        """Return where lines of a group are as multiples of the frequency that fits them best."""
        numbers = np.rint(own[group] / first)
        best = float(powers[group] * numbers @ own[group]) / float(
            powers[group] * numbers @ numbers
        )
        return np.minimum(numbers * best, 0.5)

    free = left([own])
    if len(chosen.folded):
        numbers = _numbered(lines, chosen.frequency, 0.0, int(chosen.folded.max()))
        frequency, _ = _unwrapped(lines, np.where(chosen.mask, numbers, 0), chosen.frequency)
        one = left([_seen(frequency * numbers[places].astype(np.float64))])
    else:
        one = left([multiples(np.ones(len(own), dtype=bool), chosen.frequency)])
    least, best = one - LINE * float((spectrum.window**2).sum()) * free, []
    for pair in combinations(np.sort(own), 2):
        groups = _dealt_to(lines, places, pair, nearest=bool(len(chosen.folded)))
        if groups is None:
            continue
        two = left([multiples(group, line) for group, line in zip(groups, pair, strict=True)])
        if two < least and two - free <= 0.5 * (one - free):
            least = two
            best = [(float(v), places[group]) for v, group in zip(pair, groups, strict=True)]
    return best


def _dealt_to(
    lines: Lines, places: Whole, pair: tuple[Any, ...], *, nearest: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which lines are multiples of each of two, None where some are of neither.

    What is a multiple of both is the first one's, or the nearest one's.
    """
    own, errors = lines.frequencies[places], lines.errors[places]
    whole = [np.maximum(np.rint(own / line), 1.0) for line in pair]
    apart = [
        np.abs(own - n * line) / (errors + n * errors.min())
        for n, line in zip(whole, pair, strict=True)
    ]
    first, second = (one <= 1.0 for one in apart)
    if nearest:
        first &= apart[0] <= apart[1]
    if not (first | second).all() or first[own == pair[1]].any():
        return None
    return first, second & ~first


def _near(lines: Lines, frequency: float, folded: Whole | None = None) -> _Near:
    """Return a fundamental with the harmonics that are lines."""
    bent = np.empty(0, dtype=np.int64) if folded is None else folded
    whole = np.union1d(np.arange(1.0, np.ceil(1.0 / frequency) + 1.0), bent)
    apart = np.abs(lines.frequencies[:, None] - _seen(frequency * whole)).min(axis=1)
    return _Near(
        frequency,
        _harmonics(lines, frequency),
        folded=bent,
        foreign=lines.frequencies[apart > 2.0 * lines.errors],
        reach=APART * lines.cell,
    )


def _longer(left: Spectrum, lines: Lines, near: _Near, others: list[_Near]) -> _Near:
    """Return the fundamental, or a half or third of it, where harmonics of that are told together.

    What is a harmonic of another fundamental, or beside one, is not counted; nor are lines.
    """
    frequency, size = near.frequency, _sizes(lines, near).sum()
    for part in (2, 3):
        first = frequency / part
        if first < SLOWEST * lines.cell:
            continue
        whole = np.arange(1, _count(first) + 1)
        places = np.minimum(first * whole[whole % part != 0], 0.5)
        known = np.concatenate([_known(one) for one in (*others, near)])
        known = np.concatenate([known, lines.frequencies])
        places = places[np.abs(places[:, None] - known).min(axis=1) >= APART * lines.cell]
        there = left.lines(left.values, places).clip(min=0.0).sum() if len(places) else 0.0
        if there >= SHARE * size and chi2.sf(left.ratio_at(places).sum(), len(places)) < OCTAVE:
            return _near(lines, first)
    return near


def _known(near: _Near) -> Floats:
    """Return where harmonics of a fundamental are, folded ones as far as there are lines."""
    last = max(int(near.folded.max(initial=0)), _count(near.frequency) + 1)
    return _seen(near.frequency * np.arange(1.0, last + 1.0))


def _harmonics(lines: Lines, frequency: float) -> Whole:
    """Return which harmonics of a fundamental are lines."""
    whole = np.rint(lines.frequencies / frequency).astype(np.int64)
    near = np.abs(lines.frequencies - whole * frequency) <= 2.0 * lines.errors
    found = np.unique(whole[near & (whole >= 1) & (whole <= _count(frequency))])
    return found if len(found) else np.ones(1, dtype=np.int64)


def _sizes(lines: Lines, near: _Near) -> Floats:
    """Return the sizes of the lines nearest to its harmonics."""
    apart = np.abs(lines.frequencies[:, None] - near.frequency * near.harmonics)
    return np.asarray(lines.sizes[np.argmin(apart, axis=0)])


def _power(lines: Lines, near: _Near) -> float:
    return float((_sizes(lines, near) ** 2).sum())


def _factors(lines: Lines, near: _Near) -> list[_Near]:
    """Return the two periods that a comb is the product of, and what is left; or the comb.

    Sizes of harmonics that have nothing to do with each other are as squares of complex normal
    numbers, so that the ratio of two means has a law of F.
    """
    count, sizes = _count(near.frequency), np.zeros(_count(near.frequency))
    sizes[near.harmonics - 1] = _sizes(lines, near)
    whole = np.arange(1, count + 1)
    steps = [
        step for step in range(2, count + 1) if abs(1.0 / near.frequency / step % 1.0 - 0.5) > 0.49
    ]
    best: tuple[float, tuple[int, int] | None] = (CHANCE, None)
    least = 0.5 * float(lines.sizes.min())  # what is no line is less than any
    for pair in combinations(steps, 2):
        groups = [(whole % step == 0) & (whole % other != 0) for step, other in (pair, pair[::-1])]
        rest = (whole % pair[0] != 0) & (whole % pair[1] != 0)
        if np.gcd(*pair) != 1 or not rest.any() or not (groups[0].any() and groups[1].any()):
            continue
        mean = max(float(sizes[rest].mean()), least)
        odds = [
            f_law.sf(sizes[one].mean() / mean, 2 * one.sum(), 2 * rest.sum())
            for one in (*groups, groups[0] | groups[1])
        ]
        if max(odds[:2]) < 0.05 and odds[2] < best[0]:
            best = float(odds[2]), pair
    return [near] if best[1] is None else _split(near, best[1])


def _split(near: _Near, steps: tuple[int, int]) -> list[_Near]:
    """Return the combs of two periods inside of a longer one, and the sums of their frequencies."""
    made = []
    left = np.ones(len(near.harmonics), dtype=bool)
    for step in steps:
        there = (near.harmonics % step == 0) & left
        if there.any():
            made.append(_Near(near.frequency * step, near.harmonics[there] // step))
        left &= ~there
    periods = tuple(1.0 / (near.frequency * step) for step in steps)
    if left.any():
        made.append(_Near(near.frequency, near.harmonics[left], periods))
    return made


def _without_sums(lines: Lines, made: list[_Near]) -> list[_Near]:
    """Return combs; what is at i u + j v of two stronger fundamentals is named as that."""
    named: list[_Near] = []
    for near in sorted(made, key=lambda one: -_power(lines, one)):
        periods = near.product
        if not periods and len(near.harmonics) == 1:
            line = near.frequency * int(near.harmonics[0])
            place = int(np.argmin(np.abs(lines.frequencies - line)))
            periods = _sum_of(line, float(lines.errors[place]), named)
        elif not periods:
            periods = _product_of(near, named)
        named.append(replace(near, product=periods))
    return named


def _product_of(near: _Near, strong: list[_Near]) -> tuple[float, ...]:
    """Return the two stronger periods whose product a comb's period is, or none."""
    for one, other in combinations([comb for comb in strong if not comb.product], 2):
        steps = one.frequency / near.frequency, other.frequency / near.frequency
        whole = round(steps[0]), round(steps[1])
        if min(whole) < 2:
            continue
        exact = max(abs(step / n - 1.0) for step, n in zip(steps, whole, strict=True))
        if exact < 1e-3 and np.gcd(*whole) == 1:
            return 1.0 / one.frequency, 1.0 / other.frequency
    return ()


def _sum_of(line: float, error: float, strong: list[_Near]) -> tuple[float, ...]:
    """Return the two periods whose frequencies add up to a line, each times a few, or none."""
    few = np.arange(-ORDER, ORDER + 1)
    few = few[few != 0]
    for one, other in combinations([near for near in strong if not near.product], 2):
        sums = np.abs(few[:, None] * one.frequency + few[None, :] * other.frequency)
        sums = np.abs(sums - np.rint(sums))
        if np.abs(sums - line).min() <= error:
            return 1.0 / one.frequency, 1.0 / other.frequency
    return ()


def _taken(kernel: LagKernel, spectrum: Spectrum, near: _Near) -> tuple[Comb, LagKernel] | None:
    """Return the comb near a fundamental with some lines, and the kernel without it.

    None where it is gone by the second half of the lags, or has changed its sign there.
    """
    first, lines = near.frequency, near.harmonics
    teeth, weights = _weighted(spectrum, first, lines)
    frequency = _refined(spectrum, spectrum.values, first, teeth, weights)
    moved = [_refined(spectrum, one, frequency, teeth, weights) for one in spectrum.replicates]
    decays = np.array([_decay(spectrum, one, frequency * teeth) for one in spectrum.replicates])
    decay = _decay(spectrum, spectrum.values, frequency * teeth)
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
    harmonics, least = tuple(lines.tolist()), EXACT * spectrum.cell / float(teeth.max())
    comb = Comb(frequency, decay, harmonics, sizes, np.array(moved), decays, rate, least)
    return replace(comb, product=near.product), rest


def fundamental_of(spectrum: Spectrum, comb: Comb) -> float:
    """Return the fundamental near that of a comb, in another spectrum."""
    teeth, weights = _weighted(spectrum, comb.frequency, np.array(comb.harmonics))
    return _refined(spectrum, spectrum.values, comb.frequency, teeth, weights)


def _weighted(spectrum: Spectrum, first: float, lines: Whole) -> tuple[Floats, Floats]:
    """Return the lines that a fundamental is refined over, and their weights."""
    teeth = _slow(spectrum, first, lines.astype(np.float64))
    weights = 1.0 / np.maximum(spectrum.lines(spectrum.values, first * teeth) ** 2, 1e-300)
    return teeth, weights * spectrum.ratio_at(np.minimum(first * teeth, 0.5))


def _slow(spectrum: Spectrum, first: float, lines: Floats) -> Floats:
    """Return the lines of up to a quarter turn, where they tell enough, or all of them.

    Of a period that is no whole number harmonics of over half a turn lie beside those of less, at
    whole lags, and would draw the period to a whole number; slow ones are small there.
    """
    told = lines**2 * spectrum.ratio_at(np.minimum(first * lines, 0.5))
    slow = lines * first <= SLOW
    return lines[slow] if told[slow].sum() > 0.1 * told.sum() else lines


def _all(spectrum: Spectrum, near: _Near) -> tuple[Floats, Whole]:
    """Return all harmonics up to a turn and their numbers, less those that look like others.

    At whole lags h v and 1 - h v are the same: for a whole period both are harmonics, for others
    there are lines between. A harmonic beside a line of others is not told from it.
    """
    count = _count(near.frequency)
    below = np.arange(1, count + 1)
    numbers = [int(whole) for whole in below[~near.beside_others(below)]]
    above = np.arange(count + 1, int(1.0 / near.frequency) + 1)
    for whole in np.union1d(above, near.folded)[
        ~near.beside_others(np.union1d(above, near.folded))
    ]:
        seen = _seen(near.frequency * np.array([int(whole), *numbers], dtype=np.float64))
        if min(float(np.abs(seen[1:] - seen[0]).min()), float(seen[0])) > APART * spectrum.cell:
            numbers.append(int(whole))
    return near.frequency * np.array(numbers, dtype=np.float64), np.array(numbers)


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
