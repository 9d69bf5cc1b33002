"""`gnomon verify`: encodings and functions of one's own, exit codes, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert called.out.endswith("promised laws hold\n")


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


def test_the_json_has_the_promised_keys(call) -> None:
    value = json.loads(call("verify", "alibi", "--json", "-").out)
    assert set(value) >= {"level", "laws", "warnings"}
    assert value["level"] == "L1 augmented group"
    assert set(value["laws"]["shift"]) >= {"residual", "tolerance", "holds", "promised"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rop"], "There is no encoding 'rop': did you mean 'rope'?"),
        (["no_such_module:f", "--dimension", 8], "The module 'no_such_module' can not be imported"),
        (["{mine}:nothing", "--dimension", 8], "has no function 'nothing'; name one that it has"),
        (["{mine}:number", "--dimension", 8], "has no function 'number'; name one that it has"),
        (["{mine}:rotate"], "A function is verified on vectors; name their --dimension, too"),
        (["{mine}:rotate", "--dimension", 8, "-p", "base=3"], "A function has no --parameter"),
        (["rope", "--keys", "{mine}:rotate"], "--keys is for functions, and 'rope' is none; leave"),
        (["rope", "--causal"], "--causal is for functions, and 'rope' is none; leave it out"),
        (["rope", "--promised", "shft"], "There is no law 'shft': did you mean 'shift'?"),
    ],
)
def test_what_can_not_be_verified_gets_one_sentence(
    call, mine: str, arguments: list[object], sentence: str
) -> None:
    called = call("verify", *(str(one).replace("{mine}", mine) for one in arguments))
    assert (called.code, called.out) == (2, "")
    assert sentence in called.err
    assert called.err.count("\n") == 1
