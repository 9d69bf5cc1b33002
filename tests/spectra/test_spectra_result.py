"""The spectrum of an encoding as a whole: numbers at small and large lengths, JSON, and figures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.linalg import toeplitz

import gnomon
from gnomon.errors import SpectrumError
from gnomon.report.figure import to_plotly
from gnomon.report.figures.spectrum import spectrum_figures
from gnomon.report.page.pages import spectrum_page

PROMISED = {
    "length",
    "rank",
    "largest",
    "smallest",
    "condition_on_range",
    "contraction",
    "toeplitz_share",
}


def test_rotary_encoding_has_a_rank_that_frequencies_bound() -> None:
    """40 positions and 16 frequencies: the largest eigenvalue is 26.7, the rank far below 32."""
    found = gnomon.spectrum(gnomon.encoding("rope", dimension=32), 40, coupled=False)
    frequencies = 10000.0 ** (-np.arange(16) / 16)
    matrix = toeplitz(np.cos(np.outer(np.arange(40), frequencies)).mean(axis=1))
    assert found.conditioning.rank == np.linalg.matrix_rank(matrix, hermitian=True)
    assert found.eigenvalues.rank_bound == 32
    assert found.conditioning.largest == pytest.approx(26.742, abs=1e-3)
    assert found.conditioning.smallest == 0.0
    coarse = gnomon.spectrum(
        gnomon.encoding("rope", dimension=32), 40, coupled=False, tolerance=1e-10
    )
    assert coarse.conditioning.rank == 13
    assert found.symbol.applies is False


def test_a_linear_bias_has_one_negative_eigenvalue_and_the_rest_above_zero() -> None:
    found = gnomon.spectrum(gnomon.encoding("alibi", slopes=(0.25,)), 200, coupled=False)
    matrix = -0.25 * np.abs(np.subtract.outer(np.arange(200), np.arange(200)))
    np.testing.assert_allclose(
        found.eigenvalues.values, np.linalg.eigvalsh(matrix)[::-1], atol=1e-9
    )
    assert (found.conditioning.negative, found.conditioning.rank) == (1, 200)
    assert found.eigenvalues.values.sum() == pytest.approx(0.0, abs=1e-8)
    assert found.conditioning.condition_on_range == pytest.approx(np.linalg.cond(matrix))


def test_above_the_dense_limit_both_ends_are_met() -> None:
    """ALiBi's largest eigenvalue of |i-j| after Ruzieh and Powers, and a decay by its symbol."""
    n = 5000
    found = gnomon.spectrum(gnomon.encoding("alibi", slopes=(1.0,)), n, coupled=False)
    x = np.float64(1e-3)  # Newton's steps for tanh(x/2) tanh(nx/2) = 1/n
    for _ in range(60):
        value = np.tanh(x / 2) * np.tanh(n * x / 2) - 1 / n
        slope = 0.5 * np.tanh(n * x / 2) / np.cosh(x / 2) ** 2
        slope += 0.5 * n * np.tanh(x / 2) / np.cosh(n * x / 2) ** 2
        x -= value / slope
    assert found.to_dict()["smallest"] == pytest.approx(-1.0 / (2 * np.sinh(x / 2) ** 2), rel=1e-6)
    assert found.to_dict()["rank"] is None
    assert "only both ends were looked for" in found.to_dict()["reason"]
    gone = gnomon.encoding("retnet", dimension=2, heads=1, gammas=(0.5,), base=1.0)
    value = gnomon.spectrum(gone, n, coupled=False).to_dict()
    rho, turn = 0.5, 1.0  # poles at e^(+-i): the symbol is a mean of two Poisson kernels
    angles = np.linspace(0.0, np.pi, 200_001)
    symbol = sum(
        0.5 * (1 - rho**2) / (1 - 2 * rho * np.cos(angles + s * turn) + rho**2) for s in (-1, 1)
    )
    assert value["largest"] == pytest.approx(symbol.max(), rel=1e-4)
    assert value["smallest"] == pytest.approx(symbol.min(), rel=1e-4)
    assert value["rank"] == n
    assert value["condition_on_range"] == pytest.approx(symbol.max() / symbol.min(), rel=1e-3)


