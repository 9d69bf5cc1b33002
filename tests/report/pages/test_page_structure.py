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

from gnomon.pipeline.page_data import pictures
from gnomon.pipeline.survey_file import fault
from gnomon.report.page.build import page, page_of_folders
from gnomon.report.page.glossary import EXPLANATIONS, WORDS, anchor
from gnomon.report.page.reading import folders_from, label_of

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
    assert not re.search(r"\bNone\b(?! of the known)|\bnan\b|Undefined", shown)


def test_every_word_that_leads_to_its_explanation_is_explained_once(outline: Outline) -> None:
    places = [a["id"] for a in outline.named("dt") if "id" in a]
    assert places == [anchor(word) for word in WORDS]
    linked = {a["href"] for a in outline.named("a") if a.get("class") == "word"}
    wanted = ("plug-in", "debiased", "lift", "mds", "smacof", "sigma", "noise edge", "fold")
    more = ("chord", "core", "null", "participation ratio", "filled by frequency class")
    assert {f"#{anchor(word)}" for word in (*wanted, *more)} <= linked


def test_the_glossary_stands_open_so_that_every_browser_finds_its_words(outline: Outline) -> None:
    [glossary] = [a for a in outline.named("details") if a.get("class") == "glossary"]
    assert "open" in glossary
    assert any(a["href"] == "#words" for a in outline.named("a"))


def test_a_page_of_several_says_in_which_folder_each_encoding_is(
    regimes: Path, digits: Path, texts: dict[str, str]
) -> None:
    assert 'gnomon.torch.load("encoding.safetensors", match=tokens)' in texts["one"].replace(
        "&#34;", '"'
    )
    text = page_of_folders([regimes, digits], at=regimes.parent).replace("&#34;", '"')
    for folder in (regimes, digits):
        assert f'gnomon.torch.load("{folder.name}/encoding.safetensors", match' in text
    assert 'load("encoding.safetensors"' not in text
    assert "beside this page" not in text


def test_a_folder_elsewhere_is_named_without_the_way_to_it(tmp_path: Path) -> None:
    """A page may be passed on: it says nothing of the disk on which it was made."""
    paths = [tmp_path / "a", tmp_path / "page" / "b", tmp_path / "page"]
    for path in paths:
        path.mkdir(exist_ok=True, parents=True)
    assert folders_from(tmp_path / "page", paths) == ["a", "b", ""]


def test_no_folder_of_the_data_is_on_the_page(regimes: Path) -> None:
    contents = json.loads((regimes / "survey.json").read_text("utf-8"))
    contents["corpus"]["source"] = "/data/secret/reviews.csv (column text)"
    contents["provenance"]["command"] = (
        "gnomon survey '/data/se cret/reviews.csv' --out=/data/secret/out --table /x/secret/t.npz:a"
    )
    text = page([(label_of(contents), contents, None)])
    assert "secret" not in text
    assert "/data/" not in text
    assert "gnomon survey reviews.csv --out=out --table t.npz:a" in text


def test_a_corpus_is_not_compared_with_itself(regimes: Path, texts: dict[str, str]) -> None:
    """The reference scale has a column for it, on every page but its own."""
    contents = json.loads((regimes / "survey.json").read_text("utf-8"))
    title = 'title="synthetic: an initial'
    assert title not in texts["one"]
    contents["corpus"] |= {"digest": "another", "source": "other.txt"}
    text = page([("other.txt", contents, None)])
    assert title in text
    assert "tokens: ids; 2,000 documents in 2,000 groups" in text


def test_rows_that_are_not_independent_turn_the_headline_and_the_advice(regimes: Path) -> None:
    contents = json.loads((regimes / "survey.json").read_text("utf-8"))
    contents["verdict"]["caution"] = "Rows look like copies; use --group."
    text = page([("a", contents, None)])
    assert '<section class="verdict unsure"' in text
    assert "Position seems to matter, but these rows may depend on each other" in text
    assert "Rows look like copies; use --group." in text
    assert text.index("Rows look like copies") < text.index("What was counted?")
    assert "Survey again with" in text
    assert "train with it" not in text
    both = page([("a", contents, None), ("b", contents, None)])
    assert both.count("seems so, but rows<br>may depend on each other") == 2


def test_warnings_stand_apart_from_notes(regimes: Path) -> None:
    contents = json.loads((regimes / "survey.json").read_text("utf-8"))
    contents["corpus"]["notes"] = [
        "tokens taken from the token cache",
        "column 'a' of 2 (a, b); the first row is the header",
        "column 0 of 2; the first row was taken for the header but looks like a document",
        "12 of 99 letters (12.1 %) are not in the alphabet 'dna' and were replaced by N",
    ]
    text = page([("a", contents, None)])
    warned, noted = text.index(">Warnings<"), text.index(">Notes<")
    for words, first in (("looks like a document", True), ("replaced by N", True)):
        assert (warned < text.index(words) < noted) is first
    assert noted < text.index("Tokens taken from the token cache.")
    assert noted < text.index("Column &#39;a&#39; of 2")


def test_a_survey_of_an_older_gnomon_still_has_a_page(regimes: Path) -> None:
    """Neither caution nor nearest were always there."""
    contents = json.loads((regimes / "survey.json").read_text("utf-8"))
    del contents["verdict"]["caution"], contents["verdict"]["nearest"]
    assert fault(contents) is None
    text = page([("a", contents, None)])
    assert "Position matters in this corpus" in text
    assert contents["verdict"]["reason"].split(":")[0] in text


def poisoned(value: Any) -> Any:
    """Replace every text that the schema leaves free by a hostile one."""
    if isinstance(value, dict):
        kept = {"metric", "used", "status", "lift", "name", "recommended", "kind", "measure"}
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
    contents["verdict"] |= {"recommended": HOSTILE, "caution": HOSTILE}
    assert fault(contents) is None
    for surveys in ([(HOSTILE, contents, None)], [(HOSTILE, contents, None)] * 2):
        text = page(surveys)
        outline = Outline(text)
        assert outline.named("img") == []
        assert len(outline.named("script")) == 3
        assert "<script>window" not in text
        assert text.count("&lt;/script&gt;&lt;script&gt;window.hacked=1") > 10
