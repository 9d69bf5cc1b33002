"""Vectors that are added: functions of the position."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry, Row

ENTRIES: dict[str, Entry] = {
    "sinusoidal": Entry(
        maker="additive.sinusoidal:Sinusoidal",
        examples=({"dimension": 8}, {"dimension": 8, "axes": 2}, {"dimension": 12, "axes": 3}),
        surveyed=(Row(),),
    ),
    "ctlpe": Entry(
        maker="additive.ctlpe:Ctlpe",
        examples=({"dimension": 8, "unit": 60.0, "origin": 30.5},),
        shown={"unit": 64.0},
    ),
}
