"""The oracle against published digits and laws, and what it says to bad questions."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from gnomon import oracle
from gnomon.encodings.nope import Nope
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError
from gnomon.oracle.biases import bucket, official_slopes
from gnomon.oracle.definition import context, coordinates, number

mpmath = pytest.importorskip("mpmath")

# OEIS A049469 and A049470.
SINE_OF_ONE = "0.841470984807896506652502321630298999622563060798371065672751709"
COSINE_OF_ONE = "0.540302305868139717400936607442976603732310420617922227670097255"


def test_sine_and_cosine_of_one_have_their_published_digits():
    [[sine, cosine]] = oracle.vectors(encoding("sinusoidal", dimension=2), [1])
    assert abs(sine - number(SINE_OF_ONE)) < number("1e-60")
    assert abs(cosine - number(COSINE_OF_ONE)) < number("1e-60")


def test_sixty_digits_are_left_at_a_position_of_twenty_digits():
    """By the addition theorem at exact halves: sin 2x = 2 sin x cos x."""
    made = encoding("sinusoidal", dimension=2)
    [[sine, cosine], [double, _]] = oracle.vectors(made, [10**19, 2 * 10**19])
    assert abs(double - 2 * sine * cosine) < number("1e-60")


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_turns_add_up_to_fifty_digits(layout):
    rope = encoding("rope", dimension=8, layout=layout)
    x = [Fraction(k, 7) for k in range(8)]
    twice = oracle.transform(rope, oracle.transform(rope, x, 1.7e9), Fraction(1, 3))
    once = oracle.transform(rope, x, Fraction(1.7e9) + Fraction(1, 3))
    assert max(abs(a - b) for a, b in zip(twice, once, strict=True)) < number("1e-50")


def test_numbers_are_taken_as_they_are_written():
    assert number(0.1) == number(Fraction(3602879701896397, 2**55))
    assert number("0.1") == number(Decimal("0.1")) == number(Fraction(1, 10))
    assert number(0.1) != number("0.1")
    assert number(np.float32(0.1)) == number(Fraction(13421773, 2**27))
    assert number(10**40 + 1) - 10**40 == 1


def test_the_precision_of_others_is_neither_used_nor_changed():
    with mpmath.workdps(5):
        [[sine, _]] = oracle.vectors(encoding("sinusoidal", dimension=2), [1])
        assert mpmath.mp.dps == 5
    assert abs(sine - number(SINE_OF_ONE)) < number("1e-60")


def test_slopes_of_eight_heads_are_those_of_the_paper():
    assert official_slopes(8) == [number(Fraction(1, 2 ** (h + 1))) for h in range(8)]


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 12, 20, 48, 71, 112])
def test_official_slopes_are_within_an_ulp_of_the_oracle(heads):
    found = encoding("alibi", heads=heads).slopes
    for slope, exact in zip(found, official_slopes(heads), strict=True):
        assert abs(number(slope) - exact) <= np.spacing(slope)


def test_buckets_by_whole_numbers_are_those_of_logarithms_away_from_their_bounds():
    """T5's own formula in logarithms, wherever it is not within 1e-9 of a bound."""
    mp = context()
    for buckets, largest in ((16, 128), (32, 128), (16, 1000), (8, 20)):
        exact = buckets // 2
        for lag in range(exact, 3 * largest):
            real = mp.log(mp.mpf(lag) / exact) / mp.log(mp.mpf(largest) / exact) * (buckets - exact)
            if abs(real - mp.nint(real)) > 1e-9:
                assert bucket(lag, buckets, largest) == min(exact + int(real), buckets - 1)


def test_keys_after_their_query_score_minus_infinity_under_a_causal_encoding():
    alibi = encoding("alibi", slopes=(0.5,))
    assert oracle.score(alibi, [1.0], [3.0], 2, 5) == -context().inf
    assert oracle.score(alibi, [1.0], [3.0], 5, 2) == number("1.5")


@dataclass(frozen=True, kw_only=True, eq=False)
class Unheard(Nope):
    """An encoding that nobody defined."""


def test_a_subclass_has_the_definition_of_its_parent():
    assert oracle.transform(Unheard(), [1, 2], 3) == [1, 2]


def test_an_encoding_without_a_definition_is_named(monkeypatch):
    from gnomon.oracle import evaluate

    monkeypatch.delitem(evaluate.DEFINITIONS, "Nope")
    with pytest.raises(
        EncodingError, match=r"no definition of the encoding 'nope' \(Unheard\); add one"
    ):
        oracle.transform(Unheard(), [1, 2], 3)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda e: oracle.bias(e["rope"], 1, 2), "'rope' has no bias; it offers transform"),
        (lambda e: oracle.vectors(e["rope"], [1]), "'rope' has no vectors; it offers transform"),
        (lambda e: oracle.transform(e["alibi"], [1], 1), "'alibi' has no transform of queries and"),
        (
            lambda e: oracle.transform(e["rope"], [1, 2], 1, side="v"),
            "side is 'v'; pass one of: q, k",
        ),
        (
            lambda e: oracle.transform(e["rope"], [1, 2], float("nan")),
            "position is nan; pass a fini",
        ),
        (
            lambda e: oracle.transform(e["rope"], [1, 2], "soon"),
            "position is 'soon'; pass a whole n",
        ),
        (
            lambda e: oracle.transform(e["rope"], [1, None], 1),
            "entry of q is None; pass a whole num",
        ),
        (lambda e: oracle.vectors(e["grid"], [(1, 2, 3)]), "has 3 coordinates, .* 2 axes; pass 2"),
        (lambda e: oracle.vectors(e["grid"], [7]), "position 7 has 1 coordinates, .* 2 axes"),
        (lambda e: oracle.vectors(e["random"], [0.5]), "0.5 is not a whole number; a table has"),
    ],
)
def test_a_bad_question_gets_a_sentence(ask, sentence):
    made = {
        "rope": encoding("rope", dimension=2),
        "alibi": encoding("alibi"),
        "grid": encoding("sinusoidal", dimension=4, axes=2),
        "random": encoding("random", dimension=4),
    }
    with pytest.raises(EncodingError, match=sentence):
        ask(made)


def test_positions_on_axes_may_come_as_arrays():
    assert coordinates(np.array([1, 2]), 2) == [1, 2]


PROBE = """
import sys
sys.modules["mpmath"] = None  # as if it were not installed
from gnomon import oracle
from gnomon.encodings.registry import encoding
from gnomon.errors import MissingExtraError
try:
    oracle.vectors(encoding("sinusoidal", dimension=2), [1])
except MissingExtraError as error:
    sys.exit(0 if "pip install gnomon[oracle]" in str(error) else f"said: {error}")
sys.exit("nothing was said")
"""


def test_without_mpmath_the_extra_is_named():
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
