"""xPos against x-transformers and rotary-embedding-torch, where theirs is finite."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")
LENGTH = 700


def peers_of(dimension, scale_base):
    """Each as a function from q and k at positions 0 ... n - 1 to logits."""
    theirs = pytest.importorskip("x_transformers.x_transformers")
    other = pytest.importorskip("rotary_embedding_torch")
    rotary = theirs.RotaryEmbedding(dimension, use_xpos=True, scale_base=scale_base)
    stand_alone = other.RotaryEmbedding(dimension, use_xpos=True, xpos_scale_base=scale_base)

    def x_transformers(q, k):
        angles, scale = rotary.forward_from_seq_len(q.shape[-2])
        left = theirs.apply_rotary_pos_emb(q, angles, scale)
        return left @ theirs.apply_rotary_pos_emb(k, angles, scale**-1).mT

    def rotary_embedding_torch(q, k):
        left, right = stand_alone.rotate_queries_and_keys(q, k)
        return left @ right.mT

    return {"x-transformers": x_transformers, "rotary-embedding-torch": rotary_embedding_torch}


@pytest.mark.parametrize("peer", ["x-transformers", "rotary-embedding-torch"])
@pytest.mark.parametrize("scale_base", [512, 64])
def test_xpos_logits_equal_those_of_peers_where_theirs_are_finite(peer, scale_base, rng):
    q, k = (torch.tensor(x, dtype=torch.float32) for x in rng.normal(size=(2, 1, 2, LENGTH, 16)))
    theirs = peers_of(16, scale_base)[peer](q, k)
    ours = encoding("xpos", dimension=16, scale_base=float(scale_base)).scores(
        q, k, torch.arange(LENGTH)
    )
    causal = torch.ones(LENGTH, LENGTH).tril().bool()
    assert torch.isneginf(ours[..., ~causal]).all()
    # Their phases are float32: at position 700 they err by 3e-5, times |q| |k| of about 16.
    np.testing.assert_allclose(ours[..., causal], theirs[..., causal], atol=1e-3)


def test_x_transformers_loses_the_logits_of_long_sequences_and_ours_are_kept(rng):
    """Their factors are centred on half the length: at 1,500 positions, scale base 4, they are inf.

    The product of an infinite key with a query that underflowed to 0 is NaN.
    """
    length = 1_500
    q, k = (torch.tensor(x, dtype=torch.float32) for x in rng.normal(size=(2, 1, 1, length, 8)))
    theirs = peers_of(8, 4)["x-transformers"](q, k)
    ours = encoding("xpos", dimension=8, scale_base=4.0).scores(q, k, torch.arange(length))
    causal = torch.ones(length, length).tril().bool()
    assert torch.isnan(theirs[..., causal]).any()
    assert torch.isfinite(ours[..., causal]).all()


def test_cached_keys_of_a_peer_go_stale_and_ours_stay(rng):
    """rotary-embedding-torch centres its scale on the length: a key changes as the text grows."""
    other = pytest.importorskip("rotary_embedding_torch")
    x = torch.tensor(rng.normal(size=(1, 1, 200, 8)), dtype=torch.float32)
    peer = other.RotaryEmbedding(8, use_xpos=True, cache_if_possible=False)
    short = peer.rotate_queries_and_keys(x[..., :100, :], x[..., :100, :])[1]
    long = peer.rotate_queries_and_keys(x, x)[1][..., :100, :]
    assert (short - long).abs().max() > 0.1
    made = encoding("xpos", dimension=8)
    ours = [made.transform(x[..., :n, :], x[..., :n, :], torch.arange(n))[1] for n in (100, 200)]
    np.testing.assert_array_equal(ours[0], ours[1][..., :100, :])
