"""Realisation of lag kernels: against closed forms, dense matrices and SciPy's exponential."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.linalg import hankel as dense_hankel

from gnomon.errors import GroupError
from gnomon.groups.realisation import hankel, least_error, realise


def example(lags):
    """-0.3 n + 0.9^n cos(0.5 n): ALiBi's block and a damped turn, four modes."""
    return -0.3 * lags + 0.9**lags * np.cos(0.5 * lags)


@pytest.mark.parametrize("lags", [12, 20, 40, 64])
def test_the_example_has_rank_four_and_comes_back_under_1e12_over_all_its_lags(lags):
    kernel = example(np.arange(lags))
    made = realise(kernel)
    assert made.rank == 4
    assert made.clear
    assert made.lags == lags
    assert made.largest_error < 1e-12
    np.testing.assert_allclose(made.at(np.arange(lags)), kernel, atol=1e-12, rtol=0)


def test_a_thousand_lags_come_back_to_1e12_of_their_largest_value():
    made = realise(example(np.arange(1000)))
    assert made.rank == 4
    assert made.largest_error < 1e-12 * 300.0


def test_the_example_has_one_twice_and_the_damped_turn_as_eigenvalues():
    found = np.sort_complex(realise(example(np.arange(64))).eigenvalues)
    turn = 0.9 * np.exp(0.5j)  # .7898 +- .4315i
    wanted = np.array([turn.conj(), turn, 1.0, 1.0])
    np.testing.assert_allclose(found[:2], wanted[:2], atol=1e-12)
    np.testing.assert_allclose(found[2:], wanted[2:], atol=1e-6)  # a double root: sqrt of rounding
    assert abs(found[2:].mean() - 1.0) < 1e-12


def test_the_generator_makes_the_kernel_between_whole_lags_too():
    made = realise(example(np.arange(64)))
    times = np.array([0.25, 1.5, 17.125, 40.75])
    by_hand = [
        (made.left @ expm(t * made.generator_matrix) @ made.right).item() for t in times.tolist()
    ]
    np.testing.assert_allclose(by_hand, example(times), atol=1e-11, rtol=0)
    np.testing.assert_allclose(made.at(times), example(times), atol=1e-11, rtol=0)


def test_the_classes_of_the_example_are_alibis_block_and_a_damped_turn():
    structure = realise(example(np.arange(64))).structure().structure
    found = {(part.kind, part.order, part.count) for part in structure}
    assert found == {("jordan", 2, 1), ("damped", 1, 1)}


def test_singular_values_are_those_of_the_dense_hankel_matrix():
    kernel = np.random.default_rng(3).normal(size=41)
    wanted = np.linalg.svd(dense_hankel(kernel[:21], kernel[20:]), compute_uv=False)
    np.testing.assert_allclose(hankel(kernel[:, None, None]).singular_values, wanted, rtol=1e-12)


@pytest.mark.parametrize(("noise", "lags"), [(1e-10, 40), (1e-6, 200), (1e-3, 200)])
def test_noise_does_not_change_the_rank_and_the_error_is_that_of_the_noise(noise, lags, rng):
    made = realise(example(np.arange(lags)) + noise * rng.normal(size=lags))
    assert made.rank == 4
    assert 0.5 * noise < made.largest_error < 6.0 * noise


@pytest.mark.parametrize("lags", [40, 400, 8192])
def test_white_noise_is_not_realised(lags, rng):
    with pytest.raises(GroupError, match=f"kernel of {lags} lags cannot be told from noise"):
        realise(rng.normal(size=lags))


def test_a_mode_of_few_lags_is_seen_among_eight_thousand():
    lags = np.arange(8192)
    made = realise(example(lags))
    assert made.rank == 4
    assert np.abs(made.at(lags[:40]) - example(lags[:40])).max() < 4e-9
    assert made.largest_error < 1e-8  # of a kernel that reaches -2457


def test_a_period_that_divides_the_length_is_seen_among_eight_thousand_lags():
    kernel = (np.arange(8192) % 16 == 0).astype(float)
    made = realise(kernel)
    assert made.rank == 16
    assert made.largest_error < 1e-9
    np.testing.assert_allclose(made.eigenvalues**16, np.ones(16), atol=1e-9)


def test_matrix_kernels_give_back_the_spectrum_of_their_generator(rng):
    X = 0.2 * rng.normal(size=(5, 5)) - 0.5 * np.eye(5)
    P, Q = rng.normal(size=(2, 5)), rng.normal(size=(5, 3))
    kernel = np.stack([P @ expm(n * X) @ Q for n in range(30)])
    made = realise(kernel)
    assert made.rank == 5
    assert made.largest_error < 1e-12
    found, wanted = np.linalg.eigvals(made.generator_matrix), np.linalg.eigvals(X)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(wanted), atol=1e-8)
    np.testing.assert_allclose(made.at(1.5), P @ expm(1.5 * X) @ Q, atol=1e-9)


def test_an_alternating_kernel_has_a_step_but_no_generator():
    made = realise((-0.9) ** np.arange(20))
    assert made.generator_matrix is None
    assert made.reason == "the step has the eigenvalue -0.9 below 0, so no real logarithm"
    assert made.at(3) == pytest.approx(-0.729, abs=1e-12)
    with pytest.raises(GroupError, match=r"not whole, and the step has the eigenvalue -0\.9 below"):
        made.at(0.5)
    with pytest.raises(GroupError, match="no generator to classify: the step has the eigenvalue"):
        made.structure()


