"""Vectors that are looked up: random, learned, given, or fitted to a corpus."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry, Row

ENTRIES: dict[str, Entry] = {
    "random": Entry(
        maker="additive.random:Random",
        examples=({"dimension": 8},),
        surveyed=(  # unit normals, and as BERT starts its own table
            Row(parameters={"sigma": 1.0}, label="random, sigma 1", pairs=False, known=False),
            Row(parameters={"sigma": 0.02}, label="random, sigma 0.02", pairs=False, known=False),
        ),
    ),
    "learned": Entry(
        maker="additive.learned:Learned", examples=({"rows": 64, "dimension": 8, "seed": 1},)
    ),
    "table": Entry(maker="additive.table_files:open_table", card="additive.table:CARD"),
    "mds": Entry(maker="fitted.fitted:mds", card="fitted.fitted:CARDS:mds"),
    "mds-low-rank": Entry(maker="fitted.fitted:low_rank", card="fitted.fitted:CARDS:mds-low-rank"),
    "smacof": Entry(maker="fitted.fitted:smacof", card="fitted.fitted:CARDS:smacof"),
}
