"""Remarks: what a reader should know before she trusts counts, seen from the counts themselves.

Noise is estimated by comparing folds, so few or unequal groups take its ground away: then a
sentence says so. Nothing is kept or added up here; a sum of counts has the remarks of the sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gnomon.corpus.counts import PositionCounts

_ENOUGH = 100
"""Fewer letters than this may lack most amino acids by chance."""
_MOST = 0.5
"""A fold with more than this share of the tokens outweighs all others."""


def remarks(counts: PositionCounts) -> tuple[str, ...]:
    """Return the sentences that apply, none for counts without oddities."""
    found = (
        _empty_folds(counts),
        _giant(counts),
        _one_type(counts),
        _gaps(counts),
        _nucleotides(counts),
    )
    return tuple(sentence for sentence in found if sentence is not None)


def _empty_folds(counts: PositionCounts) -> str | None:
    empty = int(np.count_nonzero(counts.fold_tokens == 0))
    if empty == 0:
        return None
    groups, folds = counts.groups.estimate(), counts.folds
    known = counts.rows > 0 and groups < folds
    one = "s" if groups != 1 else ""
    begin = (
        f"the corpus has {groups} group{one} and {folds} folds" if known else f"of {folds} folds"
    )
    return (
        f"{begin}{': ' if known else ', '}{empty} hold no token, and noise is hard to tell from "
        "signal; use more documents, or name smaller groups with --group"
    )


def _giant(counts: PositionCounts) -> str | None:
    """Say that one fold holds most tokens; with one group alone the empty folds say it all."""
    folds, tokens = counts.folds, counts.fold_tokens
    share = tokens.max() / max(tokens.sum(), 1)
    if folds <= 2 or share <= _MOST or np.count_nonzero(tokens) == 1:
        return None
    return (
        f"one fold of {folds} holds {100 * share:.0f} % of the tokens, so one group, or a few, "
        "outweigh all others and noise is hard to estimate; name smaller groups with --group"
    )


def _one_type(counts: PositionCounts) -> str | None:
    if counts.types != 1:
        return None
    return "only one type of token occurs, so all positions have the same law"


def _gaps(counts: PositionCounts) -> str | None:
    used = np.flatnonzero(counts.totals)
    missing = np.setdiff1d(np.arange(used[-1] if used.size else 0), used)
    if missing.size == 0:
        return None
    number = "position" if missing.size == 1 else f"{missing.size} positions"
    which = ", ".join(map(str, missing[:5])) + (", ..." if missing.size > 5 else "")
    first = f"{number} {which} holds" if missing.size == 1 else f"{number} ({which}) hold"
    return f"{first} no token although later ones do, and can not be measured"


def _nucleotides(counts: PositionCounts) -> str | None:
    """Say that a protein without any of the other amino acids is probably DNA."""
    names = counts.vocabulary.tokens
    if counts.tokenizer != "protein" or names is None:
        return None
    used = [names[token] for token in np.unique(counts.blocks.indices)]
    if counts.tokens < _ENOUGH or not set(used) <= set("ACGTNX"):
        return None
    return (
        f"of the amino acids only the letters {', '.join(used)} occur, which is how DNA looks; "
        "pass --tokenizer dna if it is"
    )
