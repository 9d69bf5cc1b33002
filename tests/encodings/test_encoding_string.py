"""STRING: logits against exponentials of commuting generators, and rotary encoding as a case."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, circulant, expm

from gnomon.encodings.generators.skew import fourier_basis, frequencies_of_columns
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


@pytest.mark.parametrize("axes", [1, 2])
def test_logits_are_those_of_the_exponential_of_commuting_generators(axes, rng):
    made = encoding("string-cayley", dimension=8, axes=axes, spread=0.4, seed=3)
    made = made.with_numbers(frequencies=rng.normal(size=(4, axes)))
    upper = np.triu(made.skew, 1)
    skew = upper - upper.T
    p = (np.eye(8) - skew) @ np.linalg.inv(np.eye(8) + skew)
    np.testing.assert_allclose(p @ p.T, np.eye(8), atol=1e-14)
    q, k = rng.normal(size=(2, 5, 8))
    at = rng.normal(scale=20.0, size=(5, axes))
    found = made.scores(q, k, at[:, 0] if axes == 1 else at)
    for i in range(5):
        for j in range(5):
            phases = made.frequencies @ (at[j] - at[i])
            x = p @ block_diag(*(w * TURN for w in phases)) @ p.T
            np.testing.assert_allclose(found[i, j], q[i] @ expm(x) @ k[j], rtol=1e-10, atol=1e-11)


def test_without_a_basis_it_is_rotary_encoding(rng):
    q, k = rng.normal(size=(2, 6, 8))
    at = rng.integers(0, 1000, size=6)
    for layout in ("interleaved", "half"):
        made = encoding("string-cayley", dimension=8, layout=layout)
        rope = encoding("rope", dimension=8, layout=layout)
        for found, wanted in zip(made.transform(q, k, at), rope.transform(q, k, at), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("size", [5, 8])
@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_logits_are_those_of_the_exponential_of_circulant_matrices(size, layout, rng):
    columns = rng.normal(scale=0.3, size=(2, size))
    made = encoding(
        "string-circulant",
        dimension=size,
        axes=2,
        layout=layout,
        frequencies=frequencies_of_columns(columns),
    )
    generators = [circulant(c) - circulant(c).T for c in columns]
    np.testing.assert_allclose(
        generators[0] @ generators[1], generators[1] @ generators[0], atol=1e-14
    )
    q, k = rng.normal(size=(2, 4, size))
    at = rng.normal(scale=5.0, size=(4, 2))
    found = made.scores(q, k, at)
    for i in range(4):
        for j in range(4):
            lag = at[j] - at[i]
            x = lag[0] * generators[0] + lag[1] * generators[1]
            np.testing.assert_allclose(found[i, j], q[i] @ expm(x) @ k[j], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("size", [3, 4, 7, 64])
def test_the_basis_of_fourier_is_orthonormal(size):
    basis = fourier_basis(size)
    np.testing.assert_allclose(basis.T @ basis, np.eye(size), atol=1e-13)


def test_columns_that_are_none_are_refused_in_words():
    with pytest.raises(
        EncodingError, match=r"columns has shape \(2,\); pass the first column of a ma"
    ):
        frequencies_of_columns([1.0, 2.0])
    with pytest.raises(EncodingError, match=r"dimension is 2; pass a whole number from 3 on"):
        encoding("string-circulant", dimension=2)
    with pytest.raises(
        EncodingError, match=r"skew has shape \(2, 2\); pass finite numbers of shape \(4"
    ):
        encoding("string-cayley", dimension=4, skew=np.zeros((2, 2)))
