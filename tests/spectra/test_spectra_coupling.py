"""What coupling does to spectra: theorems on random matrices, and where their hypotheses fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz

from gnomon.encodings.registry import encoding
from gnomon.errors import SpectrumError
from gnomon.spectra.bounds import schur
from gnomon.spectra.coupling import compare, contraction, couple, drawn_content, hadamard

SEEDS = st.integers(0, 2**31)
ROPE = encoding("rope", dimension=8)


def correlation(rng: np.random.Generator, n: int, columns: int) -> np.ndarray:
    """A positive semidefinite matrix with ones on its diagonal."""
    rows = rng.standard_normal((n, columns))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 12), st.integers(1, 12))
def test_schur_keeps_eigenvalues_between_those_of_a_semidefinite_content(seed, n, columns) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, n))
    a, t = factor @ factor.T, correlation(rng, n, columns)
    norms, squares, values = schur(a, t)
    assert squares.applies
    assert squares.holds
    assert norms.applies
    assert values.applies
    assert norms.holds
    assert values.holds
    assert np.trace(a * t) == pytest.approx(np.trace(a))
    before, after = np.linalg.eigvalsh(a), np.linalg.eigvalsh(a * t)
    assert before[0] - 1e-9 <= after[0] <= after[-1] <= before[-1] + 1e-9


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 12))
def test_schur_bounds_the_norm_of_any_content(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    a, t = rng.standard_normal((n, n)), correlation(rng, n, 3)
    norms, squares, values = schur(a, t)
    assert squares.applies
    assert squares.holds
    assert norms.applies
    assert not values.applies
    assert np.linalg.norm(a * t, 2) <= np.linalg.norm(a, 2) * (1 + 1e-12)
    assert norms.holds
    assert np.linalg.norm(a * t) <= np.linalg.norm(a) * (1 + 1e-12)


def test_a_kernel_that_is_not_semidefinite_promises_nothing_and_may_expand() -> None:
    kernel = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])
    norms, _, _ = schur(kernel, kernel)  # all ones, of norm 3, from a matrix of norm 2
    assert norms.hypotheses == {"kernel positive semidefinite": False, "unit diagonal": True}
    assert (norms.reached_high, norms.high) == (pytest.approx(3.0), pytest.approx(2.0))
    assert not norms.holds


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.floats(0.01, 3.0), st.booleans())
def test_a_single_frequency_leaves_a_complex_spectrum_as_it_is(seed, frequency, hermitian) -> None:
    """A o e e^* = diag(e) A diag(e)^*: a change of basis."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((9, 9)) + 1j * rng.standard_normal((9, 9))
    a = a + a.conj().T if hermitian else a
    wave = np.exp(1j * frequency * np.arange(9))
    made = hadamard([a], [np.outer(wave, wave.conj())])
    found = compare(a, made, name="one turn", kind="multiplicative")
    np.testing.assert_allclose(found.singular_after, found.singular_before, rtol=1e-10)
    assert found.norm == pytest.approx(1.0)
    assert found.condition == pytest.approx(1.0)


def test_the_real_part_of_a_single_frequency_does_change_the_spectrum() -> None:
    """Rotary logits are real: cos(b(i-j)) in place of e^(ib(i-j)), the mean of two turns."""
    n, b = 64, 0.7
    ones = np.zeros((n, 2))
    ones[:, 0] = 1.0
    found = couple(ones, ones, encoding("rope", dimension=2), positions=b * np.arange(n), scale=1.0)
    assert found.before.norm == pytest.approx(n)
    wanted = np.linalg.norm(toeplitz(np.cos(b * np.arange(n))), 2)
    assert found.after.norm == pytest.approx(wanted)
    assert found.norm == pytest.approx(0.5, abs=0.02)
    turned = np.stack([np.cos(b * np.arange(n)), -np.sin(b * np.arange(n))], axis=1)
    back = couple(
        turned, turned, encoding("rope", dimension=2), positions=b * np.arange(n), scale=1.0
    )
    assert back.norm == pytest.approx(2.0, abs=0.05)


