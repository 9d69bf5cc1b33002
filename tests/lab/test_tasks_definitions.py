"""Every task against its definition, read off row by row in plain Python."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from gnomon.errors import LabError
from gnomon.lab.tasks import TASKS as KINDS
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Drawn

EXACT = [k for k in KINDS.values() if issubclass(k, Drawn) and k.name != "alignment"]

SHORTEST = {"recall": 14, "distance": 20, "phase": 20}
TASKS = {
    kind.name: task(kind.name, length=max(24, kind().length), shortest=SHORTEST.get(kind.name, 10))
    for kind in EXACT
}
named = pytest.mark.parametrize("made", TASKS.values(), ids=lambda made: made.name)


def rows_of(made, size=60, seed=0, length=None):
    """Yield (tokens, target, weights, times) of every row, padding cut off."""
    batch = made.batch(np.random.default_rng(seed), size, length)
    for row, mask in enumerate(batch.mask):
        kept = int(mask.sum())
        target = batch.targets[row]
        yield (
            batch.tokens[row, :kept].tolist(),
            target if target.ndim == 0 else target[:kept],
            None if batch.weights is None else batch.weights[row, :kept].tolist(),
            None if batch.positions is None else batch.positions[row, :kept].tolist(),
        )


def test_distance_is_the_number_of_slots_from_a_to_b():
    for tokens, target, *_ in rows_of(TASKS["distance"]):
        assert sorted(t for t in tokens if t < 3) == [1, 2]
        assert tokens.index(2) - tokens.index(1) == target + 1


def test_counting_counts_the_eight_trigger_types():
    for tokens, target, *_ in rows_of(TASKS["counting"]):
        assert sum(t <= 8 for t in tokens) == target


def test_order_says_whether_a_comes_first():
    for tokens, target, *_ in rows_of(TASKS["order"]):
        assert sorted(t for t in tokens if t < 3) == [1, 2]
        assert (tokens.index(1) < tokens.index(2)) == bool(target)


def test_lag_copy_repeats_the_token_five_slots_back():
    for tokens, target, weights, _ in rows_of(TASKS["lag"]):
        assert weights == [0.0] * 5 + [1.0] * (len(tokens) - 5)
        assert (target[5:] + 1).tolist() == tokens[:-5]


def test_reversal_repeats_the_mirrored_token_and_leaves_out_the_middle():
    lengths = set()
    for tokens, target, weights, _ in rows_of(TASKS["reversal"]):
        lengths.add(len(tokens) % 2)
        for slot, weight in enumerate(weights):
            assert weight == (2 * slot != len(tokens) - 1)
            assert not weight or target[slot] + 1 == tokens[::-1][slot]
    assert lengths == {0, 1}


def test_modular_position_counts_beats_from_the_start():
    for tokens, target, *_ in rows_of(TASKS["modular"]):
        assert target.tolist() == [t % 8 for t in range(len(tokens))]


def test_phase_is_distance_times_cosine_of_real_times():
    for tokens, target, _, times in rows_of(TASKS["phase"]):
        apart = times[tokens.index(2)] - times[tokens.index(1)]
        assert apart > 0
        assert target == pytest.approx(apart / 8 * math.cos(2 * math.pi * apart / 6), abs=1e-6)


def test_decay_is_the_sum_of_faded_values():
    for tokens, target, _, times in rows_of(TASKS["decay"], size=10):
        values = [(token - 5) / 4 for token in tokens]
        for t, answer in enumerate(target):
            faded = [math.exp(-(times[t] - times[s]) / 3) * values[s] for s in range(t + 1)]
            assert answer == pytest.approx(sum(faded), abs=1e-6)


def test_recall_asks_for_the_value_told_with_a_key():
    for tokens, target, weights, _ in rows_of(TASKS["recall"]):
        told = {}
        for key, value in pairwise(tokens[:-4]):
            if 2 <= key < 6:
                assert key not in told
                told[key] = value - 6
        assert len(told) == 4
        assert len(set(tokens[-4:])) == 4
        assert weights == [0.0] * (len(tokens) - 4) + [1.0] * 4
        assert [told[key] for key in tokens[-4:]] == target[-4:].tolist()


@pytest.mark.parametrize(("name", "place"), [("first-occurrence", 0), ("last-occurrence", -1)])
def test_occurrence_names_the_first_or_the_last_marker(name, place):
    for tokens, target, *_ in rows_of(TASKS[name]):
        markers = [token for token in tokens if token <= 8]
        assert sorted(markers) == list(range(1, 9))
        assert markers[place] == target + 1


@named
def test_padding_stands_outside_the_mask_and_nowhere_else(made):
    batch = made.batch(np.random.default_rng(1), 200)
    assert ((batch.tokens == 0) == ~batch.mask).all()
    assert batch.tokens.max() < made.vocabulary
    lengths = batch.mask.sum(axis=1)
    assert lengths.min() == made.shortest
    assert lengths.max() == made.length
    assert batch.tokens.dtype == np.int64


@named
def test_targets_are_classes_or_numbers_as_declared(made):
    batch = made.batch(np.random.default_rng(1), 400)
    if made.regression:
        assert batch.targets.dtype == np.float32
    else:
        assert batch.targets.dtype == np.int64
        assert batch.targets.min() == 0
        assert batch.targets.max() == made.classes - 1
    assert batch.targets.ndim == (1 if made.output == "label" else 2)


@named
def test_equal_streams_give_equal_batches_and_others_do_not(made):
    first, again, other = (made.batch(np.random.default_rng(seed), 8) for seed in (3, 3, 4))
    for field in ("tokens", "targets", "mask", "positions", "weights"):
        one, two = getattr(first, field), getattr(again, field)
        assert (one is None and two is None) or np.array_equal(one, two)
    assert first.tokens.shape != other.tokens.shape or (first.tokens != other.tokens).any()


@named
def test_rows_of_another_length_keep_classes_and_vocabulary(made):
    batch = made.batch(np.random.default_rng(0), 300, length=50)
    assert batch.tokens.shape == (300, 50)
    assert batch.mask.all()
    assert batch.tokens.max() < made.vocabulary
    assert made.regression or batch.targets.max() < made.classes


def test_recall_places_its_pairs_in_every_way():
    """Two pairs and one filler before one query: three arrangements, all equally likely."""
    made = task("recall", length=6, pairs=2, queries=1)
    batch = made.batch(np.random.default_rng(0), 3000)
    places, counts = np.unique((batch.tokens == 1).argmax(axis=1), return_counts=True)
    assert places.tolist() == [0, 2, 4]
    assert (abs(counts - 1000) < 4 * math.sqrt(3000 * 2 / 9)).all()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("distanse", {}, "'distanse' is no task; did you mean 'distance'"),
        ("distance", {"lenght": 3}, "task distance has no parameter 'lenght'; did you mean 'leng"),
        ("distance", {"length": 16}, "length is 16; it must be a whole number of 17 or more"),
        ("distance", {"distances": 1}, "distances is 1; it must be a whole number of 2 or more"),
        ("order", {"length": 2.5}, "length is 2.5; it must be a whole number of 2 or more"),
        ("order", {"shortest": 40}, "shortest is 40, above the length 32; make it smaller"),
        ("lag", {"lag": 0}, "lag is 0; it must be a whole number of 1 or more"),
        ("recall", {"queries": 5}, "5 queries need as many pairs, and there are 4"),
        ("recall", {"pairs": 9, "length": 40}, "9 pairs need as many keys, and there are 4"),
        ("phase", {"period": 0.0}, "period is 0.0; it must be a positive number"),
        ("decay", {"time": -1}, "time is -1; it must be a positive number"),
        ("first-occurrence", {"length": 7}, "length is 7; it must be a whole number of 8 or more"),
    ],
)
def test_a_task_that_can_not_be_is_refused(name, parameters, message):
    with pytest.raises(LabError, match=message):
        task(name, **parameters)


def test_a_batch_without_rows_or_with_too_short_ones_is_refused():
    made, rng = task("distance"), np.random.default_rng(0)
    with pytest.raises(LabError, match="size is 0; it must be a whole number of 1 or more"):
        made.batch(rng, 0)
    with pytest.raises(LabError, match="length is 10; it must be a whole number of 17 or more"):
        made.batch(rng, 4, length=10)
