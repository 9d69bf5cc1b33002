"""The card of an encoding: what it is, who defined it, and what it was verified against.

The *level* says how far an encoding is from a one-parameter group A(t) = exp(tX) acting on
queries and keys; it is always printed with its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def proved(*proofs: tuple[str, str, str]) -> tuple[Proof, ...]:
    """Return proofs of triples: against what, the file below tests/, the test in it.

    >>> proved(("the identity", "laws/test_laws.py", "test_x"))[0].test
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
