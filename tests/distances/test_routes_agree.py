"""What `GNOMON_NUMBA=0` may change: the order of float sums, and nothing else.

Every kernel is run beside its NumPy twin on random data. Whole numbers and random draws are equal
bit for bit; float sums stay inside the bounds that `gnomon.numeric.parallel` states.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.corpus.counting import Slots, count_slots
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.shuffling import _places, _swap, _swap_compiled
from gnomon.diagnostics.monotonicity import violations
from gnomon.diagnostics.shift import lag_sums
from gnomon.distances.chord import centred_gram, chord_distances, direct_squared, distributions_of
from gnomon.distances.drift import measure_drift
from gnomon.distances.energies import balanced_signs, frame_of, sums
from gnomon.distances.estimators import expected_null_squares
from gnomon.distances.folds import fold_counts
from gnomon.distances.nulls import deal
from gnomon.distances.scaling import smacof
from gnomon.lags.token_line import equal_pairs, join_documents, pair_tables
from gnomon.numeric import parallel

SOURCE = Path(gnomon.__file__).parent
SUMS, LOOPS = 1e-13, 1e-9
"""Bounds of float sums, and of what iterates or divides by differences; see `parallel`."""


def text(rng, positions=40, types=700):
    shares = 1.0 / np.arange(1, types + 1)
    return rng.multinomial(500, shares / shares.sum(), size=positions)


def counted(rng):
    lengths = rng.integers(1, 40, 900)
    slots = Slots(
        values=rng.zipf(1.3, int(lengths.sum())).clip(max=500).astype(np.int32) - 1,
        starts=(np.cumsum(lengths) - lengths).astype(np.int64),
        lengths=lengths.astype(np.int64),
        folds=rng.integers(0, 4, len(lengths)).astype(np.uint8),
    )
    return [count_slots(slots, length=40, vocabulary=500, folds=4).toarray()]


def swapped(rng):
    lengths = rng.integers(0, 30, 50)
    begins = np.cumsum(lengths) - lengths
    values = rng.integers(0, 9, lengths.sum()).astype(np.int32)
    place = np.arange(lengths.sum()) - np.repeat(begins, lengths)
    keys = np.repeat(rng.integers(0, 2**63, 50).astype(np.uint64), lengths)
    swap = _swap_compiled if parallel.use_numba() else _swap
    swap(values, begins, lengths, _places(keys, place))
    return [values]


def dealt(rng):
    table = deal(text(rng), np.random.SeedSequence([5, 1]))
    return [table.indptr, table.indices, table.data]


def pairs_in_a_line(rng):
    documents = [rng.integers(0, 7, size) for size in rng.integers(2, 60, 30)]
    made = join_documents(documents, folds=3, seed=1)
    own = np.arange(len(made.starts) - 1)
    return [equal_pairs(made, np.arange(1, 20)), pair_tables(made, own, 2)]


def random_distances(rng, size=70):
    points = rng.normal(size=(size, 4))
    return np.sqrt(np.square(points[:, None] - points[None]).sum(axis=-1))


def triples(rng):
    found = violations(random_distances(rng))
    return [np.array([found.violations, found.ties, found.triples])]


def lags(rng):
    found = lag_sums(random_distances(rng))
    return [found.pairs, found.means, found.spreads]


def near(rng):
    rows = rng.integers(0, 40, 300)
    counts = text(rng)
    return [direct_squared(distributions_of(counts), rows, (rows + 1) % 40)]


def debiased(rng):
    array = np.stack([text(rng, 14, 400) // 6 for _ in range(6)])
    data = fold_counts(PositionCounts.from_array(array, minimum_count=1))
    signs = balanced_signs(data.folds, 5, np.random.default_rng(3))
    found = sums(data, measure_drift(data), frame_of(data, signs))
    return [found.energy, found.measured, found.deleted]


EQUAL = [counted, swapped, dealt, pairs_in_a_line, triples, lags]
CLOSE = [
    (lambda rng: [centred_gram(text(rng))], SUMS),
    (lambda rng: [chord_distances(text(rng))], SUMS),
    (near, SUMS),
    (lambda rng: [expected_null_squares(text(rng))], SUMS),
    (debiased, LOOPS),
    (lambda rng: [smacof(random_distances(rng), 3, iterations=20).vectors], LOOPS),
]


def both(work, seed, monkeypatch):
    found = []
    for switch in ("1", "0"):
        monkeypatch.setenv("GNOMON_NUMBA", switch)
        found.append(work(np.random.default_rng(seed)))
    return zip(*found, strict=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("work", EQUAL, ids=lambda work: work.__name__)
def test_whole_numbers_draws_and_sums_in_one_order_are_equal_bit_for_bit(work, seed, monkeypatch):
    for compiled, plain in both(work, seed, monkeypatch):
        assert compiled.dtype == plain.dtype
        np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", range(len(CLOSE)))
def test_float_sums_differ_by_their_order_alone(case, seed, monkeypatch):
    work, bound = CLOSE[case]
    for compiled, plain in both(work, seed, monkeypatch):
        size = np.abs(plain).max()
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=bound * size)


def test_the_promise_states_the_bounds_that_are_tested():
    assert f"{SUMS:g}" in parallel.__doc__
    assert f"{LOOPS:g}" in parallel.__doc__


def test_every_module_that_chooses_a_route_is_run_here_or_listed():
    """A new kernel has to be added to the tables above, and here."""
    known = {
        "corpus/counting.py", "corpus/shuffling.py", "distances/chord.py",
        "distances/estimators.py", "distances/nulls.py", "distances/scaling.py",
        "distances/energies.py",
        "diagnostics/monotonicity.py", "diagnostics/shift.py", "lags/token_line.py",
    }  # fmt: skip
    asking = re.compile(r"\buse_numba\(\)")
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "from gnomon.numeric.parallel import" in path.read_text()
        and asking.search(path.read_text())
    }
    assert found == known
