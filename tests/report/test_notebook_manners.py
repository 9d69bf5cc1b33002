"""Every result shows itself in a notebook, draws itself where it can, and becomes a table.

Classes are found by walking the package, so a result that is added later is asked for, too.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import squareform

import gnomon
from gnomon.diagnostics.stress_report import parameter_table
from gnomon.distances.intervals import Survivorship, figure
from gnomon.distances.scaling import scale
from gnomon.encodings.lifts import lift, portrait
from gnomon.encodings.tables import Table
from gnomon.errors import InputError
from gnomon.pipeline.page_data import pictures
from gnomon.pipeline.surveys import Survey
from gnomon.report.figures.results import DRAWN
from gnomon.reproduce.claims import Published, Reproduction, Row, Verdict, spread
from gnomon.results import Result

HOSTILE = "<script>alert(1)</script>"
OPTIONAL = ("gnomon.torch", "gnomon.jax", "gnomon.sklearn")


def all_results() -> list[type[Result]]:
    for module in pkgutil.walk_packages(gnomon.__path__, "gnomon."):
        if not module.name.startswith(OPTIONAL) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return sorted(set(_below(Result)), key=lambda kind: f"{kind.__module__}.{kind.__name__}")


def _below(kind: type) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


RESULTS = all_results()
PLAIN = [kind for kind in RESULTS if kind._repr_html_ is Result._repr_html_]
OWN = [kind for kind in RESULTS if kind._repr_html_ is not Result._repr_html_]


def full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def reproduction() -> Reproduction:
    rows = (
        Row(what=HOSTILE, published=Published(quantity="raw", value=0.5), ours={"raw": 0.4}),
        Row(what="b", published=Published(quantity="raw"), ours={"raw": spread([1.0, 2.0])}),
    )
    verdict = Verdict(claim=HOSTILE, holds="holds", reason="it does")
    about = {"source": "cirrincione2026", "setting": "none", "provenance": {}}
    return Reproduction(name="t", title=HOSTILE, rows=rows, verdicts=(verdict,), **about)


def survivorship() -> Survivorship:
    parts = [figure(value, 0.01, 16) for value in (0.3, 0.1, 0.2)]
    return Survivorship(original=parts[0], shuffled=parts[1], difference=parts[2])


@cache
def bars() -> Any:
    """A corpus with a period of 3, which begins anywhere."""
    rng = np.random.default_rng(0)
    return gnomon.dependence([np.roll([0, 1, 1] * 30, rng.integers(3)) for _ in range(64)], lags=32)


EXAMPLES: dict[str, Callable[[Survey], Any]] = {
    "gnomon.corpus.counts.PositionCounts": lambda s: s.counts,
    "gnomon.diagnostics.stress_report.StressByDimension": lambda s: s.by_dimension,
    "gnomon.diagnostics.stress_report.ParameterTable": lambda _: parameter_table(8, 4, [1, 2]),
    "gnomon.encodings.lifts.Lifted": lambda s: lift(
        gnomon.encoding("sinusoidal", dimension=8), s.geometry.coordinates
    ),
    "gnomon.encodings.lifts.Portrait": lambda _: portrait(gnomon.encoding("rope", dimension=8)),
    "gnomon.distances.estimate.Debiased": lambda s: s.noise.debiased,
    "gnomon.distances.intervals.Survivorship": lambda _: survivorship(),
    "gnomon.distances.scaling.Coordinates": lambda s: scale(s.geometry, dimension=3),
    "gnomon.distances.geometry.Geometry": lambda s: s.geometry,
    "gnomon.distances.nulls.NullGeometry": lambda s: s.null,
    "gnomon.distances.eigenvalues.Spectrum": lambda s: s.geometry.spectrum,
    "gnomon.lags.kernel.LagKernel": lambda _: bars().kernel,
    "gnomon.reproduce.claims.Reproduction": lambda _: reproduction(),
    "gnomon.spectra.of_encoding.Spectrum": lambda _: gnomon.spectrum("rope", 32, coupled=False),
    "gnomon.pipeline.lags.LagStructure": lambda _: bars(),
    "gnomon.pipeline.page_data.Pictures": pictures,
    "gnomon.pipeline.surveys.Survey": lambda s: s,
    "gnomon.pipeline.noise.NoiseReport": lambda s: s.noise,
}
OF_WORDS = {"gnomon.pipeline.verdict.Verdict": lambda s: s.verdict}
"""Results that show themselves specially and hold nothing to draw."""
SHOWN = EXAMPLES | OF_WORDS


def test_the_walk_finds_the_results_of_every_room() -> None:
    rooms = {kind.__module__.split(".")[1] for kind in RESULTS}
    assert {"corpus", "distances", "diagnostics", "encodings", "pipeline", "reproduce"} <= rooms


def test_every_result_that_draws_or_shows_itself_specially_has_an_example_here() -> None:
    special = {full_name(kind) for kind in OWN} | set(DRAWN)
    assert special - set(SHOWN) == set()
    assert {full_name(kind) for kind in RESULTS} >= set(DRAWN), "a drawn class is gone"


@pytest.mark.parametrize("kind", PLAIN, ids=full_name)
def test_texts_in_the_fields_of_a_result_stay_text(kind: type[Result]) -> None:
    """Every field holds a script; none of them may come out as one."""
    made = object.__new__(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    for name in names:
        object.__setattr__(made, name, HOSTILE)
    shown = made._repr_html_()
    assert kind.__name__ in shown
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == len(names)


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_shows_itself_in_little_html_without_markup_of_the_corpus(
    name: str, surveyed
) -> None:
    shown = SHOWN[name](surveyed("seven"))._repr_html_()
    assert "<table" in shown
    assert 50 < len(shown) < 20_000
    assert "<script" not in shown


def test_a_survey_shows_its_verdict_and_every_encoding(surveyed) -> None:
    survey = surveyed("seven")
    shown = survey._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;: informative." in shown
    assert all(f"<td>{entry.label}</td>" in shown for entry in survey.entries)


def test_a_survey_without_distances_still_shows_itself(surveyed) -> None:
    assert "not informative" in surveyed("flat")._repr_html_()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_draws_a_figure_that_plotly_accepts(name: str, surveyed) -> None:
    drawn = EXAMPLES[name](surveyed("seven")).plot()
    assert type(drawn).__module__.startswith("plotly.graph_objs")
    assert json.loads(drawn.to_json())["data"]


@pytest.mark.parametrize(
    "kind", [k for k in RESULTS if full_name(k) not in EXAMPLES], ids=full_name
)
def test_a_result_of_words_or_single_numbers_says_that_there_is_nothing_to_draw(kind) -> None:
    with pytest.raises(InputError, match=f"{kind.__name__} holds words or single numbers"):
        object.__new__(kind).plot()


def test_the_heat_map_of_a_geometry_holds_its_distances(surveyed) -> None:
    found = surveyed("seven").geometry
    assert np.array_equal(found.plot().data[0].z, found.distances)


def test_the_bars_of_counts_hold_the_totals(surveyed) -> None:
    counts = surveyed("masked").counts
    drawn = counts.plot()
    bars = {x: y for trace in drawn.data for x, y in zip(trace.x, trace.y, strict=True)}
    assert bars == dict(enumerate(counts.totals.tolist()))
    assert drawn.data[0].name == "too few: left out"


def test_a_reproduction_is_drawn_beside_what_was_published() -> None:
    published, ours = reproduction().plot().data
    assert (list(published.x), list(published.y)) == (
        [0.5],
        ["&lt;script&gt;alert(1)&lt;/script&gt;"],
    )
    assert list(ours.x) == [0.4, 1.5]


def test_a_survey_draws_the_figure_that_is_named(surveyed) -> None:
    survey = surveyed("seven")
    assert survey.plot().layout.title.text.startswith("How far each encoding")
    assert survey.plot("counts").layout.title.text == "Tokens by position"


def test_a_figure_that_a_survey_has_not_is_refused_with_the_nearest_name(surveyed) -> None:
    with pytest.raises(InputError, match=r"'map' is no figure of this survey; did you mean 'map"):
        surveyed("seven").plot("map")


def test_a_figure_with_nothing_in_it_says_why(surveyed) -> None:
    with pytest.raises(InputError, match=r"cannot be drawn: all positions have exactly the same"):
        surveyed("flat").plot("stress")


@pytest.mark.parametrize("name", ["sinusoidal", "rope", "alibi", "random", "nope"])
def test_an_encoding_shows_its_formula_and_draws_its_distances(name: str) -> None:
    made = (
        gnomon.encoding(name) if name in ("alibi", "nope") else gnomon.encoding(name, dimension=8)
    )
    assert made.card.name in made._repr_html_()
    drawn = made.plot().data[0].z
    wanted = lift(made, np.arange(64), lift=made.lifts[0]).distances
    assert np.array_equal(drawn, wanted)


def test_a_table_with_a_hostile_name_is_shown_as_text_and_drawn_by_its_rows() -> None:
    made = Table(values=np.eye(3), source=HOSTILE)
    assert "<script" not in made._repr_html_()
    assert np.allclose(made.plot().data[0].z, np.sqrt(2.0) * (1.0 - np.eye(3)))


def test_a_fitted_encoding_shows_and_draws_itself(surveyed) -> None:
    made = gnomon.fit(surveyed("seven").geometry, dimension=8)
    assert "<table" in made._repr_html_()
    assert made.plot().data[0].z.shape == (7, 7)


def test_a_fitted_encoding_draws_the_rows_that_it_does_not_refuse(surveyed) -> None:
    made = gnomon.fit(surveyed("masked"), dimension=8, masked="refuse")
    assert made.plot().data[0].z.shape == (3, 3)


def test_a_frame_of_counts_has_one_row_per_position() -> None:
    counts = gnomon.PositionCounts.from_array([[3, 0], [12, 2], [1, 0]])
    wanted = pd.DataFrame(
        {
            "index": [0, 1, 2],
            "first": [0, 1, 2],
            "last": [0, 1, 2],
            "tokens": [3, 14, 1],
            "kept": [False, True, False],
        }
    )
    pd.testing.assert_frame_equal(counts.to_dataframe(), wanted)


@pytest.mark.parametrize(
    ("name", "column", "matrix"),
    [
        ("gnomon.distances.geometry.Geometry", "distance", lambda s: s.geometry.distances),
        ("gnomon.distances.nulls.NullGeometry", "distance", lambda s: np.sqrt(s.null.mean_squares)),
        (
            "gnomon.distances.estimate.Debiased",
            "squared_distance",
            lambda s: s.noise.debiased.squares,
        ),
    ],
)
def test_a_frame_of_pairs_is_the_condensed_matrix_of_scipy(name, column, matrix, surveyed) -> None:
    survey = surveyed("seven")
    frame = EXAMPLES[name](survey).to_dataframe()
    assert np.allclose(frame[column], squareform(matrix(survey), checks=False))
    assert list(zip(frame["first"], frame["second"], strict=True))[:2] == [(0, 1), (0, 2)]


def test_frames_of_spectrum_coordinates_and_tests_are_their_arrays(surveyed) -> None:
    survey = surveyed("seven")
    spectrum = survey.geometry.spectrum
    wanted = pd.DataFrame(
        {"eigenvalue": spectrum.eigenvalues, "cumulative_share": spectrum.cumulative_share}
    )
    pd.testing.assert_frame_equal(spectrum.to_dataframe(), wanted)
    points = scale(survey.geometry, dimension=2)
    pd.testing.assert_frame_equal(
        points.to_dataframe(), pd.DataFrame(points.vectors, columns=["x1", "x2"])
    )
    tested = survey.tests.to_dataframe()
    assert tested["distinct"].tolist() == survey.tests.signal.distinct.tolist()
    assert tested["first"].tolist() == survey.tests.positions.tolist()
