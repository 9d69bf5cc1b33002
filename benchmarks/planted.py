"""Six planted corpora of documents whose verdict is known before anything is measured.

A document has a length and a topic of its own, independent of each other, and three favourite words
of its topic: each token is one of them with probability `REPEATED`, else it is drawn from the law
of its place, tilted by the topic. So tokens of a document depend on each other, while the law of a
place is known exactly: (1 - REPEATED) times the mean over topics of the tilted laws, plus REPEATED
times that of the favourites, which is the same everywhere.

    none       one law everywhere
    first      the first token has a law of its own
    drift      the law moves along one direction: the distance of two places is their lag
    regimes    three laws, one after the other
    periodic   a circle of eight laws
    end        the last three tokens have laws of their own; surveyed from the end (window "end")

What counts as right was written down before a survey was run, and follows from these laws alone:

* `informative` is what was planted.
* Positions. first, end: every planted position is named and at most one other (a false discovery
  rate of 5 % lets one through now and then). regimes: the kind is "blocks", with as many blocks as
  planted, each begin exact or off by one. periodic: that kind and the period. drift: that kind.
  none: no position is named, which is the same as not informative.
* `recommended` is the rule of the verdict applied to the true distances, by lines of this file:
  "none" without signal; else the fixed encoding of least scale-free stress if that is at most 0.1
  and at most 0.3 of what equal distances leave, of squared distances where less than half of the
  pairs differ; else the encoding fitted to the debiased geometry. Encodings with the same distances
  (the sinusoid and rotary phases, under the kernel lift) are equally right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KINDS = ("none", "first", "drift", "regimes", "periodic", "end")
TYPES, DOCUMENTS, LENGTH, DIMENSION = 3_000, 4_000, 40, 32
SHORTEST, LONGEST = 16, 64
TOPICS, TOPIC_TILT = 6, 0.5
REPEATED, FAVOURITES = 0.15, 3
BEGINS, PERIOD = (0, 13, 27), 8
FITTED = "mds-low-rank"


@dataclass(frozen=True)
class Planted:
    """Documents (lists of token ids) and the truth about them."""

    kind: str
    documents: list[list[int]]
    window: str
    positions: tuple[int, ...]
    """Positions with a law of their own; of regimes, where they begin."""
    squares: np.ndarray
    """True squared distances between the positions of the window."""

    @property
    def informative(self) -> bool:
        return self.kind != "none"


def planted(kind, seed, *, documents=DOCUMENTS, types=TYPES, length=LENGTH):
    """Draw one corpus."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    stationary = 1.0 / np.arange(1, types + 1) ** 1.05
    laws = _normed(stationary * np.exp(_tilts(kind, length, types, rng)))
    topics = np.exp(TOPIC_TILT * rng.normal(size=(TOPICS, types)))
    lengths = rng.integers(SHORTEST, LONGEST + 1, documents)
    topic = rng.integers(0, TOPICS, documents)
    written = np.empty((documents, LONGEST), np.int64)
    favourites = np.empty((documents, FAVOURITES), np.int64)
    for k in range(TOPICS):
        own = np.flatnonzero(topic == k)
        favourites[own] = _drawn(_normed(stationary * topics[k]), (len(own), FAVOURITES), rng)
        for place in range(LONGEST):  # beyond the window the last law goes on
            law = _normed(laws[min(place, length - 1)] * topics[k])
            written[own, place] = _drawn(law, len(own), rng)
    repeats = rng.random(written.shape) < REPEATED
    choice = rng.integers(0, FAVOURITES, written.shape)
    written[repeats] = np.take_along_axis(favourites, choice, axis=1)[repeats]
    step = -1 if kind == "end" else 1  # written from the end, so that place 0 is the last token
    texts = [row[:size][::step].tolist() for row, size in zip(written, lengths, strict=True)]
    return Planted(
        kind=kind,
        documents=texts,
        window="end" if kind == "end" else "start",
        positions={"first": (0,), "end": (0, 1, 2), "regimes": BEGINS}.get(kind, ()),
        squares=_squares(laws, stationary, topics),
    )


def _normed(laws):
    return laws / laws.sum(axis=-1, keepdims=True)


def _drawn(law, size, rng):
    return np.searchsorted(np.cumsum(law)[:-1], rng.random(size))


def _tilts(kind, length, types, rng):
    """Return the logarithm by which each place departs from the stationary law."""
    tilts = np.zeros((length, types))
    if kind == "first":
        tilts[0] = rng.normal(size=types)
    elif kind == "end":
        tilts[:3] = np.array([[1.0], [0.8], [0.6]]) * rng.normal(size=(3, types))
    elif kind == "drift":
        tilts = np.outer(np.linspace(-0.5, 0.5, length), rng.normal(size=types))
    elif kind == "regimes":
        block = np.searchsorted(BEGINS, np.arange(length), side="right") - 1
        tilts = 0.5 * rng.normal(size=(len(BEGINS), types))[block]
    elif kind == "periodic":
        phase = 2.0 * np.pi * np.arange(length) / PERIOD
        circle = np.stack([np.cos(phase), np.sin(phase)], axis=1)
        tilts = 0.4 * circle @ rng.normal(size=(2, types))
    return tilts


def _squares(laws, stationary, topics):
    """Return the squared chords between the laws that tokens really have."""
    of_topics = [_normed(laws * tilt) for tilt in topics]
    repeated = np.mean([_normed(stationary * tilt) for tilt in topics], axis=0)
    roots = np.sqrt((1.0 - REPEATED) * np.mean(of_topics, axis=0) + REPEATED * repeated)
    gaps = roots[:, None, :] - roots[None, :, :]
    return np.einsum("ijv,ijv->ij", gaps, gaps)


def positions_right(made, found):
    """Judge the pattern of a survey (None where there is none), for a corpus found informative."""
    if made.kind == "none" or found is None:
        return made.kind == "none" and found is None
    named = [int(position) for position in found.positions]
    if made.kind in {"first", "end"}:
        return set(made.positions) <= set(named) and len(named) <= len(made.positions) + 1
    if made.kind == "regimes":
        blocks = found.kind == "blocks" and len(named) == len(made.positions)
        return blocks and all(abs(a - b) <= 1 for a, b in zip(named, made.positions, strict=True))
    if made.kind == "periodic":
        return found.kind == "periodic" and found.period == PERIOD
    return found.kind == "drift"


def recommended(made, dimension=DIMENSION):
    """Return the names that the verdict's rule allows for the true distances."""
    if not made.informative:
        return {"none"}
    upper = np.triu_indices(len(made.squares), 1)
    lags = (upper[1] - upper[0]).astype(float)
    true = made.squares[upper]
    squared = (true > 1e-12).mean() < 0.5
    power = 1.0 if squared else 0.5
    wanted = true**power
    frequencies = 10_000.0 ** (-np.arange(0, dimension, 2) / dimension)
    phases = (2.0 - 2.0 * np.cos(np.outer(lags, frequencies))).sum(axis=1)
    known = {"sinusoidal": phases, "rope": phases, "alibi": lags}
    stress = {name: _scale_free(found**power, wanted) for name, found in known.items()}
    stress["alibi"] = min(stress["alibi"], _scale_free(lags ** (2.0 * power), wanted))
    least = min(stress.values())
    equal = _scale_free(np.ones_like(wanted), wanted)
    if least > min(0.1, 0.3 * equal):
        return {FITTED}
    return {name for name, value in stress.items() if value <= least + 1e-9}


def _scale_free(made, wanted):
    return 1.0 - (made @ wanted) ** 2 / ((made @ made) * (wanted @ wanted))
