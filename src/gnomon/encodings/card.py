"""How an encoding declares itself, beside its formula: its card, examples, and rows of a survey.

The *card* says what an encoding is, who defined it, and what it was verified against. Its *level*
says how far the encoding is from a one-parameter group A(t) = exp(tX) acting on queries and keys;
it is always printed with its words.

    @catalogued(Card(name="rope", ...), examples=({"dimension": 8},))
    @dataclass(frozen=True, kw_only=True, eq=False)
    class Rope(Encoding): ...

makes the entry "rope" of the catalogue (`gnomon.encodings.registry`). Its *examples* bring it the
whole suite of laws, the agreement of frameworks and the oracle; its card says which laws those are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from gnomon.results import Result

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding

LEVELS: Mapping[str, str] = MappingProxyType(
    {
        "L0": "strict group",
        "L1": "augmented group",
        "L2": "fixed feature map, then a group",
        "L3": "group with a learned clock",
        "L4": "path-ordered product",
        "L5": "relative, not separable",
        "L6": "not shift invariant",
        "L7": "content decides the index",
    }
)
FRAMEWORKS = ("numpy", "torch", "jax")
ORACLE = (
    "mpmath, 60 digits",
    "oracle/test_oracle_of_examples.py",
    "test_scores_are_those_of_the_oracle",
)
"""The proof that every encoding has which can be made from its parameters alone."""


def in_words(level: str) -> str:
    """Return a level with its words.

    >>> in_words("L0")
    'L0 strict group'
    """
    return f"{level} {LEVELS[level]}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Proof(Result):
    """One verification: against what, and by which test, as `tests/file.py::test_name`."""

    against: str
    test: str


def proofs_of(*proofs: tuple[str, str, str]) -> tuple[Proof, ...]:
    """Return proofs of triples: against what, the file below tests/, the test in it.

    >>> proofs_of(("the identity", "laws/test_laws.py", "test_x"))[0].test
    'tests/laws/test_laws.py::test_x'
    """
    return tuple(
        Proof(against=against, test=f"tests/{file}::{test}") for against, file, test in proofs
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Card(Result):
    """What an encoding is; `source` is a key of `gnomon.sources`."""

    name: str
    family: str
    kind: tuple[str, ...]
    formula: str
    source: str
    level: str
    relative: bool
    learnable: bool = False
    causal_only: bool = False
    cacheable: bool = True
    """Whether a key, once encoded, stays right while the sequence grows."""
    extrapolation: str = "no claim"
    """What is claimed for lengths that were not trained on, and by whom."""
    reading: str = ""
    """Where the published definition is ambiguous: which reading is taken, and why."""
    frameworks: tuple[str, ...] = FRAMEWORKS
    onnx: bool = True
    """Whether its module of PyTorch leaves as ONNX."""
    proofs: tuple[Proof, ...] = ()

    @property
    def verified_against(self) -> tuple[str, ...]:
        """Name what the encoding was verified against."""
        return tuple(proof.against for proof in self.proofs)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values, what it was verified against named once more."""
        return {**super().to_dict(), "verified_against": list(self.verified_against)}


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


Parameters = Mapping[str, inspect.Parameter]


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """One encoding of the catalogue, as it is declared beside its formula."""

    card: Card
    """What it is with its usual parameters."""
    home: str
    """The module that declares it."""
    maker: Callable[..., Encoding]
    """The class or function that makes it."""
    makes: type[Encoding] | None
    """The class that a file may name by this entry; None where it is made of data alone."""
    examples: tuple[dict[str, Any], ...]
    """Parameters with which it can be made from nothing else; empty where data are needed."""
    shown: dict[str, Any]
    """Parameters of its picture, beside its defaults (`gnomon.encodings.registry`)."""
    surveyed: tuple[Row, ...]
    """Its rows in a survey; none where training or a choice would decide its distances."""
    read_parameters: Callable[[], Parameters]

    @property
    def on_grids(self) -> bool:
        """Whether it can be made for positions with several axes."""
        return self.makes is None or self.makes.on_grids

    @cached_property
    def parameters(self) -> Parameters:
        """Return the parameters that its maker takes, as they are declared."""
        return self.read_parameters()


DECLARED: dict[str, Entry] = {}
"""The entries of the modules that are loaded, by name."""
_Target = TypeVar("_Target", bound=Callable[..., Any])


def catalogued(
    card: Card,
    *,
    examples: tuple[dict[str, Any], ...] = (),
    shown: Mapping[str, Any] | None = None,
    surveyed: tuple[Row, ...] = (),
    makes: type | None = None,
    maker: Callable[..., Encoding] | None = None,
    read_parameters: Callable[[], Parameters] | None = None,
) -> Callable[[_Target], _Target]:
    """Declare a class of encodings, or a function that makes one, as an entry of the catalogue.

    A class makes itself. A function names the class that a file may hold in its place (`makes`). A
    class that is a part of an encoding, such as a scaling, names its `maker` and where that one's
    parameters are read. The class has its entry as `entry`.
    """

    def declare(target: _Target) -> _Target:
        own = target if isinstance(target, type) else makes
        made = target if maker is None else maker
        entry = Entry(
            card=card,
            home=target.__module__,
            maker=made,
            makes=own if maker is None else None,
            examples=examples,
            shown=dict(shown or {}),
            surveyed=surveyed,
            read_parameters=read_parameters or (lambda: inspect.signature(made).parameters),
        )
        if own is not None:
            own.entry = entry  # type: ignore[attr-defined]  # declared on the bases
            own.own_card = card  # type: ignore[attr-defined]
        DECLARED[card.name] = entry
        return target

    return declare
