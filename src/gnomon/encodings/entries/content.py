"""Rules in which content decides: learned clocks, paths, and counted tokens."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry

HEADS = {"heads": 2, "dimension": 4}
ENTRIES: dict[str, Entry] = {
    "fox": Entry(
        maker="content.fox:Fox",
        examples=({**HEADS, "sigma": 0.5},),
        shown={"heads": 8, "dimension": 64},
    ),
    "selective-rope": Entry(
        maker="content.selective:SelectiveRope",
        examples=(HEADS, {**HEADS, "layout": "half", "kernel": 3, "base": 100.0}),
        shown={"heads": 8, "dimension": 64},
    ),
    "path": Entry(
        maker="content.path:Path",
        examples=(HEADS, {**HEADS, "sigma": 0.5, "kernel": 3, "seed": 1}),
        shown={"heads": 8, "dimension": 64},
    ),
    "grape-additive": Entry(
        maker="content.grape:GrapeAdditive",
        examples=(HEADS,),
        shown={"heads": 8, "dimension": 64},
    ),
    "grape-path": Entry(
        maker="content.grape_path:GrapePath",
        examples=({**HEADS, "features": 4},),
        shown={"heads": 8, "dimension": 64},
    ),
    "cope": Entry(
        maker="content.cope:Cope",
        examples=({**HEADS, "rows": 3, "sigma": 0.5},),
        shown={"heads": 8, "dimension": 64},
    ),
    "dape": Entry(
        maker="content.dape:Dape",
        examples=(
            {"inner": {"name": "kerple-log", "heads": 2}, "units": 4},
            {"inner": {"name": "t5", "heads": 2, "sigma": 1.0}, "units": 4, "seed": 1},
        ),
        shown={"inner": {"name": "alibi", "heads": 8}},
    ),
}
