"""Encodings of several axes along a line: kernels and couplings against logits at its points."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from typer.testing import CliRunner

from gnomon.cli.app import app
from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import SpectrumError
from gnomon.spectra.coupling import couple, drawn_content
from gnomon.spectra.kernel import LEVELS, Line, kernel_of, on_line
from gnomon.spectra.of_encoding import spectrum

LENGTH = 20
MORE = [
    ("rope", {"dimension": 8, "axes": 2}),
    ("sinusoidal", {"dimension": 12, "axes": 3}),
    ("alibi", {"heads": 4, "axes": 2}),
    ("liere", {"dimension": 8, "axes": 2, "block": 4, "heads": 2}),
    ("rope-nope-layers", {"inner": {"name": "rope", "dimension": 8, "axes": 2}}),
]
KNOWN = [
    pytest.param(made, id=f"{made.name}-{k}")
    for k, made in enumerate(
        [
            *(encoding(name, **e) for name, entry in ENTRIES.items() for e in entry.examples),
            *(encoding(name, **parameters) for name, parameters in MORE),
        ]
    )
    if made.axes > 1
]
LINED = [
    known
    for known in KNOWN
    if known.values[0].card.level[:2] in LEVELS or known.values[0].name in ("sinusoidal", "liere")
]


def step(known: Encoding) -> np.ndarray:
    return np.array([0.25, -0.5, 0.125])[: known.axes]


def points(known: Encoding) -> np.ndarray:
    return np.arange(LENGTH)[:, None] * step(known)


def liere_on_line(known: Encoding) -> np.ndarray:
    """The mean over heads of tr exp(t sum_a u_a X_a) / d, with SciPy's exponential."""
    u = step(known)[:, None, None, None]
    skew = (known.matrices * u).sum(axis=-4)
    lags = np.arange(LENGTH)[:, None] - np.arange(LENGTH)
    traces = np.trace(expm(lags[..., None, None, None, None] * skew), axis1=-2, axis2=-1)
    return traces.sum(axis=-1).mean(axis=-1) / known.dimension


@pytest.mark.parametrize("known", LINED)
def test_the_kernel_along_a_line_is_that_of_logits_at_its_points(
    known: Encoding, by_brute_force: Any
) -> None:
    lags = np.abs(np.arange(LENGTH)[:, None] - np.arange(LENGTH))
    found = kernel_of(known, direction=step(known)).column(LENGTH)[lags]
    if known.kinds == ("vectors",):
        vectors = np.asarray(known.vectors(points(known)))
        wanted = vectors @ vectors.T
    else:
        made = by_brute_force(known, points(known)).mean(axis=0)
        wanted = 0.5 * (made + made.T)
    np.testing.assert_allclose(found, wanted, atol=1e-12 * (1.0 + np.abs(wanted).max()))
    if known.name == "liere":
        np.testing.assert_allclose(found, liere_on_line(known), atol=1e-12)


@pytest.mark.parametrize("known", [k for k in LINED if "transform" in k.values[0].kinds])
def test_a_coupling_along_a_line_is_that_at_its_points_and_keeps_its_bounds(
    known: Encoding,
) -> None:
    d, heads = known.query_width, (known.head_count or 1)
    q, k = drawn_content(LENGTH, d, mean=1.0, tied=False, rng=np.random.default_rng(2))
    found = couple(q, k, known, direction=step(known), head=heads - 1)
    sides = [np.broadcast_to(x, (heads, *x.shape)) for x in (q, k)]
    logits = np.asarray(known.scores(*sides, points(known))).reshape(-1, LENGTH, LENGTH)[-1]
    wanted = np.linalg.svd(logits * d**-0.5, compute_uv=False)
    np.testing.assert_allclose(found.singular_after, wanted, atol=1e-10 * wanted[0])
    assert found.bounds
    assert all(bound.holds or not bound.applies for bound in found.bounds)
    if known.name != "nope":
        assert found.bounds[0].applies


