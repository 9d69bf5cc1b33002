"""Decaying rotary encodings: direct sums, recurrences, and factors that leave their type."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError
from gnomon.groups import actions as causal

MADE = {
    "xpos": {"dimension": 16},
    "xpos, half": {"dimension": 16, "layout": "half", "scale_base": 64.0},
    "retnet": {"dimension": 16, "heads": 2},
    "retnet, half": {"dimension": 16, "heads": 2, "layout": "half", "spacing": "open"},
}


def made(name, **parameters):
    return encoding(name.split(",")[0], **{**MADE[name], **parameters})


def as_complex(x, layout):
    """Return pairs of coordinates as complex numbers."""
    pairs = x.shape[-1] // 2
    parts = (x[..., 0::2], x[..., 1::2])
    first, second = parts if layout == "interleaved" else (x[..., :pairs], x[..., pairs:])
    return first + 1j * second


def direct_sums(which, q, k, places_q, places_k):
    """Return sum_k e^(a_k lag) Re(q_k conj(k_k) e^(i w_k lag)) in float64, -inf on later keys."""
    left, right = as_complex(q, which.layout), as_complex(k, which.layout)
    lags = places_q[:, None] - places_k[None, :]
    ages = np.maximum(lags, 0.0)
    rates = np.broadcast_to(which.rates, (q.shape[0], len(which.frequencies)))
    total = np.zeros((*q.shape[:-1], len(places_k)))
    for pair, frequency in enumerate(which.frequencies[:, 0]):
        turned = np.exp(1j * frequency * lags) * left[..., :, None, pair]
        product = np.real(turned * np.conj(right[..., None, :, pair]))
        total += np.exp(rates[:, pair, None, None] * ages) * product
    return np.where(lags < 0, -np.inf, total)


@pytest.mark.parametrize("name", MADE)
def test_scores_in_float32_equal_direct_sums_in_float64_at_20000_positions(name, rng):
    which, length = made(name), 20_000
    places_q = np.sort(rng.choice(length, 40, replace=False)).astype(float)
    places_k = np.arange(length, dtype=float)
    q = rng.normal(size=(2, 40, 16)).astype(np.float32)
    k = rng.normal(size=(2, length, 16)).astype(np.float32)
    wanted = direct_sums(which, q.astype(float), k.astype(float), places_q, places_k)
    scores = which.scores(q, k, places_q, places_k)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(np.isneginf(scores), np.isneginf(wanted))
    seen = np.isfinite(wanted)
    # One ulp of a sum of 16 products of normal numbers is about 1e-6.
    np.testing.assert_allclose(scores[seen], wanted[seen], atol=6e-6)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("kind", ["shuffled", "timestamps", "packed"])
def test_scores_are_right_at_positions_in_any_order_and_far_apart(name, kind, rng):
    which, length = made(name), 600
    places = {
        "shuffled": rng.permutation(length).astype(float),
        "timestamps": np.sort(rng.uniform(1.7e9, 1.7e9 + 10**7, length)),
        "packed": np.concatenate([np.arange(400.0), np.arange(200.0)]),
    }[kind]
    q, k = rng.normal(size=(2, 2, length, 16))
    origin = places.min()
    wanted = direct_sums(which, q, k, places - origin, places - origin)
    scores = which.scores(q, k, places)
    seen = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isfinite(scores), seen)
    # A phase at 1.7e9 is known to an ulp of it in float64, 2.4e-7.
    np.testing.assert_allclose(
        scores[seen], wanted[seen], atol=2e-5 if places.max() > 1e6 else 1e-11
    )


@pytest.mark.parametrize("name", MADE)
def test_blocks_and_pair_by_pair_sums_agree(name, rng, monkeypatch):
    which = made(name)
    q, k = rng.normal(size=(2, 3, 2, 70, 16))
    places = rng.uniform(0, 500, size=(3, 70))
    whole = which.scores(q, k, places)
    monkeypatch.setattr(causal, "BLOCK", 16)
    np.testing.assert_allclose(which.scores(q, k, places), whole, atol=1e-12)
    monkeypatch.setattr(causal, "SPAN", 0.0)
    np.testing.assert_allclose(which.scores(q, k, places), whole, atol=1e-12)


@pytest.mark.parametrize("name", MADE)
def test_the_transform_is_the_exponential_of_its_generator(name, rng):
    """q~ = exp(i X)^T q and k~ = exp(-j X) k, X = a I + w J on every pair, by SciPy's expm."""
    which = made(name, layout="interleaved")
    rates = np.atleast_2d(which.rates)[0]
    blocks = np.zeros((16, 16))
    for pair, (rate, frequency) in enumerate(zip(rates, which.frequencies[:, 0], strict=True)):
        place = slice(2 * pair, 2 * pair + 2)
        blocks[place, place] = [[rate, frequency], [-frequency, rate]]
    q, k = rng.normal(size=(2, 2, 1, 16))
    left, right = which.transform(q, k, [7.5], [3.0])
    np.testing.assert_allclose(left[0, 0], expm(7.5 * blocks).T @ q[0, 0], atol=1e-12)
    np.testing.assert_allclose(right[0, 0], expm(-3.0 * blocks) @ k[0, 0], atol=1e-12)


