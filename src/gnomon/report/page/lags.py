"""What was found in the lags of a corpus, as one self-contained page.

It is built as the page of a survey is, with its style, its script and its policy: nothing is
fetched, and no text but the two scripts named by their SHA-256 can run.
"""

from __future__ import annotations

from typing import Any

from gnomon.report.figures.lags import LEVEL, lags_figures, periods_of, turns
from gnomon.report.figures.places import some
from gnomon.report.page.reading import label_of
from gnomon.report.page.single import SinglePage

EXPLAINED = {
    "kernel": "Left: how often two tokens of a document are equal, by how far apart they stand, "
    "beside what is left when the tokens of each document are shuffled, and when only the law of "
    "each position is kept. Right: what exceeds both. It may be negative, and so shows a period as "
    "what it is; where the band holds 0, nothing was found.",
    "information": "How many bits one token tells of another, by how far apart they stand. It sees "
    "dependence of every kind, and no sign: a wave shows twice in each period. On these axes a "
    "power law is a straight line; an exponential bends down.",
    "modes": "Each point is one part of the excess: a wave with its period, or what falls to half "
    "over its half-life; most do both. Whiskers are 95 % intervals over folds of documents. A "
    "sharp period has many harmonics, at halves, thirds and so on of it.",
}
"""How to read each figure."""


def lags_page(contents: dict[str, Any], text: str, *, version: str) -> bytes:
    """Return the page in UTF-8; half a character (in a file name) becomes its escape.

    `contents` is what `gnomon fit --family group --json` writes, `text` its lines in words.
    """
    page = SinglePage()
    figures = page.shown(
        lags_figures(contents),
        prefix="lags",
        label=contents["source"],
        said=lambda figure: EXPLAINED[figure.key],
    )
    return page.made(
        "lags.html",
        contents=contents,
        label=label_of({"corpus": contents}),
        headline=_headline(contents),
        said=text.splitlines()[1:],
        modes=[
            *_rows(contents["found"]["modes"]),
            *_rows(contents["positions"]["modes"], "law of positions"),
        ],
        figures=figures,
        version=version,
    )


def _headline(contents: dict[str, Any]) -> str:
    modes = contents["found"]["modes"]
    placed = len(periods_of(contents["positions"]["modes"]))
    by_position = [f"{some(placed, 'period')} in the law of positions"] if placed else []
    if not modes and not by_position:
        near = f"stands above the noise, up to lag {contents['found']['lags']}"
        told = min(contents["information"]["p_values"], default=1.0) <= LEVEL
        return f"No period {near}" if contents["slopes"] or told else f"Nothing {near}"
    decays = sum(not turns(mode) for mode in modes)
    parts = [some(len(periods_of(modes)), "period")] if decays < len(modes) else []
    parts += [some(decays, "half-life").replace("half-lifes", "half-lives")] if decays else []
    return " and ".join(parts + by_position)


def _rows(modes: list[dict[str, Any]], whose: str = "") -> list[list[str]]:
    """Return the cells of the table of modes."""
    return [
        [
            _value(None if mode.get("slow") else mode["period"], "none"),
            _interval(mode["period_interval"]),
            _value(mode["half_life"], "no decay seen"),
            _interval(mode["half_life_interval"]),
            f"{mode['amplitude']:.2g}",
            ", ".join(filter(None, [whose, _harmonic(mode["harmonic"]), _belongs(mode)])),
        ]
        for mode in modes
    ]


def _harmonic(harmonic: int) -> str:
    return "" if harmonic == 1 else f"harmonic {harmonic}"


def _belongs(mode: dict[str, Any]) -> str:
    """Return which periods a mode belongs to that is none of its own."""
    periods = [f"{period:.4g}" for period in mode.get("product", ())]
    return f"of the periods {' and '.join(periods)}" if periods else ""


def _value(value: float | None, without: str) -> str:
    return without if value is None else f"{value:.4g}"


def _interval(ends: list[float | None] | None) -> str:
    if ends is None:
        return ""
    low, high = ("∞" if end is None else f"{end:.4g}" for end in ends)
    return f"{low} to {high}"
