"""Jordan-RoPE: exponentials of whole generators, the authors' formula, stability, long sequences.

The maps of the authors (ybzhang-nxu/jordan_rope at bc6fffa, positional.py, unbounded time) are
written out here from the definition: queries by A(-t)^(-T), keys by A(-s), A(d) = exp(dX).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
MADE = [
    encoding("jordan", dimension=8, order=1, decay=0.05, gain=0.0),
    encoding("jordan", dimension=8, decay=0.02, gain=0.3),
    encoding("jordan", dimension=18, order=3, decay=0.1, gain=-0.2, base=50.0),
    encoding("jordan", dimension=8, order=4, decay=0.3, gain=0.5),
    encoding("jordan-scaled", dimension=12, order=3, length=40.0, decay=2.0, gain=1.5),
]


def generator(made, head=None):
    """The whole matrix X of an encoding, from its frequencies, rates and shears."""
    rates, shears, waves = (
        x if head is None else x[head] for x in (made.rates, made.shears, made.frequencies)
    )
    shift = np.eye(made.order, k=1)
    return block_diag(
        *(
            np.kron(np.eye(made.order), a * np.eye(2) + w * TURN) + g * np.kron(shift, np.eye(2))
            for a, g, w in zip(rates, shears, waves[:, 0], strict=True)
        )
    )


@pytest.mark.parametrize("made", MADE, ids=lambda made: f"{made.name}-{made.order}")
def test_logits_are_those_of_the_exponential_of_the_generator(made, rng):
    q, k = rng.normal(size=(2, 7, made.dimension))
    at = np.array([0, 1, 2, 5, 9, 14.5, 30])
    x = generator(made)
    wanted = np.array(
        [[q[i] @ expm((at[i] - s) * x) @ k[j] for j, s in enumerate(at)] for i in range(7)]
    )
    found = made.scores(q, k, at)
    seen = np.tril(np.ones((7, 7), dtype=bool))
    np.testing.assert_allclose(found[seen], wanted[seen], rtol=1e-10, atol=1e-11)
    assert np.isneginf(found[~seen]).all()
    left, right = made.transform(q, k, at)
    np.testing.assert_allclose((left @ right.T)[seen], wanted[seen], rtol=1e-9, atol=1e-9)


def test_queries_and_keys_get_the_maps_of_the_authors(rng):
    made = MADE[2]
    q, k = rng.normal(size=(2, 5, made.dimension))
    at, x = np.array([0.0, 1.0, 3.0, 7.0, 12.0]), generator(MADE[2])
    left, right = made.transform(q, k, at)
    for i, t in enumerate(at):
        backwards = expm(-t * x)
        np.testing.assert_allclose(right[i], backwards @ k[i], rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(
            left[i], np.linalg.inv(backwards).T @ q[i], rtol=1e-9, atol=1e-10
        )


def test_the_same_map_on_both_sides_would_not_be_relative(rng):
    """Why keys get the inverse: the residual that a shift leaves is of the size of the logits."""
    x, (q, k) = generator(MADE[1]), rng.normal(size=(2, 8))
    logits = [(expm(t * x) @ q) @ (expm(s * x) @ k) for t, s in ((5.0, 3.0), (15.0, 13.0))]
    assert abs(logits[0] - logits[1]) > 0.1


def test_each_head_has_numbers_of_its_own(rng):
    made = encoding("jordan", dimension=8, heads=2, decay=0.1, gain=0.2)
    made = made.with_numbers(
        frequencies=rng.normal(size=(2, 2, 1)),
        decays=rng.normal(size=(2, 2)),
        gains=rng.normal(size=(2, 2)),
    )
    q, k = rng.normal(size=(2, 2, 3, 8))
    found = made.scores(q, k, [0, 2, 3])
    for head in range(2):
        wanted = q[head, 2] @ expm(3.0 * generator(made, head)) @ k[head, 0]
        np.testing.assert_allclose(found[head, 2, 0], wanted, rtol=1e-11)


@pytest.mark.parametrize("name", ["jordan", "jordan-scaled"])
@pytest.mark.parametrize("value", [-1e6, -40.0, 0.0, 40.0, 1e6])
def test_whatever_training_reaches_decays(name, value):
    """Every real part is below 0, gains are bounded, and so is the group for t >= 0."""
    made = encoding(name, dimension=12, order=3)
    numbers = {key: np.full(made.numbers[key].shape, value) for key in ("decays", "gains")}
    moved = made.with_numbers(**numbers)
    assert (moved.rates < 0.0).all()
    assert (np.abs(moved.shears) <= moved.most / moved.unit).all()
    a, g = -moved.rates.max(), np.abs(moved.shears).max()
    bound = 1.0 + g / (np.e * a) + (2.0 * g / (np.e * a)) ** 2 / 2.0
    still = moved.with_numbers(frequencies=np.zeros((2, 1)))  # turns commute and change no norm
    for t in np.array([0.1, 0.5, 1.0, 2.0, 5.0]) / a:
        assert np.linalg.norm(expm(t * generator(still)), 2) <= bound * (1 + 1e-9)


def test_scores_in_float32_equal_direct_sums_in_float64_at_20000_positions(rng):
    """To 1e-5 of the largest sum of the terms of a logit; with one reference all would be NaN."""
    n = 20_000
    made = encoding("jordan", dimension=8, decay=0.01, gain=0.05)
    q, k = rng.normal(size=(2, n, 8)).astype(np.float32)
    rows = np.array([0, 255, 256, 9_999, n - 1])
    found = made.scores(q[rows], k, rows, np.arange(n))
    lags = (rows[:, None] - np.arange(n)).astype(float)
    wanted, size = 0.0, 0.0
    for block, w in enumerate(made.frequencies[:, 0]):
        part = slice(4 * block, 4 * block + 4)
        u, v = (x[:, part].astype(float).reshape(-1, 2, 2) for x in (q[rows], k))
        ages = np.maximum(lags, 0.0)
        turn = np.exp(1j * w * lags)
        for r in range(2):
            weight = np.exp(-0.01 * ages) * (0.05 * ages) ** r
            left = u[..., 0] - 1j * u[..., 1]
            right = v[..., 0] + 1j * v[..., 1]
            terms = sum(np.multiply.outer(left[:, c], right[:, c + r]) for c in range(2 - r))
            wanted = wanted + weight * (turn * terms).real
            size = size + weight * np.abs(terms)
    later = lags < 0
    assert np.isneginf(found[later]).all()
    assert np.abs(found[~later] - wanted[~later]).max() <= 1e-5 * size[~later].max()
    with pytest.raises(
        EncodingError, match=r"The factors of 'jordan' reach e\^2.* use scores, which"
    ):
        made.transform(q, k, np.arange(n))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"dimension": 10},
            r"dimension is 10; pass a multiple of 4, a block takes twice the order",
        ),
        ({"dimension": 8, "decay": 0.0}, r"decay is 0\.0; pass a finite number above 1e-06"),
        ({"dimension": 8, "gain": 1.0}, r"gain is 1\.0; pass a number between -1 and 1"),
        (
            {"dimension": 8, "decays": [1.0]},
            r"decays has shape \(1,\); pass finite numbers of shape \(2",
        ),
        (
            {"dimension": 8, "gains": "many"},
            r"gains holds <U4; pass finite numbers of shape",
        ),
        ({"dimension": 8, "axes": 2}, r"axes is 2, and the encoding 'jordan' has positions on one"),
    ],
)
def test_what_makes_no_jordan_block_is_refused_in_words(given, sentence):
    with pytest.raises(EncodingError, match=sentence):
        encoding("jordan", **given)


def test_vectors_of_another_shape_are_refused_in_words():
    made = encoding("jordan", dimension=8, heads=2)
    with pytest.raises(
        EncodingError, match=r"but this encoding has numbers for 2 heads; pass an arr"
    ):
        made.scores(np.ones((3, 4, 8)), np.ones((3, 4, 8)), np.arange(4))
    with pytest.raises(
        EncodingError, match=r"but this encoding carries vectors of dimension 8; pass"
    ):
        made.transform(np.ones((2, 4, 6)), np.ones((2, 4, 6)), np.arange(4))


def test_powers_of_the_lag_count_among_the_factors_that_a_type_must_hold():
    """At 100, (0.9 t)^2 / 2 is 4050 and e^(-at) nearly 1: more than float16 has room for."""
    torch = pytest.importorskip("torch")
    made = encoding("jordan", dimension=6, order=3, decay=1e-5, gain=0.9)
    q = torch.ones(1, 6, dtype=torch.float16)
    made.transform(q, q, [10])
    with pytest.raises(
        EncodingError, match=r"reach e\^9\.0.* at these positions, and torch.float16"
    ):
        made.transform(q, q, [100])
