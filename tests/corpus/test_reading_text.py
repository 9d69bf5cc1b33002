"""Plain text, FASTA and compressed streams, against Python's own readers."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import types

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.corpus.options import Limits
from gnomon.corpus.reading import streams
from gnomon.corpus.reading.resolve import open_source
from gnomon.errors import CorpusError

COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
LINE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))


def texts_of(source):
    return [text for batch in source.batches() for text in batch.texts]


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.fixture
def feed(monkeypatch):
    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))

    return put


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(LINE_TEXT, max_size=30),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    final=st.booleans(),
    block=st.integers(1, 40),
)
def test_lines_equal_those_of_pythons_universal_newlines(rows, end, final, block, tmp_path_factory):
    """Whatever the size of the blocks, so also when an end of line falls on a border."""
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes((end.join(rows) + (end if final else "")).encode())
    with path.open(encoding="utf-8") as handle:
        expected = [line.rstrip("\n") for line in handle]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", block)
        found = [
            line.decode()
            for part in streams.line_blocks(streams.local_file(path), Limits())
            for line in part.lines
        ]
    if expected and expected[0].startswith("\ufeff"):
        expected[0] = expected[0][1:]
    assert found == expected


def test_blank_lines_are_no_documents(tmp_path):
    path = written(tmp_path, "a.txt", "one\n\n  \t\n\u3000\ntwo\n".encode())
    assert texts_of(open_source(path)) == ["one", "two"]


def test_a_byte_order_mark_is_dropped_and_nul_is_kept(tmp_path):
    path = written(tmp_path, "a.txt", b"\xef\xbb\xbfa\x00b\nc")
    for unit, expected in (("line", ["a\x00b", "c"]), ("file", ["a\x00b\nc"])):
        assert texts_of(open_source(path, unit=unit)) == expected


def test_a_file_is_one_document_with_unit_file(tmp_path):
    written(tmp_path, "b.txt", b"x\r\ny")
    written(tmp_path, "a.txt", b"1\n2\n")
    assert texts_of(open_source(tmp_path, unit="file")) == ["1\n2\n", "x\ny"]


def test_blocks_are_what_stands_between_blank_lines(tmp_path, monkeypatch):
    text = "\n\na\nb\n \nc\n\n\n\nd\ne"
    expected = ["a\nb", "c", "d\ne"]
    for size in (1, 3, 1000):
        monkeypatch.setattr(streams, "BLOCK", size)
        path = written(tmp_path, "a.txt", text.encode())
        assert texts_of(open_source(path, unit="block")) == expected


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_text_reads_as_the_plain_text(tmp_path, suffix):
    data = "".join(f"line {i} é\n" for i in range(50_000)).encode()
    path = written(tmp_path, f"a.txt.{suffix}", COMPRESS[suffix](data))
    source = open_source(path)
    assert texts_of(source) == data.decode().splitlines()
    assert [batch.bytes_read for batch in source.batches()][-1] == source.size


@pytest.mark.parametrize("suffix", COMPRESS)
def test_two_compressed_parts_in_one_file_are_both_read(tmp_path, suffix):
    compress = COMPRESS[suffix]
    path = written(tmp_path, f"a.{suffix}", compress(b"one\n") + compress(b"two\n"))
    assert texts_of(open_source(path)) == ["one", "two"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_compressed_file_cut_short_is_named(tmp_path, suffix):
    whole = COMPRESS[suffix](bytes(range(97, 120)) * 5000 + b"\n")
    path = written(tmp_path, f"a.{suffix}", whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=rf"a\.{suffix} is damaged or cut short.*{suffix} stream"):
        texts_of(open_source(path))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_file_that_is_not_compressed_as_its_suffix_says_is_named(tmp_path, suffix):
    path = written(tmp_path, f"a.{suffix}", b"plain words, not compressed\n" * 100)
    with pytest.raises(CorpusError, match="damaged or cut short"):
        texts_of(open_source(path))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_decompression_bomb_is_refused_by_the_option_that_lets_it_pass(
    tmp_path, suffix, monkeypatch
):
    monkeypatch.setattr(streams, "SLACK", 1 << 20)
    data = (b"a" * 1023 + b"\n") * (4 << 10)
    path = written(tmp_path, f"a.{suffix}", COMPRESS[suffix](data))
    with pytest.raises(CorpusError, match=r"more than 10 times its size.*--limit-expansion"):
        texts_of(open_source(path, limits=Limits(expansion=10)))
    assert len(texts_of(open_source(path, limits=Limits(expansion=1e9)))) == 4 << 10


def test_a_line_beyond_the_limit_is_named(tmp_path):
    path = written(tmp_path, "a.txt", b"short\n" + b"x" * 5_000_000)
    with pytest.raises(CorpusError, match=r"a\.txt, line 2 is longer than 1000 .*--limit-line"):
        texts_of(open_source(path, limits=Limits(line_bytes=1000)))


class Endless(io.RawIOBase):
    """The letter x, without end."""

    given = 0

    def readinto(self, buffer):
        buffer[:] = b"x" * len(buffer)
        self.given += len(buffer)
        return len(buffer)


def test_a_line_that_never_ends_is_refused_at_the_limit():
    raw = Endless()
    file = streams.StoredFile("endless.txt", lambda: raw)
    with pytest.raises(CorpusError, match=r"endless\.txt, line 1 is longer than .*--limit-line"):
        list(streams.line_blocks(file, Limits(line_bytes=3 << 20)))
    assert raw.given <= (3 << 20) + 2 * streams.BLOCK


@pytest.mark.parametrize("unit", ["file", "block"])
def test_a_document_beyond_the_limit_is_refused_in_every_unit(tmp_path, unit):
    path = written(tmp_path, "a.txt", b"abc\n" * 1000)
    with pytest.raises(CorpusError, match=r"longer than 100 bytes.*--limit-line"):
        texts_of(open_source(path, unit=unit, limits=Limits(line_bytes=100)))


def test_undecodable_bytes_are_named_by_line_and_byte(tmp_path):
    path = written(tmp_path, "a.txt", b"fine\n\nab\xffc\n")
    with pytest.raises(
        CorpusError, match=r"a\.txt, line 3: byte 2 .*0xff and not UTF-8; pass --errors replace"
    ):
        texts_of(open_source(path))
    assert texts_of(open_source(path, errors="replace")) == ["fine", "ab\ufffdc"]


def test_fasta_joins_lines_and_leaves_headers_out(tmp_path):
    data = b">one first\nACGT\nacg t\n; comment\n\n>empty\n>two\r\nTTTT\r\nGG"
    path = written(tmp_path, "a.fa", data)
    assert texts_of(open_source(path)) == ["ACGTacgt", "TTTTGG"]


def test_fasta_equals_scikit_bios_reader(tmp_path, rng):
    skbio = pytest.importorskip("skbio")
    sequences = ["".join(rng.choice(list("ACGTN"), size=n)) for n in (1, 59, 60, 61, 400)]
    path = tmp_path / "a.fasta"
    for sequence in sequences:
        with path.open("a") as handle:
            skbio.DNA(sequence, metadata={"id": "x"}).write(handle, format="fasta", max_width=60)
    assert texts_of(open_source(path)) == sequences


def test_fasta_without_a_first_header_is_named(tmp_path):
    path = written(tmp_path, "a.fna", b"\nACGT\n>x\nA\n")
    with pytest.raises(CorpusError, match=r"a\.fna, line 2: a sequence stands before .*--format"):
        texts_of(open_source(path))


def test_a_fasta_record_beyond_the_limit_is_named(tmp_path):
    path = written(tmp_path, "a.faa", b">x\n" + b"MKV\n" * 100)
    with pytest.raises(CorpusError, match=r"record 1 is longer than 50 bytes.*--limit-line"):
        texts_of(open_source(path, limits=Limits(line_bytes=50)))


def test_standard_input_is_read_once_and_has_no_fingerprint(feed):
    feed(b"one\ntwo\n")
    source = open_source("-")
    assert source.fingerprint() is None
    assert source.size is None
    assert texts_of(source) == ["one", "two"]
    with pytest.raises(CorpusError, match="standard input can be read only once; save it"):
        texts_of(source)


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("csv", b'label,text\n0,"one, too"\n1,two\n'),
        ("jsonl", b'{"text": "one, too"}\n{"text": "two"}\n'),
        ("fasta", b">a\none, too\n>b\ntwo\n"),
    ],
)
def test_standard_input_can_hold_any_streaming_format(feed, form, data):
    feed(data)
    expected = ["one,too", "two"] if form == "fasta" else ["one, too", "two"]
    assert texts_of(open_source("-", format=form)) == expected


def test_a_table_row_too_long_for_standard_input_asks_for_a_file(feed):
    feed(b"text,n\na,1\n" + b"x" * 9_000_000 + b",1\nb,2\n")
    with pytest.raises(CorpusError, match=r"a row after row \d is longer than .* save the table"):
        texts_of(open_source("-", format="csv"))


def test_parquet_from_standard_input_is_refused(feed):
    feed(b"PAR1")
    with pytest.raises(CorpusError, match="Parquet cannot be read from a stream; save it"):
        open_source("-", format="parquet")
