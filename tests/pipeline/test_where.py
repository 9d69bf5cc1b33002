"""Where the signal sits, in words: the same at every length, and no place where there is none."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import gnomon
from gnomon.errors import InputError
from gnomon.pipeline.noise import draws_for
from gnomon.pipeline.options import SurveyOptions
from gnomon.report.page.build import page
from gnomon.report.page.words import where as where_on_page
from gnomon.report.text import survey_text
from gnomon.report.verdict_sentences import where

LETTERS = np.array(list("etaoinshrdlu   cmfwypvbgk"))
HEAD = 28
"""Letters of the head of a line: a date, a time, a level."""


def logs(rng, lines: int) -> list[str]:
    """Lines that begin with a date and a time and go on without order."""
    weights = 1.0 / np.arange(1, len(LETTERS) + 1)
    made = []
    for _ in range(lines):
        day, time = rng.integers(10, 29, 2), rng.integers(10, 60, 3)
        head = f"2024-{day[0]:02d}-{day[1]:02d} {time[0]}:{time[1]}:{time[2]} [INFO ] "
        assert len(head) == HEAD
        body = rng.choice(LETTERS, size=130, p=weights / weights.sum())
        made.append(head + "x" + "".join(body[:-1]) + "x")
    return made


def surveyed(corpus, **options):
    options = {"dimension": 16, "cache": False, "shuffles": 1} | options
    return gnomon.survey(corpus, **options)


def drawn(rng, kind: str, size: int, documents: int = 700, types: int = 60) -> list[list[int]]:
    """Documents of independent tokens whose laws are planted."""
    places = np.arange(size)[:, None]
    normal = 0.9 * rng.normal(size=(size, types))
    tilt = {
        "start": np.where(places < 9, normal, 0.0),
        "middle": np.where((places >= 12) & (places < 17), normal, 0.0),
        "one": np.where(places == 13, normal, 0.0),
        "header and bump": np.where((places < 3) | (places == size // 2), normal, 0.0),
        "indentation": np.where(places % 10 < 4, normal[0], 0.0),
        "halves": normal[np.where(np.arange(size) < size // 2, 0, 1)],
        "throughout": normal,
        "period": normal[np.arange(size) % 5],
        "nothing": np.zeros((size, types)),
    }[kind]
    laws = np.exp(tilt) / np.arange(1, types + 1)
    edges = np.cumsum(laws / laws.sum(axis=1, keepdims=True), axis=1)
    uniform = rng.random((documents, size))
    rows = [
        np.searchsorted(edge[:-1], column) for edge, column in zip(edges, uniform.T, strict=True)
    ]
    return np.stack(rows, axis=1).tolist()


@pytest.fixture(scope="module")
def lines():
    return logs(np.random.default_rng(7), 500)


@pytest.mark.parametrize("length", [40, 80, 110])
def test_the_head_of_a_line_ends_where_it_ends_at_every_length(lines, length):
    """Of 40 letters 28 are the head, and of 110 too: both times it is positions 0 to 27."""
    found = surveyed(lines, tokenizer="characters", length=length)
    pattern = found.noise.pattern
    assert pattern.kind == "start"
    # The head is followed by an x in every line, which is a place of its own as well.
    assert pattern.positions.tolist() in (list(range(HEAD)), list(range(HEAD + 1)))
    assert "at the start, positions 0-2" in where(found.noise)


@pytest.mark.parametrize("length", [28, 90])
@pytest.mark.parametrize(
    ("kind", "positions"),
    [("start", range(9)), ("middle", range(12, 17)), ("one", range(13, 14))],
)
def test_planted_places_are_named_at_every_length(kind, positions, length, rng):
    found = surveyed(drawn(rng, kind, length)).noise.pattern
    assert found.kind == ("start" if kind == "start" else "some")
    apart = {*found.positions.tolist()} ^ {*positions}
    assert apart <= {*found.unsure.tolist()}
    assert len(apart) <= 1


@pytest.mark.parametrize("length", [12, 24])
def test_a_header_and_a_bump_are_told_as_two_places(length, rng):
    found = surveyed(drawn(rng, "header and bump", length))
    assert f"at positions 0-2, {length // 2} (" in where(found.noise)


def test_an_indentation_seen_three_times_in_part_is_no_start(rng):
    assert "at positions 0-3, 10-13, 20-23 (" in where(
        surveyed(drawn(rng, "indentation", 28)).noise
    )


@pytest.mark.parametrize("length", [25, 80])
def test_what_is_everywhere_is_said_to_be_everywhere(length, rng):
    assert surveyed(drawn(rng, "throughout", length)).noise.pattern.kind == "throughout"
    found = surveyed(drawn(rng, "period", length)).noise.pattern
    assert (found.kind, found.period) == ("periodic", 5)


def test_where_the_answer_is_no_no_place_is_named_anywhere():
    """Positions that would pass by themselves are no findings where all together show nothing."""
    corpora = [drawn(np.random.default_rng([3, n]), "nothing", 40, documents=250) for n in range(4)]
    answers = [found for found in map(surveyed, corpora) if not found.verdict.informative]
    assert len(answers) >= 3  # one corpus in twenty is called informative by chance
    for found in answers:
        contents = json.loads(json.dumps(found.to_dict()))
        assert where_on_page(contents) is None
        assert not any(line["distinct"] for line in contents["positions"])
        assert "distinct positions (false discovery rate 5 %): none" in survey_text(contents)
        text = page([("a", contents, None)])
        assert "<dt>Where?</dt>" not in text
        assert "<strong>No.</strong>" in text or "<strong>Not as" in text


@pytest.mark.parametrize(("draws", "least"), [(99, "0.02"), (999, "0.002")])
def test_a_p_value_at_its_floor_is_called_that_everywhere(draws, least, rng):
    found = surveyed(drawn(rng, "start", 20), draws=draws)
    contents = json.loads(json.dumps(found.to_dict()))
    said = f"{least}, the least {draws} draws can show"
    assert found.noise.tests.deciding.p_value == pytest.approx(float(least))
    assert f"p = {said}" in found.summary
    assert survey_text(contents).count(f"p = {said}") >= 2
    text = re.sub(r"<[^>]+>", "", page([("a", contents, None)]))
    assert f"p = {said}" in " ".join(text.split())


def test_a_p_value_above_its_floor_is_called_nothing(rng):
    found = surveyed(drawn(rng, "nothing", 20))
    assert "can show" not in found.summary


def test_too_many_draws_for_the_memory_are_refused():
    assert draws_for(64, 999) == 999
    with pytest.raises(InputError, match=r"--draws 9999 at 512 positions takes 10\.5 GB; choose"):
        draws_for(512, 9_999)
    with pytest.raises(InputError, match=r"--draws is 5; it must be 19 or more"):
        SurveyOptions(draws=5)


@pytest.mark.parametrize(
    ("size", "named"),
    [(31, range(20, 30)), (32, range(20, 30)), (24, range(8, 16)), (16, [0, 1, 2, 3, 4, 15])],
)
def test_blocks_of_two_laws_are_told_by_the_fewer_positions(size, named, rng):
    """The last stretch of A B A is not unlike the first, however short it is."""
    where = np.isin(np.arange(size), list(named))
    assert told_where(where, rng) == list(named)


@pytest.mark.parametrize("size", [6, 8])
def test_a_stretch_ends_where_positions_are_like_the_rest_again(size, rng):
    where = np.arange(4 * size) // size % 2 == 1
    found = told_where(where, rng)
    assert found in (np.flatnonzero(where).tolist(), np.flatnonzero(~where).tolist())


def told_where(where, rng) -> list[int]:
    """Return the positions named of a corpus in which some have a fifth of one word more."""
    law = 1.0 / np.arange(1.0, 301.0)
    documents = rng.choice(300, p=law / law.sum(), size=(3000, len(where)))
    marked = where & (rng.random(documents.shape) < 0.2)
    found = gnomon.survey(np.where(marked, 250, documents).tolist(), shuffles=0, cache=False)
    assert found.noise is not None
    return found.noise.pattern.positions.tolist()


@pytest.mark.parametrize(("size", "shuffles"), [(24, 1), (24, 0), (40, 1)])
def test_two_laws_of_half_the_window_each_are_two_blocks(size, shuffles, rng):
    """Neither half is the rest of the other."""
    found = surveyed(drawn(rng, "halves", size), shuffles=shuffles)
    half = size // 2
    assert where(found.noise) == f"in 2 blocks: 0-{half - 1} and {half}-{size - 1}"
    said = f"In 2 blocks: 0–{half - 1} and {half}–{size - 1}; inside the blocks"
    assert where_on_page(found.to_dict()).startswith(said)


def test_one_direction_is_not_compared_with_directions_of_equal_strength(rng):
    found = surveyed(drawn(rng, "halves", 24))
    assert found.noise.debiased.rank == 1
    assert "by more than noise in 1 direction. " in found.summary
    assert "equal strength" not in found.summary


@pytest.mark.parametrize(
    ("options", "what"), [({"shuffles": 1}, "token order"), ({"shuffles": 0}, "position")]
)
def test_what_was_tested_is_the_subject_of_the_verdict(options, what, rng):
    seen = surveyed(drawn(rng, "halves", 24), **options).summary
    assert seen.startswith(f"{what.capitalize()} matters (p = 0.02, ")
    unseen = surveyed(drawn(rng, "nothing", 24), **options).summary
    assert unseen.startswith(f"No effect of {what} stands out from noise (p = ")
