"""Figures of grids: what is drawn is what the rows hold, and what is not there is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnomon.report.figure import to_plotly
from gnomon.report.figures.lab_heads import (
    deposit_figure,
    heads_figure,
    pairs_figure,
    rates_figure,
    redundancy_figure,
    subject,
)
from gnomon.report.figures.lab_models import spectra_figure, stress_figure
from gnomon.report.figures.lab_scores import curves_figure, lengths_figure, scores_figure, style
from gnomon.report.page.pages import lab_page


def row(task: str, encoding: str, scores: list[float], rate: float = 3e-3, **more: Any) -> dict:
    mean = float(np.mean(scores))
    heads = {
        "index": [[0.4 + 0.1 * k, 0.5] for k in range(len(scores))],
        "largest": [[0.3, 0.1]] * len(scores),
        "noise_band": [[0.05 if k else 0.4, 0.2] for k in range(len(scores))],
        "effective_heads": [[2.0, 2.0]] * len(scores),
        "gini": [[0.5, 0.5]] * len(scores),
        "uniform": 0.5,
        "drops": [[0.3, 0.1], [0.05, -0.01]],
    }
    return {
        "task": task,
        "encoding": encoding,
        "learning_rate": rate,
        "choice": {"learning_rate": rate, "multiplier": 20.0},
        "seeds": list(range(len(scores))),
        "scores": scores,
        "scores_interval": [mean - 0.3, mean + 0.3],
        "areas": [value / 2 for value in scores],
        "areas_interval": [mean / 2 - 0.1, mean / 2 + 0.1],
        "steps_to_90": [None] * len(scores),
        "late": [1],
        "diverged": 1,
        "failed": 0,
        "at_edge": True,
        "ceiling": {"measure": "accuracy", "value": 1.0, "prior": 0.25, "constant": 0.25},
        "parameters": 1234,
        "cpu_seconds": [2.0] * len(scores),
        "curve": {"step": [10, 20], "mean": [0.3, mean], "low": [0.2, min(scores)],
                  "high": [0.4, max(scores)]},
        "lengths": {"length": [16, 64], "scores": [scores, [0.25] * len(scores)]},
        "heads": {"zero": heads, "mean": heads},
        "redundancy": {"largest": [0.2] * len(scores),
                       "noise_band": [0.1 if k else 0.3 for k in range(len(scores))]},
        "pairs": {"drops": [[0.4, 0.1, 0.0], [0.2, 0.0, -0.1]],
                  "by_seed": [[[0.4, 0.1, 0.0], [0.2, 0.0, -0.1]]] * len(scores)},
        **more,
    }  # fmt: skip


ROWS = [
    row("distance", "rope", [0.9, 0.8, 0.7]),
    row("distance", "alibi", [0.5, 0.4, 0.6]),
    row("order", "rope", [1.0, 1.0, 1.0]),
]
ALL = (
    scores_figure,
    curves_figure,
    lengths_figure,
    heads_figure,
    deposit_figure,
    redundancy_figure,
    pairs_figure,
)


@pytest.mark.parametrize("figure", ALL)
def test_every_figure_can_be_drawn_and_has_its_numbers_as_a_table(figure) -> None:
    made = figure(ROWS)
    assert made.missing is None
    to_plotly(made)
    columns = [len(column) for column in made.table.values()]
    assert len(set(columns)) == 1
    assert columns[0] > 0
    assert {"task", "encoding"} <= set(made.table)


def test_every_seed_is_a_dot_and_intervals_end_where_accuracy_does() -> None:
    made = scores_figure(ROWS)
    bars, dots = made.data[:2]
    assert dots["x"] == [0.9, 0.8, 0.7, 0.5, 0.4, 0.6]
    assert bars["x"] == [0.8, 0.5]
    assert bars["error_x"]["array"] == pytest.approx([0.2, 0.3])  # 1.1 is cut at 1
    assert made.table["score"] == [0.9, 0.8, 0.7, 0.5, 0.4, 0.6, 1.0, 1.0, 1.0]
    assert "distance: rope has 0.8 [0.5, 1], the most" in made.summary
    uprights = {(shape["x0"], shape["line"]["dash"]) for shape in made.layout["shapes"]}
    assert uprights == {(1.0, "dot"), (0.25, "dash")}
    assert scores_figure(ROWS, "areas").table["area"][0] == 0.45


def test_an_index_within_its_noise_is_an_open_dot() -> None:
    clear, open_dots = deposit_figure(ROWS).data[:2]
    assert clear["x"] == [0.5, 0.6, 0.5, 0.6]
    assert open_dots["x"] == [0.4, 0.4]
    assert open_dots["marker"]["symbol"] == "circle-open"


def test_heads_of_two_layers_stand_beside_each_other_with_a_gap() -> None:
    made = heads_figure(ROWS)
    assert made.data[0]["z"][0] == [0.3, 0.1, None, 0.05, -0.01]
    assert made.table["lost"][:4] == [0.3, 0.1, 0.05, -0.01]


def test_an_excess_within_its_noise_is_an_open_dot_and_said() -> None:
    made = redundancy_figure(ROWS)
    clear, within = made.data[:2]
    assert (len(clear["x"]), len(within["x"])) == (4, 2)  # the first of three seeds of two rows
    assert "distance: in 4 of 6 runs two heads stand in for one another" in made.summary


def test_rotary_pairs_of_two_layers_stand_beside_each_other_with_a_gap() -> None:
    made = pairs_figure(ROWS)
    assert made.data[0]["z"][0] == [0.4, 0.1, 0.0, None, 0.2, 0.0, -0.1]
    assert "distance: rope loses 0.4 without pair 0 of layer 0" in made.summary


def test_rates_are_drawn_only_where_an_encoding_has_several() -> None:
    assert rates_figure(ROWS).missing == "no encoding was reported at several learning rates"
    several = [row("distance", f"rope-at-{rate}", [0.9, 0.8], rate) for rate in (0.001, 0.003)]
    made = rates_figure([*several, ROWS[1]])
    (trace,) = made.data
    assert (trace["name"], trace["x"]) == ("rope", [0.001, 0.003])
    assert subject({"encoding": "rope-one-head"}) == "rope-one-head"


def test_what_a_grid_was_not_asked_for_is_said() -> None:
    bare = [{**one, "heads": None, "lengths": None} for one in ROWS]
    assert heads_figure(bare).missing == "heads were not ablated in this grid"
    assert deposit_figure(bare).missing == "heads were not ablated in this grid"
    assert lengths_figure(bare).missing == "the grid asks for no other lengths"
    none = [{**one, "scores": []} for one in ROWS]
    assert scores_figure(none).missing == "no run has ended yet"
    assert spectra_figure([]).missing == "contraction was not measured"
    assert stress_figure([]).missing == "stress was not measured"


def test_no_two_encodings_of_a_grid_look_alike() -> None:
    looks = [tuple(style(number).values()) for number in range(48)]
    assert len(set(looks)) == 48


LINES = [
    {"encoding": f"e{k}", "contraction": 0.5 + k, "area": 0.1 * k, "stable_rate": 0.1, "hessian": 2}
    for k in range(3)
]
POINTS = [
    {"corpus": "c", "encoding": "mds", "scale": 0.5, "raw": 0.1 + k, "scale_free": 0.1,
     "debiased": None, "share": 0.5}
    for k in range(3)
]  # fmt: skip


def test_what_was_known_before_stands_beside_what_training_showed() -> None:
    told = {"area": {"value": -0.4, "interval": (-0.8, 0.2)}}
    made = spectra_figure(LINES, told)
    assert len(made.data) == 3
    assert "area under the curve -0.4 [-0.8, 0.2]" in made.summary
    stress = stress_figure(POINTS)
    assert len(stress.data) == 2  # debiased stress is not known
    assert stress.table["raw"] == [0.1, 1.1, 2.1]


def test_a_page_holds_claims_figures_and_numbers_and_fetches_nothing() -> None:
    grid = {"name": "try", "question": "Which?", "rows": ROWS, "runs": 9, "cpu_seconds": 1234}
    contents = {
        "name": "try <b>",
        "question": "Which?",
        "grids": [grid | {"diverged": 1, "failed": 0}],
        "verdicts": [{"claim": "RoPE wins", "holds": "depends", "reason": "Open: 0.1."}],
        "notes": ["small models"],
        "optimisation": LINES,
        "stress": POINTS,
    }
    text = lab_page(contents, version="0").decode("utf-8")
    assert "try &lt;b&gt;" in text
    assert "<strong>RoPE wins</strong>" in text
    assert "9 runs, 1,234 s of CPU time; 1 diverged" in text
    assert "best rate at the edge of the sweep; 1 diverged; late: seed 1" in text
    assert "learning rate 0.003, multiplier 20" in text
    for key in ("lab-scores", "lab-areas", "lab-curves", "lab-lengths", "lab-heads", "lab-deposit"):
        assert f'data-figure="g0-{key}"' in text
    for key in ("lab-spectra", "lab-stress"):
        assert f'data-figure="beside-{key}"' in text
    assert 'id="g0-lab-rates"' not in text
    markup = text.partition('<script type="application/json"')[0]
    assert "http://" not in markup
    assert "https://" not in markup


def test_a_row_without_a_finished_run_is_a_line_that_says_so() -> None:
    lost = {**ROWS[1], "scores": [], "areas": [], "seeds": [], "late": []}
    grid = {"name": "try", "question": "", "rows": [ROWS[0], lost], "runs": 2, "cpu_seconds": 1}
    contents = {"name": "try", "question": "", "grids": [grid | {"diverged": 1, "failed": 0}]}
    assert "no run has ended with a score" in lab_page(contents, version="0").decode("utf-8")
