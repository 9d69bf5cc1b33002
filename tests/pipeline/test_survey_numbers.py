"""The numbers of a survey against a dozen lines of NumPy that know nothing of Gnomon."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr

import gnomon

LENGTH, DIMENSION = 9, 16
WORDS = ("sun", "dial", "noon", "hour", "stone")


@pytest.fixture
def rows(rng: np.random.Generator) -> list[list[str]]:
    """Sentences of 5 to 12 words whose first word is drawn from a law of its own."""
    first = rng.choice(WORDS, size=150, p=(0.6, 0.1, 0.1, 0.1, 0.1))
    sizes = rng.integers(4, 12, size=150)
    return [[str(w), *map(str, rng.choice(WORDS, n))] for w, n in zip(first, sizes, strict=True)]


@pytest.fixture
def surveyed(rows: list[list[str]], tmp_path: Path) -> gnomon.pipeline.surveys.Survey:
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(map(" ".join, rows)), encoding="utf-8")
    return gnomon.survey(str(path), length=LENGTH, dimension=DIMENSION)


def chords(rows: list[list[str]]) -> np.ndarray:
    counts = np.zeros((LENGTH, len(WORDS)))
    for row in rows:
        for position, word in enumerate(row[:LENGTH]):
            counts[position, WORDS.index(word)] += 1
    roots = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    return np.linalg.norm(roots[:, None] - roots[None], axis=-1)


def sinusoid() -> np.ndarray:
    phases = np.arange(LENGTH)[:, None] * 10_000.0 ** (-2 * np.arange(DIMENSION // 2) / DIMENSION)
    vectors = np.hstack([np.sin(phases), np.cos(phases)])
    return np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)


def test_every_number_of_the_sinusoid_follows_from_its_formula(rows, surveyed) -> None:
    above = np.triu_indices(LENGTH, 1)
    h, D = chords(rows)[above], sinusoid()[above]
    scale_free = 1 - (D @ h) ** 2 / ((D @ D) * (h @ h))
    simplex = 1 - h.sum() ** 2 / (h.size * (h @ h))
    line = surveyed.entries[0]
    assert line.label == "sinusoidal"
    assert surveyed.geometry.mean_distance == pytest.approx(h.mean(), rel=1e-12)
    assert line.stress.raw == pytest.approx(((D - h) ** 2).sum() / (h @ h), rel=1e-12)
    assert line.stress.scale_free == pytest.approx(scale_free, rel=1e-12)
    assert line.stress.best_scale == pytest.approx((D @ h) / (D @ D), rel=1e-12)
    assert line.stress.kruskal == pytest.approx(np.sqrt(((D - h) ** 2).sum() / (D @ D)), rel=1e-12)
    assert line.stress.skill == pytest.approx(1 - scale_free / simplex, rel=1e-9)
    assert line.separation.minimum == pytest.approx(D.min(), rel=1e-12)
    assert line.pearson == pytest.approx(pearsonr(D, h).statistic, rel=1e-9)


def test_violations_are_the_share_of_all_ordered_triples(rows, surveyed) -> None:
    h, D = chords(rows), sinusoid()
    triples = [
        t for t in product(range(LENGTH), repeat=3) if 0 < abs(t[0] - t[1]) < abs(t[0] - t[2])
    ]
    for distances, found in ((h, surveyed.monotonicity), (D, surveyed.entries[0].monotonicity)):
        over = sum(distances[i, j] > distances[i, k] for i, j, k in triples)
        assert found.violations == pytest.approx(over / len(triples), rel=1e-12)


def test_an_exact_fit_has_the_violations_and_the_ties_of_its_corpus() -> None:
    """Two laws that alternate: most distances tie, and rounding in the fit must not break them."""
    counts = np.array([[300, 100, 7], [100, 300, 11]] * 6)
    found = gnomon.survey(gnomon.PositionCounts.from_array(counts), dimension=DIMENSION)
    fitted = next(e for e in found.entries if e.label == "mds").monotonicity
    own = found.monotonicity
    assert own.ties > 0.4
    assert (fitted.violations, fitted.ties) == (own.violations, own.ties)


@pytest.mark.data
@pytest.mark.wide
def test_sst2_has_the_published_stress_and_the_scale_free_one(data_root: Path) -> None:
    """236.06 and 0.0560 were found by an independent script on the same 762,340 tokens."""
    found = gnomon.survey(
        str(data_root / "sst2" / "train.tsv"),
        column="sentence",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=64,
        dimension=768,
        minimum_count=1,
    )
    assert found.counts.tokens == 762_340
    assert found.entries[0].stress.raw == pytest.approx(236.06, abs=0.005)
    assert found.entries[0].stress.scale_free == pytest.approx(0.0560, abs=5e-5)
