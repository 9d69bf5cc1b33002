"""Polar coordinates: complex numbers, and distances by lag."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_logits_are_real_parts_of_products_of_polar_numbers(rng):
    """Magnitudes softplus(x), angles from positions alone, keys shifted [gopalakrishnan2025]."""
    shifts = rng.uniform(-2 * np.pi, 0.0, size=(2, 6))
    made = encoding("pope", dimension=6, heads=2, base=100.0, shifts=shifts)
    q, k = rng.normal(size=(2, 2, 5, 6))
    at = np.array([0.0, 3.0, 4.5, 11.0, 1000.0])
    w = 100.0 ** (-np.arange(6) / 6)
    left = np.logaddexp(0, q) * np.exp(1j * at[:, None] * w)
    right = np.logaddexp(0, k) * np.exp(1j * (at[:, None] * w + shifts[:, None, :]))
    wanted = np.einsum("hic,hjc->hij", left.conj(), right).real
    np.testing.assert_allclose(made.scores(q, k, at), wanted, rtol=1e-12, atol=1e-12)
    turned, _ = made.transform(q, k, at)
    assert turned.shape == (2, 5, 12)


@pytest.mark.parametrize("kind", ["kernel", "probe"])
def test_distances_are_those_of_the_vectors_themselves(kind, rng):
    made = encoding("pope", dimension=6, heads=1)
    probe = rng.normal(size=6)
    at = np.arange(9)
    # softplus(x) = 1 at ln(e - 1): the content of magnitude 1 that the kernel lift speaks of
    content = probe if kind == "probe" else np.full(6, np.log(np.expm1(1.0)))
    vectors, _ = made.transform(*[np.broadcast_to(content, (9, 6))] * 2, at)
    wanted = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    found = lift(made, at, lift=kind, probe=probe if kind == "probe" else None)
    np.testing.assert_allclose(found.distances, wanted, rtol=1e-10, atol=1e-10)


def test_vectors_of_other_heads_are_refused(rng):
    made = encoding("pope", dimension=6, heads=2)
    with pytest.raises(EncodingError, match="has numbers for 2 heads; pass arrays"):
        made.transform(*rng.normal(size=(2, 3, 5, 6)), np.arange(5))
    with pytest.raises(EncodingError, match="start is 'one'; pass one of: zero, uniform"):
        encoding("pope", dimension=6, heads=2, start="one")