def test_independent_pairs_are_not_contracted_and_a_shared_mean_is() -> None:
    """40 positions, 16 frequencies, 100 draws of q = k: a ratio of 1 within its error, then 0.7."""
    known = encoding("rope", dimension=32)
    ratios = {}
    for mean in (0.0, 3.0):
        draws = []
        for seed in range(100):
            q, k = drawn_content(40, 32, mean=mean, rng=np.random.default_rng(seed))
            turned = known.transform(q, k, np.arange(40))
            before, after = q @ k.T, turned[0] @ turned[1].T
            draws.append(np.linalg.norm(after, 2) / np.linalg.norm(before, 2))
        ratios[mean] = np.array(draws)
    assert ratios[0.0].mean() == pytest.approx(1.0, abs=0.03)
    assert ratios[0.0].min() < 1.0 < ratios[0.0].max()
    assert ratios[3.0].mean() < 0.8
    found = contraction(known, 40, means=(0.0, 3.0), draws=10)
    assert found.norm[0] == pytest.approx(1.0, abs=0.1)
    assert found.norm[1] < 0.85


def test_means_that_do_not_agree_are_not_damped() -> None:
    """Means that cancel between pairs, though not within them: turns bring out what cancelled."""
    known = encoding("rope", dimension=4, base=100.0)
    q, k = np.zeros((2, 60, 4))
    q[:], k[:] = (1.0, 0.0, 1.01, 0.0), (1.0, 0.0, -1.0, 0.0)
    found = couple(q, k, known, scale=1.0)
    at = np.arange(60)
    wanted = toeplitz(np.cos(at) - 1.01 * np.cos(0.1 * at))
    assert found.before.norm == pytest.approx(0.6)
    assert found.after.norm == pytest.approx(np.linalg.norm(wanted, 2))
    assert found.norm > 20.0


def test_for_content_that_is_not_symmetric_the_condition_number_has_no_side() -> None:
    """Half of random contents get a better condition number from a shared kernel, half a worse."""
    rng = np.random.default_rng(0)
    kernel = toeplitz(np.cos(np.outer(np.arange(6), [1.0, 0.1, 0.01])).mean(axis=1))
    better = []
    for _ in range(400):
        a = rng.standard_normal((6, 6))
        better.append(np.linalg.cond(a * kernel) < np.linalg.cond(a))
    assert 0.4 < np.mean(better) < 0.6


def test_a_linear_bias_expands_the_norm_as_the_square_of_the_length() -> None:
    known = encoding("alibi", slopes=(0.5,), symmetric=True)
    norms = []
    for length in (64, 128):
        q, k = drawn_content(length, 8)
        found = couple(q, k, known)
        added = found.bounds[0]
        assert added.applies
        assert added.holds
        norms.append(found.after.norm)
    assert norms[1] / norms[0] == pytest.approx(4.0, rel=0.05)


def test_a_causal_encoding_is_compared_on_what_it_leaves() -> None:
    known, (q, k) = encoding("xpos", dimension=8), drawn_content(20, 8)
    found = couple(q, k, known, scale=1.0)
    logits = np.asarray(known.scores(q, k, np.arange(20)))
    wanted = np.linalg.norm(np.tril(np.where(np.isfinite(logits), logits, 0.0)), 2)
    assert found.after.norm == pytest.approx(wanted)
    assert found.before.norm == pytest.approx(np.linalg.norm(np.tril(q @ k.T), 2))


