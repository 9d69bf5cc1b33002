"""Shaw's vectors of lags against sums over pairs, for logits and for values."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import namespace_of


def vectors_of_pairs(table, at_q, at_k, before, after):
    """The vector of every pair (n, m, d), as the paper writes it."""
    return table[np.clip(at_k[None, :] - at_q[:, None], -before, after) + before]


def shaw(rng, **more):
    given = {"dimension": 8, "largest_lag": 4, "largest_lag_after": 2, "with_values": True, **more}
    tables = {"table": rng.normal(size=(7, 8)), "value_table": rng.normal(size=(7, 8))}
    return encoding("shaw", **given, **tables), tables


def test_logits_are_sums_over_the_vectors_of_pairs(rng):
    made, tables = shaw(rng)
    q, k = rng.normal(size=(2, 3, 2, 9, 8))
    at = rng.permutation(20)[:9]
    pairs = vectors_of_pairs(tables["table"], at, at, 4, 2)
    wanted = np.einsum("...id,...jd->...ij", q, k) + np.einsum("...id,ijd->...ij", q, pairs)
    np.testing.assert_allclose(made.scores(q, k, at, scale=0.25), 0.25 * wanted, rtol=1e-12)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_values_get_the_weighted_vectors_of_their_lags(library, rng):
    made, tables = shaw(rng)
    weights = rng.random(size=(3, 2, 6, 9))
    at_q, at_k = rng.integers(0, 12, size=6), rng.integers(0, 12, size=9)
    pairs = vectors_of_pairs(tables["value_table"], at_q, at_k, 4, 2)
    wanted = np.einsum("...ij,ijd->...id", weights, pairs)
    room = np if library == "numpy" else pytest.importorskip(library)
    room = room.numpy if library == "jax" else room
    held = {name: room.asarray(np.array(values)) for name, values in made.numbers.items()}
    places = [room.asarray(at.astype(float))[:, None] for at in (at_q, at_k)]
    given = room.asarray(weights)
    found = made.value_terms(given, *places, held, xp=namespace_of(given))
    exact = 1e-5 if library == "jax" else 1e-12
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=exact, atol=exact)


def test_values_teach_their_table_as_vectors_of_pairs_would(rng):
    torch = pytest.importorskip("torch")
    made, tables = shaw(rng)
    table = torch.asarray(tables["value_table"]).requires_grad_()
    weights = torch.asarray(rng.random(size=(2, 6, 6))).requires_grad_()
    at = torch.arange(6.0, dtype=torch.float64)[:, None]
    xp = namespace_of(weights)

    def terms(weights, table):
        return made.value_terms(weights, at, at, {"value_table": table}, xp=xp)

    assert torch.autograd.gradcheck(terms, (weights, table), fast_mode=True)


def test_without_values_nothing_is_added_to_them(rng):
    made = encoding("shaw", dimension=8)
    at = np.arange(3.0)[:, None]
    assert made.learnable == ("table",)
    assert made.value_terms(np.ones((3, 3)), at, at, made.numbers, xp=np) is None


def test_a_lag_between_two_whole_ones_has_the_row_of_the_one_towards_zero(rng):
    made, _ = shaw(rng)
    q, k = rng.normal(size=(2, 1, 1, 8))
    for lag, whole in ((1.75, 1), (-1.75, -1), (0.5, 0), (-0.5, 0)):
        np.testing.assert_array_equal(
            made.scores(q, k, np.array([5.0 + lag]), np.array([5.0])),
            made.scores(q, k, np.array([5.0 + whole]), np.array([5.0])),
        )


def test_no_pair_has_a_vector_of_its_own(rng):
    """Vectors for all pairs would take 128 MiB; the logits take 2."""
    made = encoding("shaw", dimension=64)
    q, k = rng.normal(size=(2, 512, 64))
    made.scores(q[:2], k[:2], np.arange(2))
    tracemalloc.start()
    made.scores(q, k, np.arange(512))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * 2**20


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"table": np.ones((3, 8))},
            r"table has shape \(3, 8\); pass finite numbers of shape \(33, 8\)",
        ),
        ({"table": np.full((33, 8), "a")}, r"table holds <U1; pass finite numbers of shape"),
        ({"table": np.full((33, 8), np.nan)}, r"table holds nan at \[0, 0\]; pass finite numbers"),
        ({"value_table": np.ones((33, 8))}, r"with_values is False; pass with_values=True, or lea"),
        ({"largest_lag": -1}, r"largest_lag is -1; pass a whole number from 0 on"),
        ({"largest_lag_after": 0.5}, r"largest_lag_after is 0\.5; pass a whole number from 0 on"),
        ({"axes": 2}, r"axes is 2, and the encoding 'shaw' has positions on one axis; pass axes=1"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(given, sentence):
    with pytest.raises(EncodingError, match=sentence):
        encoding("shaw", **{"dimension": 8, **given})
