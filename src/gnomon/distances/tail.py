"""The tail of the vocabulary: tokens that occur at few positions.

A token at k of m positions adds k^2 / 2 products to the Gram matrix; a dense column costs m^2 / 2
much cheaper ones. Below about a twelfth of the positions the sparse way is the faster one, and in
text most tokens are there. Tail roots are multiplied as they are and centred afterwards,

    <t_i - t, t_j - t> = <t_i, t_j> - <t_i, t> - <t_j, t> + <t, t>,   t the mean of the t_i,

which cancels only for pairs much nearer than their tail mass |t_i|^2: these are measured again by
direct difference like all near pairs, so `mass` is handed on to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnomon.numeric.parallel import map_threads, stripes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.distances.laws import Laws

TAIL_SHARE = 0.08
"""A token is of the tail when it occurs at fewer than this share of the positions."""
ROWS = 16
"""Rows per task of one thread."""


@dataclass(frozen=True)
class Tail:
    """The roots of tail tokens, by token and by position."""

    by_row: NDArray[np.int64]
    """The entries of position i are by_row[i]:by_row[i + 1] of `lists` and `places`."""
    lists: NDArray[np.int32]
    places: NDArray[np.int64]
    """Where an entry stands in `positions` and `roots`, and in which token's list."""
    ends: NDArray[np.int64]
    """Where each token's list ends."""
    positions: NDArray[np.int32]
    roots: NDArray[np.float64]

    @property
    def mass(self) -> NDArray[np.float64]:
        """|t_i|^2: the share of position i that is in the tail."""
        squares = np.square(self.roots)
        mass: NDArray[np.float64] = np.bincount(
            self.positions, squares, minlength=self.by_row.size - 1
        ).astype(np.float64)
        return mass


def tail_of(law: Laws, occurrences: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Tail:
    """Return the roots of the chosen tokens."""
    from gnomon.distances.kernels import gather_tail, place_tail

    number = np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32)
    ends = np.cumsum(occurrences[chosen])
    entries = int(ends[-1])
    begins = ends - occurrences[chosen]
    tail = Tail(
        by_row=np.empty(law.positions + 1, np.int64),
        lists=np.empty(entries, np.int32),
        places=np.empty(entries, np.int64),
        ends=ends,
        positions=np.empty(entries, np.int32),
        roots=np.empty(entries),
    )
    rows = (law.starts, law.tokens)
    out = (tail.by_row, tail.positions, tail.roots)
    gather_tail(*rows, law.counts, law.scales, number, begins.copy(), *out)
    place_tail(*rows, number, begins, tail.lists, tail.places)
    return tail


def add_tail(tail: Tail, gram: NDArray[np.float64]) -> None:
    """Add the centred products of the tail to the upper triangle of `gram`."""
    from gnomon.distances.kernels import add_tail_rows

    m = gram.shape[0]
    begins = np.concatenate([np.zeros(1, np.int64), tail.ends[:-1]])
    mean = np.add.reduceat(tail.roots, begins) / m
    shares = tail.roots * np.repeat(mean, tail.ends - begins)
    overlap = np.bincount(tail.positions, shares, minlength=m)
    entries = (tail.by_row, tail.lists, tail.places, tail.ends, tail.positions, tail.roots)

    def rows(first: int, last: int) -> None:
        add_tail_rows(gram, *entries, overlap, float(mean @ mean), first, last)

    map_threads(rows, stripes(0, m, ROWS))
