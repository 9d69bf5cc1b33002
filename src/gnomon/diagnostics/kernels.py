"""What `monotonicity` and `shift` count by rows, compiled: the same numbers.

Violations are inversions, counted by a merge sort as it merges. Random distances would make every
branch of a merge a coin toss, so choices are made by arithmetic: blocks of 16 are sorted by
counting ranks, and two runs of equal width are merged from both ends at once. Distances are not
negative, so their bits, read as whole numbers, have the same order, and whole numbers are chosen
from without a branch; unsigned places need no check for negative ones. Sums by lag are added in the
same order.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_WIDTH = 16
_ONE = np.uint64(1)


@numba.njit(nogil=True, cache=True)
def count_rows(keys: Any, lags: Any, start: int) -> Any:
    """Return how many triples of rows start, start + 1, ... are violated, how many tied, and all.

    Row r of `keys` and `lags` belongs to position start + r.
    """
    others = keys.shape[1] - 1
    sequence, spare = np.empty(others, np.int64), np.empty(others, np.int64)
    own_lags = np.empty(others)
    above = equal = triples = 0
    for row in range(keys.shape[0]):
        _put_in_order(keys[row], lags[row], start + row, sequence, own_lags)
        free, tied = _within_groups(sequence, own_lags)
        count, ordered = _sort_and_count(sequence, spare)
        above += count
        equal += _equal_pairs(ordered) - tied
        triples += others * (others - 1) // 2 - free
    return above, equal, triples


@numba.njit(nogil=True, cache=True)
def _put_in_order(keys: Any, lags: Any, own: int, sequence: Any, own_lags: Any) -> None:
    """Write the other positions in order of lag.

    On a line with growing positions lags fall before the position and rise after it: two ordered
    runs to merge, no sort.
    """
    size = keys.shape[0]
    out_of_order = 0
    for index in range(1, own + 1):
        out_of_order += lags[index] > lags[index - 1]
    for index in range(own + 1, size):
        out_of_order += lags[index] < lags[index - 1]
    if out_of_order == 0:
        before, after = own - 1, own + 1
        for slot in range(size - 1):
            from_before = after >= size or (before >= 0 and lags[before] <= lags[after])
            index = before if from_before else after
            sequence[slot], own_lags[slot] = keys[index], lags[index]
            before -= from_before
            after += not from_before
        return
    slot = 0
    for index in np.argsort(lags):
        if index != own:
            sequence[slot], own_lags[slot] = keys[index], lags[index]
            slot += 1


@numba.njit(nogil=True, cache=True)
def _within_groups(sequence: Any, own_lags: Any) -> Any:
    """Sort each group of equal lags; return its pairs and how many of them are equal."""
    size = sequence.shape[0]
    free = tied = begin = 0
    while begin < size:
        end = begin + 1
        while end < size and own_lags[end] == own_lags[begin]:
            end += 1
        width = end - begin
        if width == 2:
            first, second = sequence[begin], sequence[begin + 1]
            sequence[begin], sequence[begin + 1] = min(first, second), max(first, second)
            free += 1
            tied += first == second
        elif width > 2:
            sequence[begin:end] = np.sort(sequence[begin:end])
            free += width * (width - 1) // 2
            tied += _equal_pairs(sequence[begin:end])
        begin = end
    return free, tied


@numba.njit(nogil=True, cache=True)
def _equal_pairs(ordered: Any) -> int:
    count = run = 0
    for index in range(1, ordered.shape[0]):
        run = run + 1 if ordered[index] == ordered[index - 1] else 0
        count += run
    return count


@numba.njit(nogil=True, cache=True)
def _sort_and_count(sequence: Any, spare: Any) -> Any:
    """Return the number of inversions, and the one of both buffers that now is in order."""
    size = sequence.shape[0]
    count = 0
    for begin in range(0, size, _WIDTH):
        count += _sort_block(sequence, spare, begin, min(begin + _WIDTH, size))
    source, target, width = spare, sequence, _WIDTH
    while width < size:
        for begin in range(0, size, 2 * width):
            middle, end = min(begin + width, size), min(begin + 2 * width, size)
            if end - middle == width:
                count += _merge_equal(source, target, begin, middle, end)
            else:
                count += _merge(source, target, begin, middle, end)
        source, target = target, source
        width *= 2
    return count, source


@numba.njit(nogil=True, cache=True)
def _sort_block(source: Any, target: Any, begin: int, end: int) -> int:
    """Put every entry at its rank; equal entries keep their order."""
    count = 0
    for index in range(begin, end):
        value = source[index]
        greater_before = smaller_after = 0
        for other in range(begin, index):
            greater_before += source[other] > value
        for other in range(index + 1, end):
            smaller_after += source[other] < value
        target[index - greater_before + smaller_after] = value
        count += greater_before
    return count


@numba.njit(nogil=True, cache=True)
def _merge(source: Any, target: Any, begin: int, middle: int, end: int) -> int:
    """Merge two sorted runs; what is taken from the right jumps over what is left of the left."""
    left, right, slot, count = begin, middle, begin, 0
    while left < middle and right < end:
        first, second = source[left], source[right]
        taken = int(second < first)
        target[slot] = min(first, second)
        count += taken * (middle - left)
        right += taken
        left += 1 - taken
        slot += 1
    for index in range(left, middle):
        target[slot] = source[index]
        slot += 1
    for index in range(right, end):
        target[slot] = source[index]
        slot += 1
    return count


@numba.njit(nogil=True, cache=True)
def _merge_equal(source: Any, target: Any, begin: int, middle: int, end: int) -> Any:
    """Merge two runs of equal width from both ends, which meet without a test.

    An inversion is counted where its right-hand entry is taken: from the front it jumps over what
    is left of the left, from the back it lies under what was taken of the left.
    """
    centre = np.uint64(middle)
    low_left, low_right, front = np.uint64(begin), centre, np.uint64(begin)
    high_left, high_right, back = centre - _ONE, np.uint64(end) - _ONE, np.uint64(end) - _ONE
    count = np.uint64(0)
    for _ in range(middle - begin):
        first, second = source[low_left], source[low_right]
        taken = np.uint64(second < first)
        target[front] = min(first, second)
        count += taken * (centre - low_left)
        low_right += taken
        low_left += _ONE - taken
        front += _ONE
        first, second = source[high_left], source[high_right]
        taken = np.uint64(first > second)
        target[back] = max(first, second)
        count += (_ONE - taken) * (centre - _ONE - high_left)
        high_left -= taken
        high_right -= _ONE - taken
        back -= _ONE
    return np.int64(count)


@numba.njit(nogil=True, cache=True)
def accumulate(distances: Any, start: int, stop: int, sums: Any) -> None:
    """Add the shifted entries of rows start ... stop-1, and their squares, lag by lag."""
    size = distances.shape[0]
    for row in range(start, stop):
        for lag in range(1, size - row):
            shifted = distances[row, row + lag] - distances[0, lag]
            sums[0, lag] += shifted
            sums[1, lag] += shifted * shifted
