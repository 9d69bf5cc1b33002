"""Forget gates: constant ones are ALiBi, and sums of long paths keep their digits.

Read and run beside it: naive_forgetting_attn of fla-org/flash-linear-attention at bc3b101, whose
attention equals ours within 2e-5 over 150 tokens; sums are float32 there.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_constant_gates_are_alibi(rng):
    """A gate f for every token is a slope of -ln f for each step."""
    slopes = np.array([0.5, 0.125])
    gate_bias = -np.log(np.expm1(slopes))  # sigmoid(b) = e^-slope
    q, k = rng.normal(size=(2, 2, 7, 4))
    made = encoding("fox", heads=2, dimension=4, gate_weights=np.zeros((2, 4)), gate_bias=gate_bias)
    alibi = encoding("alibi", slopes=(0.5, 0.125))
    found, wanted = (one.scores(q, k, np.arange(7), scale=0.3) for one in (made, alibi))
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


def test_float32_keeps_the_digits_of_long_sums(rng):
    """Sums of 20,000 gates are made in float64: a bias of a few steps does not drown in them."""
    torch = pytest.importorskip("torch")
    m = 20_000
    made = encoding("fox", heads=1, dimension=4, sigma=0.5)
    k = rng.normal(size=(1, m, 4))
    q = np.zeros((1, 1, 4))
    at = np.arange(m)
    wide = made.scores(q, k, at[-1:], at)[0, 0]
    narrow = made.scores(*(torch.tensor(x, dtype=torch.float32) for x in (q, k)), at[-1:], at)
    error = np.abs(narrow[0, 0].numpy() - wide)
    assert wide[0] < -10_000
    assert (error <= 1e-6 * np.abs(wide) + 1e-6).all()


def test_bad_gates_are_refused_with_their_names():
    with pytest.raises(EncodingError, match=r"gate_weights has shape \(2, 3\); .* shape \(2, 4\)"):
        encoding("fox", heads=2, dimension=4, gate_weights=np.zeros((2, 3)))
    with pytest.raises(EncodingError, match=r"gate_bias holds .* at .*; pass finite numbers"):
        encoding("fox", heads=2, dimension=4, gate_bias=[0.0, np.nan])
    with pytest.raises(EncodingError, match="token_width is 0; pass a whole number from 1 on"):
        encoding("fox", heads=2, dimension=4, token_width=0)


def test_content_of_another_shape_is_refused(rng):
    made = encoding("fox", heads=2, dimension=4, token_width=6)
    q = rng.normal(size=(2, 5, 4))
    with pytest.raises(EncodingError, match="numbers for 2 heads; pass arrays of shape"):
        made.scores(q[:1], q[:1], np.arange(5), tokens=np.zeros((1, 5, 6)))
    with pytest.raises(EncodingError, match=r"reads 6 numbers of each; pass tokens of shape"):
        made.scores(q, q, np.arange(5))
