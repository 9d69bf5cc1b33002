r"""What theorems say of a coupling, whether their hypotheses hold, and what came out.

* Schur: for T positive semidefinite with ones on its diagonal, |A o T| <= |A| for any A, and if A
  is positive semidefinite, too, all eigenvalues of A o T lie between those of A
  [horn1991 thm. 5.3.4, 5.5.18]. Entries of such a T are at most 1 in size, so that the root of the
  sum of squares cannot grow, either.
* Sums: | |A| - |B| | <= |A + B| <= |A| + |B| (Weyl's inequality for symmetric ones)
  [horn2013 thm. 4.3.1].
* Moduli: in the coordinates of blocks the logit of a group is a sum over blocks, q^T exp(tX) k =
  sum_k q_k^T E_k(t) k_k (`gnomon.groups.generator`, [puranik2026]). The norm of a block is known:

      |E_k(t)| <= m_k(t) = e^(a t) sum_(r < order) (|g| t)^r / r!,  1 for a turn.

  So |L_ij| <= M_ij = s sum_k m_k(i - j) |q_ki| |k_kj|, and a matrix whose entries are at most those
  of M has a norm of at most |M| [horn2013 thm. 8.1.18]. For turns |M| <= s sum_k |z_k| |w_k|.

Groups meet Schur's hypotheses only if all pairs share one Gram matrix, and that is real. Pairs that
only turn and decay are complex numbers, L = Re sum_k A_k o T_k with A_k = s z_k w_k^* and T_k =
e^(a t + ibt). If all A_k are one real matrix A times numbers above 0, L = A o T with T the kernel,
mirrored where keys after their query are masked: T is positive semidefinite, as its symbol is a sum
of Poisson's kernels. A single turn e^(ib(i-j)) leaves the spectrum of a complex A as it is, since
A o e e^* = diag(e) A diag(e)^*; its real part does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError, SpectrumError
from gnomon.groups import Block, Generator
from gnomon.numeric.elementwise import softplus
from gnomon.results import Result
from gnomon.spectra.kernel import active_encoding

Floats = NDArray[np.float64]

Complex = NDArray[np.complex128]

ROUNDING = 1e-9
"""Relative size up to which a hypothesis counts as met, and a bound as kept."""

_STATEMENT = "|L| <= |M|, M_ij = s sum_k |E_k(i-j)| |q_ki| |k_kj|"


@dataclass(frozen=True, kw_only=True, eq=False)
class Bound(Result):
    """One inequality: low <= reached <= high, and whether it is promised here."""

    name: str
    statement: str
    low: float | None
    high: float | None
    reached_low: float
    reached_high: float
    hypotheses: dict[str, bool]

    @property
    def applies(self) -> bool:
        """Whether all hypotheses hold."""
        return all(self.hypotheses.values())

    @property
    def holds(self) -> bool:
        """Whether the inequality is met, promised or not."""
        slack = ROUNDING * max(abs(self.reached_high), abs(self.high or 0.0), 1e-300)
        below = self.low is None or self.low <= self.reached_low + slack
        return below and (self.high is None or self.reached_high <= self.high + slack)

    def to_dict(self) -> dict[str, Any]:
        """Return the bound with what follows from it."""
        return {**super().to_dict(), "applies": self.applies, "holds": self.holds}


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
    known = active_encoding(encoding)
    if known.is_one_of("nope"):
        return schur(sides.before, np.ones_like(sides.before)), ""
    if "content" in known.kinds:
        return (), "the logit is a rule on content, which is no sum and no product with a kernel"
    if "transform" not in known.kinds:
        return (summed(sides.before, sides.after),), ""
    return _of_map(sides) if known.is_one_of("pope") else _of_group(known, sides)


def schur(content: Any, kernel: Any) -> tuple[Bound, Bound, Bound]:
    """Return Schur's bounds of A o T for given matrices: of norms, squares, and eigenvalues.

    >>> norms, squares, values = schur(np.ones((2, 2)), np.eye(2))
    >>> norms.applies, norms.holds, squares.holds, values.applies, values.reached_high
    (True, True, True, True, 1.0)
    """
    a, t = (_matrix(name, one) for name, one in (("content", content), ("kernel", kernel)))
    if a.shape != t.shape:
        raise SpectrumError(
            f"The content has shape {a.shape} and the kernel {t.shape}; pass two n x n matrices."
        )
    given = {
        "kernel positive semidefinite": _semidefinite(t),
        "unit diagonal": bool(np.abs(np.diagonal(t) - 1.0).max() <= ROUNDING),
    }
    small = {"kernel at most 1": bool(np.abs(t).max() <= 1.0 + ROUNDING)}
    return _schur_bounds(a, a * t, given, small)


def _schur_bounds(
    before: NDArray[Any], after: NDArray[Any], given: dict[str, bool], small: dict[str, bool]
) -> tuple[Bound, Bound, Bound]:
    """Return Schur's bounds of A and A o T: `given` for norms and eigenvalues, `small` for squares.

    Whether the content is positive semidefinite is added here.
    """
    norms = upper("Schur, norms", "|A o T| <= |A|", norm(before), norm(after), given)
    sizes = [float(np.linalg.norm(x)) for x in (before, after)]
    squares = upper("Schur, squares", "|A o T|_F <= |A|_F", sizes[0], sizes[1], small)
    ends = [_ends(x) for x in (before, after)]
    values = Bound(
        name="Schur, eigenvalues",
        statement="min e(A) <= e(A o T) <= max e(A)",
        low=ends[0][0],
        high=ends[0][1],
        reached_low=ends[1][0],
        reached_high=ends[1][1],
        hypotheses={**given, "content positive semidefinite": _semidefinite(before)},
    )
    return norms, squares, values


def summed(before: Floats, after: Floats) -> Bound:
    """Return the bound of a sum, B = L - A."""
    one, other, both = (norm(x) for x in (before, after - before, after))
    return Bound(
        name="sum",
        statement="||A| - |B|| <= |A + B| <= |A| + |B|",
        low=abs(one - other),
        high=one + other,
        reached_low=both,
        reached_high=both,
        hypotheses={},
    )


def upper(
    name: str, statement: str, high: float, reached: float, hypotheses: dict[str, bool]
) -> Bound:
    """Return a bound from above."""
    return Bound(
        name=name,
        statement=statement,
        low=None,
        high=high,
        reached_low=reached,
        reached_high=reached,
        hypotheses=hypotheses,
    )


def norm(x: NDArray[Any]) -> float:
    """Return the spectral norm."""
    return float(np.linalg.norm(x, 2)) if x.size else 0.0


def _moduli(group: Generator, sides: Sides, factor: float = 1.0) -> Floats:
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
    most = _moduli(group, sides, factor)
    general = upper("moduli", _STATEMENT, norm(most), norm(sides.after), {})
    if any(block.order > 1 for block in group.blocks):
        return (general,), "Schur's need blocks that only turn and decay, not those that shear"
    z, w = (complex_columns(group, x, side) for x, side in ((sides.q, "q"), (sides.k, "k")))
    odd = encoding.is_one_of("rope-plus-plus") and bool(encoding.imaginary[sides.head])
    one = {"one Gram for all pairs": _is_shared(z, w), "real Gram": _real(z, w)}
    given = {"kernel positive semidefinite": not odd, "unit diagonal": factor == 1.0 and not odd}
    small = {"kernel at most 1": factor <= 1.0}
    schurs = _schur_bounds(sides.before, sides.after, {**given, **one}, {**small, **one})
    return (general, *schurs), ""


def _growth(block: Block, lags: Floats) -> Floats:
    """Return a bound of |exp(tJ)| at lags from 0 on."""
    powers: Any = sum((abs(block.gain) * lags) ** r / math.factorial(r) for r in range(block.order))
    return np.asarray(np.exp(block.decay * lags) * powers)


def _is_shared(z: Complex, w: Complex) -> bool:
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


def _matrix(name: str, values: Any) -> NDArray[Any]:
    """Return a square matrix of finite numbers, which may be complex."""
    x = np.asarray(values)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or not x.size:
        raise SpectrumError(f"The {name} has shape {x.shape}; pass two n x n matrices.")
    if x.dtype.kind not in "fiuc" or not np.isfinite(x).all():
        raise SpectrumError(f"The {name} holds {x.dtype} or what is not finite; pass numbers.")
    return x


def _semidefinite(x: NDArray[Any]) -> bool:
    skew = float(np.abs(x - x.conj().T).max())
    size = max(norm(x), 1e-300)
    return skew <= ROUNDING * size and float(eigvalsh(x)[0]) >= -ROUNDING * size


def _ends(x: NDArray[Any]) -> tuple[float, float]:
    """Return the ends of the spectrum of the symmetric part; what rounding alone leaves is 0."""
    values = eigvalsh(0.5 * (x + x.conj().T))
    dust = len(values) * np.finfo(np.float64).eps * np.abs(values[[0, -1]]).max()
    low, high = (0.0 if abs(value) <= dust else float(value) for value in values[[0, -1]])
    return low, high
