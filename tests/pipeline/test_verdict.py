"""The verdict on corpora whose truth is known, and on those that allow none."""

from __future__ import annotations

import html
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import gnomon
from gnomon.corpus.counts import PositionCounts
from gnomon.pipeline.survey_file import survey_schema
from gnomon.report import survey_text
from gnomon.report.page import words
from gnomon.report.verdict_sentences import blocks_in_words, where

LENGTH, TYPES, DOCUMENTS = 20, 300, 1_500
VALIDATOR = jsonschema.Draft202012Validator(survey_schema())


def tilts(kind: str, rng) -> np.ndarray:
    """Logarithms by which the law of each place departs from Zipf's."""
    normal = rng.normal(size=(4, TYPES))
    places = np.arange(LENGTH)
    if kind == "first":
        return np.where(places[:, None] == 0, normal[0], 0.0)
    if kind == "end":
        return np.where(places[:, None] < 2, normal[np.minimum(places, 1)], 0.0)
    if kind == "drift":
        return np.outer(np.linspace(-0.6, 0.6, LENGTH), normal[0])
    if kind == "regimes":
        return 0.7 * normal[np.searchsorted((0, 7, 14), places, side="right") - 1]
    if kind == "periodic":
        return 0.7 * normal[places % 4]
    return np.zeros((LENGTH, TYPES))


def planted(kind: str, rng) -> list[list[int]]:
    """Documents of 8 to 30 tokens, each with a tilt of its own; place 0 is the last under "end"."""
    laws = np.exp(tilts(kind, rng)) / np.arange(1, TYPES + 1)
    topics = np.exp(0.4 * rng.normal(size=(5, TYPES)))
    made = []
    for _ in range(DOCUMENTS):
        size = int(rng.integers(8, 31))
        edges = np.cumsum(laws * topics[rng.integers(5)], axis=1)[np.minimum(range(size), 19)]
        row = [
            int(np.searchsorted(edge[:-1], u * edge[-1]))
            for edge, u in zip(edges, rng.random(size), strict=True)
        ]
        made.append(row[::-1] if kind == "end" else row)
    return made


def surveyed(corpus: Any, **options: Any) -> Any:
    """Survey, and hold every output to what all of them promise."""
    options = {"length": LENGTH, "cache": False} | options
    if isinstance(corpus, PositionCounts):
        options = {key: options[key] for key in options if key not in {"length", "cache"}}
    found = gnomon.survey(corpus, dimension=16, **options)
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [e.message for e in VALIDATOR.iter_errors(written)] == []
    words = found.verdict.summary + found.verdict.reason
    assert "accuracy" not in words
    assert "better model" not in words.replace(
        "it does not say which encoding trains to a better model", ""
    )
    assert "nan" not in words.lower().split()
    return found


@cache
def survey_of(kind: str) -> Any:
    """The survey of a planted corpus, which several tests read."""
    return surveyed(planted(kind, np.random.default_rng(20260406)))


def test_a_corpus_without_order_is_uninformative_and_nothing_is_recommended():
    found = survey_of("none")
    assert found.verdict.informative is False
    assert found.verdict.recommended == "none"
    assert "token frequencies of this corpus show no dependence on position" in found.summary
    assert all(entry.debiased is None for entry in found.entries)


def test_only_the_first_token_is_named_where_only_the_first_differs():
    found = survey_of("first")
    assert found.verdict.informative is True
    assert found.noise.pattern.positions.tolist() == [0]
    assert "at the start, position 0" in found.summary
    assert found.verdict.recommended == "mds-low-rank"


def test_a_steady_drift_has_the_geometry_of_a_slope():
    found = survey_of("drift")
    assert found.noise.pattern.kind == "drift"
    assert found.verdict.recommended == "alibi"
    assert "nothing needs to be fitted to this corpus" in found.verdict.reason


def test_three_regimes_are_blocks_that_begin_where_they_were_planted():
    found = survey_of("regimes")
    assert found.noise.pattern.kind == "blocks"
    assert found.noise.pattern.positions.tolist() == [0, 7, 14]
    assert found.verdict.recommended == "mds-low-rank"


def test_a_cycle_of_laws_is_named_with_its_period():
    found = survey_of("periodic")
    assert (found.noise.pattern.kind, found.noise.pattern.period) == ("periodic", 4)
    assert "with a period of 4 positions" in found.summary


def test_last_tokens_that_differ_are_found_from_the_end_and_not_from_the_start(rng):
    """From the start the last two tokens of documents of 8 to 30 stand anywhere."""
    rows = planted("end", rng)
    found = surveyed(rows, window="end")
    assert found.noise.pattern.positions.tolist() == [0, 1]
    assert "at the end, positions 0-1, counted from the last token" in where(found.noise, "end")
    assert surveyed(rows).noise.pattern.positions.tolist() != [0, 1]


