"""The bars that the estimators are held to, judged from the record alone.

Text families are all but the small alphabets. A bar on an error compares means over the corpora of
a family, and where it says so every single corpus. Each bar is one line: PASS or FAIL, its limits,
and the families that fail it or else the one nearest to a limit.
"""

from __future__ import annotations

import numpy as np

from families import ALPHABETS, NAMES, SPARSE_NAMES

WEAK = 0.1
"""Largest true mean for which the error is measured against plug-in's."""
NOTHING = 1e-9
"""True distances of equal laws are zero up to rounding."""
STRONG = ("gen 0.5", "gen 1")
TIE = 1.01
"""Errors that differ by less than this factor are the same: corpora are drawn at random."""
COUNTED = 2_000
"""From so many tokens a position on the mean of a sparse family is held to its bars."""
COLUMNS = ("true_mean", "rmse_plugin", "rmse_null_subtracted", "rmse_split_half", "rmse_u",
           "rmse_low_rank", "rmse_zero", "slope", "coverage", "head_coverage", "head_rmse", "rank",
           "detectable", "visible", "participation", "true_participation", "seconds",
           "mean_true", "mean_found", "mean_covered", "mean_half_width")  # fmt: skip


def judged(families):
    """Return every bar with its verdict."""
    every = _rows(families)
    dense = {name: rows for name, rows in every.items() if name not in SPARSE_NAMES}
    text = {name: rows for name, rows in dense.items() if name not in ALPHABETS}
    small = {name: rows for name, rows in dense.items() if name in ALPHABETS}
    sparse = {name: rows for name, rows in every.items() if name in SPARSE_NAMES}
    counted = {name: rows for name, rows in sparse.items() if _tokens(name) >= COUNTED}
    moved = {name: rows for name, rows in counted.items() if _mean(rows, "mean_true") > NOTHING}
    both = {**text, **small}
    weak = {name: rows for name, rows in text.items() if _mean(rows, "true_mean") <= WEAK}
    signal = {name: rows for name, rows in text.items() if _mean(rows, "true_mean") > NOTHING}
    strong = {name: both[name] for name in STRONG if name in both}
    spread = {name: rows for name, rows in both.items() if _mean(rows, "detectable") > 0}
    return [
        _bar("low rank at most 0.03 of plug-in", weak, _ratio("rmse_plugin"), high=0.03),
        _bar("low rank at most 0.7 of null subtraction", text,
             _ratio("rmse_null_subtracted"), high=0.7),
        _bar("low rank never worse than zero", signal, _ratio("rmse_zero"), high=1.0),
        _bar("low rank never worse than zero, in every corpus", signal, _worst_against_zero,
             high=1.0),
        _bar("slope of low rank on the truth", strong, lambda rows: _mean(rows, "slope"),
             low=0.85, high=1.15),
        _bar("never worse than plug-in on small alphabets", small, _ratio("rmse_plugin"), high=TIE),
        _bar("coverage of 95 % intervals", both, lambda rows: _mean(rows, "coverage"),
             low=0.90, high=0.99),
        _bar("coverage of 95 % intervals of the head", both,
             lambda rows: _mean(rows, "head_coverage"), low=0.90, high=0.99),
        _bar("participation ratio within 15 %", spread, _participation, low=0.85, high=1.15),
        _bar("effective rank within one of the detectable", both,
             _rank_gap("detectable"), high=1.0),
        _bar("effective rank within one of the visible", both, _rank_gap("visible"), high=1.0),
        _bar("sparse: bias of the mean within 15 %", moved, _mean_bias, low=-0.15, high=0.15),
        _bar("sparse: coverage of the mean, all corpora", {"sparse": _all(counted)},
             lambda rows: _mean(rows, "mean_covered"), low=0.90, high=0.99),
        _bar("sparse: coverage of pairs", counted, lambda rows: _mean(rows, "coverage"),
             low=0.90, high=0.99),
        _bar("sparse: half-width of the mean at most 25 % of it", moved,
             lambda rows: _mean(rows, "mean_half_width") / _mean(rows, "mean_true"), high=0.25),
        _bar("sparse, 500 tokens: coverage of the mean, all corpora",
             {"sparse": _all({n: r for n, r in sparse.items() if _tokens(n) < COUNTED})},
             lambda rows: _mean(rows, "mean_covered"), low=0.90, high=0.99),
    ]  # fmt: skip


def _tokens(name):
    return int(name.rsplit(", ", 1)[1])


def _all(families):
    return [row for rows in families.values() for row in rows]


def _mean_bias(rows):
    return _mean(rows, "mean_found") / _mean(rows, "mean_true") - 1.0


def _rows(families):
    return {name: list(families[name].values()) for name in NAMES if families.get(name)}


def _mean(rows, key):
    values = [row[key] for row in rows if row[key] is not None]
    return float(np.mean(values)) if values else float("nan")


def _ratio(other):
    return lambda rows: _mean(rows, "rmse_low_rank") / _mean(rows, other)


def _worst_against_zero(rows):
    return max(row["rmse_low_rank"] / row["rmse_zero"] for row in rows)


def _participation(rows):
    """Mean participation over the true mean; a corpus in which nothing was found counts as 0."""
    found = np.mean([row["participation"] or 0.0 for row in rows])
    return float(found / _mean(rows, "true_participation"))


def _rank_gap(key):
    return lambda rows: float(np.mean([abs(row["rank"] - row[key]) for row in rows]))


def _bar(title, rows, value, *, low=-np.inf, high=np.inf):
    """Judge one bar over the families it is about."""
    values = {name: value(own) for name, own in rows.items()}
    failed = {name: one for name, one in values.items() if not low <= one <= high}
    worst = max(values, key=lambda name: max(values[name] - high, low - values[name]), default=None)
    return {
        "bar": title,
        "low": None if np.isinf(low) else low,
        "high": None if np.isinf(high) else high,
        "passed": bool(values) and not failed,
        "worst": None if worst is None else {worst: round(values[worst], 4)},
        "failed": {name: round(one, 4) for name, one in failed.items()},
        "values": {name: round(one, 4) for name, one in values.items()},
    }


def show(families, bars):
    """Print means over corpora, and every bar."""
    rows = _rows(families)
    print("family".ljust(20) + "".join(key.replace("rmse_", "")[:13].rjust(14) for key in COLUMNS))
    for name, own in rows.items():
        means = [_mean(own, key) for key in COLUMNS]
        cells = ["-".rjust(14) if np.isnan(mean) else f"{mean:14.4f}" for mean in means]
        print(name.ljust(20) + "".join(cells))
    for bar in bars:
        limits = f"{bar['low'] or ''}..{bar['high'] or ''}"
        verdict = "PASS" if bar["passed"] else "FAIL"
        detail = bar["failed"] or bar["worst"]
        print(f"{verdict}  {bar['bar']} ({limits}): {detail}")
