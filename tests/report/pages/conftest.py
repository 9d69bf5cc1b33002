"""Surveys on disk for the tests of pages, a browser, and how a page is opened in it."""

from __future__ import annotations

import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.pipeline.page_data import pictures
from gnomon.pipeline.survey_file import save_survey
from gnomon.report.page.build import page_bytes
from gnomon.report.page.reading import label_of

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MILLISECONDS = 300_000
"""That are given to what takes a hundred, on a machine that has other things to do."""
HARMLESS = ("GPU stall", "willReadFrequently")
"""Warnings about speed that Chromium gives about Plotly's 3-D on a machine without a GPU."""


MEASURES = Path(__file__).with_name("measures.js")
FOLDED = """() => [...document.querySelectorAll('details:not([open]) [data-figure]')]
  .map((e) => e.dataset.figure)"""


def saved(folder: Path, corpus: Any, **options: Any) -> Path:
    """Survey a corpus and write it with its page, as `gnomon survey --out` does."""
    found = gnomon.survey(corpus, cache=False, **options)
    drawn = pictures(found)
    contents = found.to_dict()
    page = page_bytes([(label_of(contents), contents, drawn)])
    save_survey(found, folder, more={"report.html": page}, pictures=drawn)
    return folder


@pytest.fixture(scope="session")
def regimes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The survey of the synthetic corpus of three regimes."""
    return saved(tmp_path_factory.mktemp("regimes"), "three-regimes", dimension=16)


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The survey of a grid."""
    return saved(tmp_path_factory.mktemp("digits"), "digits", dimension=16)


@pytest.fixture(scope="session")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of 512 positions whose law drifts, and of which few documents reach the last."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(380, 560, 300).clip(max=512)
    drift = np.arange(512) / 512
    rows = [
        " ".join(map(str, np.where(rng.random(n) < drift[:n], rng.integers(0, 9, n), 20 + n % 5)))
        for n in lengths
    ]
    folder = tmp_path_factory.mktemp("long")
    return saved(folder, rows, tokenizer="words", length=512, shuffles=1, dimension=16)


def address(path: Path) -> str:
    """Return the URL of a file."""
    return f"file://{urllib.parse.quote(str(path))}"


@dataclass
class Opened:
    """A page in the browser, with what went wrong and what it asked for."""

    page: Any
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def states(self) -> dict[str, str]:
        """Return how far each figure has come."""
        return self.page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('[data-figure]')]"
            ".map(e => [e.dataset.figure, e.dataset.state]))"
        )

    def drawn(self, *, shown: bool = False) -> dict[str, str]:
        """Wait until every figure (that is not folded away) is drawn or has failed."""
        states = {}
        for _ in range(12_000):
            states = self.states()
            folded = self.page.evaluate(FOLDED) if shown else []
            if not {"waiting", "drawing"} & {states[key] for key in states if key not in folded}:
                return states
            self.page.wait_for_timeout(50)
        raise TimeoutError(str(states))

    def settled(self, ask: Callable[[], Any], holds: Callable[[Any], bool] = lambda _: True) -> Any:
        """Ask until an answer holds and comes twice, a tenth of a second apart; return the last."""
        before = answer = None
        for _ in range(3000):
            before, answer = answer, ask()
            if answer == before and holds(answer):
                break
            self.page.wait_for_timeout(100)
        return answer


Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; the tests skip where none is installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser is installed: none of {', '.join(NAMES)} was found")
    with sync_api.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Open pages for one test; each takes memory and drawing until it is closed."""
    yield from _opener(browser)


@pytest.fixture(scope="module")
def kept_open(browser: Any) -> Iterator[Open]:
    """Open pages that several tests read."""
    yield from _opener(browser)


def _opener(browser: Any) -> Iterator[Open]:
    """Open a page; what it complains about or asks for is kept."""
    contexts = []

    def opening(path: Path | None, *, width: int = 1280, query: str = "", **options: Any) -> Opened:
        size = {"width": width, "height": 900}
        still = {"reduced_motion": "reduce", "accept_downloads": True}
        context = browser.new_context(viewport=size, **still, **options)
        context.set_default_timeout(MILLISECONDS)
        context.add_init_script(path=MEASURES)
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("pageerror", lambda error: found.faults.append(str(error)))
        found.page.on("dialog", lambda one: (found.faults.append(one.message), one.dismiss()))
        found.page.on("console", lambda said: _keep(found, said))
        found.page.on("request", lambda asked: found.requests.append(asked.url))
        if path is not None:
            found.page.goto(address(path) + query)
        return found

    yield opening
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def regimes_page(regimes: Path, kept_open: Open) -> Opened:
    """The page of the three regimes, drawn; tests leave it as they found it."""
    found = kept_open(regimes / "report.html", color_scheme="light")
    found.drawn()
    return found


@pytest.fixture(scope="module")
def digits_page(digits: Path, kept_open: Open) -> Opened:
    """The page of the grid, drawn; tests leave it as they found it."""
    found = kept_open(digits / "report.html", color_scheme="light")
    found.drawn()
    return found


def _keep(found: Opened, said: Any) -> None:
    if said.type in ("error", "warning") and not any(word in said.text for word in HARMLESS):
        found.faults.append(said.text)
