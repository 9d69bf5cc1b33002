"""Draw the spectra of three encodings: kernel by lag, eigenvalues, symbol, and coupling.

    python scripts/spectra_page.py docs/figures/spectra.svg

Three rows, rotary encoding (masses), xPos (a bounded symbol) and ALiBi (a kernel that grows; its
first head throughout), at 256 positions, coupled with content of dimension 64, as
`gnomon spectrum` measures them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from svg import BLUE, GREEN, GREY, PALE, RED, Axes, Sheet

import gnomon

ANGLES = (1e-4, float(np.pi))
"""Frequencies are a ladder: their peaks are told apart on a logarithmic axis alone."""
HEADS = {"rope": None, "xpos": None, "alibi": 0}
DIMENSION = 64
LENGTH = 256
WIDTH, HEIGHT = 180, 120
LEFTS = (62, 312, 562, 812)
TITLES = ("kernel by lag", "eigenvalues, by size", "symbol", "norm after / before")
ACROSS = ("lag", "order", "angle, radians per position", "mean that all positions share")


def axes(sheet: Sheet, row: int, column: int, x: Any, y: Any, **logs: bool) -> Axes:
    """Return the frame of one panel, with its ends written beside it."""
    left, top = LEFTS[column], 60 + 196 * row
    made = Axes(sheet, left, top, WIDTH, HEIGHT, x, y, **logs)
    for value in y:
        made.rule((left, made.up(value)), (left + WIDTH, made.up(value)), PALE)
        sheet.text(left - 5, made.up(value) + 4, f"{value:.3g}", anchor="end", size="11", fill=GREY)
    for value, anchor in zip(x, ("start", "end"), strict=True):
        sheet.text(
            made.across(value),
            top + HEIGHT + 16,
            f"{value:.3g}",
            anchor=anchor,
            size="11",
            fill=GREY,
        )
    across = left + WIDTH / 2
    sheet.text(across, top + HEIGHT + 30, ACROSS[column], anchor="middle", size="11", fill=GREY)
    return made


def kernel(sheet: Sheet, row: int, found: Any) -> None:
    """Draw the kernel."""
    low, high = float(found.profile.min()), float(found.profile.max())
    made = axes(sheet, row, 0, (0, LENGTH - 1), (low, high))
    made.line(np.arange(LENGTH), found.profile, BLUE)


def eigenvalues(sheet: Sheet, row: int, found: Any) -> None:
    """Draw the sizes of eigenvalues that can be told from 0, with those of the circulant."""
    state = found.conditioning
    sizes = np.sort(np.abs(found.eigenvalues.values))[::-1][: state.rank]
    near = np.sort(np.abs(found.circulant.eigenvalues))[::-1]
    ends = (float(min(sizes.min(), near.min())), float(sizes.max()))
    made = axes(sheet, row, 1, (1, LENGTH), ends, log_x=True, log_y=True)
    made.line(np.arange(1, LENGTH + 1), near, RED, dash="4 3")
    made.line(np.arange(1, len(sizes) + 1), sizes, BLUE)


def symbol(sheet: Sheet, row: int, found: Any) -> None:
    """Draw the symbol as a line, or its masses as stems."""
    known = found.symbol
    if known.values is None:
        made = axes(sheet, row, 2, ANGLES, (0.0, float(known.masses.max())), log_x=True)
        for place, mass in zip(known.mass_angles, known.masses, strict=True):
            x = made.across(place)
            made.rule((x, made.up(0.0)), (x, made.up(mass)), BLUE)
        return
    kept = np.isfinite(known.values) & (known.angles >= ANGLES[0])
    values = known.values[kept]
    ends = (float(values.min()), float(values.max()))
    made = axes(sheet, row, 2, ANGLES, ends, log_x=True, log_y=True)
    made.line(known.angles[kept], values, BLUE)


def coupling(sheet: Sheet, row: int, tied: Any, apart: Any) -> None:
    """Draw ratios of norms by the size of the shared mean: q = k, and drawn apart."""
    top = max(float(tied.norm_range.max()), float(apart.norm_range.max()))
    low = min(float(tied.norm_range.min()), float(apart.norm_range.min()))
    made = axes(sheet, row, 3, (0.0, 4.0), (low, top), log_y=True)
    made.rule((made.left, made.up(1.0)), (made.left + WIDTH, made.up(1.0)), GREY, dash="4 3")
    for one, colour in ((tied, BLUE), (apart, GREEN)):
        made.bars(one.means, *one.norm_range.T, colour)
        made.line(one.means, one.norm, colour)


def main() -> None:
    """Draw all rows."""
    words = (
        "Rotary encoding: a kernel that oscillates, few eigenvalues, a symbol of masses, and norms "
        "that fall where queries and keys share a mean. xPos: a bounded symbol. ALiBi: a kernel "
        "that grows, one large negative eigenvalue, and norms that its bias decides unless content "
        "shares a large mean."
    )
    sheet = Sheet(1030, 640, "Spectra of three encodings at 256 positions, dimension 64", words)
    for left, title in zip(LEFTS, TITLES, strict=True):
        sheet.text(left, 24, title, weight="bold")
    sheet.text(LEFTS[1], 632, "blue: the matrix, red: nearest circulant", size="11", fill=GREY)
    sheet.text(LEFTS[3], 632, "blue: q = k, green: drawn apart", size="11", fill=GREY)
    for row, (name, head) in enumerate(HEADS.items()):
        found, apart = (
            gnomon.spectrum(name, LENGTH, head=head, dimension=DIMENSION, tied=tied)
            for tied in (True, False)
        )
        label = name if head is None else f"{name}, head {head}"
        sheet.text(LEFTS[0], 48 + 196 * row, label, size="13", fill=GREY)
        kernel(sheet, row, found)
        eigenvalues(sheet, row, found)
        symbol(sheet, row, found)
        coupling(sheet, row, found.contraction, apart.contraction)
    sheet.save(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
