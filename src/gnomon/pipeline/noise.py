"""What of a geometry is noise: debiased distances, intervals, tests, survivorship.

Everything here rests on folds. Where a corpus does not allow a figure (too few groups, too few
tokens, no documents) the figure is absent and its reason is kept beside it.

It also rests on the independence of folds, and something may speak against that. Where rows repeat
each other in several folds, their rarest words seem to drift with the position far more than common
ones do: a rare word is at the same few positions in every copy, and in no other document. Equal
documents share a fold anyway; parts and near copies do so only by --group.

Copies of templates that share a vocabulary have no such words. They are found among the documents
themselves (`gnomon.corpus.grouping`). A document with k near-copies in other folds adds about k
times its own noise to what seems to be signal, so copies are spoken of where k times the noise of
the plug-in distances is more than the half-width of the mean's interval, or k is a half or more.

Debiasing compares groups of documents, so a position where no token is of a type seen in a second
group (row ids, hashes, time stamps) has no debiased distances. It is not unknown for that. The test
of signal needs no type by itself. With all types that only one fold has seen merged into one, REST,
every position can be tested, and one that holds nothing but REST is unlike the others.

And its distance is bounded from below: merging types never lengthens a Hellinger distance, so with
all but the commonest types merged into one (`OTHER`) the debiased squared distance to another
position is a lower bound, with an interval of its own. Above stands what any two laws can have, 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.corpus import NearCopies, PositionCounts, Progress, deal_folds, renamed
from gnomon.diagnostics import Pattern, Unbiased, pattern, violations
from gnomon.distances import (
    LEAST_FOLDS,
    Debiased,
    Figure,
    FoldedCounts,
    Geometry,
    Signal,
    Survivorship,
    debias,
    double_centred,
    figure,
    fold_counts,
    jackknife,
    jackknife_error,
    low_rank_replicates,
    mean_squared,
    pair_mean,
    signal,
    survivorship,
)
from gnomon.errors import CountsError, InputError
from gnomon.results import Result, sentences, to_dataframe

if TYPE_CHECKING:
    from collections.abc import Mapping


HEAD = 500
"""Types of the head; all others are one cell, OTHER."""
SMALL_VOCABULARY = 1000
"""Up to this many types a vocabulary is its own head."""
ERRORS_NEEDED = 4.0
"""Stress is printed where the mean squared distance exceeds this many sampling errors."""
DEALT_FOLDS = 16
MANY_POSITIONS = 128
MOST_DRAWN = 2 * 2**30
"""Bytes that the draws of a test may take."""
RARE_DRIFT = 5.0
"""How much more than the rest the rarest types may drift before rows are taken for copies."""
Floats = NDArray[np.float64]
LEAST_SHARE = 0.01
"""Share of documents with a near-copy below which nothing is said."""
MOST_PARTNERS = 0.5
"""Near-copies of a document, on average, from which they are spoken of in any case."""
LARGEST = 2.0
"""Squared chord distance of laws that have nothing in common."""
WHY = "no token there is of a type seen in a second group, and debiasing compares groups"


@dataclass(frozen=True, kw_only=True, eq=False)
class Tests(Result):
    """Whether positions differ, and whether they do by word order."""

    positions: NDArray[np.int64]
    """Indices of the positions tested."""
    extents: tuple[tuple[int, int], ...]
    """First and last position of each of them: more than one where positions were merged."""
    axes: int
    tokenizer: str
    signal: Signal
    order: Signal | None
    """Word order alone; None without shuffled windows."""

    @property
    def informative(self) -> bool | None:
        """What the deciding test says; None where too few folds hold tokens to tell."""
        test = self.deciding
        return True if test.found else False if test.able else None

    @property
    def distinct(self) -> list[tuple[int, int]]:
        """First and last position of everything distinct."""
        return [self.extents[k] for k in np.flatnonzero(self.differing)]

    @property
    def differing(self) -> NDArray[np.bool_]:
        """Which positions are distinct: none where positions together show no signal.

        A rate of false discoveries is kept among findings; without a signal there are none.
        """
        seen = self.signal.found or (self.order is not None and self.order.found)
        return self.signal.distinct & seen

    @property
    def flags(self) -> dict[int, bool]:
        """Whether a position is distinct, by its index."""
        return dict(zip(self.positions.tolist(), self.differing.tolist(), strict=True))

    @property
    def deciding(self) -> Signal:
        """The test that decides: of word order where windows could be shuffled."""
        return self.signal if self.order is None else self.order

    def to_dataframe(self) -> Any:
        """Return one row per position tested: its first and last, and whether it is distinct."""
        lines = zip(self.extents, self.differing.tolist(), strict=True)
        return to_dataframe(
            [{"first": first, "last": last, "distinct": is_so} for (first, last), is_so in lines]
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseReport(Result):
    """What the folds of a corpus say; what they could not say has its reason."""

    debiased: Debiased
    mean: Figure
    head: Figure
    head_types: int
    plugin_core: float
    """Plug-in mean squared distance over the same pairs as `mean`."""
    tests: Tests
    survivorship: Survivorship | None
    pattern: Pattern
    unshared: tuple[Unshared, ...]
    """Positions that cannot be debiased since nobody shares their tokens, and what is known."""
    replicates: tuple[Floats, ...]
    """Low-rank squared distances of the core, once for every fold left out; empty at rank 0."""
    participation: Figure | None
    violations: Figure | None
    doubts: Doubts
    """What speaks against the independence of folds, on which everything here rests."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the independence of folds, in sentences."""
        return tuple(sentences().warnings(self.doubts))

    @property
    def caution(self) -> str | None:
        """What to do before anything here is believed, where folds do not look independent."""
        found: str | None = sentences().caution(self.doubts)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, and what speaks against them in sentences."""
        return super().to_dict() | {"warnings": list(self.warnings), "caution": self.caution}

    @property
    def core(self) -> NDArray[np.int64]:
        """Indices of the core positions."""
        found: NDArray[np.int64] = self.debiased.positions[self.debiased.core]
        return found

    @property
    def informative(self) -> bool | None:
        """Whether position is in the marginals: by word order alone where that was tested.

        None where too few folds hold tokens to tell.
        """
        return self.tests.informative

    @property
    def noise_share(self) -> float | None:
        """Share of the plug-in mean squared distance that is sampling noise."""
        if self.plugin_core <= 0.0:
            return None
        return float(min(max(1.0 - self.mean.value / self.plugin_core, 0.0), 1.0))

    @property
    def measured_share(self) -> float:
        """Share of the mean squared distance that rests on direct evidence, not on the fill."""
        return self.debiased.measured_share

    @property
    def significant_share(self) -> float:
        """Share of core pairs whose interval excludes zero."""
        from scipy.stats import t

        core = self.debiased.core
        among = np.ix_(core, core)
        quantile = float(t.ppf(0.975, len(self.debiased.replicates) - 1))
        above = self.debiased.squares[among] > quantile * self.debiased.standard_error[among]
        return pair_mean(above.astype(np.float64))

    @property
    def weakness(self) -> Literal["no direction", "near its errors"] | None:
        """Why there is no geometry to fit; None where there is one."""
        if self.debiased.rank == 0:
            return "no direction"
        few = self.mean.value < ERRORS_NEEDED * self.sampling_error
        return "near its errors" if few else None

    @property
    def no_geometry(self) -> str | None:
        """Say why there is no geometry to fit; None where there is one."""
        return None if self.weakness is None else str(sentences().weakness(self))

    @property
    def sampling_error(self) -> float:
        """Standard error of `mean` without the allowance for the tail.

        The allowance grows with the distances: where it is a quarter of them no signal, however
        strong, would exceed four of its errors.
        """
        among = np.ix_(self.debiased.core, self.debiased.core)
        tail = pair_mean(self.debiased.tail[among])
        return float(np.sqrt(max(self.mean.error**2 - tail**2, 0.0)))


def draws_for(positions: int, draws: int | None) -> int:
    """Return how many random draws a test takes: a matrix over positions is kept of each.

    >>> draws_for(64, None), draws_for(512, None), draws_for(64, 999)
    (99, 59, 999)
    """
    if draws is None:
        return 99 if positions <= MANY_POSITIONS else 59
    most = MOST_DRAWN // (4 * positions**2)
    if draws > most:
        raise InputError(
            f"--draws {draws} at {positions} positions takes {4e-9 * draws * positions**2:.1f} GB; "
            f"choose {most} or fewer, or a smaller --length."
        )
    return draws


def in_folds(counts: PositionCounts, seed: int) -> PositionCounts:
    """Return counts with folds: tokens are dealt to them where there are no documents."""
    if counts.folds > 1 or counts.rows > 0:
        return counts
    return deal_folds(counts, DEALT_FOLDS, np.random.default_rng([seed, 6]))


def run_tests(
    counts: PositionCounts,
    geometry: Geometry,
    *,
    seed: int,
    shuffled: Sequence[PositionCounts] = (),
    core: NDArray[np.int64] | None = None,
    draws: int | None = None,
) -> Tests:
    """Test all positions that can be tested; the statistics are those of `core` where given."""
    mean = None
    if shuffled:
        mean = SimpleNamespace(blocks=sum(one.blocks for one in shuffled) / len(shuffled))
    data, mean = testable(counts, _kept(geometry, counts), mean)
    inner = None if core is None else np.searchsorted(data.positions, core)
    draws = draws_for(data.size, draws)
    rng = np.random.default_rng([seed, 4])
    tested = signal(data, draws=draws, rng=rng, core=inner)
    ordered = None
    if mean is not None:
        ordered = signal(
            data, draws=draws, rng=np.random.default_rng([seed, 7]), minus=mean, core=inner
        )
    extents = tuple(counts.extents[index] for index in data.positions)
    return Tests(
        positions=data.positions,
        extents=extents,
        axes=geometry.coordinates.shape[1],
        tokenizer=counts.tokenizer,
        signal=tested,
        order=ordered,
    )


def estimate_noise(
    counts: PositionCounts,
    geometry: Geometry,
    *,
    seed: int,
    shuffled: Sequence[PositionCounts] = (),
    ungrouped: PositionCounts | None = None,
    draws: int | None = None,
    progress: Progress,
) -> NoiseReport:
    """Estimate what can be trusted, or raise CountsError with the reason why nothing can.

    `ungrouped` are the same rows counted without their declared groups, for a warning.
    """
    progress.stage("taking the noise out")
    keep = _kept(geometry, counts)
    found = debias(counts, rng=np.random.default_rng([seed, 3]), keep=keep)
    if len(found.core) < 2:
        raise CountsError(_no_core(found))
    core = found.positions[found.core]
    progress.stage("testing for signal")
    tested = np.union1d(core, left_out(counts, found, keep))
    tested = np.union1d(tested, _as_well_counted(found))
    tests = run_tests(counts, geometry, seed=seed, shuffled=shuffled, core=tested, draws=draws)
    replicates = tuple(low_rank_replicates(found)) if found.rank else ()
    mean = _possible(mean_squared(found))
    rows = np.searchsorted(geometry.positions, core)
    coordinates = geometry.coordinates[rows]
    many = counts.types > SMALL_VOCABULARY
    plugin = pair_mean(_chord_squares(geometry)[np.ix_(rows, rows)])
    drift = rare_drift(found, counts, tests.positions[tests.differing], most=RARE_DRIFT)
    rare = drift if drift > RARE_DRIFT else None
    return NoiseReport(
        debiased=found,
        mean=mean,
        head=_head(counts, found, seed, keep) if many else mean,
        head_types=HEAD if many else counts.types,
        plugin_core=plugin,
        tests=tests,
        survivorship=survivorship(found, shuffled[0], np.random.default_rng([seed, 5]))
        if shuffled
        else None,
        pattern=_pattern(found, core, coordinates, tests),
        unshared=unshared_of(counts, geometry, found, tests.flags, types=HEAD, seed=seed),
        replicates=replicates,
        participation=_participation(found, replicates),
        violations=_violations(found, replicates, coordinates),
        doubts=_doubts(counts, mean, ungrouped, noise=plugin - mean.value, rare=rare, seed=seed),
    )


def _as_well_counted(found: Debiased) -> NDArray[np.int64]:
    """Return the positions with as many tokens as some core position.

    One that is too uncertain all the same has a law that the others hardly share: no reason to
    leave it out of the question whether positions differ.
    """
    enough = found.tokens >= found.tokens[found.core].min()
    return found.positions[enough]


def _pattern(
    found: Debiased, core: NDArray[np.int64], coordinates: NDArray[np.int64], tests: Tests
) -> Pattern:
    """Name where the distances sit; a bin lies at its first position."""
    axes = coordinates.shape[1]
    where = coordinates[:, 0] if axes == 1 else core
    distinct = tests.differing[np.searchsorted(tests.positions, core)]
    among = np.ix_(found.core, found.core)
    replicates = found.replicates[:, found.core][:, :, found.core]
    unbiased = Unbiased(found.squares[among], replicates)
    return pattern(found.low_rank.squares, where, distinct, axes=axes, unbiased=unbiased)


def _possible(found: Figure) -> Figure:
    """Return a mean squared distance that is not above what any laws have."""
    low, high = (min(end, LARGEST) for end in found.interval)
    return replace(found, value=min(found.value, LARGEST), interval=(low, high))


def _kept(geometry: Geometry, counts: PositionCounts) -> NDArray[np.bool_]:
    return np.isin(np.arange(counts.length), geometry.positions)


def _no_core(found: Debiased) -> str:
    return (
        f"{len(found.core)} positions have tokens enough to be debiased, and distances need two; "
        "use more documents, or merge neighbouring positions with --bins."
    )


def _head(counts: PositionCounts, found: Debiased, seed: int, keep: NDArray[np.bool_]) -> Figure:
    """Return the mean over the same pairs with all but the commonest types merged."""
    rng = np.random.default_rng([seed, 8])
    merged = debias(counts.coarsened(HEAD), rng=rng, draws=8, keep=keep)
    core = np.searchsorted(merged.positions, found.positions[found.core])
    return mean_squared(merged, core=core)


def _chord_squares(geometry: Geometry) -> Floats:
    squares: Floats = np.square(geometry.distances)
    return 2.0 - 2.0 * np.cos(geometry.distances) if geometry.metric == "angle" else squares


def _participation(found: Debiased, replicates: tuple[Floats, ...]) -> Figure | None:
    if not replicates:
        return None
    return jackknife(participation_of(found.low_rank.squares), replicates, participation_of)


def participation_of(squares: Floats) -> float:
    """Return (sum lambda)^2 / sum lambda^2 of the Gram matrix, its negative part left out."""
    values = np.maximum(np.linalg.eigvalsh(double_centred(squares)), 0.0)
    return float(values.sum() ** 2 / (values**2).sum()) if values.any() else 0.0


def _violations(
    found: Debiased, replicates: tuple[Floats, ...], coordinates: NDArray[np.int64]
) -> Figure | None:
    if not replicates:
        return None

    def share(squares: Floats) -> float | None:
        return violations(np.sqrt(squares), positions=coordinates).violations

    own = share(found.low_rank.squares)
    if own is None:
        return None
    return jackknife(own, replicates, lambda squares: share(squares) or 0.0)


def rare_drift(
    found: Debiased, counts: PositionCounts, apart: NDArray[np.int64], *, most: float
) -> float:
    """Return how much more the rarest types drift than the rest.

    Copies are everywhere, so where it is more than `most` it is that without the positions `apart`,
    which differ from the rest: words of their own are rare among all words.
    """
    drift = _of_the_rarest(found)
    others = np.setdiff1d(found.positions, apart)
    if drift <= most or not apart.size or len(others) < max(4, len(found.positions) // 2):
        return drift
    keep = np.isin(np.arange(counts.length), others)
    try:
        return _of_the_rarest(debias(counts, draws=0, keep=keep))
    except CountsError:
        return drift


def _of_the_rarest(found: Debiased) -> float:
    return float(found.profile[-3:].max()) if len(found.profile) else 0.0


def _matter(copies: NearCopies, mean: Figure, noise: float) -> bool:
    """Say whether copies could make up for more than the interval allows."""
    if copies.share < LEAST_SHARE:
        return False
    half = 0.5 * (mean.interval[1] - mean.interval[0])
    return copies.partners >= MOST_PARTNERS or copies.partners * max(noise, 0.0) > half


@dataclass(frozen=True, kw_only=True, eq=False)
class Doubts(Result):
    """What speaks against the independence of folds; None where nothing does."""

    copies: NearCopies | None
    """Near-copies among the documents, where they were looked for."""
    copies_matter: bool
    """Whether they could make up for more than the interval of the mean allows."""
    rare: float | None
    """How much more than the others the rarest types drift, where that is too far."""
    heaviest: float | None
    """Share of the tokens in one fold, where that is more than half."""
    grouped: bool
    """Whether groups were declared."""
    by_groups: tuple[float, float] | None
    """Mean squared distance by groups and with every row alone, where errors do not explain it."""


def _doubts(
    counts: PositionCounts,
    mean: Figure,
    ungrouped: PositionCounts | None,
    *,
    noise: float,
    rare: float | None,
    seed: int,
) -> Doubts:
    """Look for what speaks against it; `noise` is what plug-in distances hold beyond the mean."""
    copies = counts.near_copies
    tokens = np.asarray(counts.blocks.sum(axis=1)).reshape(-1, counts.folds).sum(axis=0)
    heaviest = float(tokens.max() / tokens.sum())
    return Doubts(
        copies=copies,
        copies_matter=copies is not None and _matter(copies, mean, noise),
        rare=rare,
        heaviest=heaviest if heaviest > 0.5 else None,
        grouped=ungrouped is not None,
        by_groups=None if ungrouped is None else _by_groups(mean, ungrouped, seed),
    )


def _by_groups(mean: Figure, ungrouped: PositionCounts, seed: int) -> tuple[float, float] | None:
    rng = np.random.default_rng([seed, 9])
    other = mean_squared(debias(ungrouped, rng=rng, draws=8))
    differs = abs(other.value - mean.value) > 2.0 * max(mean.error, other.error)
    return (mean.value, other.value) if differs else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Unshared(Result):
    """What is known of a position whose tokens nobody shares."""

    position: int
    extent: tuple[int, int]
    """Its first and last position: more than one where positions were merged."""
    tokens: int
    plugin: float | None
    """Mean plug-in squared distance to the core; None without a core."""
    at_least: Figure | None
    """The same at least, noise taken out: with all but the commonest types merged."""
    distinct: bool
    """Whether it differs from the rest; a position of few tokens may share none by chance."""


def merge_single_folds(counts: Any, minus: Any = None) -> tuple[Any, Any]:
    """Return counts with all types of a single fold as one, and other counts merged alike."""
    folds = int(counts.folds)
    blocks = csr_array(counts.blocks)
    fold = np.arange(blocks.shape[0]) % folds
    by_fold = csr_array((np.ones(len(fold)), (fold, np.arange(len(fold)))), (folds, len(fold)))
    shared = np.diff(csr_array(by_fold @ blocks).tocsc().indptr) > 1
    column = np.where(shared, np.arange(len(shared)), len(shared))

    def alike(one: Any) -> csr_array:
        return renamed(csr_array(one.blocks), column, len(shared) + 1)

    found = SimpleNamespace(blocks=alike(counts), folds=folds, kept=counts.kept)
    return found, None if minus is None else SimpleNamespace(blocks=alike(minus))


def testable(
    counts: PositionCounts, keep: NDArray[np.bool_], minus: Any
) -> tuple[FoldedCounts, Any]:
    """Return folded counts in which every position can be tested, and what is taken off them."""
    try:
        data = fold_counts(counts, keep)
    except CountsError:
        other, less = merge_single_folds(counts, minus)
        return fold_counts(other, keep), less
    if not data.unshared.size:
        return data, minus
    other, less = merge_single_folds(counts, minus)
    return fold_counts(other, keep), less


def left_out(counts: PositionCounts, found: Debiased, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the positions with tokens in folds enough that could not be estimated all the same."""
    spread = np.asarray(counts.blocks.sum(axis=1)).reshape(-1, counts.folds)
    able = keep & (np.count_nonzero(spread, axis=1) >= LEAST_FOLDS)
    return np.setdiff1d(np.flatnonzero(able), found.positions)


