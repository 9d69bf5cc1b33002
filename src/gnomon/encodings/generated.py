r"""The generator of an encoding: its group in blocks, X with logit = q^T exp((t - s) X) k.

A rotary encoding turns pair (a, b) of both sides by wt, and so its logits by w(s - t): X = -w J on
the pair, which is a block of frequency |w| in the basis (e_a, -sign(w) e_b). Coordinates that do
not turn are zero blocks [puranik2026]. A factor that multiplies queries and keys is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import EncodingError
from gnomon.groups import Block, Commuting, Generator
from gnomon.numeric import checks
from gnomon.numeric.checks import reals

if TYPE_CHECKING:
    from gnomon.encodings.arrays import Array, Namespace

Floats = NDArray[np.float64]


def of_head(values: Any, head: int, plain: int) -> Floats:
    """Return the numbers of one head: `plain` axes are those of numbers that serve all heads."""
    array = reals(values, "values")
    if array.ndim == plain:
        return array
    checks.whole("head", head, least=0)
    if head >= len(array):
        raise EncodingError(f"There is no head {head} of {len(array)}; pass 0 to {len(array) - 1}.")
    return np.asarray(array[head])


def of_turns(
    frequencies: Floats, pairs: Floats, rates: Floats | None = None
) -> Generator | Commuting:
    """Return the generator of turns in given planes: one for one axis, commuting ones for several.

    Frequencies (pairs, axes); `pairs` (d, 2 pairs + rest) has the two vectors of every plane as
    columns side by side, then what does not turn; rates (pairs,) where they decay.
    """
    decays = np.zeros(len(frequencies)) if rates is None else rates
    made = [_axis(column, decays, pairs) for column in frequencies.T]
    return made[0] if len(made) == 1 else Commuting(made)


def _axis(frequencies: Floats, rates: Floats, pairs: Floats) -> Generator:
    blocks: list[Block] = []
    basis = pairs.copy()
    for place, (turn, decay) in enumerate(zip(frequencies, rates, strict=True)):
        if turn == 0.0:
            blocks += [Block(decay=decay), Block(decay=decay)]
        else:
            blocks.append(Block(decay=decay, frequency=abs(turn)))
            basis[:, 2 * place + 1] *= -np.sign(turn)
    blocks += [Block()] * (basis.shape[1] - 2 * len(frequencies))
    return Generator(blocks, basis)


def of_columns(blocks: Iterable[Block], columns: Floats) -> Generator:
    """Return blocks in a basis, without one where it is the identity."""
    plain = np.array_equal(columns, np.eye(len(columns)))
    return Generator(blocks, None if plain else columns)


def pair_columns(dimension: int, *, layout: str, first: int, rotated: int) -> Floats:
    """Return unit vectors as columns: both of every pair side by side, then the rest.

    >>> pair_columns(4, layout="half", first=0, rotated=4).argmax(axis=0)
    array([0, 2, 1, 3])
    """
    places = np.arange(first, first + rotated)
    pairs = places if layout == "interleaved" else places.reshape(2, -1).T.reshape(-1)
    rest = np.setdiff1d(np.arange(dimension), places)
    return np.eye(dimension)[:, np.concatenate([pairs, rest])]


def of_skew(matrices: Floats) -> Generator | Commuting:
    """Return the generators of skew matrices (axes, d, d) whose exponentials turn both sides."""
    made = [_skew(-one) for one in matrices]
    return made[0] if len(made) == 1 else Commuting(made)


def _skew(matrix: Floats) -> Generator:
    """Return a skew matrix in planes that it turns: its real Schur form is block-diagonal."""
    from scipy.linalg import schur

    form, basis = schur(matrix, output="real")
    blocks: list[Block] = []
    place, size = 0, len(form)
    while place < size:
        turn = form[place + 1, place] if place + 1 < size else 0.0
        if abs(turn) > np.finfo(np.float64).eps * size * max(1.0, float(np.abs(form).max())):
            blocks.append(Block(frequency=abs(float(turn))))
            basis[:, place + 1] *= np.sign(turn)
            place += 2
        else:
            blocks.append(Block())
            place += 1
    return Generator(blocks, basis)


def skew_of(raw: Array, *, xp: Namespace) -> Array:
    """Return the skew matrix of the numbers above the diagonal: U - U^T."""
    upper: Any = xp.triu(raw, k=1)
    return upper - xp.matrix_transpose(upper)
