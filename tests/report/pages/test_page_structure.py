"""A page as a document: headings in order, names for everything, nothing fetched or run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gnomon.report.page.build import page, page_of_folders
from gnomon.report.page.explanations import EXPLANATIONS
from gnomon.report.page.reading import label_of
from gnomon.survey.pictures import pictures
from gnomon.survey.validation import fault

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=alert(1)>"
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects tags with their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in tags]


@pytest.fixture(scope="module")
def texts(regimes: Path, digits: Path) -> dict[str, str]:
    return {
        "one": (regimes / "report.html").read_text("utf-8"),
        "two": page_of_folders([regimes, digits]),
    }


@pytest.fixture(params=["one", "two"])
def outline(request: pytest.FixtureRequest, texts: dict[str, str]) -> Outline:
    return Outline(texts[request.param])


def test_headings_go_down_one_step_at_a_time_from_a_single_h1(outline: Outline) -> None:
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_page_is_whole_and_says_its_language(outline: Outline) -> None:
    assert outline.unbalanced == outline.open == []
    assert outline.named("html")[0]["lang"] == "en"


def test_every_inner_link_and_label_leads_to_one_element(outline: Outline) -> None:
    ids = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in outline.named("a")]
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert all(a["aria-labelledby"] in ids for _, a in outline.tags if "aria-labelledby" in a)


def test_every_figure_is_an_image_with_its_summary_as_its_name(outline: Outline) -> None:
    figures = [a for _, a in outline.tags if "data-figure" in a]
    assert len(figures) >= 8
    assert all(a["role"] == "img" and len(a["aria-label"] or "") > 30 for a in figures)


def test_plotly_stands_in_the_page_once_and_nothing_has_an_address(outline: Outline) -> None:
    assert sum("plotly.js v" in text for text in outline.scripts) == 1
    addresses = {"src", "href", "action", "data", "srcset", "poster"}
    for tag, attributes in outline.tags:
        found = {attributes[key] for key in addresses & set(attributes)}
        assert all((value or "").startswith("#") for value in found), tag


def test_the_policy_names_the_two_scripts_by_their_digest_and_allows_no_connection(
    outline: Outline,
) -> None:
    policy = next(a["content"] for a in outline.named("meta") if "http-equiv" in a) or ""
    scripts = outline.named("script")
    assert [a.get("type") for a in scripts] == ["application/json", None, None]
    for text in outline.scripts[1:]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "'unsafe-eval'" not in policy
    assert "script-src 'unsafe" not in policy


def test_every_kind_of_figure_has_an_explanation(texts: dict[str, str]) -> None:
    assert texts["two"].count("How to read this") >= 15
    assert set(EXPLANATIONS) >= {"counts", "distances", "map2d", "stress", "shepard", "grid"}


def test_the_page_of_several_compares_them_first_and_leads_to_each(texts: dict[str, str]) -> None:
    text = texts["two"]
    assert text.index("Side by side") < text.index('<article class="survey" id="s0"')
    assert '<a href="#s0">three-regimes</a>' in text
    assert '<a href="#s1">digits (scikit-learn)</a>' in text
    assert 'data-survey="1"' in text
    assert 'data-figure="all-' in text


@pytest.mark.parametrize(
    "case",
    ["seven", "flat", "two", "noise", "untrusted", "masked", "projected", "one direction", "bins"],
)
def test_every_kind_of_survey_has_a_page(surveyed: Callable[[str], Any], case: str) -> None:
    """Among them corpora where nothing can be measured; the source is named like a script."""
    found = surveyed(case)
    contents = json.loads(json.dumps(found.to_dict()))
    assert fault(contents) is None
    text = page([(label_of(contents), contents, pictures(found))])
    outline = Outline(text)
    assert outline.unbalanced == []
    assert len(outline.named("script")) == 3
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"\bNone\b|\bnan\b|Undefined", shown)


def poisoned(value: Any) -> Any:
    """Replace every text that the schema leaves free by a hostile one."""
    if isinstance(value, dict):
        kept = {"metric", "used", "status", "lift", "name", "recommended", "kind"}
        return {k: v if k in kept else poisoned(v) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def test_a_hostile_survey_stays_text_wherever_it_is_shown(regimes: Path) -> None:
    contents = poisoned(json.loads((regimes / "survey.json").read_text("utf-8")))
    contents["tokens"] = [
        {
            "index": 0,
            "first": 0,
            "last": 0,
            "typical": [{"token": HOSTILE, "share": 1, "elsewhere": 0}],
        }
    ]
    contents["corpus"]["notes"] = [HOSTILE]
    contents["geometry"]["debiased"]["warnings"] = [HOSTILE]
    contents["verdict"]["recommended"] = HOSTILE
    assert fault(contents) is None
    for surveys in ([(HOSTILE, contents, None)], [(HOSTILE, contents, None)] * 2):
        text = page(surveys)
        outline = Outline(text)
        assert outline.named("img") == []
        assert len(outline.named("script")) == 3
        assert "<script>window" not in text
        assert text.count("&lt;/script&gt;&lt;script&gt;window.hacked=1") > 10
