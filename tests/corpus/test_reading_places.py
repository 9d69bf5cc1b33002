"""Paths, folders, globs, URLs, saved datasets; what is missing; fingerprints and memory."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading import streams
from gnomon.corpus.reading.resolve import open_source
from gnomon.errors import CorpusError, MissingExtraError


def texts_of(source):
    return [text for batch in source.batches() for text in batch.texts]


@pytest.fixture
def folder(tmp_path):
    for name, text in (("b/2.txt", "three\n"), ("a.txt", "one\ntwo\n"), (".hidden", "no\n")):
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "corpus"


def test_a_folder_is_all_its_files_in_sorted_order(folder):
    source = open_source(folder)
    assert texts_of(source) == ["one", "two", "three"]
    assert source.size == 14
    assert [batch.bytes_read for batch in source.batches()] == [14]


def test_a_glob_is_what_it_matches(folder):
    assert texts_of(open_source(f"{folder}/**/*.txt")) == ["one", "two", "three"]
    assert texts_of(open_source(f"{folder}/b/?.txt")) == ["three"]
    with pytest.raises(CorpusError, match=r"no file matches .*\*\.csv; check the pattern"):
        open_source(f"{folder}/*.csv")


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path):
    (tmp_path / "a[1].txt").write_text("x")
    assert texts_of(open_source(str(tmp_path / "a[1].txt"))) == ["x"]


def test_files_of_several_formats_are_not_guessed_at(folder):
    (folder / "c.csv").write_text("text\na\n")
    with pytest.raises(CorpusError, match=r"several formats \(1 csv, 2 text\).*--format"):
        open_source(folder)
    assert len(texts_of(open_source(folder, format="text"))) == 5


def test_urls_are_read_through_fsspec(folder):
    system = fsspec.filesystem("memory")
    system.pipe("/gnomon-test/x.txt.gz", gzip.compress(b"far\naway\n"))
    system.pipe("/gnomon-test/y.txt", b"too\n")
    try:
        assert texts_of(open_source("memory://gnomon-test/x.txt.gz")) == ["far", "away"]
        assert texts_of(open_source("memory://gnomon-test")) == ["far", "away", "too"]
        assert texts_of(open_source("memory://gnomon-test/*.txt")) == ["too"]
        assert open_source("memory://gnomon-test").fingerprint()
    finally:
        system.rm("/gnomon-test", recursive=True)
    assert texts_of(open_source(f"file://{folder}/a.txt")) == ["one", "two"]


def test_parquet_and_arrays_are_read_from_urls(tmp_path):
    pq.write_table(pa.table({"text": ["a", "b"]}), tmp_path / "a.parquet")
    np.save(tmp_path / "a.npy", np.array([[1, 2]]))
    assert texts_of(open_source(f"file://{tmp_path}/a.parquet")) == ["a", "b"]
    assert next(open_source(f"file://{tmp_path}/a.npy").batches()).values.tolist() == [1, 2]


def test_a_url_that_leads_nowhere_is_named(monkeypatch):
    with pytest.raises(CorpusError, match=r"memory://nothing/here holds no file; check the URL"):
        open_source("memory://nothing/here")
    with pytest.raises(CorpusError, match=r"gopher://x cannot be opened .*[Pp]rotocol"):
        open_source("gopher://x")

    def missing(url):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(MissingExtraError, match=r"s3://b/x needs a library .*'s3'.*Install s3fs"):
        open_source("s3://b/x")


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ("three-regime", r"neither a file nor a built-in corpus; did you mean 'three-regimes'\?"),
        ("nowhere/at/all.txt", r"nowhere/at/all\.txt does not exist; check the path"),
        ("hf", r"'hf' is neither a file nor a built-in"),
        ("x" * 5000, r"cannot be read \(File name too long\)"),
    ],
)
def test_a_corpus_that_is_not_there_is_named(corpus, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match=message):
        open_source(corpus)


def test_a_misspelt_file_is_named_with_its_neighbour(folder):
    with pytest.raises(CorpusError, match=r"aa\.txt does not exist; did you mean 'a\.txt'\?"):
        open_source(folder / "aa.txt")


def test_empty_files_and_folders_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="is a folder without readable files"):
        open_source(tmp_path / "empty")
    for name in ("a.txt", "a.csv", "a.jsonl", "a.fa", "a.txt.gz"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(CorpusError, match=rf"{name} holds no document"):
            texts_of(open_source(tmp_path / name))
    with pytest.raises(CorpusError, match="the list of documents is empty"):
        open_source([])


def test_a_file_that_may_not_be_opened_is_named(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("x")

    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    for use in (texts_of, lambda source: source.fingerprint()):
        with pytest.raises(CorpusError, match=r"a\.txt cannot be read \(Permission denied\)"):
            use(open_source(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"text,n\none,1\n",))
    writer.start()
    source = open_source(path, format="csv")
    assert source.fingerprint() is None
    assert texts_of(source) == ["one"]
    writer.join()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "txt"}, r"--format txt is not a format; did you mean 'text'\?"),
        ({"unit": "lines"}, r"--unit lines is not known; did you mean 'line'\?"),
        ({"errors": "ignore"}, r"--errors ignore is not known"),
        ({"column": "x"}, r"is read as text without columns, so --column means nothing"),
        ({"group": "x"}, r"is read as text without columns, so --group means nothing"),
        ({"format": "csv", "unit": "file"}, r"is read as csv, so --unit means nothing"),
        ({"split": "train"}, r"so --split means nothing"),
        ({"separator": 0}, r"so --separator means nothing"),
        ({"dtype": "uint16"}, r"so --dtype means nothing"),
    ],
)
def test_an_option_that_can_not_be_honoured_is_refused(folder, options, message):
    with pytest.raises(CorpusError, match=message):
        open_source(folder / "a.txt", **options)


def test_options_mean_nothing_for_lists_and_built_in_corpora():
    with pytest.raises(CorpusError, match="--group means nothing for a list of documents"):
        open_source(["a"], group="x")
    with pytest.raises(CorpusError, match="--column means nothing for the built-in corpus digits"):
        open_source("digits", column="x")
    for corpus in (b"abc", {"a": 1}, 5):
        with pytest.raises(CorpusError, match="a corpus cannot be a"):
            open_source(corpus)


def test_grouping_by_containment_is_left_to_counting(folder):
    batch = next(open_source(folder / "a.txt", group="contained").batches())
    assert batch.groups is None


def test_a_fingerprint_follows_bytes_and_options_and_not_names(folder, tmp_path):
    base = open_source(folder).fingerprint()
    assert base == open_source(folder).fingerprint()
    moved = tmp_path / "moved"
    folder.rename(moved)
    assert open_source(moved).fingerprint() == base
    assert open_source(moved, unit="file").fingerprint() != base
    assert open_source(moved, errors="replace").fingerprint() != base
    (moved / "a.txt").write_text("one\ntwo")
    (moved / "b" / "2.txt").write_text("\nthree\n")
    assert open_source(moved).fingerprint() != base


def test_a_fingerprint_of_a_list_follows_its_contents():
    prints = {open_source(rows).fingerprint() for rows in (["ab"], ["a", "b"], ["b", "a"])}
    prints |= {open_source(rows).fingerprint() for rows in ([[1, 2]], [[1], [2]], [[2], [1]])}
    assert len(prints) == 6
    assert open_source(["a"]).fingerprint() == open_source(("a",)).fingerprint()


def test_a_small_file_costs_no_batch_of_its_own(tmp_path):
    for i in range(50):
        (tmp_path / f"{i:02}.txt").write_text(f"document {i}\n")
    assert [len(batch.texts) for batch in open_source(tmp_path).batches()] == [50]


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.lists(
        st.lists(st.tuples(st.text("ab ", max_size=9), st.text("gh", min_size=1)), max_size=8),
        max_size=8,
    ),
    characters=st.integers(1, 30),
    documents=st.integers(1, 9),
    grouped=st.booleans(),
)
def test_batching_keeps_every_document_and_its_group_in_order(
    pieces, characters, documents, grouped
):
    given_pieces = [
        TextBatch(texts=[t for t, _ in rows], groups=[g for _, g in rows] if grouped else None)
        for rows in pieces
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "TEXT_CHARACTERS", characters)
        patch.setattr(streams, "TEXT_DOCUMENTS", documents)
        batches = list(streams.rebatch_texts(given_pieces))
    expected = [row for rows in pieces for row in rows if row[0].strip()]
    assert [t for b in batches for t in b.texts] == [t for t, _ in expected]
    if grouped:
        assert [g for b in batches for g in b.groups] == [g for _, g in expected]
    else:
        assert all(b.groups is None for b in batches)
    for batch in batches:
        assert 1 <= len(batch.texts) <= documents
        assert sum(map(len, batch.texts[:-1])) < characters


def test_text_batches_are_bounded():
    batches = list(open_source(["x" * 100_000] * 100 + ["y"] * 10_000).batches())
    assert sum(len(batch.texts) for batch in batches) == 10_100
    assert max(len(batch.texts) for batch in batches) <= 4096
    assert max(sum(map(len, batch.texts)) for batch in batches) <= (4 << 20) + 100_000


# VmHWM belongs to the process image; ru_maxrss would begin at the peak of the tests themselves.
PEAK = """
import sys
from pathlib import Path
from gnomon.corpus.reading import streams
from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading.resolve import open_source
documents = 0
for batch in open_source(sys.argv[1]).batches():
    documents += len(batch.texts)
