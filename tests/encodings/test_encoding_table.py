"""Tables from files: what is read, and every way a file can be wrong."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


@pytest.fixture
def table(rng):
    return rng.normal(size=(6, 4)).astype(np.float32)


def test_every_format_gives_the_same_rows(tmp_path, table):
    np.save(tmp_path / "t.npy", table)
    np.savez(tmp_path / "t.npz", positions=table)
    save_file({"positions": table}, tmp_path / "t.safetensors")
    for name in ("t.npy", "t.npz", "t.safetensors"):
        made = encoding("table", path=tmp_path / name)
        np.testing.assert_array_equal(made.vectors([5, 0]), table[[5, 0]])
        assert name in made.parameters["source"]
    np.testing.assert_array_equal(encoding("table", path=table).vectors([3]), table[[3]])


def test_one_of_several_members_is_chosen_by_name(tmp_path, table):
    np.savez(tmp_path / "t.npz", a=table, b=2 * table)
    save_file({"a": table, "b": 2 * table}, tmp_path / "t.safetensors")
    for file in (tmp_path / "t.npz", tmp_path / "t.safetensors"):
        for made in (encoding("table", path=file, member="b"), encoding("table", path=f"{file}:b")):
            np.testing.assert_array_equal(made.vectors([1]), 2 * table[[1]])
        with pytest.raises(EncodingError, match=r"holds 2 arrays; name one .* Known: a, b\."):
            encoding("table", path=file)
        with pytest.raises(EncodingError, match=r"holds no array 'c': known: a, b\."):
            encoding("table", path=file, member="c")


def test_bfloat16_is_read_as_the_upper_half_of_float32(tmp_path, table):
    halves = (table.view(np.uint32) >> 16).astype(np.uint16)
    header = {"w": {"dtype": "BF16", "shape": [6, 4], "data_offsets": [0, 48]}}
    text = json.dumps(header).encode()
    path = tmp_path / "t.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + halves.tobytes())
    made = encoding("table", path=path).vectors(np.arange(6))
    np.testing.assert_allclose(made, table, rtol=2.0**-7)


def test_positions_past_the_end_are_refused(table):
    made = encoding("table", path=table)
    with pytest.raises(EncodingError, match=r"Position 6 is not in the table array, .* 0 to 5"):
        made.vectors([0, 6])
    with pytest.raises(EncodingError, match=r"Position -1 is not in the table"):
        made.vectors(-1)


def test_a_pickle_is_never_loaded(tmp_path):
    np.save(tmp_path / "t.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "t.npz", a=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(EncodingError, match=r"t.npy cannot be read as .npy"):
        encoding("table", path=tmp_path / "t.npy")
    with pytest.raises(EncodingError, match=r"t.npz cannot be read as .npz"):
        encoding("table", path=tmp_path / "t.npz", member="a")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"no table", b"\x93NUMPY\x01\x00", b"\xff" * 64])
def test_a_damaged_file_is_named(tmp_path, suffix, content):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    with pytest.raises(EncodingError, match=rf"t\{suffix} cannot be read as \{suffix} \("):
        encoding("table", path=path)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_a_truncated_file_is_named(tmp_path, suffix, table):
    whole = {
        ".npy": lambda p: np.save(p, table),
        ".npz": lambda p: np.savez(p, a=table),
        ".safetensors": lambda p: save_file({"a": table}, p),
    }
    path = tmp_path / f"t{suffix}"
    whole[suffix](path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(EncodingError, match=r"cannot be read as"):
        encoding("table", path=path)


def test_a_file_under_the_wrong_suffix_is_named(tmp_path, table):
    np.save(tmp_path / "t.npy", table)
    np.savez(tmp_path / "u.npz", a=table)
    (tmp_path / "t.npy").rename(tmp_path / "t.npz")
    (tmp_path / "u.npz").rename(tmp_path / "u.npy")
    with pytest.raises(EncodingError, match=r"t.npz cannot be read as .npz"):
        encoding("table", path=tmp_path / "t.npz")
    with pytest.raises(
        EncodingError, match=r"u.npy is an archive of arrays, not one; name it u.npz\."
    ):
        encoding("table", path=tmp_path / "u.npy")


def test_a_header_that_promises_more_than_the_file_holds_takes_no_memory(tmp_path):
    path = tmp_path / "t.npy"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 768), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(EncodingError, match=r"t.npy cannot be read as .npy"):
        encoding("table", path=path)


def test_missing_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(EncodingError, match=r"There is no file .*none.npy; check the path"):
        encoding("table", path=tmp_path / "none.npy")
    (tmp_path / "t.pt").write_bytes(b"x")
    with pytest.raises(EncodingError, match=r"t.pt holds its numbers as a pickle, .*convert it by"):
        encoding("table", path=tmp_path / "t.pt")
    np.save(tmp_path / "t.npy", np.eye(2))
    with pytest.raises(EncodingError, match=r"holds one array without a name; leave out 'a'\."):
        encoding("table", path=tmp_path / "t.npy", member="a")


def test_what_is_no_table_of_finite_numbers_is_refused():
    with pytest.raises(EncodingError, match=r"array has shape \(3,\); a table of positions has tw"):
        encoding("table", path=np.zeros(3))
    with pytest.raises(EncodingError, match=r"array holds nan at row 1, column 0; pass a table of"):
        encoding("table", path=np.array([[0.0], [np.nan]]))
    with pytest.raises(EncodingError, match=r"array holds complex128; pass a table of real"):
        encoding("table", path=np.zeros((2, 2), dtype=complex))
