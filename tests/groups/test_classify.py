"""`classify`: every row of the classification, from dense matrices in random bases with noise.

Planted matrices are P J P^-1 with J written out here entry by entry, P far from orthogonal, and
noise E with |E| given relative to |X|; no expected structure comes from the code under test.
"""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from gnomon.errors import GroupError
from gnomon.groups.classification import Structure, classify, generator_of
from gnomon.groups.generator import Block

Plan = list[tuple[float, float, int]]
"""Decay a, frequency b and order m of every block."""

ROWS: dict[str, Plan] = {
    "zero": [(0, 0, 1)] * 3,
    "rotations": [(0, b, 1) for b in (1.0, 0.1, 0.01)],
    "rotations and zeros": [(0, 1.0, 1), (0, 0.3, 1), (0, 0, 1), (0, 0, 1)],
    "the same rotation twice": [(0, 0.7, 1), (0, 0.7, 1), (0, 0.2, 1)],
    "decays": [(-0.1, 0, 1), (-0.3, 0, 1), (-0.3, 0, 1)],
    "growth": [(0.2, 0, 1), (-0.1, 0, 1)],
    "damped rotations": [(-0.1, 0.5, 1), (-0.02, 0.25, 1)],
    "unipotent": [(0, 0, 2)],
    "unipotent among rotations": [(0, 0, 2), (0, 1.0, 1), (0, 0.1, 1)],
    "polynomial": [(0, 0, 4)],
    "J3(-0.05)": [(-0.05, 0, 3)],
    "J3 and J1 of the same value": [(-0.05, 0, 3), (-0.05, 0, 1), (0, 0.3, 1)],
    "complex Jordan": [(-0.01, 0.7, 2)],
    "complex Jordan of order 3 and 1": [(-0.01, 0.7, 3), (-0.01, 0.7, 1)],
    "boosts": [(0.02, 0, 1), (-0.02, 0, 1), (0.05, 0, 1), (-0.05, 0, 1)],
    "everything": [(-0.05, 0, 3), (0, 0, 2), (0, 0.3, 2), (0, 1.0, 1), (0, 0, 1), (-0.5, 0, 1)],
    "nilpotent shift": [(0, 0, 8)],
}


def jordan(a: float, b: float, m: int) -> np.ndarray:
    if b == 0:
        return a * np.eye(m) + np.eye(m, k=1)
    turn = np.array([[a, -b], [b, a]])
    return np.kron(np.eye(m), turn) + np.kron(np.eye(m, k=1), np.eye(2))


def planted(plan: Plan, *, condition: float, noise: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, int(condition)])
    form = block_diag(*[jordan(*block) for block in plan])
    size = len(form)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    basis = left @ np.diag(np.geomspace(1, 1 / condition, size)) @ right
    x = basis @ form @ np.linalg.inv(basis)
    error = rng.standard_normal((size, size))
    return x + noise * np.linalg.norm(x, 2) * error / np.linalg.norm(error, 2)


def agrees(found: Structure, plan: Plan, within: float = 1e-2) -> bool:
    """Kinds of zero exactly, numbers nearly, counts exactly."""
    blocks = [(f.decay, f.frequency, f.order) for f in found.structure for _ in range(f.count)]
    for a, b, m in plan:
        fitting = [
            block
            for block in blocks
            if block[2] == m
            and (block[0] == 0) == (a == 0)
            and (block[1] == 0) == (b == 0)
            and abs(complex(block[0] - a, block[1] - b)) <= within
        ]
        if not fitting:
            return False
        blocks.remove(fitting[0])
    return not blocks


