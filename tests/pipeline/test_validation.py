"""Our validator of survey.json, held against jsonschema on thousands of changed surveys."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import numpy as np
import pytest

import gnomon
from gnomon.pipeline.survey_file import fault, survey_schema


def mutations(value: Any, place: tuple[Any, ...] = ()) -> Any:
    """Yield the place of everything in a survey, of lists the first two."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*place, key)
            yield from mutations(item, (*place, key))
    if isinstance(value, list):
        for index, item in enumerate(value[:2]):
            yield (*place, index)
            yield from mutations(item, (*place, index))


def a_survey() -> Any:
    """A survey of seven positions with different laws, in sixteen folds."""
    rng = np.random.default_rng(3)
    laws = rng.dirichlet(np.ones(6), 7)
    counts = [[rng.multinomial(500, law) for law in laws] for _ in range(16)]
    return gnomon.survey(gnomon.PositionCounts.from_array(counts), dimension=8)


def small(survey: Any) -> dict[str, Any]:
    """Return a survey with one or two of everything, in plain values."""
    contents = json.loads(json.dumps(survey.to_dict()))
    for key in ("encodings", "dimensions"):
        del contents[key][1:]
    del contents["positions"][2:]
    contents["tokens"] = [
        {"index": 0, "first": 0, "last": 0, "typical": [{"token": "a", "share": 1, "elsewhere": 0}]}
    ]
    return contents


def test_our_validator_agrees_with_jsonschema_on_every_single_change() -> None:
    """Each value in turn is deleted, and replaced by values of every type."""
    schema = survey_schema()
    contents = small(a_survey())
    judge = jsonschema.Draft202012Validator(schema)
    assert judge.is_valid(contents)
    assert fault(contents, schema) is None
    refused = 0
    replacements = (None, True, -1, 0.5, 7.0, "", [1, "a"], {"reason": "x"})
    for *parents, key in mutations(contents):
        inner = contents
        for step in parents:
            inner = inner[step]
        kept = copy.copy(inner)
        for change in (*replacements, "delete"):
            if change == "delete":
                del inner[key]
            else:
                inner[key] = change
            valid = judge.is_valid(contents)
            refused += not valid
            assert (fault(contents, schema) is None) == valid, (
                *parents,
                key,
                change,
                fault(contents, schema),
            )
            inner.clear()
            inner.update(kept) if isinstance(inner, dict) else inner.extend(kept)
    assert refused > 1000


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("corpus", "rows"), -1, "corpus.rows: -1 is below 0"),
        (("corpus", "axes"), [], "corpus.axes: it has 0 parts, and 1 are the least"),
        (("positions", 1, "status"), "odd", "positions.1.status: 'odd' is none of"),
        (("geometry", "mean_squared", "interval"), [1], "has none of the forms allowed here"),
        (("verdict", "reason"), "", "verdict.reason: it has 0 letters, and 1 are the least"),
        (("encodings", 0, "pearson"), 1.5, "encodings.0.pearson: 1.5 is above 1"),
    ],
)
def test_a_fault_is_named_with_its_place(place: Any, value: Any, sentence: str) -> None:
    contents = small(a_survey())
    inner: Any = contents
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert sentence in (fault(contents) or "")


def test_a_true_is_no_number_and_a_whole_float_is_an_integer() -> None:
    assert fault(True, {"type": "number"}) is not None
    assert fault(7.0, {"type": "integer"}) is None
    assert fault(7.5, {"type": "integer"}) is not None
    assert fault(1, {"const": True}) is not None
