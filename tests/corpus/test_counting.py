"""count on real and made corpora, against counts made by a few plain lines."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from gnomon.corpus import cache
from gnomon.corpus.counting import count
from gnomon.corpus.options import CountOptions
from gnomon.corpus.tokenizers import Words
from gnomon.errors import CorpusError, InputError


def by_script(documents, encode, length) -> tuple[Counter, np.ndarray]:
    """Count (position, token) with a dictionary."""
    table: Counter = Counter()
    for document in documents:
        for position, token in enumerate(encode(document)[:length]):
            table[position, token] += 1
    totals = np.zeros(length, np.int64)
    for (position, _), number in table.items():
        totals[position] += number
    return table, totals


def as_counter(found) -> Counter:
    entries = found.matrix.tocoo()
    return Counter(
        {
            (int(p), int(t)): int(n)
            for p, t, n in zip(entries.row, entries.col, entries.data, strict=True)
        }
    )


@pytest.mark.data
def test_sst2_has_the_documented_counts_by_position(data_root):
    found = count(
        data_root / "sst2" / "train.tsv",
        column="sentence",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=64,
    )
    assert (found.rows, found.tokens) == (67_349, 762_340)
    assert found.totals[[0, 8, 31, 63]].tolist() == [67_349, 32_755, 3_255, 2]


@pytest.mark.data
@pytest.mark.wide
def test_sst2_sentences_equal_a_plain_script_token_by_token(data_root):
    from tokenizers import Tokenizer

    file = data_root / "bert-base-uncased" / "tokenizer.json"
    library = Tokenizer.from_file(str(file))
    library.no_padding()
    library.no_truncation()
    path = data_root / "sst2" / "whole-sentences.tsv"
    with path.open(newline="", encoding="utf-8") as handle:
        sentences = [r[0] for r in csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)]
    table, totals = by_script(
        sentences, lambda text: library.encode(text, add_special_tokens=False).ids, 48
    )
    found = count(path, column="0", tokenizer=file, length=48)
    assert found.rows == 6_920
    np.testing.assert_array_equal(found.totals, totals)
    assert as_counter(found) == table


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "options", "length"),
    [
        ("splice/splice.data", {"format": "csv", "column": "2"}, 60),
        ("promoters/hs_pos_TATA.txt", {}, 300),
        ("promoters/mm_pos_TATA.txt", {}, 300),
    ],
)
def test_dna_corpora_equal_a_plain_script(data_root, file, options, length):
    lines = (data_root / file).read_text().split()
    if file.startswith("splice"):
        lines = [
            line.rsplit(",", 1)[1].strip() for line in (data_root / file).read_text().splitlines()
        ]
    letters = {letter: min("ACGT".find(letter) % 5, 4) for letter in "ACGTNDSR"}
    table, totals = by_script(lines, lambda s: [letters[c] for c in s.strip()], length)
    found = count(data_root / file, tokenizer="dna", length=length, **options)
    np.testing.assert_array_equal(found.totals, totals)
    assert as_counter(found) == table


def imdb_by_script(data_root, length):
    """Counts of position and token in plain lines: pandas, the tokenizer, and np.add.at."""
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(str(data_root / "bert-base-uncased" / "tokenizer.json"))
    library.no_padding()
    library.no_truncation()
    table = np.zeros((length, 30_522), np.int64)
    texts = pd.read_parquet(data_root / "imdb" / "train.parquet")["text"].tolist()
    for start in range(0, len(texts), 1000):
        for encoded in library.encode_batch(texts[start : start + 1000], add_special_tokens=False):
            ids = encoded.ids[:length]
            np.add.at(table, (np.arange(len(ids)), ids), 1)
    return table


@pytest.mark.data
@pytest.mark.wide
def test_imdb_has_the_documented_counts_by_position_and_those_of_a_plain_script(data_root):
    found = count(
        data_root / "imdb" / "train.parquet",
        column="text",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=512,
    )
    assert (found.rows, found.tokens) == (25_000, 6_839_969)
    assert found.totals[[0, 255, 511]].tolist() == [25_000, 11_000, 3_682]
    assert found.groups.estimate() == 25_000 - 96  # exact duplicates share a group
    np.testing.assert_array_equal(found.matrix.toarray(), imdb_by_script(data_root, 512))


@pytest.mark.data
@pytest.mark.wide
def test_contained_rows_of_sst2_belong_to_their_sentence(data_root):
    found = count(
        data_root / "sst2" / "train.tsv", column="sentence", group="contained", tokenizer="words"
    )
    assert found.groups.estimate() == 6_886


def test_second_count_comes_from_the_cache_at_any_length_window_and_coarsening(
    tmp_path, rng, monkeypatch
):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(" ".join(rng.choice(list("abcdef"), 12)) for _ in range(500)))
    for options in (
        {"length": 12},
        {"length": 5},
        {"length": 4, "window": "end"},
        {"length": 5, "window": "sliding", "stride": 2},
        {"length": 7, "window": "packed"},
        {"length": 12, "top_k": 3},
    ):
        plain = count(path, tokenizer="words", cache=False, **options)
        cached = count(path, tokenizer="words", **options)
        np.testing.assert_array_equal(plain.blocks.toarray(), cached.blocks.toarray())
        assert plain.vocabulary == cached.vocabulary
        assert plain.digest == cached.digest
    assert len(cache.entries()) == 1

    def encode(*_: object) -> None:
        raise AssertionError("the corpus was tokenised again")

    monkeypatch.setattr(Words, "encode", encode)
    again = count(path, tokenizer="words", **options)
    np.testing.assert_array_equal(again.blocks.toarray(), cached.blocks.toarray())
    assert again.notes == cached.notes


def test_a_changed_corpus_is_not_answered_from_the_cache(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("a b\nb a\n")
    count(path, tokenizer="words", minimum_count=1)
    stamp = path.stat()
    path.write_text("a c\nc a\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert count(path, tokenizer="words").vocabulary.tokens == ("a", "c")


def test_a_damaged_cache_entry_is_rebuilt_and_never_trusted(tmp_path, rng):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(" ".join(rng.choice(list("abcdef"), 30)) for _ in range(2000)))
    wanted = count(path, tokenizer="words", length=30)
    (entry,) = cache.entries()
    good = entry.path.read_bytes()
    for place in rng.integers(0, len(good), 25):
        entry.path.write_bytes(good[:place] + bytes([good[place] ^ 0x41]) + good[place + 1 :])
        again = count(path, tokenizer="words", length=30)
        np.testing.assert_array_equal(again.blocks.toarray(), wanted.blocks.toarray())
        assert again.vocabulary == wanted.vocabulary


def test_packed_counts_say_that_position_is_not_document_position():
    found = count(["a b c", "d e f g"], tokenizer="words", window="packed", length=3)
    np.testing.assert_array_equal(found.totals, [2, 2, 2])
    assert any("position is not document position" in note for note in found.notes)
    assert found.groups.estimate() == 2


def test_packs_have_the_same_folds_whatever_order_the_words_were_met_in():
    """Packs are keyed by their words, not by provisional ids."""
    one = count(["a b c", "d e f"], tokenizer="words", window="packed", length=3, minimum_count=1)
    two = count(["d e f", "a b c"], tokenizer="words", window="packed", length=3, minimum_count=1)
    np.testing.assert_array_equal(one.blocks.toarray(), two.blocks.toarray())


def test_a_grid_has_positions_on_several_axes(rng):
    images = rng.integers(0, 5, (40, 3, 4))
    found = count(list(images.reshape(40, 12)), minimum_count=1, vocabulary=5)
    grid = count("digits")
    assert (grid.axes, grid.length) == ((8, 8), 64)
    with pytest.raises(InputError, match="grid of 8x8 = 64 positions; leave --length"):
        count("digits", length=10)
    assert found.length == 12


def test_ids_outside_the_declared_vocabulary_are_named_with_their_row():
    with pytest.raises(CorpusError, match=r"row 2 of .* holds id 7, outside the vocabulary of 5"):
        count([[1, 2], [3, 7]], vocabulary=5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"length": 0}, "--length is 0"),
        ({"length": -3}, "--length is -3"),
        ({"length": 9}, r"--length 9 is longer than the longest document of .* \(3 tokens\)"),
        ({"window": "middle"}, "--window 'middle' is unknown"),
        ({"folds": 3}, "power of two"),
        ({"top_k": 0}, "--top-k is 0"),
        ({"minimum_count": -1}, "--minimum-count is -1"),
        ({"window": "packed", "length": 50}, "fewer than the 50 of one pack"),
    ],
)
def test_options_no_corpus_can_satisfy_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        count(["a b c", "a b"], tokenizer="words", **options)


def test_without_a_length_the_longest_document_decides_up_to_512():
    assert count(["a b c", "a"], tokenizer="words").length == 3
    assert count(["a " * 600], tokenizer="words").length == 512
    assert CountOptions().length is None


def test_compressed_and_plain_files_have_the_same_counts(tmp_path):
    text = "the cat\nthe dog sat\n"
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    plain = count(tmp_path / "a.txt", minimum_count=1)
    packed = count(tmp_path / "a.txt.gz", minimum_count=1)
    assert plain.digest == packed.digest
    np.testing.assert_array_equal(plain.blocks.toarray(), packed.blocks.toarray())


@pytest.mark.parametrize(("suffix", "tokenizer"), [("fa.xz", "dna"), ("faa", "protein")])
def test_fasta_is_read_in_its_own_alphabet_by_default(tmp_path, suffix, tokenizer):
    import lzma

    path = tmp_path / f"genes.{suffix}"
    data = b">one\nACGT\nAC\n>two\nGGGA\n"
    path.write_bytes(lzma.compress(data) if suffix.endswith("xz") else data)
    found = count(path, minimum_count=1)
    assert found.tokenizer == tokenizer
    assert found.totals.tolist() == [2, 2, 2, 2, 1, 1]