def test_a_table_that_ends_has_a_nilpotent_step_and_no_generator():
    table = np.array([1.0, 3.0, -2.0, 0.5])
    made = realise(np.concatenate([table, np.zeros(30)]))
    assert made.rank == 4
    assert made.reason == "the step has the eigenvalue 0, so it has no logarithm"
    np.testing.assert_allclose(np.linalg.matrix_power(made.step, 4), np.zeros((4, 4)), atol=1e-12)
    np.testing.assert_allclose(made.at(np.arange(4)), table, atol=1e-12)


def test_a_double_root_at_one_is_stable_and_growth_is_named_with_a_projection():
    assert realise(example(np.arange(64))).causal().stable
    kernel = 1.01 ** np.arange(100) + 0.5 ** np.arange(100)
    made = realise(kernel)
    assert made.growth == pytest.approx(np.log(1.01), abs=1e-10)
    with pytest.raises(GroupError, match=r"eigenvalue 1\.01\+0j of modulus 1\.01.*\.projected"):
        made.causal()
    moved = made.projected(kernel)
    assert moved.stable
    np.testing.assert_allclose(np.sort(moved.eigenvalues.real), [0.5, 1.0], atol=1e-9)
    # The best sum of 1 and 0.5^n, by a fit of its own.
    basis = np.stack([np.ones(100), 0.5 ** np.arange(100)], -1)
    left = kernel - basis @ np.linalg.lstsq(basis, kernel, rcond=None)[0]
    assert moved.largest_error == pytest.approx(np.abs(left).max(), rel=1e-6)


def test_a_smaller_rank_is_fitted_with_its_error_stated():
    kernel = example(np.arange(64))
    made = realise(kernel, rank=2)
    assert made.rank == 2
    assert made.largest_error == pytest.approx(np.abs(made.at(np.arange(64)) - kernel).max())
    assert made.largest_error >= least_error(kernel, 2) > 0.0
    assert realise(kernel, tolerance=1e-10).rank == 4


def test_a_rank_beyond_the_usual_columns_is_realised(rng):
    """As many turns as a rank of 500 has, in a kernel of 1,200 lags."""
    turns = np.pi * (np.arange(250) + 0.5) / 250
    kernel = np.cos(np.outer(np.arange(1200), turns)) @ rng.normal(size=250)
    made = realise(kernel, rank=500)
    assert made.step.shape == (500, 500)
    assert made.largest_error < 1e-7
    np.testing.assert_allclose(np.abs(made.eigenvalues), np.ones(500), atol=1e-6)


def test_the_bound_holds_for_kernels_of_that_rank_with_errors_planted(rng):
    """A kernel g of rank r plus e: no bound for rank r may exceed the largest |e|."""
    lags = np.arange(300)
    for _ in range(20):
        rank = int(rng.integers(1, 6))
        near = sum(rng.normal() * rng.uniform(0.5, 1.0) ** lags for _ in range(rank))
        error = rng.uniform(0.01, 1.0) * rng.choice([-1.0, 1.0], size=300)
        assert 0.0 < least_error(near + error, rank) <= np.abs(error).max()


def test_the_result_is_plain_json():
    made = json.loads(json.dumps(realise(example(np.arange(40))).to_dict(), allow_nan=False))
    assert made["rank"] == 4
    assert made["stable"] is True
    assert np.shape(made["eigenvalues"]) == (4, 2)


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        ([], {}, r"shape \(0,\); pass one number per lag"),
        (np.ones((3, 2)), {}, r"shape \(3, 2\); pass one number per lag"),
        (["a", "b"], {}, "The kernel holds no real numbers .*; pass its values"),
        ([1.0, np.nan, 2.0], {}, r"not finite at lag 1 \(1 values in all\)"),
        (np.zeros(9), {}, "0 at every lag, so there is nothing"),
        ([1.0], {}, "kernel of 1 value shows no rank"),
        (np.ones(9), {"rank": 6}, "Rank 6 needs at least 12 lags, and the kernel has 9"),
        (np.ones((5, 2, 2)), {"rank": 6}, "Rank 6 needs at least 6 lags, and the kernel has 5"),
        (np.ones(9), {"rank": 0}, "rank is 0; pass a whole number"),
        (np.ones(9), {"rank": 2.0}, r"rank is 2\.0; pass a whole number"),
        (np.ones(9), {"tolerance": 1e-17}, "tolerance is 1e-17; pass a share"),
        (np.ones(9), {"tolerance": 0.1, "rank": 1}, "Both rank and tolerance"),
        (np.eye(5)[4], {}, "5 lags has rank 1, but no generator of this rank comes nearer than 1:"),
        ([3.0, 1.0, 4.0, 1.0, 5.0], {"tolerance": 1e-9}, "5 lags has full rank 3"),
    ],
)
def test_bad_kernels_are_refused_in_one_sentence(kernel, options, message):
    with pytest.raises(GroupError, match=message):
        realise(kernel, **options)


def test_lags_below_zero_are_refused():
    with pytest.raises(GroupError, match="finite and 0 or more"):
        realise(np.ones(9)).at([-1.0])
