"""Make the figures of docs/noise.md and the numbers that stand beside them.

Three measurements, each from a seed, so that anyone gets the same figures:

- no signal: positions of one law, fewer tokens the later they stand; all true distances are 0.
- counts: sixteen positions with a planted drift, counted with more and more tokens.
- edge: eigenvalues of two built-in corpora against what noise alone reaches.

    python scripts/make_figures.py docs/figures

writes no-signal.svg, counts.svg, edge.svg, and figures.json, from which `fill_docs.py` takes the
numbers of the text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from svg import BLUE, GREY, INK, PURPLE, RED, Axes, Sheet, colour_bar, heat_map

import gnomon
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.reading.builtin import three_regimes
from gnomon.distances.estimate import Debiased, debias, pair_mean
from gnomon.distances.estimators import expected_null_squares
from gnomon.distances.folds import fold_counts
from gnomon.distances.geometry import measure
from gnomon.distances.intervals import mean_squared
from gnomon.distances.significance import signal

Floats = NDArray[np.float64]
FOLDS = 16
TYPES = 5_000
POSITIONS, FIRST_TOKENS, SCALE = 48, 20_000, 11.0
DRIFTING, STRENGTH = 16, 1.2
TOKENS = (125, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
SHOWN = 24
"""Eigenvalues drawn of each corpus."""
ALIKE = 0.1
"""Largest sum of differences between a law and its sample: 20,000 tokens stay below it."""
RESAMPLES = 40
SIDE, MOST = 232.0, 1.0


def zipf(types: int = TYPES) -> Floats:
    """Return Zipf's law with exponent 1.05."""
    law = 1.0 / np.arange(1, types + 1) ** 1.05
    return law / law.sum()


def drawn(laws: Floats, tokens: Any, rng: np.random.Generator) -> PositionCounts:
    """Draw independent tokens from the laws, each put into a fold at random."""
    blocks = np.zeros((FOLDS, *laws.shape), np.int32)
    for i, (law, total) in enumerate(zip(laws, tokens, strict=True)):
        shares = rng.multinomial(total, np.full(FOLDS, 1.0 / FOLDS))
        for fold, share in enumerate(shares):
            blocks[fold, i] = rng.multinomial(share, law)
    return PositionCounts.from_array(blocks)


# -- no signal -----------------------------------------------------------------------------------


def no_signal(folder: Path) -> dict[str, Any]:
    """Draw one law at all positions, and show what plug-in and debiased distances make of it."""
    tokens = (FIRST_TOKENS * np.exp(-np.arange(POSITIONS) / SCALE)).astype(int)
    counts = drawn(np.tile(zipf(), (POSITIONS, 1)), tokens, np.random.default_rng([1, 0]))
    plugin = np.square(measure(counts).distances)
    found = debias(counts, rng=np.random.default_rng([1, 1]))
    tested = signal(fold_counts(counts), draws=99, rng=np.random.default_rng([1, 2]))
    debiased = np.full_like(plugin, np.nan)
    debiased[np.ix_(found.core, found.core)] = found.low_rank.squares
    _draw_no_signal(folder, plugin, np.nan_to_num(debiased))
    mean = mean_squared(found)
    return {
        "positions": POSITIONS,
        "types": TYPES,
        "core": len(found.core),
        "tokens_first": int(tokens[0]),
        "tokens_last": int(tokens[-1]),
        "plugin_mean": pair_mean(plugin),
        "plugin_first_two": plugin[0, 1],
        "plugin_last_two": plugin[-2, -1],
        "plugin_first_last": plugin[0, -1],
        "u_mean": mean.value,
        "u_low": mean.interval[0],
        "u_high": mean.interval[1],
        "rank": found.rank,
        "p_value": tested.p_value,
        "bootstrap": _bootstrapped(counts),
    }


def _bootstrapped(counts: PositionCounts) -> dict[str, Any]:
    """Return the percentile interval of the plug-in mean when the tokens are drawn again.

    Every token is a document of its own here, so drawing documents is drawing tokens.
    """
    rng = np.random.default_rng([1, 3])
    matrix = counts.matrix.toarray()
    means = []
    for _ in range(RESAMPLES):
        again = np.stack([rng.multinomial(row.sum(), row / row.sum()) for row in matrix])
        means.append(pair_mean(np.square(measure(again).distances)))
    low, high = np.quantile(means, [0.025, 0.975])
    return {"resamples": RESAMPLES, "low": float(low), "high": float(high)}


