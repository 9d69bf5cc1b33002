"""CSV, TSV, JSON lines and Parquet, against the csv and json modules and generated files."""

from __future__ import annotations

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.corpus.documents import id_keys, text_keys
from gnomon.corpus.options import Limits
from gnomon.corpus.reading.resolve import open_source
from gnomon.errors import CorpusError

VALUE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"))
WORDS = VALUE.filter(lambda text: bool(text.strip()))


def texts_of(source):
    return [text for batch in source.batches() for text in batch.texts]


def groups_of(source):
    return [group for batch in source.batches() for group in batch.groups]


def rows_of(source):
    return [
        batch.values[batch.offsets[row] : batch.offsets[row + 1]].tolist()
        for batch in source.batches()
        for row in range(batch.rows)
    ]


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def table(folder, name, **columns):
    path = folder / name
    pq.write_table(pa.table(columns), path)
    return path


@settings(max_examples=80, deadline=None)
@given(rows=st.lists(st.tuples(WORDS, VALUE), min_size=1, max_size=20), header=st.booleans())
def test_csv_equals_what_the_csv_module_reads(rows, header, tmp_path_factory):
    """Quotation marks, commas and newlines inside values included."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows([("text", "note")] * header + rows)
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(buffer.getvalue().encode())
    column = "text" if header else "0"
    group = "note" if header else "1"
    with path.open(encoding="utf-8", newline="") as handle:
        read = [record for record in csv.reader(handle) if record][header:]
    source = open_source(path, column=column, group=group)
    assert texts_of(source) == [record[0] for record in read]
    assert groups_of(source) == [record[1] for record in read]


def test_tsv_keeps_bare_quotation_marks(tmp_path):
    path = written(tmp_path, "a.tsv", 'label\tsentence\r\n0\t"half quoted\r\n1\tso "it" is\r\n')
    assert texts_of(open_source(path)) == ['"half quoted', 'so "it" is']


def test_csv_rows_longer_than_a_block_are_read_in_order(tmp_path):
    """Parsing starts again with larger blocks and gives no row twice."""
    values = ["a" * 10, "b" * 1_500_000, "c" * 10, "d" * 9_000_000, "e"] * 2
    path = written(tmp_path, "a.csv", "text,n\n" + "".join(f"{v},1\n" for v in values))
    assert texts_of(open_source(path, column="text")) == values


@pytest.mark.parametrize("length", [2_000_001, 3_000_000, 9_000_000])
def test_a_csv_row_beyond_the_limit_is_named(tmp_path, length):
    path = written(tmp_path, "a.csv", "text,n\n" + "x,1\n" * 5 + "y" * length + ",1\nz,2\n")
    with pytest.raises(CorpusError, match=r"row \d is longer than 2000000 bytes.*--limit-line"):
        texts_of(open_source(path, limits=Limits(line_bytes=2_000_000)))


def test_a_first_row_of_200_kilobytes_is_read(tmp_path):
    """The csv module alone refuses fields above 128 kB."""
    path = written(tmp_path, "a.csv", "x" * 200_000 + ",1\nb,2\n")
    assert [len(text) for text in texts_of(open_source(path, column="0"))] == [200_000, 1]
    assert csv.field_size_limit() == 131_072


def test_a_first_row_without_end_is_named(tmp_path):
    path = written(tmp_path, "a.csv", "x" * 2_000_000)
    with pytest.raises(CorpusError, match="first row does not end within a mebibyte"):
        texts_of(open_source(path))


def test_a_wrong_column_lists_those_there_are(tmp_path):
    path = written(tmp_path, "a.csv", "label,sentence\n0,good\n")
    with pytest.raises(
        CorpusError,
        match=r"no column 'sentense'; did you mean 'sentence'\? Known: label, sentence.*--column",
    ):
        texts_of(open_source(path, column="sentense"))
    with pytest.raises(CorpusError, match=r"no column '7'; known: 0, 1"):
        texts_of(open_source(path, column="7"))
    with pytest.raises(CorpusError, match=r"no column 'topic'.*--group"):
        texts_of(open_source(path, group="topic"))


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("label,sentence", "1,good", "good"),
        ("id,note,text", "a,b,c", "c"),
        ("id,remark", "1,fine", "fine"),
        ("only", "3", "3"),
    ],
)
def test_the_only_or_usual_text_column_is_found(tmp_path, header, row, expected):
    path = written(tmp_path, "a.csv", f"{header}\n{row}\n")
    assert texts_of(open_source(path)) == [expected]


def test_an_unclear_text_column_lists_the_columns(tmp_path):
    path = written(tmp_path, "a.csv", "first,second\na,b\n")
    with pytest.raises(CorpusError, match=r"columns first, second, and none.*--column"):
        texts_of(open_source(path))


def test_undecodable_bytes_in_a_table_are_named_by_row_and_byte(tmp_path):
    path = written(tmp_path, "a.csv", b"text,n\nfine,1\nab\xfe,2\n")
    with pytest.raises(CorpusError, match=r"a\.csv, row 2: byte 2 .*0xfe.*--errors replace"):
        texts_of(open_source(path))
    assert texts_of(open_source(path, errors="replace")) == ["fine", "ab\ufffd"]


def test_undecodable_bytes_in_another_column_do_not_matter(tmp_path):
    path = written(tmp_path, "a.csv", b"text,n\nfine,\xff\n")
    assert texts_of(open_source(path, column="text")) == ["fine"]


@pytest.mark.parametrize(
    "rows",
    ["a,1\nb,2,3\n", '"a\nz",1\nb,2,3\n', "a,1\nb,2,3", 'a,1\n"b\n",2,3\nc,1\n'],
)
@pytest.mark.parametrize("header", ["text,n\n", '"text","n\nm"\n', ""])
def test_a_row_with_too_many_columns_is_named_by_its_number(tmp_path, rows, header):
    """As in all messages, rows are counted from 1 and the header is not one of them."""
    path = written(tmp_path, "a.csv", header + rows)
    with pytest.raises(CorpusError, match=r"a\.csv, row 2 has 3 columns where 2 are expected"):
        texts_of(open_source(path, column="text" if header else "0"))


def test_a_table_with_a_header_alone_holds_no_document(tmp_path):
    path = written(tmp_path, "a.csv", "text,n\n")
    with pytest.raises(CorpusError, match=r"a\.csv holds no document"):
        texts_of(open_source(path))


def test_a_damaged_compressed_table_is_named_as_such(tmp_path):
    whole = gzip.compress(b"text,n\n" + b"".join(b"row %d,1\n" % i for i in range(300_000)))
    path = written(tmp_path, "a.csv.gz", whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=r"a\.csv\.gz is damaged or cut short"):
        texts_of(open_source(path))


def test_names_like_null_are_text_and_a_byte_order_mark_is_dropped(tmp_path):
    path = written(tmp_path, "a.csv", b"\xef\xbb\xbftext,n\nNULL,1\nnan,2\n")
    assert texts_of(open_source(path)) == ["NULL", "nan"]


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(WORDS, st.one_of(st.integers(), VALUE)), min_size=1, max_size=20))
def test_json_lines_equal_what_the_json_module_wrote(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    records = [{"meta": {"text": text}, "from": origin} for text, origin in rows]
    path.write_text("\n".join(json.dumps(r) for r in records) + "\n", encoding="utf-8")
    source = open_source(path, column="meta.text", group="from")
    assert texts_of(source) == [text for text, _ in rows]
    assert groups_of(source) == [str(origin) for _, origin in rows]


def test_a_json_field_of_integer_lists_is_a_source_of_ids(tmp_path):
    path = written(
        tmp_path,
        "a.ndjson",
        '{"ids": [1, 2], "by": "x"}\n\n{"ids": [], "by": "x"}\n{"ids": [3], "by": 1}\n',
    )
    source = open_source(path, group="by", column="ids")
    assert source.kind == "ids"
    assert rows_of(source) == [[1, 2], [3]]
    batch = next(source.batches())
    np.testing.assert_array_equal(batch.groups, text_keys(["x", "1"]))
    np.testing.assert_array_equal(batch.documents, id_keys(batch.values, batch.offsets))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": ', r"a\.jsonl, line 3 is not JSON \(.*mend the line"),
        ("[" * 100_000, r"a\.jsonl, line 3 is not JSON"),
        ("[1, 2]", r"a\.jsonl, line 3 holds a list, not an object"),
        ('{"test": "x"}', r"line 3: there is no field 'text'; did you mean 'test'\?.*--column"),
        ("{}", r"line 3: there is no field 'text'; the object is empty"),
        ('{"text": 5}', r"line 3: the field 'text' holds a number, not a string"),
        ('{"text": [5]}', r"line 3: the field 'text' holds a list, not a string"),
        ('{"text": "\\ud800"}', r"line 3: character 0 .* surrogate pair.*--errors replace"),
    ],
)
def test_a_bad_json_line_is_named_by_its_number(tmp_path, line, message):
    path = written(tmp_path, "a.jsonl", '{"text": "a"}\n{"text": null}\n' + line + "\n")
    with pytest.raises(CorpusError, match=message):
        texts_of(open_source(path))


def test_a_lone_surrogate_is_replaced_on_request(tmp_path):
    path = written(tmp_path, "a.jsonl", '{"text": "a\\ud800b"}\n')
    assert texts_of(open_source(path, errors="replace")) == ["a\ufffdb"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[1, -1]", r"line 2: -1 is no token id; ids must lie between"),
        ("[2147483648]", r"line 2: 2147483648 is no token id"),
        ("[1e2]", r"line 2: the field 'ids' holds a list, not a list of integers"),
        ("[99999999999999999999]", r"line 2: the field 'ids' holds a list, not a list of integers"),
        ('"a"', r"line 2: the field 'ids' holds a string, not a list"),
    ],
)
def test_bad_ids_in_json_are_named_by_their_line(tmp_path, value, message):
    path = written(tmp_path, "a.jsonl", '{"ids": [1]}\n{"ids": ' + value + "}\n")
    with pytest.raises(CorpusError, match=message):
        rows_of(open_source(path))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.binary()]
)
def test_every_string_type_of_parquet_is_text(tmp_path, kind):
    values = ["a", "é", None, "", "b", "a"]
    path = table(tmp_path, "a.parquet", text=pa.array(values).cast(kind), n=[1] * 6)
    source = open_source(path, group="n")
    assert texts_of(source) == ["a", "é", "b", "a"]
    assert groups_of(source) == ["1"] * 4


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int64()),
        pa.large_list(pa.uint16()),
        pa.list_(pa.uint64()),
        pa.list_(pa.int32(), 2),
    ],
)
def test_every_integer_list_type_of_parquet_is_ids(tmp_path, kind):
    path = table(tmp_path, "a.parquet", ids=pa.array([[1, 2], [3, 4], None, [5, 6]], kind))
    source = open_source(path)
    assert source.kind == "ids"
    assert rows_of(source) == [[1, 2], [3, 4], [5, 6]]


def test_parquet_reads_the_same_in_any_number_of_row_groups(tmp_path):
    values = [f"row {i} " + "x" * (i % 300) for i in range(10_000)]
    for size in (100, 3000, 10_000):
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"text": values}), path, row_group_size=size)
        source = open_source(path)
        assert texts_of(source) == values
        assert [batch.bytes_read for batch in source.batches()][-1] == source.size


def test_a_parquet_value_stored_once_and_used_often_is_not_copied_at_once(tmp_path):
    """40 kB that stand for 400 MB: read in slices where that is allowed, refused where not."""
    path = tmp_path / "a.parquet"
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 400, pa.int32()), ["x" * 10**6, "y"])
    pq.write_table(pa.table({"text": values}), path)
    before = pa.total_allocated_bytes()
    largest, count = 0, 0
    for batch in open_source(path, limits=Limits(expansion=1e6)).batches():
        largest = max(largest, pa.total_allocated_bytes() - before)
        count += len(batch.texts)
    assert count == 800
    assert largest < 64 << 20
    with pytest.raises(CorpusError, match=r"more than 1000 times its size.*--limit-expansion"):
        texts_of(open_source(path))


def test_parquet_ids_repeated_beyond_the_limit_are_refused(tmp_path):
    path = table(tmp_path, "a.parquet", ids=pa.array([np.zeros(20_000_000, np.int8)]))
    with pytest.raises(CorpusError, match=r"more than 100 times its size.*--limit-expansion"):
        rows_of(open_source(path, limits=Limits(expansion=100)))


@pytest.mark.parametrize(("value", "shown"), [(-1, "-1"), (2**31, "2147483648")])
def test_bad_ids_in_parquet_are_named_by_their_row(tmp_path, value, shown):
    path = table(tmp_path, "a.parquet", ids=[[1, 2], [], [3, value]])
    with pytest.raises(CorpusError, match=rf"a\.parquet, row 3: {shown} is no token id"):
        rows_of(open_source(path))


def test_a_null_id_and_a_null_group_are_named_by_their_row(tmp_path):
    path = table(tmp_path, "a.parquet", ids=[[1], [2, None]], by=["x", None])
    with pytest.raises(CorpusError, match=r"row 2: an id is null"):
        rows_of(open_source(path, column="ids"))
    path = table(tmp_path, "b.parquet", ids=[[1], [2]], by=["x", None])
    with pytest.raises(CorpusError, match=r"row 2: the group column is empty there.*--group"):
        rows_of(open_source(path, column="ids", group="by"))


def test_a_parquet_column_of_another_type_is_named(tmp_path):
    path = table(tmp_path, "a.parquet", text=[1.5], n=[1])
    with pytest.raises(CorpusError, match=r"column 'text' holds double, neither strings nor"):
        open_source(path, column="text")


@pytest.mark.parametrize("damage", ["cut", "no magic", "empty", "flipped"])
def test_a_damaged_parquet_file_is_named(tmp_path, damage):
    path = table(tmp_path, "a.parquet", text=[f"some text {i}" for i in range(5000)])
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        for place in range(4, len(data) // 2, 7):
            data[place] ^= 0xFF
    changed = {"cut": data[: len(data) // 2], "no magic": b"x" * 500, "empty": b"", "flipped": data}
    path.write_bytes(changed[damage])
    with pytest.raises(CorpusError, match=r"a\.parquet is not a whole Parquet file"):
        texts_of(open_source(path))


def test_a_compressed_parquet_file_is_refused(tmp_path):
    path = table(tmp_path, "a.parquet", text=["a"])
    packed = written(tmp_path, "b.parquet.gz", gzip.compress(path.read_bytes()))
    with pytest.raises(CorpusError, match="Parquet cannot be read from a stream"):
        open_source(packed)


def test_a_field_beyond_the_limit_is_named_by_its_row(tmp_path):
    path = table(tmp_path, "a.parquet", text=["a", "b" * 101])
    with pytest.raises(CorpusError, match=r"row 2 is longer than 100 bytes.*--limit-line"):
        texts_of(open_source(path, limits=Limits(line_bytes=100)))


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "options", "rows"),
    [
        ("sst2/train.tsv", {"column": "sentence"}, 67_349),
        ("sst2/train.tsv", {"column": "sentence", "group": "label"}, 67_349),
        ("sst2/dev.tsv", {}, 872),
        ("sst2/whole-sentences.tsv", {"column": "0"}, 6_920),
        ("imdb/train.parquet", {}, 25_000),
        ("splice/splice.data", {"format": "csv", "column": "2"}, 3_190),
        ("promoters/hs_pos_TATA.txt", {}, 2_929),
        ("promoters/mm_pos_TATA.txt", {}, 3_086),
    ],
)
def test_real_corpora_have_the_rows_that_are_known_of_them(data_root, path, options, rows):
    assert len(texts_of(open_source(data_root / path, **options))) == rows


@pytest.mark.data
@pytest.mark.wide
def test_sst2_equals_splitting_its_lines_at_tabs(data_root):
    path = data_root / "sst2" / "train.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    expected = [line.split("\t")[1] for line in lines if line]
    assert texts_of(open_source(path, column="sentence")) == expected


def test_a_second_parquet_file_without_the_column_is_named(tmp_path):
    table(tmp_path, "a.parquet", text=["a"])
    table(tmp_path, "b.parquet", words=["b"])
    with pytest.raises(CorpusError, match=r"b\.parquet has no column 'text'"):
        texts_of(open_source(tmp_path))
    table(tmp_path, "b.parquet", text=[[1]])
    with pytest.raises(CorpusError, match=r"b\.parquet: the column 'text' holds ids where"):
        texts_of(open_source(tmp_path))
