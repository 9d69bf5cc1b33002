"""A certificate: which laws were tested, how far each is from holding, and the level that follows.

The level is the verdict [puranik2026 for what makes L0]; a law that was promised and does not hold
makes the certificate fail, and so does one that was promised and could not be tested: the reason is
given in its place. What is certified is what was asked: vectors and positions are samples, drawn
from the seed that stands in the certificate; it says how many and which
(`gnomon.groups.places`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnomon.groups.places import Asked
from gnomon.results import Result, to_dataframe


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


def joined(layers: Sequence[Certificate], name: str) -> Certificate:
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
