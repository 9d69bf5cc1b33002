r"""Orbits P A^n of a step matrix A: powers, growth, and the logarithm X with A = exp(X)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEADY = 1e-9
"""Growth per lag, in logarithm, that is still called none."""
TOGETHER = 1e-4
"""Distance at which eigenvalues are taken for one split by rounding."""


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


def logarithm(step: Floats) -> tuple[Floats | None, str]:
    """Return X with exp(X) = A, or None and why there is no real one."""
    from scipy.linalg import expm, logm

    sizes = np.linalg.svd(step, compute_uv=False)
    # Eigenvalues would not show it: a zero of order m is split by rounding into 1e-16^(1/m).
    if sizes[-1] <= 1e-13 * sizes[0]:
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
