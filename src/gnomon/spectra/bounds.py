r"""What theorems say of a coupling, whether their hypotheses hold, and what came out.

* Schur: for T positive semidefinite with ones on its diagonal, |A o T| <= |A| for any A, and if A
  is positive semidefinite, too, all eigenvalues of A o T lie between those of A
  [horn1991 thm. 5.3.4, 5.5.18]. Turns meet this only if all pairs share one Gram matrix A and that
  is real: then their logits are A o T with T the kernel. A single turn e^(ib(i-j)) leaves the
  spectrum of a complex A as it is, since A o e e^* = diag(e) A diag(e)^*; its real part does not.
* Turns, any content: every A_k = z_k w_k^* has rank 1 and keeps its norm, so
  |L| <= s sum_k |z_k| |w_k| [horn2013 sec. 5.6].
* Sums: | |A| - |B| | <= |A + B| <= |A| + |B| (Weyl's inequality for symmetric ones)
  [horn2013 thm. 4.3.1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from gnomon.encodings.base import Encoding
from gnomon.encodings.rotary.base import Rotating
from gnomon.encodings.rotary.layouts import half_from_interleaved
from gnomon.errors import SpectrumError
from gnomon.results import Result

Floats = NDArray[np.float64]
ROUNDING = 1e-9
"""Relative size up to which a hypothesis counts as met, and a bound as kept."""


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


def schur(content: Any, kernel: Any) -> tuple[Bound, Bound]:
    """Return Schur's bounds of A o T for given matrices: of norms, and of eigenvalues.

    >>> norms, values = schur(np.ones((2, 2)), np.eye(2))
    >>> norms.applies, norms.holds, values.applies, values.reached_high
    (True, True, True, 1.0)
    """
    a, t = np.asarray(content), np.asarray(kernel)
    if a.ndim != 2 or a.shape != t.shape or a.shape[0] != a.shape[1]:
        raise SpectrumError(
            f"The content has shape {a.shape} and the kernel {t.shape}; pass two n x n matrices."
        )
    made = a * t
    given = {"kernel positive semidefinite": _semidefinite(t)}
    given["unit diagonal"] = bool(np.abs(np.diagonal(t) - 1.0).max() <= ROUNDING)
    norms = _norms("Schur, norms", "|A o T| <= |A|", _norm(a), _norm(made), given)
    square = {**given, "content positive semidefinite": _semidefinite(a)}
    ends = [_ends(x) for x in (a, made)]
    values = Bound(
        name="Schur, eigenvalues",
        statement="min e(A) <= e(A o T) <= max e(A)",
        low=ends[0][0],
        high=ends[0][1],
        reached_low=ends[1][0],
        reached_high=ends[1][1],
        hypotheses=square,
    )
    return norms, values


def bounds_of(
    encoding: Encoding,
    q: Floats,
    k: Floats,
    before: Floats,
    after: Floats,
    *,
    scale: float,
) -> tuple[Bound, ...]:
    """Return the bounds that are known for a coupling."""
    if type(encoding).turned is Rotating.turned:
        return _turned(encoding, q, k, before, after, scale)
    if "content" in encoding.kinds or "transform" in encoding.kinds:
        return ()
    added = after - before
    one, other, both = (_norm(x) for x in (before, added, after))
    bound = Bound(
        name="sum",
        statement="||A| - |B|| <= |A + B| <= |A| + |B|",
        low=abs(one - other),
        high=one + other,
        reached_low=both,
        reached_high=both,
        hypotheses={},
    )
    return (bound,)


def _turned(
    encoding: Any, q: Floats, k: Floats, before: Floats, after: Floats, scale: float
) -> tuple[Bound, ...]:
    """Return the sum over pairs, and Schur's bound with what it needs."""
    z, w = complex_pairs(encoding, q), complex_pairs(encoding, k)
    rest = [_unturned(encoding, x) for x in (q, k)]
    factor = float(encoding.attention_factor) ** 2
    most = factor * float(np.linalg.norm(z, axis=0) @ np.linalg.norm(w, axis=0))
    most = scale * (most + (_norm(rest[0] @ rest[1].T) if rest[0].size else 0.0))
    together = _norms("sum over pairs", "|L| <= s sum_k |z_k| |w_k|", most, _norm(after), {})
    needs = {
        "kernel positive semidefinite": True,
        "unit diagonal": factor == 1.0,
        "one Gram for all pairs": not rest[0].size and _shared(z, w),
        "real Gram": _real(z, w),
    }
    norms = _norms("Schur, norms", "|A o T| <= |A|", _norm(before), _norm(after), needs)
    return together, norms


def complex_pairs(encoding: Any, x: Floats) -> NDArray[np.complex128]:
    """Return the pairs that an encoding turns as complex numbers (n, pairs)."""
    part = x[:, encoding.first : encoding.first + encoding.rotated]
    if encoding.layout == "interleaved":
        part = part[:, half_from_interleaved(encoding.rotated)]
    half = encoding.rotated // 2
    return np.asarray(part[:, :half] + 1j * part[:, half:])


def _unturned(encoding: Any, x: Floats) -> Floats:
    first, last = encoding.first, encoding.first + encoding.rotated
    return np.concatenate([x[:, :first], x[:, last:]], axis=1)


def _shared(z: NDArray[np.complex128], w: NDArray[np.complex128]) -> bool:
    """Whether all z_k w_k^* are multiples of one matrix, by positive numbers."""
    sizes = np.linalg.norm(z, axis=0) * np.linalg.norm(w, axis=0)
    kept = sizes > ROUNDING * sizes.max(initial=0.0)
    if not kept.any():
        return True
    z, w, sizes = z[:, kept], w[:, kept], sizes[kept]
    # The inner product of z_k w_k^* with z_0 w_0^* is that of z times that of w.
    products = (z[:, 0].conj() @ z) * (w[:, 0].conj() @ w).conj() / (sizes * sizes[0])
    return bool(np.abs(products - 1.0).max() <= ROUNDING)


def _real(z: NDArray[np.complex128], w: NDArray[np.complex128]) -> bool:
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


def _norms(
    name: str, statement: str, high: float, reached: float, hypotheses: dict[str, bool]
) -> Bound:
    return Bound(
        name=name,
        statement=statement,
        low=None,
        high=high,
        reached_low=reached,
        reached_high=reached,
        hypotheses=hypotheses,
    )


def _norm(x: NDArray[Any]) -> float:
    return float(np.linalg.norm(x, 2)) if x.size else 0.0


def _semidefinite(x: NDArray[Any]) -> bool:
    skew = float(np.abs(x - x.conj().T).max())
    size = max(_norm(x), 1e-300)
    return skew <= ROUNDING * size and float(eigvalsh(x)[0]) >= -ROUNDING * size


def _ends(x: NDArray[Any]) -> tuple[float, float]:
    """Return the ends of the spectrum of the symmetric part."""
    values = eigvalsh(0.5 * (x + x.conj().T))
    return float(values[0]), float(values[-1])
