"""Families of made corpora whose true distances are known, for judging estimators.

Laws are Zipf's (exponent 1.05) with a drift over positions; counts per position fall as in a corpus
of short sentences. Every corpus is drawn in folds, from a seed of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.corpus.counts import PositionCounts

FOLDS, LENGTH, TYPES = 16, 64, 15_000


@dataclass(frozen=True)
class Corpus:
    """Counts with the laws they come from."""

    counts: PositionCounts
    laws: np.ndarray

    @property
    def truth(self):
        """Squared chord distances between the laws."""
        return squared_chords(self.laws)

    def head(self, top):
        """The same with the `top` commonest types and all others as one."""
        counts = self.counts.coarsened(top)
        if counts is self.counts:
            return self
        kept = np.array([int(name) for name in counts.vocabulary.tokens[:-1]])
        other = 1.0 - self.laws[:, kept].sum(axis=1, keepdims=True)
        return Corpus(counts=counts, laws=np.hstack([self.laws[:, kept], np.maximum(other, 0.0)]))


def falling_tokens(length=LENGTH, first=67_000, scale=10.0):
    """Tokens per position: many at the start, a handful at the end, as in short sentences."""
    return np.maximum(first * np.exp(-np.arange(length) / scale), 2).astype(int)


def zipf(types=TYPES, exponent=1.05):
    law = 1.0 / np.arange(1, types + 1) ** exponent
    return law / law.sum()


def tilted(drift):
    """Zipf's law times exp(drift), row by row."""
    laws = zipf(drift.shape[1]) * np.exp(drift)
    return laws / laws.sum(axis=1, keepdims=True)


def gen(strength, rng):
    """Four smooth profiles over positions, each with its own direction in the vocabulary."""
    t = np.linspace(0.0, 1.0, LENGTH)
    profiles = np.stack(
        [
            t - 0.5,
            0.3 * np.cos(2.0 * np.pi * t),
            0.2 * np.sin(4.0 * np.pi * t),
            0.25 * np.exp(-np.arange(LENGTH) / 2.0),
        ],
        axis=1,
    )
    return tilted(2.2 * strength * profiles @ rng.normal(size=(4, TYPES)))


def top200(rng):
    """Drift in the 200 commonest types only."""
    direction = np.zeros(TYPES)
    direction[:200] = rng.normal(size=200)
    return tilted(1.3 * np.outer(np.linspace(-0.5, 0.5, LENGTH), direction))


def first3(rng):
    """Positions 0, 1, 2 differ; the rest is stationary."""
    drift = np.zeros((LENGTH, TYPES))
    for position, strength in enumerate((0.8, 0.5, 0.35)):
        drift[position] = strength * rng.normal(size=TYPES)
    return tilted(drift)


