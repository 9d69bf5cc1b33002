"""What was decided while reading is noted: replaced letters, the column, the header."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.corpus.counting import count
from gnomon.corpus.reading.text import table_advice
from gnomon.corpus.tokenizers import Words

NUCLEOTIDES = set("ACGTNURYSWKMBDHV")
REPLACED = re.compile(r"([\d,]+) of ([\d,]+) letters \((.*) %\) are not in the alphabet 'dna'")


def replacements(counts) -> tuple[int, int]:
    """Return what the one note on replaced letters says; zeros where there is none."""
    found = [match for note in counts.notes if (match := REPLACED.match(note))]
    assert len(found) <= 1
    return tuple(int(n.replace(",", "")) for n in found[0].groups()[:2]) if found else (0, 0)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text("ACGTacgtn xyz,E-é", min_size=1), min_size=1, max_size=20))
def test_replaced_letters_are_counted_as_a_plain_loop_counts_them(texts):
    letters = [c for text in ["ACGT", *texts] for c in text if not c.isspace()]
    unknown = sum(c.upper() not in NUCLEOTIDES for c in letters)
    found = count(["ACGT", *texts], tokenizer="dna", errors="replace", minimum_count=1, cache=False)
    assert replacements(found) == ((unknown, len(letters)) if unknown else (0, 0))


def test_many_replaced_letters_cast_doubt_on_the_options_and_few_do_not(tmp_path):
    few = count(["ACGT" * 25, "ACGT" * 24 + "ACGE"], tokenizer="dna", errors="replace")
    assert few.notes == (
        "1 of 200 letters (0.5 %) are not in the alphabet 'dna' and were replaced by N",
    )
    many = count(["ACGTE", "ACGTA"] * 20, tokenizer="dna", errors="replace")
    assert many.notes[0].startswith("20 of 200 letters (10.0 %) are not in the alphabet")
    assert many.notes[0].endswith("the wrong --tokenizer, --format or --column")
    rare = count(["ACGT" * 500, "E" + "ACGT" * 500], tokenizer="dna", errors="replace")
    assert "1 of 4,001 letters (under 0.1 %)" in rare.notes[0]
    assert count(["ACGT"] * 20, tokenizer="dna", errors="replace").notes == ()


@pytest.mark.parametrize("batches", [1, 3])
def test_a_note_on_replaced_letters_survives_the_token_cache(tmp_path, batches):
    """Read, read again from the cache, and without it: one and the same note."""
    path = tmp_path / "letters.txt"
    rows = 2000 * batches
    path.write_text("ACGTACGTE\n" * rows, encoding="utf-8")
    options = {"tokenizer": "dna", "errors": "replace"}
    first, second = count(path, **options), count(path, **options)
    assert replacements(first) == (rows, 9 * rows)
    assert first.notes == second.notes == count(path, cache=False, **options).notes


@pytest.mark.data
def test_the_labels_of_splice_read_as_dna_are_counted(data_root):
    path = data_root / "splice" / "splice.data"
    letters = [c for c in path.read_text(encoding="utf-8") if not c.isspace()]
    unknown = sum(c.upper() not in NUCLEOTIDES for c in letters)
    found = count(path, tokenizer="dna", errors="replace")
    assert replacements(found) == (unknown, len(letters))
    assert "probably the wrong --tokenizer, --format or --column" in found.notes[0]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_the_column_of_a_table_and_its_header_are_noted_and_the_cache_keeps_them(
    tmp_path, suffix, monkeypatch
):
    table = pd.DataFrame({"label": [0, 1] * 10, "sentence": ["good film", "bad film"] * 10})
    path = tmp_path / f"t.{suffix}"
    table.to_csv(path, sep="\t" if suffix == "tsv" else ",", index=False)
    note = "column 'sentence' of 2 (label, sentence); the first row is the header"
    first = count(path, tokenizer="words")
    monkeypatch.setattr(Words, "encode", None)  # from here on only the cache can answer
    for found in (first, count(path, tokenizer="words")):
        assert (found.rows, found.notes) == (len(table), (note,))
    monkeypatch.undo()


def test_a_first_row_that_looks_like_a_document_is_said_to_without_its_text(tmp_path):
    path = tmp_path / "t.tsv"
    rows = [f"a stirring , funny and finally number {k} film\t{k % 2}" for k in range(20)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = count(path, tokenizer="words")
    (note,) = found.notes
    assert found.rows == len(rows) - 1
    assert note.startswith("column 0 of 2 (counted from 0); the first row was taken for the header")
    assert note.endswith("if there is no header, pass --column 0")
    assert "stirring" not in note
    found = count(path, tokenizer="words", column=0)
    assert found.rows == len(rows)
    assert found.notes == (
        "column 0 of 2 (counted from 0); there is no header, so the first row is a document, too",
    )


@pytest.mark.data
@pytest.mark.wide
def test_the_headless_table_of_sst2_is_noted_and_the_one_with_a_header_is_too(data_root):
    headless = count(data_root / "sst2" / "whole-sentences.tsv", tokenizer="words")
    lines = (data_root / "sst2" / "whole-sentences.tsv").read_bytes().splitlines()
    assert headless.rows == len(lines) - 1
    assert "looks like a document: if there is no header, pass --column 0" in headless.notes[0]
    headed = count(data_root / "sst2" / "dev.tsv", tokenizer="words")
    assert headed.notes == ("column 'content' of 2 (label, content); the first row is the header",)


def test_of_several_files_the_first_is_described(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("text,label\n" + "x y,1\n" * 20, encoding="utf-8")
    found = count(tmp_path / "*.csv", tokenizer="words")
    assert found.rows == 40
    assert found.notes == (
        "column 'text' of 2 (text, label); the first row is the header (the first of 2 files)",
    )


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "saved"])
def test_a_column_that_was_not_named_is_noted_and_a_named_one_is_not(tmp_path, kind):
    values = {"id": ["a", "b"] * 10, "text": ["x y", "y x"] * 10, "label": [1, 2] * 10}
    path = tmp_path / f"t.{kind}"
    if kind == "jsonl":
        records = pd.DataFrame(values).to_dict("records")
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    elif kind == "parquet":
        pq.write_table(pa.table(values), path)
    else:
        datasets = pytest.importorskip("datasets")
        datasets.Dataset.from_dict(values).save_to_disk(path)
    assert count(path, tokenizer="words").notes == ("column 'text' of 3 (id, text, label)",)
    assert count(path, tokenizer="words", column="text").notes == ()


def test_many_and_long_names_are_cut_short(tmp_path):
    names = ["text", "n" * 60, *(f"c{k}" for k in range(20))]
    record = dict.fromkeys(names, "x y")
    path = tmp_path / "t.jsonl"
    path.write_text((json.dumps(record) + "\n") * 20, encoding="utf-8")
    (note,) = count(path, tokenizer="words").notes
    assert note == f"column 'text' of 22 (text, {'n' * 37}..., c0, c1, c2, c3, c4, c5, ...)"


def letters_of(alphabet: str):
    def letters(text: str) -> int | None:
        seen = text.split()
        return None if set("".join(seen)) - set(alphabet) else len("".join(seen))

    return letters


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["EI,ACGT", "IE,GGTT"], "2 columns separated by commas, so pass --format csv --column 1"),
        (["ACGT\tE 1", "TT\tI"], "2 columns separated by tabs, so pass --format tsv --column 0"),
        (["name,dna", "x,ACGT"], 'so pass --format csv --column "dna"'),
        (["AC,ACGT,x", "A,GGTT,y"], "--column 1"),
        (["EI,ACGT", "ACGT"], None),
        (["E-1,F-2", "E-3,F-4"], None),
        (["ACGTE", "ACGTF"], None),
        ([], None),
        (["", "  "], None),
    ],
)
def test_lines_that_are_rows_of_a_table_are_told_from_others(texts, said):
    found = table_advice(texts, letters_of("ACGTN"))
    assert (found is None) if said is None else (said in found), found


def test_a_protein_of_nucleotides_only_is_taken_for_dna(rng):
    bases = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(300)]
    found = count(bases, tokenizer="protein")
    (remark,) = [r for r in found.remarks if "DNA" in r]
    assert "only the letters A, C, G, T occur" in remark
    assert "--tokenizer dna" in remark
    assert remark in found.to_dict()["notes"]
    assert count(bases, tokenizer="dna").remarks == ()
    amino = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 30)) for _ in range(300)]
    assert count(amino, tokenizer="protein").remarks == ()
    few = count(["ACGT"] * 20, tokenizer="protein")  # 80 letters may lack the others by chance
    assert not any("DNA" in remark for remark in few.remarks)


def test_replacing_what_need_not_be_replaced_changes_nothing():
    texts = ["ACGTN", "NNRYA"] * 10
    strict, loose = (count(texts, tokenizer="dna", errors=e) for e in ("strict", "replace"))
    np.testing.assert_array_equal(strict.blocks.toarray(), loose.blocks.toarray())
    assert strict.notes == loose.notes == ()
