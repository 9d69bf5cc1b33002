"""Windows against a loop over documents and positions, and the laws of packing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.corpus.documents import IdBatch, id_keys
from gnomon.corpus.windows import Packer, Window, cut, cutter
from gnomon.errors import InputError

DOCUMENTS = st.lists(st.lists(st.integers(0, 99), max_size=12), max_size=8)
LENGTHS = st.integers(1, 6)


def batch_of(documents: list[list[int]], padding: int = 0) -> IdBatch:
    """A batch, with `padding` foreign ids before and after its documents."""
    flat = [-7] * padding + [i for d in documents for i in d] + [-7] * padding
    offsets = np.cumsum([padding, *(len(d) for d in documents)])
    keys = np.arange(len(documents), dtype=np.uint64) + np.uint64(1000)
    return IdBatch(
        values=np.array(flat, dtype=np.int32),
        offsets=offsets.astype(np.int64),
        documents=keys,
        groups=keys * np.uint64(3),
    )


def read(windows) -> list[list[int]]:
    """The documented way to walk windows."""
    assert np.array_equal(windows.stops, windows.starts + windows.step * windows.lengths)
    return [
        [int(windows.values[start + windows.step * p]) for p in range(length)]
        for start, length in zip(windows.starts, windows.lengths, strict=True)
    ]


def slices(document: list[int], length: int, stride: int) -> list[list[int]]:
    """Sliding by definition: stop once a window has reached the end of the document."""
    found, start = [], 0
    while start < len(document):
        found.append(document[start : start + length])
        if start + length >= len(document):
            break
        start += stride
    return found


@given(DOCUMENTS, LENGTHS, st.integers(0, 3))
def test_start_gives_the_first_tokens_of_every_document(documents, length, padding):
    windows = cut(batch_of(documents, padding), Window("start", length))
    assert read(windows) == [d[:length] for d in documents if d]


@given(DOCUMENTS, LENGTHS, st.integers(0, 3))
def test_end_gives_the_last_tokens_backwards(documents, length, padding):
    windows = cut(batch_of(documents, padding), Window("end", length))
    assert read(windows) == [d[::-1][:length] for d in documents if d]


@given(DOCUMENTS, LENGTHS, st.none() | st.integers(1, 9), st.integers(0, 3))
def test_sliding_gives_windows_at_every_stride_up_to_the_end(documents, length, stride, padding):
    windows = cut(batch_of(documents, padding), Window("sliding", length, stride))
    expected = [w for d in documents for w in slices(d, length, stride or length)]
    assert read(windows) == expected


@given(DOCUMENTS, LENGTHS)
def test_sliding_without_a_stride_uses_every_token_once(documents, length):
    windows = cut(batch_of(documents), Window("sliding", length))
    assert [i for w in read(windows) for i in w] == [i for d in documents for i in d]


@given(DOCUMENTS, LENGTHS, st.sampled_from(["start", "end", "sliding"]))
def test_every_window_knows_its_document_and_keeps_its_group(documents, length, kind):
    batch = batch_of(documents)
    windows = cut(batch, Window(kind, length))
    assert np.array_equal(windows.keys, batch.groups[windows.rows])
    for row, window in zip(windows.rows, read(windows), strict=True):
        held = documents[row][::-1] if kind == "end" else documents[row]
        assert any(held[a : a + len(window)] == window for a in range(len(held)))
    assert set(windows.rows.tolist()) == {r for r, d in enumerate(documents) if d}


@given(DOCUMENTS)
def test_ids_are_shared_with_the_batch(documents):
    batch = batch_of(documents)
    for kind in ("start", "end", "sliding"):
        assert cut(batch, Window(kind, 3)).values is batch.values


@given(st.lists(DOCUMENTS, max_size=5), LENGTHS, st.integers(0, 2))
def test_packs_cut_the_joined_documents_whatever_the_batches(batches, length, padding):
    """Any partition of the documents into batches gives the same packs."""
    packer = Packer(length)
    cuts = [packer.cut(batch_of(documents, padding)) for documents in batches]
    flat = [i for documents in batches for d in documents for i in d]
    whole = len(flat) // length * length
    assert [w for c in cuts for w in read(c)] == [
        flat[a : a + length] for a in range(0, whole, length)
    ]
    assert packer.carried == len(flat) - whole


def test_a_pack_is_keyed_by_its_content():
    packer = Packer(2)
    first = packer.cut(batch_of([[1, 2, 1], [2, 2], [1]]))
    assert first.rows is None
    assert first.keys[0] == first.keys[1] != first.keys[2]
    ids = np.array([1, 2], dtype=np.int32)
    assert first.keys[0] == id_keys(ids, np.array([0, 2]))[0]


def test_a_pack_of_provisional_ids_is_keyed_by_its_tokens():
    """Two orders of meeting the same tokens give the same key."""
    one = cutter(Window("packed", 2), lambda: np.array([11, 22], dtype=np.uint64))
    two = cutter(Window("packed", 2), lambda: np.array([22, 11], dtype=np.uint64))
    assert one(batch_of([[0, 1]])).keys == two(batch_of([[1, 0]])).keys


def test_a_cutter_of_packs_carries_tokens_over():
    cut_next = cutter(Window("packed", 3))
    assert read(cut_next(batch_of([[1, 2]]))) == []
    assert read(cut_next(batch_of([[3, 4]]))) == [[1, 2, 3]]
    assert read(cutter(Window("start", 3))(batch_of([[3, 4]]))) == [[3, 4]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("start", 0), r"--length is 0; a window holds at least 1 token"),
        (("packed", -3), r"--length is -3"),
        (("start", 10**30), r"is beyond 2,147,483,647 tokens; choose a smaller one"),
        (("sliding", 4, 0), r"--stride is 0; windows move on by at least 1 token"),
        (("start", 4, 2), r"--stride belongs to --window sliding, not to start"),
        (("slidng", 4), r"--window 'slidng' is unknown \(did you mean 'sliding'"),
    ],
)
def test_what_can_not_be_cut_is_refused_in_a_sentence(arguments, message):
    with pytest.raises(InputError, match=message):
        Window(*arguments)


def test_packs_can_not_be_cut_from_one_batch_alone():
    with pytest.raises(InputError, match=r"packed windows run across batches"):
        cut(batch_of([[1]]), Window("packed", 1))
