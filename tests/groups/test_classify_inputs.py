"""What `classify` does with other types, scales and sizes, and with what is no generator at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from gnomon.errors import GroupError
from gnomon.groups.classification import classify
from gnomon.groups.jordan import part_of, schur_of, single_part


def turn(a: float, b: float) -> np.ndarray:
    return np.array([[a, -b], [b, a]])


def placed(form: np.ndarray, condition: float, seed: int = 0) -> np.ndarray:
    rng, size = np.random.default_rng(seed), len(form)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    basis = left @ np.diag(np.geomspace(1, 1 / condition, size)) @ right
    return basis @ form @ np.linalg.inv(basis)


def rope(dimension: int) -> np.ndarray:
    half = dimension // 2
    return block_diag(*[turn(0, 10000.0 ** (-k / half)) for k in range(half)])


def kinds(found) -> list[tuple[str, int, int]]:
    return [(one.kind, one.order, one.count) for one in found.structure]


def test_float32_is_classified_as_well_as_it_is_known():
    x = placed(rope(16), 10.0)
    found = classify(x.astype(np.float32))
    assert found.named == "rotary encoding (RoPE), 8 frequencies, base 10000"
    assert found.tolerance == pytest.approx(4 * 2.0**-23)
    assert "X came in a type that rounds to 1.2e-07" in found.warnings[-1]
    widened = classify(x.astype(np.float32).astype(np.float64))
    assert "growth" in {one.kind for one in widened.structure}


def test_a_jordan_block_in_float32_is_still_one():
    x = placed(-0.05 * np.eye(3) + np.eye(3, k=1), 10.0).astype(np.float32)
    assert kinds(classify(x)) == [("jordan", 3, 1)]


def test_a_tolerance_that_float32_can_not_keep_is_refused():
    sentence = (
        r"tolerance 1e-10 is below rounding, which is 1.2e-07 in the type of the matrix; pass a "
        r"larger one, or the matrix as float64 if its numbers are exact\."
    )
    with pytest.raises(GroupError, match=sentence):
        classify(np.eye(2, dtype=np.float32), tolerance=1e-10)
    assert classify(np.eye(2, dtype=np.float32), tolerance=1e-6).tolerance == 1e-6


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, bool])
def test_whole_numbers_are_exact(dtype):
    found = classify(np.array([[0, 1], [0, 0]], dtype=dtype))
    assert kinds(found) == [("jordan", 2, 1)]
    assert found.tolerance == 1e-10


@pytest.mark.parametrize("value", [0.0, -0.3, 2.0])
def test_one_dimension_is_a_number(value):
    found = classify([[value]])
    assert [one.decay for one in found.structure] == [value]
    assert found.distance is None
    assert found.to_dict()["reason"] == "no more special structure was found near"


@pytest.mark.parametrize("scale", [1e-310, 1e-150, 1e-90, 1e-9, 1e9, 1e90, 1e150, 1e307])
def test_no_unit_of_time_over_or_underflows(scale):
    found = classify(scale * placed(block_diag(turn(0, 0.3), np.eye(3, k=1)), 10.0))
    assert kinds(found) == [("rotation", 1, 1), ("jordan", 3, 1)]
    assert found.structure[0].frequency == pytest.approx(0.3 * scale, rel=1e-9)


def test_a_generator_too_small_to_divide_by_is_classified():
    found = classify(np.array([[0.0, 1e-320], [0.0, 0.0]]))
    assert kinds(found) == [("jordan", 2, 1)]
    assert found.generator().matrix[0, 1] == 1e-320


@pytest.mark.parametrize(
    "step",
    [
        expm(rope(8)),
        placed(expm(rope(8)), 30.0),
        np.roll(np.eye(6), 1, axis=0),
        np.eye(4),
    ],
)
def test_a_step_that_was_passed_as_a_generator_is_asked_about(step):
    warned = classify(step).warnings
    assert any("all eigenvalues have modulus 1, as those of a step A(1)" in w for w in warned)
    assert any("pass it to classify_step (--step)" in w for w in warned)


@pytest.mark.parametrize(
    "x", [turn(0, 1.0), block_diag(turn(0, 1.0), turn(0, 1.0)), -np.eye(3), [[1.0]], rope(8)]
)
def test_generators_of_unit_speed_are_not_taken_for_steps(x):
    assert not any("modulus 1" in warned for warned in classify(x).warnings)


def test_a_triangular_matrix_of_condition_beyond_rounding_is_classified_with_a_warning():
    """Eigenvalues of condition 1e17: nothing is known of them, and that is said."""
    x = np.triu(np.random.default_rng(0).standard_normal((64, 64)))
    found = classify(x)
    assert sum(one.dimension for one in found.structure) == 64
    assert any("not told from their neighbours" in warned for warned in found.warnings)


def test_many_equal_chains_need_no_more_memory_than_few():
    """64 chains of two: a basis of all normals of that structure would take 2 GB."""
    x = placed(np.kron(np.eye(64), np.eye(2, k=1)), 5.0)
    assert kinds(classify(x)) == [("jordan", 2, 64)]


@pytest.mark.wide
def test_rope_256_in_a_skewed_basis_is_128_rotations():
    x = placed(rope(256), 100.0)
    assert classify(x).named == "rotary encoding (RoPE), 128 frequencies, base 10000"


def test_single_eigenvalues_by_vectors_are_those_of_the_reordered_schur_form():
    """The same subspaces, left vectors and conditions by LAPACK's reordering."""
    x = placed(block_diag(rope(8), turn(-0.1, 0.4), -0.2), 50.0)
    whole = schur_of(x)
    for k in range(len(x)):
        one, other = single_part(whole, k), part_of(whole, np.array([k]))
        assert one.condition == pytest.approx(other.condition, rel=1e-9)
        assert abs(np.vdot(one.right, other.right)) == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(
            one.left @ one.right.conj().T, other.left @ other.right.conj().T, atol=1e-8
        )


