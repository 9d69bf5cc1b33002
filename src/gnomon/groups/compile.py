r"""Compiling a relative bias into coordinates beside queries and keys.

A bias b(t - s) on logits can be carried by an attention kernel that knows no bias when it is a sum
of few modes: powers of the lag, decays, damped turns (`gnomon.groups.compiled`). Some biases are
such sums: ALiBi is linear, Sandwich a sum of cosines. Others come near: -r1 ln(1 + r2 n) is an
integral of decays, r1 int (e^(-nu) - 1) e^(-u / r2) / u du, which few decays approximate with an
error that falls exponentially with their number [beylkin2005]. A table with jumps is far from all
of them, and is refused with the error reached and a bound that no modes of any kind can pass.

`gnomon.groups.ways` holds the ways that are tried; the first that keeps the tolerance is taken,
with the fewest modes that do. Over 8,192 lags, -ln(1 + n) takes 11 modes for 2e-4; 14 reach 2e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups.compiled import CompiledBias, float32_error
from gnomon.groups.exponentials import Sum, weighted
from gnomon.groups.ways import Found, Task, modes_shown, turned, ways
from gnomon.numeric.checks import reals

Floats = NDArray[np.float64]
Bias = Callable[[Floats], ArrayLike] | ArrayLike


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
    values = _values(bias, length)
    _check_options(modes, tolerance)
    task = Task(values, int(modes), float(tolerance))
    tried = ways(task) if rates is None else {"given": lambda: _given(task, rates)}
    reached = (np.inf, weighted(values, np.empty(0), np.empty(0), 1), "polynomial")
    for kind, way in tried.items():
        for made, error in way():
            if error < reached[0]:
                reached = error, made, kind
            if error <= task.tolerance and task.fits_float32(made):
                return _compiled(task, made, kind)
        if reached[0] <= task.tolerance:
            return _compiled(task, reached[1], reached[2])
    last, error = turned(task, reached[1])
    if error <= task.tolerance:
        return _compiled(task, last, reached[2])
    raise _refusal(task, last if error < reached[0] else reached[1])


def _given(task: Task, rates: Any) -> Found:
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
    made = weighted(task.values, exponents.real.copy(), np.abs(exponents.imag), 0)
    if made.modes > task.modes:
        raise GroupError(
            f"The rates given take {made.modes} modes (a frequency takes two), and modes is "
            f"{task.modes}; pass modes={made.modes} or fewer rates."
        )
    yield made, task.error(made)


def _compiled(task: Task, made: Sum, kind: str) -> CompiledBias:
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


def _refusal(task: Task, made: Sum) -> GroupError:
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


def _values(bias: Bias, length: int) -> Floats:
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
