"""The pages of one result: a card, a spectrum, the lags of a corpus, grids of the laboratory.

Each fills a template with figures and facts that were computed before, and is built as the page of
a survey is: nothing is fetched, and only the two scripts named by their SHA-256 can run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.report.figure import Figure
from gnomon.report.figures.card import card_figures, explanation
from gnomon.report.figures.lab_heads import (
    deposit_figure,
    heads_figure,
    pairs_figure,
    rates_figure,
    redundancy_figure,
)
from gnomon.report.figures.lab_models import (
    hessian_figure,
    logits_figure,
    spectra_figure,
    stress_figure,
)
from gnomon.report.figures.lab_scores import curves_figure, in_words, lengths_figure, scores_figure
from gnomon.report.figures.lags import LEVEL, lags_figures, periods_of, turns
from gnomon.report.figures.spectrum import EXPLAINED, lattice_figures, spectrum_figures
from gnomon.report.page.build import (
    Packer,
    Shown,
    file_name,
    page_environment,
    page_policy,
    page_scripts,
    page_style,
    script_json,
)
from gnomon.report.page.reading import label_of
from gnomon.report.phrases import figure_of, some
from gnomon.report.text import facts_of

if TYPE_CHECKING:
    from gnomon.encodings import Portrait
    from gnomon.spectra import LatticeSpectrum, Spectrum


class SinglePage:
    """What a page holds while it is made."""

    def __init__(self) -> None:
        self._packer = Packer()
        self._store: dict[str, Any] = {}

    def shown(
        self, figures: Iterable[Figure], *, prefix: str, label: str, said: Callable[[Figure], str]
    ) -> list[Shown]:
        """Return figures with where they stand and how to read them; missing ones stay words."""
        found = []
        for figure in figures:
            place = f"{prefix}-{figure.key}"
            if figure.missing is None:
                name = f"{file_name(label)}-{figure.key}"
                self._store[place] = self._packer.figure(figure, file=name)
            found.append(Shown(place, figure, [said(figure)]))
        return found

    def made(self, template: str, **values: Any) -> bytes:
        """Return the page in UTF-8; half a character (in a file name) becomes its escape."""
        scripts = page_scripts()
        text = page_environment().get_template(template).render(
            style=page_style(),
            policy=page_policy(scripts.values()),
            store=script_json({"arrays": self._packer.arrays, "figures": self._store}),
            **scripts,
            **values,
        )  # fmt: skip
        return str(text).encode("utf-8", "backslashreplace")


def card_page(contents: dict[str, Any], portrait: Portrait, *, version: str) -> bytes:
    """Return the page in UTF-8; half a character (in a file name) becomes its escape."""
    page = SinglePage()
    figures = [
        one
        for k, figure in enumerate(card_figures(portrait))
        for one in page.shown(
            [figure],
            prefix=f"card-{k}",
            label=portrait.name,
            said=lambda drawn: explanation(drawn, portrait),
        )
    ]
    facts = facts_of(contents)
    return page.made("card.html", contents=contents, facts=facts, figures=figures, version=version)


LAGS_EXPLAINED = {
    "kernel": "Left: how often two tokens of a document are equal, by how far apart they stand, "
    "beside what is left when the tokens of each document are shuffled, and when only the token "
    "distribution of each position is kept. Right: what exceeds both. It may be negative, and "
    "so shows a period as what it is; where the band holds 0, nothing was found.",
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
        said=lambda figure: LAGS_EXPLAINED[figure.key],
    )
    return page.made(
        "lags.html",
        contents=contents,
        label=label_of({"corpus": contents}),
        headline=_lags_headline(contents),
        said=text.splitlines()[1:],
        modes=[
            *_mode_rows(contents["found"]["modes"]),
            *_mode_rows(contents["positions"]["modes"], "by position alone"),
        ],
        figures=figures,
        version=version,
    )


def _lags_headline(contents: dict[str, Any]) -> str:
    modes = contents["found"]["modes"]
    placed = len(periods_of(contents["positions"]["modes"]))
    by_position = [f"{some(placed, 'period')} by position alone"] if placed else []
    if not modes and not by_position:
        near = f"stands above the noise, up to lag {contents['found']['lags']}"
        detected = min(contents["information"]["p_values"], default=1.0) <= LEVEL
        return f"No period {near}" if contents["slopes"] or detected else f"Nothing {near}"
    decays = sum(not turns(mode) for mode in modes)
    parts = [some(len(periods_of(modes)), "period")] if decays < len(modes) else []
    parts += [some(decays, "half-life").replace("half-lifes", "half-lives")] if decays else []
    return " and ".join(parts + by_position)


def _mode_rows(modes: list[dict[str, Any]], whose: str = "") -> list[list[str]]:
    """Return the cells of the table of modes."""
    return [
        [
            _mode_value(None if mode.get("slow") else mode["period"], "none"),
            _mode_interval(mode["period_interval"]),
            _mode_value(mode["half_life"], "no decay seen"),
            _mode_interval(mode["half_life_interval"]),
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


def _mode_value(value: float | None, without: str) -> str:
    return without if value is None else f"{value:.4g}"


def _mode_interval(ends: list[float | None] | None) -> str:
    if ends is None:
        return ""
    low, high = ("∞" if end is None else f"{end:.4g}" for end in ends)
    return f"{low} to {high}"


CLASSES = {"holds": "yes", "does not hold": "no", "depends": "unsure", "undecided": "unsure"}
LAB_EXPLAINED = {
    "lab-scores": "Every dot is a run with its own seed; the bar is the 95 % interval of the mean. "
    "The dotted line is the best that can be reached, the dashed one what an observer reaches who "
    "is told the tokens and not their order. Of real data the first is an estimate or a bound that "
    "may be out of reach, the second what counting tokens reaches, which a model may pass.",
    "lab-areas": "The mean score over the points of the learning curve: it tells encodings apart "
    "that all end at the ceiling. Learning rates were chosen by it, on other seeds.",
    "lab-curves": "Means over seeds; bars reach from the lowest seed to the highest. A curve that "
    "is cut before it rises looks dead and may only be slow.",
    "lab-heads": "Held-out score lost where the output of one head is replaced by zero. Heads of a "
    "layer stand in descending order in every run, then runs are averaged.",
    "lab-deposit": "The largest loss as a share of all losses in the first layer; the dashed line "
    "is that of equal heads. An open dot is a run whose largest loss is within its noise.",
    "lab-rates": "The same index where the same encoding was trained at several learning rates: "
    "what moves with the rate is no property of the encoding.",
    "lab-redundancy": "What is lost without two heads beyond what is lost without each: above 0, "
    "one does the work of the other when it is gone, and single losses understate both.",
    "lab-pairs": "Held-out score lost where one pair of coordinates that the encoding turns is "
    "taken out of the logits of all heads of a layer that turn it. Pairs stand in the order of "
    "their coordinates; a gap is a pair that is not there.",
    "lab-hessian": "How curved the loss is in its steepest direction, on held-out rows; means over "
    "seeds, bars from the lowest seed to the highest. Plain descent is stable at rates below 2 "
    "over it. It belongs to the loss, and not to the logits.",
    "lab-logits": "Of trained models, on held-out rows: the largest singular value of logits with "
    "encodings over that without them, and how much of the logits is a function of the lag. Means "
    "over layers and heads; a dot is a run. Vectors are in queries and keys already, so that their "
    "ratio is 1.",
    "lab-lengths": "The trained model on sequences of other lengths, nothing trained again; bars "
    "reach from the lowest seed to the highest.",
    "lab-spectra": "Contraction is the ratio of the largest singular value of logits with the "
    "encoding to that without it. A norm of logits is no statement on the loss.",
    "lab-stress": "Stress of the encoding on the corpus of the task against what a model with it "
    "reached. Raw stress measures scale before anything else.",
}


def lab_page(contents: Mapping[str, Any], *, version: str) -> bytes:
    """Return the page in UTF-8.

    `contents` has `name`, `question`, `grids` (tables of `gnomon.lab.table`) and where there are
    any `verdicts`, `optimisation`, `stress`, `correlations` and `notes`.
    """
    page = SinglePage()
    grids = [
        {
            **grid,
            "figures": _lab_shown(page, _grid_figures(grid["rows"]), f"g{k}", grid["name"]),
            "lines": [_grid_line(row) for row in grid["rows"]],
            "differences": [_difference(one) for one in grid.get("compared") or ()],
            "data": _data_lines(grid["rows"]),
            "swept": any(row["choice"] for row in grid["rows"]),
        }
        for k, grid in enumerate(contents["grids"])
    ]
    verdicts = [
        dict(one) | {"class": CLASSES.get(one["holds"], "unsure")}
        for one in contents.get("verdicts", ())
    ]
    return page.made(
        "lab.html",
        contents=contents,
        grids=grids,
        beside=_lab_shown(page, _beside(contents), "beside", str(contents["name"])),
        verdicts=verdicts,
        notes=contents.get("notes", ()),
        version=version,
    )


def _grid_figures(rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return what a grid can show; what it was never asked for is left out."""
    made = [
        scores_figure(rows),
        scores_figure(rows, "areas"),
        curves_figure(rows),
        lengths_figure(rows),
        heads_figure(rows),
        deposit_figure(rows),
        rates_figure(rows),
        redundancy_figure(rows),
        pairs_figure(rows),
        hessian_figure(rows),
        logits_figure(rows),
    ]
    first = made[0]
    return [one for one in made if one is first or one.missing is None]


