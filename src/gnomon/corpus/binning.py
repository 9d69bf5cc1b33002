r"""Bins: neighbouring positions counted together, where single ones have too few tokens.

A bin is an honest thing to estimate; a position with two tokens is not. Bins are given as a width,
as the first position of each, or as "auto": from the left, neighbours are merged until the bin has
N* tokens, the least number for which a position whose law is the pooled law p would be debiased,

    sqrt(2) sigma^2 <= 0.02,     sigma^2 = c sqrt(sum_v s_v^4) / (4 N sum_v s_v^2 p_v),
    s_v^2 = N p_v / (N p_v + 2 c).

s_v^2 is how well type v is measured, the sum in the denominator the measured share of the mass, and
c by how much more than Poisson a count varies (rows that repeat each other), seen from how uneven
the folds are: sum_g x_g^2 = c x + x (x - c) sum_g (N_g / N)^2 on average, over types and positions.
sigma^2 falls as N grows, so N* is found by bisection, with a margin, since no bin has quite the
pooled law. What is left over at the end stays a bin of its own, however few its tokens.

A null must have the bins of its corpus: give it their first positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.errors import CountsError, InputError

if TYPE_CHECKING:
    from gnomon.corpus.counts import PositionCounts

AUTO = "auto"
AUTO_RULE = "merged until counted well enough"
GIVEN_RULE = "given first positions"
LARGEST_NOISE = 0.7 * 0.02
"""Of sqrt(2) sigma^2: below the bound of the core, since no bin has the pooled law.

