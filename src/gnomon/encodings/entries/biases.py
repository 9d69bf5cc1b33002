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
    "kerple-log": Entry(
        maker="biases.kerple:KerpleLog",
        card="biases.kerple:CARDS:kerple-log",
        examples=({"heads": 2}, {"heads": 3, "scale": (0.5, 2.0, 1.0), "rate": 0.1}),
        shown={"heads": 8},
    ),
    "kerple-power": Entry(
        maker="biases.kerple:KerplePower",
        card="biases.kerple:CARDS:kerple-power",
        examples=({"heads": 2}, {"heads": 3, "scale": 0.01, "exponent": (0.5, 1.0, 1.5)}),
        shown={"heads": 8},
    ),
    "fire": Entry(
        maker="biases.fire:Fire",
        examples=({"heads": 2, "hidden": 8, "threshold": 4.5, "rate": 2.0, "seed": 5},),
        shown={"heads": 8},
    ),
    "sandwich": Entry(
        maker="biases.sandwich:Sandwich",
        examples=({"heads": 3, "vector_dimension": 8},),
        shown={"heads": 8},
    ),
    "mlp-bias": Entry(
        maker="biases.mlp:MlpBias",
        examples=(
            {"heads": 2, "hidden": 6, "logarithmic": True, "seed": 1},
            {"heads": 2, "hidden": 8, "depth": 1, "axes": 2, "seed": 4},
        ),
        shown={"heads": 8, "logarithmic": True},
    ),
    "decay-time": Entry(
        maker="biases.time:DecayTime",
        examples=(
            {"heads": 3, "shortest": 1.0, "longest": 30.0, "unit": 86400.0},
            {"heads": 2, "shortest": 20.0, "longest": 300.0, "symmetric": True},
        ),
        shown={"heads": 8, "shortest": 1.0, "longest": 64.0},
    ),
}
