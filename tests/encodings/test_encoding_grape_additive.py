"""Additive GRAPE: a unipotent group, ALiBi and FoX as its special cases, and the authors' paths."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.biases.linear import official_slopes
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

seen = np.tril(np.ones((6, 6), dtype=bool))


def softplus(x):
    """ln(1 + e^x), by a function that the formulas do not use."""
    return np.logaddexp(0.0, x)


@pytest.mark.parametrize("gated", ["both", "queries", "keys"])
def test_slopes_are_those_of_a_unipotent_group_on_two_more_coordinates(gated, rng):
    """Vectors (q, 1, 0) and (k, 0, 1) with exp(tN), N^2 = 0, between them [zhang2025 sec. 4]."""
    heads, d = 2, 4
    made = encoding("grape-additive", heads=heads, dimension=d, gated=gated, seed=3)
    q, k = rng.normal(size=(2, heads, 6, d))
    found = made.scores(q, k, np.arange(6), scale=0.5)
    numbers = encoding("grape-additive", heads=heads, dimension=d, seed=3).numbers
    for head, slope in enumerate(official_slopes(heads)):
        ways = [numbers[name][head] for name in ("query_ways", "key_ways")]
        v, u = (way / np.linalg.norm(way) for way in ways)
        for i, j in np.argwhere(seen):
            left = softplus(v @ q[head, i] / 2) if gated != "keys" else 0.0
            right = softplus(u @ k[head, j] / 2) if gated != "queries" else 0.0
            nilpotent = np.zeros((d + 2, d + 2))
            nilpotent[d, d + 1] = slope * (left + right)
            group = np.eye(d + 2) + (j - i) * nilpotent
            lifted = np.concatenate([q[head, i] * 0.5, [1, 0]])
            wanted = lifted @ group @ np.concatenate([k[head, j], [0, 1]])
            np.testing.assert_allclose(found[head, i, j], wanted, rtol=1e-12, atol=1e-12)


def test_vectors_that_see_nothing_leave_alibi(rng):
    """Each side has softplus(0) = ln 2: a factor of 1 / (2 ln 2) undoes it."""
    factor = np.full(3, np.log(np.expm1(0.5 / np.log(2.0))))
    none = np.zeros((3, 4))
    made = encoding(
        "grape-additive", heads=3, dimension=4, factor=factor, query_ways=none, key_ways=none
    )
    q, k = rng.normal(size=(2, 3, 6, 4))
    alibi = encoding("alibi", heads=3)
    found, wanted = made.scores(q, k, np.arange(6)), alibi.scores(q, k, np.arange(6))
    np.testing.assert_allclose(found[:, seen], wanted[:, seen], rtol=1e-13, atol=1e-13)


def test_vectors_that_see_nothing_can_be_trained(rng):
    """At ways of 0 a length is divided by, whose slope there is not finite."""
    torch = pytest.importorskip("torch")
    from gnomon.torch import layer

    none = np.zeros((3, 4))
    made = encoding("grape-additive", heads=3, dimension=4, query_ways=none, key_ways=none)
    module = layer(made)
    q, k = (torch.tensor(x, dtype=torch.float32) for x in rng.normal(size=(2, 3, 6, 4)))
    logits = module.scores(q, k, torch.arange(6))
    logits[:, torch.from_numpy(seen)].square().sum().backward()
    for name, numbers in module.named_parameters():
        assert torch.isfinite(numbers.grad).all(), name
        assert numbers.grad.abs().max() > 0, name


def test_distance_never_raises_a_logit(rng):
    made = encoding("grape-additive", heads=2, dimension=4)
    q, k = rng.normal(size=(2, 2, 1, 4))
    many = np.repeat(k, 50, axis=-2)
    found = made.scores(q, many, np.array([49]), np.arange(50))
    assert (np.diff(found[:, 0]) > 0).all()


def paths(p, turned, slopes):
    """Sums as model-architectures/GRAPE at f5b539f makes them: of all, less those up to the key."""
    gates = -softplus(-(p @ np.swapaxes(turned, -1, -2)) / p.shape[-1])
    gates = np.where(seen, gates * np.asarray(slopes)[:, None, None], 0.0)
    return gates.sum(axis=-1, keepdims=True) - np.cumsum(gates, axis=-1)


@pytest.mark.parametrize("normed", ["both", "keys"])
def test_paths_are_summed_as_the_query_sees_them(normed, rng):
    """There pairs lie in halves and turn the other way: rows of the projection are moved so."""
    heads, features, width = 2, 4, 5
    theirs = rng.normal(size=(heads, features, width))
    x, (q, k) = rng.normal(size=(6, width)), rng.normal(size=(2, heads, 6, 3))
    p = np.einsum("hfw,mw->hmf", theirs, x)
    even = p / np.sqrt((p * p).mean(axis=-1, keepdims=True) + 2.0**-23)
    complex_pairs = (even[..., :2] + 1j * even[..., 2:]) * np.exp(-1j * np.arange(6))[:, None]
    turned = np.concatenate([complex_pairs.real, complex_pairs.imag], axis=-1)
    bias = paths(even if normed == "both" else p, turned, official_slopes(heads))
    ours = np.stack([theirs[:, 0], -theirs[:, 2], theirs[:, 1], -theirs[:, 3]], axis=1)
    made = encoding(
        "grape-path",
        heads=heads,
        dimension=3,
        token_width=width,
        features=features,
        normed=normed,
        projection=ours,
    )
    found = made.scores(q, k, np.arange(6), scale=0.5, tokens=x)
    wanted = 0.5 * q @ np.swapaxes(k, -1, -2) + bias
    np.testing.assert_allclose(found[:, seen], wanted[:, seen], rtol=1e-12, atol=1e-12)


def test_gates_that_see_nothing_forget_at_an_even_rate(rng):
    """Every token has ln sigmoid(0) = -ln 2, times the slope of the head: as FoX would."""
    q, k = rng.normal(size=(2, 2, 6, 4))
    made = encoding("grape-path", heads=2, dimension=4, projection=np.zeros((2, 8, 4)))
    rates = np.log(2.0) * np.asarray(official_slopes(2))
    bias = -np.log(np.expm1(rates))
    fox = encoding("fox", heads=2, dimension=4, gate_weights=np.zeros((2, 4)), gate_bias=bias)
    found, wanted = made.scores(q, k, np.arange(6)), fox.scores(q, k, np.arange(6))
    np.testing.assert_allclose(found[:, seen], wanted[:, seen], rtol=1e-13, atol=1e-13)


def test_words_and_tokens_that_are_not_known_are_refused(rng):
    with pytest.raises(EncodingError, match="gated is 'q'; pass one of: both, queries, keys"):
        encoding("grape-additive", heads=2, dimension=4, gated="q")
    with pytest.raises(EncodingError, match="normed is 'no'; pass one of: both, keys"):
        encoding("grape-path", heads=2, dimension=4, normed="no")
    with pytest.raises(EncodingError, match="features is 3; pass a multiple of 2"):
        encoding("grape-path", heads=2, dimension=4, features=3)
    q = rng.normal(size=(2, 3, 4))
    with pytest.raises(EncodingError, match="tokens is given, and the encoding 'grape-additive'"):
        encoding("grape-additive", heads=2, dimension=4).scores(q, q, np.arange(3), tokens=q)
