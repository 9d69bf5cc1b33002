"""Verdicts on real corpora, and on the same corpora with the order of their tokens taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

import gnomon
from gnomon.corpus.options import CountOptions
from gnomon.corpus.shuffling import shuffled_counts
from gnomon.pipeline.measured import Recounts, measure_counts
from gnomon.pipeline.options import SurveyOptions
from gnomon.pipeline.surveys import survey_measured


@pytest.fixture
def imdb(data_root: Path) -> tuple[str, CountOptions]:
    options = CountOptions(
        column="text",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=128,
    )
    return str(data_root / "imdb" / "train.parquet"), options


@pytest.mark.data
@pytest.mark.wide
def test_imdb_shuffled_inside_its_documents_is_called_uninformative(imdb) -> None:
    """With two other shuffles as the null, and also where only the counts are known."""
    path, counting = imdb
    corpus, *others = (shuffled_counts(path, counting, replicate=r) for r in (10, 0, 1))
    options = SurveyOptions(dimension=16)
    for again in (
        Recounts(shuffled=tuple(others)),
        Recounts(unshuffled="not shuffled here"),
    ):
        found = survey_measured(measure_counts(corpus, recounts=again), options)
        assert found.verdict.informative is False
        assert found.verdict.recommended == "none"
        assert found.noise is not None
        assert found.noise.debiased.rank == 0
        assert abs(found.noise.mean.value) < 0.002  # plug-in says 0.255


@pytest.mark.data
def test_sst2_sentences_are_a_start_transient_and_mostly_noise(data_root: Path) -> None:
    """An independent implementation: 94 % noise, rank 6, participation 2.8, 84 % from 0-2."""
    found = gnomon.survey(
        data_root / "sst2" / "whole-sentences.tsv",
        column=0,
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=64,
        dimension=128,
    )
    noise = found.noise
    assert noise is not None
    assert found.verdict.informative is True
    assert noise.noise_share == pytest.approx(0.94, abs=0.01)
    assert noise.pattern.kind == "start"
    assert abs(noise.debiased.rank - 6) <= 1
    assert noise.participation is not None
    assert noise.participation.value == pytest.approx(2.8, abs=0.3)
    sinusoid = next(e for e in found.entries if e.label == "sinusoidal").debiased
    assert sinusoid is not None
    assert sinusoid.scale_free == pytest.approx(0.49, abs=0.06)
    assert found.verdict.recommended == "mds-low-rank"
