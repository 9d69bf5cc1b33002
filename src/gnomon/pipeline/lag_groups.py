"""Relative encodings from what a corpus does with the lag: its periods, half-lives and tail.

*Group*. Every mode is a block exp(t (a +- ib)) of two coordinates: "jordan" of order 1 has these,
stable by construction and learnable [zhang2026]. No half-life is longer than `LONG` times the lags
that were looked at, a mode without one has that; one without a period does not turn.

Heads share out the modes by half-life, the shortest first: each has a band of about as many modes,
or, where there are fewer modes than heads, one that neighbouring heads share. In a head pairs go to
modes by their amplitudes (highest quotients amplitude / (2 n + 1) of modes with n pairs
[sainte-lague1910]), so that the trace of the group is about the kernel of the corpus; a mode too
weak for the pairs there are has none. Pairs add up with one sign: nor has a mode whose part that
is even in the lag is below 0, as where near tokens are less alike.

*Slopes*. A bias -m (i - j) is a decay by e^(-m) a token, so slopes are decays of covariances: those
of the modes, of an exponential law of information (covariances take twice its half-life), and for a
power law I ~ tau^-p, where covariances fall as tau^(-p/2), the rates p / 2 tau of its first lag and
of its last. Heads have a geometric ladder from the steepest of them to the slowest [press2021],
over a factor of 4 at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gnomon.encodings import Encoding, encoding, entry_of
from gnomon.errors import EncodingError
from gnomon.lags import DecayLaw, Dependence, Mode
from gnomon.numeric import checks
from gnomon.numeric.elementwise import softplus_inverse

LONG = 16.0
"""The longest half-life of a mode, in units of the lags that were looked at."""
LEAST = 0.1
"""Part of a mode that is even in the lag and above 0, at least, to have a pair; and what falls
beside the strongest mode, at least, to have a slope."""
WIDE = 4.0
"""The steepest slope over the slowest, at least: heads that are alike would learn the same."""


def fit_group(found: Dependence, *, dimension: int, heads: int | None = None) -> Encoding:
    """Return the encoding of heads of a dimension whose pairs have the modes of a corpus.

    With a number of heads, each has modes of its own.
    """
    checks.whole("dimension", dimension, least=2, multiple_of=2, why="a mode takes two")
    if heads is not None:
        checks.whole("heads", heads, least=1)
    if not found.modes and found.fit is not None:
        raise EncodingError(
            "Tokens depend on the lag in these documents, but as no period and no half-life does, "
            "so there is no encoding to fit; use one of the catalogue."
        )
    if not found.modes:
        raise EncodingError(
            "Nothing depends on the lag in these documents, so there is no encoding to fit; use "
            "one of the catalogue, or none."
        )
    modes = usable_modes(found.modes)
    if not modes:
        raise EncodingError(
            "What was found is below 0 at near lags, tokens that avoid each other, and pairs of a "
            "group add up with one sign; use an entry of the catalogue, or none."
        )
    bands = _share_out(modes, 1 if heads is None else heads)
    pairs = [_apportion(band, dimension // 2) for band in bands]
    longest = longest_life(found)
    lives = np.array([[min(mode.half_life, longest) for mode in head] for head in pairs])
    kind: Any = entry_of("jordan").makes
    least = kind.least
    decays = np.maximum(np.log(2.0) / lives, 2.0 * least) - least
    turns = np.array([[2.0 * np.pi / mode.period for mode in head] for head in pairs])[..., None]
    raw = np.vectorize(softplus_inverse)(decays)
    return encoding(
        "jordan",
        dimension=dimension,
        order=1,
        heads=heads,
        frequencies=turns[0] if heads is None else turns,
        decays=raw[0] if heads is None else raw,
    )


def usable_modes(modes: Sequence[Mode]) -> list[Mode]:
    """Return the modes that pairs of a group can have: their even part is above 0."""
    return [mode for mode in modes if mode.weight > LEAST * mode.amplitude]


def longest_life(found: Dependence) -> float:
    """Return the longest half-life of an encoding: more is not told from the lags looked at."""
    return LONG * found.lags


def _share_out(modes: Sequence[Mode], heads: int) -> list[list[Mode]]:
    """Return the modes of each head: bands of half-lives, the shortest first."""
    order = sorted(modes, key=lambda mode: (mode.half_life, mode.period))
    if len(order) < heads:
        return [[order[head * len(order) // heads]] for head in range(heads)]
    edges = np.rint(np.linspace(0, len(order), heads + 1)).astype(int)
    return [order[first:last] for first, last in pairwise(edges)]


def _apportion(modes: Sequence[Mode], pairs: int) -> list[Mode]:
    """Return the mode of each pair: by their amplitudes, in order of strength.

    >>> from gnomon.lags import Mode
    >>> made = {"period_interval": None, "half_life_interval": None, "half_life": 9.0}
    >>> strong = Mode(period=4.0, amplitude=3.0, **made)
    >>> weak = Mode(period=5.0, amplitude=1.0, **made)
    >>> [mode.period for mode in _apportion([weak, strong], 4)]
    [4.0, 4.0, 4.0, 5.0]
    """
    order = sorted(modes, key=lambda mode: -mode.weight)[:pairs]
    numbers = np.zeros(len(order), dtype=int)
    amplitudes = np.array([mode.weight for mode in order])
    while numbers.sum() < pairs:
        numbers[np.argmax(amplitudes / (2 * numbers + 1))] += 1
    return [mode for mode, number in zip(order, numbers, strict=True) for _ in range(number)]


def slopes_of(found: Dependence, law: DecayLaw, *, reach: int, heads: int) -> tuple[float, ...]:
    """Return slopes for so many heads, the steepest first; none where nothing falls."""
    checks.whole("heads", heads, least=1)
    most = max((mode.amplitude for mode in found.modes), default=0.0)
    falling = [
        mode
        for mode in usable_modes(found.modes)
        if np.isfinite(mode.half_life) and mode.weight > LEAST * most
    ]
    rates = [np.log(2.0) / mode.half_life for mode in falling]
    if law.law == "exponential" and law.half_life is not None:
        rates.append(np.log(2.0) / (2.0 * law.half_life))
    if law.law == "power law" and law.exponent is not None:
        rates += [0.5 * law.exponent / (law.begins or 1.0), 0.5 * law.exponent / reach]
    if not rates:
        return ()
    least = np.log(2.0) / (LONG * found.lags)
    steepest, slowest = max(*rates, least), max(min(rates), least)
    missing = np.sqrt(max(WIDE * slowest / steepest, 1.0))
    first, last = np.log(steepest * missing), np.log(slowest / missing)
    steps = np.linspace(first, last, heads) if heads > 1 else np.array([0.5 * (first + last)])
    return tuple(np.exp(steps).tolist())


def fit_slopes(found: Dependence, law: DecayLaw, *, reach: int, heads: int) -> Encoding:
    """Return the biases of so many heads whose slopes are decays of the corpus."""
    slopes = slopes_of(found, law, reach=reach, heads=heads)
    if not slopes:
        raise EncodingError(
            "Dependence does not fall with the lag in these documents, so there are no slopes to "
            "fit; use family='group', or an entry of the catalogue."
        )
    return encoding("alibi", slopes=slopes)
