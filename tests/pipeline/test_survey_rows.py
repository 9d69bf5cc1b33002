"""The stress table of a survey takes its rows from the catalogue, and they are what they were."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.encodings import registry
from gnomon.encodings.card import DECLARED, Row
from gnomon.encodings.registry import ENTRIES
from gnomon.errors import EncodingError
from gnomon.pipeline.rows import candidates
from gnomon.pipeline.verdict import known_names

PUBLISHED = [
    ("sinusoidal", "kernel"),
    ("rope", "kernel"),
    ("rope", "probe"),
    ("alibi", "kernel"),
    ("alibi", "slope"),
    ("alibi, best slope", "slope"),
    ("random, sigma 1", "kernel"),
    ("random, sigma 0.02", "kernel"),
]
"""Rows of the first surveys, which published tables and records name."""


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(4)
    return gnomon.geometry(rng.integers(1, 30, size=(9, 6)))


@pytest.fixture(scope="module")
def grid():
    rng = np.random.default_rng(4)
    counts = gnomon.PositionCounts.from_array(rng.integers(1, 30, size=(9, 6)), axes=(3, 3))
    return gnomon.geometry(counts)


def rows(geometry, **options) -> list:
    return list(candidates(geometry, **{"dimension": 16, "rank": 2, "seed": 0} | options))


@pytest.mark.parametrize("where", ["line", "grid"])
def test_the_rows_of_earlier_surveys_are_there_in_their_order(request, where: str) -> None:
    found = [(row.label, row.lift) for row in rows(request.getfixturevalue(where))]
    assert [row for row in found if row in PUBLISHED] == PUBLISHED


def test_every_row_is_an_entry_of_the_catalogue_under_a_lift_it_has(line) -> None:
    for row in rows(line):
        assert row.encoding.name in ENTRIES
        assert row.lift in row.encoding.lifts


def test_no_row_of_the_catalogue_needs_training(line) -> None:
    """What training decides has no distances of its own before it."""
    listed = [name for name, entry in ENTRIES.items() if entry.surveyed]
    assert {row.encoding.name for row in rows(line)} >= set(listed)
    assert not any(ENTRIES[name].card.learnable for name in listed)


def test_a_dimension_is_cut_to_whole_pairs_where_pairs_are_needed(grid) -> None:
    sizes = {
        row.label: row.encoding.parameters.get("dimension") for row in rows(grid, dimension=15)
    }
    assert sizes["rope"] == sizes["sinusoidal"] == 12
    assert sizes["random, sigma 1"] == 15


def test_an_entry_that_is_added_to_the_catalogue_is_surveyed(
    line, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = dataclasses.replace(ENTRIES["nope"], surveyed=(Row(label="nothing"),))
    monkeypatch.setitem(DECLARED, "nope", added)
    assert "nothing" in [row.label for row in rows(line)]


def test_an_encoding_without_grids_has_no_row_on_one(grid, monkeypatch) -> None:
    made = registry.entry_of("nope").makes
    monkeypatch.setattr(made, "on_grids", False)
    added = dataclasses.replace(ENTRIES["nope"], surveyed=(Row(label="nothing"),))
    monkeypatch.setitem(DECLARED, "nope", added)
    assert "nothing" not in [row.label for row in rows(grid)]


def test_a_corpus_may_be_near_to_what_is_fixed_and_to_nothing_random() -> None:
    names = known_names()
    assert {"sinusoidal", "rope", "alibi", "table"} <= set(names)
    assert not {"random", "mds", "smacof"} & set(names)


def test_tables_of_the_user_come_after_the_catalogue(line, tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.eye(9))
    labels = [row.label for row in rows(line, tables=(tmp_path / "mine.npy",))]
    assert labels.index("mine") == labels.index("mds") - 1
    assert labels.index("mine") > labels.index("random, sigma 0.02")


def test_the_best_slope_is_no_entry_of_its_own(line) -> None:
    """Its number is fitted to the corpus: least squares of distance on lag, through zero."""
    best = next(row for row in rows(line) if row.label == "alibi, best slope")
    lags = np.subtract.outer(np.arange(9), np.arange(9))
    upper = np.triu_indices(9, 1)
    slope = np.linalg.lstsq(np.abs(lags)[upper][:, None], line.distances[upper], rcond=None)[0]
    assert best.encoding.slopes == pytest.approx(slope)
    assert gnomon.encodings.best_slope(line.distances) == pytest.approx(float(slope[0]))


def test_an_encoding_that_is_asked_for_has_a_row_of_its_own(line) -> None:
    labels = [row.label for row in rows(line, asked=("rope-linear", "nope"))]
    before = labels.index("random, sigma 0.02")
    assert labels[before + 1 : before + 3] == ["rope-linear", "nope"]


def test_what_is_surveyed_anyway_is_not_listed_twice(line) -> None:
    assert [row.label for row in rows(line, asked=("rope",))].count("rope") == 2  # two lifts


def test_an_encoding_that_was_made_is_surveyed_as_it_is(line) -> None:
    made = gnomon.encoding("rope", dimension=8, base=7.0)
    assert made in [row.encoding for row in rows(line, asked=(made,))]


def test_a_survey_names_what_was_asked_for_beside_its_stress() -> None:
    found = gnomon.survey("three-regimes", dimension=16, shuffles=0, encodings=("rope-ntk",))
    line = next(row for row in found.to_dict()["encodings"] if row["name"] == "rope-ntk")
    assert line["parameters"]["dimension"] == 16
    assert 0.0 < line["stress"]["plugin"]["scale_free"] < 1.0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("rop", "There is no encoding 'rop': did you mean 'rope'"),
        ("mds", "The encoding 'mds' needs geometry; pass geometry="),
        ("rope-pixel", "takes coordinates from -1 to 1, and a survey has positions 0, 1, 2"),
        ("rope-mixed", "learns frequencies, so it has no distances of its own before training"),
        ("t5", "distances of its own before training; leave it out."),
        ("learned", "before training; survey its trained table with --table instead."),
    ],
)
def test_what_can_not_be_surveyed_is_refused_before_anything_is_counted(
    asked: str, sentence: str
) -> None:
    with pytest.raises(EncodingError, match=re.escape(sentence)):
        gnomon.survey("no such corpus", encodings=(asked,))
