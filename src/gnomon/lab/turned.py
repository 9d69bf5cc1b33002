r"""Which pairs of coordinates the transforms of a layer turn, found by what they do to a basis.

A transform that is linear in queries is a matrix M(p) for each head and position. What it does from
position 0 on is M(0)^-1 M(p). Coordinates a, b are a *turned pair* where this maps them to
themselves, and nothing else to them, by a rotation,

    (y_a, y_b) = r (x_a cos t - x_b sin t, x_a sin t + x_b cos t),    t no multiple of pi,

whatever the layout, the share of a head that turns, or what stands before it. A decay or a growth r
is allowed. Blocks of more coordinates, boosts, and transforms that are not linear turn no pairs;
neither do vectors and biases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gnomon.torch import Transform

PROBES = (3.0**0.5, 1400.0**0.5)
"""Positions at which transforms are looked at; irrational, as frequencies may be parts of pi."""
SMALL = 1e-9
Floats = NDArray[np.float64]
Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class TurnedPairs:
    """The pairs of one layer, in the order of their first coordinates."""

    coordinates: tuple[Pair, ...]
    heads: NDArray[np.bool_]
    """(heads, pairs): which heads turn them."""


@torch.no_grad()
def turned_pairs(coupled: Any, width: int) -> TurnedPairs:
    """Return the pairs that a layer (`gnomon.lab.coupled.Coupled`) turns in heads of a width."""
    found: list[set[Pair]] = [set() for _ in range(coupled.heads)]
    turning = [one for one in coupled.layers if isinstance(one, Transform)]
    for head, matrices in enumerate(_from_origin(coupled, width, turning) if turning else ()):
        found[head] = set(pairs_of(matrices))
    every = sorted(set().union(*found))
    heads = np.array([[pair in own for pair in every] for own in found], np.bool_)
    return TurnedPairs(coordinates=tuple(every), heads=heads.reshape(coupled.heads, len(every)))


def pairs_of(matrices: Floats) -> list[Pair]:
    """Return the pairs that matrices (positions, d, d) of one head turn; rows are vectors.

    >>> turn = np.array([[[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]])
    >>> pairs_of(turn)
    [(0, 1)]
    """
    used: NDArray[np.bool_] = np.asarray((np.abs(matrices) > SMALL).any(axis=0))
    joined = used | used.T | np.eye(len(used), dtype=np.bool_)
    pairs = []
    for first in range(len(used)):
        beside = np.flatnonzero(joined[first])
        if len(beside) == 2 and beside[0] == first:
            second = int(beside[1])
            alone = joined[second].sum() == 2
            if alone and _rotates(matrices[:, beside][:, :, beside]):
                pairs.append((first, second))
    return pairs


def _rotates(blocks: Floats) -> bool:
    """Whether blocks (positions, 2, 2) are rotations, but for their length, and not all trivial."""
    scale = SMALL * np.abs(blocks).max()
    straight = np.abs(blocks[:, 0, 0] - blocks[:, 1, 1]) <= scale
    crossed = np.abs(blocks[:, 0, 1] + blocks[:, 1, 0]) <= scale
    return bool((straight & crossed).all() and (np.abs(blocks[:, 0, 1]) > scale).any())


def _from_origin(coupled: Any, width: int, turning: list[Any]) -> Floats:
    """Return M(0)^-1 M(p) as (heads, probes, d, d); no heads where that is not to be had."""
    made = [_matrices(coupled, width, at, turning) for at in (0.0, *PROBES)]
    known = [one for one in made if one is not None]
    none = np.zeros((0, len(PROBES), width, width))
    if len(known) < len(made) or np.linalg.cond(known[0]).max() > 1.0 / SMALL:
        return none
    return np.stack([np.linalg.solve(known[0], one) for one in known[1:]], axis=1)


def _matrices(coupled: Any, width: int, at: float, turning: list[Any]) -> Floats | None:
    """Return M(p) by head, (heads, inputs, outputs); None: what turns is not linear."""
    axes = turning[0].definition.axes
    place = torch.full((1,), at, dtype=torch.float64)
    if axes > 1:  # another place on every axis, so that none cancels another
        place = at + torch.arange(axes, dtype=torch.float64)[None]
    some = torch.linspace(-1.0, 2.0, width, dtype=torch.float64).square()
    rows = torch.cat([torch.eye(width, dtype=torch.float64), some[None]])
    rows = rows[:, None, None, :].expand(width + 1, coupled.heads, 1, width)
    made = coupled.apply(rows, rows, positions_q=place, positions_k=place)[0]
    if made.shape != rows.shape:
        return None
    whole = made[:, :, 0].permute(1, 0, 2).double().numpy()
    basis, other = whole[:, :-1], whole[:, -1]
    expected = np.einsum("i,hio->ho", some.numpy(), basis)
    linear = np.allclose(other, expected, rtol=0.0, atol=SMALL * np.abs(whole).max())
    return basis if linear else None
