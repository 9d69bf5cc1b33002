"""Positions whose words are their own, and closing tokens: strong signal in few tokens."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon


def zipf(types: int):
    law = 1.0 / np.arange(1.0, types + 1)
    return law / law.sum()


def surveyed(documents, **options):
    return gnomon.survey(documents, dimension=16, cache=False, **options)


@pytest.mark.parametrize(
    ("documents", "types", "place", "shared"),
    [(1000, 2000, 0, 0.0), (4000, 2000, 0, 0.0), (1000, 500, 11, 0.0), (2000, 2000, 0, 0.05)],
)
def test_a_position_with_words_of_its_own_is_told_and_raises_no_caution(
    documents, types, place, shared, rng
):
    """Squared distance 2 to all others, less what is shared: nothing could be farther."""
    made = rng.choice(types, size=(documents, 12), p=zipf(types))
    made[:, place] += types * (rng.random(documents) >= shared)
    found = surveyed(made.tolist())
    assert found.noise is not None
    assert found.verdict.informative
    assert found.noise.pattern.positions.tolist() == [place]
    assert found.verdict.caution is None
    truth = 2.0 * (1.0 - np.sqrt(shared)) / 6.0
    low, high = found.noise.mean.interval
    assert low <= truth <= high
    assert high <= 2.0


@pytest.mark.parametrize("kind", ["twice", "mostly"])
def test_ids_that_are_not_all_unique_are_told_too(kind, rng):
    made = rng.integers(0, 50, size=(1000, 10))
    ids = 1000 + np.arange(1000)
    made[:, 3] = ids // 2 if kind == "twice" else np.where(rng.random(1000) < 0.1, 7, ids)
    found = surveyed(made.tolist())
    assert found.verdict.informative
    assert "position 3" in found.summary


@pytest.mark.parametrize("documents", [4_000, 20_000])
def test_a_closing_token_is_measured_where_few_documents_are_long(documents):
    """The last position, which a twentieth reaches, is all closing token."""
    held = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(5, 25, documents)
        texts = [[*rng.choice(200, n, p=zipf(200)).tolist(), 199] for n in lengths]
        found = surveyed(texts, shuffles=0)
        assert found.noise is not None
        assert found.noise.mean.value == pytest.approx(0.180, rel=0.1)
        low, high = found.noise.mean.interval
        held.append(low <= 0.180 <= high)
    assert sum(held) >= 2


def test_documents_of_one_length_are_not_said_to_differ_by_their_lengths():
    """Of corpora without order one in twenty has a signal by chance: here that of seed 32."""
    sentences = []
    for seed in (*range(8), 32):
        made = np.random.default_rng(seed).integers(0, 50, size=(300, 8))
        sentences.append(surveyed(made.tolist()).summary)
    assert not any("long documents differ" in one for one in sentences)
    assert any("Positions differ" in one and "this is chance" in one for one in sentences)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_two_positions_are_surveyed(share, rng):
    made = rng.choice(300, size=(1500, 2), p=zipf(300))
    made[rng.random(1500) < share, 1] = 250
    found = surveyed(made.tolist(), shuffles=0)
    assert found.verdict.informative is (share > 0.0)
    assert all(one.debiased is None or one.debiased.skill is None for one in found.entries)
