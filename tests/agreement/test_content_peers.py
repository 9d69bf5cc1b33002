"""Rules on content against x-transformers (2.31) and layers of PyTorch.

x-transformers keeps the gates of forgetting, counted positions and polar vectors apart from the
projections around them, so they are called with the same numbers, in float64.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
later = np.triu(np.ones((9, 9), dtype=bool), 1)


@pytest.fixture
def peer():
    """x-transformers, its functions in float64."""
    return pytest.importorskip("x_transformers.x_transformers")


def masked(logits):
    """Logits of peers, with -inf on later keys, as ours have it."""
    return np.where(later, -np.inf, logits)


def test_forgetting_equals_the_data_dependent_alibi_of_x_transformers(peer, rng):
    theirs = peer.DataDependentAlibi(dim=12, heads=3).double()
    linear = theirs.to_forget_gates[0]
    ours = encoding(
        "fox",
        heads=3,
        dimension=4,
        token_width=12,
        gate_weights=linear.weight.detach().numpy(),
        gate_bias=linear.bias.detach().numpy(),
    )
    x, (q, k) = rng.normal(size=(2, 9, 12)), rng.normal(size=(2, 2, 3, 9, 4))
    with torch.no_grad():
        bias = theirs(torch.from_numpy(x)).numpy()
    wanted = masked(0.5 * q @ np.swapaxes(k, -1, -2) + bias)
    np.testing.assert_allclose(
        ours.scores(q, k, np.arange(9), scale=0.5, tokens=x), wanted, **CLOSE
    )
    assert linear.bias.unique().item() == 5.0  # where it starts, and `start` of ours can be


def test_counted_positions_equal_those_of_x_transformers(peer, rng):
    """There rows are not scaled: their table is ours times the scale."""
    scale, rows = 0.5, 5
    theirs = peer.CoPE(dim=4, heads=3, max_pos=rows).double()
    table = rng.normal(size=(rows, 4))
    q, k = rng.normal(size=(2, 2, 3, 9, 4))
    sim = masked(scale * q @ np.swapaxes(k, -1, -2))
    with torch.no_grad():
        theirs.pos_emb.copy_(torch.from_numpy(table))
        added = theirs(torch.from_numpy(q), torch.from_numpy(sim)).numpy()
    ours = encoding("cope", heads=3, dimension=4, rows=rows, table=table / scale)
    found = ours.scores(q, k, np.arange(9), scale=scale)
    np.testing.assert_allclose(found, masked(sim + added), **CLOSE)


def test_polar_vectors_equal_those_of_x_transformers(peer, rng):
    theirs = peer.PolarEmbedding(dim=8, heads=3).double()
    shifts = rng.uniform(-7.0, 1.0, size=(3, 8))  # some are outside of -2 pi ... 0
    q, k = rng.normal(size=(2, 2, 3, 9, 8))
    ours = encoding("pope", dimension=8, heads=3, shifts=shifts)
    with torch.no_grad():
        theirs.learned_bias.copy_(torch.from_numpy(shifts[:, None, :]))
        theirs.inv_freq = torch.from_numpy(ours.frequencies[:, 0])
        at, bias = theirs(torch.arange(9))
        wanted = [
            peer.apply_polar_pos_emb(torch.from_numpy(x), angles).numpy()
            for x, angles in ((q, at), (k, at + bias))
        ]
    # They make magnitudes in float32.
    for found, want in zip(ours.transform(q, k, np.arange(9)), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=2e-6, atol=2e-6)
    start = peer.PolarEmbedding(dim=8, heads=3)
    np.testing.assert_allclose(start.inv_freq.numpy(), ours.frequencies[:, 0], rtol=1e-6)


@pytest.mark.parametrize("inner", [{"name": "alibi", "heads": 3}, {"name": "t5", "heads": 3}])
def test_mixed_heads_equal_layers_of_torch(inner, rng):
    """The authors' network: two layers with LeakyReLU between, over heads last."""
    mixer = torch.nn.Sequential(
        torch.nn.Linear(6, 5), torch.nn.LeakyReLU(), torch.nn.Linear(5, 3)
    ).double()
    first, _, second = mixer
    named = zip(("mixer_in", "mixer_out"), (first, second), strict=True)
    numbers = {}
    for name, linear in named:
        numbers |= {name: linear.weight, f"{name}_bias": linear.bias}
    held = {name: values.detach().numpy() for name, values in numbers.items()}
    ours = encoding("dape", inner=inner, units=5, **held)
    q, k = rng.normal(size=(2, 2, 3, 9, 4))
    logits = 0.5 * q @ np.swapaxes(k, -1, -2)
    bias = np.broadcast_to(ours.inner.bias(np.arange(9)), logits.shape)
    with torch.no_grad():
        stacked = torch.from_numpy(np.concatenate([logits, bias], axis=1))
        change = mixer(stacked.permute(0, 2, 3, 1)).permute(0, 3, 1, 2).numpy()
    wanted = logits + bias + change
    wanted = masked(wanted) if ours.card.causal_only else wanted
    np.testing.assert_allclose(ours.scores(q, k, np.arange(9), scale=0.5), wanted, **CLOSE)


@pytest.mark.parametrize("symmetric", [False, True])
def test_mixed_heads_are_causal_where_the_bias_inside_is(symmetric, rng):
    made = encoding("dape", inner={"name": "alibi", "heads": 2, "symmetric": symmetric})
    q, k = rng.normal(size=(2, 2, 5, 4))
    later = np.triu(np.ones((5, 5), dtype=bool), 1) & (not symmetric)
    assert (np.isneginf(made.scores(q, k, np.arange(5))) == later).all()