def test_at_65536_positions_rotary_eigenvalues_are_caught_by_their_traces() -> None:
    """Sums of eigenvalues and of their squares from the kernel alone, without any matrix."""
    found = gnomon.spectrum("rope", 65_536, coupled=False)
    n, column = 65_536, found.profile
    assert found.eigenvalues.values.sum() == pytest.approx(n)
    lags = np.arange(1, n)
    squares = n * column[0] ** 2 + 2.0 * np.sum((n - lags) * column[1:] ** 2)
    assert np.square(found.eigenvalues.values).sum() == pytest.approx(squares, rel=1e-9)


def test_a_table_is_measured_by_its_products() -> None:
    known = gnomon.encoding("learned", rows=40, dimension=6, seed=1)
    found = gnomon.spectrum(known, 40, coupled=False)
    gram = np.asarray(known.vectors(np.arange(40)))
    gram = gram @ gram.T
    np.testing.assert_allclose(
        found.eigenvalues.values, np.linalg.eigvalsh(gram)[::-1][:6], atol=1e-12
    )
    assert 0.0 < found.toeplitz_share < 1.0
    assert found.symbol is None
    with pytest.raises(SpectrumError, match="has no vectors at positions 0 to 99"):
        gnomon.spectrum(known, 100, coupled=False)


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "learned", "nope", "shaw"])
def test_every_spectrum_is_plain_json_with_the_promised_keys(name: str) -> None:
    found = gnomon.spectrum(name, 24, means=(0.0, 2.0))
    value = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(value) >= PROMISED
    assert {"norm", "condition"} <= set(value["contraction"])
    assert [one["mean"] for one in value["contraction"]["by_mean"]] == [0.0, 2.0]
    assert found.text().startswith(f"{name} at 24 positions: ")
    assert name in found._repr_html_()


def test_the_same_seed_draws_the_same_content_and_another_does_not() -> None:
    first, again, other = (
        gnomon.spectrum("rope", 16, means=(1.0,), seed=seed).to_dict()["contraction"]["norm"]
        for seed in (3, 3, 4)
    )
    assert first == again != other


@pytest.mark.parametrize("name", ["rope", "alibi", "xpos", "learned", "nope"])
def test_every_figure_can_be_drawn_or_says_why_not(name: str) -> None:
    found = gnomon.spectrum(name, 24, means=(0.0, 1.0))
    figures = {figure.key: figure for figure in spectrum_figures(found)}
    assert list(figures) == ["profile", "eigenvalues", "symbol", "contraction"]
    for figure in figures.values():
        if figure.missing is None:
            assert to_plotly(figure).data
            columns = {len(column) for column in figure.table.values()}
            assert len(columns) == 1
        assert figure.summary.endswith(".")
    assert (figures["symbol"].missing is not None) is (name == "learned")
    assert found.plot().data
    page = spectrum_page(found, version="0").decode("utf-8")
    assert f"Spectrum of {name}" in page
    assert "http-equiv" in page


def test_the_drawn_eigenvalues_are_those_of_the_matrix() -> None:
    found = gnomon.spectrum("xpos", 24, coupled=False)
    drawn = next(f for f in spectrum_figures(found) if f.key == "eigenvalues").table["size"]
    wanted = np.linalg.eigvalsh(toeplitz(found.profile))[::-1]
    np.testing.assert_allclose(drawn, wanted, rtol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rope", 1), "length is 1; pass a whole number of positions from 2"),
        (("rope", 2**21), "length is 2097152"),
        *(
            (("rope", length), "; pass a whole number of positions from 2 to 1048576")
            for length in (3.0, float("nan"), float("inf"), None, [8], "8", True)
        ),
        ((3.0, 8), "A float has no spectrum"),
        (("fox", 16), "do not depend on the lag alone"),
    ],
)
def test_what_has_no_spectrum_is_refused(arguments, sentence: str) -> None:
    with pytest.raises(SpectrumError, match=sentence):
        gnomon.spectrum(*arguments)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tolerance": "x"}, "tolerance is 'x'; pass a number from 0 to below 1"),
        ({"means": 1.0}, "means is 1.0; pass at least one size of the shared mean in a tuple"),
        ({"means": (1e200,)}, r"mean is 1e\+200; pass 1e\+06 at most"),
        ({"seed": -1}, "seed is -1; pass a whole number from 0 on"),
        ({"seed": 0.5}, "seed is 0.5; pass a whole number from 0 on"),
        ({"head": "a"}, "head is 'a', and the encoding 'rope' tells no heads apart"),
        ({"dimension": 32}, "dimension is 32, and the encoding 'rope' is made for 64"),
    ],
)
def test_what_can_not_be_asked_is_refused_in_words(options, sentence: str) -> None:
    with pytest.raises(SpectrumError, match=sentence):
        gnomon.spectrum("rope", 8, **options)


