"""Verdicts follow from numbers, and nothing undefined is made up."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gnomon.reproduce.claims import (
    LOST,
    WIDTH,
    Published,
    Reproduction,
    Row,
    Verdict,
    agreement,
    join_verdicts,
    reproduction_text,
    spread,
    spread_or_none,
)


def verdict(holds: str) -> Verdict:
    return Verdict(claim="c", holds=holds, reason=f"because {holds}.")  # type: ignore[arg-type]


def report(columns: int = 2) -> Reproduction:
    rows = tuple(
        Row(
            what=what,
            published=published,
            ours={f"column {k}": spread([1.0, 2.0, 6.0]) for k in range(columns)},
            group="a heading",
        )
        for what, published in (
            ("first", Published(quantity="stress", value=24.805)),
            ("second", Published(quantity="stress", reason=LOST)),
        )
    )
    return Reproduction(
        name="x", title="t", source="cirrincione2026", setting="s", rows=rows,
        verdicts=(verdict("does not hold"),), provenance={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([True, True], "holds"),
        ([False, False], "does not hold"),
        ([True, False], "depends"),
        ([], "untested here"),
    ],
)
def test_readings_of_a_claim_make_its_verdict(readings: list[bool], expected: str) -> None:
    assert agreement(readings) == expected


def test_places_that_differ_make_a_claim_depend_and_each_is_named() -> None:
    joined = join_verdicts({"here": verdict("holds"), "there": verdict("does not hold")})
    assert joined.holds == "depends"
    assert joined.reason == "here: because holds. there: because does not hold."


def test_places_that_agree_keep_their_verdict() -> None:
    assert join_verdicts({"a": verdict("holds"), "b": verdict("holds")}).holds == "holds"


def test_a_spread_is_mean_smallest_and_largest() -> None:
    values = np.random.default_rng(0).normal(size=9)
    found = spread(values)
    assert (found.smallest, found.largest) == (values.min(), values.max())
    assert found.mean == pytest.approx(values.mean())
    assert found.count == 9


def test_an_undefined_value_leaves_the_spread_undefined() -> None:
    assert spread_or_none([1.0, None]) is None


def test_the_text_has_published_digits_as_printed_and_says_what_is_lost() -> None:
    text = reproduction_text(report())
    assert "24.805" in text
    assert "lost" in text
    assert "3.0000 [1.0000, 6.0000]" in text
    assert "does not hold  c\n               because does not hold." in text


def test_a_wide_table_is_broken_into_several_with_the_first_column_in_each() -> None:
    text = reproduction_text(report(columns=9))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.count("second") > 1


def test_a_reproduction_is_json_without_nan() -> None:
    value = json.loads(json.dumps(report().to_dict(), allow_nan=False))
    assert value["rows"][0]["published"]["value"] == 24.805
    assert value["rows"][1]["published"] == {"quantity": "stress", "value": None, "reason": LOST}
    assert value["rows"][0]["ours"]["column 0"]["largest"] == 6.0
    assert value["verdicts"][0]["holds"] == "does not hold"


def test_a_reproduction_is_a_dataframe_of_means() -> None:
    frame = report().to_dataframe()
    assert frame["column 1"].tolist() == [3.0, 3.0]
