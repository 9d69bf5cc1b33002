"""Results as plain text for a terminal: tables, and a few sentences; nothing is computed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.pipeline import NUMBERS
from gnomon.report.phrases import figure_of, order_in_words, p_in_words, rows_used, with_noun

if TYPE_CHECKING:
    from gnomon.encodings import Card


Cell = str | float | int | None
Mean = Callable[[list[float]], Any]
ZERO = "0"
RESERVATIONS = {
    "rare types": "this may be too small, since tokens too rare to be counted one by one differ "
    "between positions and common ones do not",
    "new types": "this may be too small, since rare tokens come and go along the positions, as "
    "where a vocabulary grows",
}
"""Why the debiased mean squared distance may be too small."""


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return an aligned table; a column of words is aligned to the left, of numbers to the right.

    >>> print(table(["name", "stress"], [["mds", 0.0123], ["zero", None]]))
    name  stress
    mds   0.0123
    zero       -
    """
    shown = [list(header)] + [[cell(value) for value in row] for row in rows]
    widths = [max(len(row[k]) for row in shown) for k in range(len(header))]
    left = {k for k in range(len(header)) if _is_text(k, rows)}
    lines = (
        "  ".join(
            text.ljust(widths[k]) if k in left else text.rjust(widths[k])
            for k, text in enumerate(row)
        ).rstrip()
        for row in shown
    )
    return "\n".join(lines)