def _draw_no_signal(folder: Path, plugin: Floats, debiased: Floats) -> None:
    sheet = Sheet(
        880,
        318,
        "Squared distances between positions of one and the same law",
        "Three heat-maps on one scale: plug-in distances grow smoothly with position, up to about "
        "one; debiased distances are zero everywhere, and so is the truth.",
    )
    panels = {"plug-in, as published": plugin, "debiased": debiased, "truth": 0.0 * plugin}
    for k, (name, values) in enumerate(panels.items()):
        left = 58 + k * (SIDE + 24)
        sheet.text(left + SIDE / 2, 28, name, anchor="middle", size="15", weight="bold")
        heat_map(sheet, values, (left, 40), SIDE, MOST)
        if not values.any():
            sheet.text(left + SIDE / 2, 44 + SIDE / 2, "0 everywhere", anchor="middle", fill=GREY)
        for tick in range(0, POSITIONS, 10):
            at = left + SIDE * (tick + 0.5) / POSITIONS
            sheet.text(at, 40 + SIDE + 16, str(tick), anchor="middle", fill=GREY, size="12")
        sheet.text(left + SIDE / 2, 40 + SIDE + 36, "position", anchor="middle")
    for tick in range(0, POSITIONS, 10):
        at = 40 + SIDE * (tick + 0.5) / POSITIONS
        sheet.text(52, at + 4, str(tick), anchor="end", fill=GREY, size="12")
    sheet.text(24, 40 + SIDE / 2, "position", anchor="middle", turn="-90")
    colour_bar(sheet, (828, 40), (14, SIDE), MOST, (0, 0.25, 0.5, 0.75, 1))
    _say(folder / "no-signal.svg", sheet)


# -- counts --------------------------------------------------------------------------------------


def against_counts(folder: Path) -> dict[str, Any]:
    """Measure one planted drift with more and more tokens at every position."""
    direction = np.random.default_rng([2, 0]).normal(size=TYPES)
    laws = zipf() * np.exp(STRENGTH * np.outer(np.linspace(-0.5, 0.5, DRIFTING), direction))
    laws /= laws.sum(axis=1, keepdims=True)
    roots = np.sqrt(laws)
    truth = pair_mean(2.0 - 2.0 * roots @ roots.T)
    rows = [_counted(laws, tokens) for tokens in TOKENS]
    _draw_counts(folder, rows, truth)
    return {"positions": DRIFTING, "types": TYPES, "truth": truth, "rows": rows}


def _counted(laws: Floats, tokens: int) -> dict[str, Any]:
    counts = drawn(laws, np.full(len(laws), tokens), np.random.default_rng([2, tokens]))
    found = debias(counts, rng=np.random.default_rng([3, tokens]))
    mean = mean_squared(found)
    return {
        "tokens": tokens,
        "plugin": pair_mean(np.square(measure(counts).distances)),
        "dealt": pair_mean(expected_null_squares(counts.matrix)),
        "debiased": mean.value,
        "low": mean.interval[0],
        "high": mean.interval[1],
        "core": len(found.core),
        "rank": found.rank,
    }


