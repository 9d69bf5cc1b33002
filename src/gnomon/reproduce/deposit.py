"""`gnomon reproduce deposit`: which encodings learn position, and whether one head does it.

Three grids: fourteen encodings on four tasks; distance at four layers of sixteen heads; and
distance at several learning rates, where curvature of the loss and contraction of logits are
measured as well. The claims are those of [gu2025], whose released code leaves several of them
untested; here all encodings have the same model, masks, data, budget and sweep.
"""

from __future__ import annotations

from gnomon.corpus import Progress
from gnomon.reproduce import deposit_claims
from gnomon.reproduce.claims import Reproduction
from gnomon.reproduce.lab_run import grid_named, ran, reproduced
from gnomon.reproduce.lab_tables import Table
from gnomon.reproduce.optimisation import correlations_of, helps, measured
from gnomon.reproduce.samples import Options

TITLE = "which encodings learn position, and do they put it into one head?"
GRIDS = ("deposit", "deposit-large", "deposit-rates")
PUBLISHED = {
    ("distance", "rope-sinusoidal"): 92.64,
    ("distance", "mla"): 88.34,
    ("counting", "mla"): 97.41,
    ("counting", "nope"): 77.69,
    ("counting", "rope-sinusoidal"): 69.43,
}
"""What the released code calls rope adds sinusoids to its input, too: its values stand there."""
NOTES = (
    (
        "published accuracies are of six layers of sixteen heads, sequences of 120 and one seed, "
        "with other masks, wiring and slopes; the grid deposit-paper has that size without those "
        "faults."
    ),
    "at this size a claim that fails is not refuted for larger models: it does not appear here.",
    "rates are chosen by area on other seeds; every learned table is offered a rate of its own.",
    (
        "with five seeds and several comparisons in a claim, intervals are wide: what is open is "
        "open, and a margin below half of its interval could not have been shown."
    ),
    (
        "what the released code calls rope is rope-sinusoidal here; claims name RoPE and are "
        "judged on rope."
    ),
    (
        "rates of deposit-rates that deposit chose are the same runs, looked at every 150 steps "
        "instead of 50: scores and heads are the same, areas are not."
    ),
    (
        "contraction is 1 by definition for vectors that are added, so rotary encodings and others "
        "are two groups of points."
    ),
)


def deposit(options: Options, progress: Progress) -> Reproduction:
    """Run or resume the grids, measure what optimisation needs, and judge."""
    asked = [grid_named(name, options.records) for name in GRIDS]
    grids = [ran(grid, options, progress) for grid in asked]
    tables = [Table(grid) for grid in grids]
    beside = measured(asked[0], tables[0], options.records / "deposit-optimisation", progress)
    claims = [*deposit_claims.claims(tables[:2]), helps(beside)]
    return reproduced(
        "deposit",
        TITLE,
        source="gu2025",
        grids=grids,
        claims=claims,
        notes=NOTES,
        published=PUBLISHED,
        more={"optimisation": beside, "correlations": correlations_of(beside)},
    )
