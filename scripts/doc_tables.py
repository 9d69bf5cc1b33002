"""The tables of the texts: each a function of what is known, that returns Markdown.

What is known are the surveys that `gnomon survey --out` wrote, the numbers of the figures, and the
records of the benchmarks. A record that was not made yet gives a sentence with the command that
makes it, in the place of its table.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

Survey = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
SHOWN = "three-regimes"
"""The corpus of the table of encodings: drawn from a seed, so that anyone gets the same one."""
ROUNDING = 1e-12  # an exact isometry leaves float64 dust, which is no figure to quote
WIDTH = 100
VERDICTS = {True: "informative", False: "not informative", None: "undecided"}


@dataclass(frozen=True)
class Facts:
    """What the tables are made of."""

    surveys: list[Survey]
    root: Path = ROOT

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The numbers of the figures."""
        return self._read(self.root / "docs" / "figures" / "figures.json") or {}

    def record(self, name: str) -> dict[str, Any] | None:
        """Return a record of the benchmarks, None where it was not made yet."""
        return self._read(self.root / "benchmarks" / "records" / f"{name}.json")

    def survey(self, name: str) -> Survey:
        """Return the survey of a corpus; a version behind its name does not matter."""
        found = [one for one in self.surveys if one["corpus"]["source"].split(" (")[0] == name]
        if len(found) != 1:
            sys.exit(
                f"There are {len(found)} surveys of {name}, not one; run `gnomon survey --out`."
            )
        return found[0]

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


# -- from surveys --------------------------------------------------------------------------------


def encodings(facts: Facts) -> str:
    """Return a line for each encoding and lift on the three-regime corpus."""
    header = ["encoding", "lift", "d", "raw", "best scale", "scale-free", "skill, plug-in"]
    header += ["debiased", "interval", "violations"]
    return markdown(header, [_encoding(entry) for entry in facts.survey(SHOWN)["encodings"]])


def _encoding(entry: dict[str, Any]) -> list[str]:
    stress, debiased = entry["stress"]["plugin"], entry["stress"]["debiased"]
    numbers = [stress[key] for key in ("raw", "best_scale", "scale_free", "skill")]
    dimension = "-" if entry["dimension"] is None else str(entry["dimension"])
    return [
        entry["label"],
        entry["lift"],
        dimension,
        *map(figure, numbers),
        share(debiased["scale_free"]),
        interval(debiased["interval"]),
        figure(entry["monotonicity"]["violations"]),
    ]


def corpora(facts: Facts) -> str:
    """Return a line for each corpus: its size, and what its plug-in distances are like."""
    header = ["corpus", "documents", "groups", "tokens", "n", "mean chord", "dealt share"]
    header += ["rank", "participation", "violations", "ties", "by lag"]
    return markdown(header, [_corpus(survey) for survey in facts.surveys])


def _corpus(survey: Survey) -> list[str]:
    corpus, geometry = survey["corpus"], survey["geometry"]
    sizes = [f"{corpus[key]:,}" for key in ("rows", "groups", "tokens")]
    axes = " x ".join(map(str, corpus["axes"]))
    order = geometry["monotonicity"]
    return [
        corpus["source"],
        *sizes,
        axes,
        figure(geometry["mean_distance"]),
        figure(geometry["null"]["dealt"]["share"]),
        str(geometry["rank"]["numerical"]),
        figure(geometry["participation"]),
        *map(figure, (order["violations"], order["ties"], geometry["shift_equivariance"])),
    ]


def trusted(facts: Facts) -> str:
    """Return a line for each corpus: what is left when noise is taken out."""
    header = ["corpus", "core", "plug-in", "F, with interval", "H, with interval", "measured"]
    header += ["noise", "effective rank", "participation", "verdict"]
    return markdown(header, [_trusted(survey) for survey in facts.surveys])


def _trusted(survey: Survey) -> list[str]:
    geometry, verdict = survey["geometry"], VERDICTS[survey["verdict"]["informative"]]
    mean, head, found = geometry["mean_squared"], geometry["head"], geometry["debiased"]
    name = survey["corpus"]["source"]
    if found is None:
        return [name, *["-"] * 8, verdict]
    return [
        name,
        f"{found['core']} of {len(survey['positions'])}",
        figure(mean["plugin_core"]),
        f"{share(mean['debiased'])} {interval(mean['interval'])}",
        f"{share(head['mean_squared'])} {interval(head['interval'])}",
        percent(geometry["measured_share"]),
        percent(mean["noise_share"]),
        str(geometry["rank"]["effective"]),
        _with_interval(found["participation"]),
        verdict,
    ]


