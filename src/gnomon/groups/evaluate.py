r"""Logits of a generator, q^T exp((t - s) X) k, right at every position.

Vectors are taken into blocks once, q by P^T and k by P^-1, and carried there: O(d) for a vector and
block, and no (n, d, d) matrices. Positions are counted from the middle of all before anything is
multiplied, so that times of 1.7e9 seconds keep the precision of their differences; groups that fade
get a reference for each block of pairs (`gnomon.groups.causal`) [sun2022 sec. 3.2 for a decay].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gnomon.errors import GroupError
from gnomon.groups.actions import block_weighed, jordan_weights
from gnomon.groups.blocks import Block, Floats
from gnomon.groups.causal import Side, causal_logits
from gnomon.numeric.checks import reals

if TYPE_CHECKING:
    from gnomon.groups.generator import Generator


def by_block(generator: Generator, x: Floats, act: Callable[[Block, Floats], Floats]) -> Floats:
    """Return what `act` does to the coordinates of each block."""
    first, made = 0, []
    for block in generator.blocks:
        made.append(act(block, x[..., first : first + block.dimension]))
        first += block.dimension
    return np.concatenate(made, axis=-1)


def carried(generator: Generator, x: Floats, steps: Floats, side: str) -> Floats:
    """Return exp(tJ)^T x ("q") or exp(-tJ) x ("k")."""
    if side == "q":
        return by_block(generator, x, lambda b, part: b.acting(part, steps, transposed=True))
    return by_block(generator, x, lambda b, part: b.acting(part, -steps))


def scores(generator: Generator, q: ArrayLike, k: ArrayLike, t: ArrayLike, s: ArrayLike) -> Floats:
    """Return logits (..., n, m), -inf on keys after their query unless X is bounded both ways."""
    if any(block.decay > 0.0 for block in generator.blocks):
        generator.causal()
    (left, at_q), (right, at_k) = checked(generator, q, t, "q"), checked(generator, k, s, "k")
    both = np.concatenate([at_q.reshape(-1), at_k.reshape(-1)])
    origin = 0.5 * (both.min() + both.max()) if both.size else 0.0
    at_q, at_k = at_q - origin, at_k - origin
    if generator.bounded("both"):
        made = carried(generator, left, at_q, "q"), carried(generator, right, at_k, "k")
        return made[0] @ np.swapaxes(made[1], -1, -2)
    sides = [
        Side(vectors=turned, coordinates=places[..., None], places=places[..., None])
        for turned, places in (
            (_turned(generator, left, at_q), at_q),
            (_turned(generator, right, at_k), at_k),
        )
    ]
    simple = all(block.order == 1 for block in generator.blocks)
    return np.asarray(
        causal_logits(
            sides[0],
            sides[1],
            carry=lambda x, steps, side: _sheared(generator, x, steps[..., 0], side),
            weigh=lambda x, y, ages: _weighed(generator, x, y, ages),
            steepness=-min(b.decay for b in generator.blocks) if simple else np.inf,
            xp=np,
        )
    )


def _turned(generator: Generator, x: Floats, at: Floats) -> Floats:
    """Return what turns do to either side; they need no reference."""
    return by_block(generator, x, lambda block, part: block.turned(part, at, back=True))


def _sheared(generator: Generator, x: Floats, steps: Floats, side: str) -> Floats:
    """Return what is left without turns, of queries or keys."""
    if side == "q":
        return by_block(generator, x, lambda b, part: b.sheared(part, steps, back=True))
    return by_block(generator, x, lambda b, part: b.sheared(part, -steps))


def _weighed(generator: Generator, q: Floats, k: Floats, ages: Floats) -> Floats:
    total: Any = 0.0
    first = 0
    for block in generator.blocks:
        part = slice(first, first + block.dimension)
        weights = jordan_weights(ages, block.decay, block.gain, block.order, xp=np)
        width = block.dimension // block.order
        total = total + block_weighed(q[..., part], k[..., part], weights, width=width, xp=np)
        first += block.dimension
    return np.asarray(total)


def checked(
    generator: Generator, x: ArrayLike, positions: ArrayLike, side: str
) -> tuple[Floats, Floats]:
    """Return vectors where blocks act, and their positions, or say what does not fit."""
    array, at = reals(x, "x"), reals(positions, "positions")
    if array.ndim < 2 or array.shape[-1] != generator.dimension:
        raise GroupError(
            f"{side} has shape {array.shape}, and the generator acts on {generator.dimension} "
            f"coordinates; pass an array of shape (..., positions, {generator.dimension})."
        )
    if at.ndim == 0 or at.shape[-1] != array.shape[-2] or not np.isfinite(at).all():
        raise GroupError(
            f"The positions of {side} have shape {at.shape}, and there are {array.shape[-2]} "
            "vectors; pass a finite position for each."
        )
    return generator.into_blocks(array, side), at
