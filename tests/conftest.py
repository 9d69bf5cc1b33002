"""Fixtures shared by all rooms."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Folder of the real corpora; tests that need it skip where it is not there."""
    root = Path(os.environ.get("GNOMON_DATA", ROOT.parent / "shared" / "data"))
    if not root.is_dir():
        pytest.skip("real corpora are not here: set GNOMON_DATA to their folder")
    return root


@pytest.fixture
def rng() -> np.random.Generator:
    """A fixed stream, so that a failure can be repeated."""
    return np.random.default_rng(20260406)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's token cache out of the tests."""
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _jax_as_it_comes() -> None:
    """Undo what scikit-bio does where it is imported: it switches JAX to float64 for everybody."""
    jax = sys.modules.get("jax")
    if jax is not None and jax.config.jax_enable_x64:
        jax.config.update("jax_enable_x64", False)
