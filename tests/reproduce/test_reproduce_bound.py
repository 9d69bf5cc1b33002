"""The least raw stress of any corpus, against direct minimisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from gnomon.reproduce.table3 import least_raw_stress, smallest_distance


def sinusoid(dimension: int, length: int = 32) -> np.ndarray:
    """Distances of the sinusoid, by the vectors themselves."""
    w = 10000.0 ** (-2.0 * np.arange(dimension // 2) / dimension)
    phases = np.outer(np.arange(length), w)
    vectors = np.concatenate([np.sin(phases), np.cos(phases)], axis=1)
    return np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)


def pairs(distances: np.ndarray) -> np.ndarray:
    return distances[np.triu_indices(len(distances), 1)]


def raw(made: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.sum((made - wanted) ** 2) / np.sum(wanted**2))


def test_at_128_dimensions_the_least_stress_is_that_of_one_constant_chord() -> None:
    """All distances exceed sqrt 2: the stress of a constant h, minimised over h, is the bound."""
    made = pairs(sinusoid(128))
    found = minimize_scalar(
        lambda h: raw(made, np.full_like(made, h)), bounds=(1e-3, np.sqrt(2)), method="bounded",
        options={"xatol": 1e-12},
    )  # fmt: skip
    assert made.min() > np.sqrt(2)
    assert least_raw_stress(sinusoid(128)) == pytest.approx(found.fun, rel=1e-6)
    assert least_raw_stress(sinusoid(128)) == pytest.approx(11.32, abs=0.005)
    assert smallest_distance(sinusoid(128)) == pytest.approx(1.953, abs=5e-4)


@pytest.mark.parametrize("dimension", [8, 16, 20, 64])
def test_the_bound_is_what_a_general_minimiser_finds(dimension: int) -> None:
    made = pairs(sinusoid(dimension, 12))
    start = np.minimum(made, 1.0)
    found = minimize(lambda h: raw(made, h), start, bounds=[(1e-3, np.sqrt(2))] * len(made))
    assert least_raw_stress(sinusoid(dimension, 12)) == pytest.approx(found.fun, rel=1e-4)


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 20.0))
def test_no_chords_have_less_stress_than_the_bound(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    points = scale * rng.normal(size=(6, 3))
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    chords = rng.uniform(0.0, np.sqrt(2), size=15)
    assert raw(pairs(distances), chords) >= least_raw_stress(distances) * (1 - 1e-9)


def test_distances_that_chords_can_have_bound_nothing() -> None:
    line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))) / 2
    assert least_raw_stress(line) == 0.0
