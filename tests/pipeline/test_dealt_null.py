"""What a survey says of the noise in its distances."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.corpus.counts import PositionCounts


def test_a_corpus_without_order_is_told_to_be_noise_in_words_and_in_numbers(rng):
    """The same law at every position: what is measured is sampling alone."""
    law = 1.0 / np.arange(1, 400)
    alarms = 0
    for seed in range(4):
        array = np.stack([rng.multinomial(300, law / law.sum()) for _ in range(20)])
        counts = PositionCounts.from_array(array)
        found = gnomon.survey(counts, dimension=8, seed=seed).to_dict()
        dealt = found["geometry"]["null"]["dealt"]
        assert found["geometry"]["null"]["used"] == "dealt"
        assert dealt["share"] == pytest.approx(1.0, abs=0.05)
        assert found["geometry"]["mean_squared"]["noise_share"] > 0.95
        assert "% of the mean squared distance" in found["verdict"]["summary"]
        assert found["verdict"]["recommended"] == "none"
        alarms += found["verdict"]["informative"]
    assert alarms <= 1  # each with a chance of one in twenty


def test_sharp_regimes_are_not_explained_by_dealing():
    found = gnomon.survey("three-regimes", dimension=8).to_dict()
    assert found["geometry"]["null"]["dealt"]["share"] < 0.1


def test_equal_laws_are_a_result_and_not_an_error():
    found = gnomon.survey(["a b", "b a"] * 10, tokenizer="words", dimension=4)
    assert found.entries == ()
    assert "exactly the same token distribution" in found.summary


@pytest.mark.data
@pytest.mark.wide
def test_most_of_sst2_is_noise_as_documented(data_root):
    """95 % of the mean squared distance, correlation 0.97 with the distances themselves."""
    found = gnomon.survey(
        data_root / "sst2" / "train.tsv",
        column="sentence",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=64,
        minimum_count=1,
        dimension=16,
    ).to_dict()["geometry"]["null"]["dealt"]
    assert found["share"] == pytest.approx(0.95, abs=0.02)
    assert found["correlation"] == pytest.approx(0.97, abs=0.01)
