"""What a reader of a structure must be told: what else X may be, and what would decide it.

Where two structures are within reach of X, both are named, with the tolerance at which the answer
turns from one to the other. A tolerance is advised only where the answer at it, and at three times
it, is one and leaves nothing of this kind to say; else it is said that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gnomon.groups.checking import EPSILON
from gnomon.groups.search import FARTHEST, NEAR, Cluster

if TYPE_CHECKING:
    from gnomon.groups.classification import Found, Units

STEP = (
    "all eigenvalues have modulus 1, as those of a step A(1) of rotations have; if X is a step and "
    "no generator, pass it to classify_step (--step)."
)


EXACT = 1e-3
"""Share of the tolerance below which blocks are exact, so that no tolerance takes them apart."""
THIN = 0.1
"""Share of the tolerance above which what was put to zero, or together, is spoken of."""
CLEAR = 10.0
"""The next structure is so many tolerances away, where an answer is settled."""
SENSITIVE = 30.0
"""Condition from which an eigenvalue may be one of a block that was split."""
SPLIT = 3e-6
"""Change of X, as a share, that is looked for behind such an eigenvalue."""
NOTED = 1e-2
"""Share of its frequency from which a real part that was put to zero is spoken of."""
Settled = Callable[[float], float | None]
"""A tolerance to begin with -> one at which the answer is settled, or None."""


def warnings_of(
    clusters: Sequence[Cluster],
    structure: Sequence[Found],
    generic: Sequence[Found],
    misses: Sequence[Cluster],
    units: Units,
    settled: Settled,
) -> tuple[tuple[str, ...], bool]:
    """Return the warnings, each a sentence, and whether none is of another structure near by."""
    asked = suggestion(structure, misses, units)
    advised = None if asked is None else settled(asked)
    thin = any(one.backward_error > THIN * units.tolerance for one in structure if one.order > 1)
    doubts = [
        _merged(structure, units),
        _near(misses, units.norm, advised),
        _nearly_undamped(structure, units, advised),
        _zeroed(clusters, structure, units),
        _undecided(structure, units) or _fragile(structure, units),
        _slowly_turning(structure, units),
    ]
    said = [
        _defective(structure, generic, units),
        *doubts,
        _narrow(units),
        _is_step(structure, units),
    ]
    return tuple(sentence for sentence in said if sentence), not (thin or any(doubts))


def suggestion(
    structure: Sequence[Found], misses: Sequence[Cluster], units: Units, *, most: float = math.inf
) -> float | None:
    """Return a tolerance that takes in all that is near up to so many tolerances, or None."""
    asked = [2.0 * one.distance / units.norm for one in _widest(misses)]
    asked = asked or [2.0 * ratio * units.tolerance for ratio in _nearly_zero(structure, units)]
    return max((one for one in asked if one <= most * units.tolerance), default=None)


def is_settled(structure: Sequence[Found], misses: Sequence[Cluster], units: Units) -> bool:
    """Whether no other structure is near and no eigenvalue may be a part of a block."""
    if suggestion(structure, misses, units, most=CLEAR) is not None:
        return False
    return not (_undecided(structure, units) or _fragile(structure, units))


def in_words(one: Found) -> str:
    """Return blocks as a short formula.

    >>> from gnomon.groups.classification import classify
    >>> in_words(classify([[-0.5, 1.0], [0.0, -0.5]]).structure[0])
    'J2(-0.5)'
    """
    turn = f"+-{one.frequency:.6g}i" if one.frequency else ""
    value = f"{one.decay:.6g}{turn}" if one.decay or not turn else turn
    name = f"J{one.order}({value})"
    return name if one.count == 1 else f"{one.count} x {name}"


def _defective(structure: Sequence[Found], generic: Sequence[Found], units: Units) -> str:
    chains = [one for one in structure if one.order > 1]
    if not chains:
        return ""
    alone = [one for one in generic if one.condition == math.inf]
    error = max(one.backward_error for one in chains)
    turns = error > EXACT * units.tolerance
    below = ", and at a tolerance below that distance the second reading is the answer"
    below = below if turns else ""
    return (
        f"the blocks {_listed(chains)} hold within {error:.1e} of |X|, but eigenvalues alone read "
        f"{_listed(alone)}: almost every change of X takes such blocks apart{below}."
    )


def _merged(structure: Sequence[Found], units: Units) -> str:
    """Say which eigenvalues are equal only since the tolerance is as large as it is."""
    thin = [one for one in structure if one.order == 1 and one.count > 1]
    thin = [one for one in thin if one.backward_error > THIN * units.tolerance]
    if not thin:
        return ""
    error = max(one.backward_error for one in thin)
    return (
        f"the eigenvalues of {_listed(thin)} are equal within {error:.1e} of |X|; at a tolerance "
        "below that they differ."
    )


def _zeroed(clusters: Sequence[Cluster], structure: Sequence[Found], units: Units) -> str:
    """Say which real parts are zero only since the tolerance is as large as it is."""
    moved = [(one.mean.real, units.delta * one.condition) for one in clusters]
    thin = [(abs(part) / most, part) for part, most in moved if THIN * most < abs(part) <= most]
    known = {(one.decay, one.frequency) for one in structure}
    for one, (part, most) in zip(clusters, moved, strict=True):
        turn = abs(one.mean.imag)
        if abs(part) > NOTED * turn > 0.0 and (0.0, turn * units.scale) in known:
            thin.append((abs(part) / most, part))  # small for the tolerance, and not for the turn
    if not thin:
        return ""
    ratio, part = max(thin)
    count = "1 real part is" if len(set(thin)) == 1 else f"{len(set(thin))} real parts are"
    least = ratio * units.tolerance
    below = f"at a tolerance below {least:.1e} such a part is not zero."
    below = below if least > EPSILON else "rounding alone moves X as far as that takes."
    size = f"{part * units.scale:.2g}"
    return f"{count} within the tolerance of zero (up to {size}); {below}"


def _widest(misses: Sequence[Cluster]) -> list[Cluster]:
    return [
        one for one in misses if not any(set(one.members) < set(other.members) for other in misses)
    ]


def _advice(advised: float | None) -> str:
    """Return the advice to pass a tolerance that was tried, or that there is none to pass."""
    if advised is None:
        return "no tolerance was found at which the answer is settled"
    return f"pass tolerance={advised:.0e}"


def _near(misses: Sequence[Cluster], norm: float, advised: float | None) -> str:
    """Say which tolerance would make the structure more special."""
    widest = _widest(misses)
    if not widest:
        return ""
    far = max(one.distance for one in widest) / norm
    sizes = ", ".join("+".join(f"J{size}" for size in one.sizes) for one in widest[:4])
    more = ", ..." if len(widest) > 4 else ""
    return (
        f"a more special structure ({sizes}{more}) is {far:.1e} of |X| away; if X is not known "
        f"better than that, {_advice(advised)}."
    )


def _nearly_zero(structure: Sequence[Found], units: Units) -> list[float]:
    """Return real parts, in tolerances, that a larger tolerance would call zero."""
    most = max(NEAR, FARTHEST / units.tolerance)
    return [ratio for ratio in _in_tolerances(structure, units) if 1.0 < ratio <= most]


def _nearly_undamped(structure: Sequence[Found], units: Units, advised: float | None) -> str:
    """Warn of real parts that a slightly larger tolerance would call zero."""
    near = _nearly_zero(structure, units)
    if not near:
        return ""
    parts = "1 real part is" if len(near) == 1 else f"{len(near)} real parts are"
    return (
        f"{parts} not zero, but within {max(near):.0f} tolerances of it; if X is not known better "
        f"than that, {_advice(advised)}."
    )


def _undecided(structure: Sequence[Found], units: Units) -> str:
    """Warn of eigenvalues that the tolerance lets move as far as to their neighbours."""
    lost = [ratio for ratio in _in_tolerances(structure, units) if ratio <= 1.0]
    lost += [0.0 for one in structure if one.decay == 0.0 and one.error > (one.gap or math.inf)]
    if not lost:
        return ""
    worst = max(one.condition for one in structure)
    told = "is not told from its" if len(lost) == 1 else "are not told from their"
    return (
        f"{_counted(len(lost), 'eigenvalue')} {told} neighbours at this tolerance (condition up to "
        f"{worst:.1e}): what they are is not known; try a smaller or a larger tolerance."
    )


def _fragile(structure: Sequence[Found], units: Units) -> str:
    """Warn of simple eigenvalues that a small change of X moves onto each other.

    So do those of a block that was split: J_m at a distance e becomes eigenvalues e^(1/m) apart,
    each of a condition that is the inverse of e^(1 - 1/m).
    """
    reach = max(units.tolerance, SPLIT) * units.norm
    found = []
    for one in structure:
        if one.order > 1 or one.condition < SENSITIVE:
            continue
        apart = min(one.gap or math.inf, 2.0 * one.frequency or math.inf) / units.scale
        if 0.25 * apart <= reach * one.condition:
            found.append((0.25 * apart / one.condition / units.norm, one.condition))
    if not found:
        return ""
    least, worst = min(found)[0], max(found, key=lambda pair: pair[1])[1]
    return (
        f"{_counted(len(found), 'eigenvalue')} may reach a neighbour by a change of {least:.1e} "
        f"of |X| (condition up to {worst:.1e}): if X is not known much better than that they may "
        "be parts of blocks of higher order, which only a tolerance above its error shows."
    )


def _slowly_turning(structure: Sequence[Found], units: Units) -> str:
    """Name both readings of a damped turn so slow that noise of X makes it of two equal decays."""
    slow = [
        (one.frequency / units.scale / one.condition / units.norm, one)
        for one in structure
        if one.frequency and one.decay and one.order == 1 and one.condition < SENSITIVE
    ]
    slow = [pair for pair in slow if pair[0] <= SPLIT]
    if not slow:
        return ""
    change, one = max(slow, key=lambda pair: pair[0])
    return (
        f"{in_words(one)} turns by so little that a change of {change:.1e} of |X| makes it of two "
        f"equal decays {one.decay:.6g}: it is those if X is not known better than that, and a "
        "damped rotation if it is."
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


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(founds: Sequence[Found]) -> str:
    shown = [in_words(one) for one in founds[:4]]
    return ", ".join(shown) + (", ..." if len(founds) > 4 else "")
