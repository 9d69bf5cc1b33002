"""Tables of a user: which row is that of position 0, and no advice that rests on a single row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.test_verdict import LENGTH, planted

import gnomon
from gnomon.cli.app import run
from gnomon.encodings.tables import open_table
from gnomon.errors import EncodingError, InputError
from gnomon.pipeline.debiased_stress import scale_free, without_each
from gnomon.pipeline.rows import rows_of

SIZE = 64


def learned(rng, *special: int) -> np.ndarray:
    """Rows that wander a little, as a trained table's do, and special ones far from all."""
    rows = np.cumsum(0.02 * rng.normal(size=(SIZE, 32)), axis=0) + 0.05 * rng.normal(
        size=(SIZE, 32)
    )
    rows[list(special)] += 3.0 * rng.normal(size=(len(special), 32))
    return rows


@pytest.fixture(scope="module")
def first():
    """Documents of which only the first token has a law of its own."""
    return planted("first", np.random.default_rng(11))


def saved(folder: Path, rows: np.ndarray) -> Path:
    np.save(folder / "own.npy", rows)
    return folder / "own.npy"


def surveyed(corpus, table: Path, **options):
    options = {"length": LENGTH, "cache": False, "dimension": 16, "tables": (table,)} | options
    return gnomon.survey(corpus, **options)


def test_a_table_near_to_a_corpus_by_its_first_row_alone_is_not_recommended(first, tmp_path, rng):
    """As with MiniLM and SST-2: row 0 is that of [CLS], position 0 that of a first word."""
    found = surveyed(first, saved(tmp_path, learned(rng, 0)))
    line = next(entry for entry in found.entries if entry.label == "own")
    assert line.debiased.squared <= 0.1
    assert found.verdict.recommended == "mds-low-rank"
    assert found.verdict.nearest.label == "own"
    assert found.verdict.nearest.rests_on == 0
    assert "its closeness rests on that one position" in found.verdict.reason
    assert "pass --first-row 1" in found.summary
    assert "nothing needs to be fitted" not in found.summary


def test_from_the_next_row_on_the_table_is_as_far_as_it_is(first, tmp_path, rng):
    rows = learned(rng, 0)
    found = surveyed(first, saved(tmp_path, rows), first_rows=(1,))
    again = surveyed(first, saved(tmp_path, rows[1:]))
    line, same = (
        next(entry for entry in one.entries if entry.name == "table") for one in (found, again)
    )
    assert (line.label, line.rows.first, line.rows.last, line.rows.of) == (
        "own, from row 1", 1, LENGTH, SIZE,
    )  # fmt: skip
    assert line.to_dict()["stress"] == same.to_dict()["stress"]
    assert line.rows.warning is None
    assert "--first-row 1" not in found.summary


@pytest.mark.parametrize("odd", [0, 7, LENGTH - 1])
def test_no_recommendation_rests_on_one_row_wherever_it_is(odd, tmp_path, rng):
    laws = np.ones((LENGTH, 40)) / 40
    laws[odd] = np.roll(np.geomspace(1.0, 1e-3, 40), 3)
    rows = [[int(rng.choice(40, p=law / law.sum())) for law in laws] for _ in range(600)]
    found = surveyed(rows, saved(tmp_path, learned(rng, odd)))
    assert found.verdict.informative
    assert found.verdict.nearest.rests_on == odd
    assert found.verdict.recommended == "mds-low-rank"


def test_a_table_that_has_the_geometry_at_all_positions_is_recommended(tmp_path, rng):
    corpus = planted("drift", rng)
    found = surveyed(corpus, saved(tmp_path, np.arange(SIZE)[:, None] * np.ones((1, 4))))
    assert found.verdict.nearest.close
    assert found.verdict.nearest.rests_on is None
    assert "nothing needs to be fitted to this corpus" in found.verdict.reason


@pytest.mark.parametrize(
    ("special", "told"),
    [((0,), (0,)), ((0, 1), (0, 1)), ((0, 1, 2), (0, 1, 2)), ((9,), (9,)), ((0, 30), (0, 30))],
)
def test_rows_that_stand_apart_are_named_with_the_first_row_behind_them(special, told, rng):
    rows = learned(rng, *special)
    found = rows_of(gnomon.encoding("table", path=rows), _distances(rows), np.arange(SIZE))
    assert found.apart == told
    begin = next(k for k in range(SIZE) if k not in special)
    asked = f"pass --first-row {begin}" in found.warning
    assert asked == (begin > 0)


