"""Scalings that other libraries have: rotary-embedding-torch and x-transformers.

All of them divide in float32, so frequencies agree to its rounding.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

ROUNDING = 8 * 2.0**-23


def test_ntk_aware_frequencies_equal_rotary_embedding_torch():
    peer = pytest.importorskip("rotary_embedding_torch")
    for dimension, factor in ((32, 2.0), (64, 8.0), (96, 3.0)):
        theirs = peer.RotaryEmbedding(dim=dimension, theta_rescale_factor=factor).freqs
        ours = encoding("rope-ntk", dimension=dimension, factor=factor).frequencies[:, 0]
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=ROUNDING)


def test_ntk_aware_frequencies_equal_x_transformers():
    peer = pytest.importorskip("x_transformers.x_transformers")
    for dimension, factor in ((32, 2.0), (64, 8.0), (96, 3.0)):
        theirs = peer.RotaryEmbedding(dimension, base_rescale_factor=factor).inv_freq
        ours = encoding("rope-ntk", dimension=dimension, factor=factor).frequencies[:, 0]
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=ROUNDING)


def test_linear_scaling_turns_as_the_interpolation_of_x_transformers():
    torch = pytest.importorskip("torch")
    peer = pytest.importorskip("x_transformers.x_transformers")
    angles, _ = peer.RotaryEmbedding(64, interpolation_factor=4.0).forward(torch.arange(50.0))
    theirs = angles.numpy().reshape(50, 64)[:, 0::2]
    frequencies = encoding("rope-linear", dimension=64, factor=4.0).frequencies[:, 0]
    np.testing.assert_allclose(np.arange(50)[:, None] * frequencies, theirs, rtol=ROUNDING)
