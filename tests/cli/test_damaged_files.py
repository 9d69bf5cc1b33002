"""Every format that is read, damaged at random: an exit code of 0, 1 or 2, and no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.cli.app import run

SMALL = ("--length", "8", "--shuffles", "0", "--dimension", "8", "--rank", "2", "-q", "--no-cache")
GRID = """question = "q"
[model]
dimension = 16
layers = 1
heads = 2
[training]
steps = 2
lengths = [8]
[sweep]
learning_rate = [1e-3, 3e-3]
seeds = [10]
[report]
seeds = [0]
[tasks.distance]
[encodings.rope]
base = 100.0
"""
READERS: dict[str, tuple[str, ...]] = {
    "survey/geometry.npz": ("report", "{folder}", "--out", "{folder}/page.html", "-q"),
    "survey/survey.json": ("report", "{folder}", "--out", "{folder}/page.html", "-q"),
    "survey/counts.npz": ("stress", "rope", "{file}", "--dimension", "8", "-q"),
    "distances.npy": ("stress", "rope", "{file}", "--dimension", "8", "-q"),
    "table.npy": ("stress", "{file}", "{home}/distances.npy", "-q"),
    "table.npz": ("stress", "{file}:w", "{home}/distances.npy", "-q"),
    "packed.npz": ("stress", "{file}", "{home}/distances.npy", "-q"),
    "tensors.safetensors": ("stress", "{file}", "{home}/distances.npy", "-q"),
    "rope.safetensors": ("card", "{file}", "-q"),
    "survey/encoding.safetensors": ("card", "{file}", "-q"),
    "generator.npy": ("classify", "{file}", "-q"),
    "ids.npy": ("survey", "{file}", *SMALL, "--vocabulary", "1000"),
    "corpus.csv": ("survey", "{file}", *SMALL, "--column", "text"),
    "corpus.tsv": ("survey", "{file}", *SMALL, "--column", "text"),
    "corpus.jsonl": ("survey", "{file}", *SMALL),
    "corpus.fasta": ("survey", "{file}", *SMALL),
    "corpus.parquet": ("survey", "{file}", *SMALL),
    "tokenizer.json": ("survey", "{home}/corpus.txt", "--tokenizer", "{file}", *SMALL),
    "grid.toml": ("lab", "status", "{file}", "--out", "{folder}/records", "-q"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one whole file of each format."""
    place = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(list("abcdef"), 9)) for _ in range(60)]
    (place / "corpus.txt").write_text("\n".join(lines), encoding="utf-8")
    assert run(["survey", str(place / "corpus.txt"), *SMALL, "--out", str(place / "survey")]) == 0
    _write_arrays(place, rng)
    _write_texts(place, lines)
    return place


def _write_arrays(place: Path, rng: np.random.Generator) -> None:
    from safetensors.numpy import save_file

    distances = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    np.save(place / "distances.npy", distances)
    np.save(place / "table.npy", rng.normal(size=(8, 4)))
    np.savez(place / "table.npz", w=rng.normal(size=(8, 4)), v=distances)
    np.savez_compressed(place / "packed.npz", w=rng.normal(size=(8, 4)))
    np.save(place / "generator.npy", np.array([[0.0, 1.0], [-1.0, 0.0]]))
    np.save(place / "ids.npy", rng.integers(0, 9, (40, 8)))
    save_file({"w": rng.normal(size=(8, 4)).astype(np.float32)}, place / "tensors.safetensors")
    gnomon.encoding("rope", dimension=8).save(place / "rope.safetensors")


def _write_texts(place: Path, lines: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from tokenizers import Tokenizer, models, pre_tokenizers

    for name, mark in (("corpus.csv", ","), ("corpus.tsv", "\t")):
        rows = [f"{line}{mark}{number}" for number, line in enumerate(lines)]
        (place / name).write_text("\n".join([f"text{mark}n", *rows]), encoding="utf-8")
    records = [json.dumps({"text": line, "n": number}) for number, line in enumerate(lines)]
    (place / "corpus.jsonl").write_text("\n".join(records), encoding="utf-8")
    fasta = "".join(f">s{number}\nACGTACGTGG\n" for number in range(40))
    (place / "corpus.fasta").write_text(fasta, encoding="utf-8")
    pq.write_table(pa.table({"text": lines}), place / "corpus.parquet")
    words = {letter: number for number, letter in enumerate("abcdef")} | {"[UNK]": 6}
    pieces = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    pieces.save(str(place / "tokenizer.json"))
    (place / "grid.toml").write_text(GRID, encoding="utf-8")


def damage(data: bytes, rng: random.Random) -> bytes:
    """Change, flip, cut, insert, remove or repeat some bytes, more often near the beginning."""
    made, size = bytearray(data), max(1, len(data))
    at = rng.randrange(size if rng.random() < 0.6 else min(size, 400))
    some = rng.randrange(1, 33)
    changes: list[Callable[[], object]] = [
        lambda: made.__setitem__(slice(at, at + 1), bytes([rng.randrange(256)])),
        lambda: made.__setitem__(slice(at, at + 1), bytes([data[at] ^ 1 << rng.randrange(8)])),
        lambda: made.__delitem__(slice(at, None)),
        lambda: made.__setitem__(slice(at, at), rng.randbytes(some)),
        lambda: made.__delitem__(slice(at, at + some)),
        lambda: made.__setitem__(slice(at, at + some), data[rng.randrange(size) :][:some]),
    ]
    rng.choice(changes)()
    return bytes(made)


def called(home: Path, place: Path, name: str, data: bytes) -> tuple[int, str]:
    """Run the reader of a file with other contents; return the exit code and standard error."""
    if name.startswith("survey/"):
        shutil.copytree(home / "survey", place)
    else:
        place.mkdir()
    file = place / Path(name).name
    file.write_bytes(data)
    words = {"file": file, "folder": place, "home": home}
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
        code = run([word.format(**words) for word in READERS[name]])
    shutil.rmtree(place)
    return code, told.getvalue()


def check(home: Path, place: Path, name: str, seeds: range) -> None:
    whole = (home / name).read_bytes()
    for seed in seeds:
        data = damage(whole, random.Random(f"{name} {seed}"))
        code, told = called(home, place / str(seed), name, data)
        assert code in (0, 1, 2), f"mutant {seed} of {name}: {told}"
        assert told.count("\n") <= 1, f"mutant {seed} of {name}: {told}"
        assert code == 0 or name == "grid.toml" or told.startswith("gnomon: ")


@pytest.mark.parametrize("name", READERS)
def test_a_whole_file_is_read(home: Path, tmp_path: Path, name: str) -> None:
    code, told = called(home, tmp_path / "whole", name, (home / name).read_bytes())
    assert code == (1 if name == "grid.toml" else 0), told  # its cells are left to be run


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_one_sentence(
    home: Path, tmp_path: Path, name: str
) -> None:
    check(home, tmp_path, name, range(15))


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("name", READERS)
def test_many_damaged_files_are_read_or_refused_in_one_sentence(
    home: Path, tmp_path: Path, name: str
) -> None:
    check(home, tmp_path, name, range(15, 400))
