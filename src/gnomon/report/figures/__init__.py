"""The figures of a survey, one per file: each turns survey.json and its pictures into a Figure.

Nothing is measured here. Numbers are arranged, thinned where an eye could not tell, and put into
one sentence each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.pipeline import Pictures
from gnomon.report.figure import Figure

KEYS = (
    "counts", "distances", "eigenvalues", "map2d", "map3d", "stress", "dimensions", "shepard",
    "violations", "grid",
)  # fmt: skip


def survey_figures(contents: dict[str, Any], pictures: Pictures | None) -> list[Figure]:
    """Return the figures of one survey in the order of KEYS; `grid` for grid corpora alone.

    One that cannot be drawn says why in `missing`.
    """
    return [figure_named(key, contents, pictures) for key in keys_of(contents)]


def compare_figures(surveys: Sequence[tuple[str, dict[str, Any]]]) -> list[Figure]:
    """Return the figures of several surveys, each with its label."""
    from gnomon.report.figures.compare import compare_figures as compare

    return compare(surveys)


def keys_of(contents: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the figures that a survey has."""
    return KEYS if len(contents["corpus"]["axes"]) > 1 else KEYS[:-1]


def figure_named(key: str, contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return one figure of a survey by its name."""
    from gnomon.report.figures.directions import dimensions_figure, eigenvalues_figure, map_figure
    from gnomon.report.figures.encodings import shepard_figure, stress_figure, violations_figure
    from gnomon.report.figures.positions import counts_figure, distances_figure, grid_figure

    made = {
        "counts": lambda: counts_figure(contents),
        "distances": lambda: distances_figure(contents, pictures),
        "eigenvalues": lambda: eigenvalues_figure(contents, pictures),
        "map2d": lambda: map_figure(contents, pictures, 2),
        "map3d": lambda: map_figure(contents, pictures, 3),
        "stress": lambda: stress_figure(contents),
        "dimensions": lambda: dimensions_figure(contents),
        "shepard": lambda: shepard_figure(contents, pictures),
        "violations": lambda: violations_figure(contents),
        "grid": lambda: grid_figure(contents, pictures),
    }
    return made[key]()
