"""Every parameter matters: changing any one of them changes what an encoding does.

This is the law that a cache keyed by too little breaks. Alternatives of a value are made from its
type; an entry passes when, for each parameter its maker takes, some example shows a difference.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnomon.encodings.card import DECLARED
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import EncodingError
from support.examples import width_of

WORDS = ("interleaved", "half", "chunked", "open", "closed")
WITH_EXAMPLES = [name for name, entry in ENTRIES.items() if entry.examples]
NO_CHANGE = {"axes"}
"""Positions with another number of axes are another question: `test_laws_of_positions`."""


def alternatives(value: Any) -> list[Any]:
    """Other values of the same type, likely ones first."""
    for kind, others in OTHERS.items():
        if isinstance(value, kind):
            return others(value)
    return [True, False, 0.5, 2.0, 1, 3, 64, 4096, 2.5, {"name": "linear", "factor": 2.0}]


def other_entries(value: Any) -> list[Any]:
    """A list or mapping in which one entry is another, and a list the other way round."""
    if isinstance(value, dict):
        return [{**value, key: other} for key in value for other in alternatives(value[key])]
    entries = [*value]
    return [
        *(
            [*entries[:at], other, *entries[at + 1 :]]
            for at, entry in enumerate(entries)
            for other in alternatives(entry)
        ),
        entries[::-1],
    ]


OTHERS: dict[Any, Any] = {
    bool: lambda value: [not value],
    int: lambda value: [2 * value, value + 1, value + 2, value // 2, 4 * value, 3 * value],
    float: lambda value: [1.5 * value, 0.5 * value, value + 1.0],
    str: lambda value: [word for word in WORDS if word != value],
    (dict, tuple, list): other_entries,
}
"""By type; True is an int, so the order matters."""
LISTS = {"short_factor": (1.0, 2.0), "long_factor": (1.0, 3.0), "original_length": 64}
NETWORK = {"heads": 1, "hidden": 2}
NARROW = {"dimension": 2, "largest_lag": 1}
"""Of an encoding on lags, with few learned numbers."""
ONE_HEAD = {"heads": 1, "dimension": 2}
MIXED = {"inner": {"name": "alibi", "heads": 1}, "units": 2}
CONTENT = {
    "fox": (ONE_HEAD, {"gate_weights": (1, 2), "gate_bias": (1,)}),
    "selective-rope": (
        {**ONE_HEAD, "kernel": 2},
        {"clock_weights": (1, 1, 2), "drift": (1, 1), "taps": (1, 1, 2)},
    ),
    "path": (
        {**ONE_HEAD, "kernel": 2},
        {"directions": (1, 2, 2), "step_weights": (1, 2), "step_bias": (1,), "taps": (1, 2, 2)},
    ),
    "grape-additive": (ONE_HEAD, {"factor": (1,), "query_ways": (1, 2), "key_ways": (1, 2)}),
    "grape-path": ({**ONE_HEAD, "features": 2}, {"projection": (1, 2, 2)}),
    "cope": ({**ONE_HEAD, "rows": 3}, {"table": (3, 2)}),
    "dape": (
        MIXED,
        {"mixer_in": (2, 2), "mixer_in_bias": (2,), "mixer_out": (1, 2), "mixer_out_bias": (1,)},
    ),
    "pope": (ONE_HEAD, {"shifts": (1, 2)}),
}
"""Of rules on content: what they are made with, and the shapes of what they learn."""


def of_rules() -> dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]]:
    """Learned numbers of rules on content, each in two versions."""
    pairs: Any = {}
    for name, (parameters, learned) in CONTENT.items():
        for number, shape in learned.items():
            first = -np.linspace(0.2, 1.1, int(np.prod(shape))).reshape(shape)
            second = first * np.where(np.arange(first.size).reshape(shape) % 2, 0.5, 2.0)
            pairs[name, number] = tuple({**parameters, number: x} for x in (first, second))
    return pairs


TOGETHER: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {
    **of_rules(),
    ("grape-additive", "gated"): ({**ONE_HEAD, "gated": "both"}, {**ONE_HEAD, "gated": "keys"}),
    ("grape-path", "normed"): ({**ONE_HEAD, "normed": "both"}, {**ONE_HEAD, "normed": "keys"}),
    ("pope", "start"): ({**ONE_HEAD, "start": "zero"}, {**ONE_HEAD, "start": "uniform"}),
    ("shaw", "table"): tuple({**NARROW, "table": [[x, 1.0]] * 3} for x in (0.0, 2.0)),
    ("shaw", "value_table"): tuple(
        {**NARROW, "with_values": True, "value_table": [[x, 1.0]] * 3} for x in (0.0, 2.0)
    ),
    **{
        ("transformer-xl", name): tuple(
            {"dimension": 2, "heads": 1, name: np.full(shape, x)} for x in (0.5, 1.0)
        )
        for name, shape in (
            ("content_bias", (1, 2)),
            ("position_bias", (1, 2)),
            ("projection", (1, 2, 2)),
        )
    },
    **{
        ("deberta", name): tuple(
            {**NARROW, "heads": 1, name: np.full((1, 2, 2), x)} for x in (0.5, 1.0)
        )
        for name in ("key_table", "query_table")
    },
    ("alibi", "slopes"): ({"slopes": (0.5, 0.2)}, {"slopes": (0.5, 0.1)}),
    ("alibi", "slopes_after"): (
        {"slopes": (0.5,), "slopes_after": (0.2,)},
        {"slopes": (0.5,), "slopes_after": (0.1,)},
    ),
    ("learned", "values"): (
        {"rows": 8, "dimension": 2, "values": [[0.0, 1.0]] * 8},
        {"rows": 8, "dimension": 2, "values": [[0.0, 2.0]] * 8},
    ),
    ("t5", "table"): (
        {"heads": 1, "buckets": 4, "table": [[0.0], [1.0], [2.0], [3.0]]},
        {"heads": 1, "buckets": 4, "table": [[0.0], [1.0], [2.0], [4.0]]},
    ),
    ("m-rope", "fraction"): (
        {"dimension": 8, "sections": (2, 1, 1)},
        {"dimension": 8, "sections": (1, 1, 0), "fraction": 0.5},
    ),
    ("rope-longrope", "dimension"): (
        {"dimension": 8, "fraction": 0.5, **LISTS},
        {"dimension": 9, "fraction": 0.5, **LISTS},
    ),
    ("rope-longrope", "fraction"): (
        {"dimension": 8, "fraction": 0.5, **LISTS},
        {"dimension": 8, **LISTS, "short_factor": (1, 2, 3, 4), "long_factor": (1, 2, 3, 4)},
    ),
    ("fope", "cosines"): (
        {"dimension": 2, "length": 7, "cosines": [[[1.0]]]},
        {"dimension": 2, "length": 7, "cosines": [[[2.0]]]},
    ),
    ("fope", "sines"): (
        {"dimension": 2, "length": 7, "sines": [[[1.0]]]},
        {"dimension": 2, "length": 7, "sines": [[[2.0]]]},
    ),
    ("rope-mixed", "frequencies"): (
        {"dimension": 4, "heads": 1, "frequencies": [[[1.0, 0.5], [0.2, 0.1]]]},
        {"dimension": 4, "heads": 1, "frequencies": [[[1.0, 0.5], [0.2, 0.3]]]},
    ),
    ("fire", "weights_in"): tuple({**NETWORK, "weights_in": [[w, 1.0]]} for w in (0.5, -0.5)),
    ("fire", "biases_in"): tuple({**NETWORK, "biases_in": [b, 1.0]} for b in (0.5, 2.0)),
    ("fire", "weights_out"): tuple({**NETWORK, "weights_out": [[w], [1.0]]} for w in (0.5, 2.0)),
    ("fire", "biases_out"): tuple({**NETWORK, "biases_out": [b]} for b in (0.5, 2.0)),
    ("mlp-bias", "weights_in"): tuple({**NETWORK, "weights_in": [[w, 1.0]]} for w in (0.5, 2.0)),
    ("mlp-bias", "biases_in"): tuple({**NETWORK, "biases_in": [b, 1.0]} for b in (0.5, 2.0)),
    ("mlp-bias", "weights"): tuple(
        {**NETWORK, "weights": [[[w, 1.0], [1.0, 0.0]]]} for w in (0.5, 2.0)
    ),
    ("mlp-bias", "biases"): tuple({**NETWORK, "biases": [[b, 1.0]]} for b in (0.5, 2.0)),
    ("mlp-bias", "weights_out"): tuple(
        {**NETWORK, "weights_out": [[w], [1.0]]} for w in (0.5, 2.0)
    ),
    ("mlp-bias", "biases_out"): tuple({**NETWORK, "biases_out": [b]} for b in (0.5, 2.0)),
    ("ctlpe", "slope"): tuple({"dimension": 2, "slope": [a, 1.0]} for a in (0.5, 2.0)),
    ("ctlpe", "offset"): tuple({"dimension": 2, "offset": [b, 1.0]} for b in (0.5, 2.0)),
    ("clock", "paces"): tuple(
        {"inner": {"name": "alibi", "heads": 1}, "knots": (0, 4), "paces": [p]} for p in (0.0, 1.0)
    ),
    ("decay-time", "half_lives"): tuple({"half_lives": (5.0, life)} for life in (7.0, 9.0)),
    **{
        (name, number): tuple({"dimension": 4, number: value * np.ones(shape)} for value in pair)
        for name in ("jordan", "jordan-scaled")
        for number, shape, pair in (
            ("frequencies", (1, 1), (0.5, 1.0)),
            ("decays", (1,), (-1.0, -2.0)),
            ("gains", (1,), (0.5, 1.0)),
        )
    },
    ("rope-hyperbolic", "rapidities"): tuple(
        {"dimension": 2, "rapidities": [b]} for b in (0.1, 0.2)
    ),
    ("rope-hyperbolic", "excesses"): tuple({"dimension": 2, "excesses": [y]} for y in (-1.0, 0.0)),
    ("rope-hyperbolic", "damping"): tuple(
        {"dimension": 4, "damping": damping} for damping in ("own", "common")
    ),
    ("liere", "generators"): tuple(
        {"dimension": 2, "block": 2, "generators": [[[[0.0, a], [0.0, 0.0]]]]} for a in (0.5, 1.0)
    ),
    ("comrope", "generators"): tuple(
        {"dimension": 2, "block": 2, "generators": [[[0.0, a], [0.0, 0.0]]]} for a in (0.5, 1.0)
    ),
    ("comrope", "slopes"): tuple({"dimension": 2, "block": 2, "slopes": [[m]]} for m in (0.5, 1.0)),
    ("comrope", "variant"): tuple(
        {"dimension": 2, "block": 2, "variant": v} for v in ("axis-partition", "linearly-dependent")
    ),
    ("string-cayley", "frequencies"): tuple(
        {"dimension": 2, "frequencies": [[w]]} for w in (0.5, 1.0)
    ),
    ("string-cayley", "skew"): tuple(
        {"dimension": 4, "skew": np.triu(s * np.ones((4, 4)))} for s in (0.5, 1.0)
    ),
    ("string-circulant", "frequencies"): tuple(
        {"dimension": 3, "frequencies": [[w]]} for w in (0.5, 1.0)
    ),
    ("grape", "frequencies"): tuple({"dimension": 2, "frequencies": [[w]]} for w in (0.5, 1.0)),
    ("grape", "directions"): tuple(
        {"dimension": 4, "planes": 1, "directions": [[[1, 0, 0, 0], [0, 1, x, 0]]]}
        for x in (0.0, 1.0)
    ),
}
"""Two sets of parameters that tell one of them apart, where it cannot change all by itself."""


def behaviour(name: str, parameters: dict[str, Any]) -> list[Any] | None:
    """What an encoding does at near and far positions; None where it cannot be made."""
    try:
        made = encoding(name, **parameters)
        near, far = np.array([0, 1, 2, 3, 5, 7]), np.array([63, 100, 500, 40_000])
        size = (made.head_count or 1), len(near), width_of(made)
        q = np.random.default_rng(5).normal(size=size)
        k = np.roll(q, 1, axis=-1)
        there = [place for place in far if reaches(made, q, place)]
        later = on_axes(np.array([*near, *there])[-len(near) :], made.axes)
        read = beside(made, len(near))
        seen = [made.scores(q, k, at, **read) for at in (on_axes(near, made.axes), later)]
        if "transform" in made.kinds:
            seen += made.transform(q, k, on_axes(near, made.axes))
        if made.on_values:
            at, weights = near[:, None].astype(float), np.ones((size[0], len(near), len(near)))
            terms = made.value_terms(weights, at, at, made.numbers, xp=np)
            seen.append(np.zeros(()) if terms is None else terms)
    except EncodingError:
        return None
    return [made.card.level, made.card.causal_only, q.shape, there, seen]


def beside(made: Any, count: int) -> dict[str, Any]:
    """What a rule reads beside keys, where it was made for tokens of another width."""
    width = getattr(made, "token_width", None)
    return {"tokens": np.random.default_rng(6).normal(size=(count, width))} if width else {}


def on_axes(steps: Any, axes: int) -> Any:
    """Positions on several axes, at different places on the first and on the others."""
    return steps if axes == 1 else np.stack([steps, *[steps // 2] * (axes - 1)], axis=-1)


def reaches(made: Any, q: Any, position: int) -> bool:
    """Whether an encoding has something so far out."""
    try:
        made.scores(q[:, :1], q[:, :1], on_axes(np.array([position]), made.axes), **beside(made, 1))
    except EncodingError:
        return False
    return True


def differ(first: list[Any], second: list[Any]) -> bool:
    """Whether two behaviours can be told apart by more than rounding."""
    if first[:-1] != second[:-1]:
        return True
    pairs = zip(first[-1], second[-1], strict=True)
    return not all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in pairs)


def matters(name: str, parameter: str, default: Any) -> bool:
    """Whether some alternative of a parameter changes what some example does."""
    if (name, parameter) in TOGETHER:
        first, second = (behaviour(name, p) for p in TOGETHER[name, parameter])
        assert first is not None
        assert second is not None
        return differ(first, second)
    for example in ENTRIES[name].examples:
        usual = behaviour(name, example)
        assert usual is not None, f"{name} with {example} does nothing at small positions"
        for other in alternatives(example.get(parameter, default)):
            changed = behaviour(name, {**example, parameter: other})
            if changed is not None and differ(usual, changed):
                return True
    return False


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_changing_any_parameter_changes_what_is_computed(name):
    idle = [
        parameter
        for parameter, declared in ENTRIES[name].parameters.items()
        if parameter not in NO_CHANGE and not matters(name, parameter, declared.default)
    ]
    assert not idle, f"{name}: nothing changes with {idle}"


def test_the_law_sees_a_parameter_that_does_nothing(monkeypatch):
    """Without this, a law that always passes would look the same."""
    planted = replace(ENTRIES["rope"], examples=({"dimension": 8},), maker=idle_base)
    monkeypatch.setitem(DECLARED, "rope", planted)
    assert matters("rope", "dimension", None)
    assert not matters("rope", "base", 10000.0)


def idle_base(dimension: int, base: float = 10000.0) -> Any:
    """A rotary encoding that forgets its base."""
    from gnomon.encodings.rotary.rope import Rope

    del base
    return Rope(dimension=dimension)


def test_made_again_it_is_the_same(subject, rng):
    """No call leaves a trace in another encoding: nothing is kept between them."""
    q, k = subject.content(rng, 5)
    at = subject.places(rng, 5)
    before = subject.encoding.scores(q, k, at)
    again = encoding(subject.name, **subject.parameters)
    np.testing.assert_array_equal(again.scores(q, k, at), before)


def test_parameters_are_plain_values(subject):
    """They go into JSON as they are."""
    assert json.loads(json.dumps(subject.encoding.parameters)) is not None
