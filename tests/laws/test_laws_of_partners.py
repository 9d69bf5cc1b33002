"""Queries, keys and positions that do not go together: refused in words in every framework."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

NAMES = {
    "rope": {"dimension": 8},
    "alibi": {"heads": 4},
    "nope": {},
    "xpos": {"dimension": 8},
    "sinusoidal": {"dimension": 8},
}


def arrays(framework, *shapes):
    made = [np.ones(shape, dtype=np.float32) for shape in shapes]
    if framework == "numpy":
        return made
    room = pytest.importorskip("torch" if framework == "torch" else "jax.numpy")
    return [room.asarray(x) for x in made]


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("name", NAMES)
def test_scores_of_other_numbers_of_heads_are_refused_in_words(name, framework):
    q, k = arrays(framework, (2, 4, 6, 8), (2, 2, 6, 8))
    sentence = r"q has shape \(2, 4, 6, 8\) and k \(2, 2, 6, 8\), which do not go together; pass"
    with pytest.raises(EncodingError, match=sentence):
        encoding(name, **NAMES[name]).scores(q, k, np.arange(6))


@pytest.mark.parametrize("name", NAMES)
def test_one_head_of_keys_serves_all_queries(name, rng):
    made = encoding(name, **NAMES[name])
    q, k = rng.normal(size=(2, 4, 6, 8)), rng.normal(size=(2, 1, 6, 8))
    every = np.repeat(k, 4, axis=1)
    np.testing.assert_allclose(
        made.scores(q, k, np.arange(6)), made.scores(q, every, np.arange(6)), atol=1e-12
    )


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_a_bias_of_a_single_position_is_refused_in_words(name, framework):
    made = encoding(name, heads=4)
    bias = made.bias
    if framework == "torch":
        pytest.importorskip("torch")
        from gnomon.torch import layer

        bias = layer(made)
    elif framework == "jax":
        pytest.importorskip("jax")
        from gnomon.jax import layer

        bias = layer(made).bias
    with pytest.raises(EncodingError, match=r"a single position was given; pass positions of"):
        bias(3)


@pytest.mark.parametrize("dtype", ["no such type", int, np.int32, "int32"])
def test_a_layer_of_no_type_of_real_numbers_is_refused_in_words(dtype):
    pytest.importorskip("jax")
    pytest.importorskip("torch")
    from gnomon import jax as jax_room
    from gnomon import torch as torch_room

    made = encoding("sinusoidal", dimension=8)
    for room in (jax_room, torch_room):
        with pytest.raises(EncodingError, match=r"dtype is .*; pass a type of real numbers, such"):
            room.layer(made, dtype=dtype)


@pytest.mark.parametrize(("name", "parameters"), [("xpos", {}), ("retnet", {"heads": 2})])
def test_a_side_that_is_neither_queries_nor_keys_is_refused_in_words(name, parameters):
    torch = pytest.importorskip("torch")
    from gnomon.torch import layer

    made = layer(encoding(name, dimension=8, **parameters))
    with pytest.raises(EncodingError, match=r"side is 'query'; pass one of: q, k\."):
        made.turn(torch.ones(2, 6, 8), made.tables(torch.arange(6)), side="query")