def test_the_estimate_of_a_distance_is_half_the_gap_for_normal_matrices():
    """diag(0, g) is g / 2 from the nearest matrix with a double eigenvalue, in the 2-norm."""
    eigen = schur_of(np.diag([0.0, 0.3])).eigen
    both = np.array([0, 1])
    assert eigen.distance(np.array([0.0, 0.3 + 0j]), both) == pytest.approx(0.15)


@pytest.mark.parametrize("corner", [1e-2, 1e-4, 1e-6])
def test_the_estimate_is_within_a_factor_of_two_where_eigenvalues_are_ill_conditioned(corner):
    """[[0, 1], [e, 0]] is e from [[0, 1], [0, 0]]."""
    whole = schur_of(np.array([[0.0, 1.0], [corner, 0.0]]))
    found = whole.eigen.distance(whole.eigenvalues, np.array([0, 1]))
    assert corner / 2 < found < 2 * corner


class Unreadable:
    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("its numbers are elsewhere")


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (np.array([[1, None], [2, 3]]), "holds object values; pass a matrix of real numbers"),
        ([[10**30, 0], [0, 1]], "holds object values; pass a matrix of real numbers"),
        (None, "holds object values; pass a matrix of real numbers"),
        (np.zeros((2, 2), dtype="M8[s]"), r"holds datetime64\[s\] values"),
        (np.zeros((2, 2, 2)), r"has shape \(2, 2, 2\); pass a square matrix"),
        (np.ma.masked_array(np.eye(2), np.eye(2)), "has masked entries; pass a matrix of real"),
        (Unreadable(), r"is no array \(its numbers are elsewhere\); pass a matrix of real"),
    ],
)
def test_what_holds_no_real_numbers_is_refused(x, sentence):
    with pytest.raises(GroupError, match=f"the generator {sentence}"):
        classify(x)


@pytest.mark.parametrize("tolerance", [True, 1e-9 + 0j, np.complex128(1e-9), math.inf])
def test_a_tolerance_that_is_no_number_is_refused(tolerance):
    with pytest.raises(GroupError, match="pass a number such as 1e-10"):
        classify(np.eye(2), tolerance=tolerance)
