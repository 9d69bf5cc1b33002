"""`gnomon catalogue` and `gnomon card`: what there is, one of them, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gnomon.encodings.card import FRAMEWORKS, LEVELS
from gnomon.encodings.registry import ENTRIES
from gnomon.sources import SOURCES

PROMISED = (
    "name", "family", "level", "kind", "relative", "learnable", "causal_only", "source",
    "verified_against",
)  # fmt: skip
"""Keys of the JSON that other programs read."""


def listed(call, *arguments: object) -> list[dict]:
    called = call("catalogue", *arguments, "--json", "-")
    assert (called.code, called.err) == (0, "")
    return json.loads(called.out)


def refusal(call, *arguments: object) -> str:
    called = call(*arguments)
    assert (called.code, called.out) == (2, ""), called
    assert called.err.startswith("gnomon: ")
    assert called.err.count("\n") == 1
    return called.err.removeprefix("gnomon: ").rstrip("\n")


def test_the_catalogue_lists_every_entry_with_the_promised_keys(call) -> None:
    found = listed(call)
    assert [card["name"] for card in found] == list(ENTRIES)
    for card in found:
        assert set(PROMISED) <= set(card)
        level, _, words = card["level"].partition(" ")
        assert LEVELS[level] == words
        assert card["source"] in SOURCES
        assert set(card["frameworks"]) <= set(FRAMEWORKS)


def test_the_table_has_one_line_per_encoding(call) -> None:
    header, *lines, last = call("catalogue").out.splitlines()
    assert header.split() == ["name", "family", "kind", "level", "notes", "source"]
    assert [line.split()[0] for line in lines] == list(ENTRIES)
    assert last == f"{len(ENTRIES)} encodings; `gnomon card NAME` says more of one."


def test_catalog_is_the_same_verb_and_stays_out_of_the_help(call) -> None:
    assert call("catalog").out == call("catalogue").out
    shown = call("--help").out
    assert "\n  catalogue " in shown
    assert "\n  catalog " not in shown


@pytest.mark.parametrize("level", ["L1", "l1", "1", "L1 augmented group"])
def test_a_level_may_be_written_in_four_ways(call, level: str) -> None:
    assert "alibi" in [card["name"] for card in listed(call, "--level", level)]


@pytest.mark.parametrize(
    ("option", "value", "inside", "outside"),
    [
        ("--family", "rotary", "rope", "alibi"),
        ("--level", "L6", "sinusoidal", "rope"),
        ("--kind", "bias", "alibi", "sinusoidal"),
        ("--framework", "numpy", "rope", None),
    ],
)
def test_a_filter_keeps_what_is_asked_for(call, option, value, inside, outside) -> None:
    names = [card["name"] for card in listed(call, option, value)]
    assert inside in names
    assert outside not in names


def test_filters_narrow_each_other(call) -> None:
    found = {card["name"] for card in listed(call, "--kind", "transform", "--level", "L0")}
    kinds = {card["name"] for card in listed(call, "--kind", "transform")}
    levels = {card["name"] for card in listed(call, "--level", "L0")}
    assert found == kinds & levels


def test_a_choice_that_nothing_meets_is_said_in_words(call) -> None:
    called = call("catalogue", "--family", "rotary", "--kind", "content")
    assert called.code == 0
    assert called.out == "no encoding of the catalogue is all of that; ask for less.\n"
    assert listed(call, "--family", "rotary", "--kind", "content") == []


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--family", "rotery", "There is no family 'rotery': did you mean 'rotary'? Known: "),
        ("--level", "L9", "There is no level 'L9': known: L0 strict group; L1 aug"),
        ("--level", "L0 wrong words", "There is no level 'L0 wrong words': "),
        ("--kind", "vector", "There is no kind 'vector': did you mean 'vectors'? Known: bias, "),
        ("--framework", "pytorch", "There is no framework 'pytorch': did you mean 'torch'?"),
    ],
)
def test_a_word_that_is_no_choice_is_answered_with_the_nearest(
    call, option: str, value: str, sentence: str
) -> None:
    assert refusal(call, "catalogue", option, value).startswith(sentence)


def test_a_card_says_formula_level_source_and_proofs(call) -> None:
    out = call("card", "rope").out
    assert out.startswith("rope\n  q~ = R_i q, k~ = R_j k")
    assert "\nlevel          L0 strict group\n" in out
    assert "RoFormer" in out
    assert "dimension (needed)" in out
    assert "::test_rotation_equals_multiplication_by_complex_numbers" in out.replace("\n", "")


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_has_a_card_in_text_and_json(call, name: str) -> None:
    called = call("card", name)
    assert (called.code, called.err) == (0, "")
    assert called.out.splitlines()[0] == name
    found = json.loads(call("card", name, "--json", "-").out)
    assert set(PROMISED) <= set(found)
    assert found["citation"] == SOURCES[found["source"]]
    assert found["made_with"] is None
    assert set(found["needs"]) <= set(found["parameters"])


def test_a_card_with_parameters_is_that_of_the_encoding_they_make(call) -> None:
    """Symmetric ALiBi leaves the group: its kink at lag 0 is in no augmented group."""
    plain = json.loads(call("card", "alibi", "--json", "-").out)
    given = ("-p", "heads=12", "-p", "symmetric=true")
    found = json.loads(call("card", "alibi", *given, "--json", "-").out)
    assert (plain["level"], found["level"]) == ("L1 augmented group", "L5 relative, not separable")
    assert (plain["causal_only"], found["causal_only"]) == (True, False)
    assert found["made_with"]["heads"] == 12


def test_a_table_has_a_card_of_its_own(call, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.eye(5))
    out = call("card", tmp_path / "rows.npy", "--figure", tmp_path / "card.html").out
    assert out.startswith("table\n")
    assert (tmp_path / "card.html").stat().st_size > 1_000_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rop",), "There is no encoding 'rop': did you mean 'rope'?"),
        (("rope", "-p", "dimension=7"), "dimension is 7"),
        (
            ("rope", "-p", "dimension=8", "-p", "base=-1"),
            "base is -1; pass a finite number above 0",
        ),
        (("rope", "-p", "dimensions=8"), "no parameter 'dimensions': did you mean 'dimension'?"),
        (
            ("rope", "-p", "dimension"),
            "--parameter 'dimension' has no '='; write it like heads=12.",
        ),
        (("alibi", "-p", "slopes=[1, 2"), "--parameter 'slopes=[1, 2' is no JSON; write it like "),
        (
            ("rope", "--figure", "card.png"),
            "--figure card.png is no HTML file; give it a name that",
        ),
        (("rope", "--figure", "."), ". is a folder; name a file with --figure"),
        (("rope", "--figure", "no/such/card.html"), "there is no folder no/such; make it first"),
        (("none.npy",), "none.npy"),
        (("rope", "--json", "no/such/card.json"), "there is no folder no/such; make it first"),
    ],
)
def test_a_card_that_can_not_be_shown_is_refused_in_one_sentence(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in refusal(call, "card", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_card_goes_to_json_and_page_at_once_and_quiet_prints_nothing(call, tmp_path) -> None:
    page, data = tmp_path / "card.html", tmp_path / "card.json"
    called = call("card", "sinusoidal", "--figure", page, "--json", data, "-q")
    assert (called.code, called.out, called.err) == (0, "", "")
    assert json.loads(data.read_text("utf-8"))["made_with"]["dimension"] == 64
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize("verb", ["catalogue", "catalog", "card"])
def test_both_verbs_have_help(call, verb: str) -> None:
    called = call(verb, "-h")
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith(f"Usage: gnomon {verb}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("rope", "-p", "dimension=8", "-p", "dimension=16"),
            "--parameter dimension is given twice; keep the right one.",
        ),
        (("rope", "-p", "=8"), "--parameter '=8' has no name; write it like heads=12."),
        (
            ("rope", "-p", "name=x"),
            "--parameter 'name=x' is no parameter; the encoding is named by the argument.",
        ),
        (
            ("rope", "-p", "make=1"),
            (
                "The encoding 'rope' has no parameter 'make': did you mean 'base'? Known: axes, "
                "base, dimension, fraction, layout, scaling."
            ),
        ),
        (
            ("m-rope", "-p", "sections=4,2,2"),
            (
                "--parameter 'sections=4,2,2' is a list without brackets; write it like "
                "sections=[4,2,2]."
            ),
        ),
        (
            ("table", "--figure", "card.html"),
            (
                "A table is drawn from its file; name that instead, as in `gnomon card vectors.npy "
                "--figure card.html`."
            ),
        ),
        (
            ("mds", "--figure", "card.html"),
            (
                "The encoding 'mds' is fitted to a corpus; make it with `gnomon fit CORPUS --out "
                "encoding.safetensors` and name that file instead."
            ),
        ),
    ],
)
def test_a_card_that_can_not_be_made_as_asked_is_refused_in_words(call, arguments, sentence):
    assert refusal(call, "card", *arguments) == sentence


def test_every_entry_is_drawn_or_refused_with_the_file_to_name() -> None:
    from gnomon.cli.catalogue import FITTED
    from gnomon.encodings.registry import takes

    assert set(FITTED) == {name for name in ENTRIES if "geometry" in takes(name)}
