r"""A certificate: the laws that were tested, how far each is from holding, and the level.

A certificate: which laws were tested, how far each is from holding, and the level that follows.

The level is the verdict [puranik2026 for what makes L0]; a law that was promised and does not hold
makes the certificate fail, and so does one that was promised and could not be tested: the reason is
given in its place. What is certified is what was asked: vectors and positions are samples, drawn
from the seed that stands in the certificate; it says how many and which
(`gnomon.groups.places`).

The sheet on which laws are written down while a subject is certified.

Every law is tested with random numbers of its own, drawn from one seed, so that a law does not
change with those tested before it. A law that could not be tested has the reason in its place.

From laws to a level, L0 ... L7: how far an encoding is from a one-parameter group.

Other tokens do not decide (context holds):
    shift broken                                  L6 not shift invariant
    linear, and a group                           L0 strict group
    affine, of finite rank                        L1 augmented group
    affine, of no finite rank                     L5 relative, not separable
    not affine, content of finite rank            L2 fixed feature map, then a group
    not affine, content of full rank              L7 content decides the index
Other tokens decide, and are given:
    not affine in query and key                   L7 content decides the index
    shift broken, or no product along the path    L6 not shift invariant
    a product along the path, in any order        L3 group with a learned clock
    a product along the path, in its order        L4 path-ordered product

A law that was not tested counts as broken. In the time of a clock that is a function of positions,
L0 and L1 are L3, and what is relative otherwise is L6: in positions themselves no lag decides.
Levels as in the catalogue's cards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnomon.groups.logit_function import Asked, LogitFunction
from gnomon.results import Result, to_dataframe

NOT_LINEAR = "logits are not linear in query and key"
PROMISED: Mapping[str, tuple[str, ...]] = {
    "L0": ("linearity", "shift", "identity", "group", "continuity", "cache"),
    "L1": ("affine", "shift", "rank", "cache"),
    "L2": ("shift", "content", "cache"),
    "L3": ("affine", "shift", "path", "order", "cache"),
    "L4": ("affine", "shift", "path", "cache"),
    "L5": ("shift", "cache"),
    "L6": ("cache",),
    "L7": ("cache",),
}
"""What an encoding of each level promises."""
KEEPS: Mapping[str, str] = {
    "L0": "L0",
    "L1": "L0 L1",
    "L2": "L0 L1 L2",
    "L3": "L0 L1 L3",
    "L4": "L0 L1 L3 L4",
    "L5": "L0 L1 L2 L5",
    "L6": "L0 L1 L2 L3 L4 L5 L6",
    "L7": "L0 L1 L2 L3 L4 L5 L6 L7",
}
"""Levels that are a level, or more: a group is one with the position itself as its clock."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Law(Result):
    """One law: its residual, 0 where it holds, or None where it was not tested; the tolerance."""

    residual: float | None
    tolerance: float
    promised: bool = False
    note: str = ""

    @property
    def tested(self) -> bool:
        """Whether there was something to test; `note` says why not."""
        return self.residual is not None

    @property
    def holds(self) -> bool:
        """Whether the law was tested and its residual is within the tolerance."""
        return self.residual is not None and self.residual <= self.tolerance

    def line(self) -> str:
        """Return the law as a line of text, without its name."""
        if self.residual is None:
            word = "NOT TESTED" if self.promised else "not tested"
            return f"{word:14} {'':9}  {self.note}"
        word = "holds" if self.holds else "BROKEN" if self.promised else "does not hold"
        line = f"{word:14} {self.residual:9.2g}  (tolerance {self.tolerance:.0e})"
        return f"{line}  {self.note}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, and whether it holds."""
        made = {**super().to_dict(), "holds": self.holds}
        if made["residual"] is None:
            made["reason"] = self.note or "what is masked, or infinite, differs"
        return made


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate(Result):
    """What was found of one subject."""

    name: str
    level: str
    laws: Mapping[str, Law]
    structure: Any = None
    """The classes of its generator, where it is a group on one axis."""
    rank: int | None = None
    """Of its lags, where that is finite."""
    warnings: tuple[str, ...] = ()
    seed: int = 0
    reach: float = 0.0
    """The largest position that was asked for."""
    until: str = "position"
    """What the reach counts: positions, or the time of a clock."""
    asked: Asked | None = None
    """How many positions and pairs it rests on, and which."""
    layer_type: str = ""
    """The type of the layers that it speaks of, where a model has several."""
    numbers: tuple[int, ...] = ()
    """The numbers of those layers."""
    layers: tuple[Certificate, ...] = ()
    """One certificate for each type of layers; the laws are then the worst of them."""

    @property
    def holds(self) -> bool:
        """Whether every promised law holds."""
        return not self.broken

    @property
    def broken(self) -> tuple[str, ...]:
        """Name the promised laws that do not hold."""
        return tuple(name for name, law in self.laws.items() if law.promised and not law.holds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the verdict."""
        made = super().to_dict()
        for name in ("asked", "layer_type", "numbers", "layers"):
            if not getattr(self, name):
                del made[name]
        if self.layers:
            made["layers"] = [one.to_dict() for one in self.layers]
        return {**made, "holds": self.holds, "broken": list(self.broken)}

    def to_dataframe(self) -> Any:
        """Return one row for each law."""
        return to_dataframe([{"law": name, **law.to_dict()} for name, law in self.laws.items()])

    def text(self) -> str:
        """Return the certificate as lines of text, or those of all types of layers."""
        if self.layers:
            return "\n\n".join(one.text() for one in self.layers)
        lines = [f"{self.name}{self._where()}: {self.level}"]
        lines += [f"  {name:12} {law.line()}" for name, law in self.laws.items()]
        if self.rank is not None:
            lines.append(f"  rank of its lags: {self.rank}")
        if self.structure is not None:
            lines.append(f"  generator: {self.structure.named}")
        lines += [f"  warning: {warning}" for warning in self.warnings]
        if self.asked is not None:
            lines.append(f"  {self.asked.text(self.until, self.reach)}")
            lines += [f"  {bounds}"] if (bounds := self.asked.bounds()) else []
        verdict = "promised laws hold" if self.holds else f"broken: {', '.join(self.broken)}"
        lines.append(f"{verdict} (seen up to {self.until} {self.reach:g})")
        return "\n".join(lines)

    def _where(self) -> str:
        """Say which layers it speaks of."""
        if not self.layer_type:
            return ""
        if not self.numbers:
            return f" ({self.layer_type})"
        word = "layer" if len(self.numbers) == 1 else "layers"
        return f" ({self.layer_type}, {word} {in_ranges(self.numbers)})"


def in_ranges(numbers: Sequence[int]) -> str:
    """Return rising numbers in words, neighbours together.

    >>> in_ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def join_certificates(layers: Sequence[Certificate], name: str) -> Certificate:
    """Return the certificate of a model from those of its types of layers: the worst of each law.

    A name of the generator stands only where it is that of all layers.
    """
    laws = {
        law: max((one.laws[law] for one in layers if law in one.laws), key=_badness)
        for law in dict.fromkeys(law for one in layers for law in one.laws)
    }
    first = layers[0]
    names = {getattr(one.structure, "named", None) for one in layers}
    ranks = [one.rank for one in layers]
    return replace(
        first,
        name=name,
        level=max(one.level for one in layers),
        laws=laws,
        structure=first.structure if len(names) == 1 else None,
        rank=None if None in ranks else max(rank or 0 for rank in ranks),
        warnings=tuple(f"{one.layer_type}: {said}" for one in layers for said in one.warnings),
        asked=None,
        layer_type="",
        numbers=(),
        layers=tuple(layers),
    )


def _badness(law: Law) -> tuple[bool, bool, float]:
    """Order laws from those that hold best to those that are promised and broken."""
    share = 0.0 if law.residual is None else law.residual / law.tolerance
    return (law.promised and not law.holds, law.tested, share)


@dataclass(kw_only=True)
class CertificateDraft:
    """Laws found so far, with the warnings."""

    subject: LogitFunction
    wanted: tuple[str, ...]
    seed: int
    tolerance: float
    found: dict[str, Law] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    patchy: bool = False
    """Whether lags are those of a group at some places and not at others."""

    def rng(self) -> np.random.Generator:
        """Return the random numbers of one law."""
        return np.random.default_rng(self.seed)

    def test(
        self,
        name: str,
        law: Callable[..., float],
        limit: float | None = None,
        *,
        note: str = "",
        **how: Any,
    ) -> bool:
        """Test a law, write it down, and say whether it holds."""
        value = float(law(self.subject, self.rng(), **how))
        return self.put(name, value, self.tolerance if limit is None else limit, note=note)

    def put(self, name: str, residual: float, tolerance: float, *, note: str = "") -> bool:
        """Write down a law that was tested, and say whether it holds."""
        residual = residual if np.isfinite(residual) else float("inf")
        self.found[name] = Law(
            residual=residual, tolerance=tolerance, promised=name in self.wanted, note=note
        )
        return self.found[name].holds

    def skip(self, name: str, reason: str) -> None:
        """Write down a law that was not tested, with the reason."""
        self.found[name] = Law(
            residual=None, tolerance=self.tolerance, promised=name in self.wanted, note=reason
        )

    def want(self, names: Iterable[str]) -> None:
        """Mark these laws as promised, and no others."""
        self.wanted = tuple(names)
        self.found = {
            name: replace(law, promised=name in self.wanted) for name, law in self.found.items()
        }

    def fill(self, names: Iterable[str], known: Mapping[str, bool]) -> None:
        """Write down every law of these that is still missing, with the reason."""
        for name in names:
            if name not in self.found:
                self.skip(name, self._reason(name, known))

    def _reason(self, name: str, known: Mapping[str, bool]) -> str:
        """Say why a law was not tested: the first reason that applies."""
        one = self.subject.axes == 1
        reasons = (
            (name == "commutators" and one, "there is one axis"),
            (name in ("path", "order") and known["alone"], "no other token decides"),
            (name == "content" and known["affine"], "logits are linear but for a bias"),
            (not known["alone"], "other tokens decide"),
            (
                known["affine"] and known["masked"],
                "what is masked does not depend on the lag alone",
            ),
            (known["affine"] and known["narrow"], "too few lags are finite"),
            (name == "continuity" and self.subject.whole, "positions are whole numbers"),
            (name == "generator", "there is no group on real positions"),
        )
        return next((why for applies, why in reasons if applies), NOT_LINEAR)


def laws_of_level(level: str, laws: Mapping[str, Law], found: str) -> tuple[str, ...]:
    """Return the laws that a promised level asks for where a level was found.

    Where that is the level or more, laws without a meaning for the subject are not asked for, and
    what softmax does not see is no broken shift.
    """
    names = PROMISED[level]
    if found not in KEEPS[level].split():
        return names
    names = tuple(name for name in names if name in laws and laws[name].tested)
    relative = "shift" in laws and laws["shift"].holds
    return tuple("gauge" if name == "shift" and not relative else name for name in names)


IN_TIME: Mapping[str, str] = {"L0": "L3", "L1": "L3", "L2": "L6", "L5": "L6"}
"""Levels of what was asked in the time of a clock, where the clock is one of positions."""


def level_of(laws: Mapping[str, Law], *, timed: bool = False) -> str:
    """Return the level that laws show; `timed` laws were asked in the time of a clock."""
    holding = {name for name, law in laws.items() if law.holds}
    relative, affine = bool(holding & {"shift", "gauge"}), "affine" in holding
    if "context" not in holding:
        along = "L3" if "order" in holding else "L4"
        return "L7" if not affine else along if relative and "path" in holding else "L6"
    if not relative:
        return "L6"
    level = "L2" if "content" in holding else "L7"
    if affine:
        level = "L1" if "rank" in holding else "L5"
    if {"linearity", "group"} <= holding:
        level = "L0"
    return IN_TIME.get(level, level) if timed else level