@pytest.mark.parametrize("name", MADE)
def test_a_reference_changes_queries_and_keys_but_no_logit(name, rng):
    which = made(name)
    q, k = rng.normal(size=(2, 2, 30, 16))
    places = np.arange(1000.0, 1030.0)
    lower = np.tril_indices(30)
    wanted = which.scores(q, k, places)[:, *lower]
    for reference in (1000.0, 1015.5, 990.0):
        left, right = which.transform(q, k, places, reference=reference)
        np.testing.assert_allclose((left @ right.mT)[:, *lower], wanted, atol=1e-10)
        declared = made(name, reference=reference).transform(q, k, places)
        np.testing.assert_array_equal(declared[1], right)
    assert np.abs(which.transform(q, k, places, reference=1000.0)[1] - right).max() > 1e-3


def test_retention_in_parallel_equals_the_recurrence(rng):
    """s_n = gamma s_(n-1) + k_n v_n^T and o_n = q_n s_n, with turned q and k [sun2023 eq. 6]."""
    which, length = encoding("retnet", dimension=8, heads=3), 50
    q, k, v = rng.normal(size=(3, 3, length, 8))
    scores = which.scores(q, k, np.arange(length))
    parallel = np.where(np.isneginf(scores), 0.0, scores) @ v
    angles = np.arange(length)[:, None] / 10000.0 ** np.linspace(0, 1, 4)
    turns = np.exp(1j * angles)
    left, right = as_complex(q, "interleaved") * turns, as_complex(k, "interleaved") * turns
    for head in range(3):
        state = np.zeros((4, 8), dtype=complex)
        for n in range(length):
            state = (1 - 2.0 ** (-5 - head)) * state + np.conj(right[head, n])[:, None] * v[head, n]
            np.testing.assert_allclose(
                parallel[head, n], np.real(left[head, n] @ state), atol=1e-11
            )


def test_decay_rates_are_those_of_the_papers():
    zeta = (np.arange(0, 8, 2) / 8 + 0.4) / 1.4
    np.testing.assert_allclose(np.exp(512 * encoding("xpos", dimension=8).rates), zeta)
    gammas = np.exp(encoding("retnet", dimension=4, heads=3).rates)
    np.testing.assert_allclose(gammas, np.repeat([[31 / 32], [63 / 64], [127 / 128]], 2, axis=1))
    given = encoding("retnet", dimension=4, heads=2, gammas=(0.5, 1.0)).rates
    np.testing.assert_allclose(np.exp(given[:, 0]), [0.5, 1.0])


def test_closed_frequencies_end_at_one_over_base_and_open_ones_do_not():
    closed = encoding("retnet", dimension=8, heads=1, base=1000.0).frequencies[:, 0]
    np.testing.assert_allclose(closed, [1.0, 0.1, 0.01, 0.001])
    opened = encoding("retnet", dimension=8, heads=1, base=10000.0, spacing="open").frequencies
    np.testing.assert_allclose(opened[:, 0], [1.0, 0.1, 0.01, 0.001])


@pytest.mark.parametrize("name", MADE)
def test_lag_distances_are_those_of_the_mirrored_kernel(name):
    which, lags = made(name), np.array([0.0, 1.0, 2.5, 40.0, 5000.0])
    rates = np.atleast_2d(which.rates)
    waves = np.cos(lags[:, None, None] * which.frequencies[:, 0])
    kernel = np.sum(np.exp(lags[:, None, None] * rates) * waves, axis=-1).mean(axis=-1)
    wanted = np.sqrt(2.0 * (8.0 - kernel))
    np.testing.assert_allclose(which.lag_distances("kernel")(-lags[:, None]), wanted, atol=1e-7)


