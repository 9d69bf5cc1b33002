r"""Eigenvalues at the ends of a large symmetric Toeplitz matrix, by Lanczos with FFT products.

Each step costs one product in O(n log n) (`gnomon.spectra.toeplitz`), and nothing of size n x n is
held. An eigenvalue that stands apart is found in a few dozen steps; where many crowd at the end, as
at the top of a smooth symbol and at the bottom of nearly every kernel, steps are many. What has not
converged within `steps` restarts is not returned: a caller says so, and gives bounds instead
(`gnomon.spectra.ends`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from gnomon.errors import SpectrumError
from gnomon.results import Result
from gnomon.spectra.checks import whole
from gnomon.spectra.toeplitz import Toeplitz, checked_column

Floats = NDArray[np.float64]
SMALL = 64
"""Below it a dense solver is quicker than any iteration."""
STEPS = 60
"""Restarts of Lanczos before an end counts as not found."""
TOLERANCE = 1e-10
EVERY = 32
"""Products after which progress is told."""
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
    column: Any,
    count: int = 1,
    *,
    end: str = "largest",
    steps: int = STEPS,
    told: Callable[[str], None] | None = None,
) -> Extremes:
    """Return the `count` largest or smallest eigenvalues of T; `told` hears how far it is.

    >>> extreme_eigenvalues([2.0, 1.0], end="smallest").values
    array([1.])
    """
    c = checked_column(column)
    if end not in _ENDS:
        raise SpectrumError(f"end is {end!r}; pass 'largest' or 'smallest'.")
    count = whole("count", count, least=1, most=len(c))
    if len(c) <= max(SMALL, 2 * count + 1):
        return _sorted(end, eigvalsh(Toeplitz(c).dense()), count, 0.0)
    bound = float(np.abs(c[0]) + 2.0 * np.abs(c[1:]).sum()) or 1.0
    steps = whole("steps", steps, least=1)
    return ends_of(Toeplitz(c), bound, count, end=end, steps=steps, told=told)


def ends_of(
    matrix: Any,
    bound: float,
    count: int,
    *,
    end: str,
    steps: int,
    told: Callable[[str], None] | None,
) -> Extremes:
    """Return what Lanczos finds at one end of a symmetric matrix that has a size and products.

    Residuals are told against `bound`, which no eigenvalue is larger than in size.
    """
    done = itertools.count(1)

    def product(x: Floats) -> Floats:
        number = next(done)
        if told is not None and number % EVERY == 0:
            told(f"{end} eigenvalue: {number} products")
        return matrix @ x

    operator = LinearOperator(
        (matrix.size, matrix.size), matvec=product, matmat=product, dtype=float
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
        residual = float(np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max()) / bound
    return _sorted(end, values, count, residual)


def _sorted(end: str, values: Floats, count: int, residual: float) -> Extremes:
    order = np.sort(values) if end == "smallest" else np.sort(values)[::-1]
    return Extremes(end=end, values=order[:count], wanted=count, residual=residual)
