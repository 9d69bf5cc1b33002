"""The page of lags: every number on it is one of the result, and a stranger's text stays text."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.report.figures.lags import (
    information_figure,
    kernel_figure,
    lags_figures,
    modes_figure,
    periods_of,
)
from gnomon.report.page.pages import lags_page

WRITTEN: dict[str, Any] = {"file": "e.safetensors", "encoding": {"name": "jordan"}}
NONE: dict[str, Any] = {"file": None, "encoding": None, "reason": "there is nothing to encode"}


@pytest.fixture(scope="module")
def bars() -> Any:
    """A period of 3, in bars that begin anywhere."""
    rng = np.random.default_rng(0)
    return gnomon.dependence([np.roll([0, 1, 1] * 30, rng.integers(3)) for _ in range(64)], lags=32)


def page(found: Any, **more: Any) -> str:
    return lags_page(found.to_dict() | more, found.text(), version="0").decode("utf-8")


def mode(**given: Any) -> dict[str, Any]:
    usual = {"period": None, "period_interval": None, "half_life": 4.0}
    return usual | {"half_life_interval": [3.0, None], "amplitude": 0.1, "harmonic": 1} | given


def test_rates_and_nulls_add_up_to_what_was_counted() -> None:
    """Equal tokens = excess + shuffled + what positions add, by the definition of the excess."""
    kernel = {"lags": [1, 2], "values": [0.2, -0.1], "errors": [0.01, 0.2]}
    kernel |= {"shuffled": [0.3, 0.3], "across": [0.0, 0.05]}
    figure = kernel_figure(kernel)
    equal, no_order, no_dependence, band, excess = figure.data
    assert equal["y"] == pytest.approx([0.5, 0.25])
    assert (no_order["y"], no_dependence["y"]) == ([0.3, 0.3], [0.3, 0.35])
    assert excess["y"] == [0.2, -0.1]
    assert band["y"] == pytest.approx([0.2 - 0.0196, -0.1 - 0.392, -0.1 + 0.392, 0.2 + 0.0196])
    assert "At lag 1 tokens are equal more often than under both nulls by 0.2" in figure.summary
    assert "leaves 0 at 1 lag of 2" in figure.summary


def test_information_that_is_not_above_zero_is_not_drawn_on_a_logarithmic_axis() -> None:
    curves = {"lags": [1, 2, 3], "values": [0.4, -0.1, 0.1], "errors": [0.1, 0.1, 0.1]}
    curves |= {"plugin": [0.9] * 3, "shuffled": [0.2] * 3, "across": [0.0, -0.1, 0.0]}
    curves |= {"p_values": [0.01, 0.8, 0.3]}
    figure = information_figure(curves)
    band, shuffled, told, untold = figure.data
    assert (told["x"], untold["x"]) == ([1.0], [3.0])
    assert min(band["y"]) > 0.0
    assert shuffled["name"] == "taken off: documents shuffled"
    assert figure.table["bits"] == [0.4, -0.1, 0.1]
    assert "significant at 1 lag, the furthest 1 (5 % for" in figure.summary
    nothing = information_figure(curves | {"values": [-0.1, 0.0, -0.2]})
    assert nothing.missing == "no lag has more than its nulls"
    less = information_figure(curves | {"p_values": [0.01, 0.01, 0.3]})
    assert "significant at 1 lag, the furthest 1 (" in less.summary
    unsure = information_figure(curves | {"p_values": [0.9] * 3})
    assert unsure.summary.endswith("at no lag is that significant.")


def test_a_mode_is_drawn_by_what_it_has() -> None:
    turning = mode(
        period=10.0, period_interval=[9.0, 11.0], half_life=None, half_life_interval=None
    )
    figure = modes_figure([turning, mode(), mode(period=5.0, half_life=None, harmonic=2)])
    periods, lives = figure.data
    assert (periods["x"], lives["x"]) == ([10.0, 5.0], [4.0])
    assert (periods["error_x"]["array"], periods["error_x"]["arrayminus"]) == ([1, 0], [1, 0])
    assert lives["error_x"]["arrayminus"] == [1.0]
    assert lives["error_x"]["array"][0] > 0.0  # without an end it is drawn to beyond the longest
    wanted = "2 modes with a period (10 and harmonics) and 1 mode that falls."
    assert figure.summary == wanted
    assert modes_figure([mode(), mode()]).summary == "2 modes that fall."
    assert len(modes_figure([mode()]).data) == 1
    endless = mode(period=200.0, period_interval=[80.0, None])
    assert modes_figure([endless]).summary == "1 mode that falls."
    assert modes_figure([]).missing == "no period and no half-life stands above the noise"


def test_modes_of_the_law_of_positions_are_drawn_and_said_to_be_that() -> None:
    placed = mode(period=3.0, half_life=None, half_life_interval=None)
    figure = modes_figure([], placed=[placed])
    assert figure.data[0]["x"] == [3.0]
    assert figure.summary.endswith(
        "All are in how tokens are distributed over positions, which is no dependence."
    )
    both = modes_figure([mode()], placed=[placed]).summary
    assert both.endswith(
        "Of them 1 is in how tokens are distributed over positions, which is no dependence."
    )


def test_the_page_says_in_words_what_the_text_says(bars: Any) -> None:
    shown = page(bars, **WRITTEN)
    for line in bars.text().splitlines()[1:]:
        assert f"<li>{line}</li>" in shown
    assert "<h2>1 period</h2>" in shown
    assert f"{bars.documents:,} documents, {bars.tokens:,} tokens" in shown
    assert 'gnomon.torch.layer("e.safetensors")' in shown


def test_the_page_says_how_well_modes_and_layer_fit(bars: Any) -> None:
    layer = {"explained": 0.914, "scale": 0.5, "largest_error": 0.0312, "largest_at": 7}
    shown = page(bars, **WRITTEN, layer=layer)
    fit = bars.found.fit
    assert f"χ² is {fit.chi2_per_dof:.3g} for each degree of freedom" in shown
    assert f"off by {fit.largest_error:.2g} at most, at lag {fit.largest_at}" in shown
    assert "explains 91 % of how the measured one varies with the lag" in shown
    assert "off by 0.031 at most, at lag 7" in shown


def test_what_belongs_to_other_periods_is_no_period_of_its_own() -> None:
    sums = mode(period=84.0, half_life=None, product=[7.0, 12.0])
    assert periods_of([mode(period=7.0, half_life=None), sums]) == [7.0]


def test_a_page_of_nothing_says_why_there_is_no_file() -> None:
    rng = np.random.default_rng(1)
    found = gnomon.dependence(rng.integers(6, size=(60, 80)).tolist(), lags=24)
    shown = page(found, **NONE)
    assert "Nothing stands above the noise, up to lag 24" in shown
    assert "none: there is nothing to encode" in shown
    assert "Every mode in numbers" not in shown


def test_every_number_of_the_table_is_in_the_result(bars: Any) -> None:
    cells = re.findall(r'<td class="n">([^<]*)</td>', page(bars, **WRITTEN))
    contents = bars.to_dict()["found"]["modes"]
    assert len(cells) == 3 * len(contents)
    for row, found in enumerate(contents):
        assert float(cells[3 * row]) == pytest.approx(found["period"], rel=1e-3)
        assert float(cells[3 * row + 2]) == pytest.approx(found["amplitude"], rel=5e-2)


def test_the_data_of_a_figure_are_those_of_the_result(bars: Any) -> None:
    contents = bars.to_dict()
    table = lags_figures(contents)[0].table
    np.testing.assert_allclose(table["excess"], contents["kernel"]["values"], rtol=1e-4, atol=1e-9)
    assert table["lag"] == contents["kernel"]["lags"]


def test_the_name_of_a_corpus_stays_text(bars: Any) -> None:
    contents = bars.to_dict() | WRITTEN | {"source": "<script>alert(1)</script>"}
    contents["file"] = "</code><img src=x>.safetensors"
    shown = lags_page(contents, bars.text(), version="0").decode("utf-8")
    assert "<script>alert" not in shown
    assert "<img" not in shown


def test_the_page_needs_nothing_from_elsewhere(bars: Any) -> None:
    shown = page(bars, **WRITTEN)
    assert "default-src &#39;none&#39;; script-src &#39;sha256-" in shown
    head, _, store = shown.partition('id="figures">')
    assert not re.findall(r"(?:src|href)=[\"']?https?:", head)
    assert set(json.loads(store.partition("</script>")[0])["figures"]) >= {
        "lags-kernel",
        "lags-modes",
    }


def test_the_result_draws_itself(bars: Any) -> None:
    drawn = bars.plot()
    assert [trace.name for trace in drawn.data if trace.name] == [
        "equal tokens",
        "no order: documents shuffled",
        "no dependence beyond position",
        "excess over both nulls",
    ]
    assert len(bars.kernel.plot().data) == len(drawn.data)
