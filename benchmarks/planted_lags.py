"""Corpora whose dependence on the lag is known: periods, half-lives, long memory, and none.

Every kind returns documents of token numbers with the truth: the periods that are planted, and
others that it would be no error to name (a bar that holds a beat, the product of two periods).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Planted:
    """Documents, the periods in them, and which others may be named."""

    documents: list[Any]
    periods: tuple[float, ...] = ()
    allowed: tuple[float, ...] = ()
    near: tuple[float, float] | None = None
    """Where a mean length has no period of its own: what may be named, from and to."""
    order: bool = True
    """Whether tokens depend on each other at all."""
    half_life: float | None = None
    """Of covariances, where they fall as one exponential."""
    law: str | None = None
    """The law of the tail that must not be mistaken, or None."""
    weak: bool = False
    """Whether so little is planted that not finding it is no error."""


def draw(rng, laws):
    """Draw a type from each law of an array (..., types)."""
    edges = laws.cumsum(axis=-1)
    drawn = (rng.random((*laws.shape[:-1], 1)) > edges).sum(axis=-1)
    return drawn.clip(max=laws.shape[-1] - 1)


def zipf(rng, length, types):
    law = 1.0 / np.arange(1, types + 1)
    return rng.choice(types, p=law / law.sum(), size=length)


def cyclic(rng, period, *, documents, length, types=20, strength=1.0, aligned=False):
    """A law for each place of a period; documents begin anywhere in it, or all at its beginning."""
    laws = rng.dirichlet(np.full(types, 0.5), size=period)
    laws = strength * laws + (1.0 - strength) * laws.mean(axis=0)
    start = np.zeros((documents, 1), int) if aligned else rng.integers(period, size=(documents, 1))
    return list(draw(rng, laws[(start + np.arange(length)) % period]))


def wave(rng, period, *, documents, length, types=12, size=0.6):
    """A law that turns smoothly: one harmonic, of any period."""
    base = rng.dirichlet(np.full(types, 3.0))
    phases = rng.uniform(0.0, 2.0 * np.pi, types)
    turns = 2.0 * np.pi * (rng.uniform(0.0, period, (documents, 1)) + np.arange(length)) / period
    laws = base * (1.0 + size * np.cos(turns[..., None] + phases))
    return list(draw(rng, laws / laws.sum(axis=-1, keepdims=True)))


def marked(rng, width, *, documents, length, types=60):
    """Lines of a width that end in a mark 0; documents begin anywhere in a line."""
    made = []
    for _ in range(documents):
        text, place = zipf(rng, length, types) + 1, rng.uniform(0, width) + np.arange(length)
        text[np.floor((place + 1) / width) > np.floor(place / width)] = 0
        made.append(text)
    return made


def staying(rng, half_life, *, documents, length, types=8, seen=1.0):
    """A state stays or is drawn anew, by half every half-life; a share of tokens shows it."""
    made = []
    for _ in range(documents):
        kept = rng.random(length) < 2.0 ** (-1.0 / half_life)
        held = np.maximum.accumulate(np.where(kept, 0, np.arange(length)))
        state = rng.integers(types, size=length)[held]
        shown = rng.random(length) < seen
        made.append(np.where(shown, state, rng.integers(types, size=length)))
    return made


def runs(rng, tail, *, documents, length, types=4):
    """States held for runs with P(run > t) = t^-tail: covariances fall as t^(1 - tail)."""
    made = []
    for _ in range(documents):
        held = np.ceil(rng.random(length) ** (-1.0 / tail)).astype(int).clip(max=10 * length)
        line = np.repeat(rng.integers(types, size=length), held)
        start = rng.integers(len(line) - length + 1)
        made.append(line[start : start + length])
    return made


def bars(rng, *, documents=150, length=400, keep=0.8):
    """A mark at each of four beats, another one where a bar of sixteen begins."""
    made = []
    for _ in range(documents):
        place = (rng.integers(16) + np.arange(length)) % 16
        beat = (place % 4 == 0) & (rng.random(length) < keep)
        text = np.where(beat, 1, rng.integers(2, 12, size=length))
        made.append(np.where((place == 0) & (rng.random(length) < keep), 0, text))
    return made


def phrases(rng, *, documents=100, count=48):
    """Measures of eight that return after two or three of them, never after one."""
    made = []
    for _ in range(documents):
        measures = list(rng.integers(12, size=(3, 8)))
        for _ in range(count - 3):
            again = measures[-2] if rng.random() < 0.6 else measures[-3]
            last = measures[-1]
            fresh = rng.integers(12, size=8)
            text = np.where(rng.random(8) < 0.7, again, fresh)
            measures.append(np.where(text == last, rng.integers(12, size=8), text))
        made.append(np.concatenate(measures)[rng.integers(8) :])
    return made


def channels(rng, *, documents=100, length=1600, count=8, turns=24, size=0.6):
    """Eight measurements in turn, each with a day of 24 turns: 192 tokens."""
    types = 12
    base = rng.dirichlet(np.full(types, 1.0), size=count)
    phases = rng.uniform(0.0, 2.0 * np.pi, (count, types))
    place = rng.integers(count * turns, size=(documents, 1)) + np.arange(length)
    angle = 2.0 * np.pi * ((place // count) % turns) / turns
    laws = base[place % count] * (1.0 + size * np.cos(angle[..., None] + phases[place % count]))
    return list(draw(rng, laws / laws.sum(axis=-1, keepdims=True)))


def table_of_channels(rng, *, documents=100, length=1600, count=8, turns=24):
    """Eight measurements in turn, each with a law of its own for each of 24 turns."""
    laws = rng.dirichlet(np.full(12, 0.5), size=(count, turns))
    place = rng.integers(count * turns, size=(documents, 1)) + np.arange(length)
    return list(draw(rng, laws[place % count, (place // count) % turns]))


def mixed(rng, one, other, *, documents=200, length=500, types=16):
    """Each token follows one of two periods, which have nothing to do with each other."""
    first = np.stack(cyclic(rng, one, documents=documents, length=length, types=types))
    second = np.stack(cyclic(rng, other, documents=documents, length=length, types=types))
    return list(np.where(rng.random(first.shape) < 0.5, first, second))


def product(rng, one, other, *, documents=200, length=700, types=12):
    """The law of a token is the product of two, one for each of two periods."""
    parts = [rng.dirichlet(np.full(types, 1.0), size=period) for period in (one, other)]
    laws = 1.0
    for part, period in zip(parts, (one, other), strict=True):
        laws = laws * part[(rng.integers(period, size=(documents, 1)) + np.arange(length)) % period]
    return list(draw(rng, laws / laws.sum(axis=-1, keepdims=True)))


def ragged(rng, low, high, *, documents=80, length=1200):
    """Lines of any length from low to high, which end in a mark."""
    made = []
    for _ in range(documents):
        text = zipf(rng, length, 60) + 1
        ends = np.cumsum(rng.integers(low, high + 1, size=length // low)) - rng.integers(low)
        text[ends[(ends >= 0) & (ends < length)]] = 0
        made.append(text)
    return made


def wandering(rng, period, spread, *, documents=150, length=500):
    """A mark about every period, whose phase wanders: a turn that falls."""
    made = []
    for _ in range(documents):
        phase = rng.uniform() + np.cumsum(1.0 / period + spread * rng.normal(size=length))
        law = 0.5 + 0.45 * np.cos(2.0 * np.pi * phase)
        made.append(np.where(rng.random(length) < law, 0, rng.integers(1, 6, size=length)))
    return made


def topics(rng, *, documents=200, low=300, high=300, types=12, concentration=0.4):
    """Documents with laws of their own, and no order."""
    laws = rng.dirichlet(np.full(types, concentration), size=documents)
    return [rng.choice(types, p=law, size=rng.integers(low, high + 1)) for law in laws]


def regimes(rng, *, documents=300, length=120):
    """A law for each stretch of positions, the same in all documents."""
    laws = rng.dirichlet(np.full(8, 0.5), size=5)[np.arange(length) * 5 // length]
    return list(draw(rng, np.broadcast_to(laws, (documents, length, 8))))


def letters(rng, *, documents=80, length=1200):
    """Words of a vocabulary in no order, letter by letter, as bytes."""
    vocabulary = [rng.integers(97, 123, size=rng.integers(2, 9)) for _ in range(400)]
    made = []
    for _ in range(documents):
        parts = []
        for word in zipf(rng, length // 3, 400):
            parts += [vocabulary[word], [32]]
        made.append(np.concatenate(parts)[:length].astype(int))
    return made


def over_chain(rng, period, half_life, *, documents=200, length=500):
    """A period in some tokens, and a state that falls in the others."""
    one = np.stack(cyclic(rng, period, documents=documents, length=length, types=8))
    other = np.stack(staying(rng, half_life, documents=documents, length=length)) + 8
    return list(np.where(rng.random(one.shape) < 0.5, one, other))


def uneven(rng, period, *, documents=250, low=60, high=600, types=400):
    """A mark at every so many places of words by Zipf's law, documents of any length."""
    made = []
    for _ in range(documents):
        text = zipf(rng, int(rng.integers(low, high)), types) + 1
        where = np.arange(rng.integers(period), len(text), period)
        text[where[rng.random(len(where)) < 0.5]] = 0
        made.append(text)
    return made


