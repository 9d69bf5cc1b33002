"""What linear encodings of the lag are: exp(tX) where maps are square and invertible at lag 0.

Otherwise a compression P exp(tX) Q, and the two smallest examples are no exp(tX) at all.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, logm

import gnomon
from gnomon.groups.generator import Block, Generator


def doubled(x, at):
    """Twice as many coordinates: x -> (x cos t, x sin t)."""
    return np.concatenate([x * np.cos(at)[:, None], x * np.sin(at)[:, None]], axis=1)


def flattened(x, at):
    """(x_1, x_2) -> (x_1 cos t, x_1 sin t): square, and singular everywhere."""
    return np.stack([x[:, 0] * np.cos(at), x[:, 0] * np.sin(at)], axis=1)


def matrix_of(encode, t, s, size):
    eye = np.eye(size)
    return encode(eye, np.full(size, t)) @ encode(eye, np.full(size, s)).T


COUNTEREXAMPLES = {
    "more coordinates": (doubled, 3, np.eye(3)),
    "singular at lag 0": (flattened, 2, np.diag([1.0, 0.0])),
}


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_linear_of_the_lag_alone_and_continuous_is_not_yet_a_group(name):
    encode, size, pattern = COUNTEREXAMPLES[name]
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5, size))
    at = rng.uniform(0.0, 50.0, size=5)
    np.testing.assert_allclose(encode(x + 2.0 * y, at), encode(x, at) + 2.0 * encode(y, at))
    for t, s in rng.uniform(-20.0, 20.0, size=(20, 2)):
        np.testing.assert_allclose(
            matrix_of(encode, t, s, size), np.cos(t - s) * pattern, atol=1e-14
        )
    once, twice = (matrix_of(encode, lag, 0.0, size) for lag in (1.0, 2.0))
    assert np.abs(once @ once - twice).max() > 0.5
    found = gnomon.verify(encode, dimension=size)
    assert found.laws["linearity"].holds
    assert found.laws["shift"].holds
    assert found.laws["continuity"].holds
    assert not found.laws["group"].holds
    assert (found.level, found.rank, found.structure) == ("L1 augmented group", 2, None)


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_a_lag_kernel_of_finitely_many_coordinates_is_a_compression_of_a_group(name):
    encode, size, pattern = COUNTEREXAMPLES[name]
    x = np.kron(np.array([[0.0, -1.0], [1.0, 0.0]]), pattern)
    left = np.concatenate([np.eye(size), np.zeros((size, size))], axis=1)
    right = left.T @ pattern
    for lag in (0.0, 0.7, -3.0, 40.0):
        made = left @ expm(lag * x) @ right
        there, here = max(lag, 0.0), max(-lag, 0.0)
        np.testing.assert_allclose(made, matrix_of(encode, there, here, size), atol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_square_maps_that_are_invertible_at_lag_0_are_a_group_up_to_a_basis(seed):
    """Maps are known as functions only: X is read from one lag and gives all others."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    hidden = rng.normal(size=(size, size)) / size
    mixed, on_keys = rng.normal(size=(2, size, size))
    f = lambda t: expm(t * hidden.T) @ mixed
    g = lambda s: expm(-s * hidden) @ on_keys
    start = f(0.0).T @ g(0.0)
    action = lambda lag: f(lag).T @ g(0.0) @ np.linalg.inv(start)
    x = logm(action(0.1)).real / 0.1
    for t, s in rng.uniform(0.0, 5.0, size=(6, 2)):
        np.testing.assert_allclose(
            f(t).T @ g(s), expm((t - s) * x) @ start, rtol=1e-6, atol=1e-6 * np.abs(start).max()
        )
    np.testing.assert_allclose(action(1.3), action(0.5) @ action(0.8), atol=1e-9)
    similar = np.linalg.solve(mixed.T, x) @ mixed.T  # W_q takes the basis
    np.testing.assert_allclose(similar, hidden, atol=1e-7)


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("frequency", [0.0, 0.8])
def test_a_block_has_a_hump_only_where_it_decays_slowly(order, frequency):
    """The norm starts with the slope a + cos(pi / (m + 1)); the hump is near (m - 1) / |a| late."""
    edge = np.cos(np.pi / (order + 1))

    def norms(decay, times):
        made = Generator([Block(decay=-decay, frequency=frequency, order=order)])
        return np.linalg.norm(made.exp(times), ord=2, axis=(-2, -1))

    for decay in (edge, 1.2 * edge, 3.0 * edge):
        assert norms(decay, np.linspace(1e-3, 20.0 / decay, 2000)).max() <= 1.0
    shares = []
    for decay in (0.9 * edge, 0.4 * edge, 0.02 * edge):
        times = np.linspace(0.0, 2.0 * (order - 1) / decay, 4001)
        seen = norms(decay, times)
        assert seen.max() > 1.0
        shares.append(times[seen.argmax()] * decay / (order - 1))
    assert shares[0] < 0.6
    assert shares[0] < shares[1] < shares[2] + 1e-3
    assert shares[2] == pytest.approx(1.0, abs=0.01)
    grown = Generator([Block(decay=-0.4 * edge, frequency=frequency, order=order)]).growth(100.0)
    assert grown.largest == pytest.approx(norms(0.4 * edge, times * 0.05).max(), rel=0.02)


