"""The figures of a survey: what they show is what was measured, and every one can be drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.errors import InputError
from gnomon.pipeline.page_data import pictures
from gnomon.report.figure import CATEGORIES, DARK, Figure, Symmetric, Triangles, to_plotly
from gnomon.report.figures import KEYS, compare_figures, survey_figures
from gnomon.report.phrases import rate

CASES = (
    "seven", "flat", "two", "noise", "untrusted", "masked", "projected", "one direction", "grid",
    "solid", "bins",
)  # fmt: skip


@pytest.fixture
def figures(surveyed):
    def get(case: str) -> dict[str, Figure]:
        survey = surveyed(case)
        return {f.key: f for f in survey_figures(survey.to_dict(), pictures(survey))}

    return get


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value


def luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["#ffffff", DARK])
@pytest.mark.parametrize("colour", CATEGORIES)
def test_every_category_has_contrast_three_to_one_on_light_and_dark(colour, paper) -> None:
    assert contrast(colour, paper) >= 3.0


def test_the_contrast_formula_knows_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)


@pytest.mark.parametrize("case", CASES)
def test_every_figure_can_be_drawn_or_says_why_not(figures, case: str) -> None:
    """Plotly checks every key and value, and its JSON has no NaN."""
    found = figures(case)
    wanted = KEYS if case in ("grid", "solid") else KEYS[:-1]
    assert tuple(found) == wanted
    for figure in found.values():
        if figure.missing is None:
            json.loads(to_plotly(figure).to_json())
        else:
            assert not figure.data
            with pytest.raises(InputError, match="cannot be drawn: "):
                to_plotly(figure)


@pytest.mark.parametrize("case", CASES)
def test_every_figure_has_one_sentence_and_a_table_of_equal_columns(figures, case: str) -> None:
    for figure in figures(case).values():
        assert figure.summary[0].isupper() or figure.summary[0].isdigit()
        assert figure.summary.endswith(".")
        assert ". " not in figure.summary.replace("no. ", "")
        if isinstance(figure.table, Triangles):
            assert all(
                m.shape == (len(figure.table.positions),) * 2
                for m in figure.table.matrices.values()
            )
        else:
            assert len({len(column) for column in figure.table.values()}) <= 1


@pytest.mark.parametrize("case", ["seven", "grid"])
def test_layouts_leave_the_colours_of_paper_and_text_to_the_theme(figures, case: str) -> None:
    banned = ("paper_bgcolor", "plot_bgcolor", "font.color", "gridcolor", "template")
    for figure in figures(case).values():
        paths = [path for path, _ in leaves(figure.layout)]
        assert not [path for path in paths for word in banned if path.endswith(word)]


def test_bars_of_tokens_are_the_totals_under_their_status(surveyed, figures) -> None:
    survey, figure = surveyed("projected"), figures("projected")["counts"]
    drawn = {x: y for trace in figure.data for x, y in zip(trace["x"], trace["y"], strict=True)}
    assert drawn == dict(enumerate(survey.counts.totals.tolist()))
    assert [len(trace["x"]) for trace in figure.data] == [9, 3]
    assert "9 are counted well enough" in figure.summary


def test_bars_of_bins_begin_and_end_where_the_bins_do(surveyed, figures) -> None:
    (trace,) = figures("bins")["counts"].data
    assert trace["x"] == [0, 3, 6, 9, 12, 15, 18]
    assert trace["width"] == [3, 3, 3, 3, 3, 3, 2]
    assert trace["text"][-1] == "18-19"


def test_heat_maps_share_one_scale_and_leave_gaps_outside_the_core(surveyed, figures) -> None:
    survey, figure = surveyed("projected"), figures("projected")["distances"]
    plugin, null, debiased = (trace["z"] for trace in figure.data)
    assert all(isinstance(z, Symmetric) for z in (plugin, null, debiased))
    assert {trace["coloraxis"] for trace in figure.data} == {"coloraxis"}
    assert np.allclose(plugin.matrix, survey.geometry.distances, atol=1e-6)
    assert np.isnan(debiased.matrix[9:]).all()
    inner = np.sqrt(survey.noise.debiased.low_rank.squares)
    assert np.allclose(debiased.matrix[:9, :9], inner, atol=1e-6)
    tops = [np.nanmax(z.matrix) for z in (plugin, null, debiased)]
    assert figure.layout["coloraxis"]["cmax"] == pytest.approx(max(tops))


def test_stress_bars_are_the_numbers_of_the_entries_kernel_first(surveyed, figures) -> None:
    survey, figure = surveyed("seven"), figures("seven")["stress"]
    lifts = figure.table["lift"]
    assert lifts == sorted(lifts, key=lambda lift: lift != "kernel")
    for panel, value in (
        ("x", lambda e: e.stress.raw),
        ("x2", lambda e: e.stress.scale_free),
        ("x3", lambda e: e.debiased.scale_free),
    ):
        drawn = {
            name: number
            for trace in figure.data
            if trace["type"] == "bar" and trace["xaxis"] == panel
            for name, number in zip(trace["y"], trace["customdata"], strict=True)
        }
        wanted = {
            e.label + ("" if e.lift == "kernel" else f" ({e.lift} lift)"): value(e)
            for e in survey.entries
        }
        assert drawn == pytest.approx(wanted)


def test_debiased_bars_end_their_intervals_where_the_survey_does(surveyed, figures) -> None:
    survey, figure = surveyed("seven"), figures("seven")["stress"]
    ends = dict(zip(figure.table["encoding"], figure.table["debiased_high"], strict=True))
    trace = next(t for t in figure.data if t.get("error_x") and "sinusoidal" in t["y"])
    k = trace["y"].index("sinusoidal")
    wanted = survey.entries[0].debiased.interval[1]
    assert trace["x"][k] + trace["error_x"]["array"][k] == pytest.approx(wanted)
    assert ends["sinusoidal"] == pytest.approx(wanted)


def test_the_eigenvalues_above_the_edge_are_as_many_as_the_effective_rank(
    surveyed, figures
) -> None:
    survey, figure = surveyed("seven"), figures("seven")["eigenvalues"]
    kept = next(t for t in figure.data if t.get("name") == "above the noise edge")
    assert len(kept["x"]) == survey.noise.debiased.rank
    assert min(kept["y"]) > survey.noise.debiased.edges[survey.noise.debiased.rank - 1]
    steps = next(t for t in figure.data if t.get("name") == "noise edge")
    judged = dict(zip(steps["x"], steps["y"], strict=True))
    assert all(
        y > judged[x - 0.5] == judged[x + 0.5] for x, y in zip(kept["x"], kept["y"], strict=True)
    )
    published = next(t for t in figure.data if t.get("name") == "the corpus as published")
    rank = survey.geometry.spectrum.rank_numerical
    assert np.allclose(published["y"], survey.geometry.eigenvalues[:rank], rtol=1e-4)


def test_violations_stand_beside_those_of_the_corpus(surveyed, figures) -> None:
    survey, figure = surveyed("seven"), figures("seven")["violations"]
    drawn = [t for t in figure.data if t.get("mode") == "lines"]
    lines = {t["name"].partition(":")[0]: t["x"] for t in drawn}
    assert lines["corpus as published"] == [survey.monotonicity.violations] * 2
    assert lines["corpus, noise taken out"] == [survey.noise.violations.value] * 2
    assert lines["random distances"] == [0.5, 0.5]
    (column,) = [t for t in figure.data if t.get("mode") == "text"]
    shares = [e["monotonicity"]["violations"] for e in survey.to_dict()["encodings"]]
    assert sorted(column["text"]) == sorted(rate(share) for share in shares)
    assert min(column["x"]) > max(max(t["x"]) for t in figure.data if t is not column)


def test_stress_by_dimension_is_the_curve_of_the_survey(surveyed, figures) -> None:
    survey, figure = surveyed("seven"), figures("seven")["dimensions"]
    raw = next(t for t in figure.data if t["name"] == "raw")
    assert raw["x"] == survey.by_dimension.dimensions.tolist()
    assert np.allclose(raw["y"], survey.by_dimension.raw)


def test_a_perfect_encoding_lies_on_the_diagonal_of_the_shepard_plot(figures) -> None:
    """Fitted to the debiased geometry at its full rank, its distances are those of the corpus."""
    figure = figures("seven")["shepard"]
    fitted = next(t for t in figure.data if t["name"].startswith("mds, debiased"))
    assert np.allclose(fitted["x"], fitted["y"], atol=1e-4)
    assert fitted["visible"] is True
    assert sum(t.get("visible") is True for t in figure.data) == 2


def test_images_of_a_grid_put_every_cell_in_its_place(surveyed, figures) -> None:
    survey, figure = surveyed("grid"), figures("grid")["grid"]
    tokens, centre = figure.data[0]["z"], np.array(figure.data[1]["z"], dtype=float)
    assert np.array_equal(tokens, survey.counts.totals.reshape(3, 4))
    chosen = np.unravel_index(np.nanargmin(centre), centre.shape)
    distances = np.sqrt(survey.noise.debiased.low_rank.squares)
    assert np.allclose(
        centre, distances[np.ravel_multi_index(chosen, (3, 4))].reshape(3, 4), atol=1e-4
    )
    assert chosen in ((1, 1), (1, 2))


def test_one_direction_is_drawn_along_the_sequence_and_not_in_space(figures) -> None:
    found = figures("one direction")
    marks = found["map2d"].data[-1]
    assert marks["x"] == list(range(12))
    assert (np.diff(marks["y"]) < 0).all() or (np.diff(marks["y"]) > 0).all()
    assert found["map3d"].missing == (
        "only 1 direction stands above the noise, which the map in two dimensions shows"
    )


def test_two_directions_leave_the_third_axis_to_the_position(figures, surveyed) -> None:
    """Three laws span a plane; no distance is lost, since the position is no third coordinate."""
    survey, figure = surveyed("regimes"), figures("regimes")["map3d"]
    assert survey.noise.debiased.rank == 2
    marks, flat = figure.data[-1], figures("regimes")["map2d"].data[-1]
    assert marks["z"] == list(range(12))
    assert (marks["x"], marks["y"]) == (flat["x"], flat["y"])
    assert figure.layout["scene"]["zaxis"]["title"]["text"] == "position"
    assert figure.layout["scene"]["aspectmode"] == "cube"
    assert "the position itself along the free axis" in figure.summary


def test_a_summary_says_in_words_when_nothing_is_left(figures) -> None:
    found = figures("noise")
    assert "which is not significant" in found["distances"].summary
    assert "no direction exceeds it (the noise edge)" in found["eigenvalues"].summary
    assert "2 coordinates hold" in found["map2d"].summary
    assert "3 coordinates hold" in found["map3d"].summary


def test_without_a_trusted_direction_the_map_says_that_it_shows_noise(figures) -> None:
    assert "noise and all" in figures("noise")["map2d"].summary
    assert "noise and all" in figures("untrusted")["map2d"].summary


def test_equal_laws_leave_only_the_counts_to_draw(figures) -> None:
    found = figures("flat")
    assert found["counts"].missing is None
    reasons = {figure.missing for key, figure in found.items() if key != "counts"}
    assert reasons == {
        "all positions have exactly the same token distribution, so every distance is 0"
    }


def test_without_the_file_of_pictures_the_other_figures_are_still_drawn(surveyed) -> None:
    found = {f.key: f for f in survey_figures(surveyed("seven").to_dict(), None)}
    absent = {key for key, figure in found.items() if figure.missing is not None}
    assert absent == {"distances", "map2d", "map3d", "shepard"}
    assert found["map2d"].missing == "the survey was saved without geometry.npz; run it again"


def test_names_with_markup_stay_text_and_names_alike_stay_apart(surveyed) -> None:
    """Plotly reads a little HTML in labels, and merges bars of the same name."""
    survey = surveyed("seven")
    contents = survey.to_dict()
    for line in contents["encodings"][:2]:
        line["label"] = "<b>&"
    figures = {f.key: f for f in survey_figures(contents, pictures(survey))}
    names = figures["stress"].layout["yaxis"]["categoryarray"]
    assert names[:2] == ["&lt;b&gt;&amp;", "&lt;b&gt;&amp;, no. 2"]
    texts = [v for f in figures.values() for _, v in leaves(f.data) if isinstance(v, str)]
    assert not [text for text in texts if "<b>" in text]


def test_long_corpora_are_thinned_evenly_and_say_so(surveyed) -> None:
    survey = surveyed("seven")
    contents, found = survey.to_dict(), pictures(survey)
    many = 600
    line = contents["positions"][0]
    contents["positions"] = [line | {"index": k} for k in range(many)]
    contents["corpus"]["axes"] = [many]
    values = np.abs(np.subtract.outer(np.arange(many), np.arange(many))) / many
    positions = np.arange(many)
    wide = replace(
        found,
        plugin=values.astype(np.float32),
        null=np.zeros((0, 0), np.float32),
        null_kind=None,
        core=found.core[:0],
        debiased=found.debiased[:0, :0],
        positions=positions,
        coordinates=positions[:, None],
    )
    figures = {f.key: f for f in survey_figures(contents, wide) if f.key in ("counts", "distances")}
    (heat,) = figures["distances"].data
    assert heat["z"].matrix.shape == (512, 512)
    assert (heat["x"][0], heat["x"][-1]) == (0, 599)
    assert np.array_equal(heat["z"].matrix, values.astype(np.float32)[np.ix_(heat["x"], heat["x"])])
    assert all(f.summary.endswith("are drawn.") for f in figures.values())
    assert len(figures["distances"].table.positions) == many


def test_several_surveys_stand_side_by_side(surveyed) -> None:
    cases = ("seven", "noise", "untrusted", "grid")
    given = [("same", surveyed(case).to_dict()) for case in cases]
    distances, directions, stress = compare_figures(given)
    for figure in (distances, directions, stress):
        json.loads(to_plotly(figure).to_json())
    assert distances.table["survey"] == [f"same, no. {k}" for k in (1, 2, 3, 4)]
    means = [contents["geometry"]["mean_squared"]["debiased"] for _, contents in given]
    assert distances.data[1]["x"] == means
    assert directions.table["effective_rank"] == [
        contents["geometry"]["rank"]["effective"] for _, contents in given
    ]
    assert [trace["name"] for trace in stress.data] == ["same, no. 1", "same, no. 4"]
    assert "none closer than equal distances for same, no. 1" in stress.summary
    assert stress.layout["xaxis"]["range"][0] < 0.0  # a mark at 0 does not cover its name
    rest = "no geometry that stands out from noise: same, no. 2, same, no. 3."
    assert stress.summary.endswith(rest)


@pytest.mark.parametrize("measures", [("scale_free", "squared"), ("squared", "scale_free")])
def test_corpora_are_drawn_by_one_measure_beside_each_other(surveyed, measures) -> None:
    """A share of distances and a share of squared ones are not to be compared by eye."""
    given = []
    for measure in measures:
        contents = json.loads(json.dumps(surveyed("seven").to_dict()))
        contents["verdict"]["nearest"]["measure"] = measure
        given.append((measure, contents))
    stress = compare_figures(given)[2]
    assert stress.data[0]["x"] == stress.data[1]["x"]
    lines = [e for e in given[0][1]["encodings"] if e["lift"] == "kernel"]
    assert {*stress.data[0]["x"]} == {e["stress"]["debiased"]["squared"] for e in lines}
    assert "share of squared distances" in stress.layout["xaxis"]["title"]["text"]
    assert stress.summary.endswith("all are drawn by squared distances here.")
    alike = compare_figures([(label, given[0][1]) for label in "ab"])[2]
    what = "squared distances" if measures[0] == "squared" else "distances"
    assert alike.layout["xaxis"]["title"]["text"].startswith(f"share of {what} left")
    assert "here" not in alike.summary


def test_surveys_without_a_geometry_can_not_be_compared_by_stress(surveyed) -> None:
    flat = surveyed("flat").to_dict()
    _, directions, stress = compare_figures([("a", flat), ("b", flat)])
    assert directions.missing == "the noise could be taken out of none of these corpora"
    assert stress.missing == "none of these corpora has a geometry that stands out from noise"


@pytest.mark.data
def test_the_map_of_promoters_sets_the_tata_box_and_the_start_of_transcription_apart(
    data_root,
) -> None:
    """Sequences begin 249 bases before the start of transcription; the box lies 25-33 before it."""
    path = data_root / "promoters" / "hs_pos_TATA.txt"
    if not path.is_file():
        pytest.skip(f"{path.name} is not among the real corpora")
    survey = gnomon.survey(str(path), tokenizer="dna")
    figures = {f.key: f for f in survey_figures(survey.to_dict(), pictures(survey))}
    points = np.array([figures["map2d"].table[f"coordinate_{k}"] for k in (1, 2, 3)], dtype=float)
    farthest = np.argsort(-np.linalg.norm(points, axis=0))[:8]
    assert set(farthest.tolist()) <= {*range(214, 230), 248, 249, 250}
    sizes = {
        key: len(to_plotly(figure).to_json())
        for key, figure in figures.items()
        if key != "distances" and figure.missing is None
    }
    assert sum(sizes.values()) < 300_000, sizes
