r"""A relative bias as coordinates beside queries and keys, with its error over all lags.

A bias b(t - s) on logits can be carried by an attention kernel that knows no bias when it is a sum
of few modes: powers of the lag, decays, damped turns. Some biases are
such sums: ALiBi is linear, Sandwich a sum of cosines. Others come near: -r1 ln(1 + r2 n) is an
integral of decays, r1 int (e^(-nu) - 1) e^(-u / r2) / u du, which few decays approximate with an
error that falls exponentially with their number [beylkin2005]. A table with jumps is far from all
of them, and is refused with the error reached and a bound that no modes of any kind can pass.

`strategies` are tried in turn; the first that keeps the tolerance is taken,
with the fewest modes that do. Over 8,192 lags, -ln(1 + n) takes 11 modes for 2e-4; 14 reach 2e-6.

A compiled bias: coordinates beside queries and keys whose product is the bias.

    (t - s)^d                          = sum_i binom(d, i) (t - r)^i (r - s)^(d - i)
    e^(a(t - s)) cos(b(t - s))         = e^(a(t - r)) e^(a(r - s)) (cos bx cos by + sin bx sin by)
    with x = t - r and y = s - r, and a reference point r

so one power, one decay and half a frequency each take one coordinate, and attention over queries
and keys with these coordinates appended adds the bias without being told of it.

Causal only: a decay holds for t >= s, and grows without bound where s > t. With s <= r <= t both
factors are at most 1. Where queries and keys share positions, no single r does that: over `REACH` /
|a| positions a factor reaches e^(REACH / 2), and the product for a masked pair e^REACH, near the
end of float32. A decay is therefore given as many columns as the shared positions have such
stretches, each with its reference in the middle of its stretch; a key has an entry in the column of
its own stretch, a query in that and in the one before, and what is older is below e^(-REACH / 2).
That count is `width`. Between a block of queries and an earlier block of keys there is one column
each.

Softmax does not see what is the same for all keys, so the highest power costs nothing there: ALiBi
takes one coordinate, a constant none.

Ways to write the values of a bias as few modes, each from the fewest modes to the most.

A way yields sums with their largest error over all lags; who asks takes the first that is good
enough. In order: a polynomial of degree up to 3; the modes that the Hankel matrix shows, when it
shows them clearly; decays with a constant, or with a constant and a straight line; decays with
damped turns.

Sums of exponentials fitted to a kernel over the lags 0, 1, ..., n - 1.

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

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups.realisation import Hankel, choose_rank, hankel, least_error, step_of
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
Bias = Callable[[Floats], ArrayLike] | ArrayLike
Pair = tuple[Floats, Floats]
REACH = 80.0
"""Logarithm of the largest product of coordinates, of pairs that a mask removes; float32 ends at
88.7."""
GROWN = 1.0
"""Growth of a mode over the length, in logarithm, that is more than a poorly determined turn."""
_SINGLE = float(np.finfo(np.float32).eps)
MOST_DECAYS = 24
"""Modes beyond which decays gain nothing: their fits are at the rounding of float64 before."""
MOST_DAMPED = 16
"""Modes beyond which the search among damped turns would take long, and seldom finds."""
NEARLY = 6.0
"""A fit in squares this many times above the tolerance is worth turning to the largest error."""
Whole = NDArray[np.int64]
FASTEST = 8.0
"""Decay per position beyond which a mode is as good as gone at lag 1 (3e-4 is left)."""
SLOWEST = 0.02
"""Decay over the whole length below which a mode cannot be told from a straight line."""
ROUNDS = 8
STEPS = 60
_DENSE, _SPREAD = 32, 320


def compile_bias(
    bias: Bias,
    *,
    length: int,
    modes: int = 14,
    tolerance: float = 2e-4,
    rates: ArrayLike | None = None,
) -> CompiledBias:
    """Return the bias as at most `modes` coordinates, with its error over lags 0 .. length - 1.

    `bias` is a function of an array of lags or the values at these lags, for one head. Known
    `rates` a + ib (b in radians per position, 0 for a constant) can be given; then only weights are
    fitted. GroupError when the tolerance is not reached. 0.5 to 5 s for 8,192 lags.

    >>> made = compile_bias(lambda n: -0.5 * n, length=1024)
    >>> made.kind, made.modes, made.largest_error < 1e-9
    ('polynomial', 2, True)
    >>> q, k = made.softmax_coordinates([5, 6], [0, 1, 2])
    >>> q.shape, k.ravel() - k[0]
    ((2, 1), array([0. , 0.5, 1. ]))
    """
    values = _read_values(bias, length)
    _check_options(modes, tolerance)
    task = BiasFit(values, int(modes), float(tolerance))
    tried = strategies(task) if rates is None else {"given": lambda: _given(task, rates)}
    reached = (np.inf, fit_weights(values, np.empty(0), np.empty(0), 1), "polynomial")
    for kind, way in tried.items():
        for made, error in way():
            if error < reached[0]:
                reached = error, made, kind
            if error <= task.tolerance and task.fits_float32(made):
                return _to_compiled(task, made, kind)
        if reached[0] <= task.tolerance:
            return _to_compiled(task, reached[1], reached[2])
    last, error = minimise_largest_error(task, reached[1])
    if error <= task.tolerance:
        return _to_compiled(task, last, reached[2])
    raise _refusal(task, last if error < reached[0] else reached[1])


def _given(task: BiasFit, rates: Any) -> Fits:
    """Yield the weights that fit best beside given rates."""
    exponents = np.atleast_1d(np.asarray(rates, dtype=np.complex128))
    if exponents.ndim != 1 or exponents.size == 0 or not np.all(np.isfinite(exponents)):
        raise GroupError(
            f"rates have the shape {exponents.shape} or are not finite; pass a list of numbers a + "
            "ib, the decays and frequencies per position."
        )
    if np.any(exponents.real > 0.0):
        worst = exponents[np.argmax(exponents.real)]
        raise GroupError(
            f"The rate {worst:.6g} has a real part above 0 and grows with the lag; pass rates that "
            f"do not, such as {complex(0.0, worst.imag):.6g}."
        )
    made = fit_weights(task.values, exponents.real.copy(), np.abs(exponents.imag), 0)
    if made.modes > task.modes:
        raise GroupError(
            f"The rates given take {made.modes} modes (a frequency takes two), and modes is "
            f"{task.modes}; pass modes={made.modes} or fewer rates."
        )
    yield made, task.error(made)


def _to_compiled(task: BiasFit, made: Sum, kind: str) -> CompiledBias:
    lags = np.arange(task.values.size, dtype=np.float64)
    errors = np.abs(made.at(lags) - task.values)
    order = np.lexsort((made.frequencies, made.decays))
    compiled = CompiledBias(
        kind=kind,
        polynomial=made.polynomial,
        rates=made.decays[order],
        frequencies=made.frequencies[order],
        weights=made.cosines[order],
        sine_weights=made.sines[order],
        scale=made.scale,
        length=task.values.size,
        modes=made.modes,
        tolerance=task.tolerance,
        largest_error=float(errors.max()),
        where=int(errors.argmax()),
        largest_error_float32=np.nan,
    )
    return replace(compiled, largest_error_float32=float32_error(compiled, task.values))


def _refusal(task: BiasFit, made: Sum) -> GroupError:
    length = task.values.size
    errors = np.abs(made.at(np.arange(length, dtype=np.float64)) - task.values)
    shown = modes_shown(task)
    hint = f" (its Hankel matrix shows {shown})" if shown > task.modes else ""
    known = ", or give its rates where they are known" if task.bound <= task.tolerance else ""
    return GroupError(
        f"With {task.modes} modes the bias is reached to {errors.max():.3g} (at lag "
        f"{errors.argmax()} of {length}), above the tolerance {task.tolerance:g}, and no "
        f"{task.modes} modes of any kind can be below {task.bound:.2g}; allow more modes{hint} or "
        f"a larger tolerance{known}, or keep it as a bias on the logits."
    )


def _read_values(bias: Bias, length: int) -> Floats:
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 2:
        raise GroupError(
            f"length is {length!r}; pass the number of lags, a whole number from 2 on."
        )
    lags = np.arange(length, dtype=np.float64)
    values = reals(
        bias(lags) if callable(bias) else bias,
        "The bias",
        kind=GroupError,
        advice="pass its values at lags 0, 1, 2, ..., or a function of an array of lags",
    )
    if values.ndim != 1 or values.size < length:
        raise GroupError(
            f"The bias has the shape {values.shape}, and {length} lags are to be compiled; pass "
            "one number per lag, one head at a time."
        )
    values = values[:length]
    if not np.all(np.isfinite(values)):
        raise GroupError(
            f"The bias is not finite at lag {int(np.argmin(np.isfinite(values)))}; pass finite "
            "values at all lags from 0 on, or a shorter length."
        )
    return values


def _check_options(modes: int, tolerance: float) -> None:
    if isinstance(modes, bool) or not isinstance(modes, (int, np.integer)) or modes < 1:
        raise GroupError(f"modes is {modes!r}; pass a whole number from 1 on.")
    if not isinstance(tolerance, (int, float, np.number)) or not 0.0 < tolerance < np.inf:
        raise GroupError(
            f"tolerance is {tolerance!r}; pass an error above 0, in units of the logit."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class CompiledBias(Result):
    """A bias as powers of n / `scale`, and e^(rate n) (weight cos + sine_weight sin)(frequency n).

    `largest_error` is over all lags 0 .. `length` - 1 in float64, met at lag `where`;
    `largest_error_float32` is that of the coordinates over the whole length, cast to float32 and
    multiplied there. `modes` counts coordinates between two blocks, and `kind` says how they were
    found: polynomial, given, realised (the bias has these modes and no more), decays or damped.
    """

    kind: str
    polynomial: Floats
    rates: Floats
    frequencies: Floats
    weights: Floats
    sine_weights: Floats
    scale: float
    length: int
    modes: int
    tolerance: float
    largest_error: float
    where: int
    largest_error_float32: float

    def at(self, lags: ArrayLike) -> Floats:
        """Return the compiled bias at lags of 0 and more."""
        n = reals(lags, "lags")
        parts = (self.rates, self.frequencies, self.weights, self.sine_weights)
        return Sum(self.polynomial, *parts, scale=self.scale).at(n.ravel()).reshape(n.shape)

    def coordinates(
        self,
        positions_q: ArrayLike,
        positions_k: ArrayLike,
        *,
        over: tuple[float, float] | None = None,
    ) -> Pair:
        """Return (queries, r) and (keys, r) in float64; their product is the bias where t >= s.

        Append them to queries and keys, divided by the scale that attention applies to scores, and
        mask what comes after the query. `over` is the range of positions that references are laid
        out for; give it, the same for every call, where keys are kept in a cache.
        """
        t, s, first, last = self._check_positions(positions_q, positions_k, over)
        parts = [self._powers(t, s, 0.5 * (first + last), self.polynomial.size)]
        return _concatenate(parts + self._exponential_parts(t, s, first, last))

    def softmax_coordinates(
        self,
        positions_q: ArrayLike,
        positions_k: ArrayLike,
        *,
        over: tuple[float, float] | None = None,
    ) -> Pair:
        """Return coordinates whose product is the bias but for a constant per query."""
        t, s, first, last = self._check_positions(positions_q, positions_k, over)
        parts = [self._powers(t, s, 0.5 * (first + last), max(self.polynomial.size - 1, 0))]
        return _concatenate(parts + self._exponential_parts(t, s, first, last))

    def width(self, shared: float) -> int:
        """Return the number of coordinates where queries and keys share so many positions."""
        columns = [
            _stretches(a, shared - 1.0) * (2 if b > 0.0 else 1)
            for a, b in zip(self.rates, self.frequencies, strict=True)
        ]
        return self.polynomial.size + sum(columns)

    def _exponentials(self) -> zip[tuple[float, float, float, float]]:
        named = (self.rates, self.frequencies, self.weights, self.sine_weights)
        return zip(*(values.tolist() for values in named), strict=True)

    def _check_positions(
        self, positions_q: ArrayLike, positions_k: ArrayLike, over: tuple[float, float] | None
    ) -> tuple[Floats, Floats, float, float]:
        """Return checked positions, and the first and last position that references must serve."""
        t, s = (
            _read_positions(positions_q, "positions_q"),
            _read_positions(positions_k, "positions_k"),
        )
        apart = float(t.max() - s.min())
        if apart > self.length - 1:
            raise GroupError(
                f"A query is {apart:g} positions after a key, and the bias was compiled for lags "
                f"below {self.length}; compile it for a greater length."
            )
        if over is None:
            return t, s, float(t.min()), float(s.max())
        first, last = float(over[0]), float(over[1])
        if t.min() < first or s.max() > last:
            raise GroupError(
                f"over is ({first:g}, {last:g}), and queries begin at {t.min():g} and keys end at "
                f"{s.max():g}; give a range that holds both."
            )
        return t, s, first, last

    def _powers(self, t: Floats, s: Floats, reference: float, kept: int) -> Pair:
        """Return (t - r)^i and what multiplies it, for i below `kept`, in units of the scale."""
        x, y = (t - reference) / self.scale, (s - reference) / self.scale
        degree = self.polynomial.size
        keys = [
            sum(
                (self.polynomial[d] * math.comb(d, i) * (-y) ** (d - i) for d in range(i, degree)),
                start=np.zeros_like(y),
            )
            for i in range(kept)
        ]
        return (
            np.vander(x, kept, increasing=True),
            np.stack(keys, -1) if keys else np.empty((y.size, 0)),
        )

    def _exponential_parts(self, t: Floats, s: Floats, first: float, last: float) -> list[Pair]:
        parts = []
        for a, b, u, v in self._exponentials():
            middle = 0.5 * (first + last)
            falls_q, falls_k = _falls(t, s, a, first, last)
            x, y = b * (t - middle)[:, None], b * (s - middle)[:, None]
            cosine, sine = np.cos(y), np.sin(y)
            parts.append((falls_q * np.cos(x), falls_k * (u * cosine - v * sine)))
            if b > 0.0:
                parts.append((falls_q * np.sin(x), falls_k * (u * sine + v * cosine)))
        return parts


def _read_positions(given: ArrayLike, name: str) -> Floats:
    positions = reals(given, "positions")
    if positions.ndim != 1 or positions.size == 0 or not np.all(np.isfinite(positions)):
        raise GroupError(
            f"{name} has the shape {positions.shape} or is not finite; pass a list of finite "
            "positions."
        )
    return positions


def _concatenate(parts: list[Pair]) -> Pair:
    return (
        np.concatenate([part[0] for part in parts], axis=1),
        np.concatenate([part[1] for part in parts], axis=1),
    )


def _stretches(rate: float, shared: float) -> int:
    return max(1, math.ceil(-rate * shared / REACH))


def _falls(t: Floats, s: Floats, rate: float, first: float, last: float) -> Pair:
    """Return e^(a(t - r_c)) and e^(a(r_c - s)) by stretch c, each with its reference r_c."""
    count = _stretches(rate, last - first)
    wide = (last - first) / count
    references = first + (np.arange(count) + 0.5) * wide
    if count == 1:
        return np.exp(rate * (t - references[0]))[:, None], np.exp(rate * (references[0] - s))[
            :, None
        ]
    of_q, of_k = (np.clip(np.floor((x - first) / wide), 0, count - 1)[:, None] for x in (t, s))
    stretch = np.arange(count)
    seen = (stretch == of_q) | (stretch == of_q - 1)
    # Outside its stretches an exponent is set to 0 first, so that nothing overflows unseen.
    late = np.where(seen, rate * (t[:, None] - references), 0.0)
    early = np.where(stretch == of_k, rate * (references - s[:, None]), 0.0)
    return np.where(seen, np.exp(late), 0.0), np.where(stretch == of_k, np.exp(early), 0.0)


def float32_error(compiled: CompiledBias, values: Floats) -> float:
    """Return the largest error of coordinates in float32, over the whole length.

    Every lag is met twice: from the first key to all queries, and from the last query to all keys.
    """
    last = compiled.length - 1
    places = np.arange(compiled.length)
    over = (0.0, float(last))
    worst = 0.0
    for some in np.array_split(places, -(-places.size // 1024)):
        pairs = ((some, places[:1], values[some]), (places[-1:], some, values[last - some]))
        for t, s, wanted in pairs:
            q, k = (x.astype(np.float32) for x in compiled.coordinates(t, s, over=over))
            made = (q @ k.T).ravel().astype(np.float64)
            worst = max(worst, float(np.abs(made - wanted).max()))
    return worst


@dataclass(frozen=True, eq=False)
class BiasFit:
    """What is to be compiled, in how many modes, how well."""

    values: Floats
    modes: int
    tolerance: float

    @cached_property
    def largest(self) -> float:
        """Return the largest absolute value."""
        return float(np.abs(self.values).max())

    @cached_property
    def hankel(self) -> Hankel:
        """Return the decomposed Hankel matrix of all lags."""
        return hankel(self.values[:, None, None])

    @cached_property
    def bound(self) -> float:
        """Return an error that no modes of any kind can be below."""
        return least_error(self.values, self.modes)

    def error(self, made: Sum) -> float:
        """Return the largest error over all lags."""
        lags = np.arange(self.values.size, dtype=np.float64)
        return float(np.abs(made.at(lags) - self.values).max())

    def fits_float32(self, made: Sum) -> bool:
        """Say whether large weights that cancel leave float32 enough digits."""
        weights = (made.polynomial, made.cosines, made.sines)
        rounding = _SINGLE * sum(float(np.abs(w).sum()) for w in weights)
        return rounding <= max(self.tolerance, 8.0 * _SINGLE * self.largest)


def strategies(task: BiasFit) -> dict[str, Callable[[], Fits]]:
    """Return the ways by name, in the order in which they are to be tried."""
    return {
        "polynomial": lambda: _polynomial(task),
        "realised": lambda: _hankel_modes(task),
        "decays": lambda: _decays(task),
        "damped": lambda: _with_rotations(task),
    }


def _polynomial(task: BiasFit) -> Fits:
    """Yield the polynomial of least degree that is the bias but for rounding."""
    none = np.empty(0)
    for powers in range(1, min(task.modes, 4) + 1):
        made = fit_weights(task.values, none, none, powers)
        if (error := task.error(made)) <= 1e-12 * task.largest:
            yield made, error


def _hankel_modes(task: BiasFit) -> Fits:
    """Yield the modes of the Hankel matrix, where it shows at most as many as asked, clearly.

    Eigenvalues within 1e-6 of 1 are tried as powers of the lag: a multiple root at 1 that rounding
    has split.
    """
    choice = choose_rank(task.hankel)
    if not choice.clear or choice.rank > task.modes:
        return
    exponents = _exponents(task.hankel, choice.rank)
    _check_growth(exponents, task.values.size)
    near = np.abs(exponents) <= 1e-6
    for powers, kept in ((int(near.sum()), exponents[~near]), (0, exponents)):
        made = fit_weights(task.values, *_upper(kept, task.values.size), powers)
        yield made, task.error(made)


def _exponents(decomposed: Hankel, rank: int) -> NDArray[np.complex128]:
    """Return the logarithms of the eigenvalues of the step; of 0, a decay that leaves nothing."""
    eigenvalues = np.linalg.eigvals(step_of(decomposed, rank)).astype(np.complex128)
    return np.asarray(np.log(eigenvalues + 1e-300))


def _upper(exponents: NDArray[np.complex128], length: int) -> tuple[Floats, Floats]:
    """Return decays and frequencies of the exponents a + ib with b >= 0, without rounding.

    A real part that changes nothing over the length is 0, and so is such an imaginary part; one of
    pi alternates in sign.
    """
    upper = exponents[exponents.imag >= 0.0]
    decays = np.where(np.abs(upper.real) * length <= 1e-6, 0.0, np.minimum(upper.real, 0.0))
    frequencies = np.where(upper.imag * length <= 1e-9, 0.0, upper.imag)
    frequencies = np.where(np.pi - upper.imag <= 1e-9, np.pi, frequencies)
    return decays.astype(np.float64), frequencies.astype(np.float64)


def _check_growth(exponents: NDArray[np.complex128], length: int) -> None:
    worst = exponents[np.argmax(exponents.real)]
    if worst.real * length > GROWN:
        raise GroupError(
            f"The bias grows as e^({worst.real:.6g} n), by the eigenvalue {np.exp(worst):.6g} of "
            "its Hankel matrix, and a mode must not grow with the lag; call "
            "realise(values).projected(values) for the nearest that does not, with its error."
        )


def _decays(task: BiasFit) -> Fits:
    """Yield decays beside a constant, or a constant and a line, from few modes to many."""
    for count in range(1, min(task.modes, MOST_DECAYS) + 1):
        for powers in range(1, min(count, 2) + 1):
            yield from _fit_and_refine(task, _spread(task, count - powers), powers)


def _spread(task: BiasFit, count: int) -> tuple[Floats, Floats]:
    return -np.geomspace(2.0 / task.values.size, 2.0, count), np.zeros(count)


def _fit_and_refine(task: BiasFit, start: tuple[Floats, Floats], powers: int) -> Fits:
    """Yield a fit in squares, and where that comes near, one turned towards the largest error."""
    made, error = fit_modes(task.values, *start, powers, rounds=1)
    yield made, error
    if task.tolerance < error <= NEARLY * task.tolerance:
        yield minimise_largest_error(task, made)


def minimise_largest_error(task: BiasFit, made: Sum) -> tuple[Sum, float]:
    """Return the sum turned towards its smallest largest error; one that does not fall is kept."""
    if not np.all(made.decays < 0.0):
        return made, task.error(made)
    return fit_modes(task.values, made.decays, made.frequencies, made.polynomial.size)


def _with_rotations(task: BiasFit) -> Fits:
    """Yield decays with damped turns, which begin as those of what decays alone leave over."""
    lags = np.arange(task.values.size, dtype=np.float64)

    @cache
    def left_over(count: int) -> tuple[Sum, Floats]:
        alone, _ = fit_modes(task.values, *_spread(task, count), 1, rounds=1)
        return alone, task.values - alone.at(lags)

    most = min(task.modes, MOST_DAMPED)
    # Where the bound says that no modes will do, only what can be reached is still of interest.
    fewest = most if task.bound > task.tolerance else most % 2 + 2
    for count in range(fewest, most + 1, 2):
        yield from _fit_and_refine(task, _upper_start(task.values, task, count - 1), 1)
        for pairs in range(1, min((count - 1) // 2, 3) + 1):
            alone, left = left_over(count - 1 - 2 * pairs)
            decays, frequencies = _upper_start(left, task, 2 * pairs)
            start = np.append(alone.decays, decays), np.append(alone.frequencies, frequencies)
            yield from _fit_and_refine(task, start, 1)


def _upper_start(values: Floats, task: BiasFit, count: int) -> tuple[Floats, Floats]:
    """Return the modes of a Hankel matrix of few columns, where a search can begin."""
    if values.size < 2 * count + 2:
        return _spread(task, count)
    exponents = _exponents(hankel(values[:, None, None], 64), count)
    decays, frequencies = _upper(exponents, values.size)
    return np.minimum(decays, -1.0 / values.size), frequencies


def modes_shown(task: BiasFit) -> int:
    """Return the clear rank of the Hankel matrix; 0 without one, and for a table that ends."""
    choice = choose_rank(task.hankel)
    if not choice.clear or choice.rank > task.values.size // 4:
        return 0
    sizes = np.linalg.svd(step_of(task.hankel, choice.rank), compute_uv=False)
    return choice.rank if sizes[-1] > 1e-10 * sizes[0] else 0


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
    turning = _has_sine(frequencies)
    parts = (
        np.vander(lags / scale, powers, increasing=True),
        falls * np.cos(angles),
        (falls * np.sin(angles))[:, turning],
    )
    return np.concatenate(parts, axis=1)


def _has_sine(frequencies: Floats) -> NDArray[np.bool_]:
    """Say which modes have a sine: at whole lags there is none of frequency 0 or pi."""
    return (frequencies > 0.0) & (frequencies < np.pi)


Fits = Iterator[tuple[Sum, float]]


def fit_weights(values: Floats, decays: Floats, frequencies: Floats, powers: int) -> Sum:
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
        turning = self.frequencies[_has_sine(self.frequencies)]
        return np.concatenate([np.log(-self.decays), turning])

    def with_parameters(self, parameters: Floats) -> _Modes:
        count = self.decays.size
        frequencies = self.frequencies.copy()
        frequencies[_has_sine(self.frequencies)] = parameters[count:]
        return replace(self, decays=-np.exp(parameters[:count]), frequencies=frequencies)

    def matrix(self, lags: Floats) -> Floats:
        return columns(lags, self.decays, self.frequencies, self.powers, self.scale)


def _solve(lags: Floats, values: Floats, weights: Floats, modes: _Modes) -> Sum:
    matrix = modes.matrix(lags)
    found = np.linalg.lstsq(weights[:, None] * matrix, weights * values, rcond=None)[0]
    solution = np.asarray(found, dtype=np.float64)
    powers, count = modes.powers, modes.decays.size
    sines = np.zeros(count)
    sines[_has_sine(modes.frequencies)] = solution[powers + count :]
    return Sum(
        polynomial=solution[:powers],
        decays=modes.decays,
        frequencies=modes.frequencies,
        cosines=solution[powers : powers + count],
        sines=sines,
        scale=modes.scale,
    )


def fit_modes(
    values: Floats, decays: Floats, frequencies: Floats, powers: int, rounds: int = ROUNDS
) -> tuple[Sum, float]:
    """Return the sum found from a first guess, and its largest error over all lags.

    Cost: some tens of QR factorisations of a few hundred rows, and `ROUNDS` evaluations of all
    lags: 0.1 to 0.3 s for 14 modes over 8,192 lags.
    """
    length = values.size
    every = np.arange(length, dtype=np.float64)
    chosen, weights = lags_to_fit(length), None
    modes = _Modes(_clip_decays(decays, length), frequencies, powers, every[-1])
    best, least = _solve(every, values, np.ones(length), modes), np.inf
    for _ in range(rounds):
        weights = np.ones(chosen.size) if weights is None else weights
        modes = _optimise(chosen.astype(np.float64), values[chosen], weights, modes)
        made = _solve(chosen.astype(np.float64), values[chosen], weights, modes)
        errors = np.abs(made.at(every) - values)
        worst = int(errors.argmax())
        if errors[worst] < least:
            best, least = made, float(errors[worst])
        chosen, weights = _update_weights(chosen, weights, errors, worst)
    return best, least


def _update_weights(
    chosen: Whole, weights: Floats, errors: Floats, worst: int
) -> tuple[Whole, Floats]:
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


def _clip_decays(decays: Floats, length: int) -> Floats:
    return -np.clip(-decays, 2.0 * SLOWEST / length, FASTEST / 2.0)


def _optimise(lags: Floats, values: Floats, weights: Floats, modes: _Modes) -> _Modes:
    """Return the modes at the nearest minimum of the squared error left by their best weights."""
    from scipy.optimize import least_squares

    if not modes.decays.size:
        return modes
    target = weights * values
    count = modes.decays.size

    def residual(parameters: Floats) -> Floats:
        basis, _ = np.linalg.qr(weights[:, None] * modes.with_parameters(parameters).matrix(lags))
        left: Floats = target - basis @ (basis.T @ target)
        return left

    def slopes(parameters: Floats) -> Floats:
        now = modes.with_parameters(parameters)
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
    return modes.with_parameters(found.x)


def _derivatives(lags: Floats, made: Sum) -> Floats:
    """Return the change of k by the logarithm of every decay, then by every frequency."""
    falls = lags[:, None] * np.exp(np.outer(lags, made.decays))
    angles = np.outer(lags, made.frequencies)
    cosine, sine = np.cos(angles), np.sin(angles)
    turning = _has_sine(made.frequencies)
    by_decay = made.decays * falls * (made.cosines * cosine + made.sines * sine)
    by_turn = (falls * (made.sines * cosine - made.cosines * sine))[:, turning]
    return np.concatenate([by_decay, by_turn], axis=1)
