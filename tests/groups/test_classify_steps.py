"""`classify_step`: real logarithms by SciPy and by Culver's theorem, and steps that have none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, expm, logm

from gnomon.errors import GroupError
from gnomon.groups.steps import classify_step


def turn(a: float, b: float) -> np.ndarray:
    return np.array([[a, -b], [b, a]])


def basis(size: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    return left @ np.diag(np.geomspace(1, 0.02, size)) @ right


@pytest.mark.parametrize("size", [2, 4, 6, 10])
def test_a_cyclic_roll_of_even_size_has_no_real_generator(size):
    """Its determinant is -1, and that of exp(X) is e^(trace X) > 0."""
    found = classify_step(np.roll(np.eye(size), 1, axis=0))
    assert not found.has_generator
    assert found.named == (
        f"cyclic roll of {size} coordinates (RollPE) as a step, no real generator"
    )
    assert "the eigenvalue -1 has 1 block of order 1" in found.reason
    assert found.structure == ()
    assert found.bounded == {"causal": True, "both": True}


@pytest.mark.parametrize("size", [3, 5, 9])
def test_a_cyclic_roll_of_odd_size_is_rotations_by_whole_parts_of_a_turn(size):
    found = classify_step(np.roll(np.eye(size), 1, axis=0))
    assert found.has_generator
    assert found.named == f"cyclic roll of {size} coordinates (RollPE)"
    turns = sorted(f.frequency for f in found.structure)
    np.testing.assert_allclose(turns, 2 * np.pi * np.arange(size // 2 + 1) / size, atol=1e-12)


def test_a_nilpotent_shift_is_singular_and_acts_on_one_side_only():
    p = basis(5)
    found = classify_step(p @ np.eye(5, k=1) @ np.linalg.inv(p))
    assert not found.has_generator
    assert found.named.startswith("nilpotent shift of 5 coordinates: tables of 5 lags")
    assert "the step is singular" in found.reason
    assert found.bounded == {"causal": True, "both": False}
    two = classify_step(block_diag(np.eye(3, k=1), np.eye(2, k=1)))
    assert two.named == "nilpotent step: tables of 3 lags, no real generator"


def test_the_generator_of_a_step_has_the_blocks_that_were_exponentiated():
    """A(1) = exp(X) by SciPy, with X planted: rotation, damped, decay, J3, J2(0)."""
    j3 = -0.1 * np.eye(3) + np.eye(3, k=1)
    form = block_diag(turn(0, 1.0), turn(-0.2, 2.5), -0.4, j3, np.eye(2, k=1))
    p = basis(len(form))
    found = classify_step(p @ expm(form) @ np.linalg.inv(p))
    assert found.has_generator
    rows = sorted(
        (f.kind, round(f.decay, 6), round(f.frequency, 6), f.order) for f in found.structure
    )
    assert rows == [
        ("damped", -0.2, 2.5, 1),
        ("decay", -0.4, 0.0, 1),
        ("jordan", -0.1, 0.0, 3),
        ("jordan", 0.0, 0.0, 2),
        ("rotation", 0.0, 1.0, 1),
    ]
    assert found.bounded == {"causal": False, "both": False}


@pytest.mark.parametrize(("count", "real"), [(1, False), (2, True), (3, False), (4, True)])
def test_negative_eigenvalues_need_an_even_number_of_blocks(count, real):
    """Culver's theorem; with two of them the generator turns by pi."""
    p = basis(count + 1)
    found = classify_step(p @ block_diag(-0.5 * np.eye(count), 1.0) @ np.linalg.inv(p))
    assert found.has_generator is real
    if real:
        damped = next(f for f in found.structure if f.kind == "damped")
        assert damped.frequency == np.pi
        assert damped.decay == pytest.approx(np.log(0.5), rel=1e-9)
        assert damped.count == count // 2


def test_one_negative_jordan_block_of_order_2_has_no_real_logarithm_and_two_have():
    block = -np.eye(2) + np.eye(2, k=1)
    one = classify_step(block)
    assert not one.has_generator
    assert "the eigenvalue -1 has 1 block of order 2" in one.reason
    assert one.named == "a step on whole positions that has no real generator"
    two = classify_step(block_diag(block, block))
    assert [(f.kind, f.order, f.count, f.frequency) for f in two.structure] == [
        ("jordan", 2, 1, np.pi)
    ]


J3 = -0.1 * np.eye(3) + np.eye(3, k=1)
TURNING = np.kron(np.eye(3), turn(-0.1, 0.7)) + np.kron(np.eye(3, k=1), np.eye(2))


@pytest.mark.parametrize(
    "form",
    [
        block_diag(turn(0, 1.0), turn(-0.2, 2.5), -0.4, J3, np.eye(2, k=1), 0.3),
        block_diag(turn(0, 0.5), turn(0, 0.5), J3, J3 + 0.0),
        TURNING,
        block_diag(*[turn(0, 10000.0 ** (-k / 8)) for k in range(8)]),
    ],
)
def test_the_generator_of_a_step_is_its_real_logarithm_in_blocks(form):
    """Against SciPy both ways: exp of what is returned, and the planted logarithm."""
    p = basis(len(form))
    x = p @ form @ np.linalg.inv(p)
    found = classify_step(expm(x)).generator()
    assert np.isrealobj(found.matrix)
    np.testing.assert_allclose(expm(found.matrix), expm(x), atol=1e-9)
    np.testing.assert_allclose(found.matrix, x, atol=1e-8 * np.linalg.norm(x, 2))
    np.testing.assert_allclose(found.exp(0.5), expm(0.5 * x), atol=1e-8)


@pytest.mark.parametrize("orders", [(1, 1), (3, 3), (2, 2, 1, 1), (2, 2, 2, 2)])
def test_pairs_of_negative_blocks_turn_by_pi_in_the_generator(orders):
    blocks = [-0.5 * np.eye(m) + np.eye(m, k=1) for m in orders]
    form = block_diag(*blocks, 1.0)
    p = basis(len(form))
    a = p @ form @ np.linalg.inv(p)
    made = classify_step(a).generator()
    np.testing.assert_allclose(expm(made.matrix), a, atol=1e-9)
    assert sorted(b.order for b in made.blocks if b.frequency) == sorted(orders)[::2]
    assert {b.frequency for b in made.blocks} == {0.0, np.pi}


@pytest.mark.parametrize("scale", [1e-120, 1e-20, 1e20])
def test_the_generator_of_a_tiny_or_huge_step_is_its_logarithm(scale):
    """log(c A) = log A + ln c."""
    a = block_diag(turn(0.3, 0.2), 0.5 * np.eye(3) + np.eye(3, k=1))
    made = classify_step(scale * a).generator().matrix
    np.testing.assert_allclose(made - np.log(scale) * np.eye(5), logm(a), atol=1e-10)


def test_a_step_without_a_generator_says_why_when_one_is_asked_for():
    with pytest.raises(GroupError, match="the step has no real generator: the eigenvalue -1 has 1"):
        classify_step(np.roll(np.eye(4), 1, axis=0)).generator()
    with pytest.raises(GroupError, match="use its powers on whole positions"):
        classify_step(np.eye(3, k=1)).generator()


def test_what_is_no_step_is_refused():
    with pytest.raises(GroupError, match=r"the step matrix has shape \(2, 3\); pass a square"):
        classify_step(np.ones((2, 3)))
    with pytest.raises(GroupError, match="the step matrix has 257 rows, and at most 256 are"):
        classify_step(np.eye(257))
