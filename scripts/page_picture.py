"""Take the README's picture of a page: its verdict, and below it the distances.

    python scripts/page_picture.py demo/three-regimes/report.html docs/figures/page.png

The parts are cut out of one page as Chromium draws it; without a browser the picture that is there
stays, and that is said.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gallery_pictures import ARGUMENTS, DRAWN, browser_here, stacked

WIDTH = 1100
PARTS = ("main > h1", ".verdict", '[id$="-distances"]')


def main(page_file: Path, picture: Path) -> None:
    """Take the parts in a light theme and put them under each other."""
    browser = browser_here()
    if browser is None:
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=browser, args=list(ARGUMENTS))
        page = opened.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(page_file.absolute().as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        page.add_style_tag(content=".up { display: none }")  # it floats over what is below it
        stacked([page.locator(part).first.screenshot() for part in PARTS], picture)
        opened.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Arguments: a page, and the picture to write.")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
