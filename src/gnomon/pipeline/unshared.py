"""Positions whose tokens nobody shares: row ids, hashes, time stamps.

Debiasing compares groups of documents, so a position where no token is of a type seen in a second
group has no debiased distances. It is not unknown for that: two things hold of it.

The test of signal needs no type by itself. With all types that only one fold has seen merged into
one, REST, every position can be tested, and one that holds nothing but REST is unlike the others.

Its distance is bounded from below. Merging types never lengthens a Hellinger distance, so with all
but the commonest types merged into one (`OTHER`) the debiased squared distance to another position
is a lower bound, with an interval of its own. Above stands what any two laws can have, 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.corpus import renamed
from gnomon.distances import (
    LEAST_FOLDS,
    Debiased,
    Figure,
    FoldedCounts,
    debias,
    figure,
    folded,
    jackknife_error,
)
from gnomon.errors import CountsError
from gnomon.pipeline.words import ranges
from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.corpus import PositionCounts
    from gnomon.distances import Geometry

LARGEST = 2.0
"""Squared chord distance of laws that have nothing in common."""
WHY = "no token there is of a type seen in a second group, and debiasing compares groups"


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


def merged(counts: Any, minus: Any = None) -> tuple[Any, Any]:
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
        data = folded(counts, keep)
    except CountsError:
        other, less = merged(counts, minus)
        return folded(other, keep), less
    if not data.unshared.size:
        return data, minus
    other, less = merged(counts, minus)
    return folded(other, keep), less


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


def unshared_in_words(found: tuple[Unshared, ...]) -> str | None:
    """Say what is known of such positions; None where there are none."""
    apart, chance = ([x for x in found if x.distinct is so] for so in (True, False))
    parts = [_apart(apart)] if apart else []
    if chance:
        parts.append(
            f"{_subject(chance)} no token with a second group of documents and "
            f"{'has' if len(chance) == 1 else 'have'} too few to tell whether that is more than "
            "chance: no part of the geometry."
        )
    return " ".join(parts) or None


def _apart(found: list[Unshared]) -> str:
    least = [one.at_least.value for one in found if one.at_least is not None]
    plugin = [one.plugin for one in found if one.plugin is not None]
    known = [f"at least {_span(least)} with the rare types merged"] if least else []
    known += [f"{_span(plugin)} plug-in"] if plugin else []
    its = "Its" if len(found) == 1 else "Their"
    return (
        f"{_subject(found)} no token with a second group of documents, as row ids do. {its} "
        "distance can not be debiased, which compares groups, and is no part of the geometry; its "
        f"square to the others is {', '.join(known)} (2 is the largest there is)."
    )


def _subject(found: list[Unshared]) -> str:
    listed = " and ".join(ranges(one.extent for one in found).rsplit(", ", 1))
    return f"Position {listed} shares" if len(found) == 1 else f"Positions {listed} share"


def _span(values: list[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"
