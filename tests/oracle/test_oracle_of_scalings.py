"""Frequencies of every scaling at the sizes of real models, against the oracle.

Stated accuracy: the float64 ladders are within 16 units in the last place of the exact ones (most
of it from the power), attention factors within 4.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.frequencies import KNOWN, scaling
from gnomon.encodings.registry import encoding
from gnomon.oracle.definition import number
from gnomon.oracle.rotary import RULES, attention_factor, frequencies

pytest.importorskip("mpmath")
SCALINGS = [
    {"name": "unscaled"},
    {"name": "linear", "factor": 8.0},
    {"name": "ntk", "factor": 4.0},
    {"name": "dynamic", "factor": 2.0, "original_length": 4096, "length": 4096},
    {"name": "dynamic", "factor": 2.5, "original_length": 4096, "length": 131_072},
    {"name": "yarn", "factor": 40.0, "original_length": 4096},
    {"name": "yarn", "factor": 4.0, "original_length": 32_768, "truncate": False},
    {"name": "yarn", "factor": 4.0, "original_length": 1_048_576},  # the ramp ends past all pairs
    {"name": "yarn", "factor": 1.0, "original_length": 2048},
    {"name": "yarn", "factor": 40.0, "original_length": 4096, "mscale": 0.7, "mscale_all_dim": 1.0},
    {"name": "yarn", "factor": 16.0, "original_length": 8192, "beta_fast": 64.0, "beta_slow": 2.0},
    {"name": "yarn", "factor": 4.0, "original_length": 8192, "attention": 1.25},
    {
        "name": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_length": 8192,
    },
]
SIZES = [(64, 10_000.0), (128, 500_000.0), (96, 1_000_000.0)]


def longropes(pairs: int) -> list[dict[str, object]]:
    """LongRoPE before and after its switch, with one factor for each pair."""
    lists = {
        "short_factor": [1.0 + 0.01 * k for k in range(pairs)],
        "long_factor": [1.0 + 0.7 * k for k in range(pairs)],
        "original_length": 4096,
    }
    return [
        {"name": "longrope", **lists},
        {"name": "longrope", **lists, "factor": 32.0, "length": 131_072},
        {"name": "longrope", **lists, "attention": 1.19},
    ]


def within(found: float, exact: object, ulps: int) -> bool:
    """Whether a float is so many units in the last place from an exact number."""
    return abs(number(found) - exact) <= ulps * float(np.spacing(abs(found)))


def test_the_oracle_knows_every_scaling():
    assert set(RULES) == set(KNOWN)


@pytest.mark.parametrize(("dimension", "base"), SIZES, ids=str)
def test_scaled_frequencies_and_factors_are_those_of_the_oracle(dimension, base):
    for given in [*SCALINGS, *longropes(dimension // 2)]:
        value = scaling(**given)
        rope = encoding("rope", dimension=dimension, base=base, scaling=given)
        exact = frequencies(dimension, base, value.parameters)
        for found, wanted in zip(rope.frequencies[:, 0], exact, strict=True):
            assert within(found, wanted, 16), given
        assert within(rope.attention_factor, attention_factor(value.parameters), 4), given