def test_drawn_content_has_the_mean_and_spread_that_were_asked_for() -> None:
    q, k = drawn_content(20_000, 4, mean=3.0, tied=False, rng=np.random.default_rng(1))
    np.testing.assert_allclose(q.std(axis=0), 1.0, atol=0.03)
    shared = np.random.default_rng(1).standard_normal((2, 1, 4))
    np.testing.assert_allclose(q.mean(axis=0), 3.0 * shared[0, 0], atol=0.03)
    np.testing.assert_allclose(k.mean(axis=0), 3.0 * shared[1, 0], atol=0.03)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: couple(np.ones(3), np.ones(3), encoding("nope")), "pass one head of each"),
        (
            lambda: couple(np.full((2, 2), np.nan), np.ones((2, 2)), encoding("nope")),
            "numbers that are not finite",
        ),
        (
            lambda: couple(np.ones((3, 4)), np.ones((3, 4)), encoding("rope", dimension=8)),
            "cannot be coupled with q and k of dimension 4",
        ),
        (lambda: hadamard(np.ones((2, 2)), np.ones((2, 2))), r"pass both as \(pairs, n, n\)"),
        (lambda: couple(1j * np.ones((3, 8)), np.ones((3, 8)), ROPE), "q holds complex128"),
        (lambda: couple(np.ones((3, 8)), np.ones((3, 8)), ROPE, scale=np.nan), "scale is nan"),
        (lambda: couple(np.ones((3, 8)), np.ones((3, 8)), ROPE, scale="a"), "scale is 'a'"),
        (
            lambda: couple(np.ones((3, 8)), np.ones((3, 8)), ROPE, positions=[0, 1]),
            r"positions has shape \(2,\), and q has 3 rows",
        ),
        (
            lambda: couple(np.ones((3, 8)), np.ones((3, 8)), ROPE, positions=[0, 1, np.inf]),
            "positions holds numbers that are not finite",
        ),
        (lambda: couple(np.ones((3, 8)), np.ones((3, 8)), 3.0), "A float has no spectrum"),
        (lambda: couple(np.full((3, 8), 1e200), np.full((3, 8), 1e200), ROPE), "leave float64"),
        (lambda: schur(np.ones((2, 2)), np.ones((3, 3))), "pass two n x n matrices"),
        (lambda: schur(np.full((2, 2), np.nan), np.ones((2, 2))), "or what is not finite"),
        (lambda: schur(np.ones((0, 0)), np.ones((0, 0))), "pass two n x n matrices"),
        (lambda: drawn_content(4, 4, mean=1e200), r"mean is 1e\+200; pass 1e\+06 at most"),
        (lambda: drawn_content(4, 4, mean="a"), "mean is 'a'; pass 0 or more"),
        (lambda: drawn_content(4.0, 4), "length is 4.0; pass a whole number from 1 on"),
        (lambda: contraction(ROPE, 0), "length is 0; pass a whole number of positions from 2"),
        (lambda: contraction(ROPE, 8, seed=-1), "seed is -1; pass a whole number from 0 on"),
        (lambda: contraction(ROPE, 8, means=1.0), "means is 1.0; pass at least one size"),
        (lambda: contraction(ROPE, 8, dimension=16), "'rope' is made for 8; pass that"),
        (lambda: contraction(encoding("nope"), 8, dimension=0), "dimension is 0; pass a whole"),
        (lambda: drawn_content(4, 4, mean=-1.0), "mean is -1.0; pass 0 or more"),
        (lambda: contraction(encoding("nope"), 8, draws=0), "draws is 0"),
        (
            lambda: contraction(encoding("nope"), 8, means=()),
            r"means is \(\); pass at least one size",
        ),
    ],
)
def test_what_can_not_be_coupled_is_refused_in_words(call, sentence: str) -> None:
    with pytest.raises(SpectrumError, match=sentence):
        call()


