"""Turned queries and keys: rotary encodings, their scalings, and those that decay."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry, Row

ENTRIES: dict[str, Entry] = {
    "rope": Entry(
        maker="rotary.rope:Rope",
        examples=(
            {"dimension": 8},
            {"dimension": 8, "layout": "half", "fraction": 0.5, "base": 500000.0},
            {"dimension": 8, "axes": 2},
        ),
        surveyed=(Row(lifts=("kernel", "probe")),),
    ),
    "rope-linear": Entry(
        maker="rotary.flat:MAKERS:rope-linear",
        card="rotary.flat:CARDS:rope-linear",
        examples=({"dimension": 8, "factor": 4.0},),
    ),
    "rope-ntk": Entry(
        maker="rotary.flat:MAKERS:rope-ntk",
        card="rotary.flat:CARDS:rope-ntk",
        examples=({"dimension": 8, "factor": 4.0, "layout": "half"},),
    ),
    "rope-dynamic": Entry(
        maker="rotary.flat:MAKERS:rope-dynamic",
        card="rotary.flat:CARDS:rope-dynamic",
        examples=(
            {"dimension": 8, "factor": 2.0, "original_length": 64, "length": 200},
            {"dimension": 8, "factor": 2.0, "original_length": 64},
        ),
        shown={"original_length": 2048, "length": 8192},
    ),
    "rope-yarn": Entry(
        maker="rotary.flat:MAKERS:rope-yarn",
        card="rotary.flat:CARDS:rope-yarn",
        examples=(
            {"dimension": 16, "factor": 4.0, "original_length": 512},
            {
                "dimension": 16,
                "layout": "half",
                "factor": 8.0,
                "original_length": 512,
                "truncate": False,
                "mscale": 0.7,
                "mscale_all_dim": 1.0,
            },
        ),
        shown={"original_length": 4096},
    ),
    "rope-longrope": Entry(
        maker="rotary.flat:MAKERS:rope-longrope",
        card="rotary.flat:CARDS:rope-longrope",
        examples=tuple(
            {
                "dimension": 8,
                "short_factor": (1.0, 1.05, 1.1, 1.2),
                "long_factor": (1.0, 1.5, 3.0, 6.0),
                "original_length": 64,
                "factor": 4.0,
                "length": length,
            }
            for length in (None, 200)
        ),
        shown={"dimension": 8},
    ),
    "rope-llama3": Entry(
        maker="rotary.flat:MAKERS:rope-llama3",
        card="rotary.flat:CARDS:rope-llama3",
        examples=(
            {
                "dimension": 16,
                "base": 500000.0,
                "layout": "half",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_length": 256,
            },
        ),
        shown={"base": 500000.0, "original_length": 8192},
    ),
    "rope-proportional": Entry(
        maker="rotary.proportional:Proportional",
        examples=(
            {"dimension": 8, "fraction": 0.5, "layout": "half", "base": 1000000.0},
            {"dimension": 8, "fraction": 0.75, "factor": 2.0},
        ),
    ),
    "m-rope": Entry(
        maker="rotary.mrope:MRope",
        examples=(
            {"dimension": 16, "sections": (4, 2, 2)},
            {"dimension": 16, "sections": (3, 3, 2), "arrangement": "interleaved", "base": 100.0},
            {"dimension": 16, "sections": (2, 3, 3), "arrangement": "spatial-first"},
            {"dimension": 12, "sections": (2, 1), "axes": 2, "fraction": 0.5},
        ),
        shown={"dimension": 128, "sections": (16, 24, 24)},
    ),
    "rope-mixed": Entry(
        maker="rotary.mixed:Mixed",
        examples=({"dimension": 8, "heads": 2}, {"dimension": 12, "heads": 3, "axes": 3}),
    ),
    "rope-pixel": Entry(
        maker="rotary.pixel:Pixel",
        examples=({"dimension": 8}, {"dimension": 16, "axes": 1, "fraction": 0.5}),
    ),
    "rope-patches": Entry(
        maker="rotary.patches:Patches", examples=({"dimension": 8}, {"dimension": 12, "axes": 3})
    ),
    "mla": Entry(
        maker="rotary.mla:Mla",
        examples=(
            {"dimension": 12, "content_dimension": 8},
            {"dimension": 8, "content_dimension": 4, "layout": "half", "base": 500.0},
        ),
    ),
    "xpos": Entry(
        maker="rotary.xpos:XPos",
        examples=(
            {"dimension": 8},
            {"dimension": 8, "layout": "half", "gamma": 0.8, "scale_base": 64.0, "base": 500.0},
        ),
    ),
    "retnet": Entry(
        maker="rotary.retnet:RetNet",
        examples=(
            {"dimension": 8, "heads": 2},
            {"dimension": 8, "heads": 2, "layout": "half", "spacing": "open"},
            {"dimension": 8, "heads": 2, "gammas": (0.9, 1.0)},
        ),
        shown={"heads": 8},
    ),
    "fope": Entry(
        maker="rotary.fope:Fope",
        examples=(
            {"dimension": 8, "length": 512, "gain": 1.0},
            {"dimension": 16, "length": 64, "heads": 2, "gain": 1.0, "layout": "half", "seed": 3},
        ),
        shown={"length": 2048},
    ),
    "rope-plus-plus": Entry(
        maker="rotary.plus:RopePlusPlus",
        examples=(
            {"dimension": 8, "heads": 2},
            {
                "dimension": 8,
                "heads": 4,
                "arrangement": "chunked",
                "layout": "half",
                "fraction": 0.5,
                "scaling": {"name": "linear", "factor": 4.0},
            },
        ),
        shown={"heads": 2},
    ),
    "rope-time": Entry(
        maker="rotary.time:RopeTime",
        examples=(
            {"dimension": 8, "shortest": 1.0, "longest": 365.0, "unit": 86400.0},
            {"dimension": 8, "layout": "half", "shortest": 2.5, "longest": 4000.0},
        ),
        shown={"shortest": 4.0, "longest": 1024.0},
    ),
    "pope": Entry(
        maker="rotary.pope:Pope",
        examples=({"dimension": 8, "heads": 2, "start": "uniform"},),
        shown={"heads": 8},
    ),
}
