"""The site builds without a warning, and can be read and searched without a network."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gnomon.corpus.options import CountOptions
from gnomon.pipeline.options import FitOptions, SurveyOptions

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ASSETS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    for library in ("mkdocs", "material", "mkdocstrings"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"the site needs {library}, which is not installed (gnomon[docs])")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return folder


class Assets(HTMLParser):
    """Collects what a page loads by itself; links a reader may follow are not among it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and given.get("rel") != "canonical":
            self.found.append(given.get("href", ""))
        elif tag in ASSETS:
            self.found.append(given.get(ASSETS[tag], ""))


def foreign(page: str) -> list[str]:
    parser = Assets()
    parser.feed(page)
    return [place for place in parser.found if re.match(r"(https?:)?//", place)]


def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    found = {page.name: foreign(page.read_text("utf-8")) for page in pages}
    assert {name: places for name, places in found.items() if places} == {}


def test_no_style_loads_anything_from_a_network(site: Path) -> None:
    styles = sorted(site.rglob("*.css"))
    assert styles
    for style in styles:
        assert not re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", style.read_text("utf-8"))


def test_the_search_for_foreign_assets_can_find_one() -> None:
    assert foreign('<script src="https://unpkg.com/x"></script>')
    assert foreign('<link rel="stylesheet" href="//fonts.example/x.css">')
    assert not foreign('<a href="https://example.org">x</a><img src="a.png">')


def test_every_page_of_the_documents_is_in_the_site(site: Path) -> None:
    pages = [path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")]
    assert [str(page) for page in pages if not (site / page).is_file()] == []


def public(package: str) -> list[str]:
    """Return the public names of a package as its file lists them; it need not be importable."""
    path = ROOT / "src" / Path(*package.split(".")) / "__init__.py"
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    return []


@pytest.mark.parametrize(
    "package", ["gnomon", "gnomon.torch", "gnomon.jax", "gnomon.hf", "gnomon.sklearn"]
)
def test_every_public_name_is_rendered_in_the_api_pages(site: Path, package: str) -> None:
    pages = "\n".join(path.read_text("utf-8") for path in (site / "api").glob("*.html"))
    names = public(package)
    assert names
    homes = {"GnomonError": "errors.GnomonError"} if package == "gnomon" else {}
    places = {name: f'id="{package}.{homes.get(name, name)}"' for name in names}
    assert [name for name, place in places.items() if place not in pages] == []


@pytest.mark.parametrize(
    ("page", "options"),
    [("corpus", CountOptions), ("pipeline", SurveyOptions), ("encodings", FitOptions)],
)
def test_every_option_is_in_the_api_pages_with_its_default(page: str, options: Any) -> None:
    text = (DOCS / "api" / f"{page}.md").read_text("utf-8")
    for one in dataclasses.fields(options):
        made = one.default is dataclasses.MISSING
        default = f"{one.default_factory.__name__}()" if made else repr(one.default)
        assert f"| `{one.name}` | `{default}` |" in text


def test_sentences_of_output_are_wrapped_and_its_tables_are_not(site: Path) -> None:
    """An error message runs over the width of the page; the columns of a table stay in line."""
    page = (site / "howto" / "past-the-end.html").read_text("utf-8")
    assert re.search(r'class="sentence">Position 40 is past the end', page)
    survey = (site / "noise.html").read_text("utf-8")
    assert "sinusoidal   " in survey
    assert not re.search(r'class="sentence">sinusoidal   ', survey)


def test_tables_and_marks_of_the_generated_pages_are_rendered(site: Path) -> None:
    """A mark is a comment of HTML; next to a table it must not turn the table into text."""
    for name in ("guide.html", "noise.html", "verdicts.html", "gallery.html"):
        page = (site / name).read_text("utf-8")
        body = page[page.index("<article") : page.index("</article")]
        assert body.count("<table") >= 1
        assert "| ---" not in body
        assert "&lt;!--" not in body


@pytest.fixture
def browser() -> Any:
    """A headless browser of this machine; nothing is downloaded."""
    if importlib.util.find_spec("playwright") is None or CHROMIUM is None:
        pytest.skip("playwright or chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def test_search_finds_a_page_when_the_site_is_opened_from_the_disk(
    site: Path, browser: Any
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    asked: list[str] = []
    trouble: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input")  # searching begins with the keys, so it is typed
    page.type(".md-search__input", "bootstrap")
    page.wait_for_selector(".md-search-result__link", timeout=300_000)
    found = page.eval_on_selector_all(".md-search-result__link", "all => all.map(a => a.href)")
    assert any("noise.html" in link for link in found)
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
    assert trouble == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(site: Path, browser: Any, width: int) -> None:
    """Wide tables and long lines of code scroll in boxes of their own."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    for name in (
        "index",
        "guide",
        "noise",
        "verdicts",
        "gallery",
        "tutorials/modeller",
        "api/corpus",
    ):
        page.goto((site / f"{name}.html").as_uri())
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} wide"
