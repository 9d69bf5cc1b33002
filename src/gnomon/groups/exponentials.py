r"""Sums of exponentials fitted to a kernel over the lags 0, 1, ..., n - 1.

    k(n) = sum_(i <= D) c_i (n / h)^i + sum_j e^(a_j n) (u_j cos(b_j n) + v_j sin(b_j n)),  a_j <= 0

For given a_j and b_j the weights are a linear least-squares problem, so only a and b are searched:
variable projection [golub1973] with Kaufman's Jacobian, P D' w with P the projection off the
columns of D [kaufman1975]. The lags of the fit are a few hundred, dense near 0 and even in
logarithm and in value beyond, since a kernel like a logarithm changes most at the first lags. The
fit in squares is then turned towards the smallest largest error by Lawson's weights [lawson1961]:
lags that err more weigh more, and after every round the worst of all lags joins the lags of the
fit. What is reported is always the error over all lags, so neither the choice of lags nor the
search can flatter it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
FASTEST = 8.0
"""Decay per position beyond which a mode is as good as gone at lag 1 (3e-4 is left)."""
SLOWEST = 0.02
"""Decay over the whole length below which a mode can not be told from a straight line."""
ROUNDS = 8
STEPS = 60
_DENSE, _SPREAD = 32, 320


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of modes; `decays` are a <= 0, `frequencies` b >= 0, weights u (cos) and v (sin)."""

    polynomial: Floats
    decays: Floats
    frequencies: Floats
    cosines: Floats
    sines: Floats
    scale: float

    @property
    def modes(self) -> int:
        """Count the coordinates: one per power and per decay, two per frequency."""
        return self.polynomial.size + self.decays.size + int(np.count_nonzero(self.frequencies))

    def at(self, lags: Floats) -> Floats:
        """Return k at every lag.

        Multiples of the decay and of the frequency are formed separately, so that an exponential
        that underflows is 0 and nothing else.
        """
        made: Floats = (
            np.vander(lags / self.scale, self.polynomial.size, increasing=True) @ self.polynomial
        )
        for a, b, u, v in zip(self.decays, self.frequencies, self.cosines, self.sines, strict=True):
            made = made + np.exp(a * lags) * (u * np.cos(b * lags) + v * np.sin(b * lags))
        return made


def lags_to_fit(length: int) -> Whole:
    """Return some hundred lags of 0 .. length - 1, all of the first ones among them."""
    even = np.linspace(0, length - 1, _SPREAD)
    far = np.geomspace(min(_DENSE, length), length, _SPREAD) - 1.0
    both = np.concatenate([np.arange(min(_DENSE, length)), even, far])
    return np.unique(np.rint(both).astype(np.int64))


def columns(lags: Floats, decays: Floats, frequencies: Floats, powers: int, scale: float) -> Floats:
    """Return the matrix D of modes at lags: powers, then cosine parts, then sine parts."""
    falls = np.exp(np.outer(lags, decays))
    angles = np.outer(lags, frequencies)
    turning = _turning(frequencies)
    parts = (
        np.vander(lags / scale, powers, increasing=True),
        falls * np.cos(angles),
        (falls * np.sin(angles))[:, turning],
    )
    return np.concatenate(parts, axis=1)


def _turning(frequencies: Floats) -> NDArray[np.bool_]:
    """Say which modes have a sine: at whole lags there is none of frequency 0 or pi."""
    return (frequencies > 0.0) & (frequencies < np.pi)


def weighted(values: Floats, decays: Floats, frequencies: Floats, powers: int) -> Sum:
    """Return the sum with given decays and frequencies whose weights fit all lags in squares."""
    lags = np.arange(values.size, dtype=np.float64)
    return _solve(lags, values, np.ones(values.size), _Modes(decays, frequencies, powers, lags[-1]))


@dataclass(frozen=True, eq=False)
class _Modes:
    """What a search varies: decays and frequencies, beside a fixed number of powers."""

    decays: Floats
    frequencies: Floats
    powers: int
    scale: float

    def parameters(self) -> Floats:
        turning = self.frequencies[_turning(self.frequencies)]
        return np.concatenate([np.log(-self.decays), turning])

    def moved(self, parameters: Floats) -> _Modes:
        count = self.decays.size
        frequencies = self.frequencies.copy()
        frequencies[_turning(self.frequencies)] = parameters[count:]
        return replace(self, decays=-np.exp(parameters[:count]), frequencies=frequencies)

    def matrix(self, lags: Floats) -> Floats:
        return columns(lags, self.decays, self.frequencies, self.powers, self.scale)