def regimes(rng):
    """Three sharp blocks."""
    blocks = np.minimum(np.arange(LENGTH) // 14, 2)
    return tilted(0.35 * rng.normal(size=(3, TYPES))[blocks])


def period8(rng):
    """A cycle of eight positions."""
    phase = 2.0 * np.pi * np.arange(LENGTH) / 8.0
    circle = np.stack([np.cos(phase), np.sin(phase)], axis=1)
    return tilted(0.25 * circle @ rng.normal(size=(2, TYPES)))


def alphabet(types, rng):
    """A small alphabet with a random walk of its law."""
    steps = np.cumsum(rng.normal(size=(LENGTH, types)), axis=0)
    laws = rng.dirichlet(np.full(types, 5.0)) * np.exp(0.09 * steps)
    return laws / laws.sum(axis=1, keepdims=True)


def drawn(laws, tokens, rng):
    """Independent tokens from the laws, dealt to folds at random."""
    blocks = np.zeros((FOLDS, len(laws), laws.shape[1]), np.int32)
    for i, (law, total) in enumerate(zip(laws, tokens, strict=True)):
        for g, share in enumerate(rng.multinomial(total, np.full(FOLDS, 1.0 / FOLDS))):
            blocks[g, i] = rng.multinomial(share, law)
    return PositionCounts.from_array(blocks, minimum_count=10)


def topics(strength, rng, documents=67_000, kinds=8, copying=0.2):
    """Documents with a topic each, and one token in five copied from earlier in the document."""
    base = tilted(strength * np.outer(np.linspace(-1.1, 1.1, LENGTH), rng.normal(size=TYPES)))
    tilt = np.exp(0.5 * rng.normal(size=(kinds, TYPES)))
    lengths = np.minimum(1 + rng.exponential(9.5, documents).astype(int), LENGTH)
    topic = rng.integers(0, kinds, documents)
    fold = rng.integers(0, FOLDS, documents)
    blocks = np.zeros((FOLDS, LENGTH, TYPES), np.int32)
    laws = np.zeros((LENGTH, TYPES))
    written = np.zeros((documents, LENGTH), np.int32)
    for i in range(LENGTH):
        for kind in range(kinds):
            own = np.flatnonzero((topic == kind) & (lengths > i))
            law = base[i] * tilt[kind]
            law /= law.sum()
            laws[i] += law / kinds
            tokens = np.searchsorted(np.cumsum(law)[:-1], rng.random(len(own)))
            if i:
                copied = rng.random(len(own)) < copying
                tokens[copied] = written[own[copied], rng.integers(0, i, copied.sum())]
            written[own, i] = tokens
            np.add.at(blocks, (fold[own], i, tokens), 1)
    counts = PositionCounts.from_array(blocks, minimum_count=10)
    return counts, _with_copies(laws, copying)


def _with_copies(laws, copying):
    """Laws of positions where a share of tokens repeats an earlier one."""
    seen = laws.copy()
    for i in range(1, len(laws)):
        seen[i] = (1.0 - copying) * laws[i] + copying * seen[:i].mean(axis=0)
    return seen


def squared_chords(laws):
    roots = np.sqrt(laws)
    return np.maximum(2.0 - 2.0 * roots @ roots.T, 0.0)


PLACES, BACKGROUND = 32, 3_000
"""Positions of the sparse families, and types of their background, which does not drift."""
SIZES = (500, 2_000, 10_000, 50_000)
"""Tokens at each of them."""


def among(share, own):
    """A background with types of its own at some share of every position."""
    share = np.broadcast_to(share, PLACES)[:, None]
    return np.hstack([(1.0 - share) * zipf(BACKGROUND), share * own])


def by_turns(share, kinds, rng, period=7):
    """A share of tokens depends on the position modulo a period: each phase has its own types."""
    own = np.zeros((period, period * kinds))
    for phase in range(period):
        own[phase, phase * kinds : (phase + 1) * kinds] = rng.dirichlet(np.full(kinds, 5.0))
    return among(share, own[np.arange(PLACES) % period])


def shared_by_turns(share, kinds, rng):
    """The same few types at all phases, in other proportions."""
    return among(share, rng.dirichlet(np.full(kinds, 0.3), 7)[np.arange(PLACES) % 7])


def known_by_turns(share, kinds, rng):
    """The types that take turns are ordinary ones of the background."""
    laws = np.tile((1.0 - share) * zipf(BACKGROUND), (PLACES, 1))
    for phase in range(7):
        own = rng.choice(np.arange(50, 1_500), kinds, replace=False)
        laws[np.ix_(np.arange(PLACES) % 7 == phase, own)] += share / kinds
    return laws


def markers(rng):
    """One delimiter every eight positions, rare elsewhere."""
    return among(np.where(np.arange(PLACES) % 8 == rng.integers(8), 0.3, 0.005), 1.0)


def template(rng):
    """A third of the positions mostly hold a word of their own."""
    share, own = np.zeros(PLACES), np.zeros((PLACES, 10))
    slots = rng.choice(PLACES, 10, replace=False)
    share[slots], own[slots] = rng.uniform(0.3, 0.9, 10), np.eye(10)
    return among(share, own)


def slots(rng):
    """A quarter of the positions hold one of a dozen fillers, two times in five."""
    share, own = np.zeros(PLACES), np.zeros((PLACES, 96))
    for k, place in enumerate(rng.choice(PLACES, 8, replace=False)):
        share[place], own[place, 12 * k : 12 * k + 12] = 0.4, rng.dirichlet(np.ones(12))
    return among(share, own)


def one_place(share, kinds, rng):
    """A burst of some types at one position, hardly seen elsewhere."""
    shares = np.full(PLACES, 0.002)
    shares[rng.integers(PLACES)] = share
    return among(shares, np.full(kinds, 1.0 / kinds))


def at_odds(rng):
    """Common types drift with the position, rare ones alternate with its parity."""
    tilt = np.zeros((PLACES, BACKGROUND))
    tilt[:, :200] = np.outer(np.linspace(-0.6, 0.6, PLACES), rng.normal(size=200))
    parity = np.arange(PLACES) % 2 - 0.5
    tilt[:, 200:] = np.outer(0.8 * parity, rng.normal(size=BACKGROUND - 200))
    return tilted(tilt)


def disjoint(rng):
    """Four blocks of positions that share hardly a type."""
    weights = rng.gamma(0.05, size=(4, BACKGROUND))[np.arange(PLACES) // 8]
    laws = zipf(BACKGROUND) * weights
    return laws / laws.sum(axis=1, keepdims=True)


REACH = np.minimum((PLACES - np.arange(PLACES)) / (PLACES - 7.0), 1.0)
"""Share of documents that reach a position, where they have 8 to 32 tokens, each as often."""


def closing(_):
    """Documents of any length end in a mark: the last position, which few reach, is all mark."""
    ends = np.append(1.0 - REACH[1:] / REACH[:-1], 1.0)
    return among(ends, 1.0)


SPARSE = {
    "turns 30": lambda rng: by_turns(0.05, 30, rng),
    "turns 3": lambda rng: by_turns(0.05, 3, rng),
    "weak turns": lambda rng: by_turns(0.01, 5, rng),
    "shared turns": lambda rng: shared_by_turns(0.05, 3, rng),
    "known turns": lambda rng: known_by_turns(0.05, 30, rng),
    "markers": markers,
    "template": template,
    "slots": slots,
    "one type": lambda rng: one_place(0.1, 1, rng),
    "strong type": lambda rng: one_place(0.6, 1, rng),
    "burst": lambda rng: one_place(0.25, 20, rng),
    "at odds": at_odds,
    "disjoint": disjoint,
    "closing": closing,
    "still": lambda _: among(0.0, np.zeros((PLACES, 0))),
}
"""Few types drift, or few are shared; `still` has no drift."""

TEXT = {
    "gen 0": lambda rng: gen(0.0, rng),
    "gen 0.1": lambda rng: gen(0.1, rng),
    "gen 0.2": lambda rng: gen(0.2, rng),
    "gen 0.5": lambda rng: gen(0.5, rng),
    "gen 1": lambda rng: gen(1.0, rng),
    "top200": top200,
    "first3": first3,
    "regimes": regimes,
    "period8": period8,
}
ALPHABETS = {"dna4": 4, "dna25": 25}
TOPICS = {"topics 0": 0.0, "topics 0.2": 0.2}
SPARSE_NAMES = tuple(f"{name}, {size}" for name in SPARSE for size in SIZES)
NAMES = (*TEXT, *TOPICS, *ALPHABETS, *SPARSE_NAMES)


def corpus(name, seed):
    """Draw one corpus of a family."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    if name in TOPICS:
        counts, laws = topics(TOPICS[name], rng)
    elif name in SPARSE_NAMES:
        kind, size = name.rsplit(", ", 1)
        laws = SPARSE[kind](rng)
        reach = REACH if kind == "closing" else np.ones(PLACES)
        counts = drawn(laws, np.round(int(size) * reach), rng)
    elif name in ALPHABETS:
        laws = alphabet(ALPHABETS[name], rng)
        counts = drawn(laws, np.full(LENGTH, 3_000), rng)
    else:
        laws = TEXT[name](rng)
        counts = drawn(laws, falling_tokens(), rng)
    return Corpus(counts=counts, laws=laws)
