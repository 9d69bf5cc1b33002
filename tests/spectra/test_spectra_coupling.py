"""What coupling does to spectra: theorems on random matrices, and where their hypotheses fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz

from gnomon.encodings.registry import encoding
from gnomon.errors import SpectrumError
from gnomon.spectra.bounds import complex_pairs, schur
from gnomon.spectra.content import drawn_content
from gnomon.spectra.contraction import contraction
from gnomon.spectra.coupling import compared, couple, hadamard

SEEDS = st.integers(0, 2**31)


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
    norms, values = schur(a, t)
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
    norms, values = schur(a, t)
    assert norms.applies
    assert not values.applies
    assert np.linalg.norm(a * t, 2) <= np.linalg.norm(a, 2) * (1 + 1e-12)
    assert norms.holds
    assert np.linalg.norm(a * t) <= np.linalg.norm(a) * (1 + 1e-12)


def test_a_kernel_that_is_not_semidefinite_promises_nothing_and_may_expand() -> None:
    kernel = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])
    norms, _ = schur(kernel, kernel)  # all ones, of norm 3, from a matrix of norm 2
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
    found = compared(a, made, name="one turn", kind="multiplicative")
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


def test_pairs_as_complex_numbers_give_back_the_logits_of_rotary_encoding() -> None:
    """Re sum_k A_k o T_k against `scores`, in both layouts, with coordinates that do not turn."""
    rng = np.random.default_rng(0)
    for parameters in ({"layout": "half"}, {"layout": "interleaved", "fraction": 0.5}):
        known = encoding("rope", dimension=8, **parameters)
        q, k = rng.standard_normal((2, 11, 8))
        z, w = complex_pairs(known, q), complex_pairs(known, k)
        waves = np.exp(1j * np.outer(np.arange(11), known.frequencies[:, 0]))
        contents = np.einsum("ik,jk->kij", z, w.conj())
        kernels = np.einsum("ik,jk->kij", waves, waves.conj())
        made = hadamard(contents, kernels).real
        rest = q[:, known.rotated :] @ k[:, known.rotated :].T
        wanted = np.asarray(known.scores(q, k, np.arange(11)))
        np.testing.assert_allclose(made + rest, wanted, atol=1e-12)


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


def test_the_bound_by_pairs_holds_and_schurs_says_what_it_lacks() -> None:
    known = encoding("rope", dimension=8)
    q, k = drawn_content(30, 8, tied=False)
    pairs, norms = couple(q, k, known).bounds
    assert pairs.applies
    assert pairs.holds
    assert not norms.applies
    assert not norms.hypotheses["one Gram for all pairs"]
    one = np.random.default_rng(0).standard_normal((30, 1))
    same = np.tile(np.concatenate([one, 0.0 * one], axis=1), (1, 4))  # all pairs alike, and real
    shared = couple(same, same, known).bounds[1]
    assert shared.applies
    assert shared.holds
    yarn = encoding("rope-yarn", dimension=8, factor=4.0, original_length=512)
    assert not couple(same, same, yarn).bounds[1].hypotheses["unit diagonal"]


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
            "can not be coupled with q and k of dimension 4",
        ),
        (lambda: hadamard(np.ones((2, 2)), np.ones((2, 2))), r"pass both as \(pairs, n, n\)"),
        (lambda: schur(np.ones((2, 2)), np.ones((3, 3))), "pass two n x n matrices"),
        (lambda: drawn_content(4, 4, mean=-1.0), "mean is -1.0; pass 0 or more"),
        (lambda: contraction(encoding("nope"), 8, draws=0), "draws is 0"),
        (lambda: contraction(encoding("nope"), 8, means=()), "means is empty"),
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
    assert found.condition[0] == pytest.approx(np.exp(np.mean(np.log(conditions))))
