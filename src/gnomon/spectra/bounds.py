r"""What theorems say of a coupling, whether their hypotheses hold, and what came out.

* Schur: for T positive semidefinite with ones on its diagonal, |A o T| <= |A| for any A, and if A
  is positive semidefinite, too, all eigenvalues of A o T lie between those of A
  [horn1991 thm. 5.3.4, 5.5.18]. Entries of such a T are at most 1 in size, so that the root of the
  sum of squares can not grow, either. Groups meet this only if all pairs share one Gram matrix A
  and that is real: then their logits are A o T with T the kernel (`gnomon.spectra.moduli`). A
  single turn e^(ib(i-j)) leaves the spectrum of a complex A as it is, since
  A o e e^* = diag(e) A diag(e)^*; its real part does not.
* Sums: | |A| - |B| | <= |A + B| <= |A| + |B| (Weyl's inequality for symmetric ones)
  [horn2013 thm. 4.3.1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

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
    return schur_bounds(a, a * t, given, small)


def schur_bounds(
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
