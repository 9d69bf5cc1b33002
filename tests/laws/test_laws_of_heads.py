"""Laws of heads and counts: places of single heads, and queries and keys of different number."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


@pytest.mark.subjects(where=lambda subject: not subject.encoding.mixes_heads)
def test_heads_with_places_of_their_own_score_as_each_head_alone(subject, rng):
    """Also where the batch is as large as there are heads: shapes then fit by chance."""
    heads = max(subject.heads, 2) if subject.heads == 1 else subject.heads
    for batch in ((), (heads,), (3,)):
        q, k = rng.normal(size=(2, *batch, heads, 4, subject.width))
        at = subject.places(rng, *batch, heads, 4)
        whole = subject.encoding.scores(q, k, at)
        assert whole.shape == (*batch, heads, 4, 4)
        for index in np.ndindex(*batch):
            for head in range(heads):
                alone = subject.encoding.scores(q[index], k[index], at[index][head])
                np.testing.assert_allclose(whole[index][head], alone[head], rtol=1e-10, atol=1e-10)


def test_queries_of_one_place_for_all_heads_meet_keys_with_places_for_each(rng):
    alibi = encoding("alibi", heads=3)
    q, k = rng.normal(size=(2, 3, 3, 4, 8))
    at_q, at_k = rng.integers(0, 99, size=(3, 4)), rng.integers(0, 99, size=(3, 3, 4))
    found = alibi.scores(q, k, at_q, at_k)
    for batch, head in np.ndindex(3, 3):
        lags = at_q[batch][:, None] - at_k[batch, head]
        wanted = q[batch, head] @ k[batch, head].T - alibi.slopes[head] * lags
        wanted = np.where(lags < 0, -np.inf, wanted)
        np.testing.assert_allclose(found[batch, head], wanted, rtol=1e-12, atol=1e-12)


def test_places_of_another_number_of_heads_are_refused(rng):
    q = rng.normal(size=(1, 4, 3, 8))
    alibi = encoding("alibi", heads=2)
    with pytest.raises(EncodingError, match=r"those of 4 heads, .* biases for 2 heads; pass pos"):
        alibi.scores(q, q, np.zeros((1, 4, 3)))


def test_one_set_of_positions_does_not_serve_more_keys_than_queries(subject, rng):
    """The query of a decoding step would otherwise lend its position to every key of the cache."""
    q, k = subject.content(rng, 5)
    calls = [subject.encoding.scores]
    calls += [subject.encoding.transform] if "transform" in subject.encoding.kinds else []
    for call in calls:
        with pytest.raises(EncodingError, match=r"q has 1 vectors and k 5, .* pass positions_k"):
            call(q[:, :1], k, subject.line(1))


def test_lists_and_tensors_of_positions_make_one_bias():
    torch = pytest.importorskip("torch")
    for name in ("alibi", "t5"):
        made = encoding(name, heads=2)
        wanted = made.bias([0, 4, 5], [1, 2])
        found = made.bias([0, 4, 5], torch.tensor([1, 2]))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-15)


def test_one_place_serves_more_vectors_than_a_block_of_a_decay_holds(rng):
    """Queries and keys at one place are neither turned against each other nor made smaller."""
    q, k = rng.normal(size=(2, 300, 8))
    found = encoding("xpos", dimension=8).scores(q, k, [7])
    np.testing.assert_allclose(found, q @ k.T, rtol=1e-10, atol=1e-12)
