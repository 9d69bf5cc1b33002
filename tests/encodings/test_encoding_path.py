"""Reflections along the path: against products of matrices, and over many chunks.

Read and run beside it: naive_path_attn of fla-org/flash-linear-attention at bc3b101, whose
attention equals ours within 4e-7 over 150 tokens.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.content.paths import CHUNK, path_logits
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def products(q, k, named, steps):
    """q_i^T H_i ... H_(j+1) k_j, one matrix after the other; queries are the last of the keys."""
    m, n, d = len(k), len(q), k.shape[-1]
    reflections = np.eye(d) - steps[:, :, None] * named[:, :, None] * named[:, None, :]
    logits = np.zeros((n, m))
    for i in range(n):
        carried = q[i]
        for j in reversed(range(m - n + i + 1)):
            logits[i, j] = carried @ k[j]
            carried = carried @ reflections[j]
    return logits


def test_logits_are_products_of_reflections_along_the_path(rng):
    heads, d, m, width = 2, 4, 11, 6
    directions, weights = rng.normal(size=(heads, d, width)), rng.normal(size=(heads, width))
    made = encoding(
        "path",
        heads=heads,
        dimension=d,
        token_width=width,
        directions=directions,
        step_weights=weights,
        step_bias=[0.5, -0.5],
    )
    (q, k), x = rng.normal(size=(2, heads, m, d)), rng.normal(size=(m, width))
    found = made.scores(q, k, np.arange(m), tokens=x, scale=0.5)
    for head in range(heads):
        w = x @ directions[head].T
        w = w / np.sqrt((w * w).sum(axis=-1, keepdims=True) + 1e-6)
        steps = 2 / (1 + np.exp(-(x @ weights[head]) - [0.5, -0.5][head]))
        wanted = 0.5 * products(q[head], k[head], w, steps[:, None])
        seen = np.tril(np.ones((m, m), dtype=bool))
        np.testing.assert_allclose(found[head][seen], wanted[seen], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(200, 200), (70, 150), (1, 129), (64, 128), (3, 3), (0, 3)])
def test_chunks_join_to_the_whole_path(n, m, rng):
    """Queries that are in one chunk, in several, or only in the last."""
    assert m < 3 or CHUNK == 64
    q, k, w = rng.normal(size=(n, 5)), rng.normal(size=(m, 5)), rng.normal(size=(m, 5))
    w = w / np.linalg.norm(w, axis=-1, keepdims=True)
    steps = rng.uniform(0, 2, size=(m, 1))
    found = path_logits(q, k, w, steps, xp=np)
    np.testing.assert_allclose(found, products(q, k, w, steps), rtol=1e-11, atol=1e-11)


def test_reflections_at_full_size_never_grow_what_passes(rng):
    """At b = 2 every step is a reflection, and lengths are kept over thousands of them."""
    m = 3000
    w = rng.normal(size=(m, 4))
    w = w / np.linalg.norm(w, axis=-1, keepdims=True)
    q = np.eye(4)
    k = np.concatenate([rng.normal(size=(1, 4)), np.zeros((m - 1, 4))])
    w[-4:] = 0.0  # the four queries stand at tokens that reflect nothing
    logits = path_logits(q, k, w, np.full((m, 1), 2.0), xp=np)
    np.testing.assert_allclose(np.linalg.norm(logits[:, 0]), np.linalg.norm(k[0]), rtol=1e-11)


def test_float32_agrees_with_float64_over_chunks(rng):
    torch = pytest.importorskip("torch")
    made = encoding("path", heads=1, dimension=8, sigma=0.5)
    q, k = rng.normal(size=(2, 1, 200, 8))
    at = np.arange(200)
    narrow = made.scores(*(torch.tensor(x, dtype=torch.float32) for x in (q, k)), at).numpy()
    wide = made.scores(q, k, at)
    seen = np.isfinite(wide)
    np.testing.assert_allclose(narrow[seen], wide[seen], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["path", "selective-rope"])
def test_taps_read_no_token_before_one_whose_position_does_not_rise(name, rng):
    """Documents of one token stand all at 0: each token is read as if it were alone."""
    made = encoding(name, heads=1, dimension=4, kernel=3, seed=2)
    x = rng.normal(size=(1, 4, 4))
    parts = made.reflections if name == "path" else made.clocks
    together = parts(x, np.zeros((4, 1)), made.numbers, xp=np)
    alone = [parts(x[:, i : i + 1], np.zeros((1, 1)), made.numbers, xp=np) for i in range(4)]
    if name == "path":
        wanted = np.concatenate([named for named, _ in alone], axis=-2)
        np.testing.assert_allclose(together[0], wanted, rtol=1e-13, atol=1e-13)
    else:
        steps = np.concatenate(alone, axis=-2)
        np.testing.assert_allclose(together, np.cumsum(steps, axis=-2), rtol=1e-13, atol=1e-13)


def test_directions_of_another_shape_are_refused():
    with pytest.raises(EncodingError, match=r"directions has shape \(4, 4\); .* shape \(1, 4, 4\)"):
        encoding("path", heads=1, dimension=4, directions=np.eye(4))
    with pytest.raises(EncodingError, match="kernel is 0; pass a whole number from 1 on"):
        encoding("path", heads=1, dimension=4, kernel=0)
    taps = np.ones((1, 4, 1))
    with pytest.raises(
        EncodingError, match=r"taps is given, and 'path' with these .* leave it out"
    ):
        encoding("path", heads=1, dimension=4, taps=taps)
