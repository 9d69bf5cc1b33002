"""Tables 2 and 3 and the curve over dimensions, on the three-regime corpus.

Outside truths: arithmetic, closed forms, and the ranges found by an independent NumPy script.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.corpus.counting import Silence
from gnomon.diagnostics.stress_report import stress
from gnomon.reproduce.claims import Reproduction, Spread, spread
from gnomon.reproduce.dimension import DIMENSIONS, fit_forms, judge_alignment, judge_growth
from gnomon.reproduce.dimension import make as stress_vs_dimension
from gnomon.reproduce.subjects import Options, count_above_noise, deal_once, draw_three_regimes
from gnomon.reproduce.table2 import (
    factorisations,
    judge_counts,
    judge_least_stress,
    judge_minimal,
    judge_rank,
    judge_saving,
)
from gnomon.reproduce.table2 import make as table2
from gnomon.reproduce.table3 import judge_curvature, judge_digits, judge_order, judge_together
from gnomon.reproduce.table3 import make as table3

OPTIONS = Options(seeds=3)


@pytest.fixture(scope="module")
def second() -> Reproduction:
    return table2(OPTIONS, Silence())


@pytest.fixture(scope="module")
def third() -> Reproduction:
    return table3(OPTIONS, Silence())


@pytest.fixture(scope="module")
def curve() -> Reproduction:
    return stress_vs_dimension(OPTIONS, Silence())


def mean(found: Reproduction, what: str, column: str, group: str = "") -> float:
    rows = [r for r in found.rows if r.what == what and r.group.startswith(group)]
    figure = rows[0].ours[column]
    return figure.mean if isinstance(figure, Spread) else float(figure)  # type: ignore[arg-type]


def outcomes(found: Reproduction) -> list[str]:
    return [verdict.holds for verdict in found.verdicts]


# Table 2


def test_480_and_4096_have_one_whole_solution() -> None:
    """By trying every n, d and rank."""
    brute = [
        (r, n, 4096 // n)
        for r in (1, 2, 3, 7, 31)
        for n in range(1, 65)
        if 4096 % n == 0 and r * (n + 4096 // n) == 480
    ]
    assert factorisations(4096, 480, [1, 2, 3, 7, 31]) == brute == [(3, 32, 128)]


def test_table2_has_the_published_parameters_and_fewer_that_suffice(second: Reproduction) -> None:
    published = [row.published.value for row in second.rows]
    assert published == [160, 320, 480, 1120, 4960, 4096]
    assert [row.ours["r(n+d)"] for row in second.rows] == published
    assert [row.ours["r(n+d-r)"] for row in second.rows][:5] == [159, 316, 471, 1071, 3999]
    assert second.rows[2].ours["fix the geometry"] == 90


def test_recovered_counts_are_said_to_be_recovered(second: Reproduction) -> None:
    reasons = [row.published.reason for row in second.rows]
    assert reasons[2] is None
    assert reasons[5] is None
    assert all("recovered" in str(reasons[k]) for k in (0, 1, 3, 4))


@pytest.mark.parametrize(
    ("rank", "classical", "least"),
    [(2, 0.0123, 0.0062), (3, 0.0086, 0.0028), (7, 0.0034, 0.0002)],
)
def test_stress_by_rank_is_in_the_known_range(
    second: Reproduction, rank: int, classical: float, least: float
) -> None:
    assert mean(second, f"rank {rank}", "classical raw") == pytest.approx(classical, rel=0.15)
    assert mean(second, f"rank {rank}", "SMACOF raw") == pytest.approx(least, rel=0.2)


def test_full_rank_is_exact(second: Reproduction) -> None:
    assert mean(second, "rank 31", "classical raw") < 1e-25
    assert mean(second, "rank 31", "SMACOF raw") < 1e-25


def test_verdicts_of_table2(second: Reproduction) -> None:
    assert outcomes(second) == ["holds", "holds", *["does not hold"] * 3]


def test_opposite_numbers_give_opposite_verdicts_in_table2() -> None:
    one_sixth, one_ninth = np.full((1, 5), 1 / 6), np.full((1, 5), 1 / 9)
    share = spread([0.5])
    assert judge_counts([]).holds == "does not hold"
    assert judge_saving(0.5, 25.6).holds == "does not hold"
    assert judge_minimal({3: _count(480, 480)}).holds == "holds"
    assert judge_minimal({3: _count(480, 471)}).holds == "does not hold"
    assert judge_rank(ranks=[2], noise_ranks=[31], above=[2], first_two=share).holds == "holds"
    assert judge_rank(ranks=[31], noise_ranks=[31], above=[2], first_two=share).holds != "holds"
    assert judge_least_stress(one_sixth, one_ninth).holds == "does not hold"
    assert judge_least_stress(one_ninth, one_ninth).holds == "holds"


def _count(factored: int, degrees: int) -> object:
    from gnomon.diagnostics.stress_report import ParameterCount

    return ParameterCount(
        rank=3, factored=factored, degrees=degrees, geometry=degrees, free=4096, saving=0.1
    )


def test_least_strain_is_not_least_stress_for_three_laws_without_common_tokens() -> None:
    """1/6 and 1/9, the worked example that fixes the formula."""
    laws = np.sqrt(2.0) * (1.0 - np.eye(3))
    strain = np.array([[-1.0], [0.0], [1.0]]) / np.sqrt(2.0)
    assert stress(strain, laws).raw == pytest.approx(1 / 6)
    assert stress(4 / 3 * strain, laws).raw == pytest.approx(1 / 9)


def test_two_directions_rise_above_the_dealt_tokens() -> None:
    """Three laws span a plane; the rank of the sample is 31, with or without positions."""
    for sample in draw_three_regimes(OPTIONS, Silence()):
        noise = deal_once(sample.counts, sample.seed)
        assert sample.geometry.spectrum.rank_numerical == noise.spectrum.rank_numerical == 31
        assert count_above_noise(sample.geometry, noise) == 2
        assert sample.geometry.spectrum.cumulative_share[1] == pytest.approx(0.96, abs=0.01)


def test_dealt_tokens_of_the_regimes_are_as_far_apart_as_sampling_makes_them() -> None:
    """E d^2 = (V - 1)/4 (1/N_i + 1/N_j) where counts are large."""
    sample = draw_three_regimes(Options(seeds=1), Silence())[0]
    noise = deal_once(sample.counts, 0)
    assert noise.counts_per_position.tolist() == sample.geometry.counts_per_position.tolist()
    assert noise.mean_squared == pytest.approx(199 / 4 * 2 / 2000, rel=0.35)


# Table 3


def test_stresses_of_table3_are_in_the_known_ranges(third: Reproduction) -> None:
    assert mean(third, "sinusoidal", "raw", "d = 16") == pytest.approx(2.45, rel=0.1)
    assert mean(third, "random", "raw", "d = 16") == pytest.approx(24.0, rel=0.12)
    assert mean(third, "sinusoidal", "raw", "d = 128") == pytest.approx(30.0, rel=0.12)
    assert mean(third, "random", "raw", "d = 128") == pytest.approx(245.0, rel=0.12)
    assert mean(third, "sinusoidal", "scale-free", "d = 128") == pytest.approx(0.124, rel=0.1)
    assert mean(third, "random", "scale-free", "d = 128") == pytest.approx(0.214, rel=0.05)
    assert mean(third, "mds", "raw", "d = 128") < 1e-25


def test_low_ranks_leave_what_the_published_mds_has(third: Reproduction) -> None:
    assert 0.002 < mean(third, "mds, rank 3", "raw") < 0.009 < mean(third, "mds, rank 2", "raw")
    assert mean(third, "mds, rank 2", "raw") < 0.02


def test_no_encoding_at_all_has_stress_one(third: Reproduction) -> None:
    assert mean(third, "all zeros", "raw") == mean(third, "all zeros", "scale-free") == 1.0


def test_the_bounds_forbid_the_digits_at_128_dimensions(third: Reproduction) -> None:
    least = "least raw stress of any corpus"
    assert mean(third, "sinusoidal, d = 128", least) == pytest.approx(11.32, abs=0.005)
    assert mean(third, "random, d = 128", least) == pytest.approx(106, rel=0.03)


def test_a_sparser_corpus_at_20_dimensions_meets_all_three_digits(third: Reproduction) -> None:
    group = "d = 20, V = 500"
    assert mean(third, "sinusoidal", "raw", group) == pytest.approx(2.248, rel=0.05)
    assert mean(third, "random", "raw", group) == pytest.approx(24.805, rel=0.1)
    assert mean(third, "mds", "raw", group) == pytest.approx(0.009, rel=0.1)


def test_verdicts_of_table3(third: Reproduction) -> None:
    expected = ["holds", "depends", "does not hold", "depends", "does not hold"]
    assert outcomes(third) == expected


def test_opposite_numbers_give_opposite_verdicts_in_table3() -> None:
    rising = {16: {"mds": [0.01], "sinusoidal": [1.0], "random": [10.0]}}
    falling = {16: {"mds": [10.0], "sinusoidal": [1.0], "random": [0.1]}}
    for scale_free in (True, False):
        assert judge_order(rising, scale_free=scale_free).holds == "holds"
        assert judge_order(falling, scale_free=scale_free).holds == "does not hold"
    assert judge_digits(128, {"sinusoidal": 1.0, "random": 20.0}).holds == "holds"
    assert judge_digits(128, {"sinusoidal": 11.3, "random": 20.0}).holds == "depends"
    digits = {"mds": 0.009, "sinusoidal": 2.248, "random": 24.805}
    assert judge_together({"a": digits}).holds == "holds"
    assert judge_together({"a": digits | {"mds": 0.012}}).holds == "does not hold"
    assert judge_curvature({2: spread([0.01]), 31: spread([0.004])}, 32).holds == "holds"
    assert judge_curvature({2: spread([0.01]), 31: spread([1e-30])}, 32).holds == "does not hold"


# Stress against dimension


def test_raw_stress_grows_as_known_and_scale_free_falls(curve: Reproduction) -> None:
    known = [1.2, 2.5, 6.0, 13.6, 30, 65, 139, 289]
    ours = [mean(curve, f"d = {d}", "raw") for d in DIMENSIONS]
    assert ours == pytest.approx(known, rel=0.12)
    assert mean(curve, "d = 8", "scale-free") == pytest.approx(0.19, rel=0.1)
    assert mean(curve, "d = 1024", "scale-free") == pytest.approx(0.123, rel=0.1)
    assert outcomes(curve) == ["does not hold", "does not hold"]


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("linear", lambda d: 7.0 + 0.3 * d),
        ("exponential", lambda d: 2.0 * np.exp(0.004 * d)),
        ("power", lambda d: 0.5 * d**1.7),
    ],
)
def test_each_form_is_recognised_and_fits_itself_exactly(form: str, values: object) -> None:
    d = np.array([64, 128, 256, 512, 1024])
    found = fit_forms(d, values(d.astype(float)))  # type: ignore[operator]
    assert found.best == form
    assert found.errors[form] < 1e-9
    assert judge_growth([found]).holds == ("holds" if form == "exponential" else "does not hold")


def test_a_line_that_would_go_below_zero_is_no_fit() -> None:
    """Least relative error goes nearly through the last two points, and so through -0.1 at 1."""
    found = fit_forms(np.array([1, 2, 3]), np.array([100.0, 0.1, 0.3]))
    assert found.errors["linear"] == np.inf
    assert found.best != "linear"


def test_scale_free_stress_that_rises_means_worse_alignment() -> None:
    low, high = np.array([0.1, 0.1]), np.array([0.2, 0.2])
    assert judge_alignment(low, high).holds == "holds"
    assert judge_alignment(high, low).holds == "does not hold"
    assert judge_alignment(low, np.array([0.2, 0.1])).holds == "depends"
