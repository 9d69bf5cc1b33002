"""An option is declared once: flags, keywords, help and refusals are made from its declaration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
import typer

import gnomon
from gnomon.cli.app import app
from gnomon.corpus.options import CountOptions, Limits, ReadOptions
from gnomon.errors import InputError
from gnomon.options import about, hints, rows, spelling
from gnomon.pipeline.options import FitOptions, SurveyOptions

KEYWORDS: dict[str, tuple[Callable[..., Any], tuple[type, ...]]] = {
    "count": (gnomon.count, (CountOptions,)),
    "survey": (gnomon.survey, (CountOptions, SurveyOptions)),
    "dependence": (gnomon.dependence, (CountOptions,)),
    "fit": (gnomon.fit, (FitOptions,)),
}
TAKEN = {
    "survey": (CountOptions, SurveyOptions),
    "fit": (CountOptions, FitOptions),
}


def flags(verb: str) -> dict[str, Any]:
    command = typer.main.get_command(app).commands[verb]
    return {name: one for one in command.params for name in one.opts}


def declared(kind: type) -> Iterator[tuple[str, Any]]:
    """Flags and declarations of a group, with those of the groups in it."""
    for item in fields(kind):
        known, hint = about(item), hints(kind)[item.name]
        if known is None:
            continue
        if is_dataclass(hint):
            yield from declared(hint)
        else:
            yield (known.flag.name or spelling(item.name)).split()[-1], known


@pytest.mark.parametrize("verb", TAKEN)
def test_every_option_is_a_flag_with_the_help_of_its_declaration(verb: str) -> None:
    found = flags(verb)
    for kind in TAKEN[verb]:
        for name, known in declared(kind):
            assert name in found, name
            own = known.flag.help or known.help
            assert found[name].help == own or (verb, name) == ("fit", "--dimension")


@pytest.mark.parametrize("name", KEYWORDS)
def test_signature_and_help_of_a_function_list_every_option_with_its_default(name: str) -> None:
    function, kinds = KEYWORDS[name]
    parameters = inspect.signature(function).parameters
    said = " ".join(str(inspect.getdoc(function)).split())
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    for kind in kinds:
        for item in fields(kind):
            default = item.default if item.default_factory is not Limits else Limits()
            assert parameters[item.name].default == default
        for option, _, help_text in rows(kind):
            begun = " ".join(help_text.split())[:40].partition("-")[0]
            assert f"{option}: {begun}" in said


@pytest.mark.parametrize(
    ("name", "keyword", "answer"),
    [
        ("count", "colunm", "count() has no option 'colunm'; did you mean 'column'?"),
        ("survey", "tokeniser", "survey() has no option 'tokeniser'; did you mean 'tokenizer'?"),
        (
            "survey",
            "max_length",
            "survey() has no option 'max_length'; it is called 'length' here.",
        ),
        ("dependence", "treads", "dependence() has no option 'treads'; did you mean 'threads'?"),
        ("fit", "dim", "fit() has no option 'dim'; it is called 'dimension' here."),
        ("fit", "zzz", "fit() has no option 'zzz'; known: beyond, dimension, estimator, masked,"),
    ],
)
def test_an_unknown_keyword_gets_the_nearest_name(name: str, keyword: str, answer: str) -> None:
    with pytest.raises(InputError) as refused:
        KEYWORDS[name][0]("three-regimes", **{keyword: 1})
    assert str(refused.value).startswith(answer)


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"length": "64"}, "length is '64', of type str; pass an integer or None."),
        ({"length": 6.5}, "length is 6.5, of type float; pass an integer or None."),
        ({"folds": True}, "folds is True, of type bool; pass an integer."),
        ({"cache": 1}, "cache is 1, of type int; pass True or False."),
        ({"column": 1.5}, "column is 1.5, of type float; pass a string, an integer or None."),
        ({"tables": "a.npy"}, "tables is 'a.npy', of type str; pass a list"),
        ({"encodings": None}, "encodings is None, of type NoneType; pass a list"),
        ({"limits": 3}, "limits is 3, of type int; pass an object of Limits."),
        ({"show_tokens": "no"}, "show_tokens is 'no', of type str; pass True or False."),
    ],
)
def test_a_value_of_another_type_gets_a_sentence(options: dict[str, Any], answer: str) -> None:
    with pytest.raises(InputError) as refused:
        gnomon.survey("three-regimes", **options)
    assert str(refused.value).startswith(answer)


def test_integers_of_numpy_are_integers() -> None:
    numpy = pytest.importorskip("numpy")
    assert CountOptions(length=numpy.int64(8), bins=numpy.array([0, 4])).length == 8


def test_one_seed_goes_to_every_group_that_has_one() -> None:
    found = gnomon.survey("three-regimes", seed=7, length=16, dimension=8, rank=2, shuffles=0)
    assert found.options.seed == 7
    assert found.provenance["seed"] == 7


def test_what_is_read_is_part_of_what_is_counted() -> None:
    own = {item.name for item in fields(ReadOptions)}
    assert own < {item.name for item in fields(CountOptions)}