def test_survivorship_alone_is_called_uninformative_and_named(rng):
    """Long documents use other words in random order; shuffling them changes nothing."""
    short = [rng.integers(0, 60, 10).tolist() for _ in range(700)]
    long = [rng.integers(40, 100, 20).tolist() for _ in range(700)]
    found = surveyed(short + long)
    assert found.verdict.informative is False
    assert "long documents differ from short ones" in found.summary
    assert "other documents reach other positions (survivorship)" in " ".join(found.summary.split())
    both = found.noise.survivorship
    assert both.shuffled.value == pytest.approx(both.original.value, rel=0.1)
    assert both.difference.interval[0] <= 0.0 <= both.difference.interval[1]
    assert found.noise.tests.signal.found


def test_counts_without_documents_are_held_against_the_dealt_null_and_say_so(rng):
    laws = np.exp(tilts("regimes", rng)) / np.arange(1, TYPES + 1)
    laws /= laws.sum(axis=1, keepdims=True)
    array = np.stack([rng.multinomial(2_000, law) for law in laws])
    found = surveyed(PositionCounts.from_array(array))
    written = found.to_dict()
    assert written["geometry"]["null"]["used"] == "dealt"
    assert "hold no documents" in written["geometry"]["null"]["shuffled"]["reason"]
    assert "chance is the same tokens dealt at random" in found.summary
    assert any("dealing single tokens" in note for note in found.counts.notes)
    assert found.verdict.informative is True


def test_shuffles_that_were_not_asked_for_are_said_to_be_missing():
    found = surveyed(planted("first", np.random.default_rng(20260406)), shuffles=0)
    assert "no shuffles were asked for" in found.summary
    assert found.verdict.informative is True


def nearest_by_hand(found: Any) -> tuple[str, str, float]:
    """The least debiased stress of the encodings that were neither fitted nor random."""
    key = "squared" if found.noise.significant_share < 0.5 else "scale_free"
    lines = found.to_dict()["encodings"]
    known = [e for e in lines if e["name"] in ("sinusoidal", "rope", "alibi", "table")]
    best = min(known, key=lambda e: round(e["stress"]["debiased"][key], 9))
    return best["label"], best["lift"], best["stress"]["debiased"][key]


@pytest.mark.parametrize("kind", ["first", "drift", "regimes", "periodic"])
def test_the_nearest_has_the_least_stress_of_all_known_encodings_and_lifts(kind):
    found = survey_of(kind)
    near = found.to_dict()["verdict"]["nearest"]
    assert (near["label"], near["lift"], near["value"]) == nearest_by_hand(found)
    assert near["measure"] == ("squared" if kind == "first" else "scale_free")
    squares = found.noise.debiased.low_rank.squares[np.triu_indices(len(found.noise.core), 1)]
    wanted = squares if near["measure"] == "squared" else np.sqrt(squares)
    equal = 1.0 - wanted.sum() ** 2 / (len(wanted) * (wanted**2).sum())
    assert near["equal"] == pytest.approx(equal, rel=1e-9)
    assert near["closer"] is bool(near["value"] < equal)


def test_a_recommended_known_encoding_is_the_nearest_one():
    found = survey_of("drift")
    assert found.verdict.recommended == found.verdict.nearest.name
    assert (
        f"Closest to the corpus: {found.verdict.nearest.called}, since it leaves" in found.summary
    )


def test_where_equal_distances_are_nearer_no_encoding_is_named():
    """In a cycle of four laws the distance does not grow with the lag, as encodings' do."""
    found = survey_of("periodic")
    near = found.verdict.nearest
    assert near.value > near.equal
    assert not near.closer
    assert "none of the known encodings comes closer than keeping all" in found.verdict.reason
    assert "equally far apart" in found.verdict.reason
    assert near.label not in found.verdict.reason


def test_the_summary_names_the_row_of_the_fitted_encoding_and_not_its_family():
    found = survey_of("regimes")
    fitted = next(e.label for e in found.entries if e.label.startswith("mds, debiased"))
    assert f"Closest to the corpus: {fitted} (fitted to this corpus), since" in found.summary
    assert "mds-low-rank" not in found.summary


@pytest.mark.parametrize(
    ("begins", "words"),
    [
        ([0, 10], "in 2 blocks: 0-9 and 10-39"),
        ([0, 10, 11], "at position 10, which stands out of the stretches 0-9, 11-39"),
        ([0, 3, 6], "in 3 blocks: 0-2, 3-5 and 6-8"),
    ],
)
def test_blocks_of_single_positions_are_called_positions(begins, words):
    assert blocks_in_words(begins, 39 if 10 in begins else 8) == words


