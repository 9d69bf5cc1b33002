"""What a user types wrong, and the way out that the answer names: each advice is then followed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

BASES = np.array(list("ACGT"))


def sequences(rows: int = 60, length: int = 12) -> list[str]:
    rng = np.random.default_rng(5)
    return [
        "".join(BASES[rng.integers(0, 2, length) + 2 * (np.arange(length) // 6)])
        for _ in range(rows)
    ]


def said(call, *arguments: object) -> str:
    called = call(*arguments)
    assert (called.code, called.out) == (2, ""), called
    assert called.err.startswith("gnomon: ")
    assert called.err.count("\n") == 1
    return called.err.removeprefix("gnomon: ").rstrip("\n")


def survey(call, *arguments: object) -> dict:
    called = call("survey", *arguments, "--shuffles", 0, "--json", "-")
    assert called.code == 0, called
    return json.loads(called.out)


def test_a_table_read_as_lines_of_dna_is_answered_with_its_format_and_column(
    call, tmp_path: Path
) -> None:
    path = tmp_path / "splice.data"
    path.write_text("".join(f"EI, E-{k},  {s}\n" for k, s in enumerate(sequences())))
    sentence = said(call, "survey", path, "--tokenizer", "dna")
    assert "document 1 holds 'E' as its character 1, which is not in the alphabet 'dna'" in sentence
    advice = "its lines look like 3 columns separated by commas, so pass --format csv --column 2."
    assert sentence.endswith(advice)
    assert "--errors" not in sentence
    found = survey(call, path, "--tokenizer", "dna", "--format", "csv", "--column", 2)
    assert (found["corpus"]["rows"], found["corpus"]["tokens"]) == (60, 720)
    assert not any("replaced" in note for note in found["corpus"]["notes"])


def test_a_header_is_answered_with_its_name(call, tmp_path: Path) -> None:
    path = tmp_path / "genes.data"
    path.write_text("\n".join(["name\tsequence", *(f"x\t{s}" for s in sequences())]))
    sentence = said(call, "survey", path, "--tokenizer", "dna")
    assert sentence.endswith('so pass --format tsv --column "sequence".')
    found = survey(call, path, "--tokenizer", "dna", "--format", "tsv", "--column", "sequence")
    assert found["corpus"]["tokens"] == 720


def test_other_letters_are_still_answered_with_errors_replace(call, tmp_path: Path) -> None:
    path = tmp_path / "letters.txt"
    path.write_text("\n".join([*sequences(), "ACGTEACGTACG"]))
    sentence = said(call, "survey", path, "--tokenizer", "dna")
    assert "document 61 holds 'E' as its character 5" in sentence
    assert sentence.endswith("or pass --errors replace to read it as N.")
    notes = survey(call, path, "--tokenizer", "dna", "--errors", "replace")["corpus"]["notes"]
    assert notes[0].startswith("1 of 732 letters (0.1 %) are not in the alphabet 'dna'")


@pytest.mark.parametrize(
    ("lines", "advice"),
    [
        (sequences(), "if this is DNA, as it looks, pass --tokenizer dna (or characters)."),
        (["MKVLAAGIVL" * 2, "MEFILKWDER"] * 9, "if this is protein, as it looks, pass"),
        (["yes", "no"] * 9, "pass --tokenizer characters to read letters, or say what"),
    ],
)
@pytest.mark.parametrize("verb", ["survey", "fit"])
def test_documents_of_one_word_are_answered_with_another_tokenizer(
    call, tmp_path: Path, lines: list[str], advice: str, verb: str
) -> None:
    path = tmp_path / "words.txt"
    path.write_text("\n".join(lines) + "\n")
    sentence = said(call, verb, path, "--out", tmp_path / "e.safetensors")
    assert sentence.startswith(f"each of the {len(lines)} documents of {path} is at most one word")
    assert advice in sentence


def test_dna_that_was_read_as_protein_is_noted(call, tmp_path: Path) -> None:
    path = tmp_path / "bases.txt"
    path.write_text("\n".join(sequences()))
    notes = survey(call, path, "--tokenizer", "protein")["corpus"]["notes"]
    assert any("only the letters A, C, G, T occur, which is how DNA looks" in n for n in notes)


def weights(path: Path) -> Path:
    rng = np.random.default_rng(1)
    save_file({"wpe": rng.normal(size=(32, 8)), "wte": rng.normal(size=(50, 8))}, path)
    return path


@pytest.mark.parametrize("verb", ["survey", "fit"])
def test_weights_are_no_corpus_and_the_answer_says_what_they_are_for(
    call, tmp_path: Path, verb: str, corpus: Path
) -> None:
    path = weights(tmp_path / "model.safetensors")
    sentence = said(call, verb, path, "--out", tmp_path / "e.safetensors")
    assert sentence.startswith(f"{path} is a file of weights and no corpus; ")
    assert f"--table {path}:NAME, or run `gnomon stress {path}:NAME COUNTS`" in sentence
    labels = [e["label"] for e in survey(call, corpus, "--table", f"{path}:wpe")["encodings"]]
    assert any("model" in label for label in labels)
    assert call("stress", f"{path}:wpe", "three-regimes").code == 0


def test_other_files_that_are_no_text_are_named(call, tmp_path: Path) -> None:
    for name, words in (
        ("model.pt", "model.pt is a file of weights and no corpus; to compare a table of it"),
        ("counts.npz", "is an archive of arrays and no corpus; counts of a survey are read by"),
        ("picture.png", "zero bytes show that this is no plain text, or UTF-16"),
    ):
        path = tmp_path / name
        path.write_bytes(b"\x89PNG\r\n" + struct.pack("<4I", 1, 2, 3, 4) + b"\n")
        assert words in said(call, "survey", path)


def test_a_built_in_corpus_is_a_target_of_stress_as_its_survey_is(call, tmp_path: Path) -> None:
    """Two routes to one number: the name, and the folder of a survey of that name."""
    assert call("survey", "three-regimes", "--out", tmp_path / "s", "-q", "--seed", 2).code == 0
    values = []
    for target in ("three-regimes", tmp_path / "s"):
        called = call("stress", "sinusoidal", target, "--seed", 2, "--json", "-")
        assert called.code == 0, called
        values.append(json.loads(called.out))
    assert values[0] == values[1]


def test_a_target_that_is_not_there_is_answered_with_what_there_can_be(call) -> None:
    sentence = said(call, "stress", "sinusoidal", "three-regime")
    assert sentence.startswith("there is no file three-regime; pass counts.npz, the folder of a ")
    assert sentence.endswith("or a built-in corpus (digits, python-stdlib, three-regimes).")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "three-regimes", "--out", "none/e.safetensors"),
        ("fit", "three-regimes", "--out", "e.safetensors", "--json", "none/e.json"),
        ("survey", "three-regimes", "--json", "none/s.json"),
        ("stress", "rope", "three-regimes", "--json", "none/s.json"),
        ("report", "x", "--out", "none/page.html"),
        ("cache", "list", "--json", "none/c.json"),
    ],
    ids=" ".join,
)
def test_a_file_in_a_folder_that_is_not_there_is_refused_and_no_folder_is_made(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    sentence = said(call, *arguments)
    assert sentence.startswith("none/")
    assert "cannot be written: there is no folder none; make it first" in sentence
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "e.safetensors").exists()


def test_a_folder_of_results_may_still_be_made(call, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert call("survey", corpus, "--shuffles", 0, "-q", "--out", folder).code == 0
    assert (folder / "survey.json").is_file()


def test_a_rank_that_there_is_not_is_noted_with_the_one_taken(call, corpus: Path) -> None:
    """Eight positions span seven dimensions."""
    found = survey(call, corpus, "--rank", 99)
    assert (
        "--rank 99 is more than 8 positions in 128 dimensions can have, so the low-rank encodings "
        "have rank 7" in found["corpus"]["notes"]
    )
    assert "mds, rank 7" in [e["label"] for e in found["encodings"]]
    low = survey(call, corpus, "--rank", 6, "--dimension", 4)
    assert "mds, rank 4" in [e["label"] for e in low["encodings"]]
    assert any("--rank 6 is more than" in note for note in low["corpus"]["notes"])
    for rank in (7, 3):
        notes = survey(call, corpus, "--rank", rank)["corpus"]["notes"]
        assert not any("--rank" in note for note in notes)


@pytest.mark.parametrize("option", ["--match", "--table"])
def test_one_of_several_tables_is_asked_for_as_the_command_line_writes_it(
    call, corpus: Path, tmp_path: Path, option: str
) -> None:
    path = weights(tmp_path / "model.safetensors")
    verb, more = (
        ("fit", ("--out", tmp_path / "e.safetensors"))
        if option == "--match"
        else (
            "survey",
            (),
        )
    )
    sentence = said(call, verb, corpus, option, path, *more)
    assert sentence.endswith("holds 2 arrays; name one as model.safetensors:NAME. Known: wpe, wte.")
    assert "member" not in sentence
    assert call(verb, corpus, option, f"{path}:wpe", *more).code == 0