status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(documents, status["VmHWM"].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("form", ["txt", "csv", "jsonl", "parquet", "txt.gz"])
def test_peak_memory_stays_when_a_corpus_is_repeated_ten_times(tmp_path, form):
    documents = [f"document {i} " + "word " * 60 for i in range(20_000)]
    peaks = {}
    for times in (1, 10):
        path = tmp_path / f"{times}.{form}"
        if form == "parquet":
            with pq.ParquetWriter(path, pa.schema({"text": pa.string()})) as writer:
                for _ in range(times):
                    writer.write_table(pa.table({"text": documents}))
        else:
            quote = '{"text": "%s"}\n' if form == "jsonl" else "%s\n"
            header = "text\n" if form == "csv" else ""
            opener = gzip.open if form.endswith("gz") else open
            with opener(path, "wt") as handle:
                handle.write(header)
                handle.writelines(quote % text for text in documents * times)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, check=True, text=True
        )
        count, peaks[times] = map(int, done.stdout.split())
        assert count == 20_000 * times
    assert peaks[10] < 1.2 * peaks[1]


def saved(folder, **columns):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    data = datasets.Dataset.from_dict(columns)
    data.save_to_disk(str(folder))
    return data


def test_a_saved_dataset_is_read_by_its_column(tmp_path):
    texts = [f"row {i}" for i in range(3000)]
    saved(tmp_path / "d", text=texts, by=[i % 7 for i in range(3000)])
    source = open_source(tmp_path / "d", group="by")
    assert texts_of(source) == texts
    assert [g for b in source.batches() for g in b.groups] == [str(i % 7) for i in range(3000)]
    assert source.fingerprint() != open_source(tmp_path / "d").fingerprint()
    assert source.fingerprint() == open_source(tmp_path / "d", group="by").fingerprint()
    with pytest.raises(CorpusError, match=r"no column 'txt'; did you mean 'text'"):
        open_source(tmp_path / "d", column="txt")
    with pytest.raises(CorpusError, match="a single dataset without splits; drop --split"):
        open_source(tmp_path / "d", split="train")