def real_logits(q, k, frequency):
    """Logits of one pair of coordinates, turned by a frequency."""
    at = np.arange(len(q))
    turn = np.exp(1j * frequency * at)
    left, right = (x[:, 0] + 1j * x[:, 1] for x in (q, k))
    return ((left * turn)[:, None] * (right * turn).conj()[None, :]).real


def test_one_frequency_halves_or_doubles_a_norm_with_one_map_and_changes_any_other_at_will():
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(200):
        q = rng.normal(size=(24, 2)) * rng.uniform(0.0, 1.0, size=2)
        frequency = rng.uniform(0.0, np.pi)
        before, after = (np.linalg.norm(real_logits(q, q, w), 2) for w in (0.0, frequency))
        ratios.append(after / before)
    assert min(ratios) >= 0.5
    assert max(ratios) <= 2.0
    apart = np.zeros((2, 64, 2))
    apart[0, :, 0] = apart[1, :, 1] = 1.0
    assert not real_logits(*apart, 0.0).any()
    assert np.linalg.norm(real_logits(*apart, 0.3), 2) > 10.0
    apart[1, :, 0] = 1e-3
    ratio = np.linalg.norm(real_logits(*apart, 0.3), 2) / np.linalg.norm(
        real_logits(*apart, 0.0), 2
    )
    assert ratio > 400.0


def test_three_equidistant_points_on_a_line_have_no_one_stress_of_least_strain():
    """The eigenvalue is double: 1/6 along a side, 3/2 - 2/sqrt 3 along a height, all between."""
    triangle = np.sqrt(2.0 / 3.0) * np.stack(
        [[np.cos(a), np.sin(a)] for a in 2.0 * np.pi * np.arange(3) / 3.0]
    )
    sides = np.sqrt(2.0) * (1.0 - np.eye(3))
    gram = triangle @ triangle.T
    seen = []
    for angle in np.linspace(0.0, np.pi, 181):
        on_line = triangle @ np.array([[np.cos(angle)], [np.sin(angle)]])
        assert np.linalg.norm(gram - on_line @ on_line.T) == pytest.approx(1.0)  # strain
        seen.append(gnomon.stress(on_line, sides).raw)
    assert min(seen) == pytest.approx(1 / 6)
    assert max(seen) == pytest.approx(1.5 - 2.0 / np.sqrt(3.0))
    ours = gnomon.distances.scale(sides, "classical", dimension=1).vectors
    assert 1 / 6 - 1e-9 <= gnomon.stress(ours, sides).raw <= 0.3454
