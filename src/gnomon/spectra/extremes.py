r"""Eigenvalues at the ends of a large symmetric Toeplitz matrix, by Lanczos with FFT products.

Each step costs one product in O(n log n) (`gnomon.spectra.toeplitz`), and nothing of size n x n is
held. An eigenvalue that stands apart is found in a few dozen steps; where many crowd at the end, as
at the top of a smooth symbol and at the bottom of nearly every kernel, steps are many. What has not
converged within `steps` restarts is not returned: a caller says so, and gives bounds instead.

Bounds. T_n is made of c(0) ... c(n-1) alone, so it is the matrix of every symbol with these
coefficients, and its eigenvalues lie between the ends of each: of the kernel's own where that is
bounded, and of the trigonometric polynomial cut at n [grenander1958 sec. 5.2]. From inside, any
vector has a Rayleigh quotient between the smallest and the largest eigenvalue; sin(pi (j+1)/(n+1))
cos(x j) at an end x of a smooth symbol is off by O(1/n^2), so the two nearly meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from gnomon.errors import SpectrumError
from gnomon.results import Result
from gnomon.spectra.toeplitz import Toeplitz, checked_column

Floats = NDArray[np.float64]
SMALL = 64
"""Below it a dense solver is quicker than any iteration."""
STEPS = 60
"""Restarts of Lanczos before an end counts as not found."""
TOLERANCE = 1e-10
_ENDS = {"largest": "LA", "smallest": "SA"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Extremes(Result):
    """Eigenvalues at one end, outermost first, and the largest residual |Tx - ex| / |T|."""

    end: str
    values: Floats
    wanted: int
    residual: float

    @property
    def found(self) -> bool:
        """Whether all that were wanted have converged."""
        return len(self.values) >= self.wanted


def extreme_eigenvalues(
    column: Any, count: int = 1, *, end: str = "largest", steps: int = STEPS
) -> Extremes:
    """Return the `count` largest or smallest eigenvalues of T.

    >>> extreme_eigenvalues([2.0, 1.0], end="smallest").values
    array([1.])
    """
    c = checked_column(column)
    if end not in _ENDS:
        raise SpectrumError(f"end is {end!r}; pass 'largest' or 'smallest'.")
    if isinstance(count, bool) or int(count) != count or not 1 <= count <= len(c):
        raise SpectrumError(f"count is {count!r}; pass a whole number from 1 to {len(c)}.")
    if len(c) <= max(SMALL, 2 * count + 1):
        values = eigvalsh(Toeplitz(c).dense())
        return _sorted(end, values, int(count), 0.0)
    return _iterated(c, int(count), end, steps)


def _iterated(c: Floats, count: int, end: str, steps: int) -> Extremes:
    matrix = Toeplitz(c)
    size = float(np.abs(c[0]) + 2.0 * np.abs(c[1:]).sum()) or 1.0
    operator = LinearOperator(
        (matrix.size, matrix.size), matvec=matrix.__matmul__, matmat=matrix.__matmul__, dtype=float
    )
    # A fixed start, neither even nor odd: a symmetric one would miss half of the vectors.
    start = np.random.default_rng(0).standard_normal(matrix.size)
    asked: dict[str, Any] = {"which": _ENDS[end], "v0": start, "maxiter": steps, "tol": TOLERANCE}
    width = min(matrix.size, max(2 * count + 1, 40))
    try:
        values, vectors = eigsh(operator, count, ncv=width, **asked)
    except ArpackNoConvergence as stopped:
        values, vectors = stopped.eigenvalues, stopped.eigenvectors
    residual = 0.0
    if len(values):
        residual = float(np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max()) / size
    return _sorted(end, values, count, residual)


def _sorted(end: str, values: Floats, count: int, residual: float) -> Extremes:
    order = np.sort(values) if end == "smallest" else np.sort(values)[::-1]
    return Extremes(end=end, values=order[:count], wanted=count, residual=residual)


def inner_end(column: Any, angle: float) -> float:
    """Return the Rayleigh quotient of a half sine that turns by an angle from place to place.

    >>> round(inner_end([2.0, 1.0, 0.0], 0.0), 6)  # of this matrix the largest, 2 + sqrt 2
    3.414214
    """
    matrix = Toeplitz(column)
    place = np.arange(matrix.size)
    window = np.sin(np.pi * (place + 1.0) / (matrix.size + 1.0))
    vector = window * np.cos(angle * place)
    return float(vector @ (matrix @ vector) / (vector @ vector))


def cut_symbol(column: Any, points: int | None = None) -> Floats:
    """Return sum_(|t| < n) c(t) cos(tx) at x = 2 pi j / N, j = 0 ... N/2, N at least 4n.

    >>> cut_symbol([2.0, 1.0])[[0, -1]]
    array([4., 0.])
    """
    c = checked_column(column)
    length = int(fft.next_fast_len(max(4 * len(c), 64) if points is None else points, real=True))
    length += length % 2
    around = np.zeros(length)
    around[: len(c)] = c
    around[length - len(c) + 1 :] += c[:0:-1]
    return np.asarray(fft.rfft(around).real)
