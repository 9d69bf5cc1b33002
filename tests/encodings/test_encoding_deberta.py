"""Disentangled attention against the paper's three products, and rows by logarithms."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.relative import bucket_sizes, projected
from gnomon.errors import EncodingError

HEADS, DIMENSION, REACH = 2, 4, 8


@pytest.fixture
def tables(rng):
    return rng.normal(size=(2, HEADS, 2 * REACH, DIMENSION))


def made(tables):
    return encoding(
        "deberta",
        dimension=DIMENSION,
        heads=HEADS,
        largest_lag=REACH,
        key_table=tables[0],
        query_table=tables[1],
    )


def products(q, k, key_rows, query_rows, tables):
    """q.k + q.A + k.B with a vector for every pair, over sqrt 3."""
    content = np.einsum("hid,hjd->hij", q, k)
    to_lags = np.einsum("hid,hijd->hij", q, tables[0][:, key_rows])
    from_lags = np.einsum("hjd,hijd->hij", k, tables[1][:, query_rows])
    return (content + to_lags + from_lags) / np.sqrt(3.0)


def test_logits_are_the_three_products_of_content_and_lag(tables, rng):
    """Also between queries and keys of different number, and lags past the last row."""
    q, k = rng.normal(size=(HEADS, 5, DIMENSION)), rng.normal(size=(HEADS, 9, DIMENSION))
    at_q, at_k = rng.integers(0, 30, size=5), rng.integers(0, 30, size=9)
    rows = np.clip(at_q[:, None] - at_k + REACH, 0, 2 * REACH - 1)
    found = made(tables).scores(q, k, at_q, at_k, scale=0.5)
    wanted = 0.5 * products(q, k, rows, rows, tables)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_the_rows_that_the_paper_writes_for_its_second_product_are_ours_in_reverse(tables, rng):
    """Row j - i + K of the paper is row i - j + K of the table read backwards, below lag K."""
    q, k = rng.normal(size=(2, HEADS, REACH, DIMENSION))
    at = np.arange(REACH)
    lags = at[:, None] - at
    written = products(q, k, lags + REACH, REACH - lags, tables)
    backwards = np.roll(tables[1][:, ::-1], 1, axis=1)
    found = made(np.stack([tables[0], backwards])).scores(q, k, at)
    np.testing.assert_allclose(found, written, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("buckets", "largest_lag"), [(8, 30), (32, 128), (256, 512)])
def test_buckets_are_those_of_the_formula_with_logarithms(buckets, largest_lag):
    """By logarithms of 60 digits; a bound that they would hit is one of the formula's own."""
    mpmath = pytest.importorskip("mpmath")
    half, last = buckets // 2, largest_lag - 1
    with mpmath.workdps(60):
        steps = [
            mpmath.log(mpmath.mpf(lag) / half) / mpmath.log(mpmath.mpf(last) / half) * (half - 1)
            for lag in range(half + 1, largest_lag)
        ]
        wide = [half + int(mpmath.ceil(step - mpmath.mpf("1e-50"))) for step in steps]
    wanted = (*range(half + 1), *wide, buckets)
    assert bucket_sizes(buckets, largest_lag) == wanted


def test_a_table_is_projected_as_a_linear_map_does(rng):
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(6, HEADS * DIMENSION).double()
    table = torch.asarray(rng.normal(size=(10, 6)))
    wanted = linear(table).unflatten(-1, (HEADS, DIMENSION)).transpose(0, 1).detach().numpy()
    weight, bias = (part.detach().numpy() for part in (linear.weight, linear.bias))
    found = projected(table.numpy(), weight, bias, heads=HEADS)
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("weight", "heads", "sentence"),
    [
        (np.ones((8, 5)), 2, r"table has shape \(10, 6\) and weight \(8, 5\); pass a table \(rows"),
        (np.ones((8, 6)), 3, r"weight has shape \(8, 6\), whose rows 3 heads cannot share evenly"),
        (np.ones((8, 6)), 0, r"heads is 0; pass a whole number from 1 on"),
    ],
)
def test_a_projection_that_does_not_fit_is_refused_in_words(weight, heads, sentence):
    with pytest.raises(EncodingError, match=sentence):
        projected(np.ones((10, 6)), weight, heads=heads)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"buckets": 7}, r"buckets is 7; pass a multiple of 2"),
        ({"buckets": 64, "largest_lag": 33}, r"the first 32 lags have a bucket each; pass a large"),
        ({"largest_lag": 0}, r"largest_lag is 0; pass a whole number from 1 on"),
        (
            {"key_table": np.ones((2, 4, 8))},
            r"key_table has shape .*; pass finite numbers of shape \(2, 1024, 8\)",
        ),
        ({"axes": 3}, r"the encoding 'deberta' has positions on one axis; pass axes=1"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(given, sentence):
    with pytest.raises(EncodingError, match=sentence):
        encoding("deberta", **{"dimension": 8, "heads": 2, **given})
