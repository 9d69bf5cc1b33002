r"""From a lag kernel to the generator that makes it, by the rank of its Hankel matrix.

    k(n) = P A^n Q,   A = exp(X)   ->   k(t) = P exp(tX) Q   at every t

Any kernel that splits into query and key parts, k(t - s) = F(t)^T G(s) with finitely many
coordinates, is of this form, and its Hankel matrix H_ij = k(i + j) has the size of X as its rank.
From the left singular vectors U of H: A maps U without its last block row onto U without its first
[ho1966], [roy1989], P is the first block row, and Q is what fits all lags best in squares.
A can be a step without a generator: an eigenvalue 0 (a table that ends) or below 0 (alternating
sign) has no real logarithm. Then X is None, the reason is given, and k(n) holds at whole lags only.

Accuracy: eigenvalues of a double root are off by the root of the rounding (1 +- 1e-8), while the
kernel itself comes back to about 1e-15 of its largest value times its number of lags.

Hankel matrices of a lag kernel: their rank, and what no small rank can do.

    H_ij = k(i + j),    rank H = the least r with k(n) = P A^n Q, A of size r       [kronecker1881]

so a finite Hankel rank is the test for a kernel that splits into query and key coordinates. Of many
lags only some columns are taken: all of the first, where short-lived modes are, and a random choice
of the rest (a regular choice would be blind to periods it divides). The columns of H span the same
space whichever of them are taken, as long as they are as many as the rank.

The rank is read where the singular values fall to their tail. Noise of standard deviation s in k
gives a flat tail, rounding one of about 1e-16 of the largest. The widest fall onto such a tail, by
`CLEAR` or more, is the rank and is called clear. Without one, those singular values count that
exceed what white noise with the same median would show, by a sample of it in the same matrix. A
mode that lives for few of many lags can stay below that noise: give fewer lags to see it.

A bound for every approximation: if g has Hankel rank r and |k - g| <= e at all lags, then
sigma_(r+1)(H) <= |H(k - g)|_2 <= e sqrt(rows columns)  (Weyl [horn2013 cor. 7.3.5]), so

    e >= sigma_(r+1)(H) / sqrt(rows columns).

Orbits P A^n of a step matrix A: powers, growth, and the logarithm X with A = exp(X).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
COLUMNS = 384
"""Columns taken at most; a dense matrix of this width and 4,096 rows takes half a second."""
CLEAR = 30.0
"""Fall between neighbouring singular values that is called clear ..."""
FLAT = 100.0
"""... when what follows is a tail: its largest within this factor of its median."""
ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
_SEED = 20_240_229
SINGULAR = 1e-13
"""Smallest singular value of a step, as a share of the largest, that is still called 0."""
STEADY = 1e-9
"""Growth per lag, in logarithm, that is still called none."""
TOGETHER = 1e-4
"""Distance at which eigenvalues are taken for one split by rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Realisation(Result):
    """k(t) = left exp(t generator_matrix) right, with the error over the lags given.

    `step` is A = exp(X). `singular_values` are those of the Hankel matrix, `fall` the ratio after
    the last one kept, and `clear` says whether the rank stands out. `largest_error` is the largest
    over all `lags`, met at lag `where`; `growth` is the largest real part of an eigenvalue of X.
    """

    rank: int
    left: Floats
    right: Floats
    step: Floats
    generator_matrix: Floats | None
    reason: str
    eigenvalues: NDArray[np.complex128]
    singular_values: Floats
    fall: float
    clear: bool
    lags: int
    largest_error: float
    where: int
    growth: float
    scalar: bool

    @property
    def stable(self) -> bool:
        """Say whether nothing grows exponentially with the lag (powers of it may)."""
        return self.growth <= STEADY

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; eigenvalues as pairs of real and imaginary part."""
        made = super().to_dict()
        pairs = np.stack([self.eigenvalues.real, self.eigenvalues.imag], -1)
        return {**made, "eigenvalues": pairs.tolist(), "stable": self.stable}

    def at(self, lags: ArrayLike) -> Floats:
        """Return k at lags from 0 on: powers of A for the whole part, exp(fX) for the rest."""
        asked = reals(lags, "lags")
        if not np.all(np.isfinite(asked)) or np.any(asked < 0.0):
            raise GroupError("Lags of a realised kernel are finite and 0 or more; pass such lags.")
        whole = np.floor(asked).astype(np.int64)
        parts = (asked - whole).ravel()
        if np.any(parts > 0.0) and self.generator_matrix is None:
            raise GroupError(f"Some lags are not whole, and {self.reason}; pass whole lags.")
        rows = powers(self.left, self.step, whole.ravel())
        middles = np.stack([self._within(part) for part in parts])
        made = rows @ middles @ self.right
        shape = asked.shape + (() if self.scalar else made.shape[1:])
        return np.asarray(made.reshape(shape))

    def _within(self, part: float) -> Floats:
        if part == 0.0 or self.generator_matrix is None:
            return np.eye(self.rank)
        from scipy.linalg import expm

        return np.asarray(expm(part * self.generator_matrix))

    def causal(self) -> Realisation:
        """Return the realisation itself where nothing grows; else say what does."""
        if self.stable:
            return self
        worst = self.eigenvalues[np.argmax(np.abs(self.eigenvalues))]
        raise GroupError(
            f"The realised step has the eigenvalue {worst:.6g} of modulus {abs(worst):.6g}, which "
            "grows with the lag; call .projected(kernel) to move it onto the unit circle and fit "
            "the kernel again, with the error stated."
        )

    def projected(self, kernel: ArrayLike) -> Realisation:
        """Return the realisation with growing eigenvalues moved onto the unit circle.

        Their eigenvectors stay. What reads them out is fitted to the kernel again, and
        `largest_error` says how well that goes.
        """
        values, _ = _read_kernel(kernel)
        step = onto_circle(self.step)
        right, error, where = _fit_right(values, self.left, step)
        generator, reason = real_logarithm(step)
        return replace(
            self,
            step=step,
            right=right,
            generator_matrix=generator,
            reason=reason,
            eigenvalues=np.linalg.eigvals(step).astype(np.complex128),
            growth=growth_of(np.linalg.eigvals(step)),
            largest_error=error,
            where=where,
        )

    def structure(self) -> Any:
        """Return the classes of the generator, see `gnomon.groups.classification`."""
        if self.generator_matrix is None:
            raise GroupError(f"There is no generator to classify: {self.reason}.")
        from gnomon.groups.classification import classify

        return classify(self.generator_matrix)


def realise(
    kernel: ArrayLike, *, rank: int | None = None, tolerance: float | None = None
) -> Realisation:
    """Return X, P and Q with k(n) = P exp(nX) Q for the values of k at lags 0, 1, 2, ...

    `kernel` is (n,), or (n, p, q) for a matrix at every lag. The rank is chosen where the singular
    values fall to their tail, unless it is given, or a `tolerance` relative to the largest one.
    Cost O(n c^2) with c = min(n / 2, 384) columns: half a second for 8,192 lags.

    >>> n = np.arange(64)
    >>> made = realise(-0.3 * n + 0.9**n * np.cos(0.5 * n))
    >>> made.rank, made.largest_error < 1e-12, made.stable
    (4, True, True)
    """
    values, scalar = _read_kernel(kernel)
    _check_rank(rank, values.shape)
    decomposed = hankel(values, max(COLUMNS, 2 * (rank or 0)))
    choice = _rank_given(decomposed.singular_values, rank, tolerance) or choose_rank(decomposed)
    most = _largest_rank(values.shape)
    if rank is None:
        # All singular values would be above the tail, so none of them shows where it begins.
        most = min(most, decomposed.singular_values.size - 1)
    _check_choice(choice, len(values), most)
    p = values.shape[1]
    left, step = decomposed.left[:p, : choice.rank].copy(), step_of(decomposed, choice.rank)
    right, error, where = _fit_right(values, left, step)
    _check_carried(choice, error, decomposed.singular_values, values)
    generator, reason = real_logarithm(step)
    eigenvalues = np.linalg.eigvals(step).astype(np.complex128)
    return Realisation(
        rank=choice.rank,
        left=left,
        right=right,
        step=step,
        generator_matrix=generator,
        reason=reason,
        eigenvalues=eigenvalues,
        singular_values=decomposed.singular_values,
        fall=choice.fall,
        clear=choice.clear,
        lags=len(values),
        largest_error=error,
        where=where,
        growth=growth_of(eigenvalues),
        scalar=scalar,
    )


def _read_kernel(kernel: ArrayLike) -> tuple[Floats, bool]:
    """Return the kernel as (lags, p, q), and whether it was one number per lag."""
    values = reals(
        kernel, "The kernel", kind=GroupError, advice="pass its values at lags 0, 1, 2, ..."
    )
    if values.ndim not in (1, 3) or values.size == 0:
        raise GroupError(
            f"The kernel has the shape {values.shape}; pass one number per lag, (lags,), or one "
            "matrix per lag, (lags, p, q), none of them empty."
        )
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        raise GroupError(
            f"The kernel is not finite at lag {bad[0][0]} ({len(bad)} values in all); pass finite "
            "values."
        )
    if not np.any(values):
        raise GroupError("The kernel is 0 at every lag, so there is nothing to realise.")
    return (values[:, None, None], True) if values.ndim == 1 else (values, False)


def _largest_rank(shape: tuple[int, ...]) -> int:
    """Return the largest rank that a kernel of this shape can show: A needs one row more."""
    lags, p, q = shape
    wide = (lags + 1) // 2
    return min((lags - wide) * p, wide * q)


def _check_rank(rank: int | None, shape: tuple[int, ...]) -> None:
    lags, p, q = shape
    if rank is None:
        if _largest_rank(shape) < 1:
            raise GroupError(
                f"A kernel of {lags} value shows no rank; pass values at 3 or more lags."
            )
        return
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or rank < 1:
        raise GroupError(f"rank is {rank!r}; pass a whole number from 1 on.")
    if rank > _largest_rank(shape):
        needed = max(2 * -(-rank // p), 2 * -(-rank // q) - 1)
        raise GroupError(
            f"Rank {rank} needs at least {needed} lags, and the kernel has {lags}; pass more lags "
            f"or a rank of at most {_largest_rank(shape)}."
        )


def _rank_given(values: Floats, rank: int | None, tolerance: float | None) -> RankChoice | None:
    if rank is not None and tolerance is not None:
        raise GroupError("Both rank and tolerance are given; pass the one that is to decide.")
    if tolerance is not None:
        if not np.finfo(np.float64).eps <= tolerance < 1.0:
            raise GroupError(
                f"tolerance is {tolerance!r}; pass a share of the largest singular value, from "
                "2.2e-16 (rounding) to below 1."
            )
        rank = int(np.count_nonzero(values > tolerance * values[0]))
    if rank is None:
        return None
    rank = int(rank)
    fall = float(values[rank - 1] / max(values[rank], 1e-300)) if rank < values.size else 1.0
    return RankChoice(rank, fall, clear=False)


def _check_choice(choice: RankChoice, lags: int, most: int) -> None:
    if choice.rank == 0:
        raise GroupError(
            f"The kernel of {lags} lags cannot be told from noise: no singular value of its "
            "Hankel matrix stands out; pass more lags, or the rank to fit."
        )
    if choice.rank > most:
        raise GroupError(
            f"The Hankel matrix of {lags} lags has full rank {choice.rank}, so the lags do not "
            "determine a generator; pass more lags, or a smaller rank."
        )


def _check_carried(choice: RankChoice, error: float, singular: Floats, values: Floats) -> None:
    """Refuse a clear rank whose realisation is not the kernel: A was not determined by the lags."""
    beyond = float(singular[choice.rank]) if choice.rank < singular.size else 0.0
    if choice.clear and error > 10.0 * beyond + 1e-6 * float(np.abs(values).max()):
        raise GroupError(
            f"The Hankel matrix of {len(values)} lags has rank {choice.rank}, but no generator of "
            f"this rank comes nearer than {error:.3g}: the kernel changes near its last lags; pass "
            "more lags, or the rank to fit."
        )


def _fit_right(values: Floats, left: Floats, step: Floats) -> tuple[Floats, float, int]:
    """Return Q by least squares over all lags, the largest error, and its lag."""
    lags, p, q = values.shape
    largest = float(np.abs(values).max())
    with np.errstate(over="ignore", invalid="ignore"):
        rows = orbit(left, step, lags)
        if not np.all(np.isfinite(rows)):
            raise GroupError(
                f"The step of rank {len(step)} grows beyond float64 within {lags} lags, so it does "
                "not make this kernel; pass a smaller rank or fewer lags."
            )
        flat = (values / largest).reshape(lags * p, q)
        found = np.linalg.lstsq(rows.reshape(lags * p, -1), flat, rcond=None)[0]
        errors = np.nan_to_num(np.abs(rows @ found - values / largest), nan=np.inf)
        right = np.asarray(largest * found, dtype=np.float64)
    by_lag = errors.max(axis=(1, 2))
    where = int(by_lag.argmax())
    return right, float(largest * by_lag[where]), where


@dataclass(frozen=True, eq=False)
class Hankel:
    """Left singular vectors and singular values of a Hankel matrix of a kernel (lags, p, q)."""

    left: Floats
    singular_values: Floats
    columns: int
    kernel_shape: tuple[int, ...]

    def bound(self, rank: int) -> float:
        """Return a largest error that no kernel of Hankel rank `rank` can be below."""
        if rank >= self.singular_values.size:
            return 0.0
        spare = ROUNDING * float(self.singular_values[0])
        left = max(float(self.singular_values[rank]) - spare, 0.0)
        return left / float(np.sqrt(len(self.left) * self.columns))


@dataclass(frozen=True)
class RankChoice:
    """A rank, the fall of the singular values after it, and whether that fall is clear."""

    rank: int
    fall: float
    clear: bool


def hankel(kernel: Floats, columns: int = COLUMNS) -> Hankel:
    """Return the decomposed Hankel matrix of a kernel (lags, p, q), with at most so many columns.

    Cost O(rows columns^2).
    """
    matrix = hankel_matrix(kernel, columns)
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return Hankel(left, values, matrix.shape[1], kernel.shape)


def hankel_matrix(kernel: Floats, columns: int = COLUMNS) -> Floats:
    """Return k(i + j) for all rows i and the chosen columns j, blocks side by side.

    >>> hankel_matrix(np.arange(5.0)[:, None, None])
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]])
    """
    lags, p, q = kernel.shape
    wide = (lags + 1) // 2
    shifts = _chosen(wide, max(columns // q, 2))
    rows = np.arange(lags - wide + 1)
    blocks = kernel[rows[:, None] + shifts[None, :]]
    made: Floats = blocks.transpose(0, 2, 1, 3).reshape(rows.size * p, shifts.size * q)
    return made


def _chosen(wide: int, most: int) -> NDArray[np.int64]:
    if wide <= most:
        return np.arange(wide)
    first = most // 2
    rest = np.random.default_rng(_SEED).choice(wide - first, most - first, replace=False)
    return np.concatenate([np.arange(first), first + np.sort(rest)])


def choose_rank(decomposed: Hankel) -> RankChoice:
    """Return the rank at which the singular values fall to their tail; 0 where all is tail."""
    values = decomposed.singular_values
    floor = max(ROUNDING * float(values[0]), float(np.finfo(np.float64).tiny))
    kept = np.maximum(values, floor / ROUNDING * np.finfo(np.float64).eps)
    falls = kept[:-1] / kept[1:]
    medians = np.array([np.median(kept[r:]) for r in range(1, kept.size)])
    tails = (kept[1:] <= FLAT * medians) & (falls >= CLEAR)
    # With one value after the fall nothing says that it is a tail, unless it is rounding.
    enough = (kept.size - np.arange(1, kept.size) >= 3) | (kept[1:] <= floor)
    tails &= enough
    if np.any(tails):
        rank = 1 + int(np.argmax(np.where(tails, falls, 0.0)))
        return RankChoice(rank, float(falls[rank - 1]), clear=True)
    level = max(floor, _noise_edge(decomposed))
    rank = int(np.count_nonzero(values > level))
    after = float(falls[rank - 1]) if 0 < rank < values.size else 1.0
    return RankChoice(rank, after, clear=False)


def _noise_edge(decomposed: Hankel) -> float:
    """Return the largest singular value that white noise of the same median would have."""
    sample = np.random.default_rng(_SEED).standard_normal(decomposed.kernel_shape)
    matrix = hankel_matrix(sample, decomposed.columns)
    noise = np.linalg.svd(matrix, compute_uv=False)
    edge = 1.2 * float(noise[0] / np.median(noise))
    return edge * float(np.median(decomposed.singular_values))


def least_error(values: Floats, rank: int) -> float:
    """Return a largest error over the lags that no sum of `rank` modes of any kind can be below.

    The bound is taken over the first 32, 64, ... lags too, since it is sharp where the kernel is
    rough, and holds for all lags where it holds for some.
    """
    lengths = [32 * 2**k for k in range(5) if 2 * rank < 32 * 2**k < values.size]
    windows = [values[:n] for n in lengths] + [values]
    return max(hankel(window[:, None, None]).bound(rank) for window in windows)


def step_of(decomposed: Hankel, rank: int) -> Floats:
    """Return A of that rank: it maps U without its last block row onto U without its first."""
    left, p = decomposed.left[:, :rank], decomposed.kernel_shape[1]
    return np.asarray(np.linalg.lstsq(left[:-p], left[p:], rcond=None)[0], dtype=np.float64)


def orbit(left: Floats, step: Floats, lags: int) -> Floats:
    """Return P A^n for n = 0 .. lags - 1, by doubling: rounding grows with log n, not n."""
    rows, power = left[None], step
    while len(rows) < lags:
        rows = np.concatenate([rows, rows @ power])
        power = power @ power
    return rows[:lags]


def powers(left: Floats, step: Floats, whole: NDArray[np.int64]) -> Floats:
    """Return P A^n for each n, from the binary digits of n."""
    made = np.broadcast_to(left, (whole.size, *left.shape)).copy()
    power, remaining = step, whole.copy()
    while np.any(remaining):
        odd = (remaining & 1).astype(bool)
        made[odd] = made[odd] @ power
        remaining = remaining >> 1
        if np.any(remaining):
            power = power @ power
    return made


def growth_of(eigenvalues: NDArray[Any]) -> float:
    """Return the largest log |z|, where eigenvalues that rounding has split count by their mean."""
    left = list(eigenvalues)
    growth = -np.inf
    while left:
        near = [z for z in left if abs(z - left[0]) <= TOGETHER]
        left = [z for z in left if abs(z - left[0]) > TOGETHER]
        growth = max(growth, float(np.log(max(abs(np.mean(near)), 1e-300))))
    return growth


def onto_circle(step: Floats) -> Floats:
    """Return A with each growing eigenvalue z replaced by z / |z| on its own eigenvector."""
    from scipy.linalg import eig

    values, lefts, rights = eig(step, left=True, right=True)
    made = step.astype(np.complex128)
    for k, z in enumerate(values):
        if abs(z) > np.exp(STEADY):
            projector = np.outer(rights[:, k], lefts[:, k].conj())
            made = made + (z / abs(z) - z) * projector / (lefts[:, k].conj() @ rights[:, k])
    return np.asarray(made.real)


def has_logarithm(step: Floats) -> bool:
    """Say whether a step has a logarithm, real or complex, that rounding leaves to be seen.

    >>> has_logarithm(np.diag([1.0, -1.0])), has_logarithm(np.diag([1.0, 0.0]))
    (True, False)
    """
    from scipy.linalg import expm, logm

    sizes = np.linalg.svd(step, compute_uv=False)
    if sizes[-1] <= SINGULAR * sizes[0]:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as below: what matters is measured
        try:
            off = np.abs(expm(logm(step.astype(np.complex128))) - step).max()
        except ValueError:
            return False
    return bool(off <= 1e-8 * sizes[0])


def real_logarithm(step: Floats) -> tuple[Floats | None, str]:
    """Return X with exp(X) = A, or None and why there is no real one."""
    from scipy.linalg import expm, logm

    sizes = np.linalg.svd(step, compute_uv=False)
    # Eigenvalues would not show it: a zero of order m is split by rounding into 1e-16^(1/m).
    if sizes[-1] <= SINGULAR * sizes[0]:
        return None, "the step has the eigenvalue 0, so it has no logarithm"
    eigenvalues = np.linalg.eigvals(step)
    negative = (np.abs(eigenvalues.imag) <= 1e-12 * np.abs(eigenvalues)) & (eigenvalues.real < 0.0)
    if np.any(negative):
        worst = float(eigenvalues[negative][0].real)
        return None, f"the step has the eigenvalue {worst:.6g} below 0, so no real logarithm"
    with warnings.catch_warnings():
        # SciPy warns by an estimate; what matters is measured on the next lines.
        warnings.simplefilter("ignore")
        try:
            generator: Floats = np.asarray(logm(step)).real.copy()
        except ValueError:  # its own check of what it found met numbers that are not finite
            return None, "the logarithm of the step is lost to rounding"
        off = float(np.abs(expm(generator) - step).max())
    if not off <= 1e-8 * sizes[0]:
        return None, "the logarithm of the step is lost to rounding"
    return generator, ""
