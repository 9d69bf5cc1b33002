r"""Certificates for functions: every law that can be asked of them, and the level that follows.

The order matters: a law is tested where the ones before it give it a meaning. The matrix B(t) is
asked for only if logits are linear, the group law only if B(0) is invertible, the generator
log(A(h)) / h only if the group law holds and positions are real; it is then classified, and
exp(tX) = A(t) is tested far from h [higham2008 sec. 11].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.linalg import expm, logm

from gnomon.errors import GroupError, nearest
from gnomon.groups import context as between
from gnomon.groups import laws as of_positions
from gnomon.groups.blocks import Floats
from gnomon.groups.certificate import Certificate, Law
from gnomon.groups.classify import Structure, classify
from gnomon.groups.levels import PROMISED, level_of
from gnomon.groups.ranks import PREDICTED, finite_rank
from gnomon.groups.subject import Subject

TOLERANCE = 1e-9
SMOOTH = 1e-3
"""Largest change of logits over 2^-19 of a position: turns by some hundred radians still pass."""
GENERATED = 1e-6
"""Largest error of exp(tX) beside A(t): a logarithm loses digits where X is not normal."""
SINGLE = 64.0 * float(np.finfo(np.float32).eps)
"""Largest share of logits that float32 may lose."""
CONDITION = 1e8
"""Largest condition number of B(0) at which A(t) = B(t) B(0)^-1 is formed."""
_MORE = ("gauge", "context", "generator", "boundedness", "axes", "dtype")
NAMES = tuple(dict.fromkeys([*(name for names in PROMISED.values() for name in names), *_MORE]))
"""Every law that may be promised."""


def certify(
    subject: Subject,
    *,
    promised: str | Iterable[str] = "L0",
    words: Callable[[str], str] = str,
    seed: int = 0,
    tolerance: float = TOLERANCE,
) -> Certificate:
    """Return the certificate of a subject; `promised` is a level, or the laws that must hold."""
    wanted = _promised(promised, whole=subject.whole)
    subject.check(np.random.default_rng(seed))
    found: dict[str, Law] = {}
    warnings: list[str] = []

    def test(name: str, law: Callable[..., float], limit: float = tolerance, **how: Any) -> bool:
        value = float(law(subject, np.random.default_rng(seed), **how))
        found[name] = Law(residual=value, tolerance=limit, promised=name in wanted)
        return found[name].holds

    linear = test("linearity", of_positions.linearity)
    affine = test("affine", of_positions.linearity, affine=True)
    test("shift", of_positions.shift)
    test("gauge", of_positions.shift, gauge=True)
    test("cache", of_positions.cache)
    test("dtype", of_positions.dtype, SINGLE)
    alone = test("context", between.context)
    structure, rank = None, None
    if not alone and affine:
        test("path", between.path)
        test("order", between.order)
    if alone and affine:
        rank = _rank(subject, found, wanted, seed)
    if alone and not affine:
        _content(subject, found, wanted, seed)
    if alone and linear:
        structure = _group(subject, test, found, wanted, warnings)
    level = level_of(found)
    return Certificate(
        name=subject.name,
        level=words(level),
        laws=found,
        structure=structure,
        rank=rank,
        warnings=tuple(warnings),
        seed=seed,
        reach=subject.reach,
    )


def _promised(promised: str | Iterable[str], *, whole: bool) -> tuple[str, ...]:
    names = PROMISED.get(promised, None) if isinstance(promised, str) else tuple(promised)
    if names is None:
        names = tuple(str(promised).split(","))
    for name in names:
        if name not in NAMES:
            raise GroupError(f"There is no law {name!r}: {nearest(name, NAMES)}.")
    return tuple(name for name in names if not (whole and name == "continuity"))


def _rank(
    subject: Subject, found: dict[str, Law], wanted: tuple[str, ...], seed: int
) -> int | None:
    made = finite_rank(subject, np.random.default_rng(seed))
    note = f"rank {made.rank} at steps of {made.stride:g}" if made.rank is not None else ""
    error = made.residual if made.rank is not None else max(made.residual, 1.0)
    found["rank"] = Law(
        residual=error, tolerance=PREDICTED, promised="rank" in wanted, note=note or "none found"
    )
    return made.rank


def _content(subject: Subject, found: dict[str, Law], wanted: tuple[str, ...], seed: int) -> None:
    """Test whether fixed features of query and key are multiplied: their rank is finite."""
    rank, of = between.content_rank(subject, np.random.default_rng(seed))
    most = 2 * (subject.dimension + 1)
    found["content"] = Law(
        residual=float(rank),
        tolerance=float(most),
        promised="content" in wanted,
        note=f"rank over {of} queries and keys",
    )


def _group(
    subject: Subject,
    test: Callable[..., bool],
    found: dict[str, Law],
    wanted: tuple[str, ...],
    warnings: list[str],
) -> Structure | None:
    """Test the group law and, where it holds on real positions, read the generator."""
    condition = float(np.max(np.linalg.cond(of_positions.at_lag(subject, 0.0))))
    if condition > CONDITION:
        warnings.append(f"logits at lag 0 have condition {condition:.2g}, so A(t) is not formed")
        return None
    is_group = test("group", of_positions.group, reach=min(50.0, 0.25 * subject.reach))
    if subject.axes > 1:
        test("axes", of_positions.axes)
    smooth = subject.whole or test("continuity", of_positions.continuity, SMOOTH)
    if subject.whole or not (is_group and smooth):
        return None
    x, error = generator_of(subject)
    limit = max(GENERATED, 10.0 * found["group"].tolerance)
    found["generator"] = Law(
        residual=error, tolerance=limit, promised="generator" in wanted, note="exp(tX) = A(t)"
    )
    if not found["generator"].holds:
        return None
    structure = classify(x)
    direction = "causal" if subject.causal else "both"
    found["boundedness"] = Law(
        residual=0.0 if structure.bounded[direction] else 1.0,
        tolerance=0.5,
        promised="boundedness" in wanted,
        note="for lags from 0 on" if subject.causal else "for lags of both signs",
    )
    warnings.extend(structure.warnings)
    return structure


def generator_of(subject: Subject) -> tuple[Floats, float]:
    """Return X of the first head on the first axis, and how far exp(tX) is from A(t)."""
    inverse = np.linalg.inv(of_positions.at_lag(subject, 0.0))

    def at(t: float) -> Floats:
        made = of_positions.at_lag(subject, t) @ inverse
        return made.reshape(-1, subject.dimension, subject.dimension)[0]

    step = 1.0
    while step > 1e-9 and np.linalg.norm(at(step) - np.eye(subject.dimension), 2) > 0.5:
        step *= 0.5
    x = np.asarray(logm(at(step)), dtype=np.complex128).real / step
    worst = 0.0
    for t in (2.0 * step, 16.0 * step, 7.0):
        wanted = at(t)
        worst = max(worst, of_positions.residual(np.asarray(expm(t * x)), wanted))
    return x, worst
