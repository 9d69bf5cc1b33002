r"""From laws to a level, L0 ... L7: how far an encoding is from a one-parameter group.

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

from collections.abc import Mapping

from gnomon.groups.certificate import Law

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


def promised_by(level: str, laws: Mapping[str, Law], found: str) -> tuple[str, ...]:
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
    level = _level_of(laws)
    if not timed:
        return level
    return {"L0": "L3", "L1": "L3", "L2": "L6", "L5": "L6"}.get(level, level)


def _level_of(laws: Mapping[str, Law]) -> str:

    def holds(name: str) -> bool:
        return name in laws and laws[name].holds

    relative, affine = holds("shift") or holds("gauge"), holds("affine")
    if not holds("context"):
        along = {True: "L3", False: "L4"}[holds("order")]
        return "L7" if not affine else along if relative and holds("path") else "L6"
    if not relative:
        return "L6"
    if holds("linearity") and holds("group"):
        return "L0"
    if affine:
        return "L1" if holds("rank") else "L5"
    return "L2" if holds("content") else "L7"
