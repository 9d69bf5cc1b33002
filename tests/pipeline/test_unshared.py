"""Positions whose tokens no second document has: row ids, hashes, time stamps."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from tests.pipeline.test_verdict import planted

import gnomon
from gnomon.cli.app import run
from gnomon.distances.estimate import debias
from gnomon.errors import CountsError
from gnomon.pipeline.survey_file import survey_schema
from gnomon.report.text import survey_text

TYPES = 60


def rows(rng, documents: int, *kinds: str) -> list[str]:
    """Return documents with a token of each kind in turn: `id` is unique, `word` any word."""
    law = 1.0 / np.arange(1, TYPES + 1)
    words = rng.choice(TYPES, size=(documents, len(kinds)), p=law / law.sum())
    return [
        " ".join(
            f"{k}x{d}" if kind == "id" else f"w{w}"
            for k, (kind, w) in enumerate(zip(kinds, row, strict=True))
        )
        for d, row in enumerate(words)
    ]


def surveyed(corpus, **options):
    found = gnomon.survey(corpus, dimension=16, cache=False, **options)
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    jsonschema.validate(written, survey_schema())
    return found, written


def test_row_ids_are_told_as_what_they_are(rng):
    """Every token at position 0 is unique: its squared distance to the others is 2."""
    found, written = surveyed(rows(rng, 800, "id", *["word"] * 7))
    first = written["positions"][0]
    assert first["status"] == "unestimated"
    assert first["distinct"] is True
    assert "no token there is of a type seen in a second group" in first["reason"]
    assert first["unshared"]["plugin"] == pytest.approx(2.0)
    low, high = first["unshared"]["at_least"]["interval"]
    assert 1.5 < low <= high <= 2.0
    assert found.verdict.informative is True
    assert "Position 0 shares no token with a second group" in found.summary
    assert "show no dependence on position" not in found.summary
    said = survey_text(written)
    assert "masked (under 10 tokens): none" in said
    assert "not debiased: 0 (no token there" in said
    assert "0 masked (too few tokens), 1 not debiased" in " ".join(said.split())


@pytest.mark.parametrize(
    ("kinds", "apart"),
    [
        (["word", "word", "id", "word", "word"], [2]),
        (["word", "word", "word", "word", "id"], [4]),
        (["id", "word", "word", "id", "word", "word"], [0, 3]),
    ],
)
def test_they_are_found_wherever_they_stand(kinds, apart, rng):
    found, written = surveyed(rows(rng, 400, *kinds))
    status = [line["status"] for line in written["positions"]]
    assert [k for k, one in enumerate(status) if one == "unestimated"] == apart
    assert [one.position for one in found.noise.unshared] == apart
    assert all(one.distinct for one in found.noise.unshared)
    assert found.verdict.informative is True


def test_the_other_positions_keep_their_own_geometry(rng):
    """Ids before documents of three regimes: the verdict is that of the regimes, moved by one."""
    texts = [
        " ".join([f"id{k}", *(f"w{t}" for t in row)])
        for k, row in enumerate(planted("regimes", rng))
    ]
    found, _ = surveyed(texts, length=21)
    assert found.noise.pattern.kind == "blocks"
    assert found.noise.pattern.positions.tolist() == [1, 8, 15]
    assert found.verdict.recommended == "mds-low-rank"
    assert "Position 0 shares no token" in found.summary


def test_the_lower_bound_is_one_for_laws_that_are_known(rng):
    """Ids against a word that is always the same: 2 with all types, and 2 where ids are merged."""
    texts = [f"i{k} a b a" for k in range(300)]
    found, _ = surveyed(texts)
    one = found.noise.unshared[0]
    assert one.at_least.value == pytest.approx(2.0, abs=0.05)
    assert one.at_least.interval[0] <= 2.0


def test_where_only_one_position_is_left_the_reason_is_the_true_one(rng):
    found, _ = surveyed(rows(rng, 300, "id", "word"))
    assert found.verdict.informative is True
    assert "no token is of a type seen in a second group" in found.measured.reason
    assert "at least 3 folds" not in found.measured.reason
    with pytest.raises(CountsError, match="of a type seen in a second group"):
        debias(gnomon.count(rows(rng, 300, "id", "word"), cache=False))


def test_a_position_of_few_tokens_that_shares_none_by_chance_is_not_called_different(rng):
    """Words from a long list: the last position has eleven tokens, each of them new."""
    texts = [" ".join(f"w{w}" for w in rng.integers(0, 40, 6)) for _ in range(600)]
    texts = [
        f"{text} rare{k}" if k < 11 else text.rsplit(" ", 1)[0] + f" {'rare' if k % 9 else 'w'}{k}"
        for k, text in enumerate(texts)
    ]
    found, written = surveyed(texts, shuffles=0)
    last = written["positions"][6]
    assert last["status"] == "unestimated"
    assert ("as row ids do" in found.summary) == bool(last["distinct"])


def test_no_order_stays_no_order_where_a_late_position_shares_nothing():
    """Rare words anywhere, so that late positions of few tokens share none: no alarms."""
    alarms = 0
    for seed in range(12):
        rng = np.random.default_rng([5, seed])
        texts = []
        for _ in range(250):
            size = 6 if rng.random() > 0.05 else 7
            words = rng.integers(0, 30, size)
            new = rng.random(size) < 0.5
            texts.append(
                " ".join(
                    f"n{rng.integers(10**9)}" if x else f"w{w}"
                    for x, w in zip(new, words, strict=True)
                )
            )
        found = gnomon.survey(texts, dimension=8, cache=False, minimum_count=3)
        alarms += found.verdict.informative is True
    assert alarms <= 3


def test_the_page_of_such_a_survey_can_be_made_again(rng, tmp_path):
    corpus = tmp_path / "ids.txt"
    corpus.write_text("\n".join(rows(rng, 400, "id", *["word"] * 5)))
    out = tmp_path / "out"
    assert run(["survey", str(corpus), "--out", str(out), "--no-cache", "-q"]) == 0
    assert run(["report", str(out), "--out", str(tmp_path / "page.html"), "-q"]) == 0
    assert "no token there is of a type seen" in (tmp_path / "page.html").read_text()
