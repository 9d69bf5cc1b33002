"""`equivalent`: the same group in other coordinates or at another speed, and what is neither."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from gnomon.errors import GroupError
from gnomon.groups.equivalence import equivalent


def turn(a: float, b: float, m: int = 1) -> np.ndarray:
    pair = np.array([[a, -b], [b, a]])
    return np.kron(np.eye(m), pair) + np.kron(np.eye(m, k=1), np.eye(2))


def chain(a: float, m: int) -> np.ndarray:
    return a * np.eye(m) + np.eye(m, k=1)


FORMS = {
    "rotations": block_diag(turn(0, 1.0), turn(0, 0.3), turn(0, 0.1)),
    "equal rotations": block_diag(turn(0, 1.0), turn(0, 1.0), 0.0),
    "decays and zeros": np.diag([-0.3, -0.3, -0.1, 0.0, 0.0]),
    "J3 and J1": block_diag(chain(-0.2, 3), -0.2, turn(0, 0.5)),
    "turning Jordan": block_diag(turn(-0.1, 0.7, 2), chain(0.0, 2)),
}


def placed(form: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal(form.shape))[0] for _ in range(2))
    basis = left @ np.diag(np.geomspace(1, 0.05, len(form))) @ right
    return basis @ form @ np.linalg.inv(basis)


@pytest.mark.parametrize("form", FORMS)
def test_two_bases_of_one_generator_are_equivalent_by_the_basis_that_is_returned(form):
    """That b = P^-1 a P, checked on the matrices and on their exponentials by SciPy."""
    a, b = placed(FORMS[form], 1), placed(FORMS[form], 2)
    found = equivalent(a, b)
    assert found.equivalent
    assert found.time == 1.0
    assert found.residual < 1e-9
    inverse = np.linalg.inv(found.basis)
    np.testing.assert_allclose(inverse @ a @ found.basis, b, atol=1e-8)
    np.testing.assert_allclose(inverse @ expm(2 * a) @ found.basis, expm(2 * b), atol=1e-7)
    assert found.condition == pytest.approx(np.linalg.cond(found.basis))


@pytest.mark.parametrize("speed", [2.5, 0.1, -0.5])
@pytest.mark.parametrize("form", ["decays and zeros", "J3 and J1", "turning Jordan"])
def test_another_unit_of_time_is_found_and_is_no_equivalence(form, speed):
    a, b = placed(FORMS[form], 1), speed * placed(FORMS[form], 2)
    found = equivalent(a, b)
    assert not found.equivalent
    assert found.time == pytest.approx(speed, rel=1e-8)
    assert "times its speed" in found.reason
    moved = np.linalg.inv(found.basis) @ a @ found.basis
    np.testing.assert_allclose(found.time * moved, b, atol=1e-8)


def test_rotations_run_backwards_are_the_same_rotations():
    """A turn the other way is the same block in another basis."""
    a = placed(FORMS["rotations"], 1)
    assert equivalent(a, -placed(FORMS["rotations"], 2)).equivalent


def test_a_nilpotent_generator_is_equivalent_to_itself_at_any_speed():
    form = block_diag(chain(0.0, 3), chain(0.0, 2))
    assert equivalent(placed(form, 1), 7.0 * placed(form, 2)).equivalent


def test_no_position_is_equivalent_only_to_no_position():
    assert equivalent(np.zeros((3, 3)), np.zeros((3, 3))).equivalent
    assert not equivalent(np.zeros((3, 3)), np.diag([1.0, 0.0, 0.0])).equivalent


def test_the_same_eigenvalues_with_other_blocks_are_not_equivalent():
    found = equivalent(placed(chain(-0.2, 3), 1), placed(-0.2 * np.eye(3), 2))
    assert not found.equivalent
    assert found.time is None
    assert found.basis is None
    assert found.reason == "other blocks: 1 jordan of order 3 against 3 decay"


def test_the_same_kinds_with_other_frequencies_are_not_equivalent():
    other = block_diag(turn(0, 1.0), turn(0, 0.31), turn(0, 0.1))
    found = equivalent(placed(FORMS["rotations"], 1), placed(other, 2))
    assert not found.equivalent
    assert found.reason == "the same kinds of blocks with other eigenvalues"


def test_noise_is_within_the_tolerance_that_is_stated():
    rng = np.random.default_rng(0)
    a, b = placed(FORMS["J3 and J1"], 1), placed(FORMS["J3 and J1"], 2)
    noisy = b + 1e-8 * rng.standard_normal(b.shape)
    assert not equivalent(a, noisy).equivalent
    found = equivalent(a, noisy, tolerance=1e-6)
    assert found.equivalent
    assert found.residual < 1e-5


def test_generators_of_different_size_are_refused():
    with pytest.raises(GroupError, match="the generators have 2 and 3 rows; pass two of the same"):
        equivalent(np.eye(2), np.eye(3))
    with pytest.raises(GroupError, match=r"the second generator has shape \(2, 3\)"):
        equivalent(np.eye(2), np.ones((2, 3)))
    with pytest.raises(GroupError, match="the first generator holds complex values"):
        equivalent(1j * np.eye(2), np.eye(2))


def test_generators_in_float32_are_compared_as_well_as_they_are_known():
    a, b = placed(FORMS["J3 and J1"], 1), placed(FORMS["J3 and J1"], 2).astype(np.float32)
    assert equivalent(a, b).equivalent
    assert not equivalent(a, b.astype(np.float64)).equivalent
