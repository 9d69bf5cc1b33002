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
        (np.eye(257), "has 257 rows, and at most 256 are classified; pass the generator of one"),
    ],
)
def test_arrays_that_are_no_generator_are_refused(call, tmp_path: Path, array, sentence) -> None:
    np.save(tmp_path / "x.npy", array)
    assert sentence in refusal(call, tmp_path / "x.npy")


def test_files_that_hold_no_matrix_are_refused(call, tmp_path: Path) -> None:
    assert "there is no file" in refusal(call, tmp_path / "none.npy")
    folder = refusal(call, tmp_path)
    assert folder == f"{tmp_path} is a folder; pass a square matrix saved by numpy.save."
    pickled = np.array([[{"a": 1}]], dtype=object)
    np.save(tmp_path / "objects.npy", pickled, allow_pickle=True)
    assert "it holds no plain numbers" in refusal(call, tmp_path / "objects.npy")
    (tmp_path / "text.npy").write_text("no array", encoding="utf-8")
    assert "text.npy cannot be read as a .npy file" in refusal(call, tmp_path / "text.npy")
    (tmp_path / "empty.npy").write_bytes(b"")
    assert "empty.npy cannot be read as a .npy file" in refusal(call, tmp_path / "empty.npy")
    np.savez(tmp_path / "many.npz", x=np.eye(2))
    assert "is an archive of arrays" in refusal(call, tmp_path / "many.npz")


def test_a_truncated_file_is_refused(call, rope: Path) -> None:
    rope.write_bytes(rope.read_bytes()[:200])
    assert "cannot be read as a .npy file" in refusal(call, rope)


def test_a_tolerance_below_rounding_is_refused(call, rope: Path) -> None:
    sentence = refusal(call, rope, "--tolerance", "1e-17")
    assert sentence.startswith("tolerance 1e-17 is below rounding, which is 1.8e-15 for 8 rows")


@pytest.mark.parametrize("tolerance", ["nan", "inf"])
def test_a_tolerance_that_is_no_number_is_refused(call, rope: Path, tolerance: str) -> None:
    sentence = refusal(call, rope, "--tolerance", tolerance)
    assert sentence == f"tolerance is {tolerance}; pass a number such as 1e-10."


def test_a_step_of_the_wrong_shape_is_called_a_step(call, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    sentence = refusal(call, tmp_path / "x.npy", "--step")
    assert sentence == "the step matrix has shape (2, 3); pass a square matrix."


def test_a_matrix_in_float32_is_read_at_its_own_tolerance(call, rope: Path) -> None:
    np.save(rope, np.load(rope).astype(np.float32))
    out = call("classify", rope).out
    assert out.startswith("rotary encoding (RoPE), 4 frequencies, base 10000\n")
    assert "at tolerance 4.8e-07 of |X|" in out
    assert "warning: X came in a type that rounds to 1.2e-07" in out
    assert "below rounding" in refusal(call, rope, "--tolerance", "1e-10")


def test_a_step_passed_as_a_generator_is_asked_about_and_named_as_a_step(call, tmp_path: Path):
    angles = 10000.0 ** (-np.arange(4) / 4)
    turns = [[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles]
    np.save(tmp_path / "step.npy", block_diag(*turns))
    assert "if X is a step and no generator" in call("classify", tmp_path / "step.npy").out
    out = call("classify", tmp_path / "step.npy", "--step").out
    assert out.startswith("rotary encoding (RoPE), 4 frequencies, base 10000\n")
    assert "if X is a step" not in out


def test_yarn_is_named_in_one_line_with_its_parameters(call, tmp_path: Path) -> None:
    """Heads of 64, base 10000, factor 4 over 4096: the ramp runs from pair 10 to 23."""
    k = np.arange(32)
    ramp = np.clip((k - 10) / 13, 0.0, 1.0)
    rates = 10000.0 ** (-k / 32) * (1.0 - 0.75 * ramp)
    np.save(tmp_path / "x.npy", block_diag(*[[[0.0, -b], [b, 0.0]] for b in rates]))
    first = call("classify", tmp_path / "x.npy").out.splitlines()[0]
    assert "base 10000, YaRN with factor 4, ramp from pair 10 to 23 (original length 4096" in first
