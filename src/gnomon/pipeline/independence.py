"""What speaks against the independence of folds, on which every figure of a survey rests.

Where rows repeat each other in several folds, their rarest words seem to drift with the position
far more than common ones do: a rare word is at the same few positions in every copy, and in no
other document. Equal documents share a fold anyway; parts and near copies do so only by --group.

Copies of templates that share a vocabulary have no such words. They are found among the documents
themselves (`gnomon.corpus.near_copies`). A document with k near-copies in other folds adds about k
times its own noise to what seems to be signal, so copies are spoken of where k times the noise of
the plug-in distances is more than the half-width of the mean's interval, or k is a half or more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import NearCopies, PositionCounts
from gnomon.distances import Debiased, Figure, debias, mean_squared
from gnomon.errors import CountsError
from gnomon.pipeline.words import percent

_RARE = (
    "Rare tokens differ between positions far more than common ones, as where rows are parts or "
    "copies of one another"
)
LEAST_SHARE = 0.01
"""Share of documents with a near-copy below which nothing is said."""
MOST_PARTNERS = 0.5
"""Near-copies of a document, on average, from which they are spoken of in any case."""


def rare_drift(
    found: Debiased, counts: PositionCounts, apart: NDArray[np.int64], *, most: float
) -> float:
    """Return how much more the rarest types drift than the rest.

    Copies are everywhere, so where it is more than `most` it is that without the positions `apart`,
    which differ from the rest: words of their own are rare among all words.
    """
    drift = _of_the_rarest(found)
    others = np.setdiff1d(found.positions, apart)
    if drift <= most or not apart.size or len(others) < max(4, len(found.positions) // 2):
        return drift
    keep = np.isin(np.arange(counts.length), others)
    try:
        return _of_the_rarest(debias(counts, draws=0, keep=keep))
    except CountsError:
        return drift


def _of_the_rarest(found: Debiased) -> float:
    return float(found.profile[-3:].max()) if len(found.profile) else 0.0


def caution(
    counts: PositionCounts, mean: Figure, noise: float, *, rare: bool, grouped: bool
) -> str | None:
    """Say what to do where the folds do not look independent, and the verdict may be wrong.

    `noise` is what plug-in distances hold beyond the mean, `rare` whether the rarest types drift
    far more than the others.
    """
    copies = counts.near_copies
    if copies is not None and _matter(copies, mean, noise):
        return (
            f"{percent(copies.share)} of the {copies.looked_at:,} documents looked at are "
            f"near-copies of another ({_families(copies.families)}, alike in far more "
            "tokens than chance gives), so what copies share looks like a finding: survey again "
            "with --group near-copies, which counts each family as one, or with a column that "
            "names their template, before you believe these numbers."
        )
    if not rare:
        return None
    if grouped:
        return (
            f"{_RARE} in different groups: if they may be, survey again with a --group that holds "
            "all that belongs together (contained finds copies by itself) before you believe these "
            "numbers."
        )
    return (
        f"{_RARE}: if they may be, survey again with --group (a column that says what belongs "
        "together, or contained) before you believe these numbers."
    )


def _matter(copies: NearCopies, mean: Figure, noise: float) -> bool:
    """Say whether copies could make up for more than the interval allows."""
    if copies.share < LEAST_SHARE:
        return False
    half = 0.5 * (mean.interval[1] - mean.interval[0])
    return copies.partners >= MOST_PARTNERS or copies.partners * max(noise, 0.0) > half


def _families(count: int) -> str:
    return "one family" if count == 1 else f"{count:,} families"


def doubts(
    counts: PositionCounts,
    mean: Figure,
    ungrouped: PositionCounts | None,
    *,
    rare: float | None,
    seed: int,
) -> tuple[str, ...]:
    """Say what speaks against the independence of folds; `rare` is how far the rarest types drift.

    It is None where that is not too far.
    """
    warnings = []
    if rare is not None:
        warnings.append(
            f"The rarest tokens seem to differ between positions {rare:.1f} times as much as the "
            "others, which is how copies look that were counted as independent; name the groups "
            "with --group."
        )
    tokens = np.asarray(counts.blocks.sum(axis=1)).reshape(-1, counts.folds).sum(axis=0)
    if tokens.max() > 0.5 * tokens.sum():
        warnings.append(
            f"One fold holds {100 * tokens.max() / tokens.sum():.0f} % of the tokens, so one group "
            "outweighs all others: intervals rest on the few others and may be too narrow."
        )
    if ungrouped is not None:
        rng = np.random.default_rng([seed, 9])
        other = mean_squared(debias(ungrouped, rng=rng, draws=8))
        if abs(other.value - mean.value) > 2.0 * max(mean.error, other.error):
            warnings.append(
                f"With the declared groups the mean squared distance is {mean.value:.4f}, with "
                f"every row on its own {other.value:.4f}: rows of a group depend on each other, "
                "and only the former can be trusted."
            )
    return tuple(warnings)
