"""LieRE: torch.matrix_exp of the authors' formula, doubling, and where it is relative.

The formula is that of StanfordMIMI/LieRE at b27b41b, models/rope_vit.py: the upper triangle, less
1/2, minus its transpose; positions times generators summed over axes; `torch.matrix_exp`.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")


def theirs(generators, at, x):
    """Vectors by the authors' formula, in float64; generators (axes, blocks, b, b)."""
    upper = torch.triu(torch.asarray(np.array(generators)), diagonal=1) - 0.5
    bases = upper - upper.transpose(-1, -2)
    summed = (torch.asarray(at)[:, :, None, None, None] * bases).sum(dim=1)
    turns = torch.matrix_exp(summed)
    split = torch.asarray(x).reshape(*x.shape[:-1], bases.shape[1], bases.shape[2], 1)
    return (turns @ split).flatten(-3).numpy()


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("block", [2, 3, 4, 12])
def test_vectors_are_those_of_the_matrix_exponential_of_torch(axes, block, rng):
    made = encoding("liere", dimension=12, block=block, axes=axes, seed=5)
    at = rng.random(size=(6, axes))
    q, k = rng.normal(size=(2, 4, 6, 12))
    places = at[:, 0] if axes == 1 else at
    for found, x in zip(made.transform(q, k, places), (q, k), strict=True):
        np.testing.assert_allclose(found, theirs(made.generators, at, x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("block", [3, 8])
def test_whole_positions_by_doubling_are_those_of_scipy(block, rng):
    made = encoding("liere", dimension=24, block=block, spread=1.0)
    at = np.array([0, 1, 2, 3, 63, 64, 100, 1023])
    q = rng.normal(size=(8, 24))
    found, _ = made.transform(q, q, at)
    upper = np.triu(made.generators[0], 1)
    skew = upper - np.swapaxes(upper, -1, -2)
    for row, t in enumerate(at):
        parts = q[row].reshape(-1, block)
        wanted = [expm(t * s) @ x for s, x in zip(skew, parts, strict=True)]
        np.testing.assert_allclose(found[row], np.concatenate(wanted), rtol=1e-9, atol=1e-10)
    nearly, _ = made.transform(q, q, at + 1e-13 * (at == 3))  # not whole: one exponential each
    np.testing.assert_allclose(nearly, found, rtol=1e-10, atol=1e-10)


def test_on_several_axes_logits_change_when_all_positions_shift(rng):
    made = encoding("liere", dimension=8, block=4, axes=2)
    q, k = rng.normal(size=(2, 5, 8))
    at = rng.random(size=(5, 2))
    defect = np.abs(made.scores(q, k, at + 0.5) - made.scores(q, k, at)).max()
    assert made.card.level.startswith("L6")
    assert defect > 0.1
    pairs = encoding("liere", dimension=8, block=2, axes=2)
    assert pairs.card.level.startswith("L0")
    np.testing.assert_allclose(
        pairs.scores(q, k, at + 0.5), pairs.scores(q, k, at), rtol=1e-11, atol=1e-11
    )


def test_slopes_are_those_of_torch_at_position_zero_too(rng):
    from gnomon.torch import layer

    made = encoding("liere", dimension=6, block=3, axes=2, spread=0.7)
    module = layer(made, dtype=torch.float64)
    q = torch.asarray(rng.normal(size=(4, 6)))
    at = torch.asarray([[0.0, 0.0], [0.3, 0.9], [1.0, 0.0], [2.5, -1.0]], dtype=torch.float64)
    turned, _ = module(q, q, at)
    weights = torch.asarray(rng.normal(size=(4, 6)))
    (turned * weights).sum().backward()
    raw = torch.asarray(np.array(made.generators)).requires_grad_()
    upper = torch.triu(raw, diagonal=1)
    skew = upper - upper.transpose(-1, -2)
    turns = torch.matrix_exp((at[:, :, None, None, None] * skew).sum(dim=1))
    ((turns @ q.reshape(4, 2, 3, 1)).flatten(-3) * weights).sum().backward()
    torch.testing.assert_close(module.generators.grad, raw.grad, rtol=1e-10, atol=1e-11)


def test_compiled_code_that_can_not_see_positions_gives_the_same(rng):
    jax = pytest.importorskip("jax")
    from gnomon.jax import layer

    made = encoding("liere", dimension=8, block=4, spread=1.0)
    q = rng.normal(size=(3, 8)).astype(np.float32)
    at = np.array([0.0, 0.25, 3.0], dtype=np.float32)
    found, _ = jax.jit(layer(made).transform)(q, q, at)
    wanted, _ = made.transform(q.astype(float), q.astype(float), at)
    np.testing.assert_allclose(found, wanted, rtol=3e-5, atol=3e-6)


def test_blocks_that_do_not_fit_are_refused_in_words():
    with pytest.raises(
        EncodingError, match=r"dimension is 12; pass a multiple of 8, it is cut into"
    ):
        encoding("liere", dimension=12)
    made = encoding("liere", dimension=8, heads=2)
    with pytest.raises(
        EncodingError, match=r"but this encoding has matrices for 2 heads; pass an arr"
    ):
        made.scores(np.ones((3, 2, 8)), np.ones((3, 2, 8)), [0, 1])


def test_numbers_start_uniform_in_a_turn_as_the_authors_have_them():
    start = encoding("liere", dimension=64, block=8).numbers["generators"]
    assert start.min() >= 0.0
    assert 1.95 * np.pi < start.max() <= 2.0 * np.pi
    assert abs(start.mean() - np.pi) < 0.3


@pytest.mark.parametrize("block", [2, 3])
def test_whole_positions_below_zero_turn_the_other_way(block, rng):
    made = encoding("liere", dimension=6, block=block, spread=0.5)
    x, at = rng.normal(size=(4, 6)), np.array([-5, -1, 0, 3])
    turned, _ = made.transform(x, x, at)
    for i, step in enumerate(at):
        parts = [expm(step * matrix) for matrix in made.matrices[0]]
        split = x[i].reshape(-1, block)
        wanted = np.concatenate([part @ v for part, v in zip(parts, split, strict=True)])
        np.testing.assert_allclose(turned[i], wanted, rtol=1e-12, atol=1e-12)
