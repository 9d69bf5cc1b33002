r"""What rounding leaves to be seen: the type of a function, the tolerance and reach of its laws.

Vectors may be rounded in the type that a function computes in, eps for each; phases must be held in
float32 at least, which leaves eps32 w t at position t for a frequency w of 1 [goldberg1991]:

    tolerance = 4 eps + 4 eps32 t        float64: 1e-9

so that phases of bfloat16, whose error is 2^16 times as large, do not pass for rounding. A residual
is a share of the largest logit, and a tolerance above 0.05 would certify anything: the reach is cut
back to where it is below.

The type is that of what is returned, or coarser: vectors that are exact in a narrow type, changed
by less than its rounding, give the same logits where they pass through it; so do positions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.errors import GroupError
from gnomon.groups.blocks import Floats
from gnomon.groups.subject import EPSILON, Subject, rounding_of
from gnomon.groups.windows import LEAST, find_window

TOLERANCE = 1e-9
LARGEST = 0.05
"""Largest tolerance that still tells a law from its opposite."""
SINGLE = float(np.finfo(np.float32).eps)
TYPES = {2.0**-7: "bfloat16", 2.0**-10: "float16", 2.0**-23: "float32"}
"""Narrow types by their rounding."""
VECTORS = PHASES = 4.0


def tolerance_of(subject: Subject) -> float:
    """Return the residual that rounding alone may leave."""
    if not subject.narrow:
        return TOLERANCE
    return min(LARGEST, VECTORS * subject.rounding + PHASES * SINGLE * subject.reach)


def checked_tolerance(tolerance: Any) -> float:
    """Return a tolerance for laws, or refuse one that nothing or everything meets."""
    usual = isinstance(tolerance, int | float | np.number) and not isinstance(tolerance, bool)
    if not usual or not 1e-15 <= float(tolerance) <= LARGEST:
        raise GroupError(
            f"tolerance is {tolerance!r}; pass a share of the largest logit between 1e-15 and "
            f"{LARGEST:g}."
        )
    return float(tolerance)


def fitted(subject: Subject, *, cut: bool = True) -> Subject:
    """Return a function with the rounding that it shows, its reach cut to what that leaves."""
    subject = subject.begun()
    given = _exact(subject)
    base = subject(*given)
    if not base.any():
        raise GroupError(
            f"{subject.name} gives 0 for every query and key, so there is nothing positional in "
            "it; pass a map that keeps what vectors hold."
        )
    subject = find_window(subject)
    if subject.span is not None:
        given = _exact(subject)
        base = subject(*given)
    returned = subject.shown or (lambda *given: rounding_of(subject.logits(*given)))
    seen = max(subject.rounding, returned(*given), _of_vectors(subject, base, given))
    if not subject.whole:
        seen = max(seen, _of_positions(subject, base, given))
    made = replace(subject, rounding=seen, warnings=(*subject.warnings, *_still(subject, base)))
    return _within(made) if cut else made


def _exact(subject: Subject) -> tuple[Floats, Floats, Floats, Floats]:
    """Return queries, keys and positions that are exact in all types, at lags that are seen."""
    rng = np.random.default_rng(0)
    q, k = np.round(8.0 * rng.normal(size=(2, 4, subject.dimension))) / 8.0
    late, early = (
        subject.places(np.array(shares), reach=subject.lags).astype(np.float32).astype(np.float64)
        for shares in ((0.6, 0.7, 0.8, 0.9), (0.0, 0.1, 0.3, 0.4))
    )
    return q, k, late, early


def _of_vectors(subject: Subject, base: Floats, asked: tuple[Floats, ...]) -> float:
    """Return the coarsest rounding that queries pass through."""
    q, *rest = asked
    for rounding in TYPES:
        less, more = (subject((1.0 + part * rounding) * q, *rest) for part in (1 / 8, 8.0))
        if np.array_equal(less, base) and not np.array_equal(more, base):
            return rounding
    return EPSILON


def _of_positions(subject: Subject, base: Floats, asked: tuple[Floats, ...]) -> float:
    """Return the rounding of float32 where positions of queries pass through it."""
    q, k, late, early = asked
    shown = np.isfinite(base)  # what a window masks stays masked
    less, half, more = (
        subject(q, k, (1.0 + part) * late, early)[shown] - base[shown]
        for part in (2.0**-30, 2.0**-21, 2.0**-20)
    )
    if not shown.any():
        return EPSILON
    moved = float(np.abs(more).max())
    slow = moved * 2.0**-10 <= 1e-12 * float(np.abs(base[shown]).max())  # float64 would not show it
    jumps = float(np.abs(more - 2.0 * half).max()) > 0.25 * moved  # tables that are coarser
    return EPSILON if less.any() or slow or jumps else SINGLE


def _still(subject: Subject, base: Floats) -> tuple[str, ...]:
    """Warn of what does not depend on positions at all, at lags near or far."""
    if subject.lags < LEAST:
        return ()
    rng = np.random.default_rng(0)
    q, k = np.round(8.0 * rng.normal(size=(2, 4, subject.dimension))) / 8.0
    near = 0.5 + np.array([0.0, 1.0, 3.0, 20.0]) / max(subject.lags, 40.0)
    both = (near, np.array([0.5, 0.5, 0.25, 0.0]))
    places = [subject.places(at, reach=subject.lags) for at in both]
    if not np.array_equal(subject(q, k, *places), base):
        return ()
    return ("positions change no logit: there is nothing positional in it.",)


def _within(subject: Subject) -> Subject:
    """Return a subject whose tolerance is small enough to mean something."""
    if not subject.narrow:
        return subject
    left = LARGEST - VECTORS * subject.rounding
    if left <= 0.0:
        raise GroupError(
            f"{subject.name} computes in a type that rounds to {subject.rounding:.2g}, so that no "
            "law can be told from its opposite; pass it in float32."
        )
    said = list(subject.warnings)
    name = TYPES.get(subject.rounding, f"a type that rounds to {subject.rounding:.1e}")
    if subject.rounding > SINGLE:
        said.append(
            f"it computes in {name}, so that what is below {VECTORS * subject.rounding:.1g} of the "
            "largest logit is not seen; pass it in float32 or float64 to see more."
        )
    farthest = float(np.floor(left / (PHASES * SINGLE)))
    if subject.reach > farthest:
        said.append(
            f"laws are looked at up to position {farthest:g} of {subject.reach:g}: further away "
            f"the rounding of {name} hides them."
        )
    span = None if subject.span is None else min(subject.span, farthest)
    return replace(subject, reach=min(subject.reach, farthest), span=span, warnings=tuple(said))
