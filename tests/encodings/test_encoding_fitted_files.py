"""A fitted encoding on disk: what was written is read back bit for bit, and damage is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import gnomon
from gnomon.encodings.files import FORMAT, fitted_bytes
from gnomon.encodings.fitted import Finish, Fitted, Points
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError, StorageError


def made(rank: int = 2, masked: str = "continue", **how: Any) -> Fitted:
    """Twelve rows, of which 3 and 4 are masked and 5 is projected."""
    status = np.full(12, 2, np.uint8)
    status[3:6] = 0, 0, 1
    found = Points(
        coordinates=np.random.default_rng(3).normal(size=(12, rank)),
        status=status,
        shape=(12,),
        method="classical",
        estimator="debiased",
        minimises="strain",
        warnings=("Beware.",),
        origin={"digest": "abc"},
    )
    return found.finish(Finish(dimension=10, rotation=4, masked=masked, **how))


@pytest.mark.parametrize("rank", [2, 9], ids=["factored", "dense"])
@pytest.mark.parametrize("masked", ["continue", "interpolate", "refuse"])
def test_what_was_saved_is_loaded_bit_for_bit(tmp_path: Path, rank: int, masked: str) -> None:
    file, own = tmp_path / "e.safetensors", made(rank, masked, beyond="clamp")
    own.save(file)
    back = Fitted.load(file)
    np.testing.assert_array_equal(back.table(), own.table())
    np.testing.assert_array_equal(back.status, own.status)
    assert back.to_dict() == own.to_dict()
    assert back.factored == own.factored == (rank == 2)
    assert fitted_bytes(back) == fitted_bytes(own)


def test_one_line_opens_it(tmp_path: Path) -> None:
    file, own = tmp_path / "e.safetensors", made()
    own.save(file)
    np.testing.assert_allclose(gnomon.encoding(str(file)).vectors([7]), own.vectors([7]), atol=1e-6)


def test_any_reader_of_the_format_finds_row_i_at_position_i(tmp_path: Path) -> None:
    file, own = tmp_path / "e.safetensors", made(9)
    own.save(file)
    stored = load_file(file)
    assert set(stored) == {"weight", "status"}
    np.testing.assert_allclose(stored["weight"][7], own.vectors([7])[0], atol=1e-6)


def test_the_card_is_in_the_header_and_holds_what_was_declared(tmp_path: Path) -> None:
    from safetensors import safe_open

    file = tmp_path / "e.safetensors"
    made(masked="interpolate", beyond="interpolate", reach=23, match=0.02).save(file)
    with safe_open(file, framework="np") as opened:
        about = opened.metadata()
    card = json.loads(about["card"])
    assert about["format"] == FORMAT
    assert (card["length"], card["reach"], card["past"]) == (12, 23, "refuse")
    assert (card["masked_rule"], card["scale"], card["rotation"]) == ("interpolate", "match", 4)
    assert card["origin"]["masked"] == [[3, 4]]
    assert card["warnings"] == ["Beware."]


def test_masked_rows_that_are_refused_are_refused_after_loading(tmp_path: Path) -> None:
    file = tmp_path / "e.safetensors"
    made(masked="refuse").save(file)
    back = Fitted.load(file)
    assert np.isfinite(back.vectors([2, 5])).all()
    with pytest.raises(EncodingError, match=r"Position 3 was masked"):
        back.vectors([3])


def damaged(path: Path, **change: Any) -> Path:
    """Write a whole file with some tensors or entries of the card changed."""
    file, own = path / "e.safetensors", made()
    card = own.to_dict() | change.pop("card", {})
    tensors = {
        "left": own.left.astype(np.float32),
        "right": own.right.astype(np.float32),
        "status": np.array(own.status),
    }
    about = {"format": FORMAT, "card": change.pop("text", json.dumps(card))}
    tensors = {k: v for k, v in (tensors | change).items() if v is not None}
    save_file(tensors, file, metadata=about)
    return file


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"text": "{"}, "its card cannot be read"),
        ({"text": "[]"}, "its card cannot be read"),
        ({"text": "[" * 100_000}, "its card cannot be read"),
        ({"text": '{"name": "mds"}'}, "its card says no method"),
        ({"card": {"rank": None}}, "its card says rank None"),
        ({"card": {"rank": 2.0}}, r"its card says rank 2\.0"),
        ({"card": {"rank": True}}, "its card says rank True"),
        ({"card": {"rank": 0}}, "its card says rank 0"),
        ({"card": {"dimension": float("inf")}}, "its card says dimension inf"),
        ({"card": {"factor": float("nan")}}, "its card says factor nan"),
        ({"card": {"factor": -1.0}}, r"its card says factor -1\.0"),
        ({"card": {"gain": "1"}}, "its card says gain '1'"),
        ({"card": {"rotation": -1}}, "its card says rotation -1"),
        ({"card": {"warnings": "Beware."}}, r"its card says warnings 'Beware\.'"),
        ({"card": {"origin": []}}, r"its card says origin \[\]"),
        ({"card": {"method": "guess"}}, "its card says method 'guess'"),
        ({"card": {"shape": [-3, -4]}}, r"its card says shape \[-3, -4\]"),
        ({"card": {"shape": []}}, r"its card says shape \[\]"),
        ({"card": {"length": 11}}, r"its card says length 11 and axes \(12,\)"),
        ({"card": {"length": 10**30}}, r"its card says length 1000+ and axes \(12,\)"),
        ({"card": {"estimator": ["a" * 99]}}, r"its card says estimator \['a{38} \.\.\."),
        ({"card": {"name": "rope"}}, "its card says name 'rope'"),
        ({"card": {"beyond": "wrap"}}, "its card says beyond 'wrap'"),
        ({"card": {"rank": 3}}, "its card says rank 3 and dimension 10"),
        ({"card": {"dimension": 11}}, "its card says rank 2 and dimension 11"),
        (
            {"card": {"shape": [13], "length": 13}},
            r"its card says axes \(13,\), and it has 12 rows",
        ),
        ({"right": None}, "it holds left, status"),
        ({"more": np.zeros(3)}, "it holds left, more, right, status"),
        (
            {
                "left": np.full((12, 2), 3e38, np.float32),
                "right": np.full((2, 10), 3e38, np.float32),
            },
            "the product of its factors is too large for float32",
        ),
        ({"left": np.zeros((0, 2), np.float32)}, r"left is float32 of shape \(0, 2\)"),
        ({"left": np.zeros((12, 3), np.float32)}, r"factors of shapes \(12, 3\) and \(2, 10\)"),
        ({"left": np.zeros((12, 2))}, "left is float64"),
        ({"left": np.full((12, 2), np.nan, np.float32)}, "row 0 holds numbers that are not finite"),
        ({"right": np.full((2, 10), np.inf, np.float32)}, "right holds numbers that are not"),
        ({"status": np.zeros(11, np.uint8)}, "its status does not fit its 12 rows"),
        ({"status": np.full(12, 9, np.uint8)}, "its status does not fit its 12 rows"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: dict[str, Any], found: str) -> None:
    file = damaged(tmp_path, **change)
    for opening in (Fitted.load, lambda path: encoding("table", path=path)):
        with pytest.raises(EncodingError, match=rf"no whole fitted encoding \({found}.*again\.$"):
            opening(file)


@pytest.mark.parametrize("rank", [2, 9], ids=["factored", "dense"])
def test_a_flipped_bit_in_any_number_is_found(tmp_path: Path, rank: int) -> None:
    file, whole = tmp_path / "e.safetensors", fitted_bytes(made(rank))
    begin = 8 + int.from_bytes(whole[:8], "little")
    for at in range(begin, len(whole), 7):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(EncodingError, match=r"is no whole fitted encoding \("):
            Fitted.load(file)


def test_a_header_with_any_byte_changed_is_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    file, whole = tmp_path / "e.safetensors", fitted_bytes(made())
    said = []
    for at in range(0, 8 + int.from_bytes(whole[:8], "little"), 3):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 8]) + whole[at + 1 :])
        try:
            Fitted.load(file)
        except EncodingError as error:
            said.append(str(error))
    assert len(said) > 100
    assert all(text.endswith(".") and "\n" not in text for text in said)


def test_a_header_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    file, whole = tmp_path / "e.safetensors", fitted_bytes(made())
    for length in (2**64 - 1, 2**62, 99_000_000):
        file.write_bytes(length.to_bytes(8, "little") + whole[8:])
        with pytest.raises(EncodingError, match=r"cannot be read as \.safetensors \(.*header"):
            Fitted.load(file)


@pytest.mark.parametrize("shape", [[0, 2**40], [2**40, 0], [0, 0]])
def test_a_tensor_that_claims_to_be_huge_takes_no_memory(tmp_path: Path, shape: list[int]) -> None:
    about = {"format": FORMAT, "card": json.dumps(made(9).to_dict())}
    header = {
        "__metadata__": about,
        "weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]},
        "status": {"dtype": "U8", "shape": [12], "data_offsets": [0, 12]},
    }
    text = json.dumps(header).encode()
    file = tmp_path / "e.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(12))
    with pytest.raises(EncodingError, match=r"is no whole fitted encoding \(weight is float32 of"):
        Fitted.load(file)


def test_a_whole_table_takes_no_more_memory_than_its_numbers(tmp_path: Path) -> None:
    """An identity of that many dimensions beside it would take 28 GB."""
    points = Points(
        coordinates=np.array([[1.0], [-1.0]]),
        status=np.full(2, 2, np.uint8),
        shape=(2,),
        method="classical",
        estimator="debiased",
        minimises="strain",
    )
    wide = points.finish(Finish(dimension=60_000, rotation=1), factored=False)
    wide.save(tmp_path / "wide.safetensors")
    back = Fitted.load(tmp_path / "wide.safetensors")
    np.testing.assert_array_equal(back.table(), wide.table())


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"gain": np.inf}, "The gain"),
        ({"left": np.full((12, 2), np.nan)}, "Row 0"),
        ({"right": np.full((2, 10), np.inf)}, "The right factor"),
    ],
)
def test_what_training_drove_out_of_range_is_not_written(
    tmp_path: Path, change: dict[str, Any], where: str
) -> None:
    with pytest.raises(EncodingError, match=rf"{where} of this encoding is not finite, so it is"):
        replace(made(), **change).save(tmp_path / "e.safetensors")
    assert not list(tmp_path.iterdir())


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    for name in ("pipe.safetensors", "folder.safetensors", "x" * 300 + ".safetensors"):
        with pytest.raises(
            EncodingError, match=r"There is no file .*; pass the \.safetensors file"
        ):
            Fitted.load(tmp_path / name)


def test_the_unchanged_file_of_these_tests_is_whole(tmp_path: Path) -> None:
    assert Fitted.load(damaged(tmp_path)).rank == 2


@pytest.mark.parametrize("end", [4, 60, -8])
def test_a_file_cut_short_is_refused(tmp_path: Path, end: int) -> None:
    file = tmp_path / "cut.safetensors"
    file.write_bytes(fitted_bytes(made())[:end])
    with pytest.raises(EncodingError, match=r"cannot be read as \.safetensors \(.*copy it again"):
        Fitted.load(file)


def test_a_file_that_is_not_ours_is_a_table_and_no_fitted_encoding(tmp_path: Path) -> None:
    file = tmp_path / "theirs.safetensors"
    save_file({"weight": np.eye(3, dtype=np.float32)}, file)
    with pytest.raises(EncodingError, match=r"is no fitted encoding of Gnomon: its header does"):
        Fitted.load(file)
    np.testing.assert_array_equal(gnomon.encoding(str(file)).vectors([1]), [[0, 1, 0]])


def test_a_newer_format_and_a_missing_file_are_named(tmp_path: Path) -> None:
    file = tmp_path / "new.safetensors"
    save_file({"x": np.eye(2)}, file, metadata={"format": "gnomon.encoding.3"})
    with pytest.raises(EncodingError, match=r"has the format gnomon\.encoding\.3, and this"):
        Fitted.load(file)
    with pytest.raises(EncodingError, match=r"There is no file .*nothing\.safetensors; pass the"):
        Fitted.load(tmp_path / "nothing.safetensors")


def test_a_folder_keeps_the_encoding_and_its_card(tmp_path: Path) -> None:
    own = made()
    own.save_pretrained(tmp_path / "kept")
    np.testing.assert_array_equal(Fitted.from_pretrained(tmp_path / "kept").table(), own.table())
    card = json.loads((tmp_path / "kept" / "config.json").read_text(encoding="utf-8"))
    assert card == own.to_dict()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(StorageError, match=r"taken could not be written \(.*taken is a file\)"):
        made().save_pretrained(tmp_path / "taken")


def test_a_name_of_the_hub_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    own = made()
    own.save_pretrained(tmp_path)

    def download(*, repo_id: str, filename: str) -> str:
        assert repo_id == "somebody/positions"
        return str(tmp_path / filename)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    np.testing.assert_array_equal(Fitted.from_pretrained("somebody/positions").table(), own.table())


def test_without_a_network_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    def download(**_: str) -> str:
        raise LocalEntryNotFoundError("offline, and\nnothing is cached.")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(EncodingError, match=r"from the hub \(offline, and nothing is cached\); ch"):
        Fitted.from_pretrained("somebody/positions")


def test_a_file_is_not_looked_for_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made().save_pretrained("here")
    assert Fitted.from_pretrained("here/encoding.safetensors").rank == 2
    with pytest.raises(EncodingError, match=r"There is no file here/other\.safetensors"):
        Fitted.from_pretrained("here/other.safetensors")


def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub() -> None:
    with pytest.raises(EncodingError, match=r"There is no folder \./nowhere; pass one that"):
        Fitted.from_pretrained("./nowhere")
