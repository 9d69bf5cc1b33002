r"""Symmetric Toeplitz matrices: products, all eigenvalues, those at the ends, a near circulant.

T_ij = c(|i-j|) is given by its first column c(0) ... c(n-1). Of places on several axes T_xy =
c(x - y), c(t) = c(-t), is Toeplitz in blocks of blocks, the last axis moving fastest, and is given
by its kernel at lags -(n_a - 1) ... n_a - 1 of every axis a.

* Products. T is the upper left corner of a circulant matrix of size N >= 2n - 1 whose first column
  is c(0) ... c(n-1), zeros, c(n-1) ... c(1); a circulant matrix is diagonal under Fourier's
  transform [golub2013 sec. 4.8], on all axes at once where there are several [chan2007]. The
  transform of that column is real, and is computed once: a product then costs two transforms of a
  length with small prime factors, O(n log n). Rounding grows with log n.
* All eigenvalues. T commutes with the reversal of places, so its eigenvectors are even or odd
  [cantoni1976]. With m = floor(n/2), in the bases (e_i + e_(n-1-i))/sqrt 2 and (e_i -
  e_(n-1-i))/sqrt 2, i < m,

      T_even, T_odd = T_ij +- T_i(n-1-j) = c(|i-j|) +- c(n-1-i-j),

  and where n is odd the middle place joins the even part, sqrt 2 c(m - i) beside it. Cost
  2 (n/2)^3: a quarter of the arithmetic of a dense solver, and half of its memory. Accuracy is that
  of the dense solver, some eps |T|.
* Ends. Lanczos with such products holds nothing of size n x n. An eigenvalue that stands apart is
  found in a few dozen steps; where many crowd at the end, as at the top of a smooth symbol and at
  the bottom of nearly every kernel, steps are many. What has not converged within `steps` restarts
  is not returned: a caller says so, and gives bounds instead (`gnomon.spectra.symbol`).
* The nearest circulant. Among all circulant C, |T - C| in the Frobenius norm is least for the mean
  of T along each wrapped diagonal [chan1988],

      C_j = ((n - j) c(j) + j c(n - j)) / n,      eigenvalues sum_j C_j cos(2 pi j k / n).

  They lie between those of T, and are the values of Fejer's mean of the symbol at 2 pi k / n. For a
  kernel that is short against n they are near those of T; for one that reaches as far as n, as a
  rotary kernel does, they are not, and `residual` = |T - C| / |T| says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from gnomon.errors import SpectrumError
from gnomon.numeric.checks import plain_array, reals
from gnomon.results import Result
from gnomon.spectra.checks import check_int

Floats = NDArray[np.float64]

SMALL = 64
"""Below it a dense solver is quicker than any iteration."""

STEPS = 60
"""Restarts of Lanczos before an end counts as not found."""

TOLERANCE = 1e-10

EVERY = 32
"""Products after which progress is told."""

_ENDS = {"largest": "LA", "smallest": "SA"}


class Toeplitz:
    """A symmetric Toeplitz matrix that is multiplied often.

    >>> Toeplitz(np.array([2.0, 1.0, 0.0])) @ np.array([1.0, 0.0, 1.0])
    array([2., 2., 2.])
    """

    def __init__(self, column: Any) -> None:
        self.column = read_column(column)
        self.size = len(self.column)
        self._length = int(fft.next_fast_len(max(2 * self.size - 1, 1), real=True))
        around = np.zeros(self._length)
        around[: self.size] = self.column
        around[self._length - self.size + 1 :] = self.column[:0:-1]
        self._transform = np.ascontiguousarray(fft.rfft(around).real)

    def __matmul__(self, vectors: Any) -> Floats:
        """Return T x for x (n,) or (n, m)."""
        given = plain_array(vectors, "The vectors hold", kind=SpectrumError)
        if given.ndim not in (1, 2) or len(given) != self.size or given.dtype.kind not in "fiu":
            raise SpectrumError(
                f"The vectors have shape {given.shape} and hold {given.dtype}; pass real numbers "
                f"({self.size},) or ({self.size}, m)."
            )
        moved = np.ascontiguousarray(given.astype(np.float64, copy=False).T)
        spectrum = fft.rfft(moved, self._length)
        spectrum *= self._transform
        made = fft.irfft(spectrum, self._length, overwrite_x=True)[..., : self.size]
        return np.asarray(made.T)

    def dense(self) -> Floats:
        """Return the matrix, n x n."""
        lags = np.arange(self.size)
        return np.asarray(self.column[np.abs(lags[:, None] - lags)])


class BlockToeplitz:
    """A matrix of that kind that is multiplied often.

    >>> kernel = np.array([[0.0, 1.0, 0.0], [2.0, 5.0, 2.0], [0.0, 1.0, 0.0]])
    >>> BlockToeplitz(kernel) @ np.array([1.0, 0.0, 0.0, 0.0])
    array([5., 2., 1., 0.])
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = reals(kernel, "kernel")
        self.shape = tuple((size + 1) // 2 for size in self.kernel.shape)
        self.size = math.prod(self.shape)
        self.bound = float(np.abs(self.kernel).sum()) or 1.0
        """What no eigenvalue is larger than in size."""
        self._axes = tuple(range(self.kernel.ndim))
        self._lengths = [int(fft.next_fast_len(size, real=True)) for size in self.kernel.shape]
        around = np.zeros(self._lengths)
        around[tuple(slice(size) for size in self.kernel.shape)] = self.kernel
        rolled = np.roll(around, [1 - size for size in self.shape], self._axes)
        self._transform = np.ascontiguousarray(fft.rfftn(rolled).real)

    def __matmul__(self, vectors: Any) -> Floats:
        """Return T x for x (N,) or (N, m)."""
        given = reals(vectors, "vectors")
        columns = given.reshape(self.size, -1).T.reshape(-1, *self.shape)
        axes = [axis + 1 for axis in self._axes]
        moved = fft.rfftn(columns, self._lengths, axes=axes) * self._transform
        made = fft.irfftn(moved, self._lengths, axes=axes)
        kept = made[(slice(None), *(slice(size) for size in self.shape))]
        return np.asarray(kept.reshape(len(columns), -1).T.reshape(given.shape))


def all_eigenvalues(column: Any) -> Floats:
    """Return all eigenvalues of T, the largest first.

    >>> all_eigenvalues([2.0, 1.0])
    array([3., 1.])
    """
    return _values_of_halves(*halves(column))


def block_eigenvalues(kernel: Any) -> Floats:
    """Return all eigenvalues of a matrix that is Toeplitz in blocks of blocks, the largest first.

    >>> block_eigenvalues(np.ones((3, 3))).round(12) + 0.0
    array([4., 0., 0., 0.])
    """
    c = reals(kernel, "kernel")
    size = math.prod((side + 1) // 2 for side in c.shape)
    m = size // 2
    top = _rows_of(c, m + size % 2)
    middle = (top[m, :m], top[m:, m : m + 1]) if size % 2 else None
    return _values_of_halves(*_even_and_odd(top[:m, :m], top[:m, ::-1][:, :m], middle))


def halves(column: Any) -> tuple[Floats, Floats]:
    """Return T_even and T_odd.

    >>> halves([2.0, 1.0, 0.5])
    (array([[2.5       , 1.41421356],
           [1.41421356, 2.        ]]), array([[1.5]]))
    """
    c = read_column(column)
    n, m = len(c), len(c) // 2
    i = np.arange(m)
    middle = (c[m - i], c[:1, None]) if n % 2 else None
    return _even_and_odd(c[np.abs(i[:, None] - i)], c[n - 1 - i[:, None] - i], middle)


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
    c = read_column(column)
    if end not in _ENDS:
        raise SpectrumError(f"end is {end!r}; pass 'largest' or 'smallest'.")
    count = check_int("count", count, least=1, most=len(c))
    if len(c) <= max(SMALL, 2 * count + 1):
        return _sort(end, eigvalsh(Toeplitz(c).dense()), count, 0.0)
    bound = float(np.abs(c[0]) + 2.0 * np.abs(c[1:]).sum()) or 1.0
    steps = check_int("steps", steps, least=1)
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
    return _sort(end, values, count, residual)


@dataclass(frozen=True, kw_only=True, eq=False)
class Circulant(Result):
    """The nearest circulant matrix by its first column, with its eigenvalues, the largest first."""

    column: Floats
    eigenvalues: Floats
    residual: float
    """|T - C| / |T| in the Frobenius norm; 0 where T is 0."""


def nearest_circulant(column: Any) -> Circulant:
    """Return the circulant matrix nearest to T.

    >>> nearest_circulant([2.0, 1.0, 1.0]).eigenvalues
    array([4., 1., 1.])
    """
    c = read_column(column)
    n, j = len(c), np.arange(len(c))
    wrapped = np.concatenate([[0.0], c[:0:-1]])
    mean = ((n - j) * c + j * wrapped) / n
    values = np.sort(fft.fft(mean).real)[::-1]
    # Each wrapped diagonal of T is n - j numbers c(j) and j numbers c(n - j).
    off = float(np.sum((n - j) * (c - mean) ** 2 + j * (wrapped - mean) ** 2))
    whole = float(np.sum((n - j) * c**2 + j * wrapped**2))
    residual = float(np.sqrt(off / whole)) if whole > 0.0 else 0.0
    return Circulant(column=mean, eigenvalues=values, residual=residual)


def pairs_by_lag(sides: tuple[int, ...]) -> Floats:
    """Return how many pairs of places have each lag, for a kernel with these sides.

    >>> pairs_by_lag((3, 3)).tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    counts = [np.minimum(np.arange(1, side + 1), np.arange(side, 0, -1)) for side in sides]
    made: Floats = np.ones(())
    for one in counts:
        made = made[..., None] * one
    return made


def read_column(column: Any) -> Floats:
    """Return the first column of a matrix as float64, or say what it is."""
    values = plain_array(column, "The column holds", kind=SpectrumError)
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "fiu":
        raise SpectrumError(
            f"The kernel has shape {values.shape} and holds {values.dtype}; pass real numbers for "
            "lags 0, 1, ..., n-1 in a line."
        )
    if not np.isfinite(values).all():
        where = int(np.flatnonzero(~np.isfinite(values))[0])
        raise SpectrumError(
            f"The kernel is {values[where]} at lag {where}; pass finite numbers, with what is "
            "masked left out."
        )
    return values.astype(np.float64)


def _even_and_odd(
    near: Floats, far: Floats, middle: tuple[Floats, Floats] | None
) -> tuple[Floats, Floats]:
    """Return near +- far, the even one bordered by the row and the corner of the middle place."""
    even, odd = near + far, near - far
    if middle is None:
        return even, odd
    beside, corner = np.sqrt(2.0) * middle[0], middle[1]
    return np.block([[even, beside[:, None]], [beside[None, :], corner]]), odd


def _values_of_halves(even: Floats, odd: Floats) -> Floats:
    """Return the eigenvalues of both, the largest first; both matrices are overwritten."""
    parts = [eigvalsh(one, overwrite_a=True, check_finite=False) for one in (even, odd) if one.size]
    return np.asarray(np.sort(np.concatenate(parts))[::-1])


def _rows_of(kernel: Floats, rows: int) -> Floats:
    """Return the first rows of the matrix."""
    shape = tuple((size + 1) // 2 for size in kernel.shape)
    places = np.indices(shape).reshape(len(shape), -1)
    lags = places[:, :rows, None] - places[:, None, :]
    return np.asarray(kernel[tuple(lags + np.array(shape)[:, None, None] - 1)])


def _sort(end: str, values: Floats, count: int, residual: float) -> Extremes:
    order = np.sort(values) if end == "smallest" else np.sort(values)[::-1]
    return Extremes(end=end, values=order[:count], wanted=count, residual=residual)
