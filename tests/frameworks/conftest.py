"""Fitted encodings that the frameworks load: small ones with a known truth, one of a corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

import gnomon
from gnomon.encodings.fitted import Fitted


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """These arrays are small: threads only wait for each other."""
    torch.set_num_threads(1)


def planted(rows: int = 12, *, axes: tuple[int, ...] | None = None, rank: int = 3) -> Fitted:
    """An encoding of `rows` points in three dimensions, carried into eight by a rotation."""
    points = np.random.default_rng(7).normal(size=(rows, 3))
    fitted = gnomon.fit(cdist(points, points), dimension=8, rank=rank, rotation=3)
    return fitted if axes is None else replace(fitted, shape=axes, axes=len(axes))


@pytest.fixture
def fitted() -> Fitted:
    """Twelve positions, rank 3 in dimension 8, stored factored."""
    return planted()


@pytest.fixture
def dense(fitted: Fitted) -> Fitted:
    """The same as a whole table."""
    return replace(fitted, factored=False)


@pytest.fixture
def grid() -> Fitted:
    """A grid of 3 x 4 positions."""
    return planted(axes=(3, 4))


@pytest.fixture
def holed(fitted: Fitted) -> Fitted:
    """Positions 4 and 9 were masked and are refused."""
    left, status = fitted.left.copy(), np.full(12, 2, np.uint8)
    left[[4, 9]], status[[4, 9]] = np.nan, 0
    return replace(fitted, left=left, status=status, masked_rule="refuse")


@pytest.fixture
def learned(fitted: Fitted) -> Fitted:
    """Its scale is left to training, from 1.5 on."""
    return replace(fitted, scale="learned", gain=1.5)


@pytest.fixture(scope="session")
def built_in() -> Fitted:
    """Fitted on a corpus that comes with the package."""
    counts = gnomon.count("three-regimes", cache=False)
    return gnomon.fit(counts, dimension=64)


@pytest.fixture(scope="session")
def promoters(data_root: Path) -> Fitted:
    """Fitted on human promoters."""
    file = data_root / "promoters" / "hs_pos_TATA.txt"
    counts = gnomon.count(str(file), tokenizer="dna", length=300, cache=False)
    return gnomon.fit(counts, dimension=64)


def ulps(found: Any, wanted: Any) -> float:
    """The largest difference of two float32 arrays, in units in the last place of `wanted`."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype == np.float32
    assert found.shape == wanted.shape
    return float((np.abs(found.astype(np.float64) - wanted) / np.spacing(np.abs(wanted))).max())


@pytest.fixture(name="ulps")
def _ulps() -> Any:
    return ulps
