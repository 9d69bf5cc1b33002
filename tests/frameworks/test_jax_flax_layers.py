"""Any encoding as a module of Flax NNX: the numbers of `gnomon.jax`, held as parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import gnomon
from gnomon.jax import layer
from gnomon.jax.nnx import Layer

AT = jnp.arange(5)


def test_learnable_numbers_are_params_under_their_own_names() -> None:
    module = Layer(gnomon.encoding("t5", heads=2), rngs=nnx.Rngs(0))
    assert list(nnx.state(module, nnx.Param)) == ["table"]
    assert module.table[...].shape == (32, 2)
    assert not list(nnx.state(Layer(gnomon.encoding("rope", dimension=8)), nnx.Param))


@pytest.mark.parametrize(
    ("name", "parameters", "kind"),
    [
        ("sinusoidal", {"dimension": 8}, "vectors"),
        ("learned", {"rows": 8, "dimension": 8}, "vectors"),
        ("t5", {"heads": 2}, "bias"),
        ("alibi", {"heads": 2}, "bias"),
    ],
)
def test_a_flax_layer_gives_the_numbers_of_the_pytree(
    name: str, parameters: dict[str, Any], kind: str
) -> None:
    encoding = gnomon.encoding(name, **parameters)
    module = Layer(encoding)
    wanted = getattr(layer(encoding), kind)(AT)
    assert np.array_equal(getattr(module, kind)(AT), wanted)
    compiled = nnx.jit(lambda held, at: getattr(held, kind)(at))(module, AT)
    assert np.allclose(compiled, wanted, rtol=0, atol=1e-6)


def test_a_flax_layer_turns_scores_and_shares_tables(rng: np.random.Generator) -> None:
    encoding = gnomon.encoding("rope", dimension=8, layout="half")
    module, made = Layer(encoding), layer(encoding)
    q, k = (jnp.asarray(rng.normal(size=(2, 5, 8)), jnp.float32) for _ in range(2))
    turned = module.transform(q, k, AT)
    assert np.array_equal(turned, made.transform(q, k, AT))
    assert np.array_equal(module.turn(q, module.tables(AT), side="q"), turned[0])
    assert np.array_equal(module.scores(q, k, AT), made.scores(q, k, AT))


def test_a_flax_layer_splits_and_merges() -> None:
    module = Layer(gnomon.encoding("learned", rows=8, dimension=4))
    graph, params = nnx.split(module, nnx.Param)
    doubled = jax.tree.map(lambda number: 2.0 * number, params)
    again = nnx.merge(graph, doubled)
    assert np.allclose(again.vectors(AT), 2.0 * module.vectors(AT), rtol=1e-6, atol=0)
    assert np.array_equal(again.encoding.vectors(np.arange(5)), again.vectors(AT))


def test_descent_on_a_flax_layer_finds_a_planted_bias(rng: np.random.Generator) -> None:
    """The bias of ALiBi at lags to 4 is within what a T5 table can hold."""
    module = Layer(gnomon.encoding("t5", heads=2))
    target = layer(gnomon.encoding("alibi", heads=2, symmetric=True)).bias(AT)
    for _ in range(60):
        slope = nnx.grad(lambda held: jnp.square(held.bias(AT) - target).sum())(module)
        state = nnx.state(module, nnx.Param)
        nnx.update(module, jax.tree.map(lambda value, down: value - 0.05 * down, state, slope))
    assert np.allclose(module.bias(AT), target, rtol=0, atol=1e-3)
    assert np.allclose(module.encoding.bias(np.arange(5)), target, rtol=0, atol=1e-3)
