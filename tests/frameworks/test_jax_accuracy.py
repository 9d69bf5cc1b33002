"""Phases in JAX against arbitrary precision: whole positions, timestamps, learned frequencies."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnomon
from gnomon.jax import layer, split
from gnomon.numeric.learned_limbs import learned_phases
from gnomon.numeric.limbs import Limbs

mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
FAR = [0, 1, 4095, 4096, 65537, 999_999, 10**6, 16_777_217, -(10**6)]
ENDS = [2**31 - 1, -(2**31), 1_700_000_000]
TIMES = [1.7e9, 1.7e9 + 0.25, 1_712_345_678.8125, 1_699_999_999.0625]


def true_tables(positions: list[Any], dimension: int, base: float) -> tuple[Any, Any]:
    """Cosines and sines of i base^(-2k/d), each position taken exactly, rounded once."""
    with mpmath.workdps(60):
        angles = [
            [mpmath.mpf(at) * mpmath.power(base, mpmath.mpf(-2 * k) / dimension) for k in pairs]
            for pairs in [range(dimension // 2)]
            for at in positions
        ]
        cosines = [[float(mpmath.cos(a)) for a in row] for row in angles]
        sines = [[float(mpmath.sin(a)) for a in row] for row in angles]
    return np.array(cosines), np.array(sines)


def farthest(tables: Any, wanted: tuple[Any, Any]) -> float:
    return max(
        float(np.abs(np.asarray(a, np.float64) - b).max())
        for a, b in zip(tables, wanted, strict=True)
    )


@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_tables_without_float64_are_right_at_every_whole_position(base: float) -> None:
    """To 4e-7 up to position 10^6; to 6e-7 at the ends of int32, where float64 frequencies err."""
    made = layer(gnomon.encoding("rope", dimension=32, base=base))
    tables = jax.jit(lambda held, at: held.tables(at))(made, jnp.asarray(FAR))
    assert tables.cosine.dtype == jnp.float32
    assert farthest(tables, true_tables(FAR, 32, base)) < 4e-7
    assert farthest(made.tables(jnp.asarray(ENDS)), true_tables(ENDS, 32, base)) < 6e-7


def test_plain_float32_products_are_wrong_at_those_positions() -> None:
    """Else the test above would show nothing: they err by more than a hundredth of a turn."""
    frequencies = np.asarray(gnomon.encoding("rope", dimension=32).frequencies[:, 0], np.float32)
    angles = np.asarray(FAR, np.float32)[:, None] * frequencies
    wanted = true_tables(FAR, 32, 10000.0)
    assert farthest((np.cos(angles), np.sin(angles)), wanted) > 0.01


def test_timestamps_are_right_when_they_are_split_before_jit() -> None:
    """To 6e-7; as float32 arguments they are up to 64 s from where they were."""
    made = layer(gnomon.encoding("rope", dimension=32))
    compiled = jax.jit(lambda held, at: held.tables(at))
    wanted = true_tables(TIMES, 32, 10000.0)
    assert farthest(compiled(made, split(TIMES)), wanted) < 6e-7
    assert farthest(made.tables(np.array(TIMES)), wanted) < 6e-7
    assert farthest(compiled(made, jnp.asarray(TIMES)), wanted) > 0.1


def test_tables_with_float64_are_right_to_its_precision() -> None:
    """To 2e-9 up to position 10^6, to 1e-6 for timestamps: position times half an ulp."""
    with jax.enable_x64(True):
        made = layer(gnomon.encoding("rope", dimension=32))
        tables = jax.jit(lambda held, at: held.tables(at))(made, jnp.asarray(FAR))
        assert tables.cosine.dtype == jnp.float64
        assert farthest(tables, true_tables(FAR, 32, 10000.0)) < 2e-9
        for times in (jnp.asarray(TIMES), split(TIMES)):
            assert farthest(made.tables(times), true_tables(TIMES, 32, 10000.0)) < 1e-6


def test_sinusoidal_vectors_on_a_grid_are_right_far_out() -> None:
    """To 4e-7: each axis has its own ladder."""
    points = np.array([[999_999, 3], [17, 1_000_000], [524_288, 524_289]])
    vectors = jax.jit(layer(gnomon.encoding("sinusoidal", dimension=16, axes=2)).vectors)(points)
    for axis in range(2):
        cosines, sines = true_tables(points[:, axis].tolist(), 8, 10000.0)
        part = np.asarray(vectors[:, 8 * axis : 8 * axis + 8])
        assert farthest((part[:, 1::2], part[:, 0::2]), (cosines, sines)) < 4e-7


def test_learned_frequencies_are_exact_in_limbs_too(rng: np.random.Generator) -> None:
    """Phases to 3e-7 radians modulo 2 pi, for float32 frequencies of any size and sign."""
    sizes = 10.0 ** rng.uniform(-9, 3.5, 40) * rng.choice([-1, 1], 40)
    frequencies = np.append(sizes, 0.0).astype(np.float32)[:, None]
    whole = np.append(rng.integers(-(2**31), 2**31, 20), ENDS).astype(np.int32)[:, None]
    fraction = rng.random(whole.shape).astype(np.float32)
    at = Limbs(whole=jnp.asarray(whole), fraction=jnp.asarray(fraction))
    made = jax.jit(lambda w: learned_phases(at, w, xp=jnp))(frequencies)
    with mpmath.workdps(50):
        turn = 2 * mpmath.pi
        exact = [
            mpmath.mpf(a) + mpmath.mpf(b)
            for (a,), (b,) in zip(whole.tolist(), fraction.tolist(), strict=True)
        ]
        for row, place in zip(np.asarray(made), exact, strict=True):
            for phase, frequency in zip(row.tolist(), frequencies[:, 0].tolist(), strict=True):
                left = (mpmath.mpf(phase) - place * mpmath.mpf(frequency)) / turn
                assert abs(left - mpmath.nint(left)) * turn < 3e-7


def test_the_slope_of_a_learned_phase_is_the_position(rng: np.random.Generator) -> None:
    """Although the digits it is made of have no slope: d<w, x>/dw = x."""
    frequencies = jnp.asarray(rng.normal(size=(3, 2)), jnp.float32)
    points = np.array([[5.5, -7.25], [100_000.5, 3.0], [-2.0, 0.0]])
    at = split(points, axes=2)
    slopes = jax.jit(jax.jacobian(lambda w: learned_phases(at, w, xp=jnp)))(frequencies)
    for pair in range(3):
        assert np.allclose(slopes[:, pair, pair], points, rtol=1e-6, atol=0)
        assert np.array_equal(np.delete(slopes[:, pair], pair, axis=1), np.zeros((3, 2, 2)))


def test_the_slope_of_a_position_is_the_frequency() -> None:
    made = layer(gnomon.encoding("sinusoidal", dimension=4, base=100.0))
    for at in (3.25, 1000.5):
        slope = jax.jit(jax.jacfwd(made.vectors))(jnp.float32(at))
        wanted = [np.cos(at), -np.sin(at), 0.1 * np.cos(0.1 * at), -0.1 * np.sin(0.1 * at)]
        assert np.allclose(slope, wanted, rtol=0, atol=1e-6)
