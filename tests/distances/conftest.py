"""Counts to measure, and a switch between the compiled and the NumPy route."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(params=["compiled", "numpy"])
def route(request, monkeypatch):
    """Run the test once on each route."""
    monkeypatch.setenv("GNOMON_NUMBA", "1" if request.param == "compiled" else "0")
    return request.param


@pytest.fixture
def zipf_counts(rng):
    """70 positions x 900 tokens, about as uneven as text; some tokens never occur."""
    shares = 1.0 / np.arange(1, 901)
    return rng.multinomial(600, shares / shares.sum(), size=70)
