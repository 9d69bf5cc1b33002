"""A number has one value wherever it stands: JSON, DataFrame, terminal, notebook, page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tests.pipeline.test_verdict import LENGTH, planted

import gnomon
from gnomon.report.page.build import lookup, page, shown
from gnomon.report.text import cell, interval_text, survey_text

COLUMNS = {
    "d": "dimension",
    "raw": "stress.plugin.raw",
    "scale-free": "stress.plugin.scale_free",
    "debiased": "stress.debiased.scale_free",
    "skill": "stress.debiased.skill",
    "skill, plug-in": "stress.plugin.skill",
    "squared": "stress.debiased.squared",
    "violations": "monotonicity.violations",
    "ties": "monotonicity.ties",
    "Pearson": "pearson",
    "best scale": "stress.plugin.best_scale",
    "stress-1": "stress.plugin.kruskal",
    "non-metric": "stress.plugin.nonmetric",
    "min sep.": "separation.minimum",
    "interval": "stress.debiased.interval",
}
"""What each column of a terminal or a notebook is in survey.json."""
FRAME = {
    "label": "label",
    "lift": "lift",
    "dimension": "dimension",
    "pearson": "pearson",
    "spearman": "spearman",
    "raw": "stress.plugin.raw",
    "scale_free": "stress.plugin.scale_free",
    "best_scale": "stress.plugin.best_scale",
    "kruskal": "stress.plugin.kruskal",
    "nonmetric": "stress.plugin.nonmetric",
    "plugin_skill": "stress.plugin.skill",
    "skill": "stress.debiased.skill",
    "debiased_scale_free": "stress.debiased.scale_free",
    "debiased_interval": "stress.debiased.interval",
    "debiased_skill": "stress.debiased.skill",
    "debiased_squared": "stress.debiased.squared",
    "violations": "monotonicity.violations",
    "ties": "monotonicity.ties",
}
"""What each column of the DataFrame is in survey.json; `reason` belongs to two places."""


@pytest.fixture(scope="module", params=["regimes", "drift", "first", "none"])
def survey(request, tmp_path_factory):
    rng = np.random.default_rng(17)
    table = tmp_path_factory.mktemp("tables") / "own.npy"
    np.save(table, rng.normal(size=(LENGTH, 8)))
    corpus = planted(request.param, rng)
    return gnomon.survey(corpus, length=LENGTH, dimension=16, cache=False, tables=(table,))


@pytest.fixture(scope="module")
def contents(survey):
    return json.loads(json.dumps(survey.to_dict()))


def rows_of(text: str, first: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table that begins with a line."""
    lines = text.splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith(first))
    until = next(k for k in range(begin, len(lines) + 1) if k == len(lines) or not lines[k])
    split = [re.split(r"\s{2,}", line.strip()) for line in lines[begin:until]]
    return split[0], [row for row in split[1:] if len(row) == len(split[0])]


def test_the_dataframe_has_the_numbers_of_the_json(survey, contents):
    frame = survey.to_dataframe()
    assert {*frame.columns} - {"reason"} == {*FRAME}
    for column, path in FRAME.items():
        for value, entry in zip(frame[column], contents["encodings"], strict=True):
            wanted = lookup(entry, path)
            assert pd.isna(value) if wanted is None else value == wanted, column


@pytest.mark.parametrize("first", ["encoding  ", "encoding"])
def test_the_terminal_has_the_numbers_of_the_json(contents, first):
    text = survey_text(contents, verbose=True)
    if first == "encoding":
        text = text.partition("against plug-in distances, as published\n")[2]
    header, rows = rows_of(text, first)
    assert len(rows) == len(contents["encodings"])
    for row, entry in zip(rows, contents["encodings"], strict=True):
        for column, printed in zip(header[2:], row[2:], strict=True):
            value = lookup(entry, COLUMNS[column])
            if column == "interval":
                assert printed == ("-" if value is None else interval_text(*value))
            elif isinstance(value, float) and abs(value) < 1e-12:
                assert printed in ("0", "<1e-12", "0.0000")
            else:
                assert printed == cell(value), (column, entry["label"])


def test_a_notebook_has_the_numbers_of_the_json(survey, contents):
    cells = _Cells()
    cells.feed(survey._repr_html_())
    header, rows = cells.rows[0], cells.rows[1:]
    for row, entry in zip(rows, contents["encodings"], strict=True):
        for column, printed in zip(header[2:], row[2:], strict=True):
            value = lookup(entry, COLUMNS[column])
            if value is None:
                assert printed == "-"
            else:
                assert float(printed) == pytest.approx(value, rel=1e-3, abs=1e-12)


def test_the_page_has_the_numbers_of_the_json_in_the_columns_of_that_name(contents):
    numbers = _Numbers()
    numbers.feed(page([("a", contents, None)]))
    assert len(numbers.found) > 20
    for key, printed in numbers.found:
        value = lookup(contents, key)
        styles = ("decimal", "stress", "percent", "count", "p", "plain")
        told = set()
        for style in styles:
            try:
                told.add(shown(value, style))
            except (TypeError, ValueError):
                continue
        assert printed in told, key
    keys = {key for key, _ in numbers.found}
    assert {k for k in keys if k.endswith(".skill")} <= {
        f"encodings.{i}.stress.debiased.skill" for i in range(len(contents["encodings"]))
    }


def test_the_verdict_has_the_numbers_of_the_json(survey, contents):
    summary, debiased = survey.summary, contents["geometry"]["debiased"]
    test = debiased["order"] or debiased["signal"]
    assert f"p = {test['p_value']:.2g}" in summary
    mean = contents["geometry"]["mean_squared"]
    if mean["noise_share"] is not None:
        assert f"{100 * mean['noise_share']:.0f} % of the mean squared distance" in summary
        assert f"{mean['plugin_core']:.3f} straight from the counts" in summary
    best = contents["verdict"]["nearest"]
    if best is not None:
        entry = contents["encodings"][best["index"]]
        assert entry["stress"]["debiased"][best["measure"]] == best["value"]
        assert (entry["label"], entry["lift"]) == (best["label"], best["lift"])
        kind = "squared_left_out" if best["measure"] == "squared" else "left_out"
        assert entry["stress"]["debiased"][kind] == best["left_out"]
    rank = contents["geometry"]["rank"]["effective"]
    assert survey.noise.debiased.rank == rank
    assert f"(effective rank) {rank}" in survey_text(contents)


class _Cells(HTMLParser):
    """The rows of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._inside = False

    def handle_starttag(self, tag, _attrs) -> None:
        if tag == "tr":
            self.rows.append([])
        self._inside = tag in {"td", "th"}

    def handle_data(self, data) -> None:
        if self._inside:
            self.rows[-1].append(data)

    def handle_endtag(self, _tag) -> None:
        self._inside = False


class _Numbers(HTMLParser):
    """Every number of a page that says which one of survey.json it is."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._key: str | None = None

    def handle_starttag(self, _tag, attrs) -> None:
        self._key = dict(attrs).get("data-key")

    def handle_data(self, data) -> None:
        if self._key is not None:
            self.found.append((self._key, data))
        self._key = None
