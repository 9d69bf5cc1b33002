"""RoPE++: against complex products, and against rotary encoding with queries turned by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

PARTS = {"interleaved": [0, 1, 0, 1], "chunked": [0, 0, 1, 1]}


@pytest.mark.parametrize("arrangement", PARTS)
def test_heads_score_by_real_and_imaginary_parts_of_complex_products(arrangement, rng):
    q, k = rng.normal(size=(2, 4, 6, 8))
    at = rng.uniform(-50, 500, size=6)
    made = encoding("rope-plus-plus", dimension=8, heads=4, arrangement=arrangement)
    found = made.scores(q, k, at)
    left, right = (x[..., 0::2] + 1j * x[..., 1::2] for x in (q, k))
    waves = np.exp(1j * (at[:, None, None] - at[None, :, None]) * 10.0 ** -np.arange(4.0))
    products = np.einsum("hik,hjk,ijk->hij", left, right.conj(), waves)
    for head, part in enumerate(PARTS[arrangement]):
        wanted = products[head].imag if part else products[head].real
        np.testing.assert_allclose(found[head], wanted, atol=1e-11)


def test_an_imaginary_head_is_a_real_one_whose_queries_were_turned_before(rng):
    """(a, b) -> (b, -a): why each query goes to a real and an imaginary head."""
    q, k = rng.normal(size=(2, 2, 6, 8))
    at = np.arange(6)
    found = encoding("rope-plus-plus", dimension=8, heads=2, layout="half").scores(q, k, at)
    before = np.concatenate([q[1][:, 4:], -q[1][:, :4]], axis=-1)
    rope = encoding("rope", dimension=8, layout="half")
    np.testing.assert_allclose(found[1], rope.scores(before, k[1], at), atol=1e-12)
    np.testing.assert_allclose(found[0], rope.scores(q[0], k[0], at), atol=1e-12)


def test_for_unit_pairs_real_heads_have_cosines_and_imaginary_heads_sines_of_the_lag():
    """The curves of the authors: sum_k cos(w_k t) and sum_k sin(w_k t), keys before queries."""
    ones = np.tile([1.0, 0.0], 4)
    made = encoding("rope-plus-plus", dimension=8, heads=2)
    q = np.broadcast_to(ones, (2, 1, 8))
    lags = np.arange(200)
    found = made.scores(q, np.broadcast_to(ones, (2, 200, 8)), [500], 500 - lags)[:, 0]
    phases = lags[:, None] * 10.0 ** -np.arange(4.0)
    wanted = np.stack([np.cos(phases).sum(axis=1), np.sin(phases).sum(axis=1)])
    np.testing.assert_allclose(found, wanted, atol=1e-11)


def test_keys_are_those_of_rotary_encoding_and_may_have_fewer_heads(rng):
    """One cache serves both kinds of heads, as where keys are shared by groups of queries."""
    k = rng.normal(size=(1, 5, 8))
    q = rng.normal(size=(4, 5, 8))
    made, rope = encoding("rope-plus-plus", dimension=8, heads=4), encoding("rope", dimension=8)
    _, found = made.transform(q, k, np.arange(5))
    np.testing.assert_array_equal(found, rope.transform(k, k, np.arange(5))[1])


def test_distances_are_those_of_the_mean_kernel_of_both_kinds_of_heads():
    """By the definition of the lift: D^2 = k_ii + k_jj - 2 k_ij, k symmetrised."""
    made = encoding("rope-plus-plus", dimension=8, heads=2)
    ones = np.broadcast_to(np.tile([1.0, 0.0], 4), (2, 12, 8))
    kernel = made.scores(ones, ones, np.arange(12)).mean(axis=0)
    kernel = 0.5 * (kernel + kernel.T)
    own = np.diagonal(kernel)
    wanted = np.sqrt(np.maximum(own[:, None] + own - 2 * kernel, 0.0))
    np.testing.assert_allclose(lift(made, np.arange(12)).distances, wanted, atol=1e-7)


def test_a_scaling_is_that_of_rotary_encoding(rng):
    q, k = rng.normal(size=(2, 2, 6, 8))
    yarn = {"name": "yarn", "factor": 4.0, "original_length": 64}
    made = encoding("rope-plus-plus", dimension=8, heads=2, scaling=yarn)
    rope = encoding("rope", dimension=8, scaling=yarn)
    wanted = rope.scores(q, k, np.arange(6))
    np.testing.assert_allclose(made.scores(q, k, np.arange(6))[0], wanted[0], atol=1e-12)
    assert "yarn" in made.card.formula


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"heads": 3}, r"heads is 3; pass a multiple of 2, each query has two heads"),
        ({"heads": 0}, r"heads is 0; pass a whole number from 2 on"),
        ({"arrangement": "odd"}, r"arrangement is 'odd'; pass one of: interleaved, chunked"),
    ],
)
def test_what_rope_plus_plus_does_not_take_is_refused(parameters, sentence):
    with pytest.raises(EncodingError, match=sentence):
        encoding("rope-plus-plus", **{"dimension": 8, "heads": 2, **parameters})
