"""No encoding at all, and encodings around another one."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry

ENTRIES: dict[str, Entry] = {
    "nope": Entry(maker="nope:Nope", examples=({},)),
    "rope-nope-layers": Entry(
        maker="wrappers.layers:Interleaved",
        examples=(
            {"inner": {"name": "rope", "dimension": 8}},
            {"inner": {"name": "rope", "dimension": 8}, "layer": 3},
            {
                "inner": {"name": "rope", "dimension": 8},
                "layer": 1,
                "every": 2,
                "temperature": 0.1,
                "temperature_length": 4,
            },
        ),
        shown={"inner": {"name": "rope", "dimension": 64}},
    ),
    "randomised": Entry(
        maker="wrappers.randomised:Randomised",
        examples=(
            {"inner": {"name": "rope", "dimension": 8}, "largest": 2048, "length": 64},
            {"inner": {"name": "sinusoidal", "dimension": 8}, "largest": 2048, "length": 64},
            {"inner": {"name": "alibi", "heads": 2}, "largest": 2048, "length": 64},
        ),
        shown={"inner": {"name": "rope", "dimension": 64}},
    ),
}
