"""Biases on logits that depend on positions alone."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry, Row

ENTRIES: dict[str, Entry] = {
    "alibi": Entry(
        maker="biases.alibi:Alibi",
        examples=(
            {"heads": 3},
            {"heads": 4, "symmetric": True},
            {"heads": 2, "axes": 2},
            {"heads": 2, "slopes_after": (0.5, 0.125)},
        ),
        surveyed=(Row(parameters={"heads": 8}, lifts=("kernel", "slope")),),
    ),
    "t5": Entry(
        maker="biases.t5:T5",
        examples=(
            {"heads": 2},
            {"heads": 3, "buckets": 8, "largest_lag": 20, "bidirectional": False, "seed": 1},
        ),
        shown={"heads": 8},
    ),
}