def _beside(contents: Mapping[str, Any]) -> list[Figure]:
    correlations = contents.get("correlations")
    made = []
    if contents.get("optimisation"):
        made.append(spectra_figure(contents["optimisation"], correlations))
    if contents.get("stress"):
        made.append(stress_figure(contents["stress"], correlations))
    return made


def _lab_shown(page: SinglePage, figures: Sequence[Figure], prefix: str, label: str) -> list[Shown]:
    return page.shown(
        figures, prefix=prefix, label=label, said=lambda figure: LAB_EXPLAINED[figure.key]
    )


def _grid_line(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row of the table in words."""
    if not row["scores"]:
        return {"task": row["task"], "encoding": row["encoding"], "note": _row_note(row)}
    steps = ["never" if step is None else f"{step:,}" for step in row["steps_to_90"]]
    costs = [cost for cost in row["cpu_seconds"] if cost is not None]
    return {
        "task": row["task"],
        "encoding": row["encoding"],
        "choice": ", ".join(f"{k.replace('_', ' ')} {v:g}" if isinstance(v, float)
                            else f"{k.replace('_', ' ')} {v}" for k, v in row["choice"].items()),
        "seeds": str(len(row["seeds"])),
        "score": in_words(row),
        "area": in_words(row, "areas"),
        "steps": " ".join(steps),
        "parameters": f"{row['parameters']:,}" if row["parameters"] else "-",
        "seconds": f"{sum(costs) / len(costs):.1f}" if costs else "-",
        "note": _row_note(row),
    }  # fmt: skip


def _difference(one: Mapping[str, Any]) -> dict[str, str]:
    """Return a paired difference in words."""
    ends = one["interval"]
    return {
        "task": str(one["task"]),
        "encoding": str(one["encoding"]),
        "reference": str(one["reference"]),
        "seeds": str(one["seeds"]),
        "difference": with_sign(one["difference"]),
        "interval": "-" if ends is None else f"[{with_sign(ends[0])}, {with_sign(ends[1])}]",
        "p": chance(one["p"]),
        "p_holm": chance(one["p_holm"]),
    }


def with_sign(value: float) -> str:
    """Return a difference with its sign.

    >>> with_sign(0.1234), with_sign(-0.02)
    ('+0.123', '-0.020')
    """
    return f"{value:+.3f}"


def chance(value: float | None) -> str:
    """Return a p value as it is read.

    >>> chance(0.2345), chance(0.00001), chance(None)
    ('0.234', '< 0.001', '-')
    """
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _data_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say for every task that reads documents how many there are, and what they leave open."""
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("data") and row["scores"]:
            by_task.setdefault(str(row["task"]), []).append(row["data"])
    return [f"{task}: {_documents(own)}" for task, own in by_task.items()]


def _documents(own: Sequence[Mapping[str, Any]]) -> str:
    first, words = own[0], f"{own[0]['test']:,} test documents"
    errors = sorted(one["standard_error"] for one in own if one["standard_error"] is not None)
    if errors:
        ends = dict.fromkeys(figure_of(error) for error in (errors[0], errors[-1]))
        words += f", which alone give a standard error of {' to '.join(ends)}"
    elif not first["one_answer"]:
        words += ", of many answers each"
    words += f"; {first['validation']:,} for choices and {first['train']:,} for training"
    words += f"; digest {first['digest']}."
    if max(one["digests"] for one in own) > 1 or len({one["digest"] for one in own}) > 1:
        words += " Not all runs have read the same data."
    return words


def _row_note(row: Mapping[str, Any]) -> str:
    """Say what a reader of a mean should know."""
    notes = []
    if row.get("at_edge"):
        notes.append("best rate at the edge of the sweep")
    if row["diverged"]:
        notes.append(f"{row['diverged']} diverged")
    if row["failed"]:
        notes.append(f"{row['failed']} failed")
    if row["late"]:
        notes.append(f"late: seed {', '.join(map(str, row['late']))}")
    return "; ".join(notes)


SMALL, LARGE = 1e-6, 1e6
"""Outside of these a number is written with its power of ten."""
FACTS = {
    "length": "positions",
    "isotropy": "share of the distance alone",
    "largest": "largest eigenvalue",
    "smallest": "smallest eigenvalue",
    "rank": "rank",
    "effective_rank": "effective rank",
    "condition_on_range": "condition number on the range",
    "tolerance": "counts as 0 below, as a part of the largest",
    "toeplitz_share": "Toeplitz share",
    "asymmetry": "odd part that eigenvalues leave out",
    "method": "computed by",
    "reason": "not all known",
}


def spectrum_page(found: Spectrum | LatticeSpectrum, *, version: str) -> bytes:
    """Return the page in UTF-8; half a character (in a file name) becomes its escape."""
    from gnomon.spectra import LatticeSpectrum

    page, contents = SinglePage(), found.to_dict()
    if isinstance(found, LatticeSpectrum):
        drawn = lattice_figures(found)
    else:
        drawn = spectrum_figures(found)
    figures = page.shown(
        drawn,
        prefix="spectrum",
        label=found.name,
        said=lambda figure: EXPLAINED[figure.key],
    )
    facts = _spectrum_facts(contents)
    return page.made(
        "spectrum.html", contents=contents, facts=facts, figures=figures, version=version
    )


def _spectrum_facts(contents: dict[str, Any]) -> list[tuple[str, str]]:
    facts = ((key, words) for key, words in FACTS.items() if _is_known(contents, key))
    return [*((words, _fact(contents[key])) for key, words in facts), *_coupling(contents)]


def _is_known(contents: dict[str, Any], key: str) -> bool:
    """Whether a number is known, and says something."""
    return contents.get(key) is not None and (key != "asymmetry" or contents[key] > 0.0)


def _coupling(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what content was drawn, why it has no condition number, and every bound."""
    made = contents["contraction"]
    if made["norm"] is None:
        return []
    which = "" if made["head"] is None else f", head {made['head']}"
    facts = [("drawn content", f"dimension {made['dimension']}, {made['draws']} draws{which}")]
    if made["condition_reason"]:
        facts.append(("no ratio of condition numbers", made["condition_reason"]))
    facts += [(bound["name"], _bound(bound)) for bound in made["bounds"]]
    if made["bounds_reason"]:
        facts.append(("no other bound known", made["bounds_reason"]))
    return facts


def _bound(bound: dict[str, Any]) -> str:
    """Return a bound of drawn logits, and whether it was promised."""
    unmet = [name for name, holds in bound["hypotheses"].items() if not holds]
    words = "promised" if bound["applies"] else f"not promised (no {', no '.join(unmet)})"
    reached = f"{_fact(bound['reached_high'])} <= {_fact(bound['high'])}"
    return f"{bound['statement']}, {reached}: {words}, {'met' if bound['holds'] else 'not met'}"


def _fact(value: Any) -> str:
    if not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    plain = value == 0 or SMALL <= abs(value) < LARGE
    return figure_of(value) if plain else f"{value:.3g}"