def cell(value: Cell) -> str:
    """Return a number with three or four significant digits, an integer with its thousands."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value != 0 and abs(value) < 1e-12:
            return "<1e-12"
        return f"{value:.4f}" if 1e-3 <= abs(value) < 10 or value == 0 else f"{value:.4g}"
    return value


def percent(share: float | None) -> str:
    """Return a share as per cent; what is more than rounding but shows as 0 is not called 0.

    >>> percent(1e-18), percent(0.0004), percent(0.38)
    ('0.0 %', '<0.1 %', '38.0 %')
    """
    if share is None:
        return "-"
    return "<0.1 %" if 1e-12 < share < 0.0005 else f"{100 * share:.1f} %"


def _is_text(k: int, rows: Sequence[Sequence[Cell]]) -> bool:
    return all(isinstance(row[k], str) and row[k] != ZERO for row in rows)


def survey_text(survey: dict[str, Any], *, verbose: bool = False) -> str:
    """Return a survey (the contents of survey.json) as text."""
    parts = [_corpus(survey), *_verdict(survey["verdict"]), _encodings(survey), _geometry(survey)]
    if verbose:
        parts += [_more(survey), _dimensions(survey), _details(survey)]
    return "\n\n".join(part for part in parts if part)


def _verdict(verdict: dict[str, Any]) -> list[str]:
    """Return the verdict, and what to be careful with, where there is something."""
    word = {True: "informative", False: "not informative", None: "undecided"}
    caution, summary = verdict.get("caution"), verdict["summary"]
    if caution:
        summary = " ".join(part.strip() for part in summary.split(caution)).strip()
    said = [f"Verdict: {word[verdict['informative']]}. {summary}"]
    said += [f"Caution: {caution}"] if caution else []
    return [textwrap.fill(part, width=100, break_on_hyphens=False) for part in said]


def _corpus(survey: dict[str, Any]) -> str:
    corpus = survey["corpus"]
    masked = [p for p in survey["positions"] if p["status"] == "masked"]
    axes = " x ".join(map(str, corpus["axes"]))
    read = (
        f"{corpus['source']}: {with_noun(corpus['rows'], 'document')} in "
        f"{with_noun(corpus['groups'], 'group')}, {with_noun(corpus['tokens'], 'token')}, "
        f"{with_noun(corpus['types'], 'type')} ({corpus['tokenizer']})"
    )
    unit = "positions" if corpus["bins"] is None else "bins"
    placed = (
        f"n = {axes} {unit}; window: {corpus['window']}; {corpus['folds']} folds; "
        f"masked (under {corpus['minimum_count']} tokens): {_ranges(masked) or 'none'}"
    )
    notes = [f"note: {note}" for note in corpus["notes"]]
    return "\n".join([read, placed, *_lines_not_debiased(survey), *notes])


def _lines_not_debiased(survey: dict[str, Any]) -> list[str]:
    """Say which positions have tokens enough and no debiased distances, by reason."""
    found = [p for p in survey["positions"] if p["status"] == "unestimated"]
    return [
        f"not debiased: {_ranges([p for p in found if p['reason'] == why])} ({why})"
        for why in dict.fromkeys(p["reason"] for p in found)
    ]


def _geometry(survey: dict[str, Any]) -> str:
    found = survey["geometry"]
    exact, own = found["isometric_from_dimension"], found["monotonicity"]
    distances = (
        f"{found['metric']} distances straight from the counts (plug-in, as published): mean "
        f"{_in_line(found['mean_distance'])}, mean squared "
        f"{_in_line(found['mean_squared']['plugin'])}"
    )
    rank = (
        f"numerical rank {found['rank']['numerical']}, as much as {found['participation']:.3g} "
        "directions of equal strength (participation ratio); exact isometry "
        + (f"from dimension {exact}" if exact is not None else "in no dimension")
        + f" (negative eigenvalues: {percent(found['negative_share'])})"
    )
    order = (
        f"violations of monotonicity in the corpus itself {percent(own['violations'])}, "
        f"ties {percent(own['ties'])}; variance explained by lag "
        f"{percent(found['shift_equivariance'])}, by cyclic lag {percent(found['circulant'])}"
    )
    nulls = [_null(found["null"][kind], kind) for kind in ("dealt", "shuffled")]
    return "\n".join([distances, rank, order, *nulls, *_lines_without_noise(survey)])


LIFTS = (
    "lift: how an encoding is given distances. kernel: by its part in the attention logit, alike\n"
    "for all; probe, slope: as papers read rotations and ALiBi's biases. skill: 1 - stress /\n"
    "stress of equal distances"
)
MEANING = {
    "dealt": "the same tokens dealt at random to the same slots",
    "shuffled": "the tokens of each window permuted",
}


def _null(found: dict[str, Any], kind: str) -> str:
    if found["share"] is None:
        return f"{kind} null: none, {found['reason']}"
    return (
        f"chance alone, {MEANING[kind]} ({kind} null): {percent(found['share'])} of the mean "
        f"squared distance, correlation with the distances {_in_line(found['correlation'])}"
    )


def _lines_without_noise(survey: dict[str, Any]) -> list[str]:
    """Return the lines on what is left without noise."""
    geometry = survey["geometry"]
    found, mean, head = geometry["debiased"], geometry["mean_squared"], geometry["head"]
    if found is None:
        return [f"debiased: none, {mean['reason']}"]
    status = [position["status"] for position in survey["positions"]]
    mean_line = (
        f"noise taken out (debiased): mean squared "
        f"{_with_interval(mean['debiased'], mean['interval'])} over {found['core']} core positions "
        f"(plug-in there {_in_line(mean['plugin_core'])}); "
        f"{percent(geometry['measured_share'])} of it measured, the rest is of rare tokens, "
        "taken to be like tokens about as common"
    )
    mean_line += "".join(f"; {RESERVATIONS[one]}" for one in found.get("reservations", []))
    complete = head["types"] >= survey["corpus"]["types"]
    what = "the whole vocabulary" if complete else f"{head['types']:,} types, the rest as one"
    head_line = (
        f"head ({what}): {_with_interval(head['mean_squared'], head['interval'])}"
        f"{'' if complete else ', coarser distributions'}; positions: "
        f"{found['core']} core (counted well enough), {status.count('projected')} projected "
        f"(placed with the help of the core), {status.count('masked')} masked (too few tokens)"
        + (f", {status.count('unestimated')} not debiased" if "unestimated" in status else "")
    )
    order = found["order"]
    rank_line = (
        f"directions that exceed noise (effective rank) {geometry['rank']['effective']}"
        + _optional(", participation ratio ", found["participation"])
        + _optional(", violations ", found["violations"])
        + f"; pairs significantly apart {percent(found['significant_share'])}; "
        f"signal {_p(found['signal'])}"
        + ("" if order is None else f"; {_order(survey)} {_p(order)}")
    )
    distinct = [p for p in survey["positions"] if p["distinct"]]
    named = f"distinct positions (false discovery rate 5 %): {_ranges(distinct) or 'none'}"
    return [mean_line, head_line, rank_line, named]


def _p(found: dict[str, Any]) -> str:
    return p_in_words(found["p_value"], found["draws"], found.get("folds"))


def _order(survey: dict[str, Any]) -> str:
    corpus = survey["corpus"]
    return order_in_words(len(corpus["axes"]), corpus["tokenizer"])


def _with_interval(value: float, interval: Sequence[float]) -> str:
    return f"{_in_line(value)} [{', '.join(map(_in_line, interval))}]"


def _in_line(value: float | None) -> str:
    """Return a number of a sentence: never by a power of ten.

    >>> _in_line(-9.923e-05), _in_line(0.0479), _in_line(0.0)
    ('-0.00009923', '0.0479', '0.0000')
    """
    small = value is not None and 1e-12 <= abs(value) < 1e-3
    return figure_of(value, 4) if small else cell(value)


def _optional(label: str, found: dict[str, Any] | None) -> str:
    return "" if found is None else label + _with_interval(found["value"], found["interval"])


def _encodings(survey: dict[str, Any]) -> str:
    header = [
        "encoding", "lift", "d", "raw", "scale-free", "debiased", "interval", "skill", "squared",
        "violations", "ties", "Pearson",
    ]  # fmt: skip
    lines = [table(header, [_row(found) for found in survey["encodings"]])]
    if survey["encodings"]:
        lines.append(LIFTS)
    lines += [rows_used(found["rows"]) for found in survey["encodings"] if "rows" in found]
    return "\n".join(lines)


def _row(found: dict[str, Any]) -> list[Cell]:
    plugin, debiased = found["stress"]["plugin"], found["stress"]["debiased"]
    bounds = debiased["interval"]
    return [
        found["label"],
        found["lift"],
        found["dimension"],
        _or_zero(plugin["raw"]),
        _or_zero(plugin["scale_free"]),
        _or_zero(debiased["scale_free"]),
        None if bounds is None else interval_text(*bounds),
        _or_zero(debiased["skill"]),
        _or_zero(debiased["squared"]),
        _or_zero(found["monotonicity"]["violations"]),
        _or_zero(found["monotonicity"]["ties"]),
        _or_zero(found["pearson"]),
    ]


def _or_zero(value: float | None) -> Cell:
    """Return a number, or the one way to print what is 0 but for rounding."""
    return ZERO if value is not None and abs(value) < 1e-12 else value


def interval_text(low: float, high: float) -> str:
    """Return an interval with as many digits as tell its ends apart.

    >>> interval_text(0.2051, 0.2079), interval_text(0.00063, 0.00078), interval_text(0.0, 3e-16)
    ('[0.205, 0.208]', '[0.0006, 0.0008]', '[0, 0]')
    """
    width = high - low if high > low else 1e-3
    digits = min(max(3, math.ceil(-math.log10(width))), 7)
    ends = (ZERO if abs(end) < 1e-12 else f"{end:.{digits}f}" for end in (low, high))
    return f"[{', '.join(ends)}]"


def _more(survey: dict[str, Any]) -> str:
    header = [
        "encoding",
        "lift",
        "best scale",
        "stress-1",
        "non-metric",
        "skill, plug-in",
        "min sep.",
    ]
    rows: list[list[Cell]] = []
    for found in survey["encodings"]:
        plugin = found["stress"]["plugin"]
        figures = [plugin[key] for key in ("best_scale", "kruskal", "nonmetric", "skill")]
        least = found["separation"]["minimum"]
        rows.append([found["label"], found["lift"], *figures, least])
    return "against plug-in distances, as published\n" + table(header, rows)


def _dimensions(survey: dict[str, Any]) -> str:
    header = ["rank", "raw", "scale-free", "stress-1", "r(n+d)", "r(n+d-r)", "free nd"]
    rows: list[list[Cell]] = [
        [
            row["rank"],
            *(row["stress"][key] for key in ("raw", "scale_free", "kruskal")),
            *(row["parameters"][key] for key in ("factored", "degrees", "free")),
        ]
        for row in survey["dimensions"]
    ]
    return "classical MDS (least strain) by rank\n" + table(header, rows)


def _details(survey: dict[str, Any]) -> str:
    values = survey["geometry"]["eigenvalues"][:10]
    shares = survey["geometry"]["cumulative_share"][:10]
    return (
        "eigenvalues "
        + ", ".join(f"{v:.4g}" for v in values)
        + "\ncumulative  "
        + ", ".join(percent(s) for s in shares)
    )


def _ranges(positions: list[dict[str, Any]]) -> str:
    """Return positions, or bins by first and last, as ranges: 1, 2, 3, 7 -> '1-3, 7'."""
    runs: list[list[int]] = []
    for position in positions:
        first, last = (position.get(key, position["index"]) for key in ("first", "last"))
        if runs and first == runs[-1][-1] + 1:
            runs[-1][-1] = last
        else:
            runs.append([first, last])
    return _runs(runs)


def _runs(runs: list[list[int]]) -> str:
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


WIDTH = 100
"""Columns of a line."""
LABEL = 15
"""Columns of the names of facts."""
YES_OR_NO = ("relative", "learnable", "causal_only", "cacheable")


def catalogue_text(cards: Sequence[Card]) -> str:
    """Return one line per encoding; where none is left, a sentence."""
    if not cards:
        return "no encoding of the catalogue is all of that; ask for less."
    rows = [
        [card.name, card.family, ", ".join(card.kind), card.level, _marks(card), card.source]
        for card in cards
    ]
    listing = table(["name", "family", "kind", "level", "notes", "source"], rows)
    count = f"{len(cards)} encodings" if len(cards) > 1 else "1 encoding"
    return f"{listing}\n{count}; `gnomon card NAME` says more of one."


def _marks(card: Card) -> str:
    marks = {
        "relative": card.relative,
        "learnable": card.learnable,
        "causal only": card.causal_only,
        "no cache": not card.cacheable,
    }
    return ", ".join(mark for mark, holds in marks.items() if holds)


def _nearness(layer: dict[str, Any]) -> str:
    """Return how near the kernel of a layer fitted to lags is to the measured one."""
    return (
        f"kernel explains {layer['explained']:.0%} of how the measured one varies with the lag; it "
        f"is off by {layer['largest_error']:.2g} at most, at lag {layer['largest_at']}"
    )


def facts_of(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what a card says, as names and values in words."""
    made = contents["made_with"]
    facts = {
        "family": contents["family"],
        "kind": ", ".join(contents["kind"]),
        "level": contents["level"],
        **{key.replace("_", " "): "yes" if contents[key] else "no" for key in YES_OR_NO},
        "extrapolation": contents["extrapolation"],
        "reading": contents["reading"],
        "frameworks": ", ".join(contents["frameworks"]),
        "source": f"{contents['citation']} [{contents['source']}]",
        "verified": "; ".join(f"{p['against']} ({p['test']})" for p in contents["proofs"]),
        "fitted to": _about_layer(contents.get("layer")),
        "parameters": parameters_in_words(contents) if made is None else _values_in_words(made),
    }
    return [(name, value) for name, value in facts.items() if value]


