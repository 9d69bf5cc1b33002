"""The records that are kept, and the reference scale: shape, and verdicts derived again."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gnomon.report.text import cell
from gnomon.reproduce.registry import reproduce

Record = dict[str, Any]
RECORDS = Path(__file__).resolve().parents[2] / "benchmarks" / "records"
NAMES = ("figure1", "figure2", "figure4", "remark8")
CORPORA = ("synthetic", "sst2-sentences", "sst2-contained", "imdb")
ALL = [f"{name}-{corpus}" for name, corpus in product(NAMES, CORPORA)]
DIMENSION = 128
"""Of the encodings of a survey; MDS of n positions is exact from n - 1 on."""
PRIVATE = re.compile(r"""(?:^|[\s"'=])(?:/\w|[A-Z]:\\|~|\.\./)""")
"""A path from the root of somebody's machine, or out of the folder of the data."""
COMPARISONS = {
    "==": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def load(stem: str) -> Record:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = (RECORDS / f"{stem}.json").read_text(encoding="utf-8")
    record: Record = json.loads(text, parse_constant=refuse)
    return record


def outcome(pieces: list[dict[str, Any]]) -> str:
    """Judge again, without the code that judged: all, none, or some comparisons are true."""
    readings = [
        COMPARISONS[piece["relation"]](value, bound)
        for piece in pieces
        for value, bound in zip(piece["values"], piece["bounds"], strict=True)
    ]
    if not readings:
        return "untested here"
    return "holds" if all(readings) else "depends" if any(readings) else "does not hold"


@pytest.mark.parametrize("stem", ALL)
def test_a_record_has_what_it_promises(stem: str) -> None:
    record = load(stem)
    assert record["schema_version"] == 1
    assert stem.startswith(record["name"])
    assert record["source"] == "cirrincione2026"
    for row in record["rows"]:
        assert set(row) == {"what", "published", "ours", "group", "reasons"}
        for column, value in row["ours"].items():
            assert value is not None or row["reasons"][column]
    for verdict in record["verdicts"]:
        assert verdict["holds"] in ("holds", "does not hold", "depends", "untested here")
        assert verdict["reason"]


@pytest.mark.parametrize("stem", ALL)
def test_a_record_is_small_and_names_no_private_place(stem: str) -> None:
    text = (RECORDS / f"{stem}.json").read_text(encoding="utf-8")
    assert len(text) < 60_000
    assert not PRIVATE.search(text)
    record = json.loads(text)
    assert record["provenance"]["command"].startswith(f"gnomon reproduce {record['name']}")


@pytest.mark.parametrize("stem", ALL)
def test_every_verdict_follows_from_the_numbers_of_its_record(stem: str) -> None:
    record = load(stem)
    (corpus,) = record["corpora"].values()
    derived = {claim: outcome(pieces) for claim, pieces in corpus["evidence"].items()}
    assert derived == {verdict["claim"]: verdict["holds"] for verdict in record["verdicts"]}


@pytest.mark.parametrize("stem", [stem for stem in ALL if stem.startswith("figure4")])
def test_the_numbers_in_the_reasons_are_those_of_the_rows(stem: str) -> None:
    """Raw stress of the sinusoid at the largest dimension stands in both."""
    record = load(stem)
    last = next(row for row in record["rows"] if row["what"] == "d = 1024")["ours"]["sinusoid raw"]
    value = last["mean"] if isinstance(last, dict) else last
    reason = next(v["reason"] for v in record["verdicts"] if "misaligned" in v["claim"])
    assert cell(value) in reason


@pytest.mark.parametrize("corpus", ["sst2-sentences", "sst2-contained", "imdb"])
def test_records_of_one_corpus_agree_with_each_other_and_with_table4(corpus: str) -> None:
    """All count and debias the same corpus with the same seed."""
    found = [next(iter(load(f"{name}-{corpus}")["corpora"].values())) for name in NAMES]
    found.append(next(iter(load(f"table4-{corpus}")["corpora"].values())))
    assert len({one["corpus"]["digest"] for one in found}) == 1
    assert len({one["debiased"]["rank"] for one in found}) == 1
    means = [one["debiased"]["mean_squared"]["value"] for one in found]
    assert means == pytest.approx([means[0]] * len(means), rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_reproduction_has_the_verdicts_of_the_record(name: str) -> None:
    """On other seeds, and fewer: what depends on the seed of ten may not depend on that of two."""
    fresh = {one.claim: one.holds for one in reproduce(name, seed=100, seeds=2).verdicts}
    kept = {one["claim"]: one["holds"] for one in load(f"{name}-synthetic")["verdicts"]}
    assert fresh.keys() == kept.keys()
    settled = {claim: holds for claim, holds in kept.items() if holds != "depends"}
    assert settled
    assert {claim: fresh[claim] for claim in settled} == settled


@pytest.mark.data
@pytest.mark.wide
@pytest.mark.parametrize("name", ["figure1", "remark8"])
def test_sst2_again_has_the_verdicts_and_numbers_of_the_record(name: str, data_root: Path) -> None:
    report = reproduce(
        name,
        data_root / "sst2" / "whole-sentences.tsv",
        column="0",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=64,
        seeds=10,
    ).to_dict()
    record = load(f"{name}-sst2-sentences")
    assert [v["holds"] for v in report["verdicts"]] == [v["holds"] for v in record["verdicts"]]
    for ours, kept in zip(report["rows"], record["rows"], strict=True):
        for column, value in kept["ours"].items():
            if isinstance(value, float):
                assert ours["ours"][column] == pytest.approx(value, rel=1e-6, abs=1e-12)


# -- the reference scale -------------------------------------------------------------------------


def scale() -> dict[str, Any]:
    text = files("gnomon.report").joinpath("reference.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_reference_scale_has_the_documented_corpora() -> None:
    found = scale()
    assert found["made_by"] == "python scripts/make_gallery.py DATA"
    assert [one["name"] for one in found["corpora"]] == [
        "three-regimes",
        "sst2",
        "imdb",
        "promoters",
        "splice",
        "python-stdlib",
        "digits",
    ]


def test_every_corpus_of_the_reference_scale_has_its_figures() -> None:
    for one in scale()["corpora"]:
        assert one["what"]
        assert one["informative"] is True
        assert one["mean_squared"]["plugin"] > one["mean_squared"]["debiased"] > 0.0
        low, high = one["mean_squared"]["interval"]
        assert low < one["mean_squared"]["debiased"] < high
        assert 1 <= one["rank"] < one["positions"]
        assert {"sinusoidal", "rope", "alibi", "mds"} <= {e["label"] for e in one["encodings"]}


def test_stress_of_the_reference_scale_is_scale_free_and_rope_is_the_sinusoid() -> None:
    for one in scale()["corpora"]:
        kernel = {e["label"]: e for e in one["encodings"] if e["lift"] == "kernel"}
        for entry in one["encodings"]:
            figures = [entry[key] for key in ("scale_free", "debiased", "squared")]
            assert all(value is None or 0.0 <= value <= 1.0 for value in figures)
            assert entry["skill"] is not None or entry["reason"]
        assert kernel["rope"]["debiased"] == kernel["sinusoidal"]["debiased"]
        if one["positions"] - 1 <= DIMENSION:
            assert kernel["mds"]["scale_free"] == 0.0


def test_the_gallery_holds_the_same_numbers_as_the_reference_scale() -> None:
    folder = Path(__file__).resolve().parents[2] / "docs" / "gallery"
    for one in scale()["corpora"]:
        text = (folder / f"{one['name']}.json").read_text(encoding="utf-8")
        assert not PRIVATE.search(text)
        kept = json.loads(text)
        squared = kept["geometry"]["mean_squared"]
        assert one["mean_squared"] == {key: squared[key] for key in one["mean_squared"]}
        assert one["tokens"] == kept["corpus"]["tokens"]
        assert kept["provenance"]["command"].startswith("gnomon survey")


def test_the_page_of_the_gallery_shows_what_its_files_say() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "gallery.md").read_text(encoding="utf-8")
    for one in scale()["corpora"]:
        value = one["mean_squared"]["debiased"]
        assert f"| [{one['name']}](#{one['name']}) | {one['positions']} |" in page
        assert f"| {value:.3f} [" in page
        assert f"gallery/{one['name']}.json" in page


def test_pictures_of_the_gallery_are_small() -> None:
    folder = Path(__file__).resolve().parents[2] / "docs" / "gallery"
    for picture in folder.glob("*.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size <= 150_000