def among_topics(rng, period, *, documents=150, length=200, types=12):
    """Half of a token's law turns with a period, half is that of its document."""
    laws = rng.dirichlet(np.full(types, 0.5), size=period)
    own = rng.dirichlet(np.full(types, 1.0), size=documents)
    places = (rng.integers(period, size=(documents, 1)) + np.arange(length)) % period
    return list(draw(rng, 0.5 * laws[places] + 0.5 * own[:, None]))


def rare_states(rng, half_life, *, documents=600, length=300, types=200):
    """A state of one of many types by Zipf's law stays or is drawn anew."""
    made = []
    for _ in range(documents):
        kept = rng.random(length) < 2.0 ** (-1.0 / half_life)
        held = np.maximum.accumulate(np.where(kept, 0, np.arange(length)))
        made.append(zipf(rng, length, types)[held])
    return made


def by_length(rng, *, documents=400, types=30):
    """No order; one law for short documents and another one for long ones."""
    laws = rng.dirichlet(np.full(types, 0.3), size=2)
    sizes = rng.integers(40, 400, size=documents)
    return [rng.choice(types, p=laws[int(size > 150)], size=size) for size in sizes]


def palindromes(rng, *, documents=200, half=100, types=30):
    """Tokens that are the same from both ends, of which equal ones are at odd lags."""
    first = np.stack([zipf(rng, half, types) for _ in range(documents)])
    return list(np.hstack([first, first[:, ::-1]]))


