"""What a figure says and marks: one answer with the verdict, the edge each value was judged by."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnomon.pipeline.page_data import pictures
from gnomon.report.figure import Figure
from gnomon.report.figures import compare_figures, figure_named, survey_figures
from gnomon.report.figures.directions import notable


def drawn(contents: dict[str, Any], key: str, found: Any = None) -> Figure:
    """Return one figure of a survey, with or without its pictures."""
    return figure_named(key, contents, found)


def told(contents: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The same survey with another nearest known encoding."""
    found = contents["verdict"]["nearest"] | {"label": "alibi", "lift": "slope"} | changes
    return contents | {"verdict": contents["verdict"] | {"nearest": found}}


@pytest.mark.parametrize(
    ("measure", "panel", "words"),
    [
        ("scale_free", "noise taken out", "leaves 25 % of the distances unexplained"),
        (
            "squared",
            "squared distances, noise taken out",
            "leaves 25 % of the squared distances unexplained",
        ),
    ],
)
def test_the_stress_figure_repeats_what_the_verdict_calls_nearest_in_its_measure(
    surveyed, measure: str, panel: str, words: str
) -> None:
    contents = surveyed("seven").to_dict()
    near = told(contents, measure=measure, value=0.25, equal=0.5, closer=True)
    figure = drawn(near, "stress")
    assert "nearest known encoding, alibi under the slope lift, " in figure.summary
    assert words in figure.summary
    assert figure.layout["annotations"][2]["text"] == panel
    bars = [t for t in figure.data if t["type"] == "bar" and t["xaxis"] == "x3"]
    shown = {n: v for t in bars for n, v in zip(t["y"], t["customdata"], strict=True)}
    kernel = [e for e in contents["encodings"] if e["lift"] == "kernel"]
    wanted = {e["label"]: e["stress"]["debiased"][measure] for e in kernel}
    assert {name: shown[name] for name in wanted} == wanted
    (equal,) = [t for t in figure.data if t.get("name") == "equal distances"]
    assert equal["x"] == [0.5, 0.5]


def test_an_encoding_no_closer_than_equal_distances_is_not_called_near(surveyed) -> None:
    far = told(
        surveyed("seven").to_dict(), measure="scale_free", value=0.6, equal=0.5, closer=False
    )
    figure = drawn(far, "stress")
    assert figure.summary.startswith("None of the known encodings comes closer than keeping all")
    _, _, compared = compare_figures([("one", far), ("two", far)])
    assert (
        "none closer than equal distances for one (60 % of the distances unexpl" in compared.summary
    )


def test_surveys_are_compared_in_one_measure_where_their_verdicts_differ_and_say_so(surveyed):
    """Shares of distances beside shares of squared ones would compare nothing."""
    contents = surveyed("seven").to_dict()
    given = [
        ("plain", told(contents, measure="scale_free")),
        ("sq", told(contents, measure="squared")),
    ]
    _, _, figure = compare_figures(given)
    assert [t["name"] for t in figure.data] == ["plain", "sq"]
    first = contents["encodings"][0]["stress"]["debiased"]
    assert [t["x"][0] for t in figure.data] == [first["squared"], first["squared"]]
    assert "all are drawn by squared distances here" in figure.summary
    _, _, alone = compare_figures([given[0], ("again", given[0][1])])
    assert [t["x"][0] for t in alone.data] == [first["scale_free"]] * 2


