"""A spectrum as JSON and as lines of text: the keys that other tools read, and words for people.

What is not known is null, and `reason` beside it says why. The claims that the numbers are read
against are those of [gu2025].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.results import plain

if TYPE_CHECKING:
    from gnomon.spectra.spectrum import Spectrum

LISTED = 256
"""Eigenvalues and lags that JSON holds at most."""


def written(found: Spectrum) -> dict[str, Any]:
    """Return plain values: length, rank, largest, smallest, condition_on_range, and the rest."""
    state, values = found.conditioning, found.eigenvalues
    known = values.values
    return {
        "name": found.name,
        "parameters": plain(found.parameters),
        "length": found.length,
        "head": found.head,
        "kernel": found.note,
        "rank": _rank(found),
        "rank_bound": values.rank_bound,
        "largest": _largest(found),
        "smallest": _smallest(found),
        "condition_on_range": _condition(found),
        "effective_rank": None if state is None else state.effective_rank,
        "negative": None if state is None else state.negative,
        "tolerance": None if state is None else state.tolerance,
        "between": {"low": plain(values.low), "high": plain(values.high)},
        "method": values.method,
        "reason": values.reason or None,
        "toeplitz_share": plain(found.toeplitz_share),
        "asymmetry": found.asymmetry,
        "contraction": _contraction(found),
        "szego": _szego(found),
        "circulant": None
        if found.circulant is None
        else {"residual": found.circulant.residual, "largest": found.circulant.eigenvalues[0]},
        "eigenvalues": plain(known[:LISTED]),
        "profile": plain(found.profile[:LISTED]),
    }


def _largest(found: Spectrum) -> float:
    values = found.eigenvalues
    if found.conditioning is not None:
        return found.conditioning.largest
    return float(values.values.max())


def _smallest(found: Spectrum) -> float:
    values = found.eigenvalues
    if found.conditioning is not None:
        return found.conditioning.smallest
    return float(values.values.min())


def _rank(found: Spectrum) -> int | None:
    """Return the rank: all of it, too, where no eigenvalue lies near 0."""
    if found.conditioning is not None:
        return found.conditioning.rank
    low = found.eigenvalues.low
    floor = found.length * np.finfo(np.float64).eps * _largest(found)
    return found.length if low is not None and low > floor else None


def _condition(found: Spectrum) -> float | None:
    if found.conditioning is not None:
        return found.conditioning.condition_on_range
    return _largest(found) / _smallest(found) if _rank(found) is not None else None


def _contraction(found: Spectrum) -> dict[str, Any]:
    made = found.contraction
    if made is None:
        return {"norm": None, "condition": None, "reason": found.contraction_reason}
    by_mean = [plain(made.at(float(mean))) for mean in made.means]
    first = dict(by_mean[0])
    return {
        **first,
        "kind": made.kind,
        "head": made.head,
        "length": made.length,
        "draws": made.draws,
        "tied": made.tied,
        "by_mean": by_mean,
        "bounds": [bound.to_dict() for bound in made.example.bounds],
        "reason": None,
    }


def _szego(found: Spectrum) -> dict[str, Any]:
    symbol = found.symbol
    if symbol is None:
        return {"applies": False, "statement": "there is no kernel of the lag alone, so no symbol"}
    return {
        "applies": symbol.applies,
        "statement": symbol.statement,
        "source": symbol.source,
        "low": plain(symbol.low),
        "high": plain(symbol.high),
        "masses": len(symbol.masses),
        "distance": plain(found.szego_distance),
    }


def lines(found: Spectrum) -> str:
    """Return the spectrum in words."""
    value = written(found)
    shown = [f"{found.name} at {found.length} positions: {found.note}", ""]
    shown += _about_eigenvalues(value)
    if found.symbol is not None:
        shown.append(f"symbol               {found.symbol.statement}")
    if found.circulant is not None:
        shown.append(f"nearest circulant    {found.circulant.residual:.3g} of |T| away")
    shown.append(f"Toeplitz share       {_figure(value['toeplitz_share'])}")
    if found.asymmetry > 0.0:
        shown.append(
            f"asymmetry            {found.asymmetry:.3g} of the kernel is odd in the lag and left "
            "out of the eigenvalues"
        )
    return "\n".join([*shown, "", *_about_coupling(found)])


def _about_eigenvalues(value: dict[str, Any]) -> list[str]:
    rows = [
        f"largest eigenvalue   {_figure(value['largest'])}",
        f"smallest eigenvalue  {_figure(value['smallest'])}",
    ]
    if value["tolerance"] is not None:
        above = f" above {value['tolerance']:.1e} of the largest"
        bound = f", at most {value['rank_bound']}" if value["rank_bound"] < value["length"] else ""
        rows += [
            f"rank                 {value['rank']} of {value['length']}{above}{bound}",
            f"effective rank       {value['effective_rank']:.4g}",
            f"condition on range   {_figure(value['condition_on_range'])}",
            f"negative             {value['negative']}",
        ]
    low, high = value["between"]["low"], value["between"]["high"]
    if value["reason"]:
        sides = [("none below", low), ("none above", high)]
        ends = "".join(f"; {words} {_figure(end)}" for words, end in sides if end is not None)
        rows.append(f"not all known        {value['reason']}{ends}")
    return rows


def _about_coupling(found: Spectrum) -> list[str]:
    made = found.contraction
    if made is None:
        return [f"no coupling: {found.contraction_reason}"]
    tied = "q = k" if made.tied else "q and k apart"
    which = "" if made.head is None else f" of head {made.head}"
    head = f"{made.kind} coupling{which}, {made.length} positions, {made.draws} draws ({tied})"
    rows = [
        f"{head}: after / before",
        "  shared mean   norm (least - most)        condition  effective rank  share of lag",
    ]
    for k, mean in enumerate(made.means):
        least, most = made.norm_range[k]
        rows.append(
            f"  {mean:<13g} {made.norm[k]:<7.3g} ({least:.3g} - {most:.3g})".ljust(43)
            + f"{made.condition[k]:<10.3g} {made.effective_rank[k]:<15.3g} "
            f"{made.toeplitz_share[k]:.3f}"
        )
    for bound in made.example.bounds:
        unmet = [name for name, holds in bound.hypotheses.items() if not holds]
        words = "promised" if bound.applies else f"not promised (no {', no '.join(unmet)})"
        rows.append(
            f"  {bound.name}: {bound.statement}, {_figure(bound.reached_high)} <= "
            f"{_figure(bound.high)}: {words}, {'met' if bound.holds else 'not met'}"
        )
    return rows


def _figure(value: Any) -> str:
    return "-" if value is None else f"{value:.6g}"