def test_a_kernel_that_does_not_vary_has_no_share_of_the_lag() -> None:
    assert gnomon.spectrum("nope", 16, coupled=False).to_dict()["toeplitz_share"] is None
    assert gnomon.spectrum("rope", 16, coupled=False).to_dict()["toeplitz_share"] == 1.0


def test_json_says_how_much_of_a_list_it_holds() -> None:
    value = gnomon.spectrum("xpos", 300, coupled=False).to_dict()
    assert value["listed"] == {
        "eigenvalues": {"shown": 256, "known": 300},
        "profile": {"shown": 256, "known": 300},
    }
    assert len(value["eigenvalues"]) == len(value["profile"]) == 256


def test_the_dimension_of_drawn_content_is_stored_and_printed() -> None:
    known = gnomon.encoding("alibi", symmetric=True)
    found = gnomon.spectrum(known, 16, means=(0.0,), dimension=12)
    made = found.to_dict()["contraction"]
    assert (made["dimension"], made["rank_before"], made["condition"]) == (12, 12.0, None)
    assert made["condition_reason"] in found.text()
    assert "8 draws of dimension 12 (q = k)" in found.text()
    assert gnomon.spectrum("alibi", 16, means=(0.0,)).contraction.dimension == 64


def test_bounds_or_why_there_are_none_stand_beside_every_coupling() -> None:
    text = gnomon.spectrum("rope", 16, means=(0.0,)).text()
    for name in ("moduli", "Schur, norms", "Schur, squares", "Schur, eigenvalues"):
        assert f"  {name}: " in text
    jordan = gnomon.spectrum("jordan", 16, means=(0.0,)).text()
    assert "  no other bound known: Schur's need blocks that only turn and decay" in jordan
    shaw = gnomon.spectrum("shaw", 16, means=(0.0,)).text()
    assert "  no bound known: the logit is a rule on content" in shaw


def test_the_page_writes_whole_numbers_whole() -> None:
    """A decay has full rank: positions and rank stand in the page as they are."""
    gone = gnomon.encoding("retnet", dimension=2, heads=1, gammas=(0.5,), base=1.0)
    found = gnomon.spectrum(gone, 8193, means=(0.0,))
    page = spectrum_page(found, version="0").decode("utf-8")
    assert page.count("8,193") >= 2
    assert "dimension 2, 8 draws" in page
    assert "Schur, norms" in page


def test_where_ends_alone_are_known_the_smallest_is_drawn_last() -> None:
    n = 5000
    found = gnomon.spectrum(gnomon.encoding("alibi", slopes=(1.0,)), n, coupled=False)
    drawn = next(f for f in spectrum_figures(found) if f.key == "eigenvalues").table
    assert drawn["order"] == [*range(1, 9), n]
    top = [1.0 / (2.0 * np.sin((2 * k - 1) * np.pi / (2 * n)) ** 2) for k in (1, 2, 3)]
    assert drawn["size"][0] == pytest.approx(top[0], rel=1e-4)  # odd vectors, by Ruzieh and Powers
    assert drawn["size"][-1] == pytest.approx(0.3474 * n**2, rel=1e-3)


def test_progress_is_told() -> None:
    told: list[str] = []
    gnomon.spectrum("alibi", 5000, means=(0.0,), progress=told.append)
    assert any(line.startswith("smallest eigenvalue: ") for line in told)
    assert told[-1] == "coupling with drawn content"


def test_the_head_that_content_met_is_named() -> None:
    """Of two slopes the second is the flatter: its bias adds less to the norm."""
    known = gnomon.encoding("alibi", slopes=(1.0, 0.1))
    steep, flat = (gnomon.spectrum(known, 32, head=head, means=(0.0,)) for head in (0, 1))
    assert "additive coupling of head 1" in flat.text()
    assert flat.to_dict()["contraction"]["head"] == 1
    assert flat.contraction.norm[0] < steep.contraction.norm[0]
    assert gnomon.spectrum("rope", 16, means=(0.0,)).contraction.head is None
