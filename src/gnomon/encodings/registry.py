"""The catalogue: every encoding by its name.

Adding an encoding is one file and one `Entry` in `ENTRIES`: the name of its class or function, of
its card, and *examples* of its parameters. The examples bring it the whole suite of laws, the
agreement of frameworks and the oracle; its card says which laws those are. Modules are loaded when
an entry is first used.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gnomon.errors import EncodingError, nearest

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
    """Parameters of its picture, beside its defaults (`gnomon.encodings.catalogue.shown`)."""
    surveyed: tuple[Row, ...] = ()
    """Its rows in a survey; none where training or a choice would decide its distances."""

    @property
    def factory(self) -> Callable[..., Encoding]:
        """Return the class or function that makes the encoding."""
        return _found(self.maker)

    def read_card(self) -> Card:
        """Return the card of the encoding with its usual parameters."""
        return _found(self.card or f"{self.maker.partition(':')[0]}:CARD")


def _found(path: str) -> Any:
    """Return what stands at `module:name`, or under a key of it, below `gnomon.encodings`."""
    module, name, *key = path.split(":")
    found = getattr(importlib.import_module(f"gnomon.encodings.{module}"), name)
    return found[key[0]] if key else found


ENTRIES: dict[str, Entry] = {
    "sinusoidal": Entry(
        maker="additive.sinusoidal:Sinusoidal",
        examples=({"dimension": 8}, {"dimension": 8, "axes": 2}, {"dimension": 12, "axes": 3}),
        surveyed=(Row(),),
    ),
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
    "random": Entry(
        maker="additive.random:Random",
        examples=({"dimension": 8},),
        surveyed=(  # unit normals, and as BERT starts its own table
            Row(parameters={"sigma": 1.0}, label="random, sigma 1", pairs=False, known=False),
            Row(parameters={"sigma": 0.02}, label="random, sigma 0.02", pairs=False, known=False),
        ),
    ),
    "learned": Entry(
        maker="additive.learned:Learned", examples=({"rows": 64, "dimension": 8, "seed": 1},)
    ),
    "table": Entry(maker="additive.table_files:open_table", card="additive.table:CARD"),
    "mds": Entry(maker="fitted.fitted:mds", card="fitted.fitted:CARDS:mds"),
    "mds-low-rank": Entry(maker="fitted.fitted:low_rank", card="fitted.fitted:CARDS:mds-low-rank"),
    "smacof": Entry(maker="fitted.fitted:smacof", card="fitted.fitted:CARDS:smacof"),
}


def catalogue(
    *,
    family: str | None = None,
    level: str | None = None,
    kind: str | None = None,
    framework: str | None = None,
) -> list[Card]:
    """Return the card of every encoding there is, or of those that are what is asked for.

    >>> [card.name for card in catalogue()][:2]
    ['sinusoidal', 'rope']
    >>> [card.name for card in catalogue(level="L1", kind="bias")]
    ['alibi']
    """
    from gnomon.encodings.catalogue.choosing import chosen

    cards = [entry.read_card() for entry in ENTRIES.values()]
    return chosen(cards, family=family, level=level, kind=kind, framework=framework)


def encoding(name: str, **parameters: Any) -> Encoding:
    """Return the encoding of that name with these hyper-parameters, or the one in a file.

    >>> encoding("rope", dimension=64).card.level
    'L0 strict group'
    """
    if not isinstance(name, str):
        raise EncodingError(
            f"An encoding is asked for by its name, not by {type(name).__name__}; pass one of the "
            "catalogue, or the path of a file."
        )
    if name not in ENTRIES and _names_table(name):
        return encoding("table", path=name, **parameters)
    factory = entry_of(name).factory
    _check_names(name, inspect.signature(factory), parameters)
    return factory(**parameters)


def _names_table(name: str) -> bool:
    """Whether a name that is no encoding's is that of a file; readers are loaded only then."""
    from gnomon.encodings.additive.table_files import names_table

    return names_table(name)


def entry_of(name: str) -> Entry:
    """Return the entry of a name, or say which was probably meant."""
    if name not in ENTRIES:
        raise EncodingError(f"There is no encoding {name!r}: {nearest(name, ENTRIES)}.")
    return ENTRIES[name]


def takes(name: str) -> tuple[str, ...]:
    """Return the names of the parameters an encoding takes."""
    return tuple(inspect.signature(entry_of(name).factory).parameters)


def _check_names(name: str, signature: inspect.Signature, given: dict[str, Any]) -> None:
    for parameter in given:
        if parameter not in signature.parameters:
            raise EncodingError(
                f"The encoding {name!r} has no parameter {parameter!r}: "
                f"{nearest(parameter, signature.parameters)}."
            )
    for parameter, declared in signature.parameters.items():
        if declared.default is inspect.Parameter.empty and parameter not in given:
            raise EncodingError(f"The encoding {name!r} needs {parameter}; pass {parameter}=... .")