def smooth(rng, period, *, documents=200, length=256, types=6):
    """A law whose logarithm turns with any period: few harmonics, each less than the one before."""
    sizes = rng.normal(size=(2, types)) * 1.5
    turns = 2.0 * np.pi * (rng.random((documents, 1)) + np.arange(length) / period)
    laws = np.exp(np.stack([np.cos(turns), np.sin(turns)], axis=-1) @ sizes)
    return list(draw(rng, laws / laws.sum(axis=-1, keepdims=True)))


def two_smooth(rng, one, other):
    """Each token follows one of two smooth periods."""
    first, second = np.stack(smooth(rng, one)), np.stack(smooth(rng, other)) + 10
    return list(np.where(rng.random(first.shape) < 0.5, first, second))


def noisy_clock(rng, period, spread, *, documents=200, length=256, types=12):
    """A law for each place of a period, whose steps vary: its turn falls."""
    laws = rng.dirichlet(np.full(types, 0.4), size=period)
    steps = 1.0 + rng.normal(0.0, spread, size=(documents, length))
    places = rng.random((documents, 1)) * period + np.cumsum(steps, axis=1)
    return list(draw(rng, laws[np.floor(places % period).astype(int)]))


def echoes(rng, back, share, *, documents, length, types=20):
    """A token is the one so many places back with a chance: a period whose harmonics fall alike."""
    tokens = rng.integers(types, size=(documents, length + 20 * back))
    for place in range(back, tokens.shape[1]):
        again = rng.random(documents) < share
        tokens[:, place] = np.where(again, tokens[:, place - back], tokens[:, place])
    return list(tokens[:, 20 * back :])


