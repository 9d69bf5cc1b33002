"""Equal documents are copies, or equal by chance; a survey has to know which."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.corpus.grouping import equal_by_chance, equal_pairs


def drawn(rng, lengths, types=30):
    """Documents of given lengths, tokens by Zipf's law."""
    law = 1.0 / np.arange(1.0, types + 1)
    return [rng.choice(types, p=law / law.sum(), size=n).tolist() for n in lengths]


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_the_pairs_that_chance_gives_are_counted(longest, rng):
    """Against all pairs of documents, compared one by one."""
    made = []
    for _ in range(8):
        documents = drawn(rng, rng.integers(1, longest + 1, size=600))
        _, number = np.unique([str(one) for one in documents], return_counts=True)
        made.append((number * (number - 1) / 2).sum())
        found = gnomon.count(documents, minimum_count=1, group="rows", cache=False)
        expected = equal_pairs(found)
    assert expected == pytest.approx(np.mean(made), rel=0.15)


def test_copies_are_told_from_chance(rng):
    short = drawn(rng, [2] * 1000)
    long = drawn(rng, [12] * 400)
    assert equal_by_chance(gnomon.count(short, cache=False))
    assert not equal_by_chance(gnomon.count(long + long[:100], cache=False))
    assert not equal_by_chance(gnomon.count(long, cache=False))
    assert not equal_by_chance(gnomon.count(long + long[:1] * 300, cache=False))


@pytest.mark.parametrize("length", [2, 3])
def test_short_documents_without_order_have_none(length, rng):
    """Held together, documents that are equal by chance pull the estimate below 0."""
    found = [
        gnomon.survey(drawn(rng, [length] * 1500, types=200), shuffles=0, cache=False)
        for _ in range(5)
    ]
    means = [one.noise.mean for one in found if one.noise is not None]
    assert sum(mean.interval[0] <= 0.0 <= mean.interval[1] for mean in means) >= len(means) - 1
    assert abs(np.mean([mean.value for mean in means])) < 0.005
    assert all("about as many as chance gives" in " ".join(one.counts.notes) for one in found)


def test_every_row_alone_can_be_asked_for(rng):
    documents = drawn(rng, [2] * 500)
    together, alone = (
        gnomon.count(documents, group=group, cache=False) for group in (None, "rows")
    )
    assert alone.groups.estimate() == 500 > together.groups.estimate()
    assert np.array_equal(alone.matrix.toarray(), together.matrix.toarray())
    texts = ["a b", "a b", "b a", "a b"]
    assert gnomon.count(texts, group="rows", minimum_count=1).groups.estimate() == 4