def test_leading_rows_that_are_near_each_other_stand_apart_together(rng):
    """Two rows of padding, alike: each has a near neighbour, and both are far from the rest."""
    rows = learned(rng, 0)
    rows[1] = rows[0] + 0.01
    found = rows_of(gnomon.encoding("table", path=rows), _distances(rows), np.arange(SIZE))
    assert found.apart == (0, 1)
    assert "pass --first-row 2" in found.warning


def test_a_row_of_zeros_is_that_of_padding(rng):
    rows = learned(rng)
    rows[1] = 0.0
    found = rows_of(gnomon.encoding("table", path=rows), _distances(rows), np.arange(SIZE))
    assert found.zero == (1,)
    assert "row 1 of array is all zeros" in found.warning.lower()


@pytest.mark.parametrize(
    "kind", ["line", "parabola", "random", "settling", "waves", "walk", "same"]
)
def test_rows_of_one_kind_do_not_stand_apart(kind, rng):
    places = np.arange(SIZE)[:, None]
    rows = {
        "line": places * np.ones((1, 3)),
        "parabola": places**2.0 * np.ones((1, 3)),
        "random": rng.normal(size=(SIZE, 32)),
        "settling": np.exp(-places / 6.0) * np.ones((1, 3)),
        "waves": gnomon.encoding("sinusoidal", dimension=32).vectors(np.arange(SIZE)),
        "walk": np.cumsum(rng.normal(size=(SIZE, 32)), axis=0),
        "same": np.ones((SIZE, 4)),
    }[kind]
    found = rows_of(gnomon.encoding("table", path=rows), _distances(rows), np.arange(SIZE))
    assert found.warning is None


def _distances(rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows[:, None] - rows[None, :], axis=2)


def test_the_stress_without_a_position_is_that_of_the_others():
    """By leaving rows and columns out, against the sums less those that touch a position."""
    rng = np.random.default_rng(5)
    for size in (3, 4, 9, 20):
        made, wanted = (_distances(rng.normal(size=(size, 2))) for _ in range(2))
        upper = np.triu_indices(size, 1)
        loop = []
        for out in range(size):
            kept = np.delete(np.arange(size), out)
            inner = np.triu_indices(size - 1, 1)
            one, other = (x[np.ix_(kept, kept)][inner] for x in (made, wanted))
            loop.append(scale_free(one, other[None])[0])
        assert without_each(made[upper], wanted[upper]) == pytest.approx(loop, abs=1e-12)


def test_where_one_position_holds_all_distances_nothing_is_left_without_it():
    wanted = np.zeros((6, 6))
    wanted[0, 1:] = wanted[1:, 0] = 1.0
    upper = np.triu_indices(6, 1)
    found = without_each(wanted[upper], wanted[upper])
    assert found[0] == 1.0
    assert found[1:] == pytest.approx(0.0, abs=1e-12)


def test_a_first_row_that_is_not_there_is_refused(tmp_path):
    file = saved(tmp_path, np.eye(3))
    with pytest.raises(EncodingError, match=r"first_row is 3, and own\.npy has rows 0 to 2"):
        open_table(file, first_row=3)
    with pytest.raises(InputError, match="--first-row is given 2 times for 1 tables"):
        surveyed("three-regimes", file, first_rows=(1, 2))
    with pytest.raises(InputError, match="--first-row is given 1 times for 0 tables"):
        gnomon.survey("three-regimes", first_rows=(1,))


def test_terminal_and_json_say_which_rows_were_used(first, tmp_path, rng, capsys):
    table = saved(tmp_path, learned(rng, 0))
    corpus = tmp_path / "a.txt"
    corpus.write_text("\n".join(" ".join(f"w{t}" for t in row) for row in first))
    place = tmp_path / "a.json"
    command = ["survey", str(corpus), "--length", str(LENGTH), "--dimension", "16", "--no-cache"]
    both = ["--table", str(table), "--first-row", "1", "--json", str(place)]
    assert run([*command, *both]) == 0
    said = capsys.readouterr().out
    assert (
        f"own.npy: position 0 is row 1 (--first-row), rows 1 to {LENGTH} of {SIZE} are used" in said
    )
    line = next(e for e in json.loads(place.read_text())["encodings"] if e["name"] == "table")
    assert line["parameters"]["first_row"] == line["rows"]["first"] == 1