def test_contraction_is_the_mean_of_its_draws_and_of_logarithms_for_condition_numbers() -> None:
    known, n, d = encoding("rope", dimension=4), 12, 4
    found = contraction(known, n, means=(1.5,), draws=3, tied=False, seed=5)
    norms, conditions = [], []
    for draw in range(3):
        q, k = drawn_content(n, d, mean=1.5, tied=False, rng=np.random.default_rng([5, draw]))
        turned = known.transform(q, k, np.arange(n))
        before, after = (np.linalg.svd(a @ b.T)[1][:d] for a, b in ((q, k), turned))
        norms.append(after[0] / before[0])
        conditions.append((after[0] / after[-1]) / (before[0] / before[-1]))
    assert found.norm[0] == pytest.approx(np.mean(norms))
    np.testing.assert_allclose(found.norm_range[0], [min(norms), max(norms)])
    assert (found.rank_before[0], found.rank_after[0]) == (d, d)
    assert found.condition_reason == ""
    assert found.condition[0] == pytest.approx(np.exp(np.mean(np.log(conditions))))


def test_where_the_rank_changes_there_is_no_ratio_of_condition_numbers() -> None:
    """A bias of full rank on content of rank 4: two ranges, whose condition numbers are no pair."""
    known = encoding("alibi", slopes=(0.5,), symmetric=True)
    q, k = drawn_content(20, 4)
    found = couple(q, k, known)
    content = q @ k.T / 2.0
    bias = -0.5 * np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    ranks = [np.linalg.matrix_rank(x) for x in (content, content + bias)]
    assert [found.before.rank, found.after.rank] == ranks == [4, 20]
    assert found.condition is None
    assert found.condition_reason == "the rank goes from 4 to 20: another range"
    drawn = contraction(known, 20, means=(0.0,), dimension=4)
    assert np.isnan(drawn.condition).all()
    assert (drawn.rank_before[0], drawn.rank_after[0]) == (4.0, 20.0)
    assert drawn.at(0.0)["condition"] is None


@pytest.mark.parametrize("d", [8, 64])
def test_content_for_a_bias_has_the_dimension_that_was_asked_for(d: int) -> None:
    """Norms of A and A + B by hand: the ratio depends on the dimension, so it is told."""
    known, n = encoding("alibi", heads=8), 48
    found = contraction(known, n, means=(0.0, 2.0), draws=2, dimension=d)
    assert found.dimension == d
    lags = np.subtract.outer(np.arange(n), np.arange(n))
    bias = np.where(lags >= 0, -0.5 * lags, 0.0)
    for row, mean in enumerate((0.0, 2.0)):
        ratios = []
        for draw in range(2):
            q, k = drawn_content(n, d, mean=mean, rng=np.random.default_rng([0, draw]))
            before = np.tril(q @ k.T / np.sqrt(d))
            ratios.append(np.linalg.norm(before + bias, 2) / np.linalg.norm(before, 2))
        assert found.norm[row] == pytest.approx(np.mean(ratios))


def test_content_of_any_dimension_is_that_of_transforms_unless_told() -> None:
    assert contraction(encoding("alibi"), 8, means=(0.0,), draws=1).dimension == 64
    assert contraction("rope", 8, means=(0.0,), draws=1).dimension == 64


def test_an_encoding_may_be_named() -> None:
    q, k = drawn_content(12, 64)
    by_name, made = couple(q, k, "rope"), couple(q, k, encoding("rope", dimension=64))
    np.testing.assert_array_equal(by_name.singular_after, made.singular_after)


@pytest.mark.parametrize(
    ("positions", "share"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], 1.0),
        ([3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5], 1.0),
        ([0, 1, 2, 10, 11, 12, 30, 31], None),
        ([7, 6, 5, 4, 3, 2, 1, 0], None),
    ],
)
def test_the_share_of_the_lag_is_told_where_an_index_is_a_lag(positions, share) -> None:
    known, content = encoding("alibi", slopes=(1.0,), symmetric=True), 1e-9 * np.ones((8, 2))
    found = couple(content, content, known, positions=positions).toeplitz_share
    assert np.isnan(found) if share is None else found == pytest.approx(share)
