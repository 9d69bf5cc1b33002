"""A few shapes as SVG: what three figures need, and nothing that must be installed.

Text stays text. The background is a white sheet of its own, so that a dark page shows it too.
Colours are those of Okabe and Ito, told apart by the colour-blind; every line has its name beside
it, so that no colour has to be matched with a legend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLUE, RED, GREEN, PURPLE = "#0072B2", "#D55E00", "#007A5A", "#8F4E7D"
INK, GREY, PALE = "#222222", "#666666", "#DDDDDD"
LEVELS = 24
_LIGHT, _DARK = np.array([247.0, 251.0, 255.0]), np.array([8.0, 48.0, 107.0])
_MIDDLE = np.array([66.0, 146.0, 198.0])


@dataclass
class Sheet:
    """A white sheet in user units, on which shapes are put one after the other."""

    width: int
    height: int
    title: str
    words: str
    """What a reader who cannot see the figure should know."""
    shapes: list[str] = field(default_factory=list)

    def put(self, shape: str) -> None:
        """Add a shape as it stands."""
        self.shapes.append(shape)

    def text(self, x: float, y: float, words: str, **style: str) -> None:
        """Write words at a point; `anchor`, `size`, `fill`, `weight` and `turn` are known."""
        turn = style.get("turn")
        turned = f' transform="rotate({turn} {x:g} {y:g})"' if turn else ""
        self.put(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{style.get("anchor", "start")}" '
            f'font-size="{style.get("size", "13")}" fill="{style.get("fill", INK)}" '
            f'font-weight="{style.get("weight", "normal")}"{turned}>{escape(words)}</text>'
        )

    def save(self, path: Path) -> int:
        """Write the sheet and return its size in bytes."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" '
            'font-family="Helvetica, Arial, sans-serif">'
        )
        lines = [
            head,
            f"<title>{escape(self.title)}</title>",
            f"<desc>{escape(self.words)}</desc>",
            f'<rect width="{self.width}" height="{self.height}" rx="6" fill="#FFFFFF"/>',
            *self.shapes,
            "</svg>",
        ]
        content = "\n".join(lines) + "\n"
        path.write_text(content, encoding="utf-8", newline="\n")
        return len(content.encode())