@pytest.mark.parametrize("law", ["equal laws", "one type"])
def test_where_all_positions_have_one_law_exactly_there_is_nothing_to_fit(law):
    rows = [[0, 1], [1, 0]] * 200 if law == "equal laws" else [[3] * 6] * 200
    found = surveyed(rows, length=6 if law == "one type" else 2)
    assert found.verdict.informative is False
    assert found.verdict.recommended == "none"
    assert "every distance is 0" in found.summary
    assert found.to_dict()["geometry"]["mean_squared"]["debiased"] is None


def test_fewer_groups_than_folds_give_a_result_that_says_what_it_could_not_do(rng):
    """Five documents: no law of large numbers, and the verdict does not pretend to one."""
    found = surveyed([rng.integers(0, 5, 20).tolist() for _ in range(5)], minimum_count=1)
    assert found.verdict.informative in {False, None}
    assert found.verdict.recommended == "none"


def test_two_documents_allow_no_verdict_and_the_reason_is_given(rng):
    found = surveyed([rng.integers(0, 5, 20).tolist() for _ in range(2)], minimum_count=1)
    assert found.verdict.informative is None
    assert "could not be separated from sampling noise" in found.summary
    assert "use more documents" in found.summary
    assert all(line["status"] is None for line in found.to_dict()["positions"])


def test_copies_of_one_row_are_one_observation(rng):
    """Equal documents share a fold, so a thousand copies say no more than one."""
    row = rng.integers(0, 9, 20).tolist()
    found = surveyed([row] * 1_000, minimum_count=1)
    assert found.verdict.informative is None
    assert found.verdict.recommended == "none"


def test_a_group_that_outweighs_all_others_is_warned_of(rng, tmp_path: Path):
    groups = ["giant"] * 800 + [f"small {i}" for i in range(200)]
    lines = [f"{' '.join(rng.choice(list('abcdefgh'), 12))}\t{group}" for group in groups]
    path = tmp_path / "rows.tsv"
    path.write_text("\n".join(["text\tby", *lines]), encoding="utf-8")
    found = surveyed(path, length=12, column="text", group="by")
    assert "One fold holds 8" in found.summary
    assert "one group outweighs all others" in found.summary


def test_positions_without_tokens_between_others_are_masked_and_the_rest_is_judged(rng):
    law = 1.0 / np.arange(1, 201)
    array = np.stack([rng.multinomial(3_000, law / law.sum()) for _ in range(8)])
    array[0] = rng.multinomial(3_000, law[::-1] / law.sum())
    array[[3, 5]] = 0
    found = surveyed(PositionCounts.from_array(array))
    lines = found.to_dict()["positions"]
    assert [line["index"] for line in lines if line["status"] == "masked"] == [3, 5]
    assert lines[3]["reason"] == "fewer tokens than the minimum count"
    assert found.verdict.informative is True
    assert 0 in found.noise.pattern.positions


def test_too_few_tokens_for_distances_still_allow_the_tests(rng):
    """Sixty documents over many types: no core, so the verdict rests on the tests alone."""
    rows = [rng.integers(0, 400, 6).tolist() for _ in range(60)]
    found = surveyed(rows, length=6)
    assert found.noise is None
    assert found.verdict.recommended == "none"
    assert "could not be debiased" in found.summary
    assert "--bins" in found.summary


def test_rare_tokens_that_take_turns_leave_the_mean_with_a_reservation(rng):
    """Common tokens stand still; tokens met once or twice at a place say not how rare ones vary."""
    weights = 1.0 / np.arange(1, 2001) ** 1.05
    phase = rng.integers(2, size=2000)
    common = np.arange(2000) < 150
    laws = [np.where((phase == place % 2) | common, weights, 0.0) for place in range(16)]
    tokens = [rng.choice(2000, p=law / law.sum(), size=2000) for law in laws]
    found = surveyed(np.stack(tokens, axis=1).tolist(), length=16)
    contents = found.to_dict()
    assert contents["geometry"]["debiased"]["reservations"] == ["rare types"]
    assert "this may be too small" in " ".join(survey_text(contents).split())
    assert any("uncertain" in one for one in words.warnings(contents))


@pytest.mark.parametrize(
    ("kind", "code"), [("none", "no signal"), ("drift", "known"), ("regimes", "fitted")]
)
def test_a_verdict_says_by_a_code_what_decided_and_is_written_in_words(kind, code):
    found = survey_of(kind).verdict
    assert found.code == code
    keys = ["informative", "summary", "recommended", "reason", "caution", "nearest"]
    assert list(found.to_dict()) == keys
    assert found.to_dict()["summary"] == found.summary
    assert found.summary[:40] in html.unescape(found._repr_html_())
