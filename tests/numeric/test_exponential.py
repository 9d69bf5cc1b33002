"""Exponentials of matrices against mpmath, and of one matrix at many steps against powers of it."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.numeric.elementwise import inside, inside_inverse, softplus_inverse
from gnomon.numeric.exponential import doubled, expm, squarings_for

mpmath = pytest.importorskip("mpmath")
UNIT = 2.0**-53


def exact(matrix):
    """The exponential in fifty digits, rounded to float64."""
    with mpmath.workdps(50):
        made = mpmath.expm(mpmath.matrix(matrix.tolist()))
        return np.array(made.tolist(), dtype=np.float64)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 30.0, 1e3, 1e6])
def test_skew_matrices_err_by_the_rounding_of_their_largest_phase(size, rng):
    raw = size * rng.normal(size=(3, 4, 4))
    skew = raw - np.swapaxes(raw, -1, -2)
    norm = float(np.abs(skew).sum(axis=-1).max())
    found = expm(skew, squarings=squarings_for(norm), xp=np)
    for made, matrix in zip(found, skew, strict=True):
        assert np.abs(made - exact(matrix)).max() <= 4 * UNIT * (1 + norm)


def test_matrices_that_are_not_normal_have_their_exponential_too(rng):
    matrix = rng.normal(size=(5, 5)) + 3.0 * np.eye(5, k=1)
    wanted = exact(matrix)
    np.testing.assert_allclose(expm(matrix, xp=np), wanted, rtol=1e-12, atol=1e-12 * wanted.max())


def test_each_matrix_of_a_batch_is_halved_as_often_as_alone(rng):
    batch = rng.normal(size=(3, 4, 4)) * np.array([1e-3, 1.0, 500.0])[:, None, None]
    batch = batch - np.swapaxes(batch, -1, -2)
    together = expm(batch, squarings=12, xp=np)
    for made, matrix in zip(together, batch, strict=True):
        np.testing.assert_array_equal(made, expm(matrix[None], squarings=12, xp=np)[0])


def test_a_matrix_beyond_what_is_squared_is_nan_and_not_wrong():
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert np.isnan(expm(2.0**21 * turn, xp=np)).all()
    assert np.isfinite(expm(2.0**20 * turn, xp=np)).all()


@pytest.mark.parametrize("last", [1, 1023, 10**6])
def test_doubling_is_the_exponential_at_every_step(last, rng):
    raw = 0.3 * rng.normal(size=(2, 3, 3))
    skew = raw - np.swapaxes(raw, -1, -2)
    steps = np.array([0.0, 1.0, last // 2, last])
    x = rng.normal(size=(2, 4, 3))
    found = doubled(skew, steps, x, bits=last.bit_length(), xp=np)
    for block in range(2):
        for row, t in enumerate(steps):
            wanted = exact(t * skew[block]) @ x[block, row]
            assert np.abs(found[block, row] - wanted).max() <= 40 * UNIT * (1 + t)


def test_slopes_at_zero_are_those_of_the_identity():
    torch = pytest.importorskip("torch")
    import array_api_compat.torch as xp

    def formula(matrix):
        return expm(matrix, xp=xp)

    assert torch.autograd.gradcheck(
        formula, torch.zeros(2, 3, 3, dtype=torch.float64).requires_grad_()
    )
    wide = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.autograd.gradcheck(formula, (4.0 * wide).requires_grad_())


def test_numbers_start_where_they_are_wanted():
    wanted = np.array([1e-9, 1e-3, 1.0, 50.0])
    np.testing.assert_allclose(np.logaddexp(softplus_inverse(wanted), 0.0), wanted, rtol=1e-7)
    inner = np.array([-0.9, 0.0, 0.25])
    np.testing.assert_allclose(inside(inside_inverse(inner, 1.0), 1.0, xp=np), inner, rtol=1e-14)
    assert np.abs(inside(np.array([-1e9, 1e9]), 2.0, xp=np)).max() <= 2.0