@pytest.mark.parametrize("condition", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_recognised_in_a_random_basis_with_noise_of_1e_12(row, condition):
    found = classify(planted(ROWS[row], condition=condition, noise=1e-12))
    assert agrees(found, ROWS[row], within=1e-5), found.structure


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_recognised_with_noise_of_1e_8_at_a_stated_tolerance(row):
    found = classify(planted(ROWS[row], condition=100.0, noise=1e-8), tolerance=1e-7)
    assert agrees(found, ROWS[row]), found.structure


@pytest.mark.parametrize("row", ROWS)
def test_in_a_basis_of_condition_1000_noise_of_1e_8_is_right_or_warned_of(row):
    found = classify(planted(ROWS[row], condition=1000.0, noise=1e-8), tolerance=1e-7)
    assert agrees(found, ROWS[row]) or found.warnings


@pytest.mark.parametrize("row", ROWS)
def test_noise_of_1e_8_that_was_not_stated_is_warned_of(row):
    found = classify(planted(ROWS[row], condition=100.0, noise=1e-8))
    assert agrees(found, ROWS[row]) or found.warnings


@pytest.mark.parametrize("row", ["unipotent", "J3(-0.05)", "complex Jordan", "everything"])
def test_the_tolerance_that_a_warning_asks_for_gives_the_planted_structure(row):
    x = planted(ROWS[row], condition=10.0, noise=1e-8)
    asked = [w.split("tolerance=")[1].rstrip(".") for w in classify(x).warnings if "pass" in w]
    assert agrees(classify(x, tolerance=max(map(float, asked))), ROWS[row])


@pytest.mark.parametrize("seed", range(24))
def test_random_structures_with_repeated_eigenvalues_are_recognised(seed):
    """A slice of the study of 1,000 that benchmarks/bench_classify.py makes."""
    rng = np.random.default_rng(seed)
    values = [(0.0, 0.0), (-0.4, 0.0), (0.3, 0.0), (0.0, 1.1), (-0.2, 0.5), (0.0, 2.0)]
    chosen = [values[k] for k in rng.integers(len(values), size=4)]
    plan = [(a, b, int(rng.integers(1, 4))) for a, b in chosen]
    x = planted(plan, condition=10.0 ** rng.uniform(0, 3), noise=1e-12, seed=seed)
    assert agrees(classify(x), plan, within=1e-4), plan


def test_eigenvalues_alone_read_a_jordan_block_of_order_3_as_a_damped_rotation():
    """The reading of NumPy, and the warning that says so beside the structure."""
    x = planted([(-0.05, 0, 3)], condition=100.0, noise=1e-12)
    assert np.abs(np.linalg.eigvals(x).imag).max() > 1e-6
    found = classify(x)
    assert [(f.kind, f.order) for f in found.structure] == [("jordan", 3)]
    assert {f.kind for f in found.generic} == {"decay", "damped"}
    assert "the blocks J3(-0.05) hold within" in found.warnings[0]
    assert "almost every change of X takes such blocks apart" in found.warnings[0]


def test_rope_64_is_32_rotations_with_their_frequencies():
    frequencies = 10000.0 ** (-np.arange(32) / 32)
    plan = [(0, float(b), 1) for b in frequencies]
    found = classify(planted(plan, condition=100.0, noise=1e-12))
    assert [f.kind for f in found.structure] == ["rotation"] * 32
    np.testing.assert_allclose([f.frequency for f in found.structure], frequencies, rtol=1e-5)
    assert found.bounded == {"causal": True, "both": True}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("noise", [1e-12, 1e-9])
def test_the_backward_error_is_no_larger_than_the_noise_that_was_planted(row, noise):
    """A matrix with the structure is |E| away, so the nearest one is not farther."""
    x = planted(ROWS[row], condition=30.0, noise=noise, seed=3)
    found = classify(x, tolerance=30 * noise)
    assert agrees(found, ROWS[row])
    assert max(f.backward_error for f in found.structure) <= 1.05 * noise


def test_a_split_unipotent_block_is_as_far_from_one_as_its_corner():
    """[[0, 1], [e, 0]] has the eigenvalues +-sqrt e, and is e away from [[0, 1], [0, 0]]."""
    x = [[0.0, 1.0], [1e-8, 0.0]]
    far = classify(x)
    assert [f.order for f in far.structure] == [1, 1]
    assert far.distance == pytest.approx(1e-8, rel=1e-3)
    assert "(J2) is 1.0e-08 of |X| away" in far.warnings[0]
    assert "pass tolerance=2e-08." in far.warnings[0] or "tolerance=3e-08." in far.warnings[0]
    near = classify(x, tolerance=2e-8)
    assert [(f.kind, f.order) for f in near.structure] == [("jordan", 2)]


@pytest.mark.parametrize("row", ["rotations", "everything", "complex Jordan of order 3 and 1"])
def test_the_transpose_and_a_multiple_have_the_same_structure(row):
    x = planted(ROWS[row], condition=30.0, noise=1e-13)
    assert agrees(classify(x.T), ROWS[row], within=1e-5)
    tripled = [(3 * a, 3 * b, m) for a, b, m in ROWS[row]]
    assert agrees(classify(3 * x), tripled, within=1e-5)


@pytest.mark.parametrize("scale", [1e-250, 1e-120, 1e120, 1e250])
def test_extreme_units_of_time_change_nothing_but_the_numbers(scale):
    plan = ROWS["J3 and J1 of the same value"]
    found = classify(planted(plan, condition=10.0, noise=1e-13) * scale)
    assert sorted((f.order, f.count) for f in found.structure) == [(1, 1), (1, 1), (3, 1)]
    turn = next(f for f in found.structure if f.frequency)
    assert turn.frequency == pytest.approx(0.3 * scale, rel=1e-9)


@pytest.mark.parametrize("row", ROWS)
def test_bounded_is_what_the_exponential_of_scipy_does(row):
    """Entries of exp(tX) far out, on both sides of 0."""
    found = classify(planted(ROWS[row], condition=10.0, noise=0.0))
    form = block_diag(*[jordan(*block) for block in ROWS[row]])
    stays = [bool(np.abs(expm(t * form)).max() < 100.0) for t in (1400.0, -1400.0)]
    assert found.bounded == {"causal": stays[0], "both": all(stays)}


@pytest.mark.parametrize("row", ROWS)
def test_the_generator_is_the_matrix_in_blocks(row):
    x = planted(ROWS[row], condition=30.0, noise=1e-12)
    made = classify(x).generator()
    size = max(np.linalg.norm(x, 2), 1.0)
    assert np.linalg.norm(np.asarray(made.matrix) - x, 2) <= 1e-9 * size
    np.testing.assert_allclose(made.exp(0.5), expm(0.5 * x), atol=1e-7 * size)
    assert sorted(b.order for b in made.blocks) == sorted(m for _, _, m in ROWS[row])


def test_the_departure_from_normality_follows_its_closed_form():
    """0 for a rotation; for [[0, 1], [0, 0]] the commutator is diag(-1, 1): sqrt 2."""
    assert classify([[0.0, -1.0], [1.0, 0.0]]).departure == 0.0
    assert classify([[0.0, 1.0], [0.0, 0.0]]).departure == pytest.approx(np.sqrt(2.0))


def test_sympy_finds_the_same_blocks_exactly():
    """Integer matrices, whose Jordan form SymPy computes in exact arithmetic."""
    sympy = pytest.importorskip("sympy")
    rng = np.random.default_rng(8)
    for orders in ((3, 1), (2, 2), (2, 1, 1), (4,)):
        form = block_diag(*[jordan(-1, 0, m) for m in orders], [[2.0]])
        lower = np.tril(rng.integers(-2, 3, form.shape), -1) + np.eye(len(form))
        upper = np.triu(rng.integers(-2, 3, form.shape), 1) + np.eye(len(form))
        basis = lower @ upper  # of determinant 1: its inverse is whole, too
        x = np.rint(basis @ form @ np.rint(np.linalg.inv(basis))).astype(int)
        _, exact = sympy.Matrix(x.tolist()).jordan_form()
        wanted = sorted(_orders(np.array(exact.tolist(), dtype=float)))
        found = [(f.decay, f.order) for f in classify(x).structure for _ in range(f.count)]
        assert sorted((round(a, 6), m) for a, m in found) == wanted


def _orders(form: np.ndarray) -> list[tuple[float, int]]:
    """Values and orders of an upper Jordan form, by its ones above the diagonal."""
    ends = [-1, *np.flatnonzero(np.diag(form, 1) == 0), len(form) - 1]
    return [(form[b, b], int(b - a)) for a, b in pairwise(ends)]


def test_the_json_has_the_promised_keys_and_no_vectors():
    value = json.loads(
        json.dumps(classify(planted(ROWS["everything"], condition=10.0, noise=0.0)).to_dict())
    )
    assert {"structure", "named", "bounded", "tolerance", "warnings", "generic"} <= set(value)
    assert {"kind", "decay", "frequency", "order", "count"} <= set(value["structure"][0])
    assert set(value["bounded"]) == {"causal", "both"}
    assert not {"matrix", "clusters", "values"} & set(value)


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        ([[1.0, 2.0]], r"the generator has shape \(1, 2\); pass a square matrix\."),
        ([1.0, 2.0], r"the generator has shape \(2,\); pass a square matrix\."),
        (np.zeros((0, 0)), "the generator is empty; pass a square matrix with at least one row"),
        ([[1.0, np.nan], [0.0, 1.0]], "holds nan at row 0, column 1; pass finite numbers"),
        ([[1.0, 0.0], [-np.inf, 1.0]], "holds -inf at row 1, column 0; pass finite numbers"),
        ([["a", "b"], ["c", "d"]], "holds <U1 values; pass a matrix of real numbers"),
        ([[1j, 0], [0, 1]], "holds complex values; pass a matrix of real numbers"),
        ([[1.0, 2.0], [3.0]], "has rows of different lengths; pass a square matrix"),
        (np.eye(257), "has 257 rows, and at most 256 are classified; pass the generator of one"),
    ],
)
def test_what_is_no_generator_is_refused_in_one_sentence(x, sentence):
    with pytest.raises(GroupError, match=sentence):
        classify(x)


