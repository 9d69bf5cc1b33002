"""What the catalogue knows of each encoding: where it is made, examples, and rows of a survey.

Adding an encoding is one class, in the module of its family or in a file of its own, and one
`Entry` here: the class or function that makes it, its card, and *examples* of its parameters. The
examples bring it the whole suite of laws, the agreement of frameworks and the oracle; its card says
which laws those are. Modules are named by strings, and loaded when an entry is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding
    from gnomon.encodings.card import Card


@dataclass(frozen=True, kw_only=True)
class Row:
    """Rows of a survey's stress table: an encoding that needs no training, under its lifts."""

    parameters: dict[str, Any] = field(default_factory=dict)
    """What it is made with beside the dimension, the axes and the seed of the survey."""
    lifts: tuple[str, ...] = ("kernel",)
    label: str = ""
    """What the rows are called; by default the name of the encoding."""
    pairs: bool = True
    """Whether its dimension must be a whole number of pairs on every axis."""
    known: bool = True
    """Whether a corpus may be said to be near it; nothing is near a random table."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One encoding of the catalogue: where its maker and its card are, and examples of it."""

    maker: str
    """`module:name` of the class or function, below `gnomon.encodings`."""
    card: str = ""
    """`module:name` or `module:name:key` of its card; by default the CARD of its maker's module."""
    examples: tuple[dict[str, Any], ...] = field(default=())
    """Parameters with which it can be made from nothing else; empty where data are needed."""
    shown: dict[str, Any] = field(default_factory=dict)
    """Parameters of its picture, beside its defaults (`gnomon.encodings.registry`)."""
    surveyed: tuple[Row, ...] = ()
    """Its rows in a survey; none where training or a choice would decide its distances."""

    @property
    def factory(self) -> Callable[..., Encoding]:
        """Return the class or function that makes the encoding."""
        return found(self.maker)

    def read_card(self) -> Card:
        """Return the card of the encoding with its usual parameters."""
        return found(self.card or f"{self.maker.partition(':')[0]}:CARD")


def found(path: str) -> Any:
    """Return what stands at `module:name`, or under a key of it, below `gnomon.encodings`."""
    module, name, *key = path.split(":")
    value = getattr(importlib.import_module(f"gnomon.encodings.{module}"), name)
    return value[key[0]] if key else value


