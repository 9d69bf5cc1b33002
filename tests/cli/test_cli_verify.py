"""`gnomon verify`: encodings and functions of one's own, exit codes, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

MODULE = """
import numpy as np

F = 10000.0 ** (-np.arange(4) / 4)

def rotate(x, at):
    p = at[:, None] * F
    a, b = x[:, :4], x[:, 4:]
    return np.concatenate([a * np.cos(p) - b * np.sin(p), a * np.sin(p) + b * np.cos(p)], 1)

def squeezed(x, at):
    return rotate(x, 10 * np.log1p(at))

def clock(at):
    return 10 * np.log1p(at)

def slope(q, k, t, s):
    return q @ k.T - 0.5 * (t[:, None] - s[None, :])

def single(x, at):
    return rotate(x.astype(np.float32), at.astype(np.float32)).astype(np.float32)

def grid(x, at):
    one, other = (rotate(x, at[:, axis]) for axis in (0, 1))
    return np.concatenate([one[:, [0, 1, 4, 5]], other[:, [2, 3, 6, 7]]], 1)

def growing(x, at):
    return np.exp(0.01 * at)[:, None] * x

def falling(x, at):
    return np.exp(-0.01 * at)[:, None] * x

number = 3
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of functions in the folder the command runs in."""
    name = f"certified_{abs(hash(tmp_path)) % 10**8}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return name


def test_an_encoding_that_keeps_its_promises_leaves_with_0(call) -> None:
    called = call("verify", "rope", "-p", "dimension=8")
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith("rope: L0 strict group\n")
    assert called.out.endswith("promised laws hold (seen up to position 4095)\n")


def test_a_broken_promise_leaves_with_1(call, mine: str) -> None:
    called = call("verify", f"{mine}:squeezed", "--dimension", 8)
    assert (called.code, called.err) == (1, "")
    assert called.out.startswith("squeezed: L6 not shift invariant\n")
    assert "broken: shift" in called.out


def test_functions_are_certified_in_the_time_of_a_clock_and_by_their_logits(
    call, mine: str
) -> None:
    function, clock = f"{mine}:squeezed", f"{mine}:clock"
    timed = call("verify", function, "--dimension", 8, "--clock", clock, "--reach", 100)
    assert timed.code == 0, timed
    causal = ["--logits", "--causal", "--promised", "L1"]
    assert call("verify", f"{mine}:slope", "--dimension", 8, *causal).code == 0


def test_a_clock_keeps_the_level_that_is_found_in_its_time(call, mine: str) -> None:
    timed = [f"{mine}:squeezed", "--dimension", 8, "--clock", f"{mine}:clock", "--reach", 100]
    called = call("verify", *timed, "--promised", "L3")
    assert (called.code, called.err) == (0, "")
    assert "(seen up to clock time " in called.out
    assert call("verify", *timed[:3], "--promised", "L3").code == 1


def test_the_tolerance_and_the_axes_are_options(call, mine: str) -> None:
    """By hand, phases of float32 err by about 1e-4 of the largest logit at position 4096."""
    single = [f"{mine}:single", "--dimension", 8]
    assert call("verify", *single).code == 0
    assert call("verify", *single, "--tolerance", 1e-7).code == 1
    assert call("verify", f"{mine}:grid", "--dimension", 8, "--axes", 2).code == 0


def test_what_grows_is_warned_of_by_its_eigenvalue(call, mine: str) -> None:
    pair = [f"{mine}:growing", "--keys", f"{mine}:falling", "--dimension", 8, "--causal"]
    called = call("verify", *pair, "--reach", 256)
    assert called.code == 0
    assert "warning: logits grow with the lag, for lags from 0 on: X has the eigenvalue 0.01." in (
        called.out
    )


def test_a_table_of_two_rows_gets_one_sentence(call, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", np.eye(2))
    called = call("verify", tmp_path / "x.npz")
    assert (called.code, called.out) == (2, "")
    assert "has fewer than 8 positions, too few to see a law on; pass one that" in called.err
    assert called.err.count("\n") == 1


LAWS = {"linearity", "shift", "group", "continuity", "boundedness", "rank", "cache", "dtype"}


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "pope", "fox", "learned", "liere"])
def test_the_json_has_every_law_with_its_residual_or_the_reason(call, name: str) -> None:
    """Eight laws by the names that other tools read; no NaN, which JSON does not have."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    value = json.loads(call("verify", name, "--json", "-").out, parse_constant=refuse)
    assert set(value) >= {"level", "laws", "warnings"}
    assert set(value["laws"]) >= LAWS | {"identity"}
    for law in value["laws"].values():
        assert set(law) >= {"residual", "tolerance", "holds", "promised"}
        assert isinstance(law["holds"], bool)
        assert law["residual"] is not None or law["reason"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model without weights."""
    said = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "intermediate_size": 32,
        "vocab_size": 100,
        "max_position_embeddings": 256,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    }
    (tmp_path / "config.json").write_text(json.dumps(said), encoding="utf-8")
    return tmp_path


def test_the_folder_of_a_model_is_certified_and_a_broken_cache_leaves_with_1(
    call, folder: Path
) -> None:
    pytest.importorskip("transformers", minversion="5.0")
    called = call("verify", folder)
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith("the rotary function of LlamaModel: L0 strict group\n")
    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    said["rope_parameters"] |= {"rope_type": "dynamic", "factor": 8.0}
    (folder / "config.json").write_text(json.dumps(said), encoding="utf-8")
    called = call("verify", folder)
    assert (called.code, called.err) == (1, "")
    assert "broken: shift, cache" in called.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rop"], "There is no encoding 'rop': did you mean 'rope'?"),
        (["no_such_module:f", "--dimension", 8], "The module 'no_such_module' cannot be imported"),
        (["{mine}:nothing", "--dimension", 8], "has no function 'nothing'; name one that it has"),
        (["{mine}:number", "--dimension", 8], "has no function 'number'; name one that it has"),
        (["{mine}:rotate"], "A function is verified on vectors; name their --dimension, too"),
        (["{mine}:rotate", "--dimension", 8, "-p", "base=3"], "A function has no --parameter"),
        (["rope", "--keys", "{mine}:rotate"], "--keys is for functions, and 'rope' is none; leave"),
        (["rope", "--causal"], "--causal is for functions, and 'rope' is none; leave it out"),
        (["{folder}"], "has no config.json; pass one that a model was saved in by save_pretrained"),
        (["{folder}", "-p", "base=3"], "A model has no --parameter, and"),
        (["{folder}", "--causal"], "--causal is for functions, and"),
        (["./no/such/folder"], "There is no folder './no/such/folder' with a model; pass one"),
        (["rope", "--axes", 2], "--axes is for functions, and 'rope' is none; leave it out"),
        (["rope", "--tolerance", 0.3], "tolerance is 0.3; pass a share of the largest logit bet"),
        (["rope", "--promised", "shft"], "There is no law 'shft': did you mean 'shift'?"),
    ],
)
def test_what_can_not_be_verified_gets_one_sentence(
    call, mine: str, arguments: list[object], sentence: str
) -> None:
    here = str(Path.cwd())
    asked = [str(one).replace("{mine}", mine).replace("{folder}", here) for one in arguments]
    called = call("verify", *asked)
    assert (called.code, called.out) == (2, "")
    assert sentence in called.err
    assert called.err.count("\n") == 1