def _draw_counts(folder: Path, rows: list[dict[str, Any]], truth: float) -> None:
    sheet = Sheet(
        830,
        420,
        "Mean squared distance against the number of tokens at each position",
        "Plug-in distances and those of tokens dealt at random fall together as counts grow; "
        "debiased distances stay at the truth, with intervals that narrow.",
    )
    axes = Axes(sheet, 78, 24, 620, 330, (100, 80_000), (0.0, 1.2), log_x=True)
    ticks = (100, 1_000, 10_000)
    axes.frame(
        ticks, (0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2), "tokens at each position", "mean squared distance"
    )
    known = [row for row in rows if row["core"] > 1]
    x = [row["tokens"] for row in rows]
    axes.line((100, 80_000), (truth, truth), INK, dash="6 4")
    axes.line(x, [row["plugin"] for row in rows], RED)
    axes.dots(x, [row["plugin"] for row in rows], RED)
    axes.line(x, [row["dealt"] for row in rows], PURPLE, dash="3 3")
    axes.dots(x, [row["dealt"] for row in rows], PURPLE, hollow=True)
    sure = [row["tokens"] for row in known]
    axes.bars(sure, [row["low"] for row in known], [row["high"] for row in known], BLUE)
    axes.line(sure, [row["debiased"] for row in known], BLUE)
    axes.dots(sure, [row["debiased"] for row in known], BLUE)
    right = axes.across(80_000) + 8
    middle = rows[len(rows) // 2]
    at = axes.across(middle["tokens"])
    sheet.text(at + 10, axes.up(middle["plugin"]) - 8, "plug-in, as published", fill=RED)
    sheet.text(at - 14, axes.up(middle["dealt"]) + 16, "dealt", fill=PURPLE, anchor="end")
    sheet.text(at - 14, axes.up(middle["dealt"]) + 32, "at random", fill=PURPLE, anchor="end")
    sheet.text(right, axes.up(truth) - 4, "debiased,", fill=BLUE)
    sheet.text(right, axes.up(truth) + 12, "with intervals", fill=BLUE)
    sheet.text(right, axes.up(truth) + 28, "truth (dashed)")
    _say(folder / "counts.svg", sheet)


# -- edge ----------------------------------------------------------------------------------------


def edges(folder: Path) -> dict[str, Any]:
    """Show the eigenvalues of two built-in corpora against the noise edge."""
    found = {
        "three_regimes": _spectrum("three-regimes", None),
        "python_stdlib": _spectrum("python-stdlib", 128),
    }
    _draw_edges(folder, list(found.values()))
    return found


def _spectrum(name: str, length: int | None) -> dict[str, Any]:
    counts = gnomon.count(name, length=length)
    found = debias(counts, rng=np.random.default_rng([0, 3]))
    plugin = measure(counts)
    return {
        "source": counts.source,
        "positions": counts.length,
        "core": len(found.core),
        "rank": found.rank,
        "numerical_rank": plugin.spectrum.rank_numerical,
        "edge": found.edge,
        "eigenvalues": found.low_rank.eigenvalues[:SHOWN].tolist(),
        "edges": _all_edges(found).tolist(),
    }


def _all_edges(found: Debiased) -> Floats:
    """Return an edge for every eigenvalue drawn: beyond the last one tried, that one."""
    tried = found.edges[:SHOWN][np.isfinite(found.edges[:SHOWN])]
    return np.concatenate([tried, np.full(SHOWN - len(tried), tried[-1])])


def _draw_edges(folder: Path, corpora: list[dict[str, Any]]) -> None:
    sheet = Sheet(
        880,
        380,
        "Eigenvalues of the whitened matrix against the noise edge",
        "For each of two corpora the eigenvalues fall steeply; those above the edge that random "
        "signs give are directions, those below it cannot be told from noise.",
    )
    for k, one in enumerate(corpora):
        values = np.array(one["eigenvalues"])
        axes = Axes(sheet, 78 + k * 430, 44, 350, 270, (0, SHOWN + 1), (2, 10_000), log_y=True)
        axes.frame((1, 5, 10, 15, 20), (10, 100, 1_000), "direction", "eigenvalue" if not k else "")
        title = f"{one['source']}, {one['positions']} positions"
        sheet.text(axes.left + 175, 26, title, anchor="middle", size="15", weight="bold")
        x = np.arange(1, len(values) + 1)
        axes.line(x, one["edges"][: len(values)], RED, dash="6 4")
        kept, rest = x <= one["rank"], (x > one["rank"]) & (values > 2)
        axes.dots(x[kept], values[kept], BLUE)
        axes.dots(x[rest], values[rest], GREY, hollow=True)
        edge = one["edges"][-1]
        sheet.text(axes.left + 346, axes.up(edge) - 8, "noise edge", fill=RED, anchor="end")
        words = f"above it: {one['rank']} (effective rank)"
        sheet.text(axes.left + 346, 66, words, fill=BLUE, anchor="end")
        words = f"plug-in rank, as published: {one['numerical_rank']}"
        sheet.text(axes.left + 346, 86, words, fill=GREY, anchor="end")
    _say(folder / "edge.svg", sheet)


# -- a corpus whose truth is known ---------------------------------------------------------------


def regimes() -> dict[str, Any]:
    """Return the truth of the built-in three-regime corpus: the distances of its three laws.

    The laws are drawn again as the corpus draws them, and compared with the corpus itself, so that
    a corpus that is made otherwise one day does not keep an old truth.
    """
    rows, types = 2_000, 200
    laws = np.random.default_rng([0, 0]).dirichlet(np.full(types, 0.2), size=3)
    values = np.concatenate([batch.values for batch in three_regimes().batches()])
    table = values.reshape(rows, -1)
    regime = 3 * np.arange(table.shape[1]) // table.shape[1]
    seen = [np.bincount(table[:, regime == k].ravel(), minlength=types) for k in range(3)]
    gap = max(np.abs(one / one.sum() - law).sum() for one, law in zip(seen, laws, strict=True))
    if gap > ALIKE:
        sys.exit(f"The laws of three-regimes are not those drawn here (off by {gap:.3f}).")
    roots = np.sqrt(laws)[regime]
    return {"truth": pair_mean(2.0 - 2.0 * roots @ roots.T)}


def _say(path: Path, sheet: Sheet) -> None:
    print(f"{path}: {sheet.save(path) / 1000:.0f} kB")


def main(folder: Path) -> None:
    """Make all figures and write the numbers beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {
        "no_signal": no_signal(folder),
        "counts": against_counts(folder),
        "edge": edges(folder),
        "regimes": regimes(),
    }
    text = json.dumps(numbers, indent=1, allow_nan=False) + "\n"
    (folder / "figures.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Argument: the folder of the figures.")
    main(Path(sys.argv[1]))
