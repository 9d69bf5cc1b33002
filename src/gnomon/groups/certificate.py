r"""Certificates: every law that can be asked of a function, how far each is from holding, a level.

The level is the verdict [puranik2026 for what makes L0]; a law that was promised and does not hold
makes the certificate fail, and so does one that was promised and could not be tested: the reason is
given in its place. What is certified is what was asked: vectors and positions are samples, drawn
from the seed that stands in the certificate, which says how many and which. Every law is tested
with random numbers of its own, so that it does not change with those tested before it.

The order matters: a law is tested where the ones before it give it a meaning. The matrix B(t) is
asked for only if logits are linear, the group law only if B(0) is invertible, the generator
log(A(h)) / h only if the group law holds and positions are real; it is then classified, and
exp(tX) = A(t) is tested far from h [higham2008 sec. 11]. On integer positions one step A(1) is
classified instead, to its own rounding.

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

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnomon.errors import GroupError, nearest
from gnomon.groups import laws
from gnomon.groups.classification import LARGEST_CLASSIFIED, Structure, classify
from gnomon.groups.generator import Floats, Generator
from gnomon.groups.laws import GROWN
from gnomon.groups.logit_function import (
    LARGEST_TOLERANCE,
    LEAST_SPAN,
    TOLERANCE,
    VECTORS,
    Asked,
    Ledger,
    LogitFunction,
    along,
    check_tolerance,
    find_window,
    on_line,
    tolerance_of,
)
from gnomon.groups.ranks import dyadic, finite_rank, group_rank, largest_prediction_error
from gnomon.groups.steps import Rotations, Step, read_generator, rotations_of, step_of
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
IN_TIME: Mapping[str, str] = {"L0": "L3", "L1": "L3", "L2": "L6", "L5": "L6"}
"""Levels of what was asked in the time of a clock, where the clock is one of positions."""
SMOOTH = 1e-3
"""Largest change of logits over 2^-19 of a position: turns by some hundred radians still pass."""
GENERATED = 1e-6
"""Largest error of exp(tX) beside A(t): a logarithm loses digits where X is not normal."""
SINGLE = 64.0 * float(np.finfo(np.float32).eps)
"""Largest share of logits that float32 may lose."""
COARSE = 1e-4
"""Largest rounding of vectors at which a generator is read."""
KNOWN, COARSEST = 1e-10, 0.05
"""To what share of |X| a generator is read in float64, and at most."""
DIAGONALS = 4
"""Lines between the axes on which a rank is looked for, at most."""
CONDITION = 1e8
"""Largest condition number of B(0) at which A(t) = B(t) B(0)^-1 is formed."""
ALWAYS = (
    "linearity", "shift", "identity", "group", "continuity", "boundedness", "rank", "cache", "dtype"
)  # fmt: skip
"""Laws that stand in every certificate, tested or with the reason why not."""
_MORE = ("gauge", "context", "generator", "commutators", *ALWAYS)
NAMES = tuple(dict.fromkeys([*(name for names in PROMISED.values() for name in names), *_MORE]))
"""Every law that may be promised."""


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
    """The classes of its generator, where it is a group; of several axes those of the first."""
    on_axes: tuple[Any, ...] = ()
    """The same for each axis, where there are several."""
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
        for name in ("on_axes", "asked", "layer_type", "numbers", "layers"):
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


def certify(
    subject: LogitFunction,
    *,
    promised: str | Iterable[str] = "L0",
    words: Callable[[str], str] = str,
    seed: int = 0,
    tolerance: float | None = None,
) -> Certificate:
    """Return the certificate of a subject; `promised` is a level, or the laws that must hold.

    The tolerance is that of the subject's rounding, where none is given.
    """
    wanted = _promises(promised, subject)
    subject = subject.begun()
    subject.check(np.random.default_rng(seed))
    # The rows of calls before the laws are those of calls, too.
    subject = find_window(replace(subject, asked=Ledger(rows=subject.asked.rows)), seed=seed)
    used = tolerance_of(subject) if tolerance is None else check_tolerance(tolerance)
    sheet = CertificateDraft(subject=subject, wanted=wanted, seed=seed, tolerance=used)
    sheet.warnings.extend(subject.warnings)
    linear = sheet.test("linearity", laws.linearity)
    affine = sheet.test("affine", laws.linearity, affine=True)
    _of_shifts(sheet)
    sheet.test("cache", laws.cache)
    rounding = VECTORS * subject.rounding if subject.narrow else 0.0
    sheet.test("dtype", laws.dtype, max(SINGLE, rounding))
    alone = sheet.test("context", laws.context)
    structure: Structure | Step | Rotations | None = None
    rank: int | None = None
    if alone and not (subject.whole or subject.lags < LEAST_SPAN or _has_stray_masks(sheet)):
        sheet.test("continuity", laws.continuity, max(SMOOTH, rounding))
    if alone and affine:
        structure, rank = _of_lags(sheet, linear=linear)
    elif affine:
        sheet.test("path", laws.path)
        sheet.test("order", laws.order)
    elif alone:
        _content(sheet)
    _warn_of_growth(sheet)
    subject.check_again(sheet.tolerance)
    sheet.fill(dict.fromkeys((*ALWAYS, *wanted)), alone=alone, affine=affine)
    level = level_of(sheet.found, timed=subject.timed)
    if isinstance(promised, str) and promised in PROMISED:
        sheet.want(_applicable(laws_of_level(promised, sheet.found, level), subject))
    return Certificate(
        name=subject.name,
        level=words(level),
        laws=sheet.found,
        structure=structure,
        on_axes=() if structure is None else tuple(sheet.on_axes),
        rank=rank,
        warnings=tuple(sheet.warnings),
        seed=seed,
        reach=subject.reach,
        until="clock time" if subject.timed else "position",
        asked=subject.asked.summary(subject),
    )


def _promises(promised: str | Iterable[str], subject: LogitFunction) -> tuple[str, ...]:
    names = PROMISED.get(promised, None) if isinstance(promised, str) else tuple(promised)
    if names is None:
        names = tuple(str(promised).split(","))
    for name in names:
        if name not in NAMES:
            raise GroupError(f"There is no law {name!r}: {nearest(name, NAMES)}.")
    return _applicable(names, subject)


def _applicable(names: Iterable[str], subject: LogitFunction) -> tuple[str, ...]:
    """Return laws without that of continuity, where positions are whole numbers."""
    return tuple(name for name in names if not (subject.whole and name == "continuity"))


def _has_stray_masks(sheet: CertificateDraft) -> bool:
    """Whether what is masked does not depend on the lag alone, so that no law of the lag is one."""
    residual = sheet.found["shift"].residual
    return residual is not None and not np.isfinite(residual)


def _of_shifts(sheet: CertificateDraft) -> None:
    """Test the law of shifts, as it is and gauged, and say where masks do not move with tokens."""
    found = laws.shifts(sheet.subject, sheet.rng())
    for name, residual in zip(("shift", "gauge"), found, strict=True):
        note = "" if np.isfinite(residual) else "what is masked, or infinite, does not move with it"
        sheet.put(name, residual, sheet.tolerance, note=note)
    if _has_stray_masks(sheet) and sheet.subject.span is None:
        sheet.warnings.append("some logits are -inf or infinite, whatever the lag is.")


def _warn_of_growth(sheet: CertificateDraft) -> None:
    """Warn of logits that grow with the lag, where that was not promised to be otherwise."""
    law = sheet.found.get("boundedness")
    if law is None or not law.tested or law.holds:
        return
    if law.residual == float("inf"):
        sheet.warnings.append("logits are +inf at some lags.")
    else:
        sheet.warnings.append(f"logits grow with the lag, {law.note}.")


def _of_lags(
    sheet: CertificateDraft, *, linear: bool
) -> tuple[Structure | Step | Rotations | None, int | None]:
    """Test the laws of the lag, and return the generator with the rank, where there are lags."""
    subject = sheet.subject
    if subject.lags < LEAST_SPAN or _has_stray_masks(sheet):
        return None, None
    sheet.found["rank"] = Law(residual=None, tolerance=sheet.tolerance)  # its place among the laws
    sheet.test("boundedness", laws.boundedness, GROWN, note=f"up to lag {subject.lags:.6g}")
    structure = _group(sheet) if linear else None
    rank = _rank(sheet, structure)
    return (structure if _agree(sheet) else None), rank


def _agree(sheet: CertificateDraft) -> bool:
    """Whether lags are of finite rank where they are a group; where not, there is no group.

    What a narrow type leaves of high powers of A(h) may hide a rank that is there, and so may what
    follows the length of a call, which is a fault of caches.
    """
    group, rank = sheet.found.get("group"), sheet.found["rank"]
    if group is None or not group.holds or rank.holds:
        return True
    if sheet.tolerance > TOLERANCE or not sheet.found["cache"].holds:
        return True
    note = "lags further on are not those of finitely many coordinates, as a group's are"
    return sheet.put("group", max(1.0, rank.residual or 0.0), group.tolerance, note=note)


def _rank(sheet: CertificateDraft, structure: Structure | Step | Rotations | None) -> int | None:
    """Test whether finitely many coordinates make all lags, as those of a group do: on each axis.

    The rank is that of the generators, if they were read, and else the largest; none, if an axis
    has none.
    """
    rounding = sheet.tolerance if sheet.tolerance > TOLERANCE else None
    limit = largest_prediction_error(rounding)
    found = []
    holding = {name for name, law in sheet.found.items() if law.holds}
    group, known = "group" in holding, structure or sheet.step
    lines = [along(sheet.subject, axis) for axis in range(sheet.subject.axes)]
    if not group and holding & {"shift", "gauge"}:  # a group was asked off the axes, too
        lines += _off_axes(sheet.subject)
    read = sheet.on_axes or [known]
    for axis, subject in enumerate(lines):
        made = group_rank(subject, sheet.rng(), limit, known=group)
        one = read[axis] if axis < len(read) else None
        if made is None:
            made = finite_rank(subject, sheet.rng(), rounding=rounding)
        elif made.rank is not None and one is not None:
            made = replace(made, rank=_modes(one, whole=subject.whole))
        found.append(made)
    none = [one for one in found if one.rank is None]
    made = none[0] if none else max(found, key=lambda one: one.rank or 0)
    if sheet.patchy and not sheet.subject.narrow and sheet.found["cache"].holds:
        made = replace(made, rank=None)
    note = f"rank {made.rank} at steps of {made.stride:g}" if made.rank is not None else ""
    error = made.residual if made.rank is not None else max(made.residual, 1.0)
    note = note or f"none found{'' if rounding is None else ' beside the rounding'}"
    if made.rank is not None and sheet.on_axes:
        made = replace(made, rank=_rank_of_all(sheet))
        note = f"rank {made.rank} on all axes together" if made.rank else "finite on each axis"
    sheet.put("rank", error, limit, note=note)
    return made.rank


def _rank_of_all(sheet: CertificateDraft) -> int | None:
    """Return the rank of the lags of all axes together, or None where it cannot be read.

    What differs on some axis differs on a line between them whose ratios are not simple, too: the
    rank is the largest of those on such lines and on the axes.
    """
    found = list(sheet.on_axes)
    for way in _generic_ways(sheet.subject):
        line = on_line(sheet.subject, way / way.max())
        if sheet.subject.whole:
            line = on_line(sheet.subject, way)
            most = float(way.max())
            span = None if line.span is None else line.span // most
            line = replace(line, reach=line.reach // most, span=span)
        if line.lags < LEAST_SPAN:
            return None
        found.append(_on_line(sheet, line)[0])
    if any(one is None for one in found):
        return None
    return max(_modes(one, whole=sheet.subject.whole) for one in found if one is not None)


def _generic_ways(subject: LogitFunction) -> list[Floats]:
    """Return ways between all axes: of irrational ratios, or by primes on whole positions."""
    if not subject.whole:
        return [np.exp(-0.3 * np.arange(subject.axes))]
    primes = [n for n in range(2, 8 * subject.axes) if all(n % m for m in range(2, n))]
    ways = np.array(primes[: subject.axes], dtype=np.float64)
    return [ways, ways[::-1]]


def _off_axes(subject: LogitFunction) -> list[LogitFunction]:
    """Return a subject of several axes on diagonals between them."""
    if subject.axes == 1:
        return []
    signs = itertools.product((1.0,) if subject.causal else (1.0, -1.0), repeat=subject.axes - 1)
    ways = [np.array([1.0, *sign]) for sign in signs]
    return [on_line(subject, way) for way in ways[:DIAGONALS]]


def _modes(known: Structure | Step | Rotations, *, whole: bool) -> int:
    """Return the rank of the lags that are made: the degree of a minimal polynomial.

    It is that of X, on whole positions that of the step exp(X): a turn by pi is -1 there.
    """
    found = known.step.structure if isinstance(known, Step) else known.structure
    signs = whole and isinstance(known, Rotations)
    longest: dict[tuple[float, float, int], int] = {}
    for one in found:
        half = signs and abs(one.frequency - math.pi) <= one.error + TOLERANCE
        at = (one.decay, one.frequency, 2 if one.frequency and not half else 1)
        longest[at] = max(longest.get(at, 0), one.order)
    return sum(order * columns for (*_, columns), order in longest.items())


def _content(sheet: CertificateDraft) -> None:
    """Test whether fixed features of query and key are multiplied: their rank is finite."""
    rank, of = laws.content_rank(sheet.subject, sheet.rng())
    most = 2 * (sheet.subject.dimension + 1)
    sheet.put("content", float(rank), float(most), note=f"rank over {of} queries and keys")


def _group(sheet: CertificateDraft) -> Structure | Step | Rotations | None:
    """Test the group law and, where it holds, read the generator, or that of one step."""
    subject = sheet.subject
    condition = laws.condition(laws.at_lag(subject, 0.0))
    if not condition <= CONDITION:
        reason = f"logits at lag 0 have condition {condition:.2g}, so A(t) is not formed"
        sheet.warnings.append(reason)
        for name in ("identity", "group"):
            sheet.skip(name, reason)
        return None
    sheet.test("identity", laws.identity, note=f"B(0) has condition {condition:.3g}")
    is_group = sheet.test("group", laws.group) and _everywhere(sheet)
    if subject.axes > 1:
        sheet.test("commutators", laws.commutators)
    if not (is_group and (subject.whole or sheet.found["continuity"].holds)):
        return None
    structure = _on_first_axis(sheet)
    if structure is None or subject.axes == 1:
        return structure
    sheet.on_axes = [structure, *_on_other_axes(sheet)]
    return replace(structure, named=_name_axes(sheet.on_axes))


def _on_first_axis(sheet: CertificateDraft) -> Structure | Step | Rotations | None:
    """Read the generator on the first axis, or that of one step."""
    subject = sheet.subject
    line, tolerance = along(subject, 0), sheet.found["group"].tolerance
    if subject.whole:
        return rotations_of(line, tolerance) or _classify_step(sheet)
    if subject.rounding > COARSE:
        reason = f"vectors are rounded to {subject.rounding:.1e}, too coarse to read X"
        sheet.skip("generator", reason)
        return None
    x, error, known = read_generator(line)
    limit = max(GENERATED, min(10.0 * tolerance, LARGEST_TOLERANCE))
    if not sheet.put("generator", error, limit, note="exp(tX) = A(t)"):
        return None
    rotations = rotations_of(line, tolerance)
    if rotations is not None:
        sheet.put("boundedness", 0.0, GROWN, note=_side(subject))
    return rotations or _classify(sheet, x, known)


def _name_axes(found: Sequence[Structure | Step | Rotations | None]) -> str:
    """Return what each axis amounts to, in one line."""
    names = ["not read" if one is None else one.named for one in found]
    if len(set(names)) == 1:
        return f"on each axis: {names[0]}"
    return "; ".join(f"axis {axis}: {name}" for axis, name in enumerate(names, start=1))


def _everywhere(sheet: CertificateDraft) -> bool:
    """Test the group law at many lags, too, where it holds at a few.

    Exponential polynomials are analytic: where they are a group at some random lags they are one at
    all. So what is a group at a few lags only has no finite rank either.
    """
    few = sheet.found["group"].residual or 0.0
    off = dyadic(sheet.subject, sheet.rng())
    note = f"at {len(sheet.subject.asked.distinct_lags()):,} lags"
    sheet.patchy = not sheet.put("group", max(few, off), sheet.tolerance, note=note)
    return not sheet.patchy


def _on_other_axes(sheet: CertificateDraft) -> list[Structure | Step | Rotations | None]:
    """Read the generators on all axes but the first; they decide what is bounded, too."""
    made: list[Structure | Step | Rotations | None] = []
    for axis in range(1, sheet.subject.axes):
        found, exact = _on_line(sheet, along(sheet.subject, axis))
        made.append(found)
        if not isinstance(found, Structure) or not sheet.found["boundedness"].holds:
            continue
        blocks = Generator(one.block for one in found.structure)
        growing = blocks.growing(_direction(sheet.subject))
        if growing is not None and exact:
            note = f"{_side(sheet.subject)}: X of axis {axis + 1} has {growing}"
            sheet.put("boundedness", 1.0, GROWN, note=note)
    return made


def _on_line(
    sheet: CertificateDraft, line: LogitFunction
) -> tuple[Structure | Step | Rotations | None, bool]:
    """Return the generator of a line, or that of one step, or None, and whether it is exact."""
    rotations = rotations_of(line, sheet.found["group"].tolerance)
    if rotations is not None or line.dimension > LARGEST_CLASSIFIED:
        return rotations, True
    if line.whole:
        step = step_of(line)
        return step if step.has_generator else None, True
    x, _, known = read_generator(line)
    exact = sheet.tolerance <= TOLERANCE or known <= KNOWN
    return classify(x, tolerance=None if exact else min(known, COARSEST)), exact


def _direction(subject: LogitFunction) -> str:
    return "causal" if subject.causal else "both"


def _side(subject: LogitFunction) -> str:
    return "for lags from 0 on" if subject.causal else "for lags of both signs"


def _classify_step(sheet: CertificateDraft) -> Step | None:
    """Return the classes of one step, with its warnings, where it has a generator."""
    if _is_too_large(sheet):
        return None
    sheet.step = found = step_of(sheet.subject)
    sheet.warnings.extend(found.warnings)
    if not found.has_generator:
        sheet.warnings.append(f"One step has no real generator: {found.reason}.")
        return None
    return found


def _classify(sheet: CertificateDraft, x: Floats, known: float) -> Structure | None:
    """Return the classes of a generator, whose spectrum decides what is bounded.

    Of what was rounded X is read to `known`, the share of it that rounding leaves open; a spectrum
    that then grows, where no logit does, is not X.
    """
    if _is_too_large(sheet):
        return None
    exact = sheet.tolerance <= TOLERANCE or known <= KNOWN
    structure = classify(x, tolerance=None if exact else min(known, COARSEST))
    seen = sheet.found["boundedness"].residual
    growing = Generator(one.block for one in structure.structure).growing(_direction(sheet.subject))
    if growing is not None and not exact and sheet.found["boundedness"].holds:
        sheet.warnings.append(
            f"the generator is known to {known:.1e} of itself only, too coarse to name it; pass "
            "the same in float64."
        )
        return None
    sheet.warnings.extend(structure.warnings)
    note = _side(sheet.subject)
    if growing is not None:
        note = f"{note}: X has {growing}"
    sheet.put("boundedness", 0.0 if growing is None else max(1.0, seen or 0.0), GROWN, note=note)
    return structure


def _is_too_large(sheet: CertificateDraft) -> bool:
    """Warn of a generator that is too large to be sorted into classes."""
    too_large = sheet.subject.dimension > LARGEST_CLASSIFIED
    if too_large:
        sheet.warnings.append(
            f"the generator has {sheet.subject.dimension} rows, and at most {LARGEST_CLASSIFIED} "
            "are sorted into classes."
        )
    return too_large


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
        on_axes=first.on_axes if len(names) == 1 else (),
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
    on_axes: list[Structure | Step | Rotations | None] = field(default_factory=list)
    """What was read on each axis, where there are several."""
    step: Step | None = None
    """The classes of one step, where it was read, whether or not it has a generator."""

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

    def fill(self, names: Iterable[str], *, alone: bool, affine: bool) -> None:
        """Write down every law of these that is still missing, with the reason."""
        known = {"alone": alone, "affine": affine, "masked": _has_stray_masks(self)}
        known["narrow"] = self.subject.lags < LEAST_SPAN
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
