"""Transformer-XL's logits against sinusoids of all pairs, and against the published shift."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

HEADS, DIMENSION, MODEL = 2, 8, 12


@pytest.fixture
def learned(rng):
    each = (HEADS, DIMENSION)
    return {
        "content_bias": rng.normal(size=each),
        "position_bias": rng.normal(size=each),
        "projection": rng.normal(size=(*each, MODEL)),
    }


def sinusoid(lags):
    """Sines, then cosines, of lags of any shape."""
    phases = lags[..., None] / 10000.0 ** (np.arange(0, MODEL, 2) / MODEL)
    return np.concatenate([np.sin(phases), np.cos(phases)], axis=-1)


def with_vectors_of_pairs(q, k, lags, learned):
    """The four terms of the paper, with a vector for every pair."""
    keys_of_lags = np.einsum("hde,ije->hijd", learned["projection"], sinusoid(lags))
    content = np.einsum("hid,hjd->hij", q, k)
    content += np.einsum("hid,hijd->hij", q, keys_of_lags)
    content += np.einsum("hd,hjd->hj", learned["content_bias"], k)[:, None, :]
    return content + np.einsum("hd,hijd->hij", learned["position_bias"], keys_of_lags)


def made(learned):
    return encoding(
        "transformer-xl", dimension=DIMENSION, heads=HEADS, model_dimension=MODEL, **learned
    )


def test_logits_are_the_four_terms_of_the_paper_at_any_real_positions(learned, rng):
    q, k = rng.normal(size=(2, HEADS, 7, DIMENSION))
    at_q, at_k = rng.uniform(0, 500, size=(2, 7))
    wanted = with_vectors_of_pairs(q, k, at_q[:, None] - at_k, learned)
    found = made(learned).scores(q, k, at_q, at_k, scale=0.5)
    np.testing.assert_allclose(found, 0.5 * wanted, rtol=1e-11, atol=1e-11)


def test_the_published_shift_of_a_table_of_lags_gives_the_same(learned, rng):
    """Products with the sinusoids of n, ..., -n, then a shift of every row by one more."""
    n = 6
    q, k = rng.normal(size=(2, HEADS, n, DIMENSION))
    table = np.einsum("hde,le->hld", learned["projection"], sinusoid(np.arange(n, -n, -1.0)))
    by_lag = (q + learned["position_bias"][:, None]) @ np.swapaxes(table, -1, -2)
    flat = by_lag.reshape(HEADS, 2 * n, n)[:, 1:].reshape(HEADS, n, 2 * n - 1)
    wanted = (q + learned["content_bias"][:, None]) @ np.swapaxes(k, -1, -2) + flat[:, :, :n]
    found = made(learned).scores(q, k, np.arange(n))
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


def test_no_pair_has_a_vector_of_its_own(rng):
    """Vectors for all pairs would take 128 MiB a head; the logits of all heads take 8."""
    held = encoding("transformer-xl", dimension=16, heads=4)
    q, k = rng.normal(size=(2, 4, 512, 16))
    held.scores(q[:, :2], k[:, :2], np.arange(2))
    tracemalloc.start()
    held.scores(q, k, np.arange(512))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"model_dimension": 7},
            r"model_dimension is 7; pass a multiple of 2, a sine and a cosine",
        ),
        (
            {"projection": np.ones((2, 8))},
            r"projection has shape \(2, 8\); pass .* \(2, 8, 16\)",
        ),
        (
            {"content_bias": np.ones(8)},
            r"content_bias has shape \(8,\); pass finite numbers of shape \(2,",
        ),
        ({"base": 0.0}, r"base is 0\.0; pass a finite number above 0"),
        ({"heads": 0}, r"heads is 0; pass a whole number from 1 on"),
        ({"axes": 2}, r"the encoding 'transformer-xl' has positions on one axis; pass axes=1"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(given, sentence):
    with pytest.raises(EncodingError, match=sentence):
        encoding("transformer-xl", **{"dimension": 8, "heads": 2, **given})


def test_queries_without_an_axis_of_heads_are_refused_in_words(learned):
    q = np.ones((4, DIMENSION))
    with pytest.raises(EncodingError, match=r"q has shape \(4, 8\), .* for 2 heads; pass an array"):
        made(learned).scores(q, q, np.arange(4))
