"""The encoding of any generator: against SciPy's exponential, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import gnomon
from gnomon.errors import EncodingError
from gnomon.groups.generator import Block, Generator

BLOCKS = [
    Block(decay=-0.2, order=3, gain=0.5),
    Block(decay=-0.1, frequency=0.3, order=2),
    Block(frequency=1.1),
    Block(order=2, gain=-0.25),
    Block(),
]
SIZE = sum(block.dimension for block in BLOCKS)


def logits(x, q, k, t, s):
    made = [
        [a @ expm((i - j) * x) @ b for b, j in zip(k, s, strict=True)]
        for a, i in zip(q, t, strict=True)
    ]
    return np.where(np.asarray(t)[:, None] < np.asarray(s), -np.inf, made)


@pytest.mark.parametrize("basis", [False, True])
def test_logits_are_those_of_the_exponential_of_the_generator(basis, rng):
    p = rng.normal(size=(SIZE, SIZE)) if basis else None
    generator = Generator(BLOCKS, p)
    which = gnomon.encoding("generator", blocks=BLOCKS, basis=p)
    q, k = rng.normal(size=(2, 5, SIZE))
    t, s = rng.uniform(0.0, 10.0, size=(2, 5))
    wanted = logits(generator.matrix, q, k, t, s)
    np.testing.assert_allclose(which.scores(q, k, t, s), wanted, atol=1e-10)
    left, right = which.transform(q, k, t, s, reference=5.0)
    seen = np.isfinite(wanted)
    np.testing.assert_allclose((left @ right.T)[seen], wanted[seen], atol=1e-9)


def test_a_matrix_goes_through_its_classification_into_an_encoding(rng):
    """A dense J3(-0.05) with a turn in a random basis: classified, then used."""
    inside = Generator([Block(decay=-0.05, order=3), Block(frequency=0.4)])
    x = Generator(inside.blocks, rng.normal(size=(5, 5))).matrix
    which = gnomon.encoding(gnomon.classify(x).generator())
    q, k = rng.normal(size=(2, 4, 5))
    t = np.arange(4.0)
    np.testing.assert_allclose(which.scores(q, k, t), logits(x, q, k, t, t), atol=1e-6)


def test_the_blocks_of_rotary_encoding_are_rotary_encoding(rng):
    rope = gnomon.encoding("rope", dimension=8)
    which = gnomon.encoding(rope.generator())
    q, k = rng.normal(size=(2, 6, 8))
    places = np.array([5.0, 0.0, 3.5, 100.0, 2.0, 1.0])
    assert not which.card.causal_only
    np.testing.assert_allclose(which.scores(q, k, places), rope.scores(q, k, places), atol=1e-12)


def test_what_grows_is_refused_with_its_eigenvalue_and_the_way_out():
    with pytest.raises(
        EncodingError, match=r"the eigenvalue 0\.25 \+- 2i, .* call \.projected\(\)"
    ):
        gnomon.encoding("generator", blocks=[{"decay": 0.25, "frequency": 2.0}])


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ([], "blocks is empty"),
        ("rope", "blocks is str; pass a list of blocks"),
        ([{"rate": 1.0}], "pass its numbers by name, of decay, frequency, order, gain"),
        ([{"frequency": -1.0}], "frequency of a block is -1.0; pass 0 or more"),
        ([3], "blocks holds 3; pass its numbers by name"),
    ],
)
def test_blocks_that_are_none_are_refused(blocks, said):
    with pytest.raises(EncodingError, match=said):
        gnomon.encoding("generator", blocks=blocks)


def test_a_basis_that_is_none_is_refused():
    with pytest.raises(
        EncodingError, match=r"basis has shape \(3, 3\); pass finite numbers of shape"
    ):
        gnomon.encoding("generator", blocks=[{"frequency": 1.0}], basis=np.eye(3))
    with pytest.raises(EncodingError, match="columns of the basis are not independent"):
        gnomon.encoding("generator", blocks=[{"frequency": 1.0}], basis=np.ones((2, 2)))
