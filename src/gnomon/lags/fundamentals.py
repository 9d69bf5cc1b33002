r"""Which fundamentals explain the lines of a spectrum, in the fewest words.

A mark that stands at every 61st place has 30 harmonics of equal size, too many and too close for a
Hankel matrix of 128 lags, yet one number, the period, says where all of them are. All lines of the
kernel's spectrum (`gnomon.lags.spectrum`) are explained together, by the fewest words: a set of
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
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom, chi2
from scipy.stats import f as f_law

from gnomon.lags.spectrum import APART, SLOWEST, Lines, Spectrum, left_by
from gnomon.lags.token_line import Floats, Integers

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


@dataclass(frozen=True, eq=False)
class Fundamental:
    """A fundamental near which a comb is, the harmonics that are lines, and what it is made of."""

    frequency: float
    harmonics: Integers
    product: tuple[float, ...] = ()
    folded: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
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
        return alias(self.frequency * whole[~self.beside_others(whole)])

    def beside_others(self, whole: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which multiples are no lines and stand beside lines of others."""
        seen = alias(np.asarray(self.frequency * whole, dtype=np.float64))
        near = np.abs(seen[:, None] - self.foreign).min(axis=1, initial=np.inf) < self.reach
        return np.asarray(near & ~np.isin(whole, np.union1d(self.harmonics, self.folded)))


def alias(turns: Floats) -> Floats:
    """Return frequencies as whole lags show them, at most half a turn a token."""
    return np.asarray(np.abs(turns - np.rint(turns)))


