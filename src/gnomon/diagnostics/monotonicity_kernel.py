"""Violations and ties by rows, compiled: a bottom-up merge sort that counts as it merges."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def count_rows(values: Any, lags: Any, start: int, stop: int) -> Any:
    """Return how many triples of rows start ... stop-1 are violated, how many tied, and all."""
    others = values.shape[0] - 1
    sequence, spare = np.empty(others), np.empty(others)
    own_lags = np.empty(others)
    above = equal = triples = 0
    for row in range(start, stop):
        _put_in_order(values[row], lags[row - start], row, sequence, own_lags)
        free, tied = _within_groups(sequence, own_lags)
        above += _sort_and_count(sequence, spare)
        equal += _equal_pairs(sequence) - tied
        triples += others * (others - 1) // 2 - free
    return above, equal, triples


@numba.njit(nogil=True, cache=True)
def _put_in_order(values: Any, lags: Any, row: int, sequence: Any, own_lags: Any) -> None:
    """Write the other positions in order of lag.

    On a line with growing positions lags fall before the row and rise after it: two ordered runs
    to merge, no sort.
    """
    size = values.shape[0]
    unimodal = True
    for index in range(1, size):
        if index <= row and lags[index] > lags[index - 1]:
            unimodal = False
        if index > row and lags[index] < lags[index - 1]:
            unimodal = False
    if unimodal:
        before, after = row - 1, row + 1
        for slot in range(size - 1):
            from_before = after >= size or (before >= 0 and lags[before] <= lags[after])
            index = before if from_before else after
            sequence[slot], own_lags[slot] = values[index], lags[index]
            if from_before:
                before -= 1
            else:
                after += 1
        return
    order = np.argsort(lags)
    slot = 0
    for index in order:
        if index != row:
            sequence[slot], own_lags[slot] = values[index], lags[index]
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
            if sequence[begin] > sequence[begin + 1]:
                sequence[begin], sequence[begin + 1] = sequence[begin + 1], sequence[begin]
        elif width > 2:
            sequence[begin:end] = np.sort(sequence[begin:end])
        if width > 1:
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
def _sort_and_count(sequence: Any, spare: Any) -> int:
    """Sort in place and return the number of inversions."""
    size = sequence.shape[0]
    count = 0
    width = 16
    for begin in range(0, size, width):
        for index in range(begin + 1, min(begin + width, size)):
            value = sequence[index]
            slot = index
            while slot > begin and sequence[slot - 1] > value:
                sequence[slot] = sequence[slot - 1]
                slot -= 1
            sequence[slot] = value
            count += index - slot
    source, target = sequence, spare
    while width < size:
        for begin in range(0, size, 2 * width):
            middle, end = min(begin + width, size), min(begin + 2 * width, size)
            count += _merge(source, target, begin, middle, end)
        source, target = target, source
        width *= 2
    if width > 16:
        sequence[:] = source
    return count


@numba.njit(nogil=True, cache=True)
def _merge(source: Any, target: Any, begin: int, middle: int, end: int) -> int:
    """Merge two sorted runs; every entry taken from the right jumps over what is left of the left.

    The choice is made by arithmetic, not by a branch that random data would mispredict half the
    time.
    """
    left, right, slot, count = begin, middle, begin, 0
    while left < middle and right < end:
        first, second = source[left], source[right]
        taken = int(second < first)
        target[slot] = second if taken else first
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
