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
    "clock": Entry(
        maker="wrappers.clock:Clock",
        examples=(
            {
                "inner": {"name": "rope", "dimension": 8},
                "knots": (0.0, 10.0, 40.0, 900.0),
                "paces": (0.5, -0.25, 0.125),
            },
            {
                "inner": {"name": "decay-time", "half_lives": (8.0, 64.0)},
                "knots": (3.5, 30.0, 700.0),
                "paces": (0.75, -0.5),
            },
        ),
        shown={
            "inner": {"name": "rope", "dimension": 64},
            "knots": (0.0, 8.0, 16.0, 32.0, 64.0),
            "paces": (0.0, -0.6, -1.0, -1.3),
        },
    ),
}
