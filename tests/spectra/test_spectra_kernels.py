"""Kernels of the catalogue: closed forms against logits of unit vectors, symbols against sums."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import SpectrumError
from gnomon.spectra.eigenvalues import eigenvalues_of
from gnomon.spectra.kernel import LEVELS, kernel_of
from gnomon.spectra.modes import add_modes, modes
from gnomon.spectra.symbol import distance, symbol_of

LENGTH = 24
EXAMPLES = [
    pytest.param(encoding(name, **example), id=f"{name}-{k}")
    for name, entry in ENTRIES.items()
    for k, example in enumerate(entry.examples)
    if encoding(name, **example).axes == 1
]
SEEN = [e for e in EXAMPLES if e.values[0].card.level[:2] in LEVELS]
LINEAR = [e for e in SEEN if not e.values[0].card.level.startswith("L2")]
BLIND = [
    e
    for e in EXAMPLES
    if e.values[0].card.level[:2] not in LEVELS and e.values[0].name != "sinusoidal"
]


def mirrored(known: Encoding, made: np.ndarray, head: int | None) -> np.ndarray:
    """The matrix of one head or their mean: masked halves mirrored, others averaged."""
    one = made.mean(axis=0) if head is None else made[head]
    if known.card.causal_only:
        return np.tril(one) + np.tril(one, -1).T
    return 0.5 * (one + one.T)


@pytest.mark.parametrize("known", [e for e in LINEAR if "content" not in e.values[0].kinds])
def test_a_kernel_is_the_trace_of_the_group_or_the_bias_itself(
    known: Encoding, by_brute_force: Any
) -> None:
    made = by_brute_force(known, np.arange(LENGTH, dtype=np.float64))
    lags = np.abs(np.arange(LENGTH)[:, None] - np.arange(LENGTH))
    for head in (
        None,
        *range(min((known.head_count or 1), 2) if (known.head_count or 1) > 1 else 0),
    ):
        found = kernel_of(known, head=head).column(LENGTH)[lags]
        wanted = mirrored(known, made, head)
        np.testing.assert_allclose(found, wanted, atol=1e-12 * (1.0 + np.abs(wanted).max()))


@pytest.mark.parametrize("known", [e for e in SEEN if "content" in e.values[0].kinds])
def test_the_kernel_of_a_rule_is_the_logit_of_one_vector_everywhere(known: Encoding) -> None:
    heads, d, at = (known.head_count or 1), known.query_width, np.arange(LENGTH, dtype=np.float64)
    vector = np.random.default_rng(0).normal(scale=np.sqrt(0.5), size=d)
    rows = np.broadcast_to(vector, (heads, LENGTH, d))
    made = np.asarray(known.scores(rows, rows, at, scale=d**-0.5)).reshape(-1, LENGTH, LENGTH)
    one = made.mean(axis=0)
    one = np.tril(one) + np.tril(one, -1).T if known.card.causal_only else 0.5 * (one + one.T)
    lags = np.abs(np.arange(LENGTH)[:, None] - np.arange(LENGTH))
    np.testing.assert_allclose(kernel_of(known).column(LENGTH)[lags], one, atol=1e-12)


@pytest.mark.parametrize("known", BLIND)
def test_logits_that_see_more_than_the_lag_have_no_kernel(known: Encoding) -> None:
    with pytest.raises(SpectrumError, match="do not depend on the lag alone"):
        kernel_of(known)


def test_the_sinusoid_has_the_kernel_of_its_products() -> None:
    known = encoding("sinusoidal", dimension=16)
    vectors = np.asarray(known.vectors(np.arange(LENGTH)))
    np.testing.assert_allclose(kernel_of(known).column(LENGTH), vectors @ vectors[0], atol=1e-13)


def test_an_odd_kernel_is_told_apart() -> None:
    """T5 with a table of its own: the odd part of values before and after a query, by hand."""
    table = 1.0 + np.arange(8.0)[:, None]
    known = encoding("t5", heads=1, buckets=8, largest_lag=4, table=table)
    bias = np.asarray(known.bias(np.arange(4)))[0]
    before, after = bias[3, ::-1], bias[0]
    whole = np.concatenate([after[:0:-1], before])  # lags -3 ... 3, lag 0 once
    wanted = np.linalg.norm(whole - whole[::-1]) / (2.0 * np.linalg.norm(whole))
    assert whole[3] != 0.0
    assert kernel_of(known).asymmetry(4) == pytest.approx(wanted)
    assert wanted > 0.1


ODD = [
    ("alibi", {"slopes": (0.5, 0.25), "slopes_after": (0.125, 1.0)}),
    ("rope-plus-plus", {"dimension": 8, "heads": 4}),
    ("transformer-xl", {"dimension": 6, "heads": 2, "sigma": 0.5, "seed": 1}),
    ("pope", {"dimension": 6, "heads": 2, "start": "uniform", "seed": 3}),
]


@pytest.mark.parametrize(("name", "parameters"), ODD)
def test_a_closed_form_has_both_parts_of_the_logits_that_are_asked_for(name, parameters) -> None:
    """Even modes and odd sines against logits of every lag, by head and on average."""
    known = encoding(name, **parameters)
    for head in (None, 0, 1):
        kernel = kernel_of(known, head=head)
        before, after = kernel.lag_values(LENGTH)
        lags = np.arange(float(LENGTH))
        even = kernel.modes.at(lags)
        odd = np.zeros(LENGTH) if kernel.odd is None else kernel.odd(lags)
        np.testing.assert_allclose(even + odd, before, atol=1e-12)
        np.testing.assert_allclose(even - odd, after, atol=1e-12)
        whole = np.concatenate([after[:0:-1], before])
        size = 2.0 * np.linalg.norm(whole)
        wanted = np.linalg.norm(whole - whole[::-1]) / size if size > 1e-9 else 0.0
        assert kernel.asymmetry(LENGTH) == pytest.approx(wanted, abs=1e-12)


def test_an_odd_part_that_is_rounding_is_none() -> None:
    """PoPE without shifts is even: what its logits differ by before and after is rounding."""
    assert kernel_of(encoding("pope", dimension=6, heads=2)).asymmetry(400) == 0.0


def test_the_trace_of_any_generator_is_that_of_its_matrix_exponential() -> None:
    rng = np.random.default_rng(0)
    blocks = [{"decay": -0.1, "frequency": 0.7, "order": 2}, {"frequency": 0.3}, {"decay": -0.02}]
    known = encoding("generator", blocks=blocks, basis=rng.standard_normal((7, 7)))
    kernel, x = kernel_of(known), known.generator().matrix
    wanted = [np.trace(expm(t * x)) / 7 for t in range(12)]
    assert kernel.modes is not None
    np.testing.assert_allclose(kernel.column(12), wanted, atol=1e-9)


def test_two_slopes_grow_so_szegos_theorem_does_not_apply() -> None:
    known = encoding("alibi", slopes=(0.5,), slopes_after=(0.25,))
    kernel = kernel_of(known)
    np.testing.assert_allclose(kernel.column(9), -0.375 * np.arange(9))
    assert symbol_of(kernel, kernel.column(64)).applies is False


def test_frequencies_beyond_pi_are_those_that_whole_positions_see() -> None:
    made = modes(np.ones(3), np.array([np.pi + 0.5, 2 * np.pi + 1e-3, -0.25]))
    lags = np.arange(50.0)
    wanted = np.cos(np.outer(lags, [np.pi + 0.5, 2 * np.pi + 1e-3, -0.25])).sum(axis=1)
    np.testing.assert_allclose(made.at(lags), wanted, atol=1e-12)
    assert ((made.frequencies >= 0.0) & (made.frequencies <= np.pi)).all()


@pytest.mark.parametrize("power", [0, 1, 2, 3])
def test_a_symbol_is_the_fourier_series_of_its_kernel(power: int) -> None:
    made = modes(np.array([1.5, -0.5]), np.array([0.4, 2.0]), np.array([-0.1, -0.3]), power)
    lags = np.arange(1, 2000)
    angles = np.array([0.0, 0.4, 1.0, np.pi])
    series = made.at(np.zeros(1)) + 2.0 * np.cos(np.outer(angles, lags)) @ made.at(lags)
    np.testing.assert_allclose(made.symbol(angles), series, rtol=1e-10, atol=1e-10)


def test_the_symbol_of_a_distance_is_abels_sum() -> None:
    """-m |t| r^|t| has a series for r < 1; as r tends to 1 it is m / (2 sin^2(x/2))."""
    made, angles = modes(np.array([-0.5]), powers=1), np.array([0.3, 1.0, np.pi])
    np.testing.assert_allclose(made.symbol(angles), 0.25 / np.sin(angles / 2) ** 2, rtol=1e-12)
    lags, r = np.arange(1, 200_000), 0.9999
    near = 2.0 * np.cos(np.outer(angles, lags)) @ (-0.5 * lags * r**lags)
    np.testing.assert_allclose(made.symbol(angles), near, rtol=1e-2)
    assert np.isnan(made.symbol(np.zeros(1))).all()


def test_masses_of_equal_frequency_are_one() -> None:
    made = add_modes(modes(np.ones(2), np.array([0.5, 0.5])), modes(np.array([2.0]), rates=-1.0))
    places, masses = made.masses()
    np.testing.assert_array_equal(places, [0.5])
    np.testing.assert_array_equal(masses, [2.0])
    assert not made.discrete


def test_a_decaying_kernel_fills_its_symbol_and_szegos_distance_falls() -> None:
    kernel = kernel_of(encoding("retnet", dimension=8, heads=1, gammas=(0.7,)))
    found = {}
    for length in (32, 128, 512):
        column = kernel.column(length)
        symbol = symbol_of(kernel, column)
        values = eigenvalues_of(kernel, length).values
        assert symbol.applies
        assert symbol.low * (1 - 1e-3) <= values[-1]
        assert values[0] <= symbol.high * (1 + 1e-3)
        found[length] = distance(values, kernel, column)
    assert found[512] < found[128] < found[32]
    assert found[512] < 0.01


@pytest.mark.parametrize(
    ("name", "parameters", "applies", "words"),
    [
        ("rope", {"dimension": 8}, False, "4 masses and no function"),
        ("nope", {}, False, "1 mass and no function"),
        ("xpos", {"dimension": 8}, True, "bounded function"),
        ("alibi", {"heads": 2}, False, "Abel's sum"),
        ("kerple-log", {"heads": 2}, False, "cut at this length"),
        ("t5", {"heads": 2, "largest_lag": 20, "buckets": 16}, False, "one mass at 0"),
        ("mlp-bias", {"heads": 2}, None, "not decided"),
    ],
)
def test_where_szegos_theorem_applies_is_said(name, parameters, applies, words) -> None:
    kernel = kernel_of(encoding(name, **parameters))
    found = symbol_of(kernel, kernel.column(64))
    assert found.applies is applies
    assert words in found.statement


def test_a_tail_of_zeros_is_no_mass() -> None:
    """A learned bias that vanishes past its largest lag, and one that vanishes everywhere."""
    table = np.array([[0.5], [0.25], [0.0], [0.0]])
    known = encoding("t5", heads=1, buckets=4, largest_lag=4, bidirectional=False, table=table)
    kernel = kernel_of(known)
    found = symbol_of(kernel, kernel.column(64))
    angles = np.linspace(0.0, np.pi, 10_001)
    wanted = 0.5 + 0.5 * np.cos(angles)
    assert found.applies is True
    assert "mass" not in found.statement
    assert (found.low, found.high) == (
        pytest.approx(wanted.min(), abs=1e-4),
        pytest.approx(wanted.max(), abs=1e-4),
    )
    none = kernel_of(encoding("t5", heads=1, sigma=0.0))
    assert symbol_of(none, none.column(64)).statement == "the kernel is zero"


def test_masses_below_zero_make_the_smallest_eigenvalue_grow() -> None:
    known = encoding("rope", dimension=8)
    kernel = dataclasses.replace(kernel_of(known), modes=modes(-np.ones(2), np.array([0.0, 1.0])))
    found = symbol_of(kernel, kernel.column(64)).statement
    assert "the smallest eigenvalue grows as n, at -1 n" in found
    matrix = -(1.0 + np.cos(np.subtract.outer(np.arange(400), np.arange(400))))
    assert np.linalg.eigvalsh(matrix)[0] == pytest.approx(-400.0, rel=0.02)


def test_a_constant_tail_leaves_a_symbol_that_is_exact() -> None:
    """T5 past its largest lag: mass and trigonometric polynomial give back the whole kernel."""
    kernel = kernel_of(encoding("t5", heads=1, buckets=8, largest_lag=8, sigma=1.0))
    column = kernel.column(64)
    found = symbol_of(kernel, column)
    angles = np.pi * (np.arange(4096) + 0.5) / 4096
    values = np.interp(angles, found.angles, found.values)
    for lag in (0, 1, 5, 40):
        back = np.mean(values * np.cos(lag * angles)) + found.masses.sum()
        assert back == pytest.approx(column[lag], abs=2e-3)


def test_a_head_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpectrumError, match="head is 4, and the encoding 'alibi' tells 4 apart"):
        kernel_of(encoding("alibi", heads=4), head=4)
    for head in ("a", float("nan"), 1.0, True):
        with pytest.raises(
            SpectrumError, match="and the encoding 'alibi' tells 4 apart; pass a wh"
        ):
            kernel_of(encoding("alibi", heads=4), head=head)
    with pytest.raises(SpectrumError, match="tells no heads apart; pass 0 or none"):
        kernel_of(encoding("rope", dimension=8), head=1)
