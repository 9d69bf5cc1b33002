"""A survey on the terminal: what stands first, and how numbers are printed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from gnomon.report.text import interval_text, survey_text

Surveyed = Callable[[str], Any]


@pytest.fixture
def lines(surveyed: Surveyed) -> list[str]:
    return survey_text(json.loads(json.dumps(surveyed("seven").to_dict()))).splitlines()


def starts(lines: list[str], *words: str) -> list[int]:
    return [next(k for k, line in enumerate(lines) if line.startswith(word)) for word in words]


def test_the_verdict_comes_before_the_table_and_that_before_the_geometry(lines: list[str]) -> None:
    places = starts(
        lines, "n = ", "Verdict: ", "encoding ", "chord distances", "distinct positions"
    )
    assert places == sorted(places)
    assert places[1] <= 6


def test_zero_is_printed_in_one_way_and_intervals_in_brackets(lines: list[str]) -> None:
    [at] = starts(lines, "encoding ")
    table = "\n".join(lines[at : lines.index("", at)])
    assert "1e-12" not in table
    assert not re.search(r"(?<![\d.])0\.0+(?!\d)", table)
    assert not re.search(r"\d-\d", table)


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.00063, 0.00078), "[0.0006, 0.0008]"),
        ((0.2051, 0.2079), "[0.205, 0.208]"),
        ((0.0, 0.0), "[0, 0]"),
        ((0.1, 0.9), "[0.100, 0.900]"),
        ((0.5, 0.5), "[0.500, 0.500]"),
    ],
)
def test_an_interval_has_digits_enough_to_tell_its_ends_apart(
    ends: tuple[float, float], shown: str
) -> None:
    assert interval_text(*ends) == shown


def test_one_of_anything_is_said_in_the_singular(surveyed: Surveyed) -> None:
    contents = json.loads(json.dumps(surveyed("seven").to_dict()))
    contents["corpus"] |= {"rows": 1, "groups": 1, "tokens": 1, "types": 1}
    [first] = survey_text(contents).splitlines()[:1]
    assert ": 1 document in 1 group, 1 token, 1 type (" in first


def test_a_number_of_a_sentence_is_not_written_by_its_power_of_ten(surveyed: Surveyed) -> None:
    contents = json.loads(json.dumps(surveyed("seven").to_dict()))
    contents["geometry"]["mean_squared"] |= {
        "debiased": -9.923e-05,
        "interval": [-0.0012, 2.1e-05],
    }
    assert "mean squared -0.00009923 [-0.0012, 0.000021] over" in survey_text(contents)


@pytest.mark.parametrize(
    "summary", ["Order matters. Take care. No more.", "Take care. Order matters. No more."]
)
def test_a_caution_stands_behind_the_verdict_and_once(surveyed: Surveyed, summary: str) -> None:
    """Surveys of before have it in front, and are printed alike."""
    contents = json.loads(json.dumps(surveyed("seven").to_dict()))
    contents["verdict"] |= {"summary": summary, "caution": "Take care."}
    printed = survey_text(contents)
    assert "Verdict: informative. Order matters. No more.\n\nCaution: Take care.\n" in printed
