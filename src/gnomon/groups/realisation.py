r"""Realisation: from a lag kernel to the generator that makes it.

    k(n) = P A^n Q,   A = exp(X)   ->   k(t) = P exp(tX) Q   at every t

Any kernel that splits into query and key parts, k(t - s) = F(t)^T G(s) with finitely many
coordinates, is of this form, and its Hankel matrix H_ij = k(i + j) has the size of X as its rank.
From the left singular vectors U of H: A maps U without its last block row onto U without its first
[ho1966], [roy1989], P is the first block row, and Q is what fits all lags best in squares.
A can be a step without a generator: an eigenvalue 0 (a table that ends) or below 0 (alternating
sign) has no real logarithm. Then X is None, the reason is given, and k(n) holds at whole lags only.

Accuracy: eigenvalues of a double root are off by the root of the rounding (1 +- 1e-8), while the
kernel itself comes back to about 1e-15 of its largest value times its number of lags.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups.hankel import COLUMNS, RankChoice, choose_rank, hankel, step_of
from gnomon.groups.orbits import STEADY, growth_of, logarithm, onto_circle, orbit, powers
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]


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
        values, _ = _checked(kernel)
        step = onto_circle(self.step)
        right, error, where = _fit_right(values, self.left, step)
        generator, reason = logarithm(step)
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
    values, scalar = _checked(kernel)
    _check_rank(rank, values.shape)
    decomposed = hankel(values, max(COLUMNS, 2 * (rank or 0)))
    choice = _chosen_rank(decomposed.singular_values, rank, tolerance) or choose_rank(decomposed)
    most = _largest_rank(values.shape)
    if rank is None:
        # All singular values would be above the tail, so none of them shows where it begins.
        most = min(most, decomposed.singular_values.size - 1)
    _check_choice(choice, len(values), most)
    p = values.shape[1]
    left, step = decomposed.left[:p, : choice.rank].copy(), step_of(decomposed, choice.rank)
    right, error, where = _fit_right(values, left, step)
    _check_carried(choice, error, decomposed.singular_values, values)
    generator, reason = logarithm(step)
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


def _checked(kernel: ArrayLike) -> tuple[Floats, bool]:
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


def _chosen_rank(values: Floats, rank: int | None, tolerance: float | None) -> RankChoice | None:
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
            f"The kernel of {lags} lags can not be told from noise: no singular value of its "
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