@dataclass(frozen=True)
class Axes:
    """A frame on a sheet with a scale for each axis."""

    sheet: Sheet
    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool = False
    log_y: bool = False

    def across(self, value: float) -> float:
        """Return the place of a value on the x axis."""
        return self.left + self.width * _place(value, self.x, logarithmic=self.log_x)

    def up(self, value: float) -> float:
        """Return the place of a value on the y axis."""
        return self.top + self.height * (1.0 - _place(value, self.y, logarithmic=self.log_y))

    def frame(
        self, x_ticks: Sequence[float], y_ticks: Sequence[float], x_name: str, y_name: str
    ) -> None:
        """Draw grid lines, ticks and the names of both axes."""
        bottom, right = self.top + self.height, self.left + self.width
        for tick in y_ticks:
            y = self.up(tick)
            self.rule((self.left, y), (right, y), PALE)
            self.sheet.text(self.left - 7, y + 4, f"{tick:g}", anchor="end", fill=GREY, size="12")
        for tick in x_ticks:
            x = self.across(tick)
            self.rule((x, bottom), (x, bottom + 5), GREY)
            self.sheet.text(x, bottom + 19, f"{tick:,g}", anchor="middle", fill=GREY, size="12")
        self.rule((self.left, bottom), (right, bottom), GREY)
        self.sheet.text(self.left + self.width / 2, bottom + 39, x_name, anchor="middle")
        middle = self.top + self.height / 2
        self.sheet.text(self.left - 44, middle, y_name, anchor="middle", turn="-90")

    def rule(
        self, begin: tuple[float, float], end: tuple[float, float], colour: str, dash: str = ""
    ) -> None:
        """Draw a straight line between two places of the sheet."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.sheet.put(
            f'<line x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
            f'stroke="{colour}" stroke-width="1"{dashed}/>'
        )

    def line(self, x: Any, y: Any, colour: str, dash: str = "") -> None:
        """Draw a line through points."""
        places = " ".join(
            f"{self.across(a):.1f},{self.up(b):.1f}" for a, b in zip(x, y, strict=True)
        )
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.sheet.put(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
        )

    def dots(self, x: Any, y: Any, colour: str, *, hollow: bool = False) -> None:
        """Draw a dot at every point."""
        fill = "#FFFFFF" if hollow else colour
        for a, b in zip(x, y, strict=True):
            self.sheet.put(
                f'<circle cx="{self.across(a):.1f}" cy="{self.up(b):.1f}" r="4" fill="{fill}" '
                f'stroke="{colour}" stroke-width="1.5"/>'
            )

    def bars(self, x: Any, low: Any, high: Any, colour: str) -> None:
        """Draw an upright bar from low to high at every x."""
        for a, b, c in zip(x, low, high, strict=True):
            self.rule((self.across(a), self.up(b)), (self.across(a), self.up(c)), colour)


def _place(value: float, limits: tuple[float, float], *, logarithmic: bool) -> float:
    change: Callable[[Any], Any] = np.log10 if logarithmic else np.asarray
    low, high = change(limits[0]), change(limits[1])
    return float((change(value) - low) / (high - low))


def colour_of(level: int) -> str:
    """Return the colour of a level of 0 .. LEVELS - 1, from nearly white to dark blue."""
    share = level / (LEVELS - 1)
    mixed = (
        _LIGHT + (_MIDDLE - _LIGHT) * 2.0 * share
        if share < 0.5
        else _MIDDLE + (_DARK - _MIDDLE) * (2.0 * share - 1.0)
    )
    return "#" + "".join(f"{round(part):02X}" for part in mixed)


def heat_map(
    sheet: Sheet, values: NDArray[np.float64], corner: tuple[float, float], side: float, most: float
) -> None:
    """Draw a square matrix as colours from 0 to `most`: one path for every level of colour.

    Neighbours of one level in a row are one rectangle, which keeps the file small.
    """
    levels = np.clip(np.round(values / most * (LEVELS - 1)), 0, LEVELS - 1).astype(int)
    cell = side / len(values)
    paths: dict[int, list[str]] = {}
    for row, line in enumerate(levels):
        cuts = np.flatnonzero(np.diff(line)) + 1
        for begin, end in zip([0, *cuts], [*cuts, len(line)], strict=True):
            shape = f"M{begin} {row}h{end - begin}v1h{begin - end}z"
            paths.setdefault(int(line[begin]), []).append(shape)
    place = f"translate({corner[0]:g} {corner[1]:g}) scale({cell:.4f})"
    drawn = "".join(f'<path fill="{colour_of(k)}" d="{"".join(paths[k])}"/>' for k in sorted(paths))
    sheet.put(f'<g transform="{place}" shape-rendering="crispEdges">{drawn}</g>')
    sheet.put(
        f'<rect x="{corner[0]:g}" y="{corner[1]:g}" width="{side:g}" height="{side:g}" '
        f'fill="none" stroke="{GREY}"/>'
    )


def colour_bar(
    sheet: Sheet,
    corner: tuple[float, float],
    size: tuple[float, float],
    most: float,
    ticks: Sequence[float],
) -> None:
    """Draw the scale of a heat-map, upright, with ticks to its right."""
    (x, y), (width, height) = corner, size
    step = height / LEVELS
    for level in range(LEVELS):
        sheet.put(
            f'<rect x="{x:g}" y="{y + height - (level + 1) * step:.2f}" width="{width:g}" '
            f'height="{step + 0.3:.2f}" fill="{colour_of(level)}"/>'
        )
    sheet.put(
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="none" '
        f'stroke="{GREY}"/>'
    )
    for tick in ticks:
        at = y + height * (1.0 - tick / most)
        sheet.text(x + width + 6, at + 4, f"{tick:g}", fill=GREY, size="12")
