r"""Certificates for functions: every law that can be asked of them, and the level that follows.

The order matters: a law is tested where the ones before it give it a meaning. The matrix B(t) is
asked for only if logits are linear, the group law only if B(0) is invertible, the generator
log(A(h)) / h only if the group law holds and positions are real; it is then classified, and
exp(tX) = A(t) is tested far from h [higham2008 sec. 11]. On whole positions one step A(1) is
classified instead, to its own rounding. A law that has no meaning for the subject
stands in the certificate with the reason, and a promise of it is broken.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from scipy.linalg import expm, logm

from gnomon.errors import GroupError, nearest
from gnomon.groups import laws
from gnomon.groups.certificate import (
    PROMISED,
    Certificate,
    CertificateDraft,
    Law,
    laws_of_level,
    level_of,
)
from gnomon.groups.classification import LARGEST_CLASSIFIED, Structure, classify
from gnomon.groups.generator import Floats, Generator
from gnomon.groups.laws import GROWN
from gnomon.groups.logit_function import (
    LARGEST_TOLERANCE,
    LEAST_SPAN,
    TOLERANCE,
    VECTORS,
    Ledger,
    LogitFunction,
    along,
    check_tolerance,
    find_window,
    on_line,
    tolerance_of,
)
from gnomon.groups.ranks import dyadic, finite_rank, group_rank, largest_prediction_error
from gnomon.groups.steps import Rotations, Step, classify_step, read_rotations

SMOOTH = 1e-3
"""Largest change of logits over 2^-19 of a position: turns by some hundred radians still pass."""
GENERATED = 1e-6
"""Largest error of exp(tX) beside A(t): a logarithm loses digits where X is not normal."""
STEPPED = 8.0
"""How much coarser than A(1)^2 - A(2) one step is read."""
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
    subject = find_window(replace(subject, asked=Ledger()), seed=seed)
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
    known = {"alone": alone, "affine": affine, "masked": _has_stray_masks(sheet)}
    known["narrow"] = subject.lags < LEAST_SPAN
    sheet.fill(dict.fromkeys((*ALWAYS, *wanted)), known)
    level = level_of(sheet.found, timed=subject.timed)
    if isinstance(promised, str) and promised in PROMISED:
        sheet.want(_applicable(laws_of_level(promised, sheet.found, level), subject))
    return Certificate(
        name=subject.name,
        level=words(level),
        laws=sheet.found,
        structure=structure,
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
    if law is not None and law.tested and not law.holds:
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

    The rank is that of the generator, if one was read, and else the largest; none, if an axis has
    none.
    """
    rounding = sheet.tolerance if sheet.tolerance > TOLERANCE else None
    limit = largest_prediction_error(rounding)
    found = []
    holding = {name for name, law in sheet.found.items() if law.holds}
    group = "group" in holding
    lines = [along(sheet.subject, axis) for axis in range(sheet.subject.axes)]
    if not group and holding & {"shift", "gauge"}:  # a group was asked off the axes, too
        lines += _off_axes(sheet.subject)
    for axis, subject in enumerate(lines):
        made = group_rank(subject, sheet.rng(), limit, known=group)
        if made is None:
            made = finite_rank(subject, sheet.rng(), rounding=rounding)
        elif made.rank is not None and structure is not None and axis == 0:
            made = replace(made, rank=_modes(structure))
        found.append(made)
    none = [one for one in found if one.rank is None]
    known = found[:1] if structure is not None else found
    made = none[0] if none else max(known, key=lambda one: one.rank or 0)
    if sheet.patchy and not sheet.subject.narrow and sheet.found["cache"].holds:
        made = replace(made, rank=None)
    note = f"rank {made.rank} at steps of {made.stride:g}" if made.rank is not None else ""
    error = made.residual if made.rank is not None else max(made.residual, 1.0)
    note = note or f"none found{'' if rounding is None else ' beside the rounding'}"
    sheet.put("rank", error, limit, note=note)
    return made.rank


def _off_axes(subject: LogitFunction) -> list[LogitFunction]:
    """Return a subject of several axes on diagonals between them."""
    if subject.axes == 1:
        return []
    signs = itertools.product((1.0,) if subject.causal else (1.0, -1.0), repeat=subject.axes - 1)
    ways = [np.array([1.0, *sign]) for sign in signs]
    return [on_line(subject, way) for way in ways[:DIAGONALS]]


def _modes(structure: Structure | Step | Rotations) -> int:
    """Return the rank of the lags that a generator makes: the degree of its minimal polynomial."""
    longest: dict[tuple[float, float], int] = {}
    for one in structure.structure:
        at = (one.decay, one.frequency)
        longest[at] = max(longest.get(at, 0), one.order)
    return sum(order * (2 if turn else 1) for (_, turn), order in longest.items())


