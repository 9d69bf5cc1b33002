"""Randomised positions: the inner encoding at places that are a sorted sample."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

INNER = {
    "rope": {"name": "rope", "dimension": 8},
    "sinusoidal": {"name": "sinusoidal", "dimension": 8},
    "alibi": {"name": "alibi", "heads": 2},
    "xpos": {"name": "xpos", "dimension": 8, "scale_base": 4.0},
    "t5": {"name": "t5", "heads": 2},
    "learned": {"name": "learned", "rows": 5000, "dimension": 8},
}


def made(inner="rope", **parameters):
    return encoding(
        "randomised", **{"inner": INNER[inner], "largest": 5000, "length": 40, **parameters}
    )


@pytest.mark.parametrize("inner", INNER)
def test_it_is_the_inner_encoding_at_the_drawn_places(inner, rng):
    """The inner encoding is made apart, and given the places as positions."""
    which = made(inner)
    parameters = {key: value for key, value in INNER[inner].items() if key != "name"}
    plain = encoding(inner, **parameters)
    index = rng.permutation(40)[:12]
    q, k = rng.normal(size=(2, 3, 2, 12, 8))
    wanted = plain.scores(q, k, which.places[index])
    np.testing.assert_array_equal(which.scores(q, k, index), wanted)
    assert which.kinds == plain.kinds
    if "vectors" in which.kinds:
        np.testing.assert_array_equal(which.vectors(index), plain.vectors(which.places[index]))
    if "bias" in which.kinds:
        np.testing.assert_array_equal(which.bias(index), plain.bias(which.places[index]))


@pytest.mark.parametrize("inner", INNER)
def test_it_is_the_same_in_torch_and_jax(inner, rng):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    which = made(inner)
    q, k = rng.normal(size=(2, 2, 40, 8))
    wanted = which.scores(q, k, np.arange(40))
    found = which.scores(torch.tensor(q), torch.tensor(k), torch.arange(40))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    narrow = (jax.numpy.asarray(x, jax.numpy.float32) for x in (q, k))
    seen = np.isfinite(wanted)
    found = np.asarray(jax.jit(which.scores)(*narrow, jax.numpy.arange(40)))
    # Biases reach 5000 / 16, whose float32 ulp is 3e-5.
    np.testing.assert_allclose(found[seen], wanted[seen], atol=5e-5)


def test_places_are_increasing_without_repetition_and_below_largest():
    for seed in range(20):
        places = made(largest=60, seed=seed).places
        assert (np.diff(places) > 0).all()
        assert places[0] >= 0
        assert places[-1] < 60
    np.testing.assert_array_equal(made(largest=40).places, np.arange(40))


def test_drawn_places_have_the_mean_of_order_statistics():
    """The i-th of n sorted numbers out of 0 ... L-1 has mean (i + 1)(L + 1)/(n + 1) - 1."""
    rng, length, largest, draws = np.random.default_rng(3), 9, 99, 4000
    which = made(largest=largest)
    mean = np.mean([which.draw(length, rng).places for _ in range(draws)], axis=0)
    wanted = (np.arange(length) + 1) * (largest + 1) / (length + 1) - 1
    np.testing.assert_allclose(mean, wanted, atol=5 * 16 / np.sqrt(draws))


def test_draws_differ_and_one_stream_repeats_them():
    which = made()
    first, second = (which.draw(30, np.random.default_rng(7)).places for _ in range(2))
    np.testing.assert_array_equal(first, second)
    rng = np.random.default_rng(7)
    assert not np.array_equal(which.draw(30, rng).places, which.draw(30, rng).places)


def test_learned_numbers_reach_the_inner_encoding(rng):
    which = made("t5")
    table = rng.normal(size=(32, 2))
    assert which.learnable == ("table",)
    np.testing.assert_array_equal(which.with_numbers(table=table).bias([3])[:, 0, 0], table[0])


def test_what_has_no_place_is_refused():
    which = made()
    with pytest.raises(
        EncodingError, match=r"Position 40 has no place among the 40 drawn ones; draw"
    ):
        which.transform(np.ones((1, 8)), np.ones((1, 8)), [40])
    with pytest.raises(
        EncodingError, match=r"Position 0\.5 is not a whole number, and randomised po"
    ):
        which.transform(np.ones((1, 8)), np.ones((1, 8)), [0.5])
    with pytest.raises(
        EncodingError, match=r"length is 41 and largest is 40; pass a largest that has"
    ):
        made(largest=40, length=41)
    with pytest.raises(
        EncodingError, match=r"axes is 2, and the encoding 'rope' has positions on one"
    ):
        encoding(
            "randomised", inner={"name": "rope", "dimension": 8, "axes": 2}, largest=9, length=3
        )
    with pytest.raises(
        EncodingError, match=r"inner is 3; pass an encoding, or its parameters with"
    ):
        encoding("randomised", inner=3, largest=9, length=3)
    with pytest.raises(
        EncodingError, match=r"inner is 'fox', which counts tokens in their order and sees no"
    ):
        encoding(
            "randomised",
            inner={"name": "fox", "heads": 2, "dimension": 4},
            largest=9,
            length=3,
        )
    with pytest.raises(
        EncodingError, match=r"The encoding 'randomised' has no bias; it offers transfo"
    ):
        which.bias([0])


def test_what_is_added_to_values_is_that_of_the_places(rng):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from gnomon.torch import attention

    tables = {"table": rng.normal(size=(33, 8)), "value_table": rng.normal(size=(33, 8))}
    inner = encoding("shaw", dimension=8, with_values=True).with_numbers(**tables)
    which = encoding("randomised", inner=inner, largest=20, length=6)
    q = torch.from_numpy(rng.normal(size=(3, 1, 2, 6, 8)))
    found = attention(*q, which, positions_q=torch.arange(6))
    expected = attention(*q, inner, positions_q=torch.tensor(which.places))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
