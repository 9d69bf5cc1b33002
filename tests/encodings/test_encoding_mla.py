"""MLA's decoupled part: content stands still, position turns, and what does not fit is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_content_passes_and_the_rest_turns_as_plain_rotary_encoding(rng):
    q, k = rng.normal(size=(2, 3, 20, 24))
    made = encoding("mla", dimension=24, content_dimension=16).transform(q, k, np.arange(20))
    wanted = encoding("rope", dimension=8).transform(q[..., 16:], k[..., 16:], np.arange(20))
    for mine, turned, x in zip(made, wanted, (q, k), strict=True):
        np.testing.assert_array_equal(mine[..., :16], x[..., :16])
        np.testing.assert_array_equal(mine[..., 16:], turned)


def test_scores_are_content_plus_a_function_of_the_lag(rng):
    q, k = rng.normal(size=(2, 6, 24))
    mla = encoding("mla", dimension=24, content_dimension=16)
    scores = mla.scores(q, k, np.arange(6), np.arange(3, 9))
    alone = encoding("rope", dimension=8).scores(
        q[:, 16:], k[:, 16:], np.arange(6) - 3, np.arange(6)
    )
    np.testing.assert_allclose(scores, q[:, :16] @ k[:, :16].T + alone, atol=1e-13)


def test_yarn_raises_the_softmax_scale_by_the_square_of_its_magnitude():
    """The published numbers of DeepSeek-V2: factor 40, mscale 0.707 for both."""
    yarn = {"name": "yarn", "factor": 40.0, "original_length": 4096}
    yarn |= {"mscale": 0.707, "mscale_all_dim": 0.707}
    mla = encoding("mla", scaling=yarn)
    assert mla.attention_factor == 1.0
    magnitude = 0.0707 * math.log(40.0) + 1.0
    assert mla.softmax_scale == pytest.approx(magnitude**2 / math.sqrt(192.0), rel=1e-15)
    assert encoding("mla").softmax_scale == pytest.approx(1.0 / math.sqrt(192.0), rel=1e-15)


def test_a_scaling_is_on_the_card_and_follows_the_length():
    dynamic = {"name": "dynamic", "factor": 2.0, "original_length": 16}
    mla = encoding("mla", dimension=24, content_dimension=16, scaling=dynamic)
    assert mla.card.name == "mla"
    assert not mla.card.cacheable
    assert "dynamic" in mla.card.formula
    assert (mla.at_length(64).frequencies < mla.at_length(16).frequencies)[1:].all()


def test_one_shared_key_serves_every_head(rng):
    mla = encoding("mla", dimension=6, content_dimension=4)
    content, shared = rng.normal(size=(5, 3, 7, 4)), rng.normal(size=(5, 7, 2))
    joined = mla.joined(content, shared)
    assert joined.shape == (5, 3, 7, 6)
    for head in range(3):
        np.testing.assert_array_equal(joined[:, head, :, 4:], shared)
    np.testing.assert_array_equal(mla.joined(content, shared[:, None]), joined)


def test_parts_of_other_sizes_are_refused(rng):
    mla = encoding("mla", dimension=6, content_dimension=4)
    with pytest.raises(
        EncodingError,
        match=r"content has shape \(3, 7, 5\) and shared \(7, 2\); pass \(\.\.\., heads, n, 4\)",
    ):
        mla.joined(rng.normal(size=(3, 7, 5)), rng.normal(size=(7, 2)))


@pytest.mark.parametrize("content", [7, 8, 12])
def test_a_content_dimension_that_leaves_no_pairs_is_refused(content):
    with pytest.raises(
        EncodingError, match=rf"dimension is 8 and content_dimension {content}; pass a content_dim"
    ):
        encoding("mla", dimension=8, content_dimension=content)


def test_several_axes_are_refused():
    with pytest.raises(EncodingError, match=r"axes is 2; pass 1: this encoding has one axis\."):
        encoding("mla", axes=2)
