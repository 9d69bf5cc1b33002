"""Rotary encoding of Equinox: equal where it has the right table, and the table it mixes up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon

equinox = pytest.importorskip("equinox", reason="equinox is not installed")
jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def _fresh_tables() -> Any:
    """Leave no table of Equinox behind for other tests, nor take one of theirs."""
    equinox.clear_caches()
    yield
    equinox.clear_caches()


def ours(theta: float, x: Any) -> Any:
    encoding = gnomon.encoding("rope", dimension=x.shape[-1], base=theta, layout="half")
    from gnomon.jax import layer

    return layer(encoding).transform(x, x, jnp.arange(x.shape[0]))[0]


@pytest.mark.parametrize("theta", [10000.0, 500000.0])
@pytest.mark.parametrize("dimension", [8, 64])
def test_equinox_turns_as_layout_half_does(
    rng: np.random.Generator, dimension: int, theta: float
) -> None:
    """To 2e-5 over 100 positions: its phases are float32 products, off by up to 4e-6 radians."""
    x = jnp.asarray(rng.normal(size=(100, dimension)), jnp.float32)
    theirs = equinox.nn.RotaryPositionalEmbedding(dimension, theta=theta)(x)
    assert np.allclose(ours(theta, x), theirs, rtol=0, atol=2e-5)


def test_equinox_gives_a_second_layer_the_table_of_the_first(rng: np.random.Generator) -> None:
    """Its tables are kept by (size, dtype), without theta: the layer that comes second is wrong.

    A model with local and global layers, as Gemma has, uses two thetas. Seen in 0.13.8; when this
    fails, Equinox has mended it.
    """
    x = jnp.asarray(rng.normal(size=(50, 8)), jnp.float32)
    first = equinox.nn.RotaryPositionalEmbedding(8, theta=10000.0)(x)
    second = equinox.nn.RotaryPositionalEmbedding(8, theta=100.0)(x)
    assert np.array_equal(first, second)
    assert np.abs(np.asarray(ours(100.0, x)) - second).max() > 1.0
    equinox.clear_caches()
    alone = equinox.nn.RotaryPositionalEmbedding(8, theta=100.0)(x)
    assert np.allclose(ours(100.0, x), alone, rtol=0, atol=2e-5)


def test_two_layers_of_ours_keep_their_own_bases(rng: np.random.Generator) -> None:
    x = jnp.asarray(rng.normal(size=(50, 8)), jnp.float32)
    together = [ours(theta, x) for theta in (10000.0, 100.0, 10000.0)]
    assert np.array_equal(together[0], together[2])
    assert np.abs(together[0] - together[1]).max() > 1.0