def stepping(rng, states, share, *, documents, length):
    """A Markov chain that steps on with a chance, else begins anywhere: eigenvalues on a circle."""
    places = np.arange(length)
    made = []
    for _ in range(documents):
        begins = np.maximum.accumulate(np.where(rng.random(length) < share, 0, places))
        made.append((rng.integers(states, size=length)[begins] + places - begins) % states)
    return made


def second_order(rng, one, two, *, documents, length):
    """Signs s with E s_i = one s_(i-1) + two s_(i-2): covariances obey that recurrence."""
    signs = rng.choice([-1.0, 1.0], size=(documents, length + 200))
    for place in range(2, length + 200):
        chance = 0.5 * (1.0 + one * signs[:, place - 1] + two * signs[:, place - 2])
        signs[:, place] = np.where(rng.random(documents) < chance, 1.0, -1.0)
    return list((signs[:, 200:] > 0.0).astype(int))


def root(one, two):
    """Return the period and the half-life of z^2 = one z + two."""
    size = np.sqrt(-two)
    return 2.0 * np.pi / np.arccos(one / (2.0 * size)), np.log(0.5) / np.log(size)


def own_blocks(rng, low, high, *, documents, length, types=20, keep=0.6):
    """Each document repeats a block of its own length: a spectrum of many periods."""
    made = []
    for _ in range(documents):
        block = rng.integers(types, size=rng.integers(low, high + 1))
        text = block[(rng.integers(len(block)) + np.arange(length)) % len(block)]
        made.append(np.where(rng.random(length) < keep, text, rng.integers(types, size=length)))
    return made


def loose_phrases(rng, low, high, *, documents=120, count=50):
    """Measures of any length from low to high that return after two or three of them."""
    made = []
    for _ in range(documents):
        measures = [rng.integers(10, size=rng.integers(low, high + 1)) for _ in range(3)]
        for _ in range(count - 3):
            again = measures[-2] if rng.random() < 0.5 else measures[-3]
            fresh = rng.integers(10, size=len(again))
            measures.append(np.where(rng.random(len(again)) < 0.7, again, fresh))
        made.append(np.concatenate(measures))
    return made


def woven(rng, one, other):
    """Each place has the token of one document or that of another."""
    made = []
    for left, right in zip(one, other, strict=True):
        size = min(len(left), len(right))
        made.append(np.where(rng.random(size) < 0.5, left[:size], right[:size] + 1000))
    return made


