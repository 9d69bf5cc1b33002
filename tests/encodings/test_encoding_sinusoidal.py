"""Sinusoidal vectors against their formula, written out in Python floats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.encodings.additive import Sinusoidal
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

ULP = 2.0**-52


def written_out(position: float, dimension: int, base: float) -> list[float]:
    row = []
    for k in range(dimension // 2):
        angle = position * base ** (-2 * k / dimension)
        row += [math.sin(angle), math.cos(angle)]
    return row


@pytest.mark.parametrize(("dimension", "base"), [(2, 10000.0), (16, 10000.0), (128, 500.0)])
def test_sinusoidal_vectors_equal_their_formula(dimension, base):
    positions = [0, 1, 2.5, 31, 2047, -7]
    made = encoding("sinusoidal", dimension=dimension, base=base).vectors(positions)
    wanted = [written_out(position, dimension, base) for position in positions]
    # one ulp of the phase, and one of the sine
    tolerance = ULP * (2.0 + np.abs(positions)[:, None])
    assert np.all(np.abs(made - wanted) <= tolerance)


def test_every_row_has_norm_sqrt_of_half_the_dimension():
    rows = Sinusoidal(dimension=768).vectors(np.arange(512))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), math.sqrt(384), rtol=1e-14)


def test_positions_keep_their_shape():
    assert Sinusoidal(dimension=8).vectors(np.zeros((3, 5))).shape == (3, 5, 8)
    assert Sinusoidal(dimension=8).vectors(4).shape == (8,)


def test_two_axes_are_two_sinusoids_side_by_side():
    grid = Sinusoidal(dimension=16, axes=2).vectors([[3, 11]])
    line = Sinusoidal(dimension=8)
    np.testing.assert_allclose(grid[0], np.concatenate([line.vectors(3), line.vectors(11)]))


def test_changing_the_base_changes_the_vectors_after_a_first_call():
    first = Sinusoidal(dimension=8).vectors([5])
    second = Sinusoidal(dimension=8, base=100.0).vectors([5])
    assert not np.allclose(first, second)


def test_torch_positions_give_the_same_vectors_as_torch_tensors():
    torch = pytest.importorskip("torch")
    made = Sinusoidal(dimension=32).vectors(torch.arange(50))
    assert isinstance(made, torch.Tensor)
    wanted = Sinusoidal(dimension=32).vectors(np.arange(50))
    np.testing.assert_allclose(made.numpy(), wanted, atol=1e-15)


def test_an_odd_dimension_is_refused_with_a_remedy():
    with pytest.raises(
        EncodingError, match=r"dimension is 7; pass a multiple of 2, two per axis\."
    ):
        encoding("sinusoidal", dimension=7)


def test_a_dimension_that_the_axes_do_not_divide_is_refused():
    with pytest.raises(EncodingError, match=r"dimension is 6; pass a multiple of 4"):
        encoding("sinusoidal", dimension=6, axes=2)


@pytest.mark.parametrize("base", [0, -1.0, float("nan"), "10000", True])
def test_a_base_that_is_no_positive_number_is_refused(base):
    with pytest.raises(EncodingError, match=r"base is .*; pass a finite number above 0\."):
        encoding("sinusoidal", dimension=8, base=base)


def test_a_kind_it_lacks_is_named_beside_those_it_has():
    made = encoding("sinusoidal", dimension=8)
    with pytest.raises(EncodingError, match=r"'sinusoidal' has no bias; it offers vectors\."):
        made.bias([0, 1])
    with pytest.raises(EncodingError, match=r"has no transform of queries and keys; it offers vec"):
        made.transform(np.eye(8), np.eye(8), np.arange(8))


def test_positions_that_are_no_numbers_are_refused():
    made = encoding("sinusoidal", dimension=8)
    with pytest.raises(EncodingError, match=r"The position at index \[1\] is nan; pass finite"):
        made.vectors([0.0, np.nan])
    with pytest.raises(EncodingError, match=r"The positions have type .*; pass whole numbers"):
        made.vectors(["a"])
    with pytest.raises(EncodingError, match=r"The positions are a ragged list"):
        made.vectors([[0], [1, 2]])


def test_positions_without_their_axes_are_refused():
    with pytest.raises(EncodingError, match=r"have shape \(5,\), but this encoding has 2 axes"):
        encoding("sinusoidal", dimension=8, axes=2).vectors(np.arange(5))
