"""What the sources lead one to expect of each scaling, and whether a model that was run agrees.

Numbers are ratios of perplexity, exp(mean loss of a line - mean loss of the cut line) over the same
tokens of one document: 1 is what the model has where it never reads more than L0 tokens. *Within*
is up to L0, *beyond* from there on. Each document is one reading of a claim.

The cut-offs were written down before any model was run: a model fails where perplexity doubles; it
is harmed where it grows by 5 %; a scaling extends the context where it stays within 10 % of the cut
line; it costs nothing where it stays within 1 %.

- Beyond L0 an unscaled model fails [chen2023].
- Linear interpolation comes with fine-tuning [chen2023], since it crowds neighbours [bloc972023].
- NTK-aware and dynamic scaling are said to do without [bloc972023; emozilla2023].
- YaRN refines them [peng2024]; users expect it to be the best without fine-tuning, too.
- That a scaling costs nothing within L0, and that a longer context helps, users expect as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gnomon.reproduce.claims import spread
from gnomon.reproduce.evidence import Evidence, Judged, Relation, compared
from gnomon.reproduce.scaling_lines import CUT, SCALED, UNSCALED

FAILS, HARMED, EXTENDS, FREE = 2.0, 1.05, 1.10, 1.01
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratios:
    """Ratios of perplexity of one line to the cut line, one for each document."""

    within: Floats
    beyond: Floats


def ratios(losses: Mapping[str, NDArray[np.float32]], trained: int) -> dict[str, Ratios]:
    """Return the ratios of every line but the cut one; `losses` begin with those of token 1."""
    base = losses[CUT].astype(np.float64)
    found = {}
    for line, own in losses.items():
        if line != CUT:
            more = own.astype(np.float64) - base
            found[line] = Ratios(
                within=np.exp(more[:, : trained - 1].mean(axis=1)),
                beyond=np.exp(more[:, trained - 1 :].mean(axis=1)),
            )
    return found


def judged(found: Mapping[str, Ratios]) -> list[Judged]:
    """Return every claim with its evidence."""
    made = [
        _fails(found),
        _harms(found),
        *_extends(found),
        _best(found),
        _free(found),
        _gain(found),
    ]
    return [replace(one, over="documents") for one in made]


def _fails(found: Mapping[str, Ratios]) -> Judged:
    beyond = found[UNSCALED].beyond
    return Judged(
        claim=f"beyond its trained length an unscaled model fails (perplexity times {FAILS:g} or "
        "more)",
        evidence=compared("unscaled, beyond", beyond, ">=", FAILS),
        reason=f"its perplexity is {_words(beyond)} times that of the model cut to its trained "
        "length.",
    )


def _harms(found: Mapping[str, Ratios]) -> Judged:
    within = found["linear"].within
    return Judged(
        claim="linear interpolation without fine-tuning harms positions within the trained length "
        f"({_percent(HARMED)} or more)",
        evidence=compared("linear, within", within, ">=", HARMED),
        reason=f"within the trained length perplexity is {_words(within)} times that of the "
        "unscaled model.",
    )


def _extends(found: Mapping[str, Ratios]) -> list[Judged]:
    named = {"ntk": "NTK-aware", "dynamic": "dynamic NTK"}
    return [
        Judged(
            claim=f"{words} scaling extends the context without fine-tuning (within "
            f"{_percent(EXTENDS)} of the model cut to its trained length)",
            evidence=compared(f"{line}, beyond", found[line].beyond, "<=", EXTENDS),
            reason=f"beyond the trained length perplexity is {_words(found[line].beyond)} times "
            "that of the cut model.",
        )
        for line, words in named.items()
    ]


def _best(found: Mapping[str, Ratios]) -> Judged:
    others = [line for line in SCALED if line != "yarn"]
    rival = np.min([found[line].beyond for line in others], axis=0)
    each = ", ".join(f"{line} {_words(found[line].beyond)}" for line in SCALED)
    return Judged(
        claim="without fine-tuning YaRN is the best scaling beyond the trained length",
        evidence=compared("yarn against the best other, beyond", found["yarn"].beyond, "<", rival),
        reason=f"beyond the trained length: {each}.",
    )


def _free(found: Mapping[str, Ratios]) -> Judged:
    each = ", ".join(f"{line} {_words(found[line].within)}" for line in SCALED)
    return Judged(
        claim="a scaling costs nothing within the trained length (at most "
        f"{_percent(FREE)} of perplexity)",
        evidence=_all(found, "within", "<=", FREE),
        reason=f"within the trained length: {each}.",
    )


def _gain(found: Mapping[str, Ratios]) -> Judged:
    each = ", ".join(f"{line} {_words(found[line].beyond)}" for line in SCALED)
    return Judged(
        claim="a longer context by scaling alone is better than cutting it to the trained length",
        evidence=_all(found, "beyond", "<", 1.0),
        reason=f"beyond the trained length, against the cut model: {each}.",
    )


def _all(
    found: Mapping[str, Ratios], where: str, relation: Relation, bound: float
) -> tuple[Evidence, ...]:
    return tuple(
        piece
        for line in SCALED
        for piece in compared(f"{line}, {where}", getattr(found[line], where), relation, bound)
    )


def _words(values: Floats) -> str:
    return str(spread(values.tolist(), over="documents"))


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):.0f} %"
