"""`classify` is right, or says that another structure is near: never wrong without a word."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import block_diag

from gnomon.groups.classification import classify
from gnomon.groups.generator import Block


def noisy(blocks, level, rng, condition=30.0):
    """X = P J P^-1 with noise of a share of |X|, in a basis of a given condition."""
    form = block_diag(*[block.matrix() for block in blocks])
    size = len(form)
    turns = [np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2)]
    basis = turns[0] @ np.diag(np.geomspace(1.0, 1.0 / condition, size)) @ turns[1]
    x = basis @ form @ np.linalg.inv(basis)
    noise = rng.standard_normal((size, size))
    return x + level * np.linalg.norm(x, 2) * noise / np.linalg.norm(noise, 2)


def kinds(found):
    return sorted((one.kind, one.order) for one in found.structure for _ in range(one.count))


def is_right(blocks, found):
    if kinds(found) != sorted((block.kind, block.order) for block in blocks):
        return False
    return all(
        any(
            (one.kind, one.order) == (block.kind, block.order)
            and abs(complex(one.decay - block.decay, one.frequency - block.frequency))
            <= max(0.01, one.error)
            for one in found.structure
        )
        for block in blocks
    )


def is_told(found):
    return any("tolerance" in said for said in found.warnings)


def advised(found):
    named = [re.search(r"pass tolerance=([0-9.]+e[-+]\d+)", said) for said in found.warnings]
    return next((float(one.group(1)) for one in named if one), None)


STRANGERS = [
    Block(decay=-0.27, order=4),
    Block(decay=-0.29, frequency=0.025),
    Block(frequency=0.05),
    Block(),
]


@pytest.mark.parametrize("seed", range(12))
def test_a_split_block_is_gathered_though_others_stand_between_its_eigenvalues(seed):
    """J4 at noise 1e-7 spreads over 0.02, and the turn beside it is nearer than its own parts."""
    x = noisy(STRANGERS, 1e-7, np.random.default_rng(seed), condition=1.5)
    found = classify(x, tolerance=1e-6)
    assert is_right(STRANGERS, found), kinds(found)


@pytest.mark.parametrize("frequency", [0.003, 0.01, 0.03, 0.1])
@pytest.mark.parametrize("seed", range(6))
def test_a_slowly_turning_block_of_order_4_is_right_or_told(frequency, seed):
    """Its eigenvalues mix with their own mirror images; read as damped pairs that must be said."""
    blocks = [Block(decay=-0.2 * (seed % 2), frequency=frequency, order=4)]
    x = noisy(blocks, 1e-9, np.random.default_rng(seed), condition=10.0 ** (seed / 2))
    for tolerance in (None, 1e-8):
        found = classify(x, tolerance=tolerance)
        assert is_right(blocks, found) or is_told(found)


def chains(rng):
    blocks = []
    for _ in range(int(rng.integers(1, 5))):
        decay = -float(rng.choice([0.0, 1.0])) * 10.0 ** rng.uniform(-2.0, 0.0)
        frequency = float(rng.choice([0.0, 1.0])) * 10.0 ** rng.uniform(-2.0, 0.5)
        if all(abs(complex(decay - b.decay, frequency - b.frequency)) > 0.02 for b in blocks):
            order = int(rng.integers(1, 5))
            blocks.append(Block(decay=decay, frequency=frequency, order=order))
    return blocks


@pytest.mark.parametrize("seed", range(60))
def test_no_answer_is_wrong_without_a_word_at_any_of_three_tolerances(seed):
    """A slice of the study of 1,500 that benchmarks/bench_classify.py makes."""
    rng = np.random.default_rng([seed, 5])
    blocks, level = chains(rng), 10.0 ** rng.uniform(-12.0, -6.0)
    x = noisy(blocks, level, rng, condition=10.0 ** rng.uniform(0.0, 3.0))
    first = classify(x)
    answers = [first, classify(x, tolerance=10.0 * level)]
    if advised(first) is not None:
        answers.append(classify(x, tolerance=advised(first)))
        assert kinds(classify(x, tolerance=3.0 * advised(first))) == kinds(answers[-1])
    for found in answers:
        assert is_right(blocks, found) or is_told(found)


def test_a_real_part_that_the_tolerance_alone_puts_to_zero_is_said():
    x = noisy([Block(decay=-3e-4, frequency=1.0)], 0.0, np.random.default_rng(0), condition=1.0)
    found = classify(x, tolerance=1e-3)
    assert kinds(found) == [("rotation", 1)]
    (said,) = [one for one in found.warnings if "within the tolerance of zero" in one]
    edge = float(re.search(r"at a tolerance below ([0-9.e-]+) such", said).group(1))
    assert kinds(classify(x, tolerance=0.9 * edge)) == [("damped", 1)]
    assert not any("within the tolerance" in one for one in classify(x, tolerance=1e-2).warnings)


def test_eigenvalues_that_the_tolerance_alone_makes_equal_are_said():
    x = block_diag(*[Block(frequency=1.0 + part).matrix() for part in (0.0, 1e-3)])
    found = classify(x, tolerance=1e-3)
    assert [one.count for one in found.structure] == [2]
    assert any("are equal within 5.0e-04 of |X|" in said for said in found.warnings)
    assert [one.count for one in classify(x, tolerance=4e-4).structure] == [1, 1]


def test_blocks_that_the_tolerance_alone_makes_are_said_with_the_other_reading():
    x = [[0.0, 1.0], [1e-6, 0.0]]
    (said, *_) = classify(x, tolerance=1e-5).warnings
    assert said.startswith("the blocks J2(0) hold within 1.0e-06 of |X|, but eigenvalues alone")
    assert said.endswith("at a tolerance below that distance the second reading is the answer.")
    (exact, *_) = classify([[0.0, 1.0], [0.0, 0.0]]).warnings
    assert exact.endswith("almost every change of X takes such blocks apart.")


def test_where_no_tolerance_settles_it_none_is_advised():
    """Real parts and gaps of one size: at any tolerance that takes one, the next is near."""
    steps = 10.0 ** -np.arange(2.0, 9.0, 0.5)
    found = classify(np.diag(steps) + 1e-9 * np.random.default_rng(0).normal(size=(14, 14)))
    assert advised(found) is None
    assert any("no tolerance was found at which the answer is settled" in w for w in found.warnings)


def slow(rate, seed, *, condition=1e3):
    """A turn far slower than the rest, in a random basis; X is exact to rounding."""
    blocks = [Block(frequency=rate), Block(frequency=1.0), Block(decay=-0.3), Block()]
    return blocks, noisy(blocks, 0.0, np.random.default_rng(seed), condition=condition)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_a_turn_near_the_tolerance_is_never_settled_as_something_else(rate, seed):
    """Below a tenth of the tolerance it is what rounding of X is taken to be."""
    blocks, x = slow(rate, seed)
    found = classify(x)
    if found.settled and found.residual > 0.1 * found.tolerance:
        assert kinds(found) == sorted((one.kind, one.order) for one in blocks)
    if rate >= 1e-5:
        assert kinds(found) == sorted((one.kind, one.order) for one in blocks)


@pytest.mark.parametrize("rate", [1e-6, 1e-8])
def test_what_cannot_be_told_stands_with_both_readings_and_their_residuals(rate):
    blocks, x = slow(rate, 0, condition=1.5)
    found = classify(x, tolerance=3.0 * rate)
    told = found.to_dict()
    assert (found.verdict, kinds(found)[-2:]) == ("cannot be told", [("zero", 1), ("zero", 1)])
    truth = sorted((one.kind, one.order) for one in blocks)
    (right,) = [one for one in found.alternatives if kinds(one) == truth]
    assert right.residual < 1e-12 < 0.1 * rate < found.residual < 3.0 * rate
    assert right.blocks in [one["blocks"] for one in told["alternatives"]]


def test_what_is_settled_has_no_other_reading():
    _, x = slow(0.1, 0, condition=10.0)
    found = classify(x)
    assert (found.verdict, found.alternatives) == ("settled", ())
    assert found.to_dict()["verdict"] == "settled"


def test_a_reading_at_another_tolerance_is_what_classify_gives_there():
    _, x = slow(1e-8, 1)
    for one in classify(x).alternatives:
        assert kinds(classify(x, tolerance=one.tolerance)) == kinds(one)


@pytest.mark.parametrize("seed", range(4))
def test_two_decays_that_noise_made_of_one_chain_are_not_settled(seed):
    """A chain whose link is far below |X|: noise of 1e-6 parts its eigenvalues by 1e-4 only."""
    rng = np.random.default_rng(seed)
    chain = np.array([[-0.18, 4e-3 * 0.18], [5e-7 * 0.18, -0.18]])
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    found = classify(turn @ chain @ turn.T)
    assert not found.settled
    assert [("jordan", 2)] in [kinds(one) for one in found.alternatives]
