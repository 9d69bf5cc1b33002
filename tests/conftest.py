"""Fixtures shared by all rooms."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# An example takes as long as the machine lets it: time is no law.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("sinusoidal", "learned", "rope", "rope-mixed", "xpos", "alibi", "t5", "fox")
"""One encoding for each way to be computed: a formula of vectors or a table, rotations fixed or of
heads and axes, decays, biases fixed or learned, a rule on content."""


@pytest.hookimpl(tryfirst=True)  # before marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compile one encoding of each kind by default: a compiler takes seconds for each case.

    `@pytest.mark.compiles` says that every case does, `compiles(library="jax")` that those do of
    which the parameter begins so. The cases of other encodings than KINDS, or than those that the
    mark names, are then wide.
    """
    for item in items:
        mark = item.get_closest_marker("compiles")
        if mark is None:
            continue
        given = item.callspec.params
        slow = all(str(given[key]).startswith(word) for key, word in mark.kwargs.items())
        if slow and _name_in(given) not in (mark.args or KINDS):
            item.add_marker(pytest.mark.wide)


def _name_in(given: dict[str, Any]) -> str:
    """The encoding that a case is about: `name`, or the first of the pair `subject` or `case`."""
    return given["name"] if "name" in given else given.get("subject", given.get("case"))[0]


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
