"""Rows that depend on each other are noticed, whether groups were declared or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gnomon

GROUPS, COPIES, WORDS = 500, 3, 2500


@pytest.fixture
def copies(tmp_path: Path, rng: np.random.Generator) -> Path:
    """Every document three times, each time with one word changed, and no effect of position."""
    law = 1.0 / np.arange(1, WORDS + 1)
    lines = ["group,text"]
    for group in range(GROUPS):
        words = rng.choice(WORDS, 14, p=law / law.sum())
        for _ in range(COPIES):
            changed = words.copy()
            changed[rng.integers(14)] = rng.integers(WORDS)
            lines.append(f"g{group}," + " ".join(f"w{word}" for word in changed))
    path = tmp_path / "copies.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_copies_of_rows_look_like_signal_and_are_warned_of_where_groups_are_declared(copies):
    """Row by row the mean squared distance is far from its true 0; by groups it is not."""
    options = {"column": "text", "tokenizer": "words", "dimension": 8, "minimum_count": 1}
    grouped = gnomon.survey(str(copies), group="group", **options)
    assert grouped.trust is not None
    low, high = grouped.trust.mean.interval
    assert low < 0.0 < high
    assert not grouped.verdict.informative
    [warning] = [w for w in grouped.trust.warnings if "every row on its own" in w]
    assert "only the former can be trusted" in warning
    assert warning in grouped.verdict.summary
    alone = gnomon.survey(str(copies), **options)
    assert alone.trust is not None
    assert alone.trust.mean.value > 0.05


def test_a_tail_that_drifts_far_more_than_the_head_is_warned_of(copies):
    """The rarest words are what copies share: that is how undeclared copies look."""
    options = {"column": "text", "tokenizer": "words", "dimension": 8, "minimum_count": 1}
    alone = gnomon.survey(str(copies), **options)
    assert alone.trust is not None
    assert any("name the groups with --group" in warning for warning in alone.trust.warnings)
