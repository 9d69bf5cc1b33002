"""Curvature, logits, pairs and differences on the page: what the rows hold, and where measured."""

from __future__ import annotations

import pytest

from gnomon.report.figure import to_plotly
from gnomon.report.figures.lab_heads import pairs_figure
from gnomon.report.figures.lab_models import hessian_figure, logits_figure
from gnomon.report.page.pages import lab_page


def row(encoding, *, task="distance", **more):
    return {
        "task": task,
        "encoding": encoding,
        "learning_rate": 3e-3,
        "choice": {},
        "seeds": [0, 1],
        "scores": [0.8, 0.9],
        "scores_interval": None,
        "areas": [0.5, 0.6],
        "areas_interval": None,
        "steps_to_90": [None, 20],
        "late": [],
        "diverged": 0,
        "failed": 0,
        "ceiling": {"measure": "accuracy", "value": 1.0, "prior": 0.25, "constant": 0.25},
        "parameters": 10,
        "cpu_seconds": [1.0, 1.0],
        "curve": {"step": [10], "mean": [0.5], "low": [0.4], "high": [0.6]},
        **more,
    }


MEASURED = [
    row("rope", hessian_along={"step": [10, 20], "values": [[4.0, 8.0], [6.0, None]]},
        contraction=[0.5, 0.7], toeplitz_share=[0.1, 0.3]),
    row("alibi", hessian_along={"step": [10, 20], "values": [[2.0, 3.0], [4.0, 5.0]]},
        contraction=[1.5, 1.7], toeplitz_share=[0.8, 0.9]),
]  # fmt: skip
BARE = [row("rope"), row("alibi", hessian_along=None, contraction=None)]


def test_curvature_is_the_mean_over_seeds_with_its_extremes():
    made = hessian_figure(MEASURED)
    rope, alibi = made.data
    assert (rope["x"], rope["y"]) == ([10, 20], [5.0, 8.0])
    assert rope["error_y"]["array"] == [1.0, 0.0]
    assert alibi["y"] == [3.0, 4.0]
    assert made.layout["yaxis"]["type"] == "log"
    assert made.summary == (
        "distance: at the end alibi has 4, the least, and rope 8 (means over seeds)."
    )
    assert made.table["top_eigenvalue"] == [4.0, 8.0, 6.0, None, 2.0, 3.0, 4.0, 5.0]
    to_plotly(made)


def test_curvature_that_is_negative_somewhere_has_a_straight_axis():
    saddle = [row("rope", hessian_along={"step": [10], "values": [[-1.0], [2.0]]})]
    assert hessian_figure(saddle).layout["yaxis"]["type"] == "linear"


def test_contraction_and_share_have_a_panel_each_and_a_dot_for_every_run():
    made = logits_figure(MEASURED)
    means, runs = made.data[:2]
    assert means["x"] == [0.6, 1.6]
    assert runs["x"] == [0.5, 0.7, 1.5, 1.7]
    assert runs["y"] == ["rope", "rope", "alibi", "alibi"]
    assert made.data[3]["x"] == [0.1, 0.3, 0.8, 0.9]
    assert [shape["x0"] for shape in made.layout["shapes"]] == [1]
    assert "distance: contraction 0.6 (rope) to 1.6 (alibi)" in made.summary
    assert "distance: Toeplitz share 0.2 (rope) to 0.85 (alibi)" in made.summary
    to_plotly(made)


def test_what_was_not_measured_is_not_drawn():
    assert hessian_figure(BARE).missing == "curvature was not followed along training in this grid"
    assert logits_figure(BARE).missing == "logits of trained models were not measured in this grid"
    assert pairs_figure(BARE).missing == "rotary pairs were not taken out in this grid"


def pairs(drops):
    return {"drops": drops, "by_seed": [drops, drops] if drops else [], "reason": ""}


def test_encodings_that_turn_no_pairs_are_named_and_narrower_ones_are_kept():
    rows = [
        row("rope", pairs=pairs([[0.4, 0.1], [0.2, 0.0]])),
        row("mla", pairs=pairs([[0.3], [None]])),
        row("sinusoidal", pairs=pairs([])),
    ]
    made = pairs_figure(rows)
    (drawn,) = made.data
    assert drawn["y"] == ["rope", "mla"]
    assert drawn["z"] == [[0.4, 0.1, None, 0.2, 0.0], [0.3, None, None, None, None]]
    assert "rope loses 0.4 without pair 0 of layer 0" in made.summary
    assert made.summary.endswith("Left out, since they turn no pairs: sinusoidal.")
    assert "sinusoidal" not in made.table["encoding"]
    assert made.table["lost"].count(0.3) == 2
    assert pairs_figure(rows[2:]).missing == "no encoding turns pairs in this grid"


def page(rows, **more):
    grid = {"name": "try", "question": "", "rows": rows, "runs": 4, "cpu_seconds": 1}
    grid |= {"diverged": 0, "failed": 0, **more}
    contents = {"name": "try", "question": "", "grids": [grid]}
    return lab_page(contents, version="0").decode("utf-8")


def test_the_page_shows_curvature_and_logits_where_the_grid_measured_them_and_nowhere_else():
    for key in ("lab-hessian", "lab-logits"):
        assert f'data-figure="g0-{key}"' in page(MEASURED)
        assert f'id="g0-{key}"' not in page(BARE)


def test_the_page_has_a_table_of_paired_differences():
    line = {"task": "distance", "encoding": "alibi", "reference": "rope", "quantity": "area",
            "difference": -0.125, "interval": [-0.2, -0.05], "seeds": 5, "p": 0.0123,
            "p_holm": 0.0246}  # fmt: skip
    lone = line | {"encoding": "t5", "interval": None, "seeds": 1, "p": None, "p_holm": None}
    text = page(MEASURED, compared=[line, lone])
    assert '<h3 id="g0-differences">Differences, paired by seed</h3>' in text
    cells = (
        '<td>alibi</td><td>rope</td><td class="n">5</td><td class="n">-0.125</td>'
        '<td>[-0.200, -0.050]</td><td class="n">0.012</td><td class="n">0.025</td>'
    )
    assert cells in text
    assert '<td>-</td><td class="n">-</td><td class="n">-</td>' in text
    assert "g0-differences" not in page(MEASURED)


@pytest.mark.parametrize("digests", [1, 2])
def test_the_page_says_that_seeds_share_a_test_set_and_how_large_it_is(digests):
    data = {"digest": "abc", "digests": digests, "one_answer": True, "train": 2350,
            "validation": 432, "test": 408, "standard_error": 0.0123}  # fmt: skip
    text = page([row("rope", task="splice", data=data)])
    assert "are scored on one fixed test set" in text
    told = (
        "splice: 408 test documents, which alone give a standard error of 0.0123; 432 for choices"
    )
    assert f"{told} and 2,350 for training; digest abc." in text
    assert ("Not all runs have read the same data." in text) == (digests == 2)
    many = data | {"one_answer": False, "standard_error": None}
    assert "408 test documents, of many answers each; 432" in page([row("rope", data=many)])
    assert "fixed test set" not in page(MEASURED)
