"""Numbers on a page: equal to survey.json, packed without loss, and in words only where they are.

The page is read by html.parser, as a stranger would read it.
"""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gnomon.report.figure import Figure, Symmetric, Triangles
from gnomon.report.page import words
from gnomon.report.page.build import (
    ABSENT,
    Packer,
    lookup,
    number,
    pack_symmetric,
    pack_vector,
    script_json,
    shown,
)

FINITE = st.floats(-1e6, 1e6)


class Keyed(HTMLParser):
    """Collects the text of every element that names its key."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str, str]] = []
        self._open: tuple[int, str] | None = None

    def handle_starttag(self, _tag: str, attrs: Any) -> None:
        given = dict(attrs)
        if "data-key" in given:
            self._open = (int(given["data-survey"]), given["data-key"])
            self.found.append((*self._open, ""))

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.found[-1] = (*self._open, self.found[-1][2] + data)

    def handle_endtag(self, _tag: str) -> None:
        self._open = None


def agrees(text: str, value: Any) -> bool:
    """Say whether a text shows a value, to the digits that it shows."""
    if value is None:
        return text == "–"
    if isinstance(value, str):
        return text == value
    if text.startswith("<"):
        return 0 < value < bound(text[1:])
    plain = text.replace("\u2212", "-").replace(",", "")
    digits = plain.removesuffix(" %")
    step = 10.0 ** (int(digits.partition("e")[2] or 0) - len(decimals(digits)))
    half = 0.5001 * (step / 100 if plain.endswith("%") else step)
    return abs(bound(plain) - value) <= max(half, 1e-12)


def bound(text: str) -> float:
    number = float(text.removesuffix(" %"))
    return number / 100 if text.endswith("%") else number


def decimals(text: str) -> str:
    return text.partition("e")[0].partition(".")[2]


@pytest.mark.parametrize("name", ["regimes", "digits"])
def test_every_number_on_the_page_is_the_one_in_the_file(
    name: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(name)
    contents = json.loads((folder / "survey.json").read_text("utf-8"))
    reader = Keyed()
    reader.feed((folder / "report.html").read_text("utf-8"))
    assert len(reader.found) > 100
    wrong = [
        (key, text, lookup(contents, key))
        for survey, key, text in reader.found
        if survey != 0 or not agrees(text, lookup(contents, key))
    ]
    assert not wrong, wrong[:5]


def test_the_comparison_can_fail() -> None:
    assert agrees("0.181", 0.1807)
    assert not agrees("0.181", 0.1817)
    assert agrees("<0.1 %", 0.0004)
    assert not agrees("<0.1 %", 0.004)
    assert agrees("−0.017", -0.0171)
    assert not agrees("0.017", -0.0171)


@given(st.one_of(FINITE, st.floats(0, 1), st.floats(0, 1e-3), st.integers(0, 10**9)))
def test_every_style_shows_a_number_to_the_digits_it_prints(value: float) -> None:
    for style in ("decimal", "stress", "percent"):
        if style == "percent" and not 0 <= value <= 1:
            continue
        text = shown(value, style)
        assert agrees(text, value), (style, text, value)


def test_a_null_is_a_dash_that_names_its_reason() -> None:
    contents = {"stress": {"kruskal": None, "reason": 'all "0" <here>'}}
    assert number(contents, "stress.kruskal", survey=2) == (
        '<span class="none" data-survey="2" data-key="stress.kruskal" '
        'title="all &#34;0&#34; &lt;here&gt;">–</span>'
    )


def symmetric(packed: dict[str, Any]) -> np.ndarray:
    """Read a packed matrix by NumPy alone."""
    codes = np.frombuffer(base64.b64decode(packed["bytes"]), "<u2").astype(float)
    values = np.where(codes == ABSENT, np.nan, packed["low"] + codes * packed["step"])
    matrix = np.zeros((packed["n"], packed["n"]))
    matrix[np.triu_indices(packed["n"])] = values
    return np.triu(matrix) + np.triu(matrix, 1).T


@given(arrays(np.float64, st.integers(1, 9).map(lambda n: (n, n)), elements=FINITE), st.data())
def test_a_packed_matrix_comes_back_within_half_a_step(matrix: np.ndarray, data: Any) -> None:
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    gap = data.draw(st.integers(0, len(matrix) - 1))
    matrix[gap, :] = matrix[:, gap] = np.nan
    packed = pack_symmetric(matrix)
    back = symmetric(packed)
    assert np.array_equal(np.isnan(back), np.isnan(matrix))
    there = ~np.isnan(matrix)
    assert np.all(np.abs(back - matrix)[there] <= packed["step"] * 0.5 + 1e-9)
    if there.any():
        assert packed["step"] * 65534 == pytest.approx(np.ptp(matrix[there]))


@given(arrays(np.float64, st.integers(0, 99), elements=st.floats(allow_infinity=False)))
def test_a_packed_vector_comes_back_bit_for_bit(vector: np.ndarray) -> None:
    back = np.frombuffer(base64.b64decode(pack_vector(vector)["bytes"]), "<f8")
    assert back.tobytes() == vector.tobytes()


@given(st.text())
def test_json_in_a_script_element_can_not_end_it_and_comes_back(text: str) -> None:
    written = script_json({text: text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {text: text}


def test_a_matrix_that_a_picture_and_a_table_share_is_stored_once() -> None:
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    table = Triangles([0, 1], {"plugin": matrix, "null": 2 * matrix})
    figure = Figure(key="k", title="t", summary="s", data=[{"z": Symmetric(matrix)}], table=table)
    packer = Packer()
    packed = packer.figure(figure, file="f")
    assert packed["data"][0]["z"] == packed["table"]["matrices"][0][1] == {"$array": 0}
    assert len(packer.arrays) == 2


def test_what_is_not_finite_is_null_in_a_figure() -> None:
    assert Packer().value({"x": [float("nan"), np.float64("inf"), 1, np.int64(2)]}) == {
        "x": [None, None, 1, 2]
    }


def patterned(kind: str, positions: list[int], **more: Any) -> dict[str, Any]:
    """A survey of eight positions with this pattern, as far as words look at it."""
    pattern = {"kind": kind, "positions": positions, "share": 0.91, "period": None} | more
    return {
        "corpus": {"axes": [8], "bins": None, "window": more.get("window", "start")},
        "positions": [
            {
                "index": i,
                "distinct": i < 2,
                "status": "projected" if i in more.get("projected", []) else "core",
            }
            for i in range(more.get("length", 8))
        ],
        "geometry": {"debiased": {"pattern": pattern, "geometry_reason": None}},
        "verdict": {"informative": True, "recommended": "mds"},
    }


TOUCH = "of the difference is in pairs that touch"
LACKING = "position 1 is too uncertain to tell"
INSIDE = "inside the stretches positions are alike."


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        (
            patterned("start", [0, 1, 2, 5]),
            f"At the start: positions 0–2, 5 are unlike the rest (91 % {TOUCH} them).",
        ),
        (
            patterned("start", [0], window="end"),
            f"At the end: position 0 is unlike the rest (91 % {TOUCH} it).",
        ),
        (patterned("periodic", [], period=3), "It repeats every 3 positions."),
        (
            patterned("blocks", [0, 3]),
            "In 2 blocks: 0–2 and 3–7; inside the blocks positions are alike.",
        ),
        (
            patterned("blocks", [0, 20, 22, 25], length=60),
            f"At positions 20–24, which stand out of the stretches 0–19, 25–59; {INSIDE}",
        ),
        (
            patterned("start", [0, 2, 3], projected=[1, 6]),
            f"At the start: positions 0, 2–3 are unlike the rest (91 % {TOUCH} them; {LACKING}).",
        ),
        (patterned("throughout", []), "All over the positions, in no simple pattern."),
    ],
)
def test_where_the_signal_sits_is_said_in_plain_words(
    contents: dict[str, Any], sentence: str
) -> None:
    assert words.where(contents) == sentence


def test_without_a_geometry_the_distinct_positions_are_named() -> None:
    contents = patterned("start", [0])
    contents["geometry"]["debiased"]["geometry_reason"] = "too weak"
    assert words.where(contents) == "Positions 0–1 differ from the rest."


@pytest.mark.parametrize(
    ("informative", "recommended", "headline"),
    [
        (None, "none", "Whether position matters in this corpus cannot be decided."),
        (
            False,
            "none",
            "No sign of position: what the distances show does not stand out from noise.",
        ),
        (True, "none", "Position matters in this corpus, but too weakly to prefer an encoding."),
        (True, "rope", "Position matters in this corpus, and its geometry can be measured."),
        (
            True,
            "copied",
            "Position seems to matter, but these rows may depend on each other.",
        ),
    ],
)
def test_the_headline_is_the_verdict(informative: Any, recommended: str, headline: str) -> None:
    contents = {"verdict": {"informative": informative, "recommended": recommended}}
    contents["verdict"]["caution"] = "Survey again." if recommended == "copied" else None
    assert words.headline(contents) == headline


def test_where_every_distance_is_zero_no_distance_is_said_to_show_anything() -> None:
    verdict = {"informative": False, "recommended": "none"}
    said = words.headline({"verdict": verdict, "geometry": {"mean_distance": 0.0}})
    assert said == (
        "No sign of position: every position has the same tokens, and every distance is 0."
    )


def test_blanks_and_controls_of_a_token_are_visible() -> None:
    assert words.visible(" <b>\x00\u202e") == "␣<b>\\x00\\u202e"


def verdicted(**verdict: Any) -> dict[str, Any]:
    """A survey as far as words about encodings look at it."""
    lines = [("alibi", "slope", 0.2, 0.3), ("mds, debiased, rank 2", "kernel", 0.01, 0.02)]
    return {
        "verdict": {"recommended": "mds-low-rank", "nearest": None} | verdict,
        "encodings": [
            {
                "label": label,
                "lift": lift,
                "stress": {"debiased": {"scale_free": plain, "squared": squared}},
            }
            for label, lift, plain, squared in lines
        ],
    }


NEAREST = {"label": "alibi", "lift": "slope", "index": 0, "measure": "squared", "closer": True}


def test_encodings_are_named_as_their_rows_and_with_their_lift() -> None:
    fitted = verdicted(nearest=NEAREST)
    assert words.closest_name(fitted) == "mds, debiased, rank 2"
    assert words.nearest_in_short(fitted) == "alibi (slope)"
    assert words.closest_name(verdicted(recommended="alibi", nearest=NEAREST)) == (
        "alibi under the slope lift"
    )
    assert words.closest_name(verdicted(recommended="none")) == "none"
    assert words.nearest_in_short(verdicted(nearest=NEAREST | {"closer": False})) == "none"
    assert words.nearest_in_short(verdicted()) == "–"
    assert words.what_is_unexplained(fitted) == "the squared distances"
    assert words.what_is_unexplained(verdicted()) == "the distances"


@pytest.mark.parametrize(
    ("tokenizer", "axes", "order", "shuffled"),
    [
        ("words", [8], "word order", "words"),
        ("dna", [8], "the order of letters", "letters"),
        ("tokenizer.json", [8], "the order of tokens", "tokens"),
        ("ids", [8, 8], "the order of places", "places"),
    ],
)
def test_what_is_in_order_is_called_by_its_name(
    tokenizer: str, axes: list[int], order: str, shuffled: str
) -> None:
    contents = {"corpus": {"axes": axes, "tokenizer": tokenizer}}
    assert (words.kind_of_order(contents), words.shuffle_unit(contents)) == (order, shuffled)


@pytest.mark.parametrize("name", ["regimes", "digits"])
def test_the_verdict_of_the_page_names_the_nearest_of_the_file(
    name: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(name)
    contents = json.loads((folder / "survey.json").read_text("utf-8"))
    found = contents["verdict"]["nearest"]
    entry = contents["encodings"][found["index"]]
    assert (entry["label"], entry["lift"]) == (found["label"], found["lift"])
    assert lookup(entry, words.stress_used(contents)) == found["value"]
    text = " ".join((folder / "report.html").read_text("utf-8").split())
    assert f"The nearest of the known ones, {words.encoding_name(found)}, leaves" in text
    assert words.encoding_name(found) in contents["verdict"]["reason"]
