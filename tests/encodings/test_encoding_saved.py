"""A file of any encoding: what other readers find in it, and what a bad one gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import gnomon
from gnomon.encodings.files import ANY, TEXTS, digest_of, encoding_bytes, origin_of, write_encoding
from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.rope import Rope
from gnomon.errors import EncodingError, StorageError

JORDAN = {"dimension": 4, "order": 1, "decay": 0.1}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of turns and decays."""
    path = tmp_path / "e.safetensors"
    encoding("jordan", **JORDAN).save(path)
    return path


def header(path: Path) -> dict[str, str]:
    with safe_open(path, framework="np") as opened:
        return dict(opened.metadata())


def rewritten(path: Path, *, tensors: Any = None, whole: bool = False, **texts: Any) -> Path:
    """Write a file again with other texts or tensors; `whole` gives it the digest of those."""
    about = header(path) | {k: v if isinstance(v, str) else json.dumps(v) for k, v in texts.items()}
    numbers = load_file(path) if tensors is None else tensors
    if whole:
        about["digest"] = digest_of(numbers, *(about[name] for name in TEXTS))
    save_file(numbers, path, metadata=about)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(EncodingError) as caught:
        encoding(str(path))
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def definition(**parameters: Any) -> dict[str, Any]:
    return {"entry": "rope", "parameters": {"dimension": 8, **parameters}}


def test_a_reader_without_gnomon_finds_the_frequencies_of_rope(tmp_path: Path) -> None:
    """base^(-2k/d), by the definition in the paper."""
    path = tmp_path / "rope.safetensors"
    encoding("rope", dimension=8, base=500.0).save(path)
    stored = load_file(path)
    found = stored["constants.frequencies"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[:, 0], 500.0 ** (-np.arange(4) / 4), rtol=1e-14)


def test_the_header_says_what_it_is(file: Path) -> None:
    about = header(file)
    made = json.loads(about["definition"])
    assert about["format"] == ANY == "gnomon.encoding.2"
    assert made["entry"] == "jordan"
    assert made["parameters"]["decays"] == {"tensor": "decays"}
    assert made["parameters"]["dimension"] == 4
    assert json.loads(about["card"])["level"] == "L0 strict group"


def test_equal_encodings_are_equal_files() -> None:
    first, second = (encoding_bytes(encoding("t5", heads=2, seed=seed)) for seed in (3, 3))
    assert first == second != encoding_bytes(encoding("t5", heads=2, seed=4))


def test_where_it_came_from_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    write_encoding(encoding("nope"), path, origin={"source": "a corpus", "half_life": np.inf})
    assert origin_of(path) == {"source": "a corpus", "half_life": None}


def test_wrappers_and_scalings_are_kept_inside_of_one_another(tmp_path: Path) -> None:
    scaled = {"name": "yarn", "factor": 4.0, "original_length": 512}
    inner = {"name": "rope", "dimension": 8, "scaling": scaled}
    own = encoding("rope-nope-layers", inner=inner, layer=2)
    own.save(tmp_path / "e.safetensors")
    back: Any = gnomon.encoding(tmp_path / "e.safetensors")
    assert back.inner.scaling == own.inner.scaling
    assert back.parameters == own.parameters


def test_a_table_keeps_its_rows_and_its_source(tmp_path: Path, rng: Any) -> None:
    rows = rng.normal(size=(5, 3))
    np.save(tmp_path / "rows.npy", rows)
    gnomon.encoding(tmp_path / "rows.npy").save(tmp_path / "e.safetensors")
    back: Any = gnomon.encoding(tmp_path / "e.safetensors")
    np.testing.assert_array_equal(back.values, rows)
    assert back.source == "rows.npy"


def test_a_scaling_with_numbers_of_numpy_is_plain_in_the_file(tmp_path: Path) -> None:
    encoding("rope", dimension=np.int64(8), base=np.float32(100.0)).save(tmp_path / "e.safetensors")
    assert gnomon.encoding(tmp_path / "e.safetensors").parameters["base"] == 100.0


# -- what cannot be saved --------------------------------------------------------------------


class Own(Rope):
    """An encoding that only this file knows."""


def test_a_class_outside_of_the_catalogue_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncodingError, match="is a Own, which no entry of the catalogue makes"):
        Own(dimension=8).save(tmp_path / "e.safetensors")


def test_fitted_vectors_inside_of_a_wrapper_are_refused(tmp_path: Path) -> None:
    table = gnomon.fit(np.abs(np.subtract.outer(range(8), range(8))).astype(float), dimension=2)
    own = encoding("randomised", inner=table, largest=8, length=4)
    with pytest.raises(EncodingError, match="is a Fitted, which no entry of the catalogue makes"):
        own.save(tmp_path / "e.safetensors")


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    own = encoding("learned", rows=2, dimension=2)
    object.__setattr__(own, "values", np.array([[0.0, np.nan], [1.0, 2.0]]))
    vars(own).pop("table", None)
    with pytest.raises(EncodingError, match="values holds what is not a finite number"):
        own.save(tmp_path / "e.safetensors")


