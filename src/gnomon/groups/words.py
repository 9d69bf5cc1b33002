"""What a reader of a structure must be told: what else X may be, and what would decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.groups.checking import EPSILON
from gnomon.groups.search import NEAR, Cluster

if TYPE_CHECKING:
    from gnomon.groups.classify import Found, Units

STEP = (
    "all eigenvalues have modulus 1, as those of a step A(1) of rotations have; if X is a step and "
    "no generator, pass it to classify_step (--step)."
)


def warnings_of(
    structure: Sequence[Found], generic: Sequence[Found], misses: Sequence[Cluster], units: Units
) -> tuple[str, ...]:
    """Return the warnings, each a sentence."""
    said = [
        _defective(structure, generic),
        _near(misses, units.norm),
        _nearly_undamped(structure, units),
        _undecided(structure, units),
        _narrow(units),
        _is_step(structure, units),
    ]
    return tuple(sentence for sentence in said if sentence)


def in_words(one: Found) -> str:
    """Return blocks as a short formula.

    >>> from gnomon.groups.classify import classify
    >>> in_words(classify([[-0.5, 1.0], [0.0, -0.5]]).structure[0])
    'J2(-0.5)'
    """
    turn = f"+-{one.frequency:.6g}i" if one.frequency else ""
    value = f"{one.decay:.6g}{turn}" if one.decay or not turn else turn
    name = f"J{one.order}({value})"
    return name if one.count == 1 else f"{one.count} x {name}"


def _defective(structure: Sequence[Found], generic: Sequence[Found]) -> str:
    chains = [one for one in structure if one.order > 1]
    if not chains:
        return ""
    alone = [one for one in generic if one.condition == math.inf]
    error = max(one.backward_error for one in chains)
    return (
        f"the blocks {_listed(chains)} hold within {error:.1e} of |X|, but eigenvalues alone read "
        f"{_listed(alone)}: almost every change of X takes such blocks apart."
    )


def _near(misses: Sequence[Cluster], norm: float) -> str:
    """Say which tolerance would make the structure more special."""
    widest = [
        one for one in misses if not any(set(one.members) < set(other.members) for other in misses)
    ]
    if not widest:
        return ""
    far = max(one.distance for one in widest) / norm
    sizes = ", ".join("+".join(f"J{size}" for size in one.sizes) for one in widest[:4])
    more = ", ..." if len(widest) > 4 else ""
    return (
        f"a more special structure ({sizes}{more}) is {far:.1e} of |X| away; if X is not known "
        f"better than that, pass tolerance={_rounded_up(2.0 * far)}."
    )


def _nearly_undamped(structure: Sequence[Found], units: Units) -> str:
    """Warn of real parts that a slightly larger tolerance would call zero."""
    near = [ratio for ratio in _in_tolerances(structure, units) if 1.0 < ratio <= NEAR]
    if not near:
        return ""
    wider = _rounded_up(2.0 * max(near) * units.tolerance)
    parts = "1 real part is" if len(near) == 1 else f"{len(near)} real parts are"
    return (
        f"{parts} not zero, but within {max(near):.0f} tolerances of it; if X is not known better "
        f"than that, pass tolerance={wider}."
    )


def _undecided(structure: Sequence[Found], units: Units) -> str:
    """Warn of eigenvalues that the tolerance lets move as far as to their neighbours."""
    lost = [ratio for ratio in _in_tolerances(structure, units) if ratio <= 1.0]
    if not lost:
        return ""
    worst = max(one.condition for one in structure)
    return (
        f"{len(lost)} eigenvalues are not told from their neighbours at this tolerance (condition "
        f"up to {worst:.1e}): what they are is not known; try a smaller or a larger tolerance."
    )


def _narrow(units: Units) -> str:
    """Say what a narrow type leaves to know."""
    if units.rounding <= EPSILON:
        return ""
    return (
        f"X came in a type that rounds to {units.rounding:.1e}, so that the tolerance is "
        f"{units.tolerance:.1e}; pass the matrix in float64 to know more."
    )


def _is_step(structure: Sequence[Found], units: Units) -> str:
    """Ask whether X is a step: eigenvalues on the unit circle, and not only +-i, or only -1."""
    delta = units.delta * units.scale
    for one in structure:
        modulus = abs(complex(one.decay, one.frequency))
        if abs(modulus - 1.0) > 1e-6 + min(delta * one.condition, 1e-3):
            return ""
    size = sum(one.dimension for one in structure)
    turning = any(one.decay and one.frequency for one in structure)
    growing = any(one.decay > 0.0 for one in structure)
    return STEP if size > 1 and (turning or growing) else ""


def _in_tolerances(structure: Sequence[Found], units: Units) -> list[float]:
    """Return the real parts that are not zero in units of what the tolerance can move them by."""
    moved = [(abs(one.decay) / units.scale, units.delta * one.condition) for one in structure]
    return [decay / most for decay, most in moved if decay]


def _listed(founds: Sequence[Found]) -> str:
    shown = [in_words(one) for one in founds[:4]]
    return ", ".join(shown) + (", ..." if len(founds) > 4 else "")


def _rounded_up(value: float) -> str:
    """Return a number with one digit that is no smaller."""
    power = 10.0 ** math.floor(math.log10(value))
    return f"{min(math.ceil(value / power) * power, 0.1):.0e}"