def _solve(lags: Floats, values: Floats, weights: Floats, modes: _Modes) -> Sum:
    matrix = modes.matrix(lags)
    found = np.linalg.lstsq(weights[:, None] * matrix, weights * values, rcond=None)[0]
    solution = np.asarray(found, dtype=np.float64)
    powers, count = modes.powers, modes.decays.size
    sines = np.zeros(count)
    sines[_turning(modes.frequencies)] = solution[powers + count :]
    return Sum(
        polynomial=solution[:powers],
        decays=modes.decays,
        frequencies=modes.frequencies,
        cosines=solution[powers : powers + count],
        sines=sines,
        scale=modes.scale,
    )


def fitted(
    values: Floats, decays: Floats, frequencies: Floats, powers: int, rounds: int = ROUNDS
) -> tuple[Sum, float]:
    """Return the sum found from a first guess, and its largest error over all lags.

    Cost: some tens of QR factorisations of a few hundred rows, and `ROUNDS` evaluations of all
    lags: 0.1 to 0.3 s for 14 modes over 8,192 lags.
    """
    length = values.size
    every = np.arange(length, dtype=np.float64)
    chosen, weights = lags_to_fit(length), None
    modes = _Modes(_within(decays, length), frequencies, powers, every[-1])
    best, least = _solve(every, values, np.ones(length), modes), np.inf
    for _ in range(rounds):
        weights = np.ones(chosen.size) if weights is None else weights
        modes = _searched(chosen.astype(np.float64), values[chosen], weights, modes)
        made = _solve(chosen.astype(np.float64), values[chosen], weights, modes)
        errors = np.abs(made.at(every) - values)
        worst = int(errors.argmax())
        if errors[worst] < least:
            best, least = made, float(errors[worst])
        chosen, weights = _reweighted(chosen, weights, errors, worst)
    return best, least


def _reweighted(chosen: Whole, weights: Floats, errors: Floats, worst: int) -> tuple[Whole, Floats]:
    """Return the lags with the worst one among them, and Lawson's weights in squares.

    A weight is multiplied by the root of the error of its lag: squares then move half as far as
    Lawson's own rule would, which keeps the search of decays from swinging.
    """
    if worst not in chosen:
        place = int(np.searchsorted(chosen, worst))
        near = weights[max(place - 1, 0)]
        chosen, weights = np.insert(chosen, place, worst), np.insert(weights, place, near)
    mean = errors[chosen].mean()
    if not mean > 0.0:
        return chosen, weights
    grown = weights * np.sqrt(errors[chosen] / mean + 0.05)
    return chosen, grown / np.sqrt(np.mean(np.square(grown)))


def _within(decays: Floats, length: int) -> Floats:
    return -np.clip(-decays, 2.0 * SLOWEST / length, FASTEST / 2.0)


def _searched(lags: Floats, values: Floats, weights: Floats, modes: _Modes) -> _Modes:
    """Return the modes at the nearest minimum of the squared error left by their best weights."""
    from scipy.optimize import least_squares

    if not modes.decays.size:
        return modes
    target = weights * values
    count = modes.decays.size

    def residual(parameters: Floats) -> Floats:
        basis, _ = np.linalg.qr(weights[:, None] * modes.moved(parameters).matrix(lags))
        left: Floats = target - basis @ (basis.T @ target)
        return left

    def slopes(parameters: Floats) -> Floats:
        now = modes.moved(parameters)
        basis, _ = np.linalg.qr(weights[:, None] * now.matrix(lags))
        moves = weights[:, None] * _derivatives(lags, _solve(lags, values, weights, now))
        change: Floats = basis @ (basis.T @ moves) - moves
        return change

    low = np.full(modes.parameters().size, -np.inf)
    high = np.full(low.size, np.inf)
    low[:count], high[:count] = np.log(SLOWEST / (lags[-1] + 1.0)), np.log(FASTEST)
    low[count:], high[count:] = 1e-12, np.nextafter(np.pi, 0.0)
    start = np.clip(modes.parameters(), low + 1e-9, high - 1e-9)
    near = {"ftol": 1e-6, "xtol": 1e-6, "max_nfev": STEPS}
    found = least_squares(residual, start, jac=slopes, bounds=(low, high), **near)
    return modes.moved(found.x)


def _derivatives(lags: Floats, made: Sum) -> Floats:
    """Return the change of k by the logarithm of every decay, then by every frequency."""
    falls = lags[:, None] * np.exp(np.outer(lags, made.decays))
    angles = np.outer(lags, made.frequencies)
    cosine, sine = np.cos(angles), np.sin(angles)
    turning = _turning(made.frequencies)
    by_decay = made.decays * falls * (made.cosines * cosine + made.sines * sine)
    by_turn = (falls * (made.sines * cosine - made.cosines * sine))[:, turning]
    return np.concatenate([by_decay, by_turn], axis=1)
