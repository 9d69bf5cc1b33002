"""What a survey says of documents that are copies of templates, and of those that are not."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.report.text import survey_text

TYPES = 300
LAW = 1.0 / np.arange(1, TYPES + 1)
LAW /= LAW.sum()


def copies(rng, forms: int, documents: int, size: int, changed: int) -> list[list[int]]:
    """Documents without order, and copies of them with tokens changed."""
    originals = rng.choice(TYPES, (forms, size), p=LAW)
    rows = originals[rng.integers(forms, size=documents)]
    for _ in range(changed):
        rows[np.arange(documents), rng.integers(size, size=documents)] = rng.integers(
            TYPES, size=documents
        )
    return rows.tolist()


@pytest.mark.parametrize(
    ("forms", "size", "changed"), [(60, 24, 1), (200, 24, 1), (60, 40, 3), (40, 24, 8)]
)
def test_near_copies_of_documents_without_order_raise_a_caution(forms, size, changed, rng):
    """Counted as independent they look like strong order in many directions."""
    rows = copies(rng, forms, 900, size, changed)
    found = gnomon.survey(rows, dimension=16, cache=False)
    assert "near-copies of another" in found.verdict.caution
    assert "--group near-copies" in found.verdict.caution
    assert found.summary.startswith("Token order matters (p = ")
    assert found.summary.count(found.verdict.caution) == 1
    assert "Caution: " in survey_text(found.to_dict())
    grouped = gnomon.survey(rows, dimension=16, cache=False, group="near-copies")
    assert grouped.verdict.informative is not True
    assert grouped.verdict.caution is None


def test_documents_of_their_own_raise_none(rng):
    rows = rng.choice(TYPES, (900, 24), p=LAW)
    found = gnomon.survey(rows.tolist(), dimension=16, cache=False)
    assert found.verdict.caution is None
    assert found.counts.near_copies.copies == 0


def test_one_form_with_open_slots_is_order_and_no_copy(rng):
    """Each document is drawn from the same law at every place: nothing is counted twice."""
    form = rng.choice(TYPES, 24, p=LAW)
    rows = np.where(rng.random((900, 24)) < 0.3, rng.choice(TYPES, (900, 24), p=LAW), form)
    found = gnomon.survey(rows.tolist(), dimension=16, cache=False)
    assert found.verdict.caution is None
    assert found.verdict.informative is True


def test_a_few_copies_among_many_documents_are_named_only_where_they_matter(rng):
    """One pair in nine hundred documents is no reason to doubt."""
    rows = rng.choice(TYPES, (900, 24), p=LAW)
    rows[1] = rows[0]
    rows[1, 5] = (rows[0, 5] + 1) % TYPES
    found = gnomon.survey(rows.tolist(), dimension=16, cache=False)
    assert found.counts.near_copies.copies == 2
    assert found.verdict.caution is None


def test_grouping_as_advised_loses_nothing_where_documents_only_share_a_text(rng):
    """A tenth begins with the same twelve tokens: that is order, grouped or not."""
    rows = rng.choice(TYPES, (900, 24), p=LAW)
    rows[:90, :12] = rng.choice(TYPES, 12, p=LAW)
    rows = rows[rng.permutation(900)].tolist()
    plain, grouped = (
        gnomon.survey(rows, dimension=16, cache=False, group=group)
        for group in (None, "near-copies")
    )
    assert plain.verdict.caution is None
    assert "10 % of the 900 documents looked at share a text with many others" in plain.summary
    assert grouped.noise.mean.value == pytest.approx(plain.noise.mean.value, rel=0.1)
    assert grouped.noise.pattern.kind == plain.noise.pattern.kind == "start"
    assert grouped.noise.pattern.positions.tolist() == list(range(12))
