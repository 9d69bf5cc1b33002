"""Numbers far outside any use: on every option of every verb, and where their products overflow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

import gnomon
from gnomon.cli.app import app
from gnomon.encodings.registry import usual_parameters
from gnomon.errors import InputError

BASES: dict[str, tuple[str, ...]] = {
    "survey": ("survey", "{corpus}", "--shuffles", "0", "--dimension", "8", "--no-cache"),
    "fit": ("fit", "{corpus}", "--shuffles", "0", "--no-cache", "--out", "{here}/e.safetensors"),
    "stress": ("stress", "rope", "{here}/distances.npy", "--dimension", "8"),
    "verify": ("verify", "math:floor", "--dimension", "4"),
    "spectrum": ("spectrum", "alibi", "--length", "16", "--dimension", "4"),
    "reproduce": ("reproduce", "stress-vs-dimension", "--seeds", "1"),
    "classify": ("classify", "{here}/generator.npy"),
}
VALUES: dict[type, tuple[str, ...]] = {
    int: ("-1", "1000000000000000000", "9" * 60),
    float: ("-1", "nan", "inf", "1e308"),
}

HARMLESS = {"--seed", "--rotation", "--limit-line", "--limit-expansion", "--limit-tokenizer"}
"""What may be as large as anybody likes, and the counts that a table of distances has not."""
HARMLESS |= {"--minimum-count"}


def options() -> Iterator[tuple[str, str, str]]:
    """Yield the verb, the option and a value, for every option that takes a number."""
    verbs = {one.name or one.callback.__name__: one.callback for one in app.registered_commands}
    for verb in BASES:
        for hint in get_type_hints(verbs[verb], include_extras=True).values():
            about = getattr(hint, "__metadata__", ())
            kinds = {get_args(hint)[0], *get_args(get_args(hint)[0])} if about else set()
            for value in (value for one in VALUES if one in kinds for value in VALUES[one]):
                yield verb, about[0].default, value


@pytest.fixture
def here(tmp_path: Path) -> Path:
    np.save(tmp_path / "generator.npy", np.array([[0.0, 1.0], [-1.0, 0.0]]))
    np.save(tmp_path / "distances.npy", np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))))
    return tmp_path


@pytest.mark.parametrize(("verb", "option", "value"), list(options()))
def test_a_number_outside_any_use_is_refused_or_does_no_harm(
    call, here: Path, corpus: Path, verb: str, option: str, value: str
) -> None:
    words = [word.format(corpus=corpus, here=here) for word in BASES[verb]]
    if option in words:
        del words[words.index(option) : words.index(option) + 2]
    ended = call(*words, option, value, "-q")
    assert ended.code in (0, 1, 2), ended
    assert ended.err.count("\n") <= 1
    assert ended.code == 2 or option in HARMLESS, ended


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("verify rope --seed -1", "--seed is -1; it must be 0 or more."),
        ("verify math:floor --dimension 1000000000000000000", "it must be 1048576 or less."),
        ("verify math:floor --dimension 99999999", "it must be 1048576 or less."),
        ("spectrum alibi --length 16 --dimension 1000000000000000000", "1048576 or less."),
        ("spectrum alibi --length 16 --dimension 20000000", "it must be 1048576 or less."),
        ("survey three-regimes --shuffles 99999999", "--shuffles is 99999999; it must be 10000"),
        ("reproduce table4 --seeds 99999999", "--seeds is 99999999; it must be 10000 or less."),
        ("card rope -p base=1e300", "base is 1e+300; pass a finite number above 0, in size from"),
        (
            "card rope-yarn -p attention=1e300 -p dimension=8 -p factor=4 -p original_length=64",
            "attention is 1e+300; pass a finite number above 0, in size from 1e-50 to 1e+50.",
        ),
    ],
)
def test_a_slip_of_the_hand_is_refused_before_anything_is_made(call, words: str, told: str) -> None:
    ended = call(*words.split(), "-q")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert told in ended.err


@pytest.mark.parametrize("value", [1e300, 1e51, 1e-51, 5e-324, 10**60])
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("rope", "base"),
        ("rope-ntk", "factor"),
        ("rope-yarn", "attention"),
        ("xpos", "scale_base"),
        ("alibi", "slopes"),
        ("kerple-log", "scale"),
        ("jordan-scaled", "length"),
    ],
)
def test_a_parameter_whose_products_are_no_numbers_is_refused(
    name: str, parameter: str, value: float
) -> None:
    given = usual_parameters(name)
    if isinstance(given.get(parameter), tuple):
        value = (value,) * len(given[parameter])
    if (name, parameter) == ("kerple-log", "scale") and np.max(value) < 1.0:
        return  # a slope of next to nothing is none, and harmless
    with pytest.raises(InputError, match=rf"{parameter} is .*; pass "):
        gnomon.encoding(name, **(given | {parameter: value}))


@pytest.mark.parametrize("given", [{"seed": -1}, {"seed": 2**128}, {"dimension": 10**18}])
def test_the_library_has_the_same_ranges(given: dict[str, int]) -> None:
    with pytest.raises(InputError, match="pass a whole number from"):
        gnomon.verify(lambda x, _: x, **({"dimension": 4} | given))
    with pytest.raises(InputError, match="pass a whole number from"):
        gnomon.spectrum("alibi", 16, **given)


def test_a_number_that_overflows_in_the_end_is_bad_input(
    call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overflowing(*_: object, **__: object) -> None:
        math.exp(1000.0)

    monkeypatch.setattr("gnomon.conformance.verify", overflowing)
    ended = call("verify", "rope")
    assert (ended.code, "pass smaller ones" in ended.err) == (2, True)


def test_one_id_far_too_large_is_refused_before_memory_is_taken(call, tmp_path: Path) -> None:
    ids = np.random.default_rng(0).integers(0, 9, (150, 12))
    ids[0, 0] = 67108874
    np.save(tmp_path / "ids.npy", ids)
    ended = call("survey", tmp_path / "ids.npy", "--no-cache", "--shuffles", "0", "-q")
    assert ended.code == 2
    assert "ids.npy has ids up to 67,108,874, and measuring as many types takes about 6.0 GB" in (
        ended.err
    )