@pytest.mark.parametrize(
    ("dtype", "last", "holds"),
    [("float16", 3_300, "8.32"), ("float32", 35_000, "86"), ("float64", 280_000, "707")],
)
def test_factors_that_leave_their_type_are_refused_and_those_within_are_finite(dtype, last, holds):
    which = encoding("xpos", dimension=8)
    ones = np.ones((1, 8), dtype=dtype)
    for x in which.transform(ones, ones, [last]):
        assert x.dtype == dtype
        assert np.isfinite(x).all()
        assert (np.abs(x).max() > 0).all()
    past = rf"The factors of 'xpos' reach e\^.* and {dtype} holds e\^{holds}; pass a reference near"
    with pytest.raises(EncodingError, match=past):
        which.transform(ones, ones, [int(last * 1.2)])
    which.transform(ones, ones, [int(last * 1.2)], reference=last)


def test_bad_parameters_of_a_decay_are_refused():
    cases = {
        r"dimension is 7; pass a multiple of 2, they turn in pairs\.": {"dimension": 7},
        r"gamma is 0; pass a finite number above 0\.": {"gamma": 0},
        r"scale_base is -1; pass a finite number above 0\.": {"scale_base": -1},
        r"axes is 2, and the encoding 'xpos' has positions on one axis; pass axes=1\.": {"axes": 2},
        r"reference is nan; pass a finite number\.": {"reference": float("nan")},
        r"layout is 'split'; pass one of: interleaved, half\.": {"layout": "split"},
    }
    for sentence, parameters in cases.items():
        with pytest.raises(EncodingError, match=sentence):
            encoding("xpos", **{"dimension": 8, **parameters})
    for gammas in ((0.5,), (0.5, 1.5)):
        with pytest.raises(
            EncodingError, match=r"gammas is .* and heads is 2; pass one number for"
        ):
            encoding("retnet", dimension=8, heads=2, gammas=gammas)
    with pytest.raises(EncodingError, match=r"spacing is 'wide'; pass one of: closed, open\."):
        encoding("retnet", dimension=8, heads=2, spacing="wide")


def test_heads_that_a_decay_does_not_have_are_refused():
    which, x = encoding("retnet", dimension=8, heads=2), np.ones((3, 5, 8))
    sentence = r"q has shape \(3, 5, 8\), but this encoding has rates for 2 heads; pass an array of"
    for call in (which.transform, which.scores):
        with pytest.raises(EncodingError, match=sentence):
            call(x, x, np.arange(5))


def test_compiled_and_mapped_scores_equal_those_of_numpy(rng):
    jax = pytest.importorskip("jax")
    which = encoding("retnet", dimension=4, heads=2)
    q, k = rng.normal(size=(2, 3, 2, 40, 4)).astype(np.float32)
    wanted = which.scores(q.astype(float), k.astype(float), np.arange(40))
    arrays = jax.numpy.asarray(q), jax.numpy.asarray(k), jax.numpy.arange(40)
    for call in (which.scores, jax.vmap(which.scores, in_axes=(0, 0, None))):
        np.testing.assert_allclose(jax.jit(call)(*arrays), wanted, atol=5e-6)


def test_gradients_through_scores_are_right_in_torch(rng):
    torch = pytest.importorskip("torch")
    which = encoding("xpos", dimension=4, scale_base=8.0)
    q, k = (torch.tensor(x, requires_grad=True) for x in rng.normal(size=(2, 6, 4)))
    places = torch.tensor([0, 3, 4, 10, 600, 601])

    def seen(q, k):
        scores = which.scores(q, k, places)
        return scores[torch.isfinite(scores)]

    assert torch.autograd.gradcheck(seen, (q, k))


@pytest.mark.parametrize("queries", [(0, 1), (0, 2), (5, 1), (255, 3), (300, 4)])
@pytest.mark.parametrize("keys", [(0, 2), (0, 3), (1, 1), (254, 5), (0, 257), (299, 3)])
def test_every_key_after_its_query_is_masked_and_no_other(queries, keys, rng):
    """Blocks of all sizes, also where the last key comes just one position after a query."""
    (first, n), (start, m) = queries, keys
    at_q, at_k = first + np.arange(n), start + np.arange(m)
    q, k = rng.normal(size=(n, 8)), rng.normal(size=(m, 8))
    found = encoding("xpos", dimension=8).scores(q, k, at_q, at_k)
    np.testing.assert_array_equal(np.isneginf(found), at_k > at_q[:, None])
    assert not np.isnan(found).any()