def unshared_of(
    counts: PositionCounts,
    geometry: Geometry,
    found: Debiased,
    distinct: Mapping[int, bool],
    *,
    types: int,
    seed: int,
) -> tuple[Unshared, ...]:
    """Return what is known of every such position, with the `types` commonest types kept.

    `distinct` says which positions differ from the rest.
    """
    keep = np.isin(np.arange(counts.length), geometry.positions)
    left = left_out(counts, found, keep)
    if not left.size:
        return ()
    repeated = int(np.count_nonzero(np.asarray(counts.blocks.sum(axis=0)).ravel() > 1))
    rng = np.random.default_rng([seed, 10])
    coarse = debias(counts.coarsened(max(min(types, repeated), 1)), rng=rng, draws=8, keep=keep)
    core = found.positions[found.core]
    rows = np.searchsorted(geometry.positions, core)
    return tuple(
        Unshared(
            position=int(index),
            extent=counts.extents[index],
            tokens=int(counts.totals[index]),
            plugin=_plugin(geometry, int(index), rows),
            at_least=_at_least(coarse, int(index), core),
            distinct=distinct.get(int(index), False),
        )
        for index in left
    )


def _plugin(geometry: Geometry, index: int, rows: NDArray[np.int64]) -> float:
    own = geometry.distances[int(np.searchsorted(geometry.positions, index))][rows]
    squares = own**2 if geometry.metric == "chord" else 2.0 - 2.0 * np.cos(own)
    return float(squares.mean())


def _at_least(coarse: Debiased, index: int, core: NDArray[np.int64]) -> Figure | None:
    """Return the mean squared distance to the core between the merged laws."""
    if index not in coarse.positions or not np.isin(core, coarse.positions).all():
        return None
    row = int(np.searchsorted(coarse.positions, index))
    others = np.searchsorted(coarse.positions, core)
    again = coarse.replicates[:, row, others].mean(axis=1)
    value = float(coarse.squares[row, others].mean())
    found = figure(value, jackknife_error(again), len(again))
    low, high = (float(np.clip(end, 0.0, LARGEST)) for end in found.interval)
    return replace(found, value=float(np.clip(value, 0.0, LARGEST)), interval=(low, high))
