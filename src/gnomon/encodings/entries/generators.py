"""Transforms by one-parameter groups with generators of their own."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry

ENTRIES: dict[str, Entry] = {
    "jordan": Entry(
        maker="generators.jordan:Jordan",
        examples=(
            {"dimension": 8, "decay": 0.02, "gain": 0.1},
            {"dimension": 12, "order": 3, "heads": 2, "decay": 0.05, "gain": -0.2, "base": 500.0},
        ),
    ),
    "jordan-scaled": Entry(
        maker="generators.jordan:JordanScaled",
        card="generators.jordan:SCALED",
        examples=({"dimension": 8, "length": 64.0},),
    ),
    "rope-hyperbolic": Entry(
        maker="generators.hyperbolic:Hyperbolic",
        examples=(
            {"dimension": 4, "base": 100.0, "rate": 0.02, "excess": 0.005},
            {"dimension": 4, "heads": 2, "rate": 0.05, "damping": "own"},
        ),
    ),
    "generator": Entry(
        maker="generators.given:Given",
        examples=(
            {
                "blocks": [
                    {"decay": -0.05, "order": 3, "gain": 0.5},
                    {"decay": -0.1, "frequency": 0.3},
                    {"decay": -0.02, "frequency": 0.7, "order": 2, "gain": -0.2},
                    {"decay": -0.08},
                ],
            },
            {
                "blocks": [{"frequency": 0.5}, {"frequency": 0.01}],
                "basis": [[1, 2, 0, 0], [0, 1, 0, 1], [0, 0, 2, 1], [1, 0, 0, 1]],
            },
        ),
    ),
    "liere": Entry(
        maker="generators.liere:Liere",
        examples=(
            {"dimension": 8, "block": 4, "spread": 0.5},
            {"dimension": 6, "block": 3, "axes": 2, "heads": 2, "spread": 0.5},
        ),
    ),
    "string-cayley": Entry(
        maker="generators.cayley:CayleyString",
        examples=(
            {"dimension": 8, "spread": 0.3},
            {"dimension": 8, "axes": 2, "heads": 2, "spread": 0.2, "layout": "half"},
        ),
    ),
    "string-circulant": Entry(
        maker="generators.circulant:CirculantString",
        examples=({"dimension": 8}, {"dimension": 7, "axes": 2, "heads": 2, "base": 100.0}),
    ),
    "comrope": Entry(
        maker="generators.comrope:ComRope",
        examples=(
            {"dimension": 8, "block": 4, "axes": 2, "spread": 0.3},
            {"dimension": 8, "block": 4, "axes": 2, "heads": 2, "variant": "axis-partition"},
        ),
    ),
    "grape": Entry(
        maker="generators.grape:Grape",
        examples=(
            {"dimension": 8},
            {"dimension": 8, "planes": 1, "heads": 2, "layout": "half", "base": 100.0},
        ),
    ),
}