def test_pairs_of_the_other_axis_stand_still() -> None:
    found = spectrum(encoding("rope", dimension=64, axes=2), 48, coupled=False)
    one = spectrum(encoding("rope", dimension=32), 48, coupled=False)
    np.testing.assert_allclose(found.profile, 0.5 * (one.profile + 1.0), atol=1e-14)
    assert found.parameters["direction"] == [1.0, 0.0]
    assert "from 0 along steps of (1, 0)" in found.note


def test_a_span_is_crossed_from_end_to_end_by_default() -> None:
    pixel = encoding("rope-pixel", dimension=8, axes=2)
    found = spectrum(pixel, 33, coupled=False)
    q = np.random.default_rng(0).normal(size=8)
    at = np.stack([np.linspace(-1.0, 1.0, 33), np.zeros(33)], axis=1)
    turned = np.asarray(pixel.transform(np.tile(q, (33, 1)), np.tile(q, (33, 1)), at)[0])
    lined = on_line(pixel, None, 33)
    made = np.asarray(lined.transform(np.tile(q, (33, 1)), np.tile(q, (33, 1)), np.arange(33))[0])
    np.testing.assert_allclose(turned @ turned.T, made @ made.T, atol=1e-12)
    assert found.parameters["direction"] == [1.0 / 16.0, 0.0]
    with pytest.raises(SpectrumError, match=r"lie in \(-1.0, 1.0\); pass direction, 2 numbers"):
        kernel_of(pixel)


def test_coupling_crosses_the_whole_span_also_where_it_takes_fewer_positions() -> None:
    pixel = encoding("rope-pixel", dimension=8, axes=2)
    short, long = (spectrum(pixel, n, means=(1.0,)).contraction for n in (256, 1024))
    assert (short.length, long.length) == (256, 256)
    np.testing.assert_array_equal(short.norm, long.norm)


def test_matrices_that_do_not_commute_see_the_lag_alone_on_lines_through_0_only() -> None:
    known = encoding("liere", dimension=8, axes=2, block=4)
    q = np.random.default_rng(1).normal(size=(LENGTH, 8))[:1].repeat(LENGTH, axis=0)
    for start, relative in (((0.0, 0.0), True), ((0.0, 2.0), False)):
        logits = np.asarray(known.scores(q, q, np.array(start) + points(known)))
        spread = max(np.ptp(np.diagonal(logits, k)) for k in range(LENGTH))
        assert (spread < 1e-10) == relative


@pytest.mark.parametrize(
    ("direction", "said"),
    [
        ((1.0,), r"direction is \[1.0\], and the encoding 'rope' has 2 axes; pass 2 numbers"),
        ((0.0, 0.0), "not all 0"),
        ((1.0, np.nan), "direction holds numbers that are not finite"),
        ("ab", "direction holds"),
    ],
)
def test_a_direction_that_is_none_is_refused(direction: object, said: str) -> None:
    with pytest.raises(SpectrumError, match=said):
        spectrum(encoding("rope", dimension=8, axes=2), direction=direction)


def test_one_axis_has_no_direction() -> None:
    with pytest.raises(SpectrumError, match="has one axis; leave direction out"):
        spectrum(encoding("rope", dimension=8), direction=(1.0,))


def test_a_line_is_copied_with_what_it_has() -> None:
    line = on_line(encoding("alibi", heads=4, axes=2), (3.0, 4.0))
    assert isinstance(line, Line)
    assert copy.copy(line).step == 5.0


def test_the_command_takes_a_direction() -> None:
    asked = ["spectrum", "rope", "-p", "axes=2", "--direction", "1,1", "--length", "16", "--json"]
    made = json.loads(CliRunner().invoke(app, [*asked, "-"]).stdout)
    assert made["parameters"]["direction"] == [1.0, 1.0]
    refused = CliRunner().invoke(app, ["spectrum", "rope", "--direction", "x"])
    assert "is no list of numbers" in str(refused.exception)