def test_a_saved_dataset_of_ids_is_a_source_of_ids(tmp_path):
    saved(tmp_path / "d", input_ids=[[1, 2], [3]])
    source = open_source(tmp_path / "d")
    assert source.kind == "ids"
    assert next(source.batches()).values.tolist() == [1, 2, 3]


def test_a_saved_dataset_with_splits_asks_for_one(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    parts = {name: datasets.Dataset.from_dict({"text": [name]}) for name in ("train", "test")}
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "d"))
    assert texts_of(open_source(tmp_path / "d", split="test")) == ["test"]
    with pytest.raises(CorpusError, match="has the splits train, test; choose one with --split"):
        open_source(tmp_path / "d")
    with pytest.raises(CorpusError, match=r"no split 'tset'; did you mean 'test'\?"):
        open_source(tmp_path / "d", split="tset")


def test_a_folder_that_is_no_saved_dataset_is_named(tmp_path):
    pytest.importorskip("datasets")
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(CorpusError, match="cannot be read as a saved dataset"):
        open_source(tmp_path)


def test_a_dataset_of_the_hub_is_streamed_without_a_fingerprint(monkeypatch):
    """A stream made here stands for the hub, which tests do not reach."""
    datasets = pytest.importorskip("datasets")
    asked = []

    def load(path, configuration, **options):
        asked.append((path, configuration, options["split"]))
        return datasets.Dataset.from_dict({"text": ["a", "b"]}).to_iterable_dataset()

    monkeypatch.setattr(datasets, "load_dataset", load)
    source = open_source("hf:some/name:small", split="train")
    assert texts_of(source) == ["a", "b"]
    assert source.fingerprint() is None
    assert source.size is None
    assert asked == [("some/name", "small", "train")]


