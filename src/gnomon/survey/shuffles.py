"""The corpus counted again: its windows shuffled, and its rows without their groups.

Each is one more pass over the token cache. Where the documents are gone (counts alone, standard
input) there is a sentence instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.corpus.counting import CountOptions, count_with
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.documents import ROWS
from gnomon.corpus.equal_rows import HELD_TOGETHER, equal_by_chance
from gnomon.corpus.progress import Progress
from gnomon.corpus.shuffling import shuffled_counts, why_not_shuffled


def why_not(corpus: Any, counts: PositionCounts, shuffles: int) -> str | None:
    """Say why a corpus is not shuffled; None where it can be."""
    if shuffles == 0:
        return "no shuffles were asked for"
    if isinstance(corpus, PositionCounts):
        return why_not_shuffled(counts) or (
            "counts no longer hold the order of tokens; survey the corpus that they came from"
        )
    if isinstance(corpus, str) and corpus == "-":
        return "standard input can be read only once"
    return None


def shuffles_of(
    corpus: Any,
    counts: PositionCounts,
    counting: CountOptions,
    shuffles: int,
    progress: Progress,
) -> tuple[tuple[PositionCounts, ...], str | None]:
    """Return shuffled counts, or none with the reason."""
    reason = why_not(corpus, counts, shuffles)
    if reason is not None:
        return (), reason
    progress.stage("shuffling windows")
    options = as_counted(counting, counts)
    made = tuple(
        shuffled_counts(corpus, options, replicate=r, progress=progress) for r in range(shuffles)
    )
    if all(_same_slots(counts, one) for one in made):
        return made, None
    return (), "the corpus gave other tokens when it was read a second time"


def counted(
    corpus: Any, counting: CountOptions, progress: Progress
) -> tuple[PositionCounts, CountOptions]:
    """Return the counts, and the options that make them again.

    Equal documents are one group, unless they are equal by chance.
    """
    counts = count_with(corpus, counting, progress=progress)
    if counting.group is not None or not equal_by_chance(counts):
        return counts, counting
    if isinstance(corpus, str) and corpus == "-":  # can not be read again
        return replace(counts, notes=(*counts.notes, HELD_TOGETHER)), counting
    again = counts.rows - counts.groups.estimate()
    told = (
        f"{again:,} documents equal another one, about as many as chance gives: every document is "
        "a group of its own (as with --group rows)"
    )
    apart = replace(counting, group=ROWS)
    counts = count_with(corpus, apart, progress=progress)
    return replace(counts, notes=(*counts.notes, told)), apart


def ungrouped_of(
    corpus: Any, counts: PositionCounts, counting: CountOptions, progress: Progress
) -> PositionCounts | None:
    """Return the counts with every row on its own, where groups were declared."""
    once = isinstance(corpus, PositionCounts) or (isinstance(corpus, str) and corpus == "-")
    if once or counting.group in (None, ROWS):
        return None
    progress.stage("counting without groups")
    return count_with(corpus, replace(as_counted(counting, counts), group=None), progress=progress)


def as_counted(counting: CountOptions, counts: PositionCounts) -> CountOptions:
    """Return options that give the same positions again, merged to the same bins."""
    return replace(counting, bins=counts.bins)


def _same_slots(counts: PositionCounts, other: PositionCounts) -> bool:
    return (
        other.blocks.shape == counts.blocks.shape
        and other.vocabulary.digest == counts.vocabulary.digest
        and bool(np.array_equal(other.totals, counts.totals))
    )
