"""Evidence: comparisons that a verdict can be derived from again."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.reproduce.claims import (
    Evidence,
    Judged,
    agreement,
    compare,
    join_by_claim,
    list_evidence,
)

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5)


@given(NUMBERS, st.floats(-1e6, 1e6), st.sampled_from(["==", "<", "<=", ">", ">="]))
def test_a_reading_is_the_comparison_that_python_makes(
    values: list[float], bound: float, relation: str
) -> None:
    meant = {"==": "eq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[relation]
    (piece,) = compare("x", values, relation, bound)  # type: ignore[arg-type]
    assert piece.readings == [getattr(operator, meant)(value, bound) for value in values]


def test_what_is_not_known_on_either_side_is_no_evidence() -> None:
    assert compare("rank", [2, None], "==", 2) == ()
    assert compare("rank", [2, 3], "==", [2, None]) == ()
    assert compare("rank", [], "==", 2) == ()


def test_bounds_of_another_number_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        compare("rank", [1, 2], "==", [1])


def test_a_claim_depends_when_its_evidence_differs() -> None:
    yes, no = compare("a", [1], "<", 2), compare("b", [3], "<", 2)
    assert Judged(claim="c", evidence=(*yes, *no), reason="r").holds == "depends"
    assert Judged(claim="c", evidence=yes, reason="r").holds == "holds"
    assert Judged(claim="c", evidence=no, reason="r").holds == "does not hold"
    assert Judged(claim="c", evidence=(), reason="r").holds == "untested here"


def test_a_verdict_that_depends_says_on_what() -> None:
    """Each reading by its name, those that differ between seeds as well; others say nothing."""
    raw, free = compare("raw stress", [1, 1], "<", 2), compare("scale-free stress", [3], "<", 2)
    mixed = compare("debiased stress", [1, 3], "<", 2)
    words = Judged(claim="c", evidence=(*free, *raw, *mixed), reason="r.").verdict.reason
    assert words == (
        "r. True of: raw stress. True in some seeds of: debiased stress. Not of: scale-free stress."
    )
    assert Judged(claim="c", evidence=raw, reason="r.").verdict.reason == "r."
    assert Judged(claim="c", evidence=free, reason="r.").verdict.reason == "r."


def test_verdicts_on_one_claim_are_joined_over_corpora_and_others_stay_alone() -> None:
    def judged(claim: str, value: float) -> Judged:
        return Judged(claim=claim, evidence=compare("v", [value], ">", 0), reason=f"{value:g}")

    found = join_by_claim(
        {"x": [judged("both", 1.0), judged("one", 1.0)], "y": [judged("both", -1.0)]}
    )
    assert [(one.claim, one.holds) for one in found] == [("both", "depends"), ("one", "holds")]
    assert found[0].reason == "x: 1 y: -1"


def test_listed_evidence_holds_all_that_a_verdict_needs() -> None:
    piece = Evidence(what="rank", values=(31.0,), relation="==", bounds=(2.0,))
    kept = list_evidence([Judged(claim="c", evidence=(piece,), reason="r")])
    assert kept == {"c": [{"what": "rank", "values": [31.0], "relation": "==", "bounds": [2.0]}]}
    again = Evidence(**kept["c"][0])
    assert agreement(again.readings) == "does not hold"
