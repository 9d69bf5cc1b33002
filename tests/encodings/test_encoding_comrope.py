"""ComRoPE: torch.matrix_exp of the authors' formula, and that both variants commute.

The formula is that of Longin-Yu/ComRoPE at 7aeef08, model.py: P - P^T times a factor for every axis
and block (linearly dependent), or times a mask j = a modulo axes (axis partition).
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")


def exponents(made):
    """Angle matrices (heads, axes, blocks, b, b) as the authors make them."""
    p = torch.asarray(np.array(made.generators))[:, None]
    skew = p - p.transpose(-1, -2)
    if made.variant == "axis-partition":
        mask = torch.zeros(made.axes, made.blocks, dtype=torch.float64)
        for axis in range(made.axes):
            mask[axis, axis :: made.axes] = 1.0
        return skew * mask[None, :, :, None, None]
    return skew * torch.asarray(np.array(made.slopes))[None, :, :, None, None]


@pytest.mark.parametrize("variant", ["axis-partition", "linearly-dependent"])
@pytest.mark.parametrize("block", [2, 3, 4])
def test_vectors_are_those_of_the_matrix_exponential_of_torch(variant, block, rng):
    made = encoding("comrope", dimension=24, block=block, axes=2, heads=2, variant=variant, seed=1)
    at = rng.random(size=(5, 2))
    q, k = rng.normal(size=(2, 2, 5, 24))
    a = exponents(made)  # (heads, axes, blocks, b, b)
    summed = (torch.asarray(at)[:, None, :, None, None, None] * a).sum(dim=2)
    turns = torch.matrix_exp(summed).transpose(0, 1)  # (heads, n, blocks, b, b)
    for found, x in zip(made.transform(q, k, at), (q, k), strict=True):
        split = torch.asarray(x).reshape(2, 5, -1, block, 1)
        np.testing.assert_allclose(found, (turns @ split).flatten(-3), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("variant", ["axis-partition", "linearly-dependent"])
def test_generators_of_axes_commute(variant):
    made = encoding("comrope", dimension=12, block=3, axes=2, heads=2, variant=variant)
    first, second = (exponents(made)[:, axis] for axis in range(2))
    torch.testing.assert_close(first @ second, second @ first, rtol=1e-12, atol=1e-12)
    assert float((first @ first).abs().max()) > 0


def test_an_axis_partition_learns_matrices_alone():
    made = encoding("comrope", dimension=8, block=2, axes=2, variant="axis-partition")
    assert made.learnable == ("generators",)
    np.testing.assert_array_equal(made.slopes, [[1, 0, 1, 0], [0, 1, 0, 1]])


def test_what_can_not_be_dealt_is_refused_in_words():
    with pytest.raises(
        EncodingError, match=r"A head has 3 blocks and positions 2 axes, and an axis p"
    ):
        encoding("comrope", dimension=12, block=4, axes=2, variant="axis-partition")
    with pytest.raises(
        EncodingError, match=r"slopes are given, and under an axis partition they are"
    ):
        encoding("comrope", dimension=8, block=4, variant="axis-partition", slopes=[[2.0, 3.0]])
    with pytest.raises(
        EncodingError, match=r"variant is 'ap'; pass one of: axis-partition, linearly"
    ):
        encoding("comrope", dimension=8, variant="ap")