def test_each_eigenvalue_is_drawn_against_the_edge_it_was_judged_by(surveyed) -> None:
    """The edge falls as directions are found: the second passes a lower one, the third fails."""
    survey = surveyed("seven")
    contents, found = survey.to_dict(), pictures(survey)
    contents["geometry"]["rank"]["effective"] = 2
    given = {"whitened": [9.0, 4.0, 2.0, 1.0], "edges": [5.0, 3.0, 2.5]}
    changed = replace(found, **{key: np.array(value, np.float32) for key, value in given.items()})
    figure = drawn(contents, "eigenvalues", changed)
    steps = next(t for t in figure.data if t.get("name") == "noise edge")
    assert steps["x"] == [0.5, 1.5, 1.5, 2.5, 2.5, 3.5]
    assert steps["y"] == [5.0, 5.0, 3.0, 3.0, 2.5, 2.5]
    assert figure.table["edge"][:4] == [5.0, 3.0, 2.5, None]
    few = replace(changed, edges=np.array([5.0, 3.0, np.nan], np.float32))
    figure = drawn(contents, "eigenvalues", few)
    assert figure.summary.endswith("(the noise edge), as many as so few types of token can show.")
    steps = next(t for t in figure.data if t.get("name") == "noise edge")
    assert max(steps["x"]) == 2.5


@pytest.mark.parametrize(
    ("effective", "words"),
    [
        (3, "of 3 dimensions, as many as there are directions above the noise, leaves"),
        (4, "of 5 dimensions, the first rank drawn that holds the 4 directions above the noise,"),
        (0, "of 3 dimensions, noise and all since no direction stands above the noise, leaves"),
        (None, "of 3 dimensions, noise and all since no direction is known to stand above"),
    ],
)
def test_the_cost_is_told_at_the_rank_that_stands_above_the_noise(
    surveyed, effective: int | None, words: str
) -> None:
    contents = surveyed("seven").to_dict()
    contents["geometry"]["rank"]["effective"] = effective
    line = contents["dimensions"][0]
    contents["dimensions"] = [
        line | {"rank": rank, "stress": {"raw": raw, "scale_free": raw}}
        for rank, raw in ((1, 0.5), (2, 0.2), (3, 0.04), (5, 0.01), (127, 0.0), (128, 0.0))
    ]
    figure = drawn(contents, "dimensions")
    assert words in figure.summary
    assert figure.layout["xaxis"]["tickvals"] == [1, 2, 3, 5, 127]
    assert "best map" not in figure.layout["annotations"][0]["text"]


def test_a_position_with_many_tokens_that_is_not_core_is_explained(surveyed) -> None:
    contents = surveyed("projected").to_dict()
    few = drawn(contents, "counts").summary
    assert "3 only well enough to be placed among those" in few
    assert "clumps" not in few
    lines = [line | {"status": "core"} for line in contents["positions"]]
    lines[1]["status"] = "projected"
    contents["positions"] = lines
    lines[1]["tokens"] = max(line["tokens"] for line in lines)
    many = drawn(contents, "counts").summary
    assert "position 1 only well enough to be placed among those (many rare types" in many


def test_notable_points_are_named_and_their_names_keep_apart() -> None:
    """A cross of four far points round a cloud: these, and nothing that would touch them."""
    rng = np.random.default_rng(1)
    cloud = rng.normal(0.0, 0.01, (40, 2))
    far = np.array([[3.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.5], [3.05, 0.0]])
    found = notable(np.vstack([cloud[:20], far, cloud[20:]]))
    assert found[:4] == [24, 21, 23, 22]
    assert set(found[4:]) <= {0, 44}
    assert len(notable(np.vstack([cloud[:20], far, cloud[20:]]), most=2)) <= 4


def test_logarithmic_axes_have_labels_of_one_kind(surveyed) -> None:
    """No label is Plotly's own, which would mix full numbers with single small digits."""
    for case in ("seven", "projected"):
        survey = surveyed(case)
        for figure in survey_figures(survey.to_dict(), pictures(survey)):
            axes = [a for key, a in figure.layout.items() if key[1:5] == "axis"]
            logs = [axis for axis in axes if axis.get("type") == "log"]
            assert all("tickvals" in axis for axis in logs)
            texts = [text for axis in logs for text in axis.get("ticktext", ())]
            assert all(re.fullmatch(r"[\d,.]+|([\d.]+·)?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", text) for text in texts)