def test_a_place_that_is_none_is_refused(tmp_path: Path, file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(EncodingError, match=r"e\.npy does not end in \.safetensors; name such"):
        encoding("nope").save(tmp_path / "e.npy")
    with pytest.raises(StorageError, match="could not be written"):
        encoding("nope").save(file / "e.safetensors")
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["e.safetensors"]


# -- bad files --------------------------------------------------------------------------------


def test_a_file_that_is_cut_short_is_refused(file: Path) -> None:
    for kept in (4, 100, len(file.read_bytes()) - 1):
        file.write_bytes(file.read_bytes()[:kept])
        assert "cannot be read as .safetensors (" in refusal(file)
        encoding("jordan", **JORDAN).save(file)


def test_one_changed_number_is_found(file: Path) -> None:
    stored = bytearray(file.read_bytes())
    stored[-1] ^= 1
    file.write_bytes(stored)
    assert refusal(file).endswith("(it is not what was written); save it again, or copy it again.")


def test_a_changed_header_is_found(file: Path) -> None:
    said = json.loads(header(file)["definition"])
    said["parameters"]["reference"] = 1.0
    assert "(it is not what was written)" in refusal(rewritten(file, definition=said))
    assert "(it is not what was written)" in refusal(rewritten(file, digest="00"))


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"entry": "rop", "parameters": {}}, "this version knows no 'rop': did you mean 'rope'?"),
        ({"entry": "mds", "parameters": {}}, "this version knows no 'mds': "),
        ({"entry": "rope-yarn", "parameters": {}}, "this version knows no 'rope-yarn': "),
        (definition(bse=1.0), "'rope' has no parameter 'bse': did you mean 'base'?"),
        ({"entry": "rope", "parameters": {}}, "it says no dimension of its 'rope'"),
        (definition(dimension=7), "'rope' cannot have what it says: dimension is 7"),
        (definition(dimension="8"), "'rope' cannot have what it says: dimension is '8'"),
        (definition(layout=["half"]), "'rope' cannot have what it says: layout is ('half',)"),
        (definition(base={"tensor": "b"}), "it holds no tensor 'b'"),
        (definition(scaling={"scaling": {"name": "yrn"}}), "its scaling cannot be made: There is"),
        (definition(scaling={"scaling": 4}), "its scaling cannot be read"),
        (definition(scaling={"name": "linear", "factor": 2}), "its definition cannot be read"),
        (["rope"], "its definition cannot be read"),
        ("{", "its definition cannot be read"),
    ],
)
def test_a_definition_is_believed_in_nothing(tmp_path: Path, said: Any, found: str) -> None:
    path = tmp_path / "e.safetensors"
    encoding("rope", dimension=8).save(path)
    assert found in refusal(rewritten(path, definition=said, whole=True))


def test_no_file_can_make_another_be_read(tmp_path: Path) -> None:
    """The entry `table` opens files when it is asked by name; a definition cannot ask it."""
    np.save(tmp_path / "rows.npy", np.eye(3))
    path = tmp_path / "e.safetensors"
    own = encoding("randomised", inner={"name": "rope", "dimension": 8}, largest=64, length=8)
    own.save(path)
    for inner in (
        {"name": "table", "path": str(tmp_path / "rows.npy")},
        {"entry": "table", "parameters": {"path": str(tmp_path / "rows.npy")}},
    ):
        said = json.loads(header(path)["definition"])
        said["parameters"]["inner"] = inner
        sentence = refusal(rewritten(path, definition=said, whole=True))
        assert "cannot be read" in sentence or "'table' has no parameter 'path'" in sentence


def test_tensors_that_do_not_belong_are_refused(file: Path) -> None:
    stored = load_file(file)
    extra = {**stored, "more": np.zeros(2)}
    assert "no parameter asks for its tensor 'more'" in refusal(
        rewritten(file, tensors=extra, whole=True)
    )
    wrong = {**stored, "decays": np.full_like(stored["decays"], np.nan)}
    assert "its tensor 'decays' holds what is no finite number" in refusal(
        rewritten(file, tensors=wrong, whole=True)
    )
    shape = {**stored, "decays": np.zeros(7)}
    assert "'jordan' cannot have what it says: decays has shape (7,)" in refusal(
        rewritten(file, tensors=shape, whole=True)
    )


def test_constants_of_another_formula_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    encoding("rope", dimension=8).save(path)
    stored = load_file(path)
    other = {name: values * (1.0 + 1e-6) for name, values in stored.items()}
    sentence = refusal(rewritten(path, tensors=other, whole=True))
    assert "its frequencies are not those that this version makes of it" in sentence
    close = {name: values * (1.0 + 1e-14) for name, values in stored.items()}
    assert encoding(str(rewritten(path, tensors=close, whole=True))).name == "rope"


@pytest.mark.parametrize("name", TEXTS)
def test_a_header_that_lacks_a_part_is_refused(file: Path, name: str) -> None:
    about = header(file)
    del about[name]
    save_file(load_file(file), file, metadata=about)
    assert f"its header has no {name}" in refusal(file)
    save_file(load_file(file), file, metadata=about | {name: "[]"})
    assert f"its {name} cannot be read" in refusal(file)


def test_a_newer_format_is_named(file: Path) -> None:
    sentence = refusal(rewritten(file, format="gnomon.encoding.3"))
    assert "has the format gnomon.encoding.3, and this version of Gnomon reads" in sentence
    assert sentence.endswith("use a newer one, or save the encoding again.")


def test_a_file_that_is_not_there_or_deeply_nested_is_refused(tmp_path: Path, file: Path) -> None:
    assert "There is no file" in refusal(tmp_path / "none.safetensors")
    assert "is no whole encoding (" in refusal(rewritten(file, card="[" * 100_000, whole=True))


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    """A pickle, written by hand, that makes a folder when it is loaded."""
    path, planted = tmp_path / "e.safetensors", tmp_path / "run"
    path.write_bytes(f"cos\nmkdir\n(S'{planted}'\ntR.".encode())
    assert "cannot be read as .safetensors" in refusal(path)
    assert not planted.exists()


def test_other_rooms_say_what_such_a_file_is_for(file: Path) -> None:
    from gnomon.encodings.fitted import Fitted

    with pytest.raises(EncodingError, match=r"is no table of vectors but another encoding; open"):
        Fitted.load(file)