def _content(sheet: CertificateDraft) -> None:
    """Test whether fixed features of query and key are multiplied: their rank is finite."""
    rank, of = laws.content_rank(sheet.subject, sheet.rng())
    most = 2 * (sheet.subject.dimension + 1)
    sheet.put("content", float(rank), float(most), note=f"rank over {of} queries and keys")


def _group(sheet: CertificateDraft) -> Structure | Step | Rotations | None:
    """Test the group law and, where it holds, read the generator, or that of one step."""
    subject = sheet.subject
    condition = float(np.max(np.linalg.cond(laws.at_lag(subject, 0.0))))
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
    if subject.whole:
        return _rotations(sheet, along(subject, 0)) or _classify_step(sheet)
    if subject.rounding > COARSE:
        reason = f"vectors are rounded to {subject.rounding:.1e}, too coarse to read X"
        sheet.skip("generator", reason)
        return None
    x, error, known = generator_of(along(subject, 0))
    limit = max(GENERATED, min(10.0 * sheet.found["group"].tolerance, LARGEST_TOLERANCE))
    if not sheet.put("generator", error, limit, note="exp(tX) = A(t)"):
        return None
    rotations = _rotations(sheet, along(subject, 0))
    if rotations is not None:
        sheet.put("boundedness", 0.0, GROWN, note=_side(subject))
    structure = rotations or _classify(sheet, x, known)
    if subject.axes > 1:
        _look_at_other_axes(sheet)
    return structure


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


def _look_at_other_axes(sheet: CertificateDraft) -> None:
    """Let the spectra on all axes but the first decide what is bounded, too."""
    law = sheet.found["boundedness"]
    for axis in range(1, sheet.subject.axes if law.holds else 1):
        subject = along(sheet.subject, axis)
        if _rotations(sheet, subject) is not None or subject.dimension > LARGEST_CLASSIFIED:
            continue
        x, _, known = generator_of(subject)
        exact = sheet.tolerance <= TOLERANCE or known <= KNOWN
        blocks = classify(x, tolerance=None if exact else min(known, COARSEST)).structure
        growing = Generator(one.block for one in blocks).growing(_direction(subject))
        if growing is not None and exact:
            note = f"{_side(subject)}: X of axis {axis + 1} has {growing}"
            sheet.put("boundedness", 1.0, GROWN, note=note)


def _direction(subject: LogitFunction) -> str:
    return "causal" if subject.causal else "both"


def _side(subject: LogitFunction) -> str:
    return "for lags from 0 on" if subject.causal else "for lags of both signs"


def _rotations(sheet: CertificateDraft, subject: LogitFunction) -> Rotations | None:
    """Return what rotates, with the errors of the phases, if nothing else is there."""
    return read_rotations(
        actions_of(subject),
        reach=subject.lags,
        whole=subject.whole,
        rounding=subject.rounding,
        tolerance=sheet.found["group"].tolerance,
    )


def _classify_step(sheet: CertificateDraft) -> Step | None:
    """Return the classes of one step, A(1), to its rounding: what A(1)^2 is off from A(2)."""
    if _is_too_large(sheet):
        return None
    at = actions_of(sheet.subject)
    once = at(1.0)
    off = laws.residual(once @ once, at(2.0))
    found = classify_step(once, tolerance=max(TOLERANCE, STEPPED * off))
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


def actions_of(subject: LogitFunction) -> Callable[[float], Floats]:
    """Return A(t) of the first head on the first axis."""
    inverse = np.linalg.inv(laws.at_lag(subject, 0.0))

    def at(t: float) -> Floats:
        made = laws.at_lag(subject, t) @ inverse
        return np.asarray(made.reshape(-1, subject.dimension, subject.dimension)[0])

    return at


def generator_of(subject: LogitFunction) -> tuple[Floats, float, float]:
    """Return X of the first head on the first axis, how far exp(tX) is from A(t), and its rounding.

    The last is a share of |X|: what A(h)^2 is off from A(2h), over |hX|.
    """
    at = actions_of(subject)
    step = 1.0
    while step > 1e-9 and np.linalg.norm(at(step) - np.eye(subject.dimension), 2) > 0.5:
        step *= 0.5
    once = at(step)
    x = np.asarray(logm(once), dtype=np.complex128).real / step
    worst = 0.0
    for t in (2.0 * step, 16.0 * step, 7.0):
        if t > subject.lags:
            continue
        worst = max(worst, laws.residual(np.asarray(expm(t * x)), at(t)))
    off = laws.residual(once @ once, at(2.0 * step))
    size = step * float(np.linalg.norm(x, 2))
    return x, worst, STEPPED * off / size if size > 0.0 else 0.0
