r"""A step matrix A(1) for whole positions: which generator it has, or why it has none.

On whole positions A(n) = A(1)^n, and any invertible matrix will do. It belongs to a group in
continuous time if A(1) = exp(X) with X real, which is so exactly if A(1) is invertible and every
Jordan block of a negative eigenvalue occurs an even number of times [culver1966]. The logarithm
keeps block sizes: J_m(mu) becomes J_m(ln |mu| + i arg mu), and two blocks of mu < 0 become one that
turns by pi. Frequencies are those up to pi: whole positions can not tell 2 pi more. A cyclic roll
of even size has the eigenvalue -1 once, so it has no real generator; a nilpotent shift has only the
eigenvalue 0, so it acts on lags n >= 0 only, as tables of finitely many lags do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gnomon.errors import GroupError
from gnomon.groups.blocks import Block
from gnomon.groups.classification import Found, Structure, ordered, structure_of
from gnomon.groups.generator import Generator
from gnomon.groups.logarithm import logarithm, logarithm_of
from gnomon.groups.naming import named
from gnomon.groups.words import STEP
from gnomon.results import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class Step(Result):
    """What a step matrix is: its own blocks, those of its real generator, or why there is none."""

    has_generator: bool
    reason: str
    structure: tuple[Found, ...]
    named: str
    bounded: dict[str, bool]
    step: Structure
    warnings: tuple[str, ...]

    def generator(self) -> Generator:
        """Return X in blocks and a basis, exp(X) = A up to the tolerance; refuse if there is none.

        >>> classify_step([[0.0, -1.0], [1.0, 0.0]]).generator().matrix.round(6)
        array([[ 0.      , -1.570796],
               [ 1.570796,  0.      ]])
        """
        if not self.has_generator:
            raise GroupError(
                f"the step has no real generator: {self.reason}; use its powers on whole positions."
            )
        return logarithm(self.step, self.step.tolerance * self.step.norm)


def classify_step(a: ArrayLike, *, tolerance: float | None = None) -> Step:
    """Return the structure of the real X with exp(X) = A, or say why there is none.

    >>> classify_step([[0.0, 1.0], [1.0, 0.0]]).has_generator
    False
    >>> classify_step([[0.0, -1.0], [1.0, 0.0]]).named
    'a rotation by 1.5708 radians per position'
    """
    step = structure_of(a, tolerance=tolerance, what="the step matrix")
    delta = step.tolerance * step.norm
    reason = _obstacle(step)
    founds = () if reason else ordered([_logarithm(one, delta) for one in step.structure])
    return Step(
        has_generator=not reason,
        reason=reason,
        structure=founds,
        named=_without(step) if reason else named(founds),
        bounded=_bounded(step, delta),
        step=step,
        warnings=tuple(said for said in step.warnings if said != STEP),
    )


def _obstacle(step: Structure) -> str:
    """Return why there is no real logarithm, or nothing."""
    for one in step.structure:
        if one.decay == 0.0 and not one.frequency:
            return (
                "the eigenvalue 0 has no logarithm: the step is singular, and acts on lags n >= 0 "
                "only"
            )
        if one.decay < 0.0 and not one.frequency and one.count % 2:
            return (
                f"the eigenvalue {one.decay:.6g} has {one.count} block{'s'[: one.count > 1]} of "
                f"order {one.order}, and a real logarithm needs an even number"
            )
    return ""


def _logarithm(one: Found, delta: float) -> Found:
    """Return the blocks of the logarithm; a modulus of 1 is one that can not be told from it."""
    value = complex(one.decay, one.frequency)
    found = logarithm_of(value, delta * one.condition)
    decay, turn = found.real, found.imag
    negative = turn == math.pi
    return Found(
        kind=Block(decay=decay, frequency=turn, order=one.order).kind,
        decay=decay,
        frequency=turn,
        order=one.order,
        count=one.count // 2 if negative else one.count,
        backward_error=one.backward_error,
        gap=one.gap,
        condition=one.condition / abs(value),
        error=delta * one.condition / abs(value),
    )


def _bounded(step: Structure, delta: float) -> dict[str, bool]:
    """Say where A^n stays bounded: for n >= 0, and for all n."""
    sides = []
    for one in step.structure:
        modulus = abs(complex(one.decay, one.frequency))
        on_circle = abs(modulus - 1.0) <= delta * one.condition
        sides.append((0 if on_circle else 1 if modulus > 1.0 else -1, one.order))
    causal = all(side < 0 or (side == 0 and order == 1) for side, order in sides)
    return {"causal": causal, "both": all(side == 0 and order == 1 for side, order in sides)}


def _without(step: Structure) -> str:
    """Name a step that has no real generator."""
    size = step.dimension
    only = step.structure[0]
    if all(one.decay == 0.0 and not one.frequency for one in step.structure):
        longest = max(one.order for one in step.structure)
        if only.order == size:
            return (
                f"nilpotent shift of {size} coordinates: tables of {size} lags, no real generator"
            )
        return f"nilpotent step: tables of {longest} lags, no real generator"
    if _rolls(step, size):
        return f"cyclic roll of {size} coordinates (RollPE) as a step, no real generator"
    return "a step on whole positions that has no real generator"


def _rolls(step: Structure, size: int) -> bool:
    """Say whether the eigenvalues are the roots of unity of this order, each once."""
    found = [complex(one.decay, one.frequency) for one in step.structure]
    if len(found) != size // 2 + 1 or any(one.count * one.order > 1 for one in step.structure):
        return False
    roots = np.exp(2j * np.pi * np.arange(size // 2 + 1) / size)
    return all(np.abs(np.array(found) - root).min() < 1e-6 for root in roots)
