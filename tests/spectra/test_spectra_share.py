"""The Toeplitz share against least squares with a column for every lag and row, and four terms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.encodings.registry import encoding
from gnomon.errors import SpectrumError
from gnomon.spectra.share import four_terms, gram_spectrum, lag_share, toeplitz_share


def explained(x: np.ndarray, *, causal: bool, rows: bool) -> float:
    """R^2 by least squares on indicators of lags, and of rows where asked."""
    n = len(x)
    i, j = np.nonzero(np.tril(np.ones((n, n))) if causal else np.ones((n, n)))
    y = x[i, j]
    lags = (i - j)[:, None] == np.arange(1 - n, n)
    of_rows = i[:, None] == np.arange(n)
    base = of_rows if rows else np.ones((len(y), 1))
    full = np.concatenate([base, lags], axis=1).astype(float)

    def rest(design: np.ndarray) -> float:
        fit = np.linalg.lstsq(design.astype(float), y, rcond=None)[0]
        return float(np.sum((y - design @ fit) ** 2))

    return 1.0 - rest(full) / rest(base)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 9), st.booleans(), st.integers(0, 2**31), st.floats(-100.0, 100.0))
def test_shares_are_those_of_least_squares(n, causal, seed, offset) -> None:
    x = np.random.default_rng(seed).standard_normal((n, n)) + offset
    found = toeplitz_share(x, causal=causal)
    wanted = explained(x, causal=causal, rows=False)
    assert found.share == pytest.approx(wanted, abs=1e-8)
    assert lag_share(x, causal=causal) == pytest.approx(wanted, abs=1e-8)
    assert found.share_of_rows == pytest.approx(explained(x, causal=causal, rows=True), abs=1e-7)


def test_chance_is_what_noise_has_on_average() -> None:
    x = np.random.default_rng(0).standard_normal((400, 12, 12))
    for causal in (False, True):
        found = toeplitz_share(x, causal=causal)
        assert found.share.mean() == pytest.approx(found.chance, rel=0.05)
        assert found.share_of_rows.mean() == pytest.approx(found.chance_of_rows, rel=0.05)


def test_a_relative_bias_is_all_lag_and_rows_do_not_hide_it() -> None:
    bias = np.asarray(encoding("t5", heads=3, sigma=1.0).bias(np.arange(40)))
    found = toeplitz_share(bias)
    np.testing.assert_allclose(found.share, 1.0, atol=1e-12)
    shifted = bias + 10.0 * np.random.default_rng(0).standard_normal((3, 40, 1))
    spoiled = toeplitz_share(shifted)
    assert (spoiled.share < 0.1).all()
    np.testing.assert_allclose(spoiled.share_of_rows, 1.0, atol=1e-10)
    np.testing.assert_allclose(found.profile[1, 39:], bias[1, :, 0], atol=1e-12)


def test_masked_logits_are_read_under_causal_alone() -> None:
    logits = np.asarray(encoding("xpos", dimension=4).scores(*np.ones((2, 9, 4)), np.arange(9)))
    assert np.isneginf(logits).any()
    assert toeplitz_share(logits, causal=True).share == pytest.approx(1.0)
    with pytest.raises(
        SpectrumError, match="that count are not finite; pass causal=True or a mask"
    ):
        toeplitz_share(logits)
    with pytest.raises(SpectrumError, match="not finite at keys before their query"):
        toeplitz_share(np.full((3, 3), -np.inf), causal=True)
    with pytest.raises(SpectrumError, match="Some logits are NaN; pass finite ones"):
        toeplitz_share(np.full((3, 3), np.nan))
    with pytest.raises(SpectrumError, match="The logits are complex; pass real ones"):
        toeplitz_share(np.ones((3, 3)) * 1j)
    with pytest.raises(SpectrumError, match="pass one matrix"):
        lag_share(np.ones((2, 3, 3)))


@settings(max_examples=25, deadline=None)
@given(st.integers(4, 9), st.integers(0, 2**31))
def test_under_a_mask_shares_are_least_squares_over_what_is_seen(n, seed) -> None:
    rng = np.random.default_rng(seed)
    mask, x = rng.random((n, n)) < 0.7, rng.standard_normal((n, n))
    mask[0, :3] = True
    found = toeplitz_share(np.where(mask, x, -np.inf), mask=mask)
    i, j = np.nonzero(mask)
    y, lags = x[i, j], (i - j)[:, None] == np.arange(1 - n, n)
    rows = i[:, None] == np.arange(n)

    def rest(design: np.ndarray) -> float:
        fit = np.linalg.lstsq(design.astype(float), y, rcond=None)[0]
        return float(np.sum((y - design @ fit) ** 2))

    assert found.share == pytest.approx(1.0 - rest(lags) / rest(np.ones((len(y), 1))), abs=1e-8)
    if rest(rows) > 1e-9:
        both = np.concatenate([rows, lags], axis=1)
        assert found.share_of_rows == pytest.approx(1.0 - rest(both) / rest(rows), abs=1e-6)
    seen = np.unique(i - j)
    assert found.lags.tolist() == seen.tolist()
    means = [y[i - j == lag].mean() for lag in seen]
    np.testing.assert_allclose(found.profile, means, atol=1e-12)


def test_a_mask_that_is_none_is_refused() -> None:
    with pytest.raises(SpectrumError, match=r"pass booleans \(3, 3\), True where a key is seen"):
        toeplitz_share(np.ones((3, 3)), mask=np.ones((2, 2), dtype=bool))
    with pytest.raises(SpectrumError, match="Fewer than two logits are seen"):
        toeplitz_share(np.ones((3, 3)), mask=np.zeros((3, 3), dtype=bool))


def test_where_nothing_varies_there_is_no_share() -> None:
    assert np.isnan(toeplitz_share(np.full((4, 4), 7.3)).share)
    with pytest.raises(SpectrumError, match="with n of at least 2"):
        toeplitz_share(np.ones((3, 4)))


@pytest.mark.parametrize("n", [5, 64])
def test_products_of_vectors_have_the_share_and_eigenvalues_of_their_matrix(n: int) -> None:
    p = np.random.default_rng(n).standard_normal((n, 7))
    found = gram_spectrum(p)
    gram = p @ p.T
    assert found.toeplitz_share == pytest.approx(lag_share(gram), rel=1e-9)
    wanted = np.linalg.eigvalsh(gram)[::-1][: min(n, 7)]
    np.testing.assert_allclose(found.eigenvalues, wanted, atol=1e-10)
    diagonals = [np.diagonal(gram, k).mean() for k in range(n)]
    np.testing.assert_allclose(found.profile, diagonals, atol=1e-10)
    with pytest.raises(SpectrumError, match=r"pass finite numbers \(positions, dimension\)"):
        gram_spectrum(np.ones(3))


def test_a_sinusoid_is_toeplitz_and_vectors_that_are_all_one_have_no_share() -> None:
    sine = np.asarray(encoding("sinusoidal", dimension=32).vectors(np.arange(50)))
    assert gram_spectrum(sine).toeplitz_share == pytest.approx(1.0)
    assert np.isnan(gram_spectrum(np.ones((4, 3))).toeplitz_share)


def test_four_terms_add_up_to_the_logits_and_their_parts_to_one() -> None:
    rng = np.random.default_rng(0)
    content, w_q, w_k = rng.standard_normal((20, 8)), *rng.standard_normal((2, 8, 4))
    vectors = np.asarray(encoding("sinusoidal", dimension=8).vectors(np.arange(20)))
    found = four_terms(content, vectors, w_q, w_k)
    logits = ((content + vectors) @ w_q) @ ((content + vectors) @ w_k).T / 2.0
    np.testing.assert_allclose(found.matrices.sum(axis=0), logits, atol=1e-12)
    np.testing.assert_allclose(found.matrices[1], (content @ w_q) @ (vectors @ w_k).T / 2.0)
    assert found.part.sum() == pytest.approx(1.0)
    assert found.whole_share == pytest.approx(lag_share(logits))
    assert "matrices" not in found.to_dict()
    plain = four_terms(content, vectors)
    assert plain.toeplitz_share[3] == pytest.approx(1.0)
    assert found.toeplitz_share[3] < 0.999


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.ones((3, 2)), np.ones((3, 3))), "pass both as"),
        ((np.full((3, 2), np.inf), np.ones((3, 2))), "numbers that are not finite"),
        ((np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2))), r"pass \(2, width\)"),
        ((np.ones((3, 2)), np.ones((3, 2)), np.ones((2, 2)), np.ones((2, 3))), "W_q has shape"),
    ],
)
def test_terms_of_other_shapes_are_refused(arguments, sentence: str) -> None:
    with pytest.raises(SpectrumError, match=sentence):
        four_terms(*arguments)
