"""Typical tokens: shown only when asked, and those that a brute-force ranking finds."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.cli.app import run
from gnomon.pipeline.surveys import MOST_POSITIONS, MOST_TOKENS, typical_tokens


def test_typical_tokens_are_those_that_add_most_to_the_distance_from_the_rest(
    rng: np.random.Generator,
) -> None:
    """Each term (sqrt p - sqrt q)^2 by hand, over 6 positions and 30 tokens."""
    array = rng.integers(0, 40, (6, 30))
    counts = gnomon.PositionCounts.from_array(array, minimum_count=1)
    for found in typical_tokens(counts, list(range(6))):
        here = array[found["index"]]
        rest = array.sum(axis=0) - here
        terms = {
            f"id {v}": (sqrt(here[v] / here.sum()) - sqrt(rest[v] / rest.sum())) ** 2
            for v in range(30)
            if here[v] / here.sum() > rest[v] / rest.sum()
        }
        best = sorted(terms, key=lambda token: -terms[token])[:MOST_TOKENS]
        assert [one["token"] for one in found["typical"]] == best
        first = int(best[0].removeprefix("id "))
        assert found["typical"][0]["share"] == here[first] / here.sum()
        assert found["typical"][0]["elsewhere"] == rest[first] / rest.sum()


def test_of_many_positions_the_most_unlike_are_kept_in_their_order() -> None:
    array = np.full((20, 4), 100)
    array[5:19, 0] += np.arange(14) * 50
    counts = gnomon.PositionCounts.from_array(array, minimum_count=1)
    found = typical_tokens(counts, list(range(20)))
    assert len(found) == MOST_POSITIONS
    assert [one["index"] for one in found] == sorted(one["index"] for one in found)
    assert {16, 17, 18} <= {one["index"] for one in found}


def test_bins_are_named_by_their_first_and_last_position() -> None:
    array = np.array([[9, 1], [9, 1], [1, 9], [1, 9], [5, 5], [5, 5]])
    counts = gnomon.PositionCounts.from_array(array, minimum_count=1).binned(2)
    assert [(t["first"], t["last"]) for t in typical_tokens(counts, [0, 1])] == [(0, 1), (2, 3)]


@pytest.fixture
def greetings(tmp_path: Path) -> Path:
    """Letters that begin with one of two words found nowhere else."""
    rng = np.random.default_rng(2)
    rows = [" ".join([["Dear", "Hello"][i % 2], *rng.choice(list("abcde"), 9)]) for i in range(400)]
    path = tmp_path / "letters.txt"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_tokens_are_shown_only_when_asked_for(greetings: Path, tmp_path: Path, capfd) -> None:
    for name, option in (("plain", ()), ("shown", ("--show-tokens",))):
        out = tmp_path / name
        assert run(["survey", str(greetings), "--dimension", "8", "--out", str(out), *option]) == 0
    plain = [(tmp_path / "plain" / f).read_text("utf-8") for f in ("survey.json", "report.html")]
    assert not any("Hello" in text or '"tokens": [' in text for text in plain)
    contents = json.loads((tmp_path / "shown" / "survey.json").read_text("utf-8"))
    first = contents["tokens"][0]
    assert first["index"] == 0
    assert {one["token"] for one in first["typical"]} >= {"Dear", "Hello"}
    assert first["typical"][0]["share"] == pytest.approx(0.5)
    assert "<code>Hello</code>" in (tmp_path / "shown" / "report.html").read_text("utf-8")
    capfd.readouterr()
