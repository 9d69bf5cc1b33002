"""The page of a card in a browser: drawn, quiet, without a network, and right after a resize."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.encodings.lifts import portrait
from gnomon.encodings.registry import described
from gnomon.report.page.pages import card_page

SPREAD = """() => {
  const map = document.querySelector("[data-figure]");
  const drawn = map.querySelector(".cartesianlayer .plot");
  const plot = map.querySelector(".bglayer .bg, .plot image, .hm image");
  const wide = plot.getBoundingClientRect().width / map.getBoundingClientRect().width;
  return [drawn !== null, wide, map.querySelectorAll(".cbtitle").length];
}"""


def card(folder: Path, name: str) -> Path:
    contents, made = described(name, make=True)
    page = folder / f"{name}.html"
    page.write_bytes(card_page(contents, portrait(made), version="0"))
    return page


@pytest.mark.parametrize(
    ("name", "figures", "width"), [("rope-yarn", 3, 390), ("alibi", 3, 1280), ("xpos", 4, 390)]
)
def test_every_figure_of_a_card_is_drawn_without_a_fault(
    opened, tmp_path: Path, name: str, figures: int, width: int
) -> None:
    found = opened(card(tmp_path, name), width=width, query="?all")
    assert list(found.drawn().values()) == ["drawn"] * figures
    assert found.faults == []
    assert [url for url in found.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_card_that_is_widened_looks_like_one_that_was_opened_wide(opened, tmp_path: Path) -> None:
    """The scale of colours turns when the page gets wide; nothing of the old one may stay."""
    page = card(tmp_path, "random")
    wide = opened(page, width=1000, query="?all")
    wide.drawn()
    found = opened(page, width=390, query="?all")
    found.drawn()
    narrow = found.page.evaluate(SPREAD)
    found.page.set_viewport_size({"width": 1000, "height": 900})
    spread = found.settled(lambda: found.page.evaluate(SPREAD), lambda now: now != narrow)
    found.drawn()
    assert spread == pytest.approx(wide.page.evaluate(SPREAD), abs=0.02)
    assert narrow[1] != pytest.approx(wide.page.evaluate(SPREAD)[1], abs=0.01)


def test_the_theme_of_a_card_follows_its_button(opened, tmp_path: Path) -> None:
    found = opened(card(tmp_path, "alibi"), query="?all")
    found.drawn()
    before = found.page.evaluate("document.documentElement.dataset.theme")
    found.page.click("#theme")
    assert found.page.evaluate("document.documentElement.dataset.theme") != before
    assert found.faults == []
