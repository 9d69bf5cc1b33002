"""Token ids from arrays, flat files and lists, against NumPy and plain Python."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.corpus.documents import id_keys
from gnomon.corpus.options import Limits
from gnomon.corpus.reading import ids as flat
from gnomon.corpus.reading.resolve import open_source
from gnomon.errors import CorpusError


def rows_of(source):
    return [
        batch.values[batch.offsets[row] : batch.offsets[row + 1]].tolist()
        for batch in source.batches()
        for row in range(batch.rows)
    ]


def cut_at(values, separator):
    """The documents between separators, one token at a time."""
    documents, current = [], []
    for value in [*values, separator]:
        if value == separator:
            documents += [current] if current else []
            current = []
        else:
            current.append(value)
    return documents


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.integers(0, 5), min_size=1, max_size=60).filter(lambda v: set(v) != {0}),
    dtype=st.sampled_from(["uint16", "uint32"]),
    block=st.integers(1, 20),
)
def test_a_flat_file_is_cut_exactly_at_its_separators(values, dtype, block, tmp_path_factory):
    """Whatever the size of the blocks, so also when a document spans several of them."""
    path = tmp_path_factory.mktemp("flat") / "a.bin"
    np.array(values, dtype).tofile(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flat, "ID_TOKENS", block)
        source = open_source(path, dtype=dtype, separator=0)
        assert rows_of(source) == cut_at(values, 0)


def test_a_large_flat_file_is_given_in_bounded_batches(tmp_path, rng):
    values = rng.integers(0, 1000, 5_000_000).astype(np.uint16)
    path = tmp_path / "a.u16"
    values.tofile(path)
    source = open_source(path, separator=0)
    batches = list(source.batches())
    assert max(len(batch.values) for batch in batches) < 3 << 20
    assert sum(len(batch.values) for batch in batches) == int((values != 0).sum())
    assert batches[-1].bytes_read == source.size == 10_000_000
    np.testing.assert_array_equal(np.concatenate([b.values for b in batches]), values[values != 0])


def test_a_compressed_flat_file_is_read_too(tmp_path):
    path = tmp_path / "a.u32.gz"
    path.write_bytes(gzip.compress(np.array([7, 8, 0, 9], "<u4").tobytes()))
    assert rows_of(open_source(path, separator=0)) == [[7, 8], [9]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": 0}, r"how wide they are; pass --dtype uint16 or uint32"),
        ({"dtype": "uint16"}, r"where documents end; .*--separator"),
        ({"dtype": "uint8", "separator": 0}, r"--dtype uint8 is not a width of ids.*uint16"),
        ({"dtype": "uint32", "separator": 0}, r"a\.bin has 6 bytes, .* multiple of 4.*--dtype"),
    ],
)
def test_a_flat_file_that_does_not_explain_itself_asks_for_the_option(tmp_path, options, message):
    path = tmp_path / "a.bin"
    np.arange(3, dtype=np.uint16).tofile(path)
    with pytest.raises(CorpusError, match=message):
        rows_of(open_source(path, **options))


def test_a_flat_document_beyond_the_limit_is_named(tmp_path):
    path = tmp_path / "a.u16"
    np.array([0, *[1] * 100, 0], np.uint16).tofile(path)
    for limit, block in ((199, 8), (199, 1000)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flat, "ID_TOKENS", block)
            with pytest.raises(CorpusError, match=r"a document after id \d.*--limit-line"):
                rows_of(open_source(path, separator=0, limits=Limits(line_bytes=limit)))
    assert len(rows_of(open_source(path, separator=0, limits=Limits(line_bytes=202)))) == 1


def test_flat_ids_beyond_int32_are_named(tmp_path):
    path = tmp_path / "a.u32"
    np.array([1, 0, 2**31, 0], np.uint32).tofile(path)
    with pytest.raises(CorpusError, match=r"after id 0, document 2: 2147483648 is no token id"):
        rows_of(open_source(path, separator=0))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_an_array_are_documents(tmp_path, rng, dtype, order):
    array = np.asarray(rng.integers(0, 2, (50, 7)).astype(dtype), order=order)
    np.save(tmp_path / "a.npy", array)
    source = open_source(tmp_path / "a.npy")
    assert source.axes is None
    assert rows_of(source) == array.astype(int).tolist()


def test_an_array_with_more_axes_is_a_grid(tmp_path, rng):
    array = rng.integers(0, 9, (20, 3, 4, 5))
    np.save(tmp_path / "a.npy", array)
    packed = tmp_path / "b.npy.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.npy").read_bytes()))
    for source in (open_source(tmp_path / "a.npy"), open_source(packed), open_source(array)):
        assert source.axes == (3, 4, 5)
        assert rows_of(source) == array.reshape(20, -1).tolist()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2)), r"holds float64 numbers; ids must be integers"),
        (np.array([[1, 2], [3, -4]]), r"row 2: -4 is no token id"),
        (np.array(3), r"holds a single number; pass an array of rows x length"),
        (np.zeros((0, 4), int), r"holds no document"),
    ],
)
def test_an_array_that_can_not_be_ids_is_named(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    for corpus in (tmp_path / "a.npy", array):
        with pytest.raises(CorpusError, match=message):
            rows_of(open_source(corpus))


def test_pickled_cut_and_foreign_arrays_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(CorpusError, match=r"a\.npy is not a whole \.npy array"):
        open_source(path)
    np.save(path, np.arange(1000).reshape(10, 100))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(CorpusError, match=r"a\.npy is not a whole \.npy array"):
        open_source(path)
    np.savez(tmp_path / "b.npz", a=np.zeros(3, int))
    (tmp_path / "b.npz").rename(path)
    with pytest.raises(CorpusError, match=r"a\.npy .* archive of arrays"):
        open_source(path)


def test_arrays_of_another_shape_in_one_folder_are_named(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3, 3), int))
    np.save(tmp_path / "b.npy", np.zeros((2, 4, 4), int))
    with pytest.raises(CorpusError, match=r"b\.npy has rows of shape \(4, 4\), unlike"):
        rows_of(open_source(tmp_path))


@pytest.mark.parametrize("kind", ["<U3", object])
def test_an_array_or_column_of_strings_is_a_list_of_texts(kind):
    pandas = pytest.importorskip("pandas")
    values = np.array(["one", "two"], kind)
    for corpus in (values, pandas.Series(values, index=[7, 8])):
        assert next(open_source(corpus).batches()).texts == ["one", "two"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=8), min_size=1, max_size=12))
def test_a_list_of_id_lists_is_given_as_it_is(rows):
    kept = [row for row in rows if row]
    source = open_source(rows)
    if not kept:
        with pytest.raises(CorpusError, match="holds no document"):
            rows_of(source)
        return
    assert rows_of(source) == kept
    batch = next(source.batches())
    np.testing.assert_array_equal(batch.documents, id_keys(batch.values, batch.offsets))
    np.testing.assert_array_equal(batch.groups, batch.documents)
    assert batch.values.dtype == np.int32


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1], [2.5]], r"document 2 is not a list of integer ids"),
        ([[1], [[2], [3, 4]]], r"document 2 is not a list of integer ids"),
        ([[1], "a"], r"document 2 is not a list of integer ids"),
        ([[1], [-1]], r"document 2: -1 is no token id"),
        ([[1], [2**70]], r"document 2 is not a list of integer ids"),
        (["a", [1]], r"document 2 is a list among strings"),
        (["a", "\ud800"], r"document 2: character 0 .*surrogate"),
    ],
)
def test_a_list_with_something_else_in_it_is_named(rows, message):
    with pytest.raises(CorpusError, match=message):
        list(open_source(rows).batches())
