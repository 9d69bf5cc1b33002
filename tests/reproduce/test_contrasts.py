"""Contrasts over seeds: intervals of SciPy, and outcomes that were planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, spearmanr, t

from gnomon.reproduce.claims import LEVEL, Contrast, claim, decide, list_contrasts
from gnomon.reproduce.deposit import Correlation, rank_correlation

CLEAR, OTHERWISE, UNCLEAR = (0.2, 0.21, 0.19), (-0.2, -0.21, -0.19), (0.3, -0.2, 0.1)


def of(*values: float, **more) -> Contrast:
    return Contrast(what="a less b", values=values, **more)


def test_the_interval_of_a_contrast_is_that_of_student(rng) -> None:
    values = rng.normal(0.3, 0.1, 7)
    wanted = t.interval(0.99, 6, values.mean(), values.std(ddof=1) / np.sqrt(7))
    np.testing.assert_allclose(of(*values, level=0.01).interval, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "relation", "bound", "reading"),
    [
        (CLEAR, ">", 0.0, "for"),
        (OTHERWISE, ">", 0.0, "against"),
        (UNCLEAR, ">", 0.0, "open"),
        (CLEAR, "<", 0.0, "against"),
        (OTHERWISE, "<", 0.0, "for"),
        (CLEAR, ">", 0.5, "against"),
        ((0.0, 0.0, 0.0), ">", 0.0, "open"),
        ((0.0, 0.0, 0.0), ">", -0.02, "for"),
        ((9.0,), ">", 0.0, "open"),
    ],
)
def test_a_contrast_reads_as_its_interval_lies(values, relation, bound, reading) -> None:
    assert of(*values, relation=relation, bound=bound).outcome == reading


def test_intervals_of_one_claim_share_one_level() -> None:
    made = claim("c", [of(*CLEAR), of(*UNCLEAR)])
    assert [one.level for one in made.contrasts] == [LEVEL / 2] * 2
    alone, shared = of(*CLEAR).interval, made.contrasts[0].interval
    assert shared[0] < alone[0]
    assert shared[1] > alone[1]


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ([CLEAR, CLEAR], "holds"),
        ([OTHERWISE, OTHERWISE], "does not hold"),
        ([OTHERWISE, UNCLEAR], "does not hold"),
        ([UNCLEAR, UNCLEAR], "undecided"),
        ([CLEAR, UNCLEAR], "depends"),
        ([CLEAR, OTHERWISE], "depends"),
        ([], "untested here"),
    ],
)
def test_a_claim_is_what_its_contrasts_say_together(values, holds) -> None:
    made = claim("c", [of(*one) for one in values])
    assert made.holds == holds
    assert made.verdict.holds == holds


def test_the_reason_has_every_number() -> None:
    reason = claim("c", [of(*CLEAR), of(*OTHERWISE), of(*UNCLEAR)], "And more.").verdict.reason
    assert "Shown: a less b +0.200 [" in reason
    assert "Shown otherwise: a less b -0.200 [" in reason
    assert "Open: a less b +0.067 [" in reason
    assert reason.endswith("And more.")
    assert claim("c", []).verdict.reason == "No runs of this grid bear on it."


def test_a_verdict_can_be_derived_from_its_evidence_alone() -> None:
    made = claim("c", [of(*CLEAR), of(*UNCLEAR)])
    pieces = list_contrasts([made])["c"]
    again = [
        Contrast(**{key: piece[key] for key in ("what", "relation", "bound", "level")},
                 values=tuple(piece["values"]))
        for piece in pieces
    ]  # fmt: skip
    assert decide(one.outcome for one in again) == made.holds
    assert [piece["reading"] for piece in pieces] == ["for", "open"]


def test_rank_correlations_are_those_of_scipy(rng) -> None:
    x = rng.integers(0, 6, 40).astype(float)
    y = x + rng.normal(0, 2, 40)
    assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert rank_correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None


def test_the_interval_of_a_rank_correlation_is_that_of_bonett_and_wright() -> None:
    found = Correlation(what="r", values=(0.6,), points=20, level=0.05)
    half = norm.ppf(0.975) * np.sqrt((1 + 0.6**2 / 2) / 17)
    wanted = np.tanh(np.arctanh(0.6) + np.array([-half, half]))
    np.testing.assert_allclose(found.interval, wanted, rtol=1e-12)
    assert found.outcome == "for"
    assert Correlation(what="r", values=(0.9,), points=3).outcome == "open"


def test_the_interval_of_a_rank_correlation_covers_the_truth_as_often_as_it_says() -> None:
    """Normal pairs with correlation 0.5 have Spearman's (6 / pi) asin(0.25)."""
    rng, truth, inside = np.random.default_rng(0), 6 / np.pi * np.arcsin(0.25), 0
    for _ in range(400):
        x = rng.standard_normal(30)
        y = 0.5 * x + np.sqrt(0.75) * rng.standard_normal(30)
        low, high = Correlation(what="", values=(rank_correlation(x, y),), points=30).interval
        inside += low <= truth <= high
    assert 0.90 < inside / 400 < 0.99
