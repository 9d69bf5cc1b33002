"""Whole classes of rare types move together: beside a blank, an id, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.corpus.counts import PositionCounts
from gnomon.distances.drift import measure_drift
from gnomon.distances.energies import frame_of
from gnomon.distances.estimate import debias, pair_mean
from gnomon.distances.folds import fold_counts
from gnomon.distances.intervals import mean_squared
from gnomon.distances.totals import between, totals_of

FOLDS, SEEDS = 16, 4


def counted(laws, documents, rng, share_of_ids=0.0, place=4) -> PositionCounts:
    """Independent documents; at one place a share of them holds a token nobody else has."""
    places, types = laws.shape
    tokens = np.stack([rng.choice(types, p=law, size=documents) for law in laws], axis=1)
    unique = rng.random(documents) < share_of_ids
    tokens[unique, place] = types + np.arange(documents)[unique]
    blocks = np.zeros((FOLDS, places, types + documents * (share_of_ids > 0)), np.int32)
    fold = rng.integers(FOLDS, size=documents)
    np.add.at(blocks, (fold[:, None], np.arange(places), tokens), 1)
    return PositionCounts.from_array(blocks, minimum_count=1)


def zipf(types):
    law = 1.0 / np.arange(2, types + 2)
    return law / law.sum()


def with_blank(shares, types=3000):
    return np.array([np.append(zipf(types) * (1.0 - share), share) for share in shares])


def mean_of(laws):
    roots = np.sqrt(laws)
    return pair_mean(2.0 - 2.0 * roots @ roots.T)


def means(laws, documents, **ids):
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        made = debias(counted(laws, documents, rng, **ids), rng=rng, draws=20)
        found.append(mean_squared(made, np.arange(len(laws))))
    return np.array([one.value for one in found]), np.array([one.interval for one in found])


def test_a_blank_that_takes_more_at_some_positions_moves_all_other_types():
    laws = with_blank(np.where(np.arange(16) % 2, 0.90, 0.97))
    values, intervals = means(laws, 2000)
    assert values.mean() == pytest.approx(mean_of(laws), rel=0.15)
    assert ((intervals[:, 0] < mean_of(laws)) & (mean_of(laws) < intervals[:, 1])).all()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_a_position_with_ids_in_part_of_the_documents_has_the_distance_of_its_ids(share):
    values, intervals = means(np.tile(zipf(3000), (12, 1)), 1500, share_of_ids=share)
    truth = 2.0 / 12.0 * (2.0 - 2.0 * np.sqrt(1.0 - share))  # 11 of 66 pairs hold the position
    assert values.mean() == pytest.approx(truth, rel=0.25)
    assert ((intervals[:, 0] < truth) & (truth < intervals[:, 1])).sum() >= SEEDS - 1


@pytest.mark.parametrize("blank", [0.0, 0.5, 0.9])
def test_classes_that_do_not_move_add_nothing(blank):
    values, intervals = means(with_blank(np.full(16, blank))[:, : 3000 + (blank > 0)], 1000)
    assert abs(values.mean()) < 0.003
    assert ((intervals[:, 0] <= 0.0) & (intervals[:, 1] >= 0.0)).all()


def test_totals_without_a_fold_are_those_of_the_other_folds(rng):
    """With the pilot held, energies of totals are made of fold sums, so deletion is subtraction."""
    counts = counted(with_blank(np.linspace(0.6, 0.9, 6), 200), 800, rng)
    data = fold_counts(counts)
    data = data.only(~measure_drift(data).outstanding)
    frame = frame_of(data, np.zeros((0, data.folds)))
    found = between(totals_of(data, data.missing(), frame), frame.signs)
    error = found.deleted.mean(axis=0) - found.squares
    assert np.abs(error).max() < 0.01
    np.testing.assert_allclose(found.squares, found.squares.T, atol=1e-12)
    assert np.abs(np.diag(found.squares)).max() < 1e-9
