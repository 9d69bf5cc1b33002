r"""Clocks: an encoding that is a group in tau(t) and not in t, certified modulo tau.

    f(q, k, t, s) = q^T exp((tau_t - tau_s) X) k,   tau rising

Laws are asked in clock time: a position is where the clock shows the time that is asked for, found
by halving the interval between the positions around it [brent1973 ch. 3]. Learned clocks, sums of
what tokens add, and a logarithm of the position are of this kind: level L3 with its clock, L6
without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.errors import GroupError
from gnomon.groups.blocks import Floats
from gnomon.groups.subject import Coder, Subject

Clock = Callable[[Floats], Any]
HALVINGS = 80
"""A position is then right to its last digit."""


def modulo(subject: Subject, clock: Clock) -> Subject:
    """Return the subject in the time of a clock, which must rise with the position."""
    if subject.axes > 1 or subject.whole:
        raise GroupError("A clock needs real positions on one axis; pass a subject of that kind.")
    ends = np.array([0.0, subject.reach])
    shown = _shown(clock, ends)

    def to_positions(times: Floats) -> Floats:
        return position_at(clock, shown[0] + times, subject.reach)

    def logits(q: Floats, k: Floats, t: Floats, s: Floats, *tokens: Floats) -> Any:
        return subject.logits(q, k, to_positions(t), to_positions(s), *tokens)

    return replace(
        subject,
        name=f"{subject.name}, modulo its clock",
        logits=logits,
        coder=None if subject.coder is None else _in_time(subject.coder, to_positions),
        reach=float(shown[1] - shown[0]),
        timed=True,
    )


def _in_time(begin: Callable[[], Coder], to_positions: Callable[[Floats], Floats]) -> Any:
    """Return the coder of a subject, asked in the time of a clock."""

    def begun() -> Coder:
        code = begin()
        return lambda q, k, at: code(q, k, to_positions(at))

    return begun


def _shown(clock: Clock, at: Floats) -> Floats:
    """Return what a clock shows, or refuse one that does not rise."""
    fine = np.linspace(at[0], at[-1], 257)
    times = np.asarray(clock(fine), dtype=np.float64)
    if times.shape != fine.shape or not np.isfinite(times).all():
        raise GroupError("The clock does not give one finite time for each position.")
    if (np.diff(times) <= 0.0).any():
        first = fine[int(np.argmax(np.diff(times) <= 0.0))]
        raise GroupError(f"The clock does not rise after position {first:g}; pass one that rises.")
    return np.asarray(clock(at), dtype=np.float64)


def position_at(clock: Clock, times: Floats, reach: float) -> Floats:
    """Return the positions in [0, reach] at which a rising clock shows these times."""
    low, high = np.zeros_like(times), np.full_like(times, reach)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        later = np.asarray(clock(middle), dtype=np.float64) > times
        low, high = np.where(later, low, middle), np.where(later, middle, high)
    return 0.5 * (low + high)
