"""Both ends of large spectra: against dense solvers, and against symbols on very fine grids."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz

import gnomon
from gnomon.encodings.registry import shown
from gnomon.spectra import eigenvalues as room
from gnomon.spectra.eigenvalues import eigenvalues_of
from gnomon.spectra.kernel import Kernel, kernel_of
from gnomon.spectra.modes import Modes, add_modes, modes
from gnomon.spectra.symbol import (
    cut_symbol,
    inner_ends,
    outer_ends,
    polynomial_ends,
    symbol_ends,
    symbol_of,
)
from gnomon.spectra.toeplitz import all_eigenvalues

COLUMNS = st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=40).map(np.array)


def given_kernel(known: Modes | None, column: np.ndarray | None = None) -> Kernel:
    """A kernel from modes, or from numbers alone."""
    return Kernel(
        name="given",
        kind="bias",
        head=None,
        modes=known,
        lag_values=lambda n: (column[:n], column[:n]),
        causal=True,
        note="",
    )


@pytest.mark.parametrize(
    "name",
    [
        "shaw",
        *(
            pytest.param(one, marks=pytest.mark.wide)
            for one in ("t5", "wavelet", "pope", "rope-plus-plus")
        ),
    ],
)
def test_above_the_dense_limit_an_end_is_that_of_all_eigenvalues_or_not_told(name: str) -> None:
    """Constant tails and masses: the least value of the cut symbol is a lobe of Dirichlet's."""
    n = room.DENSE + 4
    kernel = kernel_of(shown(name))
    found, wanted = eigenvalues_of(kernel, n), all_eigenvalues(kernel.column(n))
    size = np.abs(wanted).max()
    assert found.largest == pytest.approx(wanted[0], rel=1e-3)
    assert found.smallest == pytest.approx(wanted[-1], rel=1e-3, abs=1e-11 * size)
    assert found.low is None or found.low <= wanted[-1] <= found.reached_low
    assert found.high is None or found.reached_high <= wanted[0] <= found.high


@pytest.mark.parametrize("name", ["t5", "shaw", "wavelet"])
def test_a_constant_tail_leaves_the_foot_where_its_polynomial_has_it(name: str) -> None:
    """At 16,384: between the least value of the polynomial, and the foot of a smaller matrix.

    A corner of T has its foot above that of T (Cauchy), and T less a positive constant, whose
    polynomial is summed here by hand, has it below (Weyl).
    """
    n, kernel = 16_384, kernel_of(shown(name))
    column = kernel.column(n)
    rest, tail = column - column[-1], column[-1]
    assert tail > 0.0
    degree = np.flatnonzero(np.abs(rest) > 1e-13 * np.abs(column).max())[-1]
    angles = np.linspace(0.0, np.pi, 20_001)
    least = np.full(len(angles), rest[0])
    for lag in range(1, degree + 1):
        least += 2.0 * rest[lag] * np.cos(lag * angles)
    corner = np.linalg.eigvalsh(toeplitz(column[:700]))[0]
    found = eigenvalues_of(kernel, n)
    reached = found.reached_low if found.smallest is None else found.smallest
    assert reached <= corner
    assert reached == pytest.approx(least.min(), rel=5e-3)
    assert found.low is None or found.low == pytest.approx(least.min(), rel=1e-3)
    assert (found.smallest is None) is (name == "wavelet")  # its two numbers are 0.002 apart


@pytest.mark.parametrize(
    "name",
    ["t5", "shaw", "wavelet", "xpos", "retnet", "kerple-log", "pope", "rope-plus-plus", "alibi"],
)
def test_at_lengths_that_a_dense_solver_has_the_ends_are_its(name, monkeypatch) -> None:
    monkeypatch.setattr(room, "DENSE", 256)
    kernel = kernel_of(shown(name))
    for n in (300, 700):
        found = eigenvalues_of(kernel, n)
        wanted = np.linalg.eigvalsh(toeplitz(kernel.column(n)))
        slack = 1e-9 * np.abs(wanted).max()
        for value, true in ((found.smallest, wanted[0]), (found.largest, wanted[-1])):
            assert value is None or value == pytest.approx(true, rel=1.1e-3, abs=slack)
        assert found.low is None or found.low - slack <= wanted[0] <= found.reached_low + slack
        assert found.high is None or found.reached_high - slack <= wanted[-1] <= found.high + slack


