"""GRAPE, multiplicative: the rank-2 closed form, rotary encoding as a case, and its cost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from gnomon.encodings.generators.skew import orthonormal
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_one_plane_is_the_exponential_of_its_rank_two_generator(rng):
    """Of any two vectors a, b: L / s = (a b^T - b a^T) / s, s^2 = |a|^2 |b|^2 - (a.b)^2."""
    a, b = rng.normal(size=(2, 7 + 1))
    made = encoding("grape", dimension=8, planes=1, directions=[[a, b]], frequencies=[[0.3]])
    size = np.sqrt((a @ a) * (b @ b) - (a @ b) ** 2)
    x = 0.3 * (np.outer(a, b) - np.outer(b, a)) / size
    q, k = rng.normal(size=(2, 5, 8))
    at = np.array([0.0, 1.0, 2.5, 100.0, -7.0])
    left, right = made.transform(q, k, at)
    for i, t in enumerate(at):
        np.testing.assert_allclose(left[i], expm(t * x) @ q[i], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(right[i], expm(t * x) @ k[i], rtol=1e-11, atol=1e-12)


def test_the_closed_form_of_the_paper_holds_for_the_generator_itself(rng):
    """exp(nL) = I + sin(ns)/s L + (1 - cos ns)/s^2 L^2, when the frequency is s."""
    a, b = rng.normal(size=(2, 6))
    s = np.sqrt((a @ a) * (b @ b) - (a @ b) ** 2)
    rank_two = np.outer(a, b) - np.outer(b, a)
    made = encoding("grape", dimension=6, planes=1, directions=[[a, b]], frequencies=[[s]])
    n = 3.0
    closed = (
        np.eye(6) + np.sin(n * s) / s * rank_two + (1 - np.cos(n * s)) / s**2 * rank_two @ rank_two
    )
    turned, _ = made.transform(np.eye(6), np.eye(6), np.full(6, n))
    np.testing.assert_allclose(turned.T, closed, rtol=1e-11, atol=1e-12)


def test_several_planes_commute_and_are_the_exponential_of_their_sum(rng):
    made = encoding("grape", dimension=8, planes=3, directions=rng.normal(size=(3, 2, 8)))
    basis, _ = np.linalg.qr(made.directions.reshape(6, 8).T)
    x = np.zeros((8, 8))
    for plane, w in enumerate(made.frequencies[:, 0]):
        u, v = basis[:, 2 * plane], basis[:, 2 * plane + 1]
        # QR may flip the sign of a vector; that of u v^T is told by what they came from.
        sign = np.sign(u @ made.directions[plane, 0]) * np.sign(v @ made.directions[plane, 1])
        x += sign * w * (np.outer(u, v) - np.outer(v, u))
    turned, _ = made.transform(np.eye(8), np.eye(8), np.full(8, 11.0))
    np.testing.assert_allclose(turned.T, expm(11.0 * x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_planes_of_coordinates_are_rotary_encoding(layout, rng):
    q, k = rng.normal(size=(2, 2, 6, 8))
    at = rng.integers(0, 10_000, size=6)
    made, rope = (encoding(name, dimension=8, layout=layout) for name in ("grape", "rope"))
    for found, wanted in zip(made.transform(q, k, at), rope.transform(q, k, at), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_gradients_reach_planes_of_coordinates():
    """Where they start nothing is stationary by accident: a plane that helps is found."""
    torch = pytest.importorskip("torch")
    from gnomon.torch import layer

    module = layer(encoding("grape", dimension=8, planes=2), dtype=torch.float64)
    q = torch.randn(5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turned, _ = module(q, q, torch.arange(5))
    turned.pow(3).sum().backward()
    assert all(p.grad.abs().max() > 0 and p.grad.isfinite().all() for p in module.parameters())


def test_planes_that_are_none_are_refused_in_words():
    with pytest.raises(EncodingError, match=r"planes is 5, and a head of dimension 8 has 4 planes"):
        encoding("grape", dimension=8, planes=5)
    parallel = [[[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]]]
    with pytest.raises(
        EncodingError, match=r"The 2 directions of a head are dependent to .*; pass v"
    ):
        encoding("grape", dimension=4, planes=1, directions=parallel)


def test_one_plane_costs_in_proportion_to_the_dimension():
    """Numbers that are made on the way, counted: 4 times as many at 4 times the dimension."""
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode

    from gnomon.torch import layer

    class Made(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.count, self.largest = 0, 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            for x in out if isinstance(out, (tuple, list)) else (out,):
                if isinstance(x, torch.Tensor):
                    self.count += x.numel()
                    self.largest = max(self.largest, x.numel())
            return out

    found = {}
    for dimension in (64, 256, 1024):
        module = layer(encoding("grape", dimension=dimension, planes=1), learn=False)
        q = torch.ones(1, 3, dimension)
        with Made() as made:
            module(q, q, torch.arange(3))
        found[dimension] = made.count
        assert made.largest <= 16 * dimension  # no matrix of all pairs of coordinates
    assert found[1024] - found[256] == pytest.approx(4 * (found[256] - found[64]), rel=0.05)


def test_directions_that_nearly_meet_are_made_orthonormal_all_the_same(rng):
    """One pass of subtractions would leave a product of 1e-16 / 1e-5 between the two."""
    first = rng.normal(size=8)
    nearly = np.stack([first, first + 1e-5 * rng.normal(size=8), *rng.normal(size=(2, 8))])
    made = orthonormal(nearly, xp=np)
    np.testing.assert_allclose(made @ made.T, np.eye(4), rtol=0, atol=2e-15)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_fewer_planes_start_as_the_first_pairs_of_rotary_encoding(layout, rng):
    q = rng.normal(size=(5, 8))
    turned, _ = encoding("grape", dimension=8, planes=1, layout=layout).transform(q, q, range(5))
    whole, _ = encoding("rope", dimension=8, layout=layout).transform(q, q, range(5))
    pair = [0, 1] if layout == "interleaved" else [0, 4]
    rest = [c for c in range(8) if c not in pair]
    np.testing.assert_allclose(turned[:, pair], whole[:, pair], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(turned[:, rest], q[:, rest], rtol=1e-13, atol=1e-13)
