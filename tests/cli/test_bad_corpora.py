"""A corpus that cannot be read gets one sentence, exit code 2, and nothing on the disk."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.corpus.reading import streams as opening


def test_a_missing_file_is_named_with_the_nearest_one(refused, corpus: Path) -> None:
    sentence = refused("survey", corpus.with_name("korpus.txt"))
    assert sentence.endswith(
        "korpus.txt does not exist; did you mean 'corpus.txt'? Check the path."
    )


@pytest.mark.parametrize("content", ["", "\n\n\n", "   \n \t \n"])
def test_an_empty_corpus_is_called_empty(refused, tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.txt"
    path.write_text(content, encoding="utf-8")
    sentence = refused("survey", path)
    assert "empty.txt" in sentence
    assert "hold" in sentence
    assert "no document" in sentence or "0 tokens" in sentence


def test_a_wrong_column_of_a_table_is_answered_with_the_columns_there_are(
    refused, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("text,label\n" + "".join(f"{line},1\n" for line in lines), encoding="utf-8")
    sentence = refused("survey", path, "--column", "txet")
    assert sentence.endswith(
        "table.csv has no column 'txet'; did you mean 'text'? Known: label, text; "
        "choose one with --column."
    )


def test_a_wrong_column_of_a_parquet_file_is_answered_with_the_columns_there_are(
    refused, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"text": lines, "label": list(range(200))}), path)
    sentence = refused("survey", path, "--column", "body")
    assert "table.parquet has no column 'body'; known: label, text" in sentence


def test_a_wrong_field_is_answered_with_the_fields_there_are(
    refused, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(json.dumps({"text": t, "id": 1}) for t in lines), encoding="utf-8")
    sentence = refused("survey", path, "--column", "tex")
    assert "line 1: there is no field 'tex'; did you mean 'text'? Known: id, text" in sentence


def test_undecodable_bytes_are_found_by_row_and_byte_and_can_be_replaced(
    refused, call, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "latin.txt"
    good = "\n".join(lines).encode()
    path.write_bytes(b"a b c d\n" * 3 + b"ab \xff c d\n" + good)
    sentence = refused("survey", path)
    assert "latin.txt, line 4: byte 3 (counted from 0) is 0xff and not UTF-8" in sentence
    assert "--errors replace" in sentence
    assert call("survey", path, "--errors", "replace", "-q").code == 0


def test_a_malformed_json_line_is_found_by_its_number(refused, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"text": "a b"}\n{"text": "a b"\n', encoding="utf-8")
    sentence = refused("survey", path)
    assert "records.jsonl, line 2 is not JSON (Expecting ',' delimiter at character" in sentence
    assert "mend the line" in sentence


@pytest.mark.parametrize("damage", ["cut", "zeroed"])
def test_a_damaged_parquet_file_is_called_that(
    refused, tmp_path: Path, lines: list[str], damage: str
) -> None:
    path = tmp_path / "damaged.parquet"
    pq.write_table(pa.table({"text": lines}), path)
    content = bytearray(path.read_bytes())
    content[20:200] = bytes(180)
    path.write_bytes(content[: len(content) // 2] if damage == "cut" else content)
    assert "damaged.parquet is not a whole Parquet file (" in refused("survey", path)


def test_ids_outside_the_vocabulary_are_found_by_their_row(refused, tmp_path: Path) -> None:
    path = tmp_path / "ids.npy"
    ids = np.ones((50, 8), np.int64)
    ids[11, 5] = 70
    np.save(path, ids)
    sentence = refused("survey", path, "--vocabulary", 64)
    assert "row 12 of" in sentence
    assert (
        "ids.npy holds id 70, outside the vocabulary of 64; pass the right --vocabulary" in sentence
    )


def test_a_vocabulary_is_refused_where_there_is_text(refused, corpus: Path) -> None:
    sentence = refused("survey", corpus, "--vocabulary", 64)
    assert sentence.startswith("--vocabulary bounds token ids, but ")
    assert sentence.endswith("holds text; leave --vocabulary out.")


def test_a_letter_outside_the_alphabet_is_found_by_file_and_document(
    refused, tmp_path: Path
) -> None:
    path = tmp_path / "genes.fasta"
    path.write_text(">a\nACGT\n>b\nACZT\n", encoding="utf-8")
    assert "genes.fasta: document 2 holds 'Z' as its character 3" in refused("survey", path)


def test_negative_ids_are_refused(refused, tmp_path: Path) -> None:
    path = tmp_path / "ids.npy"
    np.save(path, np.array([[1, 2], [3, -4]]))
    assert "-4" in refused("survey", path)


def test_a_decompression_bomb_is_refused_long_before_it_is_unpacked(
    refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 MB of equal lines in 50 kB, with 1 MiB instead of 64 as what any file may unpack to."""
    monkeypatch.setattr(opening, "SLACK", 1 << 20)
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(b"a b\n" * 12_500_000))
    sentence = refused("survey", path, "--limit-expansion", 100)
    found = re.search(r"more than 100 times its size \((\d+) bytes from (\d+)\)", sentence)
    assert found is not None, sentence
    assert int(found[1]) < 20 << 20
    assert sentence.endswith("if you trust it, raise --limit-expansion.")


