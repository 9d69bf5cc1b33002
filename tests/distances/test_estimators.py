"""One interface for all estimators of squared distances: what each is, and what it refuses."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import gnomon.distances.estimators as table
from gnomon.corpus.counts import PositionCounts
from gnomon.distances.estimators import ESTIMATORS, Estimate, split_half_squares
from gnomon.distances.geometry import measure
from gnomon.errors import CountsError, InputError

FOLDS = 8


def drawn(laws, tokens, rng, folds=FOLDS) -> PositionCounts:
    """Independent tokens in folds: position i has tokens[i] in every one of them."""
    blocks = [
        [rng.multinomial(n, law) for law, n in zip(laws, tokens, strict=True)] for _ in range(folds)
    ]
    return PositionCounts.from_array(np.array(blocks), minimum_count=1)


def two_laws(positions: int, types: int, strength: float, rng) -> np.ndarray:
    """Half of the positions have one law and half another."""
    laws = np.tile(1.0 / np.arange(1, types + 1), (positions, 1))
    laws[positions // 2 :] *= np.exp(strength * rng.normal(size=types))
    return laws / laws.sum(axis=1, keepdims=True)


def squared_chords(laws) -> np.ndarray:
    return np.square(np.sqrt(laws)[:, None] - np.sqrt(laws)[None, :]).sum(axis=2)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_gives_a_geometry_of_the_planted_laws(name, rng):
    """Two laws in blocks: near inside a block, far apart across, and the far ones about right."""
    laws = two_laws(10, 60, 0.8, rng)
    truth = squared_chords(laws)
    found = measure(drawn(laws, np.full(10, 500), rng), estimator=name, rng=rng)
    assert found.estimator == name
    assert found.positions.tolist() == list(range(10))
    np.testing.assert_array_equal(found.distances, found.distances.T)
    assert (np.diag(found.distances) == 0).all()
    assert np.abs(found.distances**2 - truth).max() < 0.03
    J = np.eye(10) - 0.1
    if not found.negative_squares:
        np.testing.assert_allclose(found.gram, -0.5 * J @ found.distances**2 @ J, atol=1e-12)


@pytest.mark.parametrize("name", ["u", "null-subtracted", "split-half"])
def test_negative_squares_are_counted_and_kept_in_the_gram_and_the_mean(name, rng):
    """Without signal about half of the squares are negative, and their mean is about zero."""
    laws = np.tile(two_laws(2, 400, 0.0, rng)[0], (12, 1))
    counts = drawn(laws, np.full(12, 300), rng)
    found = measure(counts, estimator=name, rng=np.random.default_rng(1))
    squares = ESTIMATORS[name](counts, counts.kept, np.random.default_rng(1)).squares
    pairs = squares[np.triu_indices(12, 1)]
    assert found.negative_squares == (pairs < 0).sum()
    assert 10 < found.negative_squares < 56
    assert found.mean_squared == pytest.approx(pairs.mean(), rel=1e-9)
    assert abs(found.mean_squared) < 0.02 < measure(counts).mean_squared
    J = np.eye(12) - 1 / 12
    np.testing.assert_allclose(found.gram, -0.5 * J @ squares @ J, atol=1e-12)
    np.testing.assert_allclose(found.distances, np.sqrt(np.maximum(squares, 0.0)), atol=1e-12)


def test_null_subtraction_takes_off_the_mean_over_all_deals():
    """Brute force: every way to deal six tokens to three positions."""
    counts = np.array([[2, 0, 1], [0, 1, 0], [1, 1, 0]])
    tokens = [0, 2, 0, 1, 0, 1]  # the tokens of all slots, in any order
    owners = np.repeat(np.arange(3), counts.sum(axis=1))
    sorted_tokens = sorted(tokens)
    dealt = []
    for order in set(permutations(sorted_tokens)):
        table_of = np.zeros((3, 3))
        np.add.at(table_of, (owners, np.array(order)), 1)
        dealt.append(squared_chords(table_of / table_of.sum(axis=1, keepdims=True)))
    expected = squared_chords(counts / counts.sum(axis=1, keepdims=True)) - np.mean(dealt, axis=0)
    found = ESTIMATORS["null-subtracted"](counts, np.ones(3, bool), np.random.default_rng(0))
    np.testing.assert_allclose(found.squares, expected, atol=1e-9)


def test_split_half_is_the_mean_over_halvings_of_products_across_halves(rng):
    """With four folds there are three halvings; many random ones come near their plain mean."""
    blocks = rng.poisson(3.0, size=(4, 5, 7)) + 1  # folds x positions x types
    gram = np.zeros((5, 5))
    for half in combinations(range(4), 2):  # each halving twice: once each way round
        rest = [g for g in range(4) if g not in half]
        one, two = (blocks[list(part)].sum(axis=0) for part in (half, rest))
        roots = [np.sqrt(x / x.sum(axis=1, keepdims=True)) for x in (one, two)]
        gram += roots[0] @ roots[1].T / 6
    own = np.diag(gram)
    expected = own[:, None] + own[None, :] - 2 * gram
    counts = PositionCounts.from_array(blocks, minimum_count=1)
    found = split_half_squares(counts.blocks, 4, rng, halvings=3000)
    np.testing.assert_allclose(found, expected, atol=5e-4)


@pytest.mark.parametrize("name", ["debiased", "split-half", "u"])
def test_a_document_is_never_on_both_sides_of_a_product(name, rng):
    """Every document five times in its own fold: no estimate across folds takes it for signal."""
    law = two_laws(2, 300, 0.0, rng)[0]
    once = np.array([[rng.multinomial(40, law) for _ in range(8)] for _ in range(16)])
    counts = PositionCounts.from_array(5 * once, minimum_count=1)
    assert abs(measure(counts, estimator=name, rng=rng).mean_squared) < 0.03
    assert measure(counts).mean_squared > 0.2
    assert measure(counts, estimator="null-subtracted").mean_squared > 0.1  # there it is


def test_the_same_stream_gives_the_same_halvings_and_signs(rng):
    counts = drawn(two_laws(6, 50, 0.5, rng), np.full(6, 300), rng)
    for name in ("split-half", "debiased", "u"):
        one, two, default = (
            measure(counts, estimator=name, rng=stream)
            for stream in (np.random.default_rng(5), np.random.default_rng(5), None)
        )
        np.testing.assert_array_equal(one.distances, two.distances)
        again = measure(counts, estimator=name)
        np.testing.assert_array_equal(default.distances, again.distances)


def test_adding_an_estimator_is_one_line(monkeypatch):
    def all_ones(_counts, kept, _rng):
        m = int(kept.sum())
        return Estimate(np.flatnonzero(kept), np.ones((m, m)) - np.eye(m))

    monkeypatch.setitem(table.ESTIMATORS, "simplex", all_ones)
    assert measure(np.eye(4, dtype=int), estimator="simplex").mean_squared == pytest.approx(1.0)


def test_the_angle_of_a_debiased_distance_is_twice_the_arcsine_of_half_the_chord(rng):
    counts = drawn(two_laws(8, 40, 1.0, rng), np.full(8, 800), rng)
    chord = measure(counts, estimator="debiased", rng=np.random.default_rng(2))
    found = measure(counts, "angle", estimator="debiased", rng=np.random.default_rng(2))
    np.testing.assert_allclose(np.sin(found.distances / 2), chord.distances / 2, atol=1e-12)
    assert found.distances.max() <= np.pi / 2
    truth = np.arccos(1 - squared_chords(two_laws(8, 40, 1.0, np.random.default_rng(20260406))) / 2)
    assert np.abs(found.distances - truth).max() < 0.1


@pytest.mark.parametrize("name", ["u", "null-subtracted", "split-half"])
def test_a_square_that_can_be_negative_has_no_angle(name, rng):
    counts = drawn(two_laws(4, 20, 0.5, rng), np.full(4, 200), rng)
    words = f"the {name} estimate of a squared distance can be negative.*use the chord"
    with pytest.raises(InputError, match=words):
        measure(counts, "angle", estimator=name)


@pytest.mark.parametrize("name", ["debiased", "split-half", "u"])
def test_counts_without_folds_are_refused_where_folds_are_needed(name):
    words = f"the {name} estimator needs counts in folds, and these are a plain matrix"
    with pytest.raises(CountsError, match=words):
        measure(np.ones((4, 5), int), estimator=name)
    one = PositionCounts.from_array(np.ones((4, 5), int), minimum_count=1)
    words = f"the {name} estimator needs counts in folds, and these have 1.*--folds 16"
    with pytest.raises(CountsError, match=words):
        measure(one, estimator=name)


def test_null_subtraction_needs_no_folds():
    found = measure(np.array([[50, 1], [1, 50]]), estimator="null-subtracted")
    assert 0.8 < found.mean_squared < squared_chords(np.array([[50, 1], [1, 50]]) / 51)[0, 1]


def test_positions_in_few_folds_are_left_out_of_split_halves(rng):
    blocks = rng.poisson(5.0, size=(6, 4, 9)) + 1
    blocks[2:, 1] = 0  # position 1 has tokens in 2 of 6 folds
    counts = PositionCounts.from_array(blocks, minimum_count=1)
    found = measure(counts, estimator="split-half")
    assert found.positions.tolist() == [0, 2, 3]
    assert found.masked.tolist() == [1]
    blocks[2:, 2:] = 0
    words = "1 positions have tokens in more than half of the folds, and distances need two"
    with pytest.raises(CountsError, match=words):
        measure(PositionCounts.from_array(blocks, minimum_count=1), estimator="split-half")


@pytest.mark.parametrize("name", ["debiased", "u"])
def test_a_corpus_with_no_position_counted_well_enough_is_refused(name, rng):
    counts = drawn(two_laws(5, 3000, 0.5, rng), np.full(5, 4), rng)
    with pytest.raises(CountsError, match="0 positions have tokens enough to be debiased"):
        measure(counts, estimator=name)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("null_subtracted", "null-subtracted"), ("splithalf", "split-half"), ("debias", "debiased")],
)
def test_a_wrong_name_is_answered_with_the_nearest(given, meant):
    with pytest.raises(InputError, match=rf"'{given}' is no estimator; did you mean '{meant}'\?"):
        measure(np.eye(3, dtype=int), estimator=given)
