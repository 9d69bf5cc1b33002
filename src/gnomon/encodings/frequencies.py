r"""Frequencies, phases, and the distances that a turn by a lag makes, with or without decay.

A set of frequencies is a matrix W of shape (pairs, axes): the phase of pair k at position x is
<W_k, x>, in radians. On one axis they are geometric, w_k = base^(-2k/d), k = 0 ... d/2 - 1
[vaswani2017 sec. 3.5]; on several axes each axis has its own equal share of the pairs.

Two points on unit circles that are a phase p apart are 2 |sin(p/2)| apart, so pairs with energy
e_k at lag t have distance D(t)^2 = 4 sum_k e_k sin^2(<W_k, t>/2). Pairs that decay by a_k <= 0 have
the kernel k(t) = sum_k e_k e^(a_k |t|) cos(w_k t), the causal half mirrored [sun2022 sec. 3.2], and

    D(t)^2 = 2 (k(0) - k(t)) = 2 sum_k e_k ((1 - e^(a_k |t|)) + e^(a_k |t|) 2 sin^2(w_k t / 2)).

No term is negative, so short lags suffer no cancellation, unlike 2 - 2 cos.

The generator of an encoding: its group in blocks, X with logit = q^T exp((t - s) X) k.

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
from gnomon.numeric.learned_limbs import learned_phases
from gnomon.numeric.limbs import Limbs, Turns, limb_phases

if TYPE_CHECKING:
    from gnomon.encodings.base import LagDistances
    from gnomon.numeric.arrays import Array, Coordinates, Namespace


Floats = NDArray[np.float64]
_CHUNK = 2**21
"""Phases held at a time: 16 MiB of float64."""


def ladder(dimension: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
    """Return base^(-2k/d), k = 0 ... d/2 - 1, computed as 1 / base^(2k/d) in the given type."""
    return 1.0 / (base ** (xp.astype(xp.arange(0, dimension, 2), dtype) / dimension))


def on_axes(frequencies: Array, axes: int, *, xp: Namespace = np) -> Array:
    """Return the matrix (axes * pairs, axes) in which each axis has these frequencies, in order."""
    none = xp.zeros_like(frequencies)
    columns = [xp.concat([none] * a + [frequencies] + [none] * (axes - 1 - a)) for a in range(axes)]
    return xp.stack(columns, axis=-1)


def geometric_frequencies(dimension: int, base: float, axes: int = 1) -> Floats:
    """Return the (dimension/2, axes) frequencies, each axis with its own geometric ladder.

    >>> geometric_frequencies(4, 100.0)
    array([[1. ],
           [0.1]])
    """
    return on_axes(ladder(dimension // axes, base, xp=np, dtype=np.float64), axes)


def phases(coordinates: Coordinates, frequencies: Array, *, xp: Namespace) -> Array:
    """Return <W_k, x> for coordinates (..., n, axes): shape (..., n, pairs).

    Frequencies of single heads, (heads, pairs, axes), give (..., heads, n, pairs). Where there is
    no float64 coordinates come in limbs, and phases are right modulo 2 pi (`gnomon.numeric.limbs`).
    """
    if isinstance(coordinates, Limbs):
        if isinstance(frequencies, Turns):
            return limb_phases(coordinates, frequencies, xp=xp)
        return learned_phases(coordinates, frequencies, xp=xp)
    if frequencies.ndim == 2 and frequencies.shape[-1] == 1:
        return coordinates * frequencies[:, 0]
    wide = xp.astype(frequencies, coordinates.dtype)
    return xp.matmul(coordinates, xp.matrix_transpose(wide))


def circular_distances(frequencies: Floats, energies: Floats | None = None) -> LagDistances:
    """Return the function from lags (..., axes) to 2 sqrt(sum_k e_k sin^2(<W_k, t>/2))."""
    weights = np.ones(len(frequencies)) if energies is None else energies

    def distances(lags: Floats) -> Floats:
        flat = lags.reshape(-1, lags.shape[-1])
        if _is_ladder(flat):
            squares = ladder_sine_squares(len(flat), flat[1, 0], frequencies[:, 0], weights)
        else:
            squares = _sine_squares(flat, frequencies, weights)
        return (2.0 * np.sqrt(squares)).reshape(lags.shape[:-1])

    return distances


def _is_ladder(lags: Floats) -> bool:
    """Say whether lags are 0, s, 2s, ... on one axis, and enough of them to pay."""
    if lags.shape[1] != 1 or len(lags) < 64:
        return False
    return bool(np.array_equal(lags[:, 0], lags[1, 0] * np.arange(len(lags))))


def ladder_sine_squares(count: int, step: float, frequencies: Floats, weights: Floats) -> Floats:
    """Return sum_k e_k sin^2(w_k t / 2) for t = 0, s, ..., (count-1) s.

    Writing t = B a + b with B near sqrt(count) and the sine of a sum,
    sin^2(x+y) = sin^2 x cos^2 y + cos^2 x sin^2 y + 2 sin x cos x sin y cos y, so that
    2 sqrt(count) sines per frequency and one matrix product do what `count` sines would.
    """
    width = int(np.ceil(np.sqrt(count)))
    half = 0.5 * frequencies * step
    coarse = np.multiply.outer(width * np.arange(width, dtype=np.float64), half)
    fine = np.multiply.outer(np.arange(width, dtype=np.float64), half)
    left, right = _quadratic(coarse), _quadratic(fine)[[1, 0, 2]]
    left = left * weights
    left[2] *= 2.0
    total = np.einsum("tak,tbk->ab", left, right)  # too small for BLAS threads to pay
    squares: Floats = np.maximum(total.reshape(-1)[:count], 0.0)
    return squares


def _quadratic(angles: Floats) -> Floats:
    sine, cosine = np.sin(angles), np.cos(angles)
    return np.stack([sine * sine, cosine * cosine, sine * cosine])


def _sine_squares(lags: Floats, frequencies: Floats, weights: Floats) -> Floats:
    squares = np.empty(len(lags))
    step = max(1, _CHUNK // max(1, len(frequencies)))
    for start in range(0, len(lags), step):
        halves = 0.5 * (lags[start : start + step] @ frequencies.T)
        squares[start : start + step] = np.square(np.sin(halves)) @ weights
    return squares


_RATES_CHUNK = 2**20
"""Lags times rates that are held at a time."""


def fading_distances(rates: Floats, frequencies: Floats, weights: Floats) -> LagDistances:
    """Return the distances at lags (..., 1) for flat arrays of rates, frequencies and weights e."""

    def distances(lags: Floats) -> Floats:
        sizes = np.abs(lags[..., 0]).reshape(-1)
        squares = np.empty(len(sizes))
        step = max(1, _RATES_CHUNK // len(rates))
        for start in range(0, len(sizes), step):
            t = sizes[start : start + step, None]
            turned = np.exp(t * rates) * 2.0 * np.square(np.sin(0.5 * t * frequencies))
            squares[start : start + step] = 2.0 * (turned - np.expm1(t * rates)) @ weights
        found: Floats = np.sqrt(squares).reshape(lags.shape[:-1])
        return found

    return distances


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
