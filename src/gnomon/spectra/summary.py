"""A spectrum as JSON and as lines of text: the keys that other tools read, and words for people.

What is not known is null, and `reason` beside it says why. The claims that the numbers are read
against are those of [gu2025].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.results import plain

if TYPE_CHECKING:
    from gnomon.spectra.bounds import Bound
    from gnomon.spectra.lattice import LatticeSpectrum
    from gnomon.spectra.of_encoding import Spectrum

SHOWN = 16
"""Eigenvalues that the longer text shows, and lags: 0, 1, 2, 4 and so on."""
LISTED = 256
"""Eigenvalues and lags that JSON holds at most."""
COLUMNS = (
    "  shared mean   norm (least - most)        rank           condition  effective rank  "
    "share of lag"
)
BETWEEN = {
    "low": "none below",
    "reached_low": "one at or below",
    "reached_high": "one at or above",
    "high": "none above",
}
"""What is known of an end that was not computed."""
ON_A_LINE = "content is drawn along a line; leave the shape out, and pass a direction"


def spectrum_to_dict(found: Spectrum) -> dict[str, Any]:
    """Return plain values: length, rank, largest, smallest, condition_on_range, and the rest."""
    known = found.eigenvalues.values
    return {
        **_numbers(found),
        "toeplitz_share": plain(found.toeplitz_share),
        "contraction": _contraction(found),
        "szego": _szego(found),
        "circulant": None
        if found.circulant is None
        else {"residual": found.circulant.residual, "largest": found.circulant.eigenvalues[0]},
        "listed": {
            "eigenvalues": {"shown": min(len(known), LISTED), "known": len(known)},
            "profile": {"shown": min(found.length, LISTED), "known": found.length},
        },
        "eigenvalues": plain(known[:LISTED]),
        "profile": plain(found.profile[:LISTED]),
    }


def lattice_to_dict(found: LatticeSpectrum) -> dict[str, Any]:
    """Return the same of all places of a picture: its kernel is one of the lag on every axis."""
    known = found.eigenvalues.values
    return {
        **_numbers(found),
        "shape": list(found.shape),
        "isotropy": plain(found.isotropy),
        "toeplitz_share": 1.0,
        "contraction": {"norm": None, "condition": None, "reason": ON_A_LINE},
        "listed": {"eigenvalues": {"shown": min(len(known), LISTED), "known": len(known)}},
        "eigenvalues": plain(known[:LISTED]),
    }


def _numbers(found: Spectrum | LatticeSpectrum) -> dict[str, Any]:
    """Return what both kinds of spectra have: of what, and what its eigenvalues say."""
    state, values = found.conditioning, found.eigenvalues
    return {
        "name": found.name,
        "parameters": plain(found.parameters),
        "length": found.length,
        "head": found.head,
        "kernel": found.note,
        "rank": _rank(found),
        "rank_bound": values.rank_bound,
        "largest": values.largest,
        "smallest": values.smallest,
        "condition_on_range": _condition(found),
        "effective_rank": None if state is None else state.effective_rank,
        "negative": None if state is None else state.negative,
        "tolerance": None if state is None else state.tolerance,
        "between": {name: plain(getattr(values, name)) for name in BETWEEN},
        "method": values.method,
        "reason": values.reason or None,
        "asymmetry": found.asymmetry,
    }


def _rank(found: Spectrum | LatticeSpectrum) -> int | None:
    """Return the rank: all of it, too, where no eigenvalue lies near 0."""
    if found.conditioning is not None:
        return found.conditioning.rank
    low, most = found.eigenvalues.low, found.eigenvalues.high or found.eigenvalues.largest
    if low is None or most is None:
        return None
    return found.length if low > found.length * np.finfo(np.float64).eps * most else None


def _condition(found: Spectrum | LatticeSpectrum) -> float | None:
    if found.conditioning is not None:
        return found.conditioning.condition_on_range
    largest, smallest = found.eigenvalues.largest, found.eigenvalues.smallest
    if largest is None or smallest is None or _rank(found) is None:
        return None
    return largest / smallest


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
        "dimension": made.dimension,
        "draws": made.draws,
        "tied": made.tied,
        "by_mean": by_mean,
        "condition_reason": made.condition_reason or None,
        "bounds": [bound.to_dict() for bound in made.example.bounds],
        "bounds_reason": made.example.bounds_reason or None,
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


def spectrum_text(found: Spectrum, *, verbose: bool = False) -> str:
    """Return the spectrum in words; with the first eigenvalues and the profile of lags."""
    value = spectrum_to_dict(found)
    shown = [f"{found.name} at {found.length} positions: {found.note}", ""]
    shown += _about_eigenvalues(value)
    if found.symbol is not None:
        shown.append(f"symbol               {found.symbol.statement}")
    if found.circulant is not None:
        shown.append(f"nearest circulant    {found.circulant.residual:.3g} of |T| away")
    shown.append(f"Toeplitz share       {_figure(value['toeplitz_share'])}")
    shown += _about_odd(found.asymmetry)
    if verbose:
        shown += [_first_eigenvalues(found), _profile(found)]
    return "\n".join([*shown, "", *_about_coupling(found)])


def lattice_text(found: LatticeSpectrum, *, verbose: bool = False) -> str:
    """Return the spectrum of all places of a picture in words; with the first eigenvalues."""
    value = lattice_to_dict(found)
    shown = [f"{found.name} at {found.length} places: {found.note}", ""]
    shown += _about_eigenvalues(value)
    shown.append(
        f"isotropy             {_figure(value['isotropy'])} of what varies is of the distance alone"
    )
    shown += _about_odd(found.asymmetry)
    return "\n".join([*shown, _first_eigenvalues(found)] if verbose else shown)


def _first_eigenvalues(found: Spectrum | LatticeSpectrum) -> str:
    known = found.eigenvalues.values
    told = " ".join(f"{value:.4g}" for value in known[:SHOWN])
    return f"eigenvalues          {told} (the first {min(SHOWN, len(known))} of {len(known)} known)"


def _profile(found: Spectrum) -> str:
    """Return the profile at lags that double."""
    lags = [0, *(2**k for k in range(SHOWN) if 2**k < found.length)]
    told = ", ".join(f"{lag}: {found.profile[lag]:.4g}" for lag in lags)
    return f"profile by lag       {told}"


def _about_odd(asymmetry: float) -> list[str]:
    words = "of the kernel is odd in the lag and left out of the eigenvalues"
    return [f"asymmetry            {asymmetry:.3g} {words}"] if asymmetry > 0.0 else []


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
    if value["reason"]:
        ends = [(words, value["between"][name]) for name, words in BETWEEN.items()]
        told = "".join(f"; {words} {_figure(end)}" for words, end in ends if end is not None)
        rows.append(f"not all known        {value['reason']}{told}")
    return rows


def _about_coupling(found: Spectrum) -> list[str]:
    made = found.contraction
    if made is None:
        return [f"no coupling: {found.contraction_reason}"]
    tied = "q = k" if made.tied else "q and k apart"
    which = "" if made.head is None else f" of head {made.head}"
    head = f"{made.kind} coupling{which}, {made.length} positions, {made.draws} draws"
    rows = [f"{head} of dimension {made.dimension} ({tied}): after / before", COLUMNS]
    rows += [_at_mean(made.at(float(mean))) for mean in made.means]
    if made.condition_reason:
        rows.append(f"  no condition number: {made.condition_reason}")
    rows += [_about_bound(bound) for bound in made.example.bounds]
    if made.example.bounds_reason:
        words = "no other bound known" if made.example.bounds else "no bound known"
        rows.append(f"  {words}: {made.example.bounds_reason}")
    return rows


def _at_mean(row: dict[str, Any]) -> str:
    """Return one line of the table of ratios."""
    least, most = row["norm_range"]
    norm = "-" if row["norm"] is None else f"{row['norm']:.3g}"
    ranks = f"{row['rank_before']:.4g} to {row['rank_after']:.4g}"
    condition, effective = (_short(row[name]) for name in ("condition", "effective_rank"))
    share = "-" if row["toeplitz_share"] is None else f"{row['toeplitz_share']:.3f}"
    return (
        f"  {row['mean']:<13g} {norm:<7} ({least:.3g} - {most:.3g})".ljust(43)
        + f"{ranks:<14} {condition:<10} {effective:<15} {share}"
    )


def _about_bound(bound: Bound) -> str:
    """Return a theorem, what it says here, and whether its hypotheses hold."""
    unmet = [name for name, holds in bound.hypotheses.items() if not holds]
    words = "promised" if bound.applies else f"not promised (no {', no '.join(unmet)})"
    low = "" if bound.low is None else f"{_figure(bound.low)} <= {_figure(bound.reached_low)}, "
    return (
        f"  {bound.name}: {bound.statement}, {low}{_figure(bound.reached_high)} <= "
        f"{_figure(bound.high)}: {words}, {'met' if bound.holds else 'not met'}"
    )


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _figure(value: Any) -> str:
    return "-" if value is None else f"{value:.6g}"