@pytest.mark.parametrize(
    ("tolerance", "sentence"),
    [
        (1e-17, "tolerance 1e-17 is below rounding, which is 4.4e-16 for 2 rows; pass a larger"),
        (0.0, "tolerance 0 is below rounding"),
        (-1.0, "tolerance -1 is below rounding"),
        (0.5, "everything is alike beyond 0.1; pass a smaller one"),
        (float("nan"), "tolerance is nan; pass a number such as 1e-10"),
        ("tight", "tolerance is 'tight'; pass a number such as 1e-10"),
    ],
)
def test_a_tolerance_that_can_not_be_kept_is_refused(tolerance, sentence):
    with pytest.raises(GroupError, match=sentence):
        classify(np.eye(2), tolerance=tolerance)


@pytest.mark.parametrize("small", [1e-3, 1e-6])
def test_a_small_nilpotent_part_is_a_gain_and_no_bad_basis(small):
    """exp(tX) of kron(I, turn) + small kron(N, I): the same blocks with `small` above them."""
    x = np.kron(np.eye(2), [[-0.1, -0.7], [0.7, -0.1]]) + small * np.kron(np.eye(2, k=1), np.eye(2))
    made = classify(x).generator()
    assert made.condition == pytest.approx(1.0, abs=1e-6)
    assert [b.gain for b in made.blocks] == [pytest.approx(small, rel=1e-6)]
    np.testing.assert_allclose(made.exp(3.0), expm(3.0 * x), atol=1e-12)


def test_blocks_that_do_not_make_the_matrix_again_are_said_to_be_so():
    """A graded matrix: its pair, of condition 2e7, counts as undamped within the tolerance."""
    sentence = "the blocks stand in a basis that is singular to rounding or to the tolerance"
    x = np.zeros((4, 4))
    x[0, 1], x[1, 2], x[2, 3], x[3, 0] = 0.2888, -2.543e10, -4.140e9, 3.199e9
    x[2, 2] = -7.259e6
    with pytest.raises(GroupError, match=sentence):
        classify(x).generator()
    with pytest.raises(GroupError, match=sentence):
        generator_of([Block(), Block(decay=-1.0)], np.array([[1.0, 1.0], [1.0, 1.0]]))
