"""Logits in which queries and keys meet vectors of their lag."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry

ENTRIES: dict[str, Entry] = {
    "shaw": Entry(
        maker="relative.shaw:Shaw",
        examples=(
            {"dimension": 8},
            {
                "dimension": 8,
                "largest_lag": 4,
                "largest_lag_after": 2,
                "with_values": True,
                "sigma": 1.0,
                "seed": 1,
            },
        ),
    ),
    "transformer-xl": Entry(
        maker="relative.transformer_xl:TransformerXL",
        examples=(
            {"dimension": 8, "heads": 2},
            {"dimension": 8, "heads": 3, "model_dimension": 6, "base": 100.0, "sigma": 0.3},
        ),
        shown={"heads": 8},
    ),
    "deberta": Entry(
        maker="relative.deberta:Deberta",
        examples=(
            {"dimension": 8, "heads": 2, "largest_lag": 16},
            {"dimension": 8, "heads": 2, "largest_lag": 40, "buckets": 16, "sigma": 1.0},
        ),
        shown={"heads": 8, "largest_lag": 512},
    ),
    "wavelet": Entry(maker="relative.wavelet:Wavelet", examples=({"dimension": 8, "scales": 4},)),
}
