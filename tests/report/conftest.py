"""Surveys that the figures are drawn from, made once: counts drawn from known laws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon
from gnomon.pipeline.surveys import Survey

FOLDS = 16
HOSTILE = "<script>alert(1)</script>"


def folded(laws: np.ndarray, tokens: list[int], seed: int = 5) -> np.ndarray:
    """Fold x position x token: independent tokens from the law of every position."""
    rng = np.random.default_rng(seed)
    rows = list(zip(tokens, laws, strict=True))
    return np.array([[rng.multinomial(n // FOLDS, p) for n, p in rows] for _ in range(FOLDS)])


def _laws(positions: int, types: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(types), positions)


def _given(array: np.ndarray, **options) -> Survey:
    counts = gnomon.PositionCounts.from_array(array, source=HOSTILE, **options)
    return gnomon.survey(counts, dimension=16)


def _with_usual(laws: np.ndarray, last: int) -> np.ndarray:
    """Return laws of which the last few are the mean of the others, so that none is far off."""
    usual = laws[:-last].mean(axis=0)
    return np.concatenate([laws[:-last], np.tile(usual, (last, 1))])


def _line() -> np.ndarray:
    """Two types, the first ever rarer: one direction."""
    share = np.linspace(0.9, 0.1, 12)
    return np.stack([share, 1.0 - share], axis=1)


CASES: dict[str, Callable[[], Survey]] = {
    "seven": lambda: _given(folded(_laws(7, 6), [8000] * 7)),
    "flat": lambda: _given(np.full((5, 4), 10)),
    "two": lambda: _given(folded(_laws(2, 6), [8000] * 2)),
    "noise": lambda: _given(folded(np.full((12, 6), 1 / 6), [4000] * 12)),
    "untrusted": lambda: _given(np.array([[9, 1], [1, 9], [5, 5]]), minimum_count=1),
    "masked": lambda: _given(folded(_laws(20, 6), [8000] * 3 + [0] * 17)),
    "projected": lambda: _given(folded(_with_usual(_laws(12, 50), 3), [16000] * 9 + [96] * 3)),
    "one direction": lambda: _given(folded(_line(), [8000] * 12)),
    "regimes": lambda: _given(folded(_laws(3, 6).repeat(4, axis=0), [8000] * 12)),
    "grid": lambda: _given(folded(_laws(12, 6), [8000] * 12), axes=(3, 4)),
    "solid": lambda: _given(folded(_laws(18, 6), [8000] * 18), axes=(2, 3, 3)),
    "bins": lambda: gnomon.survey(
        gnomon.PositionCounts.from_array(folded(_laws(20, 6), [8000] * 20)).binned(3), dimension=16
    ),
}


@pytest.fixture(scope="session")
def surveyed() -> Callable[[str], Survey]:
    """Return the survey of a case by its name, made when it is first asked for."""
    made: dict[str, Survey] = {}

    def get(name: str) -> Survey:
        if name not in made:
            made[name] = CASES[name]()
        return made[name]

    return get
