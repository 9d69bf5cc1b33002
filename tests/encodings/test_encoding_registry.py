"""The catalogue: every entry is whole, and every wrong name is answered with the nearest one."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.encodings.card import LEVELS
from gnomon.encodings.registry import ENTRIES, catalogue, encoding, takes
from gnomon.errors import EncodingError, InputError
from gnomon.sources import SOURCES, cite

SIMPLEX = 1.0 - np.eye(4)
FROM_DATA = {
    "table": {"path": np.eye(4)},
    "mds": {"geometry": SIMPLEX, "dimension": 2},
    "mds-low-rank": {"geometry": SIMPLEX, "dimension": 3, "rank": 2},
    "smacof": {"geometry": SIMPLEX, "dimension": 2},
}
MADE = {name: entry.examples[0] if entry.examples else {} for name, entry in ENTRIES.items()}
MADE |= FROM_DATA


def test_the_catalogue_names_every_entry_and_all_but_those_made_of_data_have_examples():
    assert [card.name for card in catalogue()] == list(ENTRIES)
    assert {name for name, entry in ENTRIES.items() if not entry.examples} == set(FROM_DATA)


@pytest.mark.parametrize("name", MADE)
def test_every_encoding_does_what_its_kinds_promise_and_refuses_the_rest(name):
    made = encoding(name, **MADE[name])
    heads, dimension = getattr(made, "heads", None) or 1, getattr(made, "dimension", 8)
    content = np.ones((heads, 4, dimension))
    positions = np.arange(4) if made.axes == 1 else np.zeros((4, made.axes))
    calls = {
        "vectors": lambda: made.vectors(positions),
        "transform": lambda: made.transform(content, content, positions),
        "bias": lambda: made.bias(positions),
    }
    for kind, call in calls.items():
        if kind in made.kinds:
            call()
        else:
            with pytest.raises(EncodingError, match=r"it offers"):
                call()


@pytest.mark.parametrize("name", MADE)
def test_every_card_names_a_known_source_and_a_level_with_its_words(name):
    made = encoding(name, **MADE[name])
    card = made.card
    assert card.name == made.name == name
    assert cite(card.source)
    level, words = card.level.split(" ", 1)
    assert LEVELS[level] == words
    assert card.kind == made.kinds
    assert card.verified_against
    json.dumps(card.to_dict() | made.parameters, allow_nan=False)


@pytest.mark.parametrize("name", MADE)
def test_an_encoding_can_not_be_changed(name):
    made = encoding(name, **MADE[name])
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.axes = 3


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(EncodingError, match=r"no encoding 'sinusoid': did you mean 'sinusoidal'\?"):
        encoding("sinusoid", dimension=8)
    with pytest.raises(EncodingError, match=r"no encoding 'rop': did you mean 'rope'"):
        takes("rop")


def test_an_unknown_parameter_is_answered_with_the_nearest():
    with pytest.raises(EncodingError, match=r"no parameter 'dimensions': did you mean 'dimension'"):
        encoding("rope", dimensions=8)


def test_a_missing_parameter_is_named():
    with pytest.raises(EncodingError, match=r"The encoding 'rope' needs dimension; pass dimension"):
        encoding("rope")


@pytest.mark.parametrize("dimension", ["64", 2.0, 0, -2, True, None])
def test_a_dimension_of_the_wrong_kind_is_refused(dimension):
    with pytest.raises(EncodingError, match=r"dimension is .*; pass a whole number from 2 on\."):
        encoding("rope", dimension=dimension)


def test_no_encoding_at_all_leaves_no_trace(rng):
    q, k = rng.normal(size=(2, 3, 4))
    made = encoding("nope")
    assert made.transform(q, k, np.arange(3)) == (q, k) or made.transform(q, k, [0])[0] is q
    np.testing.assert_array_equal(made.bias(np.arange(3)), np.zeros((1, 3, 3)))


def test_an_unknown_source_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"There is no source 'su2020': did you mean 'su2021'"):
        cite("su2020")


def test_every_source_quoted_in_a_docstring_is_in_the_bibliography():
    quoted = set()
    for file in Path(gnomon.__file__).parent.rglob("*.py"):
        quoted |= set(re.findall(r"\[([a-z]+\d{4}[a-z]?)[ \]]", file.read_text("utf-8")))
    assert quoted
    assert quoted - set(SOURCES) == set()


@pytest.mark.parametrize("name", [5, None, {"name": "rope"}])
def test_a_name_that_is_no_text_is_refused_in_words(name):
    kind = type(name).__name__
    with pytest.raises(EncodingError, match=f"asked for by its name, not by {kind}; pass one of"):
        encoding(name)
