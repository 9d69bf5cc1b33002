"""Cards keep their word: proofs that exist, sources that are known, levels in words."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from gnomon.encodings.card import FRAMEWORKS, LEVELS, Card
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.sources import SOURCES

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"vectors", "transform", "bias", "content"}


def cards_of(name: str) -> list[Card]:
    """The card of an entry and those of its examples, which may differ by their parameters."""
    entry = ENTRIES[name]
    return [entry.card, *(encoding(name, **example).card for example in entry.examples)]


@cache
def named_tests(file: str) -> frozenset[str]:
    """The names of the test functions of a file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def missing_proofs(card: Card) -> list[str]:
    """Proofs whose test is not there."""
    split = (proof.test.split("::") for proof in card.proofs)
    return [f"{file}::{test}" for file, test in split if test not in named_tests(file)]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_proof_on_a_card_is_a_test_that_exists(name):
    missing = [proof for card in cards_of(name) for proof in missing_proofs(card)]
    assert not missing, missing


def test_a_proof_without_its_test_is_seen():
    from gnomon.encodings.card import proofs_of

    card = ENTRIES["nope"].card
    lost = proofs_of(("nothing", "laws/test_laws_of_scores.py", "test_that_is_not_there"))
    planted = Card(**{**vars(card), "proofs": lost})
    assert missing_proofs(planted) == ["tests/laws/test_laws_of_scores.py::test_that_is_not_there"]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_card_has_a_proof_and_a_known_source(name):
    for card in cards_of(name):
        assert card.proofs, card.name
        assert card.source in SOURCES, card.source


@pytest.mark.parametrize("name", ENTRIES)
def test_every_card_speaks_the_words_of_the_catalogue(name):
    levels = {f"{level} {words}" for level, words in LEVELS.items()}
    for card in cards_of(name):
        assert card.level in levels
        assert set(card.kind) <= KINDS
        assert set(card.frameworks) <= set(FRAMEWORKS)
        assert card.formula
        assert card.extrapolation


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.examples])
def test_examples_have_the_name_and_kinds_of_their_card(name):
    for example in ENTRIES[name].examples:
        made = encoding(name, **example)
        assert made.name == name
        assert set(made.card.kind) == set(made.kinds)


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.examples])
def test_every_entry_with_examples_is_known_to_the_oracle(name):
    from gnomon import oracle

    for example in ENTRIES[name].examples:
        known = oracle.definition_of(encoding(name, **example))
        assert any((known.vectors, known.transform, known.bias, known.content))


def test_only_what_needs_data_has_no_examples():
    without = [name for name, entry in ENTRIES.items() if not entry.examples]
    assert without == ["table", "mds", "mds-low-rank", "smacof"]