def test_a_hub_that_can_not_be_reached_is_named(monkeypatch):
    datasets = pytest.importorskip("datasets")

    def load(*_, **__):
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(CorpusError, match=r"hf:x cannot be opened on the hub \(no route\)"):
        open_source("hf:x")


def test_a_missing_or_old_datasets_library_is_named(monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets, "__version__", "3.1.0")
    with pytest.raises(MissingExtraError, match=r"datasets 3\.1\.0 may run code.*datasets>=4"):
        open_source("hf:x")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install gnomon\[hf\]"):
        open_source("hf:x")


def test_a_process_without_standard_input_says_so(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CorpusError, match="this process has no standard input"):
        open_source("-")


def test_a_batch_has_read_its_share_of_a_piece_it_cuts():
    """Two pieces of equal documents; the bytes of a batch are those of the documents so far."""
    one = TextBatch(texts=["ab"] * 10_000, bytes_read=50_000)
    two = TextBatch(texts=["ab"] * 10_000, bytes_read=100_000)
    seen = 0
    for batch in streams.rebatch_texts([one, two]):
        seen += len(batch.texts)
        assert batch.bytes_read == 5 * seen
    assert seen == 20_000


@pytest.mark.parametrize("name", ["pandas", "csv", "text", "webdataset", "parquet"])
def test_a_reader_of_the_library_is_no_dataset(tmp_path, monkeypatch, name):
    """It would read what lies in the current folder, pickles by pandas among it."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.pkl").write_bytes(b"cos\nsystem\n(S'touch mark'\ntR.")
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(CorpusError, match=r"is a reader of the library datasets and no dataset"):
        open_source(f"hf:{name}")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ckpt", ".pkl"])
def test_weights_in_a_pickle_are_no_corpus_and_the_line_that_converts_them_is_said(
    tmp_path, suffix
):
    file = tmp_path / f"weights{suffix}"
    file.write_bytes(b"\x80\x02}.")
    with pytest.raises(CorpusError) as caught:
        open_source(file)
    assert f"torch.load({str(file)!r}, weights_only=True)" in str(caught.value)
    assert str(file.with_suffix(".safetensors")) in str(caught.value)
