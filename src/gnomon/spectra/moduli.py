r"""Bounds of what a group does to logits, from its blocks: for any content, and for one Gram.

In the coordinates of blocks the logit is a sum over blocks, q^T exp(tX) k = sum_k q_k^T E_k(t) k_k
(`gnomon.groups.generator`, [puranik2026]), and the norm of a block is known:

    |E_k(t)| <= m_k(t) = e^(a t) sum_(r < order) (|g| t)^r / r!,  1 for a turn.

So |L_ij| <= M_ij = s sum_k m_k(i - j) |q_ki| |k_kj|, and a matrix whose entries are at most those
of M has a norm of at most |M| [horn2013 thm. 8.1.18]. For turns |M| <= s sum_k |z_k| |w_k|.

Pairs that only turn and decay are complex numbers, L = Re sum_k A_k o T_k with A_k = s z_k w_k^*
and T_k = e^(a t + ibt). If all A_k are one real matrix A times numbers above 0, L = A o T with T
the kernel, mirrored where keys after their query are masked: T is positive semidefinite, as its
symbol is a sum of Poisson's kernels, and Schur's bounds hold (`gnomon.spectra.bounds`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Encoding, Nope, Pope, RopePlusPlus
from gnomon.errors import EncodingError
from gnomon.groups import Block, Generator
from gnomon.numeric.activations import softplus
from gnomon.spectra.bounds import ROUNDING, Bound, norm, schur, schur_bounds, summed, upper
from gnomon.spectra.reading import acting

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
STATEMENT = "|L| <= |M|, M_ij = s sum_k |E_k(i-j)| |q_ki| |k_kj|"


@dataclass(frozen=True, eq=False)
class Sides:
    """Queries and keys of one head at their positions, with their logits before and after."""

    q: Floats
    k: Floats
    at: Floats
    before: Floats
    after: Floats
    seen: NDArray[np.bool_]
    """Which entries are not masked."""
    scale: float
    head: int


def bounds_of(encoding: Encoding, sides: Sides) -> tuple[tuple[Bound, ...], str]:
    """Return the bounds that are known for a coupling, and why there are no more."""
    known = acting(encoding)
    if isinstance(known, Nope):
        return schur(sides.before, np.ones_like(sides.before)), ""
    if "content" in known.kinds:
        return (), "the logit is a rule on content, which is no sum and no product with a kernel"
    if "transform" not in known.kinds:
        return (summed(sides.before, sides.after),), ""
    return _of_map(sides) if isinstance(known, Pope) else _of_group(known, sides)


def _of_map(sides: Sides) -> tuple[tuple[Bound, ...], str]:
    """Return the bound of PoPE, whose content is a map of q and k."""
    sizes = [softplus(x, xp=np) for x in (sides.q, sides.k)]
    most = np.where(sides.seen, abs(sides.scale) * sizes[0] @ sizes[1].T, 0.0)
    words = "|L| <= |M|, M_ij = s sum_c softplus(q_ci) softplus(k_cj)"
    reason = "Schur's need logits of content that a kernel multiplies, not those of a map of it"
    return (upper("moduli", words, norm(most), norm(sides.after), {}),), reason


def _of_group(encoding: Any, sides: Sides) -> tuple[tuple[Bound, ...], str]:
    """Return the bound of moduli, and Schur's with what they need."""
    try:
        group = encoding.generator(sides.head)
    except EncodingError:
        return (), f"{encoding.card.level}: it is no group of the lag whose blocks are known"
    factor = float(getattr(encoding, "attention_factor", 1.0)) ** 2
    most = moduli(group, sides, factor)
    general = upper("moduli", STATEMENT, norm(most), norm(sides.after), {})
    if any(block.order > 1 for block in group.blocks):
        return (general,), "Schur's need blocks that only turn and decay, not those that shear"
    z, w = (complex_columns(group, x, side) for x, side in ((sides.q, "q"), (sides.k, "k")))
    odd = isinstance(encoding, RopePlusPlus) and bool(encoding.imaginary[sides.head])
    one = {"one Gram for all pairs": _shared(z, w), "real Gram": _real(z, w)}
    given = {"kernel positive semidefinite": not odd, "unit diagonal": factor == 1.0 and not odd}
    small = {"kernel at most 1": factor <= 1.0}
    schurs = schur_bounds(sides.before, sides.after, {**given, **one}, {**small, **one})
    return (general, *schurs), ""


def moduli(group: Generator, sides: Sides, factor: float = 1.0) -> Floats:
    """Return M, whose entries no logit exceeds in size; 0 where it is masked."""
    lags = np.maximum(sides.at[:, None] - sides.at, 0.0)
    left, right = group.into_blocks(sides.q, "q"), group.into_blocks(sides.k, "k")
    total, first = np.zeros_like(lags), 0
    for block in group.blocks:
        part = slice(first, first + block.dimension)
        first += block.dimension
        sizes = [np.linalg.norm(x[:, part], axis=1) for x in (left, right)]
        # What multiplies turned coordinates need not multiply the others.
        times = factor if block.frequency > 0.0 else max(factor, 1.0)
        total += times * _growth(block, lags) * np.outer(*sizes)
    return np.where(sides.seen, abs(sides.scale) * total, 0.0)


def _growth(block: Block, lags: Floats) -> Floats:
    """Return a bound of |exp(tJ)| at lags from 0 on."""
    powers: Any = sum((abs(block.gain) * lags) ** r / math.factorial(r) for r in range(block.order))
    return np.asarray(np.exp(block.decay * lags) * powers)


def complex_columns(group: Generator, x: Floats, side: str) -> Complex:
    """Return every pair of block coordinates as a complex number, single ones as real numbers.

    With z of queries and w of keys, q^T exp(tX) k = Re sum_k z_k w_k^* e^((a_k + i b_k) t).
    """
    columns, first, made = group.into_blocks(x, side), 0, []
    for block in group.blocks:
        turns = block.frequency > 0.0
        made.append(columns[:, first] - (1j * columns[:, first + 1] if turns else 0.0))
        first += block.dimension
    return np.stack(made, axis=1).astype(np.complex128)


def _shared(z: Complex, w: Complex) -> bool:
    """Whether all z_k w_k^* are multiples of one matrix, by positive numbers."""
    sizes = np.linalg.norm(z, axis=0) * np.linalg.norm(w, axis=0)
    kept = sizes > ROUNDING * sizes.max(initial=0.0)
    if not kept.any():
        return True
    z, w, sizes = z[:, kept], w[:, kept], sizes[kept]
    # The inner product of z_k w_k^* with z_0 w_0^* is that of z times that of w.
    products = (z[:, 0].conj() @ z) * (w[:, 0].conj() @ w).conj() / (sizes * sizes[0])
    return bool(np.abs(products - 1.0).max() <= ROUNDING)


def _real(z: Complex, w: Complex) -> bool:
    """Whether every z_k w_k^* is real: sine terms vanish."""
    size = float(np.linalg.norm(z) * np.linalg.norm(w))
    worst = max(
        (
            float(np.abs(np.imag(np.outer(a, b.conj()))).max())
            for a, b in zip(z.T, w.T, strict=True)
        ),
        default=0.0,
    )
    return worst <= ROUNDING * size