_HEADS = {"heads": 2, "dimension": 4}
ENTRIES: dict[str, Entry] = {
    # Vectors that are added: functions of the position.
    "sinusoidal": Entry(
        maker="additive:Sinusoidal",
        examples=({"dimension": 8}, {"dimension": 8, "axes": 2}, {"dimension": 12, "axes": 3}),
        surveyed=(Row(),),
    ),
    "ctlpe": Entry(
        maker="additive:Ctlpe",
        card="additive:CTLPE_CARD",
        examples=({"dimension": 8, "unit": 60.0, "origin": 30.5},),
        shown={"unit": 64.0},
    ),
    # Turned queries and keys: rotary encodings, their scalings, and those that decay.
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
        maker="rotary.rope:MAKERS:rope-linear",
        card="rotary.rope:CARDS:rope-linear",
        examples=({"dimension": 8, "factor": 4.0},),
    ),
    "rope-ntk": Entry(
        maker="rotary.rope:MAKERS:rope-ntk",
        card="rotary.rope:CARDS:rope-ntk",
        examples=({"dimension": 8, "factor": 4.0, "layout": "half"},),
    ),
    "rope-dynamic": Entry(
        maker="rotary.rope:MAKERS:rope-dynamic",
        card="rotary.rope:CARDS:rope-dynamic",
        examples=(
            {"dimension": 8, "factor": 2.0, "original_length": 64, "length": 200},
            {"dimension": 8, "factor": 2.0, "original_length": 64},
        ),
        shown={"original_length": 2048, "length": 8192},
    ),
    "rope-yarn": Entry(
        maker="rotary.rope:MAKERS:rope-yarn",
        card="rotary.rope:CARDS:rope-yarn",
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
        maker="rotary.rope:MAKERS:rope-longrope",
        card="rotary.rope:CARDS:rope-longrope",
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
        maker="rotary.rope:MAKERS:rope-llama3",
        card="rotary.rope:CARDS:rope-llama3",
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
        maker="rotary.partial:Proportional",
        card="rotary.partial:PROPORTIONAL_CARD",
        examples=(
            {"dimension": 8, "fraction": 0.5, "layout": "half", "base": 1000000.0},
            {"dimension": 8, "fraction": 0.75, "factor": 2.0},
        ),
    ),
    "m-rope": Entry(
        maker="rotary.axes:MRope",
        card="rotary.axes:MROPE_CARD",
        examples=(
            {"dimension": 16, "sections": (4, 2, 2)},
            {"dimension": 16, "sections": (3, 3, 2), "arrangement": "interleaved", "base": 100.0},
            {"dimension": 16, "sections": (2, 3, 3), "arrangement": "spatial-first"},
            {"dimension": 12, "sections": (2, 1), "axes": 2, "fraction": 0.5},
        ),
        shown={"dimension": 128, "sections": (16, 24, 24)},
    ),
    "rope-mixed": Entry(
        maker="rotary.axes:Mixed",
        card="rotary.axes:MIXED_CARD",
        examples=({"dimension": 8, "heads": 2}, {"dimension": 12, "heads": 3, "axes": 3}),
    ),
    "rope-pixel": Entry(
        maker="rotary.axes:Pixel",
        card="rotary.axes:PIXEL_CARD",
        examples=({"dimension": 8}, {"dimension": 16, "axes": 1, "fraction": 0.5}),
    ),
    "rope-patches": Entry(
        maker="rotary.axes:Patches",
        card="rotary.axes:PATCHES_CARD",
        examples=({"dimension": 8}, {"dimension": 12, "axes": 3}),
    ),
    "mla": Entry(
        maker="rotary.partial:Mla",
        card="rotary.partial:MLA_CARD",
        examples=(
            {"dimension": 12, "content_dimension": 8},
            {"dimension": 8, "content_dimension": 4, "layout": "half", "base": 500.0},
        ),
    ),
    "xpos": Entry(
        maker="rotary.decay:XPos",
        card="rotary.decay:XPOS_CARD",
        examples=(
            {"dimension": 8},
            {"dimension": 8, "layout": "half", "gamma": 0.8, "scale_base": 64.0, "base": 500.0},
        ),
    ),
    "retnet": Entry(
        maker="rotary.decay:RetNet",
        card="rotary.decay:RETNET_CARD",
        examples=(
            {"dimension": 8, "heads": 2},
            {"dimension": 8, "heads": 2, "layout": "half", "spacing": "open"},
            {"dimension": 8, "heads": 2, "gammas": (0.9, 1.0)},
        ),
        shown={"heads": 8},
    ),
    "fope": Entry(
        maker="rotary.variants:Fope",
        card="rotary.variants:FOPE_CARD",
        examples=(
            {"dimension": 8, "length": 512, "gain": 1.0},
            {"dimension": 16, "length": 64, "heads": 2, "gain": 1.0, "layout": "half", "seed": 3},
        ),
        shown={"length": 2048},
    ),
    "rope-plus-plus": Entry(
        maker="rotary.variants:RopePlusPlus",
        card="rotary.variants:PLUS_CARD",
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
        maker="rotary.axes:RopeTime",
        card="rotary.axes:TIME_CARD",
        examples=(
            {"dimension": 8, "shortest": 1.0, "longest": 365.0, "unit": 86400.0},
            {"dimension": 8, "layout": "half", "shortest": 2.5, "longest": 4000.0},
        ),
        shown={"shortest": 4.0, "longest": 1024.0},
    ),
    "pope": Entry(
        maker="rotary.variants:Pope",
        card="rotary.variants:POPE_CARD",
        examples=({"dimension": 8, "heads": 2, "start": "uniform"},),
        shown={"heads": 8},
    ),
    # Transforms by one-parameter groups with generators of their own.
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
        maker="generators.dense:Liere",
        card="generators.dense:LIERE_CARD",
        examples=(
            {"dimension": 8, "block": 4, "spread": 0.5},
            {"dimension": 6, "block": 3, "axes": 2, "heads": 2, "spread": 0.5},
        ),
    ),
    "string-cayley": Entry(
        maker="generators.string:CayleyString",
        card="generators.string:CAYLEY_CARD",
        examples=(
            {"dimension": 8, "spread": 0.3},
            {"dimension": 8, "axes": 2, "heads": 2, "spread": 0.2, "layout": "half"},
        ),
    ),
    "string-circulant": Entry(
        maker="generators.string:CirculantString",
        card="generators.string:CIRCULANT_CARD",
        examples=({"dimension": 8}, {"dimension": 7, "axes": 2, "heads": 2, "base": 100.0}),
    ),
    "comrope": Entry(
        maker="generators.dense:ComRope",
        card="generators.dense:COMROPE_CARD",
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
    # Biases on logits that depend on positions alone.
    "alibi": Entry(
        maker="biases.linear:Alibi",
        card="biases.linear:ALIBI_CARD",
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
        maker="biases.kernels:KerpleLog",
        card="biases.kernels:KERPLE_CARDS:kerple-log",
        examples=({"heads": 2}, {"heads": 3, "scale": (0.5, 2.0, 1.0), "rate": 0.1}),
        shown={"heads": 8},
    ),
    "kerple-power": Entry(
        maker="biases.kernels:KerplePower",
        card="biases.kernels:KERPLE_CARDS:kerple-power",
        examples=({"heads": 2}, {"heads": 3, "scale": 0.01, "exponent": (0.5, 1.0, 1.5)}),
        shown={"heads": 8},
    ),
    "fire": Entry(
        maker="biases.learned:Fire",
        card="biases.learned:FIRE_CARD",
        examples=({"heads": 2, "hidden": 8, "threshold": 4.5, "rate": 2.0, "seed": 5},),
        shown={"heads": 8},
    ),
    "sandwich": Entry(
        maker="biases.kernels:Sandwich",
        card="biases.kernels:SANDWICH_CARD",
        examples=({"heads": 3, "vector_dimension": 8},),
        shown={"heads": 8},
    ),
    "mlp-bias": Entry(
        maker="biases.learned:MlpBias",
        card="biases.learned:MLP_CARD",
        examples=(
            {"heads": 2, "hidden": 6, "logarithmic": True, "seed": 1},
            {"heads": 2, "hidden": 8, "depth": 1, "axes": 2, "seed": 4},
        ),
        shown={"heads": 8, "logarithmic": True},
    ),
    "decay-time": Entry(
        maker="biases.linear:DecayTime",
        card="biases.linear:TIME_CARD",
        examples=(
            {"heads": 3, "shortest": 1.0, "longest": 30.0, "unit": 86400.0},
            {"heads": 2, "shortest": 20.0, "longest": 300.0, "symmetric": True},
        ),
        shown={"heads": 8, "shortest": 1.0, "longest": 64.0},
    ),
    # Logits in which queries and keys meet vectors of their lag.
    "shaw": Entry(
        maker="relative:Shaw",
        card="relative:SHAW_CARD",
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
        maker="relative:TransformerXL",
        card="relative:XL_CARD",
        examples=(
            {"dimension": 8, "heads": 2},
            {"dimension": 8, "heads": 3, "model_dimension": 6, "base": 100.0, "sigma": 0.3},
        ),
        shown={"heads": 8},
    ),
    "deberta": Entry(
        maker="relative:Deberta",
        card="relative:DEBERTA_CARD",
        examples=(
            {"dimension": 8, "heads": 2, "largest_lag": 16},
            {"dimension": 8, "heads": 2, "largest_lag": 40, "buckets": 16, "sigma": 1.0},
        ),
        shown={"heads": 8, "largest_lag": 512},
    ),
    "wavelet": Entry(
        maker="relative:Wavelet",
        card="relative:WAVELET_CARD",
        examples=({"dimension": 8, "scales": 4},),
    ),
    # Rules in which content decides: learned clocks, paths, and counted tokens.
    "fox": Entry(
        maker="content.gates:Fox",
        card="content.gates:FOX_CARD",
        examples=({**_HEADS, "sigma": 0.5},),
        shown={"heads": 8, "dimension": 64},
    ),
    "selective-rope": Entry(
        maker="content.paths:SelectiveRope",
        card="content.paths:SELECTIVE_CARD",
        examples=(_HEADS, {**_HEADS, "layout": "half", "kernel": 3, "base": 100.0}),
        shown={"heads": 8, "dimension": 64},
    ),
    "path": Entry(
        maker="content.paths:Path",
        card="content.paths:PATH_CARD",
        examples=(_HEADS, {**_HEADS, "sigma": 0.5, "kernel": 3, "seed": 1}),
        shown={"heads": 8, "dimension": 64},
    ),
    "grape-additive": Entry(
        maker="content.gates:GrapeAdditive",
        card="content.gates:ADDITIVE_CARD",
        examples=(_HEADS,),
        shown={"heads": 8, "dimension": 64},
    ),
    "grape-path": Entry(
        maker="content.gates:GrapePath",
        card="content.gates:PATH_CARD",
        examples=({**_HEADS, "features": 4},),
        shown={"heads": 8, "dimension": 64},
    ),
    "cope": Entry(
        maker="content.gates:Cope",
        card="content.gates:COPE_CARD",
        examples=({**_HEADS, "rows": 3, "sigma": 0.5},),
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
    # No encoding at all, and encodings around another one.
    "nope": Entry(maker="nope:Nope", examples=({},)),
    "rope-nope-layers": Entry(
        maker="wrappers:Interleaved",
        card="wrappers:LAYERS_CARD",
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
        maker="wrappers:Randomised",
        card="wrappers:RANDOMISED_CARD",
        examples=(
            {"inner": {"name": "rope", "dimension": 8}, "largest": 2048, "length": 64},
            {"inner": {"name": "sinusoidal", "dimension": 8}, "largest": 2048, "length": 64},
            {"inner": {"name": "alibi", "heads": 2}, "largest": 2048, "length": 64},
        ),
        shown={"inner": {"name": "rope", "dimension": 64}},
    ),
    "clock": Entry(
        maker="wrappers:Clock",
        card="wrappers:CLOCK_CARD",
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
    # Vectors that are looked up: random, learned, given, or fitted to a corpus.
    "random": Entry(
        maker="additive:Random",
        card="additive:RANDOM_CARD",
        examples=({"dimension": 8},),
        surveyed=(  # unit normals, and as BERT starts its own table
            Row(parameters={"sigma": 1.0}, label="random, sigma 1", pairs=False, known=False),
            Row(parameters={"sigma": 0.02}, label="random, sigma 0.02", pairs=False, known=False),
        ),
    ),
    "learned": Entry(
        maker="tables:Learned",
        card="tables:LEARNED_CARD",
        examples=({"rows": 64, "dimension": 8, "seed": 1},),
    ),
    "table": Entry(maker="tables:open_table", card="tables:CARD"),
    "mds": Entry(maker="fitted.fitted:mds", card="fitted.fitted:CARDS:mds"),
    "mds-low-rank": Entry(maker="fitted.fitted:low_rank", card="fitted.fitted:CARDS:mds-low-rank"),
    "smacof": Entry(maker="fitted.fitted:smacof", card="fitted.fitted:CARDS:smacof"),
}
"""Every encoding by its name, family by family."""