def test_a_giant_line_is_refused_at_the_limit(refused, tmp_path: Path) -> None:
    path = tmp_path / "giant.txt"
    path.write_bytes(b"a b\n" + b"a b " * 1000 + b"\n")
    sentence = refused("survey", path, "--limit-line", 1000)
    assert (
        "giant.txt, line 2 is longer than 1000 bytes; if you trust it, raise --limit-line."
        in sentence
    )


def test_an_unknown_built_in_corpus_is_answered_with_the_nearest(refused) -> None:
    sentence = refused("survey", "three-regime")
    assert sentence.startswith("'three-regime' is neither a file nor a built-in corpus; ")
    assert "did you mean 'three-regimes'? Known: digits, python-stdlib, three-regimes" in sentence


def test_a_folder_without_files_is_refused(refused, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    assert "is a folder without readable files" in refused("survey", tmp_path / "nothing")


def test_containment_is_refused_for_ids(refused, tmp_path: Path) -> None:
    path = tmp_path / "ids.npy"
    np.save(path, np.ones((20, 4), np.int64))
    sentence = refused("survey", path, "--group", "contained")
    assert sentence.startswith("--group contained compares texts, but ")
    assert sentence.endswith("ids.npy holds token ids; leave --group out.")


def test_a_group_column_is_refused_where_there_are_no_columns(refused, corpus: Path) -> None:
    sentence = refused("survey", corpus, "--group", "author")
    assert "is read as text without columns, so --group means nothing; drop it" in sentence


def test_a_grid_refuses_a_length_that_is_not_its_own(refused, tmp_path: Path) -> None:
    path = tmp_path / "grid.npy"
    np.save(path, np.random.default_rng(0).integers(0, 5, (40, 4, 4)))
    sentence = refused("survey", path, "--length", 4)
    assert "grid.npy is a grid of 4x4 = 16 positions; leave --length and --window out." in sentence


def test_a_built_in_grid_refuses_a_length_when_it_is_asked_for_by_name(refused) -> None:
    assert refused("survey", "digits", "--length", 10).endswith("leave --length and --window out.")


def test_ids_refuse_a_tokenizer_that_has_no_ids(refused, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.ones((20, 4), np.int64))
    sentence = refused("survey", tmp_path / "ids.npy", "--tokenizer", "words")
    assert "holds token ids, and --tokenizer words has none of its own; pass the" in sentence


def test_a_text_that_is_called_an_array_is_refused(refused, corpus: Path) -> None:
    sentence = refused("survey", corpus, "--format", "npy")
    assert "is not a whole .npy array (it holds no plain numbers)" in sentence


def test_a_corpus_without_a_name_is_refused(refused) -> None:
    assert refused("survey", "").startswith("the corpus has an empty name; pass a path")


def test_standard_input_can_be_surveyed(
    start: Callable[..., subprocess.Popen[str]], call, corpus: Path, lines: list[str]
) -> None:
    """The same numbers as from the file of the same lines, where groups are the same.

    Equal by chance, as some of these lines are, are groups of their own where a corpus can be read
    again; of standard input that is asked for.
    """
    alone = ("--json", "-", "--group", "rows")
    with start("survey", "-", *alone, stdin=subprocess.PIPE) as process:
        out, err = process.communicate("\n".join(lines) + "\n")
    assert (process.returncode, err) == (0, "")
    piped, filed = json.loads(out), json.loads(call("survey", corpus, *alone).out)
    assert piped["corpus"]["digest"] == filed["corpus"]["digest"]
    for one, other in zip(piped["encodings"], filed["encodings"], strict=True):
        ours, theirs = one["stress"]["plugin"], other["stress"]["plugin"]
        assert ours["raw"] == pytest.approx(theirs["raw"], rel=1e-9, abs=1e-12)
    assert piped["corpus"]["source"] == "standard input"


def test_empty_standard_input_is_called_empty(start: Callable[..., subprocess.Popen[str]]) -> None:
    with start("survey", "-", stdin=subprocess.DEVNULL) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err == "gnomon: standard input holds no document; pass a corpus with at least one.\n"