def _with_interval(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    low, high = found["interval"]
    return f"{found['value']:.2f} [{low:.2f}, {high:.2f}]"


def known_truth(facts: Facts) -> str:
    """Return what the estimates give on the built-in corpus whose truth is known."""
    mean, truth = facts.survey(SHOWN)["geometry"]["mean_squared"], facts.figures["regimes"]["truth"]
    low, high = mean["interval"]
    inside = "holds the truth" if low <= truth <= high else "does not hold the truth"
    rows = [
        ["truth", share(truth), "", ""],
        ["plug-in", share(mean["plugin_core"]), "", _off(mean["plugin_core"], truth)],
        ["debiased", share(mean["debiased"]), f"{interval(mean['interval'])}, which {inside}",
         _off(mean["debiased"], truth)],
    ]  # fmt: skip
    return markdown(["mean squared distance", "value", "interval", "off by"], rows)


def _off(value: float, truth: float) -> str:
    return f"{100 * (value / truth - 1.0):+.1f} %"


def reading(*starts: str) -> Callable[[Facts], str]:
    """Return the lines of the printed survey that begin so, as a block."""

    def lines(facts: Facts) -> str:
        from gnomon.report.text import survey_text

        printed = survey_text(facts.survey(SHOWN)).splitlines()
        first = next(k for k, line in enumerate(printed) if line.startswith("Verdict"))
        last = next((k for k in range(first, len(printed)) if not printed[k]), len(printed))
        whole = [*printed[:first], " ".join(printed[first:last]), *printed[last:]]
        return _block(line for line in whole if line.startswith(starts))

    return lines


def _block(lines: Any) -> str:
    return "\n".join(["```text", *map(_wrapped, lines), "```"])


def _wrapped(line: str) -> str:
    """Return a sentence in lines; columns of a table, which have wide gaps, stay in theirs."""
    if "   " in line:
        return line
    joined = line.replace(" %", "\xa0%")  # a number keeps its unit
    lines = textwrap.fill(joined, WIDTH, break_on_hyphens=False, subsequent_indent="    ")
    return lines.replace("\xa0", " ")


def verdicts(facts: Facts) -> str:
    """Return the verdict of every surveyed corpus but the one that is read line by line."""
    others = [one for one in facts.surveys if one["corpus"]["source"] != SHOWN]
    said = [f"> **{one['corpus']['source']}.** {one['verdict']['summary']}" for one in others]
    return "\n>\n".join(said)


# -- from the figures ----------------------------------------------------------------------------


def counted(facts: Facts) -> str:
    """Return the numbers behind the figure of distances against counts."""
    header = ["tokens at each position", "plug-in", "dealt", "debiased", "interval"]
    rows = []
    for row in facts.figures["counts"]["rows"]:
        known = row["core"] > 1
        bounds = interval((row["low"], row["high"])) if known else "no core positions"
        value = share(row["debiased"]) if known else "-"
        rows.append(
            [f"{row['tokens']:,}", share(row["plugin"]), share(row["dealt"]), value, bounds]
        )
    return markdown(header, rows)


# -- from records --------------------------------------------------------------------------------


def accuracy(facts: Facts) -> str:
    """Return the errors of the estimators on corpora whose truth is known."""
    record = facts.record("estimators")
    if record is None:
        return missing("benchmarks/bench_estimators.py --corpora 20")
    columns = {
        "plug-in": "rmse_plugin",
        "null subtraction": "rmse_null_subtracted",
        "split halves": "rmse_split_half",
        "U": "rmse_u",
        "low rank": "rmse_low_rank",
        "coverage F": "coverage",
        "coverage H": "head_coverage",
    }
    rows = []
    for name, corpora_ in record["families"].items():
        if ", " in name:
            continue  # a sparse family and its tokens a position
        found = list(corpora_.values())
        figures = [share(_mean(found, key)) for key in columns.values()]
        rows.append([name, str(len(found)), share(_mean(found, "true_mean")), *figures])
    return markdown(["family", "corpora", "true mean", *columns], rows)


def sparse(facts: Facts) -> str:
    """Return bias and half-width of the mean, and both coverages, of families of sparse drift."""
    record = facts.record("estimators")
    if record is None:
        return missing("benchmarks/bench_estimators.py --corpora 20")
    families: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name, corpora_ in record["families"].items():
        kind, _, size = name.partition(", ")
        if size:
            families.setdefault(kind, {})[size] = list(corpora_.values())
    rows = [
        [kind, *(_of_mean(found) for found in sizes.values())] for kind, sizes in families.items()
    ]
    sizes = [f"{int(size):,}" for size in next(iter(families.values()))]
    return markdown(["family", *sizes], rows)


def _of_mean(rows: list[dict[str, Any]]) -> str:
    """Return bias and half-width as shares of the true mean, then how many of each are covered."""
    true, found = _mean(rows, "mean_true"), _mean(rows, "mean_found")
    half, covered = _mean(rows, "mean_half_width"), _mean(rows, "mean_covered")
    if not true or found is None or half is None:
        moved = f"{share(found)} ± {share(half)}"
    else:
        moved = f"{100.0 * (found / true - 1.0):+.0f} ± {100.0 * half / true:.0f} %"
    return f"{moved}; {share(covered)}, {share(_mean(rows, 'coverage'))}"


def _mean(rows: list[dict[str, Any]], key: str) -> float | None:
    values = [row[key] for row in rows if row.get(key) is not None]
    return fmean(values) if values else None


def planted(facts: Facts) -> str:
    """Return how often the verdict is right on planted corpora."""
    jobs = _jobs(facts, "planted ")
    if not jobs:
        return missing("benchmarks/bench_verdict.py")
    keys = ("informative", "positions", "recommended")
    rows = [[name, str(len(found)), *(_rate(found, key) for key in keys)] for name, found in jobs]
    header = ["planted", "corpora", "informative right", "positions right", "recommended right"]
    return markdown(header, rows)


def alarms(facts: Facts) -> str:
    """Return how often corpora with and without signal are called informative."""
    without, signal = _jobs(facts, "alarms "), _jobs(facts, "power ")
    if not without and not signal:
        return missing("benchmarks/bench_verdict.py")
    rows = [
        [name, there, str(len(found)), _rate(found, "informative"), _rate(found, "rank")]
        for there, jobs in (("no", without), ("yes", signal))
        for name, found in jobs
    ]
    header = ["corpora", "signal", "number", "called informative", "given a direction"]
    return markdown(header, rows)


def _jobs(facts: Facts, prefix: str) -> list[tuple[str, list[dict[str, Any]]]]:
    record = facts.record("verdict") or {"jobs": {}}
    named = [(name, found) for name, found in record["jobs"].items() if name.startswith(prefix)]
    return [(name.removeprefix(prefix), list(found.values())) for name, found in named if found]


def _rate(rows: list[dict[str, Any]], key: str) -> str:
    return percent(fmean(float(bool(row[key])) for row in rows))


TABLE4 = {"sst2-contained": "SST-2, rows", "sst2-sentences": "SST-2, sentences", "imdb": "IMDB"}


def claims(facts: Facts) -> str:
    """Return our verdict on the published claims, by corpus."""
    found = {label: facts.record(f"table4-{name}") for name, label in TABLE4.items()}
    known = {label: record for label, record in found.items() if record is not None}
    if not known:
        return missing(
            "-m gnomon reproduce table4 CORPUS --json benchmarks/records/table4-NAME.json"
        )
    by_corpus = [{one["claim"]: one["holds"] for one in r["verdicts"]} for r in known.values()]
    names = dict.fromkeys(claim for one in by_corpus for claim in one)
    rows = [[claim, *(one.get(claim, "-") for one in by_corpus)] for claim in names]
    return markdown(["claim", *known], rows)


def missing(command: str) -> str:
    """Say how the record of a table is made."""
    return f"(There is no record of this yet; `python {command}` makes it.)"


# -- cells ---------------------------------------------------------------------------------------


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figure(value: float | None) -> str:
    """Return four significant digits; a dash for what was not measured, a bound for rounding."""
    if value is None:
        return "-"
    return "< 1e-12" if 0 < abs(value) < ROUNDING else f"{value:.4g}"


def share(value: float | None) -> str:
    """Return three decimals, or four where three would show nothing, or a bound for less."""
    if value is None:
        return "-"
    if 0 < value < 0.00005:
        return "< 0.0001"
    return f"{value:.4f}" if 0 < abs(value) < 0.01 else f"{value:.3f}"


def interval(bounds: Any) -> str:
    """Return the two ends of an interval."""
    return "-" if bounds is None else f"[{share(bounds[0])}, {share(bounds[1])}]"


def percent(value: float | None) -> str:
    """Return a share as per cent."""
    return "-" if value is None else f"{100 * value:.0f} %"


def published(facts: Facts) -> str:
    """Return what becomes of a few published claims, from the records of `gnomon reproduce`."""
    from verdict_page import records, summary

    return summary(records(facts.root / "benchmarks" / "records"))


def trained(facts: Facts) -> str:
    """Return what becomes of claims about trained models, from the records of the laboratory."""
    from lab_results import records, summary

    return summary(records(facts.root / "benchmarks" / "records" / "lab"))


TABLES: dict[str, Callable[[Facts], str]] = {
    "accuracy": accuracy,
    "alarms": alarms,
    "claims": claims,
    "corpora": corpora,
    "counted": counted,
    "encodings": encodings,
    "known_truth": known_truth,
    "planted": planted,
    "published": published,
    "sparse": sparse,
    "reading_corpus": reading(f"{SHOWN}:", "n = "),
    "reading_plugin": reading("chord distances", "numerical rank", "violations of"),
    "reading_nulls": reading("dealt null", "shuffled null"),
    "reading_debiased": reading("debiased:"),
    "reading_head": reading("head ("),
    "reading_rank": reading("effective rank", "distinct positions"),
    "reading_encodings": reading("encoding ", "sinusoidal ", "alibi  ", "mds, debiased"),
    "reading_verdict": reading("Verdict:"),
    "trained": trained,
    "trusted": trusted,
    "verdicts": verdicts,
}
