"""The spectrum of an encoding as one self-contained page: its numbers, and its figures.

It is built as the card of an encoding is: nothing is fetched, and no text but the two scripts named
by their SHA-256 can run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.report.figures.places import figure_of
from gnomon.report.figures.spectrum import EXPLAINED, lattice_figures, spectrum_figures
from gnomon.report.page.single import SinglePage

if TYPE_CHECKING:
    from gnomon.spectra import LatticeSpectrum, Spectrum

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
    "tolerance": "told from 0 above, as a part of the largest",
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
    facts = _facts(contents)
    return page.made(
        "spectrum.html", contents=contents, facts=facts, figures=figures, version=version
    )


def _facts(contents: dict[str, Any]) -> list[tuple[str, str]]:
    told = ((key, words) for key, words in FACTS.items() if _told(contents, key))
    return [*((words, _shown(contents[key])) for key, words in told), *_coupling(contents)]


def _told(contents: dict[str, Any], key: str) -> bool:
    """Whether a number is known, and says something."""
    return contents.get(key) is not None and (key != "asymmetry" or contents[key] > 0.0)


def _coupling(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what content was drawn, why it has no condition number, and every bound."""
    made = contents["contraction"]
    if made["norm"] is None:
        return []
    which = "" if made["head"] is None else f", head {made['head']}"
    told = [("drawn content", f"dimension {made['dimension']}, {made['draws']} draws{which}")]
    if made["condition_reason"]:
        told.append(("no ratio of condition numbers", made["condition_reason"]))
    told += [(bound["name"], _bound(bound)) for bound in made["bounds"]]
    if made["bounds_reason"]:
        told.append(("no other bound known", made["bounds_reason"]))
    return told


def _bound(bound: dict[str, Any]) -> str:
    """Return a bound of drawn logits, and whether it was promised."""
    unmet = [name for name, holds in bound["hypotheses"].items() if not holds]
    words = "promised" if bound["applies"] else f"not promised (no {', no '.join(unmet)})"
    reached = f"{_shown(bound['reached_high'])} <= {_shown(bound['high'])}"
    return f"{bound['statement']}, {reached}: {words}, {'met' if bound['holds'] else 'not met'}"


def _shown(value: Any) -> str:
    if not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    plain = value == 0 or SMALL <= abs(value) < LARGE
    return figure_of(value) if plain else f"{value:.3g}"