KINDS = {
    "free, uniform": lambda r: Planted(list(r.integers(20, size=(150, 200))), order=False),
    "free, words": lambda r: Planted([zipf(r, 300, 3000) for _ in range(150)], order=False),
    "free, topics": lambda r: Planted(topics(r), order=False),
    "free, topics uneven": lambda r: Planted(
        topics(r, documents=80, low=40, high=400, types=40), order=False
    ),
    "free, few long": lambda r: Planted(
        topics(r, documents=24, low=2500, high=2500, types=60, concentration=0.2), order=False
    ),
    "free, topics by length": lambda r: Planted(by_length(r), order=False),
    "free, no repeats": lambda r: Planted([r.permutation(64) for _ in range(200)], order=False),
    "law of positions": lambda r: Planted(regimes(r), order=False),
    "letters of words": lambda r: Planted(letters(r), near=(2.0, 12.0)),
    "half-life 20": lambda r: Planted(
        staying(r, 20.0, documents=200, length=500), half_life=20.0, law="exponential"
    ),
    "half-life 20, faint": lambda r: Planted(
        staying(r, 20.0, documents=300, length=400, seen=0.5), half_life=20.0, law="exponential"
    ),
    "half-life 20, short documents": lambda r: Planted(
        staying(r, 20.0, documents=300, length=128), half_life=20.0, law="exponential"
    ),
    "half-life 20, two types": lambda r: Planted(
        staying(r, 20.0, documents=200, length=600, types=2, seen=0.7),
        half_life=20.0,
        law="exponential",
    ),
    "half-life 3": lambda r: Planted(
        staying(r, 3.0, documents=200, length=300), half_life=3.0, law="exponential"
    ),
    "heavy runs": lambda r: Planted(runs(r, 1.5, documents=150, length=1500), law="power law"),
    "long memory": lambda r: Planted(runs(r, 1.2, documents=200, length=300), law="power law"),
    "ragged lines": lambda r: Planted(ragged(r, 40, 80), near=(40.0, 80.0)),
    "period 24": lambda r: Planted(cyclic(r, 24, documents=300, length=128), (24.0,)),
    "wave 24": lambda r: Planted(wave(r, 24.0, documents=300, length=128), (24.0,)),
    "wave 37.4": lambda r: Planted(wave(r, 37.4, documents=200, length=400), (37.4,)),
    "period 7, faint": lambda r: Planted(
        cyclic(r, 7, documents=100, length=128, strength=0.4), (7.0,), weak=True
    ),
    "period 12, faint": lambda r: Planted(
        cyclic(r, 12, documents=100, length=200, strength=0.4), (12.0,), weak=True
    ),
    "period 7, three types": lambda r: Planted(
        cyclic(r, 7, documents=60, length=100, types=3), (7.0,), weak=True
    ),
    "period 12, short": lambda r: Planted(cyclic(r, 12, documents=200, length=64), (12.0,)),
    "period 2": lambda r: Planted(cyclic(r, 2, documents=100, length=120), (2.0,)),
    "period 3": lambda r: Planted(cyclic(r, 3, documents=100, length=150, types=4), (3.0,)),
    "period 9, few long": lambda r: Planted(cyclic(r, 9, documents=20, length=1500), (9.0,)),
    "period 100": lambda r: Planted(cyclic(r, 100, documents=60, length=600, types=8), (100.0,)),
    "lines of 61": lambda r: Planted(marked(r, 61.0, documents=80, length=1200), (61.0,)),
    "lines of 61.37": lambda r: Planted(marked(r, 61.37, documents=80, length=1200), (61.37,)),
    "lines of 61 and 80": lambda r: Planted(
        marked(r, 61.0, documents=80, length=1200) + marked(r, 80.0, documents=80, length=1200),
        (61.0, 80.0),
    ),
    "bar and beat": lambda r: Planted(bars(r), (16.0,), (4.0,)),
    "phrases": lambda r: Planted(phrases(r), (), (8.0, 16.0, 20.0, 24.0, 40.0)),
    "channels 8 x 24": lambda r: Planted(channels(r), (192.0,), (8.0,)),
    "channels 8 x 24, table": lambda r: Planted(table_of_channels(r), (192.0,), (8.0,)),
    "channels 8 x 24, short": lambda r: Planted(
        channels(r, documents=300, length=300), (8.0,), (192.0,)
    ),
    "7 and 12 mixed": lambda r: Planted(mixed(r, 7, 12), (7.0, 12.0)),
    "7 times 12": lambda r: Planted(product(r, 7, 12), (7.0, 12.0), (84.0,)),
    "5 over a half-life of 10": lambda r: Planted(over_chain(r, 5, 10.0), (5.0,)),
    "wandering 12": lambda r: Planted(wandering(r, 12.0, 0.02), (), near=(11.4, 12.6)),
    "every sixth, uneven": lambda r: Planted(uneven(r, 6), (6.0,)),
    "7 among topics": lambda r: Planted(among_topics(r, 7), (7.0,)),
    "12 among topics": lambda r: Planted(among_topics(r, 12), (12.0,)),
    "palindromes": lambda r: Planted(palindromes(r), (), (2.0,)),
    "smooth 5.3": lambda r: Planted(smooth(r, 5.3), (5.3,)),
    "smooth 7.5": lambda r: Planted(smooth(r, 7.5), (7.5,)),
    "smooth 5.3 and 14.1": lambda r: Planted(two_smooth(r, 5.3, 14.1), (5.3, 14.1)),
    "smooth 6.2 and 17.9": lambda r: Planted(two_smooth(r, 6.2, 17.9), (6.2, 17.9)),
    "smooth 7.3 and 22.4": lambda r: Planted(two_smooth(r, 7.3, 22.4), (7.3, 22.4)),
    "smooth 9.4 and 26.1": lambda r: Planted(two_smooth(r, 9.4, 26.1), (9.4, 26.1)),
    "echoes of 13": lambda r: Planted(
        echoes(r, 13, 0.6, documents=150, length=500),
        (13.0,),
        half_life=13.0 * float(np.log(0.5) / np.log(0.6)),
    ),
    "stepping through 7": lambda r: Planted(
        stepping(r, 7, 0.95, documents=200, length=400),
        (7.0,),
        half_life=float(np.log(0.5) / np.log(0.95)),
    ),
    "second order": lambda r: Planted(
        second_order(r, 0.1, -0.88, documents=200, length=400),
        (root(0.1, -0.88)[0],),
        half_life=float(root(0.1, -0.88)[1]),
    ),
    "61 beside music": lambda r: Planted(
        marked(r, 61.0, documents=80, length=900) + [200 + one for one in phrases(r, documents=60)],
        (61.0,),
        (8.0, 16.0, 24.0, 32.0, 40.0),
    ),
    "20 woven into loose phrases": lambda r: Planted(
        woven(r, cyclic(r, 20, documents=120, length=350, types=12), loose_phrases(r, 6, 9)),
        (20.0,),
        near=(6.0, 9.0),
    ),
    "10 woven into music": lambda r: Planted(
        woven(r, cyclic(r, 10, documents=100, length=360, types=12), phrases(r)),
        (10.0,),
        (8.0, 16.0, 24.0, 32.0, 40.0),
    ),
    "loose phrases": lambda r: Planted(loose_phrases(r, 6, 9), near=(6.0, 28.0)),
    "blocks of 30 to 45": lambda r: Planted(
        own_blocks(r, 30, 45, documents=150, length=400), near=(30.0, 45.0)
    ),
    "noisy clock of 10": lambda r: Planted(
        noisy_clock(r, 10, 0.35),
        near=(2.0, 10.5),
        half_life=float(np.log(2.0) / (2.0 * np.pi**2 * 0.35**2 / 100.0)),
    ),
    "waves of 9 and 31": lambda r: Planted(
        wave(r, 9.0, documents=150, length=400) + wave(r, 31.0, documents=150, length=400),
        (9.0, 31.0),
    ),
    "exponential of many types": lambda r: Planted(
        rare_states(r, 20.0), half_life=20.0, law="exponential"
    ),
    "aligned period 10": lambda r: Planted(
        cyclic(r, 10, documents=100, length=300, types=8, aligned=True), (10.0,), order=False
    ),
}
LASTING = ("period", "wave", "smooth", "lines of", "7 and 12", "7 times 12")
"""How the names of kinds begin whose periods last, so that they have no half-life."""
