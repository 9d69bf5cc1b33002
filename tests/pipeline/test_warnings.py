"""Rows that depend on each other are noticed, whether groups were declared or not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.report.text import survey_text

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
    assert grouped.noise is not None
    low, high = grouped.noise.mean.interval
    assert low < 0.0 < high
    assert not grouped.verdict.informative
    [warning] = [w for w in grouped.noise.warnings if "every row on its own" in w]
    assert "only the former can be trusted" in warning
    assert warning in grouped.verdict.summary
    alone = gnomon.survey(str(copies), **options)
    assert alone.noise is not None
    assert alone.noise.mean.value > 0.05


def test_a_tail_that_drifts_far_more_than_the_head_is_warned_of(copies):
    """The rarest words are what copies share: that is how undeclared copies look."""
    options = {"column": "text", "tokenizer": "words", "dimension": 8, "minimum_count": 1}
    alone = gnomon.survey(str(copies), **options)
    assert alone.noise is not None
    [warning] = [w for w in alone.noise.warnings if "The rarest tokens" in w]
    assert "which is how copies look" in warning
    assert warning in alone.verdict.summary


def test_undeclared_copies_put_a_caution_behind_the_verdict_with_its_remedy(copies):
    """In plain words, after the first sentence of the summary, and once only on the terminal."""
    options = {"column": "text", "tokenizer": "words", "dimension": 8, "minimum_count": 1}
    alone = gnomon.survey(str(copies), **options)
    caution = alone.verdict.caution
    assert caution is not None
    assert "survey again with --group near-copies" in caution
    assert "a column that names their template" in caution
    opening, _, rest = alone.verdict.summary.partition(caution)
    assert re.fullmatch(r"\S.* matters \(p = .*\. ", opening)
    assert caution not in rest
    printed = " ".join(survey_text(alone.to_dict()).split())
    assert printed.index("Verdict: informative. ") < printed.index(f"Caution: {caution}")
    assert printed.count(caution) == 1


def test_declared_groups_leave_nothing_to_be_cautious_of(copies):
    options = {"column": "text", "tokenizer": "words", "dimension": 8, "minimum_count": 1}
    grouped = gnomon.survey(str(copies), group="group", **options)
    assert grouped.verdict.caution is None
    assert "Caution" not in survey_text(grouped.to_dict())
