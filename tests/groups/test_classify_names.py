"""What structures are called: published encodings from their published numbers, in random bases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import block_diag, logm

import gnomon
from gnomon.groups.classification import classify


def turn(a: float, b: float) -> np.ndarray:
    return np.array([[a, -b], [b, a]])


def named(*blocks: object, condition: float = 50.0) -> str:
    """The name of blocks in a basis of this condition, with noise of 1e-12."""
    form = block_diag(*[np.atleast_2d(block) for block in blocks])
    size, rng = len(form), np.random.default_rng(len(form))
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    basis = left @ np.diag(np.geomspace(1, 1 / condition, size)) @ right
    x = basis @ form @ np.linalg.inv(basis)
    error = rng.standard_normal((size, size))
    return classify(x + 1e-12 * np.linalg.norm(x, 2) * error / np.linalg.norm(error, 2)).named


def ladder(pairs: int, base: float, dimension: int | None = None) -> np.ndarray:
    return base ** (-2.0 * np.arange(pairs) / (dimension or 2 * pairs))


@pytest.mark.parametrize("base", [100.0, 10000.0, 500000.0])
@pytest.mark.parametrize("pairs", [4, 16])
def test_rope_is_named_with_its_base(pairs, base):
    found = named(*[turn(0, f) for f in ladder(pairs, base)])
    assert found == f"rotary encoding (RoPE), {pairs} frequencies, base {base:.0f}"


def test_rope_64_is_named_with_base_10000():
    found = named(*[turn(0, f) for f in ladder(32, 10000.0)])
    assert found == "rotary encoding (RoPE), 32 frequencies, base 10000"


def test_position_interpolation_is_a_scaled_ladder():
    found = named(*[turn(0, f / 4) for f in ladder(8, 10000.0)])
    assert found.endswith("base 10000, positions divided by 4 (interpolation)")


def test_partial_rope_and_p_rope_differ_by_the_ladder_they_cut():
    partial = named(*[turn(0, f) for f in ladder(4, 10000.0)], np.zeros((8, 8)))
    assert "base 10000 (partial) + 8 dimensions without position" in partial
    cut = named(*[turn(0, f) for f in ladder(4, 1e6, dimension=22)], np.zeros((14, 14)))
    assert "4 frequencies, base 1000000 (p-RoPE: the ladder of all dimensions, cut off)" in cut
    either = named(*[turn(0, f) for f in ladder(4, 1e6, dimension=16)], np.zeros((8, 8)))
    assert "base 1000 (partial), or base 1000000 of all dimensions (p-RoPE)" in either


def test_two_copies_of_each_frequency_are_counted():
    found = named(*[turn(0, f) for f in ladder(4, 10000.0) for _ in range(2)])
    assert found == "rotary encoding (RoPE), 4 frequencies, each 2 times, base 10000"


def test_frequencies_without_a_ladder_are_called_that():
    found = named(*[turn(0, f) for f in (1.0, 0.8, 0.3)])
    assert found == "rotary encoding (RoPE) with 3 frequencies on no single ladder"


@pytest.mark.parametrize("scale", [512.0, 64.0])
def test_xpos_is_named_with_its_scale_base(scale):
    """zeta_n = (2n/d + 0.4) / 1.4, decay ln(zeta_n) / 512 for a lag of one [sun2022]."""
    rates = [math.log((2 * n / 16 + 0.4) / 1.4) / scale for n in range(8)]
    found = named(*[turn(a, f) for a, f in zip(rates, ladder(8, 10000.0), strict=True)])
    assert found == f"xPos, 8 frequencies, base 10000, scale base {scale:.0f}"


def test_retnet_is_named_with_its_head():
    rate = math.log(1 - 2.0**-7)
    found = named(*[turn(rate, f) for f in ladder(8, 10000.0)])
    assert found.startswith("RetNet's damped rotation, 8 frequencies, base 10000")
    assert found.endswith("gamma = 1 - 2^-7 (head 2)")
    assert named(math.log(1 - 2.0**-5) * np.eye(4)).endswith("gamma = 1 - 2^-5 (head 0)")
    assert "gamma = 0.904837" in named(turn(-0.1, 0.5))


def test_damped_rotations_of_no_scheme_keep_their_numbers():
    found = named(turn(-0.1, 1.0), turn(-0.3, 0.5), turn(-0.2, 0.3))
    assert found == "damped rotations, 3 frequencies, decays -0.3 to -0.1"


def test_blocks_of_polynomials_are_named_by_what_they_hold():
    assert named(np.eye(2, k=1)) == "ALiBi's unipotent block J2(0): 1 and t"
    shift = "polynomial block J6(0): 1 .. t^5, the nilpotent shift"
    assert named(np.eye(6, k=1)) == shift
    critical = "critically damped block J3(-0.05): e^(at) times 1 .. t^2"
    assert named(np.eye(3, k=1) - 0.05 * np.eye(3)) == critical


def test_rope_with_alibi_is_both():
    found = named(*[turn(0, f) for f in ladder(4, 10000.0)], np.eye(2, k=1))
    assert found == (
        "rotary encoding (RoPE), 4 frequencies, base 10000 + ALiBi's unipotent block J2(0): 1 and t"
    )


def test_jordan_rope_is_named_with_its_order_and_base():
    blocks = [
        np.kron(np.eye(2), turn(-0.001, f)) + np.kron(np.eye(2, k=1), np.eye(2))
        for f in ladder(3, 1000.0)
    ]
    found = named(*blocks)
    assert "Jordan-RoPE of order 2 (t^j e^(at) cos, sin), 3 frequencies, base 1000" in found
    assert found.endswith("decay -0.001")


def test_boosts_are_pairs_that_grow_and_decay_alike():
    found = named(0.02, -0.02, 0.05, -0.05)
    assert found == "2 Lorentz boosts of rapidity 0.05, 0.02 per position (grows)"
    assert named(0.3, -0.1).endswith("growth up to 0.3 per position")


def boost(a: float, b: float) -> np.ndarray:
    return np.array([[a, b], [b, a]])


def test_damped_boosts_are_hyperbolic_rope_with_base_and_damping():
    """e^(-at) B(b_k t), b_k = 10000^(-k/n), one damping for all pairs [dai2025]."""
    found = named(*[boost(-1.2, b) for b in ladder(8, 10000.0)], condition=10.0)
    assert found == ("8 damped Lorentz boosts (hyperbolic RoPE, HoPE), base 10000, damping 1.2")


def test_damped_boosts_with_a_damping_of_their_own_leave_one_slow_rate():
    rates = 0.3 * ladder(6, 10000.0)
    found = named(*[boost(-b - 0.01, b) for b in rates], condition=10.0)
    assert found.startswith("6 damped Lorentz boosts (hyperbolic RoPE, HoPE), base 10000")
    assert "rapidities from 0.3 on" in found
    assert found.endswith(f"which leaves gamma = {math.exp(-0.01):.6g}")


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("rope", {"dimension": 16}, "8 frequencies, base 10000"),
        ("rope-ntk", {"dimension": 16, "factor": 4.0}, "NTK-aware scaling of 10000 by 4"),
        ("rope-linear", {"dimension": 16, "factor": 4.0}, "positions divided by 4"),
        (
            "rope-yarn",
            {"dimension": 64, "factor": 4.0, "original_length": 4096},
            "base 10000, YaRN with factor 4, ramp from pair 10 to 23",
        ),
        (
            "rope-llama3",
            {
                "dimension": 64,
                "base": 5e5,
                "factor": 8.0,
                "original_length": 8192,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
            },
            "Llama-3 scaling with factor 8, wavelengths from 2048 to 8192",
        ),
        ("xpos", {"dimension": 16}, "xPos, 8 frequencies, base 10000, scale base 512"),
        ("rope-hyperbolic", {"dimension": 8}, "4 damped Lorentz boosts (hyperbolic RoPE, HoPE)"),
        ("rope-hyperbolic", {"dimension": 8, "damping": "own"}, "a damping for each pair"),
    ],
)
def test_entries_of_the_catalogue_are_named_from_logits_of_unit_vectors(name, parameters, words):
    """A(1) = B(1) B(0)^-1 of the queries and keys e_i, e_j, and its logarithm by SciPy."""
    entry = gnomon.encoding(name, **parameters)
    eye = np.eye(parameters["dimension"])
    zeros = np.zeros(len(eye))
    pairs = [entry.transform(eye, eye, zeros + t, zeros) for t in (1.0, 0.0)]
    at_one, at_zero = (queries @ keys.T for queries, keys in pairs)
    assert words in classify(logm(at_one @ np.linalg.inv(at_zero))).named


def test_decays_in_two_pairs_are_no_boosts():
    assert named(-0.1, -0.2, -0.4, -0.9) == "4 decays from -0.9 to -0.1"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((4, 1e4), (4, 1e4), "4 frequencies of base 10000 and 4 frequencies of base 10000"),
        ((4, 1e4), (2, 100.0), "2 frequencies of base 100 and 4 frequencies of base 10000"),
        ((3, 1000.0), (1, 100.0), "3 frequencies of base 1000 and the frequency 1"),
    ],
)
def test_a_kronecker_sum_of_two_rotary_generators_is_named_with_both_bases(first, second, words):
    a, b = (block_diag(*[turn(0, f) for f in ladder(*one)]) for one in (first, second))
    x = np.kron(a, np.eye(len(b))) + np.kron(np.eye(len(a)), b)
    assert named(x, condition=10.0) == (
        f"Kronecker sum of two rotary ladders, a product of kernels: {words}"
    )


def test_both_axes_of_axial_rope_turn_every_frequency_twice():
    """Direct sums: halves of a head for rows and columns, moved along the diagonal."""
    half = [turn(0, f) for f in ladder(4, 100.0)]
    assert named(*half, *half).endswith("4 frequencies, each 2 times, base 100")
    assert named(*half, np.zeros((8, 8))).endswith("+ 8 dimensions without position")


def test_two_frequencies_side_by_side_are_no_ladder():
    assert named(turn(0, 1.0), turn(0, 1.0 - 1e-4)).endswith("2 frequencies on no single ladder")


def test_no_position_is_called_nope():
    assert named(np.zeros((3, 3))).startswith("no positional encoding (NoPE)")
