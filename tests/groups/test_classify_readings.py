"""What is zero comes with the distance; slow turns of noise are named as two readings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from gnomon.groups.classification import classify
from gnomon.groups.generator import Block


def mixed(seed, condition, *blocks):
    """Blocks in a random basis of a condition number."""
    rng = np.random.default_rng(seed)
    x = block_diag(*[one.matrix() for one in blocks])
    left, right = (np.linalg.qr(rng.normal(size=x.shape))[0] for _ in range(2))
    basis = left @ np.diag(np.geomspace(1.0, 1.0 / condition, len(x))) @ right
    return basis @ x @ np.linalg.inv(basis)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_slow_decay_that_is_read_as_zero_is_spoken_of(seed, share):
    rate = 1e-3
    slow = Block(decay=-share * rate, frequency=rate, order=4)
    found = classify(mixed(seed, 300.0, slow, Block(frequency=0.4)))
    read = [one for one in found.structure if one.order == 4]
    if read and read[0].decay == 0.0:
        assert any("within the tolerance of zero" in said for said in found.warnings)
    elif read:
        assert abs(read[0].decay + share * rate) < 0.1 * rate


@pytest.mark.parametrize("seed", range(6))
def test_two_equal_decays_with_noise_are_not_silently_a_turn(seed):
    rng = np.random.default_rng(seed)
    x = mixed(seed, 3.0, Block(decay=-0.28), Block(decay=-0.28), Block(decay=-0.02))
    noise = rng.normal(size=x.shape)
    found = classify(x + 1e-6 * np.linalg.norm(x, 2) * noise / np.linalg.norm(noise, 2))
    turning = [one for one in found.structure if one.frequency]
    assert bool(turning) == any("two equal decays" in said for said in found.warnings)


@pytest.mark.parametrize("seed", range(4))
def test_a_damped_turn_that_is_no_noise_is_not_doubted(seed):
    x = mixed(seed, 3.0, Block(decay=-0.28, frequency=0.01), Block(decay=-0.02))
    assert not any("two equal decays" in said for said in classify(x).warnings)


@pytest.mark.parametrize("seed", range(12))
def test_noise_never_blames_the_input_for_a_frequency_of_rounding(seed):
    rng = np.random.default_rng(seed)
    rate = 10 ** rng.uniform(-4.0, -1.0)
    blocks = [Block(decay=-0.1 * rate, frequency=rate, order=int(rng.integers(2, 5)))]
    blocks.append(Block(decay=-0.2, order=int(rng.integers(1, 4))))
    x = mixed(seed, 1e3, *blocks)
    noise = rng.normal(size=x.shape)
    found = classify(x + 1e-6 * np.linalg.norm(x, 2) * noise / np.linalg.norm(noise, 2))
    assert found.dimension == len(x)
