"""Rules on content, by every way in: the order of keys, and room to spare, change no logit."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError
from support.rules import HEADS, WIDTH, rule, rules

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

ROOM, LENGTH, COUNT = 12, 8, 3
QUERIES = np.arange(LENGTH - COUNT, LENGTH)
LAYOUTS = {
    "longer": np.arange(ROOM),
    "shuffled": np.random.default_rng(0).permutation(LENGTH),
    "shuffled and longer": np.random.default_rng(1).permutation(ROOM),
    "ring": np.roll(np.arange(ROOM), 5),
    "ring, full": np.roll(np.arange(LENGTH), 3),
}
WAYS = ("numpy", "torch", "torch layer", "jax", "jax layer", "jax compiled")


def logits(way, encoding, q, k, at_q, at_k, **given):
    """Return logits as NumPy's, by one of the ways in."""
    if way == "numpy":
        return encoding.scores(q, k, at_q, at_k, **given)
    if way.startswith("torch"):
        q, k, at_q, at_k = (torch.tensor(x) for x in (q, k, at_q, at_k))
        given = {name: torch.tensor(x) for name, x in given.items()}
        call = gnomon.torch.layer(encoding) if way == "torch layer" else encoding.scores
        return call(q, k, at_q, at_k, **given).detach().numpy()
    q, k = (jax.numpy.asarray(x) for x in (q, k))
    given = {name: jax.numpy.asarray(x) for name, x in given.items()}
    call = encoding.scores if way == "jax" else gnomon.jax.layer(encoding)
    if way == "jax compiled":
        call = jax.jit(gnomon.jax.layer(encoding).__call__)
    return np.asarray(call(q, k, at_q, at_k, **given))


@pytest.fixture
def vectors():
    g = np.random.default_rng(3)
    q, k = (g.normal(size=(2, HEADS, ROOM, WIDTH)).astype(np.float32) for _ in range(2))
    return q[:, :, QUERIES], k


@pytest.mark.compiles(way="jax")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_logits_are_those_of_the_trimmed_and_sorted_text(name, more, way, vectors):
    q, k = vectors
    encoding = rule(name, more)
    truth = np.full((2, HEADS, COUNT, ROOM), -np.inf)
    truth[..., :LENGTH] = encoding.scores(q, k[:, :, :LENGTH], QUERIES, np.arange(LENGTH))
    for layout, order in LAYOUTS.items():
        found = logits(way, encoding, q, k[:, :, order], QUERIES, order)
        near = order >= 0 if encoding.card.causal_only else order < LENGTH
        assert np.allclose(found[..., near], truth[..., order[near]], atol=2e-5), layout


@pytest.mark.compiles(way="jax")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_queries_may_be_shuffled_with_their_keys(name, more, way, vectors):
    _, k = vectors
    encoding, order = rule(name, more), LAYOUTS["shuffled and longer"]
    q = k[:, :, ::-1] * 0.5
    truth = encoding.scores(q, k, np.arange(ROOM), np.arange(ROOM))
    found = logits(way, encoding, q[:, :, order], k[:, :, order], order, order)
    assert np.allclose(found, truth[:, :, order][..., order], atol=2e-5)


@pytest.mark.parametrize("way", WAYS)
def test_tokens_of_their_own_move_with_their_keys(way, vectors):
    q, k = vectors
    tokens = np.random.default_rng(4).normal(size=(2, ROOM, 5)).astype(np.float32)
    encoding = gnomon.encoding("fox", heads=HEADS, dimension=WIDTH, token_width=5, sigma=1.0)
    first, order = slice(0, LENGTH), LAYOUTS["shuffled and longer"]
    truth = encoding.scores(q, k[:, :, first], QUERIES, np.arange(LENGTH), tokens=tokens[:, first])
    found = logits(way, encoding, q, k[:, :, order], QUERIES, order, tokens=tokens[:, order])
    assert np.allclose(found[..., order < LENGTH], truth[..., order[order < LENGTH]], atol=2e-5)
    assert (found[..., order >= LENGTH] == -np.inf).all()


@pytest.mark.compiles(way="jax")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_packed_documents_stay_as_they_are(name, more, way, vectors):
    _, k = vectors
    encoding, at = rule(name, more), np.r_[0:5, 0:7]
    found = logits(way, encoding, k, k, at, at)
    for part in (slice(0, 5), slice(5, 12)):
        own = k[:, :, part]
        alone = encoding.scores(own, own, at[part], at[part])
        assert np.allclose(found[:, :, part, part], alone, atol=2e-5)


@pytest.mark.parametrize("way", WAYS)
def test_queries_that_are_no_tokens_are_refused_or_nan(way, vectors):
    q, k = vectors
    encoding, at = rule("fox", {}), np.arange(ROOM)
    twice = np.r_[0:5, 0:5, 5, 6]  # two documents, the queries in the midst of them
    cases = [(wrong, at) for wrong in (QUERIES + 20, np.array([5, 6, 9]), np.array([5, 5, 6]))]
    for wrong, keys in [*cases, (np.array([3, 4, 5]), twice)]:
        if way == "jax compiled":
            assert np.isnan(logits(way, encoding, q, k, wrong, keys)).all()
            continue
        with pytest.raises(EncodingError, match="reads tokens in order"):
            logits(way, encoding, q, k, wrong, keys)


def test_gradients_are_those_of_the_sorted_text(vectors):
    q, k = (torch.tensor(x) for x in vectors)
    order = torch.tensor(LAYOUTS["shuffled and longer"])
    layer = gnomon.torch.layer(rule("path", {"sigma": 0.5}))
    found = {}
    for way, keys, at in (("given", k[:, :, order], order), ("sorted", k, torch.arange(ROOM))):
        layer.zero_grad()
        weights = layer(q, keys, torch.tensor(QUERIES), at).softmax(dim=-1)
        weights.square().sum().backward()
        found[way] = [p.grad.clone() for p in layer.parameters()]
    for a, b in zip(found["given"], found["sorted"], strict=True):
        assert torch.allclose(a, b, atol=1e-6)
        assert bool(b.abs().sum() > 0)