def explain_lines(whole: Spectrum, left_over: Spectrum, lines: Lines) -> list[Fundamental]:
    """Return the combs that explain all lines, the strongest first; `left_over` has none."""
    tried = _candidates(lines)
    chosen = _least(lines, tried)
    chosen = [_shorten(lines, one, [two for two in chosen if two is not one]) for one in chosen]
    chosen = [_in_order(lines, one) for one in chosen]
    chosen = [two for one in chosen for two in _as_two(whole, lines, one)]
    left = ~np.any([one.mask for one in chosen], axis=0) if chosen else np.ones(len(lines), bool)
    known = [_fundamental(lines, one.frequency, one.folded) for one in chosen]
    single = [_fundamental(lines, one) for one in _lowest(lines, np.flatnonzero(left))]
    own = [_longer(left_over, lines, near, known) for near in (*known, *single)]
    made = list({near.frequency: near for near in own}.values())
    made.sort(key=lambda near: -_power(lines, near))
    parts = [part for near in made for part in _factors(lines, near)]
    return _without_sums(lines, parts)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A fundamental, the lines it has, and what it costs to say so."""

    frequency: float
    mask: NDArray[np.bool_]
    cost: float
    folded: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def _candidates(lines: Lines) -> list[_Candidate]:
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
    found: dict[bytes, tuple[float, _Candidate]] = {}
    for frequency, reach in starts:
        for one in _variants(lines, frequency, reach):
            saved = float(_cost_alone(lines)[one.mask].sum()) - one.cost
            key = np.packbits(one.mask).tobytes()
            if saved > 0.0 and (key not in found or saved > found[key][0]):
                found[key] = saved, one
    ranked = [one for _, one in sorted(found.values(), key=lambda pair: -pair[0])]
    return _with_folded(lines, ranked)


def _with_folded(lines: Lines, ranked: list[_Candidate]) -> list[_Candidate]:
    """Return fundamentals, those first that save most, the best of them also followed further.

    Tried are their multiples, too: a fundamental may have saved more by lines of its multiples.
    """
    best = {np.packbits(one.mask).tobytes(): one for one in ranked}
    for one in ranked[: POOL // 2]:
        for times in (1, 2, 3):
            more = _follow(lines, min(times * one.frequency, 0.5))
            if more is not None:
                key = np.packbits(more.mask).tobytes()
                best[key] = min(best.get(key, more), more, key=lambda tried: tried.cost)
    alone = _cost_alone(lines)
    return sorted(best.values(), key=lambda one: one.cost - float(alone[one.mask].sum()))


def _follow(lines: Lines, frequency: float, *, any_period: bool = False) -> _Candidate | None:
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
    count, limit = harmonic_count(first), harmonic_count(first)
    numbers = _number_lines(lines, first, reach, limit)
    while limit < FOLLOWED * count and 2 * limit * reach <= lines.cell and numbers.any():
        limit *= 2
        numbers = _number_lines(lines, first, reach, limit)
        first, reach = _unwrap(lines, numbers, first)
    whole = np.arange(2.0, SMALL + 1.0) / first  # so many periods are one of whole tokens
    unsure = np.maximum(whole * reach / first, 1e-9)
    mask, last = numbers > 0, int(numbers.max(initial=0))
    bent = np.unique(numbers[numbers > count])
    near = np.abs(whole - np.rint(whole)) <= unsure
    if len(bent) < 2 or (near.any() and not any_period):
        return None
    words = float(np.log(0.5 / reach)) + 1.0 + MARGIN + FOLDED
    return _Candidate(first, mask, words + _words(last, int(mask.sum())), bent)


def _number_lines(lines: Lines, frequency: float, reach: float, limit: int) -> Integers:
    """Return which harmonic each line is, the lowest of those near it, 0 for none."""
    whole = np.arange(1, limit + 1)
    seen = alias(np.asarray(frequency * whole, dtype=np.float64))
    apart = np.abs(lines.frequencies[:, None] - seen)
    near = apart <= lines.errors[:, None] + np.minimum(whole * reach, lines.cell)
    return np.where(near.any(axis=1), whole[np.argmax(near, axis=1)], 0)


def _unwrap(lines: Lines, numbers: Integers, frequency: float) -> tuple[float, float]:
    """Return a fundamental and its error from lines whose harmonics are known, folded or not."""
    known = numbers > 0
    whole = numbers[known].astype(np.float64)
    turns = frequency * whole
    sign = np.where(turns >= np.rint(turns), 1.0, -1.0)
    straight = np.rint(turns) + sign * lines.frequencies[known]
    weights = (whole / lines.errors[known]) ** 2
    first = float(weights @ (straight / whole) / weights.sum())
    return first, float(1.0 / np.sqrt(weights.sum()))


def _cost_alone(lines: Lines) -> Floats:
    """Return what it costs to name each line by itself."""
    return np.asarray(np.log(0.5 / lines.errors) + 1.0)


def _variants(lines: Lines, frequency: float, reach: float) -> list[_Candidate]:
    """Return a fundamental, refined by its lines, and as a whole number of tokens if it is near."""
    made = []
    nearest = round(1.0 / frequency)
    refined = _by_lines(lines, frequency, reach)
    if abs(nearest * frequency - 1.0) * frequency <= reach * nearest * frequency + 1e-12:
        naming = float(np.log(1.0 / lines.cell))
        whole = _judge(lines, 1.0 / nearest, naming)
        # Any lines have a long whole period: without a line of its own it saves no words.
        own = np.abs(lines.frequencies - 1.0 / nearest) <= 2.0 * lines.errors
        more = 0.0 if refined is None else float(np.log(0.5 / refined[1])) + 1.0 - naming
        made.append(whole if own.any() else replace(whole, cost=whole.cost + max(more, 0.0)))
    if refined is not None:
        first, error = refined
        made.append(_judge(lines, first, float(np.log(0.5 / error)) + 1.0))
    return [one for one in made if one.mask.any()]


def _judge(lines: Lines, frequency: float, naming: float) -> _Candidate:
    """Return a fundamental with its lines and its cost; folded harmonics double their number."""
    count = harmonic_count(frequency)
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
    plain = _Candidate(frequency, straight, naming + _words(count, len(seen)))
    small = np.arange(2.0, SMALL + 1.0) / frequency  # so many periods are one of whole tokens
    if bent.sum() < 2 or np.abs(small - np.rint(small)).min() < HALVES:
        return plain
    words = naming + MARGIN + FOLDED + _words(2 * TWICE * count, int((straight | bent).sum()))
    both = _Candidate(frequency, straight | bent, words)
    gained = float(_cost_alone(lines)[bent].sum())
    return both if gained > both.cost - plain.cost else plain


def _and_next(
    lines: Lines, frequency: float, straight: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], int]:
    """Return lines of a fundamental with the next harmonics, seen folded, up to one that is none.

    No place is chosen among many, so that this takes no more words than harmonics do.
    """
    made = straight.copy()
    count = harmonic_count(frequency)
    while (count + 1) * frequency < 1.0:
        seen = float(alias(np.array((count + 1) * frequency)))
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


def _least(lines: Lines, tried: list[_Candidate]) -> list[_Candidate]:
    """Return the set of fundamentals of least cost: all sets of up to three, then one more each."""
    alone = _cost_alone(lines)

    def cost(chosen: tuple[_Candidate, ...]) -> float:
        covered = np.any([one.mask for one in chosen], axis=0)
        return sum(one.cost for one in chosen) + float(alone[~covered].sum())

    best: tuple[_Candidate, ...] = ()
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


def _lowest(lines: Lines, places: Integers) -> list[float]:
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


def _shorten(lines: Lines, chosen: _Candidate, others: list[_Candidate]) -> _Candidate:
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
        places = harmonic_count(chosen.frequency) * (1.0 - 1.0 / part)
        share = min(places * 4.0 * float(lines.errors[chosen.mask].mean()), 1.0)
        if not only.any() or binom.sf(only.sum() - 1, tried.sum(), share) > STRAY:
            words = _words(harmonic_count(part * chosen.frequency), int(kept.sum()))
            words -= _words(harmonic_count(chosen.frequency), int(chosen.mask.sum()))
            shorter = replace(
                chosen,
                frequency=part * chosen.frequency,
                mask=kept,
                cost=chosen.cost + words,
            )
            return _shorten(lines, shorter, others)
    return chosen


def _in_order(lines: Lines, chosen: _Candidate) -> _Candidate:
    """Return a fundamental, or its multiple where the sizes of lines fall in the order of that.

    Ten periods of 7.3 tokens are 73, so that whole lags show harmonics of 7.3 at those of 73, in
    another order. Each multiple d v that is prime to the period has all lines. That the stronger of
    two lines is the lower harmonic tells it: of m! orders few have so few pairs the other way, and
    the logarithm of how few is so much less to say.
    """
    numbers = np.rint(lines.frequencies / chosen.frequency).astype(np.int64)
    count = harmonic_count(chosen.frequency)
    if chosen.mask.sum() < ORDERED or len(chosen.folded):
        return chosen
    least = chosen.cost + np.log(_chance_of_order(numbers[chosen.mask])) - MARGIN
    best = chosen
    for times in range(2, count + 1):
        more = _follow(lines, times * chosen.frequency, any_period=True)
        if more is None or (chosen.mask & ~more.mask).any():
            continue
        own = _number_lines(lines, more.frequency, 0.0, int(more.folded.max()))
        cost = more.cost + np.log(_chance_of_order(own[chosen.mask]))
        if cost < least:
            best, least = more, cost
    return best


def _chance_of_order(numbers: Integers) -> float:
    """Return how often numbers in a random order have no more pairs that fall."""
    pairs = int((np.triu(numbers[:, None] > numbers, 1)).sum())
    ways = np.ones(1)
    for more in range(2, len(numbers) + 1):
        ways = np.convolve(ways, np.full(more, 1.0 / more))
    return float(ways[: pairs + 1].sum())


def _as_two(spectrum: Spectrum, lines: Lines, chosen: _Candidate) -> list[_Candidate]:
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
        made = [_Candidate(pair[k][0], mask, chosen.cost) for k, mask in enumerate(masks)]
        return made or [chosen]
    found = [_by_lines(lines, first, 0.5 * lines.cell * SLOW) for first, _ in pair]
    made = [_judge(lines, one[0], chosen.cost) for one in found if one is not None]
    covered = np.any([two.mask for two in made], axis=0) if made else np.zeros(len(lines), bool)
    return made if len(made) == 2 and covered[chosen.mask].sum() >= len(places) else [chosen]


def _pair_in_stead(
    spectrum: Spectrum, lines: Lines, chosen: _Candidate, places: Integers
) -> list[tuple[float, Integers]]:
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
        numbers = _number_lines(lines, chosen.frequency, 0.0, int(chosen.folded.max()))
        frequency, _ = _unwrap(lines, np.where(chosen.mask, numbers, 0), chosen.frequency)
        one = left([alias(frequency * numbers[places].astype(np.float64))])
    else:
        one = left([multiples(np.ones(len(own), dtype=bool), chosen.frequency)])
    least, best = one - LINE * float((spectrum.window**2).sum()) * free, []
    for pair in combinations(np.sort(own), 2):
        groups = _assign(lines, places, pair, nearest=bool(len(chosen.folded)))
        if groups is None:
            continue
        two = left([multiples(group, line) for group, line in zip(groups, pair, strict=True)])
        if two < least and two - free <= 0.5 * (one - free):
            least = two
            best = [(float(v), places[group]) for v, group in zip(pair, groups, strict=True)]
    return best


def _assign(
    lines: Lines, places: Integers, pair: tuple[Any, ...], *, nearest: bool
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


def _fundamental(lines: Lines, frequency: float, folded: Integers | None = None) -> Fundamental:
    """Return a fundamental with the harmonics that are lines."""
    bent = np.empty(0, dtype=np.int64) if folded is None else folded
    whole = np.union1d(np.arange(1.0, np.ceil(1.0 / frequency) + 1.0), bent)
    apart = np.abs(lines.frequencies[:, None] - alias(frequency * whole)).min(axis=1)
    return Fundamental(
        frequency,
        _harmonics(lines, frequency),
        folded=bent,
        foreign=lines.frequencies[apart > 2.0 * lines.errors],
        reach=APART * lines.cell,
    )


def _longer(
    left: Spectrum, lines: Lines, near: Fundamental, others: list[Fundamental]
) -> Fundamental:
    """Return the fundamental, or a half or third of it, where harmonics of that are told together.

    What is a harmonic of another fundamental, or beside one, is not counted; nor are lines.
    """
    frequency, size = near.frequency, _sizes(lines, near).sum()
    for part in (2, 3):
        first = frequency / part
        if first < SLOWEST * lines.cell:
            continue
        whole = np.arange(1, harmonic_count(first) + 1)
        places = np.minimum(first * whole[whole % part != 0], 0.5)
        known = np.concatenate([_places_of(one) for one in (*others, near)])
        known = np.concatenate([known, lines.frequencies])
        places = places[np.abs(places[:, None] - known).min(axis=1) >= APART * lines.cell]
        there = left.lines(left.values, places).clip(min=0.0).sum() if len(places) else 0.0
        if there >= SHARE * size and chi2.sf(left.ratio_at(places).sum(), len(places)) < OCTAVE:
            return _fundamental(lines, first)
    return near


def _places_of(near: Fundamental) -> Floats:
    """Return where harmonics of a fundamental are, folded ones as far as there are lines."""
    last = max(int(near.folded.max(initial=0)), harmonic_count(near.frequency) + 1)
    return alias(near.frequency * np.arange(1.0, last + 1.0))


def _harmonics(lines: Lines, frequency: float) -> Integers:
    """Return which harmonics of a fundamental are lines."""
    whole = np.rint(lines.frequencies / frequency).astype(np.int64)
    near = np.abs(lines.frequencies - whole * frequency) <= 2.0 * lines.errors
    found = np.unique(whole[near & (whole >= 1) & (whole <= harmonic_count(frequency))])
    return found if len(found) else np.ones(1, dtype=np.int64)


def _sizes(lines: Lines, near: Fundamental) -> Floats:
    """Return the sizes of the lines nearest to its harmonics."""
    apart = np.abs(lines.frequencies[:, None] - near.frequency * near.harmonics)
    return np.asarray(lines.sizes[np.argmin(apart, axis=0)])


def _power(lines: Lines, near: Fundamental) -> float:
    return float((_sizes(lines, near) ** 2).sum())


def _factors(lines: Lines, near: Fundamental) -> list[Fundamental]:
    """Return the two periods that a comb is the product of, and what is left; or the comb.

    Sizes of harmonics that have nothing to do with each other are as squares of complex normal
    numbers, so that the ratio of two means has a law of F.
    """
    count, sizes = harmonic_count(near.frequency), np.zeros(harmonic_count(near.frequency))
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


def _split(near: Fundamental, steps: tuple[int, int]) -> list[Fundamental]:
    """Return the combs of two periods inside of a longer one, and the sums of their frequencies."""
    made = []
    left = np.ones(len(near.harmonics), dtype=bool)
    for step in steps:
        there = (near.harmonics % step == 0) & left
        if there.any():
            made.append(Fundamental(near.frequency * step, near.harmonics[there] // step))
        left &= ~there
    periods = tuple(1.0 / (near.frequency * step) for step in steps)
    if left.any():
        made.append(Fundamental(near.frequency, near.harmonics[left], periods))
    return made


def _without_sums(lines: Lines, made: list[Fundamental]) -> list[Fundamental]:
    """Return combs; what is at i u + j v of two stronger fundamentals is named as that."""
    named: list[Fundamental] = []
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


def _product_of(near: Fundamental, strong: list[Fundamental]) -> tuple[float, ...]:
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


def _sum_of(line: float, error: float, strong: list[Fundamental]) -> tuple[float, ...]:
    """Return the two periods whose frequencies add up to a line, each times a few, or none."""
    few = np.arange(-ORDER, ORDER + 1)
    few = few[few != 0]
    for one, other in combinations([near for near in strong if not near.product], 2):
        sums = np.abs(few[:, None] * one.frequency + few[None, :] * other.frequency)
        sums = np.abs(sums - np.rint(sums))
        if np.abs(sums - line).min() <= error:
            return 1.0 / one.frequency, 1.0 / other.frequency
    return ()


def harmonic_count(frequency: float) -> int:
    """Return how many harmonics there are up to half a turn per token."""
    return max(int(0.5 / frequency + 1e-2), 1)
