"""How close two rotary implementations must be when one of them has its phases in float32.

A phase p w in float32 errs by the rounding of w, a few ulp, and of the product: by at most
8 * 2^-24 of itself, and the turned vector by that times its length, and some roundings of its own.
"""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def assert_turned_alike():
    """Return a check of vectors turned by us against a peer's, by their largest phases."""

    def check(made, wanted, before, largest_phase):
        made, wanted, before = (np.asarray(x, dtype=np.float64) for x in (made, wanted, before))
        assert made.shape == wanted.shape
        lengths = np.linalg.norm(before, axis=-1)
        bound = lengths * 2.0**-24 * (8.0 * np.abs(largest_phase) + 8.0)
        differences = np.abs(made - wanted).max(axis=-1)
        worst = np.unravel_index(np.argmax(differences - bound), differences.shape)
        assert (differences <= bound).all(), (
            f"at {worst}: {differences[worst]:.3g} apart, {bound[worst]:.3g} allowed"
        )

    return check
