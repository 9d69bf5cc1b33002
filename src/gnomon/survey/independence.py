"""What speaks against the independence of folds, on which every figure of a survey rests.

Where rows repeat each other in several folds, their rarest words seem to drift with the position
far more than common ones do: a rare word is at the same few positions in every copy, and in no
other document. Equal documents share a fold anyway; parts and near copies do so only by --group.
"""

from __future__ import annotations

import numpy as np

from gnomon.corpus.counts import PositionCounts
from gnomon.geometry.debiased.estimate import Debiased, debias
from gnomon.geometry.debiased.intervals import Figure, mean_squared


def rare_drift(found: Debiased) -> float:
    """Return how much more the rarest types drift than the rest."""
    return float(found.profile[-3:].max()) if len(found.profile) else 0.0


def caution(found: Debiased, *, most: float, grouped: bool) -> str | None:
    """Say what to do where the folds do not look independent, and the verdict may be wrong."""
    if rare_drift(found) <= most:
        return None
    if grouped:
        return (
            "Rows of different groups look like parts or copies of one another, so what is counted "
            "twice looks like a finding: survey again with a --group that holds all that belongs "
            "together (contained finds copies by itself) before you believe these numbers."
        )
    return (
        "Rows look like parts or copies of one another, so what is counted twice looks like a "
        "finding: survey again with --group (a column that says what belongs together, or "
        "contained) before you believe these numbers."
    )


def doubts(
    counts: PositionCounts,
    found: Debiased,
    mean: Figure,
    ungrouped: PositionCounts | None,
    *,
    most: float,
    seed: int,
) -> tuple[str, ...]:
    """Say what speaks against the independence of folds."""
    warnings = []
    if rare_drift(found) > most:
        warnings.append(
            f"The rarest tokens seem to differ between positions {rare_drift(found):.1f} times as "
            "much as the others, which is how copies look that were counted as independent; name "
            "the groups with --group."
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
