"""All places of a picture: eigenvalues against dense matrices of all pairs, and what is refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from gnomon.cli.app import app
from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import SpectrumError
from gnomon.spectra import lattice
from gnomon.spectra.kernel import LEVELS
from gnomon.spectra.lattice import isotropy, lattice_eigenvalues, lattice_modes, lattice_spectrum
from gnomon.spectra.toeplitz import BlockToeplitz, block_eigenvalues

SEVERAL = [
    pytest.param(known, id=f"{name}-{k}")
    for name, entry in ENTRIES.items()
    for k, example in enumerate(entry.examples)
    if (known := encoding(name, **example)).axes > 1
]
SEEN = [
    e for e in SEVERAL if e.values[0].card.level[:2] in LEVELS and not e.values[0].card.causal_only
]
SHAPES = {2: [(3, 4), (5, 3)], 3: [(2, 3, 2), (3, 3, 3)]}


def places(known: Encoding, shape: tuple[int, ...]) -> np.ndarray:
    """Coordinates of all places, in the order of C."""
    low, high = known.span or (0.0, np.nan)
    sides = [np.arange(n) * (1.0 if known.span is None else (high - low) / (n - 1)) for n in shape]
    return low + np.array(list(itertools.product(*sides)))


@pytest.mark.parametrize("known", SEEN)
def test_eigenvalues_are_those_of_the_matrix_of_all_pairs(
    known: Encoding, by_brute_force: Any
) -> None:
    for shape in SHAPES[known.axes]:
        made = by_brute_force(known, places(known, shape))
        for head in (None, *range((known.head_count or 1) if (known.head_count or 1) > 1 else 0)):
            one = made.mean(axis=0) if head is None else made[head]
            wanted = np.linalg.eigvalsh(0.5 * (one + one.T))[::-1]
            found = lattice_spectrum(known, shape, head=head)
            at = np.indices(shape).reshape(len(shape), -1)
            lags = at[:, :, None] - at[:, None] + np.array(shape)[:, None, None] - 1
            np.testing.assert_allclose(
                found.kernel[tuple(lags)],
                0.5 * (one + one.T),
                atol=1e-12 * (1.0 + np.abs(one).max()),
            )
            values = np.zeros(len(wanted))
            values[: len(found.eigenvalues.values)] = found.eigenvalues.values
            np.testing.assert_allclose(
                np.sort(values)[::-1], wanted, atol=1e-12 * (1.0 + np.abs(wanted).max())
            )


def test_both_ways_to_eigenvalues_are_in_use() -> None:
    closed = {e.values[0].name for e in SEEN if lattice_modes(e.values[0], None) is not None}
    asked = {e.values[0].name for e in SEEN} - closed
    assert {"rope", "rope-mixed", "comrope"} <= closed
    assert {"alibi", "mlp-bias"} <= asked


@pytest.mark.parametrize("shape", [(4, 6), (5, 5)])
def test_of_a_sinusoid_they_are_squared_singular_values(shape: tuple[int, ...]) -> None:
    known = encoding("sinusoidal", dimension=12, axes=2)
    wanted = np.linalg.svd(known.vectors(places(known, shape)), compute_uv=False) ** 2
    found = lattice_spectrum(known, shape).eigenvalues.values
    np.testing.assert_allclose(found[: len(wanted)], wanted, atol=1e-11 * wanted[0])


@pytest.mark.parametrize("sides", [(5, 7), (7, 7), (3, 5, 3), (9,)])
def test_products_and_halves_are_those_of_the_dense_matrix(sides: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=sides)
    kernel = kernel + kernel[(slice(None, None, -1),) * len(sides)]
    shape = [(side + 1) // 2 for side in sides]
    at = np.array(list(np.ndindex(*shape)))
    dense = kernel[tuple(np.moveaxis(at[:, None] - at + np.array(shape) - 1, -1, 0))]
    matrix = BlockToeplitz(kernel)
    x = rng.normal(size=(len(at), 3))
    np.testing.assert_allclose(matrix @ x, dense @ x, atol=1e-12)
    np.testing.assert_allclose(matrix @ x[:, 0], dense @ x[:, 0], atol=1e-12)
    np.testing.assert_allclose(
        block_eigenvalues(kernel), np.linalg.eigvalsh(dense)[::-1], atol=1e-12
    )
    assert np.abs(np.linalg.eigvalsh(dense)).max() <= matrix.bound


def test_ends_of_large_matrices_are_those_of_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    known = encoding("alibi", heads=2, axes=2, symmetric=True)
    whole = lattice_spectrum(known, (12, 13))
    monkeypatch.setattr(lattice, "DENSE", 100)
    ends = lattice_spectrum(known, (12, 13))
    assert not ends.eigenvalues.complete
    assert "156 places are more than 100" in ends.eigenvalues.reason
    assert ends.conditioning is None
    for name in ("largest", "smallest"):
        wanted = getattr(whole.eigenvalues, name)
        assert getattr(ends.eigenvalues, name) == pytest.approx(wanted, rel=1e-9)


def test_isotropy_is_what_distances_explain_of_all_pairs() -> None:
    kernel = lattice_spectrum(encoding("rope", dimension=8, axes=2), (4, 5)).kernel
    at = np.array(list(np.ndindex(4, 5)))
    lags = (at[:, None] - at).reshape(-1, 2)
    lags = lags[lags.any(axis=1)]
    values = kernel[lags[:, 0] + 3, lags[:, 1] + 4]
    groups: dict[int, list[float]] = {}
    for (a, b), value in zip(lags, values, strict=True):
        groups.setdefault(int(a * a + b * b), []).append(value)
    rest = sum(np.sum((np.array(one) - np.mean(one)) ** 2) for one in groups.values())
    assert isotropy(kernel, np.ones(2)) == pytest.approx(
        1.0 - rest / np.sum((values - values.mean()) ** 2), abs=1e-12
    )
    i = np.arange(-4, 5)
    assert isotropy(i[:, None] * i, np.ones(2)) < 0.1  # a saddle has no rings
    assert np.isnan(isotropy(np.ones((3, 3)), np.ones(2)))


def test_pairs_that_turn_across_are_two_on_a_picture_and_one_up_to_their_sign() -> None:
    across = [[0.7, 0.7], [0.7, -0.7]]
    assert len(lattice_eigenvalues(across, [0.5, 0.5], (6, 6))) == 4
    turned = lattice_eigenvalues([[0.7, 0.7], [-0.7, -0.7]], [0.5, 0.5], (6, 6))
    np.testing.assert_allclose(turned, lattice_eigenvalues([[0.7, 0.7]], [1.0], (6, 6)))


@pytest.mark.parametrize(
    ("name", "given", "shape", "words"),
    [
        ("rope", {"dimension": 8}, (4, 4), "has 1 axis; pass a length"),
        ("rope", {"dimension": 8, "axes": 2}, (4,), "has 2 axes; pass a number of places for each"),
        ("rope", {"dimension": 8, "axes": 2}, 4, "has 2 axes"),
        ("rope", {"dimension": 8, "axes": 2}, (4, 1), "shape is 1; pass a whole number of places"),
        ("rope", {"dimension": 8, "axes": 2}, (4, 2.5), "shape is 2.5"),
        ("rope", {"dimension": 8, "axes": 2}, (4000, 4000), "more than 1048576 places"),
        ("liere", {"dimension": 8, "axes": 2}, (4, 4), "sees more than the lag"),
        ("random", {"dimension": 8, "axes": 2}, (4, 4), "sees more than the lag"),
    ],
)
def test_what_has_no_kernel_on_a_picture_is_refused(
    name: str, given: dict[str, Any], shape: Any, words: str
) -> None:
    with pytest.raises(SpectrumError, match=words):
        lattice_spectrum(encoding(name, **given), shape)


def test_the_command_writes_numbers_and_a_page(tmp_path: Path) -> None:
    page = tmp_path / "rope.html"
    asked = ["spectrum", "rope", "-p", "axes=2", "-p", "dimension=8", "--shape", "5,4"]
    made = CliRunner().invoke(app, [*asked, "--figure", str(page), "--json", "-", "-q"])
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)
    assert told["shape"] == [5, 4]
    assert told["length"] == 20
    assert told["largest"] >= told["smallest"]
    assert {"rank", "condition_on_range", "toeplitz_share", "isotropy"} <= set(told)
    assert told["contraction"]["norm"] is None
    assert told["contraction"]["reason"]
    assert "lag on the first axis" in page.read_text(encoding="utf-8")
    text = CliRunner().invoke(app, asked).stdout
    assert "isotropy" in text
    for more, words in (
        (["--direction", "1,1"], "--direction is about a line"),
        (["--length", "9"], "--length is about a line"),
    ):
        refused = CliRunner().invoke(app, [*asked, *more])
        assert refused.exit_code != 0
        assert words in str(refused.exception) + refused.output
    refused = CliRunner().invoke(app, [*asked[:-1], "5;4"])
    assert "no list of integers" in str(refused.exception) + refused.output
