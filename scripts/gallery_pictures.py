"""Pictures of the gallery: two figures of a survey's page, as a browser draws them.

The browser is Chromium as the system has it, driven by playwright; Pillow puts the two under
each other with as many colours as keep the picture small. Without one of them there are no
pictures, and that is said.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WIDTH = 900
FIGURES = ("distances", "map2d")
LARGEST = 150_000
MARGIN = 12
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
DRAWN = """() => [...document.querySelectorAll("[data-figure]")]
  .every(one => !/waiting|drawing/.test(one.dataset.state || ""))"""


def take_pictures(surveys: Mapping[str, Path], folder: Path) -> None:
    """Take a picture of the page of every survey; folders hold report.html."""
    browser = browser_here()
    if browser is None:
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=browser, args=list(ARGUMENTS))
        for name, survey in surveys.items():
            if (survey / "report.html").is_file():
                _take(opened, survey / "report.html", folder / f"{name}.png")
        opened.close()


def browser_here() -> str | None:
    """Return the browser of this machine; None, said aloud, where no picture can be taken."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    missing = [name for name in ("playwright", "PIL") if find_spec(name) is None]
    if browser is None or missing:
        print(f"no pictures: {', '.join(missing) or 'chromium'} is not installed")
        return None
    return browser


def _take(browser: Any, page_file: Path, picture: Path) -> None:
    """Take the figures under each other, in a light theme."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    page.goto(page_file.absolute().as_uri())
    page.wait_for_function(DRAWN, timeout=60_000)
    page.add_style_tag(content="body > *:not(main), .up { display: none }")
    shots = [
        one.screenshot(animations="disabled")
        for name in FIGURES
        for one in page.query_selector_all(f'[data-figure$="-{name}"]')[:1]
    ]
    page.close()
    if shots:
        stacked(shots, picture)


def stacked(shots: list[bytes], picture: Path) -> None:
    """Put pictures under each other, and keep as many colours as fit the size."""
    from io import BytesIO

    from PIL import Image

    images = [_cropped(Image.open(BytesIO(shot)).convert("RGB")) for shot in shots]
    size = (max(one.width for one in images), sum(one.height for one in images))
    sheet = Image.new("RGB", (size[0] + 2 * MARGIN, size[1]), "white")
    top = 0
    for one in images:
        sheet.paste(one, (MARGIN, top))
        top += one.height
    for colours in (256, 128, 64, 32, 16):
        held = BytesIO()
        # By coverage: the few bright cells of a dark map must not lose their colour to the many.
        drawn = sheet.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        drawn.save(held, "PNG", optimize=True)
        if held.tell() <= LARGEST:
            break
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(held.getvalue())
    print(f"{picture.name}: {held.tell():,} bytes, {colours} colours")


def _cropped(image: Any) -> Any:
    """Leave out empty rows above and below, but for a margin."""
    from PIL import Image, ImageChops

    blank = Image.new("RGB", image.size, image.getpixel((0, 0)))
    box = ImageChops.difference(image, blank).getbbox() or (0, 0, *image.size)
    top, bottom = max(box[1] - MARGIN, 0), min(box[3] + MARGIN, image.height)
    return image.crop((0, top, image.width, bottom))