def without_lanczos(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at great lengths: no dense solver, and Lanczos gives up at both ends."""
    nothing = SimpleNamespace(values=np.zeros(0))
    monkeypatch.setattr(room, "DENSE", 256)
    monkeypatch.setattr(room, "extreme_eigenvalues", lambda *_, **__: nothing)


def test_an_end_that_is_not_known_is_null_with_both_numbers_and_a_reason(monkeypatch) -> None:
    """Cosines given as numbers: 0 is the smallest eigenvalue, and no symbol can tell."""
    column = np.cos(np.outer(np.arange(600), [0.9, 0.2, 0.031])) @ np.array([0.5, 0.3, 0.2])
    without_lanczos(monkeypatch)
    found = eigenvalues_of(given_kernel(None, column), 600)
    wanted = np.linalg.eigvalsh(toeplitz(column))
    assert found.smallest is None
    assert found.low < -1.0 < wanted[0] <= found.reached_low + 1e-12
    assert "the smallest eigenvalue cannot be told" in found.reason
    assert found.reached_high <= wanted[-1] * (1 + 1e-12)


def test_the_text_says_what_is_known_of_an_end(monkeypatch) -> None:
    without_lanczos(monkeypatch)
    found = gnomon.spectrum("kerple-log", 300, coupled=False)
    value, text = found.to_dict(), found.text()
    wanted = np.linalg.eigvalsh(toeplitz(found.profile))
    assert (value["largest"], value["condition_on_range"], value["rank"]) == (None, None, None)
    assert value["between"]["reached_high"] <= wanted[-1] <= value["between"]["high"]
    assert "largest eigenvalue   -" in text
    assert f"; none above {value['between']['high']:.6g}" in text
    assert f"; one at or above {value['between']['reached_high']:.6g}" in text


def brute_symbol(known: Modes, angles: np.ndarray) -> np.ndarray:
    """Sums of Poisson's kernels in complex numbers: c(0) + 2 Re sum z / (1 - z)."""
    total = np.zeros(angles.shape)
    for w, a, b in zip(known.weights, known.rates, known.frequencies, strict=True):
        for side in (b - angles, b + angles):
            z = np.exp(a + 1j * side)
            total += w * (0.5 + np.real(z / (1.0 - z)))
    return total


def fine_ends(known: Modes) -> tuple[float, float]:
    """Least and largest on 100,000 even angles and 4,000 around every frequency."""
    pairs = zip(known.rates, known.frequencies, strict=True)
    near = [b + 4.0 * a * np.linspace(-1, 1, 4001) for a, b in pairs]
    angles = np.clip(np.concatenate([np.linspace(0.0, np.pi, 100_001), *near]), 0.0, np.pi)
    values = brute_symbol(known, angles)
    return float(values.min()), float(values.max())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("xpos", {"dimension": 64}),
        ("jordan", {"dimension": 4, "decay": 1e-5, "base": 3.0}),
        ("retnet", {"dimension": 4, "heads": 1, "gammas": (0.998,), "base": 1.003}),
        ("retnet", {"dimension": 8, "heads": 2}),
    ],
)
def test_the_ends_of_a_symbol_are_those_of_a_very_fine_grid(name: str, parameters) -> None:
    kernel = kernel_of(gnomon.encoding(name, **parameters))
    low, high = fine_ends(kernel.modes)
    found = symbol_of(kernel, kernel.column(64))
    assert found.applies
    assert found.low == pytest.approx(low, rel=1e-6)
    assert found.high == pytest.approx(high, rel=1e-6)
    assert found.high >= high * (1 - 1e-12)
    assert found.low <= low * (1 + 1e-12)
    assert found.values.max() > 0.9 * high  # the drawn line meets its peak


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31))
def test_ends_of_random_symbols_hold_against_a_fine_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    rates = -(10.0 ** rng.uniform(-4, 0, count))
    known = modes(rng.standard_normal(count), rng.uniform(0.0, np.pi, count), rates)
    pairs = zip(known.rates, known.frequencies, strict=True)
    near = [b + a * np.sinh(np.linspace(-9, 9, 3001)) for a, b in pairs]
    angles = np.concatenate([np.linspace(0, np.pi, 20_001), *near])
    values = brute_symbol(known, angles[(angles >= 0.0) & (angles <= np.pi)])
    low, high = symbol_ends(known)
    slack = 1e-9 * np.abs(values).max()
    assert low - slack <= values.min() <= low + 1e-3 * np.abs(values).max()
    assert high - 1e-3 * np.abs(values).max() <= values.max() <= high + slack


@pytest.mark.parametrize(
    ("name", "parameters", "n"),
    [
        ("xpos", {"dimension": 64}, 1024),
        ("jordan", {"dimension": 4, "decay": 1e-5, "base": 3.0}, 1024),
    ],
)
def test_no_eigenvalue_passes_the_ends_of_the_symbol(name: str, parameters, n: int) -> None:
    found = gnomon.spectrum(gnomon.encoding(name, **parameters), n, coupled=False)
    wanted = np.linalg.eigvalsh(toeplitz(found.profile))
    assert found.symbol.low <= wanted[0] + 1e-12 * wanted[-1]
    assert wanted[-1] <= found.symbol.high


