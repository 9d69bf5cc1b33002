"""Vectors that are added against positional-encodings, transformers and torch's own embedding."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")
PHASE = 40 * 2.0**-24
"""Their phases are float32 products: at position 40 they err by this many radians."""


def test_sinusoids_on_one_axis_equal_those_of_positional_encodings():
    theirs = pytest.importorskip("positional_encodings.torch_encodings").PositionalEncoding1D(24)
    wanted = theirs(torch.zeros(1, 40, 24))[0].numpy()
    ours = encoding("sinusoidal", dimension=24).vectors(np.arange(40))
    np.testing.assert_allclose(ours, wanted, atol=4 * PHASE)


@pytest.mark.parametrize(
    ("axes", "name"), [(2, "PositionalEncoding2D"), (3, "PositionalEncoding3D")]
)
def test_sinusoids_on_several_axes_equal_those_of_positional_encodings(axes, name):
    module = pytest.importorskip("positional_encodings.torch_encodings")
    shape = (5, 9, 7)[:axes]
    wanted = getattr(module, name)(24)(torch.zeros(1, *shape, 24))[0].numpy()
    places = np.moveaxis(np.indices(shape), 0, -1)
    ours = encoding("sinusoidal", dimension=24, axes=axes).vectors(places)
    np.testing.assert_allclose(ours, wanted, atol=4 * PHASE)


def test_sinusoids_equal_those_of_distilbert_and_in_halves_those_of_marian():
    pytest.importorskip("transformers")
    from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    ours = encoding("sinusoidal", dimension=32).vectors(np.arange(300))
    wanted = torch.empty(300, 32)
    create_sinusoidal_embeddings(300, 32, wanted)
    np.testing.assert_allclose(ours, wanted, atol=2.0**-23)
    halves = MarianSinusoidalPositionalEmbedding(300, 32).create_weight()
    np.testing.assert_allclose(
        np.concatenate([ours[:, 0::2], ours[:, 1::2]], 1), halves, atol=2**-23
    )


def test_learned_rows_and_their_gradients_equal_those_of_an_embedding_of_torch():
    import array_api_compat.torch as xp

    made = encoding("learned", rows=10, dimension=6)
    start = torch.tensor(made.numbers["values"])
    theirs = torch.nn.Embedding(10, 6, dtype=torch.float64)
    theirs.weight.data = start.clone()
    ids = torch.tensor([[3, 3, 0], [9, 1, 3]])
    ours = start.clone().requires_grad_()
    vectors = made.vectors_at(ids[..., None].double(), {"values": ours}, xp=xp)
    weights = torch.linspace(-1.0, 1.0, vectors.numel(), dtype=torch.float64).reshape(vectors.shape)
    (vectors * weights).sum().backward()
    (theirs(ids) * weights).sum().backward()
    torch.testing.assert_close(vectors, theirs(ids), rtol=0, atol=0)
    torch.testing.assert_close(ours.grad, theirs.weight.grad, rtol=0, atol=1e-15)