def _about_layer(layer: dict[str, Any] | None) -> str:
    return "" if layer is None else f"lags of {layer['source']}: its {_nearness(layer)}"


def card_text(contents: dict[str, Any]) -> str:
    """Return a card, one fact to a line, long ones wrapped."""
    lines = [contents["name"], f"  {contents['formula']}"]
    for name, value in facts_of(contents):
        lines += _fact(name, value)
    return "\n".join(lines)


def _fact(name: str, value: str, label: int = LABEL) -> list[str]:
    """Return a fact as lines: its name in a column of `label` letters, its value wrapped beside."""
    lines: list[str] = []
    for part in value.split("; ") if name == "verified" else [value]:
        lines += textwrap.wrap(
            part,
            WIDTH,
            initial_indent=" " * label if lines else name.ljust(label),
            subsequent_indent=" " * label,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def parameters_in_words(contents: dict[str, Any]) -> str:
    """Return the parameters with their defaults, those that must be given first."""
    declared = contents["parameters"]
    needed = [f"{name} (needed)" for name in contents["needs"]]
    rest = {name: value for name, value in declared.items() if name not in contents["needs"]}
    return ", ".join([*needed, *filter(None, [_values_in_words(rest)])])


def _values_in_words(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {in_short(value)}" for name, value in values.items())


def in_short(value: Any) -> str:
    """Return the value of a parameter for a line of text.

    >>> in_short(1e4), in_short(None), in_short({"name": "yarn", "factor": 4.0})
    ('10000', 'none', 'yarn (factor 4)')
    """
    if isinstance(value, dict):
        rest = _values_in_words({key: item for key, item in value.items() if key != "name"})
        return " ".join(filter(None, [str(value.get("name", "")), f"({rest})" if rest else ""]))
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list) and len(value) > 8:
        return f"[{len(value)} numbers]"
    return "none" if value is None else str(value)


LITTLE = 0.25
"""Share of what varies with the lag below which a layer is said to explain little."""
_BEYOND = {
    "refuse": "positions past {last} are refused with an error",
    "clamp": "positions past {last} have the vector of {last}",
}
_SCALE = {
    "corpus": "distances as in the corpus, often far smaller than those of token embeddings, which "
    "then drown them: --match brings both to one scale",
    "match": "entries have the root mean square that was to be matched (factor {factor:.4g})",
    "learned": "learned: one trainable factor over everything, from {gain:g}",
}
_LEAST = {"strain": ": squared errors of inner products", "stress": ": squared errors of distances"}
_RULES = {
    "continue": "continue the nearest one counted well enough",
    "interpolate": "lie between those counted well enough",
    "refuse": "are refused",
}


def fit_text(card: dict[str, Any], *, verbose: bool = False) -> str:
    """Return what was made, how large it is, and what it does where it was not measured."""
    lines = {
        "encoding": f"{card['name']} ({card['formula']}), {card['method']}",
        "distances": _distances(card),
        "size": _size(card),
        "rotation": _rotation(card),
        "scale": _SCALE[card["scale"]].format(**card),
        "masked": _about_masked(card),
        "projected": _about_projected(card),
        "the end": _end(card),
        "bins": _bins(card),
        "verdict": card["origin"].get("verdict") if verbose else None,
        "digest": card["origin"].get("digest") if verbose else None,
    }
    return "\n".join(line for key, text in lines.items() if text for line in _fact(key, text, 11))


def lag_fit_lines(value: dict[str, Any], *, life_limit: float | None) -> list[str]:
    """Return how near the encoding is to what was measured, and what it has beside; or why not."""
    layer = value["layer"]
    lines = []
    if layer is not None:
        poor = "; this is little, and a starting point at best"
        rest = poor if layer["explained"] < LITTLE else ""
        lines.append(f"the layer's {_nearness(layer)}{rest}")
    if value["encoding"] is None:
        return [*lines, f"no file is written: {value['reason']}"]
    if layer is None:
        return lines
    if value["positions"]["modes"] and value["found"]["modes"]:
        lines.append("the file also has the periods in how tokens are distributed over positions")
    elif value["positions"]["modes"]:
        lines.append("all that the file has comes from how tokens are distributed over positions")
    if life_limit is not None:
        times = life_limit / value["found"]["lags"]
        lines.append(
            f"half-lives in the file are {life_limit:,.0f} tokens at most, {times:.0f} times the "
            "lags: what lasts longer, or does not decay, has that"
        )
    return lines


def _distances(card: dict[str, Any]) -> str:
    origin = card["origin"]
    where = f" of {origin['source']}" if origin.get("source") else ""
    metric = f" {origin['metric']}" if origin.get("metric") else ""
    least = str(card["minimises"])
    meant = next((words for name, words in _LEAST.items() if least.startswith(name)), "")
    return f"{card['estimator']}{metric}{where}; minimises {least}{meant}"


def _size(card: dict[str, Any]) -> str:
    shape = " x ".join(f"{size:,}" for size in card["shape"])
    dense = card["reach"] * card["dimension"]
    return (
        f"{shape} positions, dimension {card['dimension']:,}, rank {card['rank']}: "
        f"{card['stored']:,} numbers stored, a full table has {dense:,}"
    )


def _rotation(card: dict[str, Any]) -> str:
    if card["rotation"] is None:
        return "none: the fitted directions come first, the other coordinates are 0"
    return f"into all {card['dimension']:,} coordinates by seed {card['rotation']}"


def _about_masked(card: dict[str, Any]) -> str:
    masked = card["origin"]["masked"]
    if not masked:
        return "none: every position was measured"
    return f"{_many(masked)} {_RULES[card['masked_rule']]}{_grid(card)}: {_some_runs(masked)}"


def _about_projected(card: dict[str, Any]) -> str | None:
    found = card["origin"]["projected"]
    if not found:
        return None
    return f"{_many(found)} by what little was counted there{_grid(card)}: {_some_runs(found)}"


def _end(card: dict[str, Any]) -> str:
    last = ", ".join(str(size - 1) for size in card["shape"])
    if card["beyond"] == "interpolate":
        return (
            f"{card['length']:,} positions stretched to {card['reach']:,} by interpolation, "
            f"positions past {last} are refused with an error"
        )
    return _BEYOND[card["beyond"]].format(last=last)


def _bins(card: dict[str, Any]) -> str | None:
    bins = card["origin"].get("bins")
    if bins is None:
        return None
    return f"{len(bins['starts'])} bins ({bins['rule']}): every position has the row of its bin"


def _many(runs: list[list[int]]) -> str:
    count = sum(last - first + 1 for first, last in runs)
    return f"{count:,} position{'s' if count > 1 else ''}"


def _grid(card: dict[str, Any]) -> str:
    return " (row-major)" if len(card["shape"]) > 1 else ""


def _some_runs(runs: list[list[int]], most: int = 8) -> str:
    more = f" and {len(runs) - most} more runs, all in the card" if len(runs) > most else ""
    return _runs(runs[:most]) + more


def classification_text(value: dict[str, Any], *, step: bool) -> str:
    """Return the name, the blocks in a line each, and the warnings."""
    lines = [value["named"]]
    if step and not value["has_generator"]:
        lines.append(f"no real generator: {value['reason']}")
    if value["structure"]:
        lines += ["", _block_table(value["structure"]), ""]
    words = {"causal": "for t >= 0", "both": "for all t"}
    ways = [words[way] for way in words if value["bounded"][way]]
    lines.append(f"bounded {ways[-1]}" if ways else "not bounded for t >= 0")
    own = value["step"] if step else value
    far = own["distance"]
    lines.append(
        f"at tolerance {own['tolerance']:.1e} of |X|; the nearest more special structure "
        + ("is not near" if far is None else f"that was found is {far:.1e} away")
        + f"; departure from normality {own['departure']:.3g}"
    )
    lines += _other_readings(own)
    lines += [f"warning: {sentence}" for sentence in value["warnings"]]
    return "\n".join(lines)


def _other_readings(known: dict[str, Any]) -> list[str]:
    """Return what else a matrix may be, where that cannot be decided."""
    if known["verdict"] == "settled":
        return []
    lines = [f"which structure it is cannot be told: this one is {known['residual']:.1e} away"]
    return lines + [
        f"  or {one['blocks']}, {one['residual']:.1e} away (tolerance {one['tolerance']:.1e})"
        for one in known["alternatives"]
    ]


def _block_table(found: list[dict[str, Any]]) -> str:
    header = ["kind", "decay", "frequency", "order", "count", "error", "condition"]
    rows = [
        [
            one["kind"],
            f"{one['decay']:.6g}",
            f"{one['frequency']:.6g}",
            one["order"],
            one["count"],
            f"{one['backward_error']:.1e}",
            f"{one['condition']:.3g}",
        ]
        for one in found
    ]
    return table(header, rows)


STRESS_NOTES = {
    "raw": "as published; scale decides it before anything else",
    "squared": "of squared distances",
    "scale_part": "what of the raw stress is due to scale alone",
    "nonmetric": "of the order of the distances alone",
    "simplex": "what equal distances between all positions leave",
    "skill": "1 - scale-free / simplex",
}


def stress_text(value: dict[str, Any]) -> str:
    """Return the stresses in a line each, what noise has to do with them, and what they come to."""
    if value["scale_free"] is None:
        return f"{value['called']} has no debiased stress here, since {value['reason']}."
    keys = [key for key in NUMBERS if not key.endswith("interval")]
    lift = f"the {value['lift']} lift ({value['note']})"
    lines = [f"{value['called']} under {lift}, {value['estimator']} distances"]
    lines += [_stress_line(key, value) for key in keys if key in value]
    lines += [f"{key}: {reason}" for key, reason in value["reasons"].items()]
    lines += [_rows_line(value), _noise_line(value), value["conclusion"]]
    return "\n".join(line for line in lines if line)


def _rows_line(value: dict[str, Any]) -> str:
    """Say which rows of a table were compared, and which stand apart."""
    rows = value.get("rows")
    if rows is None:
        return ""
    said = f"{rows_used(rows)}."
    return said if rows["warning"] is None else f"{said} {rows['warning']}"


def _stress_line(key: str, value: dict[str, Any]) -> str:
    ends = {"scale_free": "interval", "squared": "squared_interval"}.get(key)
    bounds = value.get(ends) if ends is not None else None
    shown = "" if bounds is None else f" [{cell(bounds[0])}, {cell(bounds[1])}] sampling only"
    note = STRESS_NOTES.get(key, "")
    return f"{key.replace('_', '-'):<11} {cell(value[key])}{shown}{note and f'  ({note})'}"


def _noise_line(value: dict[str, Any]) -> str:
    null, core = value.get("null"), value.get("core")
    if null is not None:
        found = null["stress"]
        return (
            f"noise: its tokens dealt at random have {percent(null['share'])} of the mean squared "
            f"distance; against one deal of them the same encoding has raw stress "
            f"{cell(found['raw'])}, scale-free {cell(found['scale_free'])}, and equal distances "
            f"between all positions have {cell(found['simplex'])}"
        )
    if core is not None:
        mean = value["mean_squared"]
        low, high = mean["interval"]
        return (
            f"noise: taken out on {core} core positions (counted well enough), where the mean "
            f"squared distance is {cell(mean['plugin'])} straight from the counts (plug-in) and "
            f"{cell(mean['debiased'])} [{cell(low)}, {cell(high)}] without noise (debiased); "
            f"directions that exceed noise: effective rank {value['rank']}"
        )
    return ""


def grid_text(made: Any, mean: Mean, *, verbose: bool = False) -> str:
    """Return how a grid stands: one row for each task and encoding; `mean` is that over seeds."""
    lines = [f"{made.name}: {made.done} of {made.cells} cells, {made.cpu_seconds:,.0f} s of CPU"]
    header = ["task", "encoding", "chosen", "seeds", "score", "area", "steps to 90 %", "ceiling"]
    rows = [_grid_row(one, mean) for one in made.reported]
    if rows:
        lines.append(table(header, rows))
        lines.append("mean over seeds [95 % interval of the mean]")
    if any(one["at_edge"] for one in made.reported):
        lines.append("* the best learning rate is the first or last that was tried")
    if verbose:
        lines += [_sweep_line(one) for one in made.selected if one.tried]
    lines += [f"diverged: {words}" for words in made.diverged]
    lines += [f"failed: {words}" for words in made.failed]
    return "\n".join(lines)


def _sweep_line(one: Any) -> str:
    """Return every setting of a sweep with the mean over its seeds that it was chosen by."""
    lines = []
    for setting in one.tried:
        given = {key: value for key, value in setting.items() if key != "mean"}
        mean = "diverged" if setting["mean"] is None else f"{setting['mean']:.3f}"
        lines.append(f"{_setting(given)}: {mean}")
    return f"tried for {one.task}, {one.encoding}: {'; '.join(lines)}"


def _setting(given: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in given.items()
    )


def _grid_row(one: dict[str, Any], mean: Mean) -> list[Any]:
    scores = [value for value in one["scores"] if value is not None]
    areas = [value for value in one["areas"] if value is not None]
    steps = ["never" if value is None else str(value) for value in one["steps_to_90"]]
    steps = ["never"] if set(steps) == {"never"} else steps
    chosen = _setting(one["choice"])
    return [
        one["task"],
        one["encoding"],
        chosen + ("*" if one["at_edge"] else ""),
        len(one["scores"]),
        _span(scores, mean),
        _span(areas, mean),
        " ".join(steps),
        one["ceiling"],
    ]


def _span(values: list[float], mean: Mean) -> str:
    """Return the mean over seeds with its 95 % interval; one seed has none."""
    if not values:
        return "-"
    made = mean(values)
    ends = "" if made.interval is None else " [{:.3f}, {:.3f}]".format(*made.interval)
    return f"{made.mean:.3f}{ends}"