def test_none_above_holds_for_the_quotient_at_a_narrow_peak() -> None:
    """A decay of 0.002 with frequencies 0.003 apart: the peak lies between the frequencies."""
    known = gnomon.encoding("retnet", dimension=4, heads=1, gammas=(0.998,), base=1.003)
    kernel, n = kernel_of(known), 16_384
    column = kernel.column(n)
    _, high = fine_ends(kernel.modes)
    low_end, high_end = outer_ends(kernel, column)
    assert high_end == pytest.approx(high, rel=1e-6)
    assert low_end <= inner_ends(column)[0]
    place = np.arange(n)
    angles = np.linspace(*np.sort(kernel.modes.frequencies)[[0, -1]], 41)
    peak = angles[np.argmax(brute_symbol(kernel.modes, angles))]
    vector = np.sin(np.pi * (place + 1) / (n + 1)) * np.cos(peak * place)
    power = np.abs(np.fft.rfft(vector, 2 * n)) ** 2
    shifted = np.fft.irfft(power)[:n]  # its autocorrelation: v.Tv without any matrix
    quotient = (column[0] * shifted[0] + 2.0 * column[1:] @ shifted[1:]) / shifted[0]
    frequencies = brute_symbol(kernel.modes, kernel.modes.frequencies)
    assert frequencies.max() < quotient <= high_end


@settings(max_examples=30, deadline=None)
@given(COLUMNS)
def test_all_eigenvalues_lie_between_both_pairs_of_numbers(column: np.ndarray) -> None:
    values = np.linalg.eigvalsh(toeplitz(column))
    slack = 1e-12 * (1.0 + np.abs(column).sum())
    outer, inner = polynomial_ends(column), inner_ends(column)
    assert outer[0] - slack <= values[0] <= inner[0] + slack
    assert inner[1] - slack <= values[-1] <= outer[1] + slack


@settings(max_examples=30, deadline=None)
@given(COLUMNS)
def test_a_polynomial_does_not_pass_its_ends_between_the_angles_that_were_seen(column) -> None:
    angles = np.linspace(0.0, np.pi, 20_011)  # prime: on no grid of powers of two
    waves = np.cos(np.outer(angles, np.arange(1, len(column))))
    values = column[0] + 2.0 * waves @ column[1:]
    low, high = polynomial_ends(column)
    slack = 1e-12 * (1.0 + np.abs(column).sum())
    assert low - slack <= values.min() <= low + 1e-4 * np.abs(column).sum() + slack
    assert high - 1e-4 * np.abs(column).sum() - slack <= values.max() <= high + slack


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)])
def test_masses_beside_a_function_move_the_outer_ends_by_their_own(signs) -> None:
    masses = modes(np.array(signs), np.array([0.4, 2.0]))
    kernel = given_kernel(add_modes(masses, modes(np.ones(1), 1.0, -0.05)))
    values = np.linalg.eigvalsh(toeplitz(kernel.modes.at(np.arange(300.0))))
    low, high = outer_ends(kernel, kernel.column(300))
    assert low <= values[0]
    assert values[-1] <= high
    of_masses = np.linalg.eigvalsh(toeplitz(masses.at(np.arange(300.0))))
    of_rest = brute_symbol(modes(np.ones(1), 1.0, -0.05), np.linspace(0, np.pi, 100_001))
    assert low == pytest.approx(min(of_masses[0], 0.0) + of_rest.min(), abs=1e-6)
    assert high == pytest.approx(max(of_masses[-1], 0.0) + of_rest.max(), rel=1e-6)


def test_the_quotients_of_half_sines_are_those_of_vectors() -> None:
    """v^* T v of the vector itself, complex, at some angles of the grid."""
    column = np.random.default_rng(5).standard_normal(23)
    place, matrix = np.arange(23), toeplitz(column)
    grid = 2 * np.pi * np.arange(47) / 92  # the length that four times 23 has
    quotients = []
    for x in grid:
        v = np.sin(np.pi * (place + 1) / 24) * np.exp(1j * x * place)
        quotients.append(np.real(v.conj() @ matrix @ v) / np.real(v.conj() @ v))
    low, high = inner_ends(column)
    fine = len(cut_symbol(column)) - 1
    assert low == pytest.approx(min(quotients), abs=0.1 * np.ptp(quotients))
    exact = []
    for x in np.pi * np.arange(fine + 1) / fine:
        v = np.sin(np.pi * (place + 1) / 24) * np.exp(1j * x * place)
        exact.append(np.real(v.conj() @ matrix @ v) / np.real(v.conj() @ v))
    assert (low, high) == (pytest.approx(min(exact)), pytest.approx(max(exact)))
