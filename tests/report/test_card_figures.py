"""The figures of a card show the numbers of the portrait, and its page holds no foreign code."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from gnomon.encodings.lifts import portrait
from gnomon.encodings.registry import ENTRIES, described, encoding, shown
from gnomon.report.figure import Figure, to_plotly
from gnomon.report.figures.card import EXPLAINED, card_figures, explanation, ladder_figure
from gnomon.report.page.pages import card_page
from gnomon.report.text import card_text

HOSTILE = "<script>alert(1)</script>"
DRAWN = [name for name, entry in ENTRIES.items() if entry.examples]


def figures(name: str, **given) -> dict[str, Figure]:
    return {figure.key: figure for figure in card_figures(portrait(shown(name, **given)))}


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_of_every_card_can_be_drawn(name: str) -> None:
    """Plotly checks every key and value, and its JSON has no NaN."""
    found = portrait(shown(name))
    for figure in card_figures(found):
        assert figure.summary.endswith(".")
        assert explanation(figure, found) in EXPLAINED.values()
        lengths = {len(column) for column in figure.table.values()}
        assert len(lengths) == 1
        json.loads(to_plotly(figure).to_json(), parse_constant=pytest.fail)
    json.loads(found.plot().to_json(), parse_constant=pytest.fail)


def test_the_heat_map_holds_the_vectors() -> None:
    trace = figures("sinusoidal", dimension=8)["rows"].data[0]
    expected = encoding("sinusoidal", dimension=8).vectors(np.arange(128))
    np.testing.assert_allclose(np.array(trace["z"]), expected, atol=1e-5)


def test_colours_run_from_minus_to_plus_the_largest_number() -> None:
    figure = figures("random", dimension=8, sigma=2.0)["rows"]
    top = np.abs(encoding("random", dimension=8, sigma=2.0).vectors(np.arange(128))).max()
    assert figure.layout["coloraxis"]["cmax"] == pytest.approx(top)
    assert figure.layout["coloraxis"]["cmin"] == -figure.layout["coloraxis"]["cmax"]


def test_a_bias_is_a_curve_for_each_head_and_says_how_many_are_drawn() -> None:
    few, many = figures("alibi", heads=3)["rows"], figures("alibi", heads=12)["rows"]
    assert [trace["name"] for trace in few.data] == ["head 0", "head 1", "head 2"]
    assert len(many.data) == 8
    assert "8 of 12 heads are drawn" in many.summary
    assert len(many.table) == 1 + 12


def test_the_ladder_skips_what_does_not_turn_and_says_so() -> None:
    """Proportional rotation of a quarter of 8 coordinates: one pair of four turns."""
    ladder = figures("rope-proportional", dimension=8, fraction=0.25)["ladder"]
    assert [len(trace["x"]) for trace in ladder.data if trace["mode"] != "lines"] == [1]
    assert "3 pairs do not turn" in ladder.summary


def test_a_scaled_ladder_is_drawn_beside_the_plain_one() -> None:
    names = [trace["name"] for trace in figures("rope-linear", factor=4.0)["ladder"].data]
    assert names == ["as it is", "without scaling"]


def test_the_profile_says_whether_distance_grows_with_the_lag() -> None:
    assert "grows with every lag" in figures("alibi")["profile"].summary
    assert "does not grow with every lag" in figures("rope")["profile"].summary
    assert "none differs from another" in figures("nope")["profile"].summary
    assert "the lag alone does not decide it" in figures("random")["profile"].summary


def test_the_page_of_a_card_names_its_scripts_and_runs_nothing_else() -> None:
    contents, made = described("rope", make=True)
    hostile = contents | {"name": HOSTILE, "formula": HOSTILE, "extrapolation": HOSTILE}
    page = card_page(hostile, portrait(made), version="0").decode("utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in page
    assert HOSTILE not in page
    rest = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)=\"(?!#)", rest)


def test_the_text_of_a_card_stays_within_its_width_but_for_names_of_tests() -> None:
    for name in ENTRIES:
        for line in card_text(described(name)[0]).splitlines()[2:]:
            assert len(line) <= 100 or "::" in line, line


@pytest.mark.parametrize("name", ["xpos", "retnet", "alibi", "rope"])
def test_the_labels_of_a_ladder_name_their_values(name):
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    for ladder in portrait(shown(name)).ladders:
        axis = ladder_figure(ladder, name).layout["yaxis"]
        for value, text in zip(axis["tickvals"], axis["ticktext"], strict=True):
            front, point, power = text.replace(",", "").rpartition("10")
            if power and power[0] in "⁻¹²³⁴⁵⁶⁷⁸⁹":
                read = float(front.rstrip("·") or 1) * 10.0 ** int(power.translate(raised))
            else:
                read = float(f"{front}{point}{power}")
            assert read == pytest.approx(value, rel=5e-3)
