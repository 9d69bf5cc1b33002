"""`gnomon classify`: a matrix from a file, and what bad files get."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import block_diag

PROMISED = {"structure", "named", "bounded", "tolerance", "warnings"}


@pytest.fixture
def rope(tmp_path: Path) -> Path:
    """RoPE of dimension 8 with base 10000, as a generator in a random orthogonal basis."""
    form = block_diag(*[[[0, -f], [f, 0]] for f in 10000.0 ** (-np.arange(4) / 4)])
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    np.save(tmp_path / "rope.npy", basis @ form @ basis.T)
    return tmp_path / "rope.npy"


def refusal(call, *arguments: object) -> str:
    called = call("classify", *arguments)
    assert (called.code, called.out) == (2, ""), called
    assert called.err.startswith("gnomon: ")
    assert called.err.count("\n") == 1
    return called.err.removeprefix("gnomon: ").rstrip("\n")


def test_rope_is_named_with_its_frequencies(call, rope: Path) -> None:
    called = call("classify", rope)
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith("rotary encoding (RoPE), 4 frequencies, base 10000\n")
    assert "bounded for all t" in called.out
    assert called.out.count("rotation ") == 4


def test_the_json_has_the_promised_keys(call, rope: Path, tmp_path: Path) -> None:
    value = json.loads(call("classify", rope, "--json", "-").out)
    assert set(value) >= PROMISED
    assert value["bounded"] == {"causal": True, "both": True}
    found = [one["frequency"] for one in value["structure"]]
    np.testing.assert_allclose(found, 10000.0 ** (-np.arange(4) / 4), rtol=1e-9)
    called = call("classify", rope, "-q", "--json", tmp_path / "out.json")
    assert (called.code, called.out, called.err) == (0, "", "")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == value


def test_a_jordan_block_is_printed_with_its_warning(call, tmp_path: Path) -> None:
    np.save(tmp_path / "j.npy", -0.05 * np.eye(3) + np.eye(3, k=1))
    out = call("classify", tmp_path / "j.npy").out
    assert out.startswith("critically damped block J3(-0.05)")
    assert "warning: the blocks J3(-0.05) hold within" in out
    assert "bounded for t >= 0" in out


def test_a_wider_tolerance_changes_the_structure(call, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[0.0, 1.0], [1e-8, 0.0]]))
    default = json.loads(call("classify", tmp_path / "x.npy", "--json", "-").out)
    wide = call("classify", tmp_path / "x.npy", "--tolerance", "1e-7", "--json", "-").out
    assert [one["order"] for one in default["structure"]] == [1, 1]
    assert [one["order"] for one in json.loads(wide)["structure"]] == [2]


def test_a_step_without_a_generator_is_called_that(call, tmp_path: Path) -> None:
    np.save(tmp_path / "roll.npy", np.roll(np.eye(4), 1, axis=0))
    called = call("classify", tmp_path / "roll.npy", "--step")
    assert called.code == 0
    assert called.out.startswith("cyclic roll of 4 coordinates (RollPE) as a step")
    assert "no real generator: the eigenvalue -1 has 1 block of order 1" in called.out
    value = json.loads(call("classify", tmp_path / "roll.npy", "--step", "--json", "-").out)
    assert value["has_generator"] is False


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.ones((2, 3)), "the generator has shape (2, 3); pass a square matrix."),
        (np.ones(4), "the generator has shape (4,); pass a square matrix."),
        (np.zeros((0, 0)), "the generator is empty; pass a square matrix with at least one row."),
        (np.diag([1.0, np.nan]), "holds nan at row 1, column 1; pass finite numbers."),
        (np.full((2, 2), "x"), "holds <U1 values; pass a matrix of real numbers."),
        (np.eye(2) * 1j, "holds complex values; pass a matrix of real numbers."),
    ],
)
def test_arrays_that_are_no_generator_are_refused(call, tmp_path: Path, array, sentence) -> None:
    np.save(tmp_path / "x.npy", array)
    assert sentence in refusal(call, tmp_path / "x.npy")


def test_files_that_hold_no_matrix_are_refused(call, tmp_path: Path) -> None:
    assert "there is no file" in refusal(call, tmp_path / "none.npy")
    assert "can not be read as a .npy file" in refusal(call, tmp_path)
    pickled = np.array([[{"a": 1}]], dtype=object)
    np.save(tmp_path / "objects.npy", pickled, allow_pickle=True)
    assert "it holds no plain numbers" in refusal(call, tmp_path / "objects.npy")
    (tmp_path / "text.npy").write_text("no array", encoding="utf-8")
    assert "text.npy can not be read as a .npy file" in refusal(call, tmp_path / "text.npy")
    (tmp_path / "empty.npy").write_bytes(b"")
    assert "empty.npy can not be read as a .npy file" in refusal(call, tmp_path / "empty.npy")
    np.savez(tmp_path / "many.npz", x=np.eye(2))
    assert "is an archive of arrays" in refusal(call, tmp_path / "many.npz")


def test_a_truncated_file_is_refused(call, rope: Path) -> None:
    rope.write_bytes(rope.read_bytes()[:200])
    assert "can not be read as a .npy file" in refusal(call, rope)


def test_a_tolerance_below_rounding_is_refused(call, rope: Path) -> None:
    sentence = refusal(call, rope, "--tolerance", "1e-17")
    assert sentence.startswith("tolerance 1e-17 is below rounding, which is 1.8e-15 for 8 rows")