Late positions of real text, which few documents reach, have up to 1.37 times the noise of it: rare
types of theirs are filled up, and totals of whole classes have noise of their own (SST-2).
"""
KAPPA = 2.0
_NOTED = "positions merged"
_UNMERGED = "no positions were merged"


@dataclass(frozen=True, kw_only=True)
class Binning:
    """Which positions were merged, and by what rule."""

    starts: tuple[int, ...]
    """First position of each bin."""
    span: int
    """How many positions there were before: where the last bin ends."""
    rule: str
    """The rule in words."""
    enough: int | None = None
    """Tokens at which a bin was full, where that was the rule."""

    def to_dict(self) -> dict[str, Any]:
        """Return the bins as plain values."""
        found = {"starts": list(self.starts), "rule": self.rule, "positions": self.span}
        return found if self.enough is None else found | {"tokens_enough": self.enough}

    def shortened(self, length: int) -> Binning:
        """Return the first `length` bins."""
        if length >= len(self.starts):
            return self
        return replace(self, starts=self.starts[:length], span=self.starts[length])

    def combine(self, other: Binning) -> Binning:
        """Return the same bins, of counts that were merged by either rule."""
        enough = [e for e in (self.enough, other.enough) if e is not None]
        if self.rule == other.rule:
            return replace(self, enough=min(enough, default=None))
        return replace(self, rule=GIVEN_RULE, enough=None)


def check_bins(bins: Any) -> int | str | tuple[int, ...] | None:
    """Return the bins asked for, or say why there are none such.

    >>> check_bins([0, 4, 8])
    (0, 4, 8)
    """
    if bins is None or (isinstance(bins, str) and bins == AUTO):
        return bins
    if isinstance(bins, np.ndarray):
        bins = bins.tolist()
    if isinstance(bins, Sequence) and not isinstance(bins, str):
        return _check_starts(bins)
    try:
        width = index(bins)
    except TypeError:
        width = 0
    if width < 1 or isinstance(bins, bool):
        raise InputError(
            f"--bins is {bins!r}; give how many neighbouring positions make a bin "
            f"(1 or more), or {AUTO}."
        )
    return width


def _check_starts(given: Sequence[Any]) -> tuple[int, ...]:
    try:
        starts = tuple(index(start) for start in given)
    except TypeError:
        starts = ()
    if not starts or starts[0] != 0 or any(a >= b for a, b in pairwise(starts)):
        raise InputError(
            f"bins are given by their first positions as {_first_few(given)}; "
            "give whole numbers that begin with 0 and increase."
        )
    return starts


def bin_counts(counts: PositionCounts, bins: Any) -> PositionCounts:
    """Return the counts with neighbouring positions merged; see `PositionCounts.binned`."""
    wanted = check_bins(bins)
    if wanted is None:
        return counts
    if len(counts.axes) > 1:
        raise CountsError(
            f"{counts.source} is a grid of {'x'.join(map(str, counts.axes))} positions, whose "
            "neighbours lie on several axes, so they are not merged; leave --bins out."
        )
    if counts.binning is not None:
        raise CountsError(
            f"the positions of {counts.source} are merged already ({counts.binning.rule}); "
            "merge the counts of single positions instead."
        )
    made = _make_bins(counts, wanted)
    if len(made.starts) == counts.length:
        return counts if made.enough is None else _note_none_needed(counts, made.enough)
    blocks = _merge_rows(counts.blocks, counts.folds, made.starts)
    return add_note(replace(counts, blocks=blocks, axes=(len(made.starts),), binning=made))


def _make_bins(counts: PositionCounts, wanted: int | str | tuple[int, ...]) -> Binning:
    span = counts.length
    if isinstance(wanted, tuple):
        if wanted[-1] >= span:
            raise InputError(
                f"a bin begins at position {wanted[-1]}, and {counts.source} has {span} "
                f"positions; give bins that begin below {span}."
            )
        return Binning(starts=wanted, span=span, rule=GIVEN_RULE)
    if isinstance(wanted, str):
        enough = enough_tokens(counts)
        starts = merge_until(counts.totals, enough)
        return Binning(starts=starts, span=span, rule=AUTO_RULE, enough=enough)
    rule = f"{wanted} neighbouring positions"
    return Binning(starts=tuple(range(0, span, wanted)), span=span, rule=rule)


def enough_tokens(counts: PositionCounts) -> int:
    """Return N*: with how many tokens a position is counted well enough to be debiased.

    Found by bisection in O(V log N*).
    """
    law = np.asarray(counts.matrix.sum(axis=0), dtype=np.float64).ravel()
    law = law[law > 0] / max(law.sum(), 1.0)
    if law.size == 0:
        return 1
    clumps = inflation(counts)
    below, above = 0, 1
    while noise(above, law, clumps) > LARGEST_NOISE:
        below, above = above, 2 * above
    while above - below > 1:
        middle = (below + above) // 2
        noisy = noise(middle, law, clumps) > LARGEST_NOISE
        below, above = (middle, above) if noisy else (below, middle)
    return above


def noise(tokens: float, law: NDArray[np.float64], clumps: float = 1.0) -> float:
    """Return sqrt(2) sigma^2 of a position with this many tokens and the pooled law.

    >>> float(round(noise(100, np.full(4, 0.25)), 6))
    0.007071
    """
    measured = tokens * law / (tokens * law + KAPPA * clumps)
    spread = clumps * np.sqrt(np.square(measured).sum())
    return float(np.sqrt(2.0) * spread / (4.0 * tokens * (measured @ law)))


def inflation(counts: PositionCounts) -> float:
    """Return c >= 1: how many tokens of a type come together at a position, on average."""
    by_fold = np.asarray(counts.blocks.sum(axis=1), np.float64).reshape(-1, counts.folds)
    even = np.square(by_fold).sum(axis=1) / np.maximum(by_fold.sum(axis=1), 1.0) ** 2
    pooled = counts.matrix.astype(np.float64)
    squares = np.asarray(pooled.power(2).sum(axis=1)).ravel()
    above = np.square(counts.blocks.data.astype(np.float64)).sum() - even @ squares
    below = (1.0 - even) @ by_fold.sum(axis=1)
    return max(float(above / below), 1.0) if below > 0 else 1.0  # one fold tells nothing of it


def merge_until(totals: NDArray[np.int64], enough: int) -> tuple[int, ...]:
    """Return where bins begin when each takes positions from the left until it has `enough`.

    >>> merge_until(np.array([9, 5, 3, 2, 2, 1]), 5)
    (0, 1, 2, 4)
    """
    starts, tokens = [0], 0
    for position, more in enumerate(totals.tolist()):
        if tokens >= enough:
            starts.append(position)
            tokens = 0
        tokens += more
    return tuple(starts)


def _merge_rows(blocks: csr_array, folds: int, starts: tuple[int, ...]) -> csr_array:
    """Sum the rows of each bin, fold by fold, exactly."""
    rows = blocks.shape[0]
    position, fold = np.divmod(np.arange(rows), folds)
    own = np.searchsorted(np.asarray(starts), position, side="right") - 1
    summing = csr_array(
        (np.ones(rows, np.int64), (own * folds + fold, np.arange(rows))),
        shape=(len(starts) * folds, rows),
    )
    merged = csr_array(summing @ blocks)
    merged.sort_indices()
    return merged


def add_note(counts: PositionCounts) -> PositionCounts:
    """Return the counts with one note, and no other, on how positions were merged."""
    if counts.binning is None:
        return counts
    rest = [n for n in counts.notes if not n.startswith((_NOTED, _UNMERGED))]
    return replace(counts, notes=(*rest, _note(counts, counts.binning)))


def _note(counts: PositionCounts, made: Binning) -> str:
    widths = np.diff((*made.starts, made.span))
    into = f"{made.span} into {len(widths)} bins"
    if made.enough is not None:
        short = int(counts.totals[-1])
        rest = f"; what is left over, the last, has {short:,}" if short < made.enough else ""
        return (
            f"{_NOTED} until counted well enough, with {made.enough:,} tokens a bin: {into} of "
            f"{widths.min()} to {widths.max()} positions{rest}"
        )
    if made.rule == GIVEN_RULE:
        return f"{_NOTED} as given: {into} that begin at {_first_few(made.starts)}"
    rest = f", the last of {widths[-1]}" if widths[-1] != widths[0] else ""
    return f"{_NOTED}: {into} of {made.rule}{rest}"


def _note_none_needed(counts: PositionCounts, enough: int) -> PositionCounts:
    """Say that bins were asked for and none were needed."""
    rest = ", but for the last" if counts.totals[-1] < enough else ""
    note = f"{_UNMERGED}: each is counted well enough, with {enough:,} tokens or more{rest}"
    return replace(counts, notes=(*counts.notes, note))


def join_bins(left: PositionCounts, right: PositionCounts) -> Binning | None:
    """Return the bins of both, or refuse to add counts whose positions were merged differently."""
    one, other = left.binning, right.binning
    if one is None and other is None:
        return None
    if one is None or other is None or (one.starts, one.span) != (other.starts, other.span):
        raise CountsError(
            f"counts of {_words(left)} and of {_words(right)} cannot be added; "
            "add the counts of single positions and merge the sum, or give both the same bins."
        )
    return one.combine(other)


def _words(counts: PositionCounts) -> str:
    if counts.binning is None:
        return f"{counts.length} single positions"
    return (
        f"{counts.binning.span} positions in bins that begin at {_first_few(counts.binning.starts)}"
    )


def _first_few(values: Sequence[Any]) -> str:
    """Return the first few values of a list in words."""
    shown = ", ".join(map(str, values[:6]))
    return shown + (", ..." if len(values) > 6 else "") if shown else "an empty list"
