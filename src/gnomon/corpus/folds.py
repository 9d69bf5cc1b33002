"""Folds, and how many groups there are.

A *fold* is a random set of groups: fold(key) = mix(key) mod F with F a power of two, so that the
same group falls into the same fold on every machine, and halving F merges fold f with f + F/2.

The number of distinct groups is kept by a sketch of the k smallest mixed keys (KMV: Bar-Yossef et
al. 2002; the estimator of Beyer et al. 2007): below k groups it is exact; above, with U the k-th
smallest of the keys scaled to (0, 1], the estimate is (k - 1) / U with relative standard error
1 / sqrt(k - 2), 0.2 % for k = 2^18. Merging is a union: associative, commutative, idempotent.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from gnomon.corpus.documents import Keys, mix
from gnomon.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_FOLDS = 256
CAPACITY = 2**18
_PENDING = 2**16


def fold_of(keys: Keys, folds: int) -> NDArray[np.uint8]:
    """Return the fold of every group key; `folds` is a power of two, at most 256."""
    check_folds(folds)
    return (mix(keys) & np.uint64(folds - 1)).astype(np.uint8)


def check_folds(folds: int) -> None:
    """Refuse a number of folds that is no power of two between 1 and 256."""
    if not 1 <= folds <= MOST_FOLDS or folds & (folds - 1):
        raise InputError(
            f"{folds} folds were asked for; choose a power of two from 1 to 256 (--folds)."
        )


class GroupSketch:
    """How many distinct groups were met, in memory that does not grow with them."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 3:
            raise InputError(f"a sketch of {capacity} keys estimates nothing; give it 3 or more.")
        self.capacity = capacity
        self._smallest: Keys = np.empty(0, dtype=np.uint64)
        self._pending: list[Keys] = []
        self._waiting = 0

    @classmethod
    def from_array(cls, smallest: Keys, capacity: int = CAPACITY) -> GroupSketch:
        """Return the sketch that `array` came from."""
        sketch = cls(capacity)
        sketch._smallest = np.unique(smallest.astype(np.uint64))[:capacity]
        return sketch

    def add(self, keys: Keys) -> None:
        """Meet these groups, new or known."""
        self._wait(mix(keys))

    def merge(self, other: GroupSketch) -> GroupSketch:
        """Return the sketch of both sets of groups."""
        if self.capacity != other.capacity:
            raise InputError(
                f"sketches of {self.capacity} and {other.capacity} keys can not be merged; "
                "make both with the same capacity."
            )
        both = np.concatenate((self.array, other.array))
        return GroupSketch.from_array(both, self.capacity)

    @property
    def array(self) -> Keys:
        """The smallest mixed keys, sorted: all there is to save."""
        self._settle()
        return self._smallest

    @property
    def exact(self) -> bool:
        """Whether `estimate` is the number itself."""
        return len(self.array) < self.capacity

    def estimate(self) -> int:
        """Return the number of distinct groups, exact or estimated."""
        smallest = self.array
        if self.exact:
            return len(smallest)
        scaled = (int(smallest[-1]) + 1) / 2.0**64
        return round((self.capacity - 1) / scaled)

    def relative_error(self) -> float:
        """Return the relative standard error of the estimate."""
        return 0.0 if self.exact else 1.0 / sqrt(self.capacity - 2)

    def _wait(self, mixed: Keys) -> None:
        """Collect keys that may still matter; sorting is done for many batches at once."""
        if len(self._smallest) == self.capacity:
            mixed = mixed[mixed < self._smallest[-1]]
        self._pending.append(mixed)
        self._waiting += len(mixed)
        if self._waiting >= _PENDING:
            self._settle()

    def _settle(self) -> None:
        if self._pending:
            met = np.unique(np.concatenate((self._smallest, *self._pending)))
            self._smallest = met[: self.capacity]
            self._pending, self._waiting = [], 0
