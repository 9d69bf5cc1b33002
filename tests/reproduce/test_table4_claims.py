"""The verdicts of Table 4 are functions of numbers: opposite numbers, opposite verdicts."""

from __future__ import annotations

from gnomon.reproduce.claims import Verdict, spread
from gnomon.reproduce.readings import Estimate, Stresses
from gnomon.reproduce.table4 import (
    Directions,
    judge_alibi,
    judge_isometry,
    judge_monotone,
    judge_rank,
    judge_rope,
    order_sentence,
)

LOW, HIGH = Estimate(0.10, 0.08, 0.12), Estimate(0.50, 0.45, 0.55)
WHY = "the counts are too few"


def alibi(sinusoidal: Stresses, other: Stresses, missing: str | None = None) -> Verdict:
    """Judge one reading of ALiBi, whose official slopes are about as good as the best one."""
    first, second = sinusoidal.debiased, other.debiased
    known = first is not None and second is not None
    gap = Estimate(first.value - second.value, 0.1, 0.2) if known else None
    return judge_alibi(
        sinusoidal=sinusoidal,
        heads=spread([other.raw, 1.1 * other.raw], over="heads"),
        lifts={"as a slope": other},
        differences={} if gap is None else {"as a slope": gap},
        missing=missing,
    )


def test_alibi_is_far_below_where_every_stress_says_so() -> None:
    assert alibi(Stresses(30.0, 0.5, HIGH), Stresses(0.1, 0.01, LOW)).holds == "holds"
    assert alibi(Stresses(0.1, 0.01, LOW), Stresses(30.0, 0.5, HIGH)).holds == "does not hold"


def test_debiased_stress_alone_can_turn_the_verdict_on_alibi() -> None:
    """All the published stresses agree; what is left without noise does not."""
    found = alibi(Stresses(30.0, 0.5, LOW), Stresses(0.1, 0.01, HIGH))
    assert found.holds == "depends"
    assert "Debiased: sinusoid 0.100 [0.080, 0.120]; ALiBi 0.500 [0.450, 0.550]" in found.reason


def test_without_debiased_stress_the_published_one_decides_and_the_reason_is_said() -> None:
    found = alibi(Stresses(30.0, 0.5), Stresses(0.1, 0.01), missing=WHY)
    assert found.holds == "holds"
    assert found.reason.endswith(f"Debiased: none, since {WHY}.")


def test_a_reversed_order_is_called_that_with_overlap_and_certainty() -> None:
    near = Estimate(0.45, 0.40, 0.50)
    said = order_sentence(
        "as a slope", plugin=-0.2, debiased=(HIGH, near), difference=Estimate(0.05, 0.03, 0.07)
    )
    assert said == (
        "As a slope, debiasing reverses the order, so that ALiBi is lower; the two intervals "
        "overlap, and their difference over the same folds, 0.050 [0.030, 0.070], excludes 0."
    )
    kept = order_sentence(
        "as a slope", plugin=0.2, debiased=(HIGH, LOW), difference=Estimate(0.4, -0.1, 0.9)
    )
    assert "debiasing keeps the order; the two intervals do not overlap" in kept
    assert kept.endswith("may be 0.")
    turned = order_sentence(
        "as a slope", plugin=0.2, debiased=(LOW, HIGH), difference=Estimate(-0.4, -0.5, -0.3)
    )
    assert "so that the sinusoid is lower" in turned


def test_rope_within_three_per_cent() -> None:
    near, far = spread([1.0, 1.02]), spread([1.5, 2.0])
    assert judge_rope(sinusoidal=1.0, kernel=1.0, normal=near, ones=1.01).holds == "holds"
    assert judge_rope(sinusoidal=1.0, kernel=1.2, normal=far, ones=2.0).holds == "does not hold"


def test_an_isometry_is_judged_by_its_stress_and_noise_stands_beside_it() -> None:
    found = judge_isometry(1e-30, positions=9, noise=2e-30)
    assert found.holds == "holds"
    assert "1.0e-30 at 8 dimensions, and 2.0e-30 for the same tokens dealt" in found.reason
    assert judge_isometry(0.1, positions=9, noise=0.1).holds == "does not hold"


def rank(found: int, above: int, effective: int | None) -> Verdict:
    directions = None if effective is None else Directions(effective, 40, 500.0, 16.0, LOW)
    return judge_rank(
        rank=found,
        noise=9,
        above=above,
        participation=4.0,
        directions=directions,
        missing=None if effective is not None else WHY,
    )


def test_a_rank_is_a_dimension_where_noise_has_no_part_in_it() -> None:
    assert rank(5, 5, 5).holds == "holds"
    assert rank(9, 5, 6).holds == "does not hold"
    assert rank(5, 5, 2).holds == "depends"
    assert rank(5, 5, None).holds == "holds"
    assert f"Debiased: none, since {WHY}." in rank(5, 5, None).reason
    assert "6 above the noise edge (the largest eigenvalue is 500, the edge 16)" in (
        rank(9, 5, 6).reason
    )


def test_monotone_where_neither_the_counts_nor_the_debiased_core_violate_it() -> None:
    none, many = Estimate(0.01, -0.01, 0.03), Estimate(0.2, 0.17, 0.25)

    def judged(rate: float | None, debiased: Estimate | None) -> str:
        found = judge_monotone(rate, own=rate, ties=0.0, stress=0.0, debiased=debiased, missing=WHY)
        return found.holds

    assert judged(0.0, none) == "holds"
    assert judged(0.2, many) == "does not hold"
    assert judged(0.4, none) == "depends"
    assert judged(0.0, None) == "holds"
    assert judged(None, None) == "untested here"
