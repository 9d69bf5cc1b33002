"""The corpora that are drawn again for every seed, and the same tokens dealt at random.

The three-regime corpus [cirrincione2026 sec. 6.1]: an initial, a medial and a terminal law of
tokens. Three laws span a plane after centring, so its population geometry has rank 2.

The null *dealt*: the tokens of a corpus dealt at random to the same slots, so that every position
keeps its number of tokens and loses its law. What this has, too, is sampling noise, not position.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus import CountOptions, PositionCounts, Progress, count_with, three_regimes
from gnomon.distances import Geometry, deal, measure
from gnomon.errors import InputError
from gnomon.options import DIMENSION, SEED, SEEDS, check_options, option

LENGTH, ROWS, VOCABULARY, CONCENTRATION = 32, 2000, 200, 0.2


@dataclass(frozen=True, kw_only=True)
class Options:
    """How often to repeat, from which seed, and for corpora of the user's own what to read."""

    seed: int = option(0, SEED)
    seeds: int = option(10, SEEDS)
    corpora: tuple[Any, ...] = ()
    dimension: int | None = option(None, DIMENSION)
    counting: CountOptions | None = None
    """None: as each reproduction has it."""
    length: int | None = None
    """Tokens that a model reads at once; None: `factor` times its trained length."""
    factor: float = 2.0
    """By which a context is scaled."""
    records: Path = Path()
    """Folder that holds the records of grids, each in a folder of its own."""
    workers: int | None = None
    """Processes that train; None: one for each core."""
    data: Path | None = None
    """Folder of real data; None: what GNOMON_DATA names."""

    def __post_init__(self) -> None:
        """Refuse what can not be repeated or drawn."""
        check_options(self)
        if not self.factor > 1:  # also NaN
            raise InputError(f"--factor is {self.factor:g}; scale by more than 1.")

    @property
    def streams(self) -> range:
        """Return the seed of every repetition."""
        return range(self.seed, self.seed + self.seeds)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """One corpus drawn from one seed, with its plug-in geometry."""

    seed: int
    counts: PositionCounts
    geometry: Geometry


def three_regime_samples(
    options: Options,
    progress: Progress,
    *,
    vocabulary: int = VOCABULARY,
    concentration: float = CONCENTRATION,
) -> tuple[Sample, ...]:
    """Return the three-regime corpus of every seed."""
    samples = []
    for seed in options.streams:
        progress.stage(f"three-regimes, seed {seed}")
        source = three_regimes(ROWS, LENGTH, vocabulary, concentration, seed)
        counts = count_with(source, CountOptions(seed=seed))
        samples.append(Sample(seed=seed, counts=counts, geometry=measure(counts)))
    return tuple(samples)


def setting_of(options: Options, *, vocabulary: int = VOCABULARY) -> str:
    """Say in words what was drawn."""
    return (
        f"three-regime corpus, n = {LENGTH} positions, V = {vocabulary} types, N = {ROWS:,} "
        f"documents, Dirichlet {CONCENTRATION:g}, chord distances, plug-in; {repeated(options)}"
    )


def repeated(options: Options) -> str:
    """Say in words which seeds were used, and how several are shown."""
    if options.seeds == 1:
        return f"seed {options.seed} alone"
    return f"seeds {options.seed} to {options.streams[-1]}, shown as mean [smallest, largest]"


def dealt(counts: PositionCounts, seed: int) -> Geometry:
    """Return the geometry of the tokens of a corpus dealt at random to the same slots, once."""
    stream = np.random.SeedSequence([seed, 2])
    return measure(deal(counts.matrix[np.flatnonzero(counts.kept)], stream))


def above_noise(geometry: Geometry, noise: Geometry) -> int:
    """Count the eigenvalues above the largest one of the dealt tokens."""
    return int(np.count_nonzero(geometry.eigenvalues > noise.eigenvalues[0]))
