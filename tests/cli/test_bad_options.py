"""An option that cannot be meant gets one sentence that names it, before anything is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.corpus import counting

NUMBERS = {
    ("--length", "0"): "--length is 0; a window holds at least 1 token.",
    ("--length", "-3"): "--length is -3; a window holds at least 1 token.",
    ("--top-k", "0"): "--top-k is 0; keep at least one type.",
    ("--minimum-count", "-1"): "--minimum-count is -1; it must be 0 or more.",
    ("--dimension", "0"): "--dimension is 0; it must be 1 or more.",
    ("--rank", "-2"): "--rank is -2; it must be 1 or more.",
    ("--folds", "3"): "3 folds were asked for; choose a power of two from 1 to 256 (--folds).",
    ("--seed", "-1"): "--seed is -1; it must be 0 or more.",
    ("--threads", "0"): "--threads is 0; it must be 1 or more.",
    ("--vocabulary", "0"): "--vocabulary is 0; it must be 1 or more.",
    ("--memory", "0"): "--memory is 0 GB; it must be more than 0, and a size.",
    ("--memory", "nan"): "--memory is nan GB; it must be more than 0, and a size.",
    ("--limit-line", "0"): "--limit-line is 0; it must be 1 or more.",
    ("--limit-expansion", "nan"): "--limit-expansion is nan; it must be 1 or more.",
    ("--limit-tokenizer", "-1"): "--limit-tokenizer is -1; it must be 1 or more.",
}

NAMES = {
    (
        "--metric",
        "cord",
    ): "'cord' is no metric (--metric); did you mean 'chord'? Known: angle, chord.",
    ("--window", "strat"): "did you mean 'start'? Known: end, packed, sliding, start",
    ("--format", "json"): "did you mean 'jsonl'? Known: csv, datasets, fasta, jsonl,",
    (
        "--unit",
        "lines",
    ): "--unit lines is not known; did you mean 'line'? Known: block, file, line.",
    ("--errors", "replac"): "did you mean 'replace'? Known: replace, strict.",
    ("--engine", "ray"): "--engine 'ray' is unknown; this version counts on one machine: local.",
    ("--tokenizer", "word"): "did you mean 'words'? Known: bytes, characters, dna, protein, words",
}


@pytest.mark.parametrize("option", NUMBERS)
def test_a_number_out_of_range_is_refused(refused, corpus: Path, option: tuple[str, str]) -> None:
    assert refused("survey", corpus, *option) == NUMBERS[option]


@pytest.mark.parametrize("option", NAMES)
def test_an_unknown_name_is_answered_with_those_there_are(
    refused, corpus: Path, option: tuple[str, str]
) -> None:
    assert NAMES[option] in refused("survey", corpus, *option)


@pytest.mark.parametrize(
    "option",
    [*NUMBERS, *(o for o in NAMES if o[0] != "--tokenizer"), ("--table", "none.npy")],
)
def test_wrong_options_are_refused_before_the_corpus_is_read(
    refused, corpus: Path, option: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour of counting must not end with a misspelt metric."""

    def reading(self: object, accumulator: object) -> None:
        raise RuntimeError("the corpus was read")

    monkeypatch.setattr(counting._Run, "_read", reading)
    refused("survey", corpus, *option)


def test_a_length_beyond_every_document_is_refused_with_the_longest(refused, corpus: Path) -> None:
    sentence = refused("survey", corpus, "--length", 9)
    assert sentence.startswith("--length 9 is longer than the longest document of ")
    assert sentence.endswith("corpus.txt (8 tokens); choose 8 or less.")


def test_positions_that_are_all_masked_are_refused(refused, corpus: Path) -> None:
    sentence = refused("survey", corpus, "--minimum-count", 201)
    assert sentence.startswith("0 of 8 positions can be measured, and distances need two; ")
    assert sentence.endswith("lower --minimum-count.")


@pytest.mark.parametrize("content", ["hello", '{"a": 1}', "", "[]"])
def test_a_tokenizer_file_that_is_none_is_refused(
    refused, corpus: Path, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")
    sentence = refused("survey", corpus, "--tokenizer", path)
    assert "tokenizer.json is not a tokenizer file (" in sentence
    assert "words, characters, bytes, dna, protein" in sentence


def test_a_missing_tokenizer_file_is_named(refused, corpus: Path, tmp_path: Path) -> None:
    sentence = refused("survey", corpus, "--tokenizer", tmp_path / "none.json")
    assert sentence.startswith("there is no tokenizer file ")
    assert "none.json; check the path" in sentence


def test_a_table_that_is_none_is_refused(refused, corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    path.write_bytes(b"\x93NUMPY and then something else")
    assert "table.npy cannot be read as .npy (" in refused("survey", corpus, "--table", path)


def test_a_table_with_too_few_rows_is_refused(refused, corpus: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", np.ones((4, 6)))
    sentence = refused("survey", corpus, "--table", tmp_path / "short.npy")
    assert "Position 4 is not in the table short.npy, which has rows 0 to 3" in sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("survey", "--lenght", "3"), "No such option: --lenght"),
        (("surve",), "No such command 'surve'. Did you mean 'survey'?"),
        (
            ("survey", "a", "b"),
            "Got unexpected extra argument(s) (b). A survey reads one corpus: quote a glob",
        ),
        (("survey", "--length", "x"), "Invalid value for '--length'"),
        (("survey", "--length"), "Option '--length' requires an argument."),
        (("stress",), "Missing argument"),
    ],
)
def test_a_mistyped_command_gets_one_line(call, arguments: tuple[str, ...], sentence: str) -> None:
    called = call(*arguments)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"gnomon: {sentence}")
    assert called.err.count("\n") == 1
    assert "Run `gnomon --help`" in called.err
